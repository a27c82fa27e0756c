/* SPDX-License-Identifier: Apache-2.0
 * contrib_attention.c - com.microsoft Attention, MultiHeadAttention and QAttention, as ONNX Runtime's
 * optimizer leaves them in graphs. Every layout of queries, keys and values is gathered into
 * [B, N, tokens, size]; scores and results are batched products on the GEMM kernel, softmax a row
 * kernel. Letters beside base.h's: N heads, L new keys, P keys in the cache, T all keys, E size of a
 * value head. */
#include <float.h>
#include <math.h>

#include "ops/product.h"
#include "ops/quant.h"

typedef struct AttentionPart { /* where queries, keys or values are: strides in floats */
    const float *p, *bias; /* bias [N * size], or NULL */
    int64_t row, token, head;
    int64_t tokens, size;
} AttentionPart;

typedef struct Multi {
    int64_t B, N, S, L, P, T, D, E;
    AttentionPart q, k, v;
    const Tensor *past_k, *past_v; /* [B, N, P, size], or NULL */
    int64_t past_at;               /* numbers before past_v's first one: both in one tensor */
    const Tensor *mask, *bias;     /* mask: any of the five kinds; bias [B or 1, N or 1, S, T] */
    float scale, filter;
    bool causal;
    float *scores;      /* [B, N, S, T] */
    const float *added; /* bias as floats */
} Multi;

/* ---- gathering ---- */
typedef struct Gathered {
    const Multi *m;
    const AttentionPart *from;
    const Tensor *past;
    int64_t past_at;
    float *to;
} Gathered;

static void gather_heads(void *context, int64_t begin, int64_t end)
{
    const Gathered *g = context;
    const AttentionPart *from = g->from;
    const int64_t N = g->m->N, P = g->past ? g->m->P : 0, size = from->size;
    for (int64_t i = begin; i < end; i++) {
        const int64_t b = i / N, n = i % N;
        float *to = g->to + i * (P + from->tokens) * size;
        Tensor view = { .type = T_F32, .data = to };
        if (P) tensor_convert(g->past, g->past_at + i * P * size, &view, 0, P * size);
        to += P * size;
        for (int64_t t = 0; t < from->tokens; t++, to += size) {
            memcpy(to, from->p + b * from->row + t * from->token + n * from->head,
                   (size_t)size * sizeof *to);
            for (int64_t d = 0; from->bias && d < size; d++) to[d] += from->bias[n * size + d];
        }
    }
}

static float *contrib_attention_gather(OpCall *call, const Multi *m, const AttentionPart *from,
                                       const Tensor *past, int64_t past_at, Err *err)
{
    const int64_t tokens = from->tokens + (past ? m->P : 0), count = m->B * m->N * tokens;
    Gathered g = { m, from, past, past_at, op_scratch(call, MAX(count * from->size, 1), 4, err) };
    if (g.to)
        op_split(call, m->B * m->N, MAX(8192 / MAX(tokens * from->size, 1), 1), gather_heads, &g);
    return g.to;
}

/* ---- masks ---- */
typedef enum {
    MASK_NO,
    MASK_ENDS,
    MASK_ENDS_STARTS,
    MASK_KEYS,
    MASK_QUERIES,
    MASK_SQUARE
} ContribMask;

static ContribMask mask_kind(const Multi *m)
{
    const Tensor *t = m->mask;
    if (!t) return MASK_NO;
    if (t->rank == 1) return t->dim[0] == m->B ? MASK_ENDS : MASK_ENDS_STARTS;
    return t->rank == 2 ? MASK_KEYS : t->rank == 3 ? MASK_QUERIES : MASK_SQUARE;
}

static bool contrib_attention_mask_fits(const OpCall *call, int input, const Multi *m, Err *err)
{
    const Tensor *t = m->mask;
    bool fits = false;
    switch (mask_kind(m)) {
    case MASK_NO: return true;
    case MASK_ENDS: fits = true; break;
    case MASK_ENDS_STARTS: fits = t->dim[0] == 2 * m->B; break;
    case MASK_KEYS: fits = t->dim[0] == m->B && t->dim[1] == m->T; break;
    case MASK_QUERIES: fits = t->dim[0] == m->B && t->dim[1] == m->S && t->dim[2] == m->T; break;
    case MASK_SQUARE:
        fits = t->rank == 4 && t->dim[0] == m->B && t->dim[1] == 1 &&
               t->dim[2] >= MAX(m->T, m->P + m->S) && t->dim[3] == t->dim[2];
    }
    return fits ? (t->type == T_I32 || t->type == T_I64 || t->type == T_BOOL ||
                   op_wrong_input(call, input, "integers", err))
                : op_fail(
                      call, err,
                      "input %d: found a mask of %d dims, wanted [%lld], [2 * %lld], [%lld, %lld] "
                      "or [%lld, %lld, %lld]",
                      input, t->rank, (long long)m->B, (long long)m->B, (long long)m->B,
                      (long long)m->T, (long long)m->B, (long long)m->S, (long long)m->T);
}

