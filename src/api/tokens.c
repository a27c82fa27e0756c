/* SPDX-License-Identifier: Apache-2.0
 * tokens.c - the tokenizer half of encoderfile.h. The tokens of an input live in an arena of their
 * own, its overflow windows in the same one. */
#include "api/tokens.h"

#include "api/guard_call.h"
#include "api/sized.h"
#include "base/heap.h"
#include "base/log.h"
#include "base/thread.h"
#include "data/json.h"
#include "hub/hub.h"
#include "model/model.h"

struct ef_tokens {
    Arena arena;       /* of the input; a window has none */
    Encoding encoding;
    int32_t *offsets;  /* [n][2] */
    Str *text;         /* [n] */
    ef_tokens *window; /* [encoding.n_overflow] */
};

enum { SHARE = 16 };   /* inputs that a worker takes at a time */

/* ---- opening ---- */
typedef struct TokenizerCall {
    ef_tokenizer *tokenizer;
    const char *path;
    bool ok;
    Err err;
} TokenizerCall;

/* A file beside the vocabulary that cannot be read says nothing. */
static const Value *tokens_side_file(Arena *arena, const char *path)
{
    enum { MOST = 64 << 20 };
    Err ignored;
    Str text;
    Value *v = NEW(arena, Value);
    return path && file_read(arena, path, MOST, &text, &ignored) && json_parse(arena, text, v, &ignored) ? v : NULL;
}

/* Of config.json in a folder; empty: it does not say. */
static Str tokens_model_type(Arena *arena, const char *folder)
{
    const Value *model = dir_is(folder) ? tokens_side_file(arena, path_join(arena, folder, STR("config.json"))) : NULL;
    return value_str(value_get(model, "model_type"), STR(""));
}

static const Value *settings_at(Arena *arena, const char *path)
{
    TokenizerFiles files = tokenizer_files_at(arena, path);
    Arena scratch = { .local = true };
    Value *settings = NEW(arena, Value);
    *settings = tokenizer_settings(arena, tokens_side_file(&scratch, files.config),
                                   tokens_side_file(&scratch, files.specials), tokens_model_type(&scratch, path));
    arena_free(&scratch);
    return settings;
}

static bool open_tokenizer(ef_tokenizer *t, const char *path, Err *err)
{
    Tokenizer *own;
    if (path && !hub_path(&t->arena, path, HUB_TOKENIZER, &path, err)) return false;
    if (path && package_is(path)) {
        if (!model_open(path, &t->model, err)) return false;
        t->tokenizer = t->model->tokenizer;
        t->settings = t->model->tokenizer_settings;
        return model_reads_texts(t->model, err) || within(err, "%s", path);
    }
    if (!path) return fail(err, EF_INVALID_INPUT, "found no path of a tokenizer");
    if (!tokenizer_open(&t->arena, path, &own, err)) return false;
    t->tokenizer = own;
    t->settings = settings_at(&t->arena, path);
    return true;
}

static void open_tokenizer_body(void *call)
{
    TokenizerCall *c = call;
    Arena arena = { 0 };
    c->tokenizer = NEW(&arena, ef_tokenizer);
    c->tokenizer->arena = arena;
    c->ok = open_tokenizer(c->tokenizer, c->path, &c->err);
}

ef_tokenizer *ef_tokenizer_open(const char *path, ef_error *err)
{
    TokenizerCall c = { .path = path };
    guard_call(open_tokenizer_body, &c, &c.err);
    if (c.ok) return c.tokenizer;
    ef_tokenizer_close(c.tokenizer);
    fail(err, c.err.code, "%s", c.err.message);
    return NULL;
}

void ef_tokenizer_close(ef_tokenizer *t)
{
    if (!t) return;
    token_texts_free(t->texts);
    model_close(t->model);
    Arena arena = t->arena;
    arena_free(&arena);
}

size_t ef_token_count(const ef_tokenizer *t)
{
    return tokenizer_size(t->tokenizer);
}

int32_t ef_token_id(const ef_tokenizer *t, const char *token)
{
    return tokenizer_id(t->tokenizer, str_of(token));
}

/* ---- what tokens are called: one table for all of them, made when the first is asked for ---- */
typedef struct TokenTexts {
    Arena arena;
    Str *text; /* [n] */
    size_t n;
} TokenTexts;

