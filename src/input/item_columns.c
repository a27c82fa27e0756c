/* SPDX-License-Identifier: Apache-2.0
 * item_columns.c - see item_columns.h. */
#include "item_columns.h"

/* ---- names ---- */
bool item_names_texts(const ItemNames *s)
{
    return s->form == &item_texts;
}

bool item_names_files(const ItemNames *s)
{
    return s->form == &item_pictures || s->form == &item_sounds;
}

bool item_names_pages(const ItemNames *s)
{
    return item_form_has(s->form, ITEM_BOXES);
}

const char *item_names_path(const ItemNames *s)
{
    return s->field ? s->field : "path";
}

const char *item_names_text(const ItemNames *s)
{
    return s->field ? s->field : "text";
}

bool item_names_path_for(const ItemNames *s, const Field *key)
{
    return item_names_pages(s) && strcmp(key->name, item_form_file(s->form)->key) == 0;
}

bool item_names_fit(const ItemNames *s, const char *field_flag, const char *second_flag, Err *err)
{
    if (s->second && !item_names_texts(s))
        return fail(err, EF_USAGE, "%s: found a model that takes %s, wanted one that takes texts", second_flag,
                    s->form->one);
    if ((!s->field && !s->second) || item_names_texts(s) || item_names_files(s)) return true;
    return fail(err, EF_USAGE, "%s: found a model whose records have keys of their own, wanted %s",
                s->second ? second_flag : field_flag, s->form->one);
}

/* ---- values ---- */
/* A file inside of a table, as datasets have it: {bytes, path}. */
static const Value *bytes_or_path(const Value *v)
{
    const Value *bytes = value_get(v, "bytes"), *path = value_get(v, "path");
    if (bytes && bytes->kind == V_BYTES) return bytes;
    return path && path->kind == V_STR ? path : NULL;
}

static bool is_empty_file(const Value *v)
{
    return v && v->kind == V_MAP && (value_get(v, "bytes") || value_get(v, "path")) && !bytes_or_path(v);
}

static bool take_bytes(const ItemNames *s, Arena *arena, const Value *bytes, Item *item, Err *err)
{
    Value object = value_map(arena, 1);
    value_add(&object, item_form_file(s->form)->key, *bytes);
    return item_read_object(arena, s->form, &object, item, err);
}

/* Samples instead of a file: {array, sampling_rate}. */
static bool holds_samples(const ItemNames *s, const Value *v)
{
    return v && item_form_has(s->form, ITEM_NUMBERS) && (value_get(v, "array") || value_get(v, "raw"));
}

static bool take_file(const ItemNames *s, Arena *arena, const Value *v, Item *item, Err *err)
{
    const Value *path = v->kind == V_MAP ? value_get(v, item_names_path(s)) : v;
    const char *key = item_form_file(s->form)->key;
    const Value *inside = path && path->kind == V_MAP ? path : value_get(v, key);
    if (holds_samples(s, inside)) return item_read_object(arena, s->form, inside, item, err);
    if (path && path->kind == V_MAP) path = bytes_or_path(path);
    if (path && path->kind == V_STR) return item_open_file(arena, s->form, path->s, item, err);
    if (path && path->kind == V_BYTES) return take_bytes(s, arena, path, item, err);
    const Value *own = value_get(v, key);
    if (own && own->kind == V_MAP && (own = bytes_or_path(own)) != NULL)
        return own->kind == V_STR ? item_open_file(arena, s->form, own->s, item, err)
                                  : take_bytes(s, arena, own, item, err);
    if (is_empty_file(inside))
        return fail(err, EF_INVALID_INPUT, "%s: found neither bytes nor a path, wanted one of them", key);
    if (v->kind == V_MAP && (holds_samples(s, v) || value_get(v, key)))
        return item_read_object(arena, s->form, v, item, err);
    return fail(err, EF_INVALID_INPUT, "found %s, wanted a path, or an object with %s or %s",
                value_kind_name(path ? path->kind : v->kind), item_names_path(s), key);
}

