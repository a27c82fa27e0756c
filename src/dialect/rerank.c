/* SPDX-License-Identifier: Apache-2.0
 * rerank.c - texts by how well they fit a query. Two dialects on one path, told apart by the
 * body: `texts` is TEI's, `documents` that of Cohere, Jina and those who follow them. */
#include "parts.h"

#include "data/number.h"

static const Field text_rows[] = {
    { "query", 0, F_STR, .required = true },
    { "texts", 0, F_STR, .repeated = true, .required = true },
    KIND_TRUNCATION,
    { "raw_scores", 0, F_BOOL, .help = "logits instead of probabilities; default: false" },
    { "return_text", 0, F_BOOL, .help = "default: false" },
    { 0 },
};
static const Field document_rows[] = {
    { "query", 0, F_STR, .required = true },
    { "documents", 0, F_ANY, .required = true, .help = "a list of texts or of {text}" },
    { "model", 0, F_STR, .nullable = true, .help = "not looked at: there is one" },
    { "top_n", 0, F_U32, .nullable = true, .least = 1, .most = 1 << 24,
      .help = "how many of the best; default: all" },
    { "return_documents", 0, F_BOOL, .nullable = true, .help = "default: false" },
    { "max_tokens_per_doc", 0, F_U32, .nullable = true, .least = 1, .most = 1 << 24,
      .help = "longer documents are cut; default: what the model takes" },
    { 0 },
};

/* ---- reading ---- */
static bool take_query(const Session *s, Job *job, const Value *request, const char *name, size_t n)
{
    Str query = value_get(request, "query")->s;
    if (!kind_count(s, job, name, n)) return false;
    if (query.n == 0) return fail(&job->work.err, EF_EMPTY, "query: found an empty text");
    job->in.value = request;
    job_items(job, n);
    for (size_t i = 0; i < n; i++) job->work.item[i].first = query;
    return true;
}

static bool rerank_read_texts(const Session *s, Job *job, const Value *request)
{
    if (!schema_check(request, text_rows, &job->work.err)) return false;
    kind_truncation(job, request);
    const Value *texts = value_get(request, "texts");
    if (!take_query(s, job, request, "texts", texts->list.n)) return false;
    for (size_t i = 0; i < job->work.n; i++) {
        job->work.item[i].second = texts->list.items[i].s;
        if (!kind_text(job, "texts", i, job->work.item[i].second)) return false;
    }
    return true;
}

/* At most so many tokens, without special ones. */
static bool shorten(const Session *s, Job *job, int most, Str *text)
{
    EncodeOptions how = { .max_length = most, .no_special = true };
    Arena scratch = { .budget = &job->work.budget, .local = true };
    Encoding e;
    bool ok = tokenizer_encode(session_model(s)->tokenizer, &scratch, *text, NULL, &how, &e, &job->work.err);
    if (ok && e.truncated && e.n) text->n = (size_t)e.end[e.n - 1];
    arena_free(&scratch);
    return ok;
}

static bool read_document(Job *job, const Value *v, size_t i)
{
    const Value *inner = v->kind == V_MAP ? value_get(v, "text") : v;
    if (!inner || inner->kind != V_STR)
        return fail(&job->work.err, EF_INVALID_INPUT,
                    "documents[%zu]: found %s, wanted a string or {\"text\": string}", i,
                    v->kind == V_MAP ? "an object without text" : value_kind_name(v->kind));
    job->work.item[i].second = inner->s;
    return kind_text(job, "documents", i, inner->s);
}

static bool read_documents(const Session *s, Job *job, const Value *request)
{
    if (!schema_check(request, document_rows, &job->work.err)) return false;
    const Value *documents = value_get(request, "documents");
    int most = (int)value_float(value_get(request, "max_tokens_per_doc"), 0);
    if (documents->kind != V_LIST)
        return fail(&job->work.err, EF_INVALID_INPUT, "documents: found %s, wanted a list",
                    value_kind_name(documents->kind));
    if (!take_query(s, job, request, "documents", documents->list.n)) return false;
    for (size_t i = 0; i < job->work.n; i++)
        if (!read_document(job, &documents->list.items[i], i) ||
            (most && !shorten(s, job, most, &job->work.item[i].second)))
            return false;
    return true;
}

/* ---- replies ---- */
/* NULL: job->err. */
static const float *all_scores(const Session *s, Job *job, bool raw)
{
    TaskScore how = raw ? SCORE_NONE : SCORE_SIGMOID;
    float *scores = ARRAY(&job->work.arena, float, job->work.n);
    for (size_t r = 0; r < job->work.n; r++) scores[r] = kind_scores(s, job, &job->work.arena, r, how)[0];
    return kind_finite(job, scores, job->work.n) ? scores : NULL;
}

static Value finish_texts(const Session *s, Job *job)
{
    Arena *arena = &job->work.arena;
    bool text = value_bool(value_get(job->in.value, "return_text"), false);
    const float *scores =
        all_scores(s, job, value_bool(value_get(job->in.value, "raw_scores"), false));
    if (!scores) return value_null();
    const size_t *order = kind_order(arena, scores, job->work.n);
    Value list = value_list(arena, job->work.n);
    for (size_t i = 0; i < job->work.n; i++) {
        Value *one = &list.list.items[i];
        *one = value_map(arena, 3);
        value_add(one, "index", value_of_int((int64_t)order[i]));
        if (text) value_add(one, "text", value_of_str(job->work.item[order[i]].second));
        value_add(one, "score", value_of_float(number_widen(scores[order[i]])));
    }
    return list;
}

/* {key: value} */
static Value single(Arena *arena, const char *key, Value value)
{
    Value map = value_map(arena, 1);
    value_add(&map, key, value);
    return map;
}

