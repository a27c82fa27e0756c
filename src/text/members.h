/* SPDX-License-Identifier: Apache-2.0
 * members.h - reading the objects of tokenizer.json: absence and a wrong type are errors that name
 * the component (`where`) and the key. */
#ifndef TEXT_MEMBERS_H
#define TEXT_MEMBERS_H
#include "data/value.h"

bool member_str(const Value *, const char *where, const char *key, Str *out, Err *);
bool member_bool(const Value *, const char *where, const char *key, bool *out, Err *);
bool member_int(const Value *, const char *where, const char *key, int64_t *out, Err *); /* >= 0 */
bool member_list(const Value *, const char *where, const char *key, const Value **out, Err *);
/* The `type` of a component; `where` is the member that holds it. */
bool component_type(const Value *, const char *where, Str *out, Err *);
bool component_unknown(const char *where, Str type, Err *); /* false, always */

#endif
