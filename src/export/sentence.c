/* SPDX-License-Identifier: Apache-2.0
 * sentence.c - the modules of sentence-transformers, as operators. */
#include "sentence.h"

#include "data/checkpoint.h"
#include "data/json.h"

enum { MOST_MODULES = 16, MOST_FILE = 1 << 20 };

typedef enum { M_ENCODER, M_POOLING, M_DENSE, M_NORMALIZE, M_DROPOUT, M_KINDS } ModuleKind;
static const char *const kind_names[M_KINDS] = { "Transformer", "Pooling", "Dense", "Normalize",
                                                 "Dropout" };

/* Ways of pooling; several are joined in this order. */
typedef enum { P_CLS, P_MAX, P_MEAN, P_SQRT, P_WEIGHTED, P_LAST, P_COUNT } Pooling;
static const struct {
    const char *key, *word; /* word: of newer configs, "pooling_mode": "mean" */
} poolings[P_COUNT] = {
    [P_CLS] = { "pooling_mode_cls_token", "cls" },
    [P_MAX] = { "pooling_mode_max_tokens", "max" },
    [P_MEAN] = { "pooling_mode_mean_tokens", "mean" },
    [P_SQRT] = { "pooling_mode_mean_sqrt_len_tokens", "mean_sqrt_len_tokens" },
    [P_WEIGHTED] = { "pooling_mode_weightedmean_tokens", "weightedmean" },
    [P_LAST] = { "pooling_mode_lasttoken", "lasttoken" },
};

typedef struct SentenceModule {
    ModuleKind kind;
    const char *folder;
    bool pool[P_COUNT];
    const Activation *act;  /* of a dense layer; NULL: none */
} SentenceModule;
struct Sentence {
    SentenceModule module[MOST_MODULES];
    int n;
    Safetensors dense[MOST_MODULES];
};

bool sentence_is(const char *folder)
{
    Arena scratch = { 0 };
    bool is = file_is(path_join(&scratch, folder, STR("modules.json")));
    arena_free(&scratch);
    return is;
}

static bool read_json(Arena *arena, const char *path, Value *out, Err *err)
{
    Str text;
    return file_read(arena, path, MOST_FILE, &text, err) &&
           (json_parse(arena, text, out, err) || within(err, "%s", path));
}

/* "sentence_transformers.models.Pooling" ends in its kind. */
static bool read_kind(Str type, ModuleKind *kind, Err *err)
{
    for (*kind = 0; *kind < M_KINDS; ++*kind) {
        size_t n = strlen(kind_names[*kind]);
        if (str_ends(type, kind_names[*kind]) && type.n > n && type.p[type.n - n - 1] == '.')
            return true;
    }
    return fail(err, EF_UNSUPPORTED, "modules.json: found %.*s, wanted Transformer, Pooling, Dense "
                "or Normalize", (int)MIN(type.n, 80), type.p);
}

static bool read_pooling(const Value *config, SentenceModule *m, Err *err)
{
    Str word = value_str(value_get(config, "pooling_mode"), STR(""));
    bool any = false, told = false;
    for (Pooling p = 0; p < P_COUNT; p++) {
        const Value *v = value_get(config, poolings[p].key);
        told |= v != NULL;
        m->pool[p] = value_bool(v, false) || str_is(word, poolings[p].word);
        any |= m->pool[p];
    }
    if (!any && !told) m->pool[P_MEAN] = any = true;
    if (m->pool[P_LAST])
        return fail(err, EF_UNSUPPORTED, "pooling of the last token is not supported");
    return any || fail(err, EF_BAD_MODEL, "no way of pooling is chosen");
}

/* "torch.nn.modules.activation.Tanh" */
static bool read_activation(const Value *config, SentenceModule *m, Err *err)
{
    static const struct {
        const char *class_name, *name;
    } known[] = { { ".Tanh", "tanh" }, { ".ReLU", "relu" },       { ".GELU", "gelu" },
                  { ".SiLU", "silu" }, { ".Sigmoid", "sigmoid" }, { ".Identity", NULL } };
    Str s = value_str(value_get(config, "activation_function"), STR("torch.nn.Tanh"));
    for (size_t i = 0; i < COUNT(known); i++) {
        if (!str_ends(s, known[i].class_name)) continue;
        m->act = known[i].name ? activation_find(str_of(known[i].name)) : NULL;
        return true;
    }
    return fail(err, EF_UNSUPPORTED, "activation_function: found %.*s", (int)MIN(s.n, 80), s.p);
}

static bool read_module(Arena *arena, const char *folder, const Value *row, SentenceModule *m,
                        Err *err)
{
    Str path = value_str(value_get(row, "path"), STR(""));
    if (!read_kind(value_str(value_get(row, "type"), STR("")), &m->kind, err)) return false;
    if (path.n && !path_stays_inside(path))
        return fail(err, EF_BAD_MODEL, "modules.json: path leaves the folder");
    m->folder = path.n ? path_join(arena, folder, path) : folder;
    if (m->kind != M_POOLING && m->kind != M_DENSE) return true;
    Value config;
    const char *file = path_join(arena, m->folder, STR("config.json"));
    return read_json(arena, file, &config, err) &&
           ((m->kind == M_POOLING ? read_pooling : read_activation)(&config, m, err) ||
            within(err, "%s", file));
}

