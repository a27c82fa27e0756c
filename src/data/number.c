/* SPDX-License-Identifier: Apache-2.0
 * number.c - decimal text to double and back. strtod and snprintf do the hard cases; they never see
 * a decimal point (or theirs is skipped), so a host program's locale cannot change what we read. */
#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "number.h"

enum {
    FAST_DIGITS = 19, /* fit 64 bits */
    MOST_DIGITS = 770 /* no double and no midpoint has more digits; further ones only break a tie */
};

typedef struct Scan {
    uint64_t n;       /* the first 19 digits, leading zeros not counted */
    int kept;         /* digits kept, at most `keep` */
    bool more;        /* a digit other than zero was dropped */
    int64_t exponent; /* value = kept digits * 10^exponent */
} Scan;

static const char *scan_exponent(const char *p, const char *end, int64_t *exponent)
{
    bool negative = p < end && *p == '-';
    if (p < end && (*p == '-' || *p == '+')) p++;
    int64_t n = 0;
    for (; p < end; p++)
        if (n < INT64_MAX / 100) n = n * 10 + (*p - '0');
    *exponent += negative ? -n : n;
    return p;
}

static inline void scan_digit(Scan *s, char digit, char *copy, int keep)
{
    if (!s->kept && digit == '0') return;
    if (s->kept == keep) {
        s->exponent++;
        s->more |= digit != '0';
        return;
    }
    if (s->kept < FAST_DIGITS) s->n = s->n * 10 + (uint64_t)(digit - '0');
    if (copy) copy[s->kept] = digit;
    s->kept++;
}

/* text without its sign; copy may be NULL. */
static Scan number_scan(Str text, char *copy, int keep)
{
    Scan s = { 0 };
    bool after_point = false;
    for (const char *p = text.p, *end = p + text.n; p < end;) {
        char c = *p++;
        if (c == '.') {
            after_point = true;
        } else if ((c | 32) == 'e') {
            p = scan_exponent(p, end, &s.exponent);
        } else {
            s.exponent -= after_point;
            scan_digit(&s, c, copy, keep);
        }
    }
    return s;
}

static double read_slowly(Str text)
{
    char copy[MOST_DIGITS + 16];
    Scan s = number_scan(text, copy, MOST_DIGITS);
    if (s.more) copy[s.kept++] = '1', s.exponent--;
    int exponent = (int)MAX(-9999, MIN(9999, s.exponent));
    snprintf(copy + s.kept, sizeof copy - (size_t)s.kept, "e%d", exponent);
    return strtod(copy, NULL);
}

double number_read(Str text)
{
    static const double tens[] = { 1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                   1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                   1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22 };
    bool negative = text.n && *text.p == '-';
    if (text.n && (*text.p == '-' || *text.p == '+')) text.p++, text.n--;
    Scan s = number_scan(text, NULL, FAST_DIGITS);
    double x = (double)s.n;
    bool exact = !s.more && s.n <= 1ull << 53 && s.exponent >= -22 && s.exponent <= 22;
    if (s.n == 0)
        x = 0;
    else if (exact) /* both are exact, so the result is rounded once */
        x = s.exponent < 0 ? x / tens[-s.exponent] : x * tens[s.exponent];
    else
        x = read_slowly(text);
    return negative ? -x : x;
}

static char *number_put(char *out, const char *digits, int count)
{
    for (int i = 0; i < count; i++) out[i] = digits[i];
    return out + count;
}

static char *put_zeros(char *out, int count)
{
    for (int i = 0; i < count; i++) out[i] = '0';
    return out + MAX(count, 0);
}

char *number_layout(char *out, const char *digits, int count, int point)
{
    if (point < -4 || point > 16) {
        *out++ = digits[0];
        if (count > 1) *out++ = '.';
        out = number_put(out, digits + 1, count - 1);
        *out++ = 'e';
        return number_write_int(out, point - 1);
    }
    if (point <= 0) {
        *out++ = '0';
        *out++ = '.';
        return number_put(put_zeros(out, -point), digits, count);
    }
    out = number_put(out, digits, MIN(count, point));
    out = put_zeros(out, point - count);
    *out++ = '.';
    if (count > point) return number_put(out, digits + point, count - point);
    *out++ = '0';
    return out;
}

/* "-1.2500e+03" to the digits 125 and the place of their point, 4; any decimal point will do. */
static int number_digits_of(const char *text, char *digits, int *point)
{
    int count = 0;
    for (; *text != 'e'; text++)
        if (*text >= '0' && *text <= '9') digits[count++] = *text;
    *point = atoi(text + 1) + 1;
    while (count > 1 && digits[count - 1] == '0') count--;
    return count;
}

char *number_write_f64(char *out, double x)
{
    if (fabs(x) <= FLT_MAX && number_widen((float)x) == x) return number_write_f32(out, (float)x);
    char text[64], digits[32];
    for (int precision = 15; precision <= 17; precision++) {
        snprintf(text, sizeof text, "%.*e", precision - 1, x);
        if (strtod(text, NULL) == x) break;
    }
    if (x < 0) *out++ = '-';
    int point, count = number_digits_of(text, digits, &point);
    return number_layout(out, digits, count, point);
}
