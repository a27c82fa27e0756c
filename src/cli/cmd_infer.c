/* SPDX-License-Identifier: Apache-2.0
 * cmd_infer.c - texts in, the JSON of POST /predict out, with the "metadata" that the Rust encoderfile always
 * adds; or lines, a table, an array; or, for people and by default on a terminal, a short form.
 * Everything is held at once: `map` is the command for long streams. */
#include <unistd.h>

#include "cli/cli.h"
#include "cli/entities.h"
#include "cli/params.h"
#include "cli/readable.h"
#include "cli/records.h"
#include "data/json.h"
#include "data/npy.h"
#include "data/table.h"
#include "dialect/job.h"

enum { AS_JSON, AS_JSONL, AS_CSV, AS_NPY, AS_TEXT };
static const char *const format_words[] = { [AS_JSON] = "json", "jsonl", "csv", "npy", "text", NULL };
static const Option options[] = {
    OPTIONS_OPEN,
    { "input", 'i', "FILE", "read texts from there (-: stdin), beside those of the line" },
    { "input-format", 0, "FORM", "of the input (default: by the name)", TAKES_WORD,
      .words = records_forms },
    OPTION_FIELD,
    { "format", 'f', "FORM", "of the output; text: short, for people (the default on a terminal); npy: raw "
      "numbers, such as logits, before scores and --params", TAKES_WORD, .standard = "json",
      .words = format_words, .against = "entities" },
    { "json", 0, NULL, "as --format json: also on a terminal", .against = "format entities" },
    { "output", 'o', "FILE", "write there instead of to stdout" },
    OPTION_OFFSETS(.against = "entities"),
    OPTION_PARAMS,
    { "question", 0, "TEXT", "question answering: asked of each text, whose answers are in there" },
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

/* ---- in ---- */
typedef struct Inputs {
    Args *a;
    const ItemForm *form;        /* of the model's items */
    Arena *arena;
    Item *item;
    size_t n, room;
} Inputs;

static void infer_keep(Inputs *in, Item item)
{
    if (in->n == in->room) {
        Item *more = ARRAY(in->arena, Item, in->room * 2 + 16);
        if (in->n) memcpy(more, in->item, in->n * sizeof *more);
        in->item = more;
        in->room = in->room * 2 + 16;
    }
    in->item[in->n++] = item;
}

static Str question_of(const Inputs *in)
{
    const char *question = args_value(in->a, "question");
    return question ? str_of(question) : (Str){ 0 };
}

static bool read_stream(Inputs *in, const char *path, Err *err)
{
    Records records;
    Record r;
    bool more = true, ok = true;
    if (!records_open(&records, path, args_value(in->a, "input-format"), in->form,
                      args_value(in->a, "field"), err))
        return false;
    records.question = question_of(in);
    while (ok && more) {
        ok = records_next(&records, in->arena, &r, &more, err);
        if (ok && more && r.err.code != EF_OK) {
            *err = r.err;
            ok = within(err, "%s", records.lines.name);
        }
        if (ok && more) infer_keep(in, r.item);
    }
    records_close(&records);
    return ok;
}

static bool read_context(Inputs *in, const char *path, Err *err)
{
    enum { MOST = 256 << 20 };
    Item item = { .first = question_of(in) };
    if (!file_read(in->arena, path, MOST, &item.second, err)) return false;
    if (!utf8_valid(item.second)) return fail(err, EF_INVALID_INPUT, "%s: is not valid UTF-8", path);
    infer_keep(in, item);
    return true;
}

static bool read_pictures(Inputs *in, Err *err)
{
    for (int i = 0; i < in->a->n_text; i++) {
        Item item = { 0 };
        if (!record_picture(in->arena, str_of(in->a->text[i]), &item, err)) return false;
        infer_keep(in, item);
    }
    return true;
}

/* As many an item as the task needs; with a question, each is a context of it. */
static bool read_line(Inputs *in, Err *err)
{
    Args *a = in->a;
    Str *text = ARRAY(in->arena, Str, a->n_text + 1);
    Items items;
    if (item_form_has(in->form, ITEM_PICTURE)) return read_pictures(in, err);
    for (int i = 0; i < a->n_text; i++) {
        text[i] = str_of(a->text[i]);
        if (!utf8_valid(text[i]))
            return fail(err, EF_INVALID_INPUT, "text %d is not valid UTF-8", i + 1);
        if (question_of(in).p) infer_keep(in, (Item){ .first = question_of(in), .second = text[i] });
    }
    if (question_of(in).p) return true;
    if (!items_of_texts(in->arena, in->form, text, (size_t)a->n_text, &items, err)) return false;
    for (size_t i = 0; i < items.n; i++) infer_keep(in, items.item[i]);
    return true;
}

/* Those of the line, then those of --context-file and --input; none given: those that a pipe brings. */
static bool infer_read_texts(Inputs *in, Err *err)
{
    Args *a = in->a;
    const char *path = args_value(a, "input"), *context = args_value(a, "context-file");
    if (!read_line(in, err)) return false;
    if (context && !read_context(in, context, err)) return false;
    if (!path && in->n == 0 && !isatty(STDIN_FILENO)) path = "-";
    const char *unused = args_has(a, "field") ? "field" : "input-format";
    if (!path && args_has(a, unused))
        return fail(err, EF_USAGE, "--%s has no effect on the texts of the line: wanted --input "
                    "FILE", unused);
    if (path && !read_stream(in, path, err)) return false;
    bool pictures = item_form_has(in->form, ITEM_PICTURE);
    return in->n || fail(err, EF_USAGE, "infer: wanted at least one %s", pictures ? "picture" : "text");
}

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
    SessionOptions how = { .threads = (int)args_int(a, "threads"), .max_inputs = SIZE_MAX };
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
    Inputs in = { .a = a, .form = model->items, .arena = &job->work.arena };
    if (!check_task(a, model->task, "entities", CAN_TAG, err) ||
        !check_task(a, model->task, "question", CAN_ANSWER, err) || !infer_read_texts(&in, err))
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
               "  cat texts.txt | ./my-embed.encoderfile infer -f npy > vectors.npy\n",
};
