/* SPDX-License-Identifier: Apache-2.0
 * unigram.c - the model of SentencePiece: of all ways to cut a word into pieces, the one with the
 * greatest sum of scores. One walk from the left keeps the best way to each byte (Viterbi); a
 * character that no piece covers costs the least score minus ten.
 *
 * Sums are doubles, added in the order of the reference: among equal ways the first found wins.
 * Scores are what the reference reads from the file, and its reader of numbers does not round as
 * it should: a score with seventeen digits may be off in its last bit, and so may be a choice. */
#include "data/number.h"
#include "pipeline.h"
#include "trie.h"
#include "word_cache.h"

typedef struct Unigram {
    uint32_t name; /* in the cache of words */
    double unk_score;
    int32_t unk_id; /* -1: none; an error once it is needed */
    bool byte_fallback;
    int32_t bytes[256];
} Unigram;

/* ---- scores ---- */

static const double tens[] = { 1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                               1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                               1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22 };

/* The digits that a text of this double has, as one integer over 10^*scale; by the text itself. */
static uint64_t unigram_digits_of(double x, int *scale)
{
    char text[NUMBER_ROOM], *end = number_write_f64(text, x);
    uint64_t digits = 0;
    *scale = 0;
    for (const char *p = text, *point = NULL; p < end; p++) {
        if (*p == 'e' || digits > UINT64_MAX / 10 - 1) return 0;
        if (*p == '.') point = p;
        else digits = digits * 10 + (uint64_t)(*p - '0'), *scale += point != NULL;
    }
    return digits;
}

/* The same for 1/1024 to 1024, without writing it: the fewest of 15 to 17 digits that read back. */
static uint64_t quick_digits(double x, int *scale)
{
    typedef unsigned __int128 Wide;
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    uint64_t m = (bits & (((uint64_t)1 << 52) - 1)) | (uint64_t)1 << 52;
    int down = 1075 - (int)(bits >> 52);          /* x is m / 2^down */
    int whole = x < 0.01 ? -2 : x < 0.1 ? -1 : 0; /* digits before the point; zeros behind it */
    if (x < 0.001) whole = -3;
    while (whole >= 0 && x >= tens[whole]) whole++;
    for (int count = 15;; count++) {
        *scale = count - whole;
        Wide power = 1;
        for (int i = 0; i < *scale; i++) power *= 10;
        Wide exact = m * power, half = (Wide)1 << (down - 1);
        uint64_t digits = (uint64_t)(exact >> down);
        Wide rest = exact - ((Wide)digits << down);
        if (rest > half || (rest == half && digits & 1)) digits++;
        Wide back = (Wide)digits << down;
        Wide off = back > exact ? back - exact : exact - back;
        if (count == 17 || 2 * off < power) return digits;
    }
}

/* The double that the reference reads where this one was meant: digits as one integer, rounded,
 * then scaled by one power of ten, rounded again. */
static double as_read(double score)
{
    double x = score < 0 ? -score : score;
    int scale;
    uint64_t digits =
        x >= 1.0 / 1024 && x < 1024 ? quick_digits(x, &scale) : unigram_digits_of(x, &scale);
    if (digits < (uint64_t)1 << 53 || scale >= (int)COUNT(tens)) return score;
    double value = (double)digits / tens[scale];
    return score < 0 ? -value : value;
}

static bool unigram_build_trie(Arena *arena, const Vocab *vocab, const double *scores, Trie *out,
                               Err *err)
{
    Arena work = { .local = true };
    TriePiece *pieces = arena_raw(&work, (vocab->n + 1) * sizeof *pieces);
    for (size_t i = 0; i < vocab->n; i++) {
        const VocabEntry *entry = &vocab->entries[i];
        pieces[i] = (TriePiece){ vocab_text(vocab, i), entry->id, scores[entry->id] };
    }
    bool ok = trie_build(arena, pieces, vocab->n, out, err);
    arena_free(&work);
    return ok;
}

/* From every byte of a word pieces are followed to their ends, so that the longest of them decides
 * what a text costs. Real ones have tens of bytes. */
enum { LONGEST_PIECE = 1024 };

static bool read_pieces(Arena *arena, const Value *v, TokenModel *out, Err *err)
{
    double *scores;
    if (!vocab_load_list(arena, value_get(v, "vocab"), &out->vocab, &scores, err)) return false;
    const Value *own = value_get(v, "exact_scores"); /* of convert.c; whatever a text says is not */
    bool exact = own && own->kind == V_F32;
    for (size_t i = 0; i < out->vocab.size; i++) {
        if (!exact) scores[i] = as_read(scores[i]);
        if (i == 0 || scores[i] < out->least_score) out->least_score = scores[i];
    }
    if (out->vocab.longest > LONGEST_PIECE)
        return fail(err, EF_UNSUPPORTED, "Unigram: found a piece of %zu bytes, wanted at most %d",
                    out->vocab.longest, LONGEST_PIECE);
    return unigram_build_trie(arena, &out->vocab, scores, &out->trie, err);
}

