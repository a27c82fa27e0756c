/* SPDX-License-Identifier: Apache-2.0
 * optimum.c - the checks of a folder, from files that must be there to a text that runs through. */
#include "cli/optimum.h"

#include <dirent.h>

#include "data/json.h"
#include "export/hf_metadata.h"
#include "export/hf_task.h"

enum { MOST_CONFIG = 16 << 20 };

typedef struct Checking {
    Arena *arena;
    const char *folder;
    OptimumReport *report;
    const char *onnx;       /* NULL: none */
    Value config;
    OnnxFile file;
    const char *task;       /* by metadata, or by config.json */
} Checking;

static const char *const optional_files[] = {
    "tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "vocab.txt",
    "vocab.json", "merges.txt", "preprocessor_config.json", "processor_config.json",
    "generation_config.json", "model_quantized.onnx", "ort_config.json", "export_metadata.json",
};

static bool note(Checking *c, const char *name, CheckState state, const char *detail)
{
    OptimumReport *r = c->report;
    assert(r->n < (int)COUNT(r->check));
    r->check[r->n++] = (Check){ name, state, detail };
    r->compatible &= state != CHECK_FAILED;
    return state != CHECK_FAILED;
}

static bool failed(Checking *c, const char *name, const Err *err)
{
    return note(c, name, CHECK_FAILED, str_dup(c->arena, str_of(err->message)));
}

static const char *in_folder(const Checking *c, const char *name)
{
    return path_join(c->arena, c->folder, str_of(name));
}

/* ---- files ---- */

/* Optimum takes model.onnx, else the first .onnx there is, with a warning. */
static const char *any_onnx(Checking *c)
{
    const char *found = NULL;
    DIR *folder = opendir(c->folder);
    for (struct dirent *entry; folder && (entry = readdir(folder));)
        if (str_ends(str_of(entry->d_name), ".onnx") &&
            (!found || strcmp(entry->d_name, found) < 0))
            found = str_dup(c->arena, str_of(entry->d_name));
    if (folder) closedir(folder);
    return found;
}

static void list_files(Checking *c)
{
    static const char *const required[] = { "model.onnx", "config.json" };
    OptimumReport *r = c->report;
    r->missing = value_list(c->arena, COUNT(required));
    r->missing.list.n = 0;
    for (size_t i = 0; i < COUNT(required); i++)
        if (!file_is(in_folder(c, required[i])))
            r->missing.list.items[r->missing.list.n++] = value_of_str(str_of(required[i]));
    r->optional = value_map(c->arena, COUNT(optional_files));
    for (size_t i = 0; i < COUNT(optional_files); i++)
        value_add(&r->optional, optional_files[i],
                  value_of_bool(file_is(in_folder(c, optional_files[i]))));
}

static bool check_config(Checking *c)
{
    Err err = { 0 };
    Str text, type;
    const char *path = in_folder(c, "config.json");
    if (!file_is(path))
        return note(c, "config.json", CHECK_FAILED, "not found: Optimum needs it; export again, "
                    "or `add-config` puts it there");
    if (!file_read(c->arena, path, MOST_CONFIG, &text, &err) ||
        !json_parse(c->arena, text, &c->config, &err))
        return failed(c, "config.json", &err);
    type = value_str(value_get(&c->config, "model_type"), (Str){ 0 });
    if (!type.n)
        return note(c, "config.json", CHECK_FAILED,
                    "model_type is missing: no class can be chosen");
    return note(c, "config.json", CHECK_OK, str_dup(c->arena, type));
}

static bool attribute_tags(const OnnxGraph *g)
{
    for (int i = 0; i < g->n_node; i++)
        if (onnx_attr(&g->node[i], "hierarchy_tag")) return true;
    return false;
}

static bool check_graph(Checking *c)
{
    Err err = { 0 };
    const OnnxModel *m = &c->file.model;
    const char *name = in_folder(c, "model.onnx");
    bool usual = file_is(name);
    const char *other = usual ? "model.onnx" : any_onnx(c);
    if (!other) return note(c, "model.onnx", CHECK_FAILED, "not found, nor any other .onnx");
    c->onnx = in_folder(c, other);
    if (!onnx_file_open(c->arena, c->onnx, &c->file, &err) || !onnx_check(c->arena, m, &err))
        return failed(c, "model.onnx", &err);
    if (attribute_tags(&m->graph))
        return note(c, "model.onnx", CHECK_FAILED, "hierarchy_tag attributes: ONNX Runtime refuses "
                    "such a file (`validate FILE --repair` moves them)");
    if (!usual)
        return note(c, "model.onnx", CHECK_WARNING,
                    str_format(c->arena, "not found, %s is taken instead", other));
    return note(c, "model.onnx", CHECK_OK, str_format(c->arena, "%d operations", m->graph.n_node));
}

