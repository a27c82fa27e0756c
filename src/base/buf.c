/* SPDX-License-Identifier: Apache-2.0
 * buf.c - bytes that grow: replies, files being written, formatted text. */
#include <stdlib.h>

#include "base.h"

void buf_reserve(Buf *buf, size_t more)
{
    if (buf->cap - buf->n >= more) return;
    size_t cap = MAX(MAX(buf->cap * 2, (size_t)256), buf->n + more);
    char *p = realloc(buf->p, cap);
    if (!p) {
        fprintf(stderr, "encoderfile: out of memory (%zu bytes)\n", cap);
        abort();
    }
    buf->p = p;
    buf->cap = cap;
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
    int n = vsnprintf(buf->p + buf->n, buf->cap - buf->n, format, args);
    if (n >= 0 && (size_t)n >= buf->cap - buf->n) {
        buf_reserve(buf, (size_t)n + 1);
        vsnprintf(buf->p + buf->n, buf->cap - buf->n, format, again);
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

void buf_free(Buf *buf)
{
    free(buf->p);
    *buf = (Buf){ 0 };
}
