/* SPDX-License-Identifier: Apache-2.0
 * examples.c - a body of POST /predict to begin with, of the texts that the model card or the task's row gives. */
#include "parts.h"

static Value example_texts(Arena *arena, const Str *text, size_t n)
{
    Value list = value_list(arena, n);
    for (size_t i = 0; i < n; i++) list.list.items[i] = value_of_str(text[i]);
    return list;
}

static Value example_boxes(Arena *arena, const Item *item)
{
    Value list = value_list(arena, item->n);
    for (size_t i = 0; i < item->n; i++) {
        Value *box = &list.list.items[i];
        *box = value_list(arena, BOX_SIDES);
        for (int k = 0; k < BOX_SIDES; k++) box->list.items[k] = value_of_int(item->boxes[i * BOX_SIDES + (size_t)k]);
    }
    return list;
}

/* null: the item has no such part, or it is a file. */
static Value example_part(Arena *arena, ItemPart part, const Item *item)
{
    if (part == ITEM_FIRST && item->first.n) return value_of_str(item->first);
    if (part == ITEM_SECOND && item->second.n) return value_of_str(item->second);
    if (part == ITEM_LIST && item->list) return example_texts(arena, item->list, item->n);
    if (part == ITEM_BOXES && item->boxes) return example_boxes(arena, item);
    return value_null();
}

static Value example_object(Arena *arena, const ItemForm *form, const Item *item)
{
    Value object = value_map(arena, ITEM_KEYS);
    for (size_t k = 0; form->keys[k].name; k++) {
        Value value = example_part(arena, form->part[k], item);
        if (value.kind != V_NULL) value_add(&object, form->keys[k].name, value);
    }
    return object;
}

static Value kind_example(Arena *arena, const Site *site)
{
    const ItemForm *form = site->items;
    bool files = item_form_needs(form, ITEM_PICTURE) || item_form_has(form, ITEM_SOUND);
    Value body = value_map(arena, 1);
    if (files || !site->samples) return value_null();
    Item *items = items_of_samples(arena, form, site->sample, site->samples);
    bool texts = form->alone && form->part[0] == ITEM_FIRST;
    value_add(&body, "inputs", texts ? example_texts(arena, site->sample, site->samples)
                                     : example_object(arena, form, &items[0]));
    return body;
}

void kind_schema_example(Arena *arena, const Site *site, Value *schema)
{
    Value example = kind_example(arena, site), list = value_list(arena, 1);
    if (example.kind == V_NULL) return;
    Value all = value_map(arena, schema->map.n + 1);
    for (size_t i = 0; i < schema->map.n; i++)
        value_add(&all, schema->map.items[i].key.p, schema->map.items[i].value);
    list.list.items[0] = example;
    value_add(&all, "examples", list);
    *schema = all;
}
