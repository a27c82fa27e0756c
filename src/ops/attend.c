/* SPDX-License-Identifier: Apache-2.0
 * attend.c - our own Attention, made by graph/fuse_attention.c. The kernel computes one head;
 * this file loops over the heads of a ragged (or padded) batch and adds what some models need: a
 * bias by distance (MPNet), rotated queries and keys (ModernBERT, ESM), scores by relative
 * position (DeBERTa). Long rows are taken in blocks of queries, so that nothing of size [S, S]
 * is made.
 *
 * Relative positions of a ragged batch: the table's columns are laid out by distance (beyond its
 * reach they repeat), so that a product gives numbers by distance, and the kernel reads those of 16
 * queries as they lie. */
#include <math.h>

#include "ops/rotary.h"

enum {
    QUERY_BLOCK = 128, /* queries whose numbers by distance are made at once */
    GROUP = 24,        /* queries or keys of one such product */
    AROUND = 2 * PANEL, /* numbers beyond both ends that the kernel may read */
    GATHER_ROWS = 16,
    LEAST_SHARE = 256, /* queries of a long row that one worker takes */
    SHARES = 4         /* of a worker, at least: one may be slower than another */
};

typedef struct RelativeTables {   /* scores that one side gives to relative positions */
    const float *panels;    /* [H][panel]; NULL: none */
    size_t panel;           /* floats of one head */
    const Tensor *by;       /* ragged: by row - column, 0 in the middle */
    int64_t reach, columns; /* distances that differ; columns of `wide`, with a panel for the ends */
    float *wide;            /* [H][columns / 16][D][16], from -reach - AROUND on; column - row */
    const Tensor *at;       /* padded: [..., S, S] */
} RelativeTables;

typedef struct AttendJob {
    const OpCall *c;
    AttentionFn *attend;
    Attention a;            /* mask: as the kernel takes it, where nothing else is added */
    int64_t S, P;           /* longest row; relative positions */
    int64_t keys;           /* of a row: S, but where a row looks at other tokens than its own */
    int64_t masks;          /* rows of the mask, which repeat */
    bool guarded;           /* queries that see nothing get zeros: of padding, which others look at with weight 0 */
    int64_t shares, share;  /* of a row's queries: items of one head, and queries of each */
    const float *cos, *sin; /* [S, D], or NULL */
    RelativeTables c2p, p2c;
    float *scratch;
    size_t scratch_size;    /* floats of one worker */
} AttendJob;

/* ---- shape ---- */
static int64_t head_size(const OpCall *c)
{
    int64_t H = op_attr_int(c, "heads", 0);
    return op_attr_int(c, "size", H > 0 ? c->in[0]->dim[2] / H : 0);
}

/* Heads of keys and values: as many as of queries, or one for every few of them. */
static int64_t kv_heads(const OpCall *c)
{
    return op_attr_int(c, "kv_heads", op_attr_int(c, "heads", 0));
}

static bool source_fits(const OpCall *c, int i, int64_t H, int64_t D, Err *err)
{
    static const char *const at[] = { "q_at", "k_at", "v_at" };
    const Tensor *t = c->in[i], *q = c->in[0];
    int64_t from = op_attr_int(c, at[i], 0);
    if (t->rank != 3 || t->type != T_F32 || t->dim[0] != q->dim[0] ||
        t->dim[1] != c->in[i == ATT_Q ? ATT_Q : ATT_K]->dim[1])
        return op_fail(c, err, "q, k and v do not have one shape [B, S, C]");
    const bool alone = op_in(c, ATT_COS) || op_in(c, ATT_C2P) || op_in(c, ATT_P2C) || c->ragged;
    if (alone && t->dim[1] != q->dim[1]) return op_fail(c, err, "keys are not the queries' own tokens");
    if (from < 0 || H * D > t->dim[2] || from > t->dim[2] - H * D)
        return op_fail(c, err, "%lld columns do not hold %lld heads of %lld from column %lld on",
                       (long long)t->dim[2], (long long)H, (long long)D, (long long)from);
    return true;
}

