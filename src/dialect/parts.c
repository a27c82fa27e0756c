/* SPDX-License-Identifier: Apache-2.0
 * parts.c - pieces that more than one dialect is made of. */
#include "parts.h"

#include <math.h>
#include <stdlib.h>

#include "data/json.h"

const char *const kind_directions[] = { "right", "left", "Right", "Left", NULL };

/* ---- options ---- */
void kind_truncation(Job *job, const Value *options)
{
    Str direction = value_str(value_get(options, "truncation_direction"), STR("right"));
    job->work.options.input.whole = !value_bool(value_get(options, "truncate"), true);
    job->work.options.input.left = direction.n == strlen("left");
}

static bool is_prompt(const Value *v)
{
    return v && v->kind == V_STR;
}

bool kind_prompt(const Session *s, Job *job, const Value *options)
{
    const Value *name = value_get(options, "prompt_name");
    if (!name || name->kind == V_NULL) return true;
    const Value *prompt = value_get(session_model(s)->prompts, str_dup(&job->work.arena, name->s));
    if (!is_prompt(prompt))
        return fail(&job->work.err, EF_INVALID_INPUT,
                    "prompt_name: found \"%.*s\", which the model has not", (int)MIN(name->s.n, 60),
                    name->s.p);
    return work_prompt(s, &job->work, prompt->s);
}

bool kind_dimensions(const Session *s, Job *job, const Value *dimensions)
{
    job->work.options.dimensions = (int)value_float(dimensions, 0);
    return task_vector_fits(&session_model(s)->config, &job->work.options, &job->work.err);
}

/* ---- texts ---- */
bool kind_text(Job *job, const char *name, size_t index, Str text)
{
    if (text.n == 0) return fail(&job->work.err, EF_EMPTY, "%s[%zu]: found an empty text", name, index);
    if (text.n <= INT32_MAX) return true;
    return fail(&job->work.err, EF_TOO_LARGE, "%s[%zu]: found %zu bytes, wanted at most %d", name, index,
                text.n, INT32_MAX);
}

bool kind_count(const Session *s, Job *job, const char *name, size_t n)
{
    size_t most = session_options(s)->max_inputs;
    if (n == 0)
        return fail(&job->work.err, EF_EMPTY, "%s: found an empty list, wanted at least one", name);
    if (n <= most) return true;
    return fail(&job->work.err, EF_INVALID_INPUT, "%s: found %zu, wanted at most %zu", name, n, most);
}

bool kind_ids(const Session *s, Job *job, const char *name, const Value *ids, int32_t *out)
{
    int64_t most = (int64_t)tokenizer_size(session_model(s)->tokenizer) - 1;
    for (size_t i = 0; i < ids->list.n; i++) {
        const Value *id = &ids->list.items[i];
        double n = value_float(id, -1);
        bool number = id->kind == V_INT || id->kind == V_FLOAT;
        if (n < 0 || n > (double)most || n != floor(n))
            return fail(
                &job->work.err, EF_INVALID_INPUT, "%s: found %s, wanted whole numbers from 0 to %lld",
                name, number ? "one that is no token" : value_kind_name(id->kind), (long long)most);
        if (out) out[i] = (int32_t)n;
    }
    return true;
}

/* As in TEI: ids of another tokenizer become text, and truncation is the same as for texts. */
static bool decode_input(const Session *s, Job *job, const char *name, const Value *ids,
                         size_t index)
{
    int32_t *list = ARRAY(&job->work.arena, int32_t, ids->list.n);
    if (!kind_ids(s, job, name, ids, list) ||
        !tokenizer_decode(session_model(s)->tokenizer, list, ids->list.n, false, &job->work.arena,
                          &job->work.item[index].first, &job->work.err))
        return false;
    job->work.item[index].plain = true;
    return kind_text(job, name, index, job->work.item[index].first);
}

static bool read_input(const Session *s, Job *job, const char *name, const Value *v, size_t index)
{
    if (v->kind == V_LIST) return decode_input(s, job, name, v, index);
    if (v->kind != V_STR)
        return fail(&job->work.err, EF_INVALID_INPUT,
                    "%s[%zu]: found %s, wanted a string or a list of token ids", name, index,
                    value_kind_name(v->kind));
    job->work.item[index].first = v->s;
    return kind_text(job, name, index, v->s);
}

bool kind_inputs(const Session *s, Job *job, const char *name, const Value *v)
{
    if (!v || (v->kind != V_STR && v->kind != V_LIST))
        return fail(&job->work.err, EF_INVALID_INPUT,
                    "%s: found %s, wanted a string, token ids, or a list of both", name,
                    v ? value_kind_name(v->kind) : "nothing");
    const Value *first = v->kind == V_LIST && v->list.n ? &v->list.items[0] : NULL;
    job->in.single = v->kind == V_STR || (first && (first->kind == V_INT || first->kind == V_FLOAT));
    job->work.n = job->in.single ? 1 : v->list.n;
    if (!kind_count(s, job, name, job->work.n)) return false;
    job_items(job, job->work.n);
    job->work.called = name;
    if (job->in.single) return read_input(s, job, name, v, 0);
    for (size_t i = 0; i < job->work.n; i++)
        if (!read_input(s, job, name, &v->list.items[i], i)) return false;
    return true;
}