static void check_tokenizer(Checking *c)
{
    TokenizerFiles t = tokenizer_files(c->arena, c->folder);
    const char *image = in_folder(c, "preprocessor_config.json");
    if (t.vocab) note(c, "tokenizer", CHECK_OK, str_dup(c->arena, path_name(t.vocab)));
    else if (file_is(image)) note(c, "processor", CHECK_OK, "preprocessor_config.json");
    else note(c, "tokenizer", CHECK_WARNING, "not found (that is fine for models without text)");
}

/* ---- names: Optimum feeds inputs and takes outputs by them ---- */

static const char *const known_inputs[] = {
    "input_ids", "attention_mask", "token_type_ids", "position_ids", "bbox", "pixel_values",
    "input_values", "input_features", "global_attention_mask", "pixel_mask",
};
static const struct TaskOutputs {
    const char *task, *output[3]; /* any of them */
} task_outputs[] = {
    { "feature-extraction", { "last_hidden_state", "token_embeddings" } },
    { "sentence-similarity", { "sentence_embedding", "last_hidden_state" } },
    { "question-answering", { "start_logits" } },
    { "text-classification", { "logits" } },
    { "token-classification", { "logits" } },
    { "fill-mask", { "logits" } },
    { "multiple-choice", { "logits" } },
    { "image-classification", { "logits" } },
    { "audio-classification", { "logits" } },
    { "object-detection", { "logits" } },
    { "automatic-speech-recognition", { "logits" } },
};

static bool is_weight(const OnnxGraph *g, Str name)
{
    for (int i = 0; i < g->n_init; i++)
        if (str_eq(g->init[i].name, name)) return true;
    return false;
}

static void add_name(Buf *b, Str name)
{
    buf_printf(b, "%s%.*s", b->n ? ", " : "", (int)MIN(name.n, 80), name.p);
}

static const char *keep(Checking *c, Buf *b)
{
    const char *text = str_dup(c->arena, buf_view(b));
    buf_free(b);
    return text;
}

static void check_inputs(Checking *c)
{
    const OnnxGraph *g = &c->file.model.graph;
    Buf known = { 0 }, strange = { 0 };
    for (int i = 0; i < g->n_in; i++) {
        if (is_weight(g, g->in[i].name)) continue;
        bool is = false;
        for (size_t k = 0; k < COUNT(known_inputs); k++)
            is |= str_is(g->in[i].name, known_inputs[k]);
        add_name(is ? &known : &strange, g->in[i].name);
    }
    if (strange.n)
        note(c, "inputs", CHECK_FAILED,
             str_format(c->arena, "found %.*s, which no tokenizer or processor gives",
                        STR_ARG(buf_view(&strange))));
    else note(c, "inputs", CHECK_OK, str_dup(c->arena, buf_view(&known)));
    buf_free(&known), buf_free(&strange);
}

static const OnnxValue *find_output(const OnnxGraph *g, const char *name)
{
    for (int i = 0; i < g->n_out; i++)
        if (str_is(g->out[i].name, name)) return &g->out[i];
    return NULL;
}

static bool labels_fit(Checking *c, const OnnxValue *v)
{
    const Value *labels = value_get(&c->config, "id2label");
    int64_t width = v->rank > 0 ? v->dim[v->rank - 1] : DIM_UNKNOWN;
    bool told = labels && labels->kind == V_MAP && labels->map.n && width >= 0;
    bool counts = strstr(c->task, "-classification") != NULL;
    if (!told || !counts || (int64_t)labels->map.n == width) return true;
    return note(c, "labels", CHECK_FAILED,
                str_format(c->arena, "config.json has %zu labels, the graph gives %lld",
                           labels->map.n, (long long)width));
}

