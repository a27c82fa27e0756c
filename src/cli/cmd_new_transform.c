/* SPDX-License-Identifier: Apache-2.0
 * cmd_new_transform.c - a Lua script to begin with, for `transform:` of a build's YAML. */
#include "cli/cli.h"

static bool unknown_task(const char *name, Err *err)
{
    Buf all = { 0 };
    task_list(&all);
    fail(err, EF_USAGE, "Unknown model type: %s: wanted one of %.*s", name,
         STR_ARG(buf_view(&all)));
    buf_free(&all);
    return false;
}

static bool new_transform_run(Args *a, Err *err)
{
    const char *name = args_value(a, "model-type");
    if (!name && a->n_text == 1) name = a->text[0];
    if (!name) return fail(err, EF_USAGE, "new-transform: wanted -m MODEL_TYPE");
    const Task *task = task_find(str_of(name));
    if (!task) return unknown_task(name, err);
    if (!task->lua)
        return fail(err, EF_UNSUPPORTED, "%s takes no Postprocess: %s", task->name, task->no_lua);
    return out_write(str_of(task->lua), err);
}

static const Option options[] = {
    { "model-type", 'm', "TYPE",
      "the model's task, by any of its names: token_classification, ner, ..." },
    { 0 },
};
const Command cmd_new_transform = {
    .name = "new-transform",
    .summary = "print a Lua script to begin with",
    .usage = "-m TYPE",
    .options = options,
    .run = new_transform_run,
    .builder = true,
    .example = "  encoderfile new-transform -m sentence_embedding > transform.lua\n",
};
