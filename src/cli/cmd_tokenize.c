/* SPDX-License-Identifier: Apache-2.0
 * cmd_tokenize.c - texts to token ids and back, one JSON object a line: to look at a tokenizer, and
 * to compare it with the reference over any number of lines (--jsonl reads stdin: a JSON string a
 * line, or a list of two for a pair). Nothing is cut off unless --max-length says so. */
#include <errno.h>
#include <unistd.h>

#include "cli/cli.h"
#include "data/json.h"

enum { FLUSH_AT = 1 << 16, LINE_LIMIT = 1 << 28 };

static const Option options[] = {
    { "tokenizer", 't', "FILE", "a tokenizer.json, vocab.txt, vocab.json, .model, or a folder" },
    OPTION_MODEL,
    OPTION_TYPE,
    { "jsonl", 0, NULL, "read JSON from stdin, one a line: a text, or a list of two" },
    { "pair", 0, NULL, "texts are pairs: each two arguments, or each line" },
    { "words", 0, NULL, "the arguments, or each line's list, are the words of a text" },
    { "decode", 0, NULL, "ids to text: arguments, or a list of numbers a line" },
    { "skip-special", 0, NULL, "with --decode: leave special tokens out" },
    { "no-special", 0, NULL, "add no special tokens" },
    { "offsets", 0, "UNIT", "bytes (default) or chars" },
    { "max-length", 0, "N", "cut off what goes beyond N tokens" },
    { "stride", 0, "N", "show what was cut off too, in windows that share N tokens" },
    { 0 },
};

typedef struct Work {
    const Tokenizer *tokenizer;
    EncodeOptions encode;
    bool chars, pair, words, decode, skip_special;
    Arena arena; /* of one line */
    Buf out;
} Work;

/* ---- output ---- */
static void put_ints(Buf *b, const char *key, const int32_t *values, size_t n)
{
    buf_printf(b, "\"%s\":[", key);
    for (size_t i = 0; i < n; i++) buf_printf(b, i ? ",%d" : "%d", values[i]);
    buf_puts(b, "],");
}

static void put_encoding(Buf *b, const Encoding *e)
{
    buf_char(b, '{');
    put_ints(b, "ids", e->ids, e->n);
    buf_puts(b, "\"tokens\":[");
    for (size_t i = 0; i < e->n; i++) {
        if (i) buf_char(b, ',');
        json_write_string(b, e->tokens[i]);
    }
    buf_puts(b, "],\"offsets\":[");
    for (size_t i = 0; i < e->n; i++)
        buf_printf(b, "%s[%d,%d]", i ? "," : "", e->start[i], e->end[i]);
    buf_puts(b, "],");
    put_ints(b, "type_ids", e->type_ids, e->n);
    buf_puts(b, "\"word_ids\":[");
    for (size_t i = 0; i < e->n; i++)
        buf_printf(b, e->word[i] < 0 ? "%snull" : "%s%d", i ? "," : "", e->word[i]);
    buf_puts(b, "],\"special_tokens_mask\":[");
    for (size_t i = 0; i < e->n; i++) buf_printf(b, i ? ",%d" : "%d", e->special[i]);
    buf_puts(b, e->n_overflow ? "],\"overflow\":[" : "]");
    for (size_t i = 0; i < e->n_overflow; i++) {
        if (i) buf_char(b, ',');
        put_encoding(b, &e->overflow[i]);
    }
    buf_puts(b, e->n_overflow ? "]}" : "}");
}

static bool put_line(Work *j, Err *err)
{
    buf_char(&j->out, '\n');
    arena_reset(&j->arena, 1 << 20);
    return j->out.n < FLUSH_AT || out_buf(&j->out, err);
}

/* ---- one text, one list of words, one list of ids ---- */
static bool encode(Work *j, Str first, const Str *second, Err *err)
{
    Encoding e;
    if (!utf8_valid(first)) return fail(err, EF_INVALID_INPUT, "text is not valid UTF-8");
    if (!tokenizer_encode(j->tokenizer, &j->arena, first, second, &j->encode, &e, err))
        return false;
    if (j->chars) encoding_to_chars(&e, first, second);
    put_encoding(&j->out, &e);
    return put_line(j, err);
}

static bool encode_words(Work *j, Words first, const Words *second, Err *err)
{
    Encoding e;
    if (!tokenizer_encode_words(j->tokenizer, &j->arena, first, second, &j->encode, &e, err))
        return false;
    if (j->chars) encoding_to_chars_words(&e, first, second);
    put_encoding(&j->out, &e);
    return put_line(j, err);
}

