/* SPDX-License-Identifier: Apache-2.0
 * str.c - views of bytes: comparing, formatting, UTF-8, and the nearest known word for a typo. */
#include <locale.h>

#include "base.h"

bool str_starts(Str s, const char *prefix)
{
    size_t n = strlen(prefix);
    return s.n >= n && (n == 0 || memcmp(s.p, prefix, n) == 0);
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

Str str_trim(Str s)
{
    while (s.n && is_blank(s.p[0])) s.p++, s.n--;
    while (s.n && is_blank(s.p[s.n - 1])) s.n--;
    return s;
}

bool str_ends(Str s, const char *suffix)
{
    size_t n = strlen(suffix);
    return s.n >= n && (n == 0 || memcmp(s.p + s.n - n, suffix, n) == 0);
}

bool str_ends_any_case(Str s, const char *suffix)
{
    const size_t n = strlen(suffix);
    bool ok = s.n >= n;
    for (size_t i = 0; ok && i < n; i++) {
        const char c = s.p[s.n - n + i];
        ok = (c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c) == suffix[i];
    }
    return ok;
}

int str_cmp(const Str *a, const Str *b)
{
    size_t n = MIN(a->n, b->n);
    int order = n ? memcmp(a->p, b->p, n) : 0;
    return order ? order : (a->n > b->n) - (a->n < b->n);
}

char *str_dup(Arena *arena, Str s)
{
    char *copy = arena_alloc(arena, s.n + 1);
    if (s.n) memcpy(copy, s.p, s.n);
    return copy;
}

/* The host program may write decimals with a comma; files, JSON and metrics must not. */
int text_print(char *out, size_t room, const char *format, va_list args)
{
    static locale_t plain; /* every thread's: the C library has one, and does not free it */
    locale_t own = __atomic_load_n(&plain, __ATOMIC_RELAXED);
    if (!own) __atomic_store_n(&plain, own = newlocale(LC_ALL_MASK, "C", (locale_t)0), __ATOMIC_RELAXED);
    const locale_t before = uselocale(own);
    const int n = vsnprintf(out, room, format, args);
    uselocale(before);
    return n;
}

char *str_format(Arena *arena, const char *format, ...)
{
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    int n = text_print(NULL, 0, format, args);
    char *out = arena_alloc(arena, (size_t)MAX(n, 0) + 1);
    if (n > 0) text_print(out, (size_t)n + 1, format, again);
    va_end(again);
    va_end(args);
    return out;
}

uint64_t str_hash(Str s)
{
    uint64_t h = 0x9e3779b97f4a7c15u ^ s.n;
    const char *p = s.p;
    size_t n = s.n;
    for (; n >= 8; n -= 8, p += 8) {
        uint64_t word;
        memcpy(&word, p, 8);
        h = (h ^ word) * 0xff51afd7ed558ccdu;
        h ^= h >> 32;
    }
    uint64_t tail = 0;
    if (n) memcpy(&tail, p, n);
    h = (h ^ tail) * 0xc4ceb9fe1a85ec53u;
    return h ^ h >> 29;
}

bool str_int(Str s, int64_t *out)
{
    size_t i = s.n > 0 && (s.p[0] == '-' || s.p[0] == '+');
    if (i == s.n) return false;
    int64_t value = 0;
    for (; i < s.n; i++) {
        if (s.p[i] < '0' || s.p[i] > '9') return false;
        int digit = s.p[0] == '-' ? '0' - s.p[i] : s.p[i] - '0'; /* downwards reaches INT64_MIN */
        if (__builtin_mul_overflow(value, 10, &value) ||
            __builtin_add_overflow(value, digit, &value))
            return false;
    }
    *out = value;
    return true;
}

/* Edits to get from a to b, letters of either case being equal and two swapped neighbours one
 * edit; words over 63 bytes never match. */
static size_t str_edit_distance(Str a, Str b)
{
    size_t rows[3][64];
    if (a.n > 63 || b.n > 63) return SIZE_MAX;
    for (size_t i = 0; i <= a.n; i++) {
        size_t *row = rows[i % 3], *above = rows[(i + 2) % 3], *higher = rows[(i + 1) % 3];
        row[0] = i;
        for (size_t j = 1; j <= b.n; j++) {
            if (i == 0) {
                row[j] = j;
                continue;
            }
            bool same = (a.p[i - 1] | 32) == (b.p[j - 1] | 32);
            row[j] = MIN(above[j - 1] + !same, MIN(above[j], row[j - 1]) + 1);
            bool swapped = i > 1 && j > 1 && (a.p[i - 1] | 32) == (b.p[j - 2] | 32) &&
                           (a.p[i - 2] | 32) == (b.p[j - 1] | 32);
            if (swapped) row[j] = MIN(row[j], higher[j - 2] + 1);
        }
    }
    return rows[a.n % 3][b.n];
}

const char *str_nearest(Str word, const char *const *known, size_t count)
{
    const char *best = NULL;
    size_t least = MAX(word.n / 3, (size_t)1) + 1;
    for (size_t i = 0; i < count; i++) {
        size_t d = str_edit_distance(word, str_of(known[i]));
        if (d < least) least = d, best = known[i];
    }
    return best;
}

int utf8_decode(const char *text, const char *end, uint32_t *code)
{
    const unsigned char *p = (const unsigned char *)text;
    size_t left = (size_t)(end - text);
    if (left == 0) return 0;
    if (p[0] < 0x80) return *code = p[0], 1;
    int n = p[0] >= 0xf0 ? 4 : p[0] >= 0xe0 ? 3 : 2;
    if (p[0] < 0xc2 || p[0] > 0xf4 || left < (size_t)n) return 0;
    uint32_t c = p[0] & (0x7fu >> n);
    for (int i = 1; i < n; i++) {
        if ((p[i] & 0xc0) != 0x80) return 0;
        c = c << 6 | (p[i] & 0x3fu);
    }
    static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
    if (c < least[n] || c > 0x10ffff || (c >= 0xd800 && c < 0xe000)) return 0;
    return *code = c, n;
}

size_t utf8_length(Str s)
{
    size_t n = 0;
    for (size_t i = 0; i < s.n; i++) n += (s.p[i] & 0xC0) != 0x80;
    return n;
}

bool utf8_valid(Str s)
{
    if (s.n == 0) return true;
    const char *p = s.p, *end = s.p + s.n;
    uint32_t code;
    while (p < end) {
        uint64_t word;
        if (end - p >= 8 && (memcpy(&word, p, 8), !(word & 0x8080808080808080u))) {
            p += 8; /* eight ASCII bytes at once */
            continue;
        }
        int n = utf8_decode(p, end, &code);
        if (n == 0) return false;
        p += n;
    }
    return true;
}

int utf8_encode(uint32_t c, char out[4])
{
    if (c < 0x80) return out[0] = (char)c, 1;
    int n = c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    static const unsigned char lead[] = { 0, 0, 0xc0, 0xe0, 0xf0 };
    for (int i = n - 1; i > 0; i--, c >>= 6) out[i] = (char)(0x80 | (c & 0x3f));
    out[0] = (char)(lead[n] | c);
    return n;
}
