/* SPDX-License-Identifier: Apache-2.0
 * test_graph_rewrite.c - the passes that clear the way for the others, each alone: constants and branches
 * folded, scalars made from shapes, twins merged, indexing row by row, fixed sizes taken away. */
#include "graph_case.h"

#define PASSES(...) ((Pass *[]){ __VA_ARGS__, NULL })

/* A graph in rows behind tokens of 8, to y. */
typedef struct Small {
    const char *what, *wanted; /* operators left; NULL: all of them */
    Row row[8];
} Small;

static void build(GraphCase *c, const Small *s, const char *dims)
{
    case_begin(c, 17);
    tokens_of(c, dims, 8);
    for (size_t i = 0; i < COUNT(s->row) && s->row[i].op; i++)
        node(c, s->row[i].op, s->row[i].in, s->row[i].out);
    output(c, "y");
}

static void try_all(Pass *const *passes, const Small *s, size_t n)
{
    GraphCase c;
    Graph *g;
    for (size_t i = 0; i < n; i++) {
        build(&c, &s[i], "B S");
        if (!CHECK(case_becomes(&c, passes, s[i].wanted, 1e-5, &g))) printf("  %s\n", s[i].what);
        arena_free(&c.arena);
    }
}

/* ---- pass_fold ---- */
static const Small folds[] = {
    { "constants only",
      "Gather Add",
      { { "Mul", "a:8 b:8", "ab" }, { "Neg", "ab", "n" }, { "Add", "x n", "y" } } },
    { "Identity and Dropout vanish",
      "Gather Relu",
      { { "Identity", "x", "i" }, { "Dropout", "i", "d" }, { "Relu", "d", "y" } } },
    { "but not where they make the output",
      NULL,
      { { "Relu", "x", "r" }, { "Identity", "r", "y" } } },
    { "Dropout's mask is read",
      NULL,
      { { "Dropout", "x", "d m" }, { "Cast to=1", "m", "f" }, { "Add", "d f", "y" } } },
    { "one input is none", NULL, { { "Shape", "x", "dims" }, { "Add", "dims 1", "y" } } },
};

static void test_fold(void)
{
    TEST("fold");
    try_all(PASSES(pass_fold), folds, COUNT(folds));
}

/* Twice the value, or its negative, by a condition. */
static void build_if(GraphCase *c, const Row *condition)
{
    case_begin(c, 17);
    tokens(c, 8);
    for (; condition->op; condition++) node(c, condition->op, condition->in, condition->out);
    branch_begin(c);
    node(c, "Add", "x x", "twice"), output(c, "twice");
    OnnxGraph *yes = branch_end(c);
    branch_begin(c);
    node(c, "Neg", "x", "n"), node(c, "Identity", "n", "turned"), output(c, "turned");
    node_if(c, "c", yes, branch_end(c), "z");
    node(c, "Relu", "z", "y");
    output(c, "y");
}

static const struct Deciding {
    const char *what, *folded, *symbols; /* NULL: not fewer operators */
    Row row[6];
} decidings[] = {
    { "always", "Gather Add Relu", "Gather Add Relu", { { "Greater", "2 1", "c" } } },
    { "never", "Gather Neg Relu", "Gather Neg Relu", { { "Less", "2 1", "c" } } },
    { "by the width of x, which is known",
      NULL,
      "Gather Add Relu",
      { { "Shape", "x", "dims" }, { "Gather", "dims 2", "width" }, { "Equal", "width 8", "c" } } },
    { "by the length",
      NULL,
      NULL,
      { { "Shape", "x", "dims" },
        { "Gather", "dims 1", "length" },
        { "Greater", "length 5", "c" } } },
    { "for one token",
      NULL,
      NULL,
      { { "Shape", "x", "dims" },
        { "Gather", "dims 1", "length" },
        { "Equal", "length 1", "c" } } },
    { "for one row",
      NULL,
      NULL,
      { { "Shape", "x", "dims" }, { "Gather", "dims 0", "rows" }, { "Equal", "rows 1", "c" } } },
    { "a length compared with itself",
      NULL,
      "Gather Add Relu",
      { { "Shape", "x", "dims" },
        { "Gather", "dims 1", "length" },
        { "Shape", "input_ids", "dims2" },
        { "Slice", "dims2 [-1] [9] [0]", "again" },
        { "Equal", "length again", "c" } } },
    { "rows compared with tokens",
      NULL,
      NULL,
      { { "Shape", "x", "dims" },
        { "Gather", "dims 1", "length" },
        { "Gather", "dims 0", "rows" },
        { "Equal", "length rows", "c" } } },
    { "by a word",
      NULL,
      NULL,
      { { "ReduceMax keepdims=0", "input_ids", "most" }, { "Greater", "most 20", "c" } } },
};

