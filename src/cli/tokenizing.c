/* SPDX-License-Identifier: Apache-2.0
 * tokenizing.c - one input to one line of JSON. */
#include "cli/tokenizing.h"

#include "data/json.h"
#include "data/number.h"

/* ---- output ---- */
static void put_int(Buf *b, int32_t n)
{
    buf_reserve(b, NUMBER_ROOM);
    b->n = (size_t)(number_write_int(b->p + b->n, n) - b->p);
}

static void put_ints(Buf *b, const char *key, const int32_t *values, size_t n)
{
    buf_puts(b, key);
    for (size_t i = 0; i < n; i++) {
        if (i) buf_char(b, ',');
        put_int(b, values[i]);
    }
}

static void put_tokens(Buf *b, const Encoding *e)
{
    buf_puts(b, "],\"tokens\":[");
    for (size_t i = 0; i < e->n; i++) {
        if (i) buf_char(b, ',');
        json_write_string(b, e->tokens[i]);
    }
}

static void put_offsets(Buf *b, const Encoding *e)
{
    buf_puts(b, "],\"offsets\":[");
    for (size_t i = 0; i < e->n; i++) {
        buf_puts(b, i ? ",[" : "[");
        put_int(b, e->start[i]);
        buf_char(b, ',');
        put_int(b, e->end[i]);
        buf_char(b, ']');
    }
}

static void put_words(Buf *b, const Encoding *e)
{
    buf_puts(b, "],\"word_ids\":[");
    for (size_t i = 0; i < e->n; i++) {
        if (i) buf_char(b, ',');
        if (e->word[i] < 0) buf_puts(b, "null");
        else put_int(b, e->word[i]);
    }
}

static void put_encoding(Buf *b, const Encoding *e)
{
    put_ints(b, "{\"ids\":[", e->ids, e->n);
    put_tokens(b, e);
    put_offsets(b, e);
    put_ints(b, "],\"type_ids\":[", e->type_ids, e->n);
    put_words(b, e);
    buf_puts(b, "],\"special_tokens_mask\":[");
    for (size_t i = 0; i < e->n; i++) {
        if (i) buf_char(b, ',');
        buf_char(b, e->special[i] ? '1' : '0');
    }
    buf_puts(b, e->n_overflow ? "],\"overflow\":[" : "]");
    for (size_t i = 0; i < e->n_overflow; i++) {
        if (i) buf_char(b, ',');
        put_encoding(b, &e->overflow[i]);
    }
    buf_puts(b, e->n_overflow ? "]}" : "}");
}

/* ---- one text, one list of words, one list of ids ---- */
bool tokenize_text(const Tokenizing *t, Arena *arena, Str first, const Str *second, Buf *out,
                   Err *err)
{
    Encoding e;
    if (!tokenizer_encode(t->tokenizer, arena, first, second, &t->encode, &e, err)) return false;
    if (t->chars) encoding_to_chars(&e, first, second);
    put_encoding(out, &e);
    buf_char(out, '\n');
    return true;
}

bool tokenize_words(const Tokenizing *t, Arena *arena, Words first, const Words *second, Buf *out,
                    Err *err)
{
    Encoding e;
    if (!tokenizer_encode_words(t->tokenizer, arena, first, second, &t->encode, &e, err))
        return false;
    if (t->chars) encoding_to_chars_words(&e, first, second);
    put_encoding(out, &e);
    buf_char(out, '\n');
    return true;
}

bool tokenize_ids(const Tokenizing *t, Arena *arena, const int32_t *ids, size_t n, Buf *out,
                  Err *err)
{
    Str text;
    size_t size = tokenizer_size(t->tokenizer);
    for (size_t i = 0; i < n; i++)
        if (ids[i] < 0 || (size_t)ids[i] >= size)
            return fail(err, EF_INVALID_INPUT, "found token id %d, wanted one below %zu", ids[i],
                        size);
    if (!tokenizer_decode(t->tokenizer, ids, n, t->skip_special, arena, &text, err)) return false;
    buf_puts(out, "{\"text\":");
    json_write_string(out, text);
    buf_puts(out, "}\n");
    return true;
}

/* ---- a line of JSON ---- */
static bool is_list(const Value *v, size_t n, ValueKind kind)
{
    if (v->kind != V_LIST || (n && v->list.n != n)) return false;
    for (size_t i = 0; i < v->list.n; i++)
        if (v->list.items[i].kind != kind) return false;
    return true;
}

static Words words_of(Arena *arena, const Value *list)
{
    Str *items = ARRAY(arena, Str, list->list.n);
    for (size_t i = 0; i < list->list.n; i++) items[i] = list->list.items[i].s;
    return (Words){ items, list->list.n };
}

