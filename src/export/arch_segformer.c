/* SPDX-License-Identifier: Apache-2.0
 * arch_segformer.c - SegFormer: stages of overlapping patches whose keys and values are fewer than
 * their queries, a convolution inside every feed-forward instead of positions, and a head that reads
 * the maps of all stages at the size of the first. */
#include "arch_rows.h"

static const Module modules[] = {
    { "", "*Model" },
    { "stages.#", "*Stage" },
    { "stages.#.patch_embeddings", "*OverlapPatchEmbeddings" },
    { "stages.#.blocks.#", "*Layer" },
    { "stages.#.blocks.#.attention", "*Attention" },
    { "stages.#.blocks.#.attention.sequence_reduction", "*SequenceReduction" },
    { "stages.#.blocks.#.mlp", "*MixMLP" },
    { "stages.#.blocks.#.mlp.dwconv", "*DepthWiseConv" },
    { "stages.#.blocks.#.mlp.activation_fn", "!" },
    { 0 },
};
static const Module decode_modules[] = {
    { "decode_head", "*DecodeHead" },
    { "decode_head.linear_projections.#", "*MLP" },
    { 0 },
};

#define STAGE(i)                                                                                \
    { "encoder.patch_embeddings." #i ".", { "stages." #i ".patch_embeddings." } },              \
    { "encoder.block." #i ".", { "stages." #i ".blocks." } },                                   \
    { "encoder.layer_norm." #i ".", { "stages." #i ".layer_norm." } }
static const Rename renames[] = {
    STAGE(0), STAGE(1), STAGE(2), STAGE(3),
    { "attention.self.query", { "attention.q_proj" } },
    { "attention.self.key", { "attention.k_proj" } },
    { "attention.self.value", { "attention.v_proj" } },
    { "attention.self.sr.", { "attention.sequence_reduction.sequence_reduction." } },
    { "attention.self.layer_norm", { "attention.sequence_reduction.layer_norm" } },
    { "attention.output.dense", { "attention.o_proj" } },
    { "layer_norm_1", { "layernorm_before" } },
    { "layer_norm_2", { "layernorm_after" } },
    { "mlp.dense1", { "mlp.fc1" } },
    { "mlp.dense2", { "mlp.fc2" } },
    { "decode_head.linear_c.", { "decode_head.linear_projections." } },
    { 0 },
};

enum { SEGFORMER_LISTS = 5 };
typedef struct SegformerOwn {
    Stages stages;
    int64_t list[SEGFORMER_LISTS][MOST_STAGES]; /* by the names below */
    int64_t wide;           /* decoder_hidden_size */
} SegformerOwn;
typedef enum { SEG_REDUCE, SEG_PATCH, SEG_STRIDE, SEG_HEADS, SEG_RATIO } SegformerList;
static const char *const lists[SEGFORMER_LISTS] = {
    "sr_ratios", "patch_sizes", "strides", "num_attention_heads", "mlp_ratios",
};

static bool segformer_configure(Encoder *m, const Value *config, Err *err)
{
    SegformerOwn *own = m->own = NEW(m->b->arena, SegformerOwn);
    static const int64_t otherwise[SEGFORMER_LISTS][4] = {
        { 8, 4, 2, 1 }, { 7, 3, 3, 3 }, { 4, 2, 2, 2 }, { 1, 2, 5, 8 }, { 4, 4, 4, 4 },
    };
    int64_t wide[2] = { 256, 256 };
    own->stages = (Stages){ 4, { 32, 64, 160, 256 }, { 2, 2, 2, 2 } };
    if (!value_bool(value_get(config, "reshape_last_stage"), true))
        return fail(err, EF_UNSUPPORTED, "config.json: reshape_last_stage: found false, wanted true");
    if (!picture_configure(m, config, 224, 0, err) ||
        !picture_size(config, "decoder_hidden_size", wide, err) ||
        !picture_stages(config, "hidden_sizes", &own->stages, err))
        return false;
    for (int k = 0; k < SEGFORMER_LISTS; k++) {
        int n = 4;
        memcpy(own->list[k], otherwise[k], sizeof otherwise[k]);
        if (!picture_list(config, lists[k], own->list[k], &n, err)) return false;
        if (n != own->stages.n)
            return fail(err, EF_BAD_MODEL, "config.json: %s: found %d numbers, wanted %d", lists[k], n,
                        own->stages.n);
    }
    for (int i = 0; i < own->stages.n; i++)
        if (own->stages.width[i] % own->list[SEG_HEADS][i])
            return fail(err, EF_BAD_MODEL, "config.json: num_attention_heads: %lld channels do not "
                        "divide into %lld heads", (long long)own->stages.width[i],
                        (long long)own->list[SEG_HEADS][i]);
    own->wide = wide[0];
    m->n[K_HIDDEN] = own->stages.width[own->stages.n - 1];
    m->picture.height = m->picture.width = DIM_UNKNOWN;
    return true;
}

/* [2]: height and width of a map */
static Str segformer_size(Builder *b, const char *path, Str map)
{
    return NODE(b, path, "Slice", NODE(b, path, "Shape", map), INTS(b, 2), INTS(b, 4), INTS(b, 0));
}

/* [B, h * w, C] to [B, C, h, w] */
static Str segformer_map(Builder *b, const char *path, Str x, int64_t C, Str size)
{
    Str y = NODE(b, path, "Transpose", x);
    build_attr_ints(b, "perm", (int64_t[]){ 0, 2, 1 }, 3);
    Str shape = NODE(b, path, "Concat", INTS(b, 0, C), size);
    build_attr_int(b, "axis", 0);
    return NODE(b, path, "Reshape", y, shape);
}

/* Keys and values are read off a map that is smaller by `by` each way. */
static Str segformer_reduce(Encoder *m, const char *path, Str x, Str size, int64_t by)
{
    Builder *b = m->b;
    int64_t C = m->n[K_HIDDEN];
    ConvShape c = { .out = C, .in = C, .kernel = { by, by }, .stride = { by, by } };
    Str map = segformer_map(b, path, x, C, size);
    x = picture_conv(b, build_path(b, "%s.sequence_reduction", path), map, c);
    x = picture_to_tokens(b, path, x, C);
    return layer_norm(b, build_path(b, "%s.layer_norm", path), x, C, 1e-5);
}

static Str segformer_attend(Encoder *m, const char *path, Str x, Str size, int64_t by)
{
    Builder *b = m->b;
    int64_t C = m->n[K_HIDDEN];
    Str q = layer_linear(b, build_path(b, "%s.q_proj", path), x, C, C);
    if (by > 1)
        x = segformer_reduce(m, build_path(b, "%s.sequence_reduction", path), x, size, by);
    Str k = layer_linear(b, build_path(b, "%s.k_proj", path), x, C, C);
    Str v = layer_linear(b, build_path(b, "%s.v_proj", path), x, C, C);
    x = encoder_attend(m, path, layer_split(m, path, q, perm_tokens),
                       layer_split(m, path, k, perm_columns),
                       layer_split(m, path, v, perm_tokens), (Str){ 0 });
    return layer_linear(b, build_path(b, "%s.o_proj", path), x, C, C);
}

static Str segformer_mlp(Encoder *m, const char *path, Str x, Str size)
{
    Builder *b = m->b;
    int64_t C = m->n[K_HIDDEN], F = m->n[K_INNER];
    const char *inside = build_path(b, "%s.dwconv", path);
    ConvShape c = { .out = F, .in = F, .kernel = { 3, 3 }, .pad = 1, .groups = F };
    x = layer_linear(b, build_path(b, "%s.fc1", path), x, F, C);
    x = segformer_map(b, inside, x, F, size);
    x = picture_conv(b, build_path(b, "%s.dwconv", inside), x, c);
    x = picture_to_tokens(b, inside, x, F);
    x = m->act->write(b, build_path(b, "%s.activation_fn", path), x);
    return layer_linear(b, build_path(b, "%s.fc2", path), x, C, F);
}

static Str segformer_stage(Encoder *m, int i, Str x)
{
    Builder *b = m->b;
    const SegformerOwn *own = m->own;
    const char *path = build_path(b, "%sstages.%d", b->base, i);
    const char *cut = build_path(b, "%s.patch_embeddings", path);
    int64_t C = own->stages.width[i], side = own->list[SEG_PATCH][i], step = own->list[SEG_STRIDE][i];
    ConvShape c = { .out = C, .in = i ? own->stages.width[i - 1] : m->picture.channels,
                    .kernel = { side, side }, .stride = { step, step }, .pad = side / 2 };
    m->n[K_HIDDEN] = C, m->n[K_HEADS] = own->list[SEG_HEADS][i];
    m->n[K_INNER] = C * own->list[SEG_RATIO][i];
    x = picture_conv(b, build_path(b, "%s.proj", cut), x, c);
    Str size = segformer_size(b, cut, x);
    x = layer_norm(b, build_path(b, "%s.layer_norm", cut), picture_to_tokens(b, cut, x, C), C, 1e-5);
    for (int k = 0; k < own->stages.depth[i] && build_ok(b); k++) {
        const char *at = build_path(b, "%s.blocks.%d", path, k);
        Str y = layer_norm(b, build_path(b, "%s.layernorm_before", at), x, C, 1e-5);
        y = segformer_attend(m, build_path(b, "%s.attention", at), y, size, own->list[SEG_REDUCE][i]);
        x = NODE(b, at, "Add", y, x);
        y = layer_norm(b, build_path(b, "%s.layernorm_after", at), x, C, 1e-5);
        x = NODE(b, at, "Add", segformer_mlp(m, build_path(b, "%s.mlp", at), y, size), x);
    }
    x = layer_norm(b, build_path(b, "%s.layer_norm", path), x, C, 1e-5);
    return segformer_map(b, path, x, C, size);
}

/* A stage's map with the head's channels, at the size of the first. */
static Str segformer_unify(Encoder *m, int i, Str map, Str size)
{
    Builder *b = m->b;
    const SegformerOwn *own = m->own;
    const char *head = "decode_head", *path = build_path(b, "decode_head.linear_projections.%d", i);
    Str own_size = segformer_size(b, head, map);
    Str x = picture_to_tokens(b, path, map, own->stages.width[i]);
    x = layer_linear(b, build_path(b, "%s.proj", path), x, own->wide, own->stages.width[i]);
    x = segformer_map(b, head, x, own->wide, own_size);
    Str start = NODE(b, head, "Slice", NODE(b, head, "Shape", x), INTS(b, 0), INTS(b, 2), INTS(b, 0));
    Str whole = NODE(b, head, "Concat", start, size);
    build_attr_int(b, "axis", 0);
    x = NODE(b, head, "Resize", x, STR(""), STR(""), whole);
    build_attr_string(b, "mode", "linear");
    build_attr_string(b, "coordinate_transformation_mode", "half_pixel");
    return x;
}

static void segformer_decode(Encoder *m, const Str *map)
{
    Builder *b = m->b;
    const SegformerOwn *own = m->own;
    const SafeTensor *w = build_find(b, "decode_head.classifier", "weight");
    Str part[MOST_STAGES], size = segformer_size(b, "decode_head", map[0]);
    int n = own->stages.n;
    ConvShape fuse = { .out = own->wide, .in = own->wide * n, .kernel = { 1, 1 } };
    ConvShape last = { .out = w && w->rank == 4 ? w->dim[0] : -1, .in = own->wide, .kernel = { 1, 1 } };
    for (int i = 0; i < n; i++) part[n - 1 - i] = segformer_unify(m, i, map[i], size);
    Str x = build_node(b, "decode_head", "Concat", part, n);
    build_attr_int(b, "axis", 1);
    x = picture_conv(b, "decode_head.linear_fuse", x, fuse);
    x = picture_batch_norm(b, "decode_head.batch_norm", x, own->wide, 1e-5);
    x = NODE(b, "decode_head.activation", "Relu", x);
    x = picture_conv(b, "decode_head.classifier", x, last);
    build_output(b, x, "logits", 4, (int64_t[]){ DIM_UNKNOWN, last.out, DIM_UNKNOWN, DIM_UNKNOWN });
}

static void segformer_write(Encoder *m)
{
    const SegformerOwn *own = m->own;
    Str map[MOST_STAGES], x = STR("pixel_values");
    picture_input(m);
    for (int i = 0; i < own->stages.n; i++) x = map[i] = segformer_stage(m, i, x);
    if (m->head == HEAD_SEGMENT)
        segformer_decode(m, map);
    else
        picture_ends(m, x, 4, (int64_t[]){ DIM_UNKNOWN, m->n[K_HIDDEN], DIM_UNKNOWN, DIM_UNKNOWN });
}

static Str segformer_pool(Encoder *m, const char *path, Str x, int64_t *width)
{
    (void)width;
    return layer_mean(m->b, path, x, (int64_t[]){ 2, 3 }, 2, false);
}

static const ArchStep segformer_classify[] = {
    { ARCH_STEP_OWN, "" },
    { ARCH_STEP_LINEAR, "classifier" },
    { 0 },
};
static const ArchStep segformer_segment[] = { { 0 } }; /* segformer_decode */

const Arch arch_segformer = {
    .model_type = "segformer", .family = "Segformer", .base = "segformer.", .modules = modules,
    .models = "segformer-b0-finetuned-ade-512-512, segformer_b2_clothes, mit-b0",
    .head_modules = { [HEAD_SEGMENT] = decode_modules }, .renames = renames, .eps = 1e-5,
    .key = { [K_HEADS] = "num_heads" },
    .steps = { [HEAD_IMAGE] = segformer_classify, [HEAD_SEGMENT] = segformer_segment },
    .configure = segformer_configure, .write = segformer_write, .pool = segformer_pool,
};
