/* SPDX-License-Identifier: Apache-2.0
 * sound.c - the pieces that models of sounds share: convolutions along time, a head that weighs the
 * layers, logits or hidden states out. */
#include "arch.h"

enum { MOST_NUMBER = 1 << 20 }; /* bounds what a config can ask for */

const ArchStep sound_classify[] = {
    { ARCH_STEP_LINEAR, "projector" },
    { ARCH_STEP_OWN, "" },
    { ARCH_STEP_LINEAR, "classifier" },
    { 0 },
};
const ArchStep sound_letters[] = { { ARCH_STEP_LINEAR, "lm_head" }, { 0 } };
const ArchStep sound_frames[] = { { ARCH_STEP_LINEAR, "classifier" }, { 0 } };

bool sound_number(const Value *config, const char *key, int64_t *out, Err *err)
{
    const Value *v = value_get(config, key);
    if (!v || v->kind == V_NULL) return true;
    if (v->kind != V_INT || v->i < 1 || v->i > MOST_NUMBER)
        return fail(err, EF_BAD_MODEL, "config.json: %s: found %s, wanted a number from 1 to %d", key,
                    v->kind == V_INT ? "a number out of range" : value_kind_name(v->kind), MOST_NUMBER);
    *out = v->i;
    return true;
}

Str sound_conv(Builder *b, const char *path, Str x, LineShape c)
{
    int64_t groups = MAX(c.groups, 1);
    Str w = build_normed(b, path, (int64_t[]){ c.out, c.in / groups, c.kernel });
    Str bias = build_find(b, path, "bias") ? build_weight(b, path, "bias", 1, &c.out) : STR("");
    Str y = build_node(b, path, "Conv", (Str[]){ x, w, bias }, bias.n ? 3 : 2);
    build_attr_ints(b, "kernel_shape", &c.kernel, 1);
    build_attr_ints(b, "strides", (int64_t[]){ MAX(c.stride, 1) }, 1);
    build_attr_ints(b, "pads", c.pad, 2);
    build_attr_int(b, "group", groups);
    return y;
}

Str sound_turn(Builder *b, const char *path, Str x)
{
    Str y = NODE(b, path, "Transpose", x);
    build_attr_ints(b, "perm", (int64_t[]){ 0, 2, 1 }, 3);
    return y;
}

void sound_weighted(Encoder *m, const Value *config, Listener *own)
{
    bool head = m->head != HEAD_NONE && m->head != HEAD_LETTERS;
    own->weighted = head && value_bool(value_get(config, "use_weighted_layer_sum"), false);
    if (own->weighted) own->state = ARRAY(m->b->arena, Str, m->n[K_LAYERS] + 1);
}

Str sound_keep(Encoder *m, int layer, const char *path, Str x)
{
    (void)path;
    const Listener *own = m->own;
    if (own->state) own->state[layer] = x;
    return x;
}

/* What went into each layer, and what came out behind all, by the softmax of their weights. */
static Str sound_weigh(Encoder *m, const Str *state)
{
    Builder *b = m->b;
    int64_t n = m->n[K_LAYERS] + 1;
    Str by = NODE(b, "", "Softmax", build_weight(b, "", "layer_weights", 1, &n)), sum = { 0 };
    build_attr_int(b, "axis", -1);
    for (int64_t i = 0; i < n; i++) {
        Str part = NODE(b, "", "Mul", state[i], NODE(b, "", "Gather", by, build_int(b, i)));
        sum = i ? NODE(b, "", "Add", sum, part) : part;
    }
    return sum;
}

Str sound_listen(Encoder *m, Str x)
{
    const Listener *own = m->own;
    x = encoder_layers(m, x);
    if (!own->state) return x;
    own->state[m->n[K_LAYERS]] = x;
    return sound_weigh(m, own->state);
}

Str sound_mean(Encoder *m, const char *path, Str x, int64_t *width)
{
    (void)width;
    return layer_mean(m->b, path, x, (int64_t[]){ 1 }, 1, false);
}

void sound_ends(Encoder *m, Str hidden, int64_t frames, const char *symbol)
{
    int rank = 3;
    int64_t width = m->n[K_HIDDEN];
    Str x = head_steps(m, m->steps, hidden, &rank, &width);
    int64_t dim[] = { DIM_UNKNOWN, rank == 3 ? frames : width, width };
    build_output(m->b, x, m->head ? "logits" : "last_hidden_state", rank, dim);
    if (rank == 3 && frames == DIM_UNKNOWN) build_output_axis(m->b, 1, symbol);
}
