/* SPDX-License-Identifier: Apache-2.0
 * ctc.c - the vocabulary of a CTC head, and greedy decoding. */
#include "ctc.h"

#include "text/unicode.h"

enum { CTC_MOST = 1 << 20 }; /* ids: bounds what a file can ask for */

struct Ctc {
    Str *token;           /* [n]; p NULL: unknown */
    size_t n;
    Str pad, unknown, delimiter;
    Str space;            /* what the delimiter becomes */
    bool lower, tidy;     /* do_lower_case; clean_up_tokenization_spaces */
};

/* ---- files ---- */
static const Value *said(const Value *file, const char *key)
{
    const Value *v = value_get(file, key);
    return v && v->kind != V_NULL ? v : NULL;
}

/* "<pad>" or {"content": "<pad>", ...}; the first file that has it counts. */
static Str special_token(const CtcFiles *files, const char *key, Str otherwise)
{
    const Value *v = said(files->config, key);
    if (!v) v = said(files->specials, key);
    if (v && v->kind == V_MAP) v = said(v, "content");
    return value_str(v, otherwise);
}

static bool ctc_fits(const char *file, int64_t id, Err *err)
{
    return (id >= 0 && id < CTC_MOST) ||
           fail(err, EF_BAD_MODEL, "%s: found id %lld, wanted 0 to %d", file, (long long)id, CTC_MOST - 1);
}

static void ctc_put(Arena *arena, Ctc *c, int64_t id, Str token)
{
    if ((size_t)id >= c->n) {
        size_t room = MAX((size_t)id + 1, 2 * c->n);
        Str *more = ARRAY(arena, Str, room);
        if (c->n) memcpy(more, c->token, c->n * sizeof *more);
        c->token = more;
        c->n = room;
    }
    if (!c->token[id].p) c->token[id] = token;
}

/* {"A": 7}: of vocab.json and added_tokens.json. The vocabulary's own tokens win. */
static bool ctc_read_ids(Arena *arena, Ctc *c, const char *file, const Value *map, Err *err)
{
    if (map && map->kind != V_MAP)
        return fail(err, EF_BAD_MODEL, "%s: found %s, wanted an object", file, value_kind_name(map->kind));
    for (size_t i = 0; map && i < map->map.n; i++) {
        const Member *m = &map->map.items[i];
        if (m->value.kind != V_INT)
            return fail(err, EF_BAD_MODEL, "%s: %.*s: found %s, wanted a whole number", file,
                        (int)MIN(m->key.n, (size_t)40), m->key.p, value_kind_name(m->value.kind));
        if (!ctc_fits(file, m->value.i, err)) return false;
        ctc_put(arena, c, m->value.i, m->key);
    }
    return true;
}

/* {"30": {"content": "<s>"}} of tokenizer_config.json. */
static bool ctc_read_added(Arena *arena, Ctc *c, const Value *map, Err *err)
{
    static const char file[] = "tokenizer_config.json: added_tokens_decoder";
    for (size_t i = 0; map && map->kind == V_MAP && i < map->map.n; i++) {
        int64_t id;
        const Value *content = said(&map->map.items[i].value, "content");
        if (!str_int(map->map.items[i].key, &id) || !content || content->kind != V_STR)
            return fail(err, EF_BAD_MODEL, "%s: wanted ids with the content of each", file);
        if (!ctc_fits(file, id, err)) return false;
        ctc_put(arena, c, id, content->s);
    }
    return true;
}

static bool ctc_language(const CtcFiles *files, const Value **vocab, Err *err)
{
    const Value *name = said(files->config, "target_lang");
    *vocab = files->vocab;
    if (!name) return true;
    const Value *found = NULL;
    for (size_t i = 0; files->vocab->kind == V_MAP && name->kind == V_STR && i < files->vocab->map.n; i++)
        if (str_eq(files->vocab->map.items[i].key, name->s)) found = &files->vocab->map.items[i].value;
    *vocab = found;
    return found || fail(err, EF_BAD_MODEL, "vocab.json: found no \"%.*s\", which target_lang names",
                         (int)MIN(value_str(name, STR("?")).n, (size_t)40), value_str(name, STR("?")).p);
}

