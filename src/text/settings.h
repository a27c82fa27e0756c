/* SPDX-License-Identifier: Apache-2.0
 * settings.h - settings that live outside tokenizer.json. */
#ifndef TEXT_SETTINGS_H
#define TEXT_SETTINGS_H
#include "data/value.h"

/* Changes the tree of a tokenizer.json by a tokenizer_config.json; config may be NULL. */
void settings_apply(Value *root, const Value *config);

#endif
