/* SPDX-License-Identifier: Apache-2.0
 * picture.c - the pieces that models of pictures share: pixel_values in, a convolution that makes
 * tokens of patches, tokens and positions of their own, logits or hidden states out. */
#include "arch.h"

enum { WIDEST = 1 << 16 }; /* pixels of a side that a config can ask for */

static bool picture_side(const Value *v, const char *key, int64_t *out, Err *err)
{
    if (v->kind != V_INT || v->i < 1 || v->i > WIDEST)
        return fail(err, EF_BAD_MODEL, "config.json: %s: found %s%s, wanted a number from 1 to %d",
                    key, v->kind == V_INT ? "a number out of range" : value_kind_name(v->kind),
                    v->kind == V_LIST ? " of another length" : "", WIDEST);
    *out = v->i;
    return true;
}

bool picture_size(const Value *config, const char *key, int64_t out[2], Err *err)
{
    const Value *v = value_get(config, key);
    if (!v || v->kind == V_NULL) return true;
    if (v->kind == V_LIST && v->list.n == 2)
        return picture_side(&v->list.items[0], key, &out[0], err) &&
               picture_side(&v->list.items[1], key, &out[1], err);
    if (!picture_side(v, key, &out[0], err)) return false;
    out[1] = out[0];
    return true;
}

bool picture_configure(Encoder *m, const Value *config, int64_t side, int64_t patch, Err *err)
{
    PictureInput *p = &m->picture;
    int64_t size[2] = { side, side }, channels[2] = { 3, 3 };
    p->patch[0] = p->patch[1] = patch;
    if (!picture_size(config, "image_size", size, err) ||
        !picture_size(config, "patch_size", p->patch, err) ||
        !picture_size(config, "num_channels", channels, err))
        return false;
    p->channels = channels[0], p->height = size[0], p->width = size[1];
    if (!patch || (p->patch[0] <= size[0] && p->patch[1] <= size[1])) return true;
    return fail(err, EF_BAD_MODEL, "config.json: patch_size: found %lld, wanted at most image_size",
                (long long)MAX(p->patch[0], p->patch[1]));
}

bool picture_list(const Value *config, const char *key, int64_t *out, int *n, Err *err)
{
    const Value *v = value_get(config, key);
    if (!v || v->kind == V_NULL) return true;
    if (v->kind != V_LIST || !v->list.n || v->list.n > MOST_STAGES)
        return fail(err, EF_BAD_MODEL, "config.json: %s: found %s, wanted a list of 1 to %d numbers",
                    key, value_kind_name(v->kind), MOST_STAGES);
    *n = (int)v->list.n;
    for (int i = 0; i < *n; i++)
        if (!picture_side(&v->list.items[i], key, &out[i], err)) return false;
    return true;
}

bool picture_stages(const Value *config, const char *widths, Stages *s, Err *err)
{
    int depths = s->n;
    if (!picture_list(config, widths, s->width, &s->n, err) ||
        !picture_list(config, "depths", s->depth, &depths, err))
        return false;
    return depths == s->n || fail(err, EF_BAD_MODEL, "config.json: depths: found %d numbers, wanted "
                                  "%d, as many as %s", depths, s->n, widths);
}

void picture_input(Encoder *m)
{
    const PictureInput *p = &m->picture;
    m->pixels = STR("pixel_values");
    build_picture(m->b, "pixel_values",
                  (int64_t[]){ DIM_UNKNOWN, p->channels, p->height, p->width });
}

Str picture_conv(Builder *b, const char *path, Str x, ConvShape c)
{
    int64_t groups = MAX(c.groups, 1);
    Str w = build_weight(b, path, "weight", 4,
                         (int64_t[]){ c.out, c.in / groups, c.kernel[0], c.kernel[1] });
    Str bias = build_find(b, path, "bias") ? build_weight(b, path, "bias", 1, &c.out) : STR("");
    Str y = build_node(b, path, "Conv", (Str[]){ x, w, bias }, bias.n ? 3 : 2);
    build_attr_ints(b, "kernel_shape", c.kernel, 2);
    build_attr_ints(b, "strides", (int64_t[]){ MAX(c.stride[0], 1), MAX(c.stride[1], 1) }, 2);
    if (c.dilation > 1) build_attr_ints(b, "dilations", (int64_t[]){ c.dilation, c.dilation }, 2);
    if (c.same) build_attr_string(b, "auto_pad", "SAME_UPPER");
    else build_attr_ints(b, "pads", (int64_t[]){ c.pad, c.pad, c.pad, c.pad }, 4);
    build_attr_int(b, "group", groups);
    return y;
}

Str picture_batch_norm(Builder *b, const char *path, Str x, int64_t width, double eps)
{
    Str y = NODE(b, path, "BatchNormalization", x, build_weight(b, path, "weight", 1, &width),
                 build_weight(b, path, "bias", 1, &width),
                 build_weight(b, path, "running_mean", 1, &width),
                 build_weight(b, path, "running_var", 1, &width));
    build_attr_float(b, "epsilon", (float)eps);
    return y;
}

