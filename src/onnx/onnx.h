/* SPDX-License-Identifier: Apache-2.0
 * onnx.h - ModelProto as C structs, read from a mapping without copying weights, and written back.
 * No meaning here: names are names, operators are strings. Refused with a message: malformed wire
 * data, sparse initializers, strings as initializers where a number is needed, external data that
 * points outside the model's folder. */
#ifndef ONNX_ONNX_H
#define ONNX_ONNX_H
#include "base/file.h"
#include "onnx/tensor.h"

typedef struct OnnxTensor {
    Str name;
    Tensor t;               /* data may be unaligned: a view into the file; NULL while external */
    Str location;           /* external data: file name beside the model; empty: inside */
    uint64_t offset, length;
} OnnxTensor;

typedef enum {
    A_NONE = 0, A_FLOAT = 1, A_INT = 2, A_STRING = 3, A_TENSOR = 4, A_GRAPH = 5, A_FLOATS = 6, A_INTS = 7,
    A_STRINGS = 8, A_TENSORS = 9, A_GRAPHS = 10
} AttrType;
typedef struct OnnxGraph OnnxGraph;
typedef struct OnnxAttr {
    Str name;
    Str ref;                /* inside a function: name of the call's attribute to take */
    AttrType type;
    float f;
    int64_t i;
    Str s;
    OnnxTensor *t;          /* A_TENSOR: one; A_TENSORS: n of them */
    OnnxGraph *g;           /* the same */
    size_t n;               /* of floats, ints, strings, tensors, graphs */
    float *floats;
    int64_t *ints;
    Str *strings;
} OnnxAttr;

typedef struct OnnxPair { /* metadata_props, opset imports as text */
    Str key, value;
} OnnxPair;
typedef struct OnnxNode {
    Str op, domain, name, overload;
    Str doc;
    Str *in, *out;          /* empty name: absent */
    int n_in, n_out, n_attr, n_meta;
    OnnxAttr *attr;
    OnnxPair *meta;
} OnnxNode;

enum { DIM_UNKNOWN = -1 };
typedef struct OnnxValue {
    Str name;
    DType type;
    int rank;               /* -1: not said */
    int64_t dim[MAX_RANK];  /* DIM_UNKNOWN where symbolic */
    Str symbol[MAX_RANK];   /* "batch_size" */
} OnnxValue;

struct OnnxGraph {
    Str name, doc;
    OnnxNode *node;
    OnnxTensor *init;
    OnnxValue *in, *out;    /* graph inputs include initializers in old files */
    OnnxValue *info;        /* of inner values; whoever changes what a value is drops them */
    OnnxPair *meta;
    int n_node, n_init, n_in, n_out, n_info, n_meta;
};
typedef struct OnnxOpset {
    Str domain;             /* empty: ai.onnx */
    int64_t version;
} OnnxOpset;
typedef struct OnnxFunction {
    Str domain, name;
    Str *in, *out, *attr;
    int n_in, n_out, n_attr, n_opset, n_otherwise;
    OnnxOpset *opset;
    OnnxAttr *otherwise;    /* attributes with a default, not named in attr */
    OnnxGraph body;         /* its nodes */
} OnnxFunction;
typedef struct OnnxModel {
    int64_t ir_version, version;
    Str producer, producer_version, domain, doc;
    OnnxOpset *opset;
    OnnxPair *meta;
    OnnxFunction *function;
    int n_opset, n_meta, n_function;
    OnnxGraph graph;
} OnnxModel;

/* Strings and weights are views into `file`, which must outlive the model. */
bool onnx_read(Arena *, Str file, OnnxModel *, Err *);
bool onnx_read_tensor(Arena *, Str bytes, OnnxTensor *, Err *); /* a TensorProto alone (.pb of test cases) */
/* Points external initializers at bytes: `find` returns the bytes of a location, or false. */
typedef bool OnnxFind(void *context, Str location, Str *bytes, Err *);
bool onnx_attach(OnnxModel *, OnnxFind *, void *context, Err *);
/* External tensors are written as references (location, offset, length), others inside. */
void onnx_write(Buf *, const OnnxModel *);
/* The same straight into a file, without holding the weights: an initializer that has no data
 * and is not external is requested from `pour` when its turn comes. `pour` must write exactly
 * tensor_bytes of it. */
typedef bool OnnxPour(void *context, const OnnxTensor *, FileWriter *, Err *);
bool onnx_write_file(FileWriter *, const OnnxModel *, OnnxPour *, void *context, Err *);
/* The whole model as one file, streamed; its folder is made. */
bool onnx_save(Arena *, const char *path, const OnnxModel *, Err *);

/* Parts alone: a GraphProto; the functions of a model as a ModelProto without anything else. */
void onnx_write_graph(Buf *, const OnnxGraph *);
bool onnx_read_graph(Arena *, Str bytes, OnnxGraph *, Err *);
void onnx_write_functions(Buf *, const OnnxModel *);
bool onnx_read_functions(Arena *, Str bytes, OnnxModel *, Err *);
/* After onnx_attach: external tensors become inner ones. Data that is not there is an error. */
bool onnx_take_inside(OnnxModel *, Err *);

/* Names only: each made once and before it is read, outputs made, domains imported. */
bool onnx_check(Arena *, const OnnxModel *, Err *);

/* metadata_props alone (props.c): the graph is stepped over, so the size of the file is no matter. */
bool onnx_props(Arena *, Str file, OnnxPair **, int *n, Err *); /* values are views */
/* The file again, byte for byte, without the properties that `drop` names and with others behind. */
typedef bool OnnxDrop(Str key);
bool onnx_props_write(FileWriter *, Str file, OnnxDrop *drop, const OnnxPair *, int n, Err *);

bool onnx_is_init(const OnnxGraph *, Str name); /* old files list it as an input too */
const OnnxAttr *onnx_attr(const OnnxNode *, const char *name); /* NULL: absent */
int64_t onnx_int(const OnnxNode *, const char *name, int64_t otherwise);
float onnx_float(const OnnxNode *, const char *name, float otherwise);
Str onnx_string(const OnnxNode *, const char *name, const char *otherwise);
const int64_t *onnx_ints(const OnnxNode *, const char *name, size_t *n); /* NULL: no such list */
int64_t onnx_opset(const OnnxModel *); /* of the standard domain, "" or "ai.onnx"; 0: not imported */
const char *onnx_meta(const OnnxModel *, Arena *, const char *key); /* NULL: absent */

#endif
