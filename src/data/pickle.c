/* SPDX-License-Identifier: Apache-2.0
 * pickle.c - the machine and its opcodes, one row each. */
#include "pickle.h"

enum { MOST_VALUES = 1 << 20, LEAST_PROTOCOL = 2, MOST_PROTOCOL = 5 };

typedef struct PickleMachine {
    Arena *arena;
    const uint8_t *begin, *at, *end;
    const PickleGlobal *globals;
    PickleValue **stack, **memo;
    size_t n_stack, stack_room, n_memo, memo_room;
    size_t pushed;          /* since the beginning: bounds memory and time */
    bool stopped;
    Pickle *out;
    Err *err;
} PickleMachine;

typedef struct Opcode {
    bool (*run)(PickleMachine *, uint64_t argument); /* NULL: not one of ours */
    uint8_t width;          /* bytes of the argument, little endian */
    uint8_t fixed;          /* the argument where width is 0 */
} Opcode;

const char *pickle_kind_name(PickleKind kind)
{
    static const char *const names[] = { "None", "a bool", "an int", "a long int", "a float",
                                         "a str", "a tuple", "a list", "a dict", "a global",
                                         "a call", "a persistent id", "a mark" };
    return names[kind];
}

static bool pickle_fail(PickleMachine *m, const char *what)
{
    return fail(m->err, EF_BAD_MODEL, "pickle: byte %zu: %s", (size_t)(m->at - m->begin), what);
}

/* ---- lists of values that grow ---- */
static void list_add(Arena *arena, PickleValue ***list, size_t *n, size_t *room, PickleValue *v)
{
    if (*n == *room) {
        PickleValue **more = ARRAY(arena, PickleValue *, *room = MAX(*room * 2, (size_t)8));
        if (*n) memcpy(more, *list, *n * sizeof *more);
        *list = more;
    }
    (*list)[(*n)++] = v;
}

static bool stack_push(PickleMachine *m, PickleValue *v)
{
    if (m->pushed++ == MOST_VALUES)
        return fail(m->err, EF_TOO_LARGE, "pickle: found more than %d values", MOST_VALUES);
    list_add(m->arena, &m->stack, &m->n_stack, &m->stack_room, v);
    return true;
}

static bool push_new(PickleMachine *m, PickleValue v)
{
    PickleValue *copy = NEW(m->arena, PickleValue);
    *copy = v;
    return stack_push(m, copy);
}

/* The topmost value; NULL, and an error, when there is none above the last mark. */
static PickleValue *stack_top(PickleMachine *m)
{
    PickleValue *v = m->n_stack ? m->stack[m->n_stack - 1] : NULL;
    if (v && v->kind != PICKLE_MARK) return v;
    pickle_fail(m, "the stack has no value");
    return NULL;
}

static PickleValue *stack_pop(PickleMachine *m)
{
    PickleValue *v = stack_top(m);
    if (v) m->n_stack--;
    return v;
}

/* Removes the values above the last mark, and it; they stay readable until the next push. */
static bool pop_mark(PickleMachine *m, PickleValue ***from, size_t *n)
{
    size_t at = m->n_stack;
    while (at && m->stack[at - 1]->kind != PICKLE_MARK) at--;
    if (!at) return pickle_fail(m, "the stack has no mark");
    *from = m->stack + at, *n = m->n_stack - at;
    m->n_stack = at - 1;
    return true;
}

/* ---- values ---- */
static bool op_mark(PickleMachine *m, uint64_t unused)
{
    static PickleValue mark = { .kind = PICKLE_MARK };
    (void)unused;
    return stack_push(m, &mark);
}

static bool op_none(PickleMachine *m, uint64_t unused)
{
    static PickleValue none = { .kind = PICKLE_NONE };
    (void)unused;
    return stack_push(m, &none);
}

static bool op_bool(PickleMachine *m, uint64_t value)
{
    return push_new(m, (PickleValue){ .kind = PICKLE_BOOL, .i = (int64_t)value });
}

