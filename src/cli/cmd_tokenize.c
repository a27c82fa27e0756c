/* SPDX-License-Identifier: Apache-2.0
 * cmd_tokenize.c - texts to token ids and back, one JSON object a line: to look at a tokenizer, to
 * feed other programs, and to compare it with the reference over any number of lines. Nothing is
 * cut off unless --max-length says so. */
#include "cli/tokenizing.h"

static const Option options[] = {
    { "tokenizer", 't', "FILE",
      "a tokenizer.json, vocab.txt, vocab.json, .model, a folder or a package", TAKES_PATH,
      .against = "model" },
    OPTION_MODEL,
    OPTIONS_TASK(OPTION_NO_FIELD),
    { "pair", 0, NULL, "texts are pairs: each two arguments; in a line a list of two, or a tab" },
    { "words", 0, NULL, "the arguments (in a line: a list, or spaces) are the words of a text" },
    OPTION_OFFSETS(),
    { "max-length", 0, "N", "cut off what goes beyond N tokens, special ones included", TAKES_COUNT,
      .least = 1, .most = 1 << 30 },
    { "stride", 0, "N", "show what was cut off too, in windows that share N tokens", TAKES_COUNT,
      .most = 1 << 30 },
    { "no-special", 0, NULL, "add no special tokens" },
    { "decode", 0, NULL, "ids to text: arguments, or a list of numbers a line" },
    { "skip-special", 0, NULL, "with --decode: leave special tokens out" },
    { "jsonl", 0, NULL, "read stdin: a JSON string a line, or a list (--pair, --words, --decode)" },
    { "threads", 0, "N", "for stdin; default: the CPUs this process may use", TAKES_COUNT,
      .least = 1, .most = 4096 },
    { "json", 0, NULL, "one JSON object a line: what it does anyway" },
    { 0 },
};

/* ---- arguments ---- */
static bool decode_args(Args *a, const Tokenizing *t, Buf *out, Err *err)
{
    int32_t *ids = ARRAY(&a->arena, int32_t, a->n_text);
    for (int i = 0; i < a->n_text; i++) {
        int64_t id;
        if (!str_int(str_of(a->text[i]), &id) || id < 0 || id > INT32_MAX)
            return fail(err, EF_USAGE, "--decode: found \"%s\", wanted a token id", a->text[i]);
        ids[i] = (int32_t)id;
    }
    return tokenize_ids(t, &a->arena, ids, (size_t)a->n_text, out, err);
}

static bool encode_args(Args *a, const Tokenizing *t, Buf *out, Err *err)
{
    Str *texts = ARRAY(&a->arena, Str, a->n_text);
    bool ok = true;
    for (int i = 0; i < a->n_text; i++) texts[i] = str_of(a->text[i]);
    if (t->decode) return decode_args(a, t, out, err);
    if (t->words)
        return tokenize_words(t, &a->arena, (Words){ texts, (size_t)a->n_text }, NULL, out, err);
    for (int i = 0; i < a->n_text && ok; i += t->pair ? 2 : 1)
        ok = tokenize_text(t, &a->arena, texts[i], t->pair ? &texts[i + 1] : NULL, out, err);
    return ok;
}

static bool from_stdin(const Args *a)
{
    return args_has(a, "jsonl") || (a->n_text == 1 && strcmp(a->text[0], "-") == 0);
}

static bool tokenize_work(Args *a, const Tokenizing *t, Err *err)
{
    Buf out = { 0 };
    if (from_stdin(a)) return tokenize_stream(t, (int)args_int(a, "threads"), err);
    bool ok = encode_args(a, t, &out, err) && out_buf(&out, err);
    buf_free(&out);
    return ok;
}

/* ---- settings ---- */
static bool load_tokenizer(Args *a, Model **model, const Tokenizer **out, Err *err)
{
    const char *file = args_value(a, "tokenizer");
    Tokenizer *own;
    *model = NULL;
    if (file && !package_is(file))
        return tokenizer_open(&a->arena, file, &own, err) && (*out = own, true);
    bool ok = file ? model_open(file, model, err) : args_model(a, model, err);
    if (ok) *out = (*model)->tokenizer;
    if (ok && !model_reads_texts(*model, err)) ok = false, model_close(*model), *model = NULL;
    return ok;
}