static void test_if(void)
{
    GraphCase c;
    Graph *g, *plain;
    TEST("if");
    for (size_t i = 0; i < COUNT(decidings); i++) {
        build_if(&c, decidings[i].row);
        for (int way = 0; way < 2; way++) {
            const char *wanted = way ? decidings[i].symbols : decidings[i].folded;
            bool ok = CHECK(case_open(&c, &plain) && case_open(&c, &g) && pass_fold(g, &c.err) &&
                            (!way || (pass_symbols(g, &c.err) && pass_fold(g, &c.err))));
            double d = ok ? case_difference(&c, plain, g) : INFINITY;
            const char *found = ok ? case_ops(&c, g) : "";
            bool both = strstr(found, "Add") && strstr(found, "Neg");
            if (!CHECK(wanted ? strcmp(found, wanted) == 0 : both) || !CHECK(d <= 1e-5))
                printf("  %s, way %d: %s, difference %g\n", decidings[i].what, way, found, d);
        }
        if (!CHECK(runs(&c, decidings[i].symbols != NULL, "")))
            printf("  %s, rows\n", decidings[i].what);
        arena_free(&c.arena);
    }
}

/* ---- pass_symbols ---- */
static const Small symbols[] = {
    { "the root of the width",
      "Gather Mul",
      { { "Shape", "x", "dims" },
        { "Gather", "dims 2", "width" },
        { "Cast to=1", "width", "w" },
        { "Sqrt", "w", "root" },
        { "Mul", "x root", "y" } } },
    { "the root of the width, of dims in another order",
      "Gather Mul",
      { { "Shape", "x", "dims" },
        { "Gather", "dims [1,2,0]", "moved" },
        { "Slice", "moved [1] [2]", "width" },
        { "Cast to=1", "width", "w" },
        { "Sqrt", "w", "root" },
        { "Mul", "x root", "y" } } },
    { "the length, of dims in another order",
      NULL,
      { { "Shape", "x", "dims" },
        { "Gather", "dims [1,2,0]", "moved" },
        { "Slice", "moved [0] [1]", "n" },
        { "Cast to=1", "n", "f" },
        { "Mul", "x f", "y" } } },
    { "nothing added, times one",
      "Gather Relu",
      { { "Add", "x 0.0", "a" },
        { "Mul", "1.0 a", "m" },
        { "Cast to=1", "m", "k" },
        { "Relu", "k", "y" } } },
    { "nothing taken, divided by one",
      "Gather Relu",
      { { "Sub", "x 0.0", "a" }, { "Div", "a 1.0", "d" }, { "Relu", "d", "y" } } },
    { "one taken", NULL, { { "Sub", "x 1.0", "a" }, { "Relu", "a", "y" } } },
    { "divided by two", NULL, { { "Div", "x 2.0", "a" }, { "Relu", "a", "y" } } },
    { "as whole numbers and back", NULL, { { "Cast to=7", "x", "a" }, { "Cast to=1", "a", "y" } } },
    { "two widths, one of them cut off",
      NULL,
      { { "Shape end=2", "x", "dims" },
        { "Gather", "dims -1", "n" },
        { "Cast to=1", "n", "f" },
        { "Mul", "x f", "y" } } },
    { "taken from nothing", NULL, { { "Sub", "0.0 x", "a" }, { "Relu", "a", "y" } } },
    { "one, divided", NULL, { { "Add", "x 2.5", "a" }, { "Div", "1.0 a", "y" } } },
    { "times two", NULL, { { "Mul", "x 2.0", "a" }, { "Relu", "a", "y" } } },
    { "one with more axes",
      NULL,
      { { "ReduceMax keepdims=0 axes=0,1,2,", "x", "most" }, { "Add", "most none:1", "y" } } },
    { "the length",
      NULL,
      { { "Shape", "x", "dims" },
        { "Gather", "dims 1", "length" },
        { "Cast to=1", "length", "f" },
        { "Mul", "x f", "y" } } },
    { "at least two tokens",
      NULL,
      { { "Shape", "x", "dims" },
        { "Gather", "dims 1", "length" },
        { "Min", "length 2", "least" },
        { "Cast to=1", "least", "f" },
        { "Mul", "x f", "y" } } },
    { "at most two tokens are there to see",
      NULL,
      { { "Slice", "x [0] [2] [1]", "two" },
        { "Shape", "two", "dims" },
        { "Gather", "dims 1", "least" },
        { "Cast to=1", "least", "f" },
        { "Mul", "x f", "y" } } },
    { "more than one row",
      NULL,
      { { "Shape", "x", "dims" },
        { "Gather", "dims 0", "rows" },
        { "Min", "rows 2", "least" },
        { "Cast to=1", "least", "f" },
        { "Mul", "x f", "y" } } },
};

