/* SPDX-License-Identifier: Apache-2.0
 * ops.h - what an operator is: a row with a shape rule and a run function. One file per family.
 *
 * The same row serves the checker, shape inference, constant folding, planning and running. Planning
 * calls `shape` with inputs whose data may be NULL (only type and dims are known); inputs whose
 * *values* decide the shape are named in `values` and always have data when `shape` is called.
 * `run` may rely on out dims as planned and must not look at inputs named in `values`: a ragged plan
 * runs token-wise operators with other leading dims than those values would give.
 *
 * To add an operator: in its family's file write shape and run, add a row to the file's table. */
#ifndef OPS_OPS_H
#define OPS_OPS_H
#include "base/thread.h"
#include "kernels/kernels.h"
#include "onnx/onnx.h"

/* A batch stored without padding: row r is tokens start[r] .. start[r+1]-1. */
typedef struct Ragged {
    int B;
    int64_t T, S;              /* real tokens; longest row */
    const int32_t *start;      /* [B + 1] */
} Ragged;

/* The most a model may ask for at once, in bytes: a hostile shape must not reach the allocator. */
#define MOST_BYTES ((size_t)4 << 30)

typedef struct OpCall {
    const OnnxNode *node;      /* attributes */
    int opset;                 /* version of the node's domain that the model imports */
    int n_in, n_out;
    const Tensor *const *in;   /* [n_in]; NULL: optional input left out */
    Tensor *out;               /* [n_out]; shape fills type, rank, dim; run fills data. An output nobody
                                  wants has data NULL at run */
    /* run only */
    const Kernels *k;
    Pool *pool;                /* may be NULL */
    Arena *scratch;            /* the caller's; reset after the step */
    const Ragged *ragged;      /* NULL: padded */
    bool far;                  /* the weights of all products do not stay in a core's cache */
    const Tensor *ahead;       /* the weight of the product that follows, or NULL */
    /* Rows of bf16 (kernels.h) from product to product: input 0 so, or NULL; where output 0 is wanted
     * so, beside out[0] or, where that has no data, in its place. */
    const uint16_t *low_in;
    uint16_t *low_out;
} OpCall;

/* What an operator can do with rows of bf16. */
typedef struct Low {
    int reads;                 /* so many inputs from the first on, all of them one value */
    bool writes;               /* output 0, if nobody reads the floats */
    bool beside;               /* or even then */
} Low;

/* Inputs of our own Attention (fused.c), all but the first three optional. A ragged plan does not read
 * those marked P; a padded one does not read those marked R. */
enum {
    ATT_Q, ATT_K, ATT_V, /* [B, S, columns]: heads from attribute `q_at`, `k_at`, `v_at` on */
    ATT_MASK,            /* P: added to the scores, broadcast to [B, H, S, S] */
    ATT_BIAS,            /* R: added by distance: [1 or H, 2 R - 1], key - query = 0 in the middle */
    ATT_COS, ATT_SIN,    /* rotation of q and k: [..., S, D] */
    ATT_C2P, ATT_P2C,    /* panels [H, P / 16, D, 16]: q (or k) times P relative positions */
    ATT_C2P_AT, ATT_P2C_AT, /* P: which of them, [..., S, S], query (or key) by row */
    ATT_C2P_BY, ATT_P2C_BY, /* R: the same by distance: [2 R - 1], row - column = 0 in the middle */
    ATT_INPUTS
};

/* How an operator behaves on [B, S, ...] values stored as [1, T, ...] (graph/layout.c). */
typedef enum {
    TOKEN_NO,                  /* needs the padded form */
    TOKEN_EACH,                /* elementwise with broadcasting */
    TOKEN_INNER,               /* inside axes >= 2 (norms, softmax, reductions, concat, slice by attribute `axis`) */
    TOKEN_MATMUL,              /* input 0 token-wise, the others without batch and sequence dims */
    TOKEN_GATHER,              /* data without batch and sequence dims, axis 0, indices token-wise */
    TOKEN_EMBED,               /* (gamma, beta, then table, indices, scale): indices token-wise or absent */
    TOKEN_RESHAPE,             /* keeps dims 0 and 1 (reshape, squeeze, unsqueeze, transpose) */
    TOKEN_ATTENTION,           /* knows about rows */
} TokenRule;

/* What an operator's work grows with (op_work). */
typedef enum {
    COST_ELEMENTS,             /* each number of the inputs and outputs is looked at about once */
    COST_DIMS,                 /* the dims alone are read: Shape, Size */
    COST_PRODUCT,              /* a product of the two largest inputs */
    COST_WINDOW,               /* every output reads a window of the size of one filter (input 1) */
    COST_EINSUM,               /* the dims of all letters; without them, two inputs times each other */
    COST_ATTENTION,            /* tokens times tokens, or times the weight's columns */
    COST_COUNT
} OpCost;

