/* SPDX-License-Identifier: Apache-2.0
 * arch_swin.c - Swin: tokens look at those of their window; every second layer shifts the windows by
 * half, and between the stages four tokens become one. The windows of a picture of the config's size
 * are known, and so are the constants of their masks. */
#include "arch_rows.h"

static const Module modules[] = {
    { "", "*Model" },
    { "embeddings", "*Embeddings" },
    { "embeddings.patch_embeddings", "*PatchEmbeddings" },
    { "encoder", "*Encoder" },
    { "encoder.layers.#", "*Stage" },
    { "encoder.layers.#.blocks.#", "*Layer" },
    { "encoder.layers.#.blocks.#.attention", "*Attention" },
    { "encoder.layers.#.blocks.#.attention.relative_position_bias", "*RelativePositionBias" },
    { "encoder.layers.#.blocks.#.mlp", "*MLP" },
    { "encoder.layers.#.blocks.#.mlp.activation_fn", "!" },
    { "encoder.layers.#.downsample", "*PatchMerging" },
    { 0 },
};

static const Rename renames[] = {
    { "attention.self.query", { "attention.q_proj" } },
    { "attention.self.key", { "attention.k_proj" } },
    { "attention.self.value", { "attention.v_proj" } },
    { "attention.self.relative_position_bias_table",
      { "attention.relative_position_bias.relative_position_bias_table" } },
    { "attention.output.dense", { "attention.o_proj" } },
    { "intermediate.dense", { "mlp.fc1" } },
    { ".output.dense", { ".mlp.fc2" } },
    { 0 },
};

enum { MOST_WINDOW = 64, MOST_MASK = 1 << 26 }; /* tokens of a side; numbers of a mask */

typedef struct SwinOwn {
    Stages stages;          /* width: of heads */
    int64_t window, first;  /* tokens of a window's side; channels of the first stage */
    double ratio;           /* of the feed-forward */
    bool placed;            /* use_absolute_embeddings */
} SwinOwn;

typedef struct SwinMap {    /* where a layer works */
    int64_t h, w, C;
    int64_t down, across;   /* sides that are whole windows */
    int64_t shift;
} SwinMap;

static bool swin_fits(const Encoder *m, const SwinOwn *own, Err *err)
{
    const PictureInput *p = &m->picture;
    int64_t h = p->height / p->patch[0], w = p->width / p->patch[1];
    if (p->height % p->patch[0] || p->width % p->patch[1])
        return fail(err, EF_UNSUPPORTED, "config.json: image_size: found %lld x %lld, wanted a multiple "
                    "of patch_size", (long long)p->height, (long long)p->width);
    if (own->window > MOST_WINDOW || h * w > MOST_MASK / (own->window * own->window))
        return fail(err, EF_TOO_LARGE, "config.json: found %lld x %lld tokens in windows of %lld, wanted "
                    "fewer", (long long)h, (long long)w, (long long)own->window);
    for (int i = 0; i < own->stages.n; i++, h = (h + 1) / 2, w = (w + 1) / 2) {
        if (MIN(h, w) < own->window)
            return fail(err, EF_UNSUPPORTED, "config.json: window_size: found %lld, more than the %lld "
                        "x %lld tokens of stage %d", (long long)own->window, (long long)h,
                        (long long)w, i);
        if ((own->first << i) % own->stages.width[i])
            return fail(err, EF_BAD_MODEL, "config.json: num_heads: %lld channels of stage %d do not "
                        "divide into %lld heads", (long long)(own->first << i), i,
                        (long long)own->stages.width[i]);
    }
    return true;
}

