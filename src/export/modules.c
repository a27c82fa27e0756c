/* SPDX-License-Identifier: Apache-2.0
 * modules.c - reads modules.json and the config.json of each module. Defaults are those of
 * sentence-transformers' classes: a Pooling whose file is silent takes the mean. */
#include "modules.h"

#include "data/checkpoint.h"
#include "data/json.h"
#include "export/weights.h"

enum { MOST_FILE = 1 << 20 };

static const char *const kind_names[MODULE_KINDS] = { "Transformer", "Pooling", "Dense",
                                                      "Normalize", "Dropout" };

const char *module_kind_name(ModuleKind kind)
{
    return kind_names[kind];
}

/* "sentence_transformers.models.Pooling" ends in its kind; MODULE_KINDS: in none of ours. */
static ModuleKind module_kind(Str type)
{
    ModuleKind kind = 0;
    for (; kind < MODULE_KINDS; kind++) {
        size_t n = strlen(kind_names[kind]);
        if (str_ends(type, kind_names[kind]) && type.n > n && type.p[type.n - n - 1] == '.') break;
    }
    return kind;
}

static Str row_type(const Value *row)
{
    return value_str(value_get(row, "type"), STR(""));
}

static bool modules_read_json(Arena *arena, const ModulesAt *at, const char *name, Value *out,
                              Err *err)
{
    Str text;
    if (!at->folder) {
        const Value *v = value_get(at->inside, name);
        *out = v ? *v : value_null();
        return v || fail(err, EF_NOT_FOUND, "%s is not in the metadata", name);
    }
    const char *path = path_join(arena, at->folder, str_of(name));
    return file_read(arena, path, MOST_FILE, &text, err) &&
           (json_parse(arena, text, out, err) || within(err, "%s", path));
}

static bool modules_read_list(Arena *arena, const ModulesAt *at, Value *list, Err *err)
{
    if (!modules_read_json(arena, at, "modules.json", list, err)) return false;
    if (list->kind == V_LIST && list->list.n && list->list.n <= MODULES_MOST) return true;
    return fail(err, EF_BAD_MODEL, "modules.json: wanted a list of 1 to %d modules", MODULES_MOST);
}

/* ---- rows ---- */
static bool way_named(const Value *v, TaskPooling way)
{
    if (v->kind != V_LIST) return str_is(value_str(v, STR("")), head_pooling_name(way));
    for (size_t i = 0; i < v->list.n; i++)
        if (way_named(&v->list.items[i], way)) return true;
    return false;
}

/* Newer files have one word or a list in "pooling_mode"; others a key for each way. */
static bool read_pooling(const Value *config, SentenceModule *m, Err *err)
{
    static const char *const keys[POOL_WAYS] = {
        [POOL_CLS] = "pooling_mode_cls_token",
        [POOL_MAX] = "pooling_mode_max_tokens",
        [POOL_MEAN] = "pooling_mode_mean_tokens",
        [POOL_SQRT] = "pooling_mode_mean_sqrt_len_tokens",
        [POOL_WEIGHTED] = "pooling_mode_weightedmean_tokens",
        [POOL_LAST] = "pooling_mode_lasttoken",
    };
    const Value *words = value_get(config, "pooling_mode");
    bool any = false;
    if (words && words->kind == V_NULL) words = NULL;
    for (TaskPooling p = POOL_MEAN; p < POOL_WAYS; p++) {
        m->way[p] = words ? way_named(words, p)
                          : value_bool(value_get(config, keys[p]), p == POOL_MEAN);
        any |= m->way[p];
    }
    m->without_prompt = !value_bool(value_get(config, "include_prompt"), true);
    return any || fail(err, EF_BAD_MODEL, "no way of pooling is chosen");
}

/* "torch.nn.modules.activation.Tanh" */
static bool modules_read_activation(const Value *config, SentenceModule *m, Err *err)
{
    static const char *const classes[ACT_COUNT] = {
        [ACT_NONE] = ".Identity", [ACT_TANH] = ".Tanh", [ACT_RELU] = ".ReLU",
        [ACT_GELU] = ".GELU",     [ACT_SILU] = ".SiLU", [ACT_SIGMOID] = ".Sigmoid",
    };
    Str s = value_str(value_get(config, "activation_function"), STR("torch.nn.Tanh"));
    for (m->act = 0; m->act < ACT_COUNT; m->act++)
        if (classes[m->act] && str_ends(s, classes[m->act])) return true;
    return fail(err, EF_UNSUPPORTED, "activation_function: found %.*s, wanted Identity, Tanh, "
                "ReLU, GELU, SiLU or Sigmoid", (int)MIN(s.n, 80), s.p);
}