Str picture_last(Builder *b, const char *path, Str x)
{
    Str y = NODE(b, path, "Transpose", x);
    build_attr_ints(b, "perm", (int64_t[]){ 0, 2, 3, 1 }, 4);
    return y;
}

Str picture_first(Builder *b, const char *path, Str x)
{
    Str y = NODE(b, path, "Transpose", x);
    build_attr_ints(b, "perm", (int64_t[]){ 0, 3, 1, 2 }, 4);
    return y;
}

/* [B, C, h, w] to [B, h * w, C] */
Str picture_to_tokens(Builder *b, const char *path, Str x, int64_t C)
{
    Str y = NODE(b, path, "Transpose", NODE(b, path, "Reshape", x, INTS(b, 0, C, -1)));
    build_attr_ints(b, "perm", (int64_t[]){ 0, 2, 1 }, 3);
    return y;
}

static int64_t picture_step(const PictureInput *p, int side)
{
    return p->step[side] ? p->step[side] : p->patch[side];
}

int64_t picture_patch_count(const PictureInput *p, int side)
{
    return ((side ? p->width : p->height) - p->patch[side]) / picture_step(p, side) + 1;
}

Str picture_patches(Encoder *m, const char *path)
{
    const PictureInput *p = &m->picture;
    const char *inside = encoder_parent(m, path);
    ConvShape c = { .out = m->n[K_HIDDEN], .in = p->channels, .kernel = { p->patch[0], p->patch[1] },
                    .stride = { picture_step(p, 0), picture_step(p, 1) } };
    Str y = picture_conv(m->b, path, m->pixels, c);
    return picture_to_tokens(m->b, inside, y, c.out);
}

Str picture_parameter(Encoder *m, const char *path, const char *leaf)
{
    const SafeTensor *t = build_find(m->b, path, leaf);
    int64_t n = t && t->rank == 3 ? t->dim[1] : -1;
    Str x = build_weight(m->b, path, leaf, 3, (int64_t[]){ 1, n, m->n[K_HIDDEN] });
    return picture_spread(m, path, x, n);
}

Str picture_spread(Encoder *m, const char *path, Str x, int64_t n)
{
    Builder *b = m->b;
    Str rows = NODE(b, path, "Gather", NODE(b, path, "Shape", m->pixels), INTS(b, 0));
    Str shape = NODE(b, path, "Concat", rows, INTS(b, n, m->n[K_HIDDEN]));
    build_attr_int(b, "axis", 0);
    return NODE(b, path, "Expand", x, shape);
}

/* Whole patches of a side of the picture, [1]. */
static Str picture_grid(Encoder *m, const char *path, int side)
{
    Builder *b = m->b;
    Str n = NODE(b, path, "Gather", NODE(b, path, "Shape", STR("pixel_values")), INTS(b, 2 + side));
    return NODE(b, path, "Div", n, INTS(b, m->picture.patch[side]));
}

static Str picture_slice(Builder *b, const char *path, Str x, int64_t from, int64_t to)
{
    return NODE(b, path, "Slice", x, INTS(b, from), INTS(b, to), INTS(b, 1));
}

/* [n, h * w, C] of a grid of h x w to that of the picture, as torch's interpolate does. */
static Str picture_resize(Encoder *m, const char *path, Str x, int64_t n, int64_t h, int64_t w)
{
    Builder *b = m->b;
    bool smooth = m->arch->picture->antialias;
    int64_t C = m->n[K_HIDDEN];
    Str y = picture_first(b, path, NODE(b, path, "Reshape", x, INTS(b, n, h, w, C)));
    Str size = NODE(b, path, "Concat", INTS(b, n, C), picture_grid(m, path, 0),
                    picture_grid(m, path, 1));
    build_attr_int(b, "axis", 0);
    y = NODE(b, path, "Resize", y, STR(""), STR(""), size);
    build_attr_string(b, "mode", "cubic");
    build_attr_string(b, "coordinate_transformation_mode", "half_pixel");
    build_attr_float(b, "cubic_coeff_a", smooth ? -0.5f : -0.75f);
    if (smooth) build_attr_int(b, "antialias", 1), build_attr_int(b, "exclude_outside", 1);
    return picture_to_tokens(b, path, y, C);
}

Str picture_resized(Encoder *m, const char *path, Str x, int64_t n, int64_t before, int64_t behind)
{
    Builder *b = m->b;
    const PictureInput *p = &m->picture;
    int64_t h = p->height / p->patch[0], w = p->width / p->patch[1], end = before + h * w;
    if (m->arch->picture->antialias && b->opset < 18)
        build_fail(b, EF_UNSUPPORTED, "opset: found %d, wanted 18 or later for %s: its positions "
                   "are resized with antialiasing", b->opset, m->arch->model_type);
    Str part[3] = { picture_slice(b, path, x, 0, before),
                    picture_resize(m, path, picture_slice(b, path, x, before, end), n, h, w) };
    if (behind) part[2] = picture_slice(b, path, x, end, end + behind);
    Str y = build_node(b, path, "Concat", part, behind ? 3 : 2);
    build_attr_int(b, "axis", 1);
    return y;
}