/* Whether query s of row b sees key t. */
static bool query_sees_key(const Multi *m, ContribMask kind, int64_t b, int64_t s, int64_t t)
{
    const Tensor *mask = m->mask;
    switch (kind) {
    case MASK_NO: return true;
    case MASK_ENDS: return t < tensor_get_int(mask, b);
    case MASK_ENDS_STARTS:
        return t < tensor_get_int(mask, b) && t >= tensor_get_int(mask, m->B + b);
    case MASK_KEYS: return tensor_get_int(mask, b * m->T + t) > 0;
    case MASK_QUERIES: return tensor_get_int(mask, (b * m->S + s) * m->T + t) > 0;
    case MASK_SQUARE: {
        const int64_t side = mask->dim[3];
        return tensor_get_int(mask, (b * side + m->P + s) * side + t) > 0;
    }
    }
    return true;
}

static int64_t bias_row(const Multi *m, int64_t b, int64_t n, int64_t s)
{
    const int64_t *dim = m->bias->dim;
    const int64_t row = dim[0] == 1 ? 0 : b, head = dim[1] == 1 ? 0 : n;
    return ((row * dim[1] + head) * m->S + s) * m->T;
}

typedef struct Soften {
    const OpCall *call;
    const Multi *m;
} Soften;

static void contrib_attention_softmax(void *context, int64_t from, int64_t to)
{
    const Soften *job = context;
    const Multi *m = job->m;
    const ContribMask kind = mask_kind(m);
    for (int64_t i = from; i < to; i++) { /* a row of scores: b, n, s */
        const int64_t b = i / (m->N * m->S), n = i / m->S % m->N, s = i % m->S;
        float *row = m->scores + i * m->T;
        const float *bias = m->added ? m->added + bias_row(m, b, n, s) : NULL;
        for (int64_t t = 0; t < m->T; t++) {
            float add = kind && !query_sees_key(m, kind, b, s, t) ? m->filter : 0;
            if (m->causal && t > m->P + s) add = -FLT_MAX;
            row[t] = row[t] * m->scale + add + (bias ? bias[t] : 0);
        }
        job->call->k->softmax(row, row, m->T);
    }
}

/* ---- the whole ---- */
static bool store_heads(OpCall *call, const Multi *m, const float *from, Err *err)
{
    (void)err;
    Tensor view = { .type = T_F32, .data = (void *)from };
    for (int64_t i = 0; i < m->B * m->N * m->S; i++) {
        const int64_t b = i / (m->N * m->S), n = i / m->S % m->N, s = i % m->S;
        tensor_convert(&view, i * m->E, &call->out[0], ((b * m->S + s) * m->N + n) * m->E, m->E);
    }
    return true;
}

static void keep_cache(OpCall *call, int out, int64_t at, const float *from, int64_t n)
{
    Tensor view = { .type = T_F32, .data = (void *)from };
    if (out < call->n_out && call->out[out].data) tensor_convert(&view, 0, &call->out[out], at, n);
}

/* Outputs 1 and 2 are the caches, or output 1 both. */
static bool contrib_attention_attend(OpCall *call, Multi *m, bool one_cache, Err *err)
{
    const float *q = contrib_attention_gather(call, m, &m->q, NULL, 0, err);
    const float *k = q ? contrib_attention_gather(call, m, &m->k, m->past_k, 0, err) : NULL;
    const float *v =
        k ? contrib_attention_gather(call, m, &m->v, m->past_v, m->past_at, err) : NULL;
    const int64_t each = m->B * m->N;
    m->scores = v ? op_scratch(call, MAX(each * m->S * m->T, 1), sizeof(float), err) : NULL;
    float *y = m->scores ? op_scratch(call, MAX(each * m->S * m->E, 1), sizeof(float), err) : NULL;
    if (!y) return false;
    keep_cache(call, 1, 0, k, each * m->T * m->D);
    keep_cache(call, one_cache ? 1 : 2, one_cache ? each * m->T * m->D : 0, v, each * m->T * m->E);
    if (m->bias && !(m->added = op_f32(call, m->bias, err))) return false;
    Product p = { .M = m->S,
                  .N = m->T,
                  .K = m->D,
                  .rank = 1,
                  .batch = { each },
                  .batches = each,
                  .step = { { 1 }, { 1 } },
                  .matrices = { each, each } };
    if (!product_f32(call, &p, q, k, true, m->scores, err)) return false;
    Soften job = { call, m };
    if (m->T) op_split(call, each * m->S, MAX(16384 / m->T, 1), contrib_attention_softmax, &job);
    p.N = m->E, p.K = m->T;
    return product_f32(call, &p, m->scores, v, false, y, err) && store_heads(call, m, y, err);
}

