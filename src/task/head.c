/* SPDX-License-Identifier: Apache-2.0
 * head.c - pooling, dense layers and normalizing over the ragged rows of a batch. There is no padding:
 * every token counts, except those of the prompt where the model says include_prompt: false. */
#include "head.h"

#include <math.h>

const char *const head_pooling_words[] = { "model", "mean", "cls", "max", "last", "weightedmean",
                                           "mean_sqrt_len_tokens", NULL };

bool head_pooling_find(Str word, TaskPooling *out)
{
    static const struct Other {
        const char *word;
        TaskPooling way;
    } others[] = { { "lasttoken", POOL_LAST }, { "last_token", POOL_LAST },
                   { "last-token", POOL_LAST } };
    for (TaskPooling p = POOL_OWN; p < POOL_WAYS; p++)
        if (str_is(word, head_pooling_words[p])) return *out = p, true;
    for (size_t i = 0; i < COUNT(others); i++)
        if (str_is(word, others[i].word)) return *out = others[i].way, true;
    return false;
}

const char *head_pooling_name(TaskPooling way)
{
    return way == POOL_LAST ? "lasttoken" : head_pooling_words[way];
}

static const char *const act_names[ACT_COUNT] = {
    [ACT_NONE] = "identity", [ACT_TANH] = "tanh",       [ACT_RELU] = "relu",
    [ACT_GELU] = "gelu",     [ACT_GELU_TANH] = "gelu_pytorch_tanh",
    [ACT_SILU] = "silu",     [ACT_SIGMOID] = "sigmoid",
};

bool head_act_find(Str name, Act *out)
{
    for (Act a = 0; a < ACT_COUNT; a++)
        if (str_is(name, act_names[a])) return *out = a, true;
    return false;
}

const char *head_act_name(Act act)
{
    return act_names[act];
}

/* ---- pooling ---- */
static void pool_clear(const HeadRow *row, float *out)
{
    memset(out, 0, (size_t)row->width * sizeof *out);
}

/* The sum of the tokens after the prompt, each weighted by its position if `placed`; returns the sum
 * of the weights. */
static float pool_sum(const HeadRow *row, bool placed, float *out)
{
    float weights = 0;
    pool_clear(row, out);
    for (int64_t t = row->prompt; t < row->tokens; t++) {
        const float *x = row->data + t * row->width, w = placed ? (float)(t + 1) : 1;
        for (int64_t c = 0; c < row->width; c++) out[c] += w * x[c];
        weights += w;
    }
    return fmaxf(weights, 1e-9f); /* a text of nothing but its prompt: zeros */
}

static void pool_divide(const HeadRow *row, float by, float *out)
{
    for (int64_t c = 0; c < row->width; c++) out[c] /= by;
}

static void pool_mean(const HeadRow *row, float *out)
{
    pool_divide(row, pool_sum(row, false, out), out);
}

static void pool_sqrt(const HeadRow *row, float *out)
{
    pool_divide(row, sqrtf(pool_sum(row, false, out)), out);
}

static void pool_weighted(const HeadRow *row, float *out)
{
    pool_divide(row, pool_sum(row, true, out), out);
}

static void pool_max(const HeadRow *row, float *out)
{
    for (int64_t c = 0; c < row->width; c++) out[c] = -1e9f;
    for (int64_t t = row->prompt; t < row->tokens; t++) {
        const float *x = row->data + t * row->width;
        for (int64_t c = 0; c < row->width; c++) out[c] = MAX(out[c], x[c]);
    }
}

static void pool_first(const HeadRow *row, float *out) /* also of the prompt: the class token */
{
    memcpy(out, row->data, (size_t)row->width * sizeof *out);
}

static void pool_last(const HeadRow *row, float *out)
{
    if (row->prompt >= row->tokens) return pool_clear(row, out);
    memcpy(out, row->data + (row->tokens - 1) * row->width, (size_t)row->width * sizeof *out);
}

const TaskPooling head_order[POOL_WAYS - 1] = { POOL_CLS,  POOL_MAX,      POOL_MEAN,
                                                POOL_SQRT, POOL_WEIGHTED, POOL_LAST };
static void (*const pool_way[POOL_WAYS])(const HeadRow *, float *) = {
    [POOL_CLS] = pool_first, [POOL_MAX] = pool_max,           [POOL_MEAN] = pool_mean,
    [POOL_SQRT] = pool_sqrt, [POOL_WEIGHTED] = pool_weighted, [POOL_LAST] = pool_last,
};

static bool head_has_way(const VectorHead *head, TaskPooling asked, TaskPooling way)
{
    if (asked != POOL_OWN) return way == asked;
    return head ? head->way[way] : way == POOL_MEAN;
}

