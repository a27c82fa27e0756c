/* SPDX-License-Identifier: Apache-2.0
 * test_graph_layout.c - whether a graph runs on rows without padding, and why not: row by row, rows that
 * become one vector, integers along rows, positions. Each graph is run on rows of different lengths, which
 * must answer as each does alone; a graph that is called ragged and is not would fail there. And fixed
 * sizes: what is taken away, and that padding to them gives the same. */
#include "graph_case.h"

#define RAGGED ""
typedef struct Case {
    const char *what, *why; /* why it is padded; RAGGED: it is not */
    Row row[12];
} Case;

/* Numbers that count through two rows of 24 tokens, and the same backwards; a matrix that is the same for
 * both rows, and a row that is. */
static void add_constants(GraphCase *c)
{
    double through[48], backwards[48], twins[2 * 64], alike[2 * 8];
    for (int i = 0; i < 48; i++) through[i] = i, backwards[i] = 47 - i;
    for (int i = 0; i < 128; i++) twins[i] = i % 64 * 29 % 13 - 6;
    for (int i = 0; i < 16; i++) alike[i] = i % 8;
    constant(c, "through", T_I64, "2x24", through),
        constant(c, "backwards", T_I64, "2x24", backwards);
    constant(c, "twins", T_F32, "2x8x8", twins), constant(c, "alike", T_F32, "2x1x8", alike);
}

static void build(GraphCase *c, const Case *s, const char *dims, int opset)
{
    case_begin(c, opset);
    tokens_of(c, dims, 8);
    add_constants(c);
    for (size_t i = 0; i < COUNT(s->row) && s->row[i].op; i++)
        node(c, s->row[i].op, s->row[i].in, s->row[i].out);
    output(c, "y");
}

static void try_all(const Case *s, size_t n, int opset)
{
    GraphCase c;
    for (size_t i = 0; i < n; i++) {
        build(&c, &s[i], "B S", opset);
        if (!CHECK(runs(&c, !*s[i].why, s[i].why))) printf("  %s\n", s[i].what);
        arena_free(&c.arena);
    }
}

