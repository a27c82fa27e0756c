/* SPDX-License-Identifier: Apache-2.0
 * pack.c - weights into the form that kernels read, in the precision that was asked for: panels of f32
 * or bf16, or int8 with a scale for every column (LinearQ, whose activations are quantized per token
 * row). Each weight is packed once, however many nodes read it.
 *
 * A table that Gather reads by rows stays rows, in the same precision. If a product reads it too (the
 * head of a masked language model, also where an exporter stored a transposed copy), the panels are
 * kept and the rows are looked up in them: a tied table is stored once. */
#include <math.h>

#include "base/log.h"
#include "graph.h"

enum {
    MOST_PARTS = 3,
    LEAST_COLUMNS = 32, /* of an int8 product: the few columns of a classifier cost nothing */
    LEAST_TABLE = 1 << 10, /* numbers of a table worth less precision, or the search for a twin */
    MOST_K = 65536 /* beyond, int8 sums do not fit in 32 bits */
};

static const char *const names[PRECISION_COUNT] = { "fp32", "bf16", "int8" };

const char *precision_name(Precision p)
{
    return names[p];
}

bool precision_find(Str name, Precision *out)
{
    for (int p = 0; p < PRECISION_COUNT; p++)
        if (str_is(name, names[p])) return *out = (Precision)p, true;
    return false;
}

typedef struct Packed { /* what was made of a weight */
    int part[MOST_PARTS], n;
    bool turned;
    Precision precision;
    int panels, scale, sum, fits; /* all but panels of int8 only, else -1 */
} Packed;

typedef struct Packer {
    Graph *g;
    Arena scratch; /* of one weight */
    Packed *made;
    int n;
} Packer;

typedef struct PackWeight { /* of one node: parts stand one behind the other, N columns in all */
    int part[MOST_PARTS], n;
    bool turned;
    int64_t N, K;
} PackWeight;

static int constant(Packer *p, const char *what, const Tensor *t)
{
    return graph_add_constant(p->g, str_format(p->g->arena, "#%s%d", what, p->g->n_value), t);
}

static PackWeight weight_of(const GraphNode *n)
{
    PackWeight w = { .n = 1, .turned = onnx_int(n->node, "turned", 0) };
    w.N = onnx_int(n->node, "N", 0), w.K = onnx_int(n->node, "K", 0);
    w.part[0] = n->in[1];
    for (int k = 4; k < n->n_in && w.n < MOST_PARTS; k++) w.part[w.n++] = n->in[k];
    return w;
}

static const float *part_data(const Packer *p, const PackWeight *w, int k)
{
    return p->g->value[w->part[k]].t.data;
}

/* ---- panels ---- */
static bool pack_f32(Packer *p, const PackWeight *w, Packed *to)
{
    Tensor t = { .type = T_F32, .rank = 3, .dim = { ROUND_UP(w->N, PANEL) / PANEL, w->K, PANEL } };
    int64_t N = w->N / w->n;
    t.data = graph_room(p->g, panels_f32_size(w->N, w->K) * sizeof(float));
    for (int k = 0; t.data && k < w->n; k++)
        panels_f32_pack(part_data(p, w, k), w->turned, N, w->K,
                        (float *)t.data + k * panels_f32_size(N, w->K));
    return t.data && (to->panels = constant(p, "panels", &t), true);
}

static bool pack_bf16(Packer *p, const PackWeight *w, Packed *to)
{
    Tensor t = { .type = T_BF16,
                 .rank = 4,
                 .dim = { ROUND_UP(w->N, PANEL) / PANEL, ROUND_UP(w->K, 2) / 2, PANEL, 2 } };
    int64_t N = w->N / w->n;
    t.data = graph_room(p->g, panels_bf16_size(w->N, w->K) * sizeof(uint16_t));
    for (int k = 0; t.data && k < w->n; k++)
        panels_bf16_pack(part_data(p, w, k), w->turned, N, w->K,
                         (uint16_t *)t.data + k * panels_bf16_size(N, w->K));
    return t.data && (to->panels = constant(p, "panels", &t), true);
}

/* n numbers, `step` apart, to -127..127 and their scale. */
static float quantize(const float *x, int64_t n, int64_t step, int8_t *q)
{
    float most = 0;
    for (int64_t i = 0; i < n; i++) most = fmaxf(most, fabsf(x[i * step]));
    float scale = most / 127, inverse = most >= 1e-30f && isfinite(most) ? 127 / most : 0;
    for (int64_t i = 0; i < n; i++) q[i * step] = (int8_t)rintf(x[i * step] * inverse);
    return inverse ? scale : 0;
}

