/* SPDX-License-Identifier: Apache-2.0
 * test_api_sentence.c - sentence-transformers folders by every way in and every way out, against the
 * vectors of sentence-transformers itself (tools/oracle/sentence.py). Prints the table: the largest
 * difference of any number of any text. */
#include <arpa/inet.h>
#include <pthread.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "api/build.h"
#include "data/json.h"
#include "data/wire.h"
#include "encoderfile.h"
#include "export_case.h"
#include "folder.h"
#include "server/server.h"

#define FOLDERS "tests/golden/sentence"
enum { MOST_REPLY = 1 << 22, TEXTS = 12, FIRST_FOLDERS = 3 };
#ifdef __SANITIZE_ADDRESS__
enum { SANITIZED = true };
#else
enum { SANITIZED = false };
#endif
static const double near = 1e-5;
static char work[] = "/tmp/ef-head-XXXXXX";
static const char *program;  /* the executable beside this test */
static const char *command;  /* the same, behind $EF_EMULATOR where it is for another CPU */
static Arena arena;

/* What a folder says of itself, as inspect, /info and /model must repeat it. */
static const struct Folder {
    const char *name, *pooling, *tei;
    int max_length, dimensions;
    bool normalized;
} folders[] = {
    { "mean", "mean", "mean", 24, 16, false },
    { "cls", "cls", "cls", 32, 16, true },
    { "last", "lasttoken", "last_token", 20, 8, false },
    { "weighted", "max+weightedmean", "max+weightedmean", 24, 32, false },
    { "joined", "cls+max+mean+mean_sqrt_len_tokens", "cls+max+mean+mean_sqrt_len_tokens", 24, 10,
      true },
};

/* ---- files ---- */
static Value json_of(Str text)
{
    Value v = value_null();
    Err err = { 0 };
    if (!CHECK(json_parse(&arena, text, &v, &err))) printf("  %s: %.200s\n", err.message, text.p);
    return v;
}

static Value read_golden(const char *folder)
{
    Err err;
    Str text = STR("null");
    CHECK(file_read(&arena, path_join(&arena, folder, STR("vectors.json")), 1 << 20, &text, &err));
    return json_of(text);
}

static void copy_file(const char *from, const char *to)
{
    Err err = { 0 };
    Str bytes;
    if (!file_is(from)) return;
    if (!CHECK(file_read(&arena, from, 1 << 24, &bytes, &err) && dir_make_parents(to, &err) &&
               file_write(&arena, to, bytes, &err))) printf("  %s\n", err.message);
}

static const char *const settings[] = {
    "modules.json", "config_sentence_transformers.json", "1_Pooling/config.json",
    "2_Dense/config.json", "2_Dense/model.safetensors", "4_Dense/config.json",
    "4_Dense/model.safetensors",
};
static const char *const encoder[] = { "config.json", "tokenizer.json", "tokenizer_config.json",
                                       "sentence_bert_config.json" };

static void copy_files(const char *from, const char *to, const char *below)
{
    for (size_t i = 0; i < COUNT(settings); i++)
        copy_file(path_join(&arena, from, str_of(settings[i])),
                  path_join(&arena, to, str_of(settings[i])));
    for (size_t i = 0; i < COUNT(encoder); i++)
        copy_file(path_join(&arena, from, str_of(encoder[i])),
                  path_join(&arena, to, str_of(str_format(&arena, "%s%s", below, encoder[i]))));
}

/* ---- ways in: each makes what it names of a folder, and says where it is ---- */
static const char *way_safetensors(const char *folder, const char *to)
{
    (void)to;
    return folder;
}

static const char *export_to(const char *folder, const char *to, const char *task)
{
    Err err = { 0 };
    Export e = { .model = folder, .output = to, .task = task, .include_tokenizer = HF_TOKENIZER_IN };
    if (!CHECK(export_all(&e, &err))) printf("  %s\n", err.message);
    export_close(&e);
    return to;
}

static const char *way_exported(const char *folder, const char *to)
{
    return export_to(folder, to, NULL);
}

/* The encoder alone, as Optimum's feature-extraction writes it, beside the modules. */
static const char *way_onnx(const char *folder, const char *to)
{
    return export_to(folder, to, "feature-extraction");
}

static const char *onnx_below(const char *folder, const char *to, const char *name)
{
    const char *plain = str_format(&arena, "%s.plain", to);
    export_to(folder, plain, "feature-extraction");
    copy_files(folder, to, "");
    copy_file(path_join(&arena, plain, STR("model.onnx")), path_join(&arena, to, str_of(name)));
    return to;
}

static const char *way_below(const char *folder, const char *to)
{
    return onnx_below(folder, to, "onnx/model.onnx");
}