typedef struct Op {
    const char *name;
    const char *domain;        /* NULL: ai.onnx */
    int since;                 /* this row holds from that opset on, until the next row of its name */
    int min_in, max_in;        /* max_in 0: any number */
    bool (*shape)(OpCall *, Err *);
    bool (*run)(OpCall *, Err *);
    uint32_t values;           /* bit i: the shape depends on the values of input i */
    TokenRule token;
    bool mixes_rows;           /* its result for one row of a batch depends on the other rows */
    OpCost cost;
    Low (*low)(const OpCall *); /* NULL: nothing. Called with node, in (dims alone) and k */
    int onto;                  /* 0: none; output 0 may have the memory of this input, each number of which is
                                  read before that place is written */
    bool view;                 /* output 0 is input 0 under other dims: given the same memory, it does nothing */
} Op;

const Op *op_find(Str domain, Str name, int64_t opset); /* NULL: unknown */
size_t op_count(void);
const Op *op_at(size_t);                                /* for listings and tests */
/* op->shape with everything around it checked: number of inputs, required ones present, values
 * where `values` wants them, every output typed, sane, and known to the operator. The only
 * caller of ->shape. */
bool op_shape(const Op *, OpCall *, Err *);
bool op_needs_values(const Op *, int input);            /* its bit in `values` */
double op_work(const Op *, const OpCall *);             /* about how many multiply-adds of a kernel; after op_shape */
/* Numbers of ConvLast's bias: every group's panels are read whole, those of the last one too. */
int64_t conv_last_bias(int64_t channels, int64_t group);

/* ---- shared by the families (common.c) ---- */
bool op_fail(const OpCall *, Err *, const char *format, ...) PRINTF(3, 4); /* "node 'x' (Add): ..." */
bool op_same(OpCall *, Err *);                          /* shape rule: output 0 like input 0 */
bool op_broadcast(OpCall *, int a, int b, int64_t *dim, int *rank, Err *); /* NumPy rules of two inputs */
int64_t op_broadcast_place(const Tensor *small, const Tensor *big, int64_t index); /* of big, in small */
int op_axis(const OpCall *, int64_t axis, int rank, Err *); /* negative counts from the end; -1: out of range */
int64_t op_attr_int(const OpCall *, const char *, int64_t otherwise);
/* Values of an integer tensor (int32 or int64) as int64, in the scratch arena. */
const int64_t *op_ints(OpCall *, const Tensor *, Err *);
double tensor_get(const Tensor *, int64_t index);       /* any number type, as double */
int64_t tensor_get_int(const Tensor *, int64_t index);  /* floats are cut off towards zero */
const Tensor *op_in(const OpCall *, int index);         /* NULL: absent or left out */
bool op_out(OpCall *, int index, DType, int rank, const int64_t *dim); /* fills an output if there is one; true */
bool op_wrong_input(const OpCall *, int index, const char *wanted, Err *); /* "input 1: found X, wanted Y" */
void *op_scratch(OpCall *, int64_t count, size_t size, Err *); /* not zeroed; NULL and *err: too large */
/* n numbers from index `at` on, of any number type, as doubles; and back, rounded as a cast does. */
void tensor_load(const Tensor *, int64_t at, int64_t n, double *out);
void tensor_store(Tensor *, int64_t at, int64_t n, const double *from);
void tensor_convert(const Tensor *from, int64_t at, Tensor *to, int64_t to_at, int64_t n); /* Cast */
const float *op_f32(OpCall *, const Tensor *, Err *); /* any number type as floats; NULL: too large */
/* fn(context, from, to) over 0..n in pieces of about `grain`, on the pool. */
typedef void OpRange(void *context, int64_t from, int64_t to);
void op_split(const OpCall *, int64_t n, int64_t grain, OpRange *, void *context);

Low op_low_beside(const OpCall *); /* writes rows of bf16 beside floats */
int op_workers(const OpCall *, int64_t work); /* of the pool: 1 where so few multiply-adds are not worth more */

/* The families: each table ends with a row without a name. */
extern const Op ops_elementwise[], ops_reduce[], ops_shape[], ops_move[], ops_gather[], ops_matmul[],
    ops_einsum[], ops_norm[], ops_attention[], ops_quant[], ops_fused[], ops_attend[], ops_lookup[],
    ops_branch[], ops_contrib[], ops_contrib_attention[], ops_contrib_quant[], ops_conv[],
    ops_conv_transpose[], ops_conv_quant[], ops_pool[], ops_resize[], ops_space[], ops_sample[], ops_boxes[],
    ops_norm_channels[], ops_recurrent[], ops_spectrum[], ops_conv_last[], ops_sequence[];

#endif
