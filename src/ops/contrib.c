/* SPDX-License-Identifier: Apache-2.0
 * contrib.c - com.microsoft operators that ONNX Runtime's optimizer leaves in graphs, beside those that
 * live with their relatives (elementwise.c, norm.c): fused products, embeddings, rotary positions. */
#include <math.h>

#include "ops/activation.h"
#include "ops/product.h"
#include "ops/rotary.h"

/* ---- FusedMatMul: alpha * A' * B' ---- */

/* An input as the product sees it: batch axes moved to the front, then the last two swapped. */
static void axes_of(const OpCall *call, int side, int perm[MAX_RANK])
{
    const int rank = call->in[side]->rank;
    const bool batch = op_attr_int(call, side ? "transBatchB" : "transBatchA", 0);
    const bool swap = op_attr_int(call, side ? "transB" : "transA", 0);
    for (int i = 0; i < rank; i++) perm[i] = i;
    if (batch && rank > 2) { /* [d0, d1 .. dn-2, dn-1] to [d1 .. dn-2, d0, dn-1] */
        for (int i = 0; i < rank - 2; i++) perm[i] = i + 1;
        perm[rank - 2] = 0;
    }
    if (swap && rank > 1) {
        const int last = perm[rank - 1];
        perm[rank - 1] = perm[rank - 2];
        perm[rank - 2] = last;
    }
}

static Tensor as_seen(const OpCall *call, int side)
{
    int perm[MAX_RANK];
    Tensor t = *call->in[side];
    axes_of(call, side, perm);
    for (int i = 0; i < t.rank; i++) t.dim[i] = call->in[side]->dim[perm[i]];
    return t;
}

/* The call with its inputs as the product sees them. */
static OpCall seen_call(OpCall *call, Tensor seen[2], const Tensor *in[2])
{
    OpCall c = *call;
    for (int s = 0; s < 2; s++) {
        seen[s] = as_seen(call, s);
        in[s] = &seen[s];
    }
    c.in = in;
    return c;
}

static bool fused_matmul_shape(OpCall *call, Err *err)
{
    Tensor seen[2];
    const Tensor *in[2];
    const DType type = call->in[0]->type;
    if (type != T_F32 && type != T_F16 && type != T_BF16 && type != T_F64)
        return op_wrong_input(call, 0, "floats", err);
    if (call->in[1]->type != type) return op_wrong_input(call, 1, "the type of input 0", err);
    OpCall c = seen_call(call, seen, in);
    return product_shape(&c, 0, 1, type, err);
}

static bool is_last_swap(const int *perm, int rank)
{
    for (int i = 0; i < rank - 2; i++)
        if (perm[i] != i) return false;
    return rank > 1 && perm[rank - 1] == rank - 2 && perm[rank - 2] == rank - 1;
}

static const float *fused_matmul_moved(OpCall *call, const Tensor *t, const int *perm,
                                       const float *from, Err *err)
{
    const int64_t n = tensor_count(t);
    int64_t step[MAX_RANK] = { 0 }, count = 1, index[MAX_RANK] = { 0 }, at = 0;
    float *to = op_scratch(call, MAX(n, 1), sizeof *to, err);
    for (int i = t->rank - 1; i >= 0; i--) {
        step[i] = count;
        count *= t->dim[i];
    }
    for (int64_t i = 0; to && i < n; i++) {
        to[i] = from[at];
        for (int d = t->rank - 1; d >= 0; d--) {
            at += step[perm[d]];
            if (++index[d] < t->dim[perm[d]]) break;
            at -= step[perm[d]] * index[d];
            index[d] = 0;
        }
    }
    return to;
}

static bool is_plain(const int *perm, int rank)
{
    for (int i = 0; i < rank; i++)
        if (perm[i] != i) return false;
    return true;
}

