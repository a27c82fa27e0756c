/* SPDX-License-Identifier: Apache-2.0
 * kernels.c - speed of every kernel table this CPU can run, next to the FMA peak of one core
 * measured between the rows of the same run (a shared machine has no constant peak). One thread,
 * best of many, in CPU time: what the neighbours take does not count.
 *
 *     bench/kernels [isa] [seconds per figure, 0.2]      e.g. bench/kernels avx2 0.5 */
#include <immintrin.h>
#include <math.h>
#include <stdlib.h>
#include <time.h>

#include "kernels/tables.h"

static double budget = 0.2;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* ---- the peak: 12 independent chains of 8-wide FMAs; wider machines have their own figure ---- */
__attribute__((target("avx2,fma"))) static double fma_run(void)
{
    enum { TURNS = 100000 };
    __m256 x = _mm256_set1_ps(1.0000001f), y = _mm256_set1_ps(1e-9f), a[12];
#pragma GCC unroll 12
    for (int i = 0; i < 12; i++) a[i] = _mm256_set1_ps((float)i);
    double t = now();
    for (int k = 0; k < TURNS; k++) {
#pragma GCC unroll 12
        for (int i = 0; i < 12; i++) a[i] = _mm256_fmadd_ps(a[i], x, y);
    }
    t = now() - t;
    __m256 sum = a[0];
#pragma GCC unroll 12
    for (int i = 1; i < 12; i++) sum = _mm256_add_ps(sum, a[i]);
    volatile float keep = _mm256_cvtss_f32(sum);
    (void)keep;
    return TURNS * 12. * 16 / t / 1e9;
}

static double fma_peak(void)
{
    double best = 0;
    if (!(cpu_features() & CPU_AVX2)) return NAN;
    for (double end = now() + budget / 2; now() < end;) {
        double rate = fma_run();
        best = MAX(best, rate);
    }
    return best;
}

/* ---- timing ---- */
typedef void Work(void *);
static double seconds_of(Work *work, void *arg, int turns)
{
    double t = now();
    for (int i = 0; i < turns; i++) work(arg);
    return (now() - t) / turns;
}
static double best_seconds(Work *work, void *arg)
{
    double best = seconds_of(work, arg, 1), end = now() + budget;
    int turns = (int)(2e-4 / best) + 1; /* asking for the time costs a microsecond */
    while (now() < end) {
        double t = seconds_of(work, arg, turns);
        best = MIN(best, t);
    }
    return best;
}

static void *fresh(size_t bytes)
{
    void *p = aligned_alloc(64, ROUND_UP(bytes, 64) + 64);
    assert(p);
    memset(p, 0, bytes);
    return p;
}
static float *randoms(size_t n)
{
    float *p = fresh(n * sizeof(float));
    for (size_t i = 0; i < n; i++) p[i] = (float)rand() / (float)RAND_MAX - 0.5f;
    return p;
}

/* ---- GEMMs ---- */
typedef struct Job {
    const Gemm *gemm;
    Linear l;
} Job;
static void gemm_work(void *arg)
{
    Job *job = arg;
    job->gemm->run(&job->l, 0, job->l.M, 0, ROUND_UP(job->l.N, PANEL) / PANEL);
}

static double gemm_rate(const Gemm *gemm, int64_t M, int64_t N, int64_t K, Act act)
{
    float *x = randoms((size_t)(M * K)), *w = randoms(panels_f32_size(N, K));
    float *y = randoms((size_t)(M * N)), *bias = randoms((size_t)N);
    Job job = { gemm, { .x = x, .w = w, .bias = bias, .y = y, .ldx = K, .ldy = N, .M = M, .N = N,
                        .K = K, .act = act } };
    double t = best_seconds(gemm_work, &job);
    free(x), free(w), free(bias), free(y);
    return 2. * (double)M * (double)N * (double)K / t / 1e9;
}

static double gemm_i8_rate(const Kernels *k, int64_t M, int64_t N, int64_t K)
{
    float *x = randoms((size_t)(M * K)), *bias = randoms((size_t)N), *y = randoms((size_t)(M * N));
    float *scale = randoms((size_t)N);
    int8_t *w = fresh(panels_i8_size(N, K));
    for (size_t i = 0; i < panels_i8_size(N, K); i++) w[i] = (int8_t)rand();
    int32_t *w_sum = fresh((size_t)N * 4);
    uint8_t *xq = fresh((size_t)(M * K));
    RowScale *row = fresh((size_t)M * sizeof(RowScale));
    kern_scalar.quantize_rows(x, K, K, xq, row, 0, M);
    Job job = { k->gemm_i8, { .w = w, .bias = bias, .y = y, .ldy = N, .M = M, .N = N, .K = K,
                              .xq = xq, .row = row, .w_scale = scale, .w_sum = w_sum } };
    double t = best_seconds(gemm_work, &job);
    free(x), free(bias), free(y), free(scale), free(w), free(w_sum), free(xq), free(row);
    return 2. * (double)M * (double)N * (double)K / t / 1e9;
}

