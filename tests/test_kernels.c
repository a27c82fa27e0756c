/* SPDX-License-Identifier: Apache-2.0
 * test_kernels.c - every slot of every table this CPU can run, at awkward sizes, against the
 * reference: to the bit for the GEMMs (but bf16 by the chip), the quantizer and SHA-256; within a
 * stated tolerance where an exp is inside. Then the walls: a row alone equals the row in company,
 * every split equals the whole, all vector tables agree with each other to the bit, and nothing is
 * written outside. Inputs are exact allocations, so that the sanitizer build also sees reads
 * outside. */
#include <float.h>

#include "base/bf16.h"
#include "check.h"
#include "kernels/tables.h"

/* ---- helpers ---- */
static uint64_t seed = 1;
static uint32_t random_bits(void)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(seed >> 32);
}
static int64_t random_below(int64_t n) { return (int64_t)(random_bits() % (uint64_t)n); }
static float random_float(void) { return (float)((double)random_bits() / 2147483648.0 - 1); }

static void *exact(size_t bytes)
{
    void *p = malloc(bytes ? bytes : 1);
    assert(p);
    return p;
}
static float *randoms(int64_t n, float scale)
{
    float *p = exact((size_t)n * sizeof(float));
    for (int64_t i = 0; i < n; i++) p[i] = scale * random_float();
    return p;
}

/* An output between two walls of known bytes, itself filled with them, and not aligned. */
enum { WALL = 260, BRICK = 0xa5 };
static void *walled(size_t bytes)
{
    uint8_t *p = exact(bytes + 2 * WALL);
    memset(p, BRICK, bytes + 2 * WALL);
    return p + WALL;
}
static bool walls_stand(const void *p, size_t bytes)
{
    const uint8_t *b = p;
    for (int i = 1; i <= WALL; i++)
        if (b[-i] != BRICK || b[bytes + (size_t)i - 1] != BRICK) return false;
    return true;
}
static void unwall(void *p) { free((uint8_t *)p - WALL); }

static bool same(const void *a, const void *b, size_t bytes) { return !memcmp(a, b, bytes); }
static bool same_float(float a, float b) { return same(&a, &b, sizeof(a)); }

/* |a - b| <= tolerance * max(1, |b|); NaN equals NaN. Bytes of the walls count as equal. */
static bool near_all(const float *a, const float *b, int64_t n, float tolerance)
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

static const Kernels *first_vector_table(void)
{
    for (size_t i = 0; i < kernel_table_count; i++)
        if (!(kernel_tables[i]->needs & ~cpu_features()) && kernel_tables[i]->activate)
            return kernel_tables[i];
    return &kern_scalar;
}

/* What the results of two vector tables must be: equal. Against the reference: near. */
static bool agrees(const float *y, const float *scalar, const float *vector, int64_t n,
                   float tolerance)
{
    return near_all(y, scalar, n, tolerance) && same(y, vector, (size_t)n * sizeof(float));
}

/* Rows of bf16 are those of y to nearest even, filled up with zeros. */
static bool rounds_to(const uint16_t *b, const float *y, int64_t ldy, int64_t M, int64_t N)
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

/* ---- GEMM ---- */
typedef struct Product {        /* a Linear that owns its memory */
    Linear l;
    float *x, *bias, *residual, *w_scale;
    void *w;
    uint8_t *xq;
    uint16_t *xb;
    RowScale *row;
    int32_t *w_sum, *w_zero;
    size_t y_bytes;
} Product;

static void product_f32(Product *p)
{
    Linear *l = &p->l;
    float *w = randoms(l->N * l->K, 1);
    p->w = exact(panels_f32_size(l->N, l->K) * sizeof(float));
    panels_f32_pack(w, random_bits() & 1, l->N, l->K, p->w);
    free(w);
}

static void product_bf16(Product *p)
{
    Linear *l = &p->l;
    float *w = randoms(l->N * l->K, 1);
    p->w = exact(panels_bf16_size(l->N, l->K) * sizeof(uint16_t));
    panels_bf16_pack(w, random_bits() & 1, l->N, l->K, p->w);
    free(w);
    l->xb = p->xb = exact(rows_bf16_size(l->M, l->K));
    kern_scalar.bf16_rows(p->x, l->ldx, l->K, p->xb, 0, l->M);
}

static void product_i8(Product *p, bool extreme)
{
    Linear *l = &p->l;
    size_t wide = (size_t)ROUND_UP(l->N, PANEL);
    int8_t *w = exact((size_t)(l->N * l->K));
    int divisor = 1 << random_below(3); /* small ones are added in 16 bits where they fit */
    for (int64_t i = 0; i < l->N * l->K; i++)
        w[i] = (int8_t)(extreme ? -128 : (int8_t)random_bits() / divisor);
    p->w = exact(panels_i8_size(l->N, l->K));
    p->w_sum = exact(wide * sizeof(int32_t));
    panels_i8_pack(w, random_bits() & 1, l->N, l->K, p->w, p->w_sum);
    free(w);
    p->w_scale = randoms((int64_t)wide, 0.01f);
    if (random_bits() & 1) p->w_zero = exact(wide * sizeof(int32_t));
    for (size_t n = 0; p->w_zero && n < wide; n++) p->w_zero[n] = (int32_t)random_below(256) - 128;
    p->row = exact((size_t)l->M * sizeof(RowScale));
    p->xq = exact(rows_i8_size(l->M, l->K));
    kern_scalar.quantize_rows(p->x, l->ldx, l->K, p->xq, p->row, 0, l->M);
    for (int64_t m = 0; extreme && m < l->M; m++)
        memset(p->xq + m * row_i8(l->K), 127, (size_t)l->K);
    l->xq = p->xq, l->row = p->row;
    l->w_scale = p->w_scale, l->w_sum = p->w_sum, l->w_zero = p->w_zero;
}

