/* SPDX-License-Identifier: Apache-2.0
 * export.c - the steps of an export, in their order. */
#include "export.h"

#include "base/thread.h"
#include "data/checkpoint.h"
#include "data/json.h"
#include "export/files.h"
#include "export/graphml.h"
#include "export/hf_metadata.h"
#include "export/htp_report.h"
#include "export/modules.h"
#include "export/sentence.h"
#include "export/task.h"
#include "export/weights.h"
#include "hub/hub.h"
#include "task/task.h"

enum { LEAST_OPSET = 14, MOST_OPSET = 21, MOST_CONFIG = 1 << 24 };
static const uint64_t MOST_INSIDE = (uint64_t)2000 << 20; /* protobuf ends at 2 GiB */

struct ExportWork {
    Value config;
    Safetensors weights;
    Builder builder;
    Encoder encoder;
    Sentence *sentence;     /* NULL: no modules.json, or another task was asked for */
    OnnxModel model;
    Str started;            /* UTC */
    double begin, last;     /* the whole; the step that is under way */
    Htp htp;
    HtpRun run;
};

/* A step of the report is through. */
static void export_mark_step(Export *e, HtpStep step)
{
    double now = now_seconds(), took = now - e->work->last;
    e->work->run.took[step] = took > 1e-5 ? took : 0;
    e->work->run.done[step] = now_utc(&e->arena);
    e->work->last = now;
}

static bool export_read_config(Export *e, Err *err)
{
    Str text;
    const char *path = path_join(&e->arena, e->encoder, STR("config.json"));
    if (!file_is(path))
        return fail(err, EF_NOT_FOUND, "%s: not found, and an export needs it: it says what the "
                    "weights are", path);
    if (!file_read(&e->arena, path, MOST_CONFIG, &text, err)) return false;
    if (!json_parse(&e->arena, text, &e->work->config, err)) return within(err, "%s", path);
    if (e->work->config.kind == V_MAP) return true;
    return fail(err, EF_BAD_MODEL, "%s: found %s, wanted an object", path,
                value_kind_name(e->work->config.kind));
}

/* Checked first: a folder given by mistake lacks more than weights, and this message is the
 * clearest. */
static bool export_find_weights(Export *e, Err *err)
{
    static const char *const written[] = { "model.onnx", "model_quantized.onnx",
                                           "onnx/model.onnx" };
    if (!e->weights) e->weights = checkpoint_find(&e->arena, e->encoder);
    if (e->weights) return checkpoint_no_adapter(e->weights, err);
    for (size_t i = 0; i < COUNT(written); i++)
        if (file_is(path_join(&e->arena, e->encoder, str_of(written[i]))))
            return fail(err, EF_INVALID_INPUT, "%s: found %s, which is what an export writes, "
                        "wanted model.safetensors or pytorch_model.bin; `infer`, `serve` and "
                        "`build` take this folder as it is", e->encoder, written[i]);
    return checkpoint_no_adapter(e->encoder, err);
}

static void name_architectures(Buf *b)
{
    for (const Arch *const *a = architectures; *a; a++)
        buf_printf(b, "%s%s", a == architectures ? "" : ", ", (*a)->model_type);
}

static const Arch *known_arch(Export *e, Err *err)
{
    Str type = value_str(value_get(&e->work->config, "model_type"), STR(""));
    const Arch *arch = arch_find(type);
    if (arch) return arch;
    Buf names = { 0 };
    name_architectures(&names);
    fail(err, EF_UNSUPPORTED, "config.json: model_type: found \"%.*s\", wanted %.*s",
         (int)MIN(type.n, 40), type.p, STR_ARG(buf_view(&names)));
    buf_free(&names);
    return NULL;
}

static DType stored_type(const char *name)
{
    return !name ? T_F32 : strcmp(name, "fp16") == 0 ? T_F16 : strcmp(name, "bf16") == 0 ? T_BF16 : T_F32;
}