static bool pack_i8(Packer *p, const PackWeight *w, Packed *to)
{
    int64_t N = w->N / w->n, K = w->K;
    Tensor t = { .type = T_I8,
                 .rank = 4,
                 .dim = { ROUND_UP(w->N, PANEL) / PANEL, ROUND_UP(K, 4) / 4, PANEL, 4 } };
    Tensor scale = { .type = T_F32, .rank = 1, .dim = { ROUND_UP(w->N, PANEL) } },
           sum = { .type = T_I32, .rank = 1, .dim = { ROUND_UP(w->N, PANEL) } },
           fits = { .type = T_U8, .rank = 2, .dim = { t.dim[0], fits_row(K) } };
    t.data = graph_room(p->g, panels_i8_size(w->N, K));
    scale.data = graph_room(p->g, tensor_bytes(&scale));
    sum.data = graph_room(p->g, tensor_bytes(&sum));
    fits.data = graph_room(p->g, tensor_bytes(&fits));
    int8_t *q = arena_raw(&p->scratch, (size_t)(N * K));
    if (!t.data || !scale.data || !sum.data || !fits.data) return false;
    memset(scale.data, 0, tensor_bytes(&scale));
    for (int k = 0; k < w->n; k++) {
        const float *x = part_data(p, w, k);
        for (int64_t n = 0; n < N; n++)
            ((float *)scale.data)[k * N + n] =
                w->turned ? quantize(x + n * K, K, 1, q + n * K) : quantize(x + n, K, N, q + n);
        panels_i8_pack(q, w->turned, N, K, (int8_t *)t.data + (size_t)k * panels_i8_size(N, K),
                       (int32_t *)sum.data + k * N);
    }
    panels_i8_fits(t.data, w->N, K, fits.data);
    arena_reset(&p->scratch, 0);
    to->panels = constant(p, "panels", &t);
    to->scale = constant(p, "scale", &scale), to->sum = constant(p, "sum", &sum);
    to->fits = constant(p, "fits", &fits);
    return true;
}

static bool same_parts(const Packed *a, const PackWeight *w)
{
    if (a->n != w->n || a->turned != w->turned) return false;
    for (int k = 0; k < w->n; k++)
        if (a->part[k] != w->part[k]) return false;
    return true;
}

/* NULL: there is no room for it. */
static const Packed *packed(Packer *p, const PackWeight *w)
{
    static bool (*const pack[])(Packer *, const PackWeight *, Packed *) = {
        [PRECISION_FP32] = pack_f32, [PRECISION_BF16] = pack_bf16, [PRECISION_INT8] = pack_i8
    };
    for (int i = 0; i < p->n; i++)
        if (same_parts(&p->made[i], w)) return &p->made[i];
    Packed *to = &p->made[p->n];
    *to = (Packed){ .n = w->n, .turned = w->turned, .precision = p->g->precision, .panels = -1,
                    .scale = -1, .sum = -1, .fits = -1 };
    memcpy(to->part, w->part, sizeof to->part);
    if (to->precision == PRECISION_INT8 && (w->N < LEAST_COLUMNS || w->K > MOST_K))
        to->precision = PRECISION_FP32;
    if (!pack[to->precision](p, w, to)) return NULL;
    return &p->made[p->n++];
}

static void pack_linear(Packer *p, int i)
{
    Graph *g = p->g;
    GraphNode *n = g->node[i];
    const bool conv = graph_is(n, "ConvLast");
    if ((!conv && !graph_is(n, "Linear")) || g->value[n->in[1]].t.rank != 2) return;
    PackWeight w = weight_of(n);
    const Packed *from = packed(p, &w);
    if (!from) return; /* the kernel packs it when it runs */
    int in[] = { n->in[0], from->panels, n->in[2], n->in[3],
                 from->scale, from->sum, -1, from->fits };
    bool quantized = from->precision == PRECISION_INT8;
    OnnxNode *old = n->node;
    static const char *const forms[2][2] = { { "Linear", "LinearQ" }, { "ConvLast", "ConvLastQ" } };
    GraphNode *made = graph_replace(g, i, forms[conv][quantized], in, quantized ? COUNT(in) : 4, n->out[0]);
    made->node->attr = old->attr, made->node->n_attr = old->n_attr;
}

/* ---- tables ---- */
static bool is_table(const Graph *g, int v)
{
    if (v < 0 || !g->value[v].constant) return false;
    const Tensor *t = &g->value[v].t;
    return t->rank == 2 && t->type == T_F32 && tensor_count(t) >= LEAST_TABLE;
}

static bool looks_up(const Graph *g, const GraphNode *n)
{
    return graph_is(n, "Gather") && is_table(g, n->in[0]) &&
           onnx_int(n->node, "axis", 0) == 0 && n->in[1] >= 0 && !g->value[n->in[1]].constant;
}

/* The weight [N, K] (turned) or [K, N] has the table's numbers. */
static bool same_numbers(const Tensor *table, const Tensor *w, bool turned)
{
    const float *a = table->data, *b = w->data;
    int64_t N = table->dim[0], K = table->dim[1];
    if (a == b && turned) return true;
    if (w->dim[0] != (turned ? N : K) || w->dim[1] != (turned ? K : N)) return false;
    if (turned) return memcmp(a, b, tensor_bytes(table)) == 0;
    for (int64_t n = 0; n < N; n++)
        for (int64_t k = 0; k < K; k++)
            if (a[n * K + k] != b[k * N + n]) return false;
    return true;
}