static bool bias_fits(const OpCall *call, int input, const Multi *m, Err *err)
{
    const Tensor *t = m->bias;
    if (!t) return true;
    if (t->rank == 4 && (t->dim[0] == 1 || t->dim[0] == m->B) &&
        (t->dim[1] == 1 || t->dim[1] == m->N) && t->dim[2] == m->S && t->dim[3] == m->T)
        return true;
    return op_wrong_input(call, input, "a bias [batch or 1, heads or 1, queries, keys]", err);
}

static bool read_attributes(const OpCall *call, Multi *m, Err *err)
{
    m->N = op_attr_int(call, "num_heads", 0);
    m->causal = op_attr_int(call, "unidirectional", 0);
    m->filter = onnx_float(call->node, "mask_filter_value", -10000.0f);
    m->scale = onnx_float(call->node, "scale", 0);
    if (op_attr_int(call, "do_rotary", 0) || op_attr_int(call, "past_present_share_buffer", 0))
        return fail(err, EF_UNSUPPORTED,
                    "node '%.*s' (%.*s): do_rotary and past_present_share_buffer are not supported",
                    STR_ARG(call->node->name), STR_ARG(call->node->op));
    if (m->N >= 1 && m->N <= 65536) return true;
    return op_fail(call, err, "num_heads: found %lld, wanted 1 or more", (long long)m->N);
}

static bool is_half_or_float(DType type)
{
    return type == T_F32 || type == T_F16 || type == T_BF16;
}

/* ---- Attention(x, weights, bias, mask, past, attention_bias) and QAttention ---- */
typedef struct AttentionColumns { /* of the weight: queries, keys, values */
    int64_t q, k, v;
} AttentionColumns;

typedef struct AttentionInputs { /* their numbers, for both operators */
    int mask, past, bias;
} AttentionInputs;
static const AttentionInputs attention_inputs = { 3, 4, 5 }, q_attention_inputs = { 5, 8, 99 };

static bool find_columns(const OpCall *call, const Multi *m, AttentionColumns *c, Err *err)
{
    const Tensor *w = call->in[1], *bias = op_in(call, 2);
    size_t n;
    const int64_t *said = onnx_ints(call->node, "qkv_hidden_sizes", &n);
    const int64_t all = w->rank == 2 ? w->dim[1] : 0;
    *c = (AttentionColumns){ all / 3, all / 3, all / 3 };
    if (said && n == 3) *c = (AttentionColumns){ said[0], said[1], said[2] };
    if (w->rank != 2 || call->in[0]->rank != 3 || w->dim[0] != call->in[0]->dim[2])
        return op_wrong_input(call, 1, "a row for each column of input 0", err);
    if (c->q < 0 || c->q != c->k || c->v < 0 || c->q > all || c->v > all ||
        c->q + c->k + c->v != all || c->q % m->N || c->v % m->N)
        return op_wrong_input(call, 1, "columns for queries, keys and values of all heads", err);
    if (bias && (bias->rank != 1 || bias->dim[0] != all))
        return op_wrong_input(call, 2, "a number for each column of input 1", err);
    return true;
}

