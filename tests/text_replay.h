/* SPDX-License-Identifier: Apache-2.0
 * text_replay.h - replays what the reference made of texts: a line of JSON a case, written by
 * tools/oracle/tokenizer*.py. "t" names the tokenizer: a file of GOLDEN without ".json", or a path.
 * Inputs: "a", "b" texts, or "aw", "bw" lists of words, or "d" ids to decode. Offsets are bytes, or
 * characters with "chars". */
#ifndef TEXT_REPLAY_H
#define TEXT_REPLAY_H
#include "base/file.h"
#include "check.h"
#include "data/json.h"
#include "text/text.h"

#define BERT "../shared/fixtures/dummy/embedding/tokenizer.json"

/* ---- files ---- */
enum { FILE_LIMIT = 1 << 30, MOST_LOADED = 64 };
static Arena keep; /* files and tokenizers */

static struct {
    const char *name;
    Tokenizer *tokenizer; /* NULL: it did not load */
} loaded[MOST_LOADED];

static const char *path_of(Str name)
{
    if (str_is(name, "bert")) return BERT;
    if (memchr(name.p, '/', name.n)) return str_dup(&keep, name);
    const char *json = str_format(&keep, GOLDEN "%.*s.json", STR_ARG(name));
    return file_is(json) ? json : str_format(&keep, GOLDEN "%.*s", STR_ARG(name));
}

static bool compiled; /* open what can be by way of its compiled form */

static bool open_compiled(const char *path, Tokenizer **out, Err *err)
{
    Str text;
    Value root;
    Buf block = { 0 };
    bool ok = file_read(&keep, path, FILE_LIMIT, &text, err) &&
              json_parse(&keep, text, &root, err) && tokenizer_compile(&root, &block, err);
    char *bytes = ok ? memcpy(arena_raw(&keep, block.n), block.p, block.n) : NULL;
    ok = ok && tokenizer_map(&keep, (Str){ bytes, block.n }, out, err);
    buf_free(&block);
    return ok;
}

static Tokenizer *tokenizer_named(Str name)
{
    size_t i = 0;
    for (; i < MOST_LOADED - 1 && loaded[i].name; i++)
        if (str_is(name, loaded[i].name)) return loaded[i].tokenizer;
    Err err;
    const char *path = path_of(name);
    loaded[i].name = str_dup(&keep, name);
    if (str_is(name, "bert") && !file_is(path)) {
        SKIP("no shared fixtures");
        return NULL;
    }
    bool ok = compiled && str_ends(str_of(path), ".json")
                  ? open_compiled(path, &loaded[i].tokenizer, &err)
                  : tokenizer_open(&keep, path, &loaded[i].tokenizer, &err);
    if (!CHECK(ok)) printf("  %s\n", err.message);
    return loaded[i].tokenizer;
}

/* ---- one case ---- */
static bool differ(const char *what, const Value *row)
{
    Buf text = { 0 };
    json_write(&text, row);
    printf("  %s differ: %.*s\n", what, (int)MIN(text.n, (size_t)3000), text.p);
    buf_free(&text);
    return false;
}

static bool same(const char *what, const Value *want, const Value *row, const int32_t *have,
                 size_t n)
{
    bool ok = want && want->kind == V_LIST && want->list.n == n;
    for (size_t i = 0; ok && i < n; i++) ok = value_int(&want->list.items[i], INT64_MIN) == have[i];
    if (ok) return true;
    differ(what, row);
    printf("  have:");
    for (size_t i = 0; i < n && i < 100; i++) printf(" %d", (int)have[i]);
    printf("\n");
    return false;
}

static bool same_strings(const Value *want, const Value *row, const Str *have, size_t n)
{
    if (!want) return true;
    bool ok = want->list.n == n;
    for (size_t i = 0; ok && i < n; i++) ok = str_eq(want->list.items[i].s, have[i]);
    if (ok) return true;
    differ("tokens", row);
    for (size_t i = 0; i < n && i < 100; i++) printf(" [%.*s]", STR_ARG(have[i]));
    printf("\n");
    return false;
}

static EncodeOptions options_of(const Value *row)
{
    Str strategy = value_str(value_get(row, "strategy"), STR("longest_first"));
    return (EncodeOptions){
        .max_length = (int)value_int(value_get(row, "max"), 0),
        .stride = (int)value_int(value_get(row, "stride"), 0),
        .strategy = str_is(strategy, "only_first")    ? TRUNCATE_ONLY_FIRST
                    : str_is(strategy, "only_second") ? TRUNCATE_ONLY_SECOND
                                                      : TRUNCATE_LONGEST_FIRST,
        .truncate_left = str_is(value_str(value_get(row, "side"), STR("")), "left"),
        .no_special = value_bool(value_get(row, "plain"), false),
        .tokens = true,
        .overflow = value_get(row, "over"),
    };
}

