/* SPDX-License-Identifier: Apache-2.0
 * attention.c - ONNX's own Attention (opset 23 on: caches, grouped heads, soft caps, windows)
 * and RotaryEmbedding, in double and plain loops: for correctness, not speed. The fast attention
 * of the engine is the fused one. Letters beside base.h's: G heads of keys and values, Q
 * queries, P keys in the cache, S keys in all, E size of a value head. */
#include <math.h>

#include "ops/rotary.h"

typedef struct AttentionHeads {
    int64_t B, H, G, Q, P, S, D, E;
    bool flat;              /* [B, Q, H * D] instead of [B, H, Q, D] */
} AttentionHeads;

enum { MAX_HEADS = 65536 };
enum { IN_Q, IN_K, IN_V, IN_MASK, IN_PAST_K, IN_PAST_V, IN_LENGTHS };

/* Heads, tokens and size of an input in either layout. */
static bool split_heads(const OpCall *call, int input, int64_t heads, int64_t out[3], Err *err)
{
    const Tensor *t = call->in[input];
    if (!dtype_is_float(t->type)) return op_wrong_input(call, input, "floats", err);
    if (t->rank == 4) {
        memcpy(out, t->dim + 1, 3 * sizeof *out);
        return true;
    }
    if (t->rank != 3 || heads < 1 || heads > MAX_HEADS || t->dim[2] % heads)
        return op_wrong_input(call, input, "four dimensions, or three and its number of heads",
                              err);
    out[0] = heads;
    out[1] = t->dim[1];
    out[2] = t->dim[2] / heads;
    return true;
}

static bool attention_past_fits(const OpCall *call, int input, const AttentionHeads *h,
                                int64_t size, Err *err)
{
    const Tensor *t = call->in[input];
    if (t->rank == 4 && t->dim[0] == h->B && t->dim[1] == h->G && t->dim[2] == h->P &&
        t->dim[3] == size)
        return true;
    return op_wrong_input(call, input, "a cache [batch, heads, tokens, size] like its input", err);
}

static bool attention_mask_fits(const OpCall *call, const AttentionHeads *h, Err *err)
{
    const Tensor *mask = op_in(call, IN_MASK), *lengths = op_in(call, IN_LENGTHS);
    const int64_t dim[4] = { h->B, h->H, h->Q, h->S };
    bool fits = !mask || (mask->rank >= 1 && mask->rank <= 4 && mask->dim[mask->rank - 1] <= h->S);
    for (int i = 0; mask && fits && i < mask->rank - 1; i++)
        fits = mask->dim[i] == 1 || mask->dim[i] == dim[4 - mask->rank + i];
    if (!fits)
        return op_wrong_input(call, IN_MASK,
                              "a mask that broadcasts to [batch, heads, queries, keys]", err);
    if (lengths && (lengths->type != T_I64 || tensor_count(lengths) != h->B))
        return op_wrong_input(call, IN_LENGTHS, "an int64 length for each row of the batch", err);
    return true;
}

static bool find_heads(const OpCall *call, AttentionHeads *h, Err *err)
{
    int64_t q[3], k[3], v[3];
    const int64_t kv_heads = op_attr_int(call, "kv_num_heads", 0);
    if (!split_heads(call, IN_Q, op_attr_int(call, "q_num_heads", 0), q, err) ||
        !split_heads(call, IN_K, kv_heads, k, err) || !split_heads(call, IN_V, kv_heads, v, err))
        return false;
    *h = (AttentionHeads){ .B = call->in[IN_Q]->dim[0],
                           .H = q[0],
                           .G = k[0],
                           .Q = q[1],
                           .D = q[2],
                           .E = v[2],
                           .flat = call->in[IN_Q]->rank == 3 };
    if (k[2] != h->D || call->in[IN_K]->dim[0] != h->B ||
        call->in[IN_K]->rank != call->in[IN_Q]->rank)
        return op_wrong_input(call, IN_K, "batch and head size of input 0", err);
    if (v[0] != h->G || v[1] != k[1] || call->in[IN_V]->dim[0] != h->B ||
        call->in[IN_V]->rank != call->in[IN_Q]->rank)
        return op_wrong_input(call, IN_V, "heads and tokens of input 1", err);
    if (!h->G || h->H % h->G)
        return op_fail(call, err, "found %lld query heads and %lld key heads, wanted a multiple",
                       (long long)h->H, (long long)h->G);
    const Tensor *past_k = op_in(call, IN_PAST_K), *past_v = op_in(call, IN_PAST_V);
    if (!past_k != !past_v)
        return op_fail(call, err, "found one cache, wanted past_key and past_value");
    h->P = past_k && past_k->rank == 4 ? past_k->dim[2] : 0;
    if (past_k && (!attention_past_fits(call, IN_PAST_K, h, h->D, err) ||
                   !attention_past_fits(call, IN_PAST_V, h, h->E, err)))
        return false;
    h->S = h->P + k[1];
    const Tensor scores = { .type = T_F32, .rank = 4, .dim = { h->B, h->H, h->Q, h->S } };
    return tensor_sane(&scores, err) && attention_mask_fits(call, h, err);
}

