/* SPDX-License-Identifier: Apache-2.0
 * running.h - a graph alone, on tensors by name: what `onnx run` and ef_graph_run do. */
#ifndef API_RUNNING_H
#define API_RUNNING_H
#include "model/model.h"

typedef struct Running Running;
typedef struct RunningOpen {
    bool exact;       /* ONNX's own semantics, nothing fused or merged */
    int threads;      /* 0: the CPUs this process may use */
    Str precision;    /* "int8"; empty: the file's own */
    Str task;         /* of a checkpoint: the head that is built; empty: as config.json says */
} RunningOpen;

/* path: an .onnx, a folder with one, a checkpoint, or a package. */
bool running_open(const char *path, const RunningOpen *, Running **, Err *);
void running_close(Running *);
/* As the file declares them; of a package, of the part that its task needs. */
const OnnxValue *running_inputs(const Running *, int *n);
const OnnxValue *running_outputs(const Running *, int *n);
/* Any number of threads. All inputs must be there; integers of other widths are converted, floats too. Missing
 * memory is an error. out: one for each output of the graph, in its arena. */
bool running_run(Running *, const Named *in, size_t n_in, Arena *, Named *out, Err *);

#endif
