/* SPDX-License-Identifier: Apache-2.0
 * test_server_dialects.c - the shapes that clients of others know: text-embeddings-inference,
 * OpenAI, rerankers, the Hugging Face Hub. Real clients are in tests/clients. */
#include "dialect/family.h"
#include "server_fake.h"

typedef struct Case {
    const char *path, *body, *reply; /* the whole body of a 200, or */
    int status;                      /* another, and the error's type */
} Case;

static void play(const Running *r, const Case *rows, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const Case *c = &rows[i];
        const char *reply = post_to(r, c->path, c->body);
        bool own = c->reply[0] >= 'a'; /* our types are written small */
        bool ok = !c->status ? strcmp(body_of(reply), c->reply) == 0
                  : own      ? is_error(reply, c->status, c->reply)
                             : is_tei_error(reply, c->status, c->reply);
        if (!ok) printf("  %s %s\n  gave %.400s\n  for  %s\n", c->path, c->body, body_of(reply), c->reply);
        CHECK(ok);
    }
}

/* A text's vector is {mean of its ids, its number of tokens}; here of "a" (1) and "b" (2). */
#define A1 "[0.70710677,0.70710677]"
#define DATA(vector, at) "{\"object\":\"embedding\",\"embedding\":" vector ",\"index\":" #at "}"
#define LIST(data, tokens)                                                                        \
    "{\"object\":\"list\",\"data\":[" data "],\"model\":\"fake \\\"model\\\"\","                  \
    "\"usage\":{\"prompt_tokens\":" #tokens ",\"total_tokens\":" #tokens "}}"
