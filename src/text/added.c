/* SPDX-License-Identifier: Apache-2.0
 * added.c - `added_tokens`: strings that are tokens wherever they stand, found before the model
 * runs; those with `normalized` in the normalized text, the others (and first) in the original.
 *
 * Kept from the reference: a match that single_word refuses is skipped as a whole; lstrip and
 * rstrip take the white space into the token's range; the `id` in the file is ignored: a token
 * has its id of the vocabulary, or the next free one. */
#include "pipeline.h"

#include <stdlib.h>

#include "unicode.h"

/* ---- loading ---- */
static bool read_token(Arena *arena, const Value *v, Added *out, Err *err)
{
    Str content;
    if (!member_str(v, "added_tokens", "content", &content, err) ||
        !member_bool(v, "added_tokens", "single_word", &out->single_word, err) ||
        !member_bool(v, "added_tokens", "lstrip", &out->lstrip, err) ||
        !member_bool(v, "added_tokens", "rstrip", &out->rstrip, err) ||
        !member_bool(v, "added_tokens", "normalized", &out->normalized, err) ||
        !member_bool(v, "added_tokens", "special", &out->special, err))
        return false;
    out->content = (Str){ str_dup(arena, content), content.n };
    return true;
}

static bool set_pattern(Arena *arena, const Normalizer *normalizer, Added *token, Err *err)
{
    token->pattern = token->content;
    if (!token->normalized) return true;
    Text text = { .arena = arena, .given = token->content.n };
    normalizer_run(normalizer, (Source){ .text = token->content }, &text);
    token->pattern = (Str){ text.p, text.n };
    if (text.trouble)
        return fail(err, EF_BAD_MODEL, "added_tokens: \"%.*s\": %s", STR_ARG(token->content),
                    text.trouble);
    if (text.n) return true;
    return fail(err, EF_UNSUPPORTED, "added_tokens: \"%.*s\" is empty once normalized",
                STR_ARG(token->content));
}

/* By pattern; equal ones in the order of the file (the reference takes any of them). */
static int by_pattern(const void *a, const void *b)
{
    const Added *x = *(const Added *const *)a, *y = *(const Added *const *)b;
    int order = str_cmp(&x->pattern, &y->pattern);
    return order ? order : (x > y) - (x < y);
}

static Matcher added_matcher_new(Arena *arena, const AddedTokens *added, bool normalized)
{
    Matcher m = { .items = ARRAY(arena, const Added *, added->n) };
    for (size_t i = 0; i < added->n; i++)
        if (added->items[i].normalized == normalized) m.items[m.n++] = &added->items[i];
    if (m.n) qsort(m.items, m.n, sizeof *m.items, by_pattern);
    for (size_t i = 0; i < m.n; i++) m.first[(unsigned char)m.items[i]->pattern.p[0] + 1]++;
    for (int b = 0; b < 256; b++) {
        m.starts[b] = m.first[b + 1];
        m.first[b + 1] += m.first[b];
    }
    m.only = m.n ? (unsigned char)m.items[0]->pattern.p[0] : -1;
    if (m.n && (unsigned char)m.items[m.n - 1]->pattern.p[0] != m.only) m.only = -1;
    return m;
}

static int added_by_id(const void *a, const void *b)
{
    int32_t x = (*(const Added *const *)a)->id, y = (*(const Added *const *)b)->id;
    return (x > y) - (x < y);
}

const Added *added_with_id(const AddedTokens *added, int32_t id)
{
    size_t low = 0, high = added->n;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (added->by_id[middle]->id < id) low = middle + 1;
        else high = middle;
    }
    return low < added->n && added->by_id[low]->id == id ? added->by_id[low] : NULL;
}

/* A token whose content or id is already there takes the place of that one. */
static void added_put(Arena *arena, AddedTokens *added, Map *contents, Map *ids, Added token)
{
    Added *place = map_get(ids, (Str){ (const char *)&token.id, sizeof token.id });
    if (!place) place = &added->items[added->n++];
    *place = token;
    map_put(ids, arena, (Str){ (const char *)&place->id, sizeof place->id }, place);
    map_put(contents, arena, place->content, place);
}