static bool op_int(PickleMachine *m, uint64_t value)
{
    return push_new(m, (PickleValue){ .kind = PICKLE_INT, .i = (int64_t)value });
}

static bool op_signed(PickleMachine *m, uint64_t value)
{
    return op_int(m, (uint64_t)(int64_t)(int32_t)(uint32_t)value);
}

static bool op_float(PickleMachine *m, uint64_t unused)
{
    (void)unused;
    return push_new(m, (PickleValue){ .kind = PICKLE_FLOAT });
}

static bool pickle_take_bytes(PickleMachine *m, uint64_t n, Str *out)
{
    if (n > (uint64_t)(m->end - m->at)) return pickle_fail(m, "the pickle is cut short");
    *out = (Str){ (const char *)m->at, (size_t)n };
    m->at += n;
    return true;
}

/* Two's complement, little endian, any length; none is zero. */
static bool op_long(PickleMachine *m, uint64_t n)
{
    Str s;
    if (!pickle_take_bytes(m, n, &s)) return false;
    if (n > 8) return push_new(m, (PickleValue){ .kind = PICKLE_LONG, .s = s });
    uint64_t value = n && s.p[n - 1] & 0x80 ? UINT64_MAX : 0;
    for (size_t i = s.n; i-- > 0;) value = value << 8 | (uint8_t)s.p[i];
    return op_int(m, value);
}

static bool op_str(PickleMachine *m, uint64_t n)
{
    Str s;
    if (!pickle_take_bytes(m, n, &s)) return false;
    if (!utf8_valid(s)) return pickle_fail(m, "the text is no UTF-8");
    return push_new(m, (PickleValue){ .kind = PICKLE_STR, .s = s });
}

static bool op_empty(PickleMachine *m, uint64_t kind)
{
    return push_new(m, (PickleValue){ .kind = (PickleKind)kind });
}

static bool push_tuple(PickleMachine *m, PickleValue **from, size_t n)
{
    PickleValue v = { .kind = PICKLE_TUPLE, .n = n, .item = ARRAY(m->arena, PickleValue *, n + 1) };
    if (n) memcpy(v.item, from, n * sizeof *from);
    return push_new(m, v);
}

static bool op_tuple(PickleMachine *m, uint64_t unused)
{
    PickleValue **from;
    size_t n;
    (void)unused;
    return pop_mark(m, &from, &n) && push_tuple(m, from, n);
}

static bool op_tuple_of(PickleMachine *m, uint64_t n)
{
    PickleValue *item[3];
    for (size_t i = n; i-- > 0;)
        if (!(item[i] = stack_pop(m))) return false;
    return push_tuple(m, item, n);
}

/* ---- lists and dicts are filled where they lie ---- */
static bool fill_items(PickleMachine *m, PickleKind kind, PickleValue **from, size_t n)
{
    PickleValue *to = stack_top(m);
    if (!to) return false;
    if (to->kind != kind || (kind == PICKLE_DICT && n % 2))
        return pickle_fail(m, "items for what is no list and no dict");
    for (size_t i = 0; i < n; i++)
        list_add(m->arena, &to->item, &to->n, &to->room, from[i]);
    return true;
}

static bool op_fill(PickleMachine *m, uint64_t kind)
{
    PickleValue **from;
    size_t n;
    return pop_mark(m, &from, &n) && fill_items(m, (PickleKind)kind, from, n);
}

static bool op_append(PickleMachine *m, uint64_t unused)
{
    PickleValue *v = stack_pop(m);
    (void)unused;
    return v && fill_items(m, PICKLE_LIST, &v, 1);
}

static bool op_set_item(PickleMachine *m, uint64_t unused)
{
    PickleValue *value = stack_pop(m), *key = value ? stack_pop(m) : NULL;
    (void)unused;
    return key && fill_items(m, PICKLE_DICT, (PickleValue *[]){ key, value }, 2);
}