static const Case vectors[] = {
    { "/embed", "{\"inputs\":\"a\"}", "[" A1 "]", 0 },
    { "/embed", "{\"inputs\":[\"a\"],\"normalize\":false}", "[[1.0,1.0]]", 0 },
    { "/embed", "{\"inputs\":[\"a b\",\"b\"],\"normalize\":false}", "[[1.5,2.0],[2.0,1.0]]", 0 },
    { "/embed", "{\"inputs\":[1,2],\"normalize\":false}", "[[1.5,2.0]]", 0 },
    { "/embed", "{\"inputs\":[[1],\"b\"],\"normalize\":false}", "[[1.0,1.0],[2.0,1.0]]", 0 },
    { "/embed", "{\"inputs\":\"b\",\"dimensions\":1}", "[[1.0]]", 0 },
    { "/embed", "{\"inputs\":\"b\",\"dimensions\":null,\"truncate\":null,\"prompt_name\":null}",
      "[[0.8944272,0.4472136]]", 0 },
    { "/embed", "{\"inputs\":\"b\",\"dimensions\":3}", "Validation", 422 },
    { "/embed", "{\"inputs\":\"b\",\"normalize\":null}", "Validation", 422 },
    { "/embed", "{\"inputs\":[\"b\",[2]],\"prompt_name\":\"ask\",\"normalize\":false}", "[[1.5,2.0],[1.5,2.0]]", 0 },
    { "/embed", "{\"inputs\":\"b\",\"prompt_name\":\"query\"}", "Validation", 422 },
    { "/predict", "{\"inputs\":[\"b\"],\"prompt_name\":\"ask\"}",
      "{\"results\":[{\"embedding\":[1.5,2.0]}],\"model_id\":\"fake \\\"model\\\"\"}", 0 },
    { "/predict", "{\"inputs\":[\"b\"],\"prompt_name\":\"query\"}", "invalid_input", 422 },
    { "/predict", "{\"inputs\":[\"b\"],\"prompt_nam\":\"ask\"}", "invalid_input", 422 },
    { "/similarity", "{\"inputs\":{\"source_sentence\":\"b\",\"sentences\":[\"b\"]},"
      "\"parameters\":{\"prompt_name\":\"ask\"}}", "[1.0]", 0 },
    { "/embed", "{\"inputs\":\"\"}", "Empty", 400 },
    { "/embed", "{\"inputs\":[]}", "Empty", 400 },
    { "/embed", "{\"inputs\":[1,99]}", "Validation", 422 },
    { "/embed", "{\"inputs\":[\"a\",1]}", "Validation", 422 },
    { "/embed", "{\"inputs\":7}", "Validation", 422 },
    { "/embed", "{", "Validation", 400 },
    { "/embed", "{\"inputs\":\"boom\"}", "Backend", 424 },
    { "/embed_all", "{\"inputs\":\"a b\"}", "[[[1.0,2.0],[2.0,2.0]]]", 0 },
    { "/embed_sparse", "{\"inputs\":\"a\"}", "Backend", 424 },
    { "/rerank", "{\"query\":\"a\",\"texts\":[\"b\"]}", "Backend", 424 },
    { "/v1/rerank", "{\"query\":\"a\",\"documents\":[\"b\"]}", "unsupported", 424 },
    { "/v1/embeddings", "{\"input\":\"a\"}", LIST(DATA(A1, 0), 1), 0 },
    { "/embeddings", "{\"input\":[\"a\",\"a\"],\"model\":\"x\",\"user\":null}",
      LIST(DATA(A1, 0) "," DATA(A1, 1), 2), 0 },
    { "/v1/embeddings", "{\"input\":[1],\"encoding_format\":\"base64\"}",
      LIST(DATA("\"8wQ1P/MENT8=\"", 0), 1), 0 },
    { "/v1/embeddings", "{\"input\":[[1],[2,2]],\"dimensions\":1}",
      LIST(DATA("[1.0]", 0) "," DATA("[1.0]", 1), 3), 0 },
    { "/v1/embeddings", "{\"input\":\"\"}", "invalid_input", 422 },
    { "/v1/embeddings", "{\"input\":[[99]]}", "invalid_input", 422 },
    { "/v1/embeddings", "{\"input\":\"a\",\"encoding_format\":\"int8\"}", "invalid_input", 422 },
    { "/v1/embeddings", "{}", "invalid_input", 422 },
    { "/", "{\"inputs\":\"a\",\"normalize\":false}", "[[1.0,1.0]]", 0 },
    { "/", "{\"inputs\":{\"source_sentence\":\"a\",\"sentences\":[\"a\",\"b\"]},\"parameters\":{}}",
      "[1.0,0.9486833]", 0 },
    { "/invocations", "{\"inputs\":[\"a\"],\"normalize\":false}", "[[1.0,1.0]]", 0 },
    { "/vertex", "{\"instances\":[{\"inputs\":\"a\",\"normalize\":false},{\"inputs\":[\"b\",\"a\"],"
      "\"dimensions\":1}]}", "{\"predictions\":[[[1.0,1.0]],[[1.0],[1.0]]]}", 0 },
    { "/vertex", "{\"instances\":[{\"inputs\":\"a\"},{\"inputs\":\"\"}]}", "Empty", 400 },
    { "/vertex", "{\"instances\":[{\"inputs\":\"a\"},7]}", "Validation", 422 },
    { "/vertex", "{\"instances\":[]}", "Empty", 400 },
    { "/vertex", "{\"instances\":7}", "Validation", 422 },
    { "/vertex", "{}", "Validation", 422 },
    { "/vertex", "{", "Validation", 400 },
    { "/vertex", "{\"instances\":[{\"inputs\":\"boom\"}]}", "Backend", 424 },
    { "/predict", "{\"inputs\":\"a\"}", "{\"results\":[{\"embedding\":[1.0,1.0]}],"
      "\"model_id\":\"fake \\\"model\\\"\"}", 0 },
};

/* A misspelled key is an error on /predict alone; keys of other servers' bodies never are. */
#define VECTOR_B                                                                                  \
    "{\"results\":[{\"embedding\":[2.0,1.0]}],\"model_id\":\"fake \\\"model\\\"\"}"
