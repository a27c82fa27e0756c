/* SPDX-License-Identifier: Apache-2.0
 * model.c - opens a model from wherever it is. A folder is checked and optimized here; a package
 * was checked when it was built, so opening it reads small members and maps the rest. Both end in
 * load_graph. A Model lives in its own arena: closing it is one free and a few unmappings. */
#include "model/model.h"

#include "base/log.h"
#include "base/thread.h"
#include "data/checkpoint.h"
#include "data/json.h"

enum { JSON_LIMIT = 256 << 20 }; /* bytes of a config or tokenizer file */

static Model *model_new(void)
{
    Arena arena = { 0 };
    Model *m = NEW(&arena, Model);
    m->arena = arena;
    m->precision = "fp32";
    m->special = (SpecialBoxes){ .behind = { BOX_MOST, BOX_MOST, BOX_MOST, BOX_MOST } };
    m->version = STR("0.1.0");
    m->load_seconds = -now_seconds();
    return m;
}

void model_close(Model *m)
{
    if (!m) return;
    if (m->onnx) onnx_file_close(m->onnx);
    if (m->package.file.n) package_close(&m->package);
    Arena arena = m->arena;
    arena_free(&arena);
}

int model_graphs(const Model *m)
{
    return m->second ? 2 : 1;
}

const Engine *model_engine(const Model *m, int graph)
{
    return graph ? m->second : m->engine;
}

int model_outputs(const Model *m, int graph)
{
    const Engine *e = model_engine(m, graph);
    return e ? engine_outputs(e) : 1;
}

InputModel model_input(const Model *m)
{
    return (InputModel){ .tokenizer = m->tokenizer, .encode = m->encode, .flat_types = m->flat_types,
                         .pad_left = m->pad_left, .special = m->special, .image = m->image,
                         .pad_to = m->pad_to, .pad_id = m->pad_id, .audio = m->audio,
                         .chunks = m->task && task_can(m->task, NULL, CAN_TRANSCRIBE | CAN_EMBED_SOUND) };
}

bool model_reads_boxes(const Model *m)
{
    return m->items && item_form_has(m->items, ITEM_BOXES);
}

int model_usual_length(const Model *m)
{
    enum { USUAL = 128 };
    return m->encode.max_length > 0 ? MIN(m->encode.max_length, USUAL) : USUAL;
}

/* Hands over what was opened, or closes it. */
static bool settle(bool ok, Model *m, Model **out)
{
    *out = ok ? m : NULL;
    if (!ok) return model_close(m), false;
    m->load_seconds += now_seconds();
    if (m->onnx) {
        m->load_bytes = onnx_file_bytes(m->onnx);
        onnx_file_forget(m->onnx);
    }
    if (m->package.file.n) m->load_bytes = m->package.file.n;
    return true;
}

/* ---- parts ---- */

/* Texts are no longer than the graph allows; 0: any. */
static void limit_length(Model *m, int64_t most, const char *from)
{
    if (most <= 0 || (m->encode.max_length > 0 && m->encode.max_length <= most)) return;
    m->encode.max_length = (int)MIN(most, INT32_MAX);
    m->limit_from = from;
}

/* What the sidecar declares comes before what the graph does. */
static void limit_by_sidecar(Model *m, const char *weights, const OnnxModel *onnx)
{
    Str file = { 0 };
    int64_t tokens = source_declared_tokens(&m->arena, weights, &onnx->graph, &file);
    limit_length(m, tokens, file.p);
}

typedef struct Outputs {         /* names of the graph's outputs that are wanted */
    Str name[TASK_OUTPUTS];
    int n;
} Outputs;

static bool reads_input(const Graph *g, const char *name)
{
    for (int i = 0; i < g->n_input; i++)
        if (str_is(g->value[g->input[i]].name, name)) return true;
    return false;
}

static bool takes_pages(const Task *task)
{
    return task_has_option(task, "pages") || task_can(task, NULL, CAN_ANSWER_PAGE);
}

/* Pages with words and boxes, for a graph that reads them; with their pictures, if it sees these. */
static const ItemForm *page_form(const Model *m)
{
    bool seen = reads_input(m->graph, "pixel_values");
    if (task_can(m->task, NULL, CAN_ANSWER_PAGE)) return seen ? &item_seen_page_questions : &item_page_questions;
    return seen ? &item_seen_words : &item_words;
}

