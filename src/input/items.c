/* SPDX-License-Identifier: Apache-2.0
 * items.c - the items of a request, by the form that the task's row names. Messages about one item begin
 * with the path inside it ("[1]", ".question"); the reader of the list puts "inputs[3]" in front. */
#include "items.h"

#include "audio/audio.h"
#include "base/file.h"

static const Field text_keys[] = {
    { "text", 1, F_STR, .required = true },
    { "text_pair", 2, F_STR, .nullable = true },
    { 0 },
};
const ItemForm item_texts = {
    .keys = text_keys,
    .part = { ITEM_FIRST, ITEM_SECOND },
    .alone = true,
    .listed = true,
    .one = "a string or a pair of strings",
    .all = "a string, or a list of strings and [first, second] pairs",
};
const ItemForm item_any_texts = {
    .keys = text_keys,
    .part = { ITEM_FIRST, ITEM_SECOND },
    .alone = true,
    .listed = true,
    .empty = true,
    .one = "a string or a pair of strings",
    .all = "a string, or a list of strings and [first, second] pairs",
};

static size_t form_keys(const ItemForm *form)
{
    size_t n = 0;
    while (form->keys[n].name) n++;
    return n;
}

bool item_form_has(const ItemForm *form, ItemPart part)
{
    for (size_t i = 0; form->keys[i].name; i++)
        if (form->part[i] == part) return true;
    return false;
}

bool item_form_needs(const ItemForm *form, ItemPart part)
{
    for (size_t i = 0; form->keys[i].name; i++)
        if (form->part[i] == part && form->keys[i].required) return true;
    return false;
}

bool item_form_is_object(const ItemForm *form, const Value *map)
{
    for (size_t i = 0; form->object && form->keys[i].name; i++)
        if (value_get(map, form->keys[i].name)) return true;
    return false;
}

const ItemFile *item_form_file(const ItemForm *form)
{
    static const ItemFile picture = { "picture", "image", item_read_picture, offsetof(Item, picture) };
    static const ItemFile sound = { "sound", "audio", item_read_sound, offsetof(Item, sound) };
    return item_form_has(form, ITEM_PICTURE) ? &picture : item_form_has(form, ITEM_SOUND) ? &sound : NULL;
}