/* Optional tables: cosines like [..., S, D], panels, indices by distance. */
static bool tables_fit(const OpCall *c, int64_t H, int64_t D, Err *err)
{
    const int64_t S = c->in[0]->dim[1], P = op_attr_int(c, "positions", 0);
    for (int i = ATT_COS; i <= ATT_SIN; i++) {
        const Tensor *t = op_in(c, i);
        if (t && (t->type != T_F32 || t->rank < 2 || t->dim[t->rank - 1] != D || D % 2 ||
                  tensor_count(t) != S * D))
            return op_wrong_input(c, i, "a float for every position and column of a head", err);
        if (!t != !op_in(c, ATT_COS)) return op_fail(c, err, "sines without cosines");
    }
    for (int i = ATT_C2P; i <= ATT_P2C; i++) {
        const Tensor *t = op_in(c, i);
        if (t && (P <= 0 || t->type != T_F32 || t->rank != 4 || t->dim[0] != H || t->dim[2] != D ||
                  t->dim[1] != ROUND_UP(P, PANEL) / PANEL || t->dim[3] != PANEL))
            return op_wrong_input(c, i, "panels of relative positions", err);
    }
    const Tensor *bias = op_in(c, ATT_BIAS);
    if (bias && (bias->type != T_F32 || bias->rank != 2 || bias->dim[1] % 2 == 0 ||
                 (bias->dim[0] != 1 && bias->dim[0] != H)))
        return op_wrong_input(c, ATT_BIAS, "a float for every distance", err);
    for (int i = ATT_C2P_BY; i <= ATT_P2C_BY; i++) {
        const Tensor *t = op_in(c, i);
        if (t && (t->type != T_I32 || t->rank != 1 || t->dim[0] % 2 == 0))
            return op_wrong_input(c, i, "an int32 for every distance", err);
    }
    return true;
}

static bool attend_shape(OpCall *c, Err *err)
{
    int64_t H = op_attr_int(c, "heads", 0);
    const Tensor *q = c->in[0];
    if (q->rank != 3) return op_wrong_input(c, 0, "[B, S, C]", err);
    if (H <= 0 || H > q->dim[2]) return op_fail(c, err, "%lld heads", (long long)H);
    int64_t D = head_size(c), KV = kv_heads(c);
    if (KV <= 0 || H % KV || (KV < H && (op_in(c, ATT_C2P) || op_in(c, ATT_P2C))))
        return op_fail(c, err, "%lld heads of keys for %lld of queries", (long long)KV, (long long)H);
    if (D <= 0 || D > q->dim[2] || (!onnx_attr(c->node, "size") && q->dim[2] % H))
        return op_fail(c, err, "%lld columns are not divisible by %lld heads", (long long)q->dim[2],
                       (long long)H);
    for (int i = ATT_Q; i <= ATT_V; i++)
        if (!source_fits(c, i, i == ATT_Q ? H : KV, D, err)) return false;
    if (q->dim[0] * q->dim[1] > INT32_MAX || q->dim[0] * H > INT32_MAX || q->dim[2] > INT32_MAX)
        return op_wrong_input(c, 0, "fewer than 2^31 tokens, rows of heads and columns", err);
    return tables_fit(c, H, D, err) &&
           op_out(c, 0, T_F32, 3, (int64_t[]){ q->dim[0], q->dim[1], H * D });
}

/* ---- what is added to the scores ---- */
/* Strides of a mask that broadcasts to [B, H, S, keys]; that of fewer rows repeats. */
static bool mask_strides(const OpCall *c, int64_t B, AttendJob *job, Err *err)
{
    const Tensor *m = op_in(c, ATT_MASK);
    const int64_t S = job->S, keys = job->keys;
    Attention *a = &job->a;
    if (!m) return true;
    int64_t dim[4] = { 1, 1, 1, 1 };
    for (int i = 0; i < m->rank && m->rank <= 4; i++) dim[4 - m->rank + i] = m->dim[i];
    bool fits = m->type == T_F32 && m->rank <= 4 && dim[3] == keys && (dim[2] == S || dim[2] == 1) &&
                (dim[1] == a->H || dim[1] == 1) && dim[0] > 0 && B % dim[0] == 0;
    if (!fits)
        return op_fail(c, err, "mask does not broadcast to [%lld, %d, %lld, %lld]", (long long)B,
                       a->H, (long long)S, (long long)keys);
    a->mask = m->data;
    a->mask_query = dim[2] == 1 ? 0 : keys;
    a->mask_head = dim[1] == 1 ? 0 : dim[2] * keys;
    a->mask_row = dim[0] == 1 ? 0 : dim[1] * dim[2] * keys;
    job->masks = dim[0];
    return true;
}

