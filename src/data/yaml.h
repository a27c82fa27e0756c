/* SPDX-License-Identifier: Apache-2.0
 * yaml.h - one YAML document to a Value, by libyaml's events. Core-schema scalars: null, booleans,
 * integers and floats when plain, strings when quoted. Aliases are refused (they can grow without
 * bound), tags are refused, depth at most 64, size at most 1 MiB. */
#ifndef DATA_YAML_H
#define DATA_YAML_H
#include "value.h"

bool yaml_parse(Arena *, Str text, Value *out, Err *); /* error: "line 3: ..." */

#endif
