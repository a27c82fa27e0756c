/* SPDX-License-Identifier: Apache-2.0
 * cmd_run.c - one command for every task: inputs in, out what transformers' pipeline of that task returns for
 * them, as JSON. */
#include "cli/given.h"
#include "data/json.h"
#include "dialect/pipeline.h"

static const Option options[] = {
    OPTIONS_OPEN,
    OPTION_PROCESSOR,
    { "param", 'p', "KEY=VALUE", "of the pipeline's call: top_k=3, candidate_labels=sport,politics; may be given again",
      TAKES_LIST },
    OPTIONS_GIVEN,
    { "output", 'o', "FILE", "write there instead of to stdout" },
    { "json", 0, NULL, "as JSON: what it does anyway" },
    OPTION_THREADS,
    OPTIONS_ORT,
    { 0 },
};

/* ---- parameters ---- */
static bool bad_param(const char *text, const char *wanted, Err *err)
{
    return fail(err, EF_USAGE, "--param %s: wanted %s", text, wanted);
}

static Value param_list(Arena *arena, Str text)
{
    Value list = value_list(arena, text.n + 1);
    list.list.n = 0;
    for (const char *p = text.p, *end; p; p = *end ? end + 1 : NULL) {
        end = p + strcspn(p, ",");
        while (*p == ' ') p++;
        list.list.items[list.list.n++] = value_of_str((Str){ p, (size_t)(MAX(end, p) - p) });
    }
    return list;
}

/* The value by the kind of its field: texts as they are, lists with commas or as JSON, the rest as JSON, where Python's
 * words count too. */
static bool param_value(Arena *arena, const Field *f, const char *whole, Str text, Value *out, Err *err)
{
    static const struct { const char *word, *json; } python[] = {
        { "None", "null" }, { "True", "true" }, { "False", "false" },
    };
    Err ignored = { 0 };
    for (size_t i = 0; i < COUNT(python); i++)
        if (str_is(text, python[i].word) && (f->kind != F_STR || i == 0)) text = str_of(python[i].json);
    *out = value_of_str(text);
    if (f->nullable && str_is(text, "null")) return *out = value_null(), true;
    bool list = f->repeated && !(text.n && text.p[0] == '[');
    if (list) return *out = param_list(arena, text), true;
    if (f->kind == F_STR && !f->repeated) return true;
    if (json_parse(arena, text, out, &ignored)) return true;
    if (f->kind == F_ANY) return *out = value_of_str(text), true;
    return bad_param(whole, f->kind == F_BOOL ? "true or false" : f->repeated ? "a list" : "a number", err);
}

static const Field *param_field(const Site *site, const Pipeline *p, Str key)
{
    const Field *lists[] = { pipeline_parameters(site, p), site->items->keys };
    for (size_t i = 0; i < COUNT(lists); i++)
        for (const Field *f = lists[i]; f->name; f++)
            if (str_is(key, f->name)) return f;
    return NULL;
}

static bool take_param(Args *a, const Site *site, const Pipeline *p, const char *text, Value *params, Err *err)
{
    const char *equal = strchr(text, '=');
    if (!equal || equal == text) return bad_param(text, "KEY=VALUE", err);
    Str key = { text, (size_t)(equal - text) };
    if (!pipeline_key_known(site, p, key, err)) return false;
    Value v;
    const Field *f = param_field(site, p, key);
    if (!param_value(&a->arena, f, text, str_of(equal + 1), &v, err)) return false;
    value_add(params, f->name, v);
    return true;
}

/* Which keys are there, before anything is known of their kinds. */
static Value param_keys(Args *a)
{
    Value params = value_map(&a->arena, (size_t)a->n_given), call = value_map(&a->arena, 1);
    for (int i = 0; i < a->n_given; i++) {
        const char *text = a->given[i].value;
        if (strcmp(a->given[i].option->name, "param") != 0) continue;
        Str key = { text, strcspn(text, "=") };
        value_add(&params, str_dup(&a->arena, key), value_null());
    }
    value_add(&call, "parameters", params);
    return call;
}

static bool read_params(Args *a, const Site *site, const Pipeline *p, Value *params, Err *err)
{
    *params = value_map(&a->arena, (size_t)a->n_given);
    for (int i = 0; i < a->n_given; i++)
        if (strcmp(a->given[i].option->name, "param") == 0 &&
            !take_param(a, site, p, a->given[i].value, params, err))
            return false;
    return true;
}

/* ---- inputs ---- */
/* Whether the parameters say all of an input. */
static bool params_suffice(const ItemForm *form, const Value *params)
{
    for (const Field *f = form->keys; f->name; f++)
        if (f->required && !value_get(params, f->name)) return false;
    return true;
}