typedef struct TextsCall {
    const Tokenizer *tokenizer;
    TokenTexts *texts;
    Err err;
} TextsCall;

static void texts_body(void *call)
{
    TextsCall *c = call;
    Arena arena = { 0 };
    c->texts = NEW(&arena, TokenTexts);
    c->texts->arena = arena;
    c->texts->n = tokenizer_size(c->tokenizer);
    c->texts->text = ARRAY(&c->texts->arena, Str, c->texts->n + 1);
    for (size_t i = 0; i < c->texts->n; i++) {
        Str token = tokenizer_content(c->tokenizer, (int32_t)i);
        if (token.p) c->texts->text[i] = (Str){ str_dup(&c->texts->arena, token), token.n };
    }
}

void token_texts_free(TokenTexts *texts)
{
    if (!texts) return;
    Arena arena = texts->arena;
    arena_free(&arena);
}

/* Two threads may make it: the first one's stays. No lock, which a child of fork could find taken. */
static const TokenTexts *texts_of(ef_tokenizer *t)
{
    TokenTexts *there = __atomic_load_n(&t->texts, __ATOMIC_ACQUIRE);
    if (there) return there;
    TextsCall c = { .tokenizer = t->tokenizer };
    if (!guard_call(texts_body, &c, &c.err)) return token_texts_free(c.texts), NULL;
    if (__atomic_compare_exchange_n(&t->texts, &there, c.texts, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
        return c.texts;
    token_texts_free(c.texts);
    return there;
}

static Str token_text(const ef_tokenizer *t, int32_t id)
{
    const TokenTexts *texts = texts_of((ef_tokenizer *)t); /* its table only */
    return texts && id >= 0 && (size_t)id < texts->n ? texts->text[id] : (Str){ 0 };
}

const char *ef_token_text(const ef_tokenizer *t, int32_t id)
{
    return token_text(t, id).p;
}

size_t ef_token_size(const ef_tokenizer *t, int32_t id)
{
    return token_text(t, id).n;
}

/* ---- its settings ---- */
typedef struct DescribeCall {
    const ef_tokenizer *t;
    Arena arena;
    char *text;
    Err err;
} DescribeCall;

static void describe_tokenizer_body(void *call)
{
    DescribeCall *c = call;
    Buf text = { .arena = &c->arena };
    Value v = tokenizer_describe(&c->arena, c->t->tokenizer, c->t->settings);
    json_write_pretty(&text, &v);
    c->text = string_new(buf_view(&text), &c->err);
}

char *ef_tokenizer_describe(const ef_tokenizer *t, ef_error *err)
{
    DescribeCall c = { .t = t };
    guard_call(describe_tokenizer_body, &c, &c.err);
    arena_free(&c.arena);
    if (!c.text) fail(err, c.err.code, "%s", c.err.message);
    return c.text;
}

/* ---- encoding ---- */
typedef struct TokenInputs {
    const Tokenizer *tokenizer;
    InputList in;
    size_t count;
    ef_encode_options given;
    EncodeOptions options;
    bool chars;
    Pool *pool;
    ef_tokens **out;
    Err *errors; /* [count] */
    Err *err;    /* of all */
    Progress progress;
    bool stop;   /* the caller ended it */
} TokenInputs;

/* On the thread that called: its function of ef_set_progress is asked. False: it ended the call. */
static bool encode_goes_on(TokenInputs *b, size_t done)
{
    if (progress_at(&b->progress, done, b->err)) return true;
    __atomic_store_n(&b->stop, true, __ATOMIC_RELAXED);
    return false;
}

static bool words_of(Arena *arena, const void *list, size_t n, Words *out, Err *err)
{
    const ef_word *given = list;
    Str *items = ARRAY(arena, Str, n);
    for (size_t i = 0; i < n; i++) {
        if (!given[i].data && given[i].size) return fail(err, EF_INVALID_INPUT, "word %zu: found no text", i);
        if (!size_is_memory(given[i].size, err)) return within(err, "word %zu", i);
        items[i] = (Str){ given[i].data, given[i].size };
    }
    *out = (Words){ items, n };
    return true;
}

static bool encode_words(const TokenInputs *b, const ef_input *in, ef_tokens *t, Err *err)
{
    Words first, second;
    const Words *more = in->data2 ? &second : NULL;
    if (!words_of(&t->arena, in->data, in->size, &first, err) ||
        (more && !words_of(&t->arena, in->data2, in->size2, &second, err)) ||
        !tokenizer_encode_words(b->tokenizer, &t->arena, first, more, &b->options, &t->encoding, err))
        return false;
    if (b->chars) encoding_to_chars_words(&t->encoding, first, more);
    return true;
}

static bool encode_input(const TokenInputs *b, const ef_input *in, ef_tokens *t, Err *err)
{
    Str first = { in->data, in->size }, second = { in->data2, in->size2 };
    const Str *more = in->kind == EF_PAIR ? &second : NULL;
    if (in->kind > EF_WORDS)
        return fail(err, EF_UNSUPPORTED, "found %s, wanted a text, a pair of texts or words",
                    input_name(in->kind));
    if (!first.p || (more && !second.p)) return fail(err, EF_INVALID_INPUT, "found no text");
    if (in->kind == EF_WORDS) return encode_words(b, in, t, err);
    if (!tokenizer_encode(b->tokenizer, &t->arena, first, more, &b->options, &t->encoding, err))
        return false;
    if (b->chars) encoding_to_chars(&t->encoding, first, more);
    return true;
}

static void encode_share(void *batch, int share, int worker)
{
    TokenInputs *b = batch;
    for (size_t i = (size_t)share * SHARE; i < MIN(b->count, (size_t)(share + 1) * SHARE); i++) {
        if (__atomic_load_n(&b->stop, __ATOMIC_RELAXED) || (worker == 0 && !encode_goes_on(b, i))) return;
        Arena arena = { 0 };
        ef_input in;
        b->out[i] = NEW(&arena, ef_tokens);
        b->out[i]->arena = arena;
        if (!inputs_read(&b->in, i, &in, &b->errors[i])) continue;
        if (!encode_input(b, &in, b->out[i], &b->errors[i])) within(&b->errors[i], "input %zu", i);
    }
}

/* What a caller reads, from what the tokenizer wrote. */
static void present(const Tokenizer *tokenizer, Arena *arena, ef_tokens *t)
{
    const Encoding *e = &t->encoding;
    t->offsets = ARRAY(arena, int32_t, 2 * e->n + 1);
    t->text = ARRAY(arena, Str, e->n + 1);
    for (size_t i = 0; i < e->n; i++) {
        t->offsets[2 * i] = e->start[i];
        t->offsets[2 * i + 1] = e->end[i];
        Str name = e->tokens ? e->tokens[i] : tokenizer_token(tokenizer, e->ids[i]);
        t->text[i] = (Str){ str_dup(arena, name), name.n };
    }
    t->window = ARRAY(arena, ef_tokens, e->n_overflow);
    for (size_t i = 0; i < e->n_overflow; i++) {
        t->window[i].encoding = e->overflow[i];
        present(tokenizer, arena, &t->window[i]);
    }
}

/* To one length over all of the batch: the longest has to be known first. */
static bool pad_all(const TokenInputs *b, const ef_encode_options *o, Err *err)
{
    PadOptions pad = { .id = o->pad_id, .left = o->pad_left,
                       .token = tokenizer_token(b->tokenizer, o->pad_id),
                       .length = (size_t)o->pad_length,
                       .multiple = (size_t)o->pad_multiple };
    for (size_t i = 0; i < b->count && !o->pad_length; i++)
        pad.length = MAX(pad.length, b->out[i]->encoding.n);
    for (size_t i = 0; i < b->count; i++)
        if (!encodings_pad(&b->out[i]->arena, &b->out[i]->encoding, 1, &pad, err)) return false;
    return true;
}

static bool check_counts(const ef_encode_options *o, Err *err)
{
    const struct Count { const char *name; int value; } counts[] = {
        { "max_length", o->max_length }, { "pad_length", o->pad_length },
        { "pad_multiple", o->pad_multiple }, { "threads", o->threads },
    };
    for (size_t i = 0; i < COUNT(counts); i++)
        if (counts[i].value < 0)
            return fail(err, EF_INVALID_INPUT, "%s: found %d, wanted 0 or more", counts[i].name, counts[i].value);
    return true;
}

static bool read_options(const ef_encode_options *o, const Tokenizer *t, TokenInputs *b, Err *err)
{
    if (!check_counts(o, err)) return false;
    if (o->stride < 0 || (o->stride && o->stride >= o->max_length))
        return fail(err, EF_INVALID_INPUT, "stride: found %d, wanted 0 or more, below max_length %d",
                    o->stride, o->max_length);
    if (o->cut < EF_CUT_LONGEST || o->cut > EF_CUT_SECOND)
        return fail(err, EF_INVALID_INPUT, "cut: found %d, wanted one of ef_cut", (int)o->cut);
    if (o->pad && (o->pad_id < 0 || (size_t)o->pad_id >= tokenizer_size(t)))
        return fail(err, EF_INVALID_INPUT, "pad_id: found %d, wanted one below %zu", o->pad_id,
                    tokenizer_size(t));
    b->chars = o->chars;
    b->options = (EncodeOptions){ .max_length = o->max_length,
                                  .strategy = (TruncateStrategy)o->cut,
                                  .truncate_left = o->cut_left,
                                  .no_special = o->no_special,
                                  .tokens = true,
                                  .overflow = o->overflow,
                                  .stride = o->stride };
    return true;
}

static bool first_error(const TokenInputs *b, Err *err)
{
    for (size_t i = 0; i < b->count; i++)
        if (b->errors[i].code != EF_OK)
            return fail(err, b->errors[i].code, "%s", b->errors[i].message);
    return true;
}

static void encode_body(void *inputs)
{
    TokenInputs *b = inputs;
    progress_start(&b->progress, "tokenizing", b->count);
    pool_for(b->pool, (int)((b->count + SHARE - 1) / SHARE), encode_share, b);
    if (!b->stop && first_error(b, b->err) && (!b->given.pad || pad_all(b, &b->given, b->err)))
        for (size_t i = 0; i < b->count && encode_goes_on(b, b->count); i++)
            present(b->tokenizer, &b->out[i]->arena, b->out[i]);
    progress_end(&b->progress);
}

static bool encode_all(TokenInputs *b, Err *err)
{
    size_t shares = (b->count + SHARE - 1) / SHARE;
    if (shares > INT32_MAX) return fail(err, EF_TOO_LARGE, "found %zu inputs", b->count);
    b->pool = shares > 1 && b->given.threads != 1 ? pool_new(MIN(b->given.threads, (int)shares)) : NULL;
    guard_call(encode_body, b, err);
    pool_free(b->pool);
    return err->code == EF_OK;
}

bool ef_encode(const ef_tokenizer *t, const ef_input *in, size_t count,
               const ef_encode_options *options, ef_tokens **out, ef_error *err)
{
    Arena arena = { 0 };
    Err own = { 0 };
    TokenInputs b = { .tokenizer = t->tokenizer, .count = count, .out = out, .err = &own };
    for (size_t i = 0; i < count; i++) out[i] = NULL;
    b.errors = arena_try(&arena, count + 1, sizeof *b.errors, SIZE_MAX / 2, &own);
    bool ok = b.errors &&
              sized_read(options, FIRST_ENCODE, &b.given, sizeof b.given, "ef_encode_options",
                         &own) &&
              inputs_open(&b.in, in, count, &own) && read_options(&b.given, t->tokenizer, &b, &own);
    for (size_t i = 0; ok && i < count; i++) b.errors[i].code = EF_OK;
    ok = ok && encode_all(&b, &own);
    for (size_t i = 0; !ok && i < count; i++) ef_tokens_free(out[i]), out[i] = NULL;
    arena_free(&arena);
    return ok || fail(err, own.code, "%s", own.message);
}

/* ---- reading ---- */
const int32_t *ef_tokens_ids(const ef_tokens *t, size_t *count)
{
    *count = t->encoding.n;
    return t->encoding.ids;
}

const int32_t *ef_tokens_offsets(const ef_tokens *t)
{
    return t->offsets;
}

const int32_t *ef_tokens_type_ids(const ef_tokens *t)
{
    return t->encoding.type_ids;
}

const int32_t *ef_tokens_word_ids(const ef_tokens *t)
{
    return t->encoding.word;
}

const uint8_t *ef_tokens_special(const ef_tokens *t)
{
    return t->encoding.special;
}

const uint8_t *ef_tokens_sequences(const ef_tokens *t)
{
    return t->encoding.sequence;
}

const uint8_t *ef_tokens_attention(const ef_tokens *t)
{
    return t->encoding.attention;
}

const char *ef_tokens_text(const ef_tokens *t, size_t index)
{
    return index < t->encoding.n ? t->text[index].p : NULL;
}

size_t ef_tokens_size(const ef_tokens *t, size_t index)
{
    return index < t->encoding.n ? t->text[index].n : 0;
}

const ef_tokens *ef_tokens_overflow(const ef_tokens *t, size_t index)
{
    return index < t->encoding.n_overflow ? &t->window[index] : NULL;
}

void ef_tokens_free(ef_tokens *t)
{
    if (!t) return;
    Arena arena = t->arena;
    arena_free(&arena);
}

/* ---- decoding ---- */
typedef struct DecodeCall {
    const ef_tokenizer *t;
    const int32_t *ids;
    size_t count;
    bool skip_special;
    Arena arena;
    Err err;
    char *out;
} DecodeCall;

static bool ids_fit(const DecodeCall *c, Err *err)
{
    size_t most = tokenizer_size(c->t->tokenizer);
    if (c->count && !c->ids) return fail(err, EF_INVALID_INPUT, "found no ids, wanted %zu", c->count);
    for (size_t i = 0; i < c->count; i++)
        if (c->ids[i] < 0 || (size_t)c->ids[i] >= most)
            return fail(err, EF_INVALID_INPUT, "id %zu: found %d, wanted one below %zu", i,
                        c->ids[i], most);
    return true;
}

static void decode_body(void *call)
{
    DecodeCall *c = call;
    Str text;
    if (!ids_fit(c, &c->err) || !tokenizer_decode(c->t->tokenizer, c->ids, c->count,
                                                  c->skip_special, &c->arena, &text, &c->err))
        return;
    c->out = string_new(text, &c->err);
}

char *ef_decode(const ef_tokenizer *t, const int32_t *ids, size_t count, bool skip_special,
                ef_error *err)
{
    DecodeCall c = { .t = t, .ids = ids, .count = count, .skip_special = skip_special };
    guard_call(decode_body, &c, &c.err);
    arena_free(&c.arena);
    if (!c.out) fail(err, c.err.code, "%s", c.err.message);
    return c.out;
}

typedef struct JoinCall {
    const ef_tokenizer *t;
    const ef_word *tokens;
    size_t count;
    Arena arena;
    Err err;
    char *out;
} JoinCall;

static bool join_words(JoinCall *c, Str *out, Err *err)
{
    if (c->count && !c->tokens) return fail(err, EF_INVALID_INPUT, "found no tokens, wanted %zu", c->count);
    for (size_t i = 0; i < c->count; i++) {
        out[i] = (Str){ c->tokens[i].data, c->tokens[i].data ? c->tokens[i].size : 0 };
        if (!utf8_valid(out[i])) return fail(err, EF_INVALID_INPUT, "token %zu: not valid UTF-8", i);
    }
    return true;
}

static void join_body(void *call)
{
    JoinCall *c = call;
    Str *words = ARRAY(&c->arena, Str, c->count);
    if (!join_words(c, words, &c->err)) return;
    c->out = string_new(tokenizer_join(c->t->tokenizer, words, c->count, &c->arena), &c->err);
}

char *ef_join(const ef_tokenizer *t, const ef_word *tokens, size_t count, ef_error *err)
{
    JoinCall c = { .t = t, .tokens = tokens, .count = count };
    guard_call(join_body, &c, &c.err);
    arena_free(&c.arena);
    if (!c.out) fail(err, c.err.code, "%s", c.err.message);
    return c.out;
}

typedef struct OwnedText { /* what ef_string_free is given points to text */
    size_t size;
    char text[];
} OwnedText;

char *string_new(Str text, Err *err)
{
    OwnedText *out = heap_resize(NULL, sizeof *out + text.n + 1);
    if (!out) return fail(err, EF_IO, "no memory for %zu bytes", text.n), NULL;
    out->size = text.n;
    if (text.n) memcpy(out->text, text.p, text.n);
    out->text[text.n] = 0;
    return out->text;
}

size_t ef_string_size(const char *text)
{
    return text ? ((const OwnedText *)(text - offsetof(OwnedText, text)))->size : 0;
}

void ef_string_free(char *text)
{
    if (text) heap_resize(text - offsetof(OwnedText, text), 0);
}
