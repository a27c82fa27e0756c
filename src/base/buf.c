/* SPDX-License-Identifier: Apache-2.0
 * buf.c - bytes that grow: replies, files being written, formatted text. */
#include <stdlib.h>

#include "budget.h"

enum { LARGE = 1 << 20 }; /* bytes; from here on half as much again, not twice */

/* In an arena the old block is lost; all lost blocks together are at most as large as the final
 * one. */
static bool grow_in_arena(Buf *buf, size_t cap)
{
    char *p = arena_raw(buf->arena, cap);
    if (buf->n) memcpy(p, buf->p, buf->n);
    buf->p = p;
    buf->cap = cap;
    return true;
}

/* *limit: the budget's word. */
static bool buf_grow_to(Buf *buf, size_t cap, bool *limit)
{
    if (buf->arena) return grow_in_arena(buf, cap);
    if (buf->budget && !budget_draw(buf->budget, cap - buf->cap)) return *limit = true, false;
    char *p = realloc(buf->p, cap);
    if (!p && buf->budget) budget_return(buf->budget, cap - buf->cap);
    if (!p) return false;
    buf->p = p;
    buf->cap = cap;
    return true;
}

/* Grows to twice or one and a half times its size; by a sixteenth if memory is short, so that
 * appending stays linear. */
static bool buf_make_room(Buf *buf, size_t more, bool *limit)
{
    size_t twice = buf->cap < LARGE ? buf->cap * 2 : buf->cap + buf->cap / 2;
    return buf_grow_to(buf, MAX(MAX(twice, (size_t)256), buf->n + more), limit) ||
           buf_grow_to(buf, buf->n + more + buf->cap / 16, limit);
}

bool buf_try(Buf *buf, size_t more)
{
    bool limit;
    return buf->cap - buf->n >= more || buf_make_room(buf, more, &limit);
}

void buf_reserve(Buf *buf, size_t more)
{
    bool limit = false;
    if (buf->cap - buf->n >= more || buf_make_room(buf, more, &limit)) return;
    memory_missing(buf->n + more, buf->budget, limit);
}

void buf_add(Buf *buf, const void *bytes, size_t n)
{
    if (!n) return;
    buf_reserve(buf, n);
    memcpy(buf->p + buf->n, bytes, n);
    buf->n += n;
}

void buf_str(Buf *buf, Str s)
{
    buf_add(buf, s.p, s.n);
}

void buf_puts(Buf *buf, const char *s)
{
    buf_add(buf, s, strlen(s));
}

void buf_char(Buf *buf, char c)
{
    buf_reserve(buf, 1);
    buf->p[buf->n++] = c;
}

void buf_printf(Buf *buf, const char *format, ...)
{
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    buf_reserve(buf, 128);
    int n = text_print(buf->p + buf->n, buf->cap - buf->n, format, args);
    if (n >= 0 && (size_t)n >= buf->cap - buf->n) {
        buf_reserve(buf, (size_t)n + 1);
        text_print(buf->p + buf->n, buf->cap - buf->n, format, again);
    }
    if (n > 0) buf->n += (size_t)n;
    va_end(again);
    va_end(args);
}

void buf_drop(Buf *buf, size_t head)
{
    assert(head <= buf->n);
    memmove(buf->p, buf->p + head, buf->n - head);
    buf->n -= head;
}

void buf_fit(Buf *buf)
{
    char *p = buf->arena || buf->n == 0 ? NULL : realloc(buf->p, buf->n);
    if (!p) return;
    if (buf->budget) budget_return(buf->budget, buf->cap - buf->n);
    buf->p = p;
    buf->cap = buf->n;
}

void buf_free(Buf *buf)
{
    if (buf->budget) budget_return(buf->budget, buf->cap);
    if (!buf->arena) free(buf->p);
    *buf = (Buf){ .arena = buf->arena, .budget = buf->budget };
}