/* Its picture may be a file, or {bytes, path}; a question that is asked of all pages is this one's, if it has none. */
static bool take_page(const ItemNames *s, Arena *arena, const Value *v, Item *item, Err *err)
{
    const char *key = item_form_file(s->form)->key;
    const Value *image = value_get(v, key), *asked = value_get(v, "question");
    const bool own = image && image->kind != V_NULL && image->kind != V_MAP;
    const Value *file = own ? NULL : image && image->kind == V_MAP ? image : value_get(v, item_names_path(s));
    if (file && file->kind == V_MAP) file = bytes_or_path(file);
    Value page = value_map(arena, v->map.n + 2);
    if (file && file->kind == V_STR) {
        if (!item_open_file(arena, s->form, file->s, item, err)) return false;
        value_add(&page, key, value_of_bytes(item->picture));
    } else if (file && file->kind == V_BYTES) value_add(&page, key, *file);
    const bool instead = page.map.n > 0;
    for (size_t i = 0; i < v->map.n; i++)
        if (!instead || !str_is(v->map.items[i].key, key)) page.map.items[page.map.n++] = v->map.items[i];
    if (!asked && s->question.p) value_add(&page, "question", value_of_str(s->question));
    return item_read_object(arena, s->form, &page, item, err);
}

void item_of_text(const ItemNames *s, Str text, Item *item)
{
    *item = s->question.p ? (Item){ .first = s->question, .second = text } : (Item){ .first = text };
}

static bool take_pair(const ItemNames *s, const Value *v, Item *item)
{
    if (v->kind == V_STR) return item_of_text(s, v->s, item), true;
    if (v->kind != V_LIST || v->list.n != 2 || v->list.items[0].kind != V_STR ||
        v->list.items[1].kind != V_STR)
        return false;
    item->first = v->list.items[0].s;
    item->second = v->list.items[1].s;
    return true;
}

static bool take_text_or_pair(const ItemNames *s, const Value *text, Item *item, Err *err)
{
    return take_pair(s, text, item) ||
           fail(err, EF_INVALID_INPUT, "%s: found %s, wanted a string or two of them", item_names_text(s),
                value_kind_name(text->kind));
}

static bool take_map(const ItemNames *s, const Value *v, Item *item, Err *err)
{
    const char *field = item_names_text(s), *second = s->second ? s->second : "text_pair";
    const Value *text = value_get(v, field), *pair = value_get(v, second);
    if (!text && !s->field) text = value_get(v, "inputs");
    if (!text) return fail(err, EF_INVALID_INPUT, "found no \"%s\", wanted one", field);
    if (!take_text_or_pair(s, text, item, err)) return false;
    if (!pair || pair->kind == V_NULL) return true;
    if (pair->kind != V_STR || item->second.p)
        return fail(err, EF_INVALID_INPUT, "%s: wanted one string beside one text", second);
    item->second = pair->s;
    return true;
}

bool item_of_value(const ItemNames *s, Arena *arena, const Value *v, Item *item, Err *err)
{
    if (item_names_files(s)) return take_file(s, arena, v, item, err);
    if (v->kind == V_MAP && item_names_pages(s)) return take_page(s, arena, v, item, err);
    if (v->kind == V_MAP && !item_names_texts(s)) return item_read_object(arena, s->form, v, item, err);
    if (v->kind == V_MAP) return take_map(s, v, item, err);
    return take_pair(s, v, item) || fail(err, EF_INVALID_INPUT, "found %s, wanted a text, two texts or an object",
                                   value_kind_name(v->kind));
}

/* ---- columns ---- */
/* A pair of texts: a list of them. */
static bool holds_pairs(const ArrowField *f)
{
    const bool list = f->kind == ARROW_LIST || f->kind == ARROW_LARGE_LIST || f->kind == ARROW_FIXED_LIST;
    return list && !f->encoded && arrow_is_text(&f->child[0]);
}