/* ---- token by token ---- */
static const Case by_token[] = {
    { "elementwise", RAGGED, { { "Tanh", "x", "t" }, { "Mul", "t w:8", "y" } } },
    { "a product", RAGGED, { { "MatMul", "x w:8x5", "h" }, { "Relu", "h", "y" } } },
    { "softmax inside a token", RAGGED, { { "Softmax axis=-1", "x", "y" } } },
    { "softmax without an axis", RAGGED, { { "Softmax", "x", "y" } } },
    { "softmax over tokens", "(Softmax)", { { "Softmax axis=1", "x", "y" } } },
    { "softmax over rows", "(Softmax)", { { "Softmax axis=0", "x", "y" } } },
    { "heads and back",
      RAGGED,
      { { "Reshape", "x [0,0,2,4]", "h" },
        { "Transpose perm=0,1,3,2", "h", "t" },
        { "Reshape", "t [0,0,8]", "y" } } },
    { "tokens and columns turned",
      "(Transpose)",
      { { "Transpose perm=0,2,1", "x", "t" },
        { "Relu", "t", "r" },
        { "Transpose perm=0,2,1", "r", "y" } } },
    { "a sum over the columns",
      RAGGED,
      { { "ReduceSum keepdims=1", "x [-1]", "s" }, { "Div", "x s", "y" } } },
    { "a sum over everything",
      "(ReduceSum)",
      { { "ReduceSum keepdims=1", "x [1,2]", "s" }, { "Div", "x s", "y" } } },
    { "the token before",
      "needs the padded form",
      { { "Pad", "x [0,1,0,0,-1,0]", "p" }, { "Add", "x p", "y" } } },
    { "columns cut off", RAGGED, { { "Slice", "x [0] [4] [2]", "y" } } },
    { "as many columns as rows have tokens",
      "(Slice)",
      { { "Shape", "input_ids", "dims" },
        { "Slice", "dims [1] [2]", "n" },
        { "Slice", "x [0] n [2]", "h" },
        { "ReduceSum keepdims=1", "h [-1]", "y" } } },
    { "from another column in other batches",
      "(Slice)",
      { { "Shape", "input_ids", "dims" },
        { "Slice", "dims [0] [1]", "B" },
        { "Slice", "x B [8] [2]", "h" },
        { "ReduceSum keepdims=1", "h [-1]", "y" } } },
    { "every second token",
      "needs the padded form",
      { { "Slice", "x [0] [99] [1] [2]", "h" }, { "ReduceMax keepdims=0 axes=1,", "h", "y" } } },
    { "tokens of one row times each other",
      "needs the padded form",
      { { "Transpose perm=0,2,1", "x", "t" },
        { "MatMul", "x t", "s" },
        { "MatMul", "s x", "y" } } },
    { "all tokens, by a matrix of ones",
      "needs the padded form",
      { { "Shape", "input_ids", "dims" },
        { "Slice", "dims [1] [2]", "n" },
        { "Concat axis=0", "[1,1] n", "to" },
        { "ReduceMax keepdims=1", "x", "m" },
        { "ReduceMax keepdims=1 axes=2,", "x", "col" },
        { "Expand", "col to", "square" },
        { "MatMul", "square x", "y" } } },
    { "a product over the batch",
      "needs the padded form",
      { { "ReduceMax keepdims=1 axes=0,", "x", "most" }, { "Sub", "x most", "y" } } },
    { "without the mean of the batch",
      "needs the padded form",
      { { "ReduceMean keepdims=1 axes=0,", "x", "mean" }, { "Sub", "x mean", "y" } } },
    { "divided by the size of the batch",
      "(Softmax)",
      { { "Softmax axis=1", "x", "p" },
        { "Shape", "input_ids", "dims" },
        { "Gather", "dims 0", "B" },
        { "Cast to=1", "B", "f" },
        { "Div", "p f", "y" } } },
    { "the row's number added",
      "(Softmax)",
      { { "Softmax axis=1", "x", "p" },
        { "Shape", "input_ids", "dims" },
        { "Gather", "dims 0", "B" },
        { "Range", "0 B 1", "r" },
        { "Cast to=1", "r", "f" },
        { "Unsqueeze", "f [1,2]", "u" },
        { "Add", "p u", "y" } } },
    { "twice where any row has a large word",
      "(Softmax)",
      { { "Softmax axis=1", "x", "p" },
        { "ReduceMax keepdims=0", "input_ids", "most" },
        { "Greater", "most 25", "c" },
        { "Where", "c 2.0 1.0", "by" },
        { "Mul", "p by", "y" } } },
    { "the row before",
      "needs the padded form",
      { { "Pad", "x [1,0,0,-1,0,0]", "p" }, { "Add", "x p", "y" } } },
    { "rows times each other",
      "needs the padded form",
      { { "Reshape", "x [0,-1]", "f" },
        { "Transpose perm=1,0", "f", "t" },
        { "MatMul", "f t", "s" },
        { "ReduceSum keepdims=1", "s [1]", "n" },
        { "Unsqueeze", "n [2]", "u" },
        { "Mul", "x u", "y" } } },
};

static const Case old_softmax[] = {
    { "the default axis of opset 11", "(Softmax)", { { "Softmax", "x", "y" } } },
    { "its logarithm", "(LogSoftmax)", { { "LogSoftmax", "x", "y" } } },
    { "the largest of opset 11", "(Hardmax)", { { "Hardmax", "x", "y" } } },
    { "the last axis of opset 11", RAGGED, { { "Softmax axis=2", "x", "y" } } },
};

/* ---- one vector a row ---- */
#define WIDE_MASK                                                                                  \
    { "Cast to=1", "attention_mask", "live" },                                                     \
    { "Unsqueeze", "live [2]", "m" }
