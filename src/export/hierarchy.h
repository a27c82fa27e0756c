/* SPDX-License-Identifier: Apache-2.0
 * hierarchy.h - an .onnx with what stands beside it that knows its modules: sidecar, config.json.
 * Weights in other files are not looked at. */
#ifndef EXPORT_HIERARCHY_H
#define EXPORT_HIERARCHY_H
#include "base/file.h"
#include "export/htp.h"

typedef struct HierarchyHints { /* what stands beside an .onnx; hints point into it */
    Value sidecar, config;
    HtpHints hints;
} HierarchyHints;
/* sidecar: its path, or NULL: none. A config.json that cannot be read only means fewer class names. */
bool hierarchy_hints(Arena *, const char *path, const char *sidecar, HierarchyHints *, Err *);

typedef struct HierarchyFile {
    Mapping map;
    OnnxModel model;
    const char *sidecar_path; /* NULL: none */
    HierarchyHints beside;
    Htp htp;
} HierarchyFile;
/* sidecar: its path; NULL: looked for beside the file. */
bool hierarchy_open(Arena *, const char *path, const char *sidecar, HierarchyFile *, Err *);
void hierarchy_close(HierarchyFile *);
/* The tags of two files beside each other: htp_compare. */
bool hierarchy_compare(Arena *, const char *path, const char *other, Value *out, Err *);

#endif