/* Inputs of [batch, choices, tokens] are for multiple choice only. */
static bool check_rank(const Model *m, const Graph *g, Err *err)
{
    if (task_can(m->task, NULL, CAN_CHOOSE)) return true;
    for (int i = 0; i < g->n_input; i++) {
        const GraphValue *v = &g->value[g->input[i]];
        if (graph_role(v->name) == ROLE_TOKEN && v->t.rank == 3)
            return fail(err, EF_BAD_MODEL, "Input shape mismatch: %.*s: found 3 dimensions, wanted 2: "
                        "three are for multiple_choice", STR_ARG(v->name));
    }
    return true;
}

/* Without a task the graph runs on whatever tensors its caller feeds. */
static bool choose_items(Model *m, Err *err)
{
    if (!m->task) return true;
    bool page = reads_input(m->graph, "bbox") && takes_pages(m->task);
    m->items = page ? page_form(m) : m->task->items;
    m->preparer = page && m->task->items == &item_texts ? &prepare_boxes : m->task->preparer;
    return source_needs(m->graph, m->items, err) && check_rank(m, m->graph, err) &&
           (!m->audio || model_audio_fits(m, err));
}

/* The part of the file that makes these outputs. */
static bool cut_graph(Model *m, const OnnxModel *onnx, const Outputs *out, Graph **graph, Err *err)
{
    if (!graph_from_onnx(&m->arena, onnx, graph, err)) return false;
    if (!precision_find(str_of(m->precision), &(*graph)->precision))
        return fail(err, EF_BAD_MODEL, "precision: found \"%s\", wanted fp32, bf16 or int8",
                    m->precision);
    (*graph)->pad_id = m->config.pad_token_id;
    graph_keep(*graph, out->name, out->n);
    return true;
}

static bool load_engine(Model *m, Graph *g, const Outputs *out, bool optimize, Engine **engine, Err *err)
{
    bool tokens = reads_input(g, "input_ids"); /* else its table of positions is that of patches */
    if (optimize && m->config.max_positions == 0 && tokens) limit_length(m, source_positions(g), "graph");
    if (optimize && !graph_optimize(g, false, err)) return false;
    if (!engine_new(&m->arena, g, out->name, out->n, engine, err)) return false;
    if (tokens) limit_length(m, engine_static_length(*engine), "graph");
    return true;
}

static bool load_graph(Model *m, const OnnxModel *onnx, const Outputs *out, bool optimize, Err *err)
{
    if (!cut_graph(m, onnx, out, &m->graph, err)) return false;
    model_image_inputs(m, onnx);
    return choose_items(m, err) && load_engine(m, m->graph, out, optimize, &m->engine, err);
}

/* The other tower. */
static bool load_texts(Model *m, const OnnxModel *onnx, bool optimize, Err *err)
{
    Outputs out = { { str_of(m->task->text_output) }, 1 };
    return cut_graph(m, onnx, &out, &m->text_graph, err) && source_needs(m->text_graph, &item_texts, err) &&
           check_rank(m, m->text_graph, err) && load_engine(m, m->text_graph, &out, optimize, &m->second, err);
}

/* The outputs of the task. Where config.json has no number of labels, it is the width of the first. */
static bool choose_outputs(Model *m, const OnnxModel *onnx, Outputs *out, Err *err)
{
    const OnnxValue *v;
    for (int i = 0; i < TASK_OUTPUTS && m->task->outputs[i][0]; i++) {
        if (!source_output(onnx, m->task, &m->config, i, &v, err)) {
            if (i == 0 || !m->task->on_request) return false;
            *err = (Err){ 0 };
            continue;
        }
        if (i > 0 && m->task->on_request && str_eq(v->name, out->name[0])) continue;
        int64_t labels = shape_labels(m->task->shape, v->rank - 1, v->dim + 1);
        if (i == 0 && labels > 0) config_name_labels(&m->arena, &m->config, labels);
        int width = v->rank == 4 ? 1 : v->rank - 1; /* of a map: its channels */
        if (i == 0 && m->task->shape->last == AXIS_HIDDEN && v->rank > 0 && v->dim[width] > 0)
            m->config.vector_size = (int)v->dim[width];
        out->name[out->n++] = v->name;
    }
    return true;
}

