/* SPDX-License-Identifier: Apache-2.0
 * json.c - JSON text to Value in one pass. Made for tokenizer files of tens of thousands of short
 * strings: those are views, found eight bytes at a time, and nothing is allocated for one item. */
#include <math.h>

#include "json.h"
#include "number.h"
#include "tree.h"

enum { MAX_DEPTH = 128 };

typedef struct JsonParser {
    const char *p, *end; /* reading position */
    const char *text;    /* its beginning, for line and column */
    Arena *arena;
    Buf open; /* children of the lists and maps that are not closed yet */
    int depth;
    size_t values, most; /* so far; allowed */
    bool unsigned_too;   /* beyond int64: V_UINT, where it fits */
    Err *err;
} JsonParser;

/* ---- errors ---- */
static void json_describe_found(const JsonParser *j, char out[16])
{
    unsigned char c = j->p < j->end ? (unsigned char)*j->p : 0;
    if (j->p >= j->end)
        strcpy(out, "the end");
    else if (c == '\n')
        strcpy(out, "a line end");
    else if (c >= ' ' && c < 127)
        snprintf(out, 16, "'%c'", c);
    else
        snprintf(out, 16, "byte 0x%02X", c);
}

/* Fails at the reading position. */
static bool json_fail_at(const JsonParser *j, const char *found, const char *wanted)
{
    size_t line = 1, column = 1;
    for (const char *p = j->text; p < j->p; p++) {
        if (*p == '\n')
            line++, column = 1;
        else
            column += (*p & 0xC0) != 0x80; /* characters, not bytes */
    }
    return fail(j->err, EF_BAD_REQUEST, "line %zu, column %zu: found %s, wanted %s", line, column,
                found, wanted);
}

static bool json_fail_wanted(const JsonParser *j, const char *wanted)
{
    char found[16];
    json_describe_found(j, found);
    return json_fail_at(j, found, wanted);
}

/* ---- small steps ---- */
static inline void skip_space(JsonParser *j)
{
    while (j->p < j->end && (*j->p == ' ' || *j->p == '\n' || *j->p == '\r' || *j->p == '\t'))
        j->p++;
}

static inline bool json_is_at(const JsonParser *j, char c)
{
    return j->p < j->end && *j->p == c;
}

static inline bool json_take(JsonParser *j, char c)
{
    skip_space(j);
    if (!json_is_at(j, c)) return false;
    j->p++;
    return true;
}

static inline bool at_digit(const JsonParser *j)
{
    return j->p < j->end && *j->p >= '0' && *j->p <= '9';
}

/* ---- strings ---- */
#define EACH(byte) (0x0101010101010101ull * (byte))

/* The high bit of every byte below `limit` (at most 128); bytes after the first hit may err. */
static inline uint64_t json_bytes_below(uint64_t word, uint8_t limit)
{
    return (word - EACH(limit)) & ~word & EACH(0x80);
}

/* First quote, backslash or control character, or the end. Collects the high bits it saw in *high.
 * Little endian, as all our targets are: the first byte is the lowest. */
static inline const char *json_plain_end(const char *p, const char *end, uint64_t *high)
{
    for (; end - p >= 8; p += 8) {
        uint64_t word;
        memcpy(&word, p, 8);
        uint64_t stop = json_bytes_below(word, ' ') | json_bytes_below(word ^ EACH ('"'), 1) |
                        json_bytes_below(word ^ EACH ('\\'), 1);
        *high |= word & EACH(0x80);
        if (stop) return p + __builtin_ctzll(stop) / 8;
    }
    for (; p < end && *p != '"' && *p != '\\' && (unsigned char)*p >= ' '; p++)
        *high |= (uint64_t)*p & 0x80;
    return p;
}

static bool check_utf8(JsonParser *j, Str s)
{
    if (utf8_valid(s)) return true;
    uint32_t code;
    j->p = s.p;
    for (int used; (used = utf8_decode(j->p, s.p + s.n, &code)) > 0;) j->p += used;
    return json_fail_wanted(j, "valid UTF-8");
}

static bool json_hex4(JsonParser *j, uint32_t *code)
{
    *code = 0;
    for (int i = 0; i < 4; i++, j->p++) {
        char c = j->p < j->end ? *j->p : 0, low = c | 32;
        if (c >= '0' && c <= '9')
            *code = *code * 16 + (uint32_t)(c - '0');
        else if (low >= 'a' && low <= 'f')
            *code = *code * 16 + (uint32_t)(low - 'a' + 10);
        else
            return json_fail_wanted(j, "a hexadecimal digit");
    }
    return true;
}

