/* SPDX-License-Identifier: Apache-2.0
 * cmd_version.c - which program this is, and which kernels it picked on this CPU. */
#include "base/cpu.h"
#include "cli/cli.h"
#include "kernels/kernels.h"

/* Products of each precision may come from another table. */
static Value kernels_chosen(Arena *arena)
{
    static const char *const precisions[] = { "fp32", "bf16", "int8" };
    Value v = value_map(arena, COUNT(precisions));
    for (size_t i = 0; i < COUNT(precisions); i++)
        value_add(&v, precisions[i], value_of_str(str_of(kernels_isa(kernels(), precisions[i]))));
    return v;
}

static Value cpu_found(Arena *arena)
{
    uint64_t features = cpu_features(NULL);
    Value v = value_list(arena, (size_t)__builtin_popcountll(features));
    for (size_t i = 0; i < v.list.n; i++)
        v.list.items[i] = value_of_str(str_of(cpu_next(&features)));
    return v;
}

static bool version_run(Args *a, Err *err)
{
    if (!args_has(a, "json")) return out_write(STR("encoderfile " EF_VERSION "\n"), err);
    Value v = value_map(&a->arena, 5);
    value_add(&v, "name", value_of_str(STR("encoderfile")));
    value_add(&v, "version", value_of_str(STR(EF_VERSION)));
    value_add(&v, "isa", value_of_str(str_of(kernels()->isa)));
    value_add(&v, "kernels", kernels_chosen(&a->arena));
    value_add(&v, "cpu", cpu_found(&a->arena));
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
    .run = version_run,
    .example = "  encoderfile version --json\n",
};