static bool swin_configure(Encoder *m, const Value *config, Err *err)
{
    SwinOwn *own = m->own = NEW(m->b->arena, SwinOwn);
    int64_t window[2] = { 7, 7 }, width[2] = { 96, 96 };
    own->stages = (Stages){ 4, { 3, 6, 12, 24 }, { 2, 2, 6, 2 } };
    own->ratio = value_float(value_get(config, "mlp_ratio"), 4);
    own->placed = value_bool(value_get(config, "use_absolute_embeddings"), false);
    if (own->ratio <= 0 || own->ratio > 64)
        return fail(err, EF_BAD_MODEL, "config.json: mlp_ratio: found %g, wanted 1 to 64", own->ratio);
    if (!picture_configure(m, config, 224, 4, err) ||
        !picture_size(config, "window_size", window, err) ||
        !picture_size(config, "embed_dim", width, err) ||
        !picture_stages(config, "num_heads", &own->stages, err))
        return false;
    own->window = window[0], own->first = m->n[K_HIDDEN] = width[0];
    return swin_fits(m, own, err);
}

/* [1, heads, N, N]: by how far two tokens of a window lie apart. */
static Str swin_bias(Encoder *m, const char *path, int64_t side)
{
    Builder *b = m->b;
    int64_t N = side * side, dim[] = { (2 * side - 1) * (2 * side - 1), m->n[K_HEADS] };
    Str table = build_weight(b, path, "relative_position_bias_table", 2, dim);
    if (!build_ok(b)) return table;
    int64_t *at = ARRAY(b->arena, int64_t, N * N);
    for (int64_t i = 0; i < N; i++)
        for (int64_t k = 0; k < N; k++)
            at[i * N + k] = (i / side - k / side + side - 1) * (2 * side - 1) + i % side - k % side +
                            side - 1;
    Str rows = NODE(b, path, "Gather", table,
                    build_indices(b, "relative_position_index", at, (size_t)(N * N)));
    return picture_first(b, path, NODE(b, path, "Reshape", rows, INTS(b, 1, N, N, dim[1])));
}

static int64_t swin_region(const SwinMap *a, int64_t side, int64_t y, int64_t x)
{
    int64_t row = (y >= a->down - side) + (y >= a->down - a->shift);
    return row * 3 + (x >= a->across - side) + (x >= a->across - a->shift);
}

/* [windows * N, N]: -100 between tokens that only the shift made neighbours. */
static Str swin_apart(Encoder *m, const SwinMap *a, int64_t side)
{
    int64_t N = side * side, wide = a->across / side, windows = a->down / side * wide;
    float *mask = ARRAY(m->b->arena, float, windows * N * N);
    for (int64_t n = 0; n < windows; n++)
        for (int64_t i = 0; i < N * N; i++) {
            int64_t top = n / wide * side, left = n % wide * side, p = i / N, q = i % N;
            mask[n * N * N + i] = swin_region(a, side, top + p / side, left + p % side) ==
                                          swin_region(a, side, top + q / side, left + q % side)
                                      ? 0
                                      : -100;
        }
    const char *name = str_format(m->b->arena, "shifted.%lldx%lld", (long long)a->down,
                                  (long long)a->across);
    return build_floats(m->b, name, mask, windows * N, N);
}

static Str swin_mask(Encoder *m, const char *path, const SwinMap *a, int64_t side)
{
    Builder *b = m->b;
    int64_t N = side * side, windows = a->down / side * (a->across / side);
    Str bias = swin_bias(m, build_path(b, "%s.relative_position_bias", path), side);
    if (!a->shift || !build_ok(b)) return bias;
    Str mask = NODE(b, path, "Reshape", swin_apart(m, a, side), INTS(b, 1, windows, 1, N, N));
    Str rows = NODE(b, path, "Gather", NODE(b, path, "Shape", STR("pixel_values")), INTS(b, 0));
    Str shape = NODE(b, path, "Concat", rows, INTS(b, windows, 1, N, N));
    build_attr_int(b, "axis", 0);
    mask = NODE(b, path, "Expand", mask, shape);
    return NODE(b, path, "Add", bias, NODE(b, path, "Reshape", mask, INTS(b, -1, 1, N, N)));
}

