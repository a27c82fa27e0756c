/* SPDX-License-Identifier: Apache-2.0
 * samples.h - texts to try a model with. */
#ifndef CLI_SAMPLES_H
#define CLI_SAMPLES_H
#include "task/task.h"

/* Those that the folder's README.md gives as `widget` examples, as model cards do; else (folder may
 * be NULL) a few that fit the task and the labels. config: may be NULL. */
size_t samples_find(Arena *, const char *folder, const char *task, const ModelConfig *config,
                    const Str **out);

#endif