/* Beside parameters that say a part of every input, the words of the line are the other part. */
static const ItemForm *line_form(const Site *site, const Value *params)
{
    bool beside = false;
    for (size_t i = 0; i < params->map.n; i++) beside |= pipeline_is_input(site, params->map.items[i].key);
    bool texts = site->items->part[0] == ITEM_FIRST;
    return beside && texts ? &item_texts : site->items;
}

static bool read_inputs(Args *a, const Site *site, const Value *params, Arena *arena, Value *call, Err *err)
{
    GivenItems in = { .a = a, .form = line_form(site, params), .arena = arena };
    if (params_suffice(site->items, params) && !a->n_text && !args_has(a, "input")) return true;
    if (!given_items(&in, err)) return false;
    Value list = value_list(arena, in.n);
    for (size_t i = 0; i < in.n; i++) list.list.items[i] = pipeline_input(arena, in.form, &in.item[i]);
    bool one = in.n == 1 && !args_has(a, "input");
    value_add(call, "inputs", one ? list.list.items[0] : list);
    return true;
}

/* ---- the command ---- */
static bool run_write(Args *a, const Job *job, Err *err)
{
    Buf b = { 0 };
    const char *file = args_value(a, "output");
    json_write_pretty(&b, &job->out.value);
    buf_char(&b, '\n');
    bool ok = file ? file_write(&a->arena, file, buf_view(&b), err) : out_buf(&b, err);
    buf_free(&b);
    return ok;
}

static bool run_call(Args *a, Session *session, const char *task, Job *job, Err *err)
{
    const Site *site = site_of(session);
    Value *call = NEW(&job->work.arena, Value), keys = param_keys(a), params;
    const Pipeline *p = pipeline_of(site, str_of(task), &keys, err);
    *call = value_map(&job->work.arena, 3);
    if (!p || !read_params(a, site, p, &params, err) ||
        !read_inputs(a, site, &params, &job->work.arena, call, err))
        return false;
    value_add(call, "task", value_of_text(pipeline_name(p)));
    value_add(call, "parameters", params);
    job->in.kind = &kind_pipeline;
    job->in.tree = call;
    job->in.no_text = true;
    job_run(session, job);
    if (job->work.err.code != EF_OK) return fail(err, job->work.err.code, "%s", job->work.err.message);
    return run_write(a, job, err);
}

/* A package is for one task, which may have several pipelines: then the task is not for opening. */
static void keep_task(Args *a)
{
    const char *path = args_value(a, "model");
    bool package = path ? package_is(path) : a->packaged;
    for (int i = 0; package && i < a->n_given; i++)
        if (strcmp(a->given[i].option->name, "task") == 0) a->given[i].value = NULL;
}

static bool run_run(Args *a, Err *err)
{
    Model *model;
    const char *task = args_value(a, "task");
    keep_task(a);
    if (!file_apart(args_value(a, "output"), args_value(a, "input"), err) || !args_model(a, &model, err))
        return false;
    model_log_assumed(model);
    SessionOptions how = { .threads = (int)args_int(a, "threads"), .max_inputs = SIZE_MAX,
                           .ocr = given_ocr(a, model) };
    Session *session = job_session(model, &how);
    Job *job = job_new();
    bool ok = session ? run_call(a, session, task, job, err) : fail(err, EF_IO, "no thread could be started");
    if (session) session_free(session);
    job_free(job);
    model_close(model);
    return ok;
}

const Command cmd_run = {
    .name = "run",
    .summary = "run a task as transformers' pipeline() does, and print what that returns",
    .options = options,
    .task_first = true,
    .model_first = true,
    .note = "TASK is any name of a task, as Hugging Face has it; without one it is found from the model. INPUT is "
            "a text, or\nthe path of a picture or a sound. A parameter that belongs to the inputs may be given too: "
            "text_pair,\nquestion, context (docs/run.md).\n",
    .run = run_run,
    .usage = "[TASK] [MODEL] [INPUT...]",
    .example = "  encoderfile run -m ./sst2 \"I love this!\"\n"
               "  encoderfile run ner -m ./ner-model -p aggregation_strategy=simple \"Ada lives in London\"\n"
               "  encoderfile run question-answering -m ./squad -p question=\"Who wrote?\" \"Ada wrote.\"\n"
               "  encoderfile run zero-shot-classification -m ./nli -p candidate_labels=sport,politics \"A goal!\"\n"
               "  encoderfile run sentence-similarity -m ./minilm \"a cat\" \"a kitten\" \"a bus\"\n"
               "  encoderfile run object-detection ./yolos photo.jpg -p threshold=0.9\n",
};
