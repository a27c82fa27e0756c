/* SPDX-License-Identifier: Apache-2.0
 * arrow_text.c - see arrow_text.h. */
#include "arrow_text.h"

#include "arrow_kinds.h"

/* ---- decimals ---- */
enum { WORDS = 8, DIGITS = 80 }; /* of 256 bits */

/* The words become its size. True: it is below zero. */
static bool decimal_words(Str bytes, uint32_t word[WORDS])
{
    const bool negative = (signed char)bytes.p[bytes.n - 1] < 0;
    uint64_t carry = negative;
    for (size_t i = 0; i < WORDS; i++) {
        uint32_t w = 0;
        for (size_t k = 0; k < 4; k++) {
            const size_t at = 4 * i + k;
            w |= (uint32_t)(at < bytes.n ? (uint8_t)bytes.p[at] : negative ? 0xff : 0) << (8 * k);
        }
        carry += negative ? ~w : w;
        word[i] = (uint32_t)carry;
        carry >>= 32;
    }
    return negative;
}

/* Digits of the words from the last one on; at least one. */
static Str decimal_digits(uint32_t word[WORDS], char out[DIGITS])
{
    size_t at = DIGITS;
    bool more = true;
    while (more || at == DIGITS) {
        uint64_t rest = 0;
        more = false;
        for (int i = WORDS; i--;) {
            rest = rest << 32 | word[i];
            word[i] = (uint32_t)(rest / 10);
            rest %= 10;
            more |= word[i] != 0;
        }
        out[--at] = (char)('0' + rest);
    }
    return (Str){ out + at, DIGITS - at };
}

static Value decimal_text(Arena *arena, Str bytes, int64_t scale)
{
    char room[DIGITS];
    uint32_t word[WORDS];
    Buf text = { .arena = arena };
    if (decimal_words(bytes, word)) buf_char(&text, '-');
    const Str digits = decimal_digits(word, room);
    const int64_t whole = (int64_t)digits.n - scale;
    if (scale < 0 || scale > DIGITS) { /* of no writer that is known */
        buf_str(&text, digits);
        buf_printf(&text, "e%lld", -(long long)scale);
        return value_of_str(buf_view(&text));
    }
    buf_str(&text, (Str){ digits.p, (size_t)MAX(whole, 0) });
    if (whole <= 0) buf_char(&text, '0');
    if (scale) buf_char(&text, '.');
    for (int64_t i = whole; i < 0; i++) buf_char(&text, '0');
    buf_str(&text, (Str){ digits.p + MAX(whole, 0), digits.n - (size_t)MAX(whole, 0) });
    return value_of_str(buf_view(&text));
}

/* ---- dates and times ---- */
static int64_t floor_divide(int64_t a, int64_t b)
{
    return a / b - (a % b < 0);
}

/* From 0 on, below b. */
static int64_t floor_remainder(int64_t a, int64_t b)
{
    return a % b + (a % b < 0 ? b : 0);
}

/* Years begin in March here: so the day that some of them lack is their last. */
static void put_date(Buf *to, int64_t days)
{
    enum { TO_MARCH = 719468, ERA = 146097, CENTURY = 36524, FOUR = 1461, YEAR = 365 }; /* days; from March of year 0 */
    days += TO_MARCH;
    const int64_t era = floor_divide(days, ERA), in_era = days - era * ERA;
    const int64_t year = (in_era - in_era / (FOUR - 1) + in_era / CENTURY - in_era / (ERA - 1)) / YEAR;
    const int64_t day = in_era - (YEAR * year + year / 4 - year / 100);
    const int64_t month = (5 * day + 2) / 153; /* 153 days in five months, from March on */
    const bool next = month >= 10;
    const long long y = (long long)(era * 400 + year + next);
    buf_printf(to, y < 0 ? "-%04lld" : y > 9999 ? "+%lld" : "%04lld", y < 0 ? -y : y);
    buf_printf(to, "-%02d-%02d", (int)(next ? month - 9 : month + 3), (int)(day - (153 * month + 2) / 5 + 1));
}

static const struct TextUnit {
    int64_t second;
    int digits;
} text_units[] = { { 1, 0 }, { 1000, 3 }, { 1000000, 6 }, { 1000000000, 9 } };

/* of_day: from midnight on */
static void put_time(Buf *to, int64_t of_day, const struct TextUnit *unit)
{
    const int seconds = (int)(of_day / unit->second), fraction = (int)(of_day % unit->second);
    buf_printf(to, "%02d:%02d:%02d", seconds / 3600, seconds / 60 % 60, seconds % 60);
    if (fraction) buf_printf(to, ".%0*d", unit->digits, fraction);
}

static Value time_text(Arena *arena, const ArrowField *f, int64_t v)
{
    enum { DAY = 86400, DAY_MS = 86400000 };
    Buf text = { .arena = arena };
    const int64_t unit = f->param[0];
    if (unit < 0 || unit >= (int64_t)COUNT(text_units)) return value_of_int(v);
    const struct TextUnit *u = &text_units[unit];
    const int64_t day = DAY * u->second, days = floor_divide(v, day);
    switch ((int)f->kind) {
    case ARROW_DATE: put_date(&text, unit ? floor_divide(v, DAY_MS) : v); break;
    case ARROW_TIME:
        if (days) return value_of_int(v);
        put_time(&text, v, u);
        break;
    default:
        put_date(&text, days);
        buf_char(&text, 'T');
        put_time(&text, floor_remainder(v, day), u);
        if (f->zone.n) buf_char(&text, 'Z');
    }
    return value_of_str(buf_view(&text));
}

static Value uuid_text(Arena *arena, Str bytes)
{
    Buf text = { .arena = arena };
    for (size_t i = 0; i < bytes.n; i++)
        buf_printf(&text, i == 4 || i == 6 || i == 8 || i == 10 ? "-%02x" : "%02x", (uint8_t)bytes.p[i]);
    return value_of_str(buf_view(&text));
}

Value arrow_text(Arena *arena, const ArrowField *f, Str bytes)
{
    if (f->kind == ARROW_DECIMAL) return decimal_text(arena, bytes, f->param[1]);
    if (f->kind == ARROW_FIXED_BINARY) return uuid_text(arena, bytes);
    return time_text(arena, f, arrow_int(bytes, 0, (int64_t)bytes.n, true));
}