static const char *way_below_quantized(const char *folder, const char *to)
{
    return onnx_below(folder, to, "onnx/model_quantized.onnx");
}

static const char *way_below_named(const char *folder, const char *to)
{
    return path_join(&arena, onnx_below(folder, to, "onnx/model.onnx"), STR("onnx/model.onnx"));
}

/* As sentence-transformers wrote them once: the encoder in a folder of its own. */
static const char *way_old(const char *folder, const char *to)
{
    static const char type[] = "\"path\": \"\"";
    Err err = { 0 };
    Str text = STR("");
    Buf b = { 0 };
    copy_files(folder, to, "0_Transformer/");
    copy_file(path_join(&arena, folder, STR("model.safetensors")),
              path_join(&arena, to, STR("0_Transformer/model.safetensors")));
    const char *list = path_join(&arena, to, STR("modules.json"));
    CHECK(file_read(&arena, list, 1 << 20, &text, &err));
    const char *at = strstr(text.p, type);
    if (!CHECK(at)) return to;
    buf_printf(&b, "%.*s\"path\": \"0_Transformer\"%s", (int)(at - text.p), text.p,
               at + sizeof type - 1);
    CHECK(file_write(&arena, list, buf_view(&b), &err));
    buf_free(&b);
    return to;
}

/* One file: what it needs is in its metadata. */
static const char *way_alone(const char *folder, const char *to)
{
    const char *whole = str_format(&arena, "%s.whole", to), *path = path_join(&arena, to, STR("m.onnx"));
    export_to(folder, whole, NULL);
    copy_file(path_join(&arena, whole, STR("model.onnx")), path);
    return path;
}

/* Nothing beside it says how to pool, and nothing inside: the graph does. */
static const char *way_graph(const char *folder, const char *to)
{
    Err err = { 0 };
    const char *path = path_join(&arena, to, STR("model.onnx"));
    copy_files(folder, to, "");
    remove(path_join(&arena, to, STR("modules.json")));
    Export e = { .model = folder, .output = path, .no_config = true, .no_metadata = true };
    if (!CHECK(export_open(&e, &err) && export_build(&e, &err) && export_write(&e, &err)))
        printf("  %s\n", err.message);
    export_close(&e);
    return to;
}

static const char *package_of(const char *from, const char *to)
{
    Err err = { 0 };
    BuildReport report = { 0 };
    const char *path = str_format(&arena, "%s.encoderfile", to);
    BuildConfig c = { .folder = from, .output_path = path, .base_binary = program,
                      .source = { .name = STR("packed"), .task = STR("sentence_embedding") } };
    if (!CHECK(build_run(&arena, &c, &report, &err))) printf("  %s\n", err.message);
    model_close(report.model);
    return path;
}

static const char *way_packaged(const char *folder, const char *to)
{
    return package_of(folder, to);
}

static const char *way_exported_packaged(const char *folder, const char *to)
{
    return package_of(way_exported(folder, str_format(&arena, "%s.out", to)), to);
}

static const struct WayIn {
    const char *name;
    const char *(*make)(const char *folder, const char *to);
    bool always;                 /* for every folder, and under sanitizers; others for the first three */
    bool by_graph;               /* that cannot leave a prompt out */
} ways_in[] = {
    { "safetensors", way_safetensors, true },
    { "exported", way_exported, true },
    { "onnx folder", way_onnx },
    { "onnx/model.onnx", way_below },
    { "onnx/..quantized", way_below_quantized },
    { "FILE onnx/model", way_below_named },
    { "0_Transformer", way_old },
    { "one .onnx", way_alone, true },
    { "pooled by graph", way_graph, .by_graph = true },
    { "packaged", way_packaged, true },
    { "export, package", way_exported_packaged },
};

/* ---- ways out ---- */
typedef struct Shown {           /* a model on its way out */
    const char *path, *texts;    /* texts: a file of JSON lines */
    Str task;                    /* where the files do not tell it */
    const char *flag;            /* the same for the command line */
    const Value *golden;
    int port;
} Shown;

static double number_at(const Value *list, size_t i)
{
    return list->kind == V_F32 ? (double)list->f32.p[i] : value_float(&list->list.items[i], NAN);
}

static size_t length_of(const Value *list)
{
    return !list ? 0 : list->kind == V_F32 ? list->f32.n : list->kind == V_LIST ? list->list.n : 0;
}

static double row_apart(const Value *found, const Value *wanted)
{
    double most = 0;
    if (length_of(found) != length_of(wanted) || !length_of(wanted)) return INFINITY;
    for (size_t i = 0; i < length_of(wanted); i++) {
        double apart = fabs(number_at(found, i) - number_at(wanted, i));
        most = isnan(apart) ? INFINITY : fmax(apart, most);
    }
    return most;
}

