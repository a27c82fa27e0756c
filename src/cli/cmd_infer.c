/* SPDX-License-Identifier: Apache-2.0
 * cmd_infer.c - texts in, the JSON of POST /predict out, with the "metadata" that the Rust encoderfile always
 * adds; or lines, a table, an array; or, for people, a list of the entities found. Everything is held
 * at once: `map` is the command for long streams. */
#include <unistd.h>

#include "cli/cli.h"
#include "cli/entities.h"
#include "cli/records.h"
#include "data/json.h"
#include "data/npy.h"
#include "data/table.h"
#include "dialect/job.h"

enum { AS_JSON, AS_JSONL, AS_CSV, AS_NPY };
static const char *const format_words[] = { [AS_JSON] = "json", "jsonl", "csv", "npy", NULL };
static const Option options[] = {
    OPTIONS_OPEN,
    { "input", 'i', "FILE", "read texts from there (-: stdin), beside those of the line" },
    { "input-format", 0, "FORM", "of the input (default: by the name)", TAKES_WORD,
      .words = records_forms },
    OPTION_FIELD,
    { "format", 'f', "FORM", "of the output (npy: the model's numbers as an array)", TAKES_WORD,
      .standard = "json", .words = format_words, .against = "entities" },
    { "output", 'o', "FILE", "write there instead of to stdout" },
    OPTION_OFFSETS(.against = "entities"),
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
static bool put_json(Buf *b, const Task *task, Job *job, Err *err)
{
    (void)task, (void)err;
    Value reply = with_metadata(&job->work.arena, &job->out.value);
    json_write_pretty(b, &reply);
    buf_char(b, '\n');
    return true;
}

static bool put_jsonl(Buf *b, const Task *task, Job *job, Err *err)
{
    (void)task, (void)err;
    const Value *results = value_get(&job->out.value, "results");
    for (size_t i = 0; i < results->list.n; i++) {
        json_write(b, &results->list.items[i]);
        buf_char(b, '\n');
    }
    return true;
}

static bool put_csv(Buf *b, const Task *task, Job *job, Err *err)
{
    (void)err;
    table_write(b, task->result, value_get(&job->out.value, "results"));
    return true;
}

/* [texts, width], or [tokens, width] of a single text. */
static bool put_npy(Buf *b, const Task *task, Job *job, Err *err)
{
    (void)task;
    const int64_t width = work_result(&job->work, 0)->width;
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

static bool put_entities(Buf *b, const Task *task, Job *job, Err *err)
{
    (void)task, (void)err;
    entities_write(b, &job->out.value, job->work.item, job->work.n);
    return true;
}

typedef bool Put(Buf *, const Task *, Job *, Err *);
static Put *const formats[] = {
    [AS_JSON] = put_json, [AS_JSONL] = put_jsonl, [AS_CSV] = put_csv, [AS_NPY] = put_npy,
};

static bool render(Args *a, const Task *task, Job *job, Err *err)
{
    Buf b = { 0 };
    const char *file = args_value(a, "output");
    Put *put = args_has(a, "entities") ? put_entities : formats[args_int(a, "format")];
    bool ok = put(&b, task, job, err);
    if (ok) ok = file ? file_write(&a->arena, file, buf_view(&b), err) : out_buf(&b, err);
    buf_free(&b);
    return ok;
}

/* ---- in ---- */
typedef struct Texts {
    Record *record;
    size_t n, room;
} Texts;

static void keep(Arena *arena, Texts *t, Record r)
{
    if (t->n == t->room) {
        Record *more = ARRAY(arena, Record, t->room * 2 + 16);
        if (t->n) memcpy(more, t->record, t->n * sizeof *more);
        t->record = more;
        t->room = t->room * 2 + 16;
    }
    t->record[t->n++] = r;
}

static bool read_stream(Args *a, const char *path, Arena *arena, Texts *t, Err *err)
{
    Records in;
    Record r;
    bool more = true, ok = true;
    if (!records_open(&in, path, args_value(a, "input-format"), args_value(a, "field"), err)) return false;
    while (ok && more) {
        ok = records_next(&in, arena, &r, &more, err);
        if (ok && more && r.err.code != EF_OK) {
            *err = r.err;
            ok = within(err, "%s", in.lines.name);
        }
        if (ok && more) keep(arena, t, r);
    }
    records_close(&in);
    return ok;
}

/* Those of the line, then those of --input; neither given: those that a pipe brings. */
static bool read_texts(Args *a, Job *job, Err *err)
{
    Texts t = { 0 };
    const char *path = args_value(a, "input");
    for (int i = 0; i < a->n_text; i++) {
        keep(&job->work.arena, &t, (Record){ .first = str_of(a->text[i]) });
        if (!utf8_valid(t.record[t.n - 1].first))
            return fail(err, EF_INVALID_INPUT, "text %d is not valid UTF-8", i + 1);
    }
    if (!path && a->n_text == 0 && !isatty(STDIN_FILENO)) path = "-";
    const char *unused = args_has(a, "field") ? "field" : "input-format";
    if (!path && args_has(a, unused))
        return fail(err, EF_USAGE, "--%s has no effect on the texts of the line: wanted --input "
                    "FILE", unused);
    if (path && !read_stream(a, path, &job->work.arena, &t, err)) return false;
    if (t.n == 0) return fail(err, EF_USAGE, "infer: wanted at least one text");
    job_items(job, t.n);
    for (size_t i = 0; i < t.n; i++)
        job->work.item[i] = (Item){ .first = t.record[i].first, .second = t.record[i].second };
    return true;
}

static bool infer(Args *a, Session *session, Job *job, Err *err)
{
    job->in.no_text = true;
    job->work.options.chars = args_int(a, "offsets");
    job_run(session, job);
    if (job->work.err.code != EF_OK) return fail(err, job->work.err.code, "%s", job->work.err.message);
    return render(a, session_model(session)->task, job, err);
}

static bool with_session(Args *a, const Model *model, Job *job, Err *err)
{
    model_log_assumed(model);
    if (args_has(a, "entities") && !task_can(model->task, NULL, CAN_TAG))
        return fail(err, EF_USAGE, "--entities: found a model for %s, wanted token_classification",
                    model->task->name);
    SessionOptions how = { .threads = (int)args_int(a, "threads"), .max_inputs = job->work.n };
    Session *session = job_session(model, &how);
    if (!session) return fail(err, EF_IO, "no thread could be started");
    bool ok = infer(a, session, job, err);
    session_free(session);
    return ok;
}

static bool run(Args *a, Err *err)
{
    Model *model;
    Job *job = job_new();
    bool ok = file_apart(args_value(a, "output"), args_value(a, "input"), err) &&
              read_texts(a, job, err) && args_model(a, &model, err);
    if (ok) {
        ok = with_session(a, model, job, err);
        model_close(model);
    }
    job_free(job);
    return ok;
}

const Command cmd_infer = {
    .name = "infer",
    .summary = "run texts through a model and print the JSON",
    .options = options,
    .note = NOTE_LIMIT,
    .run = run,
    .usage = "[--model PATH] [TEXT...]",
    .example = "  encoderfile infer --model ./ner-model \"Ada Lovelace was born in London\"\n"
               "  ./my-ner.encoderfile infer -o reply.json \"first text\" \"second text\"\n"
               "  ./my-ner.encoderfile infer -i texts.csv --field review -f csv -o labels.csv\n"
               "  cat texts.txt | ./my-embed.encoderfile infer -f npy > vectors.npy\n",
};
