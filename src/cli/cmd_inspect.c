/* SPDX-License-Identifier: Apache-2.0
 * cmd_inspect.c - what is in a model, as lines for people or as JSON. --verify hashes every member. */
#include <unistd.h>

#include "api/inspecting.h"
#include "cli/cli.h"

static const Option options[] = {
    OPTION_MODEL,
    { "json", 0, NULL, "as JSON, also on a terminal" },
    { 0 },
};

static bool inspect(Args *a, const Inspecting *i, const Model *m, Err *err)
{
    if (!inspecting_verify(i, m, err)) return false;
    if (isatty(STDOUT_FILENO) && !args_has(a, "json") && !i->verify) {
        Buf text = { .arena = &a->arena };
        describe_model(&a->arena, &text, m);
        return out_write(buf_view(&text), err);
    }
    Value v = inspecting_json(&a->arena, i, m);
    return out_json(&v, err);
}

static bool inspect_run(Args *a, Err *err)
{
    Model *m;
    Inspecting i = { 0 };
    const int files = a->n_text + args_has(a, "model");
    if (files > 1) return fail(err, EF_USAGE, "inspect: found %d files, wanted one", files);
    if (!args_fill(a, &i, err)) return false;
    bool open = a->n_text ? model_open_with(a->text[0], &i.open, &m, err) : args_model(a, &m, err);
    if (!open) return false;
    bool ok = inspect(a, &i, m, err);
    model_close(m);
    return ok;
}

const Command cmd_inspect = {
    .name = "inspect",
    .summary = "show what is in a package or a model folder",
    .options = options,
    .more = inspect_options,
    .model_word = 1,
    .run = inspect_run,
    .usage = "[PATH] [--verify]",
    .example = "  encoderfile inspect my-ner.encoderfile --verify\n",
};
