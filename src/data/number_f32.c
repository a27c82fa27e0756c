/* SPDX-License-Identifier: Apache-2.0
 * number_f32.c - the shortest decimal text of a float, because most bytes of a reply are floats.
 *
 * A float x = m * 2^e is read back from any decimal inside its rounding interval, which reaches
 * half way to both neighbours. With k = floor(log10(2^e)) the interval is between 1 and 10 units of
 * 10^k wide: it holds at most one multiple of ten units, and that is the short answer; if there is
 * none, one of the two whole units around x lies inside. (Giulietti's "Schubfach".)
 *
 * To compare without big integers, x and both ends are scaled by 10^-k to fixed point with two bits
 * of fraction; 64 bits of 10^-k are enough for 24-bit m when what is cut off leaves its trace in
 * the lowest bit. Every float was read back once; tests/test_data_json.c repeats that for millions.
 */
#include <math.h>
#include <stdlib.h>

#include "number.h"

typedef struct Decimal {
    uint32_t digits;
    int exponent; /* value = digits * 10^exponent */
} Decimal;

/* 10^k, scaled to 64 bits with the highest one set, cut and then plus one. */
enum { POWER_MIN = -31, POWER_MAX = 45 };
static const uint64_t power[] = {
    0x81CEB32C4B43FCF5, 0xA2425FF75E14FC32, 0xCAD2F7F5359A3B3F, 0xFD87B5F28300CA0E,
    0x9E74D1B791E07E49, 0xC612062576589DDB, 0xF79687AED3EEC552, 0x9ABE14CD44753B53,
    0xC16D9A0095928A28, 0xF1C90080BAF72CB2, 0x971DA05074DA7BEF, 0xBCE5086492111AEB,
    0xEC1E4A7DB69561A6, 0x9392EE8E921D5D08, 0xB877AA3236A4B44A, 0xE69594BEC44DE15C,
    0x901D7CF73AB0ACDA, 0xB424DC35095CD810, 0xE12E13424BB40E14, 0x8CBCCC096F5088CC,
    0xAFEBFF0BCB24AAFF, 0xDBE6FECEBDEDD5BF, 0x89705F4136B4A598, 0xABCC77118461CEFD,
    0xD6BF94D5E57A42BD, 0x8637BD05AF6C69B6, 0xA7C5AC471B478424, 0xD1B71758E219652C,
    0x83126E978D4FDF3C, 0xA3D70A3D70A3D70B, 0xCCCCCCCCCCCCCCCD, 0x8000000000000001,
    0xA000000000000001, 0xC800000000000001, 0xFA00000000000001, 0x9C40000000000001,
    0xC350000000000001, 0xF424000000000001, 0x9896800000000001, 0xBEBC200000000001,
    0xEE6B280000000001, 0x9502F90000000001, 0xBA43B74000000001, 0xE8D4A51000000001,
    0x9184E72A00000001, 0xB5E620F480000001, 0xE35FA931A0000001, 0x8E1BC9BF04000001,
    0xB1A2BC2EC5000001, 0xDE0B6B3A76400001, 0x8AC7230489E80001, 0xAD78EBC5AC620001,
    0xD8D726B7177A8001, 0x878678326EAC9001, 0xA968163F0A57B401, 0xD3C21BCECCEDA101,
    0x84595161401484A1, 0xA56FA5B99019A5C9, 0xCECB8F27F4200F3B, 0x813F3978F8940985,
    0xA18F07D736B90BE6, 0xC9F2C9CD04674EDF, 0xFC6F7C4045812297, 0x9DC5ADA82B70B59E,
    0xC5371912364CE306, 0xF684DF56C3E01BC7, 0x9A130B963A6C115D, 0xC097CE7BC90715B4,
    0xF0BDC21ABB48DB21, 0x96769950B50D88F5, 0xBC143FA4E250EB32, 0xEB194F8E1AE525FE,
    0x92EFD1B8D0CF37BF, 0xB7ABC627050305AE, 0xE596B7B0C643C71A, 0x8F7E32CE7BEA5C70,
    0xB35DBF821AE4F38C,
};
_Static_assert(COUNT(power) == POWER_MAX - POWER_MIN + 1, "one row for each power of ten");

static inline int floor_log2_pow10(int k)
{
    return (k * 1741647) >> 19; /* exact for |k| <= 60 */
}

/* floor(log10(2^e)), or of three quarters of 2^e; exact for every exponent of a float. */
static inline int floor_log10_pow2(int e, bool three_quarters)
{
    return (e * 1262611 - (three_quarters ? 524031 : 0)) >> 22;
}