static bool decode(Work *j, const int32_t *ids, size_t n, Err *err)
{
    Str text;
    if (!tokenizer_decode(j->tokenizer, ids, n, j->skip_special, &j->arena, &text, err))
        return false;
    buf_puts(&j->out, "{\"text\":");
    json_write_string(&j->out, text);
    buf_char(&j->out, '}');
    return put_line(j, err);
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

static bool words_line(Work *j, const Value *v, Err *err)
{
    const Value *first = v, *second = NULL;
    if (j->pair && is_list(v, 2, V_LIST)) first = &v->list.items[0], second = &v->list.items[1];
    if (!is_list(first, 0, V_STR) || (second && !is_list(second, 0, V_STR)) || (j->pair && !second))
        return fail(err, EF_INVALID_INPUT, "found %s, wanted %s", value_kind_name(v->kind),
                    j->pair ? "two lists of words" : "a list of words");
    Words a = words_of(&j->arena, first), b = { 0 };
    if (second) b = words_of(&j->arena, second);
    return encode_words(j, a, second ? &b : NULL, err);
}

static bool decode_line(Work *j, const Value *v, Err *err)
{
    if (!is_list(v, 0, V_INT))
        return fail(err, EF_INVALID_INPUT, "found %s, wanted a list of token ids",
                    value_kind_name(v->kind));
    int32_t *ids = ARRAY(&j->arena, int32_t, v->list.n);
    for (size_t i = 0; i < v->list.n; i++)
        ids[i] = (int32_t)MIN(MAX(v->list.items[i].i, -1), INT32_MAX);
    return decode(j, ids, v->list.n, err);
}

static bool encode_line(Work *j, Str line, Err *err)
{
    Value v;
    if (!json_parse(&j->arena, line, &v, err)) return false;
    if (j->decode) return decode_line(j, &v, err);
    if (j->words) return words_line(j, &v, err);
    if (v.kind == V_STR && !j->pair) return encode(j, v.s, NULL, err);
    if (is_list(&v, 2, V_STR)) return encode(j, v.list.items[0].s, &v.list.items[1].s, err);
    return fail(err, EF_INVALID_INPUT, "found %s, wanted %s", value_kind_name(v.kind),
                j->pair ? "a list of two" : "a JSON string or a list of two");
}

/* Every whole line of the buffer; what follows the last newline stays. */
static bool encode_lines(Work *j, Buf *in, bool last, size_t *number, Err *err)
{
    size_t from = 0;
    while (from < in->n) {
        const char *end = memchr(in->p + from, '\n', in->n - from);
        if (!end && !last) break;
        size_t to = end ? (size_t)(end - in->p) : in->n;
        ++*number;
        if (to > from && !encode_line(j, (Str){ in->p + from, to - from }, err))
            return within(err, "line %zu", *number);
        from = MIN(to + 1, in->n);
    }
    buf_drop(in, from);
    return true;
}

static bool read_lines(Work *j, Buf *in, Err *err)
{
    size_t number = 0;
    for (;;) {
        buf_reserve(in, FLUSH_AT);
        ssize_t n = read(0, in->p + in->n, FLUSH_AT);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return fail(err, EF_IO, "stdin: %s", strerror(errno));
        in->n += (size_t)n;
        if (!encode_lines(j, in, n == 0, &number, err)) return false;
        if (in->n > LINE_LIMIT)
            return fail(err, EF_TOO_LARGE, "line %zu: over %d bytes", number + 1, LINE_LIMIT);
        if (n == 0) return true;
    }
}

/* ---- arguments ---- */
static bool decode_args(Args *a, Work *j, Err *err)
{
    int32_t *ids = ARRAY(&a->arena, int32_t, a->n_text);
    for (int i = 0; i < a->n_text; i++) {
        int64_t id;
        if (!str_int(str_of(a->text[i]), &id) || id < 0 || id > INT32_MAX)
            return fail(err, EF_USAGE, "--decode: found \"%s\", wanted a token id", a->text[i]);
        ids[i] = (int32_t)id;
    }
    return decode(j, ids, (size_t)a->n_text, err);
}

static bool encode_args(Args *a, Work *j, Err *err)
{
    Str *texts = ARRAY(&a->arena, Str, a->n_text);
    bool ok = true;
    for (int i = 0; i < a->n_text; i++) texts[i] = str_of(a->text[i]);
    if (j->decode) return decode_args(a, j, err);
    if (j->words) return encode_words(j, (Words){ texts, (size_t)a->n_text }, NULL, err);
    for (int i = 0; i < a->n_text && ok; i += j->pair ? 2 : 1)
        ok = encode(j, texts[i], j->pair ? &texts[i + 1] : NULL, err);
    return ok;
}

static bool work(Args *a, Work *j, Err *err)
{
    Buf in = { 0 };
    bool ok = args_has(a, "jsonl") ? read_lines(j, &in, err) : encode_args(a, j, err);
    ok = ok && out_buf(&j->out, err);
    buf_free(&in);
    buf_free(&j->out);
    arena_free(&j->arena);
    return ok;
}

static bool load_tokenizer(Args *a, Model **model, const Tokenizer **out, Err *err)
{
    const char *file = args_value(a, "tokenizer");
    Tokenizer *own;
    *model = NULL;
    if (!file) return args_model(a, model, err) && (*out = (*model)->tokenizer, true);
    if (args_has(a, "model"))
        return fail(err, EF_USAGE, "tokenize: found both --tokenizer and --model");
    return tokenizer_open(&a->arena, file, &own, err) && (*out = own, true);
}

static bool check_usage(const Args *a, const Work *j, Err *err)
{
    static const char *const not_with_decode[] = { "pair",    "words",      "no-special",
                                                   "offsets", "max-length", "stride" };
    if (a->n_text == 0 && !args_has(a, "jsonl"))
        return fail(err, EF_USAGE, "tokenize: wanted texts, or --jsonl to read them from stdin");
    if (a->n_text && args_has(a, "jsonl"))
        return fail(err, EF_USAGE, "tokenize: found texts and --jsonl, wanted one of them");
    for (size_t i = 0; i < COUNT(not_with_decode) && j->decode; i++)
        if (args_has(a, not_with_decode[i]))
            return fail(err, EF_USAGE, "tokenize: --decode does not go with --%s",
                        not_with_decode[i]);
    if (j->skip_special && !j->decode)
        return fail(err, EF_USAGE, "tokenize: --skip-special goes with --decode");
    if (args_has(a, "stride") && !args_has(a, "max-length"))
        return fail(err, EF_USAGE, "tokenize: --stride wants --max-length");
    if (j->pair && j->words && !args_has(a, "jsonl"))
        return fail(err, EF_USAGE, "tokenize: --pair with --words wants --jsonl");
    if (j->pair && a->n_text % 2)
        return fail(err, EF_USAGE, "tokenize: --pair: found %d texts, wanted an even number",
                    a->n_text);
    return true;
}

/* 0 to most, unlike args_count. */
static bool read_stride(const Args *a, EncodeOptions *o, Err *err)
{
    const char *text = args_value(a, "stride");
    int64_t n;
    if (!text) return true;
    if (!str_int(str_of(text), &n) || n < 0 || n >= o->max_length)
        return fail(err, EF_USAGE, "--stride: found \"%s\", wanted a number below %d", text,
                    o->max_length);
    o->stride = (int)n;
    o->overflow = true;
    return true;
}

static bool run(Args *a, Err *err)
{
    Work j = { .pair = args_has(a, "pair"),
               .words = args_has(a, "words"),
               .decode = args_has(a, "decode"),
               .skip_special = args_has(a, "skip-special") };
    Model *model;
    int64_t most;
    if (!check_usage(a, &j, err) || !args_chars(a, &j.chars, err) ||
        !args_count(a, "max-length", 0, 1 << 30, &most, err))
        return false;
    if (!load_tokenizer(a, &model, &j.tokenizer, err)) return false;
    if (model) j.encode = model->encode;
    j.encode.max_length = (int)most;
    j.encode.tokens = true;
    j.encode.stride = 0;
    if (args_has(a, "no-special")) j.encode.no_special = true;
    bool ok = read_stride(a, &j.encode, err) && work(a, &j, err);
    model_close(model);
    return ok;
}

const Command cmd_tokenize = {
    .name = "tokenize",
    .summary = "print the token ids and offsets of texts, or the text of token ids",
    .options = options,
    .run = run,
    .usage = "[--tokenizer FILE | --model PATH] [--jsonl | TEXT...]",
    .example =
        "  encoderfile tokenize --tokenizer ner-model/tokenizer.json \"Hello world\"\n"
        "  encoderfile tokenize -t ner-model --decode 101 7592 2088 102\n"
        "  printf '\"a line\"\\n\"another\"\\n' | encoderfile tokenize -m ner-model --jsonl\n",
};
