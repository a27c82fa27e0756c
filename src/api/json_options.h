/* SPDX-License-Identifier: Apache-2.0
 * json_options.h - options as a JSON object, {"opset": 17, "quantize": true}, by the same rows that
 * make them flags. false and null: as if the key were not there. */
#ifndef API_JSON_OPTIONS_H
#define API_JSON_OPTIONS_H
#include "base/option.h"
#include "data/value.h"

/* json NULL: no options. */
bool json_options_parse(Arena *, const char *json, Value *root, Err *);
bool json_options_given(const Value *);  /* neither false nor null */
const Option *json_options_row(const Option *rows, Str key); /* NULL: none */
/* Stores defaults, then what is given. Errors name an option as a flag ("--opset: found ..."):
 * unknown keys, values that do not fit, options that would be ignored beside others. */
bool json_options_set(const Option *rows, Arena *, const Value *root, void *settings, Err *);

#endif