/* The upper 32 of 96 bits of g * n; a remainder makes the result odd. */
static inline uint32_t f32_scale(uint64_t g, uint32_t n)
{
    unsigned __int128 product = (unsigned __int128)g * n;
    return (uint32_t)(product >> 64) | ((uint32_t)(product >> 32) > 1);
}

/* Chooses among the units of 10^k around x; low, x and high are in quarters of a unit, and the ends
 * of the interval belong to it if m is even (ties go to even). */
static Decimal f32_choose(uint32_t low, uint32_t x, uint32_t high, int k)
{
    uint32_t unit = x / 4;
    if (unit >= 10) {
        uint32_t ten = unit / 10;
        bool below = low <= 40 * ten, above = 40 * ten + 40 <= high;
        if (below != above) return (Decimal){ ten + above, k + 1 };
    }
    bool below = low <= 4 * unit, above = 4 * unit + 4 <= high;
    if (below != above) return (Decimal){ unit + above, k };
    uint32_t half = 4 * unit + 2;
    return (Decimal){ unit + (x > half || (x == half && unit % 2)), k };
}

/* Of a finite float above zero, given by its bits. */
static Decimal f32_shortest(uint32_t bits)
{
    uint32_t fraction = bits & 0x7FFFFF, biased = bits >> 23;
    uint32_t m = biased ? fraction | 0x800000 : fraction;
    int e = (int)(biased ? biased : 1) - 150;
    bool odd = m % 2, uneven = fraction == 0 && biased > 1; /* the neighbour below is nearer */
    int k = floor_log10_pow2(e, uneven);
    int shift = e + floor_log2_pow10(-k) + 1;
    uint64_t g = power[-k - POWER_MIN];
    uint32_t low = f32_scale(g, (4 * m - (uneven ? 1 : 2)) << shift) + odd;
    uint32_t high = f32_scale(g, (4 * m + 2) << shift) - odd;
    Decimal d = f32_choose(low, f32_scale(g, 4 * m << shift), high, k);
    while (d.digits % 10 == 0) d.digits /= 10, d.exponent++;
    return d;
}

static const char pairs[] = "00010203040506070809101112131415161718192021222324252627282930313233"
                            "34353637383940414243444546474849505152535455565758596061626364656667"
                            "6869707172737475767778798081828384858687888990919293949596979899";

/* Writes backwards from `end`; returns the first digit. */
static inline char *digits_before(char *end, uint32_t n)
{
    for (; n >= 100; n /= 100) memcpy(end -= 2, pairs + n % 100 * 2, 2);
    if (n >= 10) return memcpy(end - 2, pairs + n * 2, 2);
    *--end = (char)('0' + n);
    return end;
}

char *number_write_f32(char *out, float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    if (bits >> 31) *out++ = '-';
    bits &= 0x7FFFFFFF;
    assert(bits < 0x7F800000);
    if (!bits) return (char *)memcpy(out, "0.0", 3) + 3;
    enum { MOST = 9 }; /* digits; as many again behind them, to be copied without counting */
    Decimal d = f32_shortest(bits);
    char text[2 * MOST] = { 0 }, *end = text + MOST, *first = digits_before(end, d.digits);
    int count = (int)(end - first), point = count + d.exponent;
    if (point > 0 || point < -4) return number_layout(out, first, count, point);
    memcpy(out, "0.0000", 6);
    memcpy(out + 2 - point, first, MOST);
    return out + 2 - point + count;
}

double number_widen(float x)
{
    static const double tens[] = { 1e0, 1e1, 1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                   1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15 };
    if (x == 0 || !isfinite(x)) return x;
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    Decimal d = f32_shortest(bits & 0x7FFFFFFF);
    double n = d.digits;
    if (abs(d.exponent) < 16) { /* both are exact, so their quotient is rounded once */
        n = d.exponent < 0 ? n / tens[-d.exponent] : n * tens[d.exponent];
        return x < 0 ? -n : n;
    }
    char text[NUMBER_ROOM], *end = number_write_f32(text, x);
    return number_read((Str){ text, (size_t)(end - text) });
}

char *number_write_int(char *out, int64_t n)
{
    uint64_t left = n < 0 ? 0 - (uint64_t)n : (uint64_t)n;
    if (n < 0) *out++ = '-';
    char text[24], *end = text + sizeof text, *first = end;
    for (; left >= 100; left /= 100) memcpy(first -= 2, pairs + left % 100 * 2, 2);
    first = digits_before(first, (uint32_t)left);
    memcpy(out, first, (size_t)(end - first));
    return out + (end - first);
}