bool sentence_open(Arena *arena, const char *folder, Sentence **out, const char **encoder, Err *err)
{
    Value list;
    Sentence *s = *out = NEW(arena, Sentence);
    if (!read_json(arena, path_join(arena, folder, STR("modules.json")), &list, err)) return false;
    if (list.kind != V_LIST || !list.list.n || list.list.n > MOST_MODULES)
        return fail(err, EF_BAD_MODEL, "modules.json: wanted a list of 1 to %d modules",
                    MOST_MODULES);
    for (size_t i = 0; i < list.list.n; i++)
        if (!read_module(arena, folder, &list.list.items[i], &s->module[s->n++], err)) return false;
    *encoder = s->module[0].folder;
    int pooled = 0;
    for (int i = 0; i < s->n; i++) pooled += s->module[i].kind == M_POOLING;
    return (s->module[0].kind == M_ENCODER && pooled == 1 && s->module[1].kind == M_POOLING) ||
           fail(err, EF_UNSUPPORTED, "modules.json: wanted Transformer, then Pooling");
}

bool sentence_weights(Sentence *s, Arena *arena, Safetensors *weights, Err *err)
{
    for (int i = 0; i < s->n; i++) {
        if (s->module[i].kind != M_DENSE) continue;
        if (!checkpoint_open(arena, s->module[i].folder, &s->dense[i], err)) return false;
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
    for (int i = 0; s && i < s->n; i++) safetensors_close(&s->dense[i]);
}

const Module *sentence_modules(Sentence *s, Arena *arena)
{
    Module *rows = ARRAY(arena, Module, s->n + 1);
    for (int i = 0; i < s->n; i++)
        rows[i] = (Module){ str_format(arena, "%d", i), kind_names[s->module[i].kind] };
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

static Str weighted(Encoder *m, const char *path, Str x, Pooling p)
{
    Builder *b = m->b;
    Str w = token_weights(m, path, p == P_WEIGHTED);
    Str sum = over_tokens(b, path, "ReduceSum", NODE(b, path, "Mul", x, w));
    Str count = NODE(b, path, "Max", over_tokens(b, path, "ReduceSum", w), build_float(b, 1e-9));
    if (p == P_SQRT) count = NODE(b, path, "Sqrt", count);
    return NODE(b, path, "Div", sum, count);
}

static Str pool_one(Encoder *m, const char *path, Str x, Pooling p)
{
    Builder *b = m->b;
    if (p == P_CLS) {
        Str first = NODE(b, path, "Gather", x, build_int(b, 0));
        build_attr_int(b, "axis", 1);
        return first;
    }
    if (p != P_MAX) return weighted(m, path, x, p);
    Str real = NODE(b, path, "Cast", NODE(b, path, "Unsqueeze", m->attended, INTS(b, -1)));
    build_attr_int(b, "to", T_BOOL);
    return over_tokens(b, path, "ReduceMax", NODE(b, path, "Where", real, x, build_float(b, -1e9)));
}

static Str pool(Encoder *m, const SentenceModule *s, const char *path, Str x, int64_t *width)
{
    Str part[P_COUNT];
    int n = 0;
    for (Pooling p = 0; p < P_COUNT; p++)
        if (s->pool[p]) part[n++] = pool_one(m, path, x, p);
    *width *= n;
    if (n == 1) return part[0];
    Str all = build_node(m->b, path, "Concat", part, n);
    build_attr_int(m->b, "axis", 1);
    return all;
}

static Str normalize(Builder *b, const char *path, Str x)
{
    Str square = NODE(b, path, "ReduceSum", NODE(b, path, "Mul", x, x), INTS(b, 1));
    Str length = NODE(b, path, "Max", NODE(b, path, "Sqrt", square), build_float(b, 1e-12));
    return NODE(b, path, "Div", x, length);
}

static Str dense(Encoder *m, const SentenceModule *s, const char *path, Str x, int64_t *width)
{
    const char *linear = build_path(m->b, "%s.linear", path);
    const SafeTensor *w = build_find(m->b, linear, "weight");
    int64_t out = w && w->rank == 2 ? w->dim[0] : -1;
    x = layer_gemm(m->b, linear, x, out, *width);
    *width = out;
    return s->act ? s->act->write(m->b, build_path(m->b, "%s.activation_function", path), x) : x;
}

void sentence_write(const Sentence *s, Encoder *m, Str hidden)
{
    int64_t width = m->n[K_HIDDEN];
    Str x = hidden;
    for (int i = 1; i < s->n; i++) {
        const SentenceModule *row = &s->module[i];
        const char *path = build_path(m->b, "%d", i);
        if (row->kind == M_POOLING) x = pool(m, row, path, x, &width);
        else if (row->kind == M_DENSE) x = dense(m, row, path, x, &width);
        else if (row->kind == M_NORMALIZE) x = normalize(m->b, path, x);
    }
    build_output(m->b, hidden, "token_embeddings", 3,
                 (int64_t[]){ DIM_UNKNOWN, DIM_UNKNOWN, m->n[K_HIDDEN] });
    build_output(m->b, x, "sentence_embedding", 2, (int64_t[]){ DIM_UNKNOWN, width });
}