/* After "\u". A pair of surrogates makes one character; half a pair makes none. */
static bool unicode_escape(JsonParser *j, uint32_t *code)
{
    const char *start = j->p - 2;
    if (!json_hex4(j, code)) return false;
    if (*code < 0xD800 || *code > 0xDFFF) return true;
    uint32_t second = 0;
    if (*code < 0xDC00 && j->end - j->p >= 2 && j->p[0] == '\\' && j->p[1] == 'u') {
        j->p += 2;
        if (!json_hex4(j, &second)) return false;
    }
    *code = 0x10000 + ((*code - 0xD800) << 10) + (second - 0xDC00);
    if (second >= 0xDC00 && second <= 0xDFFF) return true;
    j->p = start;
    return json_fail_at(j, "half a surrogate pair", "both halves");
}

/* At the backslash. */
static bool json_read_escape(JsonParser *j, char **out)
{
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
    j->p++;
    const char *known = memchr(from, *j->p, sizeof from - 1);
    if (known) return *(*out)++ = to[known - from], j->p++, true;
    if (*j->p != 'u') return json_fail_wanted(j, "one of \"\\/bfnrtu after a backslash");
    j->p++;
    uint32_t code;
    if (!unicode_escape(j, &code)) return false;
    *out += utf8_encode(code, *out);
    return true;
}

/* raw is what stands between the quotes; no escape is shorter than what it stands for. */
static bool json_unescape(JsonParser *j, Str raw, Str *out)
{
    const char *resume = j->p, *raw_end = raw.p + raw.n;
    char *copy = arena_alloc(j->arena, raw.n), *to = copy;
    for (j->p = raw.p; j->p < raw_end;) {
        if (*j->p != '\\')
            *to++ = *j->p++;
        else if (!json_read_escape(j, &to))
            return false;
    }
    j->p = resume;
    *out = (Str){ copy, (size_t)(to - copy) };
    return true;
}

/* At the opening quote. */
static bool parse_string(JsonParser *j, Str *out)
{
    const char *start = ++j->p;
    uint64_t high = 0;
    bool escaped = false;
    for (;;) {
        j->p = json_plain_end(j->p, j->end, &high);
        if (json_is_at(j, '"')) break;
        if (!json_is_at(j, '\\'))
            return json_fail_wanted(j, j->p < j->end ? "an escape for it" : "a closing quote");
        escaped = true;
        j->p += MIN(2, j->end - j->p);
    }
    *out = (Str){ start, (size_t)(j->p - start) };
    if (high && !check_utf8(j, *out)) return false;
    j->p++;
    return !escaped || json_unescape(j, *out, out);
}

/* ---- numbers and words ---- */
static bool skip_digits(JsonParser *j)
{
    if (!at_digit(j)) return json_fail_wanted(j, "a digit");
    while (at_digit(j)) j->p++;
    return true;
}

/* "." digits and "e" digits, both optional; *whole becomes false when there is one. */
static bool skip_fraction(JsonParser *j, bool *whole)
{
    if (json_is_at(j, '.')) {
        j->p++, *whole = false;
        if (!skip_digits(j)) return false;
    }
    if (!json_is_at(j, 'e') && !json_is_at(j, 'E')) return true;
    j->p++, *whole = false;
    if (json_is_at(j, '+') || json_is_at(j, '-')) j->p++;
    return skip_digits(j);
}

/* n: what the digits make, without those beyond 64 bits. Only the least of those of 20 digits fit. */
static bool fits_unsigned(const char *first, size_t count, uint64_t n)
{
    static const uint64_t least = 10000000000000000000u;
    return count <= 19 || (count == 20 && *first == '1' && n >= least);
}

static bool parse_number(JsonParser *j, Value *out)
{
    const char *start = j->p;
    bool negative = json_is_at(j, '-'), whole = true;
    j->p += negative;
    const char *first = j->p;
    uint64_t n = 0; /* right for up to 19 digits */
    for (; at_digit(j); j->p++) n = n * 10 + (uint64_t)(*j->p - '0');
    size_t count = (size_t)(j->p - first);
    if (!count) return json_fail_wanted(j, negative ? "a digit" : "a value");
    if (count > 1 && *first == '0') return j->p = first, json_fail_at(j, "a leading zero", "none");
    if (!skip_fraction(j, &whole)) return false;
    if (whole && count <= 19 && n <= (uint64_t)INT64_MAX + negative) {
        *out = value_of_int((int64_t)(negative ? 0 - n : n));
        return true;
    }
    if (whole && j->unsigned_too && !negative && fits_unsigned(first, count, n)) return *out = value_of_uint(n), true;
    *out = value_of_float(number_read((Str){ start, (size_t)(j->p - start) }));
    if (isfinite(out->f)) return true;
    j->p = start;
    return json_fail_at(j, "a number out of range", "at most 1.8e308");
}

