/* SPDX-License-Identifier: Apache-2.0
 * cmd_tokenize.c - texts to token ids, one JSON object a line: to look at a tokenizer, and to
 * compare it with the reference over any number of lines (--jsonl reads stdin: a JSON string a
 * line, or a list of two for a pair). Nothing is cut off unless --max-length says so. */
#include <errno.h>
#include <unistd.h>

#include "cli/cli.h"
#include "data/json.h"

enum { FLUSH_AT = 1 << 16, LINE_LIMIT = 1 << 28 };

static const Option options[] = {
    { "tokenizer", 't', "FILE", "a tokenizer.json" },
    OPTION_MODEL,
    OPTION_TYPE,
    { "jsonl", 0, NULL, "read JSON strings from stdin, one a line" },
    { "offsets", 0, "UNIT", "bytes (default) or chars" },
    { "max-length", 0, "N", "cut off what goes beyond N tokens" },
    { 0 },
};

typedef struct Work {
    const Tokenizer *tokenizer;
    EncodeOptions encode;
    bool chars;
    Arena arena; /* of one line */
    Buf out;
} Work;

static void put_ints(Buf *b, const char *key, const int32_t *values, size_t n)
{
    buf_printf(b, "\"%s\":[", key);
    for (size_t i = 0; i < n; i++) buf_printf(b, i ? ",%d" : "%d", values[i]);
    buf_puts(b, "],");
}

static void put_encoding(Work *j, const Encoding *e)
{
    Buf *b = &j->out;
    buf_char(b, '{');
    put_ints(b, "ids", e->ids, e->n);
    buf_puts(b, "\"tokens\":[");
    for (size_t i = 0; i < e->n; i++) {
        if (i) buf_char(b, ',');
        json_write_string(b, tokenizer_token(j->tokenizer, e->ids[i]));
    }
    buf_puts(b, "],\"offsets\":[");
    for (size_t i = 0; i < e->n; i++)
        buf_printf(b, "%s[%d,%d]", i ? "," : "", e->start[i], e->end[i]);
    buf_puts(b, "],");
    put_ints(b, "type_ids", e->type_ids, e->n);
    buf_puts(b, "\"special_tokens_mask\":[");
    for (size_t i = 0; i < e->n; i++) buf_printf(b, i ? ",%d" : "%d", e->special[i]);
    buf_puts(b, "]}\n");
}

static bool encode(Work *j, Str first, const Str *second, Err *err)
{
    Encoding e;
    if (!utf8_valid(first)) return fail(err, EF_INVALID_INPUT, "text is not valid UTF-8");
    if (!tokenizer_encode(j->tokenizer, &j->arena, first, second, &j->encode, &e, err))
        return false;
    if (j->chars) encoding_to_chars(&e, first, second);
    put_encoding(j, &e);
    arena_reset(&j->arena, 1 << 20);
    return j->out.n < FLUSH_AT || out_buf(&j->out, err);
}

static bool encode_line(Work *j, Str line, Err *err)
{
    Value v;
    if (!json_parse(&j->arena, line, &v, err)) return false;
    if (v.kind == V_STR) return encode(j, v.s, NULL, err);
    bool pair = v.kind == V_LIST && v.list.n == 2 && v.list.items[0].kind == V_STR &&
                v.list.items[1].kind == V_STR;
    if (pair) return encode(j, v.list.items[0].s, &v.list.items[1].s, err);
    return fail(err, EF_INVALID_INPUT, "found %s, wanted a JSON string or a list of two",
                value_kind_name(v.kind));
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

static bool encode_all(Args *a, Work *j, Err *err)
{
    Buf in = { 0 };
    bool ok = true;
    if (args_has(a, "jsonl")) ok = read_lines(j, &in, err);
    else
        for (int i = 0; i < a->n_text && ok; i++) ok = encode(j, str_of(a->text[i]), NULL, err);
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
    Str text;
    *model = NULL;
    if (!file) return args_model(a, model, err) && (*out = (*model)->tokenizer, true);
    if (!file_read(&a->arena, file, LINE_LIMIT, &text, err)) return false;
    if (!tokenizer_load(&a->arena, text, &own, err)) return within(err, "%s", file);
    return *out = own, true;
}

static bool run(Args *a, Err *err)
{
    Work j = { 0 };
    Model *model;
    int64_t most;
    if (a->n_text == 0 && !args_has(a, "jsonl"))
        return fail(err, EF_USAGE, "tokenize: wanted texts, or --jsonl to read them from stdin");
    if (!args_chars(a, &j.chars, err) || !args_count(a, "max-length", 0, 1 << 30, &most, err))
        return false;
    if (!load_tokenizer(a, &model, &j.tokenizer, err)) return false;
    if (model) j.encode = model->encode;
    j.encode.max_length = (int)most;
    bool ok = encode_all(a, &j, err);
    model_close(model);
    return ok;
}

const Command cmd_tokenize = {
    .name = "tokenize",
    .summary = "print the token ids and offsets of texts",
    .options = options,
    .run = run,
    .usage = "[--tokenizer FILE | --model PATH] [--jsonl | TEXT...]",
    .example =
        "  encoderfile tokenize --tokenizer ner-model/tokenizer.json \"Hello world\"\n"
        "  printf '\"a line\"\\n\"another\"\\n' | encoderfile tokenize -m ner-model --jsonl\n",
};
