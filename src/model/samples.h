/* SPDX-License-Identifier: Apache-2.0
 * samples.h - texts to try a model with. */
#ifndef MODEL_SAMPLES_H
#define MODEL_SAMPLES_H
#include "task/task.h"

/* Those that the folder's README.md gives as `widget` examples, as model cards do; else (folder may
 * be NULL) those of the task, as task_samples gives them. */
size_t samples_find(Arena *, const char *folder, const Task *, const ModelConfig *,
                    const Tokenizer *, const Str **out);

#endif