/* An entry of a table by distance; beyond its ends the last entry repeats. */
static int64_t relative_table_entry(const Tensor *table, int64_t distance)
{
    int64_t n = table->dim[table->rank - 1], middle = n / 2;
    return MIN(MAX(distance + middle, (int64_t)0), n - 1);
}

/* A bias by distance is a mask whose rows overlap: the next query's begins one number earlier. */
static bool bias_strides(OpCall *c, int64_t S, Attention *a, Err *err)
{
    const Tensor *t = op_in(c, ATT_BIAS);
    if (!t) return true;
    /* the kernel reads numbers of queries that fill up the last 16 */
    int64_t width = MAX(t->dim[1], 2 * (S + PANEL) - 1), rows = t->dim[0];
    const float *table = t->data;
    if (width > t->dim[1]) {
        float *longer = op_scratch(c, rows * width, sizeof(float), err);
        if (!longer) return false;
        for (int64_t h = 0; h < rows; h++)
            for (int64_t d = 0; d < width; d++)
                longer[h * width + d] =
                    table[h * t->dim[1] + relative_table_entry(t, d - width / 2)];
        table = longer;
    }
    a->mask = table + width / 2;
    a->mask_query = -1;
    a->mask_head = rows == 1 ? 0 : width;
    a->mask_row = 0;
    return true;
}

/* The smallest distance from which on the table says nothing new, in either direction. */
static int64_t relative_reach(const Tensor *by, int64_t S)
{
    const int32_t *at = by->data;
    int64_t last = by->dim[0] - 1, reach = by->dim[0] / 2;
    while (reach > 0 && at[reach + last / 2 - 1] == at[last] && at[last / 2 - reach + 1] == at[0])
        reach--;
    return MIN(reach, S - 1);
}

static int64_t position_at(const RelativeTables *r, int64_t row_less_column, int64_t P)
{
    /* hostile packages must not read outside the panels */
    int64_t at = ((const int32_t *)r->by->data)[relative_table_entry(r->by, row_less_column)];
    return MIN(MAX(at, (int64_t)0), P - 1);
}

static void copy_column(const float *from, int64_t column, int64_t D, float *to, int64_t at)
{
    from += column / PANEL * PANEL * D + column % PANEL;
    to += at / PANEL * PANEL * D + at % PANEL;
    for (int64_t d = 0; d < D; d++) to[d * PANEL] = from[d * PANEL];
}

/* One head's panels by distance; the last panel begins with the two ends. */
static void widen_head(void *arg, int index, int worker)
{
    const AttendJob *job = arg;
    const RelativeTables *r = index < job->a.H ? &job->c2p : &job->p2c;
    const int64_t h = index % job->a.H, D = job->a.D, ends = r->columns - PANEL;
    (void)worker;
    if (!r->wide) return;
    const float *from = r->panels + (size_t)h * r->panel;
    float *to = r->wide + h * r->columns * D;
    for (int64_t c = 0; c < r->columns; c++) {
        int64_t d = c < ends ? c - r->reach - AROUND : c == ends ? -r->reach : r->reach;
        copy_column(from, position_at(r, -MIN(MAX(d, -r->reach), r->reach), job->P), D, to, c);
    }
}

static bool relative_find(OpCall *c, const AttendJob *job, int which, RelativeTables *to, Err *err)
{
    const Tensor *t = op_in(c, ATT_C2P + which), *by = op_in(c, ATT_C2P_BY + which);
    const int64_t S = job->S;
    if (!t) return true;
    to->panels = t->data;
    to->panel = (size_t)(t->dim[1] * t->dim[2] * PANEL);
    if (!c->ragged) {
        to->at = op_in(c, ATT_C2P_AT + which);
        if (!to->at || to->at->rank < 2 || to->at->dim[to->at->rank - 1] != S ||
            to->at->dim[to->at->rank - 2] != S ||
            (to->at->type != T_I64 && to->at->type != T_I32))
            return op_fail(c, err, "no index of relative positions, [S, S] integers");
        return true;
    }
    if (!by) return op_fail(c, err, "no index of relative positions by distance");
    to->by = by;
    to->reach = relative_reach(by, S);
    to->columns = ROUND_UP(2 * (to->reach + AROUND) + 1, PANEL) + PANEL;
    to->wide = op_scratch(c, job->a.H * job->a.D * to->columns, sizeof(float), err);
    return to->wide != NULL;
}

