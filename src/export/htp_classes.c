/* SPDX-License-Identifier: Apache-2.0
 * htp_classes.c - the class table of a family, found by config.json, for files whose nodes have
 * scopes but no classes. */
#include "arch.h"
#include "htp.h"
#include "task.h"

/* Some node lies under this path, "bert." */
static bool has_scope(const OnnxGraph *g, const char *base)
{
    size_t n = strlen(base);
    for (int i = 0; n && i < g->n_node; i++) {
        Str name = g->node[i].name;
        if (name.n > n && name.p[0] == '/' && memcmp(name.p + 1, base, n - 1) == 0 &&
            name.p[n] == '/')
            return true;
    }
    return false;
}

Builder *htp_classes(Arena *arena, const Value *config, const OnnxGraph *g)
{
    Err ignored;
    const ExportTask *task;
    const Arch *arch = arch_find(value_str(value_get(config, "model_type"), STR("")));
    if (!arch || !export_task(NULL, arch, config, &task, &ignored)) return NULL;
    bool inside = has_scope(g, arch->base); /* else the head was dropped */
    const Activation *act = activation_find(
        value_str(value_get(config, arch->act_key ? arch->act_key : "hidden_act"),
                  str_of(arch->act ? arch->act : "gelu")));
    Builder *b = NEW(arena, Builder);
    *b = (Builder){ .arena = arena, .modules = arch->modules, .family = arch->family,
                    .base = inside ? arch->base : "", .prefix = arch->base,
                    .head_modules = inside ? arch->head_modules[task->head] : NULL,
                    .act_class = act ? act->class_name : NULL };
    b->root_class = inside ? str_format(arena, "%s%s", arch->family, task->suffix)
                           : build_class(b, arch->modules[0].class_name);
    return b;
}
