/* SPDX-License-Identifier: Apache-2.0
 * fuzz_tokenizer.c - first byte 'J': a tokenizer.json up to a NUL, then a text. 'M': a
 * SentencePiece model, with a fixed text. 'C': damage to a compiled tokenizer. Any other: options for a fixed
 * tokenizer, the rest is text. What comes out must lie inside the text and the vocabulary. */
#include <stdlib.h>

#include "data/json.h"
#include "text/convert.h"
#include "text/text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define TOKEN(content, word, left, right, normalized)                                              \
    "{\"id\":1,\"content\":\"" content "\",\"single_word\":" #word ",\"lstrip\":" #left            \
    ",\"rstrip\":" #right ",\"normalized\":" #normalized ",\"special\":false}"
/* clang-format off */
static const char fixed[] =
    "{\"added_tokens\":["
    TOKEN("[M]", false, true, true, false) ","
    TOKEN("\xc3\x89", true, false, true, true) ","
    TOKEN(" x", false, true, false, true) "],"
    "\"normalizer\":{\"type\":\"BertNormalizer\",\"clean_text\":true,"
    "\"handle_chinese_chars\":true,\"strip_accents\":null,\"lowercase\":true},"
    "\"pre_tokenizer\":{\"type\":\"BertPreTokenizer\"},"
    "\"post_processor\":{\"type\":\"BertProcessing\",\"sep\":[\"b\",1],\"cls\":[\"a\",0]},"
    "\"model\":{\"type\":\"WordPiece\",\"unk_token\":\"[U]\",\"continuing_subword_prefix\":\"#\","
    "\"max_input_chars_per_word\":9,\"vocab\":{\"a\":0,\"b\":1,\"[U]\":2,\"ab\":3,\"#a\":4,"
    "\"#b\":5,\"#bb\":6,\"\xd0\xb6\":7,\"#\xd0\xb6\":8,\".\":9,\"\xe4\xb8\xad\":10,\"ss\":11}}}";
#define FIXED_BPE                                                                                  \
    "{\"model\":{\"type\":\"BPE\",\"unk_token\":\"u\",\"vocab\":{\"a\":0,\"b\":1,"               \
    "\"ab\":2,\"aba\":3,\"u\":4},\"merges\":[\"a b\",\"ab a\"]}}"
#define FIXED_UNIGRAM                                                                              \
    "{\"model\":{\"type\":\"Unigram\",\"unk_id\":0,\"vocab\":[[\"u\",0],[\"a\",-1.5],[\"b\",-2],"  \
    "[\"ab\",-2.5],[\"aba\",-3]]}}"
/* clang-format on */

static void must(bool ok)
{
    if (!ok) abort();
}

static bool boundary(Str text, int32_t at)
{
    return at >= 0 && (size_t)at <= text.n && ((size_t)at == text.n || (text.p[at] & 0xc0) != 0x80);
}

static void check(const Tokenizer *t, const Encoding *e, Words first, const Words *second,
                  bool split)
{
    for (size_t i = 0; i < e->n; i++) {
        must(e->ids[i] >= 0 && (size_t)e->ids[i] < tokenizer_size(t));
        must(e->sequence[i] == 0 || (e->sequence[i] == 1 && second));
        if (e->special[i]) continue;
        const Words *words = e->sequence[i] ? second : &first;
        must(e->word[i] >= 0 && (!split || (size_t)e->word[i] < words->n));
        Str text = words->items[split ? e->word[i] : 0];
        must(boundary(text, e->start[i]) && boundary(text, e->end[i]));
        must(e->start[i] <= e->end[i]);
    }
    for (size_t i = 0; i < e->n_overflow; i++) check(t, &e->overflow[i], first, second, split);
}

static void decode(const Tokenizer *t, Arena *arena, const Encoding *e, bool skip)
{
    Str text;
    Err err = { 0 };
    must(tokenizer_decode(t, e->ids, e->n, skip, arena, &text, &err) && utf8_valid(text));
}

