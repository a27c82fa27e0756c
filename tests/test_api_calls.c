/* SPDX-License-Identifier: Apache-2.0
 * test_api_calls.c - calls that nobody waits for, cancelled ones, children of fork, log lines, progress and what it ends. */
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "check.h"
#include "folder.h"

static ef_model *model(int threads)
{
    ef_error err = { 0 };
    ef_options o = { .struct_size = sizeof o, .threads = threads };
    ef_model *m = ef_open("examples/bus-ner", &o, &err);
    if (!CHECK(m)) printf("  %s\n", err.message);
    return m;
}

/* ---- without waiting ---- */
static const char *const texts[] = { "AC bus to Goa", "Volvo from Pune to Mumbai tomorrow", "sleeper on Sunday", "to Delhi" };

static void count_done(void *own)
{
    __atomic_add_fetch((int *)own, 1, __ATOMIC_RELEASE);
}

static bool as_predicted(ef_model *m, ef_reply *r, const char *text)
{
    ef_input in = ef_text(text);
    ef_reply *same = ef_predict(m, &in, 1, NULL, NULL);
    bool ok = r && same && strcmp(ef_reply_json(r), ef_reply_json(same)) == 0;
    ef_reply_free(r), ef_reply_free(same);
    return ok;
}

static void test_start(ef_model *m)
{
    TEST("start, wait, finish");
    enum { CALLS = 40 };
    ef_error err = { 0 };
    ef_call *call[CALLS];
    int done = 0;
    for (int i = 0; i < CALLS; i++) {
        char own[64]; /* gone when the call runs */
        snprintf(own, sizeof own, "%s", texts[i % 4]);
        ef_input in = ef_text(own);
        call[i] = ef_start(m, &in, 1, NULL, count_done, &done, &err);
        if (!CHECK(call[i])) printf("  %s\n", err.message);
        memset(own, 'x', sizeof own);
    }
    for (int i = 0; i < CALLS; i++) {
        CHECK(ef_wait(call[i], -1) && ef_wait(call[i], 0));
        CHECK(as_predicted(m, ef_finish(call[i], &err), texts[i % 4]));
    }
    for (int i = 0; i < 2000 && __atomic_load_n(&done, __ATOMIC_ACQUIRE) < CALLS; i++) usleep(1000);
    CHECK(__atomic_load_n(&done, __ATOMIC_ACQUIRE) == CALLS);
    ef_input in = ef_text(texts[0]), bad = { sizeof bad, EF_PICTURE, "x", 1, NULL, 0 };
    ef_reply *r = ef_finish(ef_start_run(m, "ner", &in, 1, "{\"aggregation_strategy\": \"simple\"}", NULL, NULL, &err), &err);
    CHECK(r && strstr(ef_reply_json(r), "entity_group"));
    ef_reply_free(r);
    CHECK(!ef_start(m, &bad, 1, NULL, count_done, &done, &err) && says(&err, "input 0: found a picture"));
    CHECK(!ef_start(m, NULL, 1, NULL, count_done, &done, &err) && says(&err, "found no inputs"));
    CHECK(!ef_start(m, &in, 1, "{", NULL, NULL, &err) && says(&err, "params_json"));
    ef_input empty = ef_text("");
    CHECK(!ef_finish(ef_start(m, &empty, 1, NULL, NULL, NULL, &err), &err) && says(&err, "empty"));
    CHECK(!ef_finish(ef_start_run(m, "nonsense", &in, 1, NULL, NULL, NULL, &err), &err) && says(&err, "nonsense"));
}

/* What a function of the caller tries on a thread of the library. */
typedef struct Inside {
    ef_model *m;
    ef_call *other;
    int over;
} Inside;

static void wait_inside(void *own)
{
    Inside *c = own;
    ef_error err = { 0 };
    ef_input in = ef_text(texts[1]);
    CHECK(!ef_predict(c->m, &in, 1, NULL, &err) && err.code == EF_INVALID_INPUT && says(&err, "inside of done"));
    CHECK(!ef_run(c->m, NULL, &in, 1, NULL, &err) && says(&err, "inside of done"));
    ef_call *call = ef_start(c->m, &in, 1, NULL, NULL, NULL, &err);
    CHECK(call && !ef_wait(call, -1) && !ef_finish(call, &err) && says(&err, "inside of done"));
    c->other = call;
    __atomic_store_n(&c->over, 1, __ATOMIC_RELEASE);
}

