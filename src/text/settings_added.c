/* SPDX-License-Identifier: Apache-2.0
 * settings_added.c - the added tokens of a tokenizer.json, changed by those named beside it:
 * first added_tokens_decoder (or, without it, added_tokens.json), whose flags win and whose new
 * tokens come in the order of their ids; then special tokens that were not added yet. */
#include <stdlib.h>

#include "settings.h"

static const char *const roles[] = { "bos_token", "eos_token",  "unk_token", "sep_token",
                                     "pad_token", "cls_token", "mask_token" };
enum { MASK = COUNT(roles) - 1 };
static const char *const flags[] = { "single_word", "lstrip", "rstrip", "normalized", "special" };
enum { LSTRIP = 1, NORMALIZED = 3, SPECIAL = 4, FLAGS = COUNT(flags) };

typedef struct AddedToken {
    Str content;
    bool flag[FLAGS];
    int64_t id; /* to sort by */
} AddedToken;
typedef struct AddedWork {
    Arena *arena;
    Value list;   /* added_tokens, growing */
    size_t room;
    Map rows;     /* content to its Value in the list */
    AddedToken *special;
    size_t n_special;
    Map specials; /* contents of those */
} AddedWork;

/* A name, or an object with flags. What the object leaves out is as the reference's constructor has
 * it: not special, and normalized unless special. */
static AddedToken added_token_of(const Value *v, bool special)
{
    AddedToken t = { .flag = { [NORMALIZED] = !special, [SPECIAL] = special } };
    if (v && v->kind == V_STR) t.content = v->s;
    if (!v || v->kind != V_MAP) return t;
    t.content = value_str(value_get(v, "content"), STR(""));
    t.flag[SPECIAL] = special || value_bool(value_get(v, "special"), false);
    t.flag[NORMALIZED] = !t.flag[SPECIAL];
    for (int i = 0; i < SPECIAL; i++) t.flag[i] = value_bool(value_get(v, flags[i]), t.flag[i]);
    return t;
}

static void write_row(Value *row, const AddedToken *t)
{
    for (int i = 0; i < FLAGS; i++) {
        Value *flag = (Value *)value_get(row, flags[i]);
        if (flag) *flag = value_of_bool(t->flag[i]);
    }
}

static Value new_row(Arena *arena, const AddedToken *t)
{
    Value row = value_map(arena, FLAGS + 2);
    value_add(&row, "id", value_of_int(0)); /* counts for nothing: added.c */
    value_add(&row, "content", value_of_str(t->content));
    for (int i = 0; i < FLAGS; i++) value_add(&row, flags[i], value_of_bool(t->flag[i]));
    return row;
}

static void added_append(AddedWork *w, const AddedToken *t)
{
    if (!t->content.n || w->list.list.n == w->room) return;
    Value *row = &w->list.list.items[w->list.list.n++];
    *row = new_row(w->arena, t);
    map_put(&w->rows, w->arena, t->content, row);
}

/* The same flags: then the token is not added again, and not made special either. */
static bool added_row_is_same(const Value *row, const AddedToken *t)
{
    for (int i = 0; i < FLAGS; i++)
        if (value_bool(value_get(row, flags[i]), false) != t->flag[i]) return false;
    return true;
}

static void added_add(AddedWork *w, AddedToken t)
{
    Value *row = map_get(&w->rows, t.content);
    if (row && added_row_is_same(row, &t)) return;
    t.flag[SPECIAL] |= map_get(&w->specials, t.content) != NULL;
    if (row) write_row(row, &t);
    else added_append(w, &t);
}

/* ---- special tokens by their roles ---- */
static void name_special(AddedWork *w, const Value *v, bool strips)
{
    AddedToken t = added_token_of(v, true);
    if (v && v->kind == V_STR && strips) t.flag[LSTRIP] = true;
    if (!t.content.n || map_get(&w->specials, t.content)) return;
    w->special[w->n_special] = t;
    map_put(&w->specials, w->arena, t.content, &w->special[w->n_special++]);
}

static size_t added_count(const Value *list)
{
    return list && list->kind == V_LIST ? list->list.n : 0;
}

