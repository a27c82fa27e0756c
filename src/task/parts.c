/* SPDX-License-Identifier: Apache-2.0
 * parts.c - pieces of results that more than one task needs: tokens with their offsets, labels,
 * scores. */
#include "parts.h"

#include <math.h>
#include <stdlib.h>

#include "data/base64.h"
#include "data/number.h"

const char *const part_offset_words[] = { "bytes", "chars", NULL };
const char *const part_encoding_words[] = { "float", "base64", NULL };
const char *const part_subtask_words[] = { "panoptic", "instance", "semantic", NULL };
const char *const part_mask_words[] = { "png", "rle", NULL };
const char *const part_time_words[] = { "char", "word", NULL };
const char *const part_score_words[] = { "none", "softmax", "sigmoid", NULL };

const Field part_token_info[] = {
    { "token", 1, F_STR, .required = true, .help = "as the vocabulary spells it" },
    { "token_id", 2, F_U32, .required = true },
    { "start", 3, F_U32, .required = true, .help = "where it begins in its text" },
    { "end", 4, F_U32, .required = true, .help = "first position after it" },
    { "sequence", 0, F_U32, .help = "of a pair: 0 in the first text, 1 in the second" },
    { "word", 5, F_U32, .nullable = true, .help = "of words with boxes: the index of its word" },
    { 0 },
};

/* ---- tokens ---- */
static int32_t *copy_ints(Arena *arena, const int32_t *from, size_t n)
{
    int32_t *to = ARRAY(arena, int32_t, n);
    if (n) memcpy(to, from, n * sizeof *to);
    return to;
}

Encoding task_spans(Arena *arena, const TaskOptions *options, const TaskRow *row)
{
    Encoding spans = *row->encoding;
    if (!options->chars) return spans;
    spans.start = copy_ints(arena, spans.start, spans.n);
    spans.end = copy_ints(arena, spans.end, spans.n);
    encoding_to_chars(&spans, row->first, row->second);
    return spans;
}

Value part_token(Arena *arena, const TaskRow *row, const Encoding *spans, size_t token)
{
    int32_t id = spans->ids[token];
    Value info = value_map(arena, 6);
    value_add(&info, "token", value_of_str(tokenizer_token(row->tokenizer, id)));
    value_add(&info, "token_id", value_of_int(id));
    value_add(&info, "start", value_of_int(spans->start[token]));
    value_add(&info, "end", value_of_int(spans->end[token]));
    if (row->second) value_add(&info, "sequence", value_of_int(spans->sequence[token]));
    if (row->words) value_add(&info, "word", value_of_int(spans->word[token]));
    return info;
}

Value part_token_list(Arena *arena, const TaskOptions *options, const TaskRow *row)
{
    Encoding spans = task_spans(arena, options, row);
    Value list = value_list(arena, spans.n);
    list.list.n = 0;
    for (size_t i = 0; i < spans.n; i++)
        if (!spans.special[i])
            list.list.items[list.list.n++] = part_token(arena, row, &spans, i);
    return list;
}

/* ---- labels ---- */
/* Whether label i comes before label k: by score, then by index; what is no number comes last. */
static bool top_before(const float *scores, int64_t i, int64_t k)
{
    if (isnan(scores[i]) || isnan(scores[k])) return isnan(scores[i]) && isnan(scores[k]) ? i < k : isnan(scores[k]);
    return scores[i] != scores[k] ? scores[i] > scores[k] : i < k;
}

static int by_top(const void *a, const void *b, void *scores)
{
    const int64_t i = *(const int64_t *)a, k = *(const int64_t *)b;
    return i == k ? 0 : top_before(scores, i, k) ? -1 : 1;
}

/* The k best of index[n], in front: by a walk for each where there are few, else all are sorted. */
static void top_first(const float *scores, int64_t *index, int64_t n, int k)
{
    enum { WALKS = 16 };
    for (int64_t i = 0; i < n; i++) index[i] = i;
    if (k > WALKS) qsort_r(index, (size_t)n, sizeof *index, by_top, (void *)scores);
    for (int i = 0; k <= WALKS && i < k; i++) {
        int64_t best = i;
        for (int64_t j = i + 1; j < n; j++)
            if (top_before(scores, index[j], index[best])) best = j;
        int64_t first = index[i];
        index[i] = index[best], index[best] = first;
    }
}

Value part_top(Arena *arena, const ModelConfig *config, const Value *labels, const float *scores, int64_t n, int k)
{
    k = (int)MIN(k, n);
    Value list = value_list(arena, (size_t)k);
    int64_t *index = ARRAY(arena, int64_t, n);
    top_first(scores, index, n, k);
    for (int i = 0; i < k; i++) {
        Value one = value_map(arena, 3);
        value_add(&one, "label", labels ? labels->list.items[index[i]] : task_label(arena, config, index[i]));
        value_add(&one, "index", value_of_int(index[i]));
        value_add(&one, "score", value_of_float(number_widen(scores[index[i]])));
        list.list.items[i] = one;
    }
    return list;
}