static const Case misspelled[] = {
    { "/predict", "{\"inputs\":[\"b\"],\"normalise\":true}", "invalid_input", 422 },
    { "/predict", "{\"inputs\":[\"b\"],\"dimension\":1}", "invalid_input", 422 },
    { "/predict", "{\"inputs\":[\"b\"],\"model\":\"m\",\"user\":\"u\",\"top_n\":1,\"normalized\":true,"
      "\"encoding_format\":\"float\",\"input\":7,\"truncation\":true}", VECTOR_B, 0 },
    { "/predict", "{\"inputs\":[\"b\"],\"anything_else\":true,\"\":1}", VECTOR_B, 0 },
    { "/embed", "{\"inputs\":\"a\",\"normalise\":false}", "[" A1 "]", 0 },
    { "/", "{\"inputs\":\"a\",\"normalise\":false}", "[" A1 "]", 0 },
    { "/v1/embeddings", "{\"input\":\"a\",\"dimension\":1}", LIST(DATA(A1, 0), 1), 0 },
};

/* With a default prompt "a ": before every text and list of ids, but not twice, and not when the
 * answer is tokens. */
static const Case prompted[] = {
    { "/embed", "{\"inputs\":[\"b\",[2]],\"normalize\":false}", "[[1.5,2.0],[1.5,2.0]]", 0 },
    { "/embed", "{\"inputs\":\"b\",\"prompt_name\":\"ask\",\"normalize\":false}", "[[1.5,2.0]]", 0 },
    { "/predict", "{\"inputs\":[\"b\"],\"normalize\":false}", "{\"results\":[{\"embedding\":[1.5,2.0]}],"
      "\"model_id\":\"fake \\\"model\\\"\"}", 0 },
    { "/tokenize", "{\"inputs\":\"b\"}", "[[{\"id\":2,\"text\":\"b\",\"special\":false,\"start\":0,\"stop\":1}]]", 0 },
};

static void test_vectors(void)
{
    TEST("vectors");
    const Task *before = model.task;
    model.task = task_find(STR("sentence_embedding"));
    model.config.hidden_size = 2;
    Member prompts[] = { { STR("ask"), { .kind = V_STR, .s = STR("a ") } } };
    model.prompts = &(Value){ .kind = V_MAP, .map = { prompts, 1 } };
    Running r = { 0 };
    start(&r);
    play(&r, vectors, COUNT(vectors));
    play(&r, misspelled, COUNT(misspelled));
    CHECK(has(post_to(&r, "/predict", misspelled[0].body),
              "unknown key \\\"normalise\\\": did you mean normalize?"));
    CHECK(has(post_to(&r, "/embed", "{\"inputs\":[]}"),
              "inputs: found an empty list, wanted at least one"));
    CHECK(has(post_to(&r, "/predict", "{\"inputs\":[]}"), "found an empty list, wanted at least one"));
    model.prompt = prompts[0].value.s; /* from now on the default; another one may be named */
    play(&r, prompted, COUNT(prompted));
    model.prompt = STR("");
    CHECK(has(ask(&r, "GET /v1/models" H "\r\n"), "{\"object\":\"list\",\"data\":[{\"id\":\"fake \\\"model\\\"\","));
    CHECK(has(ask(&r, "GET /v1/models/fake%20%22model%22" H "\r\n"), "{\"id\":\"fake \\\"model\\\"\","));
    CHECK(is_error(ask(&r, "GET /v1/models/other" H "\r\n"), 404, "not_found"));
    CHECK(has(ask(&r, "GET /info" H "\r\n"), "\"model_type\":{\"embedding\":{\"pooling\":\"mean\"}}"));
    const char *reply = post_to(&r, "/embed", "{\"inputs\":[\"a\",\"b b\"]}");
    CHECK(has(reply, "\r\nx-compute-type: cpu\r\n") && has(reply, "\r\nx-compute-characters: 4\r\n") &&
          has(reply, "\r\nx-compute-tokens: 3\r\n") && has(reply, "\r\nx-inference-time: "));
    const char *page = ask(&r, "GET /metrics" H "\r\n");
    CHECK(has(page, "\nte_request_count{method=\"single\"} ") && has(page, "\nte_embed_count "));
    CHECK(has(page, "\nte_request_failure{err=\"inference\"} 1\n"));
    CHECK(has(page, "\nte_embed_queue_duration_bucket{le=\"1.5e-05\"} "));
    CHECK(has(page, "\nte_request_input_length_bucket{le=\"1\"} "));
    CHECK(!strstr(page, "te_predict"));
    CHECK(has(ask(&r, "OPTIONS /" H "\r\n"), "Allow: GET, HEAD, POST, OPTIONS\r\n"));
    stop(&r);
    model.task = before;
    model.prompts = NULL;
    model.config.hidden_size = 0;
}

