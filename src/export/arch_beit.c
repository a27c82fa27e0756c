/* SPDX-License-Identifier: Apache-2.0
 * arch_beit.c - BEiT: ViT with scaled sublayers, and scores that depend on how far two patches lie
 * apart, by a table of each layer or one for all. */
#include "arch_rows.h"

static const Module modules[] = {
    { "", "*Model" },
    { "embeddings", "*Embeddings" },
    { "embeddings.patch_embeddings", "*PatchEmbeddings" },
    { "shared_position_bias", "*RelativePositionBias" },
    { "layers.#", "*Layer" },
    { "layers.#.relative_position_bias", "*RelativePositionBias" },
    { "layers.#.attention", "*Attention" },
    { "layers.#.mlp", "*MLP" },
    { "layers.#.mlp.activation_fn", "!" },
    { "pooler", "*Pooler" },
    { 0 },
};

static const Rename renames[] = {
    { "encoder.relative_position_bias", { "shared_position_bias" } },
    { "attention.attention.relative_position_bias", { "relative_position_bias" } },
    VIT_RENAMES,
    { 0 },
};

enum { MOST_SIDE = 64 }; /* patches: pairs of them have a table */

typedef struct BeitOwn {
    bool each, one;         /* tables of every layer, and one for all */
    Str shared;             /* what the latter gives */
} BeitOwn;
static const LayerPaths unscaled = { VIT_PATHS };

static bool beit_configure(Encoder *m, const Value *config, Err *err)
{
    BeitOwn *own = m->own = NEW(m->b->arena, BeitOwn);
    PictureInput *p = &m->picture;
    if (!picture_configure(m, config, 224, 16, err)) return false;
    own->each = value_bool(value_get(config, "use_relative_position_bias"), false);
    own->one = value_bool(value_get(config, "use_shared_relative_position_bias"), false);
    int64_t h = p->height / p->patch[0], w = p->width / p->patch[1];
    if ((own->each || own->one) && h != w)
        return fail(err, EF_UNSUPPORTED, "config.json: use_relative_position_bias: image_size and "
                    "patch_size give %lld x %lld patches, wanted a square", (long long)h,
                    (long long)w);
    if ((own->each || own->one) && h > MOST_SIDE)
        return fail(err, EF_TOO_LARGE, "config.json: image_size and patch_size give %lld x %lld patches, "
                    "wanted at most %d a side", (long long)h, (long long)w, MOST_SIDE);
    p->unplaced = !value_bool(value_get(config, "use_absolute_position_embeddings"), false);
    if (value_float(value_get(config, "layer_scale_init_value"), 0.1) <= 0) m->paths = &unscaled;
    if (value_bool(value_get(config, "use_mean_pooling"), true)) m->final_norm = NULL;
    return true;
}

/* Rows of the table for each pair of tokens; the last three are for the class's token. */
static Str beit_pairs(Encoder *m, int64_t side)
{
    int64_t N = side * side + 1, last = (2 * side - 1) * (2 * side - 1);
    int64_t *at = ARRAY(m->b->arena, int64_t, N * N);
    for (int64_t i = 0; i < N; i++)
        for (int64_t k = 0; k < N; k++) {
            int64_t dy = (i - 1) / side - (k - 1) / side, dx = (i - 1) % side - (k - 1) % side;
            at[i * N + k] = i && k ? (dy + side - 1) * (2 * side - 1) + dx + side - 1
                                   : last + (i ? 1 : k ? 0 : 2);
        }
    return build_indices(m->b, "relative_position_index", at, (size_t)(N * N));
}

/* [1, heads, tokens, tokens] of a module with a table. */
static Str beit_bias(Encoder *m, const char *path)
{
    Builder *b = m->b;
    const char *leaf = "relative_position_bias_table";
    int64_t side = m->picture.height / m->picture.patch[0], N = side * side + 1;
    int64_t dim[] = { (2 * side - 1) * (2 * side - 1) + 3, m->n[K_HEADS] };
    Str table = build_weight(b, path, leaf, 2, dim);
    if (!build_ok(b)) return table; /* a side that the weights do not bear out */
    Str rows = NODE(b, path, "Gather", table, beit_pairs(m, side));
    Str x = NODE(b, path, "Transpose", NODE(b, path, "Reshape", rows, INTS(b, 1, N, N, dim[1])));
    build_attr_ints(b, "perm", (int64_t[]){ 0, 3, 1, 2 }, 4);
    return x;
}

static Str beit_begin(Encoder *m, int layer, const char *path, Str x)
{
    BeitOwn *own = m->own;
    if (own->one && layer == 0) own->shared = beit_bias(m, encoder_path(m, "shared_position_bias"));
    m->mask = own->shared;
    if (!own->each) return x;
    Str bias = beit_bias(m, build_path(m->b, "%s.relative_position_bias", path));
    m->mask = own->one ? NODE(m->b, path, "Add", bias, own->shared) : bias;
    return x;
}

static Str beit_pool(Encoder *m, const char *path, Str x, int64_t *width)
{
    if (m->final_norm) return picture_token(m, path, x, 0);
    x = picture_rest(m, path, x, 1);
    return layer_norm(m->b, build_path(m->b, "%s.layernorm", path), x, *width, m->eps);
}

static const ArchStep beit_pooler[] = { { ARCH_STEP_OWN, "@pooler" }, { 0 } };
static const ArchStep beit_classify[] = {
    { ARCH_STEP_OWN, "@pooler" },
    { ARCH_STEP_LINEAR, "classifier" },
    { 0 },
};

const Arch arch_beit = {
    .model_type = "beit", .family = "Beit", .base = "beit.", .modules = modules,
    .models = "beit-base-patch16-224, beit-large-patch16-224-pt22k-ft22k",
    .renames = renames, .eps = 1e-12, .pre_norm = true, .layer = "layers.%d",
    .paths = { VIT_PATHS, .scale1 = "lambda_1", .scale2 = "lambda_2" }, .final_norm = "layernorm",
    .picture = &(const PictureTokens){ .first = { "cls_token" } },
    .steps = { [HEAD_NONE] = beit_pooler, [HEAD_IMAGE] = beit_classify },
    .configure = beit_configure, .write = picture_write, .begin = beit_begin, .pool = beit_pool,
};
