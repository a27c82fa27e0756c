/* SPDX-License-Identifier: Apache-2.0
 * sentence_embedding.c - one vector for a text: the mean of its tokens' last hidden states, special
 * tokens included (they are attended to), padding never there; or what the request asks for. Not
 * normalized unless asked, as the peer. A graph that pools by itself is taken at its word. */
#include "parts.h"

const char *const part_pooling_words[] = { "model", "mean", "cls", "max", "last", NULL };

static const Field request[] = {
    PART_INPUTS, PART_METADATA(3), PART_TRUNCATE, PART_VECTORS,
    { "pooling", 0, F_STR, .words = part_pooling_words,
      .help = "of the tokens' vectors: the model's own way (unless said), their mean or maximum, "
              "the first or the last" },
    PART_OFFSETS, PART_RETURN_TOKENS, { 0 },
};

static const Field result[] = {
    { "embedding", 1, F_F32, .repeated = true, .required = true, .or_base64 = true },
    PART_TOKENS,
    PART_TRUNCATED,
    { 0 },
};
static const Field reply[] = PART_REPLY(result, "SentenceEmbedding");

static void mean(const TaskRow *row, float *out)
{
    for (int64_t c = 0; c < row->width; c++) out[c] = 0;
    for (int64_t t = 0; t < row->tokens; t++) {
        const float *x = row->data + t * row->width;
        for (int64_t c = 0; c < row->width; c++) out[c] += x[c];
    }
    for (int64_t c = 0; c < row->width; c++) out[c] /= (float)row->tokens;
}

static void maximum(const TaskRow *row, float *out)
{
    memcpy(out, row->data, (size_t)row->width * sizeof *out);
    for (int64_t t = 1; t < row->tokens; t++) {
        const float *x = row->data + t * row->width;
        for (int64_t c = 0; c < row->width; c++) out[c] = MAX(out[c], x[c]);
    }
}

static void first(const TaskRow *row, float *out)
{
    memcpy(out, row->data, (size_t)row->width * sizeof *out);
}

static void last(const TaskRow *row, float *out)
{
    memcpy(out, row->data + (row->tokens - 1) * row->width, (size_t)row->width * sizeof *out);
}

void task_pool(const TaskRow *row, const TaskOptions *options, float *out)
{
    static void (*const ways[])(const TaskRow *, float *) = {
        [POOL_OWN] = mean, [POOL_MEAN] = mean, [POOL_CLS] = first, [POOL_MAX] = maximum,
        [POOL_LAST] = last,
    };
    ways[options->pooling](row, out);
}

static void sentence_embedding_finish(Arena *arena, const ModelConfig *config,
                                      const TaskOptions *options, const TaskRow *row, Value *out)
{
    (void)config;
    const float *vector = row->data;
    if (row->tokens != 1) {
        float *pooled = ARRAY(arena, float, row->width);
        task_pool(row, options, pooled);
        vector = pooled;
    }
    *out = part_result(arena, row, 2);
    value_add(out, "embedding", task_vector(arena, options, vector, row->width));
    if (options->return_tokens) value_add(out, "tokens", part_token_list(arena, options, row));
    part_close(out, row);
}

const Task task_sentence_embedding = {
    .name = "sentence_embedding",
    .number = 4,
    .outputs = { "text_embeds", "last_hidden_state", "sentence_embedding", "token_embeddings" },
    .per_token = true,
    .shape = "[batch_size, seq_len, hidden_dim]",
    .architectures = { "Model" },
    .request = request,
    .result = result,
    .reply = reply,
    .pool = task_pool,
    .finish = sentence_embedding_finish,
};
