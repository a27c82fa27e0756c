/* SPDX-License-Identifier: Apache-2.0
 * tei.c - text-embeddings-inference: its routes, the form of its errors, the x-* fields that its
 * replies have, and what it says of the model. Its bodies are in tei_embed.c, tei_predict.c,
 * tei_tokens.c and rerank.c, its gRPC services in tei_grpc.c, its metrics in tei_meters.c. */
#include "tei.h"

#include "data/json.h"
#include "data/number.h"
#include "parts.h"

/* ---- /info ---- */
static const Field info_schema[] = {
    { "model_id", 0, F_STR, .required = true },
    { "model_sha", 0, F_STR, .required = true, .nullable = true },
    { "model_dtype", 0, F_STR, .required = true },
    { "served_model_name", 0, F_STR, .required = true },
    { "model_type", 0, F_ANY, .required = true,
      .help = "embedding, classifier or reranker, with its pooling or labels" },
    { "max_concurrent_requests", 0, F_U32, .required = true },
    { "max_input_length", 0, F_U32, .required = true, .help = "tokens; 0: no limit" },
    { "max_batch_tokens", 0, F_U32, .required = true },
    { "max_batch_requests", 0, F_U32, .required = true, .nullable = true },
    { "max_client_batch_size", 0, F_U32, .required = true },
    { "auto_truncate", 0, F_BOOL, .required = true },
    { "tokenization_workers", 0, F_U32, .required = true },
    { "version", 0, F_STR, .required = true },
    { "sha", 0, F_STR, .required = true, .nullable = true },
    { "docker_label", 0, F_STR, .required = true, .nullable = true },
    { 0 },
};

static const char *type_name(const Site *site)
{
    static const struct {
        TaskCan can;
        const char *name;
    } types[] = { { CAN_RANK, "reranker" },
                  { CAN_CLASSIFY, "classifier" },
                  { CAN_TAG, "token_classifier" },
                  { CAN_EMBED | CAN_SPARSE, "embedding" } };
    for (size_t i = 0; i < COUNT(types); i++)
        if (site_can(site, types[i].can)) return types[i].name;
    return site->task->name;
}

static Value label_numbers(Arena *arena, const ModelConfig *config)
{
    Value map = value_map(arena, (size_t)config->num_labels);
    for (int i = 0; i < config->num_labels; i++)
        value_add(&map, str_dup(arena, config->labels[i]), value_of_int(i));
    return map;
}

static Value type_of(Arena *arena, const Site *site)
{
    Value outer = value_map(arena, 1), inner = value_map(arena, 2);
    if (task_labels(site->task, site->config)) {
        value_add(&inner, "id2label", kind_label_map(arena, site));
        value_add(&inner, "label2id", label_numbers(arena, site->config));
    } else if (site_can(site, CAN_EMBED | CAN_SPARSE)) {
        const char *own = site->pooling;
        bool last = own && strcmp(own, "lasttoken") == 0; /* TEI's word */
        bool sparse = site_can(site, CAN_SPARSE);
        value_add(&inner, "pooling", value_of_text(sparse ? "splade" : last ? "last_token" : own));
    }
    value_add(&outer, type_name(site), inner);
    return outer;
}

static const char *type_of_numbers(const Site *site)
{
    Str precision = str_of(site->precision);
    if (str_is(precision, "bf16")) return "bfloat16";
    return str_is(precision, "int8") ? "int8" : "float32";
}

Value tei_info(Arena *arena, const Site *site)
{
    const SessionOptions *o = session_options(site->session);
    Value page = value_map(arena, COUNT(info_schema));
    value_add(&page, "model_id", value_of_str(site->model_id));
    value_add(&page, "model_sha", value_null());
    value_add(&page, "model_dtype", value_of_text(type_of_numbers(site)));
    value_add(&page, "served_model_name", value_of_str(site->model_id));
    value_add(&page, "model_type", type_of(arena, site));
    value_add(&page, "max_concurrent_requests", value_of_int(o->queue_jobs));
    value_add(&page, "max_input_length", value_of_int(site->max_length));
    value_add(&page, "max_batch_tokens", value_of_int(o->batch_tokens));
    value_add(&page, "max_batch_requests", value_null());
    value_add(&page, "max_client_batch_size", value_of_int((int64_t)o->max_inputs));
    value_add(&page, "auto_truncate", value_of_bool(true));
    value_add(&page, "tokenization_workers", value_of_int(MAX(o->threads, 2)));
    value_add(&page, "version", value_of_text(EF_VERSION));
    value_add(&page, "sha", value_null());
    value_add(&page, "docker_label", value_null());
    return page;
}