/* More instances than may run at a time, or than the queue has room for. */
static void test_vertex(void)
{
    TEST("vertex");
    enum { MANY = 500 };
    Running r = { .session = { .queue_jobs = 5 } };
    Buf body = { 0 }, wanted = { 0 };
    buf_puts(&body, "{\"instances\":[");
    buf_puts(&wanted, "{\"predictions\":[");
    for (int i = 0; i < MANY; i++) {
        const char *comma = i ? "," : "", *text = i % 3 ? "a" : "b b";
        buf_printf(&body, "%s{\"inputs\":\"%s\",\"normalize\":false}", comma, text);
        buf_printf(&wanted, "%s[[%s]]", comma, i % 3 ? "1.0,1.0" : "2.0,2.0");
    }
    buf_puts(&body, "]}");
    buf_puts(&wanted, "]}");
    buf_char(&body, 0), buf_char(&wanted, 0);
    const Task *before = model.task;
    model.task = task_find(STR("sentence_embedding"));
    start(&r);
    CHECK(strcmp(body_of(post_to(&r, "/vertex", body.p)), wanted.p) == 0);
    body.p[body.n - 6] = ' '; /* breaks the last instance */
    CHECK(is_tei_error(post_to(&r, "/vertex", body.p), 400, "Validation"));
    stop(&r);
    r = (Running){ .session = { .max_inputs = MANY - 1 } };
    start(&r);
    body.p[body.n - 6] = 's';
    CHECK(is_tei_error(post_to(&r, "/vertex", body.p), 422, "Validation"));
    stop(&r);
    model.task = before;
    buf_free(&body), buf_free(&wanted);
}

/* Logits are {id of the first token, number of tokens}. */
#define S2(x, y, p, q) "[{\"score\":" p ",\"label\":\"" x "\"},{\"score\":" q ",\"label\":\"" y "\"}]"
#define PAIR S2("y", "x", "0.7310586", "0.26894143") /* of "a", "b" */
#define ONE S2("y", "x", "0.5", "0.5")               /* of "a": the higher index first */
static const Case labels[] = {
    { "/predict", "{\"inputs\":\"a\"}", ONE, 0 },
    { "/predict", "{\"inputs\":[\"a\"],\"raw_scores\":false}", ONE, 0 },
    { "/predict", "{\"inputs\":[\"a\",\"b\"],\"raw_scores\":true}", S2("y", "x", "2.0", "1.0"), 0 },
    { "/predict", "{\"inputs\":[[\"a\"],[\"a\",\"b\"]]}", "[" ONE "," PAIR "]", 0 },
    { "/predict", "{\"inputs\":[[\"a\"],[]]}", "Validation", 422 },
    { "/predict", "{\"inputs\":[[\"a\"],\"b\"],\"raw_scores\":true}", "Validation", 422 },
    { "/predict", "{\"inputs\":[\"a\",\"b\",\"a\"],\"raw_scores\":true}", "Validation", 422 },
    { "/predict", "{\"inputs\":\"\"}", "Empty", 400 },
    { "/predict", "{\"inputs\":[\"\"]}", "invalid_input", 422 },
    { "/predict", "{\"inputs\":[]}", "invalid_input", 422 },
    { "/predict", "{\"inputs\":\"a\",\"top_kk\":1}", "invalid_input", 422 },
    { "/predict", "{\"inputs\":\"a\",\"top_kk\":1,\"raw_scores\":false}", ONE, 0 },
    { "/predict", "{\"inputs\":\"a\",\"metadata\":{\"k\":\"v\"}}",
      "{\"results\":[{\"logits\":[1.0,1.0],\"scores\":[0.5,0.5],\"predicted_index\":0,"
      "\"predicted_label\":\"x\"}],\"model_id\":\"fake \\\"model\\\"\",\"metadata\":{\"k\":\"v\"}}", 0 },
    { "/", "{\"inputs\":\"a\"}", ONE, 0 },
    { "/", "{\"inputs\":\"a\",\"parameters\":{}}", "[" ONE "]", 0 },
    { "/", "{\"inputs\":[\"a\",\"b\"],\"parameters\":{\"top_k\":1,\"function_to_apply\":\"none\"}}",
      "[[{\"score\":1.0,\"label\":\"y\"}],[{\"score\":2.0,\"label\":\"x\"}]]", 0 },
    { "/", "{\"inputs\":\"a\",\"parameters\":{\"candidate_labels\":[\"b\"]}}", "Backend", 424 },
    { "/embed", "{\"inputs\":\"a\"}", "Backend", 424 },
};
static const Case both[] = { /* with --tei */
    { "/predict", "{\"inputs\":[\"a\",\"b\"]}", PAIR, 0 },
    { "/predict", "{\"inputs\":[\"a\"],\"top_kk\":1}", ONE, 0 },
};

