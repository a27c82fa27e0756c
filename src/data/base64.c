/* SPDX-License-Identifier: Apache-2.0
 * base64.c - three bytes are four digits. Weights pass through here, so whole groups take no branch
 * but the one that asks whether all four digits were good. */
#include "base64.h"

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
enum { BAD = 64 };

void base64_write(Buf *out, Str bytes)
{
    buf_reserve(out, bytes.n / 3 * 4 + 4);
    const unsigned char *p = (const unsigned char *)bytes.p;
    char *to = out->p + out->n;
    size_t left = bytes.n;
    for (; left >= 3; left -= 3, p += 3) {
        *to++ = digits[p[0] >> 2];
        *to++ = digits[(p[0] & 3) << 4 | p[1] >> 4];
        *to++ = digits[(p[1] & 15) << 2 | p[2] >> 6];
        *to++ = digits[p[2] & 63];
    }
    if (left) {
        unsigned second = left == 2 ? p[1] : 0;
        *to++ = digits[p[0] >> 2];
        *to++ = digits[(p[0] & 3) << 4 | second >> 4];
        *to++ = left == 2 ? digits[(second & 15) << 2] : '=';
        *to++ = '=';
    }
    out->n = (size_t)(to - out->p);
}

static void fill_values(unsigned char value[256])
{
    memset(value, BAD, 256);
    for (int i = 0; i < 64; i++) value[(unsigned char)digits[i]] = (unsigned char)i;
}

bool base64_read(Arena *arena, Str text, Str *bytes)
{
    unsigned char value[256], bad = 0;
    fill_values(value);
    for (int i = 0; i < 2 && text.n && text.p[text.n - 1] == '='; i++) text.n--;
    const unsigned char *p = (const unsigned char *)text.p;
    unsigned char *to = arena_raw(arena, text.n / 4 * 3 + 4);
    size_t n = 0, left = text.n;
    for (; left >= 4; left -= 4, p += 4) {
        unsigned char a = value[p[0]], b = value[p[1]], c = value[p[2]], d = value[p[3]];
        bad |= a | b | c | d;
        to[n++] = (unsigned char)(a << 2 | b >> 4);
        to[n++] = (unsigned char)(b << 4 | c >> 2);
        to[n++] = (unsigned char)(c << 6 | d);
    }
    if (left > 1) {
        unsigned char a = value[p[0]], b = value[p[1]], c = left == 3 ? value[p[2]] : 0;
        bad |= a | b | c;
        to[n++] = (unsigned char)(a << 2 | b >> 4);
        if (left == 3) to[n++] = (unsigned char)(b << 4 | c >> 2);
    }
    *bytes = (Str){ (const char *)to, n };
    return left != 1 && !(bad & BAD);
}
