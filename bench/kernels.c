/* SPDX-License-Identifier: Apache-2.0
 * kernels.c - speed of every kernel table this CPU can run, next to the peak of one core measured
 * between the rows of the same run (a shared machine has no constant peak). One thread, best of
 * many short runs by the clock on the wall: a thread's CPU time jumps by its neighbours', and the
 * best of many jumps is 10 % more than the chip can do.
 *
 *     make bench && build/bench/kernels [isa] [seconds per figure, 0.2]
 *     build/bench/kernels avx2 0.5
 *     build/bench/kernels peaks 0.5     the peaks alone */
#include <math.h>
#include <stdlib.h>
#include <time.h>

#include "peak.h"

static double budget = 0.2;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
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

/* Measured for half as long as a GEMM; best of all so far. */
static void measure_peak(Peak *p)
{
    for (double end = now() + budget / 2; now() < end;) {
        enum { TURNS = 40000 };
        double t = now();
        p->run(TURNS);
        t = p->ops * TURNS / (now() - t) / 1e9;
        p->best = MAX(p->best, t);
    }
}

static const Peak *peak_of(const Kernels *k, const char *slot)
{
    for (Peak *p = peaks; p < peaks + peak_count; p++) {
        if (!p->run || strcmp(p->isa, k->isa) || strcmp(p->slot, slot)) continue;
        measure_peak(p);
        return p;
    }
    return NULL;
}

static void show_peaks(void)
{
    for (Peak *p = peaks; p < peaks + peak_count; p++) {
        if (!p->run || (p->needs & ~cpu_features(NULL))) continue;
        measure_peak(p);
        printf("%s %s %.1f\n", p->isa, p->slot, p->best);
    }
}

