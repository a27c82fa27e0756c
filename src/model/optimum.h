/* SPDX-License-Identifier: Apache-2.0
 * optimum.h - two questions about a model folder, answered apart: would Optimum's
 * ORTModelForX.from_pretrained(folder) load it and a pipeline work with it, and does this program
 * run it? A row for each check. No Python runs: the rules of transformers, Optimum and ONNX
 * Runtime are written here, and tested against what these really do (tests/cli/optimum.sh). */
#ifndef MODEL_OPTIMUM_H
#define MODEL_OPTIMUM_H
#include "export/export.h"
#include "model/model.h"

typedef enum { CHECK_OK, CHECK_WARNING, CHECK_FAILED } CheckState;
extern const char *const check_states[]; /* "ok", "warning", "failed" */
typedef struct Check {
    const char *name;       /* "config.json" */
    CheckState state;
    const char *detail;     /* what was found, or what is wrong */
} Check;
enum { OPTIMUM_FILES = 16 }; /* graphs, config.json, optional ones */
typedef struct OptimumReport {
    const char *folder;
    Check check[16];
    int n;
    const char *class_name; /* of Optimum, for this task: "ORTModelForTokenClassification" */
    bool loads;             /* that class opens the folder */
    bool compatible;        /* and nothing else failed that concerns Optimum */
    bool tried, runs;       /* this program tried to run it; it could */
    const char *task;       /* of ours; NULL: none that runs */
    Value missing;          /* names of required files that are not there */
    Value optional;         /* name to whether it is there */
    ExportFile file[OPTIMUM_FILES]; /* those that were looked at */
    size_t n_file;
} OptimumReport;

/* False only when there is no such folder; everything else is a finding. run: a text too. */
bool optimum_check(Arena *, const char *folder, bool run, OptimumReport *, Err *);
Value optimum_json(Arena *, const OptimumReport *, double seconds);

/* optimum_graph.c: would ONNX Runtime open it? `file` stays open. */
bool optimum_graph(Arena *, const char *path, OnnxFile *, Err *);

/* optimum_names.c: the names that the newest releases know, each with a space on both sides. */
extern const char optimum_types[], optimum_operators[], optimum_contrib[];
bool optimum_lists(const char *names, Str name);

#endif