/* ---- memo: numbered in order, so that no number can ask for more than there is ---- */
static bool op_put(PickleMachine *m, uint64_t at)
{
    PickleValue *v = stack_top(m);
    if (!v) return false;
    if (at > m->n_memo || at == MOST_VALUES) return pickle_fail(m, "a memo number out of order");
    if (at < m->n_memo) m->memo[at] = v;
    else list_add(m->arena, &m->memo, &m->n_memo, &m->memo_room, v);
    return true;
}

static bool op_memoize(PickleMachine *m, uint64_t unused)
{
    (void)unused;
    return op_put(m, m->n_memo);
}

static bool op_get(PickleMachine *m, uint64_t at)
{
    if (at >= m->n_memo) return pickle_fail(m, "a memo number that was not given");
    return stack_push(m, m->memo[at]);
}

/* ---- globals and what they are called with ---- */
static bool push_global(PickleMachine *m, Str module, Str name)
{
    for (const PickleGlobal *g = m->globals; g->module; g++)
        if (str_is(module, g->module) && str_is(name, g->name))
            return push_new(m, (PickleValue){ .kind = PICKLE_GLOBAL, .global = g });
    return fail(m->err, EF_UNSUPPORTED, "global `%.*s %.*s` is not one of a plain state dict",
                (int)MIN(module.n, 60), module.p, (int)MIN(name.n, 60), name.p);
}

static bool pickle_take_line(PickleMachine *m, Str *out)
{
    const uint8_t *end = memchr(m->at, '\n', (size_t)(m->end - m->at));
    if (!end) return pickle_fail(m, "the pickle is cut short");
    *out = (Str){ (const char *)m->at, (size_t)(end - m->at) };
    m->at = end + 1;
    return utf8_valid(*out) || pickle_fail(m, "the text is no UTF-8");
}

static bool op_global(PickleMachine *m, uint64_t unused)
{
    Str module, name;
    (void)unused;
    return pickle_take_line(m, &module) && pickle_take_line(m, &name) &&
           push_global(m, module, name);
}

static bool op_stack_global(PickleMachine *m, uint64_t unused)
{
    PickleValue *name = stack_pop(m), *module = name ? stack_pop(m) : NULL;
    (void)unused;
    if (!module) return false;
    if (name->kind != PICKLE_STR || module->kind != PICKLE_STR)
        return pickle_fail(m, "a global whose name is no text");
    return push_global(m, module->s, name->s);
}

static bool op_reduce(PickleMachine *m, uint64_t unused)
{
    PickleValue *args = stack_pop(m), *called = args ? stack_pop(m) : NULL;
    (void)unused;
    if (!called) return false;
    if (called->kind != PICKLE_GLOBAL || args->kind != PICKLE_TUPLE)
        return pickle_fail(m, "a call of what is no global, or without arguments");
    const PickleGlobal *g = called->global;
    if (g->dict && args->n == 0) return op_empty(m, PICKLE_DICT);
    return push_new(m, (PickleValue){ .kind = PICKLE_CALL, .global = g, .item = args->item,
                                      .n = args->n });
}

static bool op_persistent(PickleMachine *m, uint64_t unused)
{
    PickleValue *id = stack_pop(m);
    (void)unused;
    if (!id) return false;
    if (id->kind != PICKLE_TUPLE) return pickle_fail(m, "a persistent id that is no tuple");
    PickleValue v = { .kind = PICKLE_ID, .item = id->item, .n = id->n };
    if (!push_new(m, v)) return false;
    Pickle *p = m->out;
    list_add(m->arena, &p->id, &p->n_id, &p->room, m->stack[m->n_stack - 1]);
    return true;
}

/* Attributes, such as the `_metadata` of a state dict. */
static bool op_build(PickleMachine *m, uint64_t unused)
{
    (void)unused;
    return stack_pop(m) && stack_top(m);
}

/* ---- the program's own ---- */
static bool op_protocol(PickleMachine *m, uint64_t version)
{
    if (version >= LEAST_PROTOCOL && version <= MOST_PROTOCOL) return true;
    return fail(m->err, EF_UNSUPPORTED, "pickle: found protocol %d, wanted %d to %d", (int)version,
                LEAST_PROTOCOL, MOST_PROTOCOL);
}

