/* SPDX-License-Identifier: Apache-2.0
 * sentence.c - the modules of sentence-transformers, as operators. */
#include "sentence.h"

#include "data/checkpoint.h"
#include "export/modules.h"

struct Sentence {
    Modules modules;
    Safetensors dense[MODULES_MOST];
};

bool sentence_is(const char *folder)
{
    Arena scratch = { 0 };
    bool is = file_is(path_join(&scratch, folder, STR("modules.json")));
    arena_free(&scratch);
    return is;
}

bool sentence_open(Arena *arena, const char *folder, Sentence **out, const char **encoder, Err *err)
{
    Sentence *s = *out = NEW(arena, Sentence);
    if (!modules_read(arena, &(ModulesAt){ .folder = folder }, &s->modules, err)) return false;
    *encoder = s->modules.encoder;
    return true;
}

bool sentence_weights(Sentence *s, Arena *arena, Safetensors *weights, Err *err)
{
    for (int i = 0; i < s->modules.n; i++) {
        if (s->modules.row[i].kind != MODULE_DENSE) continue;
        if (!checkpoint_open(arena, s->modules.row[i].folder, &s->dense[i], err)) return false;
        for (int k = 0; k < s->dense[i].n; k++) {
            SafeTensor *t = &s->dense[i].item[k];
            map_put(&weights->by_name, arena,
                    str_of(str_format(arena, "%d.%.*s", i, STR_ARG(t->name))), t);
        }
    }
    return true;
}

void sentence_close(Sentence *s)
{
    for (int i = 0; s && i < s->modules.n; i++) safetensors_close(&s->dense[i]);
}

const Module *sentence_modules(Sentence *s, Arena *arena)
{
    Module *rows = ARRAY(arena, Module, s->modules.n + 1);
    for (int i = 0; i < s->modules.n; i++)
        rows[i] = (Module){ str_format(arena, "%d", i), module_kind_name(s->modules.row[i].kind) };
    return rows;
}

/* ---- operators ---- */
static Str over_tokens(Builder *b, const char *path, const char *op, Str x)
{
    Str y;
    if (b->opset < 18 && strcmp(op, "ReduceMax") == 0) {
        y = NODE(b, path, op, x);
        build_attr_ints(b, "axes", (int64_t[]){ 1 }, 1);
    } else {
        y = NODE(b, path, op, x, INTS(b, 1));
    }
    build_attr_int(b, "keepdims", 0);
    return y;
}

/* [B, S, 1]: 1 for real tokens, or their place from 1 on */
static Str token_weights(Encoder *m, const char *path, bool placed)
{
    Builder *b = m->b;
    Str mask = NODE(b, path, "Cast", m->attended);
    build_attr_int(b, "to", T_F32);
    if (placed) {
        Str end = NODE(b, path, "Squeeze", encoder_length(m), INTS(b, 0));
        end = NODE(b, path, "Add", end, build_int(b, 1));
        Str at = NODE(b, path, "Range", build_int(b, 1), end, build_int(b, 1));
        at = NODE(b, path, "Cast", at);
        build_attr_int(b, "to", T_F32);
        mask = NODE(b, path, "Mul", mask, at);
    }
    return NODE(b, path, "Unsqueeze", mask, INTS(b, -1));
}

static Str sentence_weighted(Encoder *m, const char *path, Str x, TaskPooling p)
{
    Builder *b = m->b;
    Str w = token_weights(m, path, p == POOL_WEIGHTED);
    Str sum = over_tokens(b, path, "ReduceSum", NODE(b, path, "Mul", x, w));
    Str count = NODE(b, path, "Max", over_tokens(b, path, "ReduceSum", w), build_float(b, 1e-9));
    if (p == POOL_SQRT) count = NODE(b, path, "Sqrt", count);
    return NODE(b, path, "Div", sum, count);
}

