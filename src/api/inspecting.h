/* SPDX-License-Identifier: Apache-2.0
 * inspecting.h - what is in a model, as `inspect --json` and ef_inspect tell it. */
#ifndef API_INSPECTING_H
#define API_INSPECTING_H
#include "base/option.h"
#include "model/model.h"

typedef struct Inspecting {
    ModelOpen open;
    bool verify;            /* check the SHA-256 of every member */
} Inspecting;

extern const Option inspect_options[]; /* of Inspecting: for the command, and for ef_inspect */
bool inspecting_verify(const Inspecting *, const Model *, Err *); /* false: a member is damaged, or it is no package */
Value inspecting_json(Arena *, const Inspecting *, const Model *); /* strings of it are the model's */

#endif
