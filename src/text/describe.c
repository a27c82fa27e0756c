/* SPDX-License-Identifier: Apache-2.0
 * describe.c - what is to know about a tokenizer beside its pipeline: how long texts may be, which side is padded,
 * which tokens have which role. Said by the files beside tokenizer.json, by the class that they name, or, where
 * nothing says it, by the usual names of such tokens. */
#include "convert.h"
#include "pipeline.h"

static const char *const roles[] = { "bos_token", "eos_token",  "unk_token", "sep_token",
                                     "pad_token", "cls_token", "mask_token" };
static const char more_tokens[] = "additional_special_tokens";
static const char extra_tokens[] = "extra_special_tokens"; /* their name in transformers 5 */
/* Of the files: these keys are kept as they are. */
static const char *const kept[] = { "model_max_length", "padding_side", "truncation_side", "model_input_names",
                                    "clean_up_tokenization_spaces" };
static const char *const usual[COUNT(roles)][2] = { { "<s>" },           { "</s>" },          { "[UNK]", "<unk>" },
                                                    { "[SEP]", "</s>" }, { "[PAD]", "<pad>" }, { "[CLS]", "<s>" },
                                                    { "[MASK]", "<mask>" } };

/* A name, or an object with its content; empty: none. */
static Str token_content(const Value *v)
{
    return value_str(v && v->kind == V_MAP ? value_get(v, "content") : v, STR(""));
}

static Str own_text(Arena *arena, Str text)
{
    return (Str){ str_dup(arena, text), text.n };
}

static Value own_value(Arena *arena, const Value *v)
{
    Value copy = *v;
    if (v->kind == V_STR) copy = value_of_str(own_text(arena, v->s));
    if (v->kind == V_MAP) return value_of_str(own_text(arena, token_content(v)));
    if (v->kind != V_LIST) return copy;
    copy = value_list(arena, v->list.n);
    for (size_t i = 0; i < v->list.n; i++) copy.list.items[i] = own_value(arena, &v->list.items[i]);
    return copy;
}

static const Value *settings_said(const Value *config, const Value *specials, const char *key)
{
    const Value *v = value_get(config, key);
    if (!v || v->kind == V_NULL) v = value_get(specials, key);
    return v && v->kind != V_NULL ? v : NULL;
}

Value tokenizer_settings(Arena *arena, const Value *config, const Value *specials, Str model_type)
{
    Value out = value_map(arena, COUNT(kept) + COUNT(roles) + 2);
    const Value *v;
    Str class = class_of_folder(value_str(value_get(config, "tokenizer_class"), STR("")), model_type);
    if (class.n) value_add(&out, "tokenizer_class", value_of_str(own_text(arena, class)));
    for (size_t i = 0; i < COUNT(kept); i++)
        if ((v = settings_said(config, NULL, kept[i])) != NULL) value_add(&out, kept[i], own_value(arena, v));
    for (size_t i = 0; i < COUNT(roles); i++)
        if ((v = settings_said(config, specials, roles[i])) != NULL) value_add(&out, roles[i], own_value(arena, v));
    if ((v = settings_said(config, specials, more_tokens)) == NULL) v = settings_said(config, specials, extra_tokens);
    if (v && v->kind == V_LIST) value_add(&out, more_tokens, own_value(arena, v));
    return out;
}

/* ---- one tokenizer ---- */
static const Style *class_style(const Value *settings)
{
    Str class = value_str(value_get(settings, "tokenizer_class"), STR(""));
    if (str_ends(class, "Fast")) class.n -= 4;
    return class.n ? convert_class(class) : NULL;
}

/* What the files say, what the class has, or, of a class that is not known, a usual name that is a special token
 * here. */
static Str role_token(const Tokenizer *t, const Value *settings, const Style *style, size_t role)
{
    Str said = token_content(value_get(settings, roles[role]));
    if (said.n) return said;
    if (style) return str_of(style->tokens[role]);
    if (class_is_general(value_str(value_get(settings, "tokenizer_class"), STR("")))) return (Str){ 0 };
    for (size_t i = 0; i < COUNT(usual[role]) && usual[role][i]; i++) {
        const Added *added = added_with_id(&t->added, tokenizer_id(t, str_of(usual[role][i])));
        if (added && added->special) return str_of(usual[role][i]);
    }
    return (Str){ 0 };
}

static Value id_or_null(const Tokenizer *t, Str token)
{
    int32_t id = token.n ? tokenizer_id(t, token) : -1;
    return id < 0 ? value_null() : value_of_int(id);
}