/* The map turned by n along an axis: what falls off at one end comes in at the other. */
static Str swin_roll(Builder *b, const char *path, Str x, int64_t axis, int64_t n)
{
    Str back = NODE(b, path, "Slice", x, INTS(b, n), INTS(b, INT64_MAX), INTS(b, axis));
    Str front = NODE(b, path, "Slice", x, INTS(b, 0), INTS(b, n), INTS(b, axis));
    Str y = NODE(b, path, "Concat", back, front);
    build_attr_int(b, "axis", axis);
    return y;
}

static Str swin_rolled(Builder *b, const char *path, Str x, const SwinMap *a, bool back)
{
    if (!a->shift) return x;
    x = swin_roll(b, path, x, 1, back ? -a->shift : a->shift);
    return swin_roll(b, path, x, 2, back ? -a->shift : a->shift);
}

static Str swin_swap(Builder *b, const char *path, Str x)
{
    Str y = NODE(b, path, "Transpose", x);
    build_attr_ints(b, "perm", (int64_t[]){ 0, 1, 3, 2, 4, 5 }, 6);
    return y;
}

/* [B, h * w, C] to [B * windows, N, C] */
static Str swin_cut(Builder *b, const char *path, Str x, const SwinMap *a, int64_t side)
{
    x = NODE(b, path, "Reshape", x, INTS(b, -1, a->h, a->w, a->C));
    if (a->down > a->h || a->across > a->w)
        x = NODE(b, path, "Pad", x, INTS(b, 0, 0, 0, 0, 0, a->down - a->h, a->across - a->w, 0));
    x = swin_rolled(b, path, x, a, false);
    x = NODE(b, path, "Reshape", x, INTS(b, -1, a->down / side, side, a->across / side, side, a->C));
    return NODE(b, path, "Reshape", swin_swap(b, path, x), INTS(b, -1, side * side, a->C));
}

/* And back. */
static Str swin_join(Builder *b, const char *path, Str x, const SwinMap *a, int64_t side)
{
    x = NODE(b, path, "Reshape", x, INTS(b, -1, a->down / side, a->across / side, side, side, a->C));
    x = NODE(b, path, "Reshape", swin_swap(b, path, x), INTS(b, -1, a->down, a->across, a->C));
    x = swin_rolled(b, path, x, a, true);
    if (a->down > a->h || a->across > a->w)
        x = NODE(b, path, "Slice", x, INTS(b, 0, 0), INTS(b, a->h, a->w), INTS(b, 1, 2));
    return NODE(b, path, "Reshape", x, INTS(b, -1, a->h * a->w, a->C));
}

static Str swin_layer(Encoder *m, const char *path, Str x, const SwinMap *a)
{
    Builder *b = m->b;
    int64_t side = ((const SwinOwn *)m->own)->window;
    Str y = layer_norm(b, build_path(b, "%s.layernorm_before", path), x, a->C, m->eps);
    m->mask = swin_mask(m, build_path(b, "%s.attention", path), a, side);
    y = encoder_attention(m, 0, path, swin_cut(b, path, y, a, side));
    y = layer_linear(b, build_path(b, "%s.attention.o_proj", path), y, a->C, a->C);
    x = NODE(b, path, "Add", x, swin_join(b, path, y, a, side));
    y = layer_norm(b, build_path(b, "%s.layernorm_after", path), x, a->C, m->eps);
    return NODE(b, path, "Add", encoder_feed_forward(m, path, y), x);
}

/* Every second row and column, from (row, column) on. */
static Str swin_quarter(Builder *b, const char *path, Str x, int64_t row, int64_t column)
{
    return NODE(b, path, "Slice", x, INTS(b, row, column), INTS(b, INT64_MAX, INT64_MAX),
                INTS(b, 1, 2), INTS(b, 2, 2));
}