static bool one_of(const char *option, const char *found, const char *const *words, Err *err)
{
    Buf list = { 0 };
    for (const char *const *w = words; *w; w++) {
        if (!found || strcmp(found, *w) == 0) return buf_free(&list), true;
        buf_printf(&list, "%s%s", w == words ? "" : w[1] ? ", " : " or ", *w);
    }
    fail(err, EF_USAGE, "%s: found \"%s\", wanted %.*s", option, found, STR_ARG(buf_view(&list)));
    buf_free(&list);
    return false;
}

/* Checks the options before any file is read. */
static bool check_options(Export *e, Err *err)
{
    static const char *const types[] = { "fp32", "fp16", "bf16", NULL };
    static const char *const classes[] = { "transformers-5", "transformers-4", NULL };
    if (e->opset == 0) e->opset = 18;
    if (e->opset < LEAST_OPSET || e->opset > MOST_OPSET)
        return fail(err, EF_USAGE, "opset: found %d, wanted %d to %d", e->opset, LEAST_OPSET,
                    MOST_OPSET);
    return one_of("dtype", e->dtype, types, err) &&
           one_of("class-names", e->class_names, classes, err);
}

static void start_builder(Export *e, const Arch *arch, const ExportTask *task)
{
    Encoder *m = &e->work->encoder;
    Builder *b = &e->work->builder;
    *m = (Encoder){ .b = b, .arch = arch, .head = task->head };
    *b = (Builder){
        .arena = &e->arena, .opset = e->opset, .weights = &e->work->weights,
        .base = task->head ? arch->base : "", .prefix = arch->base,
        .modules = arch->modules, .head_modules = arch->head_modules[task->head],
        .family = arch->family, .tags = !e->clean, .torch_modules = e->torch_modules,
        .older_classes = e->class_names && strcmp(e->class_names, "transformers-4") == 0,
        .contrib = e->optimize >= 2, .tanh_gelu = e->optimize >= 3,
        .stored = stored_type(e->dtype), .batch = e->batch, .length = e->length,
    };
    b->root_class = task->head ? str_format(&e->arena, "%s%s", arch->family, task->suffix)
                               : build_class(b, arch->modules[0].class_name);
    e->model_type = arch->model_type, e->class_name = b->root_class, e->task_name = task->name;
}

static void write_sentence(Encoder *m, Str hidden)
{
    sentence_write(m->finish_own, m, hidden);
}

/* The encoder becomes the first module of a SentenceTransformer, without a token_type_ids input. */
static void start_sentence(Export *e)
{
    Encoder *m = &e->work->encoder;
    Builder *b = &e->work->builder;
    m->finish = write_sentence, m->finish_own = e->work->sentence;
    if (m->types == TYPES_INPUT) m->types = TYPES_ZERO;
    b->base = "0.auto_model.";
    b->head_modules = sentence_modules(e->work->sentence, &e->arena);
    e->class_name = b->root_class = "SentenceTransformer";
    e->task_name = "sentence-similarity";
}

/* A folder with modules.json, unless a head or the plain encoder is asked for. Of cross encoders and sparse ones the
 * task is that of config.json, if none is given. */
static bool find_sentence(Export *e, Err *err)
{
    const TaskName *row = e->task ? task_name(str_of(e->task)) : NULL;
    bool open = !e->task || strcmp(e->task, "auto") == 0;
    if (!open && !(row && strcmp(row->name, "sentence-similarity") == 0)) return true;
    if (!sentence_is(e->folder)) return true;
    if (open && modules_other_task(&e->arena, e->folder)) return modules_known(&e->arena, e->folder, err);
    return sentence_open(&e->arena, e->folder, &e->work->sentence, &e->encoder, err);
}

/* Tensors that share their bytes under two names (torch keeps tied weights so) count once. */
static void count_parameters(Export *e)
{
    const Safetensors *s = &e->work->weights;
    Map seen = { 0 };
    for (int i = 0; i < s->n; i++) {
        SafeTensor *t = &s->item[i];
        Str place = { (const char *)&t->data, sizeof t->data };
        if (!weights_is_real(t) || map_get(&seen, place)) continue;
        if (t->bytes) map_put(&seen, &e->arena, place, t);
        e->parameters += t->bytes / safetype_size(t->type);
    }
}

