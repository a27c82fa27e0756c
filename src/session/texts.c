/* SPDX-License-Identifier: Apache-2.0
 * texts.c - texts that a request has beside its items (the labels of a zero-shot request), and the cache of
 * their vectors: label sets are the same in many requests. A text that is not known becomes a row of the
 * work's first item, in the model's second graph. A vector does not depend on the batch it was made in, so
 * an answer is the same with the cache and without it.
 *
 * The cache has a fixed number of places, in sets; of a full set the one goes that was asked for longest
 * ago. Texts are known by their SHA-256: they themselves are not kept. */
#include "kernels/kernels.h"
#include "stages.h"

enum { TEXT_PLACES = 4096, TEXT_WAYS = 8, TEXT_SETS = TEXT_PLACES / TEXT_WAYS };

typedef struct TextKey {
    uint8_t sha256[32];
} TextKey;

struct TextCache {
    pthread_mutex_t lock;        /* of all this but width */
    int64_t width;               /* of a vector; 0: not known, and nothing is kept */
    uint64_t clock;
    struct TextPlace {
        TextKey key;
        uint64_t used;           /* the clock when it was last asked for; 0: empty */
    } place[TEXT_PLACES];
    float *vector;               /* [TEXT_PLACES][width]; not touched before it is used */
};

TextCache *texts_new(Arena *arena, const Model *model)
{
    TextCache *c = NEW(arena, TextCache);
    pthread_mutex_init(&c->lock, NULL);
    c->width = config_vector_size(&model->config);
    c->vector = arena_raw(arena, TEXT_PLACES * (size_t)c->width * sizeof *c->vector);
    return c;
}

void texts_free(TextCache *c)
{
    if (c) pthread_mutex_destroy(&c->lock);
}

static TextKey text_key(Str text)
{
    TextKey key;
    Sha256 sha;
    sha256_start(&sha);
    sha256_add(&sha, text.p, text.n);
    sha256_end(&sha, key.sha256);
    return key;
}

/* Its place; or the one that it may have: an empty one, or the one that was not used for longest. */
static size_t text_place(const TextCache *c, const TextKey *key, bool *known)
{
    size_t set = (key->sha256[0] | (size_t)key->sha256[1] << 8) % TEXT_SETS, from = set * TEXT_WAYS, oldest = from;
    for (size_t i = from; i < from + TEXT_WAYS; i++) {
        *known = c->place[i].used && memcmp(&c->place[i].key, key, sizeof *key) == 0;
        if (*known) return i;
        if (c->place[i].used < c->place[oldest].used) oldest = i;
    }
    return oldest;
}

/* A copy of the vector, or NULL. */
static const float *text_known(TextCache *c, Arena *arena, const TextKey *key)
{
    bool known;
    float *copy = ARRAY(arena, float, c->width);
    pthread_mutex_lock(&c->lock);
    size_t at = text_place(c, key, &known);
    if (known) {
        c->place[at].used = ++c->clock;
        memcpy(copy, c->vector + (int64_t)at * c->width, (size_t)c->width * sizeof *copy);
    }
    pthread_mutex_unlock(&c->lock);
    return known ? copy : NULL;
}

static void text_remember(TextCache *c, const TextKey *key, const float *vector)
{
    bool known;
    pthread_mutex_lock(&c->lock);
    size_t at = text_place(c, key, &known);
    c->place[at].key = *key;
    c->place[at].used = ++c->clock;
    memcpy(c->vector + (int64_t)at * c->width, vector, (size_t)c->width * sizeof *vector);
    pthread_mutex_unlock(&c->lock);
}

bool texts_find(Session *s, Work *work)
{
    struct WorkTexts *t = &work->texts;
    Arena *arena = &work->arena;
    Str *text;
    if (!s->texts || work->keep != KEEP_TASK || work->n == 0) return true;
    if (!s->model->task->texts(arena, &work->options, s->options.max_inputs, &text, &t->n, &work->err))
        return false;
    if (t->n > s->options.max_inputs / work->n) /* the reply has each of them for each input */
        return fail(&work->err, EF_INVALID_INPUT, "inputs with candidate_labels: found %zu, wanted at most %zu",
                    work->n * t->n, s->options.max_inputs);
    t->vector = ARRAY(arena, const float *, t->n), t->key = ARRAY(arena, TextKey, t->n);
    t->missing = ARRAY(arena, size_t, t->n);
    Str *list = ARRAY(arena, Str, t->n);
    for (size_t i = 0; i < t->n; i++) {
        t->key[i] = text_key(text[i]);
        if (s->texts->width) t->vector[i] = text_known(s->texts, arena, &t->key[i]);
        if (!t->vector[i]) list[t->missed] = text[i], t->missing[t->missed++] = i;
    }
    work->item[0].list = list;
    work->item[0].n = t->missed;
    __atomic_add_fetch(&s->meters.texts_run, t->missed, __ATOMIC_RELAXED);
    __atomic_add_fetch(&s->meters.texts_known, t->n - t->missed, __ATOMIC_RELAXED);
    return true;
}

/* What a graph leaves open until it runs: vectors of one width, by both graphs. */
static bool texts_fit(const Session *s, Work *work)
{
    int64_t width = work->texts.missed < work->texts.n ? s->texts->width : work_result(work, 0)->width;
    for (size_t r = 0; r < work->rows; r++)
        if (work_result(work, r)->width != width)
            return fail(&work->err, EF_BAD_MODEL, "found vectors of %lld and %lld numbers, wanted one width",
                        (long long)width, (long long)work_result(work, r)->width);
    return true;
}

void texts_keep(Session *s, Work *work)
{
    struct WorkTexts *t = &work->texts;
    if (t->n == 0 || !texts_fit(s, work)) return;
    for (size_t k = 0; k < t->missed; k++) {
        const TaskTensor *made = work_result(work, work_row(work, 0) + 1 + k);
        size_t i = t->missing[k];
        t->vector[i] = made->data;
        if (made->width == s->texts->width) text_remember(s->texts, &t->key[i], made->data);
    }
    work->options.vectors = t->vector;
}
