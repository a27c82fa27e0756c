/* SPDX-License-Identifier: Apache-2.0
 * test_input_ocr.c - words of pages by Tesseract: its tables to the words and boxes that transformers makes of
 * them (tools/oracle/documents.py), tables that make no sense, and programs that do not do what they should. */
#define GOLDEN "tests/golden/documents/"
#include <stdlib.h>
#include <sys/stat.h>

#include "data/base64.h"
#include "folder.h"
#include "input/ocr.h"
#include "item_case.h"

static char folder[] = "/tmp/ef_ocr_XXXXXX";

/* ---- tables ---- */
static int tables;

static void compare_table(Arena *arena, const Value *row)
{
    Item item = { 0 };
    Err err = { 0 };
    const Value *words = value_get(row, "words"), *boxes = value_get(row, "boxes");
    bool ok = ocr_table(arena, value_get(row, "table")->s, (int)value_int(value_get(row, "width"), 0),
                        (int)value_int(value_get(row, "height"), 0), &item, &err);
    if (!CHECK(ok && item.n == words->list.n)) return;
    for (size_t i = 0; i < item.n; i++) {
        CHECK(str_eq(item.list[i], words->list.items[i].s));
        for (size_t k = 0; k < BOX_SIDES; k++)
            CHECK(item.boxes[i * BOX_SIDES + k] == boxes->list.items[i].list.items[k].i);
    }
    tables++;
}

#define HEAD "level\tpage_num\tblock_num\tpar_num\tline_num\tword_num\tleft\ttop\twidth\theight\tconf\ttext\n"
#define CELL "5\t1\t1\t1\t1\t1\t"
static const struct Table {
    const char *text;
    int words;                   /* -1: an error that says: */
    const char *says;
} odd[] = {
    { HEAD, 0, NULL },
    { HEAD "1\t1\t0\t0\t0\t0\t0\t0\t100\t50\t-1\t\n", 0, NULL },
    { HEAD CELL "0\t0\t100\t50\t9\tall\n", 1, NULL },
    { HEAD CELL "0\t0\t100\t50\t9\tall", 1, NULL },
    { HEAD CELL "0\t0\t100\t50\t9\tall\r\n" CELL "0\t0\t1\t1\t9\t \n\n\n", 1, NULL },
    { HEAD CELL "0\n" CELL "\n\t\t\t\t\t\t\t\t\t\t\t\t\t\t\n", 0, NULL },
    { "", -1, "found no column \"left\" in its first line" },
    { "Estimating resolution as 70\n" HEAD, -1, "found no column \"left\"" },
    { "left\ttop\twidth\theight\n", -1, "found no column \"text\"" },
    { HEAD CELL "0\t0\t101\t50\t9\tall\n", -1, "line 2: found a word that ends at 101, 50, wanted one inside the page of 100 x 50" },
    { HEAD CELL "0\t-1\t1\t5\t9\tall\n", -1, "line 2: top: found \"-1\", wanted a number of pixels" },
    { HEAD CELL "0\tx\t1\t5\t9\tall\n", -1, "line 2: top: found \"x\"" },
    { HEAD CELL "0\t\t1\t5\t9\tall\n", -1, "line 2: top: found \"\"" },
    { HEAD CELL "0\t\xff\xfe\t1\t5\t9\tall\n", -1, "line 2: top: found \"\"" }, /* a message is UTF-8 */
    { HEAD CELL "0\t99999999999999999999\t1\t5\t9\tall\n", -1, "line 2: top: found \"99999999999999999999\"" },
    { HEAD CELL "0\t1\t1\t2147483648\t9\tall\n", -1, "line 2: height: found \"2147483648\"" },
    { HEAD CELL "0\t0\t1\t1\t9\t\xff\xfe\n", -1, "line 2: found text that is not UTF-8" },
};

static void test_tables(void)
{
    TEST("tables that make no sense");
    Arena arena = { 0 };
    for (size_t i = 0; i < COUNT(odd); i++) {
        Item item = { .second = STR("kept") };
        Err err = { 0 };
        bool ok = ocr_table(&arena, str_of(odd[i].text), 100, 50, &item, &err);
        if (!CHECK(odd[i].words < 0 ? !ok && says(&err, odd[i].says) : ok && (int)item.n == odd[i].words && item.boxes))
            printf("  table %zu: %s\n", i, err.message);
        CHECK(str_is(item.second, "kept"));
    }
    Buf much = { .arena = &arena };
    buf_puts(&much, HEAD);
    for (int i = 0; i <= PAGE_WORDS_MOST; i++) buf_puts(&much, CELL "0\t0\t1\t1\t9\ta\n");
    Item item = { 0 };
    Err err = { 0 };
    CHECK(!ocr_table(&arena, buf_view(&much), 100, 50, &item, &err) && err.code == EF_TOO_LARGE);
    arena_free(&arena);
}

/* ---- programs ---- */
static const char *fake(Arena *arena, const char *text)
{
    Err err = { 0 };
    const char *path = str_format(arena, "%s/tesseract", folder);
    CHECK(file_write(arena, path, str_of(str_format(arena, "#!/bin/sh\n%s\n", text)), &err));
    chmod(path, 0755);
    return path;
}