/* ---- one head of one row ---- */
typedef struct AttendRow {
    AttendJob *job;
    Attention a;        /* this head alone: B and H are 1 */
    int32_t start[2];
    int h;
    int64_t n;
    const float *mask;  /* of this row and head, or NULL */
    float *scratch;     /* of the kernel */
    float *by_q, *by_k; /* products with relative positions: of QUERY_BLOCK queries; of keys */
    float *ends;        /* [n, 16]: those of keys with what is beyond the reach */
    float *sum;         /* padded: [QUERY_BLOCK, n], all that is added */
} AttendRow;

enum { KEY_ROW = QUERY_BLOCK + 2 * AROUND }; /* numbers of one key for the queries of a block */
/* Whole panels for GROUP keys at once: the first of them begins before its row, the last ends behind it. */
_Static_assert(AROUND + PANEL >= PANEL - 1 + GROUP - 1, "what keys write stays within a panel of their rows");

static float *attend_take_floats(float **from, int64_t n)
{
    float *p = *from;
    *from += ROUND_UP(n, PANEL);
    return p;
}

/* Keys within reach of a block of queries. */
static int64_t keys_within(const RelativeTables *r, int64_t n)
{
    return MIN(n, 2 * (r->reach + AROUND) + QUERY_BLOCK);
}

static int64_t relative_floats(const AttendJob *job)
{
    const int64_t S = job->S, P = ROUND_UP(job->P, PANEL);
    if (!job->c->ragged) return (QUERY_BLOCK + S) * P + ROUND_UP(QUERY_BLOCK * S, PANEL);
    return 2 * ROUND_UP(S * job->a.D, PANEL) + QUERY_BLOCK * job->c2p.columns +
           keys_within(&job->p2c, S) * KEY_ROW + 2 * PANEL + S * PANEL;
}

static size_t scratch_floats(const AttendJob *job)
{
    int64_t n = (int64_t)ROUND_UP(attention_scratch(MAX(job->S, job->keys), job->a.D), 64);
    if (job->cos) n += 2 * ROUND_UP(job->S * job->a.D, PANEL);
    if (job->P) n += relative_floats(job);
    return (size_t)ROUND_UP(n, 64);
}

/* Tokens from .. to, each at its place in `to_rows`. */
static const float *attend_rotate(const AttendJob *job, const float *x, int64_t ld, int64_t from,
                            int64_t to, float *to_rows)
{
    const int64_t D = job->a.D;
    for (int64_t t = from; t < to; t++)
        rotary_halves(x + t * ld, job->cos + t * D, job->sin + t * D, D, to_rows + t * D);
    return to_rows;
}

static const float *attend_gather(const float *x, int64_t ld, int64_t n, int64_t D, float *to)
{
    for (int64_t t = 0; t < n; t++) memcpy(to + t * D, x + t * ld, (size_t)D * sizeof *to);
    return to;
}

/* ---- relative positions, ragged ---- */
typedef struct DistancePanels { /* of a table by distance */
    int64_t from, to;    /* panels */
} DistancePanels;
/* Panels of the distances least .. most. */
static DistancePanels columns_of(const RelativeTables *r, int64_t least, int64_t most)
{
    const int64_t far = r->reach + AROUND;
    return (DistancePanels){ (MAX(least, -far) + far) / PANEL, (MIN(most, far) + far) / PANEL + 1 };
}