/* rows: a list; each has its vector under `key`, or is it (NULL). */
static double rows_apart(const Value *rows, const char *key, const Value *golden, const char *which)
{
    const Value *wanted = value_get(golden, which);
    double most = 0;
    if (!rows || rows->kind != V_LIST || rows->list.n != TEXTS || !wanted) return INFINITY;
    for (size_t i = 0; i < TEXTS; i++) {
        const Value *row = &rows->list.items[i];
        most = fmax(most, row_apart(key ? value_get(row, key) : row, &wanted->list.items[i]));
    }
    return most;
}

static Str run_program(const char *arguments)
{
    Buf out = { 0 };
    FILE *pipe = popen(str_format(&arena, "%s %s 2>%s/err", command, arguments, work), "r");
    char block[4096];
    for (size_t n; pipe && (n = fread(block, 1, sizeof block, pipe)) > 0;) buf_add(&out, block, n);
    int status = pipe ? pclose(pipe) : -1;
    if (!CHECK(status == 0)) printf("  encoderfile %s: status %d\n", arguments, status);
    Str text = { str_dup(&arena, buf_view(&out)), out.n };
    buf_free(&out);
    return text;
}

static Value lines_of(Str text)
{
    Value list = value_list(&arena, TEXTS);
    size_t n = 0;
    for (const char *p = text.p, *end = p + text.n; p < end && n < TEXTS;) {
        const char *stop = memchr(p, '\n', (size_t)(end - p));
        if (!stop) break;
        list.list.items[n++] = json_of((Str){ p, (size_t)(stop - p) });
        p = stop + 1;
    }
    list.list.n = n;
    return list;
}

static double out_infer(const Shown *s)
{
    Value v = json_of(run_program(str_format(&arena, "infer -m %s%s -i %s", s->path, s->flag, s->texts)));
    return rows_apart(value_get(&v, "results"), "embedding", s->golden, "own");
}

static double out_npy(const Shown *s)
{
    Err err = { 0 };
    Npy npy;
    Str file = run_program(str_format(&arena, "infer -m %s%s -i %s -f npy", s->path, s->flag, s->texts));
    if (!npy_read(file, &npy, &err) || npy.dim[0] != TEXTS) return INFINITY;
    Value rows = value_list(&arena, TEXTS);
    for (size_t i = 0; i < TEXTS; i++)
        rows.list.items[i] = value_of_f32((const float *)npy.data + i * (size_t)npy.dim[1],
                                          (size_t)npy.dim[1]);
    return rows_apart(&rows, NULL, s->golden, "own");
}

static double out_map(const Shown *s)
{
    Value v = lines_of(run_program(str_format(&arena, "map -m %s%s %s", s->path, s->flag, s->texts)));
    return rows_apart(&v, "embedding", s->golden, "own");
}

static double out_api(const Shown *s)
{
    ef_error err = { 0 };
    ef_input in[TEXTS];
    const Value *texts = value_get(s->golden, "texts");
    ef_model *m = ef_open(s->path, &(ef_options){ .task = s->task.p }, &err);
    if (!m) return printf("  %s\n", err.message), INFINITY;
    for (size_t i = 0; i < TEXTS; i++)
        in[i] = (ef_input){ sizeof *in, EF_TEXT, texts->list.items[i].s.p, texts->list.items[i].s.n, NULL, 0 };
    ef_reply *r = ef_predict(m, in, TEXTS, NULL, &err);
    double apart = INFINITY;
    if (r) {
        Value v = json_of(str_of(ef_reply_json(r)));
        apart = rows_apart(value_get(&v, "results"), "embedding", s->golden, "own");
        const ef_tensor *t = ef_reply_tensor(r, 0);
        Value first = value_of_f32(t ? t->data : NULL, t ? (size_t)t->dim[t->rank - 1] : 0);
        apart = fmax(apart, row_apart(&first, &value_get(s->golden, "own")->list.items[0]));
    }
    ef_reply_free(r);
    ef_close(m);
    return apart;
}

static Str ask(int port, const char *path, const char *body)
{
    struct sockaddr_in a = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    Buf in = { 0 };
    const char *head = str_format(&arena, "%s %s HTTP/1.1\r\nHost: h\r\nConnection: close\r\n"
                                  "Content-Type: application/json\r\nContent-Length: %zu\r\n\r\n%s",
                                  body ? "POST" : "GET", path, body ? strlen(body) : 0,
                                  body ? body : "");
    bool sent = connect(fd, (struct sockaddr *)&a, sizeof a) == 0 &&
                send(fd, head, strlen(head), MSG_NOSIGNAL) == (ssize_t)strlen(head);
    for (ssize_t n = 1; sent && n > 0 && in.n < MOST_REPLY; in.n += n > 0 ? (size_t)n : 0) {
        buf_reserve(&in, 65536);
        n = recv(fd, in.p + in.n, 65536, 0);
    }
    close(fd);
    buf_char(&in, 0);
    const char *begin = strstr(in.p, "\r\n\r\n");
    Str reply = str_of(str_dup(&arena, str_of(begin ? begin + 4 : "null")));
    buf_free(&in);
    return reply;
}

