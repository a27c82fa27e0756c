/* SPDX-License-Identifier: Apache-2.0
 * embedding.c - a vector for every token: the last hidden states as they are. */
#include "parts.h"

static const Field request[] = { PART_INPUTS, PART_METADATA(3), PART_PAGES(20), PART_OFFSETS, PART_TRUNCATE,
                                 PART_VECTORS, { 0 } };

static const Field token_embedding[] = {
    { "embedding", 1, F_F32, .repeated = true, .required = true, .or_base64 = true },
    { "token_info", 2, F_MSG, .required = true, .msg = part_token_info, .msg_name = "TokenInfo" },
    { 0 },
};
static const Field result[] = {
    { "embeddings", 1, F_MSG, .repeated = true, .required = true, .msg = token_embedding,
      .msg_name = "TokenEmbedding",
      .help = "one for each token of the text, without special ones" },
    PART_TRUNCATED,
    { 0 },
};
static const Field reply[] = PART_REPLY(result, "TokenEmbeddingSequence");

static const Field table[] = { /* values: tokens x width */
    { "tokens", 1, F_I32 }, { "values", 2, F_F32, .repeated = true }, { 0 },
};

static Value embedding_told(Arena *arena, const Value *answer)
{
    const Value *list = value_get(answer, "embeddings");
    Value out = value_map(arena, 2);
    value_add(&out, "tokens", value_of_int((int64_t)list->list.n));
    value_add(&out, "values", part_flat(arena, list, "embedding"));
    return out;
}
static const TaskTable tables[] = { { .rows = table, .shape = embedding_told }, { 0 } };

static Value embed_token(Arena *arena, const ModelConfig *config, const TaskOptions *options,
                         const TaskRow *row, const Encoding *spans, size_t token)
{
    (void)config;
    Value one = value_map(arena, 2);
    const float *x = row->data + token * (size_t)row->width;
    value_add(&one, "embedding", task_vector(arena, options, x, row->width));
    value_add(&one, "token_info", part_token(arena, row, spans, token));
    return one;
}

static void embedding_finish(Arena *arena, const ModelConfig *config, const TaskOptions *options,
                             const TaskRow *row, size_t n_rows, Value *out)
{
    (void)n_rows; /* one an item */
    *out = part_tokens(arena, config, options, row, "embeddings", embed_token);
}

const Task task_embedding = {
    .name = "embedding",
    .many = "embeddings",
    .names = { { "feature-extraction",
                 { "embedding", "embeddings", "token-embedding", "token-embeddings", "default" } } },
    .number = 1,
    .can = CAN_EMBED,
    .outputs = { { "last_hidden_state", "token_embeddings" } },
    .shape = &shape_token_vectors,
    .architectures = { "Model" },
    .mcp_instructions = "This tool will provide a vector embedding for the input text sequence.",
    .mcp_description = "Performs embeddings for input text sequences.",
    .lua = PART_LUA_HEAD
           "---Postprocess embeddings\n"
           "---Must return 3D tensor of shape [batch_size, seq_len, *]\n"
           "---@input Tensor 3D tensor of shape [batch_size, seq_len, hidden_dim]\n" PART_LUA_SAME,
    .samples = part_samples,
    .request = request,
    .result = result,
    .reply = reply,
    .tables = tables,
    .pool = part_pool,
    .items = &item_texts,
    .preparer = &prepare_text,
    .finish = embedding_finish,
};