static bool load_config(Model *m, Str text, Err *err)
{
    Value *root = NEW(&m->arena, Value);
    m->config_text = text;
    m->config_json = root;
    if (!json_parse(&m->arena, text, root, err)) return false;
    if (root->kind != V_MAP)
        return fail(err, EF_BAD_MODEL, "found %s, wanted an object", value_kind_name(root->kind));
    return config_read(&m->arena, root, &m->config, err);
}

/* ---- from files ---- */

static bool lacks_config(const ModelSource *s)
{
    return s->config_optional && !s->inside.config.p && !(s->config && file_is(s->config));
}

static bool open_config(Model *m, const ModelSource *s, Err *err)
{
    Str text = lacks_config(s) ? STR("{}") : s->inside.config;
    if (text.p) text.p = str_dup(&m->arena, text);
    else if (!file_read(&m->arena, s->config, JSON_LIMIT, &text, err)) return false;
    return load_config(m, text, err) || within(err, "%.*s", STR_ARG(path_name(s->config)));
}

/* Opens the file and finds its task: a checkpoint is exported for the task, a graph's outputs tell it. */
static bool open_weights(Model *m, const ModelSource *s, Err *err)
{
    OnnxFile *file = NEW(&m->arena, OnnxFile);
    bool checkpoint = checkpoint_is(s->weights);
    if (checkpoint &&
        (!source_family(&m->config, err) || !source_task(s, &m->config, NULL, &m->task, err)))
        return false;
    /* vectors are made of the encoder's rows, whatever head the checkpoint has */
    bool vectors = model_makes_vectors(m) || (m->task && task_can(m->task, NULL, CAN_EMBED_PICTURE | CAN_EMBED_SOUND));
    const bool towers = m->task && m->task->text_output;
    const char *head = checkpoint && vectors && !towers     ? "feature-extraction"
                       : checkpoint && towers               ? m->task->name
                       : checkpoint && s->task.n            ? m->task->name : NULL;
    if (!onnx_file_open_for(&m->arena, s->weights, head, file, err)) return false;
    m->onnx = file;
    if (!source_inputs(&file->model, err))
        return within(err, "%.*s", STR_ARG(path_name(s->weights)));
    return checkpoint || source_task(s, &m->config, &file->model, &m->task, err);
}

/* Of sentence-transformers: {"prompts": {"query": "query: "}, "default_prompt_name": "query"}. */
static bool default_prompt(Model *m, const Value *name, Err *err)
{
    if (!name || name->kind == V_NULL || !task_can(m->task, NULL, CAN_SENTENCE))
        return true;
    const Value *prompt = value_get(m->prompts, str_dup(&m->arena, name->s));
    if (!prompt)
        return fail(err, EF_BAD_MODEL, "default_prompt_name: found \"%.*s\", which is not in "
                    "prompts", (int)MIN(name->s.n, 60), name->s.p);
    m->prompt = prompt->s;
    return true;
}

/* A prompt that is null is no text. */
static void fill_prompts(Value *root)
{
    for (size_t i = 0; root->kind == V_MAP && i < root->map.n; i++) {
        Value *prompts = &root->map.items[i].value;
        if (!str_is(root->map.items[i].key, "prompts") || prompts->kind != V_MAP) continue;
        for (size_t k = 0; k < prompts->map.n; k++)
            if (prompts->map.items[k].value.kind == V_NULL) prompts->map.items[k].value = value_of_str(STR(""));
    }
}

static bool read_prompts(Model *m, Value *root, Err *err)
{
    static const Field rows[] = {
        { "prompts", 0, F_STR_MAP, .nullable = true },
        { "default_prompt_name", 0, F_STR, .nullable = true },
        { 0 },
    };
    fill_prompts(root);
    if (!schema_check(root, rows, err)) return false;
    m->prompts = value_get(root, "prompts");
    return default_prompt(m, value_get(root, "default_prompt_name"), err);
}

static bool open_prompts(Model *m, const ModelSource *s, Err *err)
{
    static const char name[] = "config_sentence_transformers.json";
    Str text;
    const Value *inside = value_get(m->sentence, name);
    Value *root = NEW(&m->arena, Value);
    if (inside) *root = *inside;
    if (!inside && !s->prompts) return true;
    if ((inside || (file_read(&m->arena, s->prompts, JSON_LIMIT, &text, err) &&
                    json_parse(&m->arena, text, root, err))) && read_prompts(m, root, err))
        return true;
    err->code = EF_BAD_MODEL;
    return within(err, "%s", name);
}