static const Packed *tied(const Packer *p, const Tensor *table)
{
    for (int i = 0; i < p->n; i++)
        if (p->made[i].n == 1 &&
            same_numbers(table, &p->g->value[p->made[i].part[0]].t, p->made[i].turned))
            return &p->made[i];
    return NULL;
}

/* Rows of a table in less precision. */
static bool pack_rows(Packer *p, const Tensor *from, int *rows, int *scale)
{
    int64_t N = from->dim[0], K = from->dim[1];
    const float *x = from->data;
    Tensor t = *from, s = { .type = T_F32, .rank = 1, .dim = { N } };
    t.type = p->g->precision == PRECISION_INT8 ? T_I8 : T_BF16;
    t.data = graph_room(p->g, tensor_bytes(&t));
    s.data = graph_room(p->g, tensor_bytes(&s));
    if (!t.data || !s.data) return false;
    if (t.type == T_BF16) tensor_convert(from, 0, &t, 0, N * K);
    for (int64_t n = 0; t.type == T_I8 && n < N; n++)
        ((float *)s.data)[n] = quantize(x + n * K, K, 1, (int8_t *)t.data + n * K);
    *rows = constant(p, "rows", &t);
    *scale = t.type == T_I8 ? constant(p, "scale", &s) : -1;
    return true;
}

/* The form in which table v is kept; false: as it is. */
static bool kept_table(Packer *p, int v, int *rows, int *scale)
{
    const Tensor table = p->g->value[v].t;
    const Packed *twin = tied(p, &table);
    for (int k = 0; !twin && k < p->n; k++) /* another reader of the same table */
        if (p->made[k].n == 0 && p->made[k].part[0] == v) twin = &p->made[k];
    if (twin) return *rows = twin->panels, *scale = twin->scale, true;
    if (p->g->precision == PRECISION_FP32 || !pack_rows(p, &table, rows, scale)) return false;
    p->made[p->n++] = (Packed){ .part = { v }, .panels = *rows, .scale = *scale, .sum = -1 };
    return true;
}

static void pack_gather(Packer *p, int i)
{
    Graph *g = p->g;
    const GraphNode *n = g->node[i];
    int rows, scale;
    if (!looks_up(g, n)) return;
    const int64_t *dim = g->value[n->in[0]].t.dim, N = dim[0], K = dim[1];
    if (!kept_table(p, n->in[0], &rows, &scale)) return;
    int in[] = { rows, n->in[1], scale };
    GraphNode *made = graph_replace(g, i, "Lookup", in, scale < 0 ? 2 : 3, n->out[0]);
    node_set_int(g, made, "N", N);
    node_set_int(g, made, "K", K);
}

static void pack_embed(Packer *p, int i)
{
    GraphNode *n = p->g->node[i];
    for (int k = 2; graph_is(n, "Embed") && k < n->n_in; k += 3)
        if (is_table(p->g, n->in[k])) kept_table(p, n->in[k], &n->in[k], &n->in[k + 2]);
}

/* Attention has no weight: it is told what precision the others have. */
static void pack_attention(Packer *p, int i)
{
    GraphNode *n = p->g->node[i];
    if (p->g->precision == PRECISION_BF16 && graph_is(n, "Attention")) node_set_int(p->g, n, "bf16", 1);
}

/* Bytes of the constants that a node reads. */
static uint64_t constants_of(const Graph *g, int i)
{
    uint64_t sum = 0;
    const GraphNode *n = g->node[i];
    for (int k = 0; n && n->op && k < n->n_in; k++)
        if (n->in[k] >= 0 && g->value[n->in[k]].t.data) sum += tensor_bytes(&g->value[n->in[k]].t);
    return sum;
}

static bool pack_products(Packer *p, Err *err)
{
    Progress bar;
    uint64_t total = 0, done = 0;
    for (int i = 0; i < p->g->n_node; i++) total += constants_of(p->g, i);
    progress_start(&bar, "packing weights", total);
    bool ok = true;
    for (int i = 0; i < p->g->n_node && ok; i++) {
        done += constants_of(p->g, i);
        pack_linear(p, i);
        ok = progress_at(&bar, done, err);
    }
    progress_end(&bar);
    return ok;
}

bool pass_pack(Graph *g, Err *err)
{
    Arena lists = { .local = true };
    Packer p = { .g = g, .made = ARRAY(&lists, Packed, g->n_value + 1) }; /* each reads a constant */
    bool ok = pack_products(&p, err);
    for (int i = 0; ok && i < g->n_node; i++) pack_gather(&p, i), pack_embed(&p, i), pack_attention(&p, i);
    arena_free(&p.scratch);
    arena_free(&lists);
    if (ok) graph_remove_dead(g);
    return ok;
}