static const char *config_name(Arena *arena, const SentenceModule *m)
{
    return m->path.n ? path_join(arena, str_dup(arena, m->path), STR("config.json")) : "config.json";
}

enum { MOST_TYPE = 160 };

static bool modules_unknown(Str type, Err *err)
{
    return fail(err, EF_UNSUPPORTED, "modules.json: found %.*s, wanted Transformer, Pooling, Dense or Normalize",
                (int)MIN(type.n, MOST_TYPE), type.p);
}

static bool read_module(Arena *arena, const ModulesAt *at, const Value *row, SentenceModule *m,
                        Err *err)
{
    Str type = row_type(row);
    m->kind = module_kind(type);
    if (m->kind == MODULE_KINDS) return modules_unknown(type, err);
    m->path = value_str(value_get(row, "path"), STR(""));
    if (m->path.n && !path_stays_inside(m->path))
        return fail(err, EF_BAD_MODEL, "modules.json: path leaves the folder");
    if (at->folder) m->folder = m->path.n ? path_join(arena, at->folder, m->path) : at->folder;
    if (m->kind != MODULE_POOLING && m->kind != MODULE_DENSE) return true;
    Value config;
    const char *file = config_name(arena, m);
    return modules_read_json(arena, at, file, &config, err) &&
           ((m->kind == MODULE_POOLING ? read_pooling : modules_read_activation)(&config, m, err) ||
            within(err, "%s", file));
}

/* sentence_bert_config.json may name another output of the encoder than its last rows. */
static bool modules_last_rows(Arena *arena, const ModulesAt *at, const char *encoder, Err *err)
{
    const char *path = at->folder ? modules_settings(arena, encoder) : "sentence_bert_config.json";
    Value v;
    Err ignored = { 0 };
    ModulesAt own = { .folder = at->folder ? encoder : NULL, .inside = at->inside };
    if (!path || !modules_read_json(arena, &own, path_name(path).p, &v, &ignored)) return true;
    const Value *name = value_get(value_get(value_get(&v, "modality_config"), "text"), "method_output_name");
    if (name && name->kind == V_LIST && name->list.n == 1) name = &name->list.items[0];
    if (!name || name->kind == V_NULL || str_is(value_str(name, STR("")), "last_hidden_state")) return true;
    Str found = value_str(name, STR("a list"));
    return fail(err, EF_UNSUPPORTED, "%s: modality_config.text.method_output_name: found %.*s, wanted "
                "last_hidden_state", path_name(path).p, (int)MIN(found.n, 80), found.p);
}

bool modules_read(Arena *arena, const ModulesAt *at, Modules *out, Err *err)
{
    Value list;
    *out = (Modules){ .at = *at };
    if (!modules_read_list(arena, at, &list, err)) return false;
    for (size_t i = 0; i < list.list.n; i++)
        if (!read_module(arena, at, &list.list.items[i], &out->row[out->n++], err))
            return false;
    out->encoder = out->row[0].folder;
    int pooled = 0;
    for (int i = 0; i < out->n; i++) pooled += out->row[i].kind == MODULE_POOLING;
    return ((out->row[0].kind == MODULE_ENCODER && pooled == 1 &&
             out->row[1].kind == MODULE_POOLING) ||
            fail(err, EF_UNSUPPORTED, "modules.json: wanted Transformer, then Pooling")) &&
           modules_last_rows(arena, at, out->encoder, err);
}

bool modules_pool(Arena *arena, const char *folder, const char **encoder)
{
    Value list;
    Err ignored = { 0 };
    *encoder = folder;
    if (!file_is(path_join(arena, folder, STR("modules.json")))) return false;
    if (!modules_read_list(arena, &(ModulesAt){ .folder = folder }, &list, &ignored)) return true;
    Str path = value_str(value_get(&list.list.items[0], "path"), STR(""));
    bool pools = false;
    for (size_t i = 0; i < list.list.n; i++)
        pools |= module_kind(row_type(&list.list.items[i])) == MODULE_POOLING;
    if (!pools || !path.n || !path_stays_inside(path)) return pools;
    const char *own = path_join(arena, folder, path);
    if (dir_is(own)) *encoder = own; /* an export puts the encoder into the root */
    return pools;
}

