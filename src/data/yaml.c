/* SPDX-License-Identifier: Apache-2.0
 * yaml.c - libyaml's events to a Value. A configuration file is small and written by hand: whatever
 * can grow without bound or be read in two ways (aliases, tags, equal keys) is refused by line. */
#include <math.h>
#include <yaml.h>

#include "data/yaml.h" /* with its folder: <yaml.h> is libyaml's */
#include "number.h"
#include "tree.h"

enum { MAX_DEPTH = 64, MAX_SIZE = 1 << 20 };

typedef struct Loader {
    yaml_parser_t parser;
    yaml_event_t event; /* the current one */
    Arena *arena;       /* of the tree */
    Arena scratch;      /* of the keys seen so far */
    Buf open;           /* children of the lists and maps that are not closed yet */
    int depth;
    Err *err;
} Loader;

/* ---- events ---- */
static size_t yaml_line_of(const Loader *y)
{
    return y->event.start_mark.line + 1;
}

static bool yaml_refuse(const Loader *y, const char *found, const char *wanted)
{
    return fail(y->err, EF_BAD_REQUEST, "line %zu: found %s, wanted %s", yaml_line_of(y), found,
                wanted);
}

static bool yaml_next_event(Loader *y)
{
    yaml_event_delete(&y->event);
    if (yaml_parser_parse(&y->parser, &y->event)) return true;
    const yaml_parser_t *p = &y->parser;
    size_t line = p->error == YAML_READER_ERROR ? p->mark.line : p->problem_mark.line;
    return fail(y->err, EF_BAD_REQUEST, "line %zu: %s", line + 1,
                p->problem ? p->problem : "no memory");
}

/* ---- scalars ---- */
typedef struct YamlWord {
    const char *text;
    Value value;
} YamlWord;

static const YamlWord words[] = {
    { "", { V_NULL } },
    { "~", { V_NULL } },
    { "null", { V_NULL } },
    { "Null", { V_NULL } },
    { "NULL", { V_NULL } },
    { "true", { V_BOOL, .b = true } },
    { "True", { V_BOOL, .b = true } },
    { "TRUE", { V_BOOL, .b = true } },
    { "false", { V_BOOL, .b = false } },
    { "False", { V_BOOL, .b = false } },
    { "FALSE", { V_BOOL, .b = false } },
    { ".nan", { V_FLOAT, .f = NAN } },
    { ".NaN", { V_FLOAT, .f = NAN } },
    { ".NAN", { V_FLOAT, .f = NAN } },
    { ".inf", { V_FLOAT, .f = INFINITY } },
    { ".Inf", { V_FLOAT, .f = INFINITY } },
    { ".INF", { V_FLOAT, .f = INFINITY } },
    { "+.inf", { V_FLOAT, .f = INFINITY } },
    { "+.Inf", { V_FLOAT, .f = INFINITY } },
    { "+.INF", { V_FLOAT, .f = INFINITY } },
    { "-.inf", { V_FLOAT, .f = -INFINITY } },
    { "-.Inf", { V_FLOAT, .f = -INFINITY } },
    { "-.INF", { V_FLOAT, .f = -INFINITY } },
};

static size_t digits_at(Str s, size_t i)
{
    size_t from = i;
    while (i < s.n && s.p[i] >= '0' && s.p[i] <= '9') i++;
    return i - from;
}

/* [-+]? ( . digits | digits [. [digits]] ) [e [-+] digits] */
static bool yaml_is_number(Str s)
{
    size_t i = s.n && (s.p[0] == '-' || s.p[0] == '+');
    size_t whole = digits_at(s, i), part = 0;
    i += whole;
    if (i < s.n && s.p[i] == '.') part = digits_at(s, i + 1), i += 1 + part;
    if (!whole && !part) return false;
    if (i == s.n) return true;
    if ((s.p[i++] | 32) != 'e') return false;
    i += i < s.n && (s.p[i] == '-' || s.p[i] == '+');
    size_t power = digits_at(s, i);
    return power && i + power == s.n;
}

/* 0x1F and 0o17; not negative, at most 63 bits. */
static bool read_radix(Str s, int64_t *out)
{
    int base = str_starts(s, "0x") ? 16 : str_starts(s, "0o") ? 8 : 0;
    if (!base || s.n == 2) return false;
    int64_t n = 0;
    for (size_t i = 2; i < s.n; i++) {
        char c = s.p[i], low = c | 32;
        int digit = c >= '0' && c <= '9' ? c - '0' : low >= 'a' && low <= 'f' ? low - 'a' + 10 : 16;
        if (digit >= base || n > INT64_MAX >> 4) return false;
        n = n * base + digit;
    }
    *out = n;
    return true;
}

static Value yaml_plain_value(Str s)
{
    for (size_t i = 0; i < COUNT(words); i++)
        if (str_is(s, words[i].text)) return words[i].value;
    int64_t n;
    if (str_int(s, &n) || read_radix(s, &n)) return value_of_int(n);
    return yaml_is_number(s) ? value_of_float(number_read(s)) : value_of_str(s);
}