static bool find_attention(const OpCall *call, const AttentionInputs *at, Multi *m,
                           AttentionColumns *c, Err *err)
{
    const Tensor *x = call->in[0], *past = op_in(call, at->past);
    *m = (Multi){ 0 };
    if (!read_attributes(call, m, err) || !find_columns(call, m, c, err)) return false;
    m->B = x->dim[0], m->S = m->L = x->dim[1];
    m->D = c->q / m->N, m->E = c->v / m->N;
    if (past && (past->rank != 5 || past->dim[0] != 2 || past->dim[1] != m->B ||
                 past->dim[2] != m->N || past->dim[4] != m->D || m->D != m->E))
        return op_wrong_input(call, at->past, "a cache [2, batch, heads, tokens, size]", err);
    m->P = past ? past->dim[3] : 0;
    m->T = m->P + m->L;
    m->past_k = m->past_v = past;
    m->past_at = m->B * m->N * m->P * m->D;
    m->mask = op_in(call, at->mask);
    m->bias = op_in(call, at->bias);
    if (m->scale == 0) m->scale = 1 / sqrtf((float)MAX(m->D, 1));
    const Tensor scores = { .type = T_F32, .rank = 4, .dim = { m->B, m->N, m->S, m->T } };
    return tensor_sane(&scores, err) && contrib_attention_mask_fits(call, at->mask, m, err) &&
           bias_fits(call, at->bias, m, err);
}

static bool attention_outputs(OpCall *call, const Multi *m, const AttentionColumns *c, DType type)
{
    return op_out(call, 0, type, 3, (int64_t[]){ m->B, m->S, c->v }) &&
           op_out(call, 1, type, 5, (int64_t[]){ 2, m->B, m->N, m->T, m->D });
}

static bool contrib_attention_shape(OpCall *call, Err *err)
{
    Multi m;
    AttentionColumns c;
    const DType type = call->in[0]->type;
    if (!is_half_or_float(type)) return op_wrong_input(call, 0, "float", err);
    if (call->in[1]->type != type) return op_wrong_input(call, 1, "the type of input 0", err);
    return find_attention(call, &attention_inputs, &m, &c, err) &&
           attention_outputs(call, &m, &c, type);
}

/* Queries, keys and values side by side in rows of `all` columns. */
static void cut_columns(Multi *m, const AttentionColumns *c, const float *x, const float *bias)
{
    const int64_t all = c->q + c->k + c->v;
    const AttentionPart q = { x, bias, m->S * all, all, m->D, m->S, m->D };
    m->q = m->k = m->v = q;
    m->k.p += c->q, m->v.p += c->q + c->k;
    m->v.head = m->v.size = m->E;
    if (bias) m->k.bias += c->q, m->v.bias += c->q + c->k;
}

static bool contrib_attention_run(OpCall *call, Err *err)
{
    Multi m;
    AttentionColumns c;
    if (!find_attention(call, &attention_inputs, &m, &c, err)) return false;
    const int64_t all = c.q + c.k + c.v;
    const float *x = op_f32(call, call->in[0], err), *w = x ? op_f32(call, call->in[1], err) : NULL;
    const Tensor *b = op_in(call, 2);
    const float *bias = w && b ? op_f32(call, b, err) : NULL;
    if (!w || (b && !bias)) return false;
    float *y = op_scratch(call, MAX(m.B * m.S * all, 1), sizeof *y, err);
    Product p = {
        .M = m.B * m.S, .N = all, .K = call->in[1]->dim[0], .batches = 1, .matrices = { 1, 1 }
    };
    if (!y || !product_f32(call, &p, x, w, false, y, err)) return false;
    cut_columns(&m, &c, y, bias);
    return contrib_attention_attend(call, &m, true, err);
}

static bool q_attention_shape(OpCall *call, Err *err)
{
    Multi m;
    AttentionColumns c;
    if (!int_bytes(call, 0, 6, err) || !int_bytes(call, 1, 7, err)) return false;
    if (!find_attention(call, &q_attention_inputs, &m, &c, err)) return false;
    if (op_in(call, 2) && call->in[2]->type != T_F32) return op_wrong_input(call, 2, "float", err);
    if (tensor_count(call->in[3]) != 1) return op_wrong_input(call, 3, "one number", err);
    for (int i = 4; i < 8; i++) {
        const Tensor *t = op_in(call, i);
        const int64_t n = t ? tensor_count(t) : 1, all = c.q + c.k + c.v;
        if (i != 5 && n != 1 && (i == 6 || n != all))
            return op_wrong_input(call, i, "one number, or one for each column", err);
    }
    return attention_outputs(call, &m, &c, T_F32);
}

