/* SPDX-License-Identifier: Apache-2.0
 * graph.h - a model as values and nodes with numbers instead of names, and the passes over it.
 *
 * Values are either graph inputs, constants (with data) or results of exactly one node. Passes rewrite
 * nodes in place; dead nodes have op NULL and are skipped. The order of `node` is a schedule: a node
 * stands after everything it reads. */
#ifndef GRAPH_GRAPH_H
#define GRAPH_GRAPH_H
#include "ops/ops.h"

typedef struct GraphValue {
    Str name;
    Tensor t; /* constants: complete; others: what the file says (often nothing) */
    bool constant, input, output;
    int producer; /* node that makes it; -1: none */
} GraphValue;

typedef struct GraphNode {
    const Op *op;   /* NULL: dead */
    OnnxNode *node; /* attributes and names */
    int opset;
    int n_in, n_out;
    int *in, *out; /* value numbers; -1: absent */
    int guard;     /* value number + 1: not run where that value is false (an If); 0: always run */
    struct Graph *body; /* of a Loop: its inputs are the node's, in their order; else NULL */
    int states;    /* of a Loop: inputs behind the first two that every trip changes */
} GraphNode;

enum { DIM_BATCH = -2, DIM_SEQUENCE = -3 }; /* beside DIM_UNKNOWN and sizes >= 0 */
enum { DIM_NAMED = -16 }; /* and below: follows from the length of a row's sound; one name, one size */

typedef enum { MASK_UNPROVED, MASK_PLAIN } MaskKind;
typedef struct MaskVerdict { /* of the masks that the attention nodes add (graph/mask.c) */
    MaskKind kind;           /* MASK_PLAIN: hides padding, and what else it does is said by the node */
    int64_t up_to;           /* holds for rows up to this length */
} MaskVerdict;

/* One precision for all products with a constant; what is added, normed or softened stays f32. */
typedef enum { PRECISION_FP32, PRECISION_BF16, PRECISION_INT8, PRECISION_COUNT } Precision;
const char *precision_name(Precision);
bool precision_find(Str name, Precision *); /* "fp32", "bf16", "int8" */

typedef struct Graph {
    Arena *arena; /* everything here lives in it */
    const OnnxModel *model;
    GraphValue *value;
    GraphNode **node;
    int n_value, cap_value, n_node;
    int *input, *output; /* value numbers, in file order, without initializers */
    int n_input, n_output;
    size_t room;    /* bytes that constants made by passes may still take */
    Precision precision; /* asked for before graph_optimize; foreign int8 products stay int8 */
    int64_t pad_id; /* fills input_ids where an operator needs the padded form */
    MaskVerdict mask;
    int64_t fixed_B, fixed_S; /* sizes that the file declares and unfix.c took away; 0: none */
} Graph;

/* Names are resolved and Constant nodes become constants; unknown operators are listed all at once
 * with counts. External data must be attached already. Unaligned weights are copied. */
bool graph_from_onnx(Arena *, const OnnxModel *, Graph **, Err *);
/* Forgets all outputs but these, and what only they needed (nodes, inputs that are not of tokens); an
 * unknown name changes nothing. */
void graph_keep(Graph *, const Str *outputs, int n);
/* Makes inputs of these outputs, so that the graph begins where they are known; before graph_keep. */
void graph_cut(Graph *, const Str *outputs, int n);
/* The passes, in the order of their table (passes.c). exact: fold only, nothing fused. */
bool graph_optimize(Graph *, bool exact, Err *);

typedef struct GraphWeight { /* one constant on its way into a package */
    const void *data;
    uint64_t bytes,
        offset; /* offset: where it stands in the member, 64-byte (large: page) aligned */
} GraphWeight;
typedef struct GraphWeights {
    GraphWeight *item;
    int n;
    uint64_t total; /* bytes of the member */
} GraphWeights;
/* Back to a model: constants become external references ("panels") into *weights. */
void graph_to_onnx(const Graph *, Arena *, OnnxModel *, GraphWeights *);

/* Rewrites a model for another opset, in place (opset.c); what has no rule is refused by name. */
bool onnx_change_opset(Arena *, OnnxModel *, int64_t opset, Err *);

typedef struct OpCount { /* one operator of a model (census.c) */
    Str domain, op;
    int count;
    bool known;
} OpCount;
typedef struct Census {
    OpCount *item;
    int n;
    int nodes, unknown; /* nodes in all; of operators that are not known */
} Census;
Census graph_census(Arena *, const OnnxModel *);