/* A copy, because libyaml's dies with the event. */
static Str scalar_text(const Loader *y)
{
    size_t n = y->event.data.scalar.length;
    return (Str){ str_dup(y->arena, (Str){ (char *)y->event.data.scalar.value, n }), n };
}

static Value yaml_scalar(const Loader *y)
{
    Str s = scalar_text(y);
    return y->event.data.scalar.style == YAML_PLAIN_SCALAR_STYLE ? yaml_plain_value(s)
                                                                 : value_of_str(s);
}

/* ---- lists and maps ---- */
static bool load_node(Loader *y, Value *out);

static bool load_list(Loader *y, Value *out)
{
    size_t from = y->open.n;
    if (!yaml_next_event(y)) return false;
    while (y->event.type != YAML_SEQUENCE_END_EVENT) {
        Value item;
        if (!load_node(y, &item)) return false;
        tree_push_item(&y->open, item);
        if (!yaml_next_event(y)) return false;
    }
    *out = tree_close(y->arena, &y->open, from, V_LIST);
    return true;
}

/* seen: keys to their lines. */
static bool yaml_load_key(Loader *y, Map *seen, Str *key)
{
    if (y->event.type != YAML_SCALAR_EVENT)
        return yaml_refuse(y, "a key that is no scalar", "a string");
    if (y->event.data.scalar.tag) return yaml_refuse(y, "a tag", "none");
    *key = scalar_text(y);
    size_t first = (size_t)map_get(seen, *key);
    if (first)
        return fail(y->err, EF_BAD_REQUEST,
                    "line %zu: found key \"%.*s\" again, wanted only that of line %zu",
                    yaml_line_of(y), STR_ARG(*key), first);
    map_put(seen, &y->scratch, *key, (void *)yaml_line_of(y));
    return yaml_next_event(y);
}

static bool load_map(Loader *y, Value *out)
{
    size_t from = y->open.n;
    Map seen = { 0 };
    if (!yaml_next_event(y)) return false;
    while (y->event.type != YAML_MAPPING_END_EVENT) {
        Member member;
        if (!yaml_load_key(y, &seen, &member.key)) return false;
        if (!load_node(y, &member.value)) return false;
        tree_push_member(&y->open, member);
        if (!yaml_next_event(y)) return false;
    }
    *out = tree_close(y->arena, &y->open, from, V_MAP);
    return true;
}

static bool has_tag(const yaml_event_t *e)
{
    switch (e->type) {
    case YAML_SCALAR_EVENT: return e->data.scalar.tag;
    case YAML_SEQUENCE_START_EVENT: return e->data.sequence_start.tag;
    case YAML_MAPPING_START_EVENT: return e->data.mapping_start.tag;
    default: return false;
    }
}

/* The current event begins a node; afterwards it is the one that ends it. */
static bool load_node(Loader *y, Value *out)
{
    if (y->event.type == YAML_ALIAS_EVENT) return yaml_refuse(y, "an alias", "the value itself");
    if (has_tag(&y->event)) return yaml_refuse(y, "a tag", "none");
    if (y->event.type == YAML_SCALAR_EVENT) return *out = yaml_scalar(y), true;
    if (y->depth == MAX_DEPTH)
        return yaml_refuse(y, "one more level", "at most 64 levels of nesting");
    y->depth++;
    bool list = y->event.type == YAML_SEQUENCE_START_EVENT;
    bool ok = list ? load_list(y, out) : load_map(y, out);
    y->depth--;
    return ok;
}

/* ---- documents ---- */
static bool load_document(Loader *y, Value *out)
{
    *out = value_null();
    if (!yaml_next_event(y) || !yaml_next_event(y))
        return false; /* begins the stream, and a document */
    if (y->event.type == YAML_STREAM_END_EVENT) return true;
    if (!yaml_next_event(y) || !load_node(y, out)) return false;
    if (!yaml_next_event(y) || !yaml_next_event(y))
        return false; /* ends the document, and the stream */
    if (y->event.type == YAML_STREAM_END_EVENT) return true;
    return yaml_refuse(y, "a second document", "one");
}

bool yaml_parse(Arena *arena, Str text, Value *out, Err *err)
{
    if (text.n > MAX_SIZE)
        return fail(err, EF_TOO_LARGE, "found %zu bytes of YAML, wanted at most 1 MiB", text.n);
    Loader y = { .arena = arena, .err = err };
    if (!yaml_parser_initialize(&y.parser)) return fail(err, EF_IO, "out of memory");
    yaml_parser_set_encoding(&y.parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&y.parser, (const unsigned char *)(text.n ? text.p : ""), text.n);
    bool ok = load_document(&y, out);
    yaml_event_delete(&y.event);
    yaml_parser_delete(&y.parser);
    arena_free(&y.scratch);
    buf_free(&y.open);
    return ok;
}
