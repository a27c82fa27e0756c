/* SPDX-License-Identifier: Apache-2.0
 * fuzz_tokenizer_text.c - any text for the tokenizers of tests/golden/text_models: the first byte
 * says which, the second how. Run from the root of the repository.
 *
 * Each is opened three times: as it is, by way of its compiled form, and without the shortcuts of
 * BPE (cutting words beforehand, the table of first pairs). All must give the same, and what comes
 * out must lie inside the text and the vocabulary. */
#include <stdlib.h>

#include "base/file.h"
#include "data/json.h"
#include "text/pipeline.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define GOLDEN "tests/golden/text_models/"
static const char *const names[] = {
    "albert",     "bert_cased",    "bert_chinese", "bert_japanese",  "bert_uncased",
    "bytes_bpe",  "bytes_unigram", "camembert",    "cl100k",         "clip",
    "deberta3",   "electra",       "gpt2",         "ignoring_bpe",   "layoutlmv3",
    "llama2",     "llama3",        "long_unigram", "mapped_unigram", "modernbert",
    "mpnet",      "o200k",         "plain_bpe",    "plain_unigram",  "prefixed_bpe",
    "qwen",       "roberta",       "silent_bpe",   "suffixed_bpe",   "trimmed",
    "word_level", "xlm_roberta",
};
enum { WAYS = 3 };
static Arena keep; /* what is opened once */
static Tokenizer *opened[COUNT(names)][WAYS];

static void must(bool ok)
{
    if (!ok) abort();
}

static void open_all(size_t which)
{
    Tokenizer **t = opened[which];
    Err err = { 0 };
    Str text;
    Value root;
    Buf block = { 0 };
    const char *path = str_format(&keep, GOLDEN "%s.json", names[which]);
    must(file_read(&keep, path, 1 << 24, &text, &err) && json_parse(&keep, text, &root, &err) &&
         tokenizer_from_value(&keep, &root, &t[0], &err) &&
         tokenizer_compile(&root, &block, &err) && tokenizer_from_value(&keep, &root, &t[2], &err));
    char *bytes = memcpy(arena_raw(&keep, block.n), block.p, block.n);
    must(tokenizer_map(&keep, (Str){ bytes, block.n }, &t[1], &err));
    t[2]->model.merges.joins = NULL;
    t[2]->model.merges.quick = NULL;
    buf_free(&block);
}

static bool boundary(Str text, int32_t at)
{
    return at >= 0 && (size_t)at <= text.n && ((size_t)at == text.n || (text.p[at] & 0xc0) != 0x80);
}

static void check(const Tokenizer *t, const Encoding *e, const Str texts[2])
{
    for (size_t i = 0; i < e->n; i++) {
        must(e->ids[i] >= 0 && (size_t)e->ids[i] < tokenizer_size(t));
        if (e->special[i]) continue;
        Str text = texts[e->sequence[i]];
        must(e->word[i] >= 0 && boundary(text, e->start[i]) && boundary(text, e->end[i]));
        must(e->start[i] <= e->end[i]);
    }
}

static bool equal(const Encoding *a, const Encoding *b)
{
    size_t bytes = a->n * sizeof *a->ids;
    bool same = a->n == b->n && a->n_overflow == b->n_overflow && a->truncated == b->truncated;
    if (same && a->n)
        same = !memcmp(a->ids, b->ids, bytes) && !memcmp(a->type_ids, b->type_ids, bytes) &&
               !memcmp(a->start, b->start, bytes) && !memcmp(a->end, b->end, bytes) &&
               !memcmp(a->word, b->word, bytes) && !memcmp(a->special, b->special, a->n);
    for (size_t i = 0; same && i < a->n; i++) same = str_eq(a->tokens[i], b->tokens[i]);
    for (size_t i = 0; same && i < a->n_overflow; i++)
        same = equal(&a->overflow[i], &b->overflow[i]);
    return same;
}

static void run(Tokenizer *const t[WAYS], Arena *arena, Str text, uint8_t how)
{
    EncodeOptions options = { .max_length = how >> 3,
                              .truncate_left = how & 1,
                              .no_special = how & 2,
                              .tokens = true,
                              .stride = how % 3,
                              .overflow = text.n < 300 };
    Str texts[2] = { text };
    if (how & 4) {
        texts[0].n /= 2;
        while (texts[0].n < text.n && (text.p[texts[0].n] & 0xc0) == 0x80) texts[0].n++;
        texts[1] = (Str){ text.p + texts[0].n, text.n - texts[0].n };
    }
    const Str *second = how & 4 ? &texts[1] : NULL;
    Encoding e[WAYS] = { 0 };
    bool ok[WAYS];
    for (int w = 0; w < WAYS; w++) {
        Err err = { 0 };
        ok[w] = tokenizer_encode(t[w], arena, texts[0], second, &options, &e[w], &err);
        must(ok[w] || err.message[0]);
        must(ok[w] == ok[0] && (!ok[w] || (w ? equal(&e[0], &e[w]) : true)));
    }
    if (!ok[0]) return;
    check(t[0], &e[0], texts);
    encoding_to_chars(&e[0], texts[0], second);
    Str back;
    must(tokenizer_decode(t[0], e[0].ids, e[0].n, how & 8, arena, &back, &(Err){ 0 }));
    must(utf8_valid(back));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2) return 0;
    Arena arena = { 0 };
    size_t which = data[0] % COUNT(names);
    if (!opened[which][0]) open_all(which);
    run(opened[which], &arena, (Str){ (const char *)data + 2, size - 2 }, data[1]);
    arena_free(&arena);
    return 0;
}
