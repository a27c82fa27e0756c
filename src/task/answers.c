/* SPDX-License-Identifier: Apache-2.0
 * answers.c - see answers.h. */
#include "answers.h"

#include <math.h>
#include <stdlib.h>

#include "text/unicode.h"

static const float masked_logit = -10000.0f;

int32_t answers_class_token(const Tokenizer *tokenizer)
{
    static const char *const names[] = { "[CLS]", "<s>", "<cls>" };
    int32_t id = -1;
    for (size_t i = 0; i < COUNT(names) && id < 0; i++)
        id = tokenizer_id(tokenizer, str_of(names[i]));
    return id;
}

/* ---- probabilities of one window ---- */
static bool answer_in_context(const Encoding *e, size_t i, bool context_first)
{
    return !e->special[i] && e->sequence[i] == !context_first;
}

/* Class tokens stay in the softmax wherever they stand: some models put "no answer" there. */
static bool answer_unmasked(const Encoding *e, size_t i, const AnswerOptions *options)
{
    if (e->attention && !e->attention[i]) return false;
    return options->context_first || e->ids[i] == options->cls || answer_in_context(e, i, false);
}

static float *answer_softmax(Arena *arena, const Encoding *e, const float *logits,
                             const AnswerOptions *options)
{
    float *p = ARRAY(arena, float, e->n), most = -INFINITY, sum = 0;
    for (size_t i = 0; i < e->n; i++) {
        p[i] = answer_unmasked(e, i, options) ? logits[i] : masked_logit;
        most = fmaxf(most, p[i]);
    }
    for (size_t i = 0; i < e->n; i++) sum += p[i] = expf(p[i] - most);
    for (size_t i = 0; i < e->n; i++) p[i] /= sum;
    return p;
}

/* ---- the best spans of one window ---- */
typedef struct AnswerSpan {
    float score;
    uint32_t from, to; /* tokens, both inside */
} AnswerSpan;

static int by_score_and_place(const void *a, const void *b)
{
    const AnswerSpan *x = a, *y = b;
    if (x->score != y->score) return x->score < y->score ? 1 : -1;
    if (x->from != y->from) return x->from < y->from ? -1 : 1;
    return x->to < y->to ? -1 : x->to > y->to;
}

typedef struct AnswerSpans { /* room for twice as many as are kept: sorted and cut when full */
    AnswerSpan *items;
    size_t n, keep;
    float least; /* a span must be better than this */
} AnswerSpans;

static void spans_cut(AnswerSpans *spans)
{
    qsort(spans->items, spans->n, sizeof *spans->items, by_score_and_place);
    spans->n = MIN(spans->n, spans->keep);
    if (spans->n == spans->keep) spans->least = spans->items[spans->n - 1].score;
}

static void spans_add(AnswerSpans *spans, AnswerSpan span)
{
    if (!(span.score > spans->least)) return;
    spans->items[spans->n++] = span;
    if (spans->n == 2 * spans->keep) spans_cut(spans);
}

static AnswerSpans best_spans(Arena *arena, const Encoding *e, const float *start, const float *end,
                              const AnswerOptions *options)
{
    size_t longest = MIN((size_t)options->max_answer_len, e->n), top = (size_t)options->top_k;
    size_t keep = MIN(options->align_to_words ? 2 * top + 10 : top, e->n * longest + 1);
    AnswerSpans spans = { ARRAY(arena, AnswerSpan, 2 * keep), 0, keep, 0 };
    float best_end = 0;
    for (size_t i = 0; i < e->n; i++) best_end = fmaxf(best_end, end[i]);
    for (size_t from = 0; from < e->n; from++) {
        if (!(start[from] * best_end > spans.least)) continue;
        for (size_t to = from; to < e->n && to - from < longest; to++)
            spans_add(&spans, (AnswerSpan){ start[from] * end[to], (uint32_t)from, (uint32_t)to });
    }
    return spans_cut(&spans), spans;
}

/* ---- spans to places in the context ---- */

static bool same_word(const Encoding *e, size_t a, size_t b)
{
    return !e->special[b] && e->sequence[a] == e->sequence[b] && e->word[a] == e->word[b];
}