static const Case ends[] = {
    { "the first token", RAGGED, { { "Gather axis=1", "x 0", "y" } } },
    { "the last place", "(Gather)", { { "Gather axis=1", "x -1", "y" } } },
    { "the first column",
      "(Gather)",
      { { "Gather axis=2", "x 0", "c" }, { "Unsqueeze", "c [2]", "y" } } },
    { "a masked sum",
      RAGGED,
      { WIDE_MASK, { "Mul", "x m", "z" }, { "ReduceSum keepdims=0", "z [1]", "y" } } },
    { "a masked mean",
      RAGGED,
      { WIDE_MASK,
        { "Mul", "x m", "z" },
        { "ReduceSum keepdims=0", "z [1]", "s" },
        { "ReduceSum keepdims=0", "m [1]", "n" },
        { "Clip", "n 1e-9", "c" },
        { "Div", "s c", "y" } } },
    { "a mean and its length",
      RAGGED,
      { WIDE_MASK,
        { "Mul", "x m", "z" },
        { "ReduceSum keepdims=0", "z [1]", "s" },
        { "ReduceL2 keepdims=1 axes=1,", "s", "l" },
        { "Div", "s l", "y" } } },
    { "a sum of what was hidden by Where",
      RAGGED,
      { WIDE_MASK,
        { "Cast to=9", "m", "seen" },
        { "Where", "seen x 0.0", "z" },
        { "ReduceSum keepdims=0", "z [1]", "y" } } },
    { "a sum where padding is not hidden",
      "(ReduceSum)",
      { { "ReduceSum keepdims=0", "x [1]", "y" } } },
    { "a sum where padding is one",
      "(ReduceSum)",
      { WIDE_MASK,
        { "Mul", "x m", "z" },
        { "Exp", "z", "e" },
        { "ReduceSum keepdims=0", "e [1]", "y" } } },
    { "a sum where the mask is turned round",
      "(ReduceSum)",
      { WIDE_MASK,
        { "Sub", "1.0 m", "d" },
        { "Mul", "x d", "z" },
        { "Add", "z x", "a" },
        { "ReduceSum keepdims=0", "a [1]", "y" } } },
    { "a mean over all tokens", "(ReduceMean)", { { "ReduceMean keepdims=0 axes=1,", "x", "y" } } },
    { "a masked sum over rows",
      "(ReduceSum)",
      { WIDE_MASK,
        { "Mul", "x m", "z" },
        { "ReduceSum keepdims=1", "z [0]", "s" },
        { "Add", "x s", "y" } } },
    { "a hidden maximum",
      RAGGED,
      { WIDE_MASK,
        { "Cast to=9", "m", "seen" },
        { "Where", "seen x -1e9", "z" },
        { "ReduceMax keepdims=0 axes=1,", "z", "y" } } },
    { "a maximum where padding is zero",
      "(ReduceMax)",
      { WIDE_MASK, { "Mul", "x m", "z" }, { "ReduceMax keepdims=0 axes=1,", "z", "y" } } },
    { "a maximum of columns, hidden or not",
      RAGGED,
      { WIDE_MASK,
        { "Cast to=9", "m", "seen" },
        { "Where", "seen x -1e9", "z" },
        { "ReduceMax keepdims=1 axes=2,", "z", "c" },
        { "Sub", "x c", "y" } } },
    { "a sum of what words hide",
      "(ReduceSum)",
      { { "Greater", "input_ids 9", "g" },
        { "Unsqueeze", "g [2]", "g3" },
        { "Where", "g3 0.0 x", "z" },
        { "ReduceSum keepdims=0", "z [1]", "y" } } },
    { "a sum of products that padding has, too",
      "(ReduceSum)",
      { { "Mul", "x w:8", "z" }, { "ReduceSum keepdims=0", "z [1]", "y" } } },
    { "two tokens by their numbers",
      "needs the padded form",
      { { "ReduceMin keepdims=1 axes=1,", "attention_mask", "n" },
        { "Sub", "n 1", "i" },
        { "Unsqueeze", "i [2]", "i3" },
        { "Expand", "i3 [1,2,8]", "i8" },
        { "GatherElements axis=1", "x i8", "z" },
        { "Reshape", "z [0,16]", "y" } } },
    { "columns by their numbers",
      "needs the padded form",
      { { "ReduceMin keepdims=1 axes=1,", "attention_mask", "n" },
        { "Add", "n 1", "i" },
        { "Unsqueeze", "i [2]", "i3" },
        { "Expand", "i3 [1,1,8]", "i8" },
        { "GatherElements axis=2", "x i8", "z" },
        { "Squeeze", "z [1]", "y" } } },
    { "a minimum",
      "(ReduceMin)",
      { WIDE_MASK,
        { "Cast to=9", "m", "seen" },
        { "Where", "seen x -1e9", "z" },
        { "ReduceMin keepdims=0 axes=1,", "z", "y" } } },
    { "the last token, by its number",
      RAGGED,
      { { "ReduceSum keepdims=1", "attention_mask [1]", "n" },
        { "Sub", "n 1", "i" },
        { "Unsqueeze", "i [2]", "i3" },
        { "Expand", "i3 [1,1,8]", "i8" },
        { "GatherElements axis=1", "x i8", "z" },
        { "Squeeze", "z [1]", "y" } } },
    { "the last token of the longest row",
      "needs the padded form",
      { { "Shape", "x", "dims" },
        { "Gather", "dims 1", "n" },
        { "Sub", "n 1", "i" },
        { "Gather axis=1", "x i", "y" } } },
    { "a linear layer behind it",
      RAGGED,
      { { "Gather axis=1", "x 0", "c" },
        { "Gemm transB=1", "c w:5x8 b:5", "h" },
        { "Tanh", "h", "y" } } },
    { "without the mean of the other rows' vectors",
      "made of all rows",
      { { "Gather axis=1", "x 0", "c" }, { "ReduceMean keepdims=1 axes=0,", "c", "m" }, { "Sub", "c m", "y" } } },
    { "times each other's vectors: tried out, and then row by row",
      RAGGED,
      { { "Gather axis=1", "x 0", "c" },
        { "Transpose perm=1,0", "c", "t" },
        { "MatMul", "c t", "s" },
        { "Softmax axis=-1", "s", "p" },
        { "MatMul", "p c", "y" } } },
    { "softmax over the rows' vectors",
      RAGGED,
      { { "Gather axis=1", "x 0", "c" }, { "Softmax axis=0", "c", "y" } } },
    { "and back to the tokens",
      "needs the padded form",
      { { "ReduceMean keepdims=1 axes=1,", "x", "c" }, { "Sub", "x c", "y" } } },
    { "beside each token",
      "(Concat)",
      { { "Gather axis=1", "x 0", "c" },
        { "Unsqueeze", "c [1]", "c3" },
        { "Shape", "x", "dims" },
        { "Expand", "c3 dims", "e" },
        { "Concat axis=2", "x e", "y" } } },
    { "a factor of each token",
      "(Mul)",
      { WIDE_MASK,
        { "ReduceSum keepdims=0", "m [1]", "n" },
        { "Shape end=2", "x", "dims" },
        { "Expand", "n dims", "e" },
        { "Unsqueeze", "e [2]", "f" },
        { "Mul", "x f", "y" } } },
};

