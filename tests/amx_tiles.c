/* SPDX-License-Identifier: Apache-2.0
 * amx_tiles.c - the tile unit in C (amx_tiles.h), and a CPU that seems to have one: programs with this file are linked
 * so that cpu_features comes here first (Makefile: --wrap). */
#include "amx_tiles.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/tables.h"

enum { TILES = 8, MOST_ROWS = 16, MOST_BYTES = 64 };

typedef struct TileConfig {     /* as the instruction reads it */
    uint8_t palette, start, reserved[14];
    uint16_t bytes[2 * TILES];  /* of a row; the second eight are reserved, as those of rows */
    uint8_t rows[2 * TILES];
} TileConfig;
_Static_assert(sizeof(TileConfig) == 64, "the size of the CPU's");

/* Beyond its rows and bytes a tile is 0, as in the CPU. */
typedef struct TileData {
    uint8_t row[MOST_ROWS][MOST_BYTES];
} TileData;

static _Thread_local struct {
    TileConfig config;          /* palette 0: none */
    TileData tile[TILES];
} unit;

static _Noreturn void tiles_fault(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fputs("tile unit: ", stderr);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    va_end(args);
    abort();
}

void tiles_load_config(const void *from)
{
    static const TileConfig none;
    TileConfig c;
    memcpy(&c, from, sizeof(c));
    if (unit.config.palette) tiles_fault("configured again without a release");
    if (c.palette != 1) tiles_fault("palette %d, wanted 1", c.palette);
    if (c.start) tiles_fault("begins at row %d, wanted 0", c.start);
    if (memcmp(c.reserved, none.reserved, sizeof(c.reserved)) != 0) tiles_fault("reserved bytes that are not 0");
    for (int t = 0; t < 2 * TILES; t++) {
        bool fits = t < TILES && c.rows[t] <= MOST_ROWS && c.bytes[t] <= MOST_BYTES && !c.rows[t] == !c.bytes[t];
        if (!fits && (c.rows[t] || c.bytes[t]))
            tiles_fault("tile %d configured as %d rows of %d bytes", t, c.rows[t], c.bytes[t]);
    }
    unit.config = c;
    memset(unit.tile, 0, sizeof(unit.tile));
}

void tiles_release(void)
{
    memset(&unit, 0, sizeof(unit));
}

static TileData *tile_at(int t)
{
    if (!unit.config.palette) tiles_fault("tile %d is used, but none is configured", t);
    if (t < 0 || t >= TILES || !unit.config.rows[t]) tiles_fault("tile %d is used, but not configured", t);
    return &unit.tile[t];
}

void tiles_zero(int tile)
{
    memset(tile_at(tile), 0, sizeof(TileData));
}

void tiles_load(int tile, const void *from, int64_t stride)
{
    tiles_zero(tile);
    for (int r = 0; r < unit.config.rows[tile]; r++)
        memcpy(unit.tile[tile].row[r], (const char *)from + r * stride, unit.config.bytes[tile]);
}

void tiles_store(int tile, void *to, int64_t stride)
{
    const TileData *t = tile_at(tile);
    for (int r = 0; r < unit.config.rows[tile]; r++) memcpy((char *)to + r * stride, t->row[r], unit.config.bytes[tile]);
}

/* sum is m x n, x is m x k, w is k x n; each of k is four bytes of a row of x, and a row of w. */
typedef struct TileDot {
    TileData *sum;
    const TileData *x, *w;
    int m, k;
} TileDot;
static TileDot dot_of(int sum, int x, int w)
{
    const TileConfig *c = &unit.config;
    TileDot d = { tile_at(sum), tile_at(x), tile_at(w), c->rows[x], c->bytes[x] / 4 };
    if (sum == x || sum == w || x == w) tiles_fault("product of tiles %d, %d, %d, wanted three", sum, x, w);
    if (c->bytes[x] % 4 || c->bytes[w] % 4 || c->rows[sum] != d.m || c->rows[w] != d.k || c->bytes[sum] != c->bytes[w])
        tiles_fault("product of %d x %d bytes and %d x %d to %d x %d", c->rows[x], c->bytes[x], c->rows[w], c->bytes[w],
                    c->rows[sum], c->bytes[sum]);
    return d;
}