/* Offsets are pairs, masks are bytes in an Encoding: all become int32 to be compared. */
static bool same_encoding(Arena *arena, const Value *want, const Value *row, const Encoding *e)
{
    int32_t *off = ARRAY(arena, int32_t, 2 * e->n), *mask = ARRAY(arena, int32_t, e->n);
    int32_t *seq = ARRAY(arena, int32_t, e->n), *attention = ARRAY(arena, int32_t, e->n);
    for (size_t i = 0; i < e->n; i++) {
        off[2 * i] = e->start[i], off[2 * i + 1] = e->end[i];
        mask[i] = e->special[i], seq[i] = e->sequence[i];
        attention[i] = e->attention ? e->attention[i] : 1;
    }
    const Value *over = value_get(want, "over");
    bool ok = same("ids", value_get(want, "ids"), row, e->ids, e->n) &&
              same("offsets", value_get(want, "off"), row, off, 2 * e->n) &&
              same("types", value_get(want, "type"), row, e->type_ids, e->n) &&
              same("special", value_get(want, "mask"), row, mask, e->n) &&
              same("words", value_get(want, "word"), row, e->word, e->n) &&
              (!value_get(want, "seq") ||
               same("sequences", value_get(want, "seq"), row, seq, e->n)) &&
              (!value_get(want, "att") ||
               same("attention", value_get(want, "att"), row, attention, e->n)) &&
              same_strings(value_get(want, "tok"), row, e->tokens, e->n) &&
              (!over || over->list.n == e->n_overflow || differ("overflow", row));
    for (size_t i = 0; ok && over && i < e->n_overflow; i++)
        ok = same_encoding(arena, &over->list.items[i], row, &e->overflow[i]);
    return ok;
}

static bool same_names(const Tokenizer *t, const Value *row)
{
    const Value *names = value_get(row, "names");
    int32_t from = (int32_t)value_int(value_get(row, "from"), 0);
    for (size_t i = 0; i < names->list.n; i++)
        if (!str_eq(tokenizer_token(t, from + (int32_t)i), names->list.items[i].s)) return false;
    return true;
}

static bool same_decoded(const Tokenizer *t, Arena *arena, const Value *row)
{
    const Value *list = value_get(row, "d");
    int32_t *ids = ARRAY(arena, int32_t, list->list.n);
    for (size_t i = 0; i < list->list.n; i++) ids[i] = (int32_t)value_int(&list->list.items[i], -1);
    Str text;
    Err err;
    bool skip = value_bool(value_get(row, "skip"), false);
    if (tokenizer_decode(t, ids, list->list.n, skip, arena, &text, &err) &&
        str_eq(text, value_str(value_get(row, "text"), STR("?"))))
        return true;
    printf("  have: %.*s\n", STR_ARG(text));
    return differ("decoded", row);
}

static Words words_of(Arena *arena, const Value *list)
{
    if (!list) return (Words){ 0 };
    Str *items = ARRAY(arena, Str, list->list.n);
    for (size_t i = 0; i < list->list.n; i++) items[i] = list->list.items[i].s;
    return (Words){ items, list->list.n };
}

static bool encode_row(const Tokenizer *t, Arena *arena, const Value *row, Encoding *e, Err *err)
{
    Str first = value_str(value_get(row, "a"), STR("")),
        second = value_str(value_get(row, "b"), STR(""));
    Words words[2] = { words_of(arena, value_get(row, "aw")),
                       words_of(arena, value_get(row, "bw")) };
    EncodeOptions options = options_of(row);
    const Words *more = value_get(row, "bw") ? &words[1] : NULL;
    const Str *other = value_get(row, "b") ? &second : NULL;
    bool split = value_get(row, "aw"), chars = value_get(row, "chars");
    bool ok = split ? tokenizer_encode_words(t, arena, words[0], more, &options, e, err)
                    : tokenizer_encode(t, arena, first, other, &options, e, err);
    if (ok && chars && split) encoding_to_chars_words(e, words[0], more);
    if (ok && chars && !split) encoding_to_chars(e, first, other);
    return ok;
}

static bool pad_row(Arena *arena, const Value *pad, Encoding *e, Err *err)
{
    if (!pad) return true;
    PadOptions o = { .length = (size_t)value_int(value_get(pad, "length"), 0),
                     .multiple = (size_t)value_int(value_get(pad, "multiple"), 0),
                     .left = value_bool(value_get(pad, "left"), false),
                     .id = (int32_t)value_int(value_get(pad, "id"), 0),
                     .type_id = (int32_t)value_int(value_get(pad, "type"), 0),
                     .token = value_str(value_get(pad, "token"), STR("")) };
    return encodings_pad(arena, e, 1, &o, err);
}

static inline void replay(Arena *arena, const Value *row)
{
    Tokenizer *t = tokenizer_named(value_str(value_get(row, "t"), STR("")));
    if (!t) return;
    if (value_get(row, "names")) {
        CHECK(same_names(t, row));
        return;
    }
    if (value_get(row, "d")) {
        CHECK(same_decoded(t, arena, row));
        return;
    }
    Encoding e;
    Err err = { 0 };
    bool ok = encode_row(t, arena, row, &e, &err) &&
              pad_row(arena, value_get(row, "pad"), &e, &err);
    if (value_get(row, "error")) {
        if (!CHECK(!ok)) differ("errors", row);
    } else if (!CHECK(ok && same_encoding(arena, row, row, &e)) && !ok) {
        printf("  %s\n", err.message);
    }
}

/* Every line of a file: `each` gets the row. */
static void replay_lines(const char *path, void each(Arena *, const Value *))
{
    Str file;
    if (!CHECK(file_read(&keep, path, FILE_LIMIT, &file, &(Err){ 0 }))) return;
    Arena arena = { 0 };
    for (const char *p = file.p, *end = file.p + file.n; p < end;) {
        const char *eol = memchr(p, '\n', (size_t)(end - p));
        Value row;
        Err err;
        if (!CHECK(eol && json_parse(&arena, (Str){ p, (size_t)(eol - p) }, &row, &err))) break;
        each(&arena, &row);
        arena_reset(&arena, 1 << 20);
        p = eol + 1;
    }
    arena_free(&arena);
}

#endif
