/* SPDX-License-Identifier: Apache-2.0
 * test_base.c - arenas, strings, buffers, maps, files and the pool. */
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/budget.h"
#include "base/cpu.h"
#include "base/file.h"
#include "base/thread.h"
#include "check.h"

static void arenas(void)
{
    TEST("arena");
    Arena a = { 0 };
    Err err = { 0 };
    char *p = arena_alloc(&a, 10);
    CHECK(p[0] == 0 && p[9] == 0 && (uintptr_t)p % 16 == 0);
    CHECK((uintptr_t)arena_raw(&a, 100) % 64 == 0);
    char *big = arena_alloc(&a, 5 << 20);
    memset(big, 1, 5 << 20);
    CHECK(p[9] == 0);
    CHECK(!arena_try(&a, SIZE_MAX / 2, 3, SIZE_MAX, &err) && says(&err, "over the limit"));
    CHECK(!arena_try(&a, 11, 10, 100, &err) && err.code == EF_TOO_LARGE);
    CHECK(arena_try(&a, 10, 10, 100, &err));
    arena_reset(&a, 8 << 20);
    CHECK(a.total > 0 && a.total <= 8 << 20);
    memset(arena_alloc(&a, 100), 7, 100);
    arena_reset(&a, 8 << 20);
    char *again = arena_alloc(&a, 100);
    CHECK(again[50] == 0); /* zeroed although the block was used before */
    arena_free(&a);
    CHECK(a.total == 0 && !a.head);
}

static void strings(void)
{
    TEST("str");
    int64_t i;
    CHECK(str_eq(STR("ab"), STR("ab")) && !str_eq(STR("ab"), STR("abc")) && str_eq((Str){ 0 }, STR("")));
    CHECK(str_starts(STR("model.onnx"), "model") && str_ends(STR("model.onnx"), ".onnx") && !str_ends(STR("x"), "xx"));
    CHECK(str_ends_any_case(STR("a.Csv"), ".csv") && !str_ends_any_case(STR("a.cs"), ".csv") && !str_ends_any_case(STR("csv"), ".csv"));
    CHECK(str_int(STR("-9223372036854775808"), &i) && i == INT64_MIN);
    CHECK(str_int(STR("9223372036854775807"), &i) && i == INT64_MAX);
    CHECK(!str_int(STR("9223372036854775808"), &i) && !str_int(STR(""), &i) && !str_int(STR("-"), &i));
    CHECK(!str_int(STR("1x"), &i) && !str_int(STR("1.0"), &i));
    static const char *const words[] = { "build", "bench", "inspect", "serve" };
    CHECK(!strcmp(str_nearest(STR("buidl"), words, 4), "build"));
    CHECK(!strcmp(str_nearest(STR("INSPECTT"), words, 4), "inspect"));
    CHECK(!str_nearest(STR("xyzzy"), words, 4));
}

static void utf8(void)
{
    TEST("utf8");
    static const char *const bad[] = { "\x80", "\xc0\x80", "\xc1\xbf", "\xe0\x80\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80",
                                       "\xf0\x8f\xbf\xbf", "\xe2\x82", "\xff", "abcdefgh\xc3" };
    for (size_t k = 0; k < COUNT(bad); k++) CHECK(!utf8_valid(str_of(bad[k])));
    CHECK(utf8_valid(STR("aé€😀 and some more plain text")) && utf8_valid((Str){ 0 }));
    char out[4];
    uint32_t code;
    for (uint32_t c = 0; c < 0x110000; c += c < 0x3000 ? 1 : 97) {
        if (c >= 0xd800 && c < 0xe000) continue;
        int n = utf8_encode(c, out);
        if (utf8_decode(out, out + n, &code) != n || code != c) CHECK(!"round trip");
    }
    CHECK(utf8_decode("\xe2\x82\xac", "\xe2\x82\xac" + 3, &code) == 3 && code == 0x20ac);
}

