/* SPDX-License-Identifier: Apache-2.0
 * sentence_embedding.c - one vector for a text: its tokens' last hidden states through the model's
 * head (head.h), whose pooling and normalizing a request may replace. Special tokens count.
 * The default head is the mean, not normalized, as in the Rust encoderfile. Of a graph that pools by
 * itself the vector is taken as it is. */
#include "parts.h"

static const Field request[] = {
    PART_INPUTS, PART_METADATA(3), PART_PAGES(20), PART_TRUNCATE, PART_VECTORS,
    { "pooling", 0, F_STR, .words = head_pooling_words,
      .help = "how tokens' vectors become one: as the model says (default), their mean or maximum, "
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

static const Field table[] = { { "embedding", 1, F_F32, .repeated = true }, { 0 } };
static const TaskTable tables[] = { { .rows = table }, { 0 } };

void part_pool(const TaskRow *row, const TaskOptions *options, float *out)
{
    HeadRow all = { row->data, row->tokens, row->width, row->prompt, options->pooling,
                    options->normalize };
    head_apply(row->head, &all, out);
}

static void sentence_embedding_finish(Arena *arena, const ModelConfig *config,
                                      const TaskOptions *options, const TaskRow *row, size_t n_rows, Value *out)
{
    (void)n_rows; /* one an item */
    (void)config;
    assert(row->tokens == 1);
    *out = part_result(arena, row, 2);
    value_add(out, "embedding", task_vector(arena, options, row->data, row->width));
    if (options->return_tokens) value_add(out, "tokens", part_token_list(arena, options, row));
    part_close(out, row);
}

const Task task_sentence_embedding = {
    .name = "sentence_embedding",
    .many = "embeddings",
    .names = { { "sentence-similarity", { "sentence-embedding", "sentence-embeddings", "text-embedding",
                                        "text-embeddings" } } },
    .number = 4,
    .can = CAN_EMBED | CAN_SENTENCE,
    .outputs = { { "text_embeds", "last_hidden_state", "sentence_embedding", "token_embeddings" } },
    .shape = &shape_token_vectors,
    .pooled = &shape_text_vectors,
    .architectures = { "Model" },
    .mcp_instructions = "This tool will embed a sequence of texts.",
    .mcp_description = "Performs sentence embedding of input text sequences.",
    .lua = PART_LUA_HEAD
           "---Postprocess embeddings\n"
           "---Must return 2D tensor of shape [batch_size, *]\n"
           "---@input Tensor 3D tensor of shape [batch_size, seq_len, hidden_dim]\n"
           "---@input mask Attention mask of shape [batch_size, seq_len]\n"
           "---@return Tensor\n"
           "function Postprocess(arr, mask)\n"
           "    ---Replace with your logic here\n"
           "    return arr:mean_pool(mask)\n"
           "end\n",
    .samples = part_samples,
    .request = request,
    .result = result,
    .reply = reply,
    .tables = tables,
    .pool = part_pool,
    .items = &item_texts,
    .preparer = &prepare_text,
    .finish = sentence_embedding_finish,
};