static bool fused_matmul_run(OpCall *call, Err *err)
{
    Tensor seen[2], y = call->out[0];
    const Tensor *in[2];
    const float *x[2], alpha = onnx_float(call->node, "alpha", 1);
    bool transposed = false;
    Product p;
    OpCall c = seen_call(call, seen, in);
    if (!product_of(&c, 0, 1, &p, err)) return false;
    for (int s = 0; s < 2; s++) {
        int perm[MAX_RANK];
        axes_of(call, s, perm);
        const int rank = call->in[s]->rank;
        if (!(x[s] = op_f32(call, call->in[s], err))) return false;
        if (s && is_last_swap(perm, rank))
            transposed = true; /* the panels are packed from either */
        else if (!is_plain(perm, rank) &&
                 !(x[s] = fused_matmul_moved(call, call->in[s], perm, x[s], err)))
            return false;
    }
    const int64_t n = tensor_count(&y);
    float *to = y.type == T_F32 ? y.data : op_scratch(call, MAX(n, 1), sizeof *to, err);
    if (!to || !product_f32(call, &p, x[0], x[1], transposed, to, err)) return false;
    for (int64_t i = 0; i < n && alpha != 1; i++) to[i] *= alpha;
    y = (Tensor){ .type = T_F32, .data = to };
    if (to != call->out[0].data) tensor_convert(&y, 0, &call->out[0], 0, n);
    return true;
}

/* ---- FusedGemm: an activation behind it ---- */
static bool fused_gemm_shape(OpCall *call, Err *err)
{
    const FusedActivation *activation;
    return fused_activation_find(call, &activation, err) && gemm_shape(call, err);
}

static bool fused_gemm_run(OpCall *call, Err *err)
{
    const FusedActivation *act;
    if (!fused_activation_find(call, &act, err) || !gemm_run(call, err)) return false;
    if (!act) return true;
    const char *second = strcmp(act->name, "Selu") == 0 ? "activation_gamma" : "activation_beta";
    const float p[2] = { onnx_float(call->node, "activation_alpha", act->otherwise[0]),
                         onnx_float(call->node, second, act->otherwise[1]) };
    fused_activation_apply(act, p, &call->out[0]);
    return true;
}

/* ---- EmbedLayerNormalization ---- */
enum { IDS, SEGMENTS, WORDS, POSITIONS, SEGMENT_TABLE, GAMMA, BETA, EMBED_MASK, POSITION_IDS };

static bool embed_norm_table_fits(const OpCall *call, int input, int64_t C, Err *err)
{
    const Tensor *t = op_in(call, input);
    return !t || (t->rank == 2 && t->dim[1] == C && t->type == call->in[WORDS]->type) ||
           op_wrong_input(call, input, "a table like that of the words", err);
}

static bool embed_norm_shape(OpCall *call, Err *err)
{
    if (call->n_in <= BETA) return op_fail(call, err, "found %d inputs, wanted 7", call->n_in);
    const Tensor *ids = call->in[IDS], *words = call->in[WORDS];
    if (!words || words->rank != 2 || (words->type != T_F32 && words->type != T_F16))
        return words ? op_wrong_input(call, WORDS, "a table of floats", err)
                     : op_fail(call, err, "input %d: found none, wanted one", WORDS);
    if (ids->rank != 2 || (ids->type != T_I32 && ids->type != T_I64))
        return op_wrong_input(call, IDS, "numbers [batch, tokens]", err);
    const int64_t B = ids->dim[0], S = ids->dim[1], C = words->dim[1];
    for (int i = SEGMENTS; i <= POSITION_IDS; i += i == SEGMENTS ? EMBED_MASK - SEGMENTS : 1) {
        const Tensor *t = op_in(call, i); /* segments, mask, positions: one for each token */
        const bool shared = t && i == POSITION_IDS && t->rank == 2 && t->dim[0] == 1;
        if (t && (t->rank != 2 || (t->dim[0] != B && !shared) || t->dim[1] != S ||
                  (t->type != T_I32 && t->type != T_I64)))
            return op_wrong_input(call, i, "a number for each token", err);
    }
    for (int i = GAMMA; i <= BETA; i++)
        if (!call->in[i] || tensor_count(call->in[i]) != C)
            return call->in[i] ? op_wrong_input(call, i, "a number for each column", err)
                               : op_fail(call, err, "input %d: found none, wanted one", i);
    if (!embed_norm_table_fits(call, POSITIONS, C, err) ||
        !embed_norm_table_fits(call, SEGMENT_TABLE, C, err))
        return false;
    if (!call->in[POSITIONS] || (op_in(call, SEGMENTS) && !op_in(call, SEGMENT_TABLE)))
        return op_fail(call, err, "the table of positions or segments is missing");
    const int64_t dim[3] = { B, S, C };
    return op_out(call, 0, words->type, 3, dim) && op_out(call, 1, T_I32, 1, dim) &&
           op_out(call, 2, words->type, 3, dim);
}