static int64_t pool_ways(const VectorHead *head, const HeadRow *row, float *out)
{
    HeadRow all = *row;
    int64_t n = 0;
    all.prompt = head && head->without_prompt ? MIN(row->prompt, row->tokens) : 0;
    for (size_t i = 0; i < COUNT(head_order); i++) {
        if (!head_has_way(head, row->pooling, head_order[i])) continue;
        pool_way[head_order[i]](&all, out + n);
        n += row->width;
    }
    return n;
}

/* ---- what follows ---- */
static void dense(const HeadStep *s, const float *x, float *y)
{
    Linear l = { .x = x, .w = s->weight, .bias = s->bias, .y = y, .ldx = s->in, .ldy = s->out,
                 .M = 1, .N = s->out, .K = s->in, .act = s->act };
    kernels()->gemm_f32->run(&l, 0, 1, 0, (s->out + PANEL - 1) / PANEL);
}

void head_to_length_one(float *x, int64_t n)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++) sum += (double)x[i] * x[i];
    float length = fmaxf((float)sqrt(sum), 1e-12f);
    for (int64_t i = 0; i < n; i++) x[i] /= length;
}

/* Width of the result. Where a dense layer takes another width than it gets, *misfit is that layer and
 * the width what it gets. */
static int64_t head_flow(const VectorHead *head, TaskPooling asked, int64_t width,
                         const HeadStep **misfit)
{
    int64_t n = 0;
    *misfit = NULL;
    for (size_t i = 0; i < COUNT(head_order); i++) n += head_has_way(head, asked, head_order[i]);
    n *= width;
    for (int i = 0; head && i < head->n; i++) {
        const HeadStep *s = &head->step[i];
        if (s->weight && s->in != n) return *misfit = s, n;
        if (s->weight) n = s->out;
    }
    return n;
}

int64_t head_width(const VectorHead *head, TaskPooling asked, int64_t width)
{
    const HeadStep *misfit;
    int64_t n = head_flow(head, asked, width, &misfit);
    return misfit ? 0 : n;
}

bool head_fits(const VectorHead *head, int64_t width, Err *err)
{
    const HeadStep *misfit;
    int64_t n = head_flow(head, POOL_OWN, width, &misfit);
    return !misfit || fail(err, EF_BAD_MODEL, "%s: Dense: found a vector of %lld numbers before it "
                           "(a token's has %lld), wanted %lld, as its linear.weight takes",
                           misfit->file ? misfit->file : "head", (long long)n, (long long)width,
                           (long long)misfit->in);
}

/* The widest vector between two dense layers; 0: there is none. */
static int64_t head_room(const VectorHead *head, const HeadRow *row)
{
    int64_t most = 0;
    for (int i = 0; head && i < head->n; i++)
        if (head->step[i].weight) most = MAX(most, MAX(head->step[i].in, head->step[i].out));
    return most ? MAX(most, row->width * POOL_WAYS) : 0;
}

static void apply_steps(const VectorHead *head, const HeadRow *row, float *x, float *y, float *out)
{
    int64_t n = pool_ways(head, row, x);
    for (int i = 0; head && i < head->n; i++) {
        const HeadStep *s = &head->step[i];
        bool left_out = i + 1 == head->n && row->normalize == NORMALIZE_NO;
        if (!s->weight) {
            if (!left_out) head_to_length_one(x, n);
            continue;
        }
        dense(s, x, y);
        float *swap = x;
        x = y, y = swap, n = s->out;
    }
    if (x != out) memcpy(out, x, (size_t)n * sizeof *out);
}

void head_apply(const VectorHead *head, const HeadRow *row, float *out)
{
    int64_t room = head_room(head, row);
    if (!room) return apply_steps(head, row, out, NULL, out);
    Arena scratch = { .local = true };
    float *x = arena_raw(&scratch, (size_t)room * 2 * sizeof *x);
    apply_steps(head, row, x, x + room, out);
    arena_free(&scratch);
}

/* ---- in words ---- */
bool head_normalizes(const VectorHead *head)
{
    return head && head->n && !head->step[head->n - 1].weight;
}

void head_ways(const VectorHead *head, Buf *out)
{
    const char *between = "";
    for (size_t i = 0; i < COUNT(head_order); i++) {
        if (!head_has_way(head, POOL_OWN, head_order[i])) continue;
        buf_printf(out, "%s%s", between, head_pooling_name(head_order[i]));
        between = "+";
    }
}

void head_describe(const VectorHead *head, Buf *out)
{
    head_ways(head, out);
    if (head->assumed) buf_puts(out, " (assumed: nothing in the model says it)");
    if (head->without_prompt) buf_puts(out, " without the prompt");
    for (int i = 0; i < head->n; i++) {
        const HeadStep *s = &head->step[i];
        if (s->weight)
            buf_printf(out, ", dense %lld to %lld (%s)", (long long)s->in, (long long)s->out,
                       act_names[s->act]);
        else if (i + 1 < head->n) buf_puts(out, ", normalized");
    }
    buf_puts(out, head_normalizes(head) ? ", normalized" : ", not normalized");
}