static int item_hex(char c)
{
    if (c >= '0' && c <= '9') return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static Str item_percent_decoded(Arena *arena, Str text)
{
    char *to = arena_raw(arena, text.n + 1);
    size_t n = 0;
    for (size_t i = 0; i < text.n; i++) {
        const bool room = text.p[i] == '%' && i + 2 < text.n;
        const int high = room ? item_hex(text.p[i + 1]) : -1, low = room ? item_hex(text.p[i + 2]) : -1;
        const bool coded = high >= 0 && low >= 0;
        to[n++] = coded ? (char)(high << 4 | low) : text.p[i];
        i += coded ? 2 : 0;
    }
    return (Str){ to, n };
}

/* Engines call a file file:///a b.png (Daft), file:/a b.png (Spark) or file:///a%20b.png, as browsers do. */
static Str item_path_of_url(Arena *arena, Str url)
{
    static const char *const heads[] = { "file://localhost/", "file:///", "file:/" };
    for (size_t i = 0; i < COUNT(heads); i++) {
        if (!str_starts(url, heads[i])) continue;
        const size_t head = strlen(heads[i]) - 1; /* its last character begins the path */
        const Str path = { url.p + head, url.n - head };
        return file_is(str_dup(arena, path)) ? path : item_percent_decoded(arena, path);
    }
    return url;
}

bool item_open_file(Arena *arena, const ItemForm *form, Str path, Item *item, Err *err)
{
    enum { MOST = 1 << 30 };
    const ItemFile *file = item_form_file(form);
    Value text = value_of_str(path);
    Str *bytes = (Str *)((char *)item + file->at);
    if (str_starts(path, "data:")) return file->read(arena, &text, bytes, err);
    if (str_starts(path, "http://") || str_starts(path, "https://"))
        return fail(err, EF_INVALID_INPUT, "found the URL \"%.*s\", wanted the path of a file: URLs are not "
                    "fetched", (int)MIN(path.n, 60), path.p);
    return file_read(arena, str_dup(arena, item_path_of_url(arena, path)), MOST, bytes, err);
}

/* A list without boxes: each of its texts is a row. The words of a page are one row. */
static bool form_has_choices(const ItemForm *form)
{
    return item_form_has(form, ITEM_LIST) && !item_form_has(form, ITEM_BOXES);
}

/* "[3][1]: found" of boxes becomes "boxes[3][1]: found". */
static bool item_within(const char *name, Err *err)
{
    Err below = *err;
    return fail(err, below.code, "%s%s%s", name, below.message[0] == '[' ? "" : ": ", below.message);
}

/* ---- values ---- */
static bool item_check_text(Str text, bool empty, Err *err)
{
    if (text.n == 0 && !empty) return fail(err, EF_INVALID_INPUT, ITEM_EMPTY);
    if (text.n > INT32_MAX)
        return fail(err, EF_TOO_LARGE, "found %zu bytes, wanted at most %d", text.n, INT32_MAX);
    return true;
}

static bool item_is(const Value *v, ValueKind kind, const char *wanted, Err *err)
{
    return v->kind == kind || fail(err, EF_INVALID_INPUT, "found %s, wanted %s",
                                   value_kind_name(v->kind), wanted);
}

static bool item_read_text(const ItemForm *form, const Value *v, Str *out, Err *err)
{
    if (!item_is(v, V_STR, "a string", err)) return false;
    *out = v->s;
    return item_check_text(v->s, form->empty, err);
}

static bool item_read_second(const ItemForm *form, const Value *v, Item *out, Err *err)
{
    if (!item_read_text(form, v, &out->second, err)) return false;
    if (out->second.n == 0) out->second = (Str){ 0 };
    return true;
}

static bool item_read_list(Arena *arena, const ItemForm *form, const Value *v, Item *out, Err *err)
{
    if (!item_is(v, V_LIST, "a list of strings", err)) return false;
    if (v->list.n == 0 && !form->blank) return fail(err, EF_INVALID_INPUT, "found an empty list");
    Str *list = ARRAY(arena, Str, v->list.n);
    for (size_t i = 0; i < v->list.n; i++)
        if (!item_read_text(form, &v->list.items[i], &list[i], err))
            return item_within(str_format(arena, "[%zu]", i), err);
    out->list = list;
    out->n = v->list.n;
    return true;
}

static bool item_set(Arena *arena, const ItemForm *form, size_t key, const Value *v, Item *out,
                     Err *err)
{
    out->blank = form->empty;
    switch (form->part[key]) {
    case ITEM_FIRST: return item_read_text(form, v, &out->first, err);
    case ITEM_SECOND: return item_read_second(form, v, out, err);
    case ITEM_LIST: return item_read_list(arena, form, v, out, err);
    case ITEM_BOXES: return item_read_boxes(arena, v, out, err);
    case ITEM_WORD_BOXES: return item_read_word_boxes(arena, v, out, err);
    case ITEM_PICTURE: return item_read_picture(arena, v, &out->picture, err);
    case ITEM_SOUND: return item_read_sound(arena, v, &out->sound, err);
    case ITEM_NUMBERS: return item_read_numbers(arena, v, out, err);
    case ITEM_RATE: return item_read_rate(arena, v, out, err);
    }
    return true;
}

/* ---- one item ---- */
/* A page has its words with their boxes, or a picture to read them from. */
static bool item_check_page(const ItemForm *form, const Item *item, Err *err)
{
    if (!item_form_has(form, ITEM_BOXES)) return true;
    if (item->list && !item->boxes)
        return fail(err, EF_INVALID_INPUT, "boxes: found nothing, wanted one for each word");
    if (item->n > PAGE_WORDS_MOST)
        return fail(err, EF_TOO_LARGE, "words: found %zu, wanted at most %d", item->n, PAGE_WORDS_MOST);
    return item->list || item->picture.p ||
           fail(err, EF_INVALID_INPUT, "words: found nothing, wanted words and boxes, or an image to read them from");
}

bool item_read_object(Arena *arena, const ItemForm *form, const Value *map, Item *out, Err *err)
{
    size_t found = 0;
    for (size_t i = 0; form->keys[i].name; i++) {
        const Field *key = &form->keys[i];
        const Value *v = value_get(map, key->name);
        if (!key->required && (!v || v->kind == V_NULL)) continue;
        if (!v) return fail(err, EF_INVALID_INPUT, "%s: found nothing, wanted one", key->name);
        if (!item_set(arena, form, i, v, out, err)) return item_within(key->name, err);
        found++;
    }
    if (form->either && found != 1)
        return fail(err, EF_INVALID_INPUT, "%s: found %s, wanted one of %s and %s", form->keys[0].name,
                    found ? "both" : "nothing", form->keys[0].name, form->keys[1].name);
    if (!item_check_page(form, out, err)) return false;
    if (out->boxes) item_join_words(arena, out);
    return !item_form_has(form, ITEM_SOUND) || item_check_sound(out, err);
}

static bool item_read_values(Arena *arena, const ItemForm *form, const Value *list, Item *out,
                             Err *err)
{
    size_t n = form_keys(form);
    if (list->list.n != n)
        return fail(err, EF_INVALID_INPUT, "found a list of %zu, wanted %s", list->list.n, form->one);
    for (size_t i = 0; i < n; i++)
        if (!item_set(arena, form, i, &list->list.items[i], out, err)) return within(err, "[%zu]", i);
    return true;
}

static bool item_is_alone(const Value *v)
{
    return v->kind == V_STR || v->kind == V_BYTES;
}

/* The key whose value it is: bytes and data URIs are a picture wherever the form has one. */
static size_t item_alone_key(const ItemForm *form, const Value *v)
{
    size_t key = 0;
    bool picture = v->kind == V_BYTES || str_starts(v->s, "data:image/");
    while (picture && form->keys[key].name && form->part[key] != ITEM_PICTURE) key++;
    return form->keys[key].name ? key : 0;
}

static bool item_read(Arena *arena, const ItemForm *form, const Value *v, Item *out, Err *err)
{
    if (form->listed && v->kind == V_LIST) return item_read_values(arena, form, v, out, err);
    if (form->object && v->kind == V_MAP)
        return item_read_object(arena, form, v, out, err) ||
               fail(err, err->code, ".%s", str_format(arena, "%s", err->message));
    if (form->alone && item_is_alone(v))
        return item_set(arena, form, item_alone_key(form, v), v, out, err);
    return fail(err, EF_INVALID_INPUT, "found %s, wanted %s", value_kind_name(v->kind), form->one);
}

/* ---- all of them ---- */
static bool items_check_count(const ItemForm *form, const char *name, size_t n, size_t limit, Err *err)
{
    if (n == 0 && item_form_has(form, ITEM_SOUND))
        return fail(err, EF_INVALID_INPUT, "%s: found none, wanted at least one sound", name);
    if (n == 0)
        return fail(err, EF_INVALID_INPUT, "%s: %s", name, item_form_has(form, ITEM_PICTURE) && form->alone
                    ? "Cannot classify empty image list: found none, wanted at least one picture"
                    : ITEM_EMPTY ": found an empty list, wanted at least one text");
    if (n <= limit) return true;
    return fail(err, EF_INVALID_INPUT, "%s: found %zu, wanted at most %zu", name, n, limit);
}

/* Every choice is a row to run, so choices count as texts do. */
static bool items_check_choices(const ItemForm *form, const Items *items, size_t limit, Err *err)
{
    size_t n = 0;
    for (size_t i = 0; i < items->n && form_has_choices(form); i++) n += items->item[i].n;
    if (n <= limit) return true;
    return fail(err, EF_INVALID_INPUT, "inputs: found %zu choices in all, wanted at most %zu", n,
                limit);
}

/* "[1]: found" of item 3 becomes "inputs[3][1]: found". */
static bool item_path(const char *name, size_t index, Err *err)
{
    Err below = *err;
    bool deeper = below.message[0] == '[' || below.message[0] == '.';
    return fail(err, below.code, "%s[%zu]%s%s", name, index, deeper ? "" : ": ", below.message);
}

bool items_read(Arena *arena, const ItemForm *form, const Value *v, size_t limit, Items *out,
                Err *err)
{
    return items_read_called(arena, form, "inputs", v, limit, out, err);
}

bool items_read_called(Arena *arena, const ItemForm *form, const char *name, const Value *v, size_t limit,
                       Items *out, Err *err)
{
    bool one = v && ((form->alone && item_is_alone(v)) || (v->kind == V_MAP && form->object));
    if (!one && (!v || v->kind != V_LIST))
        return fail(err, EF_INVALID_INPUT, "%s: found %s, wanted %s", name,
                    v ? value_kind_name(v->kind) : "nothing", form->all);
    const Value *items = one ? v : v->list.items;
    size_t n = one ? 1 : v->list.n;
    if (!items_check_count(form, name, n, limit, err)) return false;
    *out = (Items){ ARRAY(arena, Item, n), n };
    for (size_t i = 0; i < n; i++)
        if (!item_read(arena, form, &items[i], &out->item[i], err)) return item_path(name, i, err);
    return items_check_choices(form, out, limit, err);
}

static bool item_has(const Item *item, ItemPart part)
{
    const void *const have[] = { [ITEM_FIRST] = item->first.p, [ITEM_SECOND] = item->second.p,
                                 [ITEM_LIST] = item->n ? item->list : NULL, [ITEM_BOXES] = item->boxes,
                                 [ITEM_PICTURE] = item->picture.n ? item->picture.p : NULL,
                                 [ITEM_WORD_BOXES] = item->boxes, [ITEM_SOUND] = item->sound.n ? item->sound.p : NULL,
                                 [ITEM_NUMBERS] = item->numbers, [ITEM_RATE] = item->numbers };
    return have[part] != NULL;
}

bool item_check(const ItemForm *form, const Item *item, Err *err)
{
    if (item_form_has(form, ITEM_SOUND)) return item_check_sound(item, err);
    for (size_t i = 0; form->keys[i].name; i++)
        if (form->keys[i].required && !item_has(item, form->part[i]))
            return fail(err, EF_INVALID_INPUT, "found no %s, wanted %s", form->keys[i].name, form->one);
    for (size_t i = 0; i < item->n; i++)
        if (!item_check_text(item->list[i], item->blank, err)) return within(err, "%zu", i);
    if (item->boxes && !item_check_boxes(item, err)) return item_within("boxes", err);
    if (!item_check_page(form, item, err)) return false;
    bool wordless = (item->picture.p && !item->first.p) || (form->blank && item->boxes && item->n == 0);
    if (!wordless && !item_check_text(item->first, item->blank, err)) return false;
    return !item_second(item) || item_check_text(item->second, item->blank, err);
}

static bool item_is_utf8(const Item *item, Err *err)
{
    bool valid = utf8_valid(item->first) && (!item_second(item) || utf8_valid(item->second));
    for (size_t i = 0; valid && i < item->n; i++) valid = utf8_valid(item->list[i]);
    return valid || fail(err, EF_INVALID_INPUT, "found bytes that are not UTF-8");
}

bool items_check(const ItemForm *form, const Items *items, size_t limit, Err *err)
{
    if (!items_check_count(form, "inputs", items->n, limit, err)) return false;
    for (size_t i = 0; i < items->n; i++)
        if (!item_check(form, &items->item[i], err) || !item_is_utf8(&items->item[i], err))
            return item_path("inputs", i, err);
    return items_check_choices(form, items, limit, err);
}

size_t items_each(const ItemForm *form, size_t n)
{
    size_t each = 0;
    for (size_t i = 0; form->keys[i].name; i++) each += form->keys[i].required;
    return item_form_has(form, ITEM_BOXES) ? 1 : item_form_has(form, ITEM_LIST) ? MAX(n, (size_t)1) : MAX(each, 1);
}

/* One item: the first text, and the others as its list. */
static bool item_of_texts(Arena *arena, const ItemForm *form, const Str *texts, size_t n, Items *out,
                          Err *err)
{
    *out = (Items){ ARRAY(arena, Item, 1), n > 0 };
    if (n == 0) return true;
    *out->item = (Item){ .first = texts[0], .list = texts + 1, .n = n - 1 };
    return n > 1 || fail(err, EF_INVALID_INPUT, "found a text, wanted %s, then %s", form->keys[0].name,
                         form->keys[1].name);
}

bool items_of_texts(Arena *arena, const ItemForm *form, const Str *texts, size_t n, Items *out,
                    Err *err)
{
    size_t each = items_each(form, n);
    if (item_form_has(form, ITEM_BOXES) && n)
        return fail(err, EF_INVALID_INPUT, "found a text, wanted %s", form->one);
    if (item_form_has(form, ITEM_LIST)) return item_of_texts(arena, form, texts, n, out, err);
    if (item_form_file(form) && n)
        return fail(err, EF_INVALID_INPUT, "found a text, wanted %s", form->one);
    if (n % each)
        return fail(err, EF_INVALID_INPUT, "found %zu texts, wanted %zu for each of %s", n, each,
                    form->one);
    *out = (Items){ ARRAY(arena, Item, n / each + 1), n / each };
    for (size_t i = 0; i < n; i++) {
        Item *item = &out->item[i / each];
        Str *to = form->part[i % each] == ITEM_FIRST ? &item->first : &item->second;
        *to = texts[i];
    }
    return true;
}

static void sample_set(Arena *arena, ItemPart part, const Str *texts, size_t n, size_t i, Item *item)
{
    enum { CHOICES = 2 };
    Str *list;
    switch (part) {
    case ITEM_FIRST: item->first = texts[i]; break;
    case ITEM_SECOND: item->second = texts[(i + 1) % n]; break;
    case ITEM_LIST:
        item->list = list = ARRAY(arena, Str, CHOICES);
        for (item->n = 0; item->n < CHOICES; item->n++) list[item->n] = texts[(i + 1 + item->n) % n];
        break;
    case ITEM_BOXES: item_place_words(arena, texts[i], item); break;
    case ITEM_WORD_BOXES: break;
    case ITEM_PICTURE: item->picture = item_sample_picture(arena, i); break;
    case ITEM_SOUND: item->sound = item_sample_sound(arena, i); break;
    case ITEM_NUMBERS: case ITEM_RATE: break; /* instead of the file */
    }
}

Item *items_of_samples(Arena *arena, const ItemForm *form, const Str *texts, size_t n)
{
    Item *items = ARRAY(arena, Item, n + 1);
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; form->keys[k].name; k++)
            if (form->keys[k].required || form->part[k] == ITEM_BOXES || form->part[k] == ITEM_SOUND)
                sample_set(arena, form->part[k], texts, n, i, &items[i]);
    return items;
}

