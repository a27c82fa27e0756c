/* SPDX-License-Identifier: Apache-2.0
 * readable.c - see readable.h. Tasks whose numbers have names (labels, words) have a row; what other
 * tasks answer is told member by member, whatever it is. */
#include "cli/readable.h"

#include "cli/entities.h"
#include "data/json.h"
#include "model/model.h"

enum { MOST_LINES = 10, MOST_NAMES = 5, MOST_NUMBERS = 4, MOST_TEXT = 100 };

/* ---- any value ---- */

/* Quoted, so that no control character reaches the terminal. */
static void put_short(Buf *b, Str s)
{
    const size_t whole = s.n;
    if (s.n > MOST_TEXT) s.n = MOST_TEXT;
    while (s.n < whole && s.n && ((unsigned char)s.p[s.n] & 0xC0) == 0x80) s.n--;
    json_write_string(b, s);
    if (s.n < whole) buf_puts(b, "...");
}

static void put_numbers(Buf *b, const Value *v)
{
    const bool plain = v->kind == V_F32;
    const size_t n = plain ? v->f32.n : v->list.n;
    buf_printf(b, "%zu numbers:", n);
    for (size_t i = 0; i < MIN(n, (size_t)MOST_NUMBERS); i++)
        buf_printf(b, " %.4g", plain ? (double)v->f32.p[i] : value_float(&v->list.items[i], 0));
    if (n > MOST_NUMBERS) buf_puts(b, " ...");
}

static bool is_listed_below(const Value *v)
{
    return v->kind == V_LIST && v->list.n && v->list.items[0].kind == V_MAP;
}

static void put_one(Buf *b, const Value *v)
{
    if (v->kind == V_STR) put_short(b, v->s);
    else if (v->kind == V_FLOAT) buf_printf(b, "%.4f", v->f);
    else if (v->kind == V_F32) put_numbers(b, v);
    else if (v->kind == V_BYTES) buf_printf(b, "(%zu bytes)", v->s.n);
    else if (v->kind == V_LIST && v->list.n && v->list.items[0].kind != V_STR) put_numbers(b, v);
    else json_write(b, v);
}

/* Members in a line; a map inside is told as if its members were there. */
static void put_members(Buf *b, const Value *map, bool *more)
{
    for (size_t i = 0; i < map->map.n; i++) {
        const Member *m = &map->map.items[i];
        if (is_listed_below(&m->value) || str_is(m->key, "truncated")) continue;
        if (m->value.kind == V_MAP) {
            put_members(b, &m->value, more);
            continue;
        }
        buf_printf(b, "%s%.*s ", *more ? ", " : "", STR_ARG(m->key));
        put_one(b, &m->value);
        *more = true;
    }
}

static void put_any(Buf *b, int indent, const Value *map)
{
    const size_t before = b->n;
    bool more = false;
    buf_printf(b, "%*s- ", indent, "");
    put_members(b, map, &more);
    if (more) buf_char(b, '\n');
    else b->n = before; /* nothing but lists: they are told alone */
    for (size_t i = 0; i < map->map.n; i++) {
        const Value *list = &map->map.items[i].value;
        if (!is_listed_below(list)) continue;
        for (size_t k = 0; k < MIN(list->list.n, (size_t)MOST_LINES); k++)
            put_any(b, more ? indent + 2 : indent, &list->list.items[k]);
        if (list->list.n > MOST_LINES)
            buf_printf(b, "%*s... %zu more\n", indent, "", list->list.n - MOST_LINES);
    }
}

/* ---- names by their numbers ---- */

/* The index of the largest that is not below `last` places: nth of a few. */
static size_t next_largest(const float *x, size_t n, size_t last, bool first)
{
    size_t best = n;
    for (size_t i = 0; i < n; i++) {
        const bool told = !first && (x[i] > x[last] || (x[i] == x[last] && i <= last));
        if (!told && (best == n || x[i] > x[best])) best = i;
    }
    return best;
}

typedef struct ReadableText {
    const Model *model;
    const Job *job;
    const Item *item;
    const Value *result;
} ReadableText;

static Str label_name(Arena *arena, const ReadableText *t, size_t index)
{
    return t->model->config.labels || index ? task_label(arena, &t->model->config, (int64_t)index).s
                                            : STR("score");
}

static Str word_name(Arena *arena, const ReadableText *t, size_t index)
{
    (void)arena;
    const Value *ids = value_get(t->result, "indices");
    return tokenizer_token(t->model->tokenizer, (int32_t)ids->list.items[index].i);
}

static Str choice_name(Arena *arena, const ReadableText *t, size_t index)
{
    (void)arena;
    return t->item->list[index];
}

/* Largest first. */
static void put_named(Buf *b, const ReadableText *t, const char *member,
                      Str (*name)(Arena *, const ReadableText *, size_t))
{
    Arena arena = { 0 };
    const Value *v = value_get(t->result, member);
    size_t at = 0;
    for (size_t i = 0; i < MIN(v->f32.n, (size_t)MOST_NAMES); i++) {
        at = next_largest(v->f32.p, v->f32.n, at, i == 0);
        if (at == v->f32.n) break; /* the others are not numbers */
        buf_printf(b, "  - %.4f ", (double)v->f32.p[at]);
        put_short(b, name(&arena, t, at));
        buf_char(b, '\n');
    }
    if (v->f32.n > MOST_NAMES) buf_printf(b, "  ... %zu more\n", v->f32.n - MOST_NAMES);
    arena_free(&arena);
}

static const struct ReadableTask {
    TaskCan can;
    const char *member;          /* of the result, that it needs: numbers */
    Str (*name)(Arena *, const ReadableText *, size_t);
} named[] = {
    { CAN_CLASSIFY, "scores", label_name },
    { CAN_SPARSE, "values", word_name },
    { CAN_CHOOSE, "scores", choice_name },
};

static bool put_by_names(Buf *b, const ReadableText *t)
{
    for (size_t i = 0; i < COUNT(named); i++) {
        const Value *v = value_get(t->result, named[i].member);
        if (!task_can(t->model->task, NULL, named[i].can) || !v || v->kind != V_F32) continue;
        put_named(b, t, named[i].member, named[i].name);
        return true;
    }
    return false;
}

/* ---- a reply ---- */

static bool tells_entities(const ReadableText *t)
{
    return task_can(t->model->task, NULL, CAN_TAG) && value_get(t->result, "tokens") &&
           !value_get(t->result, "entities") && !value_get(t->result, "extracted") &&
           !t->job->work.options.chars && t->item->first.n && !t->item->second.p;
}

static void put_item(Buf *b, const Item *item)
{
    Str words = item->first.n || !item->list ? item->first : item->list[0];
    if (item->picture.p) buf_printf(b, "picture of %zu bytes", item->picture.n);
    else if (item_sound_bytes(item)) buf_printf(b, "sound of %zu bytes", item_sound_bytes(item));
    else put_short(b, words);
    if (item->second.p) buf_char(b, ' '), put_short(b, item->second);
    buf_char(b, '\n');
}

void readable_write(Buf *b, const Model *m, const Job *job)
{
    const Value *results = value_get(&job->out.value, "results");
    for (size_t i = 0; i < results->list.n; i++) {
        const ReadableText t = { m, job, &job->work.item[i], &results->list.items[i] };
        put_item(b, t.item);
        if (tells_entities(&t)) entities_of(b, t.item->first, t.result);
        else if (!put_by_names(b, &t)) put_any(b, 2, t.result);
        if (value_get(t.result, "truncated"))
            buf_printf(b, "  (cut to the model's %d tokens)\n", m->encode.max_length);
    }
}