static bool check_inputs(const Args *a, const Tokenizing *t, Err *err)
{
    if (a->n_text == 0 && !from_stdin(a))
        return fail(err, EF_USAGE, "tokenize: wanted texts, or - or --jsonl to read stdin");
    if (args_has(a, "threads") && !from_stdin(a))
        return fail(err, EF_USAGE, "tokenize: --threads has no effect on a few texts: wanted - or "
                    "--jsonl beside it");
    if (args_has(a, "tokenizer") && args_open(a).task.n)
        return fail(err, EF_USAGE, "tokenize: found a task beside --tokenizer, which has none");
    if (a->n_text && args_has(a, "jsonl"))
        return fail(err, EF_USAGE, "tokenize: found texts and --jsonl, wanted one of them");
    if (t->pair && t->words && !from_stdin(a))
        return fail(err, EF_USAGE, "tokenize: --pair with --words wants --jsonl or -");
    if (t->pair && !from_stdin(a) && a->n_text % 2)
        return fail(err, EF_USAGE, "tokenize: --pair: found %d texts, wanted an even number",
                    a->n_text);
    return true;
}

static bool check_usage(const Args *a, const Tokenizing *t, Err *err)
{
    static const char *const not_with_decode[] = { "pair",    "words",      "no-special",
                                                   "offsets", "max-length", "stride" };
    for (size_t i = 0; i < COUNT(not_with_decode) && t->decode; i++)
        if (args_has(a, not_with_decode[i]))
            return fail(err, EF_USAGE, "tokenize: --decode does not go with --%s",
                        not_with_decode[i]);
    if (t->skip_special && !t->decode)
        return fail(err, EF_USAGE, "tokenize: --skip-special goes with --decode");
    if (args_has(a, "stride") && !args_has(a, "max-length"))
        return fail(err, EF_USAGE, "tokenize: --stride wants --max-length");
    return check_inputs(a, t, err);
}

static bool read_stride(const Args *a, EncodeOptions *o, Err *err)
{
    o->stride = (int)args_int(a, "stride");
    o->overflow = args_has(a, "stride");
    if (o->stride && o->stride >= o->max_length)
        return fail(err, EF_USAGE, "--stride: found \"%d\", wanted a number below %d", o->stride,
                    o->max_length);
    return true;
}

static bool tokenize_run(Args *a, Err *err)
{
    Tokenizing t = { .pair = args_has(a, "pair"),
                     .words = args_has(a, "words"),
                     .decode = args_has(a, "decode"),
                     .skip_special = args_has(a, "skip-special"),
                     .json = args_has(a, "jsonl") };
    Model *model;
    t.chars = args_int(a, "offsets");
    if (!check_usage(a, &t, err)) return false;
    if (!load_tokenizer(a, &model, &t.tokenizer, err)) return false;
    if (model) t.encode = model->encode;
    t.encode.max_length = (int)args_int(a, "max-length");
    t.encode.tokens = true;
    t.encode.no_special = args_has(a, "no-special");
    bool ok = read_stride(a, &t.encode, err) && tokenize_work(a, &t, err);
    model_close(model);
    return ok;
}

const Command cmd_tokenize = {
    .name = "tokenize",
    .summary = "print the token ids and offsets of texts, or the text of token ids",
    .options = options,
    .run = tokenize_run,
    .model_first = true,
    .usage = "[--tokenizer FILE | MODEL] [TEXT... | - | --jsonl]",
    .example =
        "  encoderfile tokenize -t ner-model/tokenizer.json \"Hello world\"\n"
        "  encoderfile tokenize -t ner-model --pair --offsets chars \"a question\" \"a passage\"\n"
        "  encoderfile tokenize -t ner-model --max-length 128 --stride 32 \"a long text\"\n"
        "  encoderfile tokenize -t ner-model --decode 101 7592 2088 102\n"
        "  encoderfile tokenize -t ner-model - <lines.txt >tokens.jsonl\n"
        "  printf '[\"two\",\"words\"]\\n' | ./ner.encoderfile tokenize --jsonl --words\n",
};