/* ---- described ---- */
typedef struct Choice {          /* a schema, or anyOf several */
    Value list;
} Choice;

static void choice_add(Choice *c, Value one)
{
    c->list.list.items[c->list.list.n++] = one;
}

static Value choice_of(Arena *arena, Choice *c)
{
    if (c->list.list.n == 1) return c->list.list.items[0];
    Value any = value_map(arena, 2); /* and a description */
    value_add(&any, "anyOf", c->list);
    return any;
}

static Choice choice_begin(Arena *arena)
{
    Choice c = { value_list(arena, 4) };
    c.list.list.n = 0;
    return c;
}

static Value describe_array(Arena *arena, size_t least, size_t most)
{
    Value array = value_map(arena, 5); /* and what is in it, and a description */
    value_add(&array, "type", value_of_text("array"));
    value_add(&array, "minItems", value_of_int((int64_t)least));
    if (most) value_add(&array, "maxItems", value_of_int((int64_t)most));
    return array;
}

static Value describe_string(Arena *arena)
{
    Value string = value_map(arena, 4); /* and a description */
    value_add(&string, "type", value_of_text("string"));
    value_add(&string, "minLength", value_of_int(1));
    return string;
}

/* A file in base64. */
static Value describe_file(Arena *arena)
{
    Value string = describe_string(arena);
    value_add(&string, "contentEncoding", value_of_text("base64"));
    return string;
}