static bool parse_word(JsonParser *j, Str word, Value meaning, Value *out)
{
    for (size_t i = 0; i < word.n; i++, j->p++)
        if (!json_is_at(j, word.p[i])) return json_fail_wanted(j, "null, true or false");
    *out = meaning;
    return true;
}

/* ---- lists and maps ---- */
static bool parse_value(JsonParser *j, Value *out);

static bool json_enter(JsonParser *j)
{
    if (j->depth == MAX_DEPTH)
        return json_fail_at(j, "one more level", "at most 128 levels of nesting");
    j->depth++;
    j->p++;
    return true;
}

/* After a child: a comma means more, `close` means done. */
static bool json_read_separator(JsonParser *j, char close, bool *more)
{
    *more = json_take(j, ',');
    if (*more || json_take(j, close)) return true;
    return json_fail_wanted(j, close == ']' ? "',' or ']'" : "',' or '}'");
}

static bool parse_list(JsonParser *j, Value *out)
{
    size_t from = j->open.n;
    if (!json_enter(j)) return false;
    for (bool more = !json_take(j, ']'); more;) {
        Value item;
        if (!parse_value(j, &item)) return false;
        tree_push_item(&j->open, item);
        if (!json_read_separator(j, ']', &more)) return false;
    }
    j->depth--;
    *out = tree_close(j->arena, &j->open, from, V_LIST);
    return true;
}

static bool parse_map(JsonParser *j, Value *out)
{
    size_t from = j->open.n;
    if (!json_enter(j)) return false;
    for (bool more = !json_take(j, '}'); more;) {
        Member member;
        skip_space(j);
        if (!json_is_at(j, '"')) return json_fail_wanted(j, "a key in quotes");
        if (!parse_string(j, &member.key)) return false;
        if (!json_take(j, ':')) return json_fail_wanted(j, "':'");
        if (!parse_value(j, &member.value)) return false;
        tree_push_member(&j->open, member);
        if (!json_read_separator(j, '}', &more)) return false;
    }
    j->depth--;
    *out = tree_close(j->arena, &j->open, from, V_MAP);
    return true;
}

static bool json_fail_too_many(const JsonParser *j)
{
    json_fail_at(j, "one more value", "an end");
    if (j->err) j->err->code = EF_INVALID_INPUT; /* JSON it is */
    return within(j->err, "more than %zu values", j->most);
}

static bool parse_value(JsonParser *j, Value *out)
{
    if (j->values++ == j->most) return json_fail_too_many(j);
    skip_space(j);
    switch (j->p < j->end ? *j->p : 0) {
    case '{': return parse_map(j, out);
    case '[': return parse_list(j, out);
    case '"': out->kind = V_STR; return parse_string(j, &out->s);
    case 't': return parse_word(j, STR("true"), value_of_bool(true), out);
    case 'f': return parse_word(j, STR("false"), value_of_bool(false), out);
    case 'n': return parse_word(j, STR("null"), value_null(), out);
    default: return parse_number(j, out);
    }
}

bool json_parse(Arena *arena, Str text, Value *out, Err *err)
{
    return json_parse_most(arena, text, SIZE_MAX, out, err);
}

static bool json_parse_as(Arena *arena, Str text, size_t values, bool unsigned_too, Value *out, Err *err)
{
    if (!text.n) text = STR("");
    Arena work = { .budget = arena->budget, .local = true }; /* goes with a call that is left */
    JsonParser j = { .p = text.p, .end = text.p + text.n, .text = text.p, .arena = arena,
                 .open = { .arena = &work }, .most = values, .unsigned_too = unsigned_too, .err = err };
    bool ok = parse_value(&j, out);
    skip_space(&j);
    if (ok && j.p < j.end) ok = json_fail_wanted(&j, "the end");
    arena_free(&work);
    return ok;
}

bool json_parse_most(Arena *arena, Str text, size_t values, Value *out, Err *err)
{
    return json_parse_as(arena, text, values, false, out, err);
}

bool json_parse_record(Arena *arena, Str text, size_t values, Value *out, Err *err)
{
    return json_parse_as(arena, text, values, true, out, err);
}