typedef enum { F32, BF16, I8 } Precision;

static Product product(Precision precision, int64_t M, int64_t N, int64_t K, Act act)
{
    Product p = { .l = { .M = M, .N = N, .K = K, .act = act } };
    uint32_t kind = random_bits();
    p.l.ldx = K + (kind & 1) * 3;
    p.l.ldy = N + (kind >> 1 & 1) * 5;
    p.l.ldr = N + (kind >> 2 & 1) * 2;
    p.x = randoms((M - 1) * p.l.ldx + K, 1);
    if (kind & 8) p.bias = randoms(ROUND_UP(N, PANEL), 1);
    if (kind & 16) p.residual = randoms((M - 1) * p.l.ldr + N, 1);
    p.l.x = p.x, p.l.bias = p.bias, p.l.residual = p.residual;
    if (precision == I8) product_i8(&p, kind >> 5 & 1 & (M & 1));
    if (precision == BF16) product_bf16(&p);
    if (precision == F32) product_f32(&p);
    p.l.w = p.w;
    p.y_bytes = (size_t)((M - 1) * p.l.ldy + N) * sizeof(float);
    return p;
}

static void product_free(Product *p)
{
    free(p->x), free(p->bias), free(p->residual), free(p->w_scale), free(p->w), free(p->xq);
    free(p->xb);
    free(p->row), free(p->w_sum), free(p->w_zero);
}

static int64_t panels_of(const Linear *l) { return ROUND_UP(l->N, PANEL) / PANEL; }

static float *whole(const Gemm *g, Product *p)
{
    p->l.y = walled(p->y_bytes);
    g->run(&p->l, 0, p->l.M, 0, panels_of(&p->l));
    return p->l.y;
}

/* The same in pieces: rows and panels cut anywhere. */
static void run_pieces(const Gemm *g, const Product *p)
{
    for (int64_t m = 0, next; m < p->l.M; m = next) {
        next = m + 1 + random_below(2 * g->mr);
        next = MIN(p->l.M, next);
        for (int64_t n = 0, end; n < panels_of(&p->l); n = end) {
            end = n + 1 + random_below(4);
            end = MIN(panels_of(&p->l), end);
            g->run(&p->l, m, next, n, end);
        }
    }
}
static float *pieces(const Gemm *g, Product *p)
{
    p->l.y = walled(p->y_bytes);
    run_pieces(g, p);
    return p->l.y;
}

/* Written as rows of bf16, whole and in pieces. */
static bool low_is_same(const Gemm *g, Product *p, const float *y)
{
    Linear *l = &p->l;
    size_t bytes = rows_bf16_size(l->M, l->N);
    bool ok = true;
    for (int i = 0; i < 2; i++) {
        l->yb = walled(bytes);
        if (i) run_pieces(g, p);
        else g->run(l, 0, l->M, 0, panels_of(l));
        ok = ok && rounds_to(l->yb, y, l->ldy, l->M, l->N) && walls_stand(l->yb, bytes);
        unwall(l->yb);
    }
    l->yb = NULL;
    return ok;
}

static float *in_place(const Gemm *g, Product *p) /* residual is y itself */
{
    p->l.y = walled(p->y_bytes);
    for (int64_t m = 0; m < p->l.M; m++)
        memcpy(p->l.y + m * p->l.ldy, p->residual + m * p->l.ldr, (size_t)p->l.N * sizeof(float));
    p->l.residual = p->l.y, p->l.ldr = p->l.ldy;
    g->run(&p->l, 0, p->l.M, 0, panels_of(&p->l));
    return p->l.y;
}

typedef struct GemmTest {
    const Gemm *gemm, *reference;
    Precision precision;
    bool exact; /* to the bit; else the chip adds in an order of its own */
} GemmTest;

/* Every addition of K rounds by half a place of a partial sum, and those stay below K / 4 here. */
static float sum_tolerance(const GemmTest *t, const Product *p)
{
    if (t->exact) return p->l.act == ACT_NONE ? 0 : 1e-6f;
    float near = p->l.act == ACT_GELU ? 5e-6f : 0; /* rounding in a polynomial of two different sums */
    return 1e-6f + near + 6e-8f * (float)(p->l.K) / 4;
}

static void gemm_case(const GemmTest *t, int64_t M, int64_t N, int64_t K, Act act)
{
    Product p = product(t->precision, M, N, K, act);
    float *want = whole(t->reference, &p), *got = whole(t->gemm, &p), *cut = pieces(t->gemm, &p);
    bool low = t->precision != BF16 || low_is_same(t->gemm, &p, got);
    float *over = p.residual ? in_place(t->gemm, &p) : NULL;
    float tolerance = sum_tolerance(t, &p);
    bool ok = tolerance ? near_all(got, want, (int64_t)(p.y_bytes / sizeof(float)), tolerance)
                        : same(got, want, p.y_bytes);
    ok = ok && same(got, cut, p.y_bytes) && (!over || same(got, over, p.y_bytes));
    ok = ok && low && walls_stand(got, p.y_bytes) && walls_stand(cut, p.y_bytes);
    if (!CHECK(ok)) printf("  M %d N %d K %d act %d\n", (int)M, (int)N, (int)K, (int)act);
    unwall(want), unwall(got), unwall(cut);
    if (over) unwall(over);
    product_free(&p);
}