bool export_open(Export *e, Err *err)
{
    const ExportTask *task;
    e->work = NEW(&e->arena, ExportWork);
    e->work->started = now_utc(&e->arena);
    e->work->begin = e->work->last = now_seconds();
    e->work->run.e = e, e->work->run.started = e->work->started;
    if (!check_options(e, err) || !files_source(e, err)) return false;
    e->encoder = e->folder;
    if (!find_sentence(e, err) || !export_find_weights(e, err) || !export_read_config(e, err))
        return false;
    if (!files_target(e, err)) return false;
    const Arch *arch = known_arch(e, err);
    const char *wanted = e->work->sentence ? "feature-extraction" : e->task;
    if (!arch || !export_task(wanted, arch, &e->work->config, &task, err)) return false;
    if (task->head && !arch->steps[task->head])
        return fail(err, EF_UNSUPPORTED, "%s: no export for %s yet", arch->model_type, task->name);
    if (arch->write && e->class_names && strcmp(e->class_names, "transformers-4") == 0)
        return fail(err, EF_UNSUPPORTED, "class-names: found transformers-4, wanted transformers-5: "
                    "models of %s have other modules there", arch->hears ? "sounds" : "pictures");
    start_builder(e, arch, task);
    if (!encoder_configure(&e->work->encoder, &e->work->config, err)) return false;
    if (e->work->sentence) start_sentence(e);
    e->work->builder.act_class = e->work->encoder.act->class_name;
    e->layers = (int)e->work->encoder.n[K_LAYERS];
    e->tokenizer = files_tokenizer(e);
    e->pictures = arch->write && task->head != HEAD_TOWERS && task->head != HEAD_LETTERS;
    const char *weights = e->weights ? e->weights : e->encoder;
    if (!checkpoint_open(&e->arena, weights, &e->work->weights, err)) return false;
    count_parameters(e);
    weights_rename(&e->arena, &e->work->weights, arch->renames);
    export_mark_step(e, STEP_PREPARE);
    export_mark_step(e, STEP_INPUTS);
    return !e->work->sentence ||
           sentence_weights(e->work->sentence, &e->arena, &e->work->weights, err);
}

/* More weights than protobuf can hold: they go beside the file. */
static bool export_spills(const Export *e)
{
    return weights_total(&e->work->builder) > (e->most_inside ? e->most_inside : MOST_INSIDE);
}

/* Config, task and (when asked) tokenizer, inside the .onnx. A path on this machine is no name. */
static bool add_metadata(Export *e, Err *err)
{
    OnnxModel *m = &e->work->model;
    Str name = hub_repo_at(&e->arena, e->folder);
    HfSource from = { .folder = e->folder, .encoder = e->encoder, .task = e->task_name,
                      .name = name.n ? name.p : NULL, .model = m,
                      .level = MAX(e->optimize, 1), .external = export_spills(e),
                      .tokenizer = e->include_tokenizer, .tokenizer_from = e->tokenizer_from };
    if (e->no_metadata) return true;
    if (!hf_metadata_make(&e->arena, &from, &m->meta, &m->n_meta, err)) return false;
    e->tokenizer_inside = hf_has_tokenizer(m->meta, m->n_meta);
    return true;
}

/* The modules and the tags of the nodes, as the sidecar and the reports tell them. */
static void read_hierarchy(Export *e)
{
    ExportWork *w = e->work;
    htp_by_builder(&e->arena, &w->builder, &w->htp);
    w->run.htp = &w->htp;
    w->run.total_modules = htp_total_modules(&w->htp, &w->builder);
    export_mark_step(e, STEP_TAGGING);
}

