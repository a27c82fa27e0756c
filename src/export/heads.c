/* SPDX-License-Identifier: Apache-2.0
 * heads.c - what stands on the encoder: the steps of a family's row, then the outputs that
 * Optimum looks for by name. */
#include "arch.h"

typedef struct Flow { /* a value on its way through the steps */
    Str x;
    int rank;         /* 3: per token; 2: one vector a row */
    int64_t width;
} Flow;

static const char *step_path(Encoder *m, const char *path)
{
    return *path == '@' ? encoder_path(m, path + 1) : path;
}

static void heads_linear(Encoder *m, const char *path, Flow *f)
{
    const SafeTensor *w = build_find(m->b, path, "weight");
    int64_t out = w && w->rank == 2 ? w->dim[0] : -1;
    f->x = f->rank == 3 ? layer_linear(m->b, path, f->x, out, f->width)
                        : layer_gemm(m->b, path, f->x, out, f->width);
    f->width = out;
}

static void first_token(Encoder *m, const char *path, Flow *f)
{
    f->x = NODE(m->b, path, "Gather", f->x, build_int(m->b, 0));
    build_attr_int(m->b, "axis", 1);
    f->rank = 2;
}

/* The mean over real tokens. */
static void mean_tokens(Encoder *m, const char *path, Flow *f)
{
    Builder *b = m->b;
    Str mask = NODE(b, path, "Cast", m->attended);
    build_attr_int(b, "to", T_F32);
    Str wide = NODE(b, path, "Unsqueeze", mask, INTS(b, -1));
    Str sum = NODE(b, path, "ReduceSum", NODE(b, path, "Mul", f->x, wide), INTS(b, 1));
    build_attr_int(b, "keepdims", 0);
    Str count = NODE(b, path, "ReduceSum", mask, INTS(b, 1));
    build_attr_int(b, "keepdims", 1);
    f->x = NODE(b, path, "Div", sum, count);
    f->rank = 2;
}

/* A tensor that only repeats another, as files of torch have it. */
static bool is_tied(const SafeTensor *own, const SafeTensor *other)
{
    return !own || (other && own->bytes == other->bytes && own->type == other->type &&
                    memcmp(own->data, other->data, own->bytes) == 0);
}

/* The table of words again, unless the file has a matrix of its own. */
static void heads_decode(Encoder *m, const ArchStep *s, Flow *f)
{
    Builder *b = m->b;
    const char *path = step_path(m, s->path), *words = encoder_path(m, m->arch->embeddings.words);
    int64_t dim[] = { m->n[K_VOCAB], f->width };
    Str w;
    if (is_tied(build_find(b, path, "weight"), build_find(b, words, "weight"))) {
        w = NODE(b, path, "Transpose", build_weight(b, words, "weight", 2, dim));
        build_attr_ints(b, "perm", (int64_t[]){ 1, 0 }, 2);
    } else {
        w = build_matrix(b, path, dim[0], dim[1]);
    }
    f->x = NODE(b, path, "MatMul", f->x, w);
    f->width = m->n[K_VOCAB];
    const SafeTensor *own = build_find(b, path, "bias");
    bool tied = s->detail && is_tied(own, build_find(b, s->detail, "bias"));
    const char *bias = own && !tied ? path : s->detail;
    if (bias) f->x = NODE(b, path, "Add", build_weight(b, bias, "bias", 1, dim), f->x);
}

static void heads_run_step(Encoder *m, const ArchStep *s, Flow *f)
{
    const char *path = step_path(m, s->path);
    const Activation *act = s->detail ? activation_find(str_of(s->detail)) : m->act;
    switch (s->kind) {
    case ARCH_STEP_FIRST: first_token(m, path, f); break;
    case ARCH_STEP_POOLING: (m->mean ? mean_tokens : first_token)(m, path, f); break;
    case ARCH_STEP_OWN: f->x = m->arch->pool(m, path, f->x, &f->width), f->rank = 2; break;
    case ARCH_STEP_LINEAR: heads_linear(m, path, f); break;
    case ARCH_STEP_ACT: f->x = act->write(m->b, path, f->x); break;
    case ARCH_STEP_NORM: f->x = layer_norm(m->b, path, f->x, f->width, m->eps); break;
    case ARCH_STEP_DECODE: heads_decode(m, s, f); break;
    case ARCH_STEP_END: break;
    }
}

/* [B, S, 2] to two outputs of [B, S] */
static void answer_outputs(Encoder *m, const Flow *f)
{
    static const char *const names[] = { "start_logits", "end_logits" };
    Builder *b = m->b;
    if (f->width != 2)
        build_fail(b, EF_BAD_MODEL, "question answering: found %lld outputs a token, wanted 2",
                   (long long)f->width);
    Str part[2] = { NODE(b, "", "Split", f->x, INTS(b, 1, 1)) };
    build_attr_int(b, "axis", -1);
    part[1] = build_more(b);
    for (int i = 0; i < 2; i++)
        build_output(b, NODE(b, "", "Squeeze", part[i], INTS(b, -1)), names[i], 2,
                     (int64_t[]){ DIM_UNKNOWN, DIM_UNKNOWN });
}

/* [B * N, 1] to [B, N] */
static void choice_output(Encoder *m, const Flow *f)
{
    Builder *b = m->b;
    if (f->width != 1)
        build_fail(b, EF_BAD_MODEL, "multiple choice: found %lld outputs a choice, wanted 1",
                   (long long)f->width);
    Str choices = NODE(b, "", "Gather", NODE(b, "", "Shape", STR("input_ids")), INTS(b, 1));
    Str shape = NODE(b, "", "Concat", INTS(b, -1), choices);
    build_attr_int(b, "axis", 0);
    build_output(b, NODE(b, "", "Reshape", f->x, shape), "logits", 2,
                 (int64_t[]){ DIM_UNKNOWN, DIM_UNKNOWN });
}

Str head_steps(Encoder *m, const ArchStep *steps, Str x, int *rank, int64_t *width)
{
    Flow f = { x, *rank, *width };
    for (const ArchStep *s = steps; s && s->kind != ARCH_STEP_END; s++) heads_run_step(m, s, &f);
    *rank = f.rank, *width = f.width;
    return f.x;
}

void head_write(Encoder *m, Str hidden)
{
    Flow f = { hidden, 3, m->n[K_HIDDEN] };
    f.x = head_steps(m, m->steps, f.x, &f.rank, &f.width);
    int64_t dim[] = { DIM_UNKNOWN, f.rank == 3 ? DIM_UNKNOWN : f.width, f.width };
    if (m->head == HEAD_ANSWER) answer_outputs(m, &f);
    else if (m->head == HEAD_CHOICE) choice_output(m, &f);
    else build_output(m->b, f.x, m->head ? "logits" : "last_hidden_state", f.rank, dim);
}