/* ---- integers along rows ---- */
static const Case rows[] = {
    { "counted tokens",
      RAGGED,
      { { "CumSum", "attention_mask 1", "n" },
        { "Gather", "places:40x8 n", "p" },
        { "Add", "x p", "y" } } },
    { "counted words that are not 0",
      RAGGED,
      { { "Equal", "input_ids 0", "z" },
        { "Not", "z", "o" },
        { "Cast to=7", "o", "k" },
        { "CumSum", "k 1", "n" },
        { "Gather", "places:40x8 n", "p" },
        { "Add", "x p", "y" } } },
    { "counted from the end",
      RAGGED,
      { { "CumSum reverse=1", "k 1", "n" },
        { "Add", "attention_mask 1", "k" },
        { "Gather", "places:90x8 n", "p" },
        { "Add", "x p", "y" } } },
    { "counted from the end, padding with it",
      "integers of a row",
      { { "CumSum", "attention_mask 1", "k" },
        { "CumSum reverse=1", "k 1", "n" },
        { "Gather", "places:90x8 n", "p" },
        { "Add", "x p", "y" } } },
    { "counted over the rows",
      "integers of a row",
      { { "CumSum", "attention_mask 0", "n" },
        { "Gather", "places:40x8 n", "p" },
        { "Add", "x p", "y" } } },
    { "how many words there are in all rows",
      "integers of a row",
      { { "ReduceMax keepdims=1", "input_ids", "n" },
        { "Mul", "attention_mask n", "k" },
        { "Gather", "places:40x8 k", "p" },
        { "Add", "x p", "y" } } },
    { "whether any row has a certain word",
      "integers of a row",
      { { "Equal", "input_ids 25", "e" },
        { "Cast to=7", "e", "k" },
        { "ReduceMax keepdims=1", "k", "n" },
        { "Add", "attention_mask n", "r" },
        { "Gather", "places:40x8 r", "p" },
        { "Add", "x p", "y" } } },
    { "counted words of a kind, over the rows",
      "integers of a row",
      { { "Equal", "input_ids 25", "e" },
        { "Cast to=7", "e", "k" },
        { "CumSum", "k 0", "n" },
        { "Gather", "places:40x8 n", "p" },
        { "Add", "x p", "y" } } },
    { "whether all words of a row are large",
      "integers of a row",
      { { "ReduceMin keepdims=1 axes=1,", "input_ids", "n" },
        { "Greater", "n 12", "g" },
        { "Cast to=7", "g", "k" },
        { "Add", "attention_mask k", "r" },
        { "Gather", "places:40x8 r", "p" },
        { "Add", "x p", "y" } } },
    { "counted words of a kind",
      RAGGED,
      { { "Equal", "input_ids 25", "e" },
        { "Cast to=7", "e", "k" },
        { "CumSum", "k 1", "n" },
        { "Gather", "places:40x8 n", "p" },
        { "Add", "x p", "y" } } },
    { "the last of a certain word, by way of rows turned round",
      RAGGED,
      { { "Equal", "input_ids 25", "e" },
        { "Cast to=7", "e", "k" },
        { "Slice", "k [-1] [-9999] [1] [-1]", "b" },
        { "CumSum", "b 1", "n" },
        { "Slice", "n [-1] [-9999] [1] [-1]", "r" },
        { "Gather", "places:40x8 r", "p" },
        { "Add", "x p", "y" } } },
    { "nothing but integers of rows",
      RAGGED,
      { { "CumSum", "attention_mask 1", "n" },
        { "Cast to=1", "n", "f" },
        { "Unsqueeze", "f [2]", "y" } } },
    { "places",
      RAGGED,
      { { "Shape", "x", "dims" },
        { "Gather", "dims 1", "n" },
        { "Range", "0 n 1", "r" },
        { "Gather", "places:40x8 r", "p" },
        { "Add", "x p", "y" } } },
    { "places from the end",
      "depends on the batch",
      { { "Shape", "x", "dims" },
        { "Gather", "dims 1", "n" },
        { "Range", "n 0 -1", "r" },
        { "Gather", "places:40x8 r", "p" },
        { "Add", "x p", "y" } } },
    { "places, but for the last of a long row",
      "depends on the batch",
      { { "Shape", "x", "dims" },
        { "Gather", "dims 1", "n" },
        { "Range", "0 n 1", "r" },
        { "Sub", "n 2", "e" },
        { "Max", "e 6", "from" },
        { "Min", "r from", "q" },
        { "Gather", "places:40x8 q", "p" },
        { "Add", "x p", "y" } } },
    { "the number of tokens",
      "depends on the batch",
      { { "Shape", "x", "dims" },
        { "Gather", "dims 1", "n" },
        { "Cast to=1", "n", "f" },
        { "Mul", "x f", "y" } } },
    { "the number of columns",
      RAGGED,
      { { "Shape", "x", "dims" },
        { "Gather", "dims 2", "n" },
        { "Cast to=1", "n", "f" },
        { "Mul", "x f", "y" } } },
};