static bool modules_sparse(Str type)
{
    return str_ends(type, ".MLMTransformer") || str_ends(type, ".SpladePooling");
}

bool modules_other_task(Arena *arena, const char *folder)
{
    const ModulesAt at = { .folder = folder };
    const char *settings = modules_settings(arena, folder);
    Value v;
    Err ignored = { 0 };
    if (!modules_read_list(arena, &at, &v, &ignored)) return false;
    for (size_t i = 0; i < v.list.n; i++)
        if (modules_sparse(row_type(&v.list.items[i]))) return true;
    if (!settings || !modules_read_json(arena, &at, path_name(settings).p, &v, &ignored)) return false;
    Str task = value_str(value_get(&v, "transformer_task"), STR(""));
    return task.n && !str_is(task, "feature-extraction");
}

bool modules_known(Arena *arena, const char *folder, Err *err)
{
    Value list;
    Err ignored = { 0 };
    if (!file_is(path_join(arena, folder, STR("modules.json"))) ||
        !modules_read_list(arena, &(ModulesAt){ .folder = folder }, &list, &ignored))
        return true;
    for (size_t i = 0; i < list.list.n; i++) {
        Str type = row_type(&list.list.items[i]);
        if (!modules_sparse(type) && module_kind(type) == MODULE_KINDS) return modules_unknown(type, err);
    }
    return true;
}

/* A file of the folder, if it is there and JSON. */
static void gather_file(Arena *arena, const char *folder, const char *name, const char *as, Value *out)
{
    Value v;
    Err ignored = { 0 };
    const char *path = path_join(arena, folder, str_of(name));
    if (file_is(path) &&
        modules_read_json(arena, &(ModulesAt){ .folder = folder }, name, &v, &ignored))
        value_add(out, as, v);
}

Value modules_gather(Arena *arena, const char *folder)
{
    Modules m;
    Err ignored = { 0 };
    Value out = value_map(arena, MODULES_MOST + 3);
    if (!file_is(path_join(arena, folder, STR("modules.json"))) ||
        !modules_read(arena, &(ModulesAt){ .folder = folder }, &m, &ignored))
        return value_null();
    gather_file(arena, folder, "modules.json", "modules.json", &out);
    gather_file(arena, folder, "config_sentence_transformers.json",
                "config_sentence_transformers.json", &out);
    const char *settings = modules_settings(arena, m.encoder);
    if (settings)
        gather_file(arena, m.encoder, path_name(settings).p, "sentence_bert_config.json", &out);
    for (int i = 1; i < m.n; i++) {
        const char *name = config_name(arena, &m.row[i]);
        if (m.row[i].path.n) gather_file(arena, folder, name, name, &out);
    }
    return out;
}

const char *modules_settings(Arena *arena, const char *folder)
{
    static const char *const kinds[] = { "bert",   "roberta",     "distilbert", "camembert",
                                         "albert", "xlm-roberta", "xlnet" };
    for (size_t i = 0; i < COUNT(kinds); i++) {
        Str name = str_of(str_format(arena, "sentence_%s_config.json", kinds[i]));
        const char *path = path_join(arena, folder, name);
        if (file_is(path)) return path;
    }
    return NULL;
}

/* ---- the head ---- */
/* weight: [out, in] */
static void pack_dense(Arena *arena, const float *weight, const float *bias, HeadStep *s)
{
    uint64_t at, bytes = head_bytes(s->in, s->out, &at);
    float *panels = arena_raw(arena, bytes), *add = panels + at / sizeof *panels;
    panels_f32_pack(weight, true, s->out, s->in, panels);
    memset(add, 0, bytes - at);
    if (bias) memcpy(add, bias, (size_t)s->out * sizeof *add);
    s->weight = panels, s->bias = bias ? add : NULL;
}

static bool is_width(int64_t n)
{
    return n >= 1 && n <= HEAD_MOST_WIDTH;
}

