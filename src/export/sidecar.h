/* SPDX-License-Identifier: Apache-2.0
 * sidecar.h - <stem>_htp_metadata.json: the modules of a model as a tree, and the tag of every
 * node, for tools that do not read ONNX, and for files whose tags were left out. */
#ifndef EXPORT_SIDECAR_H
#define EXPORT_SIDECAR_H
#include "data/value.h"
#include "export/build.h"
#include "export/export.h"

typedef struct SidecarFacts { /* what only the caller knows */
    Str started;              /* UTC, ISO 8601 */
    double seconds;           /* so far */
    uint64_t onnx_size;
} SidecarFacts;

/* The object; the keys and their order are those of the schema in the notes, part 3. */
Value sidecar_describe(const Export *, Builder *, const SidecarFacts *);

#endif