static void gemm_cases(GemmTest t)
{
    const int64_t M[] = { 1, 2, 3, t.gemm->mr - 1, t.gemm->mr, t.gemm->mr + 1, 15, 16, 17, 31, 64,
                          100 };
    static const int64_t N[] = { 1, 15, 16, 17, 33, 64, 100, 384 };
    static const int64_t K[] = { 1, 2, 3, 15, 16, 17, 33, 64, 100, 384 };
    for (size_t m = 0; m < COUNT(M); m++)
        for (size_t n = 0; n < COUNT(N); n++)
            for (size_t k = 0; k < COUNT(K); k++)
                if (M[m]) gemm_case(&t, M[m], N[n], K[k], ACT_NONE);
    static const int64_t long_M[] = { 5, 33, 70 }; /* a K and a weight that AMX cuts */
    for (size_t m = 0; m < COUNT(long_M); m++) {
        gemm_case(&t, long_M[m], 100, 1610, ACT_NONE);
        gemm_case(&t, long_M[m], 817, 1610, ACT_GELU);
    }
    for (Act act = ACT_RELU; act < ACT_COUNT; act++) {
        gemm_case(&t, 19, 100, 33, act);
        gemm_case(&t, 1, 33, 100, act);
    }
}

static void test_gemm_f32(const Kernels *t)
{
    gemm_cases((GemmTest){ t->gemm_f32, kern_scalar.gemm_f32, F32, true });
}
static void test_gemm_bf16(const Kernels *t)
{
    bool widened = !(t->needs & (CPU_AVX512BF16 | CPU_AMX));
    gemm_cases((GemmTest){ t->gemm_bf16, kern_scalar.gemm_bf16, BF16, widened });
}
static double exactly(Act act, double x)
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

/* Behind int8 products gelu is near (kernels/near.h says how near). */
static void gelu_is_near(const Gemm *gemm)
{
    for (int64_t K = 1; K < 1000; K *= 5) {
        Product p = product(I8, 19, 100, K, ACT_NONE);
        p.l.residual = NULL;
        float *x = whole(gemm, &p), worst = 0;
        p.l.act = ACT_GELU;
        float *y = whole(gemm, &p);
        for (int64_t m = 0; m < p.l.M; m++)
            for (int64_t n = 0; n < p.l.N; n++) {
                int64_t i = m * p.l.ldy + n;
                float error = fabsf(y[i] - (float)exactly(ACT_GELU, x[i])) / fmaxf(1, fabsf(x[i]));
                worst = fmaxf(worst, error);
            }
        if (!CHECK(worst <= 3e-5f)) printf("  K %d: error %g\n", (int)K, worst);
        unwall(x), unwall(y);
        product_free(&p);
    }
}

/* Weights at the limits of 16-bit sums (body/pairs.h) and just beyond, under the largest and the
 * smallest x there are. A lane of 16 bits has k = 0, 1 of every four (or 2, 3): eight weights. */
static const int8_t lanes[][8] = {
    { 32, 32, 32, 32, 32, 32, 32, 34 },         /* 258: 127 * w fits as it is */
    { 32, 32, 32, 32, 32, 32, 32, 35 },         /* 259 */
    { -32, -32, -32, -32, -32, -32, -32, -34 },
    { -32, -32, -32, -32, -32, -32, -32, -35 },
    { 127, 127, 4, 0, 0, 0, -128, -128 },
    { 63, 63, 63, 63, 64, 64, 64, 63 },         /* 507: counted as that, fits */
    { 63, 63, 63, 63, 64, 64, 64, 64 },         /* 508 */
    { -63, -64, -64, -64, -64, -64, -64, -64 }, /* 511: the most that fits */
    { 64, 64, 64, 64, 64, 64, 64, 64 },         /* 512 */
    { -64, -64, -64, -64, -64, -64, -64, -64 }, /* -512: 64 * 512 is one too many */
    { -128, 0, -128, 0, -128, 0, -127, 0 },     /* 511 by numbers whose sums saturate */
    { -128, 0, -128, 0, -128, 0, -128, 0 },
    { -128, -128, -128, -128, 0, 0, 0, 0 },
    { -128, -128, -128, -128, -1, 0, 0, 0 },
    { 127, 127, 127, 127, 3, 0, 0, 0 },         /* 511 */
    { 127, 127, 127, 127, 4, 0, 0, 0 },
    { 127, -128, 127, -127, 1, -1, 0, 0 },
    { 127, 127, 127, 127, 127, 127, 127, 127 },
    { -128, -128, -128, -128, -128, -128, -128, -128 },
};

/* x is 127 for weights of the signs in `which` (1: above 0, 2: the others), else 0. */
static void lane_rows(const Product *p, const int8_t *lane, int which)
{
    for (int64_t m = 0; m < p->l.M; m++) {
        p->row[m] = (RowScale){ 1, 0, 0 };
        for (int64_t k = 0; k < p->l.K; k++) {
            bool on = which & (lane[k % 16 / 4 * 2 + k % 2] > 0 ? 1 : 2);
            p->xq[m * row_i8(p->l.K) + k] = on ? 127 : 0;
        }
    }
}

