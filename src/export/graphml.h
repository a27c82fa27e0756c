/* SPDX-License-Identifier: Apache-2.0
 * graphml.h - an ONNX graph as GraphML v1.3, for graph viewers and scripts that do not speak
 * protobuf, and back without a loss. Modules are nodes with a graph inside, operators lie in
 * them, edges are tensors.
 *
 * Weights are not XML. They are in BASE.onnxdata (gzip of JSON), inside the file, or in the ONNX
 * file that is named with its checksum. What GraphML has no key for (IR version, functions,
 * metadata, the order of nodes) stands with them under "onnx"; a file of somebody else that lacks
 * it is still read: nodes are sorted then, and hierarchy tags become metadata.
 *
 * Reading refuses document types (so there are no entities), more than GRAPHML_DEPTH elements
 * inside each other, and any version but 1.3. */
#ifndef EXPORT_GRAPHML_H
#define EXPORT_GRAPHML_H
#include "base/file.h"
#include "data/value.h"
#include "export/htp.h"
#include "kernels/kernels.h"

enum { GRAPHML_KEYS = 31, GRAPHML_DEPTH = 200, GRAPHML_MODULES = 90 /* inside each other */ };

typedef enum { PARAMS_SIDECAR, PARAMS_EMBEDDED, PARAMS_REFERENCE } ParamStrategy;
bool graphml_strategy(const char *name, ParamStrategy *, Err *); /* NULL: sidecar */

typedef struct GraphmlExport {
    const char *base;       /* BASE.graphml and BASE.onnxdata are written */
    const char *onnx;       /* where the model came from; its name is kept, and read by reference */
    const char *htp;        /* its hierarchy's JSON, or NULL */
    ParamStrategy strategy;
    bool flat;              /* no modules, whatever is known of them */
    /* found */
    const char *graphml, *params; /* paths; params NULL: none written */
    uint64_t graphml_size, params_size;
    int compounds, nodes, edges;
} GraphmlExport;
/* External weights must be attached; they are taken inside. */
bool graphml_write(Arena *, OnnxModel *, const Htp *, GraphmlExport *, Err *);

typedef struct GraphmlImport {
    const char *path;
    bool strict;            /* all keys declared, ends of edges there, names resolved */
    /* found */
    int nodes, edges, parameters;
    ParamStrategy strategy;
    Mapping reference;      /* the ONNX of PARAMS_REFERENCE: must outlive the model */
} GraphmlImport;
bool graphml_read(Arena *, GraphmlImport *, OnnxModel *, Err *);
void graphml_close(GraphmlImport *);
/* The same from memory: `params` is the .onnxdata (p NULL: none). */
bool graphml_parse(Arena *, Str xml, Str params, GraphmlImport *, OnnxModel *, Err *);

/* ---- shared by writer and reader (graphml_json.c) ---- */
const char *graphml_type(DType);            /* "float32"; "": none */
DType graphml_type_named(Str);              /* T_NONE: unknown */
bool graphml_attrs(Buf *, const OnnxNode *, Err *);           /* JSON object */
bool graphml_attrs_read(Arena *, const Value *, OnnxNode *, Err *);
void graphml_values(Buf *, const OnnxValue *, int n);         /* JSON [{name,type,shape}] */
bool graphml_values_read(Arena *, const Value *, OnnxValue **, int *n, Err *);
void graphml_shape(Buf *, const OnnxValue *);                 /* JSON list or null */

/* ---- weights and what has no key (graphml_params.c) ---- */
typedef struct GraphmlSink {
    bool (*put)(void *context, Str, Err *);
    void *context;
} GraphmlSink;
/* The parameter object; ids: of each node, in order. */
bool graphml_params_write(const GraphmlSink *, const OnnxModel *, const Str *ids, Err *);
/* Fills initializers and, where there, what has no key; *order: list of ids and more, or NULL. */
bool graphml_params_read(Arena *, const Value *, OnnxModel *, const Value **order, Err *);
void graphml_checksum(Str bytes, char out[72]); /* "sha256:<hex>" */
void graphml_sum(Sha256 *, char out[72]);       /* the same of what was added */
/* Of a JSON text, written as Python's json.dumps does with sorted keys: that is what is summed where
 * the weights are inside. */
bool graphml_checksum_json(Str, char out[72], Err *);

#endif
