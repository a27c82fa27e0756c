/* SPDX-License-Identifier: Apache-2.0
 * params.c - see params.h. */
#include "cli/params.h"

#include <stdlib.h>

#include "data/json.h"
#include "dialect/pipeline.h"

enum { MOST_ROWS = 64, MOST_TASKS = 3 }; /* more of them are not named in a line of help */

/* ---- rows ---- */

/* Whether a flag can say it: inputs and metadata it cannot. */
static bool has_flag(const Field *f)
{
    if (f->repeated) return f->kind == F_STR && strcmp(f->name, "inputs") != 0;
    return f->kind != F_MSG && f->kind != F_STR_MAP && f->kind != F_ANY && f->kind != F_BYTES;
}

static bool is_whole(const Field *f)
{
    return f->kind == F_I32 || f->kind == F_U32 || f->kind == F_U64;
}

static const char *flag_name(Arena *arena, const char *field)
{
    char *name = str_dup(arena, str_of(field));
    for (char *c = name; *c; c++)
        if (*c == '_') *c = '-';
    return name;
}

/* The tasks that have an option of this name: "fill_mask, question_answering". */
static const char *tasks_with(Arena *arena, const char *field, int *n)
{
    size_t count;
    const Task *const *all = task_all(&count);
    Buf list = { .arena = arena };
    *n = 0;
    for (size_t i = 0; i < count; i++)
        if (task_has_option(all[i], field) || (all[i]->variant && task_has_option(all[i]->variant, field)))
            buf_printf(&list, "%s%s", (*n)++ ? ", " : "", all[i]->name);
    return str_dup(arena, buf_view(&list));
}

static Option row_of_field(Arena *arena, const Field *f)
{
    Option o = { .name = flag_name(arena, f->name), .argument = "TEXT" };
    if (f->repeated) {
        o.argument = "A,B,...";
    } else if (is_whole(f)) {
        o.argument = "N", o.kind = TAKES_COUNT;
        o.least = (int64_t)f->least, o.most = f->most > 0 ? (int64_t)f->most : INT32_MAX;
    } else if (f->kind == F_F32 || f->kind == F_F64) {
        o.argument = "X";
    } else if (f->kind == F_BOOL) {
        o.argument = "BOOL", o.may = option_bools;
    } else if (f->words) {
        o.argument = "WORD", o.kind = TAKES_WORD, o.words = f->words;
    }
    int tasks;
    const char *names = tasks_with(arena, f->name, &tasks);
    o.help = f->help ? f->help : f->name;
    if (tasks <= MOST_TASKS) o.help = str_format(arena, "%s (%s)", o.help, names);
    return o;
}

static bool is_listed(const Option *rows, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(rows[i].name, name) == 0) return true;
    return false;
}

static size_t params_add(Option *row, size_t n, Arena *arena, const Task *task)
{
    for (const Field *f = task->request; f->name; f++) {
        if (!has_flag(f) || is_listed(row, n, flag_name(arena, f->name))) continue;
        assert(n + 1 < MOST_ROWS);
        row[n++] = row_of_field(arena, f);
    }
    return n;
}

/* Made once, when a command is looked for: of schemas that never change. A variant is first: its words are
 * the longer list. */
const Option *params_rows(void)
{
    static Option row[MOST_ROWS];
    static Arena arena;
    size_t count, n = 0;
    const Task *const *all = task_all(&count);
    if (row[0].name) return row;
    for (size_t i = 0; i < count; i++) {
        if (all[i]->variant) n = params_add(row, n, &arena, all[i]->variant);
        n = params_add(row, n, &arena, all[i]);
    }
    return row;
}

/* ---- values ---- */

static const Field *field_of_flag(const Task *task, const char *flag)
{
    Arena scratch = { 0 };
    const Field *f = task->request;
    while (f->name && !(has_flag(f) && strcmp(flag_name(&scratch, f->name), flag) == 0)) f++;
    arena_free(&scratch);
    return f->name ? f : NULL;
}

static bool value_of_flag(Arena *arena, const Given *g, const Field *f, Value *out, Err *err)
{
    Str text = g->value ? str_of(g->value) : STR("true");
    char *end;
    *out = value_of_str(text);
    if (f->repeated) return *out = pipeline_split(arena, text), true;
    if (f->kind == F_BOOL) return *out = value_of_bool(str_is(text, "true")), true;
    if (is_whole(f)) return *out = value_of_int(option_int(g->option, text)), true;
    if (f->kind != F_F32 && f->kind != F_F64) return true;
    *out = value_of_float(strtod(text.p, &end));
    return (text.n && !*end) || fail(err, EF_USAGE, "%s: found \"%s\", wanted a number", g->called, text.p);
}

bool params_row(const Option *o)
{
    const Option *rows = params_rows();
    return o >= rows && o < rows + MOST_ROWS;
}

/* --normalize opens the model so; where vectors are cut to --dimensions, what is left must have
 * length 1, which is the request's to say. */
static bool is_asked(const Option *o, const Task *task)
{
    return params_row(o) || (strcmp(o->name, "normalize") == 0 && task_has_option(task, o->name));
}

static bool no_such_option(const Given *g, const Task *task, Err *err)
{
    Arena scratch = { 0 };
    int n;
    char *field = str_dup(&scratch, str_of(g->option->name));
    for (char *c = field; *c; c++)
        if (*c == '-') *c = '_';
    fail(err, EF_USAGE, "%s: found a model for %s, wanted one for %s", g->called, task->name,
         tasks_with(&scratch, field, &n));
    arena_free(&scratch);
    return false;
}

static bool add_flags(Args *a, const Task *task, Value *params, Err *err)
{
    for (int i = 0; i < a->n_given; i++) {
        const Given *g = &a->given[i];
        Value v;
        if (!is_asked(g->option, task)) continue;
        const Field *f = field_of_flag(task, g->option->name);
        if (!f) return no_such_option(g, task, err);
        if (!value_of_flag(&a->arena, g, f, &v, err)) return false;
        value_add(params, f->name, v); /* of two of a name the last counts */
    }
    return true;
}

static bool read_json(Args *a, const char *text, Value *v, Err *err)
{
    *v = value_map(&a->arena, 0);
    if (!text) return true;
    if (!json_parse(&a->arena, str_of(text), v, err)) return within(err, "--params");
    return v->kind == V_MAP || fail(err, EF_USAGE, "--params: found %s, wanted an object",
                                    value_kind_name(v->kind));
}

bool params_read(Args *a, const Task *task, const Value **out, Err *err)
{
    Value json, *v = NEW(&a->arena, Value);
    *out = NULL;
    if (!read_json(a, args_value(a, "params"), &json, err)) return false;
    *v = value_map(&a->arena, json.map.n + (size_t)a->n_given);
    if (json.map.n) memcpy(v->map.items, json.map.items, json.map.n * sizeof *v->map.items);
    v->map.n = json.map.n;
    if (!add_flags(a, task, v, err)) return false;
    if (v->map.n || args_has(a, "params")) *out = v;
    return true;
}

bool params_set(const Session *s, Job *job, const Value *params, bool chars, Err *err)
{
    if (params && !job_options(s, job, params))
        return fail(err, job->work.err.code, "%s", job->work.err.message);
    job->work.options.chars |= chars;
    return true;
}
