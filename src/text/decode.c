/* SPDX-License-Identifier: Apache-2.0
 * decode.c - ids back to text, and the kinds of `decoder`: each takes the list of tokens and gives
 * another, whose parts are joined in the end. */
#include "pipeline.h"
#include "regex.h"

/* ---- strings ---- */

/* Every `from` becomes `to`; an empty one stands between all characters, as in the reference. */
static Str decode_replaced(Arena *arena, Str in, Str from, Str to)
{
    Buf out = { .arena = arena };
    size_t done = 0;
    bool found = false;
    for (size_t i = 0; i + from.n <= in.n;) {
        bool here =
            from.n ? !memcmp(in.p + i, from.p, from.n) : i == in.n || (in.p[i] & 0xc0) != 0x80;
        if (here) {
            buf_add(&out, in.p + done, i - done);
            buf_str(&out, to);
            done = i + from.n;
            found = true;
        }
        i += here && from.n ? from.n : 1;
    }
    if (!found) return in;
    buf_add(&out, in.p + done, in.n - done);
    return buf_view(&out);
}

static Str decode_copied(Arena *arena, Str s)
{
    return (Str){ str_dup(arena, s), s.n };
}

static Str decode_joined(Arena *arena, const Strings *tokens, Str between)
{
    size_t n = tokens->n ? (tokens->n - 1) * between.n : 0;
    for (size_t i = 0; i < tokens->n; i++) n += tokens->items[i].n;
    char *p = arena_alloc(arena, n + 1), *at = p;
    for (size_t i = 0; i < tokens->n; i++) {
        if (i && between.n) memcpy(at, between.p, between.n), at += between.n;
        if (tokens->items[i].n) memcpy(at, tokens->items[i].p, tokens->items[i].n);
        at += tokens->items[i].n;
    }
    return (Str){ p, n };
}

static Str decode_spaced(Arena *arena, Str s)
{
    char *p = arena_raw(arena, s.n + 1);
    p[0] = ' ';
    if (s.n) memcpy(p + 1, s.p, s.n);
    return (Str){ p, s.n + 1 };
}

static void decode_become_one(Arena *arena, Strings *tokens, Str one)
{
    tokens->items = NEW(arena, Str);
    tokens->items[0] = one;
    tokens->n = 1;
}

/* What is cleaned begins with a space and one of these; most tokens have no such place. */
static bool is_clean(Str s)
{
    for (size_t i = 1; i < s.n; i++)
        if (s.p[i - 1] == ' ' && memchr(".?!,'nd", s.p[i], 7)) return false;
    return true;
}

static Str decode_clean_up(Arena *arena, Str s)
{
    static const char *const rows[][2] = {
        { " .", "." },   { " ?", "?" },     { " !", "!" },     { " ,", "," },
        { " ' ", "'" },  { " n't", "n't" }, { " 'm", "'m" },   { " do not", " don't" },
        { " 's", "'s" }, { " 've", "'ve" }, { " 're", "'re" },
    };
    for (size_t i = 0; !is_clean(s) && i < COUNT(rows); i++)
        s = decode_replaced(arena, s, str_of(rows[i][0]), str_of(rows[i][1]));
    return s;
}

/* ---- WordPiece, BPEDecoder, CTC ---- */
typedef struct Affixes { /* settings of any of the three */
    Str prefix;          /* of a token that continues a word; suffix of one that ends it; padding */
    Str delimiter;
    bool cleanup;
} Affixes;

static bool wordpiece_decoder_load(Arena *arena, const Value *v, Decoder *out, Err *err)
{
    Affixes *a = NEW(arena, Affixes);
    out->data = a;
    Str prefix;
    if (!member_str(v, "decoder", "prefix", &prefix, err) ||
        !member_bool(v, "decoder", "cleanup", &a->cleanup, err))
        return false;
    return a->prefix = decode_copied(arena, prefix), true;
}

static void wordpiece_decode(const Decoder *self, Arena *arena, Strings *tokens)
{
    const Affixes *a = self->data;
    for (size_t i = 0; i < tokens->n; i++) {
        Str *token = &tokens->items[i], p = a->prefix;
        if (i && token->n >= p.n && (!p.n || !memcmp(token->p, p.p, p.n)))
            *token = (Str){ token->p + p.n, token->n - p.n };
        else if (i) *token = decode_spaced(arena, *token);
        if (a->cleanup) *token = decode_clean_up(arena, *token);
    }
}

static bool bpe_decoder_load(Arena *arena, const Value *v, Decoder *out, Err *err)
{
    Affixes *a = NEW(arena, Affixes);
    out->data = a;
    Str suffix;
    if (!member_str(v, "decoder", "suffix", &suffix, err)) return false;
    return a->prefix = decode_copied(arena, suffix), true;
}