/* Lane n of a row is column n. */
#define LANES __attribute__((target("avx512f")))
LANES static __m512i lanes_spread(const TileData *t, int row, int k)
{
    int32_t four;
    memcpy(&four, t->row[row] + 4 * k, sizeof(four));
    return _mm512_set1_epi32(four);
}

LANES void tiles_dot_u8_i8(int sum, int x, int w)
{
    const TileDot d = dot_of(sum, x, w);
    for (int m = 0; m < d.m; m++) {
        __m512i to = _mm512_loadu_si512(d.sum->row[m]);
        for (int k = 0; k < d.k; k++) {
            __m512i u = lanes_spread(d.x, m, k), i = _mm512_loadu_si512(d.w->row[k]);
            for (int byte = 0; byte < 4; byte++) {
                const unsigned before = 24 - 8 * (unsigned)byte;
                to = _mm512_add_epi32(to, _mm512_mullo_epi32(_mm512_srli_epi32(_mm512_slli_epi32(u, before), 24),
                                                             _mm512_srai_epi32(_mm512_slli_epi32(i, before), 24)));
            }
        }
        _mm512_storeu_si512(d.sum->row[m], to);
    }
}

LANES static __m512 lanes_even(__m512i pairs)
{
    return _mm512_castsi512_ps(_mm512_slli_epi32(pairs, 16));
}
LANES static __m512 lanes_odd(__m512i pairs)
{
    return _mm512_castsi512_ps(_mm512_and_si512(pairs, _mm512_set1_epi32((int)0xffff0000)));
}

/* Even and odd values are summed apart, from 0 on; then both are added. Subnormal numbers count as 0, and become 0. */
LANES void tiles_dot_bf16(int sum, int x, int w)
{
    enum { FLUSH = 0x8040 }; /* subnormal inputs and results */
    const TileDot d = dot_of(sum, x, w);
    const unsigned before = _mm_getcsr();
    _mm_setcsr(before | FLUSH);
    for (int m = 0; m < d.m; m++) {
        __m512 even = _mm512_setzero_ps(), odd = even;
        for (int k = 0; k < d.k; k++) {
            __m512i a = lanes_spread(d.x, m, k), b = _mm512_loadu_si512(d.w->row[k]);
            even = _mm512_fmadd_ps(lanes_even(a), lanes_even(b), even);
            odd = _mm512_fmadd_ps(lanes_odd(a), lanes_odd(b), odd);
        }
        __m512 to = _mm512_add_ps(_mm512_loadu_ps(d.sum->row[m]), _mm512_add_ps(even, odd));
        _mm512_storeu_ps(d.sum->row[m], to);
    }
    _mm_setcsr(before);
}

/* ---- the CPU ---- */
uint64_t __real_cpu_features(const char *level);
uint64_t __wrap_cpu_features(const char *level);

/* With the tile unit wherever the rest of what these kernels need is there, and the level does not hide it. */
uint64_t __wrap_cpu_features(const char *level)
{
    const uint64_t rest = kern_amx.needs & ~(uint64_t)CPU_AMX, found = __real_cpu_features(level);
    const char *name = level ? level : getenv("EF_CPU");
    uint64_t mask;
    bool hidden = name && cpu_level(name, &mask) && !(mask & CPU_AMX);
    return (found & rest) == rest && !hidden ? found | CPU_AMX : found;
}

/* A test that could not reach these kernels is skipped, whole: it has passed without them elsewhere. */
__attribute__((constructor)) static void tiles_or_skip(void)
{
    uint64_t lacks = kern_amx.needs & ~__wrap_cpu_features(NULL);
    if (!lacks) return;
    printf("  skipped: AMX kernels over tiles in C: this CPU lacks");
    for (const char *name; (name = cpu_next(&lacks));) printf(" %s", name);
    puts("\n0 passed, 0 failed, 1 skipped");
    exit(0);
}