static bool q_attention_run(OpCall *call, Err *err)
{
    Multi m;
    AttentionColumns c;
    if (!find_attention(call, &q_attention_inputs, &m, &c, err)) return false;
    const int64_t all = c.q + c.k + c.v, rows = m.B * m.S;
    IntJob job = {
        .a = call->in[0], .b = call->in[1], .a_zero = op_in(call, 6), .b_zero = op_in(call, 7)
    };
    job.p = (Product){
        .M = rows, .N = all, .K = call->in[1]->dim[0], .batches = 1, .matrices = { 1, 1 }
    };
    job.y = op_scratch(call, MAX(rows * all, 1), sizeof *job.y, err);
    float *y = job.y ? op_scratch(call, MAX(rows * all, 1), sizeof *y, err) : NULL;
    if (!y || !int_product(call, &job, err)) return false;
    const float x_scale = (float)tensor_get(call->in[3], 0);
    const bool one = tensor_count(call->in[4]) == 1;
    for (int64_t i = 0; i < rows * all; i++)
        y[i] = (float)job.y[i] * (x_scale * (float)tensor_get(call->in[4], one ? 0 : i % all));
    cut_columns(&m, &c, y, op_in(call, 2) ? call->in[2]->data : NULL);
    return contrib_attention_attend(call, &m, true, err);
}

/* ---- MultiHeadAttention(q, k, v, bias, mask, attention_bias, past_k, past_v) ---- */
enum { MHA_Q, MHA_K, MHA_V, MHA_BIAS, MHA_MASK, MHA_ADDED, MHA_PAST_K, MHA_PAST_V };

/* [B, tokens, N * size], [B, N, tokens, size], or slice `which` of [B, tokens, N, parts, size]. */
static bool contrib_attention_find_part(const OpCall *call, const Multi *m, int input, int which,
                                        AttentionPart *part, Err *err)
{
    const Tensor *t = op_in(call, input);
    const int64_t *dim = t ? t->dim : NULL;
    if (t && t->rank == 3 && dim[0] == m->B && dim[2] % m->N == 0) {
        const int64_t size = dim[2] / m->N;
        *part = (AttentionPart){
            .row = dim[1] * dim[2], .token = dim[2], .head = size, .tokens = dim[1], .size = size
        };
    } else if (t && t->rank == 4 && dim[0] == m->B && dim[1] == m->N) {
        *part = (AttentionPart){ .row = dim[1] * dim[2] * dim[3],
                        .token = dim[3],
                        .head = dim[2] * dim[3],
                        .tokens = dim[2],
                        .size = dim[3] };
    } else if (t && t->rank == 5 && dim[0] == m->B && dim[2] == m->N) {
        const int64_t head = dim[3] * dim[4];
        *part = (AttentionPart){ .row = dim[1] * dim[2] * head,
                        .token = dim[2] * head,
                        .head = head,
                        .tokens = dim[1],
                        .size = dim[4] };
        if (which >= dim[3]) return op_wrong_input(call, input, "more parts at axis 3", err);
    } else {
        return t ? op_wrong_input(call, input, "queries, keys or values of all heads", err)
                 : op_fail(call, err, "input %d: found none, wanted one", input);
    }
    return true;
}

static bool contrib_attention_past_fits(const OpCall *call, int input, const Multi *m, int64_t size,
                                        Err *err)
{
    const Tensor *t = op_in(call, input);
    if (t && t->rank == 4 && t->dim[0] == m->B && t->dim[1] == m->N && t->dim[2] == m->P &&
        t->dim[3] == size)
        return true;
    return t ? op_wrong_input(call, input, "a cache [batch, heads, tokens, size]", err)
             : op_fail(call, err, "input %d: found no cache, wanted two", input);
}

/* Which input a part lies in, and which slice of it. */
typedef struct PartPlace {
    int input, which;
} PartPlace;

static bool find_parts(const OpCall *call, Multi *m, PartPlace place[3], Err *err)
{
    const Tensor *k = op_in(call, MHA_K);
    const bool all = !k, pair = k && k->rank == 5;
    place[0] = (PartPlace){ MHA_Q, 0 };
    place[1] = all ? (PartPlace){ MHA_Q, 1 } : (PartPlace){ MHA_K, 0 };
    place[2] = all    ? (PartPlace){ MHA_Q, 2 }
               : pair ? (PartPlace){ MHA_K, 1 }
                      : (PartPlace){ MHA_V, 0 };
    AttentionPart *part[3] = { &m->q, &m->k, &m->v };
    for (int i = 0; i < 3; i++)
        if (!contrib_attention_find_part(call, m, place[i].input, place[i].which, part[i], err))
            return false;
    if (m->k.tokens != m->v.tokens || m->k.size != m->q.size)
        return op_fail(call, err,
                       "found %lld keys of %lld and %lld values, wanted as many, of size %lld",
                       (long long)m->k.tokens, (long long)m->k.size, (long long)m->v.tokens,
                       (long long)m->q.size);
    return true;
}