/* Adds row `index` of a table; NULL: there is none. */
static bool embed_norm_add_row(const OpCall *call, int table, int64_t index, double *sum, Err *err)
{
    const Tensor *t = op_in(call, table);
    if (!t) return true;
    if (index < 0 || index >= t->dim[0])
        return op_fail(call, err, "input %d: found index %lld, wanted 0 to %lld", table,
                       (long long)index, (long long)t->dim[0] - 1);
    for (int64_t c = 0; c < t->dim[1]; c++) sum[c] += tensor_get(t, index * t->dim[1] + c);
    return true;
}

static bool embed_norm_token(const OpCall *call, int64_t i, double *sum, Err *err)
{
    const int64_t S = call->in[IDS]->dim[1], C = call->in[WORDS]->dim[1];
    const Tensor *segments = op_in(call, SEGMENTS), *places = op_in(call, POSITION_IDS);
    const int64_t place = !places               ? i % S
                          : places->dim[0] == 1 ? tensor_get_int(places, i % S)
                                                : tensor_get_int(places, i);
    memset(sum, 0, (size_t)C * sizeof *sum);
    return embed_norm_add_row(call, WORDS, tensor_get_int(call->in[IDS], i), sum, err) &&
           embed_norm_add_row(call, POSITIONS, place, sum, err) &&
           (!segments ||
            embed_norm_add_row(call, SEGMENT_TABLE, tensor_get_int(segments, i), sum, err));
}

static void norm_token(const OpCall *call, int64_t i, double *x)
{
    const int64_t C = call->in[WORDS]->dim[1];
    double mean = 0, square = 0;
    for (int64_t c = 0; c < C; c++) mean += x[c] / (double)C;
    for (int64_t c = 0; c < C; c++) square += (x[c] - mean) * (x[c] - mean);
    const double scale = 1 / sqrt(square / (double)C + onnx_float(call->node, "epsilon", 1e-12f));
    for (int64_t c = 0; c < C; c++)
        x[c] =
            (x[c] - mean) * scale * tensor_get(call->in[GAMMA], c) + tensor_get(call->in[BETA], c);
    tensor_store(&call->out[0], i * C, C, x);
}

static bool embed_norm_run(OpCall *call, Err *err)
{
    const int64_t B = call->in[IDS]->dim[0], S = call->in[IDS]->dim[1], C = call->in[WORDS]->dim[1];
    const Tensor *mask = op_in(call, EMBED_MASK);
    double *sum = op_scratch(call, MAX(C, 1), sizeof *sum, err);
    if (!sum) return false;
    for (int64_t i = 0; i < B * S; i++) {
        if (!embed_norm_token(call, i, sum, err)) return false;
        if (call->n_out > 2 && call->out[2].data) tensor_store(&call->out[2], i * C, C, sum);
        norm_token(call, i, sum);
    }
    for (int64_t b = 0; call->n_out > 1 && call->out[1].data && b < B; b++) {
        double live = 0;
        for (int64_t s = 0; mask && s < S; s++) live += tensor_get_int(mask, b * S + s) == 1;
        tensor_store(&call->out[1], b, 1, &live);
    }
    return true;
}

