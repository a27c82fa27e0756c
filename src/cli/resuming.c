/* SPDX-License-Identifier: Apache-2.0
 * resuming.c - see resuming.h. */
#include "cli/resuming.h"

#include "data/json.h"

enum { LINE_MOST = 1 << 30 }; /* vectors of every token make long lines */

typedef struct Check {
    Resuming *r;
    const char *path;
    Lines out;
    Arena arena;           /* of one line */
    Buf begin;             /* {"id":7, of the record at hand */
} Check;

/* How every answer to the record begins. */
static void put_begin(Check *c, const Record *record)
{
    c->begin.n = 0;
    buf_char(&c->begin, '{');
    if (!record->id) return;
    buf_puts(&c->begin, "\"id\":");
    json_write(&c->begin, record->id);
    buf_char(&c->begin, ',');
}

static bool refuse_line(const Check *c, uint64_t line, const char *why, Err *err)
{
    return fail(err, EF_INVALID_INPUT, "--resume: %s: line %llu is not of this input and model "
                "(%s); the file was left as it is", c->path, (unsigned long long)line, why);
}

static bool is_result(const Task *task, const Value *line, bool named)
{
    size_t known = named;
    for (const Field *f = task->result; f->name; f++) {
        const bool there = value_get(line, f->name) != NULL;
        if (f->required && !there) return false;
        known += there;
    }
    return known > named && known == line->map.n;
}

static bool check_line(Check *c, const Record *record, Str line, Err *err)
{
    Value v;
    Err ignored;
    Resuming *r = c->r;
    const uint64_t number = r->lines + 1;
    put_begin(c, record);
    if (line.n < c->begin.n || memcmp(line.p, c->begin.p, c->begin.n) != 0)
        return refuse_line(c, number, record->id ? "it has another id" : "it is no answer", err);
    if (!json_parse(&c->arena, line, &v, &ignored))
        return refuse_line(c, number, "it is no JSON", err);
    const Value *error = value_get(&v, "error");
    if (error ? !value_get(error, "message") || !value_get(error, "type")
              : record->err.code != EF_OK || !is_result(r->task, &v, record->id != NULL))
        return refuse_line(c, number, "it is no answer", err);
    r->lines++;
    r->errors += error != NULL;
    r->bytes += line.n + 1;
    return true;
}

/* Whether the last line, which has no end, goes like begin, "member": and how its value begins. */
static bool goes_like(Check *c, Str line, const char *member, const char *value)
{
    const size_t n = c->begin.n;
    buf_printf(&c->begin, "\"%s\":%s", member, value);
    const bool same = memcmp(line.p, c->begin.p, MIN(line.n, c->begin.n)) == 0;
    c->begin.n = n;
    return same;
}

static bool check_tail(Check *c, const Record *record, Str line, Err *err)
{
    put_begin(c, record);
    bool ok = goes_like(c, line, "error", "{");
    for (const Field *f = c->r->task->result; f->name && !ok && record->err.code == EF_OK; f++)
        ok = goes_like(c, line, f->name, f->repeated && !f->or_base64 ? "[" : "");
    return ok || refuse_line(c, c->r->lines + 1, "it does not begin like an answer", err);
}

/* The next line and the record that it should answer. */
static bool check_next(Check *c, bool *more, Err *err)
{
    Str line;
    bool another;
    Resuming *r = c->r;
    Record record;
    if (!lines_next(&c->out, &line, more, err)) return false;
    if (!*more) return true;
    const bool whole = c->out.buf.p[c->out.at - 1] == '\n';
    if (!records_next(r->in, whole ? &c->arena : &r->arena, &record, &another, err)) return false;
    if (!another) return refuse_line(c, r->lines + 1, "the input has no such line", err);
    if (whole) return check_line(c, &record, line, err);
    r->next = record, r->ahead = true;
    return check_tail(c, &record, line, err);
}

bool resuming_check(Resuming *r, const char *path, Err *err)
{
    enum { KEPT = 1 << 20 };
    Check c = { .r = r, .path = path };
    bool more = true, ok = lines_open(&c.out, path, err);
    c.out.most = LINE_MOST;
    while (ok && more) {
        ok = check_next(&c, &more, err);
        arena_reset(&c.arena, KEPT);
    }
    lines_close(&c.out);
    arena_free(&c.arena);
    buf_free(&c.begin);
    return ok;
}