/* Aligned: to the words of both ends, as far as they lie in this window. */
static Answer span_answer(const Encoding *e, AnswerSpan span, bool align, Str context)
{
    size_t first = span.from, last = span.to;
    while (align && first > 0 && same_word(e, first, first - 1)) first--;
    while (align && last + 1 < e->n && same_word(e, last, last + 1)) last++;
    Answer a = { span.score, e->start[first], e->end[last], { context.p, 0 } };
    if (a.end > a.start) a.text = (Str){ context.p + a.start, (size_t)(a.end - a.start) };
    return a;
}

/* ---- all windows together ---- */
typedef struct FoundAnswer {
    Answer answer;
    size_t order; /* in which it was found */
} FoundAnswer;
typedef struct GatheredAnswers { /* answers so far, and the same by their text in lower case */
    Arena *arena;
    const AnswerOptions *options;
    Str context;
    FoundAnswer **items;
    size_t n, cap;
    Map by_text;
    float null; /* the least probability of "no answer" in any window */
} GatheredAnswers;

static FoundAnswer *gathered_new(GatheredAnswers *g, Answer answer)
{
    if (g->n == g->cap) {
        size_t cap = MAX(2 * g->cap, (size_t)16);
        FoundAnswer **bigger = ARRAY(g->arena, FoundAnswer *, cap);
        if (g->n) memcpy(bigger, g->items, g->n * sizeof *bigger);
        g->items = bigger, g->cap = cap;
    }
    FoundAnswer *kept = NEW(g->arena, FoundAnswer);
    *kept = (FoundAnswer){ answer, g->n };
    return g->items[g->n++] = kept;
}

static void gathered_add(GatheredAnswers *g, Answer answer)
{
    Str key = unicode_lower_text(g->arena, answer.text);
    FoundAnswer *same = map_get(&g->by_text, key);
    if (same) same->answer.score += answer.score;
    else map_put(&g->by_text, g->arena, key, gathered_new(g, answer));
}

static void gather_span(GatheredAnswers *g, const Encoding *e, AnswerSpan s)
{
    if (g->options->page) gathered_new(g, (Answer){ s.score, e->word[s.from], e->word[s.to], { 0 } });
    else gathered_add(g, span_answer(e, s, g->options->align_to_words, g->context));
}

static void gather_window(GatheredAnswers *g, const AnswerWindow *w)
{
    const Encoding *e = w->tokens;
    const AnswerOptions *options = g->options;
    if (e->n == 0) return;
    float *start = answer_softmax(g->arena, e, w->start, options);
    float *end = answer_softmax(g->arena, e, w->end, options);
    g->null = fminf(g->null, start[0] * end[0]);
    start[0] = end[0] = 0;
    AnswerSpans spans = best_spans(g->arena, e, start, end, options);
    for (size_t i = 0; i < spans.n; i++) {
        AnswerSpan s = spans.items[i];
        if (answer_in_context(e, s.from, options->context_first) &&
            answer_in_context(e, s.to, options->context_first))
            gather_span(g, e, s);
    }
}

static int by_score_and_order(const void *a, const void *b)
{
    const FoundAnswer *x = *(FoundAnswer *const *)a, *y = *(FoundAnswer *const *)b;
    if (x->answer.score != y->answer.score) return x->answer.score < y->answer.score ? 1 : -1;
    return x->order < y->order ? -1 : x->order > y->order;
}

size_t answers_find(Arena *arena, Str context, const AnswerWindow *windows, size_t n,
                    const AnswerOptions *options, Answer *out)
{
    GatheredAnswers g = { .arena = arena, .options = options, .context = context, .null = INFINITY };
    for (size_t i = 0; i < n; i++) gather_window(&g, &windows[i]);
    bool known = options->impossible && g.null < INFINITY;
    if (options->impossible || (g.n == 0 && !options->page))
        gathered_new(&g, (Answer){ known ? g.null : 0, 0, 0, { context.p, 0 } });
    if (g.n) qsort(g.items, g.n, sizeof *g.items, by_score_and_order);
    size_t told = MIN(g.n, (size_t)options->top_k);
    for (size_t i = 0; i < told; i++) out[i] = g.items[i]->answer;
    return told;
}