static bool attention_shape(OpCall *call, Err *err)
{
    AttentionHeads h;
    if (!find_heads(call, &h, err)) return false;
    const DType type = call->in[IN_Q]->type;
    if (h.flat) {
        op_out(call, 0, type, 3, (int64_t[]){ h.B, h.Q, h.H * h.E });
    } else {
        op_out(call, 0, type, 4, (int64_t[]){ h.B, h.H, h.Q, h.E });
    }
    op_out(call, 1, call->in[IN_K]->type, 4, (int64_t[]){ h.B, h.G, h.S, h.D });
    op_out(call, 2, call->in[IN_V]->type, 4, (int64_t[]){ h.B, h.G, h.S, h.E });
    return op_out(call, 3, type, 4, (int64_t[]){ h.B, h.H, h.Q, h.S });
}

typedef struct AttentionJob {
    const OpCall *call;
    AttentionHeads h;
    const double *q, *k, *v; /* [B, heads, tokens, size], caches included */
    double *y, *row;         /* [B, H, Q, E]; S scores for each of B * H */
    double scale, cap;
    int64_t mode, left, right;
    bool causal;
} AttentionJob;

/* [B, heads, past + tokens, size] as doubles from either layout. */
static double *attention_gather(OpCall *call, int input, int past, int64_t heads, int64_t size,
                                Err *err)
{
    const Tensor *t = call->in[input], *cache = past ? op_in(call, past) : NULL;
    const bool flat = t->rank == 3;
    const int64_t B = t->dim[0], n = flat ? t->dim[1] : t->dim[2], P = cache ? cache->dim[2] : 0,
                  S = P + n;
    double *out = op_scratch(call, MAX(B * heads * S * size, 1), sizeof *out, err);
    for (int64_t i = 0; out && i < B * heads * S; i++) {
        const int64_t b = i / (heads * S), head = i / S % heads, token = i % S - P;
        const int64_t at = flat ? ((b * n + token) * heads + head) * size
                                : ((b * heads + head) * n + token) * size;
        if (token < 0) {
            tensor_load(cache, ((b * heads + head) * P + token + P) * size, size, out + i * size);
        } else {
            tensor_load(t, at, size, out + i * size);
        }
    }
    return out;
}

/* What is added to a score before the softmax; -inf: this query does not see that key. */
static double bias_at(const AttentionJob *job, int64_t b, int64_t head, int64_t q, int64_t s)
{
    const Tensor *mask = op_in(job->call, IN_MASK), *lengths = op_in(job->call, IN_LENGTHS);
    const int64_t length = lengths ? tensor_get_int(lengths, b) : job->h.S;
    if (s >= length) return -INFINITY;
    const int64_t place = q + (op_in(job->call, IN_PAST_K) ? job->h.P
                               : lengths                   ? length - job->h.Q
                                                           : 0);
    if (job->causal && s > place) return -INFINITY;
    if ((job->left >= 0 && place - s > job->left) || (job->right >= 0 && s - place > job->right))
        return -INFINITY;
    if (!mask) return 0;
    const int64_t index[4] = { b, head, q, s };
    int64_t at = 0;
    for (int i = 0; i < mask->rank; i++) {
        const int64_t wanted = index[4 - mask->rank + i];
        const bool last = i == mask->rank - 1;
        if (last && wanted >= mask->dim[i]) return -INFINITY; /* a short mask hides the rest */
        at = at * mask->dim[i] + (mask->dim[i] == 1 && !last ? 0 : wanted);
    }
    const double value = tensor_get(mask, at);
    return mask->type != T_BOOL ? value : value ? 0 : -INFINITY;
}