bool export_build(Export *e, Err *err)
{
    Builder *b = &e->work->builder;
    if (!encoder_write(&e->work->encoder, err)) return within(err, "%s", e->folder);
    b->graph.name = str_of(b->root_class);
    e->nodes = b->graph.n_node;
    for (int i = 0; i < e->nodes; i++) e->tagged += b->graph.node[i].n_meta > 0;
    OnnxOpset *opset = ARRAY(&e->arena, OnnxOpset, 2);
    opset[0].version = e->opset;
    opset[1] = (OnnxOpset){ STR("com.microsoft"), 1 };
    e->work->model = (OnnxModel){
        .ir_version = e->opset > 20 ? 10 : e->opset > 18 ? 9 : 8,
        .producer = STR("encoderfile"), .producer_version = STR(EF_VERSION),
        .opset = opset, .n_opset = b->contrib ? 2 : 1, .graph = b->graph,
    };
    export_mark_step(e, STEP_HIERARCHY);
    if (e->output && !e->no_config) read_hierarchy(e);
    return add_metadata(e, err);
}

static bool export_close_file(FileWriter *w, bool ok, Err *err)
{
    if (ok) return writer_commit(w, err);
    writer_abort(w);
    return false;
}

/* Weights that would make the file too large for protobuf lie beside it. */
static bool export_write_beside(Export *e, Err *err)
{
    FileWriter w;
    const char *path = str_format(&e->arena, "%s_data", e->onnx);
    if (!writer_open(&w, &e->arena, path, 0644, err)) return false;
    w.copy = true; /* of the checkpoint, which stays */
    bool ok = weights_external(&e->work->builder, path_name(path), &w, err);
    uint64_t size = w.written;
    if (!export_close_file(&w, ok, err)) return false;
    files_note(e, path_name(path).p, size);
    return true;
}

bool export_write(Export *e, Err *err)
{
    FileWriter w;
    ExportWork *work = e->work;
    Progress bar;
    work->builder.progress = &bar;
    progress_start(&bar, path_name(e->onnx).p, weights_total(&work->builder));
    if (!dir_make_parents(e->onnx, err)) return false;
    if (export_spills(e) && !export_write_beside(e, err)) return false;
    if (!writer_open(&w, &e->arena, e->onnx, 0644, err)) return false;
    w.copy = true; /* of the checkpoint, which stays */
    bool ok = onnx_write_file(&w, &work->model, weights_pour, &work->builder, err);
    uint64_t size = w.written;
    progress_end(&bar);
    if (!export_close_file(&w, ok, err)) return false;
    work->run.onnx_size = size;
    files_note(e, path_name(e->onnx).p, size);
    export_mark_step(e, STEP_ONNX);
    return true;
}

bool export_map(Export *e, Mapping *out, Err *err)
{
    FileWriter w;
    Progress bar;
    e->work->builder.progress = &bar;
    progress_start(&bar, "reading weights", weights_total(&e->work->builder));
    if (!writer_open_memory(&w, err)) return false;
    bool ok = onnx_write_file(&w, &e->work->model, weights_pour, &e->work->builder, err);
    progress_end(&bar);
    if (ok) return writer_map(&w, out, err);
    writer_abort(&w);
    return false;
}

static bool export_write_json(Export *e, const char *name, const Value *root, Err *err)
{
    Buf text = { 0 };
    json_write_pretty(&text, root);
    buf_char(&text, '\n');
    const char *path = path_join(&e->arena, e->target, str_of(name));
    bool ok = file_write(&e->arena, path, buf_view(&text), err);
    if (ok) files_note(e, name, text.n);
    buf_free(&text);
    return ok;
}

static bool write_metadata(Export *e, Err *err)
{
    Value root = value_map(&e->arena, 8);
    value_add(&root, "source_model", value_of_str(str_of(e->model)));
    value_add(&root, "export_strategy", value_of_str(STR("htp")));
    value_add(&root, "clean_onnx", value_of_bool(e->clean));
    value_add(&root, "export_timestamp", value_of_str(e->work->started));
    value_add(&root, "modelexport_version", value_of_str(STR(EF_VERSION)));
    value_add(&root, "task", value_of_str(str_of(e->task_name)));
    value_add(&root, "opset", value_of_int(e->opset));
    return export_write_json(e, "export_metadata.json", &root, err);
}