/* Metadata that cannot be read counts as absent. */
static void open_inside(Model *m, const ModelSource *s)
{
    Err ignored = { 0 };
    Value *files = NEW(&m->arena, Value);
    Str text = { str_dup(&m->arena, s->inside.sentence), s->inside.sentence.n };
    if (text.n && json_parse(&m->arena, text, files, &ignored)) m->sentence = files;
}

static bool open_graph(Model *m, const ModelSource *s, Err *err)
{
    Outputs out = { 0 };
    const OnnxModel *onnx = &m->onnx->model;
    if (model_makes_vectors(m)) { /* whose errors name the file of the head */
        if (!model_output(m, s, onnx, &out.name[0], err)) return false;
        out.n = 1;
    } else if (!model_takes_no_wish(m, &s->wish, err)) {
        return false;
    }
    limit_by_sidecar(m, s->weights, onnx);
    bool ok = source_precision(onnx, s->precision, &m->precision, err) &&
              (model_makes_vectors(m) || choose_outputs(m, onnx, &out, err));
    ok = ok && load_graph(m, onnx, &out, true, err) &&
         (!m->task->text_output || (load_texts(m, onnx, true, err) && model_open_pairs(m, onnx, err)));
    if (ok) return true;
    return within(err, "%.*s", STR_ARG(path_name(s->weights)));
}

static bool open_script(Model *m, const ModelSource *s, Err *err)
{
    if (!s->script.p) return true;
    Str script = { str_dup(&m->arena, s->script), s->script.n };
    Str *lib = s->lib ? ARRAY(&m->arena, Str, s->n_lib + 1) : NULL;
    for (size_t i = 0; lib && i < s->n_lib; i++) lib[i] = str_of(str_dup(&m->arena, s->lib[i]));
    return (transform_load(&m->arena, script, lib, s->n_lib, NULL, &m->transform, err) &&
            transform_fits(m->transform, m->task, err)) ||
           within(err, "Failed to create transform");
}

/* What makes rows of items. */
static bool open_preparation(Model *m, const ModelSource *s, Err *err)
{
    if (model_hears(m)) return model_open_audio(m, s, err);
    if (model_reads_pictures(m) && !model_open_image(m, s, err)) return false;
    if (!task_can(m->task, NULL, CAN_READ)) return true;
    bool sees = takes_pages(m->task) && source_sees_pages(&m->onnx->model);
    return source_has_tokenizer(s, err) && model_open_tokenizer(m, s, err) && (!sees || model_open_image(m, s, err));
}

bool model_open_source(const ModelSource *s, Model **out, Err *err)
{
    if (!source_files(s, err)) return *out = NULL, false;
    Model *m = model_new();
    m->name = str_of(str_dup(&m->arena, s->name));
    if (s->version.n) m->version = str_of(str_dup(&m->arena, s->version));
    m->weights = str_dup(&m->arena, str_of(s->weights));
    open_inside(m, s);
    bool ok = open_config(m, s, err) && open_weights(m, s, err) && open_prompts(m, s, err) &&
              open_script(m, s, err) && open_preparation(m, s, err) && open_graph(m, s, err);
    if (ok && lacks_config(s))
        log_info("no config.json: labels are numbered, and tokenizer and graph limit the length");
    return settle(ok, m, out);
}

static bool open_bare(Model *m, const char *path, Str precision, Err *err)
{
    OnnxFile *file = NEW(&m->arena, OnnxFile);
    if (!onnx_file_open(&m->arena, path, file, err)) return false;
    m->onnx = file;
    m->name = str_of(str_dup(&m->arena, path_name(path)));
    if (!source_precision(&file->model, precision, &m->precision, err) || !source_inputs(&file->model, err))
        return within(err, "%s", path);
    if (file->model.graph.n_out == 0)
        return fail(err, EF_BAD_MODEL, "%s: the graph has no outputs", path);
    return load_graph(m, &file->model, &(Outputs){ { file->model.graph.out[0].name }, 1 }, true, err) ||
           within(err, "%s", path);
}

bool model_open_bare(const char *path, Model **out, Err *err)
{
    return model_open_bare_in((Str){ 0 }, path, out, err);
}

bool model_open_bare_in(Str precision, const char *path, Model **out, Err *err)
{
    Model *m = model_new();
    return settle(open_bare(m, path, precision, err), m, out);
}

/* ---- from a package ---- */

