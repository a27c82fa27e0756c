/* SPDX-License-Identifier: Apache-2.0
 * postprocess.c - the kinds of `post_processor`: which special tokens stand around the texts, and
 * the type ids of all. Every kind becomes two templates, one for a text and one for a pair. */
#include "pipeline.h"

static TemplatePart text_part(int sequence, int64_t type_id)
{
    return (TemplatePart){ .sequence = sequence, .type_id = (int32_t)type_id };
}

static bool postprocess_check_id(int64_t id, const char *what, Err *err)
{
    if (id >= 0 && id <= INT32_MAX) return true;
    return fail(err, EF_BAD_MODEL, "post_processor: found %s %lld", what, (long long)id);
}

/* Of a Sequence, at most one may add special tokens. */
static bool only_template(PostProcessor *out, Err *err)
{
    if (out->whole)
        return fail(err, EF_UNSUPPORTED, "post_processor: found two that add special tokens");
    out->single = out->pair = (Template){ 0 };
    return out->whole = true;
}

/* ---- TemplateProcessing ---- */
static bool special_names(Arena *arena, const Value *names, TemplatePart *out, Err *err)
{
    Str *copy = ARRAY(arena, Str, out->n);
    out->tokens = copy;
    for (size_t i = 0; i < out->n; i++) {
        bool named = names && names->kind == V_LIST && names->list.n == out->n &&
                     names->list.items[i].kind == V_STR;
        if (!named)
            return fail(err, EF_BAD_MODEL, "post_processor: \"ids\" and \"tokens\" do not match");
        copy[i] = (Str){ str_dup(arena, names->list.items[i].s), names->list.items[i].s.n };
    }
    return true;
}

static bool special_part(Arena *arena, const Value *specials, Str name, TemplatePart *out, Err *err)
{
    const Value *ids = NULL, *names = NULL;
    for (size_t i = 0; specials && specials->kind == V_MAP && i < specials->map.n; i++)
        if (str_eq(specials->map.items[i].key, name)) {
            ids = value_get(&specials->map.items[i].value, "ids");
            names = value_get(&specials->map.items[i].value, "tokens");
        }
    if (!ids || ids->kind != V_LIST)
        return fail(err, EF_BAD_MODEL, "post_processor: special token \"%.*s\" has no \"ids\"",
                    STR_ARG(name));
    int32_t *copy = ARRAY(arena, int32_t, ids->list.n);
    for (size_t i = 0; i < ids->list.n; i++) {
        int64_t id = value_int(&ids->list.items[i], -1);
        if (!postprocess_check_id(id, "token id", err)) return false;
        copy[i] = (int32_t)id;
    }
    out->sequence = -1;
    out->ids = copy;
    out->n = ids->list.n;
    return special_names(arena, names, out, err);
}

static bool template_part(Arena *arena, const Value *piece, const Value *specials,
                          TemplatePart *out, Err *err)
{
    const Value *special = value_get(piece, "SpecialToken"), *text = value_get(piece, "Sequence");
    const Value *v = special ? special : text;
    int64_t type_id;
    Str id;
    if (!v)
        return fail(err, EF_BAD_MODEL,
                    "post_processor: found a piece of neither kind, wanted "
                    "\"Sequence\" or \"SpecialToken\"");
    if (!member_str(v, "post_processor", "id", &id, err) ||
        !member_int(v, "post_processor", "type_id", &type_id, err) ||
        !postprocess_check_id(type_id, "type id", err))
        return false;
    *out = text_part(str_is(id, "B"), type_id);
    if (special) return special_part(arena, specials, id, out, err);
    if (str_is(id, "A") || str_is(id, "B")) return true;
    return fail(err, EF_BAD_MODEL, "post_processor: found sequence \"%.*s\", wanted A or B",
                STR_ARG(id));
}

static bool read_template(Arena *arena, const Value *v, const char *key, Template *out, Err *err)
{
    const Value *list;
    if (!member_list(v, "post_processor", key, &list, err)) return false;
    out->n = list->list.n;
    out->parts = ARRAY(arena, TemplatePart, out->n);
    for (size_t i = 0; i < out->n; i++) {
        if (!template_part(arena, &list->list.items[i], value_get(v, "special_tokens"),
                           &out->parts[i], err))
            return false;
        out->added += out->parts[i].n;
    }
    return true;
}

static bool template_load(Arena *arena, const Value *v, PostProcessor *out, Err *err)
{
    if (!only_template(out, err) || !read_template(arena, v, "single", &out->single, err) ||
        !read_template(arena, v, "pair", &out->pair, err))
        return false;
    for (size_t i = 0; i < out->single.n; i++)
        if (out->single.parts[i].sequence == 1)
            return fail(err, EF_BAD_MODEL, "post_processor: \"single\" wants a second text");
    return true;
}