static bool check_dense(const char *folder, const SafeTensor *w, const SafeTensor *bias, Err *err)
{
    if (!w) return fail(err, EF_BAD_MODEL, "%s: linear.weight is missing", folder);
    if (w->rank != 2 || !is_width(w->dim[0]) || !is_width(w->dim[1]))
        return fail(err, EF_BAD_MODEL, "%s: linear.weight: wanted a matrix", folder);
    if (!weights_is_real(w) || (bias && !weights_is_real(bias)))
        return fail(err, EF_UNSUPPORTED, "%s: linear: found %s, wanted F32, F16, BF16 or F64", folder,
                    safetype_name(w->type));
    if (bias && (bias->rank != 1 || bias->dim[0] != w->dim[0]))
        return fail(err, EF_BAD_MODEL, "%s: linear.bias does not fit linear.weight", folder);
    return true;
}

static float *floats_of(Arena *arena, const SafeTensor *t)
{
    size_t n = t ? t->bytes / safetype_size(t->type) : 0;
    float *out = t ? arena_raw(arena, n * sizeof *out) : NULL;
    for (size_t i = 0; i < n; i++) out[i] = weights_element(t, i);
    return out;
}

static bool read_dense(Arena *arena, const char *folder, const Safetensors *file, HeadStep *s, Err *err)
{
    const SafeTensor *w = safetensors_find(file, STR("linear.weight"));
    const SafeTensor *bias = safetensors_find(file, STR("linear.bias"));
    Arena scratch = { 0 };
    if (!check_dense(folder, w, bias, err)) return false;
    s->in = w->dim[1], s->out = w->dim[0];
    pack_dense(arena, floats_of(&scratch, w), floats_of(&scratch, bias), s);
    arena_free(&scratch);
    return true;
}

/* An initializer of our exporter's graph, as it was before anything was quantized. */
static const OnnxTensor *find_weight(const OnnxModel *m, int module, const char *name, int rank)
{
    char full[64];
    snprintf(full, sizeof full, "%d.linear.%s", module, name);
    for (int i = 0; i < m->graph.n_init; i++) {
        const OnnxTensor *t = &m->graph.init[i];
        if (str_is(t->name, full) && t->t.type == T_F32 && t->t.rank == rank && t->t.data) return t;
    }
    return NULL;
}

/* Its own may lie unaligned. */
static float *graph_floats(Arena *arena, const OnnxTensor *t)
{
    return t ? memcpy(arena_raw(arena, tensor_bytes(&t->t)), t->t.data, tensor_bytes(&t->t)) : NULL;
}

static bool graph_dense(Arena *arena, const OnnxModel *onnx, int module, HeadStep *s, Err *err)
{
    const OnnxTensor *w = find_weight(onnx, module, "weight", 2);
    const OnnxTensor *bias = find_weight(onnx, module, "bias", 1);
    if (!w || !is_width(w->t.dim[0]) || !is_width(w->t.dim[1]) ||
        (bias && bias->t.dim[0] != w->t.dim[0]))
        return fail(err, EF_NOT_FOUND, "%d.linear.weight is not in the graph", module);
    Arena scratch = { 0 };
    s->in = w->t.dim[1], s->out = w->t.dim[0];
    pack_dense(arena, graph_floats(&scratch, w), graph_floats(&scratch, bias), s);
    arena_free(&scratch);
    return true;
}

static bool open_dense(Arena *arena, const Modules *modules, int i, HeadStep *s, Err *err)
{
    const char *folder = modules->row[i].folder;
    Safetensors file = { 0 };
    s->act = modules->row[i].act, s->file = config_name(arena, &modules->row[i]);
    if (!folder) return graph_dense(arena, modules->at.onnx, i, s, err);
    bool ok = checkpoint_open(arena, folder, &file, err) && read_dense(arena, folder, &file, s, err);
    safetensors_close(&file);
    return ok;
}

bool modules_head(Arena *arena, const Modules *modules, VectorHead **out, Err *err)
{
    VectorHead *head = *out = NEW(arena, VectorHead);
    for (int i = 1; i < modules->n; i++) {
        const SentenceModule *m = &modules->row[i];
        if (m->kind == MODULE_POOLING) {
            memcpy(head->way, m->way, sizeof head->way);
            head->without_prompt = m->without_prompt;
        }
        if (m->kind == MODULE_NORMALIZE) head->step[head->n++] = (HeadStep){ 0 };
        if (m->kind == MODULE_DENSE && !open_dense(arena, modules, i, &head->step[head->n++], err))
            return false;
    }
    return true;
}