static const char *beside_onnx(Export *e, const char *ending)
{
    Str name = path_name(e->onnx);
    if (str_ends(name, ".onnx")) name.n -= 5;
    return str_format(&e->arena, "%.*s%s", STR_ARG(name), ending);
}

static bool write_report(Export *e, const HtpRun *run, Err *err)
{
    Buf text = { 0 };
    htp_markdown(&text, run);
    const char *path = path_join(&e->arena, e->target, str_of(run->report));
    bool ok = file_write(&e->arena, path, buf_view(&text), err);
    if (ok) files_note(e, run->report, text.n);
    buf_free(&text);
    return ok;
}

static bool write_hierarchy(Export *e, Err *err)
{
    ExportWork *w = e->work;
    HtpRun *run = &w->run;
    w->last = now_seconds();
    export_mark_step(e, STEP_INJECTION);
    run->seconds = now_seconds() - w->begin;
    run->report = e->report ? beside_onnx(e, "_htp_export_report.md") : NULL;
    if (run->report && !write_report(e, run, err)) return false;
    Value root = htp_sidecar(run);
    return export_write_json(e, e->sidecar, &root, err);
}

void export_show(const Export *e, HtpStep step, Buf *out)
{
    if (!e->no_config) htp_console(out, &e->work->run, step);
}

/* OnnxFind: the one file that export_write puts weights into. */
static bool find_written(void *context, Str location, Str *bytes, Err *err)
{
    const Mapping *data = context;
    if (!data->n) return fail(err, EF_NOT_FOUND, "\"%.*s\" is not there", STR_ARG(location));
    *bytes = (Str){ (const char *)data->p, data->n };
    return true;
}

static bool export_draw_graphml(Export *e, Str file, Mapping *data, Err *err)
{
    OnnxModel m;
    GraphmlExport g = { .onnx = e->onnx, .htp = e->sidecar };
    g.base = path_join(&e->arena, path_dir(&e->arena, e->onnx),
                       str_of(beside_onnx(e, "_hierarchical_graph")));
    bool tagged = e->work->run.htp != NULL;
    if (!onnx_read(&e->arena, file, &m, err) || !onnx_attach(&m, find_written, data, err) ||
        !graphml_write(&e->arena, &m, tagged ? &e->work->htp : NULL, &g, err))
        return false;
    files_note(e, path_name(g.graphml).p, g.graphml_size);
    files_note(e, path_name(g.params).p, g.params_size);
    return true;
}

bool export_graphml(Export *e, Err *err)
{
    Mapping file, data = { 0 };
    const char *beside = str_format(&e->arena, "%s_data", e->onnx);
    if (!file_map(e->onnx, &file, err)) return false;
    bool ok = !file_is(beside) || file_map(beside, &data, err);
    ok = ok && export_draw_graphml(e, (Str){ (const char *)file.p, file.n }, &data, err);
    file_unmap(&file), file_unmap(&data);
    return ok;
}

bool export_copy(Export *e, Err *err)
{
    if (e->no_config) return true;
    if (!files_copy_settings(e, err) || !write_metadata(e, err) || !write_hierarchy(e, err))
        return within(err, "The ONNX model was exported but may not work with Optimum");
    if (file_is(path_join(&e->arena, e->target, STR("config.json")))) return true;
    return fail(err, EF_IO, "config.json was not created: the model cannot be used with Optimum");
}

bool export_labels(Export *e, Err *err)
{
    if (e->no_config) return true;
    return files_copy(e, "label2id.json", err) && files_copy(e, "id2label.json", err);
}

void export_close(Export *e)
{
    if (e->work) sentence_close(e->work->sentence), safetensors_close(&e->work->weights);
    arena_free(&e->arena);
    e->work = NULL;
}