static bool words_line(const Tokenizing *t, Arena *arena, const Value *v, Buf *out, Err *err)
{
    const Value *first = v, *second = NULL;
    if (t->pair && is_list(v, 2, V_LIST)) first = &v->list.items[0], second = &v->list.items[1];
    if (!is_list(first, 0, V_STR) || (second && !is_list(second, 0, V_STR)) || (t->pair && !second))
        return fail(err, EF_INVALID_INPUT, "found %s, wanted %s", value_kind_name(v->kind),
                    t->pair ? "two lists of words" : "a list of words");
    Words a = words_of(arena, first), b = { 0 };
    if (second) b = words_of(arena, second);
    return tokenize_words(t, arena, a, second ? &b : NULL, out, err);
}

static bool ids_line(const Tokenizing *t, Arena *arena, const Value *v, Buf *out, Err *err)
{
    if (!is_list(v, 0, V_INT))
        return fail(err, EF_INVALID_INPUT, "found %s, wanted a list of token ids",
                    value_kind_name(v->kind));
    int32_t *ids = ARRAY(arena, int32_t, v->list.n);
    for (size_t i = 0; i < v->list.n; i++) {
        int64_t id = v->list.items[i].i;
        if (id < 0 || id > INT32_MAX)
            return fail(err, EF_INVALID_INPUT, "found token id %lld, wanted one below %zu",
                        (long long)id, tokenizer_size(t->tokenizer));
        ids[i] = (int32_t)id;
    }
    return tokenize_ids(t, arena, ids, v->list.n, out, err);
}

static bool json_line(const Tokenizing *t, Arena *arena, Str line, Buf *out, Err *err)
{
    Value v;
    if (!json_parse(arena, line, &v, err)) return false;
    if (t->decode) return ids_line(t, arena, &v, out, err);
    if (t->words) return words_line(t, arena, &v, out, err);
    if (v.kind == V_STR && !t->pair) return tokenize_text(t, arena, v.s, NULL, out, err);
    if (is_list(&v, 2, V_STR))
        return tokenize_text(t, arena, v.list.items[0].s, &v.list.items[1].s, out, err);
    return fail(err, EF_INVALID_INPUT, "found %s, wanted %s", value_kind_name(v.kind),
                t->pair ? "a list of two" : "a JSON string or a list of two");
}

/* ---- a line of plain text: words and ids have spaces between them, pairs a tab ---- */
static Words split(Arena *arena, Str line)
{
    Str *items = ARRAY(arena, Str, line.n / 2 + 1);
    size_t n = 0;
    for (size_t i = 0; i < line.n;) {
        size_t from = i;
        while (i < line.n && line.p[i] != ' ' && line.p[i] != '\t') i++;
        if (i > from) items[n++] = (Str){ line.p + from, i - from };
        else i++;
    }
    return (Words){ items, n };
}

static bool plain_ids(const Tokenizing *t, Arena *arena, Str line, Buf *out, Err *err)
{
    Words numbers = split(arena, line);
    int32_t *ids = ARRAY(arena, int32_t, numbers.n);
    for (size_t i = 0; i < numbers.n; i++) {
        int64_t id;
        if (!str_int(numbers.items[i], &id) || id < 0 || id > INT32_MAX)
            return fail(err, EF_INVALID_INPUT, "found \"%.*s\", wanted a token id",
                        (int)MIN(numbers.items[i].n, 40), numbers.items[i].p);
        ids[i] = (int32_t)id;
    }
    return tokenize_ids(t, arena, ids, numbers.n, out, err);
}

static bool plain_line(const Tokenizing *t, Arena *arena, Str line, Buf *out, Err *err)
{
    const char *tab = t->pair && line.n ? memchr(line.p, '\t', line.n) : NULL;
    Str first = { line.p, tab ? (size_t)(tab - line.p) : line.n }, second = { 0 };
    if (tab) second = (Str){ tab + 1, line.n - first.n - 1 };
    if (t->pair && !tab) return fail(err, EF_INVALID_INPUT, "found no tab between two texts");
    if (t->decode) return plain_ids(t, arena, line, out, err);
    if (!t->words) return tokenize_text(t, arena, first, tab ? &second : NULL, out, err);
    Words a = split(arena, first), b = split(arena, second);
    return tokenize_words(t, arena, a, tab ? &b : NULL, out, err);
}

bool tokenize_line(const Tokenizing *t, Arena *arena, Str line, Buf *out, Err *err)
{
    return t->json ? json_line(t, arena, line, out, err) : plain_line(t, arena, line, out, err);
}