static void test_symbols(void)
{
    TEST("symbols");
    try_all(PASSES(pass_symbols, pass_fold), symbols, COUNT(symbols));
}

/* What only a long row shows: the number of tokens beyond 512. */
static void test_long_rows(void)
{
    static const Small beyond = { "beyond 512",
                                  NULL,
                                  { { "Shape", "x", "dims" },
                                    { "Gather", "dims 1", "length" },
                                    { "Max", "length 512", "most" },
                                    { "Cast to=1", "most", "f" },
                                    { "Mul", "x f", "y" } } };
    GraphCase c;
    Graph *g, *plain;
    Named a[CASE_WORDS], b[CASE_WORDS];
    TEST("long rows");
    build(&c, &beyond, "B S");
    CHECK(case_open(&c, &plain) && case_open(&c, &g) && pass_symbols(g, &c.err));
    CHECK(case_answers(&c, plain, 1, 600, a) && case_answers(&c, g, 1, 600, b));
    CHECK(case_distance(&b[0].t, &a[0].t) <= 1e-5);
    arena_free(&c.arena);
}

/* ---- pass_same ---- */
static const Small sames[] = {
    { "the same twice",
      "Gather Neg Add",
      { { "Neg", "x", "a" }, { "Neg", "x", "b" }, { "Add", "a b", "y" } } },
    { "equal constants",
      "Gather Mul Add",
      { { "Mul", "x 0.5", "a" }, { "Mul", "x 0.5", "b" }, { "Add", "a b", "y" } } },
    { "other constants",
      NULL,
      { { "Mul", "x 0.5", "a" }, { "Mul", "x 0.25", "b" }, { "Add", "a b", "y" } } },
    { "lists, one of which is another",
      NULL,
      { { "Unsqueeze", "x [1]", "a" }, { "Unsqueeze", "x [2]", "b" }, { "Sub", "a b", "y" } } },
    { "other axes",
      NULL,
      { { "ReduceMax axes=1,", "x", "a" },
        { "ReduceMax axes=2,", "x", "b" },
        { "Sub", "a b", "y" } } },
    { "another float",
      NULL,
      { { "LeakyRelu alpha=0.1", "x", "a" },
        { "LeakyRelu alpha=0.2", "x", "b" },
        { "Sub", "a b", "y" } } },
    { "another string",
      NULL,
      { { "Einsum equation=bsc->s", "x", "a" },
        { "Einsum equation=bsc->c", "x", "b" },
        { "Unsqueeze", "a [1]", "c" },
        { "Sub", "b c", "y" } } },
    { "another attribute",
      NULL,
      { { "Softmax axis=2", "x", "a" }, { "Softmax axis=1", "x", "b" }, { "Sub", "a b", "y" } } },
    { "inputs the other way round",
      NULL,
      { { "Neg", "x", "n" },
        { "Sub", "x n", "a" },
        { "Sub", "n x", "b" },
        { "Mul", "a b", "y" } } },
    { "two parts of one node",
      "Gather Split Sub",
      { { "Split axis=2", "x", "a b" }, { "Split axis=2", "x", "c d" }, { "Sub", "a d", "y" } } },
};

static void test_same(void)
{
    TEST("same");
    try_all(PASSES(pass_same), sames, COUNT(sames));
}

