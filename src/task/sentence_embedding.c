/* SPDX-License-Identifier: Apache-2.0
 * sentence_embedding.c - one vector for a text: the mean of its tokens' last hidden states, special
 * tokens included (they are attended to), padding never there. Not normalized, as the peer. A graph
 * that pools by itself is taken at its word. */
#include "parts.h"

static const Field request[] = { PART_INPUTS, PART_METADATA(3), { 0 } };

static const Field result[] = {
    { "embedding", 1, F_F32, .repeated = true, .required = true },
    PART_TRUNCATED,
    { 0 },
};
static const Field reply[] = PART_REPLY(result, "SentenceEmbedding");

static void mean_pool(const TaskRow *row, float *out)
{
    for (int64_t c = 0; c < row->width; c++) out[c] = 0;
    for (int64_t t = 0; t < row->tokens; t++) {
        const float *x = row->data + t * row->width;
        for (int64_t c = 0; c < row->width; c++) out[c] += x[c];
    }
    for (int64_t c = 0; c < row->width; c++) out[c] /= (float)row->tokens;
}

static void sentence_embedding_finish(Arena *arena, const ModelConfig *config,
                                      const TaskOptions *options, const TaskRow *row, Value *out)
{
    (void)config, (void)options;
    const float *vector = row->data;
    if (row->tokens != 1) {
        float *mean = ARRAY(arena, float, row->width);
        mean_pool(row, mean);
        vector = mean;
    }
    *out = part_result(arena, row, 1);
    value_add(out, "embedding", value_of_f32(vector, (size_t)row->width));
    part_close(out, row);
}

const Task task_sentence_embedding = {
    .name = "sentence_embedding",
    .number = 4,
    .outputs = { "last_hidden_state", "sentence_embedding", "token_embeddings" },
    .per_token = true,
    .shape = "[batch_size, seq_len, hidden_dim]",
    .architectures = { "Model" },
    .pipelines = { "sentence-similarity", "sentence-embedding" },
    .request = request,
    .result = result,
    .reply = reply,
    .pool = mean_pool,
    .finish = sentence_embedding_finish,
};