static bool find_multi(const OpCall *call, Multi *m, PartPlace place[3], Err *err)
{
    const Tensor *bias = op_in(call, MHA_BIAS);
    *m = (Multi){ 0 };
    if (!read_attributes(call, m, err)) return false;
    if (call->in[0]->rank < 3) return op_wrong_input(call, 0, "three dimensions or five", err);
    m->B = call->in[0]->dim[0];
    if (!find_parts(call, m, place, err)) return false;
    m->S = m->q.tokens, m->L = m->k.tokens, m->D = m->q.size, m->E = m->v.size;
    m->past_k = op_in(call, MHA_PAST_K), m->past_v = op_in(call, MHA_PAST_V);
    m->P = m->past_k && m->past_k->rank == 4 ? m->past_k->dim[2] : 0;
    m->T = m->P + m->L;
    if ((m->past_k || m->past_v) && (!contrib_attention_past_fits(call, MHA_PAST_K, m, m->D, err) ||
                                     !contrib_attention_past_fits(call, MHA_PAST_V, m, m->E, err)))
        return false;
    if (bias && (bias->rank != 1 || bias->dim[0] != m->N * (2 * m->D + m->E)))
        return op_wrong_input(call, MHA_BIAS, "a number for each column of q, k and v", err);
    m->mask = op_in(call, MHA_MASK), m->bias = op_in(call, MHA_ADDED);
    if (m->scale == 0) m->scale = 1 / sqrtf((float)MAX(m->D, 1));
    const Tensor scores = { .type = T_F32, .rank = 4, .dim = { m->B, m->N, m->S, m->T } };
    return tensor_sane(&scores, err) && contrib_attention_mask_fits(call, MHA_MASK, m, err) &&
           bias_fits(call, MHA_ADDED, m, err);
}

static bool multi_shape(OpCall *call, Err *err)
{
    Multi m;
    PartPlace place[3];
    const DType type = call->in[0]->type;
    if (!is_half_or_float(type)) return op_wrong_input(call, 0, "float", err);
    for (int i = 1; i < call->n_in; i++)
        if (call->in[i] && i != MHA_MASK && call->in[i]->type != type)
            return op_wrong_input(call, i, "the type of input 0", err);
    return find_multi(call, &m, place, err) &&
           op_out(call, 0, type, 3, (int64_t[]){ m.B, m.S, m.N * m.E }) &&
           op_out(call, 1, type, 4, (int64_t[]){ m.B, m.N, m.T, m.D }) &&
           op_out(call, 2, type, 4, (int64_t[]){ m.B, m.N, m.T, m.E });
}

static bool multi_run(OpCall *call, Err *err)
{
    Multi m;
    PartPlace place[3];
    if (!find_multi(call, &m, place, err)) return false;
    const Tensor *b = op_in(call, MHA_BIAS);
    const float *bias = b ? op_f32(call, b, err) : NULL, *inputs[3] = { 0 };
    if (b && !bias) return false;
    AttentionPart *part[3] = { &m.q, &m.k, &m.v };
    for (int i = 0; i < 3; i++) {
        if (call->n_in > i && call->in[i] && !(inputs[i] = op_f32(call, call->in[i], err)))
            return false;
        part[i]->p = inputs[place[i].input] + place[i].which * part[i]->size;
        const bool heads = call->in[place[i].input]->rank == 4; /* keys of a cache have theirs */
        if (bias && !heads) part[i]->bias = bias + i * m.N * m.D;
    }
    return contrib_attention_attend(call, &m, false, err);
}

#define MICROSOFT "com.microsoft"
const Op ops_contrib_attention[] = {
    /* name, domain, since, inputs, shape, run, values, token */
    { "Attention", MICROSOFT, 1, 2, 7, contrib_attention_shape, contrib_attention_run, 0, TOKEN_NO,
      .cost = COST_ATTENTION },
    { "MultiHeadAttention", MICROSOFT, 1, 1, 10, multi_shape, multi_run, 0, TOKEN_NO,
      .cost = COST_ATTENTION },
    { "QAttention", MICROSOFT, 1, 5, 9, q_attention_shape, q_attention_run, 0, TOKEN_NO,
      .cost = COST_ATTENTION },
    { 0 }
};