static void lanes_hold(const Gemm *gemm, const int8_t *lane, int64_t M)
{
    Product p = product(I8, M, 33, 100, ACT_NONE);
    int8_t *w = exact((size_t)(p.l.N * p.l.K));
    for (int64_t k = 0; k < p.l.K; k++)
        for (int64_t n = 0; n < p.l.N; n++) w[k * p.l.N + n] = lane[k % 16 / 4 * 2 + k % 2];
    panels_i8_pack(w, false, p.l.N, p.l.K, p.w, p.w_sum);
    for (int which = 0; which < 4; which++) {
        lane_rows(&p, lane, which);
        float *want = whole(kern_scalar.gemm_i8, &p), *got = whole(gemm, &p);
        if (!CHECK(same(got, want, p.y_bytes)))
            printf("  M %d, lane of %d, %d, %d ..., x %d\n", (int)M, lane[0], lane[1], lane[2],
                   which);
        unwall(want), unwall(got);
    }
    free(w);
    product_free(&p);
}

static void test_gemm_i8(const Kernels *t)
{
    const GemmTest test = { t->gemm_i8, kern_scalar.gemm_i8, I8, true };
    gemm_cases(test);
    gemm_case(&test, 40, 17, 4200, ACT_NONE); /* more blocks than a panel remembers */
    const int64_t M[] = { 1, t->gemm_i8->mr, 3 * t->gemm_i8->mr - 1, 3 * t->gemm_i8->mr + 1 };
    for (size_t i = 0; i < COUNT(lanes) * COUNT(M); i++)
        lanes_hold(t->gemm_i8, lanes[i / COUNT(M)], M[i % COUNT(M)]);
    gelu_is_near(t->gemm_i8);
}

/* ---- quantizer ---- */
static void spoil(float *x, int64_t K, int64_t m)
{
    static const float odd[] = { 0, 1e-38f, 3e38f, -INFINITY, INFINITY, 1e-25f };
    for (int64_t k = 0; k < K; k++) {
        if (m % 8 < 6) continue;                    /* most rows are ordinary */
        x[k] = m % 16 < 8 ? odd[m / 16 % COUNT(odd)] : fabsf(x[k]) * (m % 2 ? 1 : -1);
    }
}

static bool quantized_well(const float *x, int64_t K, const uint8_t *q, RowScale row)
{
    int32_t sum = 0;
    for (int64_t k = 0; k < row_i8(K); k++) {
        sum += q[k];
        if (q[k] > 127 || (k >= K && q[k])) return false;
        if (k >= K || !isfinite(row.scale)) continue;
        float back = row.scale * (float)(q[k] - row.zero);
        if (x[k] == 0 && back != 0) return false;   /* 0.0 is exact */
        if (!(fabsf(back - x[k]) <= 1.001f * row.scale + 1e-30f)) return false;
    }
    return sum == row.sum;
}

static void test_quantize_rows(const Kernels *t)
{
    static const int64_t sizes[] = { 1, 2, 3, 4, 5, 15, 16, 17, 33, 64, 100, 384 };
    for (size_t i = 0; i < COUNT(sizes); i++) {
        int64_t K = sizes[i], ldx = K + 1, M = 100, bytes = M * row_i8(K);
        float *x = randoms(M * ldx, 4);
        for (int64_t m = 0; m < M; m++) spoil(x + m * ldx, K, m);
        uint8_t *want = walled((size_t)bytes), *got = walled((size_t)bytes);
        RowScale want_row[100], got_row[100];
        kern_scalar.quantize_rows(x, ldx, K, want, want_row, 0, M);
        t->quantize_rows(x, ldx, K, got, got_row, 50, M);
        t->quantize_rows(x, ldx, K, got, got_row, 0, 50);
        CHECK(same(want, got, (size_t)bytes) && walls_stand(got, (size_t)bytes));
        CHECK(same(want_row, got_row, sizeof(want_row)));
        bool well = true;
        for (int64_t m = 0; m < M; m++)
            well &= quantized_well(x + m * ldx, K, got + m * row_i8(K), got_row[m]);
        CHECK(well);
        free(x), unwall(want), unwall(got);
    }
}

/* Random bit patterns: all exponents, NaN and infinity among them. */
static void test_bf16_rows(const Kernels *t)
{
    static const int64_t sizes[] = { 1, 2, 15, 16, 17, 33, 64, 100, 384 };
    for (size_t i = 0; i < COUNT(sizes); i++) {
        int64_t K = sizes[i], ldx = K + 1, M = 40;
        float *x = exact((size_t)(M * ldx) * sizeof(float));
        for (int64_t j = 0; j < M * ldx; j++) {
            uint32_t bits = j % 3 ? random_bits() : random_bits() & 0xFFFF8000;
            memcpy(x + j, &bits, sizeof(bits));
        }
        size_t bytes = (size_t)(M * row_bf16(K)) * sizeof(uint16_t);
        uint16_t *want = walled(bytes), *got = walled(bytes);
        kern_scalar.bf16_rows(x, ldx, K, want, 0, M);
        t->bf16_rows(x, ldx, K, got, 7, M);
        t->bf16_rows(x, ldx, K, got, 0, 7);
        CHECK(same(want, got, bytes) && walls_stand(got, bytes));
        free(x), unwall(want), unwall(got);
    }
}

/* ---- attention ---- */
enum { ROWS = 4 };
typedef struct Scene {
    Attention a;
    float *qkv, *mask, *scratch;
    size_t out_bytes, scratch_bytes;
    int64_t longest;
} Scene;

typedef enum { MASK_NONE, MASK_KEYS, MASK_FULL, MASK_COUNT } MaskKind;

