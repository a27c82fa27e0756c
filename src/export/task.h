/* SPDX-License-Identifier: Apache-2.0
 * task.h - which head a model has: by the name of a task, or by the class config.json names. */
#ifndef EXPORT_TASK_H
#define EXPORT_TASK_H
#include "export/arch.h"

typedef struct ExportTask {
    const char *name;       /* as Optimum spells it */
    Head head;
    const char *suffix;     /* of the class: "ForTokenClassification" */
    const char *also[2];    /* tasks with the same head */
} ExportTask;

/* name: one of task_name's; NULL or "auto" looks at the architectures; an unknown class there means no head. */
bool export_task(const char *name, const Arch *, const Value *config, const ExportTask **, Err *);

#endif