/* "a" as the first text makes every logit 1. */
#define RESULT(at, score) "{\"index\":" #at ",\"relevance_score\":" score "}"
#define RESULTS(list, tokens)                                                                      \
    "{\"model\":\"fake \\\"model\\\"\",\"results\":[" list "],\"usage\":{\"total_tokens\":" #tokens   \
    "},\"meta\":{\"billed_units\":{\"search_units\":1}}}"
#define HALF "0.7310586"
static const Case ranks[] = {
    { "/rerank", "{\"query\":\"a\",\"texts\":[\"b\",\"a\"]}",
      "[{\"index\":1,\"score\":" HALF "},{\"index\":0,\"score\":" HALF "}]", 0 },
    { "/rerank", "{\"query\":\"b\",\"texts\":[\"a\"],\"raw_scores\":true,\"return_text\":true}",
      "[{\"index\":0,\"text\":\"a\",\"score\":2.0}]", 0 },
    { "/rerank", "{\"query\":\"a\",\"documents\":[\"b\",\"a\"],\"top_n\":1}", RESULTS(RESULT(1, HALF), 4), 0 },
    { "/v1/rerank", "{\"query\":\"a\",\"documents\":[{\"text\":\"b\"}],\"return_documents\":true}",
      RESULTS("{\"index\":0,\"relevance_score\":" HALF ",\"document\":{\"text\":\"b\"}}", 2), 0 },
    { "/v2/rerank", "{\"model\":\"m\",\"query\":\"a\",\"documents\":[\"b b b\"],\"max_tokens_per_doc\":1,"
      "\"top_n\":null}", RESULTS(RESULT(0, HALF), 2), 0 },
    { "/v2/rerank", "{\"query\":\"a\",\"documents\":[\"b\"],\"metadate\":1}",
      RESULTS(RESULT(0, HALF), 2), 0 },
    { "/rerank", "{\"query\":\"a\",\"texts\":[]}", "Empty", 400 },
    { "/rerank", "{\"query\":\"\",\"texts\":[\"a\"]}", "Empty", 400 },
    { "/rerank", "{\"query\":\"a\"}", "Validation", 422 },
    { "/rerank", "{\"query\":\"a\",\"documents\":[7]}", "invalid_input", 422 },
    { "/v1/rerank", "{\"query\":\"a\",\"documents\":\"b\"}", "invalid_input", 422 },
    { "/v1/rerank", "{\"query\":\"a\",\"documents\":[\"b\"],\"top_n\":0}", "invalid_input", 422 },
    { "/", "{\"query\":\"a\",\"texts\":[\"b\"]}", "[{\"index\":0,\"score\":" HALF "}]", 0 },
    { "/vertex", "{\"instances\":[{\"query\":\"a\",\"texts\":[\"b\"]},{\"inputs\":\"b\",\"raw_scores\":true}]}",
      "{\"predictions\":[[{\"index\":0,\"score\":" HALF "}],[{\"score\":2.0,\"label\":\"x\"},"
      "{\"score\":1.0,\"label\":\"LABEL_1\"}]]}", 0 },
};