static void scene_mask(Scene *s, MaskKind kind)
{
    int64_t S = s->longest, H = s->a.H;
    bool full = kind == MASK_FULL;
    if (kind == MASK_NONE) return;
    s->mask = randoms(full ? H * S * S : s->a.B * S, 1);
    for (int64_t i = 0; !full && i < s->a.B * S; i++)
        s->mask[i] = s->mask[i] < 0.3f ? 0 : i & 1 ? -FLT_MAX : -1e4f;
    s->a.mask = s->mask;
    s->a.mask_row = full ? 0 : S;
    s->a.mask_head = full ? S * S : 0;
    s->a.mask_query = full ? S : 0;
}

static Scene scene(const int32_t start[ROWS + 1], int H, int D, int window, MaskKind mask)
{
    Scene s = { .a = { .start = start, .B = ROWS, .H = H, .D = D, .window = window,
                       .scale = 1 / sqrtf((float)D) } };
    int64_t C = (int64_t)H * D, T = start[ROWS];
    for (int r = 0; r < ROWS; r++) s.longest = MAX(s.longest, start[r + 1] - start[r]);
    s.qkv = randoms(T * 3 * C, 2);
    s.a.q = s.qkv, s.a.k = s.qkv + C, s.a.v = s.qkv + 2 * C;
    s.a.ldq = s.a.ldk = s.a.ldv = 3 * C;
    s.a.ldo = C + 1;
    s.out_bytes = (size_t)((T - 1) * s.a.ldo + C) * sizeof(float);
    s.scratch_bytes = attention_scratch(s.longest, D) * sizeof(float);
    s.scratch = walled(s.scratch_bytes);
    scene_mask(&s, mask);
    return s;
}

/* Every row, head and query, at most `step` queries a call. */
static float *scene_run(Scene *s, AttentionFn *run, int64_t step)
{
    float *out = walled(s->out_bytes);
    s->a.out = out;
    for (int r = 0; r < s->a.B; r++)
        for (int h = 0; h < s->a.H; h++)
            for (int64_t q = 0, n = s->a.start[r + 1] - s->a.start[r]; q < n; q += step)
                run(&s->a, r, h, q, MIN(n, q + step), s->scratch);
    return out;
}

/* Row r as a batch of its own. */
static bool alone_is_same(Scene *s, AttentionFn *run, int r, const float *company)
{
    int32_t n = s->a.start[r + 1] - s->a.start[r], start[2] = { 0, n };
    Attention a = s->a;
    float *out = walled(s->out_bytes);
    int64_t at = s->a.start[r];
    a.start = start, a.B = 1, a.out = out;
    a.q += at * a.ldq, a.k += at * a.ldk, a.v += at * a.ldv;
    if (a.mask) a.mask += r * a.mask_row;
    bool ok = true;
    size_t width = (size_t)(a.H * a.D) * sizeof(float);
    for (int h = 0; h < a.H; h++) run(&a, 0, h, 0, n, s->scratch);
    for (int64_t i = 0; i < n; i++)
        ok &= same(out + i * a.ldo, company + (at + i) * a.ldo, width);
    unwall(out);
    return ok;
}

/* As bf16 has them: what is left to round is the weights of softmax. */
static void scene_round(Scene *s)
{
    int64_t n = s->a.start[ROWS] * 3 * s->a.H * s->a.D;
    for (int64_t i = 0; i < n; i++) s->qkv[i] = bf16_to_f32(f32_to_bf16(s->qkv[i]));
}

/* Rows of bf16 in and out. */
static bool low_attention_is_near(const Scene *s, AttentionFn *run, const float *want)
{
    int64_t C = (int64_t)s->a.H * s->a.D, T = s->a.start[ROWS], row = row_bf16(C);
    size_t bytes = rows_bf16_size(T, C);
    Attention a = s->a;
    uint16_t *qkv = exact(rows_bf16_size(T, 3 * C));
    kern_scalar.bf16_rows(s->qkv, 3 * C, 3 * C, qkv, 0, T);
    a.qb = qkv, a.kb = qkv + C, a.vb = qkv + 2 * C, a.ldb = row_bf16(3 * C);
    a.outb = walled(bytes);
    bool ok = true;
    for (int r = 0; r < a.B; r++)
        for (int h = 0; h < a.H; h++) run(&a, r, h, 0, a.start[r + 1] - a.start[r], s->scratch);
    for (int64_t t = 0; t < T; t++) {
        float *got = exact((size_t)C * sizeof(float));
        for (int64_t c = 0; c < C; c++) got[c] = bf16_to_f32(a.outb[t * row + c]);
        ok = ok && near_all(got, want + t * a.ldo, C, 1e-2f);
        for (int64_t c = C; c < row; c++) ok = ok && !a.outb[t * row + c];
        free(got);
    }
    ok = ok && walls_stand(a.outb, bytes) && walls_stand(s->scratch, s->scratch_bytes);
    free(qkv), unwall(a.outb);
    return ok;
}

static void attention_case(AttentionFn *run, Scene s, bool bf16)
{
    if (bf16) scene_round(&s);
    float *want = scene_run(&s, kern_scalar.attention, INT32_MAX);
    float *vector = scene_run(&s, first_vector_table()->attention, INT32_MAX);
    float *got = scene_run(&s, run, INT32_MAX), *cut = scene_run(&s, run, 1 + random_below(40));
    bool scalar = run == kern_scalar.attention;
    int64_t floats = (int64_t)(s.out_bytes / sizeof(float));
    bool ok = bf16 ? near_all(got, want, floats, 5e-3f)
                   : agrees(got, want, scalar ? got : vector, floats, 2e-6f);
    ok = ok && same(got, cut, s.out_bytes) && walls_stand(got, s.out_bytes);
    ok = ok && walls_stand(s.scratch, s.scratch_bytes);
    ok = ok && alone_is_same(&s, run, (int)random_below(ROWS), got);
    if (bf16 && s.a.D % 32 == 0) ok = ok && low_attention_is_near(&s, run, want);
    if (!CHECK(ok)) printf("  H %d D %d window %d mask %d\n", s.a.H, s.a.D, s.a.window, !!s.a.mask);
    unwall(want), unwall(vector), unwall(got), unwall(cut), unwall(s.scratch);
    free(s.qkv), free(s.mask);
}