static void test_layout(void)
{
    TEST("by token");
    try_all(by_token, COUNT(by_token), 17);
    TEST("old softmax");
    try_all(old_softmax, COUNT(old_softmax), 11);
    TEST("ends");
    try_all(ends, COUNT(ends), 17);
    TEST("rows");
    try_all(rows, COUNT(rows), 17);
}

/* ---- pass_unfix: two rows of 24 tokens ---- */
typedef struct Fixed {
    bool taken; /* the sizes are gone */
    Case of;
} Fixed;

static const Fixed fixeds[] = {
    { true,
      { "nothing to change", RAGGED, { { "MatMul", "x w:8x8", "h" }, { "Tanh", "h", "y" } } } },
    { true,
      { "heads",
        RAGGED,
        { { "Reshape", "x [2,24,2,4]", "h" },
          { "Neg", "h", "n" },
          { "Reshape", "n [2,24,8]", "y" } } } },
    { true,
      { "with an open dim",
        RAGGED,
        { { "Reshape", "x [2,-1,2,4]", "h" },
          { "Neg", "h", "n" },
          { "Reshape", "n [2,24,-1]", "y" } } } },
    { true, { "positions", RAGGED, { { "Add", "x p:1x24x8", "y" } } } },
    { true,
      { "a masked mean",
        RAGGED,
        { WIDE_MASK,
          { "Expand", "m [2,24,8]", "e" },
          { "Mul", "x e", "z" },
          { "ReduceSum keepdims=0", "z [1]", "y" } } } },
    { true, { "the first token", RAGGED, { { "Gather axis=1", "x 0", "y" } } } },
    { true,
      { "a sum over padding",
        "needs the padded form",
        { { "ReduceSum keepdims=0", "x [1]", "y" } } } },
    { true,
      { "tokens of all rows in a list, and back",
        "needs the padded form",
        { { "Reshape", "x [48,8]", "f" },
          { "Neg", "f", "n" },
          { "Reshape", "n [2,24,8]", "y" } } } },
    { true,
      { "a matrix for every row, all alike",
        "needs the padded form",
        { { "MatMul", "x twins", "y" } } } },
    { true, { "a line for every row, all alike", RAGGED, { { "Add", "x alike", "y" } } } },
    { true,
      { "an index that counts through",
        "(ReduceSum)",
        { { "Reshape", "attention_mask [48]", "f" },
          { "Gather", "f through", "g" },
          { "Cast to=1", "g", "l" },
          { "Unsqueeze", "l [2]", "m" },
          { "Mul", "x m", "z" },
          { "ReduceSum keepdims=0", "z [1]", "y" } } } },
    { true,
      { "zeros copy dims",
        RAGGED,
        { { "Reshape", "x [0,0,2,4]", "h" },
          { "Neg", "h", "n" },
          { "Reshape", "n [0,0,8]", "y" } } } },
    { true,
      { "a position for every token and row",
        RAGGED,
        { { "Expand", "p:1x24x8 [2,24,8]", "e" }, { "Add", "x e", "y" } } } },
    { false,
      { "half rows",
        "fixed",
        { { "Reshape", "x [4,12,8]", "h" },
          { "Softmax axis=1", "h", "s" },
          { "Reshape", "s [2,24,8]", "y" } } } },
    { true,
      { "columns and tokens mixed",
        "needs the padded form",
        { { "Reshape", "x [2,8,24]", "h" },
          { "Softmax axis=2", "h", "s" },
          { "Reshape", "s [2,24,8]", "y" } } } },
    { false,
      { "more than all tokens",
        "fixed",
        { { "Reshape", "x [2,3,8,8]", "h" },
          { "Neg", "h", "n" },
          { "Reshape", "n [2,24,8]", "y" } } } },
    { false, { "a matrix over the tokens", "fixed", { { "MatMul", "w:24x24 x", "y" } } } },
};