/* What the bodies of all routes may hold: no task takes any of it for a misspelled key of its own. */
static size_t check_known(const Value *schema)
{
    size_t n = 0, tasks;
    const Task *const *all = task_all(&tasks);
    const Value *rows = value_get(schema, "properties");
    for (size_t i = 0; rows && i < rows->map.n; i++) {
        Err err = { 0 };
        Member one = { rows->map.items[i].key, { .kind = V_NULL } };
        Value body = { .kind = V_MAP, .map = { &one, 1 } };
        for (size_t k = 0; k < tasks; k++, n++)
            if (!CHECK(task_keys(all[k], &body, &err))) printf("  %s\n", err.message);
    }
    size_t members = schema->kind == V_MAP ? schema->map.n : schema->kind == V_LIST ? schema->list.n : 0;
    for (size_t i = 0; i < members; i++)
        n += check_known(schema->kind == V_MAP ? &schema->map.items[i].value : &schema->list.items[i]);
    return n;
}

static void check_bodies(const Running *r)
{
    Arena arena = { 0 };
    Value page;
    Err err;
    CHECK(json_parse(&arena, str_of(body_of(ask(r, "GET /openapi.json" H "\r\n"))), &page, &err));
    const Value *schemas = value_get(value_get(&page, "components"), "schemas");
    size_t n = 0;
    for (size_t i = 0; schemas && i < schemas->map.n; i++)
        if (str_ends(schemas->map.items[i].key, "Request"))
            n += check_known(&schemas->map.items[i].value);
    CHECK(n > 100);
    arena_free(&arena);
}

static void become(const char *task, int n_labels)
{
    static Str names[] = { { "x", 1 }, { "y", 1 } };
    model.task = task_find(str_of(task));
    model.config.num_labels = n_labels;
    model.config.labels = n_labels ? names : NULL;
}

static void with(const char *task, int n_labels, bool tei, const Case *rows, size_t n)
{
    become(task, n_labels);
    Running r = { .server = { .preferred = tei ? &family_tei : NULL } };
    start(&r);
    play(&r, rows, n);
    check_bodies(&r);
    stop(&r);
    become("embedding", 0);
}

/* ---- errors that arise before a body is read, with --tei ---- */
static const struct Early {
    const char *request;
    int status;
    const char *type;                /* ours, written small, of routes of ours and of OpenAI's */
} early[] = {
    { "GET /nothing" H "\r\n", 404, "Validation" },
    { "GET /predict" H "\r\n", 405, "Validation" },
    { "DELETE /health" H "\r\n", 405, "Validation" },
    { "POST /predict" H "Content-Type: text/plain\r\nContent-Length: 1\r\n\r\nx", 415, "Validation" },
    { "POST /predict" H JSON "Content-Encoding: br\r\nContent-Length: 1\r\n\r\nx", 415, "Validation" },
    { "POST /predict" H JSON "Content-Length: 1000\r\n\r\n", 413, "Validation" },
    { "POST /predict" H JSON "Content-Length: 1\r\n\r\n{", 400, "Validation" },
    { "POST /tokenize" H "Content-Length: 1000\r\n\r\n", 415, "Validation" },
    { "GET /health HTTP/1.1\r\n\r\n", 400, "Validation" }, /* no Host */
    { "GET /health HTTP/3.0\r\nHost: x\r\n\r\n", 505, "Validation" },
    { "GET /health" H "Content-Length: 1000\r\n\r\n", 413, "Validation" },
    { "GET /model" H "Content-Length: 1000\r\n\r\n", 413, "too_large" },
    { "POST /v1/embeddings" H JSON "Content-Length: 1\r\n\r\nx", 424, "unsupported" },
};