static void keep_scores(const AttentionJob *job, int64_t mode, int64_t at, const double *row)
{
    const OpCall *call = job->call;
    if (job->mode == mode && call->n_out > 3 && call->out[3].data)
        tensor_store(&call->out[3], at, job->h.S, row);
}

static void attention_softmax(double *row, int64_t n)
{
    double top = -INFINITY, sum = 0;
    for (int64_t i = 0; i < n; i++) top = fmax(top, row[i]);
    for (int64_t i = 0; i < n; i++) sum += row[i] = top == -INFINITY ? 0 : exp(row[i] - top);
    for (int64_t i = 0; i < n && sum != 0; i++) row[i] /= sum;
}

static void attention_attend_query(const AttentionJob *job, int64_t bh, int64_t q, double *row)
{
    const AttentionHeads *h = &job->h;
    const int64_t b = bh / h->H, head = bh % h->H, kv = b * h->G + head / (h->H / h->G);
    const int64_t out = (bh * h->Q + q) * h->S;
    const double *x = job->q + (bh * h->Q + q) * h->D;
    double *y = job->y + (bh * h->Q + q) * h->E;
    bool seen = false;
    for (int64_t s = 0; s < h->S; s++) {
        const double *k = job->k + (kv * h->S + s) * h->D;
        double dot = 0;
        for (int64_t d = 0; d < h->D; d++) dot += x[d] * k[d];
        row[s] = dot * job->scale;
    }
    keep_scores(job, 0, out, row);
    for (int64_t s = 0; s < h->S && job->cap > 0; s++) row[s] = tanh(row[s] / job->cap) * job->cap;
    keep_scores(job, 1, out, row);
    for (int64_t s = 0; s < h->S; s++) {
        const double bias = bias_at(job, b, head, q, s);
        seen = seen || bias != -INFINITY;
        row[s] = bias == -INFINITY ? bias : row[s] + bias;
    }
    keep_scores(job, 2, out, row);
    attention_softmax(row, h->S);
    keep_scores(job, 3, out, row);
    for (int64_t e = 0; e < h->E; e++) y[e] = 0;
    for (int64_t s = 0; s < h->S && seen; s++)
        for (int64_t e = 0; e < h->E; e++) y[e] += row[s] * job->v[(kv * h->S + s) * h->E + e];
}

static void attend_range(void *context, int64_t from, int64_t to)
{
    const AttentionJob *job = context;
    for (int64_t i = from; i < to; i++) /* i is a head of a row of the batch */
        for (int64_t q = 0; q < job->h.Q; q++)
            attention_attend_query(job, i, q, job->row + i * job->h.S);
}

static void store_result(const AttentionJob *job)
{
    const AttentionHeads *h = &job->h;
    Tensor *out = &job->call->out[0];
    for (int64_t i = 0; i < h->B * h->H * h->Q && out->data; i++) {
        const int64_t b = i / (h->H * h->Q), head = i / h->Q % h->H, q = i % h->Q;
        const int64_t at = h->flat ? (b * h->Q + q) * h->H + head : i;
        tensor_store(out, at * h->E, h->E, job->y + i * h->E);
    }
}

