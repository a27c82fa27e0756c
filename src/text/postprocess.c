/* SPDX-License-Identifier: Apache-2.0
 * postprocess.c - the kinds of `post_processor`: which special tokens stand around the texts, and
 * the type ids of all. Every kind becomes two templates, one for a text and one for a pair. */
#include "pipeline.h"

static Part text_part(int sequence, int64_t type_id)
{
    return (Part){ .sequence = sequence, .type_id = (int32_t)type_id };
}

static bool check_id(int64_t id, const char *what, Err *err)
{
    if (id >= 0 && id <= INT32_MAX) return true;
    return fail(err, EF_BAD_MODEL, "post_processor: found %s %lld", what, (long long)id);
}

/* ---- TemplateProcessing ---- */
static bool special_part(Arena *arena, const Value *specials, Str name, Part *out, Err *err)
{
    const Value *ids = NULL;
    for (size_t i = 0; specials && specials->kind == V_MAP && i < specials->map.n; i++)
        if (str_eq(specials->map.items[i].key, name))
            ids = value_get(&specials->map.items[i].value, "ids");
    if (!ids || ids->kind != V_LIST)
        return fail(err, EF_BAD_MODEL, "post_processor: special token \"%.*s\" has no \"ids\"",
                    STR_ARG(name));
    int32_t *copy = ARRAY(arena, int32_t, ids->list.n);
    for (size_t i = 0; i < ids->list.n; i++) {
        int64_t id = value_int(&ids->list.items[i], -1);
        if (!check_id(id, "token id", err)) return false;
        copy[i] = (int32_t)id;
    }
    out->sequence = -1;
    out->ids = copy;
    out->n = ids->list.n;
    return true;
}

static bool template_part(Arena *arena, const Value *piece, const Value *specials, Part *out,
                          Err *err)
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
        !check_id(type_id, "type id", err))
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
    out->parts = ARRAY(arena, Part, out->n);
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
    if (!read_template(arena, v, "single", &out->single, err) ||
        !read_template(arena, v, "pair", &out->pair, err))
        return false;
    for (size_t i = 0; i < out->single.n; i++)
        if (out->single.parts[i].sequence == 1)
            return fail(err, EF_BAD_MODEL, "post_processor: \"single\" wants a second text");
    return true;
}

/* ---- BertProcessing: [CLS] A [SEP] B [SEP] ---- */
static bool bert_part(Arena *arena, const Value *v, const char *key, int32_t type_id, Part *out,
                      Err *err)
{
    const Value *pair; /* ["[SEP]", 102] */
    if (!member_list(v, "post_processor", key, &pair, err)) return false;
    int64_t id = pair->list.n == 2 ? value_int(&pair->list.items[1], -1) : -1;
    if (!check_id(id, "token id", err)) return false;
    int32_t *ids = NEW(arena, int32_t);
    *ids = (int32_t)id;
    *out = (Part){ -1, type_id, ids, 1 };
    return true;
}

static bool bert_load(Arena *arena, const Value *v, PostProcessor *out, Err *err)
{
    Part cls, sep, end;
    if (!bert_part(arena, v, "cls", 0, &cls, err) || !bert_part(arena, v, "sep", 0, &sep, err) ||
        !bert_part(arena, v, "sep", 1, &end, err))
        return false;
    Part parts[] = { cls, text_part(0, 0), sep, text_part(1, 1), end };
    Part *copy = memcpy(ARRAY(arena, Part, COUNT(parts)), parts, sizeof parts);
    out->single = (Template){ copy, 3, 2 };
    out->pair = (Template){ copy, 5, 3 };
    return true;
}

static const PostProcessorKind kinds[] = {
    { "BertProcessing", bert_load },
    { "TemplateProcessing", template_load },
};

bool postprocessor_load(Arena *arena, const Value *v, PostProcessor *out, Err *err)
{
    if (!v || v->kind == V_NULL) {
        Part *parts = ARRAY(arena, Part, 2);
        parts[1] = text_part(1, 1);
        out->single = (Template){ parts, 1, 0 };
        out->pair = (Template){ parts, 2, 0 };
        return true;
    }
    Str type;
    if (!component_type(v, "post_processor", &type, err)) return false;
    for (size_t i = 0; i < COUNT(kinds); i++)
        if (str_is(type, kinds[i].type)) return kinds[i].load(arena, v, out, err);
    return component_unknown("post_processor", type, err);
}