static void test_early(void)
{
    TEST("errors before the body");
    become("sequence_classification", 2);
    Running r = { .server = { .preferred = &family_tei, .max_body = 100 } };
    start(&r);
    for (size_t i = 0; i < COUNT(early); i++) {
        const struct Early *e = &early[i];
        const char *reply = ask(&r, e->request);
        bool own = e->type[0] >= 'a';
        if (!CHECK(own ? is_error(reply, e->status, e->type) : is_tei_error(reply, e->status, e->type)))
            printf("  %s\n", e->request);
    }
    stop(&r);
    become("embedding", 0);
}

/* One runs, one waits, one too many; then more connections than there may be. */
static void test_full(void)
{
    TEST("errors of a full server");
    become("sequence_classification", 2);
    Running r = { .server = { .preferred = &family_tei, .max_connections = 3 },
                  .session = { .queue_jobs = 1 } };
    int fd[3], before = __atomic_load_n(&runs, __ATOMIC_RELAXED);
    start(&r);
    __atomic_store_n(&closed, 1, __ATOMIC_RELEASE);
    for (int i = 0; i < 3; i++) {
        fd[i] = connect_to(&r);
        put(fd[i], "POST /predict" H JSON "Content-Length: 14\r\n\r\n{\"inputs\":\"a\"}");
        CHECK(i == 0 ? run_begins(before) : i == 2 || jobs_wait(&r, 1));
    }
    CHECK(is_tei_error(get(fd[2], false), 429, "Overloaded"));
    put(fd[2], "POST /predict" H JSON "Content-Length: 14\r\n\r\n"); /* busy: it makes no room */
    usleep(20000);
    int extra = connect_to(&r); /* and says nothing: the reply is not lost to what is unread */
    CHECK(is_tei_error(get(extra, false), 503, "Unhealthy"));
    close(extra);
    __atomic_store_n(&closed, 0, __ATOMIC_RELEASE);
    for (int i = 0; i < 2; i++) CHECK(has(get(fd[i], false), " 200 OK"));
    for (int i = 0; i < 3; i++) close(fd[i]);
    stop(&r);
    become("embedding", 0);
}

static const Case entities[] = { /* of {1, 1} and {2, 2}: always "x" */
    { "/", "{\"inputs\":\"b b\"}",
      "[{\"entity_group\":\"x\",\"score\":0.5,\"word\":\"b b\",\"start\":0,\"end\":3}]", 0 },
    { "/", "{\"inputs\":\"a\",\"parameters\":{\"aggregation_strategy\":\"none\"}}",
      "[{\"entity\":\"x\",\"score\":0.5,\"index\":0,\"word\":\"a\",\"start\":0,\"end\":1}]", 0 },
    { "/", "{\"inputs\":[\"a\",\"a\"],\"parameters\":{\"ignore_labels\":[\"x\"],\"stride\":null}}", "[[],[]]", 0 },
    { "/", "{\"inputs\":\"a\",\"parameters\":{\"aggregation_strategy\":\"best\"}}", "Validation", 422 },
    { "/", "{\"inputs\":[]}", "Empty", 400 },
};

static const Case words[] = { /* a vocabulary of two: log(1 + max), of {1, n} */
    { "/embed_sparse", "{\"inputs\":[\"a\",\"b b\"]}",
      "[[{\"index\":0,\"value\":0.6931472},{\"index\":1,\"value\":0.6931472}],"
      "[{\"index\":0,\"value\":1.0986123},{\"index\":1,\"value\":1.0986123}]]", 0 },
    { "/", "{\"inputs\":\"a\"}",
      "[[{\"index\":0,\"value\":0.6931472},{\"index\":1,\"value\":0.6931472}]]", 0 },
    { "/", "{\"inputs\":\"a\",\"parameters\":{}}", "Validation", 422 }, /* no mask */
    { "/embed", "{\"inputs\":\"a\"}", "Backend", 424 },
};

