/* SPDX-License-Identifier: Apache-2.0
 * tei_grpc.c - the services of text-embeddings-inference. A message has the keys of the body that
 * its HTTP route takes, so one kind reads both; a reply has what the route
 * answers for one text, and how long it took. */
#include "tei.h"

/* ---- what they share ---- */
static const char *const direction_words[] = { "right", "left", NULL };
static const char *const direction_names[] = { "TRUNCATION_DIRECTION_RIGHT",
                                               "TRUNCATION_DIRECTION_LEFT" };
static const ProtoEnum direction = { "TruncationDirection", direction_names, NULL };
#define INPUTS { "inputs", 1, F_STR }
#define TRUNCATE(number) { "truncate", number, F_BOOL }
#define DIRECTION(number)                                                                         \
    { "truncation_direction", number, F_STR, .words = direction_words, .proto_enum = &direction }
#define PROMPT(number) { "prompt_name", number, F_STR, .nullable = true }

static const Field times[] = {
    { "compute_chars", 1, F_U32 },
    { "compute_tokens", 2, F_U32 },
    { "total_time_ns", 3, F_U64 },
    { "tokenization_time_ns", 4, F_U64 },
    { "queue_time_ns", 5, F_U64 },
    { "inference_time_ns", 6, F_U64 },
    { 0 },
};
#define METADATA { "metadata", 2, F_MSG, .msg = times, .msg_name = "Metadata" }

static Value nanoseconds(double from, double to)
{
    return value_of_int(from > 0 && to > from ? (int64_t)((to - from) * 1e9) : 0);
}

static Value metadata_of(Job *job)
{
    const WorkTimes *t = &job->work.times;
    double now = now_seconds();
    Value out = value_map(&job->work.arena, 6);
    value_add(&out, "compute_chars", value_of_int((int64_t)job->work.characters));
    value_add(&out, "compute_tokens", value_of_int(job->work.tokens));
    value_add(&out, "total_time_ns", nanoseconds(t->entered, now));
    value_add(&out, "tokenization_time_ns", nanoseconds(t->entered, t->admitted));
    value_add(&out, "queue_time_ns", nanoseconds(t->admitted, t->started));
    value_add(&out, "inference_time_ns", nanoseconds(t->started, now));
    return out;
}

/* {first field of the reply: value, "metadata": ...} */
static Value message_of(const JobForm *form, Job *job, Value value)
{
    Value out = value_map(&job->work.arena, 2);
    value_add(&out, form->reply[0].name, value);
    if (form->reply[1].name) value_add(&out, "metadata", metadata_of(job));
    return out;
}

/* The route answers a list; a message is about one text. */
static Value shape_first(const JobForm *form, Job *job, Value reply)
{
    return message_of(form, job, reply.list.items[0]);
}

static Value shape_all(const JobForm *form, Job *job, Value reply)
{
    return message_of(form, job, reply);
}

static Value shape_tokens(const JobForm *form, Job *job, Value reply)
{
    const Value *vectors = &reply.list.items[0];
    Value list = value_list(&job->work.arena, vectors->list.n);
    for (size_t i = 0; i < list.list.n; i++) {
        list.list.items[i] = value_map(&job->work.arena, 1);
        value_add(&list.list.items[i], "embeddings", vectors->list.items[i]);
    }
    return message_of(form, job, list);
}

/* ---- Info ---- */
static const Field info_request[] = { { 0 } };
static const char *const model_words[] = { "embedding", "classifier", "reranker", NULL };
static const char *const model_names[] = { "MODEL_TYPE_EMBEDDING", "MODEL_TYPE_CLASSIFIER",
                                           "MODEL_TYPE_RERANKER" };
static const ProtoEnum model_type = { "ModelType", model_names, NULL };
static const Field info_rows[] = {
    { "version", 1, F_STR },
    { "sha", 2, F_STR, .nullable = true },
    { "docker_label", 3, F_STR, .nullable = true },
    { "model_id", 4, F_STR },
    { "model_sha", 5, F_STR, .nullable = true },
    { "model_dtype", 6, F_STR },
    { "model_type", 7, F_STR, .words = model_words, .proto_enum = &model_type },
    { "max_concurrent_requests", 8, F_U32 },
    { "max_input_length", 9, F_U32 },
    { "max_batch_tokens", 10, F_U32 },
    { "max_batch_requests", 11, F_U32, .nullable = true },
    { "max_client_batch_size", 12, F_U32 },
    { "tokenization_workers", 13, F_U32 },
    { 0 },
};