static Value ask_texts(const Shown *s, const char *path, const char *key, const char *more)
{
    Buf b = { 0 };
    buf_printf(&b, "{\"%s\":", key);
    json_write(&b, value_get(s->golden, "texts"));
    buf_printf(&b, "%s}", more);
    Value v = json_of(ask(s->port, path, str_dup(&arena, buf_view(&b))));
    buf_free(&b);
    return v;
}

static double out_predict(const Shown *s)
{
    Value v = ask_texts(s, "/predict", "inputs", "");
    return rows_apart(value_get(&v, "results"), "embedding", s->golden, "own");
}

static double out_embed(const Shown *s)
{
    Value v = ask_texts(s, "/embed", "inputs", "");
    return rows_apart(&v, NULL, s->golden, "normalized");
}

static double out_prompt(const Shown *s)
{
    if (!value_get(s->golden, "query")) return NAN;
    Value v = ask_texts(s, "/embed", "inputs", ",\"prompt_name\":\"query\"");
    return rows_apart(&v, NULL, s->golden, "query");
}

static double out_openai(const Shown *s)
{
    Value v = ask_texts(s, "/v1/embeddings", "input", "");
    return rows_apart(value_get(&v, "data"), "embedding", s->golden, "normalized");
}

static double out_hub(const Shown *s)
{
    Value v = ask_texts(s, "/", "inputs", "");
    return rows_apart(&v, NULL, s->golden, "normalized");
}

/* ---- gRPC, by curl ---- */
static void put_message(Buf *out, Str message)
{
    uint8_t head[5] = { 0, 0, 0, (uint8_t)(message.n >> 8), (uint8_t)message.n };
    buf_add(out, head, sizeof head);
    buf_str(out, message);
}

static Str call_grpc(const Shown *s, const char *method, Buf *request)
{
    Err err;
    Str reply = { 0 };
    const char *in = str_format(&arena, "%s/grpc.in", work), *out = str_format(&arena, "%s/grpc.out", work);
    CHECK(file_write(&arena, in, buf_view(request), &err));
    buf_free(request);
    remove(out);
    int status = system(str_format(
        &arena, "curl -sS -m 20 --http2-prior-knowledge -H 'content-type: application/grpc' -H 'te: "
        "trailers' --data-binary @%s -o %s http://127.0.0.1:%d/%s", in, out, s->port, method));
    if (status != 0 || !file_read(&arena, out, MOST_REPLY, &reply, &err)) return (Str){ 0 };
    return reply;
}

/* The next message of a reply. */
static bool next_message(Str *reply, Str *message)
{
    const uint8_t *p = (const uint8_t *)reply->p;
    if (reply->n < 5) return false;
    size_t n = (size_t)p[1] << 24 | (size_t)p[2] << 16 | (size_t)p[3] << 8 | p[4];
    if (n > reply->n - 5) return false;
    *message = (Str){ reply->p + 5, n };
    *reply = (Str){ reply->p + 5 + n, reply->n - 5 - n };
    return true;
}

/* Field 1 of a message: packed floats. */
static Value floats_of(Str message)
{
    Err err = { 0 };
    Wire w = wire_over(message);
    while (wire_next(&w, &err))
        if (w.field == 1 && w.type == WIRE_BYTES) {
            float *x = arena_raw(&arena, w.bytes.n);
            memcpy(x, w.bytes.p, w.bytes.n);
            return value_of_f32(x, w.bytes.n / sizeof *x);
        }
    return value_null();
}

static double out_grpc(const Shown *s)
{
    Buf message = { 0 }, request = { 0 };
    const Value *texts = value_get(s->golden, "texts");
    for (size_t i = 0; i < TEXTS; i++) wire_put_bytes(&message, 1, texts->list.items[i].s);
    put_message(&request, buf_view(&message));
    buf_free(&message);
    Str reply = call_grpc(s, "encoderfile.sentence_embedding.SentenceEmbeddingInference/Predict", &request), one;
    if (!next_message(&reply, &one)) return INFINITY;
    Value rows = value_list(&arena, TEXTS);
    Err err = { 0 };
    size_t n = 0;
    Wire w = wire_over(one);
    while (wire_next(&w, &err) && n < TEXTS)
        if (w.field == 1 && w.type == WIRE_BYTES) rows.list.items[n++] = floats_of(w.bytes);
    return rows_apart(&rows, NULL, s->golden, "own");
}

