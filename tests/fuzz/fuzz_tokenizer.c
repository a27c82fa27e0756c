/* SPDX-License-Identifier: Apache-2.0
 * fuzz_tokenizer.c - first byte 'J': a tokenizer.json up to a NUL, then a text. Any other: options
 * for a fixed tokenizer, the rest is text. What comes out must lie inside the text and the
 * vocabulary. */
#include <stdlib.h>

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
/* clang-format on */

static void must(bool ok)
{
    if (!ok) abort();
}

static bool boundary(Str text, int32_t at)
{
    return at >= 0 && (size_t)at <= text.n && ((size_t)at == text.n || (text.p[at] & 0xc0) != 0x80);
}

static void check(const Tokenizer *t, const Encoding *e, Str first, const Str *second)
{
    for (size_t i = 0; i < e->n; i++) {
        must(e->ids[i] >= 0 && (size_t)e->ids[i] < tokenizer_size(t));
        must(e->sequence[i] == 0 || (e->sequence[i] == 1 && second));
        if (e->special[i]) continue;
        Str text = e->sequence[i] ? *second : first;
        must(boundary(text, e->start[i]) && boundary(text, e->end[i]));
        must(e->start[i] < e->end[i] && e->word[i] >= 0);
    }
}

static void encode(const Tokenizer *t, Arena *arena, Str text, uint8_t how)
{
    EncodeOptions options = { .max_length = how >> 4,
                              .strategy = (TruncateStrategy)(how % 3),
                              .truncate_left = how & 4,
                              .no_special = how & 8 };
    Str first = { text.p, text.n / 2 };
    while (first.n < text.n && (text.p[first.n] & 0xc0) == 0x80) first.n++;
    Str second = { text.p + first.n, text.n - first.n };
    Encoding e;
    Err err = { 0 };
    if (tokenizer_encode(t, arena, text, NULL, NULL, &e, &err))
        check(t, &e, text, NULL);
    else
        must(err.message[0]);
    if (!tokenizer_encode(t, arena, first, &second, &options, &e, &err)) return;
    check(t, &e, first, &second);
    encoding_to_chars(&e, first, &second);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0) return 0;
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
    bool ok = tokenizer_load(&arena, json, &t, &err);
    must(ok || (data[0] == 'J' && strncmp(err.message, "tokenizer.json: ", 16) == 0));
    if (ok) encode(t, &arena, text, data[0]);
    arena_free(&arena);
    return 0;
}