/* ---- numbers ---- */
const float *kind_vector(const Session *s, const Job *job, Arena *arena, size_t row)
{
    if (work_result(&job->work, row)->tokens == 1) return work_result(&job->work, row)->data;
    float *out = ARRAY(arena, float, work_result(&job->work, row)->width);
    TaskRow all = { .encoding = &job->work.row[row].encoding,
                    .data = work_result(&job->work, row)->data,
                    .tokens = work_result(&job->work, row)->tokens,
                    .width = work_result(&job->work, row)->width };
    work_pooling(s, &job->work)(&all, &job->work.options, out);
    return out;
}

typedef struct Ranked {
    float score;
    size_t index;
} Ranked;

static int by_score(const void *a, const void *b)
{
    const Ranked *x = a, *y = b;
    if (x->score != y->score) return x->score < y->score ? 1 : -1;
    return x->index < y->index ? 1 : -1;
}

size_t *kind_order(Arena *arena, const float *scores, size_t n)
{
    Ranked *list = ARRAY(arena, Ranked, n);
    size_t *order = ARRAY(arena, size_t, n);
    for (size_t i = 0; i < n; i++) list[i] = (Ranked){ scores[i], i };
    qsort(list, n, sizeof *list, by_score);
    for (size_t i = 0; i < n; i++) order[i] = list[i].index;
    return order;
}

bool kind_finite(Job *job, const float *scores, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!isfinite(scores[i]))
            return fail(&job->work.err, EF_INTERNAL, "the model gave a score that is no number");
    return true;
}

/* ---- names ---- */
Value kind_label_map(Arena *arena, const Site *site)
{
    int n = task_labels(site->task, site->config);
    Value map = value_map(arena, (size_t)n);
    for (int i = 0; i < n; i++)
        value_add(&map, str_format(arena, "%d", i), value_of_str(site->config->labels[i]));
    return map;
}

/* ---- JSON Schemas ---- */
Value kind_schema(Arena *arena, const char *json)
{
    Value v = value_null();
    Err err;
    bool ok = json_parse(arena, str_of(json), &v, &err);
    assert(ok);
    (void)ok;
    return v;
}

void kind_replace(Value *schema, const char *property, Value by)
{
    Value *field = (Value *)value_get(value_get(schema, "properties"), property);
    assert(field);
    *field = by;
}

Value kind_schema_with(Arena *arena, const Field *rows, const char *name, Value schema)
{
    Value all = schema_describe(arena, rows);
    kind_replace(&all, name, schema);
    return all;
}

void kind_schema_prompt(Arena *arena, const Site *site, Value *schema)
{
    const Value *prompts = site->prompts;
    size_t n = prompts && prompts->kind == V_MAP ? prompts->map.n : 0;
    Value one = value_map(arena, 1), names = value_list(arena, n + 1); /* the last: null */
    for (size_t i = 0; i < n; i++) names.list.items[i] = value_of_str(prompts->map.items[i].key);
    value_add(&one, "enum", names);
    kind_replace(schema, "prompt_name", one);
}

Value kind_schema_list(Arena *arena, Value items)
{
    Value list = value_map(arena, 2);
    value_add(&list, "type", value_of_str(STR("array")));
    value_add(&list, "items", items);
    return list;
}

Value kind_schema_any(Arena *arena, Value one, Value other)
{
    Value any = value_map(arena, 1), both = value_list(arena, 2);
    both.list.items[0] = one;
    both.list.items[1] = other;
    value_add(&any, "anyOf", both);
    return any;
}

Value kind_text_schema(Arena *arena)
{
    return kind_schema(arena, "{\"type\":\"string\",\"minLength\":1}");
}

Value kind_inputs_schema(Arena *arena, const Site *site)
{
    const char *ids = str_format(
        arena,
        "{\"type\":\"array\",\"minItems\":1,\"items\":{\"type\":\"integer\",\"minimum\":0,"
        "\"maximum\":%zu}}",
        site->vocabulary - 1);
    return kind_schema(
        arena,
        str_format(
            arena,
            "{\"anyOf\":[{\"type\":\"string\",\"minLength\":1},%s,{\"type\":\"array\",\"minItems\":"
            "1,"
            "\"maxItems\":%zu,\"items\":{\"anyOf\":[{\"type\":\"string\",\"minLength\":1},%s]}}]}",
            ids, site->max_inputs, ids));
}

void kind_narrow(Value *schema, const char *property, const char *key, int64_t value)
{
    const Value *one = value_get(value_get(schema, "properties"), property);
    Value *field = one ? (Value *)value_get(one, key) : NULL;
    if (field && value) *field = value_of_int(value);
}
