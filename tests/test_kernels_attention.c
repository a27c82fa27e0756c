/* SPDX-License-Identifier: Apache-2.0
 * test_kernels_attention.c - ragged attention under masks and windows: near the reference, a row alone
 * as in company, every split of the queries as the whole. */
#include "kernel_case.h"

enum { ROWS = 4 };
typedef struct Scene {
    Attention a;
    float *qkv, *mask, *scratch;
    size_t out_bytes, scratch_bytes;
    int64_t longest;
} Scene;

typedef enum { MASK_NONE, MASK_KEYS, MASK_FULL, MASK_DISTANCE, MASK_COUNT } MaskKind;

static void scene_mask(Scene *s, MaskKind kind)
{
    int64_t S = s->longest, H = s->a.H, before = S + PANEL - 2, width = before + S;
    bool full = kind == MASK_FULL;
    if (kind == MASK_NONE) return;
    if (kind == MASK_DISTANCE) {
        s->mask = randoms(H * width, 1);
        s->a.mask = s->mask + before;
        s->a.mask_head = width, s->a.mask_query = -1;
        return;
    }
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

/* Keys and values of one head for `group`, as if each had a copy of its own. */
static void same_as_repeated(AttentionFn *run, const int32_t start[ROWS + 1], int group)
{
    Scene s = scene(start, 2 * group, 24, 0, MASK_NONE);
    const int64_t D = s.a.D, C = s.a.H * D, T = start[ROWS];
    s.a.group = group;
    float *shared = scene_run(&s, run, INT32_MAX);
    for (int64_t t = 0; t < 2 * T; t++) { /* keys, then values; from the last head on */
        float *row = s.qkv + t / 2 * 3 * C + (1 + t % 2) * C;
        for (int h = s.a.H - 1; h > 0; h--) memmove(row + h * D, row + h / group * D, (size_t)D * sizeof *row);
    }
    s.a.group = 0;
    float *own = scene_run(&s, run, INT32_MAX);
    CHECK(same(shared, own, s.out_bytes));
    unwall(shared), unwall(own), unwall(s.scratch);
    free(s.qkv);
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
                    if (m == MASK_DISTANCE && (b + d + w) % 3) continue; /* each with some of the others */
                    int H = (int)d % 3 + 1;
                    attention_case(run, scene(starts[b], H, sizes[d], windows[w], m), bf16);
                }
    for (size_t b = 0; b < COUNT(starts); b++) /* heads that share keys and values */
        for (int i = 0; i < 6; i++) {
            Scene s = scene(starts[b], i % 2 ? 6 : 4, i % 3 ? 32 : 20, i % 2 ? 5 : 0, i % 2 ? MASK_FULL : MASK_NONE);
            s.a.group = i < 2 ? s.a.H : 2;
            attention_case(run, s, bf16);
            same_as_repeated(run, starts[b], 1 + i);
        }
    attention_all_masked(run, bf16 ? 5e-3f : 1e-6f);
}

/* Rows that are taken in parts; windows within one part, and over several. */
static void attention_long(AttentionFn *run, bool bf16)
{
    static const int32_t start[ROWS + 1] = { 0, 1, ATTEND_KEYS + 2, ATTEND_KEYS + 5,
                                             2 * ATTEND_KEYS + 20 };
    static const int windows[] = { 0, 64, ATTEND_KEYS / 2 + 5 };
    for (size_t w = 0; w < COUNT(windows); w++)
        for (MaskKind m = 0; m < MASK_COUNT; m++)
            if (w == 0 || m % 2) attention_case(run, scene(start, 1, 8, windows[w], m), bf16);
}

/* Larger scores come later: what was summed before counts for next to nothing, or for 0. */
static void attention_rising(AttentionFn *run)
{
    enum { LONG = 2 * ATTEND_KEYS + 1 };
    static const int32_t start[ROWS + 1] = { 0, 0, 0, 0, LONG };
    Scene s = scene(start, 1, 8, 0, MASK_KEYS);
    for (int64_t j = 0; j < LONG; j++) s.mask[(ROWS - 1) * LONG + j] = (float)j * (j % 3 ? 0.1f : 0);
    attention_case(run, s, false);
}

/* ---- numbers by distance ---- */
static ByDistance by_distance(float **rows, int64_t n, int64_t reach)
{
    const int64_t around = 2 * PANEL, ld = 2 * (reach + around) + 1;
    *rows = randoms(n * ld, 1);
    for (int64_t t = 0; t < n; t++)
        for (int64_t i = 0; i <= around; i++) {
            float *middle = *rows + t * ld + reach + around;
            middle[reach + i] = middle[reach], middle[-reach - i] = middle[-reach];
        }
    const float *middle = *rows + reach + around;
    return (ByDistance){ middle, ld, reach, middle - reach, middle + reach, ld };
}

static void attention_by_distance(AttentionFn *run)
{
    static const int32_t lengths[] = { 1, 16, 37, 130, 200 };
    static const int64_t reaches[] = { 0, 1, 15, 16, 60, 1000 };
    for (size_t n = 0; n < COUNT(lengths); n++)
        for (size_t k = 0; k < 3 * COUNT(reaches); k++) {
            const int32_t start[ROWS + 1] = { 0, 0, 0, 0, lengths[n] };
            const int64_t reach = MIN(reaches[k / 3], lengths[n] - 1);
            Scene s = scene(start, 1, 20, k % 2 ? 40 : 0, k % 4 == 2 ? MASK_DISTANCE : MASK_NONE);
            float *rows[2] = { NULL, NULL };
            if (k % 3 != 1) s.a.by_query = by_distance(&rows[0], lengths[n], reach);
            if (k % 3 != 0) s.a.by_key = by_distance(&rows[1], lengths[n], reach);
            attention_case(run, s, false);
            free(rows[0]), free(rows[1]);
        }
}

static void test_attention(const Kernels *t)
{
    attention_cases(t->attention, false);
    attention_long(t->attention, false);
    attention_rising(t->attention);
    attention_by_distance(t->attention);
}
static void test_attention_bf16(const Kernels *t)
{
    const bool own = t->needs & (CPU_AMX | CPU_AVX512BF16);
    if (own) attention_cases(t->attention_bf16, true);
    if (own) attention_long(t->attention_bf16, true);
    if (!own) CHECK(t == &kern_scalar || t->attention_bf16 == t->attention); /* nothing to gain */
}

int main(int argc, char **argv)
{
    TEST_TABLES(ATTENTION_SLOTS, argc > 1 ? argv[1] : NULL)
    return finish();
}