static void test_unfix(void)
{
    GraphCase c;
    Graph *g;
    TEST("unfix");
    for (size_t i = 0; i < COUNT(fixeds); i++) {
        const Fixed *f = &fixeds[i];
        build(&c, &f->of, "2 24", 17);
        bool ok = CHECK(case_open(&c, &g) && pass_fold(g, &c.err) && pass_unfix(g, &c.err));
        ok &= CHECK((g->fixed_S == 24 && g->fixed_B == 2) == f->taken);
        ok &= CHECK(runs(&c, !*f->of.why, f->of.why));
        if (!ok) printf("  %s: %s\n", f->of.what, case_ops(&c, g));
        arena_free(&c.arena);
    }
}

/* Rows and tokens that change places are read as such; the answers are those of the declared size. */
static void test_mixed_rows(void)
{
    static const Case mixed = { "rows and tokens mixed",
                                "",
                                { { "Reshape", "x [24,2,8]", "h" },
                                  { "Softmax axis=1", "h", "s" },
                                  { "Reshape", "s [2,24,8]", "y" } } };
    GraphCase c;
    Graph *g, *plain;
    Named a[CASE_WORDS], b[CASE_WORDS];
    TEST("rows and tokens mixed");
    build(&c, &mixed, "2 24", 17);
    CHECK(case_open(&c, &plain) && case_open(&c, &g) && graph_optimize(g, false, &c.err));
    CHECK(case_answers(&c, plain, 2, 24, a) && case_answers(&c, g, 2, 24, b));
    CHECK(case_distance(&b[0].t, &a[0].t) <= 1e-5);
    Engine *e;
    const char *why;
    CHECK(engine_new(&c.arena, g, &c.model.graph.out[0].name, 1, &e, &c.err) &&
          !engine_ragged(e, &why));
    arena_free(&c.arena);
}