static double out_grpc_tei(const Shown *s)
{
    Buf request = { 0 };
    const Value *texts = value_get(s->golden, "texts");
    for (size_t i = 0; i < TEXTS; i++) {
        Buf message = { 0 };
        wire_put_bytes(&message, 1, texts->list.items[i].s);
        wire_put_int(&message, 2, 1); /* truncate */
        put_message(&request, buf_view(&message));
        buf_free(&message);
    }
    Str reply = call_grpc(s, "tei.v1.Embed/EmbedStream", &request), one;
    Value rows = value_list(&arena, TEXTS);
    size_t n = 0;
    while (n < TEXTS && next_message(&reply, &one)) rows.list.items[n++] = floats_of(one);
    return rows_apart(&rows, NULL, s->golden, "normalized");
}

static const struct WayOut {
    const char *name;
    double (*apart)(const Shown *);
} ways_out[] = {
    { "infer", out_infer },      { "npy", out_npy },        { "map", out_map },
    { "C API", out_api },        { "/predict", out_predict }, { "/embed", out_embed },
    { "prompt", out_prompt },    { "/v1/emb.", out_openai }, { "POST /", out_hub },
    { "gRPC", out_grpc },        { "gRPC TEI", out_grpc_tei },
};

/* ---- a server ---- */
typedef struct Running {
    Model *model;
    Session *session;
    ServerOptions options;
    pthread_t thread;
    volatile int stop;
    int port;
    bool ok;
} Running;

static void tell_port(void *context, const char *address, int port)
{
    (void)address;
    __atomic_store_n(&((Running *)context)->port, port, __ATOMIC_RELEASE);
}

static void *serve_thread(void *arg)
{
    Running *r = arg;
    Err err = { 0 };
    r->ok = server_run(r->session, &r->options, &r->stop, &err);
    if (!r->ok) tell_port(r, NULL, -1);
    return NULL;
}

static bool start_server(Running *r, const char *path, Str task)
{
    Err err = { 0 };
    if (!CHECK(model_open_with(path, &(ModelOpen){ .task = task }, &r->model, &err))) return printf("  %s\n", err.message), false;
    r->session = job_session(r->model, &(SessionOptions){ .threads = 2 });
    r->options = (ServerOptions){ .hostname = "127.0.0.1", .ready = tell_port, .context = r };
    pthread_create(&r->thread, NULL, serve_thread, r);
    while (!__atomic_load_n(&r->port, __ATOMIC_ACQUIRE)) usleep(500);
    return true;
}

static void stop_server(Running *r)
{
    __atomic_store_n(&r->stop, 1, __ATOMIC_RELAXED);
    ask(r->port, "/health", NULL); /* it looks at its wishes when something happens */
    pthread_join(r->thread, NULL);
    CHECK(r->ok);
    session_free(r->session);
    model_close(r->model);
}

/* ---- what is said of it ---- */
static bool is_word(const Value *map, const char *key, const char *wanted)
{
    Str found = value_str(value_get(map, key), STR("(none)"));
    if (str_is(found, wanted)) return true;
    return printf("  %s: found %.*s, wanted %s\n", key, STR_ARG(found), wanted), false;
}

static void check_words(const struct Folder *f, const Shown *s, bool by_graph)
{
    const char *pooling = by_graph ? "graph" : f->pooling;
    Value model = json_of(ask(s->port, "/model", NULL)), info = json_of(ask(s->port, "/info", NULL));
    CHECK(is_word(&model, "model_type", "sentence_embedding") && is_word(&model, "pooling", pooling));
    CHECK(value_int(value_get(&model, "max_length"), 0) == f->max_length);
    CHECK(value_int(value_get(&model, "dimensions"), 0) == f->dimensions);
    CHECK(by_graph || value_bool(value_get(&model, "normalized"), !f->normalized) == f->normalized);
    CHECK(value_int(value_get(&info, "max_input_length"), 0) == f->max_length);
    const Value *type = value_get(value_get(&info, "model_type"), "embedding");
    CHECK(is_word(type, "pooling", by_graph ? "graph" : f->tei));
    Value seen = json_of(run_program(str_format(&arena, "inspect %s%s", s->path, s->flag)));
    const Value *vector = value_get(&seen, "vector");
    CHECK(is_word(value_get(&seen, "encoderfile_config"), "model_type", "sentence_embedding"));
    CHECK(is_word(vector, "pooling", pooling) && !value_bool(value_get(vector, "assumed"), true));
    CHECK(by_graph || value_bool(value_get(vector, "normalized"), !f->normalized) == f->normalized);
    CHECK(by_graph || value_get(value_get(vector, "prompts"), "query"));
    CHECK(value_int(value_get(value_get(&seen, "tokenizer"), "max_length"), 0) == f->max_length);
}