static void test_inside_done(void)
{
    TEST("done: what would wait for its own thread is refused, ef_start is not");
    ef_error err = { 0 };
    Inside inside = { model(1), NULL, 0 };
    if (!inside.m) return;
    ef_input in = ef_text(texts[0]);
    ef_call *call = ef_start(inside.m, &in, 1, NULL, wait_inside, &inside, &err);
    for (int i = 0; i < 10000 && !__atomic_load_n(&inside.over, __ATOMIC_ACQUIRE); i++) usleep(1000);
    if (!CHECK(__atomic_load_n(&inside.over, __ATOMIC_ACQUIRE))) return;
    CHECK(as_predicted(inside.m, ef_finish(call, &err), texts[0]));
    CHECK(as_predicted(inside.m, ef_finish(inside.other, &err), texts[1]));
    ef_close(inside.m);
}

/* The only thread has much to do: what stands behind that is not run. */
static void test_cancel(void)
{
    TEST("cancel");
    enum { MANY = 4000 };
    ef_error err = { 0 };
    ef_model *m = model(1);
    ef_input *in = calloc(MANY, sizeof *in);
    if (!m || !CHECK(in)) return;
    for (int i = 0; i < MANY; i++) in[i] = ef_text(texts[i % 4]);
    int done = 0;
    ef_call *first = ef_start(m, in, MANY, NULL, count_done, &done, &err);
    ef_call *second = ef_start(m, in, MANY, NULL, count_done, &done, &err);
    CHECK(first && second && !ef_wait(second, 0));
    ef_cancel(second);
    ef_cancel(first);
    CHECK(!ef_finish(second, &err) && err.code == EF_CANCELLED && says(&err, "cancelled"));
    CHECK(!ef_finish(first, &err) && err.code == EF_CANCELLED);
    for (int i = 0; i < 2000 && __atomic_load_n(&done, __ATOMIC_ACQUIRE) < 2; i++) usleep(1000);
    CHECK(__atomic_load_n(&done, __ATOMIC_ACQUIRE) == 2); /* also of those that were cancelled */
    ef_cancel(NULL); /* as a failed ef_start gives it */
    CHECK(ef_wait(NULL, -1) && ef_wait(NULL, 0));
    CHECK(!ef_finish(NULL, &err) && err.code == EF_INVALID_INPUT && says(&err, "found no call") && !ef_finish(NULL, NULL));
    ef_call *late = ef_start(m, in, 1, NULL, NULL, NULL, &err);
    CHECK(ef_wait(late, 60000));
    ef_cancel(late); /* too late: it has its reply */
    CHECK(as_predicted(m, ef_finish(late, &err), texts[0]));
    free(in);
    ef_close(m);
}

typedef struct Caller {
    ef_model *m;
    int wrong;
} Caller;

static void *start_and_finish(void *caller)
{
    Caller *c = caller;
    for (int i = 0; i < 25; i++) {
        ef_input in = ef_text(texts[i % 4]);
        ef_call *call = ef_start(c->m, &in, 1, NULL, NULL, NULL, NULL);
        if (i % 5 == 0) ef_cancel(call);
        ef_error err = { 0 };
        ef_reply *r = call ? ef_finish(call, &err) : NULL;
        c->wrong += !r && err.code != EF_CANCELLED;
        ef_reply_free(r);
    }
    return NULL;
}

static void test_threads(ef_model *m)
{
    TEST("many threads start calls");
    pthread_t thread[5];
    Caller caller[5];
    for (int i = 0; i < 5; i++) {
        caller[i] = (Caller){ m, 0 };
        CHECK(pthread_create(&thread[i], NULL, start_and_finish, &caller[i]) == 0);
    }
    for (int i = 0; i < 5; i++) {
        pthread_join(thread[i], NULL);
        CHECK(caller[i].wrong == 0);
    }
}

