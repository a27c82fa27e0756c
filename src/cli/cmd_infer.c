/* SPDX-License-Identifier: Apache-2.0
 * cmd_infer.c - texts in, the JSON of POST /predict out, with the "metadata" that the peer always
 * adds; or lines, a table, an array; or, for people, a list of the entities found. Everything is held
 * at once: `map` is the command for long streams. */
#include <unistd.h>

#include "cli/cli.h"
#include "cli/entities.h"
#include "cli/records.h"
#include "cli/table.h"
#include "data/json.h"
#include "data/npy.h"
#include "session/session.h"

static const Option options[] = {
    OPTIONS_OPEN,
    { "input", 'i', "FILE", "read texts from there (-: stdin), beside those of the line" },
    { "input-format", 0, "FORM", "text (a line each), jsonl or csv; default: by the name" },
    OPTION_FIELD,
    { "format", 'f', "FORM", "json (default), jsonl, csv, or npy: the model's numbers as an array" },
    { "output", 'o', "FILE", "write there instead of to stdout" },
    { "offsets", 0, "UNIT", "bytes (default) or chars", .against = "entities" },
    { "entities", 0, NULL, "token classification: a list of words and labels instead of JSON" },
    { "threads", 0, "N", "default: the CPUs this process may use" },
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
static bool put_json(Buf *b, Job *job, Err *err)
{
    (void)err;
    Value reply = with_metadata(&job->arena, &job->reply);
    json_write_pretty(b, &reply);
    buf_char(b, '\n');
    return true;
}

static bool put_jsonl(Buf *b, Job *job, Err *err)
{
    (void)err;
    const Value *results = value_get(&job->reply, "results");
    for (size_t i = 0; i < results->list.n; i++) {
        json_write(b, &results->list.items[i]);
        buf_char(b, '\n');
    }
    return true;
}

static bool put_csv(Buf *b, Job *job, Err *err)
{
    (void)err;
    table_write(b, value_get(&job->reply, "results"));
    return true;
}

/* [texts, width], or [tokens, width] of a single text. */
static bool put_npy(Buf *b, Job *job, Err *err)
{
    const int64_t width = job->row_width[0];
    Npy npy = { 'f', sizeof(float), 2, { (int64_t)job->n, width } };
    if (job->n == 1) npy.dim[0] = job->row_tokens[0];
    for (size_t i = 0; i < job->n && job->n > 1; i++)
        if (job->row_tokens[i] != 1)
            return fail(err, EF_USAGE, "--format npy: found several texts with a vector for each token, wanted "
                        "one text (or jsonl)");
    Buf numbers = { 0 };
    for (size_t i = 0; i < job->n; i++)
        buf_add(&numbers, job->row_data[i], (size_t)(job->row_tokens[i] * width) * sizeof(float));
    npy.data = numbers.p;
    npy.bytes = numbers.n;
    npy_write(b, &npy);
    buf_free(&numbers);
    return true;
}

static bool put_entities(Buf *b, Job *job, Err *err)
{
    (void)err;
    entities_write(b, &job->reply, job->first, job->n);
    return true;
}

static const struct Format {
    const char *name;
    bool (*put)(Buf *, Job *, Err *);
} formats[] = {
    { "json", put_json }, { "jsonl", put_jsonl }, { "csv", put_csv }, { "npy", put_npy },
};

static const struct Format *find_format(const Args *a, Err *err)
{
    const char *name = args_value(a, "format");
    if (name && args_has(a, "entities"))
        return fail(err, EF_USAGE, "--entities: found --format beside it, wanted one of them"), NULL;
    for (size_t i = 0; i < COUNT(formats); i++)
        if (strcmp(name ? name : "json", formats[i].name) == 0) return &formats[i];
    fail(err, EF_USAGE, "--format: found \"%s\", wanted json, jsonl, csv or npy", name);
    return NULL;
}

static bool render(Args *a, Job *job, const struct Format *format, Err *err)
{
    Buf b = { 0 };
    const char *file = args_value(a, "output");
    bool ok = (args_has(a, "entities") ? put_entities : format->put)(&b, job, err);
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
        keep(&job->arena, &t, (Record){ .first = str_of(a->text[i]) });
        if (!utf8_valid(t.record[t.n - 1].first))
            return fail(err, EF_INVALID_INPUT, "text %d is not valid UTF-8", i + 1);
    }
    if (!path && a->n_text == 0 && !isatty(STDIN_FILENO)) path = "-";
    const char *unused = args_has(a, "field") ? "field" : "input-format";
    if (!path && args_has(a, unused))
        return fail(err, EF_USAGE, "--%s has no effect on the texts of the line: wanted --input "
                    "FILE", unused);
    if (path && !read_stream(a, path, &job->arena, &t, err)) return false;
    if (t.n == 0) return fail(err, EF_USAGE, "infer: wanted at least one text");
    job->n = t.n;
    job->first = ARRAY(&job->arena, Str, t.n);
    job->second = ARRAY(&job->arena, Str, t.n);
    for (size_t i = 0; i < t.n; i++) {
        job->first[i] = t.record[i].first;
        job->second[i] = t.record[i].second;
    }
    return true;
}

static bool infer(Args *a, Session *session, Job *job, const struct Format *format, Err *err)
{
    job->no_json = true;
    if (!args_chars(a, &job->options.chars, err)) return false;
    session_run(session, job);
    if (job->err.code != EF_OK) return fail(err, job->err.code, "%s", job->err.message);
    return render(a, job, format, err);
}

static bool with_session(Args *a, const Model *model, Job *job, const struct Format *format, Err *err)
{
    int64_t threads;
    model_log_assumed(model);
    if (!args_count(a, "threads", 0, 4096, &threads, err)) return false;
    if (args_has(a, "entities") && strcmp(model->task->name, "token_classification") != 0)
        return fail(err, EF_USAGE, "--entities: found a model for %s, wanted token_classification",
                    model->task->name);
    Session *session = session_new(model, &(SessionOptions){ .threads = (int)threads, .max_inputs = job->n });
    if (!session) return fail(err, EF_IO, "no thread could be started");
    bool ok = infer(a, session, job, format, err);
    session_free(session);
    return ok;
}

static bool run(Args *a, Err *err)
{
    Model *model;
    const struct Format *format = find_format(a, err);
    Job *job = job_new();
    bool ok = format && out_apart(args_value(a, "output"), args_value(a, "input"), err) &&
              read_texts(a, job, err) && args_model(a, &model, err);
    if (ok) {
        ok = with_session(a, model, job, format, err);
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