static void bpe_decode(const Decoder *self, Arena *arena, Strings *tokens)
{
    const Affixes *a = self->data;
    for (size_t i = 0; i < tokens->n; i++)
        tokens->items[i] = decode_replaced(arena, tokens->items[i], a->prefix,
                                           i + 1 == tokens->n ? STR("") : STR(" "));
}

static bool ctc_load(Arena *arena, const Value *v, Decoder *out, Err *err)
{
    Affixes *a = NEW(arena, Affixes);
    out->data = a;
    Str pad, delimiter;
    if (!member_str(v, "decoder", "pad_token", &pad, err) ||
        !member_str(v, "decoder", "word_delimiter_token", &delimiter, err) ||
        !member_bool(v, "decoder", "cleanup", &a->cleanup, err))
        return false;
    a->prefix = decode_copied(arena, pad), a->delimiter = decode_copied(arena, delimiter);
    return true;
}

static void ctc_decode(const Decoder *self, Arena *arena, Strings *tokens)
{
    const Affixes *a = self->data;
    size_t n = 0;
    Str last = { 0 };
    for (size_t i = 0; i < tokens->n; i++) {
        Str token = tokens->items[i];
        if (i && str_eq(token, last)) continue;
        last = token;
        token = decode_replaced(arena, token, a->prefix, STR(""));
        if (a->cleanup)
            token = decode_replaced(arena, decode_clean_up(arena, token), a->delimiter, STR(" "));
        if (token.n) tokens->items[n++] = token;
    }
    tokens->n = n;
}

/* ---- ByteLevel ---- */
static int byte_of(uint32_t code) /* -1: no byte is written so */
{
    if ((code >= '!' && code <= '~') || (code >= 0xa1 && code <= 0xff && code != 0xad))
        return (int)code;
    if (code >= 0x100 && code <= 0x120) return (int)code - 0x100; /* 0 to space */
    if (code >= 0x121 && code <= 0x142) return (int)code - 0x121 + 0x7f;
    return code == 0x143 ? 0xad : -1;
}

/* Bytes of what is malformed at p, at most as many as a character could begin with. */
static size_t utf8_malformed(const unsigned char *p, const unsigned char *end)
{
    int more = p[0] >= 0xc2 && p[0] <= 0xdf   ? 1
               : (p[0] & 0xf0) == 0xe0        ? 2
               : p[0] >= 0xf0 && p[0] <= 0xf4 ? 3
                                              : 0;
    unsigned char low = p[0] == 0xe0 ? 0xa0 : p[0] == 0xf0 ? 0x90 : 0x80;
    unsigned char high = p[0] == 0xed ? 0x9f : p[0] == 0xf4 ? 0x8f : 0xbf;
    size_t n = 1;
    for (; more > 0 && p + n < end && p[n] >= low && p[n] <= high; more--, n++)
        low = 0x80, high = 0xbf;
    return n;
}

static Str utf8_lossy(Arena *arena, Str bytes)
{
    if (utf8_valid(bytes)) return decode_copied(arena, bytes);
    Buf out = { .arena = arena };
    const char *p = bytes.p, *end = p + bytes.n;
    while (p < end) {
        uint32_t code;
        int n = utf8_decode(p, end, &code);
        if (n) buf_add(&out, p, (size_t)n);
        else buf_puts(&out, "\xef\xbf\xbd");
        p += n ? (size_t)n : utf8_malformed((const unsigned char *)p, (const unsigned char *)end);
    }
    return buf_view(&out);
}

static void decode_add_bytes(Buf *out, Str token)
{
    size_t before = out->n;
    uint32_t code;
    for (size_t i = 0; i < token.n;) {
        i += (size_t)utf8_take(token.p + i, &code);
        int byte = byte_of(code);
        if (byte < 0) { /* not byte-level at all */
            out->n = before;
            buf_str(out, token);
            return;
        }
        buf_char(out, (char)byte);
    }
}

static void bytelevel_decode(const Decoder *self, Arena *arena, Strings *tokens)
{
    (void)self;
    Buf out = { .arena = arena };
    for (size_t i = 0; i < tokens->n; i++) decode_add_bytes(&out, tokens->items[i]);
    decode_become_one(arena, tokens, utf8_lossy(arena, (Str){ out.n ? out.p : "", out.n }));
}

/* ---- Metaspace ---- */
typedef struct DecoderMetaspace {
    Str replacement;
    bool prepends;
} DecoderMetaspace;

