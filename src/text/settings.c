/* SPDX-License-Identifier: Apache-2.0
 * settings.c - what tokenizer_config.json and the files beside it change in a tokenizer.json. The
 * class named there decides; without one, the file is taken as it is.
 *
 * Not followed: what transformers 5 rebuilds from scratch although the file says otherwise (the
 * normalizer of ALBERT and DeBERTa-v2, post-processors); version 4 takes the file's. add_bos_token
 * and add_eos_token change nothing: neither version lets them overrule a tokenizer.json. */
#include "settings.h"

typedef void Rule(Value *root, const Value *config);

static Value *member_of(Value *map, const char *key)
{
    return (Value *)value_get(map, key); /* the tree is ours */
}

void settings_put(Arena *arena, Value *map, const char *key, Value value)
{
    Value *there = member_of(map, key);
    if (there) {
        *there = value;
        return;
    }
    Value grown = value_map(arena, map->map.n + 1);
    memcpy(grown.map.items, map->map.items, map->map.n * sizeof *map->map.items);
    grown.map.n = map->map.n;
    value_add(&grown, key, value);
    *map = grown;
}

static bool is_type(const Value *v, const char *type)
{
    return str_is(value_str(value_get(v, "type"), STR("")), type);
}

/* Sets a member that is there, where the setting is a bool; else to what the class has. */
static void set_bool(Value *map, const char *key, const Value *setting, bool otherwise)
{
    Value *member = member_of(map, key);
    if (member) *member = value_of_bool(value_bool(setting, otherwise));
}

/* ---- BERT: the flags of the class replace those of a plain BertNormalizer ---- */
static void bert_rule(Value *root, const Value *config)
{
    Value *normalizer = member_of(root, "normalizer");
    if (!is_type(normalizer, "BertNormalizer")) return;
    const Value *strip = value_get(config, "strip_accents");
    Value *accents = member_of(normalizer, "strip_accents");
    set_bool(normalizer, "lowercase", value_get(config, "do_lower_case"), true);
    set_bool(normalizer, "handle_chinese_chars", value_get(config, "tokenize_chinese_chars"), true);
    if (accents) *accents = strip && strip->kind == V_BOOL ? *strip : value_null();
}

/* ---- byte-level models: add_prefix_space, trim_offsets ---- */
static void set_bytes(Value *root, const Value *config, bool prefixed)
{
    const Value *prefix = value_get(config, "add_prefix_space");
    Value *post = member_of(root, "post_processor");
    if (is_type(value_get(root, "pre_tokenizer"), "ByteLevel"))
        set_bool(member_of(root, "pre_tokenizer"), "add_prefix_space", prefix, prefixed);
    if (!is_type(post, "RobertaProcessing") && !is_type(post, "ByteLevel")) return;
    set_bool(post, "add_prefix_space", prefix, prefixed);
    set_bool(post, "trim_offsets", value_get(config, "trim_offsets"), true);
}

static void roberta_rule(Value *root, const Value *config)
{
    set_bytes(root, config, false);
}

static void layout_rule(Value *root, const Value *config)
{
    set_bytes(root, config, true);
}

/* ---- SentencePiece models: add_prefix_space is Metaspace always or never ---- */
static void set_scheme(Value *v, const Value *prefix)
{
    Value *scheme = member_of(v, "prepend_scheme");
    if (!is_type(v, "Metaspace")) return;
    if (scheme) *scheme = value_of_str(prefix->b ? STR("always") : STR("never"));
    set_bool(v, "add_prefix_space", prefix, true);
}

static void set_schemes(Value *v, const char *list, const Value *prefix)
{
    Value *items = member_of(v, list);
    set_scheme(v, prefix);
    for (size_t i = 0; items && items->kind == V_LIST && i < items->list.n; i++)
        set_scheme(&items->list.items[i], prefix);
}

static void metaspace_rule(Value *root, const Value *config)
{
    const Value *prefix = value_get(config, "add_prefix_space");
    if (!prefix || prefix->kind != V_BOOL) return;
    set_schemes(member_of(root, "pre_tokenizer"), "pretokenizers", prefix);
    set_schemes(member_of(root, "decoder"), "decoders", prefix);
}

