/* SPDX-License-Identifier: Apache-2.0
 * sentence_embedding.c - one vector for a text: its tokens' last hidden states through the model's
 * head (head.h), whose pooling and normalizing a request may replace. Special tokens count: they are
 * attended to. Where nothing tells the head it is the mean, not normalized, as the peer's. A graph
 * that pools by itself is taken at its word. */
#include "parts.h"

static const Field request[] = {
    PART_INPUTS, PART_METADATA(3), PART_TRUNCATE, PART_VECTORS,
    { "pooling", 0, F_STR, .words = head_pooling_words,
      .help = "of the tokens' vectors: the model's own way (unless said), their mean or maximum, "
              "the first or the last; dense layers that follow stay" },
    PART_PROMPT, PART_OFFSETS, PART_RETURN_TOKENS, { 0 },
};

static const Field result[] = {
    { "embedding", 1, F_F32, .repeated = true, .required = true, .or_base64 = true },
    PART_TOKENS,
    PART_TRUNCATED,
    { 0 },
};
static const Field reply[] = PART_REPLY(result, "SentenceEmbedding");

void task_pool(const TaskRow *row, const TaskOptions *options, float *out)
{
    HeadRow all = { row->data, row->tokens, row->width, row->prompt, options->pooling,
                    options->normalize };
    head_apply(row->head, &all, out);
}

static void sentence_embedding_finish(Arena *arena, const ModelConfig *config,
                                      const TaskOptions *options, const TaskRow *row, Value *out)
{
    (void)config;
    assert(row->tokens == 1);
    *out = part_result(arena, row, 2);
    value_add(out, "embedding", task_vector(arena, options, row->data, row->width));
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