static void errors(void)
{
    TEST("err");
    Err err = { 0 };
    CHECK(!fail(&err, EF_BAD_MODEL, "found %d, wanted %d", 1, 2) && err.code == EF_BAD_MODEL);
    CHECK(!within(&err, "%s", "config.json") && says(&err, "config.json: found 1, wanted 2"));
    CHECK(err_kind(EF_OVERLOADED)->http == 429 && err_kind(EF_USAGE)->exit == 2 && err_kind(EF_INVALID_INPUT)->http == 422);
    CHECK(!fail(NULL, EF_IO, "nobody listens") && !within(NULL, "x") && !within_line(NULL, 1));
    static const struct { const char *inner, *outer; } places[] = {
        { "line 1, column 2: found 'x'", "line 3, column 2: found 'x'" },
        { "column 7: found 'x'", "line 3, column 7: found 'x'" },
        { "line 2, column 2: found 'x'", "line 3: line 2, column 2: found 'x'" },
        { "text: found 'x'", "line 3: text: found 'x'" },
    };
    for (size_t i = 0; i < COUNT(places); i++) {
        fail(&err, EF_IO, "%s", places[i].inner);
        CHECK(!within_line(&err, 3) && strcmp(err.message, places[i].outer) == 0);
    }
    char long_text[3000];
    for (size_t i = 0; i < sizeof long_text; i++) long_text[i] = "\xc3\xa9"[i % 2];
    CHECK(!fail(&err, EF_IO, "a\nb\x7f\xff: %.*s", 2999, long_text) && says(&err, "a b ?: \xc3\xa9"));
    CHECK(utf8_valid(str_of(err.message)) && strlen(err.message) == sizeof err.message - 1);
    CHECK(!within(&err, "%.*s", 2998, long_text + 1) && utf8_valid(str_of(err.message)));
}

static void maps(void)
{
    TEST("map");
    Arena a = { 0 };
    Map m = { 0 };
    static int value[1000];
    for (int i = 0; i < 1000; i++) map_put(&m, &a, str_of(str_format(&a, "key %d", i)), &value[i]);
    bool all = true;
    for (int i = 0; i < 1000; i++) all &= map_get(&m, str_of(str_format(&a, "key %d", i))) == &value[i];
    CHECK(all && !map_get(&m, STR("key 1000")) && m.used == 1000);
    map_put(&m, &a, STR("key 7"), &value[0]);
    CHECK(map_get(&m, STR("key 7")) == &value[0] && m.used == 1000);
    arena_free(&a);
}

static int files_in(const char *dir)
{
    int n = 0;
    DIR *d = opendir(dir);
    for (struct dirent *e; d && (e = readdir(d));) n += e->d_name[0] != '.';
    if (d) closedir(d);
    return n;
}

static void files(void)
{
    TEST("file");
    Arena a = { 0 };
    Err err = { 0 };
    FileWriter w;
    Str text;
    char dir[] = "/tmp/encoderfile-test-XXXXXX";
    CHECK(mkdtemp(dir));
    const char *path = path_join(&a, dir, STR("a/b/c.bin"));
    CHECK(dir_make_parents(path, &err));
    CHECK(writer_open(&w, &a, path, 0755, &err) && writer_add(&w, "abc", 3, &err) && writer_align(&w, 8, &err));
    CHECK(!file_is(path) && w.written == 8);
    CHECK(writer_commit(&w, &err) && file_is(path) && files_in(path_dir(&a, path)) == 1);
    CHECK(file_read(&a, path, 100, &text, &err) && text.n == 8 && !memcmp(text.p, "abc\0\0\0\0\0", 8));
    struct stat st;
    CHECK(stat(path, &st) == 0 && (st.st_mode & 0100));
    CHECK(file_write(&a, path, STR("new"), &err) && file_read(&a, path, 100, &text, &err) && text.n == 3);
    CHECK(!file_read(&a, path, 2, &text, &err) && err.code == EF_TOO_LARGE);
    CHECK(writer_open(&w, &a, path, 0644, &err));
    writer_abort(&w);
    CHECK(files_in(path_dir(&a, path)) == 1); /* the old one, and nothing else */
    CHECK(!file_read(&a, "/nonexistent/x", 9, &text, &err) && err.code == EF_NOT_FOUND);
    CHECK(!file_read(&a, dir, 9, &text, &err) && says(&err, "found a folder"));
    CHECK(!path_stays_inside(STR("../x")) && !path_stays_inside(STR("/x")) && !path_stays_inside(STR("a/../x")));
    CHECK(path_stays_inside(STR("a/..b/c")) && !path_stays_inside((Str){ "a\0b", 3 }));
    unlink(path);
    rmdir(path_dir(&a, path));
    rmdir(path_join(&a, dir, STR("a")));
    rmdir(dir);
    arena_free(&a);
}

