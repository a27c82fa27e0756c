/* SPDX-License-Identifier: Apache-2.0
 * kernel_case.h - what the kernel tests share. Each of them has a family of slots and walks every
 * table that this CPU can run: the reference is kern_scalar, all vector tables agree with each
 * other to the bit, and nothing is written outside. Inputs are exact allocations, so that the
 * sanitizer build also sees reads outside. Called with the name of a table, a test walks that one
 * alone. */
#ifndef KERNEL_CASE_H
#define KERNEL_CASE_H
#include <float.h>

#include "base/bf16.h"
#include "check.h"
#include "kernels/tables.h"

/* ---- families: every slot is in one, or this does not compile ---- */
#define GEMM_SLOTS(X) X(gemm_f32) X(gemm_bf16) X(gemm_i8)
#define ATTENTION_SLOTS(X) X(attention) X(attention_bf16)
#define ROW_SLOTS(X) X(quantize_rows) X(bf16_rows) X(layer_norm) X(standardize) X(softmax) X(activate)
#define WINDOW_SLOTS(X) X(depthwise)
#define BLOCK_SLOTS(X) X(blend_rows) X(sha256)
enum {
#define X(slot) IN_FAMILY_##slot,
    GEMM_SLOTS(X) ATTENTION_SLOTS(X) ROW_SLOTS(X) WINDOW_SLOTS(X) BLOCK_SLOTS(X)
#undef X
    IN_FAMILIES
};
enum {
#define X(type, slot) IN_TABLE_##slot,
    KERNEL_SLOTS(X)
#undef X
    IN_TABLE
};
_Static_assert((int)IN_FAMILIES == (int)IN_TABLE, "every slot has a test");

/* The slots of one family in table t, by name, each with its test. */
typedef struct SlotTest {
    const char *slot;
    bool there;
    void (*run)(const Kernels *);
} SlotTest;
#define SLOT_TEST(slot) { #slot, t->slot != NULL, test_##slot },

static inline void test_slots(const Kernels *t, const SlotTest *test, size_t n)
{
    static char group[64];
    bool can = !(t->needs & ~cpu_features(NULL)), any = false;
    for (size_t i = 0; i < n; i++) any |= test[i].there;
    TEST(t->isa);
    if (any && !can) SKIP("this CPU has it not");
    TEST(group);
    for (size_t i = 0; can && i < n; i++) {
        if (!test[i].there) continue;
        snprintf(group, sizeof(group), "%s %s", t->isa, test[i].slot);
        test[i].run(t);
    }
}
/* name: of one table; NULL: all of them. */
#define TEST_TABLES(SLOTS, name)                              \
    const char *const only_ = (name);                         \
    for (size_t i_ = 0; i_ < kernel_table_count; i_++) {      \
        const Kernels *t = kernel_tables[i_];                 \
        if (only_ && strcmp(only_, t->isa) != 0) continue;    \
        const SlotTest tests[] = { SLOTS(SLOT_TEST) };        \
        test_slots(t, tests, COUNT(tests));                   \
    }

/* ---- inputs and outputs ---- */
static uint64_t seed = 1;
static inline uint32_t random_bits(void)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(seed >> 32);
}
static inline int64_t random_below(int64_t n) { return (int64_t)(random_bits() % (uint64_t)n); }
static inline float random_float(void) { return (float)((double)random_bits() / 2147483648.0 - 1); }

static inline void *exact(size_t bytes)
{
    void *p = malloc(bytes ? bytes : 1);
    assert(p);
    return p;
}
static inline float *randoms(int64_t n, float scale)
{
    float *p = exact((size_t)n * sizeof(float));
    for (int64_t i = 0; i < n; i++) p[i] = scale * random_float();
    return p;
}

/* An output between two walls of known bytes, itself filled with them, and not aligned. */
enum { WALL = 260, BRICK = 0xa5 };
static inline void *walled(size_t bytes)
{
    uint8_t *p = exact(bytes + 2 * WALL);
    memset(p, BRICK, bytes + 2 * WALL);
    return p + WALL;
}
static inline bool walls_stand(const void *p, size_t bytes)
{
    const uint8_t *b = p;
    for (int i = 1; i <= WALL; i++)
        if (b[-i] != BRICK || b[bytes + (size_t)i - 1] != BRICK) return false;
    return true;
}
static inline void unwall(void *p) { free((uint8_t *)p - WALL); }

static inline bool same(const void *a, const void *b, size_t bytes) { return !memcmp(a, b, bytes); }
static inline bool same_float(float a, float b) { return same(&a, &b, sizeof(a)); }

/* |a - b| <= tolerance * max(1, |b|); NaN equals NaN. Bytes of the walls count as equal. */
static inline bool near_all(const float *a, const float *b, int64_t n, float tolerance)
{
    for (int64_t i = 0; i < n; i++) {
        if (same_float(a[i], b[i]) || (isnan(a[i]) && isnan(b[i]))) continue;
        if (!(fabsf(a[i] - b[i]) <= tolerance * fmaxf(1, fabsf(b[i])))) {
            printf("  at %d: %.9g, wanted %.9g\n", (int)i, a[i], b[i]);
            return false;
        }
    }
    return true;
}

static inline const Kernels *first_vector_table(void)
{
    for (size_t i = 0; i < kernel_table_count; i++)
        if (!(kernel_tables[i]->needs & ~cpu_features(NULL)) && kernel_tables[i]->activate)
            return kernel_tables[i];
    return &kern_scalar;
}

/* What the results of two vector tables must be: equal. Against the reference: near. */
static inline bool agrees(const float *y, const float *scalar, const float *vector, int64_t n,
                   float tolerance)
{
    return near_all(y, scalar, n, tolerance) && same(y, vector, (size_t)n * sizeof(float));
}

/* Rows of bf16 are those of y to nearest even, filled up with zeros. */
static inline bool rounds_to(const uint16_t *b, const float *y, int64_t ldy, int64_t M, int64_t N)
{
    for (int64_t m = 0; m < M; m++)
        for (int64_t n = 0; n < ROUND_UP(N, 2 * PANEL); n++) {
            uint16_t want = n < N ? f32_to_bf16(y[m * ldy + n]) : 0, got = b[m * row_bf16(N) + n];
            if (got == want) continue;
            printf("  bf16 at %d, %d: %04x, wanted %04x\n", (int)m, (int)n, got, want);
            return false;
        }
    return true;
}

/* ---- activations in double ---- */
static inline double exactly(Act act, double x)
{
    switch (act) {
    case ACT_RELU: return fmax(x, 0);
    case ACT_GELU: return 0.5 * x * erfc(-x * sqrt(0.5));
    case ACT_GELU_TANH: return 0.5 * x * (1 + tanh(sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
    case ACT_TANH: return tanh(x);
    case ACT_SIGMOID: return 1 / (1 + exp(-x));
    case ACT_SILU: return x / (1 + exp(-x));
    case ACT_NONE:
    case ACT_COUNT: break;
    }
    return x;
}
#endif
