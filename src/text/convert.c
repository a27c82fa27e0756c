/* SPDX-License-Identifier: Apache-2.0
 * convert.c - see convert.h. The parts around the model are text with settings filled in, then
 * parsed; vocabulary and merges are put beside them as they are. */
#include "convert.h"

#include "data/base64.h"
#include "data/json.h"

enum { BOS, EOS, UNK, SEP, PAD, CLS, MASK, ROLES };
static const char *const roles[ROLES] = { "bos", "eos", "unk", "sep", "pad", "cls", "mask" };

typedef struct ConvertWork {
    Arena *arena;
    const Style *style;
    const Sidecar *side;
    const Value *token[ROLES]; /* a string, or an object with flags; NULL: the class's own */
    Str name[ROLES];           /* p NULL: none */
    Value vocab;               /* of the model: map or list */
    Value merges;
    Spm spm;
    Map ids;     /* token to itself as a Value of its id */
    size_t size; /* first id of added tokens */
} ConvertWork;

/* ---- settings ---- */
static const Value *convert_setting(const ConvertWork *w, const char *key)
{
    const Value *found = value_get(w->side->config, key);
    return found ? found : value_get(w->side->specials, key);
}

static bool convert_flag(const ConvertWork *w, const char *key, bool otherwise)
{
    return value_bool(value_get(w->side->config, key), otherwise);
}

static void convert_read_tokens(ConvertWork *w)
{
    for (int i = 0; i < ROLES; i++) {
        const Value *v = convert_setting(w, str_format(w->arena, "%s_token", roles[i]));
        if (v && v->kind != V_STR && v->kind != V_MAP) v = NULL;
        w->token[i] = v;
        w->name[i] = str_of(w->style->tokens[i]);
        const Value *content = v && v->kind == V_MAP ? value_get(v, "content") : v;
        w->name[i] = value_str(content, w->name[i]);
    }
}

/* ---- vocabularies ---- */
static bool words_vocab(ConvertWork *w, Str lines, Err *err)
{
    size_t n = 0;
    if (!utf8_valid(lines)) return fail(err, EF_BAD_MODEL, "vocab.txt: not valid UTF-8");
    for (size_t i = 0; i < lines.n; i++) n += lines.p[i] == '\n';
    w->vocab = value_map(w->arena, n + 1);
    int64_t id = 0;
    for (const char *p = lines.p, *end = p + lines.n; p < end; id++) {
        const char *eol = memchr(p, '\n', (size_t)(end - p));
        size_t length = (size_t)((eol ? eol : end) - p);
        Str word = { p, length - (length && p[length - 1] == '\r') };
        Member *member = &w->vocab.map.items[w->vocab.map.n++];
        *member = (Member){ word, value_of_int(id) };
        p = eol ? eol + 1 : end;
    }
    w->size = w->vocab.map.n;
    return true;
}

static bool merges_vocab(ConvertWork *w, Str json, Str merges, Err *err)
{
    if (!json_parse(w->arena, json, &w->vocab, err)) return within(err, "vocab.json");
    if (w->vocab.kind != V_MAP) return fail(err, EF_BAD_MODEL, "vocab.json: wanted an object");
    size_t n = 0, count = 1;
    for (size_t i = 0; i < merges.n; i++) count += merges.p[i] == '\n';
    w->merges = value_list(w->arena, count);
    for (const char *p = merges.p, *end = p + merges.n; p < end;) {
        const char *eol = memchr(p, '\n', (size_t)(end - p));
        Str line = { p, (size_t)((eol ? eol : end) - p) };
        if (str_ends(line, "\r")) line.n--;
        if (line.n && !str_starts(line, "#version")) w->merges.list.items[n++] = value_of_str(line);
        p = eol ? eol + 1 : end;
    }
    w->merges.list.n = n;
    w->size = w->vocab.map.n;
    return true;
}

static Value convert_piece(Arena *arena, Str text, double score)
{
    Value v = value_list(arena, 2);
    v.list.items[0] = value_of_str(text), v.list.items[1] = value_of_float(score);
    return v;
}

/* Fairseq models number their tokens anew: these first, then the pieces from `skip` on, then the
 * mask. */
static void convert_renumber(ConvertWork *w, const Value *head, size_t n, size_t skip)
{
    size_t rest = w->vocab.list.n > skip ? w->vocab.list.n - skip : 0;
    Value list = value_list(w->arena, n + rest + 1);
    memcpy(list.list.items, head, n * sizeof *head);
    if (rest) memcpy(list.list.items + n, w->vocab.list.items + skip, rest * sizeof *head);
    list.list.items[n + rest] = convert_piece(w->arena, w->name[MASK], 0);
    w->vocab = list;
}