/* What is no regular file keeps being what it is; a link keeps pointing. */
static void files_that_stay(void)
{
    TEST("writing to pipes and through links");
    Arena a = { 0 };
    Err err = { 0 };
    Str text;
    struct stat st;
    Mapping map;
    char dir[] = "/tmp/encoderfile-test-XXXXXX", got[8] = "";
    CHECK(mkdtemp(dir));
    const char *pipe = path_join(&a, dir, STR("pipe")), *link = path_join(&a, dir, STR("link")),
               *file = path_join(&a, dir, STR("file"));
    CHECK(mkfifo(pipe, 0600) == 0 && symlink("file", link) == 0);
    CHECK(!file_map(pipe, &map, &err) && says(&err, "not a regular file")); /* and does not wait */
    int fd = open(pipe, O_RDONLY | O_NONBLOCK);
    CHECK(file_write(&a, pipe, STR("abc"), &err) && read(fd, got, sizeof got) == 3);
    CHECK(lstat(pipe, &st) == 0 && S_ISFIFO(st.st_mode));
    FileWriter w;
    CHECK(!writer_open(&w, &a, pipe, 0755, &err) && says(&err, "not a regular file"));
    CHECK(file_write(&a, file, STR("old"), &err) && file_write(&a, link, STR("newer"), &err));
    CHECK(lstat(link, &st) == 0 && S_ISLNK(st.st_mode));
    CHECK(file_read(&a, file, 100, &text, &err) && str_is(text, "newer"));
    CHECK(file_write(&a, "/dev/null", STR("x"), &err) && stat("/dev/null", &st) == 0 &&
          S_ISCHR(st.st_mode));
    close(fd);
    unlink(pipe), unlink(link), unlink(file), rmdir(dir);
    arena_free(&a);
}

static atomic_int touched[1000];

static void touch(void *arg, int index, int worker)
{
    (void)arg, (void)worker;
    atomic_fetch_add(&touched[index], 1);
}

static void pools(void)
{
    TEST("pool");
    for (int threads = 1; threads <= 4; threads++) {
        Pool *pool = pool_new(threads);
        for (int round = 0; round < 50; round++) pool_for(pool, 1000, touch, NULL);
        pool_for(pool, 0, touch, NULL);
        pool_free(pool);
    }
    bool all = true;
    for (int i = 0; i < 1000; i++) all &= touched[i] == 200;
    CHECK(all);
    CHECK(cpu_count() >= 1);
    uint64_t mask;
    CHECK(cpu_level("scalar", &mask) && mask == 0 && cpu_level("avx2", &mask) && mask & CPU_AVX2 && !cpu_level("z80", &mask));
    CHECK(cpu_level("i8mm", &mask) && mask & CPU_DOTPROD && mask & CPU_I8MM && !(mask & CPU_BF16));
    mask = CPU_SHA | CPU_BF16;
    CHECK(!strcmp(cpu_next(&mask), "sha") && !strcmp(cpu_next(&mask), "bf16") && !cpu_next(&mask));
}

/* ---- a pool whose workers come and go ---- */
enum { GUESTS = 3, CALLS = 40 };
static atomic_int worked[1 + GUESTS]; /* by worker */
static atomic_uint calls;             /* the number of the call, for those who may come */
static Pool *open_pool;

static void note_worker(void *arg, int index, int worker)
{
    touch(arg, index, worker);
    atomic_fetch_add(&worked[worker], 1);
    usleep(20); /* so that others get some */
}

static void *guest_main(void *number)
{
    for (unsigned seen = 0; seen < CALLS;) {
        unsigned call = atomic_load(&calls);
        if (call == seen && usleep(10) == 0) continue;
        pool_help(open_pool, (int)(intptr_t)number, call);
        seen = call;
    }
    return NULL;
}