/* special_tokens_map.json speaks only where there is no added_tokens_decoder, and then it wins. */
static void read_specials(AddedWork *w, const Sidecar *side, const Style *style, bool legacy)
{
    static const char more[] = "additional_special_tokens";
    const Value *map = legacy ? side->specials : NULL;
    const Value *lists[] = { value_get(side->config, more), value_get(map, more) };
    w->special =
        ARRAY(w->arena, AddedToken, COUNT(roles) + added_count(lists[0]) + added_count(lists[1]));
    for (size_t i = 0; i < COUNT(roles); i++) {
        const Value *v = value_get(map, roles[i]);
        if (!v) v = value_get(side->config, roles[i]);
        Value own = value_of_str(style && style->tokens[i] ? str_of(style->tokens[i]) : STR(""));
        name_special(w, v ? v : &own, style && style->eager_mask && i == MASK);
    }
    for (size_t k = 0; k < COUNT(lists); k++)
        for (size_t i = 0; i < added_count(lists[k]); i++)
            name_special(w, &lists[k]->list.items[i], false);
}

/* ---- the files ---- */
static int settings_by_id(const void *a, const void *b)
{
    int64_t x = ((const AddedToken *)a)->id, y = ((const AddedToken *)b)->id;
    return (x > y) - (x < y);
}

/* {"4": {"content": ...}} */
static size_t from_decoder(const Value *map, AddedToken *out)
{
    size_t n = 0;
    for (size_t i = 0; i < map->map.n; i++) {
        out[n] = added_token_of(&map->map.items[i].value, false);
        if (out[n].content.n && str_int(map->map.items[i].key, &out[n].id)) n++;
    }
    return n;
}

/* {"<x>": 4}: only for tokens that tokenizer.json does not have. */
static size_t from_added(const AddedWork *w, const Value *map, AddedToken *out)
{
    size_t n = 0;
    for (size_t i = 0; i < map->map.n; i++) {
        Str content = map->map.items[i].key;
        Value name = value_of_str(content);
        if (map_get(&w->rows, content)) continue;
        out[n] = added_token_of(&name, map_get(&w->specials, content) != NULL);
        out[n++].id = value_int(&map->map.items[i].value, INT64_MAX);
    }
    return n;
}

static void added_start(AddedWork *w, const Value *added, size_t more)
{
    w->room = added->list.n + more;
    w->list = value_list(w->arena, w->room);
    w->list.list.n = added->list.n;
    if (added->list.n)
        memcpy(w->list.list.items, added->list.items, added->list.n * sizeof *added->list.items);
    for (size_t i = 0; i < added->list.n; i++) {
        Str content = value_str(value_get(&added->list.items[i], "content"), STR(""));
        if (content.n) map_put(&w->rows, w->arena, content, &w->list.list.items[i]);
    }
}

void settings_added(Arena *arena, Value *root, const Sidecar *side, Str tokenizer_class)
{
    static const Value none = { .kind = V_LIST };
    const Value *added = value_get(root, "added_tokens");
    const Value *decoder = value_get(side->config, "added_tokens_decoder");
    bool legacy = !decoder || decoder->kind != V_MAP;
    const Value *file = legacy ? side->added : decoder;
    AddedWork w = { .arena = arena };
    if (added && added->kind != V_LIST) return; /* the loader will say so */
    read_specials(&w, side, convert_class(tokenizer_class), legacy);
    size_t n = file && file->kind == V_MAP ? file->map.n : 0;
    added_start(&w, added ? added : &none, n + w.n_special);
    AddedToken *tokens = ARRAY(arena, AddedToken, n + 1);
    if (n) n = legacy ? from_added(&w, file, tokens) : from_decoder(file, tokens);
    if (n) qsort(tokens, n, sizeof *tokens, settings_by_id);
    for (size_t i = 0; i < n; i++) added_add(&w, tokens[i]);
    for (size_t i = 0; i < w.n_special; i++)
        if (!map_get(&w.rows, w.special[i].content)) added_append(&w, &w.special[i]);
    settings_put(arena, root, "added_tokens", w.list);
}