/* l: x, ldx, y and ldy, such that token t's number of column c comes to y[t * ldy + c]. */
static void by_distance(const AttendRow *r, const RelativeTables *rel, Linear l, int64_t from,
                        int64_t to, DistancePanels columns)
{
    l.w = rel->wide + r->h * rel->columns * r->a.D;
    l.M = to, l.N = rel->columns, l.K = r->a.D;
    r->job->c->k->gemm_f32->run(&l, from, to, columns.from, columns.to);
}

/* Of queries q0 .. q1, with every key. */
static ByDistance numbers_of_queries(const AttendRow *r, int64_t q0, int64_t q1)
{
    const RelativeTables *rel = &r->job->c2p;
    const int64_t ld = rel->columns;
    const Linear l = { .x = r->a.q, .ldx = r->a.ldq, .y = r->by_q - q0 * ld, .ldy = ld };
    if (!rel->panels) return (ByDistance){ 0 };
    for (int64_t i = q0; i < q1; i += GROUP) {
        int64_t end = MIN(i + GROUP, q1);
        by_distance(r, rel, l, i, end, columns_of(rel, 1 - end, r->n - 1 - i));
    }
    const float *middle = l.y + rel->reach + AROUND;
    return (ByDistance){ middle, ld, rel->reach, middle - rel->reach, middle + rel->reach, ld };
}

/* Of the keys within reach, with queries q0 .. q1: number i - q0 + AROUND of a key's row. */
static ByDistance numbers_of_keys(const AttendRow *r, int64_t q0, int64_t q1)
{
    const RelativeTables *rel = &r->job->p2c;
    if (!rel->panels) return (ByDistance){ 0 };
    const int64_t first = MAX(q0 - rel->reach, (int64_t)0), ld = KEY_ROW + 1;
    const int64_t last = MIN(q1 + rel->reach + PANEL, r->n);
    float *middle = r->by_k - first * KEY_ROW + AROUND - q0;
    const Linear l = { .x = r->a.k, .ldx = r->a.ldk, .y = middle - rel->reach - AROUND, .ldy = ld };
    for (int64_t j = first; j < last; j += GROUP) {
        int64_t end = MIN(j + GROUP, last);
        by_distance(r, rel, l, j, end, columns_of(rel, q0 - end + 1, q1 - 1 - j));
    }
    return (ByDistance){ middle, ld, rel->reach, r->ends, r->ends + 1, PANEL };
}

static void attend_by_distance(AttendRow *r, int64_t from, int64_t to)
{
    const AttendJob *job = r->job;
    Attention a = r->a;
    if (job->p2c.panels) {
        const int64_t ends = job->p2c.columns / PANEL - 1;
        const Linear l = { .x = a.k, .ldx = a.ldk, .y = r->ends - ends * PANEL, .ldy = PANEL };
        by_distance(r, &job->p2c, l, 0, r->n, (DistancePanels){ ends, ends + 1 });
    }
    for (int64_t q0 = from; q0 < to; q0 += QUERY_BLOCK) {
        int64_t q1 = MIN(q0 + QUERY_BLOCK, to);
        a.by_query = numbers_of_queries(r, q0, q1);
        a.by_key = numbers_of_keys(r, q0, q1);
        job->attend(&a, 0, 0, q0, q1, r->scratch);
    }
}

/* ---- relative positions, padded ---- */
/* y[n, P] = n tokens of one head times the relative positions of that head */
static void times_positions(const AttendRow *r, const RelativeTables *rel, const float *x,
                            int64_t ldx, int64_t n, float *y)
{
    const int64_t P = r->job->P, panels = ROUND_UP(P, PANEL) / PANEL;
    Linear l = { .x = x, .w = rel->panels + (size_t)r->h * rel->panel, .y = y, .ldx = ldx,
                 .ldy = panels * PANEL, .M = n, .N = P, .K = r->a.D };
    r->job->c->k->gemm_f32->run(&l, 0, n, 0, panels);
}

static int64_t relative_position(const RelativeTables *rel, int64_t row, int64_t column, int64_t S,
                                 int64_t P)
{
    return MIN(MAX(tensor_get_int(rel->at, row * S + column), (int64_t)0), P - 1);
}