static bool need_member(const Package *p, MemberKind kind, Str *bytes, Err *err)
{
    *bytes = p->member[kind].bytes;
    return bytes->p || fail(err, EF_BAD_MODEL, "Missing required artifact: %s", member_name(kind));
}

/* config.json as it was, or, from the Rust encoderfile, the few fields it keeps. */
static bool packed_config(Model *m, Err *err)
{
    Str text = m->package.member[MEMBER_FULL_CONFIG].bytes;
    if (!text.p && !need_member(&m->package, MEMBER_CONFIG, &text, err)) return false;
    return load_config(m, text, err) || within(err, "model_config");
}

static bool packed_facts(Model *m, Value *facts, Err *err)
{
    Str text = m->package.member[MEMBER_FACTS].bytes;
    *facts = value_null();
    if (!text.p) return true; /* a package of the Rust encoderfile */
    if (!json_parse(&m->arena, text, facts, err)) return within(err, "facts");
    m->precision = str_dup(&m->arena, value_str(value_get(facts, "precision"), STR("fp32")));
    const Value *from = value_get(facts, "max_length_from");
    if (from) m->limit_from = str_dup(&m->arena, value_str(from, STR("")));
    m->prompts = value_get(facts, "prompts");
    m->prompt = value_str(value_get(facts, "prompt"), STR(""));
    return true;
}

static bool packed_script(Model *m, Err *err)
{
    Str member = m->package.member[MEMBER_TRANSFORM].bytes;
    return member.n == 0 || (transform_read(&m->arena, member, &m->transform, err) &&
                             transform_fits(m->transform, m->task, err));
}

typedef struct Panels {          /* where the weights of a graph are */
    const Package *package;
    MemberKind kind;
} Panels;

/* OnnxFind: whatever name the graph uses, its weights are the one member. */
static bool find_panels(void *context, Str location, Str *bytes, Err *err)
{
    (void)location;
    const Panels *panels = context;
    return need_member(panels->package, panels->kind, bytes, err);
}

/* A graph of the package; kind MEMBER_WEIGHTS: with its weights inside, as the Rust encoderfile keeps it. */
static bool read_member(Model *m, MemberKind kind, MemberKind panels, OnnxModel **out, Err *err)
{
    Str bytes;
    Panels find = { &m->package, panels };
    if (!need_member(&m->package, kind, &bytes, err)) return false;
    OnnxModel *onnx = *out = NEW(&m->arena, OnnxModel);
    return (onnx_read(&m->arena, bytes, onnx, err) &&
            (kind == MEMBER_WEIGHTS || onnx_attach(onnx, find_panels, &find, err))) ||
           within(err, "%s", member_name(kind));
}

static bool packed_texts(Model *m, const Value *facts, Err *err)
{
    OnnxModel *onnx;
    return !m->task->text_output || (read_member(m, MEMBER_TEXT_GRAPH, MEMBER_TEXT_PANELS, &onnx, err) &&
                                     load_texts(m, onnx, false, err) && model_packed_pairs(m, facts, err));
}

static bool packed_graph(Model *m, const Value *facts, const HeadWish *wish, Err *err)
{
    OnnxModel *onnx;
    Outputs out = { 0 };
    bool ours = m->package.member[MEMBER_GRAPH].bytes.p;
    if (!read_member(m, ours ? MEMBER_GRAPH : MEMBER_WEIGHTS, MEMBER_PANELS, &onnx, err)) return false;
    if (!ours) m->precision = onnx_precision(onnx);
    if (!source_inputs(onnx, err)) return false;
    m->task = source_variant(m->task, &m->config, onnx);
    bool ok;
    if (model_makes_vectors(m))
        ok = model_packed_output(m, facts, wish, onnx, &out.name[0], err), out.n = 1;
    else
        ok = model_takes_no_wish(m, wish, err) && choose_outputs(m, onnx, &out, err);
    return ok && load_graph(m, onnx, &out, !ours, err) && packed_texts(m, facts, err);
}

static bool packed_preparation(Model *m, const Value *facts, const ModelOpen *how, Err *err)
{
    if (model_reads_pictures(m) && how->processor)
        return fail(err, EF_UNSUPPORTED, "processor: a package carries the one that it was built with");
    if (model_hears(m)) return model_packed_audio(m, err);
    if (model_reads_pictures(m) && !model_packed_image(m, err)) return false;
    if (!task_can(m->task, NULL, CAN_READ)) return true;
    bool sees = m->package.member[MEMBER_IMAGE].bytes.n && !m->image; /* beside its words */
    if (!model_packed_tokenizer(m, facts, how->tokenizer ? how->tokenizer : how->processor, err)) return false;
    if (!limit_of_caller(&m->encode, how->max_length, m->tokenizer, err)) return false;
    return !sees || model_packed_image(m, err);
}

