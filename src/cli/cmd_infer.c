/* SPDX-License-Identifier: Apache-2.0
 * cmd_infer.c - texts in, the JSON of POST /predict out, with the "metadata" that the peer always
 * adds; or, for people, a list of the entities found. */
#include "cli/cli.h"
#include "cli/entities.h"
#include "data/json.h"
#include "session/session.h"

static const Option options[] = {
    OPTION_MODEL,
    OPTION_TYPE,
    { "format", 'f', "json", "the only format there is" },
    { "output", 'o', "FILE", "write there instead of to stdout" },
    { "offsets", 0, "UNIT", "bytes (default) or chars" },
    { "entities", 0, NULL, "token classification: a list of words and labels instead of JSON" },
    { "threads", 0, "N", "default: the CPUs this process may use" },
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

static bool render(Args *a, Job *job, Err *err)
{
    Buf b = { 0 };
    const char *file = args_value(a, "output");
    if (args_has(a, "entities")) {
        entities_write(&b, &job->reply, job->first, job->n);
    } else {
        Value reply = with_metadata(&job->arena, &job->reply);
        json_write_pretty(&b, &reply);
        buf_char(&b, '\n');
    }
    bool ok = file ? file_write(&a->arena, file, buf_view(&b), err) : out_buf(&b, err);
    buf_free(&b);
    return ok;
}

static bool infer(Args *a, Session *session, Job *job, Err *err)
{
    job->n = (size_t)a->n_text;
    job->no_json = true;
    job->first = ARRAY(&job->arena, Str, a->n_text);
    for (int i = 0; i < a->n_text; i++) {
        job->first[i] = str_of(a->text[i]);
        if (!utf8_valid(job->first[i]))
            return fail(err, EF_INVALID_INPUT, "text %d is not valid UTF-8", i + 1);
    }
    if (!args_chars(a, &job->options.chars, err)) return false;
    if (args_has(a, "entities")) job->options.chars = false; /* words are cut out of bytes */
    session_run(session, job);
    if (job->err.code != EF_OK) return fail(err, job->err.code, "%s", job->err.message);
    return render(a, job, err);
}

static bool with_session(Args *a, const Model *model, Err *err)
{
    int64_t threads;
    if (!args_count(a, "threads", 0, 4096, &threads, err)) return false;
    if (args_has(a, "entities") && strcmp(model->task->name, "token_classification") != 0)
        return fail(err, EF_USAGE, "--entities: found a model for %s, wanted token_classification",
                    model->task->name);
    Session *session = session_new(model, &(SessionOptions){ .threads = (int)threads });
    if (!session) return fail(err, EF_IO, "no thread could be started");
    Job *job = job_new();
    bool ok = infer(a, session, job, err);
    job_free(job);
    session_free(session);
    return ok;
}

static bool run(Args *a, Err *err)
{
    Model *model;
    const char *format = args_value(a, "format");
    if (a->n_text == 0) return fail(err, EF_USAGE, "infer: wanted at least one text");
    if (format && strcmp(format, "json") != 0)
        return fail(err, EF_USAGE, "--format: found \"%s\", wanted json", format);
    if (!args_model(a, &model, err)) return false;
    bool ok = with_session(a, model, err);
    model_close(model);
    return ok;
}

const Command cmd_infer = {
    .name = "infer",
    .summary = "run texts through a model and print the JSON",
    .options = options,
    .run = run,
    .usage = "[--model PATH] TEXT...",
    .example = "  encoderfile infer --model ./ner-model \"Book a bus from Bangalore to Chennai\"\n"
               "  ./my-ner.encoderfile infer -o reply.json \"first text\" \"second text\"\n",
};
