/* SPDX-License-Identifier: Apache-2.0
 * resuming.c - see resuming.h. */
#include "cli/resuming.h"

#include <math.h>

#include "base/file.h"
#include "data/json.h"

enum { LINE_MOST = 1 << 30 }; /* vectors of every token make long lines */

typedef struct ResumeCheck {
    Resuming *r;
    const char *path;
    Lines out;
    Arena arena;           /* of one line */
    Buf begin;             /* {"id":7, of the record at hand */
} ResumeCheck;

/* How every answer to the record begins. */
static void put_begin(ResumeCheck *c, const Record *record)
{
    c->begin.n = 0;
    record_begin(&c->begin, c->r->in, record);
}

static bool refuse_line(const char *path, uint64_t line, const char *why, Err *err)
{
    return fail(err, EF_INVALID_INPUT, "--resume: %s: line %llu is not of this input and model "
                "(%s); the file was left as it is: give the input and model that it was begun "
                "with, or another --output", path, (unsigned long long)line, why);
}

/* The line that is being looked at, which is whole, goes among the samples. */
static void keep_line(Resuming *r, const Record *record, size_t n)
{
    const uint64_t number = r->lines + 1;
    const uint64_t last = r->samples ? r->sample[r->samples - 1].number : 1;
    if (last & (last - 1)) r->samples--; /* it was only the last so far */
    r->sample[r->samples++] = (ResumingLine){ *record, number, r->bytes, n };
}

static bool is_result(const Task *task, const Value *line, size_t named)
{
    size_t known = named;
    for (const Field *f = task->result; f->name; f++) {
        const bool there = value_get(line, f->name) != NULL;
        if (f->required && !there) return false;
        known += there;
    }
    return known > named && known == line->map.n;
}

static bool check_line(ResumeCheck *c, const Record *record, Str line, Err *err)
{
    Value v;
    Err ignored;
    Resuming *r = c->r;
    const uint64_t number = r->lines + 1;
    put_begin(c, record);
    if (line.n < c->begin.n || memcmp(line.p, c->begin.p, c->begin.n) != 0)
        return refuse_line(c->path, number, record->id ? "it has another id" : "it is no answer", err);
    if (!json_parse(&c->arena, line, &v, &ignored))
        return refuse_line(c->path, number, "it is no JSON", err);
    const Value *error = value_get(&v, "error");
    if (error ? !value_get(error, "message") || !value_get(error, "type")
              : record->err.code != EF_OK || !is_result(r->task, &v, record_members(r->in, record)))
        return refuse_line(c->path, number, "it is no answer", err);
    keep_line(r, record, line.n);
    r->lines++;
    r->errors += error != NULL;
    r->bytes += line.n + 1;
    return true;
}

/* Whether the last line, which has no end, goes like begin, "member": and how its value begins. */
static bool goes_like(ResumeCheck *c, Str line, const char *member, const char *value)
{
    const size_t n = c->begin.n;
    buf_printf(&c->begin, "\"%s\":%s", member, value);
    const bool same = memcmp(line.p, c->begin.p, MIN(line.n, c->begin.n)) == 0;
    c->begin.n = n;
    return same;
}

static bool check_tail(ResumeCheck *c, const Record *record, Str line, Err *err)
{
    put_begin(c, record);
    bool ok = goes_like(c, line, "error", "{");
    for (const Field *f = c->r->task->result; f->name && !ok && record->err.code == EF_OK; f++)
        ok = goes_like(c, line, f->name, f->repeated && !f->or_base64 ? "[" : "");
    return ok || refuse_line(c->path, c->r->lines + 1, "it does not begin like an answer", err);
}

/* Where the record lives that line `number` answers: as long as the line may be a sample. */
static Arena *record_arena(Resuming *r, uint64_t number, bool whole)
{
    enum { KEPT = 1 << 20 };
    Arena *last = &r->last[number & 1];
    if (!whole || (number & (number - 1)) == 0) return &r->arena;
    arena_reset(last, KEPT);
    return last;
}

/* The next line and the record that it should answer. */
static bool check_next(ResumeCheck *c, bool *more, Err *err)
{
    Str line;
    bool another;
    Resuming *r = c->r;
    Record record;
    if (!lines_next(&c->out, &line, more, err)) return false;
    if (!*more) return true;
    const bool whole = c->out.buf.p[c->out.at - 1] == '\n';
    do {
        if (!records_next(r->in, record_arena(r, r->lines + 1, whole), &record, &another, err)) return false;
    } while (another && record.nothing);
    if (!another) return refuse_line(c->path, r->lines + 1, "the input has no such line", err);
    if (whole) return check_line(c, &record, line, err);
    r->next = record, r->ahead = true;
    return check_tail(c, &record, line, err);
}

bool resuming_check(Resuming *r, const char *path, Err *err)
{
    enum { KEPT = 1 << 20 };
    ResumeCheck c = { .r = r, .path = path };
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

/* ---- the same answers ---- */
static bool near(const Value *a, const Value *b)
{
    static const double most = 1e-3; /* more than CPUs differ by, less than texts do */
    const double x = value_float(a, NAN), y = value_float(b, NAN);
    return x == y || (isnan(x) && isnan(y)) || fabs(x - y) <= most * (1 + fabs(y));
}

bool resuming_same_value(const Value *a, const Value *b)
{
    const bool number = a->kind == V_INT || a->kind == V_FLOAT;
    if (a->kind == V_INT && b->kind == V_INT) return value_int(a, 0) == value_int(b, 0);
    if (number && (b->kind == V_INT || b->kind == V_FLOAT)) return near(a, b);
    if (a->kind != b->kind) return false;
    if (a->kind == V_STR || a->kind == V_BYTES) return str_eq(a->s, b->s);
    if (a->kind == V_BOOL) return a->b == b->b;
    bool same = true;
    if (a->kind == V_LIST) {
        same = a->list.n == b->list.n;
        for (size_t i = 0; same && i < a->list.n; i++)
            same = resuming_same_value(&a->list.items[i], &b->list.items[i]);
    } else if (a->kind == V_MAP) {
        same = a->map.n == b->map.n;
        for (size_t i = 0; same && i < a->map.n; i++)
            same = str_eq(a->map.items[i].key, b->map.items[i].key) &&
                   resuming_same_value(&a->map.items[i].value, &b->map.items[i].value);
    }
    return same;
}

static bool same_line(Arena *arena, Str before, Str now)
{
    Value a, b;
    Err ignored;
    return json_parse(arena, before, &a, &ignored) && json_parse(arena, now, &b, &ignored) &&
           (value_get(&a, "error") || resuming_same_value(&a, &b));
}

bool resuming_same(const Resuming *r, const char *path, Str answers, Err *err)
{
    Mapping file;
    Arena arena = { 0 };
    bool same = true;
    if (!file_map(path, &file, err)) return false;
    for (int i = 0; same && i < r->samples; i++) {
        const ResumingLine *s = &r->sample[i];
        const char *end = memchr(answers.p, '\n', answers.n);
        assert(end && s->at + s->n <= file.n);
        const Str now = { answers.p, (size_t)(end - answers.p) };
        same = same_line(&arena, (Str){ (const char *)file.p + s->at, s->n }, now) ||
               refuse_line(path, s->number, "its record has another answer now", err);
        answers.p = end + 1, answers.n -= now.n + 1;
    }
    arena_free(&arena);
    file_unmap(&file);
    return same;
}

void resuming_free(Resuming *r)
{
    arena_free(&r->arena), arena_free(&r->last[0]), arena_free(&r->last[1]);
}