/* ---- RotaryEmbedding: x, position ids, cos, sin ---- */
static bool contrib_find_rotary(const OpCall *call, Rotary *r, Err *err)
{
    const Tensor *t = call->in[0], *ids = call->in[1], *table = call->in[2];
    int64_t heads = op_attr_int(call, "num_heads", 0);
    const int64_t said = op_attr_int(call, "rotary_embedding_dim", 0);
    if (table->rank != 2 || !tensor_same_shape(table, call->in[3]))
        return op_wrong_input(call, 2, "a table like that of the sines", err);
    if (t->rank != 3 && t->rank != 4)
        return op_wrong_input(call, 0, "three or four dimensions", err);
    *r = (Rotary){ .B = t->dim[0],
                   .flat = t->rank == 3,
                   .interleaved = op_attr_int(call, "interleaved", 0) };
    if (r->flat) {
        if (!heads && !said && table->dim[1]) heads = t->dim[2] / (2 * table->dim[1]);
        if (heads < 1 || t->dim[2] % heads)
            return op_wrong_input(call, 0, "columns of all heads", err);
        r->H = heads, r->S = t->dim[1], r->D = t->dim[2] / heads;
    } else {
        r->H = t->dim[1], r->S = t->dim[2], r->D = t->dim[3];
    }
    r->turned = said ? said : r->D;
    if (r->turned < 0 || r->turned > r->D || r->turned != 2 * table->dim[1])
        return op_fail(call, err, "found %lld numbers to turn of %lld, and tables of %lld columns",
                       (long long)r->turned, (long long)r->D, (long long)table->dim[1]);
    if ((ids->type != T_I64 && ids->type != T_I32) ||
        (tensor_count(ids) != 1 && tensor_count(ids) != r->B * r->S))
        return op_wrong_input(call, 1, "one position, or one for each token", err);
    return true;
}

static bool contrib_rotary_shape(OpCall *call, Err *err)
{
    Rotary r;
    if (call->in[0]->type != T_F32 && call->in[0]->type != T_F16 && call->in[0]->type != T_BF16)
        return op_wrong_input(call, 0, "floats", err);
    return contrib_find_rotary(call, &r, err) && op_same(call, err);
}

static bool contrib_rotary_run(OpCall *call, Err *err)
{
    Rotary r;
    if (!contrib_find_rotary(call, &r, err)) return false;
    const Tensor *ids = call->in[1];
    const bool from =
        ids->rank == 1 && tensor_count(ids) == 1; /* the first token's; others follow */
    for (int64_t i = 0; i < r.B * r.S * r.H; i++) {
        const int64_t token = i / r.H;
        const int64_t place =
            from ? tensor_get_int(ids, 0) + token % r.S : tensor_get_int(ids, token);
        if (place < 0 || place >= call->in[2]->dim[0])
            return op_fail(call, err, "position: found %lld, wanted 0 to %lld", (long long)place,
                           (long long)call->in[2]->dim[0] - 1);
        rotary_head(call, &r, rotary_place(&r, i), call->in[2], call->in[3], place);
    }
    return true;
}

#define MICROSOFT "com.microsoft"
const Op ops_contrib[] = {
    /* name, domain, since, inputs, shape, run, values, token */
    { "EmbedLayerNormalization", MICROSOFT, 1, 1, 9, embed_norm_shape, embed_norm_run, 0,
      TOKEN_NO },
    { "FusedGemm", MICROSOFT, 1, 2, 3, fused_gemm_shape, fused_gemm_run, 0, TOKEN_NO,
      .cost = COST_PRODUCT },
    { "FusedMatMul", MICROSOFT, 1, 2, 2, fused_matmul_shape, fused_matmul_run, 0, TOKEN_MATMUL,
      .cost = COST_PRODUCT },
    { "RotaryEmbedding", MICROSOFT, 1, 4, 4, contrib_rotary_shape, contrib_rotary_run, 0,
      TOKEN_NO },
    { "TransposeMatMul", MICROSOFT, 1, 2, 2, fused_matmul_shape, fused_matmul_run, 0, TOKEN_MATMUL,
      .cost = COST_PRODUCT },
    { 0 }
};