/* Outputs keep their names, so twins among them stay two. */
static void test_same_outputs(void)
{
    GraphCase c;
    TEST("same outputs");
    case_begin(&c, 17);
    tokens(&c, 8);
    node(&c, "Neg", "x", "a"), node(&c, "Neg", "x", "b");
    output(&c, "a"), output(&c, "b");
    CHECK(stays(&c, pass_same));
    arena_free(&c.arena);
}

/* ---- pass_fill: x[condition] = number ---- */
#define SCATTER(condition, number)                                                                 \
    { "NonZero", condition, "at" }, { "Transpose perm=1,0", "at", "pairs" },                       \
        { "Shape", "pairs", "pdims" }, { "Slice", "pdims [0] [1]", "count" },                      \
    { "Expand", number " count", "numbers" }
static const Small fills[] = {
    { "as torch writes it",
      "Gather Less Where",
      { { "Less", "x 0.25", "small" },
        SCATTER("small", "-5.0"),
        { "ScatterND", "x pairs numbers", "y" } } },
    { "added, not put",
      NULL,
      { { "Less", "x 0.25", "small" },
        SCATTER("small", "-5.0"),
        { "ScatterND reduction=add", "x pairs numbers", "y" } } },
    { "tokens by a shorter condition",
      NULL,
      { { "Cast to=9", "attention_mask", "live" },
        { "NonZero", "live", "at" },
        { "Transpose perm=1,0", "at", "pairs" },
        { "GatherND", "x pairs", "rows" },
        { "Neg", "rows", "numbers" },
        { "ScatterND", "x pairs numbers", "y" } } },
    { "numbers that are no constant",
      NULL,
      { { "Less", "x 0.25", "small" },
        { "NonZero", "small", "at" },
        { "Transpose perm=1,0", "at", "pairs" },
        { "GatherND", "x pairs", "there" },
        { "Neg", "there", "numbers" },
        { "ScatterND", "x pairs numbers", "y" } } },
};

static void test_fill(void)
{
    TEST("fill");
    try_all(PASSES(pass_fill), fills, COUNT(fills));
}

/* Rows of x by a condition on tokens: the updates are as wide as x. */
static void test_fill_rows(void)
{
    static const Small rows = { "rows",
                                NULL,
                                { { "Less", "input_ids 9", "small" },
                                  { "NonZero", "small", "at" },
                                  { "Transpose perm=1,0", "at", "pairs" },
                                  { "Shape", "pairs", "pdims" },
                                  { "Slice", "pdims [0] [1]", "count" },
                                  { "Concat axis=0", "count [8]", "wide" },
                                  { "Expand", "-5.0 wide", "numbers" },
                                  { "ScatterND", "x pairs numbers", "y" } } };
    GraphCase c;
    TEST("fill, rows");
    build(&c, &rows, "B S");
    CHECK(stays(&c, pass_fill));
    arena_free(&c.arena);
}

/* x[condition].view(B, -1, C)[:, at] */
typedef struct Last {
    const char *entries, *at, *most, *turn; /* most, turn: NULL for the first three, and a row for each place */
    bool square;                            /* of scores, as wide as there are tokens */
} Last;

static void last_of(GraphCase *c, const Last *l)
{
    case_begin(c, 17);
    tokens(c, 8);
    node(c, "Shape", "input_ids", "dims0"), node(c, "Gather", "dims0 1", "length"); /* NonZero first, as optimizers do */
    node(c, "Range", "0 length 1", "place"), node(c, "Mul", "input_ids 0", "none");
    node(c, "Add", "none place", "places"), node(c, "Less", l->most ? l->most : "places 3", "early"); /* as many in every row */
    node(c, "NonZero", "early", "at"), node(c, l->turn ? l->turn : "Transpose perm=1,0", "at", "pairs");
    if (l->square) node(c, "Transpose perm=0,2,1", "x", "flipped"), node(c, "MatMul", "x flipped", "n");
    else node(c, "Neg", "x", "n");
    node(c, "Shape", "n", "dims");
    if (strstr(l->entries, "rows")) node(c, "Gather", "dims [0]", "rows");
    if (strstr(l->entries, "columns")) node(c, "Gather", "dims [2]", "columns");
    if (strstr(l->entries, "one")) node(c, "Slice", "dims [-3] [-2]", "one");
    if (strstr(l->entries, "two")) node(c, "Slice", "dims [0] [2]", "two");
    if (strstr(l->entries, "length_")) node(c, "Shape end=2", "n", "dims2"), node(c, "Gather", "dims2 [-1]", "length_");
    node(c, "GatherND", "n pairs", "taken"), node(c, "Concat axis=0", l->entries, "to");
    node(c, "Reshape", "taken to", "view"), node(c, "Gather axis=1", l->at, "y");
    output(c, "y");
}