static Value describe_integer(Arena *arena, int most)
{
    Value number = value_map(arena, 4); /* and a description */
    value_add(&number, "type", value_of_text("integer"));
    value_add(&number, "minimum", value_of_int(0));
    value_add(&number, "maximum", value_of_int(most));
    return number;
}

/* [samples], or [channels][samples] */
static Value describe_numbers(Arena *arena)
{
    Value number = value_map(arena, 1), channel = describe_array(arena, 1, 0);
    Value list = describe_array(arena, 1, 0);
    Choice either = choice_begin(arena);
    value_add(&number, "type", value_of_text("number"));
    value_add(&channel, "items", number);
    choice_add(&either, number);
    choice_add(&either, channel);
    value_add(&list, "items", choice_of(arena, &either));
    return list;
}

/* most: texts of a list; 0: not said. */
static Value describe_part(Arena *arena, ItemPart part, size_t most)
{
    Value list, box;
    switch (part) {
    case ITEM_FIRST:
    case ITEM_SECOND: break;
    case ITEM_WORD_BOXES: return describe_array(arena, 0, 0);
    case ITEM_PICTURE: case ITEM_SOUND: return describe_file(arena);
    case ITEM_NUMBERS: return describe_numbers(arena);
    case ITEM_RATE: return describe_integer(arena, SOUND_RATE_MOST);
    case ITEM_LIST:
        list = describe_array(arena, 1, most);
        value_add(&list, "items", describe_string(arena));
        return list;
    case ITEM_BOXES:
        list = describe_array(arena, 1, 0), box = describe_array(arena, BOX_SIDES, BOX_SIDES);
        value_add(&box, "items", describe_integer(arena, BOX_MOST));
        value_add(&list, "items", box);
        return list;
    }
    return describe_string(arena);
}

