/* SPDX-License-Identifier: Apache-2.0
 * test_data_csv.c - records of CSV both ways, and streams line by line. */
#include <unistd.h>

#include "base/lines.h"
#include "check.h"
#include "data/csv.h"

/* The record's fields joined by '|', or the error's message. */
static const char *fields(Arena *arena, const char *record)
{
    Str *field;
    size_t n;
    Err err = { 0 };
    char *out = "";
    if (!csv_read(arena, str_of(record), &field, &n, &err)) return str_dup(arena, str_of(err.message));
    for (size_t i = 0; i < n; i++) out = str_format(arena, "%s%s%.*s", out, i ? "|" : "", STR_ARG(field[i]));
    return out;
}

static void test_read(void)
{
    TEST("read");
    static const struct { const char *record, *wanted; } rows[] = {
        { "", "" },
        { "a", "a" },
        { "a,b c,", "a|b c|" },
        { ",,", "||" },
        { "\"a,b\",c", "a,b|c" },
        { "\"say \"\"hi\"\"\"", "say \"hi\"" },
        { "\"two\nlines\",\"\"", "two\nlines|" },
        { "a\"b", "column 2: found a quote inside a field that has none in front" },
        { "\"a\"b", "column 4: found text behind a closing quote, wanted a comma" },
        { "\"a", "found a quote that is never closed" },
    };
    Arena arena = { 0 };
    for (size_t i = 0; i < COUNT(rows); i++)
        CHECK(strcmp(fields(&arena, rows[i].record), rows[i].wanted) == 0);
    CHECK(csv_open_ended(STR("a,\"b")) && !csv_open_ended(STR("a,\"b\"")));
    arena_free(&arena);
}

static void test_write(void)
{
    TEST("write");
    Buf b = { 0 };
    csv_write(&b, STR("plain"));
    buf_char(&b, ',');
    csv_write(&b, STR("a,b"));
    buf_char(&b, ',');
    csv_write(&b, STR("\"q\"\n"));
    CHECK(str_is(buf_view(&b), "plain,\"a,b\",\"\"\"q\"\"\n\""));
    buf_free(&b);
}

/* Lines of every length around the block's, and a last one without its end. */
static void test_lines(void)
{
    TEST("lines");
    char path[] = "/tmp/lines-XXXXXX";
    FILE *f = fdopen(mkstemp(path), "w");
    for (int i = 0; i < 300; i++) fprintf(f, "%0*d\n", i * 450 + 1, 0);
    fprintf(f, "\nend");
    fclose(f);
    Lines l;
    Str line;
    Err err = { 0 };
    bool more = false, same = lines_open(&l, path, &err);
    for (int i = 0; same && i < 300; i++)
        same = lines_next(&l, &line, &more, &err) && more && line.n == (size_t)i * 450 + 1;
    CHECK(same);
    CHECK(lines_next(&l, &line, &more, &err) && more && line.n == 0);
    CHECK(lines_next(&l, &line, &more, &err) && more && str_is(line, "end") && l.number == 302);
    CHECK(lines_next(&l, &line, &more, &err) && !more);
    lines_close(&l);
    CHECK(truncate(path, 0) == 0 && truncate(path, (off_t)LINE_LIMIT + (1 << 20)) == 0);
    CHECK(lines_open(&l, path, &err) && !lines_next(&l, &line, &more, &err) && says(&err, "line 1"));
    lines_close(&l);
    unlink(path);
    CHECK(!lines_open(&l, path, &err) && says(&err, "cannot be opened"));
}

int main(void)
{
    test_read();
    test_write();
    test_lines();
    return finish();
}