bool ctc_open(Arena *arena, const CtcFiles *files, const Ctc **out, Err *err)
{
    const Value *vocab;
    Ctc *c = NEW(arena, Ctc);
    if (!ctc_language(files, &vocab, err) || !ctc_read_ids(arena, c, "vocab.json", vocab, err) ||
        !ctc_read_ids(arena, c, "added_tokens.json", files->added, err) ||
        !ctc_read_added(arena, c, said(files->config, "added_tokens_decoder"), err))
        return false;
    if (c->n == 0) return fail(err, EF_BAD_MODEL, "vocab.json: found no tokens");
    c->pad = special_token(files, "pad_token", STR("<pad>"));
    c->unknown = special_token(files, "unk_token", STR("<unk>"));
    c->delimiter = special_token(files, "word_delimiter_token", STR("|"));
    c->space = value_str(said(files->config, "replace_word_delimiter_char"), STR(" "));
    c->lower = value_bool(said(files->config, "do_lower_case"), false);
    c->tidy = value_bool(said(files->config, "clean_up_tokenization_spaces"), false);
    *out = c;
    return true;
}

size_t ctc_size(const Ctc *c)
{
    return c->n;
}

/* ---- decoding ---- */
static Str ctc_token(const Ctc *c, int32_t id)
{
    return id >= 0 && (size_t)id < c->n && c->token[id].p ? c->token[id] : c->unknown;
}

CtcSpans ctc_characters(const Ctc *c, Arena *arena, const int32_t *ids, size_t n)
{
    CtcSpans out = { ARRAY(arena, CtcSpan, n + 1), 0 };
    for (size_t at = 0, end; at < n; at = end) {
        Str token = ctc_token(c, ids[at]);
        for (end = at + 1; end < n && (ids[end] == ids[at] || str_eq(ctc_token(c, ids[end]), token));) end++;
        if (str_eq(token, c->pad)) continue;
        if (str_eq(token, c->delimiter)) token = c->space;
        out.span[out.n++] = (CtcSpan){ token, (int64_t)at, (int64_t)end };
    }
    return out;
}

CtcSpans ctc_words(const Ctc *c, Arena *arena, const CtcSpans *characters)
{
    CtcSpans out = { ARRAY(arena, CtcSpan, characters->n + 1), 0 };
    Buf word = { .arena = arena };
    for (size_t i = 0; i < characters->n; i++) {
        const CtcSpan *one = &characters->span[i];
        if (str_eq(one->text, c->space)) continue;
        bool begins = i == 0 || str_eq(characters->span[i - 1].text, c->space);
        if (begins) {
            word = (Buf){ .arena = arena };
            out.span[out.n++] = (CtcSpan){ .start = one->start };
        }
        buf_str(&word, one->text);
        out.span[out.n - 1].text = buf_view(&word);
        out.span[out.n - 1].end = one->end;
    }
    return out;
}

static size_t space_at(Str s, size_t at)
{
    uint32_t code;
    int n = utf8_decode(s.p + at, s.p + s.n, &code);
    return n && unicode_record(code)->flags & UNICODE_SPACE ? (size_t)n : 0;
}

static Str ctc_stripped(Str s)
{
    for (size_t n; s.n && (n = space_at(s, 0));) s.p += n, s.n -= n;
    for (bool more = true; more && s.n;) {
        size_t at = s.n - 1;
        while (at && (s.p[at] & 0xc0) == 0x80) at--;
        more = space_at(s, at);
        if (more) s.n = at;
    }
    return s;
}

/* Spaces before punctuation and before parts of English words. */
static Str ctc_tidied(Arena *arena, Str s)
{
    static const char *const rows[][2] = {
        { " .", "." }, { " ?", "?" }, { " !", "!" }, { " ,", "," }, { " ' ", "'" }, { " n't", "n't" },
        { " 'm", "'m" }, { " 's", "'s" }, { " 've", "'ve" }, { " 're", "'re" },
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        Buf out = { .arena = arena };
        size_t n = strlen(rows[i][0]);
        for (size_t at = 0; at < s.n;) {
            bool here = s.n - at >= n && memcmp(s.p + at, rows[i][0], n) == 0;
            if (here) buf_puts(&out, rows[i][1]), at += n;
            else buf_char(&out, s.p[at++]);
        }
        s = buf_view(&out);
    }
    return s;
}

Str ctc_text(const Ctc *c, Arena *arena, const CtcSpans *characters)
{
    Buf out = { .arena = arena };
    for (size_t i = 0; i < characters->n; i++) buf_str(&out, characters->span[i].text);
    Str text = ctc_stripped(buf_view(&out));
    if (c->lower) text = unicode_lower_text(arena, text);
    return c->tidy ? ctc_tidied(arena, text) : text;
}