/* [first, second]: one schema where both are alike, else one for each place. */
static Value describe_values(Arena *arena, const ItemForm *form)
{
    size_t n = form_keys(form);
    Value array = describe_array(arena, n, n), each = value_list(arena, n);
    bool same = true;
    for (size_t i = 0; i < n; i++) {
        each.list.items[i] = describe_part(arena, form->part[i], 0);
        same &= (form->part[i] == ITEM_LIST) == (form->part[0] == ITEM_LIST);
    }
    value_add(&array, same ? "items" : "prefixItems", same ? each.list.items[0] : each);
    return array;
}

static Value describe_object(Arena *arena, const ItemForm *form, size_t most)
{
    Value schema = schema_describe(arena, form->keys);
    Value *properties = (Value *)value_get(&schema, "properties");
    for (size_t i = 0; i < properties->map.n; i++) {
        Value part = describe_part(arena, form->part[i], form_has_choices(form) ? most : 0);
        if (form->keys[i].help) value_add(&part, "description", value_of_text(form->keys[i].help));
        properties->map.items[i].value = part;
    }
    return schema;
}

static Choice describe_one(Arena *arena, const ItemForm *form, size_t most, bool in_list)
{
    Choice c = choice_begin(arena);
    if (form->alone) choice_add(&c, describe_part(arena, form->part[0], 0));
    if (form->object) choice_add(&c, describe_object(arena, form, most));
    if (form->listed && in_list) choice_add(&c, describe_values(arena, form));
    return c;
}

Value items_describe(Arena *arena, const ItemForm *form, size_t most)
{
    Choice all = describe_one(arena, form, most, false), one = describe_one(arena, form, most, true);
    Value array = describe_array(arena, 1, most);
    value_add(&array, "items", choice_of(arena, &one));
    choice_add(&all, array);
    return choice_of(arena, &all);
}