static bool attention_run(OpCall *call, Err *err)
{
    AttentionJob job = { .call = call,
                .cap = onnx_float(call->node, "softcap", 0),
                .mode = op_attr_int(call, "qk_matmul_output_mode", 0),
                .causal = op_attr_int(call, "is_causal", 0),
                .left = op_attr_int(call, "left_window_size", -1),
                .right = op_attr_int(call, "right_window_size", -1) };
    AttentionHeads *h = &job.h;
    if (!find_heads(call, h, err)) return false;
    job.scale = onnx_float(call->node, "scale", (float)(1 / sqrt((double)MAX(h->D, 1))));
    job.q = attention_gather(call, IN_Q, 0, h->H, h->D, err);
    job.k = job.q ? attention_gather(call, IN_K, IN_PAST_K, h->G, h->D, err) : NULL;
    job.v = job.k ? attention_gather(call, IN_V, IN_PAST_V, h->G, h->E, err) : NULL;
    job.y = job.v ? op_scratch(call, MAX(h->B * h->H * h->Q * h->E, 1), sizeof *job.y, err) : NULL;
    job.row = job.y ? op_scratch(call, MAX(h->B * h->H * h->S, 1), sizeof *job.row, err) : NULL;
    if (!job.row) return false;
    const bool wanted = tensor_count(&call->out[0]) || (call->n_out > 3 && call->out[3].data);
    if (wanted) op_split(call, h->B * h->H, 1, attend_range, &job);
    if (wanted) store_result(&job);
    for (int i = 1; i <= 2 && i < call->n_out; i++)
        if (call->out[i].data)
            tensor_store(&call->out[i], 0, tensor_count(&call->out[i]), i == 1 ? job.k : job.v);
    return true;
}

/* ---- RotaryEmbedding: pairs of a head's numbers turn by the angle of their token ---- */

static bool find_rotary(const OpCall *call, Rotary *r, Err *err)
{
    const Tensor *t = call->in[0], *ids = op_in(call, 3);
    int64_t parts[3]; /* heads, tokens, size */
    if (!split_heads(call, 0, op_attr_int(call, "num_heads", 0), parts, err)) return false;
    const int64_t said = op_attr_int(call, "rotary_embedding_dim", 0);
    *r = (Rotary){ .B = t->dim[0],
                   .H = parts[0],
                   .S = parts[1],
                   .D = parts[2],
                   .flat = t->rank == 3,
                   .turned = said ? said : parts[2],
                   .interleaved = op_attr_int(call, "interleaved", 0) };
    if (r->turned < 0 || r->turned > r->D || r->turned % 2)
        return op_fail(call, err,
                       "rotary_embedding_dim: found %lld, wanted an even number up to %lld",
                       (long long)r->turned, (long long)r->D);
    if (ids && (ids->type != T_I64 || tensor_count(ids) != r->B * r->S))
        return op_wrong_input(call, 3, "an int64 position for each token", err);
    for (int i = 1; i < 3; i++) {
        const Tensor *table = call->in[i];
        const bool fits = ids ? table->rank == 2
                              : table->rank == 3 && table->dim[0] == r->B && table->dim[1] == r->S;
        if (!fits || table->dim[table->rank - 1] != r->turned / 2 ||
            table->dim[0] != call->in[1]->dim[0])
            return op_wrong_input(call, i, "a table of half the rotary dimensions", err);
    }
    return true;
}

static bool rotary_shape(OpCall *call, Err *err)
{
    Rotary r;
    return find_rotary(call, &r, err) && op_same(call, err);
}

static bool rotary_run(OpCall *call, Err *err)
{
    Rotary r;
    if (!find_rotary(call, &r, err)) return false;
    if (!tensor_count(call->in[0])) return true;
    const Tensor *ids = op_in(call, 3);
    for (int64_t i = 0; i < r.B * r.S * r.H; i++) {
        const int64_t angle = ids ? tensor_get_int(ids, i / r.H) : i / r.H;
        if (ids && (angle < 0 || angle >= call->in[1]->dim[0]))
            return op_fail(call, err, "position: found %lld, wanted 0 to %lld", (long long)angle,
                           (long long)call->in[1]->dim[0] - 1);
        rotary_head(call, &r, rotary_place(&r, i), call->in[1], call->in[2], angle);
    }
    return true;
}

const Op ops_attention[] = {
    /* name, domain, since, inputs, shape, run, values, token */
    { "Attention", NULL, 23, 3, 7, attention_shape, attention_run, 0, TOKEN_NO,
      .cost = COST_ATTENTION },
    { "RotaryEmbedding", NULL, 23, 3, 4, rotary_shape, rotary_run, 0, TOKEN_NO },
    { 0 }
};