/* ---- for passes ---- */
int graph_add_value(Graph *, Str name);
int graph_add_constant(Graph *, const char *name, const Tensor *);
/* Memory for the numbers of such a constant; NULL: more than a model of this size has need of. */
void *graph_room(Graph *, size_t bytes);
/* Puts a node of our own domain in place of node i; it makes value `out`. */
GraphNode *graph_replace(Graph *, int i, const char *op, const int *in, int n_in, int out);
void graph_insert(Graph *, int i, GraphNode *); /* before node i; what it makes is new */
/* A standard operator at the model's opset, not yet in the graph; its output is a new value. */
GraphNode *graph_node(Graph *, const char *op, const char *name, const int *in, int n_in);
GraphNode *graph_own(Graph *, const char *op, const char *name, const int *in, int n_in); /* of our domain */
int graph_opset(const Graph *); /* of ONNX's own operators */
void node_set_int(Graph *, GraphNode *, const char *name, int64_t);
void node_set_float(Graph *, GraphNode *, const char *name, float);
void node_set_ints(Graph *, GraphNode *, const char *name, const int64_t *, int n);
void graph_remove_dead(Graph *);         /* nodes whose results nobody reads */
int *graph_uses(const Graph *, Arena *); /* [n_value]: readers, graph outputs counted */
const GraphNode *graph_producer(const Graph *, int value); /* NULL: input, constant or absent */
bool graph_is(const GraphNode *, const char *op);          /* NULL is no operator */
bool graph_attends(const GraphNode *);   /* is the fused Attention, not the one of ai.onnx */
int graph_input(const GraphNode *, int k); /* its value number; -1: absent */
/* The one number of a constant scalar (or one-element tensor). */
bool graph_scalar(const Graph *, int value, double *out);

bool graph_schedule(Graph *, Err *); /* orders the nodes; false: a cycle */
#define GUARD_KEY "encoderfile.guard" /* metadata of a node in a package: the name of its guard */

/* ---- shapes for given input shapes (infer.c) ---- */
typedef struct Inferred {
    Tensor *t;         /* [n_value]; data: known without running the model (constants, shapes) */
    const bool *needs; /* [n_node] or NULL: only these nodes are wanted */
    int64_t limit;     /* most elements of a value that is computed here; 0: 65536 */
    size_t most;       /* most bytes of all of them; 0: 128 MiB */
    size_t taken;      /* of those */
    double most_work;  /* multiply-adds of all nodes beyond which a graph is refused; 0: any */
    double work;       /* of all nodes so far */
    double known_work; /* of those computed here */
    Pool *pool;        /* for that; may be NULL */
    bool dynamic;      /* a shape depends on data: only the dynamic mode can run this */
    int at;            /* the node that made it dynamic */
} Inferred;
/* t of the graph's inputs is filled by the caller (type, dims; data or NULL). */
bool graph_infer(const Graph *, Arena *, Inferred *, Err *);
Inferred graph_inferred(const Graph *, Arena *); /* room for it, inputs without dims yet */
/* One node of the above; scratch: of its run, reset by the caller. */
bool graph_infer_node(const GraphNode *, Arena *, Arena *scratch, Inferred *, Err *);
/* The same of a node with a body: all inputs must be known, or it is dynamic (loop.c). */
bool graph_infer_loop(const GraphNode *, Arena *, Inferred *, Err *);
/* For `most` of a run whose values all stay: 1 GiB and 64 times the weights and inputs (their dims
 * are known), but not over 16 GiB. */
size_t graph_most_bytes(const Graph *, const Inferred *);

/* ---- what an input is, by its name (inputs.c) ---- */
typedef enum {
    ROLE_NONE,     /* nobody knows it */
    ROLE_TOKEN, ROLE_MASK, ROLE_POSITION, ROLE_TYPE, /* a number a token, [B, S] */
    ROLE_BOX,      /* where a token stands on its page, [B, S, 4] */
    ROLE_ROW,      /* a tensor of the row's own, [B, ...]: pixels, samples, features */
    ROLE_STATE,    /* what the item's row before gave back; zeros for its first */
    ROLE_ALL,      /* one number for all rows of a run: a sampling rate */
} Role;
enum { BOX_NUMBERS = 4 };
Role graph_role(Str name);
bool role_of_token(Role); /* it has something for every token */
bool role_of_row(Role);   /* the row brings it: ROLE_ROW and what follows */
bool graph_has_own(const Graph *); /* it has inputs that rows bring */
/* The axis of an input that counts rows; -1: none, as of ROLE_ALL. */
int graph_batch_axis(const Graph *, int value);
/* The output that is the state of the item's next row; NULL: the input is no state. */
const char *graph_next_state(Str input);
/* The axis of an input that counts samples of a sound of any length, [B, samples]; -1: none. */
int graph_samples_axis(const Graph *, int value);
/* Sets type and dims of an input at that size, one that rows bring as its file declares it; false: it is
 * none of these, or its file leaves the size open. */
bool graph_bind_input(const Graph *, int value, int64_t B, int64_t S, Tensor *, Err *);
/* The sizes that an input insists on, 0: any; false: none. */
bool graph_declares(const Graph *, int value, int64_t *B, int64_t *S);

/* ---- symbolic dims: inferred at several sizes, then named (symbols.c) ---- */
typedef struct Symbols {
    bool known;      /* false: static inputs, or the graph is dynamic */
    const char *why; /* when not known */
    Tensor *t;       /* [n_value]: dims >= 0, DIM_BATCH, DIM_SEQUENCE, DIM_UNKNOWN or a name */
} Symbols;
bool graph_symbols(const Graph *, Arena *, Symbols *, Err *);