/* What is large lies in pages of 2 MB, as an engine's weights do. */
static void *fresh(size_t bytes)
{
    const size_t align = bytes > 1 << 18 ? 2 << 20 : 64, size = ROUND_UP(bytes + 64, align);
    void *p = aligned_alloc(align, size);
    assert(p);
    if (align > 64) memory_large(p, size);
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

/* As weights of models are: around 0, and 127 is the largest of the few hundred in a column. */
static int8_t weight(void)
{
    double sum = 0; /* of 12: nearly normal */
    for (int i = 0; i < 12; i++) sum += (double)rand() / RAND_MAX - 0.5;
    return (int8_t)MAX(-127, MIN(127, 39 * sum));
}

/* What a GEMM of one precision needs, all of it random. */
typedef struct Weights {
    float *x, *y, *bias, *scale;
    void *w, *low;
    uint8_t *fits;
    int32_t *w_sum;
    RowScale *row;
} Weights;

static Linear linear(Weights *s, const char *slot, int64_t M, int64_t N, int64_t K)
{
    bool i8 = !strcmp(slot, "gemm_i8"), bf16 = !strcmp(slot, "gemm_bf16");
    size_t bytes = i8 ? panels_i8_size(N, K)
                      : bf16 ? panels_bf16_size(N, K) * 2 : panels_f32_size(N, K) * sizeof(float);
    *s = (Weights){ .x = randoms((size_t)(M * K)), .y = randoms((size_t)(M * N)),
                    .bias = randoms((size_t)N), .scale = randoms((size_t)N), .w = fresh(bytes),
                    .low = fresh(i8 ? rows_i8_size(M, K) : rows_bf16_size(M, K)),
                    .w_sum = fresh((size_t)N * 4), .row = fresh((size_t)M * sizeof(RowScale)) };
    s->fits = fresh((size_t)(ROUND_UP(N, PANEL) / PANEL * fits_row(K)));
    for (size_t i = 0; i8 && i < bytes; i++) ((int8_t *)s->w)[i] = weight();
    if (i8) panels_i8_fits(s->w, N, K, s->fits);
    float *w = randoms((size_t)(N * K)); /* no subnormals: some CPUs are slow at them */
    if (bf16) panels_bf16_pack(w, false, N, K, s->w);
    if (!i8 && !bf16) panels_f32_pack(w, false, N, K, s->w);
    free(w);
    if (i8) kern_scalar.quantize_rows(s->x, K, K, s->low, s->row, 0, M);
    if (bf16) kern_scalar.bf16_rows(s->x, K, K, s->low, 0, M);
    return (Linear){ .x = s->x, .w = s->w, .bias = s->bias, .y = s->y, .ldx = K, .ldy = N, .M = M,
                     .N = N, .K = K, .xb = s->low, .xq = s->low, .row = s->row,
                     .w_scale = s->scale, .w_sum = s->w_sum,
                     .w_fits = s->fits };
}

static void linear_free(Weights *s)
{
    free(s->x), free(s->y), free(s->bias), free(s->scale), free(s->w), free(s->low);
    free(s->w_sum), free(s->row), free(s->fits);
}

static double gemm_seconds(const Gemm *gemm, const char *slot, int64_t M, int64_t N, int64_t K,
                           Act act)
{
    Weights weights;
    Job job = { gemm, linear(&weights, slot, M, N, K) };
    job.l.act = act;
    double t = best_seconds(gemm_work, &job);
    linear_free(&weights);
    return t;
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

static void show_rate(double flops, double seconds, const Peak *peak)
{
    double rate = flops / seconds / 1e9;
    printf(" %8.1f", rate);
    if (peak) printf(" %3.0f%%", 100 * rate / peak->best);
}

/* The GEMMs of one encoder layer, and their sum: rates in GFLOP/s, and part of the peak. */
static void layer_rates(const Kernels *k, const Gemm *gemm, const char *slot, int64_t C)
{
    static const int64_t rows[] = { 1, 12, 16, 128, 256, 800 };
    const int64_t N[] = { 3 * C, C, 4 * C, C }, K[] = { C, C, C, 4 * C };
    for (size_t i = 0; i < COUNT(rows); i++) {
        double all = 0, time = 0, M = (double)rows[i];
        const Peak *peak = peak_of(k, slot);
        printf("%-10s %-9s C %3d M %3d:", k->isa, slot, (int)C, (int)rows[i]);
        for (int g = 0; g < 4; g++) {
            double flops = 2 * M * (double)N[g] * (double)K[g];
            double t = gemm_seconds(gemm, slot, rows[i], N[g], K[g], ACT_NONE);
            show_rate(flops, t, peak);
            all += flops, time += t;
        }
        printf(", layer");
        show_rate(all, time, peak);
        if (peak) printf(" of %.1f", peak->best);
        printf("\n");
        fflush(stdout);
    }
}

static void table_rates(const Kernels *k)
{
    static const int lengths[] = { 8, 16, 33, 64, 128, 512, 2048 };
    const struct {
        const char *slot;
        const Gemm *gemm;
    } gemms[] = { { "gemm_f32", k->gemm_f32 }, { "gemm_bf16", k->gemm_bf16 },
                  { "gemm_i8", k->gemm_i8 } };
    for (size_t i = 0; i < COUNT(gemms); i++)
        for (int64_t C = 384; C <= 768 && gemms[i].gemm; C += 384)
            layer_rates(k, gemms[i].gemm, gemms[i].slot, C);
    for (size_t i = 0; i < COUNT(gemms); i++)
        if (gemms[i].gemm)
            printf("%-10s %-9s M 128 N 1536 K 384 with gelu: %.1f GFLOP/s\n", k->isa, gemms[i].slot,
                   2e-9 * 128 * 1536 * 384 /
                       gemm_seconds(gemms[i].gemm, gemms[i].slot, 128, 1536, 384, ACT_GELU));
    for (size_t i = 0; i < COUNT(lengths) && k->attention; i++)
        printf("%-10s attention length %4d: H 12 D 32 %6.1f, H 12 D 64 %6.1f GFLOP/s\n", k->isa,
               lengths[i], attention_rate(k->attention, lengths[i], 12, 32),
               attention_rate(k->attention, lengths[i], 12, 64));
    if (k->activate) row_rates(k);
}

int main(int argc, char **argv)
{
    if (argc > 2) budget = atof(argv[2]);
    if (argc > 1 && !strcmp(argv[1], "peaks")) return show_peaks(), 0;
    for (size_t i = 0; i < kernel_table_count; i++) {
        const Kernels *k = kernel_tables[i];
        if (k->needs & ~cpu_features(NULL)) continue;
        if (argc > 1 ? !strcmp(argv[1], k->isa) : k != &kern_scalar) table_rates(k);
    }
    return 0;
}