/* sum[i][j] for queries q0..q1 */
static void add_positions(AttendRow *r, int64_t q0, int64_t q1)
{
    const AttendJob *job = r->job;
    const int64_t S = job->S, P = job->P, ld = ROUND_UP(P, PANEL), n = r->n;
    if (job->c2p.panels)
        times_positions(r, &job->c2p, r->a.q + q0 * r->a.ldq, r->a.ldq, q1 - q0, r->by_q);
    for (int64_t from = q0; from < q1; from += GATHER_ROWS) { /* columns of few rows stay near */
        int64_t to = MIN(from + GATHER_ROWS, q1);
        for (int64_t i = from; i < to; i++)
            for (int64_t j = 0; j < n; j++) {
                float *sum = &r->sum[(i - q0) * n + j];
                *sum = r->mask ? r->mask[i * r->a.mask_query + j] : 0;
                if (job->c2p.panels)
                    *sum += r->by_q[(i - q0) * ld + relative_position(&job->c2p, i, j, S, P)];
            }
        for (int64_t j = 0; job->p2c.panels && j < n; j++)
            for (int64_t i = from; i < to; i++)
                r->sum[(i - q0) * n + j] +=
                    r->by_k[j * ld + relative_position(&job->p2c, j, i, S, P)];
    }
}

static void attend_padded(AttendRow *r, int64_t from, int64_t to)
{
    const AttendJob *job = r->job;
    if (job->p2c.panels) times_positions(r, &job->p2c, r->a.k, r->a.ldk, r->n, r->by_k);
    Attention a = r->a;
    a.mask_query = r->n;
    for (int64_t q0 = from; q0 < to; q0 += QUERY_BLOCK) {
        int64_t q1 = MIN(q0 + QUERY_BLOCK, to);
        add_positions(r, q0, q1);
        a.mask = r->sum - q0 * r->n;
        job->attend(&a, 0, 0, q0, q1, r->scratch);
    }
}

/* ---- an item ---- */
static void attend_rotated(AttendRow *r, float *scratch, int64_t from, int64_t to)
{
    const AttendJob *job = r->job;
    const int64_t n = r->n, D = r->a.D, w = r->a.window ? r->a.window : n;
    r->a.q = attend_rotate(job, r->a.q, r->a.ldq, from, to, attend_take_floats(&scratch, n * D));
    r->a.k = attend_rotate(job, r->a.k, r->a.ldk, MAX(from - w, (int64_t)0), MIN(to + w, n),
                     attend_take_floats(&scratch, n * D));
    r->a.ldq = r->a.ldk = D;
    job->attend(&r->a, 0, 0, from, to, r->scratch);
}

static void attend_relative(AttendRow *r, float *scratch, int64_t from, int64_t to)
{
    const AttendJob *job = r->job;
    const int64_t n = r->n, D = r->a.D, P = ROUND_UP(job->P, PANEL);
    if (!job->c->ragged) {
        r->by_q = attend_take_floats(&scratch, QUERY_BLOCK * P);
        r->by_k = attend_take_floats(&scratch, n * P);
        r->sum = attend_take_floats(&scratch, QUERY_BLOCK * n);
        attend_padded(r, from, to);
        return;
    }
    r->a.k = attend_gather(r->a.k, r->a.ldk, n, D, attend_take_floats(&scratch, n * D));
    r->a.v = attend_gather(r->a.v, r->a.ldv, n, D, attend_take_floats(&scratch, n * D));
    r->a.ldk = r->a.ldv = D;
    r->by_q = attend_take_floats(&scratch, QUERY_BLOCK * job->c2p.columns);
    r->by_k = attend_take_floats(&scratch, keys_within(&job->p2c, n) * KEY_ROW + 2 * PANEL) + PANEL;
    r->ends = attend_take_floats(&scratch, n * PANEL);
    attend_by_distance(r, from, to);
}

/* A row whose keys are other tokens than its queries, or whose mask is that of a row before: by itself. */
static void attend_apart(const AttendJob *job, int row, int h, int64_t from, int64_t to, float *scratch)
{
    Attention a = job->a;
    const int32_t start[2] = { 0, (int32_t)job->keys };
    const int64_t D = a.D, kv = attention_kv_column(&a, h);
    a.q += row * job->S * a.ldq + h * D, a.out += row * job->S * a.ldo + h * D;
    a.k += row * job->keys * a.ldk + kv, a.v += row * job->keys * a.ldv + kv;
    if (a.mask) a.mask += row % job->masks * a.mask_row + h * a.mask_head;
    a.start = start, a.B = a.H = 1, a.group = 0;
    job->attend(&a, 0, 0, from, to, scratch);
}