/* ---- values that shapes alone decide (known.c) ---- */
bool *graph_carried(const Graph *, Arena *); /* [n_value]: not one of them: tokens have a part in it */
/* [n_node]: what makes the wanted values; those that are read on the way are marked, too. */
bool *graph_makers(const Graph *, Arena *, const Symbols *, bool *wanted);
typedef bool KnownMask(int row, int64_t S, int64_t key); /* whether a key of a sample row is live */
/* Runs the makers on B rows of S tokens; mask may be NULL: what depends on it stays unknown. */
bool graph_make(const Graph *, Arena *, const Symbols *, const bool *makers, int64_t B, int64_t S,
                KnownMask *mask, Inferred *);
bool graph_known_at(const Graph *, Arena *, const Symbols *, int value, int64_t B, int64_t S,
                    Tensor *);

/* ---- which values can be stored without padding (layout.c) ---- */
typedef enum {
    FORM_PLAIN, /* as ONNX says: [B, S, ...] or anything else */
    FORM_TOKEN, /* [1, T, ...]: the rows of the batch one after another */
    FORM_END,   /* a node: makes one of all tokens of a row, [B, ...] (ends.c) */
    FORM_ROWS,  /* integers and counts made padded, [B, S, ...], inside a ragged plan (rows.c) */
} Form;
typedef enum { END_NONE, END_FIRST, END_SUM, END_MAX, END_NAMED } RowEnd; /* END_NAMED: by index */
typedef struct Layout {
    bool ragged;     /* every node on the way from tokens to the output is proved */
    const char *why; /* when not */
    bool *needed;    /* [n_node]: on the way to an output */
    Form *node;      /* [n_node] */
    RowEnd *end;     /* [n_node]: of those that are FORM_END */
    Form *value;     /* [n_value] */
    int64_t up_to;   /* FORM_ROWS are proved for rows up to this length */
} Layout;
bool graph_layout(const Graph *, Arena *, const Symbols *, const int *outputs, int n, Layout *);
/* The form in which node i of a ragged plan reads its input k. */
Form layout_reads(const Graph *, const Symbols *, const Layout *, int i, int k);
bool graph_leads(const Tensor *); /* named [B, S, ...] */
bool graph_per_row(const Tensor *, int rank); /* named [B, 1, ...]: one for all tokens of a row */
bool graph_of_row(const Tensor *); /* named [B, ...] without the sequence: one for a row */
/* Whether values made from positions are, for rows of S tokens, those that were proved. */
bool layout_positions_hold(const Graph *, const Symbols *, const Layout *, int64_t S);
bool layout_skips(const GraphNode *, int k); /* an input that no ragged plan reads: a proved mask */

/* ---- where tokens become one vector a row, and what a value is at padding (ends.c) ---- */
double *padding_new(const Graph *, Arena *); /* [n_value]: constants and the mask; NAN: not known */
void padding_follow(const Symbols *, const GraphNode *, double *at); /* what a node makes of them */
RowEnd graph_row_end(const Graph *, const Symbols *, const GraphNode *, const double *at);

/* ---- integers (and few numbers) along whole rows: the same alone and in company? (rows.c) ---- */
typedef enum { ROWS_HOLD, ROWS_BROKEN, ROWS_UNTRIED } RowsVerdict;
RowsVerdict layout_try_rows(const Graph *, const Symbols *, const Layout *, int64_t S);
int64_t layout_rows_up_to(const Graph *, const Symbols *, const Layout *); /* 0: not proved */

/* ---- passes (one file each; order in passes.c) ---- */
bool pass_fold(Graph *, Err *);
bool pass_choices(Graph *, Err *);
bool pass_fill(Graph *, Err *);
bool pass_widen(Graph *, Err *);
bool pass_unfix(Graph *, Err *);
bool pass_index(Graph *, Err *);
bool pass_symbols(Graph *, Err *);
bool pass_same(Graph *, Err *);
bool pass_turn(Graph *, Err *);
bool pass_expand(Graph *, Err *);
bool pass_conv(Graph *, Err *);
bool pass_channels_last(Graph *, Err *);
bool pass_norm(Graph *, Err *);
bool pass_gelu(Graph *, Err *);
bool pass_gated(Graph *, Err *);
bool pass_attention(Graph *, Err *);
bool pass_linear(Graph *, Err *);
bool pass_quantized(Graph *, Err *);
bool pass_embed(Graph *, Err *);
bool pass_qkv(Graph *, Err *);
bool pass_resize(Graph *, Err *);
bool pass_pack(Graph *, Err *);
bool pass_mask(Graph *, Err *);
/* Marks a graph as one whose declared sizes no longer bind it (a package says so of its graph). */
void graph_unfixed(Graph *, int64_t B, int64_t S);
/* The length up to which every attention mask is what the graph says of it: S or more, or what is known
 * already (at least mask.up_to). Asked again for longer batches. */
int64_t graph_mask_up_to(const Graph *, const Symbols *, int64_t known, int64_t S);
int64_t graph_mask_proved(const Graph *); /* as far as it is worth asking beforehand */

#endif