/* ---- fork ---- */
static bool child_is_told(ef_model *m)
{
    ef_error err = { 0 };
    ef_input in = ef_text("AC bus");
    bool ok = !ef_predict(m, &in, 1, NULL, &err) && err.code == EF_UNAVAILABLE &&
              strstr(err.message, "the model was opened by process") && strstr(err.message, "open it again here");
    ok = ok && !ef_run(m, NULL, &in, 1, NULL, &err) && err.code == EF_UNAVAILABLE;
    ok = ok && !ef_start(m, &in, 1, NULL, NULL, NULL, &err) && err.code == EF_UNAVAILABLE;
    ok = ok && !ef_prepare(m, &in, 1, NULL, &err) && err.code == EF_UNAVAILABLE;
    ok = ok && !ef_serve(m, NULL, NULL, &err) && err.code == EF_UNAVAILABLE;
    ok = ok && strcmp(ef_describe(m)->task, "token_classification") == 0;
    ef_tokens *t = ef_tokenize(m, "AC bus", 6, &err); /* no thread is needed for that */
    size_t n = 0;
    ok = ok && t && ef_tokens_ids(t, &n) && n > 2;
    ef_tokens_free(t);
    ef_close(m);
    m = ef_open("examples/bus-ner", &(ef_options){ .struct_size = sizeof(ef_options), .threads = 1 }, &err);
    ef_reply *r = m ? ef_predict(m, &in, 1, NULL, &err) : NULL;
    ok = ok && r;
    ef_reply_free(r);
    ef_close(m);
    return ok;
}

static void *predict_until(void *caller)
{
    Caller *c = caller;
    ef_input in = ef_text("Volvo from Pune to Mumbai tomorrow");
    while (!__atomic_load_n(&c->wrong, __ATOMIC_ACQUIRE)) ef_reply_free(ef_predict(c->m, &in, 1, NULL, NULL));
    return NULL;
}

static void test_fork(ef_model *m)
{
    TEST("children of a busy process");
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
    SKIP("sanitizers do not follow a fork of a busy process: locks of their own stay held in the child");
    (void)m, (void)child_is_told, (void)predict_until;
#else
    pthread_t thread[2];
    Caller busy = { m, 0 };
    for (int i = 0; i < 2; i++) CHECK(pthread_create(&thread[i], NULL, predict_until, &busy) == 0);
    for (int i = 0; i < 8; i++) {
        int status = -1;
        fflush(stdout);
        pid_t child = fork();
        if (child == 0) {
            alarm(60);
            _exit(child_is_told(m) ? 0 : 1);
        }
        if (!CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0))
            printf("  child %d: status %x\n", i, status);
    }
    __atomic_store_n(&busy.wrong, 1, __ATOMIC_RELEASE);
    for (int i = 0; i < 2; i++) pthread_join(thread[i], NULL);
#endif
}

/* ---- log ---- */
typedef struct Lines {
    int n;
    ef_level level;
    char last[256];
} Lines;

static void keep_line(void *own, ef_level level, const char *text)
{
    Lines *lines = own;
    lines->n++;
    lines->level = level;
    snprintf(lines->last, sizeof lines->last, "%s", text);
}

static void test_log(const char *folder)
{
    TEST("log");
    ef_error err = { 0 };
    Lines lines = { 0 };
    char yaml[300], text[600];
    FILE *f;
    snprintf(yaml, sizeof yaml, "%s/a.yml", folder);
    snprintf(text, sizeof text, "encoderfile:\n  name: a\n  path: examples/bus-ner\n  model_type: token_classification\n"
             "  cache_dir: /tmp\n  build: false\n");
    f = fopen(yaml, "w");
    CHECK(f && fputs(text, f) >= 0 && fclose(f) == 0);
    ef_set_log(keep_line, &lines);
    CHECK(went_well(ef_build(yaml, NULL, OWN_PROGRAM, &err)) || printf("  %s\n", err.message) < 0);
    CHECK(lines.n >= 1 && strchr(lines.last, '\n') == NULL && strstr(lines.last, "cache_dir has no effect"));
    CHECK(lines.level == EF_LOG_WARN);
    ef_set_log(NULL, NULL);
    int before = lines.n;
    CHECK(went_well(ef_build(yaml, NULL, OWN_PROGRAM, &err)) && lines.n == before);
}

/* ---- progress ---- */
typedef struct Seen {
    int calls, stages, back;
    uint64_t last;
    char stage[64];
    int stop_after; /* calls; 0: never */
} Seen;

static bool see(void *own, const char *stage, uint64_t done, uint64_t total)
{
    Seen *s = own;
    s->calls++;
    if (strcmp(stage, s->stage) != 0 || done == 0) s->stages++, s->last = 0;
    s->back += done < s->last || (total && done > total);
    s->last = done;
    snprintf(s->stage, sizeof s->stage, "%s", stage);
    return !s->stop_after || s->calls < s->stop_after;
}