/* All keys masked: by a number, softmax is uniform; by -inf, it is NaN. */
static void attention_all_masked(AttentionFn *run, float tolerance)
{
    static const int32_t start[ROWS + 1] = { 0, 1, 1, 1, 21 };
    for (int i = 0; i < 2; i++) {
        Scene s = scene(start, 1, 8, 0, MASK_KEYS);
        for (int64_t j = 0; j < ROWS * s.longest; j++) s.mask[j] = i ? -INFINITY : -FLT_MAX;
        float *out = scene_run(&s, run, INT32_MAX), mean = 0;
        for (int j = 1; j < 21; j++) mean += s.a.v[j * s.a.ldv] / 20;
        CHECK(i ? isnan(out[s.a.ldo]) : fabsf(out[s.a.ldo] - mean) < tolerance);
        unwall(out), unwall(s.scratch);
        free(s.qkv), free(s.mask);
    }
}

static void attention_cases(AttentionFn *run, bool bf16)
{
    static const int32_t starts[][ROWS + 1] = { { 0, 1, 3, 18, 34 },    /* 1, 2, 15, 16 */
                                                { 0, 17, 17, 50, 150 }, /* 17, none, 33, 100 */
                                                { 0, 5, 6, 136, 200 } };
    static const int sizes[] = { 1, 8, 16, 20, 32, 33, 64, 80, 128 }, windows[] = { 0, 1, 5, 64 };
    for (size_t b = 0; b < COUNT(starts); b++)
        for (size_t d = 0; d < COUNT(sizes); d++)
            for (size_t w = 0; w < COUNT(windows); w++)
                for (MaskKind m = 0; m < MASK_COUNT; m++) {
                    int H = (int)d % 3 + 1;
                    attention_case(run, scene(starts[b], H, sizes[d], windows[w], m), bf16);
                }
    attention_all_masked(run, bf16 ? 5e-3f : 1e-6f);
}
static void test_attention(const Kernels *t) { attention_cases(t->attention, false); }
static void test_attention_bf16(const Kernels *t)
{
    if (t->needs & CPU_AMX) attention_cases(t->attention_bf16, true);
    else CHECK(t == &kern_scalar || t->attention_bf16 == t->attention); /* nothing to gain */
}

/* ---- rows ---- */
static const int64_t row_sizes[] = { 1, 2, 7, 8, 9, 15, 16, 17, 31, 33, 64, 100, 384 };

/* The mean is rounded once, to a last place of the largest x; the division by the deviation blows
 * that error up, also in the reference of a reference. */
static float norm_tolerance(const float *x, const float *skip, int64_t C)
{
    double sum = 0, squares = 0, largest = 0;
    for (int64_t c = 0; c < C; c++) {
        double v = x[c] + (skip ? skip[c] : 0);
        sum += v, squares += v * v, largest = fmax(largest, fabs(v));
    }
    double variance = fmax(0, squares / (double)C - sum / (double)C * (sum / (double)C));
    return (float)(3e-7 + 2e-7 * largest / sqrt(variance + 1e-5));
}

static void norm_case(const Kernels *t, int64_t C, uint32_t kind)
{
    enum { M = 5 };
    size_t bytes = (size_t)(M * C) * sizeof(float);
    float *x = randoms(M * C, 3), *skip = randoms(M * C, 1);
    float *gamma = randoms(C, 1), *beta = randoms(C, 1);
    float *y[4], *sum[4];
    const Kernels *tables[4] = { &kern_scalar, first_vector_table(), t, t };
    if (kind & 8)
        for (int64_t i = 0; i < M * C; i++) x[i] += 30; /* a mean far from 0 */
    for (int i = 0; i < 4; i++) {
        y[i] = walled(bytes), sum[i] = walled(bytes);
        Norm n = { .x = x, .skip = kind & 1 ? skip : NULL, .gamma = gamma,
                   .beta = kind & 2 ? beta : NULL, .y = y[i], .sum = kind & 4 ? sum[i] : NULL,
                   .M = M, .C = C, .eps = 1e-5f };
        if (i == 3 && kind % 4 == 1) memcpy(y[i], skip, bytes), n.skip = y[i]; /* in place, */
        else if (i == 3) memcpy(y[i], x, bytes), n.x = y[i];                   /* row by row */
        size_t low = (size_t)(M * row_bf16(C)) * sizeof(uint16_t);
        n.yb = i > 1 ? walled(low) : NULL;
        for (int64_t m = 0; m < M; m++) tables[i]->layer_norm(&n, m, i == 3 ? m + 1 : M);
        CHECK(walls_stand(y[i], bytes) && walls_stand(sum[i], bytes));
        if (!n.yb) continue;
        CHECK(rounds_to(n.yb, y[i], C, M, C) && walls_stand(n.yb, low));
        unwall(n.yb);
    }
    bool close = true;
    for (int64_t at = 0; at < M * C; at += C)
        close &= near_all(y[2] + at, y[0] + at, C,
                          norm_tolerance(x + at, kind & 1 ? skip + at : NULL, C));
    CHECK(close && (t == &kern_scalar || same(y[2], y[1], bytes)));
    CHECK(same(y[2], y[3], bytes) && same(sum[2], sum[0], bytes));
    for (int i = 0; i < 4; i++) unwall(y[i]), unwall(sum[i]);
    free(x), free(skip), free(gamma), free(beta);
}