/* The token whose place is the largest of the real ones, wherever padding stands. */
static Str last_token(Encoder *m, const char *path, Str x)
{
    Builder *b = m->b;
    Str place = token_weights(m, path, true);
    Str last = NODE(b, path, "Unsqueeze", over_tokens(b, path, "ReduceMax", place), INTS(b, 1));
    Str is = NODE(b, path, "Cast", NODE(b, path, "Equal", place, last));
    build_attr_int(b, "to", T_F32);
    return over_tokens(b, path, "ReduceSum", NODE(b, path, "Mul", x, is));
}

static Str pooling_one(Encoder *m, const char *path, Str x, TaskPooling p)
{
    Builder *b = m->b;
    if (p == POOL_CLS) {
        Str first = NODE(b, path, "Gather", x, build_int(b, 0));
        build_attr_int(b, "axis", 1);
        return first;
    }
    if (p == POOL_LAST) return last_token(m, path, x);
    if (p != POOL_MAX) return sentence_weighted(m, path, x, p);
    Str real = NODE(b, path, "Cast", NODE(b, path, "Unsqueeze", m->attended, INTS(b, -1)));
    build_attr_int(b, "to", T_BOOL);
    return over_tokens(b, path, "ReduceMax", NODE(b, path, "Where", real, x, build_float(b, -1e9)));
}

static Str sentence_pooling(Encoder *m, const SentenceModule *s, const char *path, Str x,
                            int64_t *width)
{
    Str part[COUNT(head_order)];
    int n = 0;
    for (size_t i = 0; i < COUNT(head_order); i++)
        if (s->way[head_order[i]]) part[n++] = pooling_one(m, path, x, head_order[i]);
    *width *= n;
    if (n == 1) return part[0];
    Str all = build_node(m->b, path, "Concat", part, n);
    build_attr_int(m->b, "axis", 1);
    return all;
}

static Str sentence_normalize(Builder *b, const char *path, Str x)
{
    Str square = NODE(b, path, "ReduceSum", NODE(b, path, "Mul", x, x), INTS(b, 1));
    Str length = NODE(b, path, "Max", NODE(b, path, "Sqrt", square), build_float(b, 1e-12));
    return NODE(b, path, "Div", x, length);
}

static Str sentence_dense(Encoder *m, const SentenceModule *s, const char *path, Str x,
                          int64_t *width)
{
    const char *linear = build_path(m->b, "%s.linear", path);
    const SafeTensor *w = build_find(m->b, linear, "weight");
    int64_t out = w && w->rank == 2 ? w->dim[0] : -1;
    if (out >= 0 && w->dim[1] != *width)
        build_fail(m->b, EF_BAD_MODEL, "%.*s/config.json: Dense: found a vector of %lld numbers "
                   "before it, wanted %lld, as its linear.weight takes", STR_ARG(s->path),
                   (long long)*width, (long long)w->dim[1]);
    x = layer_gemm(m->b, linear, x, out, *width);
    *width = out;
    if (s->act == ACT_NONE) return x;
    const Activation *act = activation_find(str_of(head_act_name(s->act)));
    return act->write(m->b, build_path(m->b, "%s.activation_function", path), x);
}

void sentence_write(const Sentence *s, Encoder *m, Str hidden)
{
    int64_t width = m->n[K_HIDDEN];
    Str x = hidden;
    for (int i = 1; i < s->modules.n; i++) {
        const SentenceModule *row = &s->modules.row[i];
        const char *path = build_path(m->b, "%d", i);
        if (row->kind == MODULE_POOLING) x = sentence_pooling(m, row, path, x, &width);
        else if (row->kind == MODULE_DENSE) x = sentence_dense(m, row, path, x, &width);
        else if (row->kind == MODULE_NORMALIZE) x = sentence_normalize(m->b, path, x);
    }
    build_output(m->b, hidden, "token_embeddings", 3,
                 (int64_t[]){ DIM_UNKNOWN, DIM_UNKNOWN, m->n[K_HIDDEN] });
    build_output(m->b, x, "sentence_embedding", 2, (int64_t[]){ DIM_UNKNOWN, width });
}
