/* SPDX-License-Identifier: Apache-2.0
 * check.c - the dry run of a script while its package is built. */
#include "transform.h"

#include <stdlib.h>

enum { ROWS = 32, TOKENS = 128, FEW_ROWS = 2, FEW_TOKENS = 8, HIDDEN = 384, PADDING = 3 };

static float *random_numbers(Arena *arena, size_t n)
{
    float *x = ARRAY(arena, float, n);
    uint64_t state = 42;
    for (size_t i = 0; i < n; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        x[i] = (float)(state >> 40) / (float)(1 << 23) - 1.0f; /* -1 .. 1 */
    }
    return x;
}

/* Rows of random numbers; all but the first row of a per-token task end in padding. Of a whole
 * vocabulary there are few, or a script would have no room left. */
static TransformRows random_rows(Arena *arena, const Task *task, int64_t width)
{
    const bool wide = task->shape->last == AXIS_WORDS;
    const int rows = wide ? FEW_ROWS : ROWS, longest = wide ? FEW_TOKENS : TOKENS;
    float *x = random_numbers(arena, (size_t)(rows * longest * width));
    const float **data = ARRAY(arena, const float *, rows);
    int64_t *tokens = ARRAY(arena, int64_t, rows);
    for (int i = 0; i < rows; i++) {
        data[i] = x + i * longest * width;
        tokens[i] = task->shape->per == PER_TEXT ? 1 : i == 0 ? longest : longest - PADDING;
    }
    return (TransformRows){ (size_t)rows, data, tokens, width };
}

static bool try_post(const Transform *t, const Task *task, int64_t width, Err *err)
{
    Arena arena = { .local = true };
    TransformRows rows = random_rows(&arena, task, width);
    TransformResult result;
    TransformVm *vm = transform_vm(t);
    bool ok = transform_post(vm, task, &rows, &arena, &result, err);
    if (!ok && strstr(err->message, "Error in "))
        within(err, "Failed to run postprocessing on dummy %s (randomly generated in range "
                    "-1.0..1.0)", task->shape->numbers);
    transform_vm_free(vm);
    arena_free(&arena);
    return ok;
}

static bool try_pre(const Transform *t, Err *err)
{
    Arena arena = { .local = true };
    Str out;
    TransformVm *vm = transform_vm(t);
    bool ok = transform_pre(vm, &arena, STR("This is a test."), &out, err);
    if (ok && out.n == 0) ok = fail(err, EF_INVALID_INPUT, "Preprocess returned an empty text");
    transform_vm_free(vm);
    arena_free(&arena);
    return ok;
}

bool transform_fits(const Transform *t, const Task *task, Err *err)
{
    if (!t->post || task->lua) return true;
    return fail(err, EF_INVALID_INPUT, "found a `Postprocess` function: %s takes none: %s", task->name,
                task->no_lua);
}

static bool transform_try_task(const Transform *t, const Task *task, const ModelConfig *config,
                               Err *err)
{
    if (!t->post && !t->pre)
        return fail(err, EF_INVALID_INPUT,
                    "Could not find `Postprocess` function in provided transform. Please make sure "
                    "it exists.");
    if (!transform_fits(t, task, err)) return false;
    TaskAxis axis = task->shape->last;
    if (axis == AXIS_LABELS && config->num_labels == 0)
        return fail(err, EF_INVALID_INPUT,
                    "Model config does not have `num_labels`, `id2label`, or `label2id` field. "
                    "Please make sure you're using a %s model.", task->name);
    int64_t known = axis == AXIS_HIDDEN ? config->hidden_size
                                        : task_width(task, config, (size_t)config->vocab_size);
    int64_t width = known ? known : HIDDEN;
    return (!t->pre || try_pre(t, err)) && (!t->post || try_post(t, task, width, err));
}

bool transform_check(const Transform *t, const Task *task, const ModelConfig *config, Err *err)
{
    Err own = { 0 };
    if (!err) err = &own;
    if (transform_try_task(t, task, config, err)) return true;
    if (err->code == EF_INTERNAL) err->code = EF_INVALID_INPUT; /* the script is the input here */
    return within(err, "Transform validation failed");
}
