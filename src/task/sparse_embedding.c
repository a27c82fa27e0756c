/* SPDX-License-Identifier: Apache-2.0
 * sparse_embedding.c - a weight for each word of the vocabulary, from a masked language model: the
 * largest over the text's tokens of log(1 + max(logit, 0)), as SPLADE was trained. */
#include <math.h>

#include "parts.h"

static const Field request[] = {
    PART_INPUTS, PART_METADATA(3), PART_TRUNCATE, PART_PROMPT, PART_OFFSETS, PART_RETURN_TOKENS,
    { 0 },
};

static const Field result[] = {
    { "indices", 1, F_U32, .repeated = true, .required = true,
      .help = "of the tokens with a weight above 0, ascending" },
    { "values", 2, F_F32, .repeated = true, .required = true, .help = "their weights" },
    PART_TOKENS,
    PART_TRUNCATED,
    { 0 },
};
static const Field reply[] = PART_REPLY(result, "SparseEmbedding");

static const Field table[] = {
    { "indices", 1, F_I32, .repeated = true }, { "values", 2, F_F32, .repeated = true }, { 0 },
};
static const TaskTable tables[] = { { .rows = table }, { 0 } };

void part_sparse(const TaskRow *row, const TaskOptions *options, float *out)
{
    (void)options;
    for (int64_t c = 0; c < row->width; c++) out[c] = 0;
    for (int64_t t = 0; t < row->tokens; t++) {
        const float *x = row->data + t * row->width;
        for (int64_t c = 0; c < row->width; c++) out[c] = MAX(out[c], x[c]);
    }
    for (int64_t c = 0; c < row->width; c++) out[c] = log1pf(out[c]); /* it keeps the order */
}

static void sparse_embedding_finish(Arena *arena, const ModelConfig *config,
                                    const TaskOptions *options, const TaskRow *row, size_t n_rows, Value *out)
{
    (void)n_rows; /* one an item */
    (void)config;
    const float *x = row->data;
    if (row->tokens != 1) {
        float *pooled = ARRAY(arena, float, row->width);
        part_sparse(row, options, pooled);
        x = pooled;
    }
    size_t n = 0;
    for (int64_t c = 0; c < row->width; c++) n += x[c] > 0;
    Value indices = value_list(arena, n);
    float *values = ARRAY(arena, float, n);
    n = 0;
    for (int64_t c = 0; c < row->width; c++) {
        if (!(x[c] > 0)) continue;
        indices.list.items[n] = value_of_int(c);
        values[n++] = x[c];
    }
    *out = part_result(arena, row, 3);
    value_add(out, "indices", indices);
    value_add(out, "values", value_of_f32(values, n));
    if (options->return_tokens) value_add(out, "tokens", part_token_list(arena, options, row));
    part_close(out, row);
}

const Task task_sparse_embedding = {
    .name = "sparse_embedding",
    .many = "embeddings",
    .names = { { "sparse-embedding", { "sparse-embeddings", "splade" } } },
    .number = 1002,
    .can = CAN_SPARSE,
    .outputs = { { "logits" } },
    .shape = &shape_token_words,
    .pooled = &shape_text_words,
    .architectures = { "ForMaskedLM" },
    .mcp_instructions = "This tool will weigh the words of the vocabulary for an input text sequence.",
    .mcp_description = "Performs sparse embedding of input text sequences.",
    .lua = PART_LUA_HEAD
           "---Postprocess the logits of every word at every place\n"
           "---Must return 2D tensor of shape [batch_size, vocab_size]: a weight for every word\n"
           "---@input Tensor 3D tensor of shape [batch_size, seq_len, vocab_size]\n"
           "---@input mask Attention mask of shape [batch_size, seq_len]\n"
           "---@return Tensor\n"
           "function Postprocess(arr, mask)\n"
           "    ---Replace with your logic here\n"
           "    local weights = (arr:clamp(0, nil) + 1):log()\n"
           "    return (weights * mask:reshape(mask:shape(1), mask:shape(2), 1)):sum_axis(2)\n"
           "end\n",
    .samples = part_samples,
    .request = request,
    .result = result,
    .reply = reply,
    .tables = tables,
    .pool = part_sparse,
    .items = &item_texts,
    .preparer = &prepare_text,
    .finish = sparse_embedding_finish,
};