static bool one_char(Str s)
{
    uint32_t code;
    return s.n && (size_t)utf8_decode(s.p, s.p + s.n, &code) == s.n;
}

static bool metaspace_decoder_load(Arena *arena, const Value *v, Decoder *out, Err *err)
{
    DecoderMetaspace *m = NEW(arena, DecoderMetaspace);
    out->data = m;
    Str replacement;
    if (!member_str(v, "decoder", "replacement", &replacement, err)) return false;
    if (!one_char(replacement))
        return fail(err, EF_BAD_MODEL, "decoder: found \"%.*s\" as replacement, wanted a character",
                    STR_ARG(replacement));
    m->replacement = decode_copied(arena, replacement);
    m->prepends = value_bool(value_get(v, "add_prefix_space"), true) &&
                  !str_is(value_str(value_get(v, "prepend_scheme"), STR("always")), "never");
    return true;
}

static void metaspace_decode(const Decoder *self, Arena *arena, Strings *tokens)
{
    const DecoderMetaspace *m = self->data;
    for (size_t i = 0; i < tokens->n; i++)
        tokens->items[i] = decode_replaced(arena, tokens->items[i], m->replacement,
                                           i == 0 && m->prepends ? STR("") : STR(" "));
}

/* ---- ByteFallback, Fuse ---- */
static int decode_hex_digit(char c)
{
    int letter = (c | 32) - 'a';
    if (c >= '0' && c <= '9') return c - '0';
    return letter >= 0 && letter < 6 ? letter + 10 : -1;
}

static int fallback_byte(Str t) /* of "<0xE9>"; -1: none */
{
    if (t.n != 6 || memcmp(t.p, "<0x", 3) || t.p[5] != '>') return -1;
    int high = t.p[3] == '+' ? 0 : decode_hex_digit(t.p[3]), low = decode_hex_digit(t.p[4]);
    return high < 0 || low < 0 ? -1 : high * 16 + low;
}

/* The bytes gathered become a string, or a mark for each. */
static size_t flush_bytes(Arena *arena, Buf *bytes, Str *out)
{
    size_t n = bytes->n;
    if (n == 0) return 0;
    bool valid = utf8_valid(buf_view(bytes));
    if (valid) out[0] = decode_copied(arena, buf_view(bytes));
    for (size_t i = 0; !valid && i < n; i++) out[i] = STR("\xef\xbf\xbd");
    bytes->n = 0;
    return valid ? 1 : n;
}

static void fallback_decode(const Decoder *self, Arena *arena, Strings *tokens)
{
    (void)self;
    Buf bytes = { .arena = arena };
    size_t n = 0;
    Str *out = ARRAY(arena, Str, tokens->n);
    for (size_t i = 0; i < tokens->n; i++) {
        int byte = fallback_byte(tokens->items[i]);
        if (byte >= 0) {
            buf_char(&bytes, (char)byte);
            continue;
        }
        n += flush_bytes(arena, &bytes, out + n);
        out[n++] = tokens->items[i];
    }
    n += flush_bytes(arena, &bytes, out + n);
    *tokens = (Strings){ out, n };
}

static void fuse_decode(const Decoder *self, Arena *arena, Strings *tokens)
{
    (void)self;
    decode_become_one(arena, tokens, decode_joined(arena, tokens, STR("")));
}

/* ---- Strip, Replace ---- */
typedef struct DecoderStrip {
    Str content; /* one character */
    int64_t start, stop;
} DecoderStrip;

static bool strip_decoder_load(Arena *arena, const Value *v, Decoder *out, Err *err)
{
    DecoderStrip *s = NEW(arena, DecoderStrip);
    out->data = s;
    Str content;
    if (!member_str(v, "decoder", "content", &content, err) ||
        !member_int(v, "decoder", "start", &s->start, err) ||
        !member_int(v, "decoder", "stop", &s->stop, err))
        return false;
    if (!one_char(content))
        return fail(err, EF_BAD_MODEL, "decoder: found \"%.*s\" as content, wanted a character",
                    STR_ARG(content));
    return s->content = decode_copied(arena, content), true;
}

static void strip_decode(const Decoder *self, Arena *arena, Strings *tokens)
{
    (void)arena;
    const DecoderStrip *s = self->data;
    size_t n = s->content.n;
    for (size_t i = 0; i < tokens->n; i++) {
        Str *t = &tokens->items[i];
        for (int64_t k = 0; k < s->start && t->n >= n && !memcmp(t->p, s->content.p, n); k++)
            t->p += n, t->n -= n;
        for (int64_t k = 0; k < s->stop && t->n >= n && !memcmp(t->p + t->n - n, s->content.p, n);
             k++)
            t->n -= n;
    }
}

