/* SPDX-License-Identifier: Apache-2.0
 * tei_tokens.c - texts to tokens and back, in the shapes of text-embeddings-inference. The model does
 * not run: the reply is made as soon as the texts are tokenized. */
#include "parts.h"

#include "data/json.h"

enum { TREE_KEPT = 64 << 10 };

/* ---- /tokenize ---- */
static const char *const offset_words[] = { "bytes", "chars", NULL };
static const Field tokenize_rows[] = {
    { "inputs", 0, F_ANY, .required = true, .help = "a text or a list of texts" },
    { "add_special_tokens", 0, F_BOOL, .help = "default: true" },
    KIND_PROMPT,
    { "offsets", 0, F_STR, .words = offset_words,
      .help = "what start and stop count; default: bytes" },
    { 0 },
};

static bool none_empty(Job *job, const Value *inputs)
{
    bool list = inputs->kind == V_LIST;
    if (list && inputs->list.n == 0) return fail(&job->work.err, EF_EMPTY, "inputs: found none");
    for (size_t i = 0; i < (list ? inputs->list.n : 1); i++) {
        const Value *one = list ? &inputs->list.items[i] : inputs;
        if (one->kind == V_STR && !kind_text(job, "inputs", i, one->s)) return false;
    }
    return true;
}

static bool read_tokenize(const Session *s, Job *job, const Value *request)
{
    Items inputs;
    if (!schema_check(request, tokenize_rows, &job->work.err) ||
        !none_empty(job, value_get(request, "inputs")) ||
        !items_read(&job->work.arena, &item_texts, value_get(request, "inputs"),
                    session_options(s)->max_inputs, &inputs, &job->work.err))
        return false;
    job->work.item = inputs.item;
    job->work.n = inputs.n;
    job->work.preparer = &prepare_text; /* whatever the model takes */
    job->work.options.chars = str_is(value_str(value_get(request, "offsets"), STR("")), "chars");
    job->work.options.input.no_special = !value_bool(value_get(request, "add_special_tokens"), true);
    return kind_prompt(s, job, request);
}

static Value token_of(const Session *s, const Job *job, Arena *arena, size_t row,
                      const Encoding *spans, size_t i)
{
    const Encoding *e = &job->work.row[row].encoding; /* in bytes */
    const Str *second = item_second(&job->work.item[row]);
    Str source = second && e->sequence[i] ? *second : job->work.item[row].first;
    Str part = { source.p + e->start[i], (size_t)(e->end[i] - e->start[i]) };
    bool special = e->special[i];
    Value v = value_map(arena, 6);
    value_add(&v, "id", value_of_int(e->ids[i]));
    value_add(&v, "text",
              value_of_str(special ? tokenizer_token(session_model(s)->tokenizer, e->ids[i]) : part));
    value_add(&v, "special", value_of_bool(special));
    value_add(&v, "start", special ? value_null() : value_of_int(spans->start[i]));
    value_add(&v, "stop", special ? value_null() : value_of_int(spans->end[i]));
    if (second && !special) value_add(&v, "sequence", value_of_int(e->sequence[i]));
    return v;
}

static Encoding spans_of(Job *job, size_t r)
{
    TaskRow row = { .first = job->work.item[r].first, .second = item_second(&job->work.item[r]),
                    .encoding = &job->work.row[r].encoding };
    return task_spans(&job->work.arena, &job->work.options, &row);
}

static Value finish_tokenize(const Session *s, Job *job)
{
    Value list = value_list(&job->work.arena, job->work.n);
    for (size_t r = 0; r < job->work.n; r++) {
        Encoding spans = spans_of(job, r);
        list.list.items[r] = value_list(&job->work.arena, spans.n);
        for (size_t i = 0; i < spans.n; i++)
            list.list.items[r].list.items[i] = token_of(s, job, &job->work.arena, r, &spans, i);
    }
    return list;
}

/* A token is 60 bytes of text and 400 of tree: one tree at a time. */
static void write_tokenize(const Session *s, Job *job, Buf *out)
{
    Arena tree = { .budget = &job->work.budget, .local = true };
    for (size_t r = 0; r < job->work.n; r++) {
        Encoding spans = spans_of(job, r);
        buf_puts(out, r ? ",[" : "[[");
        for (size_t i = 0; i < spans.n; i++) {
            Value one = token_of(s, job, &tree, r, &spans, i);
            if (i) buf_char(out, ',');
            json_write(out, &one);
            arena_reset(&tree, TREE_KEPT);
        }
        buf_char(out, ']');
    }
    buf_char(out, ']');
    arena_free(&tree);
}

