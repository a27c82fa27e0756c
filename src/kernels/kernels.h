/* SPDX-License-Identifier: Apache-2.0
 * kernels.h - arithmetic on plain pointers. One list of slots makes the struct, the selection, the
 * tests and the benchmarks.
 *
 * Invariants, tested in tests/test_kernels*.c:
 *   - every variant of a kernel adds one output in the same order (k = 0, 1, 2 ...) into one
 *     accumulator with fused multiply-adds, so the result of a row does not depend on its
 *     neighbours, on the batch or on the number of threads; scalar and vector GEMMs agree to the
 *     bit;
 *   - behind an int8 or bf16 product gelu is a polynomial (near.h), the same in every table;
 *   - a vector is 16 floats on every ISA, so all vector tables agree to the bit in every slot; the
 *     reference takes exp, erf and tanh from libm and differs in the last places;
 *   - tails run the vector body on a padded copy, never other arithmetic;
 *   - one packed layout per data type for every ISA: panels of 16 columns, `[N/16][K/k][16][k]`,
 *     k = 1 (f32), 2 (bf16) or 4 (int8), N and K filled up with zeros;
 *   - the sums of bf16 are f32. Where the CPU has instructions for them (AVX512_BF16, AMX) their
 *     order is the chip's, so that bf16 alone may differ between tables; within one table
 *     the result of a row is the same alone and in a batch.
 * Refused: split-K, a second accumulator for short inputs, choosing by shape inside a kernel. */
#ifndef KERNELS_KERNELS_H
#define KERNELS_KERNELS_H
#include "base/base.h"

enum { PANEL = 16 };

typedef enum {
    ACT_NONE, ACT_RELU, ACT_GELU, ACT_GELU_TANH, ACT_TANH, ACT_SIGMOID, ACT_SILU, ACT_COUNT
} Act;

/* Y[M,N] = act(X[M,K] * W + bias) + residual; late: act(X[M,K] * W + bias + residual) */
typedef struct Linear {
    const float *x;             /* [M, K], rows ldx apart */
    const void *w;              /* panels: [N/16][K][16] f32, [N/16][K/2][16][2] bf16, or
                                 * [N/16][K/4][16][4] int8 */
    const float *bias;          /* [N rounded up to 16], or NULL */
    const float *residual;      /* [M, N], rows ldr apart, or NULL; may be y itself */
    float *y;                   /* [M, N], rows ldy apart; only N columns are written */
    int64_t ldx, ldr, ldy;
    int64_t M, N, K;
    Act act;
    bool late;
    bool far;                   /* w is not in the second cache: all weights together are larger */
    const void *ahead;          /* the weight of the next product, to be prefetched; or NULL */
    int64_t ahead_bytes;
    /* bf16 only */
    const uint16_t *xb;         /* in place of x: what bf16_rows wrote; or */
    const uint16_t *const *at;  /* [M, taps]: where the K / taps values of each piece of a row are, an
                                 * even number; only for a Gemm that takes pieces */
    int64_t taps;
    uint16_t *yb;               /* or NULL: rows for a product that follows, in place of y where that
                                 * is NULL, else beside it (only by a Gemm that takes pieces) */
    /* int8 only; K is at most 65536, so that sums fit in 32 bits */
    const uint8_t *xq;          /* in place of x: what quantize_rows wrote, 0..127 */
    const struct RowScale *row; /* [M] */
    const float *w_scale;       /* [N rounded up to 16] */
    const int32_t *w_sum;       /* [N rounded up to 16]: sum over k of the panel's int8 values */
    const int32_t *w_zero;      /* [N rounded up to 16], or NULL: all zero */
    const uint8_t *w_fits;      /* panels_i8_fits */
} Linear;

typedef struct RowScale {       /* x = scale * (q - zero) */
    float scale;
    int32_t zero;
    int32_t sum;                /* of the row's q */
} RowScale;

/* Rows of low precision lie an odd multiple of 64 bytes apart (an even one would crowd a few sets
 * of the cache), are filled up with zeros to a multiple of 64 bytes at least, and have room for 16
 * rows more (read, never used): a tile of AMX is 16 rows of 64 bytes. */
static inline int64_t row_i8(int64_t K) { return 64 * ((K + 63) / 64 | 1); }
static inline int64_t row_bf16(int64_t K) { return row_i8(2 * K) / 2; } /* values from row to row */
size_t rows_bf16_size(int64_t M, int64_t K); /* bytes */
size_t rows_i8_size(int64_t M, int64_t K);

