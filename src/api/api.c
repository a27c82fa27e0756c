/* SPDX-License-Identifier: Apache-2.0
 * api.c - the functions of encoderfile.h over Model and Session: what a C program sees. Each object
 * lives in an arena of its own, so releasing it is one call. */
#include "api/build.h"
#include "api/guard_call.h"
#include "api/json_options.h"
#include "api/serve.h"
#include "api/sized.h"
#include "api/tokens.h"
#include "data/json.h"
#include "dialect/pipeline.h"
#include "hub/hub.h"

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
    ef_tensor *tensor;     /* [job->n]; NULL: the rows' numbers were not kept */
};

const char *ef_version(void)
{
    return EF_VERSION;
}

static void describe(ef_model *m)
{
    const Model *model = m->model;
    const ModelConfig *config = &model->config;
    int count = task_labels(model->task, config);
    bool vectors = model_makes_vectors(model);
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
                         .dimensions = vectors ? config_vector_size(config) : 0 };
}

/* The model becomes the handle's, or is closed. */
static ef_model *start(Model *model, const ef_options *options, Err *err)
{
    Arena arena = { 0 };
    ef_model *m = NEW(&arena, ef_model);
    *m = (ef_model){ .arena = arena, .model = model,
                     .tokenizer = { .tokenizer = model->tokenizer } };
    SessionOptions settings = { .threads = options->threads };
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
    if (!sized_read(c->options, FIRST_OPTIONS, &o, sizeof o, "ef_options", err)) return NULL;
    const char *normalize = o.normalize > 0 ? "true" : o.normalize < 0 ? "false" : NULL;
    ModelOpen how = { .task = str_of(o.task), .tokenizer = o.tokenizer,
                      .pooling = str_of(o.pooling), .normalize = str_of(normalize) };
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
    return open_call(&(OpenCall){ .bytes = { data ? data : "", size }, .options = options }, err);
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

/* v: NULL without parameters. */
static bool parse_params(Job *job, const char *json, Value **v, Err *err)
{
    Arena *arena = &job->work.arena;
    *v = json ? NEW(arena, Value) : NULL;
    return !json || json_parse(arena, str_of(str_dup(arena, str_of(json))), *v, err) || within(err, "params_json");
}

static bool read_params(const Session *session, Job *job, const char *json, Err *err)
{
    Value *params;
    if (!parse_params(job, json, &params, err)) return false;
    if (!params || job_options(session, job, params)) return true;
    return fail(err, job->work.err.code, "%s", job->work.err.message);
}

/* ---- inputs: what a caller gives becomes items of the session; a kind is a row ---- */

typedef bool TakeInput(Job *, size_t index, const ef_input *, Err *);

/* Bytes are copied, so that the job does not depend on the caller's memory. */
static Str copy_text(Job *job, const void *data, size_t size)
{
    return (Str){ str_dup(&job->work.arena, (Str){ data, size }), size };
}

static bool take_text(Job *job, size_t i, const ef_input *in, Err *err)
{
    if (!in->data) return fail(err, EF_INVALID_INPUT, "input %zu: found no text", i);
    job->work.item[i].first = copy_text(job, in->data, in->size);
    return true;
}

static bool take_pair(Job *job, size_t i, const ef_input *in, Err *err)
{
    if (!in->data2) return fail(err, EF_INVALID_INPUT, "input %zu: found no text", i);
    job->work.item[i].second = copy_text(job, in->data2, in->size2);
    return take_text(job, i, in, err);
}

static bool take_list(Job *job, size_t i, const void *words, size_t n, Err *err)
{
    const ef_word *word = words;
    Item *item = &job->work.item[i];
    if (!words || n == 0) return fail(err, EF_INVALID_INPUT, "input %zu: found no words", i);
    Str *list = ARRAY(&job->work.arena, Str, n);
    for (size_t k = 0; k < n; k++) {
        if (!word[k].data) return fail(err, EF_INVALID_INPUT, "input %zu: word %zu: found no text", i, k);
        list[k] = copy_text(job, word[k].data, word[k].size);
    }
    item->list = list;
    item->n = n;
    return true;
}

static bool take_picture(Job *job, size_t i, const ef_input *in, Err *err)
{
    if (!in->data || !in->size) return fail(err, EF_INVALID_INPUT, "input %zu: found no picture", i);
    job->work.item[i].picture = copy_text(job, in->data, in->size);
    return true;
}

static bool take_sound(Job *job, size_t i, const ef_input *in, Err *err)
{
    if (!in->data || !in->size) return fail(err, EF_INVALID_INPUT, "input %zu: found no sound", i);
    job->work.item[i].sound = copy_text(job, in->data, in->size);
    return true;
}

static bool take_choices(Job *job, size_t i, const ef_input *in, Err *err)
{
    return take_list(job, i, in->data2, in->size2, err) && take_text(job, i, in, err);
}

static bool take_boxes(Job *job, size_t i, const ef_input *in, Err *err)
{
    _Static_assert(sizeof(ef_box) == BOX_SIDES * sizeof(int32_t), "as items have them");
    Item *item = &job->work.item[i];
    if (!take_list(job, i, in->data, in->size, err)) return false;
    if (!in->data2 || in->size2 != in->size)
        return fail(err, EF_INVALID_INPUT, "input %zu: found %zu boxes, wanted %zu: one for each word", i,
                    in->data2 ? in->size2 : (size_t)0, in->size);
    item->boxes = memcpy(ARRAY(&job->work.arena, int32_t, in->size * BOX_SIDES), in->data2,
                         in->size * sizeof(ef_box));
    item_join_words(&job->work.arena, item);
    return true;
}

/* Words without their number, or a picture without bytes, are none: what the model needs is checked with the items. */
static bool take_page(Job *job, size_t i, const ef_input *in, Err *err)
{
    ef_page page;
    Item *item = &job->work.item[i];
    if (!in->data) return fail(err, EF_INVALID_INPUT, "input %zu: found no ef_page", i);
    if (!sized_read(in->data, 0, &page, sizeof page, "ef_page", err)) return within(err, "input %zu", i);
    ef_input words = { sizeof words, EF_BOXES, page.words, page.count, page.boxes, page.boxes ? page.count : 0 };
    if (page.words && page.count && !take_boxes(job, i, &words, err)) return false;
    if (page.question) item->second = copy_text(job, page.question, strlen(page.question));
    if (page.image && page.image_size) item->picture = copy_text(job, page.image, page.image_size);
    return true;
}

/* Whether the model takes a text or a pair is checked later, with the items. */
static const struct TakeRow {
    TakeInput *take;             /* NULL: no model here takes it */
    const ItemForm *form;        /* of models that do; NULL: any, */
    bool page;                   /*   or those that read pages */
} takes[] = {
    [EF_TEXT] = { take_text, NULL },         [EF_PAIR] = { take_pair, NULL },
    [EF_WORDS] = { NULL, NULL },             [EF_BOXES] = { take_boxes, NULL, true },
    [EF_PICTURE] = { take_picture, &item_pictures },           [EF_SOUND] = { take_sound, &item_sounds },
    [EF_CHOICES] = { take_choices, &item_choices },            [EF_PAGE] = { take_page, NULL, true },
};

static bool take_input(const Model *model, Job *job, size_t i, const ef_input *in, Err *err)
{
    const struct TakeRow *row = &takes[in->kind];
    bool texts = model->items == &item_texts;
    bool fits = row->page   ? model_reads_boxes(model)
                : row->form ? row->form == model->items : !model_reads_pictures(model) && !model_hears(model);
    if (row->take && fits) return row->take(job, i, in, err);
    return fail(err, EF_UNSUPPORTED, "input %zu: found %s, wanted %s: %s takes nothing else", i,
                input_name(in->kind), texts ? "a text or a pair of texts" : model->items->one,
                model->task->name);
}

typedef struct PredictCall {
    ef_model *m;
    const ef_input *in;
    size_t count;
    const char *params;
    Job *job;
    ef_reply *reply;
    Err err;
    const char *task;      /* of ef_run */
} PredictCall;

static bool take_inputs(PredictCall *c, Err *err)
{
    InputList list;
    job_items(c->job, c->count);
    if (!inputs_open(&list, c->in, c->count, err)) return false;
    for (size_t i = 0; i < c->count; i++) {
        ef_input one;
        if (!inputs_read(&list, i, &one, err) ||
            !take_input(c->m->model, c->job, i, &one, err))
            return false;
    }
    return true;
}

static void api_fill_job(void *call)
{
    PredictCall *c = call;
    c->job = job_new();
    if (take_inputs(c, &c->err)) read_params(c->m->session, c->job, c->params, &c->err);
}

/* A pipeline's call: what the inputs became is written down again, as a body has it. */
static void fill_pipeline(void *call)
{
    PredictCall *c = call;
    Value *params;
    c->job = job_new();
    if (!take_inputs(c, &c->err) || !parse_params(c->job, c->params, &params, &c->err)) return;
    Arena *arena = &c->job->work.arena;
    Value *tree = NEW(arena, Value), inputs = value_list(arena, c->count);
    for (size_t i = 0; i < c->count; i++)
        inputs.list.items[i] = pipeline_input(arena, c->m->model->items, &c->job->work.item[i]);
    *tree = value_map(arena, 3);
    if (c->task) value_add(tree, "task", value_of_text(str_dup(arena, str_of(c->task))));
    if (c->count) value_add(tree, "inputs", c->count == 1 ? inputs.list.items[0] : inputs);
    if (params) value_add(tree, "parameters", *params);
    c->job->in.kind = &kind_pipeline;
    c->job->in.tree = tree;
}

/* ---- the reply ---- */

/* The numbers of an item's choices, each of which is a row. */
static const float *choice_numbers(const Work *work, size_t i, Arena *arena)
{
    float *out = ARRAY(arena, float, work_rows(work, i));
    for (size_t r = 0; r < work_rows(work, i); r++)
        out[r] = work_result(work, work_row(work, i) + r)->data[0];
    return out;
}

/* Of an item with several rows: for choices all of them, for windows the first. */
static void view_rows(const ef_model *m, const Work *work, ef_reply *r)
{
    r->tensor = ARRAY(&r->arena, ef_tensor, work->n + 1);
    for (size_t i = 0; i < work->n; i++) {
        const TaskTensor *result = work_result(work, work_row(work, i));
        ef_tensor *t = &r->tensor[i];
        *t = (ef_tensor){ .struct_size = sizeof *t, .name = m->output, .data = result->data };
        if (m->model->task->shape->per != PER_TEXT) t->dim[t->rank++] = result->tokens;
        t->dim[t->rank++] = result->width;
        if (!task_can(m->model->task, NULL, CAN_CHOOSE)) continue;
        t->data = choice_numbers(work, i, &r->arena);
        t->dim[0] = (int64_t)work_rows(work, i);
    }
}

static void make_reply(void *call)
{
    PredictCall *c = call;
    JobReply *out = &c->job->out;
    Arena arena = { 0 };
    if (out->text.n == 0) json_write(&out->text, &out->value);
    buf_char(&out->text, 0);
    ef_reply *r = NEW(&arena, ef_reply);
    *r = (ef_reply){ .arena = arena, .job = c->job };
    if (c->job->work.result && !c->job->in.exact) view_rows(c->m, &c->job->work, r);
    c->reply = r;
}

/* The session guards its own work. */
static ef_reply *answer_call(PredictCall *c, void (*fill)(void *), ef_error *err)
{
    guard_call(fill, c, &c->err);
    if (c->err.code == EF_OK) {
        job_run(c->m->session, c->job);
        c->err = c->job->work.err;
    }
    if (c->err.code == EF_OK) guard_call(make_reply, c, &c->err);
    if (c->reply) return c->reply;
    job_free(c->job);
    fail(err, c->err.code, "%s", c->err.message);
    return NULL;
}

ef_reply *ef_predict(ef_model *m, const ef_input *in, size_t count, const char *params_json,
                     ef_error *err)
{
    return answer_call(&(PredictCall){ m, in, count, params_json, .task = NULL }, api_fill_job, err);
}

ef_reply *ef_run(ef_model *m, const char *task, const ef_input *in, size_t count, const char *params_json,
                 ef_error *err)
{
    return answer_call(&(PredictCall){ m, in, count, params_json, .task = task }, fill_pipeline, err);
}

const ef_tensor *ef_reply_tensor(const ef_reply *r, size_t input)
{
    return r->tensor && input < r->job->work.n ? &r->tensor[input] : NULL;
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

/* ---- toolchain ---- */

typedef struct BuildCall {
    const char *yaml, *path;
    Arena arena;
    Err err;
} BuildCall;

static void build_body(void *call)
{
    BuildCall *c = call;
    BuildConfig config;
    BuildReport report;
    if (!build_read(&c->arena, c->yaml, &config, &c->err)) return;
    if (c->path) config.output_path = c->path;
    config.no_report = true; /* there is nobody to read it */
    if (build_run(&c->arena, &config, &report, &c->err)) model_close(report.model);
}

bool ef_build(const char *config_yml, const char *out_path, ef_error *err)
{
    BuildCall c = { config_yml, out_path, { 0 }, { 0 } };
    guard_call(build_body, &c, &c.err);
    arena_free(&c.arena);
    return c.err.code == EF_OK || fail(err, c.err.code, "%s", c.err.message);
}

static bool read_settings(Arena *arena, const char *json, ServeSettings *s, Err *err)
{
    Value root;
    *s = (ServeSettings){ 0 };
    if (!json_options_parse(arena, json, &root, err)) return false;
    for (size_t i = 0; i < root.map.n; i++) {
        const Option *o = json_options_row(serve_options, root.map.items[i].key);
        if (o && serve_of_session(o))
            return fail(err, EF_INVALID_INPUT, "options: %s: the model is open already", o->name);
        s->server.grpc |= o && str_starts(str_of(o->name), "grpc-"); /* an option about gRPC turns it on */
    }
    return json_options_set(serve_options, arena, &root, s, err) && serve_complete(s, err);
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