static void open_pools(void)
{
    TEST("open pool");
    pthread_t guest[GUESTS];
    open_pool = pool_new_open(1 + GUESTS);
    CHECK(pool_threads(open_pool) == 1 && pool_most(open_pool) == 1 + GUESTS);
    for (int i = 0; i < 1000; i++) touched[i] = 0;
    for (intptr_t i = 0; i < GUESTS; i++) pthread_create(&guest[i], NULL, guest_main, (void *)(i + 1));
    for (int round = 0; round < CALLS; round++) {
        unsigned call = pool_call(open_pool, GUESTS);
        CHECK(call == (unsigned)round + 1 && pool_threads(open_pool) == 1 + GUESTS);
        atomic_store(&calls, call);
        for (int i = 0; i < 5; i++) pool_for(open_pool, 40, note_worker, NULL);
        pool_dismiss(open_pool);
        CHECK(pool_threads(open_pool) == 1);
        pool_for(open_pool, 1000, touch, NULL); /* alone */
        pool_help(open_pool, 1, call);          /* too late: it returns at once */
    }
    for (int i = 0; i < GUESTS; i++) pthread_join(guest[i], NULL);
    bool all = true;
    for (int i = 0; i < 1000; i++) all &= touched[i] == (i < 40 ? 6 : 1) * CALLS;
    CHECK(all);
    for (int i = 0; i <= GUESTS; i++) CHECK(worked[i] > 0);
    pool_free(open_pool);
}

/* ---- memory that is missing ---- */
typedef struct Greedy {
    Arena *kept;
    Pool *pool;
    Buf text;
    int done;
} Greedy;

static void want_little(void *arg)
{
    Greedy *g = arg;
    arena_alloc(g->kept, 1000);
    g->done++;
}

/* More than the budget has, in a local arena, with a guarded call inside. */
static void want_much(void *arg)
{
    Greedy *g = arg;
    Shortage inner = { 0 };
    Arena local = { .budget = g->kept->budget, .local = true };
    for (int i = 0; i < 10; i++) arena_raw(&local, 10000);
    CHECK(guarded(want_little, g, &inner));
    arena_raw(g->kept, 1 << 20);
    g->done = -1;
}

static void want_text(void *arg)
{
    Greedy *g = arg;
    for (;;) buf_puts(&g->text, "more and more ");
}

static void want_by_index(void *arg, int index, int worker)
{
    Greedy *g = arg;
    (void)worker;
    if (index == 7) arena_raw(g->kept, 1 << 20);
}

static void want_in_pool(void *arg)
{
    Greedy *g = arg;
    pool_for(g->pool, 64, want_by_index, g);
    g->done = -1;
}

static void test_missing_memory(void)
{
    TEST("memory that is missing");
    Budget all = { .limit = 500 << 10 }, own = { .all = &all };
    Arena kept = { .budget = &own };
    Greedy g = { .kept = &kept, .pool = pool_new(3), .text = { .budget = &own } };
    Shortage shortage = { 0 };
    CHECK(!is_guarded() && guarded(want_little, &g, &shortage) && g.done == 1);
    size_t before = budget_used(&all);
    CHECK(before == kept.total && !guarded(want_much, &g, &shortage) && g.done == 2);
    CHECK(shortage.limit && shortage.wanted == 1 << 20 && shortage.needs > (1 << 20) + 100000);
    CHECK(budget_used(&all) == kept.total && !is_guarded()); /* the local arena has gone */
    CHECK(!guarded(want_text, &g, &shortage) && shortage.limit);
    CHECK(g.text.cap + kept.total == budget_used(&all) && budget_used(&all) <= all.limit);
    CHECK(g.text.n > all.limit / 2 && memcmp(g.text.p, "more and more more", 18) == 0);
    for (int i = 0; i < 20; i++) CHECK(!guarded(want_in_pool, &g, &shortage) && g.done == 2);
    buf_free(&g.text);
    arena_free(&kept);
    CHECK(budget_used(&all) == 0 && budget_used(&own) == 0);
    CHECK(budget_aside(&own, 400 << 10) && !budget_draw(&(Budget){ .all = &all }, 200 << 10));
    own.beside = 1000;
    CHECK(budget_needs(&own, 1 << 10) == (400 << 10) + 1000 && budget_needs(&own, 1 << 20) == (1 << 20) + 1000);
    budget_leave(&own);
    CHECK(budget_used(&all) == 0);
    pool_free(g.pool);
}

int main(void)
{
    arenas();
    strings();
    utf8();
    errors();
    maps();
    files();
    files_that_stay();
    pools();
    open_pools();
    test_missing_memory();
    return finish();
}
