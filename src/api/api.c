/* SPDX-License-Identifier: Apache-2.0
 * api.c - the functions of encoderfile.h over Model and Session: what a C program sees. Each object
 * lives in an arena of its own, so releasing it is one call. */
#include <stdlib.h>

#include "api/build.h"
#include "api/serve.h"
#include "api/tokens.h"
#include "base/cpu.h"
#include "data/json.h"

struct ef_model {
    Arena arena;
    Model *model;
    Session *session;
    ef_info info;
    const char *output;    /* of the graph: its name */
    ef_tokenizer tokenizer;
};

struct ef_reply {
    Arena arena;
    Job *job;
    const Model *model;
    const char *output;    /* of the graph: its name */
};

const char *ef_version(void)
{
    return EF_VERSION;
}

/* Kernels are chosen once in a process, so this can only succeed before or in agreement with that.
 * */
static bool want_kernels(const char *name, Err *err)
{
    uint64_t mask;
    if (!name) return true;
    if (!cpu_level(name, &mask))
        return fail(err, EF_INVALID_INPUT, "kernels: unknown name \"%s\"", name);
    setenv("EF_CPU", name, 1);
    static const char *const precisions[] = { "fp32", "bf16", "int8" };
    for (size_t i = 0; i < COUNT(precisions); i++)
        if (strcmp(kernels_isa(kernels(), precisions[i]), name) == 0) return true;
    return fail(err, EF_UNSUPPORTED,
                "kernels: found %s, wanted %s: not on this CPU, or already chosen", kernels()->isa,
                name);
}

static void describe(ef_model *m)
{
    const Model *model = m->model;
    const ModelConfig *config = &model->config;
    int count = task_labels(model->task, config);
    bool vectors = model_makes_vectors(model);
    const char **labels = ARRAY(&m->arena, const char *, count + 1);
    for (int i = 0; i < count; i++) labels[i] = str_dup(&m->arena, config->labels[i]);
    m->info = (ef_info){ .name = str_dup(&m->arena, model->name),
                         .version = str_dup(&m->arena, model->version),
                         .task = model->task->name,
                         .kernels = kernels_isa(kernels(), model->precision),
                         .max_tokens = model->encode.max_length,
                         .hidden = config->hidden_size,
                         .label_count = count,
                         .labels = count ? labels : NULL,
                         .pooling = model_pooling(model, &m->arena),
                         .normalized = head_normalizes(config->head),
                         .dimensions = vectors ? config_vector_size(config) : 0 };
}

/* The model becomes the handle's, or is closed. */
static ef_model *start(Model *model, const ef_options *options, Err *err)
{
    Arena arena = { 0 };
    ef_model *m = NEW(&arena, ef_model);
    *m = (ef_model){ .arena = arena, .model = model,
                     .tokenizer = { .tokenizer = model->tokenizer } };
    SessionOptions settings = { .threads = options ? options->threads : 0 };
    m->session = job_session(model, &settings);
    m->output = str_dup(&m->arena, model->graph->value[model->graph->output[0]].name);
    describe(m);
    if (m->session) return m;
    fail(err, EF_IO, "no thread could be started");
    ef_close(m);
    return NULL;
}

static ModelOpen open_options(const ef_options *o)
{
    if (!o) return (ModelOpen){ 0 };
    const char *normalize = o->normalize > 0 ? "true" : o->normalize < 0 ? "false" : NULL;
    return (ModelOpen){ .task = str_of(o->task), .tokenizer = o->tokenizer,
                        .pooling = str_of(o->pooling), .normalize = str_of(normalize) };
}

ef_model *ef_open(const char *path, const ef_options *options, ef_error *err)
{
    Model *model;
    Err own = { 0 };
    ModelOpen how = open_options(options);
    if (want_kernels(options ? options->kernels : NULL, &own) &&
        model_open_with(path, &how, &model, &own))
        return start(model, options, err);
    return fail(err, own.code, "%s", own.message), NULL;
}

ef_model *ef_open_memory(const void *data, size_t size, const ef_options *options, ef_error *err)
{
    Model *model;
    Err own = { 0 };
    ModelOpen how = open_options(options);
    if (want_kernels(options ? options->kernels : NULL, &own) &&
        model_open_bytes((Str){ data, size }, &how, &model, &own))
        return start(model, options, err);
    return fail(err, own.code, "%s", own.message), NULL;
}

const ef_info *ef_describe(const ef_model *m)
{
    return &m->info;
}

void ef_close(ef_model *m)
{
    if (!m) return;
    if (m->session) session_free(m->session);
    model_close(m->model);
    Arena arena = m->arena;
    arena_free(&arena);
}

/* ---- predict ---- */

static bool read_params(const Session *session, Job *job, const char *json, Err *err)
{
    Value params;
    if (!json) return true;
    if (!json_parse(&job->work.arena, str_of(str_dup(&job->work.arena, str_of(json))), &params, err))
        return within(err, "params_json");
    if (job_options(session, job, &params)) return true;
    return fail(err, job->work.err.code, "%s", job->work.err.message);
}