bool unigram_load(Arena *arena, const Value *v, TokenModel *out, Err *err)
{
    Unigram *model = NEW(arena, Unigram);
    const Value *unk = value_get(v, "unk_id"), *fallback = value_get(v, "byte_fallback");
    int64_t unk_id = -1;
    out->data = model;
    if (unk && unk->kind != V_NULL && !member_int(v, "model", "unk_id", &unk_id, err)) return false;
    if (fallback && !member_bool(v, "model", "byte_fallback", &model->byte_fallback, err))
        return false;
    if (!out->ready && !read_pieces(arena, v, out, err)) return false;
    if (unk_id >= (int64_t)out->vocab.size)
        return fail(err, EF_BAD_MODEL, "Unigram: found unk_id %lld, wanted one below %zu",
                    (long long)unk_id, out->vocab.size);
    model->name = word_cache_model();
    model->unk_id = (int32_t)unk_id;
    model->unk_score = out->least_score - 10.0;
    model_bytes(&out->vocab, model->bytes);
    return true;
}

/* ---- the best way ---- */
typedef struct Best { /* way to a byte of the word */
    union {
        double score;
        int32_t next; /* afterwards: where its piece ends that starts here */
    };
    int32_t start; /* of its last piece; -1: no way yet */
    uint32_t node; /* of that piece; TRIE_FREE: unknown */
} Best;

static inline void unigram_offer(Best *to, double score, size_t start, uint32_t node)
{
    if (to->start >= 0 && !(score > to->score)) return;
    to->score = score;
    to->start = (int32_t)start;
    to->node = node;
}

static bool no_unknown(Err *err)
{
    return fail(err, EF_BAD_MODEL, "Unigram: a text needs the unknown token, and there is none");
}

/* Offers every piece at byte `at`; whether one of them is just the character there. */
static inline bool offer_pieces(const Trie *trie, Str word, size_t at, size_t length, Best *best)
{
    bool single = false;
    double here = best[at].score;
    uint32_t node = 0;
    const size_t end = MIN(word.n, at + LONGEST_PIECE); /* a mapped trie may say more */
    for (size_t i = at; i < end; i++) {
        node = trie_child(trie, node, word.p[i]);
        if (node == TRIE_FREE) break;
        const TrieUnit *unit = &trie->units[node];
        if (!(unit->base & TRIE_ENDS)) continue;
        unigram_offer(&best[i + 1], unit->score + here, at, node);
        single |= i + 1 == at + length;
    }
    return single;
}

static bool find_best(const TokenModel *self, Str word, Best *best, Err *err)
{
    const Unigram *model = self->data;
    for (size_t i = 1; i <= word.n; i++) best[i].start = -1;
    best[0] = (Best){ .score = 0 };
    for (size_t at = 0; at < word.n;) {
        uint32_t code;
        size_t length = (size_t)utf8_take(word.p + at, &code);
        if (!offer_pieces(&self->trie, word, at, length, best)) {
            Best *to = &best[at + length];
            unigram_offer(to, model->unk_score + best[at].score, at, TRIE_FREE);
            if (to->node == TRIE_FREE && model->unk_id < 0) return no_unknown(err);
        }
        at += length;
    }
    for (int32_t end = (int32_t)word.n; end > 0; end = best[end].start)
        best[best[end].start].next = end;
    return true;
}

/* ---- its tokens ---- */

/* Text that no piece covers: the vocabulary is asked once more, then bytes are tried. */
static void unigram_add_unknown(const TokenModel *self, Str word, size_t start, size_t end,
                                Tokens *out)
{
    const Unigram *model = self->data;
    Str text = { word.p + start, end - start };
    int32_t id = vocab_find(&self->vocab, text);
    if (id >= 0) {
        tokens_add(out, id, start, end);
        return;
    }
    bool bytes = model->byte_fallback;
    for (size_t i = 0; bytes && i < text.n; i++)
        bytes = model->bytes[(unsigned char)text.p[i]] >= 0;
    if (!bytes) tokens_add_text(out, model->unk_id, start, end);
    for (size_t i = 0; bytes && i < text.n; i++)
        tokens_add(out, model->bytes[(unsigned char)text.p[i]], start, end);
}

static inline int32_t id_at(const TokenModel *self, const Best *best, size_t start)
{
    const Unigram *model = self->data;
    uint32_t node = best[best[start].next].node;
    if (node == TRIE_FREE) return model->unk_id;
    int32_t id = node < self->trie.size ? self->trie.ids[node] : -1;
    return id < 0 || id > self->vocab.greatest ? 0 : id; /* a mapped trie may be broken */
}

static bool best_word(const TokenModel *self, Str word, Tokens *out, Err *err)
{
    const Unigram *model = self->data;
    _Static_assert(sizeof(Best) == 2 * sizeof(uint64_t), "scratch");
    Best *best = (Best *)tokens_scratch(out, 2 * (word.n + 1));
    if (!find_best(self, word, best, err)) return false;
    for (size_t at = 0, end; at < word.n; at = end) {
        int32_t id = id_at(self, best, at);
        end = (size_t)best[at].next;
        if (id != model->unk_id) {
            tokens_add(out, id, at, end);
            continue;
        }
        while (end < word.n && id_at(self, best, end) == id) end = (size_t)best[end].next;
        unigram_add_unknown(self, word, at, end, out); /* neighbours that are unknown are one */
    }
    return true;
}

bool unigram_word(const TokenModel *self, Str word, Tokens *out, Err *err)
{
    const Unigram *model = self->data;
    size_t first = out->n;
    uint64_t place;
    if (word.n > CACHED_BYTES) return best_word(self, word, out, err);
    if (word_cache_find(model->name, word, &place, out)) return true;
    if (!best_word(self, word, out, err)) return false;
    word_cache_keep(model->name, word, place, out, first);
    return true;
}
