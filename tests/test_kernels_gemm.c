/* SPDX-License-Identifier: Apache-2.0
 * test_kernels_gemm.c - matrix products at awkward sizes: to the bit as the reference (but bf16 by
 * the chip), a row alone as in company, every split as the whole. */
#include "kernel_case.h"

typedef struct Product {        /* a Linear that owns its memory */
    Linear l;
    float *x, *bias, *residual, *w_scale;
    void *w;
    uint8_t *xq, *w_fits;
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
    p->w_fits = exact(wide / PANEL * (size_t)fits_row(l->K));
    panels_i8_pack(w, random_bits() & 1, l->N, l->K, p->w, p->w_sum);
    panels_i8_fits(p->w, l->N, l->K, p->w_fits);
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
    l->w_fits = p->w_fits;
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
    p.l.far = kind >> 6 & 1;
    p.l.late = kind >> 8 & 1;
    if (kind >> 7 & 1) p.l.ahead = p.w, p.l.ahead_bytes = 64 * 64; /* is only asked for */
    p.y_bytes = (size_t)((M - 1) * p.l.ldy + N) * sizeof(float);
    return p;
}

static void product_free(Product *p)
{
    free(p->x), free(p->bias), free(p->residual), free(p->w_scale), free(p->w), free(p->xq);
    free(p->xb), free(p->w_fits);
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

/* Written as rows of bf16, whole and in pieces; in place of y, or where the product can, beside it. */
static bool low_is_same(const Gemm *g, Product *p, const float *y)
{
    Linear *l = &p->l;
    float *kept = l->y;
    size_t bytes = rows_bf16_size(l->M, l->N);
    bool ok = true;
    for (int i = 0; i < (g->pieces ? 4 : 2); i++) {
        l->yb = walled(bytes);
        l->y = i < 2 ? NULL : walled(p->y_bytes);
        if (i % 2) run_pieces(g, p);
        else g->run(l, 0, l->M, 0, panels_of(l));
        ok = ok && rounds_to(l->yb, y, l->ldy, l->M, l->N) && walls_stand(l->yb, bytes);
        if (l->y) ok = ok && same(l->y, y, p->y_bytes) && walls_stand(l->y, p->y_bytes);
        if (l->y) unwall(l->y);
        unwall(l->yb);
    }
    l->yb = NULL, l->y = kept;
    return ok;
}

/* Rows of x in pieces that lie anywhere, each in memory of its own size. */
static bool scattered_is_same(const Gemm *g, Product *p, const float *y)
{
    static const int64_t taps[] = { 1, 2, 3, 5 };
    Linear *l = &p->l;
    bool ok = true;
    for (size_t i = 0; g->pieces && i < COUNT(taps); i++) {
        const int64_t n = l->K / taps[i], count = l->M * taps[i];
        if (l->K % taps[i] || n % 2) continue;
        uint16_t *x = exact((size_t)(count * n) * sizeof *x);
        const uint16_t **at = exact((size_t)count * sizeof *at);
        for (int64_t k = 0; k < count; k++) {
            uint16_t *to = x + (count - 1 - k) * n;
            const uint16_t *from = p->xb + k / taps[i] * row_bf16(l->K) + k % taps[i] * n;
            at[k] = memcpy(to, from, (size_t)n * sizeof *x);
        }
        l->at = at, l->taps = taps[i], l->xb = NULL;
        float *kept = l->y, *got = i % 2 ? pieces(g, p) : whole(g, p);
        ok = ok && same(got, y, p->y_bytes) && walls_stand(got, p->y_bytes);
        unwall(got), free(x), free(at);
        l->at = NULL, l->xb = p->xb, l->y = kept;
    }
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
    bool low = t->precision != BF16 || (low_is_same(t->gemm, &p, got) && scattered_is_same(t->gemm, &p, got));
    float *over = p.residual ? in_place(t->gemm, &p) : NULL;
    float tolerance = sum_tolerance(t, &p);
    bool sums = tolerance ? near_all(got, want, (int64_t)(p.y_bytes / sizeof(float)), tolerance)
                          : same(got, want, p.y_bytes);
    bool apart = same(got, cut, p.y_bytes), onto = !over || same(got, over, p.y_bytes);
    bool walls = walls_stand(got, p.y_bytes) && walls_stand(cut, p.y_bytes);
    if (!CHECK(sums && apart && onto && low && walls))
        printf("  M %d N %d K %d act %d: sums %d, in pieces %d, in place %d, bf16 %d, walls %d; within %g wanted\n",
               (int)M, (int)N, (int)K, (int)act, sums, apart, onto, low, walls, (double)tolerance);
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
    gemm_case(&t, 130, 130, 1610, ACT_GELU); /* more rows than the second cache keeps, */
    gemm_case(&t, 130, 150, 1610, ACT_NONE);
    gemm_case(&t, 1000, 33, 1610, ACT_NONE); /* and than the third */
    for (Act act = ACT_RELU; act < ACT_COUNT; act++) {
        gemm_case(&t, 19, 100, 33, act);
        gemm_case(&t, 1, 33, 100, act);
    }
    for (int i = 0; i < 12; i++) gemm_case(&t, 50, 96, 40 + i, ACT_RELU); /* which tiles do themselves */
    for (int i = 0; i < 12; i++) gemm_case(&t, 50, 48 + 16 * (i % 6), 60, ACT_RELU); /* an odd number of panels, too */
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
    panels_i8_fits(p.w, p.l.N, p.l.K, p.w_fits);
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

int main(int argc, char **argv)
{
    TEST_TABLES(GEMM_SLOTS, argc > 1 ? argv[1] : NULL)
    return finish();
}