static Value result_of(Job *job, size_t index, float score, bool document)
{
    Arena *arena = &job->work.arena;
    Value one = value_map(arena, 3);
    value_add(&one, "index", value_of_int((int64_t)index));
    value_add(&one, "relevance_score", value_of_float(number_widen(score)));
    if (document)
        value_add(&one, "document", single(arena, "text", value_of_str(job->work.item[index].second)));
    return one;
}

static Value finish_documents(const Session *s, Job *job)
{
    Arena *arena = &job->work.arena;
    bool document = value_bool(value_get(job->in.value, "return_documents"), false);
    size_t top = (size_t)value_float(value_get(job->in.value, "top_n"), (double)job->work.n);
    const float *scores = all_scores(s, job, false);
    if (!scores) return value_null();
    const size_t *order = kind_order(arena, scores, job->work.n);
    Value results = value_list(arena, MIN(top, job->work.n)), reply = value_map(arena, 4);
    for (size_t i = 0; i < results.list.n; i++)
        results.list.items[i] = result_of(job, order[i], scores[order[i]], document);
    value_add(&reply, "model", value_of_str(session_model(s)->name));
    value_add(&reply, "results", results);
    value_add(&reply, "usage", single(arena, "total_tokens", value_of_int(job->work.tokens)));
    value_add(&reply, "meta",
              single(arena, "billed_units", single(arena, "search_units", value_of_int(1))));
    return reply;
}

/* ---- schemas ---- */
static Value texts_request(Arena *arena, const Site *site)
{
    Value texts =
        kind_schema(arena, str_format(arena,
                                      "{\"type\":\"array\",\"minItems\":1,\"maxItems\":%zu,"
                                      "\"items\":{\"type\":\"string\",\"minLength\":1}}",
                                      site->max_inputs));
    Value all = kind_schema_with(arena, text_rows, "texts", texts);
    kind_replace(&all, "query", kind_text_schema(arena));
    return all;
}

static Value documents_request(Arena *arena, const Site *site)
{
    Value documents = kind_schema(
        arena,
        str_format(
            arena,
            "{\"type\":\"array\",\"minItems\":1,\"maxItems\":%zu,\"items\":{\"anyOf\":["
            "{\"type\":\"string\",\"minLength\":1},{\"type\":\"object\",\"required\":[\"text\"],"
            "\"properties\":{\"text\":{\"type\":\"string\",\"minLength\":1}}}]}}",
            site->max_inputs));
    Value all = kind_schema_with(arena, document_rows, "documents", documents);
    kind_replace(&all, "query", kind_text_schema(arena));
    return all;
}

static const Field text_result[] = {
    { "index", 0, F_U32, .required = true },
    { "text", 0, F_STR },
    { "score", 0, F_F32, .required = true },
    { 0 },
};
static const Field document_text[] = { { "text", 0, F_STR, .required = true }, { 0 } };
static const Field document_result[] = {
    { "index", 0, F_U32, .required = true },
    { "relevance_score", 0, F_F32, .required = true },
    { "document", 0, F_MSG, .msg = document_text },
    { 0 },
};
static const Field usage[] = { { "total_tokens", 0, F_U32, .required = true }, { 0 } };
static const Field units[] = { { "search_units", 0, F_U32, .required = true }, { 0 } };
static const Field meta[] = { { "billed_units", 0, F_MSG, .required = true, .msg = units }, { 0 } };
static const Field document_reply[] = {
    { "model", 0, F_STR, .required = true },
    { "results", 0, F_MSG, .repeated = true, .required = true, .msg = document_result },
    { "usage", 0, F_MSG, .required = true, .msg = usage },
    { "meta", 0, F_MSG, .required = true, .msg = meta },
    { 0 },
};

static Value texts_reply(Arena *arena, const Site *site)
{
    (void)site;
    return kind_schema_list(arena, schema_describe(arena, text_result));
}

static Value documents_reply(Arena *arena, const Site *site)
{
    (void)site;
    return schema_describe(arena, document_reply);
}

const JobKind kind_tei_rerank = {
    .name = "rerank",
    .family = &family_tei,
    .read = rerank_read_texts,
    .finish = finish_texts,
    .needs = CAN_RANK,
    .request = texts_request,
    .reply = texts_reply,
};
const JobKind kind_rerank_documents = {
    .name = "rerank",
    .family = &family_cohere,
    .read = read_documents,
    .finish = finish_documents,
    .needs = CAN_RANK,
    .request = documents_request,
    .reply = documents_reply,
};

/* ---- either ---- */
static bool read_any(const Session *s, Job *job, const Value *request)
{
    job->in.kind = value_get(request, "documents") ? &kind_rerank_documents : &kind_tei_rerank;
    return job->in.kind->read(s, job, request);
}

static Value any_request(Arena *arena, const Site *site)
{
    return kind_schema_any(arena, texts_request(arena, site), documents_request(arena, site));
}

static Value any_reply(Arena *arena, const Site *site)
{
    return kind_schema_any(arena, texts_reply(arena, site), documents_reply(arena, site));
}

const JobKind kind_rerank_any = {
    .name = "rerank",
    .family = &family_tei,
    .other = &family_cohere,
    .read = read_any,
    .needs = CAN_RANK,
    .request = any_request,
    .reply = any_reply,
};

/* ---- the family ---- */
static const Route routes[] = {
    { "POST", "/v1/rerank", "rerank_v1", "Documents by how well they fit a query",
      .job = &kind_rerank_documents },
    { "POST", "/v2/rerank", "rerank_v2", "The same as /v1/rerank", .job = &kind_rerank_documents },
    { 0 },
};
const Family family_cohere = { .name = "Cohere", .route = routes };
