/* SPDX-License-Identifier: Apache-2.0
 * hf_task.h - what a model is for, as Hugging Face names it ("token-classification"), from its
 * config.json alone. In the order they are tried: a `task` that config.json names itself, the class
 * in `architectures`, task_specific_params, the model type, labels; else feature-extraction. */
#ifndef EXPORT_HF_TASK_H
#define EXPORT_HF_TASK_H
#include "data/value.h"

typedef enum { HF_TASK_NAMED, HF_TASK_CLASS, HF_TASK_PARAMS, HF_TASK_TYPE, HF_TASK_LABELS,
               HF_TASK_DEFAULT } HfTaskFrom;

/* Never NULL. *from (may be NULL) says how: what comes behind HF_TASK_CLASS is a guess. */
const char *hf_task_detect(const Value *config, HfTaskFrom *from);
const char *hf_task_from_name(HfTaskFrom); /* "architectures": for people */
/* The usual spelling ("ner" gives "token-classification"); NULL: no such task. */
const char *hf_task_known(Str name);
bool hf_task_check(const char *name, const char **out, Err *); /* the same with an error */

#endif