/* Texts are copied: a job outlives nothing it does not own. */
static bool fill_job(Job *job, const ef_input *in, size_t count, Err *err)
{
    Arena *arena = &job->work.arena;
    job_items(job, count);
    for (size_t i = 0; i < count; i++) {
        Str first = { in[i].data, in[i].size }, second = { in[i].data2, in[i].size2 };
        if (in[i].kind != EF_TEXT && in[i].kind != EF_PAIR)
            return fail(err, EF_UNSUPPORTED, "input %zu: found words, wanted a text or a pair", i);
        if (!first.p || (in[i].kind == EF_PAIR && !second.p))
            return fail(err, EF_INVALID_INPUT, "input %zu: found no text", i);
        Item *item = &job->work.item[i];
        item->first = (Str){ str_dup(arena, first), first.n };
        if (in[i].kind == EF_PAIR) item->second = (Str){ str_dup(arena, second), second.n };
    }
    return true;
}

static ef_reply *reply_of(const ef_model *m, Job *job)
{
    Arena arena = { 0 };
    ef_reply *r = NEW(&arena, ef_reply);
    *r = (ef_reply){ .arena = arena, .job = job, .model = m->model, .output = m->output };
    if (job->out.text.n == 0) json_write(&job->out.text, &job->out.value);
    buf_char(&job->out.text, 0);
    return r;
}

ef_reply *ef_predict(ef_model *m, const ef_input *in, size_t count, const char *params_json,
                     ef_error *err)
{
    Job *job = job_new();
    Err own = { 0 };
    if (fill_job(job, in, count, &own) && read_params(m->session, job, params_json, &own)) {
        job_run(m->session, job);
        own = job->work.err;
    }
    if (own.code == EF_OK) return reply_of(m, job);
    job_free(job);
    fail(err, own.code, "%s", own.message);
    return NULL;
}

bool ef_reply_tensor(const ef_reply *r, size_t input, ef_tensor *out)
{
    const Job *job = r->job;
    if (input >= job->work.n || !job->work.result) return false;
    const TaskTensor *result = work_result(&job->work, work_row(&job->work, input));
    *out = (ef_tensor){ .name = r->output, .data = result->data };
    if (r->model->task->shape->per == PER_TOKEN) out->dim[out->rank++] = result->tokens;
    out->dim[out->rank++] = result->width;
    return true;
}

const char *ef_reply_json(const ef_reply *r)
{
    return r->job->out.text.p;
}

void ef_reply_free(ef_reply *r)
{
    if (!r) return;
    job_free(r->job);
    Arena arena = r->arena;
    arena_free(&arena);
}

/* ---- tokens: tokens.c, with the limits of the model ---- */

const ef_tokenizer *ef_model_tokenizer(const ef_model *m)
{
    return &m->tokenizer;
}

ef_tokens *ef_tokenize(ef_model *m, const char *text, size_t size, ef_error *err)
{
    const EncodeOptions *limits = &m->model->encode;
    ef_input in = { .kind = EF_TEXT, .data = text, .size = size };
    ef_encode_options options = { .max_length = limits->max_length, .cut = (ef_cut)limits->strategy,
                                  .cut_left = limits->truncate_left };
    ef_tokens *out;
    return ef_encode(&m->tokenizer, &in, 1, &options, &out, err) ? out : NULL;
}

/* ---- toolchain ---- */

bool ef_build(const char *config_yml, const char *out_path, ef_error *err)
{
    Arena arena = { 0 };
    BuildConfig config;
    BuildReport report = { 0 };
    Err own = { 0 };
    bool ok = build_read(&arena, config_yml, &config, &own);
    if (ok && out_path) config.output_path = out_path;
    ok = ok && build_run(&arena, &config, &report, &own);
    model_close(report.model);
    arena_free(&arena);
    return ok || fail(err, own.code, "%s", own.message);
}

static Str option_text(Arena *arena, const Value *v)
{
    if (v->kind == V_BOOL) return str_of(v->b ? "true" : "false");
    if (v->kind != V_INT) return value_str(v, STR(""));
    return str_of(str_format(arena, "%lld", (long long)v->i));
}

static bool set_option(Arena *arena, ServeSettings *s, Str key, const Value *v, Err *err)
{
    const Option *o = serve_options;
    while (o->name && !str_is(key, o->name)) o++;
    if (!o->name) return fail(err, EF_INVALID_INPUT, "unknown setting \"%.*s\"", STR_ARG(key));
    if (serve_of_session(o))
        return fail(err, EF_INVALID_INPUT, "%s: the model is open already", o->name);
    s->server.grpc |= str_starts(key, "grpc-"); /* who says where, wants it */
    return option_set(o, s, arena, str_format(arena, "--%s", o->name), option_text(arena, v), err);
}

static bool read_settings(Arena *arena, const char *json, ServeSettings *s, Err *err)
{
    Value root;
    *s = (ServeSettings){ 0 };
    option_defaults(serve_options, s, arena);
    if (!json) return true;
    if (!json_parse(arena, str_of(json), &root, err)) return within(err, "options");
    if (root.kind != V_MAP) return fail(err, EF_INVALID_INPUT, "options: wanted an object");
    for (size_t i = 0; i < root.map.n; i++) {
        const Member *m = &root.map.items[i];
        if (!set_option(arena, s, m->key, &m->value, err)) return within(err, "options");
    }
    return serve_complete(s, err);
}

bool ef_serve(ef_model *m, const char *options, const volatile int *stop, ef_error *err)
{
    Arena arena = { 0 };
    ServeSettings s;
    Err own = { 0 };
    bool ok =
        read_settings(&arena, options, &s, &own) && server_run(m->session, &s.server, stop, &own);
    arena_free(&arena);
    return ok || fail(err, own.code, "%s", own.message);
}