typedef struct Gemm {
    int mr;                     /* rows of one register tile: split M at multiples of it */
    bool pieces;                /* bf16: takes rows in pieces (Linear.at), writes both kinds of Y */
    /* Rows m0..m1 of panels p0..p1 (each 16 columns). */
    void (*run)(const Linear *, int64_t m0, int64_t m1, int64_t p0, int64_t p1);
} Gemm;

/* Numbers by the distance d of one token from another, kept within -reach .. reach. A row of them can be
 * read 2 * PANEL numbers further on both sides. */
typedef struct ByDistance {
    const float *p;             /* of token 0, d = 0; NULL: none */
    int64_t ld;                 /* from token to token */
    int64_t reach;
    const float *low, *high;    /* of token 0: what is beyond -reach, and beyond reach */
    int64_t ld_ends;
} ByDistance;

/* softmax(q * k' * scale + mask) * v for one head of one row of a ragged batch. */
typedef struct Attention {
    const float *q, *k, *v;     /* [T, ld]: token t at t*ld, head h at columns h*D .. h*D+D-1 */
    float *out;                 /* the same layout */
    int64_t ldq, ldk, ldv, ldo;
    const int32_t *start;       /* [B + 1]: row r is tokens start[r] .. start[r+1]-1 */
    const float *mask;          /* added to the scores, or NULL: every key of the row is live */
    int64_t mask_row, mask_head, mask_query; /* its strides (0: broadcast); keys are dense. By query -1:
                                 * by distance; then 15 numbers before the first can be read */
    ByDistance by_query, by_key; /* added too, where B and H are 1, and never to rows of bf16:
                                 * of query i at d = j - i, of key j at d = i - j */
    int B, H, D;
    int group;                  /* heads of q that share one of k and v, head h / group; 0: each has its own */
    int window;                 /* 0: every token sees its whole row; w: only |i - j| <= w */
    float scale;
    /* Rows of bf16, only for an attention_bf16 that is not the table's attention, and D a multiple
     * of 32: in place of q, k and v, and in place of out; or NULL. */
    const uint16_t *qb, *kb, *vb; /* ldb apart */
    uint16_t *outb;             /* row_bf16(H * D) apart */
    int64_t ldb;
} Attention;
/* The first column of the keys and values of head h. */
static inline int64_t attention_kv_column(const Attention *a, int h)
{
    return (int64_t)(a->group ? h / a->group : h) * a->D;
}
/* Queries q0..q1 (counted inside the row) of row r, head h. scratch: attention_scratch() floats. */
typedef void AttentionFn(const Attention *, int r, int h, int64_t q0, int64_t q1, float *scratch);

/* Rows of C floats: y = (x - mean) / sqrt(var + eps) * gamma + beta; x + skip first where skip is
 * given. y may be x or skip. */
typedef struct Norm {
    const float *x, *skip;      /* [M, C]; skip or NULL */
    const float *gamma, *beta;  /* [C]; beta or NULL */
    float *y, *sum;             /* y [M, C]; sum, or NULL: where x + skip is kept */
    uint16_t *yb;               /* y as rows of bf16 too, or NULL */
    int64_t M, C;
    float eps;
} Norm;
typedef void NormFn(const Norm *, int64_t m0, int64_t m1);
/* Every channel by itself: y[p][c] = bias[c] + the sum over a window of x[..][c] * w[k][c], channels last; or the
 * largest number of the window. Windows in the padding are cut off. */
typedef struct Depthwise {
    const float *x;             /* [in[0], in[1], C] of one picture */
    const float *w;             /* [kernel[0] * kernel[1], C]; NULL: the largest is wanted */
    const float *bias;          /* [C], or NULL */
    float *y;                   /* [out[0], out[1], C] */
    int64_t C;
    int64_t in[2], out[2], kernel[2], stride[2], dilation[2], before[2]; /* before: the padding there */
} Depthwise;
typedef void DepthwiseFn(const Depthwise *, int64_t from, int64_t to); /* rows from .. to of the output */
/* One long row: y = (x - mean) / sqrt(variance + eps); y may be x. */
typedef void StandardizeFn(const float *x, float *y, int64_t n, float eps);
typedef void SoftmaxFn(const float *x, float *y, int64_t n);          /* one row; y may be x */
typedef void ActFn(Act, const float *x, float *y, int64_t n);         /* y may be x */
/* Rows of K floats to q in 0..127 (7 bits: sums are then exact on every ISA), zero point and scale
 * chosen per row so that 0.0 is exact. */
typedef void QuantizeFn(const float *x, int64_t ldx, int64_t K, uint8_t *q, RowScale *, int64_t m0,
                        int64_t m1);