/* {bytes, path} */
static bool holds_files(const ArrowField *f)
{
    return f->kind == ARROW_STRUCT;
}

/* What stands for an item of texts. A second text that nobody has named is one only if it can be. */
static bool is_text_key(const ItemNames *s, const ArrowFields *all, const ArrowField *f)
{
    const int text = item_column_find(all, str_of(item_names_text(s)));
    if (str_is(f->name, item_names_text(s))) return true;
    if (s->second) return str_is(f->name, s->second);
    return str_is(f->name, "text_pair") && arrow_is_text(f) && text >= 0 &&
           !holds_pairs(&all->field[text]);
}

static bool is_key(const ItemNames *s, const ArrowFields *all, const ArrowField *f)
{
    const bool path = item_names_files(s) || item_names_pages(s);
    if (item_names_texts(s)) return is_text_key(s, all, f);
    if (path && str_is(f->name, item_names_path(s))) return s->field || arrow_is_text(f) || holds_files(f);
    for (const Field *key = s->form->keys; key->name; key++)
        if (str_is(f->name, key->name)) return true;
    return false;
}

/* ---- are they what is wanted? ---- */
int item_column_find(const ArrowFields *all, Str name)
{
    for (int i = 0; i < all->n; i++)
        if (str_eq(all->field[i].name, name)) return i;
    return -1;
}

bool item_column_single(const ArrowFields *all, int column, Err *err)
{
    for (int i = column + 1; i < all->n; i++)
        if (str_eq(all->field[i].name, all->field[column].name))
            return fail(err, EF_INVALID_INPUT, "columns %d and %d of %d are both \"%.*s\", wanted one: rename the "
                        "other", column + 1, i + 1, all->n, STR_ARG(all->field[i].name));
    return true;
}

bool item_column_readable(const ArrowFields *all, int column, const char *what, Err *err)
{
    const char *type;
    const ArrowField *f = &all->field[column];
    return arrow_can_read(f, &type) ||
           fail(err, EF_UNSUPPORTED, "column \"%.*s\": found %s, which is not %s", STR_ARG(f->name), type, what);
}

typedef struct ColumnsCall { /* the search for columns */
    const ItemNames *names;
    const ArrowFields *all;
    ItemLacks *lacks;
    void *context;
} ColumnsCall;

static bool columns_has(const ColumnsCall *c, const char *name)
{
    return item_column_find(c->all, str_of(name)) >= 0;
}

static bool columns_need(const ColumnsCall *c, const char *name, ItemLack lack, Err *err)
{
    return columns_has(c, name) || c->lacks(c->context, name, lack, err);
}

/* The one of that name is there, and fits. */
static bool columns_need_texts(const ColumnsCall *c, const char *name, ItemLack lack, bool (*fits)(const ArrowField *),
                               Err *err)
{
    if (!columns_need(c, name, lack, err)) return false;
    const ArrowField *f = &c->all->field[item_column_find(c->all, str_of(name))];
    return arrow_is_text(f) || (fits && fits(f)) ||
           fail(err, EF_INVALID_INPUT, "column \"%s\": found the type %s, wanted texts%s", name,
                arrow_kind_name(f->kind), fits == holds_pairs ? ", or lists of two" : "");
}