/* A package was built for one task, with the limits, prompts and transform of that task. */
static bool same_task(const Model *m, Str asked, Err *err)
{
    if (asked.n == 0 || str_is(asked, "auto")) return true;
    const Task *task = task_find(asked);
    if (task && (task == m->task || task->variant == m->task)) return true;
    return fail(err, EF_INVALID_INPUT, "Invalid model type: found a package for %s, wanted %.*s",
                m->task->name, STR_ARG(asked));
}

/* Its weights are packed already. */
static bool same_precision(const Model *m, Str asked, Err *err)
{
    return asked.n == 0 || str_is(asked, m->precision) ||
           fail(err, EF_UNSUPPORTED, "precision: found a package in %s, wanted %.*s: build one", m->precision,
                STR_ARG(asked));
}

static bool read_package(Model *m, const char *path, const ModelOpen *how, Err *err)
{
    Value facts;
    HeadWish wish = { 0 };
    m->name = m->package.name;
    m->version = m->package.version;
    m->task = task_by_number(m->package.model_type);
    if (!m->task)
        return fail(err, EF_UNSUPPORTED,
                    "%s: model type number %d is not supported: this version reads texts, pictures and sounds", path,
                    m->package.model_type);
    return (same_task(m, how->task, err) && head_wish(how->pooling, how->normalize, &wish, err) &&
            packed_facts(m, &facts, err) &&
            packed_config(m, err) && packed_script(m, err) &&
            packed_preparation(m, &facts, how, err) && packed_graph(m, &facts, &wish, err) &&
            same_precision(m, how->precision, err)) ||
           within(err, "%s", path);
}

static bool open_package(Model *m, const char *path, const ModelOpen *how, Err *err)
{
    return package_open(path, &m->package, err) && read_package(m, path, how, err);
}

bool model_open_bytes(Str bytes, const ModelOpen *how, Model **out, Err *err)
{
    Model *m = model_new();
    bool ok = package_parse(bytes, &m->package, err) &&
              read_package(m, "package in memory", how, err);
    m->load_bytes = bytes.n;
    return settle(ok, m, out);
}

/* ---- all of them ---- */

/* A folder, or a lone model file with what it carries or what stands beside it. */
static bool open_files(const char *path, const ModelOpen *how, Model **out, Err *err)
{
    Arena arena = { .local = true };
    ModelSource s = { 0 };
    source_path(&arena, path, &s);
    if (dir_is(path) || checkpoint_is(path)) source_task_inside(&arena, &s);
    s.name = source_name(&arena, path);
    *out = NULL;
    bool ok = source_processor(&arena, how->processor, &s, err);
    source_said(&arena, how->task, how->tokenizer, &s);
    s.precision = how->precision;
    s.max_length = how->max_length;
    ok = ok && head_wish(how->pooling, how->normalize, &s.wish, err) &&
              model_open_source(&s, out, err);
    arena_free(&arena);
    return ok || fail_of_model(err);
}

static bool open_self(const ModelOpen *how, Model **out, Err *err)
{
    Arena arena = { .local = true };
    Model *m = model_new();
    const char *self = path_self(&arena, err);
    bool ok = self && open_package(m, self, how, err);
    arena_free(&arena);
    return settle(ok, m, out);
}

bool model_open_with(const char *path, const ModelOpen *how, Model **out, Err *err)
{
    *out = NULL;
    if (!path) return open_self(how, out, err);
    if (dir_is(path) || str_ends(path_name(path), ".onnx") || checkpoint_is(path))
        return open_files(path, how, out, err);
    Model *m = model_new();
    return settle(open_package(m, path, how, err), m, out);
}

bool model_open(const char *path, Model **out, Err *err)
{
    return model_open_with(path, &(ModelOpen){ 0 }, out, err);
}

/* ---- dry run ---- */

