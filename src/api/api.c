/* SPDX-License-Identifier: Apache-2.0
 * api.c - a model's handle: opened, described, closed. Each object of the library lives in an arena of its
 * own, so releasing it is one call. */
#include "api/guard_call.h"
#include "api/handle.h"
#include "api/sized.h"
#include "hub/hub.h"
#include "model/model.h"

const char *ef_version(void)
{
    return EF_VERSION;
}

static void describe(ef_model *m)
{
    const Model *model = m->model;
    const ModelConfig *config = &model->config;
    int count = task_labels(model->task, config);
    int width = model_makes_vectors(model)                ? config_vector_size(config)
                : task_can(model->task, NULL, CAN_SPARSE) ? config->vocab_size
                                                          : 0;
    const char **labels = ARRAY(&m->arena, const char *, count + 1);
    for (int i = 0; i < count; i++) labels[i] = str_dup(&m->arena, config->labels[i]);
    m->info = (ef_info){ .struct_size = sizeof m->info,
                         .name = str_dup(&m->arena, model->name),
                         .version = str_dup(&m->arena, model->version),
                         .task = model->task->name,
                         .kernels = kernels_isa(kernels(), model->precision),
                         .max_tokens = model->encode.max_length,
                         .hidden = config->hidden_size,
                         .label_count = count,
                         .labels = count ? labels : NULL,
                         .pooling = model_pooling(model, &m->arena),
                         .normalized = head_normalizes(config->head),
                         .dimensions = width };
}

/* The model becomes the handle's, or is closed. */
static ef_model *start(Model *model, const ef_options *options, Err *err)
{
    Arena arena = { 0 };
    ef_model *m = NEW(&arena, ef_model);
    *m = (ef_model){ .arena = arena, .model = model, .process = getpid(),
                     .tokenizer = { .tokenizer = model->tokenizer, .settings = model->tokenizer_settings } };
    SessionOptions settings = { .threads = options->threads, .replicas = options->replicas };
    if (options->ocr) settings.ocr = str_dup(&m->arena, str_of(options->ocr));
    m->session = job_session(model, &settings);
    m->output = str_dup(&m->arena, model->graph->value[model->graph->output[0]].name);
    describe(m);
    if (m->session) return m;
    fail(err, EF_IO, "no thread could be started");
    ef_close(m);
    return NULL;
}

typedef struct OpenCall {
    const char *path;
    Str bytes;             /* p NULL: the path; else a package in memory */
    const ef_options *options;
    ef_model *out;
    Err err;
} OpenCall;

/* A path, or "hf:" and a name on the Hub. */
static bool open_named(const char *path, const ModelOpen *how, Model **model, Err *err)
{
    Arena arena = { .local = true };
    bool ok = (!path || hub_path(&arena, path, HUB_MODEL, &path, err)) &&
              model_open_with(path, how, model, err);
    arena_free(&arena);
    return ok;
}

static ef_model *open_model(const OpenCall *c, Err *err)
{
    Model *model;
    ef_options o;
    if (!options_read(c->options, &o, err)) return NULL;
    const char *normalize = o.normalize > 0 ? "true" : o.normalize < 0 ? "false" : NULL;
    ModelOpen how = { .task = str_of(o.task), .tokenizer = o.tokenizer, .processor = o.processor,
                      .precision = str_of(o.precision), .pooling = str_of(o.pooling), .normalize = str_of(normalize),
                      .max_length = o.max_length };
    if (o.kernels && !kernels_want(o.kernels, err)) return NULL;
    bool ok = c->bytes.p ? model_open_bytes(c->bytes, &how, &model, err)
                         : open_named(c->path, &how, &model, err);
    return ok ? start(model, &o, err) : NULL;
}

static void open_body(void *call)
{
    OpenCall *c = call;
    c->out = open_model(c, &c->err);
}

static ef_model *open_call(OpenCall *c, ef_error *err)
{
    guard_call(open_body, c, &c->err);
    if (!c->out) fail(err, c->err.code, "%s", c->err.message);
    return c->out;
}

ef_model *ef_open(const char *path, const ef_options *options, ef_error *err)
{
    return open_call(&(OpenCall){ .path = path, .options = options }, err);
}

ef_model *ef_open_memory(const void *data, size_t size, const ef_options *options, ef_error *err)
{
    return open_call(&(OpenCall){ .bytes = { data ? data : "", data ? size : 0 }, .options = options }, err);
}

const ef_info *ef_describe(const ef_model *m)
{
    return &m->info;
}

/* In a child there are no threads to end, and what they held is left alone. */
void ef_close(ef_model *m)
{
    if (!m || !process_owns(m->process)) return;
    if (m->session) session_free(m->session);
    token_texts_free(m->tokenizer.texts);
    model_close(m->model);
    Arena arena = m->arena;
    arena_free(&arena);
}

/* ---- tokens: tokens.c, with the limits of the model ---- */

const ef_tokenizer *ef_model_tokenizer(const ef_model *m)
{
    return m->model->tokenizer ? &m->tokenizer : NULL;
}

ef_tokens *ef_tokenize(ef_model *m, const char *text, size_t size, ef_error *err)
{
    const EncodeOptions *limits = &m->model->encode;
    ef_input in = { .struct_size = sizeof in, .kind = EF_TEXT, .data = text, .size = size };
    ef_encode_options options = { .struct_size = sizeof options, .max_length = limits->max_length,
                                  .cut = (ef_cut)limits->strategy,
                                  .cut_left = limits->truncate_left };
    ef_tokens *out;
    if (!model_reads_texts(m->model, err)) return NULL;
    return ef_encode(&m->tokenizer, &in, 1, &options, &out, err) ? out : NULL;
}