static void info_render(Arena *arena, const Site *site, Buf *out)
{
    Value page = tei_info(arena, site);
    json_write(out, &page);
}

static Value info_reply(Arena *arena, const Site *site)
{
    (void)site;
    return schema_describe(arena, info_schema);
}


/* ---- errors ---- */
static const char *const error_types[] = { "Unhealthy", "Backend",   "Overloaded", "Validation",
                                           "Tokenizer", "Empty", NULL };
static const Field error_rows[] = {
    { "error", 0, F_STR, .required = true },
    { "error_type", 0, F_STR, .required = true, .words = error_types },
    { 0 },
};

/* TEI's status and type for an error of ours; status 0: the same as ours. */
typedef struct TeiError {
    int status;
    const char *type;
} TeiError;

static TeiError error_of(ef_code code)
{
    switch (code) {
    case EF_EMPTY: return (TeiError){ 400, "Empty" };
    case EF_OVERLOADED: return (TeiError){ 0, "Overloaded" };
    case EF_UNAVAILABLE:
    case EF_DEADLINE: return (TeiError){ 0, "Unhealthy" };
    case EF_BAD_MODEL:
    case EF_UNSUPPORTED:
    case EF_IO:
    case EF_INTERNAL: return (TeiError){ 424, "Backend" };
    default: return (TeiError){ 0, "Validation" };
    }
}

static int error_status_of(ef_code code)
{
    return error_of(code).status;
}

static Value error_page(Arena *arena, const Err *err, int status)
{
    (void)status;
    Value page = value_map(arena, 2);
    value_add(&page, "error", value_of_text(err->message));
    value_add(&page, "error_type", value_of_text(error_of(err->code).type));
    return page;
}

const ErrorForm tei_errors = { error_status_of, error_page, error_rows };

/* ---- fields of a reply ---- */
static size_t tell_times(const Job *job, ToldField *out)
{
    static const char *const names[] = {
        "x-compute-type", "x-compute-time",      "x-compute-characters", "x-compute-tokens",
        "x-total-time",   "x-tokenization-time", "x-queue-time",         "x-inference-time",
    };
    _Static_assert(COUNT(names) <= TOLD_FIELDS, "room for them");
    TeiSpans s = tei_spans(&job->work.times);
    const int64_t values[COUNT(names)] = { 0,
                                           (int64_t)(s.total * 1000),
                                           (int64_t)job->work.characters,
                                           job->work.tokens,
                                           (int64_t)(s.total * 1000),
                                           (int64_t)(s.tokenize * 1000),
                                           (int64_t)(s.queue * 1000),
                                           (int64_t)(s.inference * 1000) };
    if (kind_of(job)->keep == KEEP_NOTHING) return 0;
    for (size_t i = 0; i < COUNT(names); i++) {
        out[i].name = names[i];
        *number_write_int(out[i].value, values[i]) = 0;
    }
    strcpy(out[0].value, "cpu");
    return COUNT(names);
}

/* ---- the family ---- */
static const JobList vertex = { &kind_hub, "instances", "predictions" };
static const Route routes[] = {
    { "GET", "/info", "info", "Model and limits, as text-embeddings-inference tells them",
      ROUTE_PAGE(info) },
    { "POST", "/embed", "embed", "Texts to vectors", .job = &kind_tei_embed },
    { "POST", "/embed_all", "embed_all", "Texts to a vector for each of their tokens",
      .job = &kind_tei_embed_all },
    { "POST", "/embed_sparse", "embed_sparse", "Texts to weights of the vocabulary's words",
      .job = &kind_tei_sparse },
    { "POST", "/predict", "predict", "Texts to labels", .job = &kind_tei_predict },
    { "POST", "/rerank", "rerank", "Texts by how well they fit a query", .job = &kind_rerank_any },
    { "POST", "/similarity", "similarity", "How near sentences are to one",
      .job = &kind_tei_similarity },
    { "POST", "/tokenize", "tokenize", "Texts to the model's tokens, not truncated",
      .job = &kind_tei_tokenize },
    { "POST", "/decode", "decode", "Token ids back to texts", .job = &kind_tei_decode },
    { "POST", "/vertex", "vertex", "A list of requests of POST /, as Vertex AI sends them",
      .list = &vertex, .hidden = true },
    { "GET", "/ping", "ping", "The same as /health", .same_as = "/health" },
    { "GET", "/api-doc/openapi.json", "api_doc", "The same as /openapi.json",
      .same_as = "/openapi.json" },
    { 0 },
};
const Family family_tei = {
    .name = "text-embeddings-inference",
    .route = routes,
    .services = tei_services,
    .errors = &tei_errors,
    .fields = tell_times,
    .meters = &tei_meters,
};