/* ---- BertProcessing: [CLS] A [SEP] B [SEP] ---- */
static bool bert_part(Arena *arena, const Value *v, const char *key, int32_t type_id,
                      TemplatePart *out, Err *err)
{
    const Value *pair; /* ["[SEP]", 102] */
    if (!member_list(v, "post_processor", key, &pair, err)) return false;
    int64_t id = pair->list.n == 2 ? value_int(&pair->list.items[1], -1) : -1;
    if (!postprocess_check_id(id, "token id", err)) return false;
    int32_t *ids = NEW(arena, int32_t);
    Str *name = NEW(arena, Str), text = value_str(&pair->list.items[0], STR(""));
    *ids = (int32_t)id;
    *name = (Str){ str_dup(arena, text), text.n };
    *out = (TemplatePart){ -1, type_id, ids, name, 1 };
    return true;
}

static bool bert_post_load(Arena *arena, const Value *v, PostProcessor *out, Err *err)
{
    TemplatePart cls, sep, end;
    if (!only_template(out, err) || !bert_part(arena, v, "cls", 0, &cls, err) ||
        !bert_part(arena, v, "sep", 0, &sep, err) || !bert_part(arena, v, "sep", 1, &end, err))
        return false;
    TemplatePart parts[] = { cls, text_part(0, 0), sep, text_part(1, 1), end };
    TemplatePart *copy = memcpy(ARRAY(arena, TemplatePart, COUNT(parts)), parts, sizeof parts);
    out->single = (Template){ copy, 3, 2 };
    out->pair = (Template){ copy, 5, 3 };
    return true;
}

/* ---- ByteLevel, RobertaProcessing: <s> A </s> </s> B </s> ---- */
static bool bytelevel_load(Arena *arena, const Value *v, PostProcessor *out, Err *err)
{
    (void)arena;
    bool trim, prefix;
    if (!member_bool(v, "post_processor", "trim_offsets", &trim, err) ||
        !member_bool(v, "post_processor", "add_prefix_space", &prefix, err))
        return false;
    if (trim && out->trims == MOST_TRIMS)
        return fail(err, EF_UNSUPPORTED, "post_processor: over %d that trim", MOST_TRIMS);
    if (trim) out->prefixed[out->trims++] = prefix;
    return true;
}

static bool roberta_load(Arena *arena, const Value *v, PostProcessor *out, Err *err)
{
    TemplatePart cls, sep;
    if (!only_template(out, err) || !bytelevel_load(arena, v, out, err) ||
        !bert_part(arena, v, "cls", 0, &cls, err) || !bert_part(arena, v, "sep", 0, &sep, err))
        return false;
    TemplatePart parts[] = { cls, text_part(0, 0), sep, sep, text_part(1, 0), sep };
    TemplatePart *copy = memcpy(ARRAY(arena, TemplatePart, COUNT(parts)), parts, sizeof parts);
    out->single = (Template){ copy, 3, 2 };
    out->pair = (Template){ copy, 6, 4 };
    out->flat = true;
    return true;
}

/* ---- Sequence ---- */
static bool load_one(Arena *arena, const Value *v, PostProcessor *out, Err *err);

static bool sequence_post_load(Arena *arena, const Value *v, PostProcessor *out, Err *err)
{
    const Value *list;
    if (!member_list(v, "post_processor Sequence", "processors", &list, err)) return false;
    for (size_t i = 0; i < list->list.n; i++)
        if (!load_one(arena, &list->list.items[i], out, err)) return false;
    return true;
}

static const PostProcessorKind kinds[] = {
    { "BertProcessing", bert_post_load },
    { "ByteLevel", bytelevel_load },
    { "RobertaProcessing", roberta_load },
    { "Sequence", sequence_post_load },
    { "TemplateProcessing", template_load },
};

static bool load_one(Arena *arena, const Value *v, PostProcessor *out, Err *err)
{
    Str type;
    if (!component_type(v, "post_processor", &type, err)) return false;
    for (size_t i = 0; i < COUNT(kinds); i++)
        if (str_is(type, kinds[i].type)) return kinds[i].load(arena, v, out, err);
    return component_unknown("post_processor", type, err);
}

bool postprocessor_load(Arena *arena, const Value *v, PostProcessor *out, Err *err)
{
    TemplatePart *parts = ARRAY(arena, TemplatePart, 2); /* just the texts, unless one says more */
    parts[1] = text_part(1, 1);
    out->single = (Template){ parts, 1, 0 };
    out->pair = (Template){ parts, 2, 0 };
    return !v || v->kind == V_NULL || load_one(arena, v, out, err);
}