/* The last token of each row for which something holds: BART's classifiers. */
static void test_fill_last(void)
{
    static const Last taken[] = { { "rows [-1] columns", "view -1" }, { "rows [-1] [8]", "view -1" }, { "one [-1] [8]", "view -1" } };
    static const Last others[] = {
        { "rows [-1] columns", "view 0" },                /* the first one */
        { "rows [-1] [4]", "view -1" },                   /* half a token */
        { "[-1] rows columns", "view -1" },               /* rows across */
        { "two [-1] columns", "view -1", "places 300" },  /* tokens apart */
        { "rows [-1] length_", "view -1", "places 300" }, /* columns across: a shape's last entry is not always theirs */
        { "rows [-1] columns", "view -1", .square = true },
    };
    GraphCase c;
    Graph *g;
    TEST("fill, last");
    for (size_t k = 0; k < COUNT(taken); k++) {
        last_of(&c, &taken[k]);
        CHECK(case_becomes(&c, PASSES(pass_fill, pass_fold),
                           "Gather Shape Gather Range Mul Add Less Neg Cast CumSum ArgMax Reshape Expand GatherElements "
                           "Reshape",
                           1e-6, &g));
        arena_free(&c.arena);
    }
    for (size_t i = 0; i < COUNT(others); i++) {
        last_of(&c, &others[i]);
        if (!CHECK(stays(&c, pass_fill))) printf("  %s\n", others[i].entries);
        arena_free(&c.arena);
    }
    last_of(&c, &(Last){ "rows [-1] columns", "view -1", .turn = "Transpose perm=0,1" }); /* runs at few sizes only */
    CHECK(case_open(&c, &g) && pass_fill(g, &c.err) && strstr(case_ops(&c, g), "NonZero"));
    arena_free(&c.arena);
}

/* ---- pass_index: x[arange(B), i] ---- */
#define LAST                                                                                       \
    { "ReduceSum keepdims=0", "attention_mask [1]", "n" },                                         \
    { "Sub", "n 1", "last" }
#define DIM(axis)                                                                                  \
    { "Shape", "x", "dims" },                                                                      \
    { "Gather", "dims " axis, "count" }
typedef struct Indexing {
    const char *what, *wanted;
    Row row[10];
} Indexing;
static const Indexing indexings[] = {
    { "pairs",
      "ReduceSum Sub Reshape Expand GatherElements Reshape",
      { DIM("0"),
        { "Range", "0 count 1", "rows" },
        LAST,
        { "Unsqueeze", "rows [1]", "r" },
        { "Unsqueeze", "last [1]", "l" },
        { "Concat axis=1", "r l", "pairs" },
        { "GatherND", "x pairs", "y" } } },
    { "flat",
      "ReduceSum Sub Reshape Expand GatherElements Reshape",
      { { "Shape", "x", "dims" },
        { "Gather", "dims 0", "count" },
        { "Gather", "dims 1", "length" },
        { "Range", "0 count 1", "rows" },
        LAST,
        { "Mul", "rows length", "starts" },
        { "Add", "last starts", "at" },
        { "Flatten axis=2", "x", "flat" },
        { "Gather", "flat at", "y" } } },
    { "the range counts backwards",
      NULL,
      { DIM("0"),
        { "Sub", "count 1", "top" },
        { "Range", "top -1 -1", "rows" },
        LAST,
        { "Unsqueeze", "rows [1]", "r" },
        { "Unsqueeze", "last [1]", "l" },
        { "Concat axis=1", "r l", "pairs" },
        { "GatherND", "x pairs", "y" } } },
    { "the range counts tokens, too",
      NULL,
      { DIM("1"),
        { "Range", "0 count 1", "tokens" },
        { "Mul", "tokens 0", "zeros" },
        { "Unsqueeze", "tokens [1]", "t" },
        { "Unsqueeze", "zeros [1]", "r" },
        { "Concat axis=1", "r t", "pairs" },
        { "GatherND", "x pairs", "y" } } },
    { "places and rows the other way round",
      NULL,
      { DIM("0"),
        { "Range", "0 count 1", "rows" },
        LAST,
        { "Mul", "rows 0", "none" },
        { "Unsqueeze", "none [1]", "r" },
        { "Unsqueeze", "rows [1]", "l" },
        { "Concat axis=1", "r l", "p" },
        { "GatherND", "x p", "y" } } },
    { "rows as long as x is wide",
      NULL,
      { { "Shape", "x", "dims" },
        { "Gather", "dims 0", "count" },
        { "Gather", "dims 2", "length" },
        { "Range", "0 count 1", "rows" },
        LAST,
        { "Mul", "rows length", "starts" },
        { "Add", "last starts", "at" },
        { "Flatten axis=2", "x", "flat" },
        { "Gather", "flat at", "y" } } },
    { "steps of something else",
      NULL,
      { { "Shape", "x", "dims" },
        { "Gather", "dims 0", "count" },
        { "Range", "0 count 1", "rows" },
        LAST,
        { "Mul", "rows 1", "starts" },
        { "Mul", "last 0", "none" },
        { "Add", "none starts", "at" },
        { "Flatten axis=2", "x", "flat" },
        { "Gather", "flat at", "y" } } },
};

