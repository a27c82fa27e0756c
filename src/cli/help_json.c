/* SPDX-License-Identifier: Apache-2.0
 * help_json.c - what --help lists, as one JSON document: for tools, and for docs/options.md. */
#include "cli/cli.h"

static Value text_or_null(const char *text)
{
    return text ? value_of_str(str_of(text)) : (Value){ .kind = V_NULL };
}

static Value default_of(const Option *o)
{
    if (!o->argument) return value_of_bool(false);
    if (o->standard && option_number(o)) return value_of_int(option_int(o, str_of(o->standard)));
    return text_or_null(o->standard);
}

static Value list_of(Arena *arena, const char *const *words)
{
    size_t n = 0;
    while (words[n]) n++;
    Value list = value_list(arena, n);
    for (size_t i = 0; i < n; i++) list.list.items[i] = value_of_str(str_of(words[i]));
    return list;
}

static Value option_json(Arena *arena, const Command *c, const Option *o)
{
    const char letter[] = { '-', o->letter, 0 }, *const *words = o->may ? o->may : o->words;
    Value v = value_map(arena, 14);
    const bool opposite = o->key && o->key[0] == '!';
    value_add(&v, "name", value_of_str(str_of(o->name)));
    value_add(&v, "letter", text_or_null(o->letter ? str_dup(arena, str_of(letter)) : NULL));
    value_add(&v, "kind", value_of_str(str_of(option_kind_name(o))));
    value_add(&v, "argument", text_or_null(o->argument));
    value_add(&v, "default", default_of(o));
    if (option_number(o)) value_add(&v, "least", value_of_int(o->least));
    if (option_number(o)) value_add(&v, "most", value_of_int(o->most));
    if (words) value_add(&v, "words", list_of(arena, words));
    value_add(&v, "repeats", value_of_bool(option_repeats(o)));
    value_add(&v, "environment", text_or_null(c->environment ? option_variable(arena, o) : NULL));
    if (o->key) value_add(&v, "yaml", value_of_text(o->key + opposite));
    if (opposite) value_add(&v, "yaml_opposite", value_of_bool(true));
    value_add(&v, "help", value_of_str(str_of(o->help)));
    return v;
}

static Value command_json(Arena *arena, const Command *c, bool packaged)
{
    int rows = 0, n = 0;
    while (command_option(c, rows)) rows++;
    Value v = value_map(arena, 4), list = value_list(arena, (size_t)rows);
    for (int i = 0; i < rows; i++) {
        const Option *o = command_option(c, i);
        if (help_lists(o, packaged)) list.list.items[n++] = option_json(arena, c, o);
    }
    list.list.n = (size_t)n;
    value_add(&v, "name", value_of_str(str_of(c->name)));
    value_add(&v, "summary", value_of_str(str_of(c->summary)));
    value_add(&v, "usage", value_of_str(str_of(help_usage(c, packaged))));
    value_add(&v, "options", list);
    return v;
}

bool help_json(Args *a, const Command *const *all, Err *err)
{
    size_t count = 0, n = 0;
    while (all[count]) count++;
    Value root = value_map(&a->arena, 2), list = value_list(&a->arena, count);
    for (size_t i = 0; i < count; i++)
        if (a->command ? a->command == all[i] : !all[i]->builder || !a->packaged)
            list.list.items[n++] = command_json(&a->arena, all[i], a->packaged);
    list.list.n = n;
    value_add(&root, "version", value_of_str(STR(EF_VERSION)));
    value_add(&root, "commands", list);
    return out_json(&root, err);
}