static void encode(const Tokenizer *t, Arena *arena, Str text, uint8_t how)
{
    EncodeOptions options = { .max_length = how >> 4,
                              .strategy = (TruncateStrategy)(how % 3),
                              .truncate_left = how & 4,
                              .no_special = how & 8,
                              .tokens = true,
                              .stride = how % 7 % 3,
                              .overflow = text.n < 300 };
    Str halves[2] = { { text.p, text.n / 2 } };
    while (halves[0].n < text.n && (text.p[halves[0].n] & 0xc0) == 0x80) halves[0].n++;
    halves[1] = (Str){ text.p + halves[0].n, text.n - halves[0].n };
    Words all = { &text, 1 }, first = { &halves[0], 1 }, second = { &halves[1], 1 };
    Words both = { halves, 2 };
    Encoding e;
    Err err = { 0 };
    if (tokenizer_encode(t, arena, text, NULL, NULL, &e, &err)) {
        check(t, &e, all, NULL, false);
        decode(t, arena, &e, how & 16);
    } else must(err.message[0]);
    if (tokenizer_encode_words(t, arena, both, &second, &options, &e, &err)) {
        check(t, &e, both, &second, true);
        encoding_to_chars_words(&e, both, &second);
        must(encodings_pad(arena, &e, 1, &(PadOptions){ .multiple = how % 5, .left = how & 1 },
                           &err));
    }
    if (!tokenizer_encode(t, arena, halves[0], &halves[1], &options, &e, &err)) return;
    check(t, &e, first, &second, false);
    encoding_to_chars(&e, halves[0], &halves[1]);
}

static bool load_model(Arena *arena, Str bytes, Tokenizer **t, Err *err)
{
    Value root;
    Sidecar side = { 0 };
    const Style *style = convert_style(STR(""), STR(""), FROM_SENTENCEPIECE);
    return convert_tokenizer(arena, style, bytes, (Str){ 0 }, &side, &root, err) &&
           tokenizer_from_value(arena, &root, t, err);
}

/* 'C': damage to a good block, places and bytes in turn; then it is opened and used. */
static void compiled(Str damage)
{
    Arena arena = { 0 };
    Err err = { 0 };
    Value root;
    Buf block = { 0 };
    Tokenizer *t;
    Str json = { fixed, sizeof fixed - 1 };
    if (damage.n && damage.p[0] & 1) json = STR(FIXED_BPE);
    else if (damage.n && damage.p[0] & 2) json = STR(FIXED_UNIGRAM);
    must(json_parse(&arena, json, &root, &err) && tokenizer_compile(&root, &block, &err));
    char *bytes = memcpy(arena_raw(&arena, block.n), block.p, block.n);
    for (size_t i = 1; i + 2 < damage.n; i += 3) {
        size_t at = (unsigned char)damage.p[i] << 8 | (unsigned char)damage.p[i + 1];
        bytes[at % block.n] = damage.p[i + 2];
    }
    if (tokenizer_map(&arena, (Str){ bytes, block.n }, &t, &err))
        encode(t, &arena, STR("ab \xc3\x89 aba xx [M] b\xd0\xb6 "), (uint8_t)damage.n);
    else must(err.message[0]);
    buf_free(&block);
    arena_free(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0) return 0;
    if (data[0] == 'C') {
        compiled((Str){ (const char *)data + 1, size - 1 });
        return 0;
    }
    Arena arena = { 0 };
    Tokenizer *t;
    Err err = { 0 };
    Str json = { fixed, sizeof fixed - 1 }, text = { (const char *)data + 1, size - 1 };
    if (data[0] == 'J') {
        const char *end = memchr(text.p, 0, text.n);
        json = (Str){ text.p, end ? (size_t)(end - text.p) : text.n };
        text = (Str){ json.p + json.n, text.n - json.n };
        if (text.n) text.p++, text.n--;
    }
    bool ok = data[0] == 'M' ? load_model(&arena, text, &t, &err)
                             : tokenizer_load(&arena, json, &t, &err);
    must(ok || data[0] == 'M' ||
         (data[0] == 'J' && strncmp(err.message, "tokenizer.json: ", 16) == 0));
    if (data[0] == 'M') text = STR("a \xc3\xa9 the xx\xf0\x9f\x98\x80 b");
    uint8_t how = data[0] == 'J' && text.n ? (uint8_t)text.p[text.n / 2] : data[0];
    if (ok) encode(t, &arena, text, how);
    arena_free(&arena);
    return 0;
}