static bool sees_nothing(const float *mask, int64_t keys)
{
    int64_t k = 0;
    while (k < keys && mask[k] == -INFINITY) k++;
    return k == keys;
}

/* What the softmax of nothing made NaN. Without a mask there is no such query. */
static void attend_guard(const AttendJob *job, int row, int h, int64_t from, int64_t to)
{
    const Attention *a = &job->a;
    const int64_t first = row * job->S, D = a->D;
    const float *mask = a->mask + row % job->masks * a->mask_row + h * a->mask_head;
    for (int64_t i = from; i < to; i++) {
        if (!sees_nothing(mask + i * a->mask_query, job->keys)) continue;
        if (a->outb) memset(a->outb + (first + i) * row_bf16(a->H * D) + h * D, 0, (size_t)D * sizeof *a->outb);
        else memset(a->out + (first + i) * a->ldo + h * D, 0, (size_t)D * sizeof *a->out);
    }
}

static void attend_one(AttendJob *job, int row, int h, int64_t from, int64_t to, float *scratch)
{
    const Attention *all = &job->a;
    const int64_t first = all->start[row], n = all->start[row + 1] - first, D = all->D;
    if (job->keys != job->S || (job->masks > 1 && job->masks < all->B)) {
        attend_apart(job, row, h, from, to, scratch);
        return;
    }
    if (!job->cos && !job->P) {
        job->attend(all, row, h, from, to, scratch);
        return;
    }
    AttendRow r = { .job = job, .a = *all, .start = { 0, (int32_t)n }, .h = h, .n = n };
    const int64_t kv = attention_kv_column(all, h);
    r.a.start = r.start, r.a.B = r.a.H = 1, r.a.group = 0;
    r.a.q += first * all->ldq + h * D, r.a.k += first * all->ldk + kv;
    r.a.v += first * all->ldv + kv, r.a.out += first * all->ldo + h * D;
    if (all->mask) r.a.mask += row * all->mask_row + h * all->mask_head;
    r.mask = r.a.mask;
    r.scratch =
        attend_take_floats(&scratch, (int64_t)ROUND_UP(attention_scratch(job->S, all->D), 64));
    if (job->cos) attend_rotated(&r, scratch, from, to);
    else attend_relative(&r, scratch, from, to);
}

static void attend_item(void *arg, int index, int worker)
{
    AttendJob *job = arg;
    const Attention *all = &job->a;
    const int row = index / (int)job->shares / all->H, h = index / (int)job->shares % all->H;
    const int64_t n = all->start[row + 1] - all->start[row], from = index % job->shares * job->share;
    const int64_t to = MIN(from + job->share, n);
    if (from >= to) return;
    attend_one(job, row, h, from, to, job->scratch + (size_t)worker * job->scratch_size);
    if (job->guarded) attend_guard(job, row, h, from, to);
}

/* ---- all of them ---- */
static const int32_t *equal_rows(const OpCall *c, int64_t B, int64_t S)
{
    int32_t *start = arena_raw(c->scratch, sizeof *start * (size_t)(B + 1));
    for (int64_t r = 0; r <= B; r++) start[r] = (int32_t)(r * S);
    return start;
}

static Attention attend_arguments(const OpCall *c, int64_t B)
{
    const Tensor *q = c->in[ATT_Q], *k = c->in[ATT_K], *v = c->in[ATT_V];
    int64_t H = op_attr_int(c, "heads", 1), D = head_size(c), KV = kv_heads(c);
    return (Attention){ .q = (const float *)q->data + op_attr_int(c, "q_at", 0),
                        .k = (const float *)k->data + op_attr_int(c, "k_at", 0),
                        .v = (const float *)v->data + op_attr_int(c, "v_at", 0),
                        .out = c->out[0].data,
                        .ldq = q->dim[2],
                        .ldk = k->dim[2],
                        .ldv = v->dim[2],
                        .ldo = H * D,
                        .B = (int)B,
                        .H = (int)H,
                        .D = (int)D,
                        .group = KV < H ? (int)(H / KV) : 0,
                        .scale = onnx_float(c->node, "scale", 1) };
}