static void renumber_roberta(ConvertWork *w)
{
    static const int order[] = { BOS, PAD, EOS, UNK };
    Value head[4];
    for (int i = 0; i < 4; i++) head[i] = convert_piece(w->arena, w->name[order[i]], 0);
    convert_renumber(w, head, 4, 3);
    w->spm.unk_id = 3;
}

static void renumber_camembert(ConvertWork *w)
{
    Value head[] = { convert_piece(w->arena, STR("<s>NOTUSED"), 0),
                     convert_piece(w->arena, w->name[PAD], 0),
                     convert_piece(w->arena, STR("</s>NOTUSED"), 0),
                     convert_piece(w->arena, w->name[UNK], 0),
                     convert_piece(w->arena, STR("<unk>NOTUSED"), -100) };
    convert_renumber(w, head, COUNT(head), 1);
    w->spm.unk_id = 3;
}

static int64_t find_unknown(const ConvertWork *w, int64_t otherwise)
{
    for (size_t i = 0; i < w->vocab.list.n; i++) {
        const Value *v = w->vocab.list.items[i].list.items;
        if (str_eq(v[0].s, w->name[UNK]) && v[1].f == 0) return (int64_t)i;
    }
    return otherwise;
}

static bool spm_vocab(ConvertWork *w, Str bytes, Err *err)
{
    static const struct {
        const char *class;
        void (*renumber)(ConvertWork *);
        int64_t unk_id; /* -1: as the model says */
    } rows[] = {
        { " XLMRobertaTokenizer ", renumber_roberta, 3 },
        { " CamembertTokenizer ", renumber_camembert, 3 },
        { " AlbertTokenizer ", NULL, 1 },
    };
    if (!spm_read(w->arena, bytes, &w->spm, err)) return false;
    w->vocab = w->spm.vocab;
    bool plain = !w->style->classes;
    if (!plain && w->spm.bpe)
        return fail(err, EF_UNSUPPORTED, "this tokenizer class wants a Unigram model, found BPE");
    for (size_t i = 0; i < COUNT(rows) && !plain; i++) {
        if (strcmp(rows[i].class, w->style->classes)) continue;
        if (rows[i].renumber) rows[i].renumber(w);
        w->spm.unk_id = rows[i].unk_id;
    }
    if (!plain && !strcmp(w->style->classes, " DebertaV2Tokenizer "))
        w->spm.unk_id = find_unknown(w, 1);
    w->size = w->vocab.list.n;
    if (!w->spm.bpe) return true;
    w->merges = spm_merges(w->arena, &w->spm);
    Value map = value_map(w->arena, w->vocab.list.n);
    for (size_t i = 0; i < w->vocab.list.n; i++)
        map.map.items[map.map.n++] =
            (Member){ w->vocab.list.items[i].list.items[0].s, value_of_int((int64_t)i) };
    w->vocab = map;
    return true;
}

/* ---- added tokens ---- */
typedef struct AddedRow {
    Str content;
    bool lstrip, rstrip, single_word, normalized, special;
} AddedRow;

static int64_t id_of(ConvertWork *w, Str token)
{
    if (!w->ids.cap) {
        bool map = w->vocab.kind == V_MAP;
        size_t n = map ? w->vocab.map.n : w->vocab.list.n;
        Value *ids = ARRAY(w->arena, Value, n + 1);
        for (size_t i = 0; i < n; i++) {
            ids[i] = map ? w->vocab.map.items[i].value : value_of_int((int64_t)i);
            map_put(&w->ids, w->arena,
                    map ? w->vocab.map.items[i].key : w->vocab.list.items[i].list.items[0].s,
                    &ids[i]);
        }
    }
    return value_int(map_get(&w->ids, token), -1);
}

static void put_added(ConvertWork *w, Buf *out, AddedRow row)
{
    if (!row.content.n) return;
    if (id_of(w, row.content) < 0) {
        Value *id = NEW(w->arena, Value);
        *id = value_of_int((int64_t)w->size++);
        map_put(&w->ids, w->arena, row.content, id);
    }
    buf_puts(out, out->n && out->p[out->n - 1] == '}' ? ",{\"content\":" : "{\"content\":");
    json_write_string(out, row.content);
    buf_printf(out,
               ",\"id\":%lld,\"lstrip\":%s,\"rstrip\":%s,\"single_word\":%s,\"normalized\":%s,"
               "\"special\":%s}",
               (long long)id_of(w, row.content), row.lstrip ? "true" : "false", row.rstrip ? "true" : "false",
               row.single_word ? "true" : "false", row.normalized ? "true" : "false",
               row.special ? "true" : "false");
}

static AddedRow convert_row_of(const Value *v, AddedRow row)
{
    row.content = value_str(value_get(v, "content"), row.content);
    row.lstrip = value_bool(value_get(v, "lstrip"), row.lstrip);
    row.rstrip = value_bool(value_get(v, "rstrip"), row.rstrip);
    row.single_word = value_bool(value_get(v, "single_word"), row.single_word);
    row.normalized = value_bool(value_get(v, "normalized"), row.normalized);
    row.special = value_bool(value_get(v, "special"), row.special);
    return row;
}