static void test_index(void)
{
    GraphCase c;
    Graph *g, *plain;
    TEST("index");
    for (size_t i = 0; i < COUNT(indexings); i++) {
        case_begin(&c, 17);
        tokens(&c, 8);
        for (size_t k = 0; k < COUNT(indexings[i].row) && indexings[i].row[k].op; k++)
            node(&c, indexings[i].row[k].op, indexings[i].row[k].in, indexings[i].row[k].out);
        output(&c, "y");
        bool ok = CHECK(case_open(&c, &plain) && case_open(&c, &g) && pass_index(g, &c.err));
        double d = ok ? case_difference(&c, plain, g) : INFINITY;
        bool found = ok && strstr(case_ops(&c, g), "GatherElements");
        if (!CHECK(found == (indexings[i].wanted != NULL)) || !CHECK(d <= 1e-5))
            printf("  %s: %s, difference %g\n", indexings[i].what, ok ? case_ops(&c, g) : "", d);
        if (found) CHECK(strstr(case_ops(&c, g), indexings[i].wanted));
        arena_free(&c.arena);
    }
}

/* In a branch for single tokens what takes a node's place is run only there, too. */
static void try_branch(Pass *pass, const Row *row, size_t n, const char *wanted)
{
    GraphCase c;
    Graph *g, *plain;
    TEST("branch");
    case_begin(&c, 17);
    tokens(&c, 8);
    node(&c, "Shape", "x", "dims"), node(&c, "Gather", "dims 1", "length"),
        node(&c, "Greater", "length 1", "c");
    branch_begin(&c);
    for (size_t i = 0; i < n && row[i].op; i++) node(&c, row[i].op, row[i].in, row[i].out);
    output(&c, "y");
    OnnxGraph *yes = branch_end(&c);
    branch_begin(&c);
    node(&c, "Gather axis=1", "x 0", "z"), output(&c, "z");
    node_if(&c, "c", yes, branch_end(&c), "out");
    output(&c, "out");
    bool ok = CHECK(case_open(&c, &plain) && case_open(&c, &g) && pass(g, &c.err));
    CHECK(ok && strstr(case_ops(&c, g), wanted));
    CHECK(ok && case_difference(&c, plain, g) <= 1e-5);
    arena_free(&c.arena);
}

/* ---- pass_turn: what works inside heads stands before they are turned ---- */
static void heads_turned(GraphCase *c, const char *scale)
{
    case_begin(c, 17);
    tokens(c, 8);
    constant(c, "each", T_F32, "1x2x1x4", NULL), constant(c, "same", T_F32, "2x1x4", NULL);
    node(c, "Reshape", "x [0,0,2,4]", "heads"), node(c, "Transpose perm=0,2,1,3", "heads", "turned");
    node(c, "ReduceMean axes=-1, keepdims=1", "turned", "mean"), node(c, "Sub", "turned mean", "around");
    node(c, "Mul", scale, "y");
    output(c, "y");
}