/* Scratch of its own: preparers reset it. */
static bool run_sample(const Model *m, Arena *arena, Runner *runner, RowOutput *row, size_t *tokens, Err *err)
{
    static const InputOptions none;
    static const Str text[] = { { "This is a test.", 15 } };
    const Item *item = items_of_samples(arena, m->items, text, COUNT(text));
    Arena scratch = { .local = true };
    Prepared made = { 0 };
    PreparedRows rows = { &made, 0 };
    InputModel model = model_input(m);
    bool ok = m->preparer->prepare(&(PrepareCall){ &model, &none, arena, &scratch }, item, &rows, err);
    arena_free(&scratch);
    if (!ok) return false;
    const Prepared *first = rows.row;
    const Encoding *e = &first->encoding;
    *tokens = e->n;
    int32_t start[] = { 0, (int32_t)e->n };
    RowInputs own = { first->feature, first->features };
    int64_t states = engine_state_numbers(m->engine);
    if (states) own = engine_with_state(arena, m->engine, own, ARRAY(arena, float, states));
    Batch batch = { 1, start, e->ids, e->type_ids, first->boxes, first->features ? &own : NULL };
    return runner_run(runner, &batch, row, err);
}

static bool run_text(const Model *m, Arena *arena, Runner *runner, RowOutput *row, size_t *tokens,
                     Err *err)
{
    Encoding e;
    if (!tokenizer_encode(m->tokenizer, arena, STR("This is a test."), NULL, &m->encode, &e, err))
        return false;
    *tokens = e.n;
    if (e.n == 0)
        return fail(err, EF_BAD_MODEL, "the tokenizer gives no tokens for \"This is a test.\"");
    int32_t start[] = { 0, (int32_t)e.n };
    Batch batch = { 1, start, e.ids, e.type_ids };
    return runner_run(runner, &batch, row, err);
}

/* Checks on real outputs what the graph's declared shapes may leave open or have wrong. */
static bool check_row(const Model *m, int index, const RowOutput *row, size_t tokens, Err *err)
{
    const TaskShape *shape = m->task->shape;
    bool pooled = m->task->pooled && row->tokens == 1, all = row->tokens == (int64_t)tokens;
    if (shape->last == AXIS_PLACES) all = row->tokens * row->width >= (int64_t)tokens;
    if (shape->per == PER_TOKEN && !pooled && !all)
        return fail(err, EF_BAD_MODEL,
                    "Model must return tensor of shape %s: found %lld rows for %zu tokens",
                    shape->text, (long long)row->tokens, tokens);
    if (shape->last == AXIS_SINGLE && row->width != 1)
        return fail(err, EF_BAD_MODEL, "Model must return tensor of shape %s: found %lld numbers for "
                    "each %s", shape->text, (long long)row->width,
                    shape->per == PER_TOKEN ? "token" : "text");
    if (m->config.head && !head_fits(m->config.head, row->width, err)) return false;
    int64_t labels = shape_labels(shape, row->rank, row->dim);
    if (index > 0 || labels < 0 || m->config.num_labels == 0 || labels == m->config.num_labels) return true;
    if (shape->per == PER_TOKEN && row->width == 1) /* [batch, tokens] looks so */
        return fail(err, EF_BAD_MODEL,
                    "Model must return tensor of shape %s: found one number for each token, wanted "
                    "%d labels", shape->text, m->config.num_labels);
    return fail(err, EF_BAD_MODEL,
                "label count mismatch: config.json has %d labels, the model gives %lld",
                m->config.num_labels, (long long)labels);
}

static bool try_graph(const Model *m, int graph, Err *err)
{
    Arena arena = { .local = true };
    RowOutput *row = ARRAY(&arena, RowOutput, TASK_OUTPUTS + engine_states(m->engine));
    size_t tokens = 0;
    Runner *runner = runner_new(model_engine(m, graph), NULL);
    bool own = graph == 0 && (m->image || m->audio || model_reads_boxes(m));
    bool ok = (own ? run_sample : run_text)(m, &arena, runner, row, &tokens, err);
    if (!ok && !strstr(err->message, "Model inference failed"))
        within(err, "Model inference failed");
    for (int i = 0; ok && i < model_outputs(m, graph); i++) ok = check_row(m, i, &row[i], tokens, err);
    runner_free(runner);
    arena_free(&arena);
    return ok;
}

bool model_dry_run(const Model *m, Err *err)
{
    bool ok = true;
    for (int g = 0; ok && g < model_graphs(m); g++) ok = try_graph(m, g, err);
    return ok;
}
