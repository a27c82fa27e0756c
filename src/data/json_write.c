/* SPDX-License-Identifier: Apache-2.0
 * json_write.c - Value to JSON text, compact or indented. Replies are mostly floats, so those are
 * written straight into the buffer, a block of them to one reservation. */
#include <math.h>

#include "base64.h"
#include "json.h"
#include "number.h"

typedef struct JsonWriter {
    Buf *b;
    bool pretty;
    int depth;
} JsonWriter;

static void write_value(JsonWriter *w, const Value *v);

/* ---- strings ---- */
/* What follows the backslash; 'u' for a code, 0 for none. */
static char escape_of(unsigned char c)
{
    switch (c) {
    case '"': return '"';
    case '\\': return '\\';
    case '\b': return 'b';
    case '\f': return 'f';
    case '\n': return 'n';
    case '\r': return 'r';
    case '\t': return 't';
    default: return c < ' ' ? 'u' : 0;
    }
}

void json_write_string(Buf *b, Str s)
{
    buf_reserve(b, s.n + 2);
    buf_char(b, '"');
    size_t done = 0;
    for (size_t i = 0; i < s.n; i++) {
        char escape = escape_of((unsigned char)s.p[i]);
        if (!escape) continue;
        buf_add(b, s.p + done, i - done);
        done = i + 1;
        buf_char(b, '\\');
        buf_char(b, escape);
        if (escape == 'u') buf_printf(b, "00%02x", s.p[i]);
    }
    if (done < s.n) buf_add(b, s.p + done, s.n - done);
    buf_char(b, '"');
}

/* ---- numbers ---- */
static char *put_f32(char *out, float x)
{
    if (isfinite(x)) return number_write_f32(out, x);
    return (char *)memcpy(out, "null", 4) + 4;
}

void json_write_f32(Buf *b, float x)
{
    buf_reserve(b, NUMBER_ROOM);
    b->n = (size_t)(put_f32(b->p + b->n, x) - b->p);
}

static void write_f64(Buf *b, double x)
{
    if (!isfinite(x)) return buf_puts(b, "null");
    buf_reserve(b, NUMBER_ROOM);
    b->n = (size_t)(number_write_f64(b->p + b->n, x) - b->p);
}

static void write_int(Buf *b, int64_t n)
{
    buf_reserve(b, NUMBER_ROOM);
    b->n = (size_t)(number_write_int(b->p + b->n, n) - b->p);
}

/* ---- lists and maps ---- */
static void new_line(const JsonWriter *w)
{
    if (!w->pretty) return;
    size_t size = (size_t)w->depth * 2 + 1;
    buf_reserve(w->b, size);
    memset(w->b->p + w->b->n, ' ', size);
    w->b->p[w->b->n] = '\n';
    w->b->n += size;
}

/* Before child i: the comma and the line end. */
static void json_write_comma(const JsonWriter *w, size_t i)
{
    if (i) buf_char(w->b, ',');
    new_line(w);
}

static void json_write_open(JsonWriter *w, char bracket)
{
    buf_char(w->b, bracket);
    w->depth++;
}

static void json_write_close(JsonWriter *w, char bracket, size_t children)
{
    w->depth--;
    if (children) new_line(w);
    buf_char(w->b, bracket);
}

static void write_list(JsonWriter *w, const Value *v)
{
    json_write_open(w, '[');
    for (size_t i = 0; i < v->list.n; i++) {
        json_write_comma(w, i);
        write_value(w, &v->list.items[i]);
    }
    json_write_close(w, ']', v->list.n);
}

static void write_map(JsonWriter *w, const Value *v)
{
    json_write_open(w, '{');
    for (size_t i = 0; i < v->map.n; i++) {
        json_write_comma(w, i);
        json_write_string(w->b, v->map.items[i].key);
        buf_puts(w->b, w->pretty ? ": " : ":");
        write_value(w, &v->map.items[i].value);
    }
    json_write_close(w, '}', v->map.n);
}

/* Compact: no function call for a comma, one reservation for a block. */
static void write_block(Buf *b, const float *x, size_t n)
{
    buf_reserve(b, n * (NUMBER_ROOM + 1));
    char *p = b->p + b->n;
    for (size_t i = 0; i < n; i++) {
        p = put_f32(p, x[i]);
        *p++ = ',';
    }
    b->n = (size_t)(p - b->p);
}

static void write_floats(JsonWriter *w, const float *x, size_t n)
{
    json_write_open(w, '[');
    if (w->pretty) {
        for (size_t i = 0; i < n; i++) json_write_comma(w, i), json_write_f32(w->b, x[i]);
    } else if (n) {
        for (size_t i = 0; i < n; i += 64) write_block(w->b, x + i, MIN(n - i, (size_t)64));
        w->b->n--; /* the last comma */
    }
    json_write_close(w, ']', n);
}

static void write_value(JsonWriter *w, const Value *v)
{
    switch (v->kind) {
    case V_NULL: return buf_puts(w->b, "null");
    case V_BOOL: return buf_puts(w->b, v->b ? "true" : "false");
    case V_INT: return write_int(w->b, v->i);
    case V_UINT: return buf_printf(w->b, "%llu", (unsigned long long)v->u);
    case V_FLOAT: return write_f64(w->b, v->f);
    case V_STR: return json_write_string(w->b, v->s);
    case V_LIST: return write_list(w, v);
    case V_MAP: return write_map(w, v);
    case V_F32: return write_floats(w, v->f32.p, v->f32.n);
    case V_BYTES:
        buf_char(w->b, '"');
        base64_write(w->b, v->s);
        return buf_char(w->b, '"');
    }
}

void json_write(Buf *b, const Value *v)
{
    write_value(&(JsonWriter){ b, false, 0 }, v);
}

void json_write_pretty(Buf *b, const Value *v)
{
    write_value(&(JsonWriter){ b, true, 0 }, v);
}