/* Whatever stands for the items is there. */
static bool columns_need_items(const ColumnsCall *c, Err *err)
{
    const ItemNames *s = c->names;
    const ItemLack lack = s->field ? ITEM_LACKS_FIELD : ITEM_LACKS_DEFAULT;
    if (s->second && !columns_need_texts(c, s->second, ITEM_LACKS_SECOND, NULL, err)) return false;
    if (item_names_texts(s)) return columns_need_texts(c, item_names_text(s), lack, holds_pairs, err);
    if (item_names_files(s))
        return (!s->field && (columns_has(c, item_form_file(s->form)->key) || columns_has(c, "array"))) ||
               columns_need_texts(c, item_names_path(s), lack, holds_files, err);
    const bool path = columns_has(c, item_names_path(s));
    for (const Field *key = s->form->keys; key->name; key++)
        if (key->required && !(path && item_names_path_for(s, key)) &&
            !columns_need(c, key->name, ITEM_LACKS_KEY, err))
            return false;
    return true;
}

bool item_columns_choose(Arena *arena, const ItemNames *names, const ArrowFields *all, ItemLacks *lacks, void *context,
                         ItemColumns *out, Err *err)
{
    const ColumnsCall c = { names, all, lacks, context };
    *out = (ItemColumns){ .names = names, .all = all, .used = ARRAY(arena, int, all->n), .alone = -1 };
    if (!columns_need_items(&c, err)) return false;
    for (int i = 0; i < all->n; i++) {
        if (!is_key(names, all, &all->field[i])) continue;
        if (!item_column_single(all, i, err) || !item_column_readable(all, i, "read", err)) return false;
        out->used[out->n++] = i;
    }
    if (item_names_texts(names) && out->n == 1) out->alone = out->used[0];
    return true;
}

/* ---- rows ---- */
static void settle_value(Arena *arena, bool own, Value *v)
{
    if (v->kind == V_STR && !utf8_valid(v->s)) v->kind = V_BYTES;
    if (own && (v->kind == V_STR || v->kind == V_BYTES)) v->s.p = str_dup(arena, v->s);
    for (size_t i = 0; v->kind == V_LIST && i < v->list.n; i++) settle_value(arena, own, &v->list.items[i]);
    for (size_t i = 0; v->kind == V_MAP && i < v->map.n; i++) settle_value(arena, own, &v->map.items[i].value);
}

Value item_cell(Arena *arena, const ArrowColumn *column, int64_t row, bool own)
{
    Value v = arrow_value(arena, column, row);
    settle_value(arena, own, &v);
    return v;
}

/* Bytes of a column that does not say whether they are texts, and texts whose bytes are none. */
static bool take_texts(Value *v, Err *err)
{
    if (v->kind == V_BYTES && !utf8_valid(v->s))
        return fail(err, EF_INVALID_INPUT, "found bytes that are not valid UTF-8");
    if (v->kind == V_BYTES) v->kind = V_STR;
    for (size_t i = 0; v->kind == V_LIST && i < v->list.n; i++)
        if (!take_texts(&v->list.items[i], err)) return false;
    return true;
}

/* A value of a column that an item is made of. */
static bool take_cell(Arena *arena, const ItemNames *names, const ArrowColumn *column, int64_t row, bool own,
                      Value *out, Err *err)
{
    *out = item_cell(arena, column, row, own);
    return !item_names_texts(names) || take_texts(out, err);
}

bool item_of_row(Arena *arena, const ItemColumns *c, const ArrowColumn *column, int64_t row, bool own, Item *item,
                 Err *err)
{
    const ItemNames *names = c->names;
    Value cell, object;
    if (c->alone >= 0)
        return take_cell(arena, names, &column[c->alone], row, own, &cell, err) &&
               take_text_or_pair(names, &cell, item, err);
    object = value_map(arena, (size_t)c->n);
    for (int i = 0; i < c->n; i++) {
        const Str name = c->all->field[c->used[i]].name;
        if (!take_cell(arena, names, &column[c->used[i]], row, own, &cell, err)) return false;
        if (cell.kind != V_NULL || str_is(name, item_names_text(names)))
            object.map.items[object.map.n++] = (Member){ name, cell };
    }
    if (item_names_files(names) && object.map.n == 0) object = (Value){ .kind = V_NULL };
    return item_of_value(names, arena, &object, item, err);
}