static Value tokenize_request(Arena *arena, const Site *site)
{
    Value all = kind_schema_with(arena, tokenize_rows, "inputs",
                                 items_describe(arena, &item_texts, site->max_inputs));
    kind_schema_prompt(arena, site, &all);
    return all;
}

static const Field token[] = {
    { "id", 0, F_U32, .required = true },
    { "text", 0, F_STR, .required = true },
    { "special", 0, F_BOOL, .required = true },
    { "start", 0, F_U32, .required = true, .nullable = true },
    { "stop", 0, F_U32, .required = true, .nullable = true },
    { "sequence", 0, F_U32, .help = "of a pair: 0 or 1" },
    { 0 },
};

static Value tokenize_reply(Arena *arena, const Site *site)
{
    (void)site;
    return kind_schema_list(arena, kind_schema_list(arena, schema_describe(arena, token)));
}

const JobKind kind_tei_tokenize = {
    .name = "tokenize",
    .family = &family_tei,
    .keep = KEEP_NOTHING,
    .uncut = true,
    .needs = CAN_READ,
    .read = read_tokenize,
    .finish = finish_tokenize,
    .write = write_tokenize,
    .request = tokenize_request,
    .reply = tokenize_reply,
};

/* ---- /decode ---- */
static const Field decode_rows[] = {
    { "ids", 0, F_ANY, .required = true, .help = "a list of token ids or a list of such lists" },
    { "skip_special_tokens", 0, F_BOOL, .help = "default: true" },
    { 0 },
};

/* "ids": one list of numbers, or a list of such lists. */
static bool read_decode(const Session *s, Job *job, const Value *request)
{
    const Value *ids = value_get(request, "ids");
    if (!schema_check(request, decode_rows, &job->work.err)) return false;
    if (ids->kind != V_LIST)
        return fail(&job->work.err, EF_INVALID_INPUT, "ids: found %s, wanted a list of numbers",
                    value_kind_name(ids->kind));
    if (ids->list.n == 0)
        return fail(&job->work.err, EF_EMPTY, "ids: found an empty list, wanted at least one");
    job->in.value = request;
    if (ids->list.items[0].kind != V_LIST) return kind_ids(s, job, "ids", ids, NULL);
    if (!kind_count(s, job, "ids", ids->list.n)) return false;
    for (size_t i = 0; i < ids->list.n; i++) {
        const Value *one = &ids->list.items[i];
        if (one->kind != V_LIST)
            return fail(&job->work.err, EF_INVALID_INPUT, "ids[%zu]: found %s, wanted a list", i,
                        value_kind_name(one->kind));
        if (!kind_ids(s, job, "ids", one, NULL)) return false;
    }
    return true;
}

static Value decoded(const Session *s, Job *job, const Value *ids, bool skip)
{
    Str text = STR("");
    int32_t *list = ARRAY(&job->work.arena, int32_t, ids->list.n);
    kind_ids(s, job, "ids", ids, list); /* looked at before */
    tokenizer_decode(session_model(s)->tokenizer, list, ids->list.n, skip, &job->work.arena, &text, &job->work.err);
    return value_of_str(text);
}

static Value finish_decode(const Session *s, Job *job)
{
    const Value *ids = value_get(job->in.value, "ids");
    bool skip = value_bool(value_get(job->in.value, "skip_special_tokens"), true);
    bool many = ids->list.items[0].kind == V_LIST;
    Value list = value_list(&job->work.arena, many ? ids->list.n : 1);
    for (size_t i = 0; i < list.list.n; i++)
        list.list.items[i] = decoded(s, job, many ? &ids->list.items[i] : ids, skip);
    return list;
}

static Value decode_request(Arena *arena, const Site *site)
{
    const char *id = str_format(arena, "{\"type\":\"integer\",\"minimum\":0,\"maximum\":%zu}",
                                site->vocabulary - 1);
    Value ids = kind_schema(
        arena, str_format(arena,
                          "{\"anyOf\":[{\"type\":\"array\",\"minItems\":1,\"items\":%s},"
                          "{\"type\":\"array\",\"minItems\":1,\"maxItems\":%zu,"
                          "\"items\":{\"type\":\"array\",\"items\":%s}}]}",
                          id, site->max_inputs, id));
    return kind_schema_with(arena, decode_rows, "ids", ids);
}

static Value decode_reply(Arena *arena, const Site *site)
{
    (void)site;
    return kind_schema(arena, "{\"type\":\"array\",\"items\":{\"type\":\"string\"}}");
}

const JobKind kind_tei_decode = {
    .name = "decode",
    .family = &family_tei,
    .keep = KEEP_NOTHING,
    .values = MOST_IDS,
    .needs = CAN_READ,
    .read = read_decode,
    .finish = finish_decode,
    .request = decode_request,
    .reply = decode_reply,
};