/* ---- the table ---- */
static void write_texts(const char *path, const Value *texts)
{
    Err err;
    Buf b = { 0 };
    for (size_t i = 0; i < TEXTS; i++) {
        json_write(&b, &texts->list.items[i]);
        buf_char(&b, '\n');
    }
    CHECK(file_write(&arena, path, buf_view(&b), &err));
    buf_free(&b);
}

static void show_row(const struct Folder *f, const struct WayIn *in, Shown *s)
{
    Running r = { 0 };
    TEST(str_format(&arena, "%s: %s", f->name, in->name));
    if (!start_server(&r, s->path, s->task)) return;
    s->port = r.port;
    printf("| %-8s | %-16s |", f->name, in->name);
    for (size_t o = 0; o < COUNT(ways_out); o++) {
        double apart = ways_out[o].apart(s); /* NAN: there is no such way */
        if (isnan(apart)) printf("        - |");
        else printf(" %8.1e |", apart);
        if (apart > near) printf("\n  %s:\n", ways_out[o].name);
        CHECK(!(apart > near));
    }
    printf("\n");
    check_words(f, s, r.model->config.graph_pools);
    stop_server(&r);
}

static void show_folder(const struct Folder *f)
{
    const char *folder = str_format(&arena, FOLDERS "/%s", f->name);
    Value golden = read_golden(folder);
    Shown s = { .texts = str_format(&arena, "%s/%s.jsonl", work, f->name), .golden = &golden };
    write_texts(s.texts, value_get(&golden, "texts"));
    for (size_t i = 0; i < COUNT(ways_in); i++) {
        bool whole = f - folders < FIRST_FOLDERS && !SANITIZED;
        if (!whole && !ways_in[i].always) continue;
        s.task = ways_in[i].by_graph ? STR("sentence_embedding") : (Str){ 0 };
        s.flag = ways_in[i].by_graph ? " --task sentence_embedding" : "";
        s.path = ways_in[i].make(folder, str_format(&arena, "%s/%s-%zu", work, f->name, i));
        show_row(f, &ways_in[i], &s);
    }
}

/* ---- where nothing tells the pooling: the user's word ---- */
static double first_apart(Str reply, const Value *wanted)
{
    Value v = json_of(reply);
    const Value *rows = value_get(&v, "results");
    return rows && rows->kind == V_LIST && rows->list.n
               ? row_apart(value_get(&rows->list.items[0], "embedding"), wanted) : INFINITY;
}

static Str error_text(void)
{
    Err err;
    Str text = STR("");
    CHECK(file_read(&arena, str_format(&arena, "%s/err", work), 1 << 20, &text, &err));
    return text;
}

static bool said(const char *words)
{
    Str text = error_text();
    return strstr(text.p, words) || (printf("  stderr was: %.300s\n", text.p), false);
}

static Str refused_by(const char *arguments)
{
    int status = system(str_format(&arena, "%s %s >%s/out 2>%s/err", command, arguments, work, work));
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) != 0);
    return error_text();
}

/* The folder `cls` without its modules.json; wanted: its first text's vector. */
static const char *plain_folder(Value *wanted)
{
    const char *from = FOLDERS "/cls", *to = str_format(&arena, "%s/plain", work);
    Value golden = read_golden(from);
    copy_files(from, to, "");
    copy_file(path_join(&arena, from, STR("model.safetensors")), path_join(&arena, to, STR("model.safetensors")));
    remove(path_join(&arena, to, STR("modules.json")));
    *wanted = value_get(&golden, "own")->list.items[0];
    return to;
}

