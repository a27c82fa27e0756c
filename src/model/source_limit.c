/* SPDX-License-Identifier: Apache-2.0
 * source_limit.c - how many tokens a text may have and which are cut off. The first source
 * present wins: the caller's wish, YAML, then sentence-transformers' max_seq_length, then
 * tokenizer_config.json (the smallest of model_max_length, its old name max_len, and max_length),
 * then tokenizer.json's own truncation,
 * then 512 as the Rust encoderfile has it; and never more than the model's table has positions, nor (model.c)
 * than the sidecar of an export or the graph declares. */
#include "base/log.h"
#include "model/source.h"

enum { LIMIT_OTHERWISE = 512, LIMIT_MOST = 1 << 30 };

typedef struct LimitWord {
    const char *here, *peer; /* YAML and tokenizer_config.json; the Rust encoderfile's package */
    int value;
} LimitWord;
static const LimitWord strategies[] = {
    { "longest_first", "LongestFirst", TRUNCATE_LONGEST_FIRST },
    { "only_first", "OnlyFirst", TRUNCATE_ONLY_FIRST },
    { "only_second", "OnlySecond", TRUNCATE_ONLY_SECOND },
};
static const LimitWord sides[] = { { "right", "Right", false }, { "left", "Left", true } };

/* A word that may be absent or null. */
static bool read_word(const Value *map, const char *key, const LimitWord *words, size_t n, int *out,
                      Err *err)
{
    const Value *v = value_get(map, key);
    if (!v || v->kind == V_NULL) return true;
    Str s = value_str(v, (Str){ 0 });
    for (size_t i = 0; i < n; i++)
        if (str_is(s, words[i].here) || str_is(s, words[i].peer))
            return *out = words[i].value, true;
    if (v->kind != V_STR)
        return fail(err, EF_INVALID_INPUT, "%s: found %s, wanted a word", key,
                    value_kind_name(v->kind));
    return fail(err, EF_INVALID_INPUT, "%s: found \"%.*s\", wanted \"%s\" or \"%s\"", key,
                STR_ARG(s), words[0].here, words[1].here);
}

/* A count that may be absent or null (0 then); what is beyond counting (1e30: "no limit") is cut
 * off. */
static bool read_count(const Value *map, const char *key, int *out, Err *err)
{
    const Value *v = value_get(map, key);
    if (!v || v->kind == V_NULL) return *out = 0, true;
    if (v->kind != V_INT && v->kind != V_FLOAT)
        return fail(err, EF_INVALID_INPUT, "%s must be an int: found %s", key,
                    value_kind_name(v->kind));
    double n = value_float(v, 0);
    if (!(n >= 1))
        return fail(err, EF_INVALID_INPUT, "%s must be an int above 0: found %g", key, n);
    *out = n > LIMIT_MOST ? LIMIT_MOST : (int)n;
    return true;
}

static bool read_words(const Value *map, const char *side, const char *strategy, EncodeOptions *o,
                       Err *err)
{
    int left = o->truncate_left, how = (int)o->strategy;
    if (!read_word(map, side, sides, COUNT(sides), &left, err)) return false;
    if (!read_word(map, strategy, strategies, COUNT(strategies), &how, err)) return false;
    o->truncate_left = left;
    o->strategy = (TruncateStrategy)how;
    return true;
}

/* Model types whose positions begin behind the padding id: RoBERTa's table of 514 holds 512 tokens.
 * */
static bool positions_behind_padding(Str model_type)
{
    static const char *const types[] = {
        "roberta",  "xlm-roberta", "xlm-roberta-xl", "camembert",
        "mpnet",    "longformer",  "data2vec-text",  "roberta-prelayernorm",
        "ibert",    "luke",        "xmod",           "lilt",
        "markuplm", "esm"
    };
    for (size_t i = 0; i < COUNT(types); i++)
        if (str_is(model_type, types[i])) return true;
    return false;
}

/* Models that know positions from distances or angles: whatever max_position_embeddings says (to DeBERTa the longest
 * distance that it tells from longer ones), texts may be longer. */
static bool positions_without_table(const Value *json)
{
    static const struct Row { const char *type, *key, *value; } rows[] = {
        { "deberta", "position_biased_input", "false" }, { "deberta-v2", "position_biased_input", "false" },
        { "esm", "position_embedding_type", "rotary" },
        { "modernbert" }, { "eurobert" }, { "nomic_bert" }, { "gte" }, { "t5" }, { "mt5" }, { "umt5" },
    };
    Str type = value_str(value_get(json, "model_type"), STR(""));
    for (size_t i = 0; i < COUNT(rows); i++) {
        const Value *v = rows[i].key ? value_get(json, rows[i].key) : NULL;
        bool said = v && (v->kind == V_BOOL ? strcmp(rows[i].value, v->b ? "true" : "false") == 0
                                            : str_is(value_str(v, STR("")), rows[i].value));
        if (str_is(type, rows[i].type) && (!rows[i].key || said)) return true;
    }
    return false;
}

static int positions(const LimitSource *s)
{
    const ModelConfig *c = s->config;
    if (c->max_positions <= 0 || positions_without_table(s->json)) return LIMIT_MOST;
    int used = positions_behind_padding(c->model_type) ? c->pad_token_id + 1 : 0;
    return MAX(c->max_positions - used, 1);
}