/* The mean of equal numbers is their value to the bit: 1 / sqrt(eps) would show any difference. */
static void norm_of_equals(const Kernels *t, int64_t C)
{
    float *x = randoms(C, 1), *gamma = randoms(C, 1), *beta = randoms(C, 1);
    for (int turn = 0; turn < 20; turn++) {
        for (int64_t c = 0; c < C; c++) x[c] = x[0];
        Norm n = { .x = x, .gamma = gamma, .beta = beta, .y = x, .M = 1, .C = C, .eps = 1e-12f };
        t->layer_norm(&n, 0, 1);
        CHECK(same(x, beta, (size_t)C * sizeof(float)));
        x[0] = 100 * random_float();
    }
    free(x), free(gamma), free(beta);
}

static void test_layer_norm(const Kernels *t)
{
    for (size_t i = 0; i < COUNT(row_sizes); i++) norm_of_equals(t, row_sizes[i]);
    for (size_t i = 0; i < COUNT(row_sizes); i++)
        for (uint32_t kind = 0; kind < 16; kind++) norm_case(t, row_sizes[i], kind);
}

static void test_softmax(const Kernels *t)
{
    static const float scales[] = { 1, 20, 1e4f, 3e38f };
    for (size_t i = 0; i < COUNT(row_sizes) * COUNT(scales); i++) {
        int64_t n = row_sizes[i / COUNT(scales)];
        size_t bytes = (size_t)n * sizeof(float);
        float *x = randoms(n, scales[i % COUNT(scales)]);
        float *want = walled(bytes), *vector = walled(bytes);
        float *got = walled(bytes), *over = walled(bytes);
        if (n > 2) x[n / 2] = -INFINITY;
        memcpy(over, x, bytes);
        kern_scalar.softmax(x, want, n);
        first_vector_table()->softmax(x, vector, n);
        t->softmax(x, got, n);
        t->softmax(over, over, n);
        CHECK(agrees(got, want, t == &kern_scalar ? got : vector, n, 2e-7f));
        CHECK(same(got, over, bytes) && walls_stand(got, bytes));
        for (int64_t j = 0; j < n; j++) x[j] = -INFINITY;
        t->softmax(x, got, n);
        CHECK(isnan(got[0]) && isnan(got[n - 1]));
        free(x), unwall(want), unwall(vector), unwall(got), unwall(over);
    }
}

/* Largest error over a dense range, as |error| / max(1, |x|) and in units of the last place where
 * the result is above 1e-3. */
static void activation_error(const Kernels *t, Act act, double *scaled, double *ulps)
{
    enum { N = 4096 };
    static float x[N], y[N];
    *scaled = *ulps = 0;
    for (int pass = 0; pass < 256; pass++) {
        float reach = pass < 4 ? 100 : pass < 8 ? 1e-3f : pass < 64 ? 20 : 6;
        for (int i = 0; i < N; i++) x[i] = reach * random_float();
        t->activate(act, x, y, N);
        for (int i = 0; i < N; i++) {
            double want = exactly(act, x[i]), error = fabs(y[i] - want), size = fabs(want);
            *scaled = fmax(*scaled, error / fmax(1, fabs(x[i])));
            double place = nextafterf((float)size, 1e30f) - (float)size;
            if (size > 1e-3) *ulps = fmax(*ulps, error / place);
        }
    }
}

static void activation_edges(const Kernels *t, Act act)
{
    float x[] = { 0, -0.0f, NAN, 1e-30f, -1e-30f, 1000, -1000, 3e38f, -3e38f, INFINITY };
    float y[COUNT(x)];
    t->activate(act, x, y, (int64_t)COUNT(x));
    for (size_t i = 0; i < COUNT(x); i++) {
        double want = exactly(act, x[i]);
        CHECK(isnan(x[i]) ? isnan(y[i]) : fabs(y[i] - want) <= 1e-6 * fabs(want) || y[i] == want);
    }
}

/* Each element has the same result wherever it stands. */
static void activation_places(const Kernels *t, Act act)
{
    float *x = randoms(40, 4), whole_row[40];
    t->activate(act, x, whole_row, 40);
    for (int64_t n = 1; n <= 40; n++)
        for (int64_t at = 0; at + n <= 40; at += 3) {
            size_t bytes = (size_t)n * sizeof(float);
            float *y = walled(bytes);
            memcpy(y, x + at, bytes);
            t->activate(act, y, y, n);
            CHECK(same(y, whole_row + at, bytes) && walls_stand(y, bytes));
            unwall(y);
        }
    free(x);
}

static void test_activate(const Kernels *t)
{
    static const char *const names[] = { "none", "relu",    "gelu", "gelu_tanh",
                                         "tanh", "sigmoid", "silu" };
    _Static_assert(COUNT(names) == ACT_COUNT, "one name per activation");
    static const double limit[ACT_COUNT] = { 0, 0, 2e-7, 3e-7, 2e-7, 2e-7, 2e-7 };
    for (Act act = 0; act < ACT_COUNT; act++) {
        double scaled, ulps;
        activation_error(t, act, &scaled, &ulps);
        printf("  %s %s: error %.2g * max(1, |x|), %.1f ulp\n", t->isa, names[act], scaled, ulps);
        CHECK(scaled <= limit[act]);
        activation_edges(t, act);
        activation_places(t, act);
    }
}