typedef struct DecoderReplace {
    Pattern pattern;
    Str content;
} DecoderReplace;

static bool replace_decoder_load(Arena *arena, const Value *v, Decoder *out, Err *err)
{
    DecoderReplace *r = NEW(arena, DecoderReplace);
    out->data = r;
    Str content;
    if (!pattern_load(arena, value_get(v, "pattern"), "decoder", &r->pattern, err) ||
        !member_str(v, "decoder", "content", &content, err))
        return false;
    return r->content = decode_copied(arena, content), true;
}

static Str replace_matches(const DecoderReplace *r, Arena *arena, Str token)
{
    RegexSearch search = { .text = token, .arena = arena };
    Range hit;
    size_t done = 0;
    Buf out = { .arena = arena };
    while (pattern_next(&r->pattern, &search, &hit)) {
        buf_add(&out, token.p + done, hit.from - done);
        buf_str(&out, r->content);
        done = hit.to;
    }
    buf_add(&out, token.p + done, token.n - done);
    return (Str){ out.n ? out.p : "", out.n };
}

static void replace_decode(const Decoder *self, Arena *arena, Strings *tokens)
{
    for (size_t i = 0; i < tokens->n; i++)
        tokens->items[i] = replace_matches(self->data, arena, tokens->items[i]);
}

/* ---- Sequence ---- */
typedef struct DecoderSequence {
    Decoder *items;
    size_t n;
} DecoderSequence;

static bool decode_sequence_load(Arena *arena, const Value *v, Decoder *out, Err *err)
{
    const Value *list;
    if (!member_list(v, "decoder Sequence", "decoders", &list, err)) return false;
    DecoderSequence *sequence = NEW(arena, DecoderSequence);
    sequence->n = list->list.n;
    sequence->items = ARRAY(arena, Decoder, sequence->n);
    for (size_t i = 0; i < sequence->n; i++)
        if (!decoder_load(arena, &list->list.items[i], &sequence->items[i], err)) return false;
    out->data = sequence;
    return true;
}

static void sequence_decode(const Decoder *self, Arena *arena, Strings *tokens)
{
    const DecoderSequence *sequence = self->data;
    for (size_t i = 0; i < sequence->n; i++) {
        const Decoder *d = &sequence->items[i];
        if (d->kind) d->kind->run(d, arena, tokens);
    }
}

static const DecoderKind kinds[] = {
    { "BPEDecoder", bpe_decoder_load, bpe_decode },
    { "ByteFallback", NULL, fallback_decode },
    { "ByteLevel", NULL, bytelevel_decode },
    { "CTC", ctc_load, ctc_decode },
    { "Fuse", NULL, fuse_decode },
    { "Metaspace", metaspace_decoder_load, metaspace_decode },
    { "Replace", replace_decoder_load, replace_decode },
    { "Sequence", decode_sequence_load, sequence_decode },
    { "Strip", strip_decoder_load, strip_decode },
    { "WordPiece", wordpiece_decoder_load, wordpiece_decode },
};

bool decoder_load(Arena *arena, const Value *v, Decoder *out, Err *err)
{
    if (!v || v->kind == V_NULL) return true;
    Str type;
    if (!component_type(v, "decoder", &type, err)) return false;
    for (size_t i = 0; i < COUNT(kinds); i++) {
        if (!str_is(type, kinds[i].type)) continue;
        out->kind = &kinds[i];
        return !kinds[i].load || kinds[i].load(arena, v, out, err);
    }
    return component_unknown("decoder", type, err);
}

Str tokenizer_join(const Tokenizer *t, Str *items, size_t n, Arena *arena)
{
    Strings tokens = { items, n };
    if (!t->decoder.kind) return decode_joined(arena, &tokens, STR(" "));
    t->decoder.kind->run(&t->decoder, arena, &tokens);
    return decode_joined(arena, &tokens, STR(""));
}

bool tokenizer_decode(const Tokenizer *t, const int32_t *ids, size_t n, bool skip_special,
                      Arena *arena, Str *out, Err *err)
{
    Strings tokens = { ARRAY(arena, Str, n), 0 };
    for (size_t i = 0; i < n; i++) {
        if (ids[i] < 0)
            return fail(err, EF_INVALID_INPUT, "found token id %d, wanted 0 or more", (int)ids[i]);
        Str name = tokenizer_token(t, ids[i]);
        if (!name.p || (skip_special && map_get(&t->added.specials, name))) continue;
        tokens.items[tokens.n++] = name;
    }
    *out = tokenizer_join(t, tokens.items, tokens.n, arena);
    return true;
}