/* ---- vectors ---- */
float task_cosine(const float *a, const float *b, int64_t n)
{
    double ab = 0, aa = 0, bb = 0;
    for (int64_t i = 0; i < n; i++) {
        ab += (double)a[i] * b[i];
        aa += (double)a[i] * a[i];
        bb += (double)b[i] * b[i];
    }
    return aa > 0 && bb > 0 ? (float)(ab / sqrt(aa * bb)) : 0;
}

static Value base64_of(Arena *arena, const float *x, int64_t n)
{
    Buf text = { .arena = arena };
    base64_write(&text, (Str){ (const char *)x, (size_t)n * sizeof *x });
    return value_of_str(buf_view(&text));
}

/* Cut first, so that what is left has length 1. */
Value task_vector(Arena *arena, const TaskOptions *options, const float *x, int64_t n)
{
    if (options->dimensions) n = MIN(n, options->dimensions);
    if (options->normalize == NORMALIZE_YES) {
        float *copy = ARRAY(arena, float, n);
        memcpy(copy, x, (size_t)n * sizeof *copy);
        head_to_length_one(copy, n);
        x = copy;
    }
    return options->base64 ? base64_of(arena, x, n) : value_of_f32(x, (size_t)n);
}

void part_frames(const TaskRow *row, int64_t *from, int64_t *to)
{
    const SoundPart *s = &row->sound;
    const double all = rint((double)s->samples / s->ratio), n = (double)s->samples;
    const int64_t left = (int64_t)rint((double)s->left / n * all), right = (int64_t)rint((double)s->right / n * all);
    bool whole = !s->left && !s->right;
    *from = MIN(left, row->tokens);
    *to = whole ? row->tokens : MAX(*from, MIN((int64_t)all - right, row->tokens));
}

Value part_result(Arena *arena, const TaskRow *row, size_t room)
{
    return value_map(arena, room + (row->encoding->truncated ? 1 : 0));
}

void part_close(Value *result, const TaskRow *row)
{
    if (row->encoding->truncated) value_add(result, "truncated", value_of_bool(true));
}

Value part_tokens(Arena *arena, const ModelConfig *config, const TaskOptions *options,
                  const TaskRow *row, const char *name, PartItem *item)
{
    assert(row->tokens == (int64_t)row->encoding->n);
    Encoding spans = task_spans(arena, options, row);
    size_t n = 0;
    for (size_t i = 0; i < spans.n; i++) n += !spans.special[i];
    Value list = value_list(arena, n), result = part_result(arena, row, 1);
    n = 0;
    for (size_t i = 0; i < spans.n; i++)
        if (!spans.special[i]) list.list.items[n++] = item(arena, config, options, row, &spans, i);
    value_add(&result, name, list);
    part_close(&result, row);
    return result;
}

/* ---- labels and scores ---- */
Value task_label(Arena *arena, const ModelConfig *config, int64_t index)
{
    if (config->labels && index < config->num_labels) return value_of_str(config->labels[index]);
    return value_of_str(str_of(str_format(arena, "LABEL_%lld", (long long)index)));
}

/* Index of the first largest number; of a NaN only where all are. Two passes: the first finds the
 * maximum without a branch, since a CPU cannot predict which number is the next larger one. */
float part_largest(const float *x, int64_t n)
{
    enum { LANES = 4 };          /* that do not wait for each other */
    float lane[LANES] = { -INFINITY, -INFINITY, -INFINITY, -INFINITY }, top = -INFINITY;
    int64_t at = 0;
    for (; at + LANES <= n; at += LANES)
        for (int k = 0; k < LANES; k++) lane[k] = x[at + k] > lane[k] ? x[at + k] : lane[k];
    for (; at < n; at++) top = x[at] > top ? x[at] : top;
    for (int k = 0; k < LANES; k++) top = lane[k] > top ? lane[k] : top;
    return top;
}

int64_t part_best(const float *x, int64_t n)
{
    const float top = part_largest(x, n);
    for (int64_t i = 0; i < n; i++)
        if (x[i] == top) return i;
    return 0;
}

void task_softmax(const float *logits, int64_t n, float *out)
{
    if (n == 0) return;
    float top = logits[part_best(logits, n)];
    double sum = 0;
    for (int64_t i = 0; i < n; i++) sum += out[i] = expf(logits[i] - top);
    const double scale = 1 / sum;
    for (int64_t i = 0; i < n; i++) out[i] = (float)(out[i] * scale);
}

Value part_flat(Arena *arena, const Value *objects, const char *key)
{
    size_t n = 0, at = 0;
    for (size_t i = 0; i < objects->list.n; i++) {
        const Value *v = value_get(&objects->list.items[i], key);
        if (v && v->kind == V_F32) n += v->f32.n;
    }
    float *all = arena_raw(arena, MAX(n, 1) * sizeof(float));
    for (size_t i = 0; i < objects->list.n; i++) {
        const Value *v = value_get(&objects->list.items[i], key);
        if (!v || v->kind != V_F32 || !v->f32.n) continue;
        memcpy(all + at, v->f32.p, v->f32.n * sizeof(float));
        at += v->f32.n;
    }
    return value_of_f32(all, n);
}