#define FIRST "\"A plain sentence.\""
static void wishes(void)
{
    TEST("--pooling, --normalize and the YAML");
    Value cls;
    Err err = { 0 };
    const char *plain = plain_folder(&cls), *yaml = str_format(&arena, "%s/c.yml", work);
    const char *as = str_format(&arena, "infer -m %s --task sentence_embedding", plain);
    CHECK(first_apart(run_program(str_format(&arena, "%s " FIRST, as)), &cls) > 0.01);
    CHECK(said("pooling: mean (assumed: nothing in the model says it), not normalized, max 32 tokens"));
    CHECK(first_apart(run_program(str_format(&arena, "%s --pooling cls --normalize " FIRST, as)), &cls) <= near);
    CHECK(!strstr(error_text().p, "assumed"));
    CHECK(file_write(&arena, yaml, str_of(str_format(
        &arena, "encoderfile:\n  name: y\n  path: %s\n  model_type: sentence_embedding\n"
        "  pooling: cls\n  normalize: true\n", plain)), &err));
    Str told = run_program(str_format(&arena, "build -f %s -o %s/y.encoderfile", yaml, work));
    CHECK(strstr(told.p, "\npooling: cls, normalized, max 32 tokens\n"));
    CHECK(first_apart(run_program(str_format(&arena, "infer -m %s/y.encoderfile " FIRST, work)), &cls) <= near);
    told = run_program(str_format(&arena, "build -f %s -o %s/z.encoderfile --pooling mean", yaml, work));
    CHECK(strstr(told.p, "\npooling: mean, normalized, "));
    Value seen = json_of(run_program(str_format(&arena, "inspect %s/y.encoderfile", work)));
    CHECK(is_word(value_get(&seen, "vector"), "pooling", "cls"));
    run_program(str_format(&arena, "bench -m %s -l 4 -n 1 --pooling cls", FOLDERS "/mean"));
    const ef_options options = { .pooling = "mean", .normalize = -1 };
    ef_error why = { 0 };
    ef_model *m = ef_open(FOLDERS "/cls", &options, &why);
    if (CHECK(m)) CHECK(strcmp(ef_describe(m)->pooling, "mean") == 0 && !ef_describe(m)->normalized);
    ef_close(m);
    m = ef_open(FOLDERS "/last", NULL, &why);
    if (CHECK(m)) CHECK(strcmp(ef_describe(m)->pooling, "lasttoken") == 0 && ef_describe(m)->dimensions == 8);
    ef_close(m);
    CHECK(!ef_open(FOLDERS "/cls", &(ef_options){ .pooling = "sum" }, &why));
    CHECK(strstr(why.message, "pooling: found \"sum\", wanted mean, cls"));
}

static void requests(void)
{
    TEST("a request's pooling and normalize");
    Value cls;
    Running r = { 0 }, last = { 0 };
    const char *plain = plain_folder(&cls);
    if (!start_server(&r, plain, STR("sentence_embedding"))) return;
    const char *body = "{\"inputs\":[\"A plain sentence.\"],\"pooling\":\"cls\",\"normalize\":true}";
    CHECK(first_apart(ask(r.port, "/predict", body), &cls) <= near);
    stop_server(&r);
    if (!start_server(&last, FOLDERS "/joined", (Str){ 0 })) return;
    body = "{\"inputs\":[\"x\"],\"pooling\":\"cls\"}";
    CHECK(strstr(ask(last.port, "/predict", body).p, "its dense layer needs the ways"));
    body = "{\"inputs\":[\"x\"],\"dimensions\":11}";
    CHECK(strstr(ask(last.port, "/predict", body).p, "wanted 1 to 10"));
    body = "{\"inputs\":[\"x\"],\"normalize\":false}";
    Value v = json_of(ask(last.port, "/predict", body));
    double sum = 0;
    const Value *x = value_get(value_get(&v, "results")->list.items, "embedding");
    for (size_t i = 0; i < length_of(x); i++) sum += number_at(x, i) * number_at(x, i);
    CHECK(length_of(x) == 10 && fabs(sum - 1) > 0.01);
    stop_server(&last);
}

/* ---- folders that are not what they say ---- */
/* They have no config.json, and some no tokenizer.json or weights in the root: the module is what is told. */
static void foreign_modules(void)
{
    TEST("modules that nothing here can run");
    static const char *const kinds[] = { "StaticEmbedding", "Router", "BoW", "CLIPModel" };
    Err err;
    for (size_t i = 0; i < COUNT(kinds); i++) {
        const char *to = str_format(&arena, "%s/foreign-%zu", work, i);
        const char *modules = str_format(&arena, "[{\"type\":\"sentence_transformers.models.%s\",\"path\":\"\"}]", kinds[i]);
        const char *words = str_format(&arena, "modules.json: found sentence_transformers.models.%s, wanted Transformer", kinds[i]);
        const char *list = path_join(&arena, to, STR("modules.json"));
        CHECK(dir_make_parents(list, &err) && file_write(&arena, list, str_of(modules), &err));
        if (i == 0) copy_file(FOLDERS "/mean/tokenizer.json", path_join(&arena, to, STR("tokenizer.json")));
        if (i == 0) copy_file(FOLDERS "/mean/model.safetensors", path_join(&arena, to, STR("model.safetensors")));
        CHECK(strstr(refused_by(str_format(&arena, "infer -m %s x", to)).p, words));
        CHECK(strstr(refused_by(str_format(&arena, "infer --task sentence-embedding -m %s x", to)).p, words));
        CHECK(strstr(refused_by(str_format(&arena, "build %s -o %s/foreign.ef", to, work)).p, words));
    }
}

