/* SPDX-License-Identifier: Apache-2.0
 * settings.c - what tokenizer_config.json changes in a tokenizer.json, before it is loaded. As
 * transformers does for classes it knows; any other class takes the file as it is.
 *
 * Not followed: what transformers 5 rebuilds from scratch although the file says otherwise (the
 * normalizer of DeBERTa-v2, post-processors), add_bos_token, split_special_tokens. */
#include "settings.h"

typedef void Rule(Value *root, const Value *config);

static Value *member_of(Value *map, const char *key)
{
    return (Value *)value_get(map, key); /* the tree is ours */
}

static bool is_type(const Value *v, const char *type)
{
    return str_is(value_str(value_get(v, "type"), STR("")), type);
}

/* Sets a member that is there; a setting that is absent (or not a bool) leaves it. */
static void set_bool(Value *map, const char *key, const Value *setting)
{
    Value *member = member_of(map, key);
    if (member && setting && setting->kind == V_BOOL) *member = *setting;
}

/* Calls `set` for a component of that type, or for those of its Sequence. */
static void each(Value *v, const char *list, const char *type, const Value *config,
                 void (*set)(Value *, const Value *))
{
    Value *items = v ? member_of(v, list) : NULL;
    if (!v) return;
    if (is_type(v, type)) set(v, config);
    for (size_t i = 0; items && items->kind == V_LIST && i < items->list.n; i++)
        if (is_type(&items->list.items[i], type)) set(&items->list.items[i], config);
}

/* ---- BERT: the flags of the class replace those of a plain BertNormalizer ---- */
static void bert_rule(Value *root, const Value *config)
{
    Value *normalizer = member_of(root, "normalizer"), yes = value_of_bool(true);
    if (!is_type(normalizer, "BertNormalizer")) return;
    const Value *lower = value_get(config, "do_lower_case");
    const Value *chinese = value_get(config, "tokenize_chinese_chars");
    const Value *strip = value_get(config, "strip_accents");
    Value *accents = member_of(normalizer, "strip_accents");
    set_bool(normalizer, "lowercase", lower ? lower : &yes);
    set_bool(normalizer, "handle_chinese_chars", chinese ? chinese : &yes);
    if (accents) *accents = strip && strip->kind == V_BOOL ? *strip : value_null();
}

/* ---- byte-level models: add_prefix_space, trim_offsets ---- */
static void set_prefix(Value *v, const Value *config)
{
    set_bool(v, "add_prefix_space", value_get(config, "add_prefix_space"));
}

static void set_frame(Value *v, const Value *config)
{
    set_bool(v, "add_prefix_space", value_get(config, "add_prefix_space"));
    set_bool(v, "trim_offsets", value_get(config, "trim_offsets"));
}

static void roberta_rule(Value *root, const Value *config)
{
    each(member_of(root, "pre_tokenizer"), "pretokenizers", "ByteLevel", config, set_prefix);
    each(member_of(root, "post_processor"), "processors", "RobertaProcessing", config, set_frame);
}

/* ---- SentencePiece models: add_prefix_space is Metaspace always or never ---- */
static void set_scheme(Value *v, const Value *config)
{
    const Value *prefix = value_get(config, "add_prefix_space");
    Value *scheme = member_of(v, "prepend_scheme");
    if (scheme && prefix && prefix->kind == V_BOOL)
        *scheme = value_of_str(prefix->b ? STR("always") : STR("never"));
    set_bool(v, "add_prefix_space", prefix);
}

static void metaspace_rule(Value *root, const Value *config)
{
    each(member_of(root, "pre_tokenizer"), "pretokenizers", "Metaspace", config, set_scheme);
    each(member_of(root, "decoder"), "decoders", "Metaspace", config, set_scheme);
}

static const struct {
    const char *name; /* of the class, without "Fast" */
    Rule *rule;
} rules[] = {
    { "BertTokenizer", bert_rule },           { "DistilBertTokenizer", bert_rule },
    { "ElectraTokenizer", bert_rule },        { "LayoutLMTokenizer", bert_rule },
    { "MPNetTokenizer", bert_rule },          { "RobertaTokenizer", roberta_rule },
    { "LayoutLMv3Tokenizer", roberta_rule },  { "DebertaTokenizer", roberta_rule },
    { "LongformerTokenizer", roberta_rule },  { "XLMRobertaTokenizer", metaspace_rule },
    { "CamembertTokenizer", metaspace_rule }, { "AlbertTokenizer", metaspace_rule },
};

/* ---- added_tokens_decoder: flags by content ---- */
static void override_flags(Value *token, const Value *decoder)
{
    static const char *const flags[] = { "lstrip", "rstrip", "single_word", "normalized",
                                         "special" };
    Str content = value_str(value_get(token, "content"), STR(""));
    for (size_t i = 0; i < decoder->map.n; i++) {
        const Value *row = &decoder->map.items[i].value;
        if (!str_eq(value_str(value_get(row, "content"), STR("")), content)) continue;
        for (size_t k = 0; k < COUNT(flags); k++)
            set_bool(token, flags[k], value_get(row, flags[k]));
    }
}

void settings_apply(Value *root, const Value *config)
{
    Str name = value_str(value_get(config, "tokenizer_class"), STR(""));
    if (str_ends(name, "Fast")) name.n -= 4;
    for (size_t i = 0; i < COUNT(rules); i++)
        if (str_is(name, rules[i].name)) rules[i].rule(root, config);
    const Value *decoder = value_get(config, "added_tokens_decoder");
    Value *added = member_of(root, "added_tokens");
    bool both = decoder && decoder->kind == V_MAP && added && added->kind == V_LIST;
    for (size_t i = 0; both && i < added->list.n; i++)
        override_flags(&added->list.items[i], decoder);
}