static bool op_frame(PickleMachine *m, uint64_t size)
{
    return size <= (uint64_t)(m->end - m->at) || pickle_fail(m, "the pickle is cut short");
}

static bool op_stop(PickleMachine *m, uint64_t unused)
{
    PickleValue *root = stack_pop(m);
    (void)unused;
    if (!root) return false;
    if (m->n_stack) return pickle_fail(m, "the stack has more than the result");
    m->out->root = root;
    return m->stopped = true;
}

static const Opcode opcodes[256] = {
    [0x80] = { op_protocol, 1 },         [0x95] = { op_frame, 8 },
    ['.'] = { op_stop },                 ['('] = { op_mark },
    ['N'] = { op_none },                 [0x88] = { op_bool, 0, true },
    [0x89] = { op_bool, 0, false },      ['J'] = { op_signed, 4 },
    ['K'] = { op_int, 1 },               ['M'] = { op_int, 2 },
    [0x8a] = { op_long, 1 },             ['G'] = { op_float, 8 },
    ['X'] = { op_str, 4 },               [0x8c] = { op_str, 1 },
    ['U'] = { op_str, 1 },               [')'] = { op_empty, 0, PICKLE_TUPLE },
    ['}'] = { op_empty, 0, PICKLE_DICT }, [']'] = { op_empty, 0, PICKLE_LIST },
    ['t'] = { op_tuple },                [0x85] = { op_tuple_of, 0, 1 },
    [0x86] = { op_tuple_of, 0, 2 },      [0x87] = { op_tuple_of, 0, 3 },
    ['a'] = { op_append },               ['e'] = { op_fill, 0, PICKLE_LIST },
    ['s'] = { op_set_item },             ['u'] = { op_fill, 0, PICKLE_DICT },
    ['q'] = { op_put, 1 },               ['r'] = { op_put, 4 },
    [0x94] = { op_memoize },             ['h'] = { op_get, 1 },
    ['j'] = { op_get, 4 },               ['c'] = { op_global },
    [0x93] = { op_stack_global },        ['R'] = { op_reduce },
    ['Q'] = { op_persistent },           ['b'] = { op_build },
};

static bool run_next(PickleMachine *m)
{
    if (m->at == m->end) return pickle_fail(m, "the pickle is cut short");
    uint8_t code = *m->at++;
    const Opcode *op = &opcodes[code];
    if (!op->run)
        return fail(m->err, EF_UNSUPPORTED, "pickle: byte %zu: opcode 0x%02x is not one of a plain "
                    "state dict", (size_t)(m->at - m->begin) - 1, code);
    if (op->width > m->end - m->at) return pickle_fail(m, "the pickle is cut short");
    uint64_t argument = op->width ? 0 : op->fixed;
    for (int i = op->width - 1; i >= 0; i--) argument = argument << 8 | m->at[i];
    m->at += op->width;
    return op->run(m, argument);
}

bool pickle_read(Arena *arena, Str *bytes, const PickleGlobal *globals, Pickle *out, Err *err)
{
    const uint8_t *p = (const uint8_t *)bytes->p;
    PickleMachine m = { .arena = arena,
                        .begin = p,
                        .at = p,
                        .end = p + bytes->n,
                        .globals = globals,
                        .out = out,
                        .err = err };
    *out = (Pickle){ 0 };
    while (!m.stopped)
        if (!run_next(&m)) return false;
    *bytes = (Str){ (const char *)m.at, (size_t)(m.end - m.at) };
    return true;
}

const PickleValue *pickle_get(const PickleValue *dict, const char *key)
{
    for (size_t i = dict->kind == PICKLE_DICT ? dict->n : 0; i >= 2; i -= 2)
        if (dict->item[i - 2]->kind == PICKLE_STR && str_is(dict->item[i - 2]->s, key))
            return dict->item[i - 1];
    return NULL;
}
