/* SPDX-License-Identifier: Apache-2.0
 * test_kernels_rows.c - kernels over rows: the quantizer and bf16 to the bit; norms, softmax and
 * activations within a stated tolerance, since an exp or a division is inside. */
#include "kernel_case.h"

/* ---- quantizer ---- */
static void spoil(float *x, int64_t K, int64_t m)
{
    static const float odd[] = { 0, 1e-38f, 3e38f, -INFINITY, INFINITY, 1e-25f };
    for (int64_t k = 0; k < K; k++) {
        if (m % 8 < 6) continue;                    /* most rows are ordinary */
        x[k] = m % 16 < 8 ? odd[m / 16 % COUNT(odd)] : fabsf(x[k]) * (m % 2 ? 1 : -1);
    }
    if (m % 8 == 5) x[K / 2] = NAN;                 /* the lowest value */
}

static bool quantized_well(const float *x, int64_t K, const uint8_t *q, RowScale row)
{
    int32_t sum = 0;
    for (int64_t k = 0; k < row_i8(K); k++) {
        sum += q[k];
        if (q[k] > 127 || (k >= K && q[k])) return false;
        if (k >= K || !isfinite(row.scale)) continue;
        float back = row.scale * (float)(q[k] - row.zero);
        if (isnan(x[k]) && q[k]) return false;
        if (isnan(x[k])) continue;
        if (x[k] == 0 && back != 0) return false;   /* 0.0 is exact */
        if (!(fabsf(back - x[k]) <= 1.001f * row.scale + 1e-30f)) return false;
    }
    return sum == row.sum;
}

static void test_quantize_rows(const Kernels *t)
{
    static const int64_t sizes[] = { 1, 2, 3, 4, 5, 15, 16, 17, 33, 64, 65, 100, 127, 128, 384 };
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

/* Kinds of rows: around 0; far from 0; nothing at first, then far from 0 and nearly equal. */
static void standardize_case(const Kernels *t, int64_t n, int kind)
{
    const size_t bytes = (size_t)n * sizeof(float);
    float *x = randoms(n, 1), *want = walled(bytes), *vector = walled(bytes), *got = walled(bytes);
    for (int64_t i = 0; i < n && kind; i++) x[i] = kind == 1 ? x[i] + 30 : i < n / 8 ? 0 : 0.5f + 1e-4f * x[i];
    kern_scalar.standardize(x, want, n, 1e-7f);
    first_vector_table()->standardize(x, vector, n, 1e-7f);
    t->standardize(x, got, n, 1e-7f);
    t->standardize(x, x, n, 1e-7f);
    CHECK(agrees(got, want, t == &kern_scalar ? got : vector, n, 2e-6f));
    CHECK(same(got, x, bytes) && walls_stand(got, bytes));
    free(x), unwall(want), unwall(vector), unwall(got);
}

static void test_standardize(const Kernels *t)
{
    static const int64_t more[] = { 4095, 4096, 4097, 9000, 100003 };
    for (int kind = 0; kind < 3; kind++) {
        for (size_t i = 1; i < COUNT(row_sizes); i++) standardize_case(t, row_sizes[i], kind);
        for (size_t i = 0; i < COUNT(more); i++) standardize_case(t, more[i], kind);
    }
    float equal[40], zero[40] = { 0 };
    for (size_t i = 0; i < COUNT(equal); i++) equal[i] = 0.3f;
    t->standardize(equal, equal, COUNT(equal), 1e-7f);
    CHECK(same(equal, zero, sizeof zero));
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

int main(int argc, char **argv)
{
    TEST_TABLES(ROW_SLOTS, argc > 1 ? argv[1] : NULL)
    return finish();
}
