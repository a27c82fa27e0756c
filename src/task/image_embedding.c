/* SPDX-License-Identifier: Apache-2.0
 * image_embedding.c - one vector for a picture: the graph's own (CLIP's image_embeds, a pooler_output),
 * else the first of its last hidden states, which is the class token of ViT and its like, or the mean of
 * a map (ResNet). On request the last hidden states, too: a vector for each patch, behind those of class
 * tokens; of a map one for each place, row by row. */
#include "parts.h"

static const Field request[] = {
    PART_PICTURES("Picture"), PART_METADATA(11), PART_VECTORS,
    { "patches", 12, F_BOOL, .help = "also a vector for each patch of the picture" },
    { 0 },
};
static const Field patch[] = {
    { "embedding", 1, F_F32, .repeated = true, .required = true, .or_base64 = true },
    { 0 },
};
static const Field result[] = {
    { "embedding", 1, F_F32, .repeated = true, .required = true, .or_base64 = true },
    { "patches", 2, F_MSG, .repeated = true, .msg = patch, .msg_name = "PatchEmbedding",
      .help = "the model's last hidden states; only if asked for" },
    { 0 },
};
static const Field reply[] = PART_PICTURE_REPLY(result, "PictureEmbedding");

static const Field table[] = { { "embedding", 1, F_F32, .repeated = true }, { 0 } };
static const Field table_of_patches[] = { /* values: patches x width */
    { "embedding", 1, F_F32, .repeated = true }, { "patches", 2, F_I32 }, { "values", 3, F_F32, .repeated = true },
    { 0 },
};

static Value picture_told(Arena *arena, const Value *answer)
{
    const Value *patches = value_get(answer, "patches");
    Value out = value_map(arena, 3);
    value_add(&out, "embedding", *value_get(answer, "embedding"));
    if (!patches) return out;
    value_add(&out, "patches", value_of_int((int64_t)patches->list.n));
    value_add(&out, "values", part_flat(arena, patches, "embedding"));
    return out;
}

static bool wants_patches(const TaskOptions *options)
{
    return options->patches;
}
static const TaskTable tables[] = {
    { .when = wants_patches, .rows = table_of_patches, .shape = picture_told },
    { .rows = table, .shape = picture_told },
    { 0 },
};

enum { MAP_RANK = 3 };           /* [channels, height, width] */

static int64_t image_pool_width(int rank, const int64_t *dim)
{
    return rank == MAP_RANK ? dim[0] : rank > 0 ? dim[rank - 1] : 1;
}

static void image_pool(const TaskRow *row, const TaskOptions *options, float *out)
{
    (void)options; /* the result's vector is normalized when it is written */
    const TaskTensor *t = row->out;
    if (t->rank != MAP_RANK) {
        memcpy(out, row->data, (size_t)row->width * sizeof *out);
        return;
    }
    const int64_t places = t->dim[1] * t->dim[2];
    for (int64_t c = 0; c < t->dim[0]; c++) {
        double sum = 0;
        for (int64_t i = 0; i < places; i++) sum += row->data[c * places + i];
        out[c] = (float)(sum / (double)places);
    }
}

/* A map's vectors go across its channels. */
static Value image_patches(Arena *arena, const TaskOptions *options, const TaskTensor *t)
{
    bool map = t->rank == MAP_RANK;
    int64_t n = map ? t->dim[1] * t->dim[2] : t->tokens, width = map ? t->dim[0] : t->width;
    Value list = value_list(arena, (size_t)n);
    float *across = map ? ARRAY(arena, float, n * width) : NULL;
    for (int64_t i = 0; i < n; i++) {
        for (int64_t c = 0; map && c < width; c++) across[i * width + c] = t->data[c * n + i];
        Value *one = &list.list.items[i];
        *one = value_map(arena, 1);
        value_add(one, "embedding", task_vector(arena, options, (map ? across : t->data) + i * width, width));
    }
    return list;
}

/* The last hidden states are an output of their own, or (whole, where they were asked for) the first one. */
static void image_embedding_finish(Arena *arena, const ModelConfig *config, const TaskOptions *options,
                                   const TaskRow *row, size_t n_rows, Value *out)
{
    (void)n_rows, (void)config; /* one a picture */
    const TaskTensor *hidden = row->more ? &row->out[1] : &row->out[0];
    int64_t width = options->patches && !row->more ? image_pool_width(row->out->rank, row->out->dim) : row->width;
    float *vector = ARRAY(arena, float, width);
    if (options->patches && !row->more) image_pool(row, options, vector);
    else memcpy(vector, row->data, (size_t)width * sizeof *vector);
    *out = value_map(arena, 2);
    value_add(out, "embedding", task_vector(arena, options, vector, width));
    if (options->patches) value_add(out, "patches", image_patches(arena, options, hidden));
}

const Task task_image_embedding = {
    .name = "image_embedding",
    .many = "image embeddings",
    .names = { { "image-feature-extraction", { "image-embedding", "image-embeddings" }, .reads = "images" } },
    .number = 24,
    .can = CAN_EMBED_PICTURE,
    .outputs = { { "image_embeds", "pooler_output", "last_hidden_state" }, { "last_hidden_state" } },
    .on_request = true,
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
    .tables = tables,
    .pool = image_pool,
    .pool_width = image_pool_width,
    .items = &item_pictures,
    .preparer = &prepare_pictures,
    .finish = image_embedding_finish,
};