/* ---- attention ---- */
typedef struct Heads {
    AttentionFn *run;
    Attention a;
    float *scratch;
} Heads;
static void attention_work(void *arg)
{
    Heads *heads = arg;
    for (int h = 0; h < heads->a.H; h++)
        heads->run(&heads->a, 0, h, 0, heads->a.start[1], heads->scratch);
}

static double attention_rate(AttentionFn *run, int32_t length, int H, int D)
{
    int64_t C = H * D;
    int32_t start[2] = { 0, length };
    float *qkv = randoms((size_t)(length * C * 3)), *out = randoms((size_t)(length * C));
    Heads heads = { run, { .q = qkv, .k = qkv + C, .v = qkv + 2 * C, .out = out, .ldq = 3 * C,
                           .ldk = 3 * C, .ldv = 3 * C, .ldo = C, .start = start, .B = 1, .H = H,
                           .D = D, .scale = 0.125f },
                    fresh(attention_scratch(length, D) * sizeof(float)) };
    double t = best_seconds(attention_work, &heads);
    free(qkv), free(out), free(heads.scratch);
    return 4. * length * length * (double)C / t / 1e9;
}

/* ---- rows: nanoseconds an element ---- */
typedef struct Row {
    const Kernels *k;
    Act act;
    float *x;
} Row;
enum { ROW = 1536 };
static void act_work(void *arg)
{
    Row *row = arg;
    row->k->activate(row->act, row->x, row->x + ROW, ROW);
}
static void softmax_work(void *arg)
{
    Row *row = arg;
    row->k->softmax(row->x, row->x + ROW, ROW);
}
static void norm_work(void *arg)
{
    Row *row = arg;
    Norm n = { .x = row->x, .gamma = row->x, .beta = row->x, .y = row->x + ROW, .M = 1, .C = ROW,
               .eps = 1e-12f };
    row->k->layer_norm(&n, 0, 1);
}

static void row_rates(const Kernels *k)
{
    static const char *const names[] = { "none", "relu",    "gelu", "gelu_tanh",
                                         "tanh", "sigmoid", "silu" };
    Row row = { k, ACT_NONE, randoms(2 * ROW) };
    printf("%-10s ns per float:", k->isa);
    for (row.act = ACT_RELU; row.act < ACT_COUNT; row.act++)
        printf(" %s %.3f,", names[row.act], best_seconds(act_work, &row) * 1e9 / ROW);
    printf(" softmax %.3f,", best_seconds(softmax_work, &row) * 1e9 / ROW);
    printf(" layer_norm %.3f\n", best_seconds(norm_work, &row) * 1e9 / ROW);
    free(row.x);
}

static void gemm_rates(const Kernels *k, int64_t N, int64_t K)
{
    static const int64_t rows[] = { 1, 2, 4, 6, 12, 16, 32, 128, 780 };
    for (size_t i = 0; i < COUNT(rows); i++) {
        int64_t M = rows[i];
        printf("%-10s M %4d N %4d K %4d:", k->isa, (int)M, (int)N, (int)K);
        if (k->gemm_f32) {
            double rate = gemm_rate(k->gemm_f32, M, N, K, ACT_NONE), peak = fma_peak();
            printf(" f32 %6.1f GFLOP/s, %3.0f%% of the AVX2 peak %.1f, %5.1f GB/s;", rate,
                   100 * rate / peak, peak, rate * 2 / (double)M);
        }
        if (k->gemm_i8) printf(" i8 %6.1f GOP/s", gemm_i8_rate(k, M, N, K));
        printf("\n");
    }
}

static void table_rates(const Kernels *k)
{
    static const int64_t shapes[][2] = { { 384, 384 }, { 1536, 384 }, { 384, 1536 }, { 768, 768 },
                                         { 3072, 768 }, { 768, 3072 } };
    static const int lengths[] = { 8, 16, 33, 64, 128, 512, 2048 };
    for (size_t s = 0; s < COUNT(shapes) && k->gemm_i8; s++)
        gemm_rates(k, shapes[s][0], shapes[s][1]);
    if (k->gemm_f32)
        printf("%-10s M  128 N 1536 K  384: f32 with gelu %.1f GFLOP/s\n", k->isa,
               gemm_rate(k->gemm_f32, 128, 1536, 384, ACT_GELU));
    for (size_t i = 0; i < COUNT(lengths) && k->attention; i++)
        printf("%-10s attention length %4d: H 12 D 32 %6.1f, H 12 D 64 %6.1f GFLOP/s\n", k->isa,
               lengths[i], attention_rate(k->attention, lengths[i], 12, 32),
               attention_rate(k->attention, lengths[i], 12, 64));
    if (k->activate) row_rates(k);
}

int main(int argc, char **argv)
{
    if (argc > 2) budget = atof(argv[2]);
    for (size_t i = 0; i < kernel_table_count; i++) {
        const Kernels *k = kernel_tables[i];
        if (k->needs & ~cpu_features()) continue;
        if (argc > 1 ? !strcmp(argv[1], k->isa) : k != &kern_scalar) table_rates(k);
    }
    return 0;
}