/* Positions by another rule where rows are long, as dynamic NTK rope has it: proved short, run long. */
static void test_long_positions(void)
{
    static const Case grown = { "positions that stretch beyond 20 tokens",
                                RAGGED,
                                { { "Shape", "input_ids", "dims" },
                                  { "Gather", "dims 1", "n" },
                                  { "Greater", "n 20", "long" },
                                  { "Where", "long 2 1", "by" },
                                  { "Range", "0 n 1", "at" },
                                  { "Mul", "at by", "r" },
                                  { "Gather", "places:128x8 r", "p" },
                                  { "Add", "x p", "y" } } };
    GraphCase c;
    Graph *g;
    Engine *e;
    TEST("positions of long rows");
    build(&c, &grown, "B S", 17);
    CHECK(runs(&c, true, ""));
    CHECK(case_open(&c, &g) && graph_optimize(g, false, &c.err) &&
          engine_new(&c.arena, g, &c.model.graph.out[0].name, 1, &e, &c.err));
    static const int64_t lengths[] = { 20, 21, 23, 40, 64 };
    for (size_t i = 0; i < COUNT(lengths); i++) CHECK(case_run_batch(&c, e, lengths[i]) <= 1e-5);
    arena_free(&c.arena);
}

/* A row for which nothing is proved takes the padded form, the short one beside it does not: their sums would be rounded
 * otherwise. */