bool added_load(Arena *arena, const Value *list, const TokenModel *model,
                const Normalizer *normalizer, AddedTokens *out, Err *err)
{
    if (list && list->kind != V_LIST)
        return fail(err, EF_BAD_MODEL, "added_tokens: found %s, wanted a list",
                    value_kind_name(list->kind));
    size_t count = list ? list->list.n : 0, next = model->vocab.size;
    Map contents = { 0 }, ids = { 0 };
    out->items = ARRAY(arena, Added, count);
    for (size_t i = 0; i < count; i++) {
        Added token = { 0 };
        if (!read_token(arena, &list->list.items[i], &token, err)) return false;
        if (token.content.n == 0) continue;
        if (!set_pattern(arena, normalizer, &token, err)) return false;
        const Added *twin = map_get(&contents, token.content);
        token.id = twin ? twin->id : vocab_find(&model->vocab, token.content);
        if (token.id < 0) token.id = (int32_t)next++;
        if (token.special) map_put(&out->specials, arena, token.content, &out->specials);
        added_put(arena, out, &contents, &ids, token);
    }
    out->by_id = ARRAY(arena, const Added *, out->n);
    for (size_t i = 0; i < out->n; i++) out->by_id[i] = &out->items[i];
    if (out->n) qsort(out->by_id, out->n, sizeof *out->by_id, added_by_id);
    out->raw = added_matcher_new(arena, out, false);
    out->normalized = added_matcher_new(arena, out, true);
    return true;
}

/* ---- matching ---- */

/* First of the sorted patterns low .. high, all longer than `depth`, whose byte there is at least
 * b. */
static size_t lower_bound(const Matcher *m, size_t low, size_t high, size_t depth, int b)
{
    while (low < high) {
        size_t middle = (low + high) / 2;
        if ((unsigned char)m->items[middle]->pattern.p[depth] < b) low = middle + 1;
        else high = middle;
    }
    return low;
}

/* The longest pattern that `text` starts with, or NULL. */
static const Added *matcher_longest(const Matcher *m, Str text)
{
    const Added *found = NULL;
    unsigned char b = (unsigned char)text.p[0];
    size_t low = m->first[b], high = m->first[b + 1];
    for (size_t depth = 1; low < high; depth++) { /* all of low .. high agree with depth bytes */
        if (m->items[low]->pattern.n == depth) found = m->items[low];
        while (low < high && m->items[low]->pattern.n == depth) low++;
        if (depth == text.n) break;
        b = (unsigned char)text.p[depth];
        low = lower_bound(m, low, high, depth, b);
        high = lower_bound(m, low, high, depth, b + 1);
    }
    return found;
}

static uint16_t flags_before(Str text, size_t at)
{
    uint32_t code;
    do at--;
    while ((text.p[at] & 0xc0) == 0x80);
    utf8_take(text.p + at, &code);
    return unicode_record(code)->flags;
}

static uint16_t flags_at(Str text, size_t at, size_t *next)
{
    uint32_t code;
    *next = at + (size_t)utf8_take(text.p + at, &code);
    return unicode_record(code)->flags;
}

static bool stands_alone(Str text, size_t from, size_t to)
{
    size_t next;
    return !(from > 0 && flags_before(text, from) & UNICODE_WORD) &&
           !(to < text.n && flags_at(text, to, &next) & UNICODE_WORD);
}

/* Not beyond `least`, so that no byte is looked at by two tokens. */
static size_t spaces_before(Str text, size_t at, size_t least)
{
    while (at > least && flags_before(text, at) & UNICODE_SPACE) do
            at--;
        while ((text.p[at] & 0xc0) == 0x80);
    return MAX(at, least);
}

static size_t spaces_after(Str text, size_t at)
{
    size_t next;
    while (at < text.n && flags_at(text, at, &next) & UNICODE_SPACE) at = next;
    return at;
}

/* The first byte from i on that a pattern may start with. */
static size_t next_start(const Matcher *m, Str text, size_t i)
{
    if (m->only >= 0) {
        const char *p = memchr(text.p + i, m->only, text.n - i);
        return p ? (size_t)(p - text.p) : text.n;
    }
    while (i < text.n && !m->starts[(unsigned char)text.p[i]]) i++;
    return i;
}

void added_cut(const Matcher *m, Str text, size_t base, Pieces *out)
{
    size_t done = 0;           /* end of the last piece */
    size_t blank = 0, run = 0; /* white space that rstrip has found, and its end */
    for (size_t i = 0; m->n && i < text.n && (i = next_start(m, text, i)) < text.n;) {
        const Added *token = matcher_longest(m, (Str){ text.p + i, text.n - i });
        if (!token) {
            i++;
            continue;
        }
        size_t from = i, to = i + token->pattern.n;
        i = to;
        if (token->single_word && !stands_alone(text, from, to)) continue;
        if (m->split && token->special) continue;
        if (token->lstrip) from = spaces_before(text, from, done);
        if (token->rstrip && (to < blank || to > run)) blank = to, run = spaces_after(text, to);
        if (token->rstrip) to = run;
        if (done < from) pieces_add(out, base + done, base + from, -1);
        pieces_add(out, base + from, base + to, token->id);
        done = to;
    }
    if (done < text.n) pieces_add(out, base + done, base + text.n, -1);
}