/* The smallest limit of tokenizer_config.json; 0: it names none. */
static bool read_file_limit(const Value *file, int *out, Err *err)
{
    static const char *const keys[] = { "model_max_length", "max_len", "max_length" };
    *out = 0;
    for (size_t i = 0; i < COUNT(keys); i++) {
        int n;
        if (!read_count(file, keys[i], &n, err)) return within(err, "tokenizer_config.json");
        if (n && (!*out || n < *out)) *out = n;
    }
    return true;
}

/* The length that each call is given, else the one that the tokenizer is made with, else max_seq_length; 0: none. */
static bool read_sentence_limit(const Value *file, int *out, Err *err)
{
    const Value *call = value_get(file, "processing_kwargs");
    const struct { const Value *map; const char *key; } order[] = {
        { value_get(call, "common"), "max_length" },
        { value_get(call, "text"), "max_length" },
        { value_get(file, "processor_kwargs"), "model_max_length" },
        { value_get(file, "tokenizer_args"), "model_max_length" },
        { file, "max_seq_length" },
    };
    *out = 0;
    for (size_t i = 0; i < COUNT(order) && *out == 0; i++)
        if (!read_count(order[i].map, order[i].key, out, err)) return within(err, "sentence_bert_config.json");
    return true;
}

static bool read_limits(const LimitSource *s, EncodeOptions *o, int *yaml, Err *err)
{
    int file = 0, sentence = 0;
    EncodeOptions own = { 0 };
    if (!read_count(s->yaml, "max_length", yaml, err)) return within(err, "tokenizer");
    if (!read_sentence_limit(s->sentence, &sentence, err)) return false;
    if (!read_file_limit(s->file, &file, err)) return false;
    bool said = sentence || file;
    if (!said && s->tokenizer && tokenizer_truncation(s->tokenizer, &own)) *o = own;
    const struct { int limit; const char *from; } order[] = {
        { MIN(s->asked, LIMIT_MOST), "options" },
        { *yaml, "options" },
        { sentence, "sentence_bert_config.json" },
        { file, "tokenizer_config.json" },
        { own.max_length, "tokenizer.json" },
        { LIMIT_OTHERWISE, "default" },
    };
    size_t i = 0;
    while (order[i].limit == 0) i++;
    o->max_length = order[i].limit;
    if (s->from) *s->from = order[i].from;
    return true;
}

static int special_tokens(const Tokenizer *t)
{
    Arena scratch = { .local = true };
    Encoding e;
    Err ignored;
    int n = 0;
    if (tokenizer_encode(t, &scratch, STR(""), NULL, NULL, &e, &ignored))
        for (size_t i = 0; i < e.n; i++) n += e.special[i];
    arena_free(&scratch);
    return n;
}

/* The tokenizer ignores a limit below the number of special tokens. */
static bool room_for_specials(const Tokenizer *t, int limit, Err *err)
{
    int n = t && limit ? special_tokens(t) : 0;
    if (limit >= n) return true;
    return fail(err, EF_INVALID_INPUT,
                "max_length: found %d, wanted at least %d: a text gets that many special tokens",
                limit, n);
}

bool limit_from_source(const LimitSource *s, EncodeOptions *o, Err *err)
{
    int yaml = 0;
    *o = (EncodeOptions){ 0 };
    if (!read_limits(s, o, &yaml, err)) return false;
    if (!read_words(s->file, "truncation_side", "truncation_strategy", o, err))
        return within(err, "tokenizer_config.json");
    if (!read_words(s->yaml, "truncation_side", "truncation_strategy", o, err))
        return within(err, "tokenizer");
    int most = positions(s);
    if (yaml > most)
        log_warn("tokenizer.max_length %d is cut to the model's %d positions", yaml, most);
    if (s->from && most < o->max_length) *s->from = "config.json";
    o->max_length = MIN(o->max_length, most);
    if (o->max_length == LIMIT_MOST)
        o->max_length = 0; /* no limit: relative positions, and no file gives one */
    return room_for_specials(s->tokenizer, o->max_length, err);
}

bool limit_from_package(const Value *config, EncodeOptions *o, Err *err)
{
    const Value *t = value_get(config, "truncation");
    *o = (EncodeOptions){ 0 };
    if (!read_count(t, "max_length", &o->max_length, err) ||
        !read_words(t, "direction", "strategy", o, err))
        return within(err, "tokenizer.config.truncation");
    if (o->max_length == LIMIT_MOST) o->max_length = 0;
    return true;
}

bool limit_of_caller(EncodeOptions *o, int asked, const Tokenizer *t, Err *err)
{
    if (!asked || asked >= (o->max_length ? o->max_length : LIMIT_MOST)) return true;
    o->max_length = asked;
    return room_for_specials(t, asked, err);
}

Value limit_to_package(Arena *arena, const EncodeOptions *o)
{
    Value t = value_map(arena, 4);
    value_add(&t, "direction", value_of_str(str_of(sides[o->truncate_left].peer)));
    value_add(&t, "max_length", value_of_int(o->max_length ? o->max_length : LIMIT_MOST));
    value_add(&t, "strategy", value_of_str(str_of(strategies[o->strategy].peer)));
    value_add(&t, "stride", value_of_int(0));
    return t;
}