/* ---- MCP ---- */
#define LOCAL " HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
#define LIST_TOOLS "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}"
#define CALL(text)                                                                                 \
    "{\"jsonrpc\":\"2.0\",\"id\":\"x\",\"method\":\"tools/call\",\"params\":{\"name\":\"run_encoder\","  \
    "\"arguments\":{\"inputs\":[\"" text "\"]}}}"
static const struct McpCase {
    const char *head, *body;
    int status;
    const char *words;
} messages[] = {
    { LOCAL, LIST_TOOLS, 200, "\"name\":\"run_encoder\"" },
    { LOCAL "Accept: application/json, text/event-stream\r\n", CALL("a"), 200,
      "\"structuredContent\":{\"results\":[{\"embeddings\":[{\"embedding\":[1.0,1.0]" },
    { LOCAL, CALL(""), 200, "\"error\":{\"code\":-32600" },
    { LOCAL, CALL("boom"), 200, "\"error\":{\"code\":-32603" },
    { LOCAL, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}", 202, "\r\n\r\n" },
    { LOCAL, "{", 400, "\"code\":-32700" },
    { LOCAL, "[" LIST_TOOLS "]", 400, "\"code\":-32600" },
    { LOCAL "MCP-Protocol-Version: 2026-07-28\r\n", LIST_TOOLS, 400, "\"code\":-32602" },
    { LOCAL "MCP-Protocol-Version: 2025-06-18\r\n", "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"none\"}", 200,
      "\"code\":-32601" },
    { LOCAL "Origin: http://localhost:3000\r\n", LIST_TOOLS, 200, "run_encoder" },
    { LOCAL "Origin: https://evil.example\r\n", LIST_TOOLS, 403, "\"jsonrpc\":\"2.0\"" },
    { LOCAL "Origin: null\r\n", LIST_TOOLS, 403, "\"jsonrpc\":\"2.0\"" },
    { LOCAL "Accept: text/html\r\n", LIST_TOOLS, 406, "\"jsonrpc\":\"2.0\"" },
    { " HTTP/1.1\r\nHost: evil.example\r\nContent-Type: application/json\r\n", LIST_TOOLS, 421, "Host" },
    { " HTTP/1.1\r\nHost: [::1]:8080\r\nContent-Type: text/plain\r\n", LIST_TOOLS, 415, "Unsupported" },
};

static void test_mcp(void)
{
    TEST("mcp");
    Running r = { 0 };
    char request[1000], line[40];
    start(&r);
    for (size_t i = 0; i < COUNT(messages); i++) {
        const struct McpCase *m = &messages[i];
        snprintf(request, sizeof request, "POST /mcp%sContent-Length: %zu\r\n\r\n%s", m->head,
                 strlen(m->body), m->body);
        const char *reply = ask(&r, request);
        snprintf(line, sizeof line, "HTTP/1.1 %d ", m->status);
        bool ok = strncmp(reply, line, strlen(line)) == 0 && has(reply, m->words);
        if (!ok) printf("  %s\n  %.600s\n", m->body, reply);
        CHECK(ok);
    }
    CHECK(has(ask(&r, "GET /mcp" LOCAL "\r\n"), "Allow: POST"));
    CHECK(is_error(ask(&r, "DELETE /mcp" LOCAL "\r\n"), 405, "method_not_allowed"));
    stop(&r);
}

int main(void)
{
    TEST("model");
    if (!CHECK(make_model())) return finish();
    test_vectors();
    test_vertex();
    TEST("labels");
    with("sequence_classification", 2, false, labels, COUNT(labels));
    with("sequence_classification", 2, true, both, COUNT(both));
    test_early();
    test_full();
    TEST("ranks");
    with("sequence_classification", 1, false, ranks, COUNT(ranks));
    TEST("entities");
    with("token_classification", 2, false, entities, COUNT(entities));
    TEST("words");
    with("fill_mask", 0, false, words, COUNT(words));
    test_mcp();
    arena_free(&model.arena);
    return finish();
}
