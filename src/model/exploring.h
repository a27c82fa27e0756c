/* SPDX-License-Identifier: Apache-2.0
 * exploring.h - what `explore`, ef_explore and the page's explorer show of a model, as one JSON: modules, nodes,
 * values with their shapes, parameters, bytes and FLOPs, and the steps of the plan with the time that each took in
 * a profiled run.
 *
 * Nodes are those of the file: of a package, the fused ones. What a file lacks (an operator that is not known, a
 * shape that depends on data) leaves fields out and adds a line to `notes`: whatever can be read can be explored. */
#ifndef MODEL_EXPLORING_H
#define MODEL_EXPLORING_H
#include "base/option.h"
#include "model/model.h"

#define EXPLORE_FORMAT "encoderfile-explore-1" /* `format` of the JSON */
enum {
    EXPLORE_NODES = 1 << 16,   /* most nodes, and as many values again: the report of more would be too large */
    EXPLORE_LENGTH = 1 << 16,  /* most tokens */
};

typedef struct Exploring {
    /* asked for */
    const char *path;          /* a folder, an .onnx or a package; NULL: this very executable */
    const char *other;         /* (optional) a second one, to be set beside it */
    int64_t length;            /* tokens of the row that FLOPs and times are of; 0: 128, or the model's limit */
    /* found */
    Str json;                  /* {"format", "models": [...]}: compact, valid UTF-8 */
} Exploring;

extern const Option explore_options[]; /* of Exploring: for the command, and for ef_explore */
bool exploring_run(Arena *, Exploring *, Err *);
/* The same of a model that is open, at its usual length, on so many threads. */
bool exploring_write(const Model *, int threads, Buf *json, Err *);

/* ---- parts ---- */
typedef struct ExploreValue {  /* a value of the file (explore_graph.c) */
    Str name;
    DType type;
    int rank;                  /* -1: not known */
    int64_t dim[MAX_RANK];     /* DIM_BATCH, DIM_SEQUENCE, DIM_UNKNOWN or a size */
    Str symbol[MAX_RANK];      /* what the file calls an unknown one; or empty */
    const OnnxTensor *constant; /* NULL: it is computed, or an input */
} ExploreValue;
typedef struct ExploreNode {
    int *in, *out;             /* [n_in], [n_out] of the file's node: values; -1: absent */
    double flops;              /* -1: not known */
    int64_t parameters;        /* of the constants that it is the first to read, */
    uint64_t bytes;            /*   and their bytes */
    bool known;                /* no token has a part in it: computed when a plan is made */
    int step;                  /* of the plan that its result comes from; -1: none */
} ExploreNode;
typedef struct ExploreGraph {
    const OnnxModel *file;
    ExploreValue *value;
    int n_value;
    ExploreNode *node;         /* [n_node of the file] */
    const char *why_shapes;    /* shapes or FLOPs are missing; NULL: they are not */
} ExploreGraph;
typedef struct ExploreSample { /* of the row that FLOPs are counted for */
    int64_t length;            /* tokens */
    const Graph *aligned;      /* (optional) a graph of the same file, whose constants can be read in place */
    Batch batch;               /* B 0: not known; its first row says the sizes of what rows bring */
} ExploreSample;
bool explore_graph(Arena *, const OnnxModel *, const ExploreSample *, ExploreGraph *, Err *);
int64_t explore_parameters(const OnnxNode *, int input, const Tensor *); /* of a constant that a node reads */

typedef struct ExploreSteps {  /* a profiled run (explore_steps.c) */
    Profile profile;
    int threads;
    int *node;                 /* [steps]: of the file, the one with the most work in it; -1: none */
    const char *why;           /* there are none; NULL: there are */
} ExploreSteps;
/* A row to time the model with, and to count for. */
bool explore_sample(Arena *, const Model *, int64_t length, ExploreSample *, Err *);
/* Runs it; also sets for every node the step that its result goes into. */
void explore_steps(Arena *, const Model *, const ExploreSample *, int threads, ExploreGraph *, ExploreSteps *);

#endif