/* Four neighbours become one token of twice the channels. */
static Str swin_merge(Builder *b, const char *path, Str x, const SwinMap *a)
{
    int64_t C = a->C;
    Str part[4];
    x = NODE(b, path, "Reshape", x, INTS(b, -1, a->h, a->w, C));
    if (a->h % 2 || a->w % 2)
        x = NODE(b, path, "Pad", x, INTS(b, 0, 0, 0, 0, 0, a->h % 2, a->w % 2, 0));
    for (int i = 0; i < 4; i++) part[i] = swin_quarter(b, path, x, i % 2, i / 2);
    x = build_node(b, path, "Concat", part, 4);
    build_attr_int(b, "axis", -1);
    x = NODE(b, path, "Reshape", x, INTS(b, -1, (a->h + 1) / 2 * ((a->w + 1) / 2), 4 * C));
    x = layer_norm(b, build_path(b, "%s.norm", path), x, 4 * C, 1e-5);
    return layer_linear(b, build_path(b, "%s.reduction", path), x, 2 * C, 4 * C);
}

static Str swin_stage(Encoder *m, int i, Str x, SwinMap *a)
{
    Builder *b = m->b;
    const SwinOwn *own = m->own;
    const char *path = build_path(b, "%sencoder.layers.%d", b->base, i);
    m->n[K_HIDDEN] = a->C, m->n[K_HEADS] = own->stages.width[i];
    m->n[K_INNER] = MAX((int64_t)(own->ratio * (double)a->C), 1);
    a->down = (a->h + own->window - 1) / own->window * own->window;
    a->across = (a->w + own->window - 1) / own->window * own->window;
    bool whole = MIN(a->h, a->w) <= own->window; /* one window is all there is */
    for (int k = 0; k < own->stages.depth[i] && build_ok(b); k++) {
        a->shift = k % 2 && !whole ? own->window / 2 : 0;
        x = swin_layer(m, build_path(b, "%s.blocks.%d", path, k), x, a);
    }
    if (i + 1 == own->stages.n) return x;
    x = swin_merge(b, build_path(b, "%s.downsample", path), x, a);
    a->h = (a->h + 1) / 2, a->w = (a->w + 1) / 2, a->C *= 2;
    return x;
}

static void swin_write(Encoder *m)
{
    Builder *b = m->b;
    const SwinOwn *own = m->own;
    const PictureInput *p = &m->picture;
    SwinMap a = { .h = p->height / p->patch[0], .w = p->width / p->patch[1], .C = own->first };
    const char *inside = encoder_path(m, "embeddings");
    picture_input(m);
    Str x = picture_patches(m, encoder_path(m, "embeddings.patch_embeddings.projection"));
    x = layer_norm(b, encoder_path(m, "embeddings.norm"), x, a.C, 1e-5);
    int64_t dim[] = { 1, a.h * a.w, a.C };
    if (own->placed)
        x = NODE(b, inside, "Add", x, build_weight(b, inside, "position_embeddings", 3, dim));
    for (int i = 0; i < own->stages.n && build_ok(b); i++) x = swin_stage(m, i, x, &a);
    x = layer_norm(b, encoder_path(m, "layernorm"), x, a.C, m->eps);
    picture_ends(m, x, 3, (int64_t[]){ DIM_UNKNOWN, a.h * a.w, a.C });
}

static Str swin_pool(Encoder *m, const char *path, Str x, int64_t *width)
{
    (void)width;
    return layer_mean(m->b, path, x, (int64_t[]){ 1 }, 1, false);
}

static const ArchStep swin_pooler[] = { { ARCH_STEP_OWN, "@" }, { 0 } };
static const ArchStep swin_classify[] = {
    { ARCH_STEP_OWN, "@" },
    { ARCH_STEP_LINEAR, "classifier" },
    { 0 },
};

const Arch arch_swin = {
    .model_type = "swin", .family = "Swin", .base = "swin.", .modules = modules,
    .models = "swin-tiny-patch4-window7-224, swin-base-patch4-window12-384",
    .renames = renames, .eps = 1e-5, .pre_norm = true, .paths = { VIT_PATHS },
    .key = { [K_HIDDEN] = "embed_dim", [K_HEADS] = "num_attention_heads" },
    .otherwise = { [K_HIDDEN] = 96, [K_HEADS] = 1 },
    .steps = { [HEAD_NONE] = swin_pooler, [HEAD_IMAGE] = swin_classify },
    .configure = swin_configure, .write = swin_write, .pool = swin_pool,
};
