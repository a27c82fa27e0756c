/* SPDX-License-Identifier: Apache-2.0
 * cmd_infer.c - texts in, the JSON of POST /predict out, with the "metadata" that the Rust encoderfile always
 * adds; or lines, a table, an array; or, for people and by default on a terminal, a short form.
 * Everything is held at once: `map` is the command for long streams. */
#include <unistd.h>

#include "cli/cli.h"
#include "cli/entities.h"
#include "cli/given.h"
#include "cli/params.h"
#include "cli/readable.h"
#include "data/json.h"
#include "data/npy.h"
#include "data/table.h"
#include "dialect/job.h"

enum { AS_JSON, AS_JSONL, AS_CSV, AS_NPY, AS_TEXT };
static const char *const format_words[] = { [AS_JSON] = "json", "jsonl", "csv", "npy", "text", NULL };
static const Option options[] = {
    OPTIONS_OPEN,
    OPTIONS_GIVEN,
    { "format", 'f', "FORM", "of the output; text: short, for people (the default on a terminal); npy: raw "
      "numbers, such as logits, before scores and --params", TAKES_WORD, .standard = "json",
      .words = format_words, .against = "entities" },
    { "json", 0, NULL, "as --format json: also on a terminal", .against = "format entities" },
    { "output", 'o', "FILE", "write there instead of to stdout" },
    OPTION_OFFSETS(.against = "entities"),
    OPTION_PARAMS,
    { "question", 0, "TEXT", "question answering: asked of each text, or of each page, whose answers are in there" },
    { "context-file", 0, "FILE", "asked of all that is in this file", .beside = "question" },
    { "entities", 0, NULL, "token classification: a list of words and labels instead of JSON" },
    OPTION_THREADS,
    OPTIONS_ORT,
    { 0 },
};

/* The reply with an empty "metadata" behind what is there. */
static Value with_metadata(Arena *arena, const Value *reply)
{
    Value out = value_map(arena, reply->map.n + 1);
    memcpy(out.map.items, reply->map.items, reply->map.n * sizeof *reply->map.items);
    out.map.n = reply->map.n;
    value_add(&out, "metadata", value_map(arena, 0));
    return out;
}

/* ---- out ---- */
static bool put_json(Buf *b, const Model *m, Job *job, Err *err)
{
    (void)m, (void)err;
    Value reply = with_metadata(&job->work.arena, &job->out.value);
    json_write_pretty(b, &reply);
    buf_char(b, '\n');
    return true;
}

static bool put_jsonl(Buf *b, const Model *m, Job *job, Err *err)
{
    (void)m, (void)err;
    const Value *results = value_get(&job->out.value, "results");
    for (size_t i = 0; i < results->list.n; i++) {
        json_write(b, &results->list.items[i]);
        buf_char(b, '\n');
    }
    return true;
}

static bool put_csv(Buf *b, const Model *m, Job *job, Err *err)
{
    (void)err;
    table_write(b, m->task->result, value_get(&job->out.value, "results"));
    return true;
}

/* [texts, width], or [tokens, width] of a single text. */
static bool put_npy(Buf *b, const Model *m, Job *job, Err *err)
{
    (void)m;
    const int64_t width = work_result(&job->work, 0)->width;
    if (job->work.outputs > 1 || job->work.rows != job->work.n)
        return fail(err, EF_USAGE, "--format npy: found several outputs or rows for an input, wanted "
                    "one array (or jsonl)");
    Npy npy = { 'f', sizeof(float), 2, { (int64_t)job->work.n, width } };
    if (job->work.n == 1) npy.dim[0] = work_result(&job->work, 0)->tokens;
    for (size_t i = 0; i < job->work.n && job->work.n > 1; i++)
        if (work_result(&job->work, i)->tokens != 1)
            return fail(err, EF_USAGE, "--format npy: found several texts with a vector for each token, wanted "
                        "one text (or jsonl)");
    Buf numbers = { 0 };
    for (size_t i = 0; i < job->work.n; i++) {
        const TaskTensor *row = work_result(&job->work, i);
        buf_add(&numbers, row->data, (size_t)(row->tokens * width) * sizeof(float));
    }
    npy.data = numbers.p;
    npy.bytes = numbers.n;
    npy_write(b, &npy);
    buf_free(&numbers);
    return true;
}

static bool put_entities(Buf *b, const Model *m, Job *job, Err *err)
{
    (void)m, (void)err;
    entities_write(b, &job->out.value, job->work.item, job->work.n);
    return true;
}

static bool put_text(Buf *b, const Model *m, Job *job, Err *err)
{
    (void)err;
    readable_write(b, m, job);
    return true;
}