typedef void Bf16Fn(const float *x, int64_t ldx, int64_t K, uint16_t *b, int64_t m0, int64_t m1);
/* Rows of bytes, ld apart, added by weights and rounded: out[i] = (2^shift / 2 + sum over t < taps of
 * weight[t] * rows[t][i]) >> shift, kept within 0 .. 255. Sums must fit in 32 bits; shift: 1 .. 31. */
typedef void BlendFn(const uint8_t *rows, int64_t ld, const int32_t *weight, int taps, int shift,
                     uint8_t *out, int64_t n);
typedef void Sha256Fn(uint32_t state[8], const uint8_t *blocks, size_t count); /* 64-byte blocks */

#define KERNEL_SLOTS(X)                                                                  \
    X(const Gemm, gemm_f32)      /* X * W, W in f32 panels */                            \
    X(const Gemm, gemm_bf16)     /* X in bf16 * bf16 panels, added in f32 */             \
    X(const Gemm, gemm_i8)       /* quantized X * int8 panels -> int32, scaled to f32 */ \
    X(QuantizeFn, quantize_rows)                                                         \
    X(Bf16Fn, bf16_rows)         /* rows of floats to bf16, to nearest even */           \
    X(AttentionFn, attention)                                                            \
    X(AttentionFn, attention_bf16) /* of a model in bf16: may round its factors to bf16 */ \
    X(NormFn, layer_norm)                                                                \
    X(StandardizeFn, standardize) /* of samples of sound */                              \
    X(DepthwiseFn, depthwise)                                                            \
    X(SoftmaxFn, softmax)                                                                \
    X(ActFn, activate)                                                                   \
    X(BlendFn, blend_rows)       /* of pixels: resizing */                               \
    X(Sha256Fn, sha256)

typedef struct Kernels {
    const char *isa;             /* "avx2" */
    uint64_t needs;              /* CPU_* bits, all of them required */
#define X(type, slot) type *slot;
    KERNEL_SLOTS(X)
#undef X
} Kernels;

Kernels kernels_select(uint64_t cpu); /* each slot from the best table this CPU can run */
const Kernels *kernels(void);         /* selected once: for the level wanted, or $EF_CPU's */
/* Kernels of this level ("avx2") for the whole process. False: unknown, not on this CPU, or the first use
 * of kernels() chose others; nothing is changed then. */
bool kernels_want(const char *level, Err *);
/* The table whose products run at a precision ("fp32", "bf16", "int8"): "dotprod" where `isa`, the
 * one of fp32, is "neon". */
const char *kernels_isa(const Kernels *, const char *precision);

/* ---- ISA-independent helpers (pack.c) ---- */
/* w is [K, N] row-major (transposed: [N, K]); out has panels_f32_size(N, K) floats. */
size_t panels_f32_size(int64_t N, int64_t K);
void panels_f32_pack(const float *w, bool transposed, int64_t N, int64_t K, float *out);
size_t panels_bf16_size(int64_t N, int64_t K);        /* values */
void panels_bf16_pack(const float *w, bool transposed, int64_t N, int64_t K, uint16_t *out);
size_t panels_i8_size(int64_t N, int64_t K);          /* bytes */
void panels_i8_pack(const int8_t *w, bool transposed, int64_t N, int64_t K, int8_t *out,
                    int32_t *w_sum); /* w_sum: [N rounded up to 16] */
/* Which blocks of 16 columns and 16 k have weights so small that the 8 products of a column and every
 * second pair of k, each with x - 64, fit in 16 bits: 1, else 0; at an end of fewer k 0. */
enum { FITS_K = 16 };
static inline int64_t fits_row(int64_t K) /* bytes of one panel: eight blocks each, the first lowest */
{
    return (K + 8 * FITS_K - 1) / (8 * FITS_K);
}
void panels_i8_fits(const int8_t *panels, int64_t N, int64_t K, uint8_t *fits); /* [N/16][row] */
enum { ATTEND_KEYS = 512 };           /* that are scored at once; a longer row is cut into equal parts */
size_t attention_scratch(int64_t longest_row, int D); /* floats, for any ISA */
int64_t attention_row(int64_t n, int D); /* floats of a query's scores, and of its result */

typedef struct Sha256 {
    uint32_t state[8];
    uint8_t tail[64];
    uint64_t length;
} Sha256;
void sha256_start(Sha256 *);
void sha256_add(Sha256 *, const void *, size_t);
void sha256_end(Sha256 *, uint8_t out[32]);

#endif