static void test_too_long(void)
{
    static const Case sum = { "a sum of tokens and of positions that stretch beyond 20 tokens",
                              RAGGED,
                              { { "Shape", "input_ids", "dims" },
                                { "Gather", "dims 1", "n" },
                                { "Greater", "n 20", "long" },
                                { "Where", "long 2 1", "by" },
                                { "Range", "0 n 1", "at" },
                                { "Mul", "at by", "r" },
                                { "Gather", "places:128x8 r", "p" },
                                { "Add", "x p", "a" },
                                WIDE_MASK,
                                { "Mul", "a m", "z" },
                                { "ReduceSum keepdims=0", "z [1]", "y" } } };
    enum { SHORT = 19, LONG = 40 };
    const int32_t start[] = { 0, SHORT, SHORT + LONG };
    int32_t ids[SHORT + LONG];
    GraphCase c;
    Graph *g;
    Engine *e;
    RowOutput alone, both[2];
    float want[8];
    TEST("beside a row that is too long");
    for (int i = 0; i < SHORT + LONG; i++) ids[i] = 1 + i * 7 % (CASE_IDS - 1);
    build(&c, &sum, "B S", 17);
    CHECK(runs(&c, true, ""));
    CHECK(case_open(&c, &g) && graph_optimize(g, false, &c.err) &&
          engine_new(&c.arena, g, &c.model.graph.out[0].name, 1, &e, &c.err));
    Runner *r = runner_new(e, NULL);
    CHECK(runner_run(r, &(Batch){ .B = 1, .start = start, .ids = ids }, &alone, &c.err) && alone.width == COUNT(want));
    memcpy(want, alone.data, sizeof want);
    CHECK(runner_run(r, &(Batch){ .B = 2, .start = start, .ids = ids }, both, &c.err) &&
          memcmp(both[0].data, want, sizeof want) == 0);
    CHECK(runner_run(r, &(Batch){ .B = 1, .start = start, .ids = ids }, &alone, &c.err) &&
          memcmp(alone.data, want, sizeof want) == 0);
    runner_free(r);
    arena_free(&c.arena);
}

/* Without a mask padding would be seen; less than 8 tokens are no text; and a constant that is another
 * for the second row means that very row. */
static void test_left_fixed(void)
{
    GraphCase c;
    Graph *g;
    TEST("left fixed");
    case_begin(&c, 17);
    input(&c, "input_ids", T_I64, "2 24");
    node(&c, "Gather", "words:29x8 input_ids", "y");
    output(&c, "y");
    CHECK(case_open(&c, &g) && pass_unfix(g, &c.err) && g->fixed_S == 0);
    arena_free(&c.arena);
    static const Case not_taken[] = {
        { "an index that counts backwards",
          "",
          { { "Reshape", "attention_mask [48]", "f" },
            { "Gather", "f backwards", "g" },
            { "Cast to=1", "g", "l" },
            { "Unsqueeze", "l [2]", "m" },
            { "Mul", "x m", "y" } } },
        { "what looks at all rows",
          "",
          { { "DynamicQuantizeLinear", "x", "q s z" }, { "DequantizeLinear", "q s z", "y" } } },
        { "a matrix for every row", "", { { "MatMul", "x w:2x8x8", "y" } } },
    };
    for (size_t i = 0; i < COUNT(not_taken); i++) {
        build(&c, &not_taken[i], "2 24", 17);
        if (!CHECK(case_open(&c, &g) && pass_unfix(g, &c.err) && g->fixed_S == 0))
            printf("  %s\n", not_taken[i].what);
        arena_free(&c.arena);
    }
    static const char *const other[] = { "2 12", "1 24", "B 24", "2 S" };
    for (size_t i = 0; i < COUNT(other); i++) {
        case_begin(&c, 17);
        tokens_of(&c, "2 24", 8);
        input(&c, "token_type_ids", T_I64, other[i]);
        node(&c, "Neg", "x", "y");
        output(&c, "y");
        CHECK(case_open(&c, &g) && pass_unfix(g, &c.err) && g->fixed_S == 0);
        arena_free(&c.arena);
    }
    static const Case differ = { "rows that differ", "", { { "Add", "x p:2x24x8", "y" } } };
    build(&c, &differ, "2 24", 17);
    CHECK(case_open(&c, &g) && pass_unfix(g, &c.err) && g->fixed_S == 0);
    arena_free(&c.arena);
    static const Case short_rows = { "short", "", { { "Neg", "x", "y" } } };
    build(&c, &short_rows, "2 7", 17);
    CHECK(case_open(&c, &g) && pass_unfix(g, &c.err) && g->fixed_S == 0);
    arena_free(&c.arena);
    build(&c, &short_rows, "2 8", 17);
    CHECK(case_open(&c, &g) && pass_unfix(g, &c.err) && g->fixed_S == 8);
    arena_free(&c.arena);
}

int main(void)
{
    test_layout();
    test_unfix();
    test_mixed_rows();
    test_long_positions();
    test_too_long();
    test_left_fixed();
    return finish();
}