typedef char *Tool(const char *from, const char *to, ef_error *);
static char *tool_export(const char *from, const char *to, ef_error *err)
{
    return ef_export(from, to, NULL, err);
}
static char *tool_quantize(const char *from, const char *to, ef_error *err)
{
    return ef_quantize(from, to, "{\"no-report\": true}", err);
}
static char *tool_build(const char *from, const char *to, ef_error *err)
{
    return ef_build(from, to, OWN_PROGRAM, err);
}
static char *tool_inspect(const char *from, const char *to, ef_error *err)
{
    (void)to;
    return ef_inspect(from, NULL, err);
}

/* Told of every stage forwards, and ended at any call: then nothing is left of what it wrote. */
static void told_and_ended(const char *name, Tool *tool, const char *from, const char *folder)
{
    ef_error err = { 0 };
    Arena arena = { 0 };
    const char *to = str_format(&arena, "%s/%s", folder, name);
    Seen all = { 0 };
    ef_set_progress(see, &all);
    if (!CHECK(went_well(tool(from, to, &err)))) printf("  %s: %s\n", name, err.message);
    CHECK(all.calls > 2 && all.stages >= 1 && all.back == 0);
    remove_tree(to);
    for (int stop = 1; stop < all.calls; stop += 1 + all.calls / 6) {
        Seen some = { .stop_after = stop };
        ef_set_progress(see, &some);
        char *report = tool(from, to, &err);
        if (!CHECK(!report && err.code == EF_CANCELLED)) printf("  %s, after %d of %d\n", name, stop, all.calls);
        ef_string_free(report);
        CHECK(!file_is(to) && !dir_is(to));
        remove_tree(to);
    }
    ef_set_progress(NULL, NULL);
    arena_free(&arena);
}

static void *unheard(void *seen)
{
    (void)seen;
    ef_string_free(ef_inspect("examples/bus-ner", NULL, NULL));
    return NULL;
}

/* Told of texts, and ended between two of them: then there are no tokens. */
static void ended_tokenizing(Seen *some)
{
    enum { MANY = 200 };
    ef_error err = { 0 };
    ef_input in[MANY];
    ef_tokens *out[MANY];
    ef_tokenizer *t = ef_tokenizer_open("examples/bus-ner", &err);
    for (int i = 0; i < MANY; i++) in[i] = ef_text("bus to Goa");
    *some = (Seen){ 0 };
    ef_set_progress(see, some);
    ef_encode_options o = { .threads = 1 };
    CHECK(t && ef_encode(t, in, MANY, &o, out, &err) && some->calls > MANY && some->back == 0);
    for (int i = 0; i < MANY; i++) ef_tokens_free(out[i]);
    for (int stop = 1; stop < 2 * MANY; stop += 66) {
        *some = (Seen){ .stop_after = stop };
        CHECK(!ef_encode(t, in, MANY, stop % 2 ? &o : NULL, out, &err) && err.code == EF_CANCELLED && !out[0] && !out[MANY - 1]);
    }
    ef_tokenizer_close(t);
}

static void test_progress(const char *folder)
{
    TEST("progress");
    ef_error err = { 0 };
    told_and_ended("exported", tool_export, "examples/bus-ner", folder);
    told_and_ended("built", tool_build, "examples/bus-ner", folder);
    told_and_ended("inspected", tool_inspect, "examples/bus-ner", folder);
    Arena arena = { 0 };
    const char *onnx = str_format(&arena, "%s/onnx", folder);
    CHECK(went_well(ef_export("examples/bus-ner", onnx, NULL, &err)));
    told_and_ended("small.onnx", tool_quantize, onnx, folder);
    TEST("progress of opening");
    Seen some = { .stop_after = 2 }, all = { 0 };
    ef_set_progress(see, &some);
    CHECK(!ef_open("examples/bus-ner", NULL, &err) && err.code == EF_CANCELLED);
    some.calls = 0;
    CHECK(!ef_graph_open("examples/bus-ner", NULL, &err) && err.code == EF_CANCELLED);
    ended_tokenizing(&some);
    ef_set_progress(see, &all);
    pthread_t other;
    CHECK(pthread_create(&other, NULL, unheard, NULL) == 0 && pthread_join(other, NULL) == 0);
    CHECK(all.calls == 0); /* another thread's */
    ef_set_progress(NULL, NULL);
    arena_free(&arena);
}

int main(void)
{
    char folder[] = "/tmp/ef-calls-XXXXXX";
    ef_model *m = model(2);
    if (m) {
        test_start(m);
        test_threads(m);
        test_fork(m);
    }
    ef_close(m);
    test_inside_done();
    test_cancel();
    if (CHECK(mkdtemp(folder))) {
        test_log(folder);
        test_progress(folder);
        remove_tree(folder);
    }
    return finish();
}