static const struct {
    const char *classes; /* without "Fast", each with spaces around */
    Rule *rule;
} rules[] = {
    { " BertTokenizer DistilBertTokenizer ElectraTokenizer LayoutLMTokenizer LayoutLMv2Tokenizer "
      "MobileBertTokenizer ConvBertTokenizer SqueezeBertTokenizer FunnelTokenizer LxmertTokenizer "
      "MPNetTokenizer ",
      bert_rule },
    { " RobertaTokenizer DebertaTokenizer LongformerTokenizer ", roberta_rule },
    { " LayoutLMv3Tokenizer ", layout_rule },
    { " XLMRobertaTokenizer CamembertTokenizer AlbertTokenizer ", metaspace_rule },
};

/* ---- decoding: clean_up_tokenization_spaces, as steps behind the file's decoder ---- */
static Value replace_step(Arena *arena, const char *from, const char *to)
{
    Value v = value_map(arena, 3), pattern = value_map(arena, 1);
    value_add(&pattern, "String", value_of_str(str_of(from)));
    value_add(&v, "type", value_of_str(STR("Replace")));
    value_add(&v, "pattern", pattern);
    value_add(&v, "content", value_of_str(str_of(to)));
    return v;
}

static void clean_up(Arena *arena, Value *root)
{
    static const char *const pairs[][2] = {
        { " .", "." },     { " ?", "?" },   { " !", "!" },   { " ,", "," },     { " ' ", "'" },
        { " n't", "n't" }, { " 'm", "'m" }, { " 's", "'s" }, { " 've", "'ve" }, { " 're", "'re" },
    };
    const Value *decoder = value_get(root, "decoder");
    if (!decoder || decoder->kind != V_MAP || is_type(value_get(root, "model"), "BPE")) return;
    Value steps = value_list(arena, 2 + COUNT(pairs)), fuse = value_map(arena, 1),
          all = value_map(arena, 2);
    value_add(&fuse, "type", value_of_str(STR("Fuse")));
    steps.list.items[0] = *decoder, steps.list.items[1] = fuse;
    for (size_t i = 0; i < COUNT(pairs); i++)
        steps.list.items[2 + i] = replace_step(arena, pairs[i][0], pairs[i][1]);
    value_add(&all, "type", value_of_str(STR("Sequence")));
    value_add(&all, "decoders", steps);
    settings_put(arena, root, "decoder", all);
}

void settings_common(Arena *arena, Value *root, const Sidecar *side)
{
    if (root->kind != V_MAP) return;
    if (value_bool(value_get(side->config, "clean_up_tokenization_spaces"), false))
        clean_up(arena, root);
    if (value_bool(value_get(side->config, "split_special_tokens"), false))
        settings_put(arena, root, "split_special_tokens", value_of_bool(true));
}

/* ---- sentence-transformers ---- */
static bool settings_lowers(const Value *normalizer)
{
    const Value *list = value_get(normalizer, "normalizers");
    if (is_type(normalizer, "Lowercase")) return true;
    if (is_type(normalizer, "BertNormalizer"))
        return value_bool(value_get(normalizer, "lowercase"), false);
    for (size_t i = 0; list && list->kind == V_LIST && i < list->list.n; i++)
        if (settings_lowers(&list->list.items[i])) return true;
    return false;
}

void settings_lowercase(Arena *arena, Value *root)
{
    const Value *normalizer = value_get(root, "normalizer");
    if (root->kind != V_MAP || settings_lowers(normalizer)) return;
    bool some = normalizer && normalizer->kind == V_MAP;
    Value lower = value_map(arena, 1), list = value_list(arena, 1 + some),
          all = value_map(arena, 2);
    value_add(&lower, "type", value_of_str(STR("Lowercase")));
    list.list.items[0] = lower;
    if (some) list.list.items[1] = *normalizer;
    value_add(&all, "type", value_of_str(STR("Sequence")));
    value_add(&all, "normalizers", list);
    settings_put(arena, root, "normalizer", all);
}

/* ---- the whole ---- */
static bool class_is_named(const char *classes, Str name)
{
    char word[64];
    if (!name.n || name.n + 3 > sizeof word) return false;
    snprintf(word, sizeof word, " %.*s ", STR_ARG(name));
    return strstr(classes, word);
}

void settings_apply(Arena *arena, Value *root, const Sidecar *side)
{
    const Value *config = side->config;
    if (root->kind != V_MAP) return;
    Str class = value_str(value_get(config, "tokenizer_class"), STR(""));
    if (str_ends(class, "Fast")) class.n -= 4;
    for (size_t i = 0; i < COUNT(rules); i++)
        if (class_is_named(rules[i].classes, class)) rules[i].rule(root, config);
    settings_added(arena, root, side, class);
    settings_common(arena, root, side);
}