/* Few rows with few heads are cut, so that there is work for all threads. */
static void share_queries(AttendJob *job, int threads)
{
    const int64_t heads = (int64_t)job->a.B * job->a.H;
    int64_t wanted = threads == 1 ? 1 : (SHARES * threads + heads - 1) / heads;
    job->shares = MIN(wanted, MAX(1, job->S / LEAST_SHARE));
    job->share = ROUND_UP((job->S + job->shares - 1) / job->shares, QUERY_BLOCK);
}

static bool attend_run(OpCall *c, Err *err)
{
    const Tensor *q = c->in[0], *cos = op_in(c, ATT_COS), *sin = op_in(c, ATT_SIN);
    int64_t B = c->ragged ? c->ragged->B : q->dim[0], S = c->ragged ? c->ragged->S : q->dim[1];
    AttendJob job = { .c = c, .a = attend_arguments(c, B), .S = S };
    bool positions = op_in(c, ATT_C2P) || op_in(c, ATT_P2C); /* which tiles do not take */
    job.keys = c->ragged ? S : c->in[ATT_K]->dim[1];
    const bool tiles = op_attr_int(c, "bf16", 0) && !positions && job.keys == S;
    job.attend = tiles ? c->k->attention_bf16 : c->k->attention;
    if (c->low_in) {
        job.a.ldb = row_bf16(q->dim[2]);
        job.a.qb = c->low_in + op_attr_int(c, "q_at", 0);
        job.a.kb = c->low_in + op_attr_int(c, "k_at", 0);
        job.a.vb = c->low_in + op_attr_int(c, "v_at", 0);
    }
    job.a.outb = c->low_out;
    if (!B || !S) return true;
    if (!job.keys) return op_fail(c, err, "found no keys, wanted one or more");
    if (cos) job.cos = cos->data, job.sin = sin->data;
    if (positions) job.P = op_attr_int(c, "positions", 0);
    if (c->ragged ? !bias_strides(c, S, &job.a, err) : !mask_strides(c, B, &job, err))
        return false;
    job.guarded = op_attr_int(c, "guarded", 0) && !c->ragged && job.a.mask;
    if (!relative_find(c, &job, 0, &job.c2p, err) || !relative_find(c, &job, 1, &job.p2c, err))
        return false;
    if (c->ragged)
        job.a.window = (int)MIN(MAX(op_attr_int(c, "window", 0), 0), (int64_t)INT32_MAX);
    job.a.start = c->ragged ? c->ragged->start : equal_rows(c, B, S);
    int threads = op_workers(c, tensor_count(&c->out[0]) * job.keys);
    Pool *pool = threads == 1 ? NULL : c->pool;
    share_queries(&job, threads);
    job.scratch_size = scratch_floats(&job);
    job.scratch = op_scratch(c, (int64_t)job.scratch_size * threads, sizeof(float), err);
    if (!job.scratch) return false;
    if (job.c2p.wide || job.p2c.wide) pool_for(pool, 2 * job.a.H, widen_head, &job);
    pool_for(pool, (int)(B * job.a.H * job.shares), attend_item, &job);
    return true;
}

/* If the table has a bf16 attention kernel, rows of bf16 are read and written. */
static Low attend_low(const OpCall *c)
{
    bool own = op_attr_int(c, "bf16", 0) && c->k->attention_bf16 != c->k->attention;
    bool plain = !op_in(c, ATT_COS) && !op_in(c, ATT_C2P) && !op_in(c, ATT_P2C);
    bool one = c->in[ATT_Q] == c->in[ATT_K] && c->in[ATT_Q] == c->in[ATT_V];
    if (!own || !plain || !one || head_size(c) % 32) return (Low){ 0 };
    return (Low){ .reads = 3, .writes = true };
}

const Op ops_attend[] = {
    { "Attention", "encoderfile", 1, 3, ATT_INPUTS, attend_shape, attend_run,
      .token = TOKEN_ATTENTION, .low = attend_low, .cost = COST_ATTENTION },
    { 0 },
};