static void check_outputs(Checking *c)
{
    const OnnxGraph *g = &c->file.model.graph;
    const struct TaskOutputs *row = NULL;
    Buf names = { 0 };
    for (int i = 0; i < g->n_out; i++) add_name(&names, g->out[i].name);
    const char *all = keep(c, &names);
    for (size_t i = 0; i < COUNT(task_outputs); i++)
        if (strcmp(task_outputs[i].task, c->task) == 0) row = &task_outputs[i];
    for (int i = 0; row && i < 3 && row->output[i]; i++) {
        const OnnxValue *v = find_output(g, row->output[i]);
        if (!v) continue;
        if (labels_fit(c, v))
            note(c, "outputs", CHECK_OK, str_format(c->arena, "%s, for %s", all, c->task));
        return;
    }
    if (!row)
        note(c, "outputs", CHECK_WARNING,
             str_format(c->arena, "%s: no rule for %s", all, c->task));
    else
        note(c, "outputs", CHECK_FAILED, str_format(c->arena, "found %s, wanted %s for %s", all,
                                                    row->output[0], c->task));
}

/* ---- metadata, and a text that runs through ---- */

static void check_metadata(Checking *c)
{
    HfMetadata m;
    Err err = { 0 };
    HfTaskFrom from;
    const char *first;
    c->task = hf_task_detect(&c->config, &from);
    if (!hf_metadata_open(c->arena, c->onnx, &m, &err) || m.state == HF_NONE) return;
    if (hf_metadata_problems(c->arena, &m, &first, 1)) {
        note(c, "metadata", CHECK_WARNING, first);
        return;
    }
    Str task = hf_metadata_get(&m, "hf_pipeline_task");
    const char *known = hf_task_known(task);
    if (known) c->task = known;
    note(c, "metadata", CHECK_OK, str_format(c->arena, "%d keys, task %s", m.n, c->task));
}

/* A text through everything where a task of ours fits, else the graph alone. */
static void check_run(Checking *c)
{
    Err err = { 0 };
    Model *m = NULL;
    const Task *task = task_find(str_of(c->task));
    bool whole = task && tokenizer_files(c->arena, c->folder).vocab;
    ModelOpen how = { .task = whole ? str_of(task->name) : (Str){ 0 } };
    const char *path = str_is(path_name(c->onnx), "model.onnx") ? c->folder : c->onnx;
    bool ok = whole ? model_open_with(path, &how, &m, &err) && model_dry_run(m, &err)
                    : model_open_bare(c->onnx, &m, &err);
    if (!ok) failed(c, "loads", &err);
    else if (whole)
        note(c, "loads", CHECK_OK, str_format(c->arena, "and answers, as %s", task->name));
    else note(c, "loads", CHECK_OK, "the graph alone");
    model_close(m);
}

bool optimum_check(Arena *arena, const char *folder, bool load, OptimumReport *r, Err *err)
{
    Checking c = { .arena = arena, .folder = folder, .report = r };
    *r = (OptimumReport){ .folder = folder, .compatible = true };
    if (!dir_is(folder)) return fail(err, EF_NOT_FOUND, "%s: no such folder", folder);
    list_files(&c);
    bool graph = check_graph(&c), config = check_config(&c);
    check_tokenizer(&c);
    if (graph && config) check_metadata(&c);
    if (graph && config) check_inputs(&c), check_outputs(&c);
    if (graph && config && load && r->compatible) check_run(&c);
    onnx_file_close(&c.file);
    return true;
}

/* ---- what is said ---- */

static const char *const state_names[] = { "ok", "warning", "failed" };

void optimum_print(Buf *b, const OptimumReport *r)
{
    for (int i = 0; i < r->n; i++)
        buf_printf(b, "  %-8s %-12s %s\n", state_names[r->check[i].state], r->check[i].name,
                   r->check[i].detail);
    for (size_t i = 0; i < r->missing.list.n; i++)
        buf_printf(b, "%s%.*s", i ? ", " : "Missing required files: ",
                   STR_ARG(r->missing.list.items[i].s));
    if (r->missing.list.n) buf_char(b, '\n');
    buf_printf(b, "%s: the model %s with Optimum\n", r->folder,
               r->compatible ? "is compatible" : "does not work");
}

Value optimum_json(Arena *arena, const OptimumReport *r)
{
    Value v = value_map(arena, 5), list = value_list(arena, (size_t)r->n);
    for (int i = 0; i < r->n; i++) {
        Value one = value_map(arena, 3);
        value_add(&one, "name", value_of_str(str_of(r->check[i].name)));
        value_add(&one, "state", value_of_str(str_of(state_names[r->check[i].state])));
        value_add(&one, "detail", value_of_str(str_of(r->check[i].detail)));
        list.list.items[i] = one;
    }
    value_add(&v, "path", value_of_str(str_of(r->folder)));
    value_add(&v, "compatible", value_of_bool(r->compatible));
    value_add(&v, "missing", r->missing);
    value_add(&v, "checks", list);
    value_add(&v, "optional", r->optional);
    return v;
}
