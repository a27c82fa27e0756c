/* SPDX-License-Identifier: Apache-2.0
 * head_store.c - a head in a package: what it does as JSON among the facts, the weights of its dense
 * layers as panels of float32 in a member of their own, each with room for a bias, used in place.
 *
 *   {"pooling": ["cls", "mean"], "include_prompt": true, "assumed": false,
 *    "steps": [{"dense": [64, 16], "bias": true, "activation": "tanh"}, {"normalize": true}]} */
#include "head.h"

enum { STORE_ALIGN = 64 };

uint64_t head_bytes(int64_t in, int64_t out, uint64_t *bias)
{
    *bias = (uint64_t)panels_f32_size(out, in) * sizeof(float);
    return *bias + (uint64_t)ROUND_UP(out, PANEL) * sizeof(float);
}

static Value store_step(Arena *arena, const HeadStep *s)
{
    Value v = value_map(arena, 3);
    if (!s->weight) return value_add(&v, "normalize", value_of_bool(true)), v;
    Value size = value_list(arena, 2);
    size.list.items[0] = value_of_int(s->in);
    size.list.items[1] = value_of_int(s->out);
    value_add(&v, "dense", size);
    value_add(&v, "bias", value_of_bool(s->bias != NULL));
    value_add(&v, "activation", value_of_str(str_of(head_act_name(s->act))));
    return v;
}

Value head_store(Arena *arena, const VectorHead *head)
{
    Value v = value_map(arena, 4), list = value_list(arena, POOL_WAYS);
    list.list.n = 0;
    for (TaskPooling p = POOL_MEAN; p < POOL_WAYS; p++)
        if (head->way[p]) list.list.items[list.list.n++] = value_of_str(str_of(head_pooling_name(p)));
    value_add(&v, "pooling", list);
    value_add(&v, "include_prompt", value_of_bool(!head->without_prompt));
    value_add(&v, "assumed", value_of_bool(head->assumed));
    Value steps = value_list(arena, (size_t)head->n);
    for (int i = 0; i < head->n; i++) steps.list.items[i] = store_step(arena, &head->step[i]);
    value_add(&v, "steps", steps);
    return v;
}

static bool load_ways(const Value *list, VectorHead *head, Err *err)
{
    if (!list || list->kind != V_LIST || !list->list.n)
        return fail(err, EF_BAD_MODEL, "pooling: wanted a list of words");
    for (size_t i = 0; i < list->list.n; i++) {
        TaskPooling way = POOL_OWN;
        Str word = value_str(&list->list.items[i], STR(""));
        if (!head_pooling_find(word, &way) || way == POOL_OWN)
            return fail(err, EF_BAD_MODEL, "pooling: found \"%.*s\"", (int)MIN(word.n, 40), word.p);
        head->way[way] = true;
    }
    return true;
}

static bool load_dense(const Value *v, Str weights, uint64_t *at, HeadStep *s, Err *err)
{
    const Value *size = value_get(v, "dense");
    bool two = size && size->kind == V_LIST && size->list.n == 2;
    uint64_t bias;
    s->in = two ? value_int(&size->list.items[0], 0) : 0;
    s->out = two ? value_int(&size->list.items[1], 0) : 0;
    if (s->in < 1 || s->out < 1 || s->in > HEAD_MOST_WIDTH || s->out > HEAD_MOST_WIDTH ||
        !head_act_find(value_str(value_get(v, "activation"), STR("")), &s->act))
        return fail(err, EF_BAD_MODEL, "dense: wanted two sizes and a known activation");
    s->weight = (const float *)(weights.p + *at);
    uint64_t bytes = head_bytes(s->in, s->out, &bias);
    if (bytes > weights.n - *at)
        return fail(err, EF_BAD_MODEL, "dense: found %zu bytes of weights, wanted %llu", weights.n,
                    (unsigned long long)(*at + bytes));
    if (value_bool(value_get(v, "bias"), false))
        s->bias = (const float *)(weights.p + *at + bias);
    *at += bytes;
    return true;
}

bool head_load(Arena *arena, const Value *v, Str weights, VectorHead **out, Err *err)
{
    VectorHead *head = *out = NEW(arena, VectorHead);
    const Value *steps = value_get(v, "steps");
    size_t n = steps && steps->kind == V_LIST ? steps->list.n : 0;
    uint64_t at = 0;
    head->without_prompt = !value_bool(value_get(v, "include_prompt"), true);
    head->assumed = value_bool(value_get(v, "assumed"), false);
    if (n > HEAD_STEPS) return fail(err, EF_BAD_MODEL, "head: found %zu steps", n);
    if (weights.n && (uintptr_t)weights.p % STORE_ALIGN) /* a package in memory may lie anywhere */
        weights.p = memcpy(arena_raw(arena, weights.n), weights.p, weights.n);
    bool ok = load_ways(value_get(v, "pooling"), head, err);
    for (size_t i = 0; ok && i < n; i++) {
        const Value *step = &steps->list.items[i];
        HeadStep *s = &head->step[head->n++];
        if (value_get(step, "dense")) ok = load_dense(step, weights, &at, s, err);
    }
    return ok || within(err, "head");
}