/* As GET /info, but for the type: there it is an object. */
static Value info_page(Arena *arena, const Site *site)
{
    const char *labels = site_can(site, CAN_RANK) ? "reranker" : "classifier";
    bool labelled = site_can(site, CAN_CLASSIFY | CAN_TAG);
    Value page = tei_info(arena, site);
    *(Value *)value_get(&page, "model_type") = value_of_text(labelled ? labels : "embedding");
    return page;
}

static const GrpcMethod info_methods[] = {
    { "Info", "InfoRequest", "InfoResponse", { info_request, info_rows }, .idempotent = true,
      .page = info_page },
    { 0 },
};

/* ---- Embed ---- */
static const Field embed_request[] = {
    INPUTS,
    TRUNCATE(2),
    { "normalize", 3, F_BOOL, .nullable = true },
    DIRECTION(4),
    PROMPT(5),
    { "dimensions", 6, F_U32, .nullable = true },
    { 0 },
};
static const Field embed_reply[] = {
    { "embeddings", 1, F_F32, .repeated = true }, METADATA, { 0 },
};
static const Field tokens_request[] = { INPUTS, TRUNCATE(2), DIRECTION(3), PROMPT(4), { 0 } };
static const Field sparse_value[] = { { "index", 1, F_U32 }, { "value", 2, F_F32 }, { 0 } };
static const Field sparse_reply[] = {
    { "sparse_embeddings", 1, F_MSG, .repeated = true, .msg = sparse_value,
      .msg_name = "SparseValue" },
    METADATA,
    { 0 },
};
static const Field token_embedding[] = { { "embeddings", 1, F_F32, .repeated = true }, { 0 } };
static const Field all_reply[] = {
    { "token_embeddings", 1, F_MSG, .repeated = true, .msg = token_embedding,
      .msg_name = "TokenEmbedding" },
    METADATA,
    { 0 },
};
#define EMBED "EmbedRequest", "EmbedResponse", { embed_request, embed_reply, shape_first }
#define SPARSE                                                                                    \
    "EmbedSparseRequest", "EmbedSparseResponse", { tokens_request, sparse_reply, shape_first }
#define ALL "EmbedAllRequest", "EmbedAllResponse", { tokens_request, all_reply, shape_tokens }
#define BOTH_WAYS .many_in = true, .many_out = true
static const GrpcMethod embed_methods[] = {
    { "Embed", EMBED, .kind = &kind_tei_embed },
    { "EmbedStream", EMBED, BOTH_WAYS, .kind = &kind_tei_embed },
    { "EmbedSparse", SPARSE, .kind = &kind_tei_sparse },
    { "EmbedSparseStream", SPARSE, BOTH_WAYS, .kind = &kind_tei_sparse },
    { "EmbedAll", ALL, .kind = &kind_tei_embed_all },
    { "EmbedAllStream", ALL, BOTH_WAYS, .kind = &kind_tei_embed_all },
    { 0 },
};

/* ---- Predict ---- */
#define PREDICT_ROWS TRUNCATE(2), { "raw_scores", 3, F_BOOL }, DIRECTION(4), { 0 }
static const Field predict_request[] = { INPUTS, PREDICT_ROWS };
static const Field pair_request[] = { { "inputs", 1, F_STR, .repeated = true }, PREDICT_ROWS };
static const Field prediction[] = { { "score", 1, F_F32 }, { "label", 2, F_STR }, { 0 } };
static const Field predict_reply[] = {
    { "predictions", 1, F_MSG, .repeated = true, .msg = prediction, .msg_name = "Prediction" },
    METADATA,
    { 0 },
};
#define PREDICT_ONE                                                                               \
    "PredictRequest", "PredictResponse", { predict_request, predict_reply, shape_all }
#define PREDICT_PAIR                                                                              \
    "PredictPairRequest", "PredictResponse", { pair_request, predict_reply, shape_all }
