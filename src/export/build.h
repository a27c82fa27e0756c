/* SPDX-License-Identifier: Apache-2.0
 * build.h - an ONNX graph, written module by module. A node belongs to the module path it is made
 * under: "encoder.layer.0.output.dense" gives the name TorchScript would write,
 * "/encoder/layer.0/output/dense/MatMul", and, by the table of module classes, its hierarchy tag.
 *
 * The first thing that goes wrong is kept in err; after it every call still returns a name, so
 * that the code that describes a model need not check after each line. Check build_ok at the
 * end.
 *
 * Weights stay where they are: an initializer only knows which tensor of the checkpoint it is, and
 * weights.c pours it, converted and turned around, when the file is written. */
#ifndef EXPORT_BUILD_H
#define EXPORT_BUILD_H
#include "base/log.h"
#include "data/safetensors.h"
#include "onnx/onnx.h"

typedef struct Module {     /* rows; a list ends with {0} */
    const char *path;       /* "encoder.layer.#.output": # is any number; "" is the root */
    const char *class_name; /* "*Output": * is the family's prefix; "!": the activation's class */
} Module;

typedef struct Weight {     /* where an initializer comes from; none: its data is in the graph */
    const SafeTensor *from;
    bool transposed;        /* stored [out, in], wanted [in, out] */
    const SafeTensor *length; /* weight norm: `from` gives the directions, this their lengths */
} Weight;

typedef struct Builder {
    Arena *arena;
    int opset;
    const Safetensors *weights;
    const char *base;       /* prefix of the encoder's paths with a dot, "bert."; empty: no head */
    const char *prefix;     /* the same prefix as checkpoints have it, whether or not base is set */
    const Module *modules;  /* of the encoder, below base */
    const Module *head_modules; /* of the root; NULL: the encoder is the root */
    const char *family;     /* "Bert": what * stands for */
    const char *root_class; /* "BertForMaskedLM" */
    const char *act_class;  /* what ! stands for; NULL: a class of torch.nn, which makes no level */
    bool tags;              /* keep them in the nodes */
    bool torch_modules;     /* norms and tables are levels of a tag too */
    bool older_classes;     /* names as transformers 4 has them */
    bool contrib;           /* operators of com.microsoft that ONNX Runtime's optimizer would write */
    bool tanh_gelu;         /* GELU by its tanh form */
    DType stored;           /* of matrices; T_F16, T_BF16: a Cast stands before whoever reads them */
    int64_t batch, length;  /* of the inputs; 0: any */
    OnnxGraph graph;
    const char **path;      /* one per node: the module that it was made under */
    Weight *weight;         /* one per initializer */
    int node_room, path_room, init_room;
    Map names;              /* of nodes, to how often */
    Map inits;              /* names of initializers */
    Map torch;              /* paths of norms and tables, to their class: "LayerNorm" */
    Progress *progress;     /* while weights are poured, or NULL */
    Err *err;
    bool failed;
} Builder;

bool build_ok(const Builder *);
void build_fail(Builder *, ef_code, const char *, ...) PRINTF(3, 4); /* the first one counts */
const char *build_path(Builder *, const char *, ...) PRINTF(2, 3);   /* a formatted module path */

/* One node under a module; returns its (first) output. */
Str build_node(Builder *, const char *path, const char *op, const Str *in, int n_in);
#define NODE(b, path, op, ...)                                                      \
    build_node(b, path, op, (const Str[]){ __VA_ARGS__ },                           \
               (int)(sizeof((const Str[]){ __VA_ARGS__ }) / sizeof(Str)))
/* Attributes of the node made last; a further output of it. */
void build_attr_int(Builder *, const char *name, int64_t);
void build_attr_ints(Builder *, const char *name, const int64_t *, size_t n);
void build_attr_float(Builder *, const char *name, float);
void build_attr_string(Builder *, const char *name, const char *);
void build_domain(Builder *, const char *domain);
Str build_more(Builder *);

/* Constants, each stored once. */
Str build_float(Builder *, double);
Str build_int(Builder *, int64_t);                        /* a scalar */
Str build_ints(Builder *, const int64_t *, size_t n);     /* a list */
#define INTS(b, ...)                                                                \
    build_ints(b, (const int64_t[]){ __VA_ARGS__ },                                 \
               sizeof((const int64_t[]){ __VA_ARGS__ }) / sizeof(int64_t))
Str build_indices(Builder *, const char *name, const int64_t *data, size_t n); /* one list by name */
Str build_floats(Builder *, const char *name, float *data, int64_t rows, int64_t columns);
Str build_repeated(Builder *, double value, int64_t n);    /* [n] of one number */

/* A tensor of the checkpoint: "path.leaf", with and without the family's prefix; NULL: absent. */
const SafeTensor *build_find(Builder *, const char *path, const char *leaf);
/* The same as an initializer. dim: what each must be, -1 for anything. */
Str build_weight(Builder *, const char *path, const char *leaf, int rank, const int64_t *dim);
Str build_matrix(Builder *, const char *path, int64_t out, int64_t in); /* transposed, for MatMul */
Str build_table(Builder *, const char *path, int64_t rows, int64_t columns); /* an nn.Embedding */
/* "path.weight" [out, in, kernel] of a convolution with weight norm over the kernel's places. */
Str build_normed(Builder *, const char *path, const int64_t dim[3]);

/* Inputs and outputs of the graph; dims: numbers, or symbols where dim is DIM_UNKNOWN. */
void build_input(Builder *, const char *name, int rank, const int64_t *dim); /* int64 */
void build_picture(Builder *, const char *name, const int64_t dim[4]);       /* float */
void build_sound(Builder *, const char *name, int rank, const int64_t *dim); /* float */
void build_picture_mask(Builder *, const char *name);                        /* int64, [B, h, w] */
void build_output(Builder *, Str value, const char *name, int rank, const int64_t *dim);

void build_output_axis(Builder *, int axis, const char *symbol); /* of the output made last */

/* A path that is an nn.LayerNorm or an nn.Embedding. */
void build_torch_module(Builder *, const char *path, const char *class_name);
/* The class of a row: "*Layer" to "BertLayer". */
const char *build_class(Builder *, const char *name);
/* The tag of a module path, "/BertModel/BertEncoder/BertLayer.0". */
const char *build_tag(Builder *, const char *path);

#endif