/* added_tokens_decoder: {"4": {"content": ...}}; by id, so that new ones are numbered alike. */
static void put_decoder_tokens(ConvertWork *w, Buf *out, Map *seen)
{
    const Value *map = value_get(w->side->config, "added_tokens_decoder");
    size_t n = map && map->kind == V_MAP ? map->map.n : 0;
    for (int64_t last = -1, least;; last = least) {
        const Value *next = NULL;
        least = INT64_MAX;
        for (size_t i = 0; i < n; i++) {
            int64_t id;
            if (str_int(map->map.items[i].key, &id) && id > last && id < least)
                least = id, next = &map->map.items[i].value;
        }
        if (!next) return;
        AddedRow row = convert_row_of(next, (AddedRow){ 0 });
        if (row.content.n) map_put(seen, w->arena, row.content, seen);
        put_added(w, out, row);
    }
}

static void put_pieces(ConvertWork *w, Buf *out, Map *seen)
{
    enum { CONTROL = 3, USER = 4 };
    for (size_t i = 0; w->spm.types && i < w->spm.vocab.list.n; i++) {
        Str text = w->spm.vocab.list.items[i].list.items[0].s;
        if ((w->spm.types[i] != CONTROL && w->spm.types[i] != USER) || !text.n) continue;
        if (map_get(seen, text)) continue;
        map_put(seen, w->arena, text, seen);
        put_added(w, out, (AddedRow){ .content = text, .special = w->spm.types[i] == CONTROL });
    }
}

static void put_all_added(ConvertWork *w, Buf *out)
{
    Map seen = { 0 };
    put_decoder_tokens(w, out, &seen);
    for (int i = 0; i < ROLES; i++) {
        if (!w->name[i].n || map_get(&seen, w->name[i])) continue;
        AddedRow row = { .content = w->name[i],
                         .special = true,
                         .lstrip = i == MASK && w->style->eager_mask };
        if (w->token[i] && w->token[i]->kind == V_MAP) row = convert_row_of(w->token[i], row);
        row.special = true;
        map_put(&seen, w->arena, row.content, &seen);
        put_added(w, out, row);
    }
    put_pieces(w, out, &seen);
}

/* ---- the parts around the model ---- */
static void put_charsmap(const ConvertWork *w, Buf *out, const char *before, const char *after,
                         const char *none)
{
    if (!w->spm.charsmap.n) {
        buf_puts(out, none);
        return;
    }
    buf_printf(out, "%s{\"type\":\"Precompiled\",\"precompiled_charsmap\":\"", before);
    base64_write(out, w->spm.charsmap);
    buf_printf(out, "\"}%s", after);
}

#define LOWERCASE "{\"type\":\"Lowercase\"}"
static bool put_setting(const ConvertWork *w, Buf *out, Str name)
{
    bool deberta = w->style->classes && strstr(w->style->classes, "DebertaV2");
    bool lower = convert_flag(w, "do_lower_case", !deberta),
         prefix = convert_flag(w, "add_prefix_space", w->style->kind == FROM_SENTENCEPIECE);
    const Value *strip = value_get(w->side->config, "strip_accents");
    bool known = strip && strip->kind == V_BOOL;
    const struct {
        const char *name, *text;
    } rows[] = {
        { "chinese", convert_flag(w, "tokenize_chinese_chars", true) ? "true" : "false" },
        { "strip", !known     ? "null"
                   : strip->b ? "true"
                              : "false" },
        { "lower", lower ? "true" : "false" },
        { "prefix", prefix ? "true" : "false" },
        { "trim", convert_flag(w, "trim_offsets", true) ? "true" : "false" },
        { "scheme", prefix    ? "always"
                    : deberta ? "first"
                              : "never" },
        { "lowercase", lower ? "," LOWERCASE : "" },
        { "first_lowercase", lower ? LOWERCASE "," : "" },
        { "accents", convert_flag(w, "keep_accents", false)
                         ? ""
                         : ",{\"type\":\"NFKD\"},{\"type\":\"StripAccents\"}" },
        { "punctuation", convert_flag(w, "split_by_punct", false)
                             ? "{\"type\":\"Punctuation\",\"behavior\":\"Isolated\"},"
                             : "" },
        { "bytes", w->spm.byte_fallback ? ",{\"type\":\"ByteFallback\"},{\"type\":\"Fuse\"}" : "" },
    };
    for (size_t i = 0; i < COUNT(rows); i++)
        if (str_is(name, rows[i].name)) return buf_puts(out, rows[i].text), true;
    if (str_is(name, "charsmap")) return put_charsmap(w, out, "", "", "null"), true;
    if (str_is(name, "charsmap_first")) return put_charsmap(w, out, "", ",", ""), true;
    if (str_is(name, "also_charsmap")) return put_charsmap(w, out, ",", "", ""), true;
    for (int i = 0; i < ROLES; i++)
        if (str_is(name, roles[i])) return json_write_string(out, w->name[i]), true;
    return false;
}

