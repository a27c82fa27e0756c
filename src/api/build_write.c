/* SPDX-License-Identifier: Apache-2.0
 * build_write.c - the settings of a build as YAML, from the rows that read it. */
#include "api/build.h"
#include "data/json.h"

/* A field as the YAML has it; V_NULL: nobody said anything. */
static Value field_value(Arena *arena, const Option *o, const BuildConfig *c)
{
    const char *field = (const char *)c + o->offset;
    if (!o->argument && !o->stands) {
        const bool on = *(const bool *)field;
        return on ? value_of_bool(o->key[0] != '!') : value_null();
    }
    if (option_number(o))
        return *(const int *)field ? value_of_int(*(const int *)field) : value_null();
    Str text = o->size == sizeof(Str) ? *(const Str *)field : str_of(*(const char *const *)field);
    if (o->kind == TAKES_PATH && text.p) text = str_of(path_real(arena, str_dup(arena, text)));
    return text.p ? value_of_str(text) : value_null();
}

/* JSON's strings and lists are YAML's, too. */
static void put_value(Buf *b, const Option *o, const Value *v)
{
    if (o->kind != TAKES_LIST) return json_write(b, v);
    buf_char(b, '[');
    for (Str rest = v->s; rest.n;) {
        const char *end = memchr(rest.p, '\n', rest.n);
        Str line = { rest.p, end ? (size_t)(end - rest.p) : rest.n };
        json_write_string(b, line);
        if (end) buf_puts(b, ", ");
        rest.p += line.n + (end != NULL), rest.n -= line.n + (end != NULL);
    }
    buf_char(b, ']');
}

/* Keys of one map stand together, below its name. */
static void put_key(Buf *b, const char *key, Str *above)
{
    const char *dot = strchr(key, '.');
    Str map = dot ? (Str){ key, (size_t)(dot - key) } : (Str){ 0 };
    if (map.n && !str_eq(map, *above)) buf_printf(b, "  %.*s:\n", STR_ARG(map));
    *above = map;
    buf_printf(b, "%s%s: ", dot ? "    " : "  ", dot ? dot + 1 : key);
}

static bool is_written_before(const Option *o)
{
    for (const Option *other = build_options; other < o; other++)
        if (other->key && strcmp(other->key, o->key) == 0) return true;
    return false;
}

static void put_row(Arena *arena, Buf *b, const Option *o, const BuildConfig *c, Str *above)
{
    if (!o->key || o->refused || is_written_before(o)) return;
    Value v = field_value(arena, o, c);
    if (v.kind == V_NULL) return;
    if (o->may) v = value_of_bool(str_is(v.s, "true"));
    put_key(b, o->key + (o->key[0] == '!'), above);
    put_value(b, o, &v);
    buf_char(b, '\n');
}

void build_write(Arena *arena, const BuildConfig *given, const Model *m, Buf *b)
{
    BuildConfig c = *given;
    Str above = { 0 };
    c.source.name = m->name;
    c.open.task = str_of(m->task->name);
    c.source.version = m->version;
    buf_puts(b, "encoderfile:\n");
    for (const Option *o = build_options; o->name; o++) put_row(arena, b, o, &c, &above);
}