/* Cross encoders and sparse ones as sentence-transformers 6 saves them: a modules.json, but no Pooling. */
static void lists_without_pooling(void)
{
    TEST("modules.json of a cross encoder, and of a sparse one, is ignored");
    static const char *const rows[][3] = {
        { "one", "", "{\"transformer_task\":\"sequence-classification\"}" },
        { "masks", "", "{\"transformer_task\":\"fill-mask\"}" },
        { "masks", ",{\"type\":\"sentence_transformers.sparse_encoder.modules.splade_pooling.SpladePooling\",\"path\":\"1\"}", "{}" },
    };
    Err err;
    for (size_t i = 0; i < COUNT(rows); i++) {
        const char *from = str_format(&arena, "tests/golden/pipelines/%s", rows[i][0]);
        const char *to = str_format(&arena, "%s/listed-%zu/%s", work, i, rows[i][0]);
        const char *list = path_join(&arena, to, STR("modules.json"));
        const char *text = str_format(&arena, "[{\"type\":\"sentence_transformers.base.modules.transformer.Transformer\","
                                      "\"path\":\"\"}%s]", rows[i][1]);
        CHECK(dir_make_parents(list, &err));
        copy_files(from, to, "");
        copy_file(path_join(&arena, from, STR("model.safetensors")), path_join(&arena, to, STR("model.safetensors")));
        CHECK(file_write(&arena, list, str_of(text), &err));
        CHECK(file_write(&arena, path_join(&arena, to, STR("sentence_bert_config.json")), str_of(rows[i][2]), &err));
        Str plain = run_program(str_format(&arena, "infer -m %s 'a [MASK]'", from));
        CHECK(plain.n && str_eq(run_program(str_format(&arena, "infer -m %s 'a [MASK]'", to)), plain));
        run_program(str_format(&arena, "export %s %s/listed-onnx-%zu", to, work, i));
        run_program(str_format(&arena, "build %s -o %s/listed-%zu.ef", to, work, i));
    }
}

static void refusals(void)
{
    TEST("refused");
    static const struct {
        const char *file, *text, *words;
    } cases[] = {
        { "modules.json", "[", "modules.json" },
        { "modules.json", "[{\"type\":\"a.Transformer\",\"path\":\"\"},{\"type\":\"a.Pooling\",\"path\":"
          "\"1_Pooling\"},{\"type\":\"a.Magic\",\"path\":\"\"}]", "found a.Magic, wanted Transformer" },
        { "1_Pooling/config.json", "{\"pooling_mode_mean_tokens\": false}", "no way of pooling is chosen" },
        { "1_Pooling/config.json", "{\"pooling_mode\": [\"mean\", \"max\"]}", "error: 2_Dense/config.json: Dense: found a vector of 32" },
        { "sentence_bert_config.json", "{\"modality_config\": {\"text\": {\"method_output_name\": \"pooler_output\"}}}",
          "method_output_name: found pooler_output, wanted last_hidden_state" },
        { "2_Dense/config.json", "{\"activation_function\": \"torch.nn.Odd\"}", "found torch.nn.Odd" },
        { "2_Dense/model.safetensors", "x", "safetensors" },
        { "2_Dense/model.safetensors", NULL, "model.safetensors" },
    };
    Err err;
    for (size_t i = 0; i < COUNT(cases); i++) {
        const char *to = str_format(&arena, "%s/bad-%zu", work, i);
        const char *file = path_join(&arena, to, str_of(cases[i].file));
        copy_files(FOLDERS "/last", to, "");
        copy_file(FOLDERS "/last/model.safetensors", path_join(&arena, to, STR("model.safetensors")));
        if (cases[i].text) CHECK(file_write(&arena, file, str_of(cases[i].text), &err));
        else remove(file);
        Str why = refused_by(str_format(&arena, "infer -m %s x", to));
        if (!CHECK(strstr(why.p, cases[i].words))) printf("  %s\n", why.p);
    }
    CHECK(strstr(refused_by("infer -m " FOLDERS "/mean --pooling sum x").p, "pooling: found \"sum\""));
    CHECK(strstr(refused_by("infer -m " FOLDERS "/mean --normalize=maybe x").p, "wanted true or false"));
}

int main(int argc, char **argv)
{
    (void)argc;
    if (!mkdtemp(work)) return 1;
    program = path_join(&arena, path_dir(&arena, path_dir(&arena, argv[0])), STR("encoderfile"));
    const char *emulator = getenv("EF_EMULATOR");
    command = emulator ? str_format(&arena, "%s %s", emulator, program) : program;
    printf("| folder   | way in           |");
    for (size_t o = 0; o < COUNT(ways_out); o++) printf(" %-8s |", ways_out[o].name);
    printf("\n");
    for (size_t i = SANITIZED ? FIRST_FOLDERS - 1 : 0; i < COUNT(folders); i++) show_folder(&folders[i]);
    wishes();
    requests();
    foreign_modules();
    lists_without_pooling();
    refusals();
    remove_tree(work);
    arena_free(&arena);
    return finish();
}
