/* SPDX-License-Identifier: Apache-2.0
 * json_options.c - see json_options.h. */
#include "api/json_options.h"

#include "data/json.h"

bool json_options_parse(Arena *arena, const char *json, Value *root, Err *err)
{
    *root = value_map(arena, 0);
    if (!json) return true;
    if (!json_parse(arena, str_of(str_dup(arena, str_of(json))), root, err))
        return within(err, "options");
    return root->kind == V_MAP || fail(err, EF_USAGE, "options: found %s, wanted an object",
                                       value_kind_name(root->kind));
}

const Option *json_options_row(const Option *rows, Str key)
{
    for (; rows->name; rows++)
        if (str_is(key, rows->name)) return rows;
    return NULL;
}

static bool unknown_key(const Option *rows, Str key, Err *err)
{
    const char *names[64];
    size_t n = 0;
    for (; rows[n].name && n < COUNT(names); n++) names[n] = rows[n].name;
    const char *near = str_nearest(key, names, n);
    return fail(err, EF_USAGE, "unknown key \"%.*s\"%s%s%s", STR_ARG(key),
                near ? ": did you mean \"" : "", near ? near : "", near ? "\"?" : "");
}

/* ---- one option ---- */

bool json_options_given(const Value *v)
{
    return v->kind != V_NULL && !(v->kind == V_BOOL && !v->b);
}

/* As a user would write it; texts are for option_check to judge. */
static bool value_text(const Option *o, Arena *arena, const Value *v, Str *text, Err *err)
{
    bool flag = !o->argument;
    const char *wanted = flag ? "true or false" : option_number(o) ? "a number" : "a text";
    if (v->kind == V_STR && v->s.n && memchr(v->s.p, 0, v->s.n))
        return fail(err, EF_USAGE, "--%s: found a zero byte in \"%.*s\"", o->name, STR_ARG(v->s));
    if (v->kind == V_STR) return *text = v->s, true;
    if (v->kind == V_BOOL && (flag || o->stands)) return *text = STR("true"), true;
    if (v->kind == V_INT && (flag || option_number(o)))
        return *text = str_of(str_format(arena, "%lld", (long long)v->i)), true;
    if (v->kind == V_FLOAT && option_number(o))
        return fail(err, EF_USAGE, "--%s: found %g, wanted a whole number", o->name, v->f);
    return fail(err, EF_USAGE, "--%s: found %s, wanted %s", o->name, value_kind_name(v->kind),
                wanted);
}

static bool set_one(const Option *o, Arena *arena, const Value *v, void *settings, Err *err)
{
    Str text;
    if (o->kind == TAKES_LIST && v->kind == V_LIST) {
        bool ok = true;
        for (size_t i = 0; ok && i < v->list.n; i++) ok = set_one(o, arena, &v->list.items[i], settings, err);
        return ok;
    }
    return value_text(o, arena, v, &text, err) &&
           option_set(o, settings, arena, str_format(arena, "--%s", o->name), text, err);
}

/* ---- all of them ---- */

/* The first given option of a list, or NULL. */
static const Option *given_of(const Option *rows, const Value *root, const char *list)
{
    for (size_t i = 0; i < root->map.n; i++) {
        const Option *o = json_options_row(rows, root->map.items[i].key);
        if (o && json_options_given(&root->map.items[i].value) && option_named(list, o->name)) return o;
    }
    return NULL;
}

static bool check_company(const Option *rows, const Value *root, const Option *o, Err *err)
{
    const Option *other = given_of(rows, root, o->against);
    if (other)
        return fail(err, EF_USAGE, "--%s: found --%s beside it, wanted one of them", o->name,
                    other->name);
    return !o->beside || given_of(rows, root, o->beside) ||
           fail(err, EF_USAGE, "--%s has no effect alone: wanted one of these beside it: %s",
                o->name, o->beside);
}

bool json_options_set(const Option *rows, Arena *arena, const Value *root, void *settings, Err *err)
{
    option_defaults(rows, settings, arena);
    for (size_t i = 0; i < root->map.n; i++) {
        const Member *m = &root->map.items[i];
        const Option *o = json_options_row(rows, m->key);
        if (!(o || unknown_key(rows, m->key, err)) ||
            (json_options_given(&m->value) && !(check_company(rows, root, o, err) &&
                                      set_one(o, arena, &m->value, settings, err))))
            return within(err, "options");
    }
    return true;
}