static const GrpcMethod predict_methods[] = {
    { "Predict", PREDICT_ONE, .kind = &kind_tei_predict },
    { "PredictPair", PREDICT_PAIR, .kind = &kind_tei_predict },
    { "PredictStream", PREDICT_ONE, BOTH_WAYS, .kind = &kind_tei_predict },
    { "PredictPairStream", PREDICT_PAIR, BOTH_WAYS, .kind = &kind_tei_predict },
    { 0 },
};

/* ---- Rerank ---- */
static const Field rerank_request[] = {
    { "query", 1, F_STR },
    { "texts", 2, F_STR, .repeated = true },
    TRUNCATE(3),
    { "raw_scores", 4, F_BOOL },
    { "return_text", 5, F_BOOL },
    DIRECTION(6),
    { 0 },
};
/* Each message has one text in field 2, which on the wire is the same as one of the repeated `texts`. */
static const Field rerank_stream_request[] = {
    { "query", 1, F_STR }, { "text", 2, F_STR }, TRUNCATE(3),
    { "raw_scores", 4, F_BOOL }, { "return_text", 5, F_BOOL }, DIRECTION(6), { 0 },
};
static const Field rank[] = {
    { "index", 1, F_U32 }, { "text", 2, F_STR, .nullable = true }, { "score", 3, F_F32 }, { 0 },
};
static const Field rerank_reply[] = {
    { "ranks", 1, F_MSG, .repeated = true, .msg = rank, .msg_name = "Rank" }, METADATA, { 0 },
};
static const GrpcMethod rerank_methods[] = {
    { "Rerank", "RerankRequest", "RerankResponse", { rerank_request, rerank_reply, shape_all },
      .kind = &kind_tei_rerank },
    { "RerankStream", "RerankStreamRequest", "RerankResponse",
      { rerank_request, rerank_reply, shape_all }, .in_rows = rerank_stream_request,
      .many_in = true, .gathers = true, .kind = &kind_tei_rerank },
    { 0 },
};

/* ---- Tokenize ---- */
static const Field encode_request[] = {
    INPUTS, { "add_special_tokens", 2, F_BOOL }, PROMPT(3), { 0 },
};
static const Field simple_token[] = {
    { "id", 1, F_U32 },
    { "text", 2, F_STR },
    { "special", 3, F_BOOL },
    { "start", 4, F_U32, .nullable = true },
    { "stop", 5, F_U32, .nullable = true },
    { 0 },
};
static const Field encode_reply[] = {
    { "tokens", 1, F_MSG, .repeated = true, .msg = simple_token, .msg_name = "SimpleToken" }, { 0 },
};
static const Field decode_request[] = {
    { "ids", 1, F_U32, .repeated = true }, { "skip_special_tokens", 2, F_BOOL }, { 0 },
};
static const Field decode_reply[] = { { "text", 1, F_STR }, { 0 } };
#define ENCODE "EncodeRequest", "EncodeResponse", { encode_request, encode_reply, shape_first }
#define DECODE "DecodeRequest", "DecodeResponse", { decode_request, decode_reply, shape_first }
static const GrpcMethod tokenize_methods[] = {
    { "Tokenize", ENCODE, .kind = &kind_tei_tokenize },
    { "TokenizeStream", ENCODE, BOTH_WAYS, .kind = &kind_tei_tokenize },
    { "Decode", DECODE, .kind = &kind_tei_decode },
    { "DecodeStream", DECODE, BOTH_WAYS, .kind = &kind_tei_decode },
    { 0 },
};

static const GrpcService services[] = {
    { "tei.v1", "Info", info_methods },
    { "tei.v1", "Embed", embed_methods, .needs = CAN_EMBED | CAN_SPARSE },
    { "tei.v1", "Predict", predict_methods, .needs = CAN_CLASSIFY },
    { "tei.v1", "Rerank", rerank_methods, .needs = CAN_RANK },
    { "tei.v1", "Tokenize", tokenize_methods, .needs = CAN_READ },
    { 0 },
};

/* All services for every model, as in TEI; a call that the model cannot do is an error. */
const GrpcService *tei_services(Arena *arena, const Site *site)
{
    (void)arena, (void)site;
    return services;
}