static void test_turn(void)
{
    static const char *const scales[] = { "around each", "same around", "around 2.0", "around w:4" };
    GraphCase c;
    Graph *g;
    TEST("turn");
    for (size_t i = 0; i < COUNT(scales); i++) {
        heads_turned(&c, scales[i]);
        CHECK(case_becomes(&c, PASSES(pass_turn), "Gather Reshape ReduceMean Sub Mul Transpose", 0, &g));
        arena_free(&c.arena);
    }
    for (int k = 0; k < 3; k++) { /* a norm: what it multiplies by is of each head, of all, or of each token */
        case_begin(&c, 17);
        tokens(&c, 8);
        constant(&c, "each", T_F32, "2x1x4", NULL);
        node(&c, "Reshape", "x [0,0,2,4]", "heads"), node(&c, "Transpose perm=0,2,1,3", "heads", "turned");
        if (k == 2) node(&c, "ReduceSum axes=3, keepdims=1", "turned", "scale");
        node(&c, "LayerNormalization", k == 2 ? "turned scale" : k ? "turned w:4" : "turned each", "y");
        output(&c, "y");
        const char *turned = "Gather Reshape LayerNormalization Transpose";
        CHECK(case_becomes(&c, PASSES(pass_turn), k == 2 ? NULL : turned, 1e-6, &g));
        arena_free(&c.arena);
    }
    heads_turned(&c, "around turned"); /* read once more */
    CHECK(case_becomes(&c, PASSES(pass_turn), "Gather Reshape ReduceMean Sub Mul Transpose", 0, &g));
    arena_free(&c.arena);
    case_begin(&c, 17); /* a mean over the tokens, and the halves of a head that a rotation swaps */
    tokens(&c, 8);
    node(&c, "Reshape", "x [0,0,2,4]", "heads"), node(&c, "Transpose perm=0,2,1,3", "heads", "turned");
    node(&c, "ReduceMean axes=2, keepdims=1", "turned", "mean"), node(&c, "Sub", "turned mean", "around");
    node(&c, "Slice", "around [2] [4] [3]", "y");
    output(&c, "y");
    CHECK(stays(&c, pass_turn));
    arena_free(&c.arena);
}

/* Numbers of float16 are float32 from the constants to the outputs; what the file declares stays. */
static void test_widen(void)
{
    GraphCase c;
    Graph *g;
    TEST("widen");
    case_begin(&c, 17);
    tokens(&c, 8);
    constant(&c, "w", T_F16, "8x8", NULL);
    node(&c, "Cast to=10", "x", "h"), node(&c, "MatMul", "h w", "p");
    node(&c, "Cast to=1", "p", "q"), node(&c, "Neg", "q", "y");
    output(&c, "y");
    CHECK(case_becomes(&c, PASSES(pass_widen), "Gather MatMul Neg", 0.01, &g)); /* as near as float16 is */
    node(&c, "Neg", "p", "z");
    output(&c, "z");
    c.to->out[1].type = T_F16;
    CHECK(case_open(&c, &g) && pass_widen(g, &c.err));
    if (!CHECK(strcmp(case_ops(&c, g), "Gather MatMul Neg Neg Cast") == 0)) printf("  %s\n", case_ops(&c, g));
    arena_free(&c.arena);
}

int main(void)
{
    test_widen();
    static const Row filled[] = { { "ReduceMax keepdims=0 axes=1,", "x", "most" },
                                  { "Less", "most 0.25", "small" },
                                  SCATTER("small", "-5.0"),
                                  { "ScatterND", "most pairs numbers", "y" } };
    try_branch(pass_fill, filled, COUNT(filled), "Where");
    static const Row last[] = { { "Gather", "dims 0", "count" },
                                { "Range", "0 count 1", "rows" },
                                LAST,
                                { "Unsqueeze", "rows [1]", "r" },
                                { "Unsqueeze", "last [1]", "l" },
                                { "Concat axis=1", "r l", "pairs" },
                                { "GatherND", "x pairs", "y" } };
    try_branch(pass_index, last, COUNT(last), "GatherElements");
    test_fold();
    test_if();
    test_symbols();
    test_long_rows();
    test_same();
    test_same_outputs();
    test_fill();
    test_fill_rows();
    test_fill_last();
    test_turn();
    test_index();
    return finish();
}