/* A question about a page that came as a picture. */
static void ask(const Model *m, const char *program, double seconds, const char *want, ef_code code)
{
    Arena arena = { 0 };
    Str png;
    Err err = { 0 };
    Buf body = { .arena = &arena };
    CHECK(file_read(&arena, GOLDEN "invoice.png", 1 << 20, &png, &err));
    buf_puts(&body, "{\"question\":\"What is the total?\",\"image\":\"");
    base64_write(&body, png);
    buf_puts(&body, "\"}");
    SessionOptions how = { .threads = 1, .ocr = program ? fake(&arena, program) : NULL, .ocr_seconds = seconds };
    ItemModel one = { .session = job_session(m, &how) };
    Job *job = item_run(&one, buf_view(&body), NULL);
    Str text = buf_view(&job->out.text);
    bool same = code ? job->work.err.code == code && says(&job->work.err, want)
                     : job->work.err.code == EF_OK && memmem(text.p, text.n, want, strlen(want));
    if (!CHECK(same)) printf("  %d %s\n  %.*s\n", job->work.err.code, job->work.err.message, (int)MIN(text.n, 300), text.p);
    job_free(job);
    session_free(one.session);
    arena_free(&arena);
}

/* It reads the whole page, as PNM, and knows these words: the page is 240 x 320. */
#define READ "[ \"$*\" = \"stdin stdout -c tessedit_create_tsv=1\" ] || exit 7\n" \
             "/usr/bin/head -c 15 | /bin/grep -aq '240 320' || exit 8; /bin/cat >/dev/null\n"
#define TABLE "printf 'left\\ttop\\twidth\\theight\\ttext\\n'; "

static void test_programs(const Model *m)
{
    TEST("programs");
    ask(m, NULL, 0, "inputs[0]: found an image without its words", EF_INVALID_INPUT);
    ask(m, READ TABLE "printf '24\\t32\\t48\\t32\\tAda\\n0\\t0\\t0\\t0\\t\\n'", 0, "\"answer\":\"Ada\",\"start\":0,\"end\":0", EF_OK);
    ask(m, READ TABLE, 0, "\"answers\":[]", EF_OK); /* a blank page */
    ask(m, READ "echo 'Error opening data file eng.traineddata' >&2; exit 1", 0,
        "inputs[0]: the words of the page: tesseract: ended with status 1: Error opening data file", EF_UNAVAILABLE);
    ask(m, "exec /bin/sleep 100", 0.2, "tesseract: did not end within 0.2 seconds", EF_DEADLINE);
    ask(m, "exec /usr/bin/yes", 0, "tesseract: wrote more than 4194304 bytes", EF_TOO_LARGE);
    ask(m, "kill -SEGV $$", 0, "tesseract: ended by signal 11", EF_UNAVAILABLE);
    ask(m, READ "/usr/bin/head -c 5000 /dev/urandom", 0, "found no column", EF_UNAVAILABLE);
    ask(m, READ TABLE "printf '900\\t0\\t1\\t1\\tAda\\n'", 0, "found a word that ends at 901, 1", EF_UNAVAILABLE);
}

/* So many pages in one request: no more than 16 of them are read, but for who sets no limit at all. */
static void ask_pages(const Model *m, int pages, size_t max_inputs, bool ok)
{
    Arena arena = { 0 };
    Str png;
    Err err = { 0 };
    Buf body = { .arena = &arena };
    CHECK(file_read(&arena, GOLDEN "invoice.png", 1 << 20, &png, &err));
    buf_puts(&body, "{\"inputs\":[");
    for (int i = 0; i < pages; i++) {
        buf_puts(&body, i ? ",{\"question\":\"a\",\"image\":\"" : "{\"question\":\"a\",\"image\":\"");
        base64_write(&body, png);
        buf_puts(&body, "\"}");
    }
    buf_puts(&body, "]}");
    SessionOptions how = { .threads = 1, .max_inputs = max_inputs, .ocr = fake(&arena, READ TABLE) };
    ItemModel one = { .session = job_session(m, &how) };
    Job *job = item_run(&one, buf_view(&body), NULL);
    CHECK(ok ? job->work.err.code == EF_OK
             : job->work.err.code == EF_TOO_LARGE &&
                   says(&job->work.err, "inputs: found 17 images without their words, wanted at most 16 in a request"));
    job_free(job);
    session_free(one.session);
    arena_free(&arena);
}

static void test_many_pages(const Model *m)
{
    TEST("pages of a request");
    ask_pages(m, 16, 0, true);
    ask_pages(m, 17, 0, false);
    ask_pages(m, 17, SIZE_MAX, true);
}

int main(void)
{
    TEST("tables");
    replay_lines(GOLDEN "ocr.jsonl", compare_table);
    CHECK(tables == 3);
    test_tables();
    ItemModel m = { .name = "layoutlm_qa" };
    if (CHECK(mkdtemp(folder)) && item_open(&m, GOLDEN)) test_programs(m.model), test_many_pages(m.model);
    item_close(&m);
    remove_tree(folder);
    return finish();
}