/* ---- SHA-256 ---- */
static void test_sha256(const Kernels *t)
{
    for (size_t count = 0; count < 6; count++) {
        uint8_t *blocks = exact(count * 64);
        uint32_t want[8], got[8];
        for (size_t i = 0; i < count * 64; i++) blocks[i] = (uint8_t)random_bits();
        for (int i = 0; i < 8; i++) want[i] = got[i] = random_bits();
        kern_scalar.sha256(want, blocks, count);
        t->sha256(got, blocks, count);
        CHECK(same(want, got, sizeof(want)));
        free(blocks);
    }
}

static bool digest_is(const char *text, size_t repeat, size_t most, const char *hex)
{
    size_t n = strlen(text), total = n * repeat;
    char *all = exact(total), out[65];
    for (size_t i = 0; i < repeat; i++) memcpy(all + i * n, text, n);
    Sha256 s;
    uint8_t digest[32];
    sha256_start(&s);
    for (size_t at = 0, step; at < total; at += step) {
        step = 1 + (size_t)random_below((int64_t)most);
        step = MIN(total - at, step);
        sha256_add(&s, all + at, step);
    }
    sha256_end(&s, digest);
    free(all);
    for (int i = 0; i < 32; i++) snprintf(out + 2 * i, 3, "%02x", digest[i]);
    return !strcmp(out, hex);
}

static void test_digests(void)
{
    TEST("digests");
    for (size_t most = 1; most < 300; most *= 3) {
        CHECK(digest_is("", 1, most,
                        "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"));
        CHECK(digest_is("abc", 1, most,
                        "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"));
        CHECK(digest_is("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 1, most,
                        "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"));
    }
    CHECK(digest_is("a", 1000000, 5000,
                    "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"));
}

/* ---- packing, selection ---- */
static void test_pack(void)
{
    TEST("pack");
    static const int64_t sizes[] = { 1, 3, 4, 15, 16, 17, 33 };
    for (size_t i = 0; i < COUNT(sizes) * COUNT(sizes); i++) {
        int64_t N = sizes[i / COUNT(sizes)], K = sizes[i % COUNT(sizes)], K4 = ROUND_UP(K, 4);
        int64_t K2 = ROUND_UP(K, 2);
        int wrong = 0;
        int8_t *w = exact((size_t)(N * K)), *panels = exact(panels_i8_size(N, K));
        int32_t *sums = exact((size_t)ROUND_UP(N, PANEL) * sizeof(int32_t));
        float *wf = exact((size_t)(N * K) * sizeof(float));
        float *panels_f = exact(panels_f32_size(N, K) * sizeof(float));
        uint16_t *panels_b = exact(panels_bf16_size(N, K) * sizeof(uint16_t));
        for (int64_t j = 0; j < N * K; j++) wf[j] = w[j] = (int8_t)random_bits();
        for (int transposed = 0; transposed < 2; transposed++) {
            panels_i8_pack(w, transposed, N, K, panels, sums);
            panels_f32_pack(wf, transposed, N, K, panels_f);
            panels_bf16_pack(wf, transposed, N, K, panels_b);
            for (int64_t n = 0; n < ROUND_UP(N, PANEL); n++) {
                int32_t sum = 0;
                for (int64_t k = 0; k < K4; k++) {
                    int want = n < N && k < K ? w[transposed ? n * K + k : k * N + n] : 0;
                    sum += want;
                    wrong += panels[n / 16 * 16 * K4 + k / 4 * 64 + n % 16 * 4 + k % 4] != want;
                    if (k < K) wrong += panels_f[n / 16 * 16 * K + k * 16 + n % 16] != (float)want;
                    if (k >= K2) continue;
                    uint16_t b = panels_b[n / 16 * 16 * K2 + k / 2 * 32 + n % 16 * 2 + k % 2];
                    wrong += bf16_to_f32(b) != (float)want;
                }
                wrong += sums[n] != sum;
            }
        }
        CHECK(!wrong);
        free(w), free(panels), free(sums), free(wf), free(panels_f), free(panels_b);
    }
}

static void test_select(void)
{
    TEST("select");
    Kernels none = kernels_select(0);
    CHECK(!strcmp(none.isa, "scalar") && none.needs == 0);
    for (uint64_t cpu = 0; cpu < 512; cpu++) {
        Kernels k = kernels_select(cpu);
        CHECK(k.isa && !(k.needs & ~cpu));
#define X(type, slot) CHECK(k.slot != NULL);
        KERNEL_SLOTS(X)
#undef X
    }
    CHECK(kernels() == kernels() && kernels()->gemm_f32->mr > 0);
}

static void test_table(const Kernels *t)
{
    static char group[64];
    TEST(group);
#define X(type, slot)                                         \
    if (t->slot) {                                            \
        snprintf(group, sizeof(group), "%s %s", t->isa, #slot); \
        test_##slot(t);                                       \
    }
    KERNEL_SLOTS(X)
#undef X
}

int main(void)
{
    test_pack();
    test_select();
    test_digests();
    for (size_t i = 0; i < kernel_table_count; i++) {
        TEST(kernel_tables[i]->isa);
        if (kernel_tables[i]->needs & ~cpu_features()) SKIP("this CPU has it not");
        else test_table(kernel_tables[i]);
    }
    return finish();
}