static void put_roles(Arena *arena, const Tokenizer *t, const Value *settings, Value *out)
{
    const Style *style = class_style(settings);
    const Value *more = value_get(settings, more_tokens);
    Value ids = value_list(arena, COUNT(roles) + t->added.n + (more ? more->list.n : 0));
    ids.list.n = 0;
    for (size_t i = 0; i < COUNT(roles); i++) {
        Str token = role_token(t, settings, style, i);
        Value id = id_or_null(t, token);
        const char *key = str_format(arena, "%s_id", roles[i]);
        value_add(out, roles[i], token.n && id.kind == V_INT ? value_of_str(token) : value_null());
        value_add(out, key, id);
        if (id.kind == V_INT) ids.list.items[ids.list.n++] = id;
    }
    value_add(out, more_tokens, more ? *more : value_list(arena, 0));
    for (size_t i = 0; more && i < more->list.n; i++) {
        Value id = id_or_null(t, token_content(&more->list.items[i]));
        if (id.kind == V_INT) ids.list.items[ids.list.n++] = id;
    }
    size_t n = 0; /* each once */
    for (size_t i = 0; i < ids.list.n; i++) {
        size_t k = 0;
        while (k < n && ids.list.items[k].i != ids.list.items[i].i) k++;
        if (k == n) ids.list.items[n++] = ids.list.items[i];
    }
    ids.list.n = n;
    value_add(out, "all_special_ids", ids);
}

static Value added_tokens(Arena *arena, const AddedTokens *added)
{
    Value list = value_list(arena, added->n);
    for (size_t i = 0; i < added->n; i++) {
        const Added *a = added->by_id[i];
        Value v = value_map(arena, 7);
        value_add(&v, "id", value_of_int(a->id));
        value_add(&v, "content", value_of_str(a->content));
        value_add(&v, "special", value_of_bool(a->special));
        value_add(&v, "single_word", value_of_bool(a->single_word));
        value_add(&v, "lstrip", value_of_bool(a->lstrip));
        value_add(&v, "rstrip", value_of_bool(a->rstrip));
        value_add(&v, "normalized", value_of_bool(a->normalized));
        list.list.items[i] = v;
    }
    return list;
}

/* As the files say, or the class. */
static Value input_names(Arena *arena, const Value *settings)
{
    const Value *said = value_get(settings, "model_input_names");
    if (said && said->kind == V_LIST) return *said;
    const char *const *names = class_inputs(value_str(value_get(settings, "tokenizer_class"), STR("")));
    size_t n = 0;
    while (names[n]) n++;
    Value list = value_list(arena, n);
    for (size_t i = 0; i < n; i++) list.list.items[i] = value_of_text(names[i]);
    return list;
}

Value tokenizer_describe(Arena *arena, const Tokenizer *t, const Value *settings)
{
    PadOptions pad = { 0 };
    EncodeOptions cut = { 0 };
    const Value *length = value_get(settings, "model_max_length"), *class = value_get(settings, "tokenizer_class");
    const char *padding = tokenizer_padding(t, &pad) && pad.left ? "left" : "right";
    const char *cutting = tokenizer_truncation(t, &cut) && cut.truncate_left ? "left" : "right";
    Value out = value_map(arena, 2 * COUNT(roles) + 12), none = value_null();
    value_add(&out, "tokenizer_class", class ? *class : none);
    value_add(&out, "model", value_of_text(tokenizer_kind(t)));
    value_add(&out, "vocab_size", value_of_int((int64_t)t->model.vocab.n));
    value_add(&out, "model_max_length", length ? *length : cut.max_length ? value_of_int(cut.max_length) : none);
    value_add(&out, "padding_side", value_of_str(value_str(value_get(settings, "padding_side"), str_of(padding))));
    value_add(&out, "truncation_side",
              value_of_str(value_str(value_get(settings, "truncation_side"), str_of(cutting))));
    value_add(&out, "model_input_names", input_names(arena, settings));
    value_add(&out, "clean_up_tokenization_spaces",
              value_of_bool(value_bool(value_get(settings, "clean_up_tokenization_spaces"), false)));
    put_roles(arena, t, settings, &out);
    value_add(&out, "added_tokens", added_tokens(arena, &t->added));
    return out;
}

Str tokenizer_content(const Tokenizer *t, int32_t id)
{
    const Added *added = added_with_id(&t->added, id);
    return added ? added->content : tokenizer_token(t, id);
}
