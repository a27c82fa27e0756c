/* SPDX-License-Identifier: Apache-2.0
 * analyzing.h - how the nodes of an ONNX file are spread over the modules of its source model, and what its metadata
 * says: `analyze` and ef_analyze. */
#ifndef API_ANALYZING_H
#define API_ANALYZING_H
#include "base/option.h"
#include "export/hf_metadata.h"
#include "export/hierarchy.h"

typedef struct Analyzing {
    /* asked for */
    const char *path;       /* an .onnx */
    const char *filter;     /* only tags that contain it; NULL: all */
    const char *sidecar;    /* the hierarchy's JSON; NULL: looked for beside the file */
    bool metadata, task, processor, problems; /* of the metadata, these too */
    /* found */
    HierarchyFile file;
    Value more;             /* of the metadata: at most HTP_MORE members */
    Value report;
} Analyzing;

extern const Option analyze_options[]; /* of Analyzing: for the command, and for ef_analyze */
bool analyzing_run(Arena *, Analyzing *, Err *); /* true: analyzing_close closes the file, which the report needs */
void analyzing_close(Analyzing *);

#endif