static bool put_id(ConvertWork *w, Buf *out, Str name, Err *err)
{
    for (int i = 0; i < ROLES; i++) {
        if (!str_is(name, roles[i])) continue;
        int64_t id = w->name[i].n ? id_of(w, w->name[i]) : -1;
        buf_printf(out, "%lld", (long long)id);
        return id >= 0 || fail(err, EF_BAD_MODEL, "found no %s token", roles[i]);
    }
    return false;
}

/* Text with its $words and #words filled in. */
static bool convert_put_text(ConvertWork *w, Buf *out, const char *text, Err *err)
{
    while (*text) {
        size_t plain = strcspn(text, "$#");
        buf_add(out, text, plain);
        text += plain;
        if (!*text) break;
        size_t n = strspn(text + 1, "abcdefghijklmnopqrstuvwxyz_");
        Str name = { text + 1, n };
        if (n == 0) buf_char(out, *text);
        else if (*text == '$') {
            bool known = put_setting(w, out, name);
            assert(known);
        } else if (!put_id(w, out, name, err)) return false;
        text += 1 + n;
    }
    return true;
}

/* ---- the model ---- */
static Value model_of(ConvertWork *w)
{
    Value m = value_map(w->arena, 12);
    bool words = w->style->kind == FROM_WORDS,
         clip = w->style->parts && w->style->classes && strstr(w->style->classes, "CLIP");
    bool pieces = w->style->kind == FROM_SENTENCEPIECE;
    value_add(&m, "vocab", w->vocab);
    if (words) {
        value_add(&m, "type", value_of_str(STR("WordPiece")));
        value_add(&m, "unk_token", value_of_str(w->name[UNK]));
        value_add(&m, "continuing_subword_prefix", value_of_str(STR("##")));
        value_add(&m, "max_input_chars_per_word", value_of_int(100));
    } else if (pieces && !w->spm.bpe) {
        value_add(&m, "type", value_of_str(STR("Unigram")));
        value_add(&m, "unk_id", value_of_int(w->spm.unk_id));
        value_add(&m, "byte_fallback", value_of_bool(!w->style->classes && w->spm.byte_fallback));
        value_add(&m, "exact_scores", value_of_f32(NULL, 0)); /* no text can say that */
    } else {
        value_add(&m, "type", value_of_str(STR("BPE")));
        value_add(&m, "merges", w->merges);
        if (clip) value_add(&m, "end_of_word_suffix", value_of_str(STR("</w>")));
        if (clip) value_add(&m, "unk_token", value_of_str(w->name[UNK]));
        if (pieces) value_add(&m, "unk_token", value_of_str(w->spm.unk));
        if (pieces) value_add(&m, "fuse_unk", value_of_bool(true));
        if (pieces) value_add(&m, "byte_fallback", value_of_bool(w->spm.byte_fallback));
    }
    return m;
}

bool convert_tokenizer(Arena *arena, const Style *style, Str bytes, Str merges, const Sidecar *side,
                       Value *out, Err *err)
{
    ConvertWork w = { .arena = arena, .style = style, .side = side };
    convert_read_tokens(&w);
    bool ok = style->kind == FROM_WORDS    ? words_vocab(&w, bytes, err)
              : style->kind == FROM_MERGES ? merges_vocab(&w, bytes, merges, err)
                                           : spm_vocab(&w, bytes, err);
    if (!ok) return false;
    Buf text = { 0 };
    buf_puts(&text, "{\"version\":\"1.0\",\"truncation\":null,\"padding\":null,\"added_tokens\":[");
    put_all_added(&w, &text);
    buf_puts(&text, "],");
    ok = convert_put_text(&w, &text, style->parts, err);
    buf_puts(&text, ",\"post_processor\":");
    ok = ok && convert_put_text(&w, &text, style->processor, err);
    buf_puts(&text, ",\"model\":null}");
    Str json = { str_dup(arena, buf_view(&text)), text.n };
    buf_free(&text);
    if (!ok || !json_parse(arena, json, out, err)) return false;
    out->map.items[out->map.n - 1].value = model_of(&w);
    return true;
}

void convert_publish(Value *tree)
{
    Value *model = &tree->map.items[tree->map.n - 1].value;
    size_t n = 0;
    for (size_t i = 0; i < model->map.n; i++)
        if (!str_is(model->map.items[i].key, "exact_scores"))
            model->map.items[n++] = model->map.items[i];
    model->map.n = n;
}