typedef bool Put(Buf *, const Model *, Job *, Err *);
static Put *const formats[] = {
    [AS_JSON] = put_json, [AS_JSONL] = put_jsonl, [AS_CSV] = put_csv, [AS_NPY] = put_npy,
    [AS_TEXT] = put_text,
};

static Put *output_form(Args *a)
{
    const bool said = args_has(a, "format") || args_has(a, "json") || args_has(a, "output");
    if (args_has(a, "entities")) return put_entities;
    return formats[!said && isatty(STDOUT_FILENO) ? AS_TEXT : args_int(a, "format")];
}

static bool render(Args *a, const Model *m, Job *job, Err *err)
{
    Buf b = { 0 };
    const char *file = args_value(a, "output");
    bool ok = output_form(a)(&b, m, job, err);
    if (ok) ok = file ? file_write(&a->arena, file, buf_view(&b), err) : out_buf(&b, err);
    buf_free(&b);
    return ok;
}

/* ---- the command ---- */
static bool infer(Args *a, Session *session, Job *job, Err *err)
{
    const Value *params;
    job->in.no_text = true;
    if (!params_read(a, session_model(session)->task, &params, err) ||
        !params_set(session, job, params, args_int(a, "offsets"), err))
        return false;
    job_run(session, job);
    if (job->work.err.code != EF_OK) return fail(err, job->work.err.code, "%s", job->work.err.message);
    return render(a, session_model(session), job, err);
}

static bool with_session(Args *a, const Model *model, Job *job, Err *err)
{
    model_log_assumed(model);
    SessionOptions how = { .threads = (int)args_int(a, "threads"), .max_inputs = SIZE_MAX,
                           .ocr = given_ocr(a, model) };
    Session *session = job_session(model, &how);
    if (!session) return fail(err, EF_IO, "no thread could be started");
    bool ok = infer(a, session, job, err);
    session_free(session);
    return ok;
}

static bool check_task(Args *a, const Task *task, const char *option, TaskCan needs, Err *err)
{
    if (!args_has(a, option) || task_can(task, NULL, needs)) return true;
    return fail(err, EF_USAGE, "--%s: found a model for %s, wanted %s", option, task->name,
                task_that_can(needs)->name);
}

static bool with_model(Args *a, const Model *model, Job *job, Err *err)
{
    GivenItems in = { .a = a, .form = model->items, .arena = &job->work.arena };
    if (!check_task(a, model->task, "entities", CAN_TAG, err) ||
        !check_task(a, model->task, "question", CAN_ANSWER | CAN_ANSWER_PAGE, err) || !given_items(&in, err))
        return false;
    memcpy(job_items(job, in.n), in.item, in.n * sizeof *in.item);
    return with_session(a, model, job, err);
}

static bool infer_run(Args *a, Err *err)
{
    Model *model;
    if (!file_apart(args_value(a, "output"), args_value(a, "input"), err) ||
        !args_model(a, &model, err))
        return false;
    Job *job = job_new();
    bool ok = with_model(a, model, job, err);
    model_close(model);
    job_free(job);
    return ok;
}

const Command cmd_infer = {
    .name = "infer",
    .summary = "run texts through a model and print what it says",
    .options = options,
    .task_options = true,
    .model_first = true,
    .note = NOTE_LIMIT,
    .run = infer_run,
    .usage = "[MODEL] [TEXT...]",
    .example = "  encoderfile infer ./ner-model \"Ada Lovelace was born in London\"\n"
               "  ./my-ner.encoderfile infer --aggregation simple \"Ada Lovelace was born in London\" | jq .\n"
               "  ./my-ner.encoderfile infer -o reply.json \"first text\" \"second text\"\n"
               "  ./my-ner.encoderfile infer -i texts.csv --field review -f csv -o labels.csv\n"
               "  ./my-qa.encoderfile infer --question \"Where does Ada live?\" --context-file letter.txt\n"
               "  ./my-qa.encoderfile infer --top-k 3 \"Who?\" \"Ada wrote.\"  # question, context\n"
               "  ./my-choice.encoderfile infer \"The bus leaves\" \"at noon.\" \"a fork.\"  # prompt, choices\n"
               "  ./my-vit.encoderfile infer photo.jpg other.png\n"
               "  ./my-layoutlm.encoderfile infer -i pages.jsonl  # {\"words\": [...], \"boxes\": [...]}\n"
               "  ./my-docvqa.encoderfile infer --question \"What is the total?\" invoice.png  # words by tesseract\n"
               "  cat texts.txt | ./my-embed.encoderfile infer -f npy > vectors.npy\n",
};