/* Positions of the patches follow the size of the picture; those of other tokens stay. */
static Str picture_positions(Encoder *m, const char *path, int64_t before, int64_t behind)
{
    const PictureTokens *t = m->arch->picture;
    const PictureInput *p = &m->picture;
    int64_t N = before + picture_patch_count(p, 0) * picture_patch_count(p, 1) + behind;
    int64_t dim[] = { 1, N, m->n[K_HIDDEN] };
    Str x = build_weight(m->b, path, "position_embeddings", 3, dim);
    if (!t->resized) return x;
    const char *inside = t->resizes ? build_path(m->b, "%s.%s", path, t->resizes) : path;
    return picture_resized(m, inside, x, 1, before, behind);
}

static int64_t picture_count(Encoder *m, const char *path, const char *leaf)
{
    const SafeTensor *t = leaf ? build_find(m->b, path, leaf) : NULL;
    return t && t->rank == 3 ? t->dim[1] : leaf ? 1 : 0;
}

/* Registers stand between the first tokens and the patches, and have no positions. */
static Str picture_registers(Encoder *m, const char *path, Str x, int64_t before)
{
    Builder *b = m->b;
    Str part[3] = { picture_slice(b, path, x, 0, before),
                    picture_parameter(m, path, m->arch->picture->registers),
                    picture_slice(b, path, x, before, INT64_MAX) };
    Str y = build_node(b, path, "Concat", part, 3);
    build_attr_int(b, "axis", 1);
    return y;
}

Str picture_embed(Encoder *m)
{
    Builder *b = m->b;
    const PictureTokens *t = m->arch->picture;
    const char *path = encoder_path(m, "embeddings");
    Str part[4];
    int n = 0;
    int64_t before = 0;
    Str patches = picture_patches(m, build_path(b, "%s.patch_embeddings.projection", path));
    for (size_t i = 0; i < COUNT(t->first) && t->first[i]; i++) {
        before += picture_count(m, path, t->first[i]);
        part[n++] = picture_parameter(m, path, t->first[i]);
    }
    part[n++] = patches;
    if (t->last) part[n++] = picture_parameter(m, path, t->last);
    Str x = build_node(b, path, "Concat", part, n);
    build_attr_int(b, "axis", 1);
    if (!m->picture.unplaced)
        x = NODE(b, path, "Add", x,
                 picture_positions(m, path, before, picture_count(m, path, t->last)));
    return t->registers ? picture_registers(m, path, x, before) : x;
}

Str picture_token(Encoder *m, const char *path, Str x, int64_t at)
{
    Str y = NODE(m->b, path, "Gather", x, build_int(m->b, at));
    build_attr_int(m->b, "axis", 1);
    return y;
}

Str picture_rest(Encoder *m, const char *path, Str x, int64_t from)
{
    x = picture_slice(m->b, path, x, from, INT64_MAX);
    return layer_mean(m->b, path, x, (int64_t[]){ 1 }, 1, false);
}

/* Logits of the head's steps; or the hidden states, and what the family makes of them for the
 * whole picture, where the checkpoint has it. */
void picture_ends(Encoder *m, Str hidden, int hidden_rank, const int64_t *hidden_dim)
{
    int rank = hidden_rank;
    int64_t width = m->n[K_HIDDEN];
    Str x = head_steps(m, m->steps, hidden, &rank, &width);
    int64_t dim[] = { DIM_UNKNOWN, width };
    if (m->head == HEAD_NONE) build_output(m->b, hidden, "last_hidden_state", hidden_rank, hidden_dim);
    if (m->steps) build_output(m->b, x, m->head ? "logits" : "pooler_output", 2, dim);
}

Str picture_predict(Encoder *m, const char *path, Str x, int64_t *out)
{
    enum { LINEARS = 3 };
    int64_t in = m->n[K_HIDDEN];
    for (int i = 0; i < LINEARS; i++) {
        const char *at = build_path(m->b, "%s.layers.%d", path, i);
        const SafeTensor *w = build_find(m->b, at, "weight");
        *out = w && w->rank == 2 ? w->dim[0] : -1;
        x = layer_linear(m->b, at, x, *out, in);
        if (i + 1 < LINEARS) x = NODE(m->b, path, "Relu", x);
        in = *out;
    }
    return x;
}

void picture_write(Encoder *m)
{
    const PictureTokens *t = m->arch->picture;
    PictureInput *p = &m->picture, known = *p;
    if (t->resized) p->height = p->width = DIM_UNKNOWN;
    picture_input(m);
    *p = known;
    Str x = encoder_layers(m, picture_embed(m));
    picture_ends(m, x, 3, (int64_t[]){ DIM_UNKNOWN, DIM_UNKNOWN, m->n[K_HIDDEN] });
}
