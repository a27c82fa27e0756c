/* SPDX-License-Identifier: Apache-2.0
 * cmd_version.c - which program this is, and which kernels it picked on this CPU. */
#include "cli/cli.h"
#include "kernels/kernels.h"

static bool run(Args *a, Err *err)
{
    if (!args_has(a, "json")) return out_write(STR("encoderfile " EF_VERSION "\n"), err);
    Value v = value_map(&a->arena, 3);
    value_add(&v, "name", value_of_str(STR("encoderfile")));
    value_add(&v, "version", value_of_str(STR(EF_VERSION)));
    value_add(&v, "isa", value_of_str(str_of(kernels()->isa)));
    return out_json(&v, err);
}

static const Option options[] = {
    { "json", 0, NULL, "as JSON, with the kernels picked on this CPU" }, { 0 }
};
const Command cmd_version = {
    .name = "version",
    .summary = "print the version",
    .usage = "[--json]",
    .options = options,
    .run = run,
    .example = "  encoderfile version --json\n",
};
