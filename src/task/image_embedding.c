/* SPDX-License-Identifier: Apache-2.0
 * image_embedding.c - one vector for a picture: the graph's own (CLIP's image_embeds, a pooler_output),
 * else the first of its last hidden states, which is the class token of ViT and its like. */
#include "parts.h"

static const Field request[] = {
    PART_PICTURES("Picture"), PART_METADATA(11), PART_VECTORS, { 0 },
};
static const Field result[] = {
    { "embedding", 1, F_F32, .repeated = true, .required = true, .or_base64 = true },
    { 0 },
};
static const Field reply[] = PART_PICTURE_REPLY(result, "PictureEmbedding");

static void image_pool(const TaskRow *row, const TaskOptions *options, float *out)
{
    (void)options; /* the result's vector is normalized when it is written */
    memcpy(out, row->data, (size_t)row->width * sizeof *out);
}

static void image_embedding_finish(Arena *arena, const ModelConfig *config, const TaskOptions *options,
                                   const TaskRow *row, size_t n_rows, Value *out)
{
    (void)n_rows, (void)config; /* one a picture */
    assert(row->tokens == 1);
    *out = value_map(arena, 1);
    value_add(out, "embedding", task_vector(arena, options, row->data, row->width));
}

const Task task_image_embedding = {
    .name = "image_embedding",
    .many = "image embeddings",
    .names = { { "image-feature-extraction", { "image-embedding", "image-embeddings" }, .reads = "images" } },
    .number = 24,
    .can = CAN_EMBED_PICTURE,
    .outputs = { { "image_embeds", "pooler_output", "last_hidden_state" } },
    .shape = &shape_patch_vectors,
    .pooled = &shape_text_vectors,
    .architectures = { "Model", "ModelWithProjection" },
    .mcp_instructions = "This tool will embed pictures.",
    .mcp_description = "Makes a vector of a picture, to compare pictures with.",
    .no_lua = PART_NO_LUA_PICTURE,
    .samples = part_picture_samples,
    .request = request,
    .result = result,
    .reply = reply,
    .pool = image_pool,
    .items = &item_pictures,
    .preparer = &prepare_pictures,
    .finish = image_embedding_finish,
};
