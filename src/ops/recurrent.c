/* SPDX-License-Identifier: Apache-2.0
 * recurrent.c - RNN, GRU and LSTM. The inputs of all steps are multiplied with W at once; then the steps
 * follow one another, all rows of a batch in one product with R. Rows may end before others
 * (sequence_lens): beyond its end a row's outputs are zero and its state stays. Every row's numbers are
 * summed in the same order alone and in company. */
#include <math.h>

#include "ops/product.h"

enum { R_X, R_W, R_R, R_B, R_LENGTHS, R_H, R_C, R_P };
typedef enum { CELL_RNN = 1, CELL_GRU = 3, CELL_LSTM = 4 } CellKind; /* gates */

typedef struct CellAct {
    const char *name;
    double (*fn)(double x, double alpha, double beta);
    double alpha, beta;        /* where the node gives none */
} CellAct;

static double cell_sigmoid(double x, double a, double b) { return (void)a, (void)b, 1 / (1 + exp(-x)); }
static double cell_tanh(double x, double a, double b) { return (void)a, (void)b, tanh(x); }
static double cell_relu(double x, double a, double b) { return (void)a, (void)b, x > 0 ? x : 0; }
static double cell_affine(double x, double a, double b) { return a * x + b; }
static double cell_leaky(double x, double a, double b) { return (void)b, x >= 0 ? x : a * x; }
static double cell_threshold(double x, double a, double b) { return (void)b, x >= a ? x : 0; }
static double cell_scaled_tanh(double x, double a, double b) { return a * tanh(b * x); }
static double cell_hard(double x, double a, double b) { return fmin(fmax(a * x + b, 0), 1); }
static double cell_elu(double x, double a, double b) { return (void)b, x >= 0 ? x : a * expm1(x); }
static double cell_softsign(double x, double a, double b) { return (void)a, (void)b, x / (1 + fabs(x)); }
static double cell_softplus(double x, double a, double b) { return (void)a, (void)b, log1p(exp(x)); }

static const CellAct cell_acts[] = {
    { "Sigmoid", cell_sigmoid, 0, 0 },     { "Tanh", cell_tanh, 0, 0 },
    { "Relu", cell_relu, 0, 0 },           { "Affine", cell_affine, 1, 0 },
    { "LeakyRelu", cell_leaky, 0.01, 0 },  { "ThresholdedRelu", cell_threshold, 1, 0 },
    { "ScaledTanh", cell_scaled_tanh, 1, 1 }, { "HardSigmoid", cell_hard, 0.2, 0.5 },
    { "Elu", cell_elu, 1, 0 },             { "Softsign", cell_softsign, 0, 0 },
    { "Softplus", cell_softplus, 0, 0 },
};
enum { MOST_ACTS = 3 };        /* f, g and h of one direction */

typedef struct Recurrent {
    CellKind cell;
    int64_t S, B, I, H, D;     /* steps, rows, inputs, hidden numbers, directions */
    bool rows_first;           /* layout 1: [B, S, ...] */
    bool before_reset;         /* GRU: the product with R comes first */
    bool coupled;              /* LSTM: the forget gate is 1 - input gate */
    double clip;               /* 0: none */
    CellAct act[2][MOST_ACTS];
} Recurrent;

/* ---- shape ---- */

static int act_count(CellKind cell)
{
    return cell == CELL_RNN ? 1 : cell == CELL_GRU ? 2 : 3;
}

static bool cell_act(const OpCall *call, int index, const char *otherwise, CellAct *out, Err *err)
{
    const OnnxAttr *names = onnx_attr(call->node, "activations");
    const OnnxAttr *alpha = onnx_attr(call->node, "activation_alpha");
    const OnnxAttr *beta = onnx_attr(call->node, "activation_beta");
    const bool given = names && (size_t)index < names->n && names->strings;
    const Str name = given ? names->strings[index] : str_of(otherwise);
    for (size_t i = 0; i < COUNT(cell_acts); i++) {
        if (!str_is(name, cell_acts[i].name)) continue;
        *out = cell_acts[i];
        if (alpha && (size_t)index < alpha->n && alpha->floats) out->alpha = alpha->floats[index];
        if (beta && (size_t)index < beta->n && beta->floats) out->beta = beta->floats[index];
        return true;
    }
    return fail(err, EF_UNSUPPORTED, "node '%.*s' (%.*s): activation '%.*s' is not supported",
                STR_ARG(call->node->name), STR_ARG(call->node->op), STR_ARG(name));
}

static bool recurrent_attributes(const OpCall *call, Recurrent *r, Err *err)
{
    static const char *const usual[] = { "Sigmoid", "Tanh", "Tanh" };
    const Str direction = onnx_string(call->node, "direction", "forward");
    r->D = str_is(direction, "bidirectional") ? 2 : 1;
    r->rows_first = op_attr_int(call, "layout", 0);
    r->before_reset = op_attr_int(call, "linear_before_reset", 0);
    r->coupled = op_attr_int(call, "input_forget", 0);
    r->clip = onnx_float(call->node, "clip", 0);
    const int n = act_count(r->cell);
    for (int i = 0; i < n * (int)r->D; i++)
        if (!cell_act(call, i, r->cell == CELL_RNN ? "Tanh" : usual[i % n], &r->act[i / n][i % n], err))
            return false;
    return true;
}

static bool recurrent_is(const OpCall *call, int input, int rank, const int64_t *dim, Err *err)
{
    const Tensor *t = op_in(call, input);
    bool fits = !t || (t->rank == rank && (input == R_LENGTHS ? t->type == T_I32 : t->type == call->in[0]->type));
    for (int i = 0; t && fits && i < rank; i++) fits = t->dim[i] == dim[i];
    return fits || op_wrong_input(call, input, "the dims that X, W and hidden_size give", err);
}

static bool recurrent_of(const OpCall *call, CellKind cell, Recurrent *r, Err *err)
{
    const Tensor *x = call->in[R_X], *w = call->in[R_W];
    *r = (Recurrent){ .cell = cell };
    if (!recurrent_attributes(call, r, err)) return false;
    if (x->rank != 3 || (x->type != T_F32 && x->type != T_F16 && x->type != T_BF16))
        return op_wrong_input(call, R_X, "floats [steps, rows, numbers]", err);
    if (w->rank != 3 || w->dim[1] % cell) return op_wrong_input(call, R_W, "[directions, gates, numbers]", err);
    r->S = x->dim[r->rows_first], r->B = x->dim[!r->rows_first], r->I = x->dim[2];
    r->H = w->dim[1] / cell;
    const int64_t G = w->dim[1], D = r->D;
    const int64_t state[] = { r->rows_first ? r->B : D, r->rows_first ? D : r->B, r->H };
    return recurrent_is(call, R_W, 3, (int64_t[]){ D, G, r->I }, err) &&
           recurrent_is(call, R_R, 3, (int64_t[]){ D, G, r->H }, err) &&
           recurrent_is(call, R_B, 2, (int64_t[]){ D, 2 * G }, err) &&
           recurrent_is(call, R_LENGTHS, 1, (int64_t[]){ r->B }, err) &&
           recurrent_is(call, R_H, 3, state, err) && recurrent_is(call, R_C, 3, state, err) &&
           recurrent_is(call, R_P, 2, (int64_t[]){ D, 3 * r->H }, err);
}

static bool recurrent_shape(OpCall *call, CellKind cell, Err *err)
{
    Recurrent r;
    if (!recurrent_of(call, cell, &r, err)) return false;
    const int64_t all[2][4] = { { r.S, r.D, r.B, r.H }, { r.B, r.S, r.D, r.H } };
    const int64_t last[2][3] = { { r.D, r.B, r.H }, { r.B, r.D, r.H } };
    const DType type = call->in[0]->type;
    return op_out(call, 0, type, 4, all[r.rows_first]) && op_out(call, 1, type, 3, last[r.rows_first]) &&
           (cell != CELL_LSTM || op_out(call, 2, type, 3, last[r.rows_first]));
}

/* ---- run ---- */

typedef struct Steps {         /* of one direction */
    OpCall *call;
    const Recurrent *r;
    const CellAct *act;
    int direction;
    bool back;
    const float *x, *bias, *peep; /* x [S, B, I]; bias, peep or NULL */
    float *hidden, *second;    /* panels of R, and of its hidden gate alone: of a GRU */
    const int32_t *length;     /* [B] or NULL */
    float *gates, *more;       /* [S, B, gates * H], of X; [B, gates * H], of the state */
    float *h, *c;              /* [B, H] */
    float *reset, *part;       /* [B, H]: of a GRU */
} Steps;

static double cell_apply(const Steps *s, int which, double x)
{
    const CellAct *a = &s->act[which];
    if (s->r->clip > 0) x = fmin(fmax(x, -s->r->clip), s->r->clip);
    return a->fn(x, a->alpha, a->beta);
}

static double cell_bias(const Steps *s, int part, int64_t gate, int64_t k)
{
    const int64_t G = s->r->cell * s->r->H;
    return s->bias ? s->bias[part * G + gate * s->r->H + k] : 0;
}

/* What gate k of a row sums to: its part of X, of the state, and both biases. */
static double cell_gate(const Steps *s, const float *x, const float *h, int64_t gate, int64_t k)
{
    const int64_t at = gate * s->r->H + k;
    return (double)x[at] + h[at] + cell_bias(s, 0, gate, k) + cell_bias(s, 1, gate, k);
}

static void step_rnn(const Steps *s, const float *x, const float *h, int64_t row)
{
    const int64_t H = s->r->H;
    for (int64_t k = 0; k < H; k++) s->h[row * H + k] = (float)cell_apply(s, 0, cell_gate(s, x, h, 0, k));
}

enum { LSTM_INPUT, LSTM_OUTPUT, LSTM_FORGET, LSTM_CELL };
enum { PEEP_INPUT, PEEP_OUTPUT, PEEP_FORGET };

static double cell_peep(const Steps *s, int gate, int64_t k, double c)
{
    return s->peep ? s->peep[gate * s->r->H + k] * c : 0;
}

static void step_lstm(const Steps *s, const float *x, const float *h, int64_t row)
{
    const int64_t H = s->r->H;
    for (int64_t k = 0; k < H; k++) {
        float *state = &s->c[row * H + k];
        const double i = cell_apply(s, 0, cell_gate(s, x, h, LSTM_INPUT, k) + cell_peep(s, PEEP_INPUT, k, *state));
        const double f = s->r->coupled ? 1 - i
                                       : cell_apply(s, 0, cell_gate(s, x, h, LSTM_FORGET, k) +
                                                              cell_peep(s, PEEP_FORGET, k, *state));
        const double c = f * *state + i * cell_apply(s, 1, cell_gate(s, x, h, LSTM_CELL, k));
        const double o = cell_apply(s, 0, cell_gate(s, x, h, LSTM_OUTPUT, k) + cell_peep(s, PEEP_OUTPUT, k, c));
        const CellAct *a = &s->act[2];
        *state = (float)c;
        s->h[row * H + k] = (float)(o * a->fn(c, a->alpha, a->beta));
    }
}

enum { GRU_UPDATE, GRU_RESET, GRU_HIDDEN };

/* The state as the reset gate leaves it, for the product with the hidden gate's part of R. */
static void gru_reset(const Steps *s, const float *x, const float *h, int64_t row)
{
    const int64_t H = s->r->H;
    for (int64_t k = 0; k < H; k++)
        s->reset[row * H + k] = (float)(cell_apply(s, 0, cell_gate(s, x, h, GRU_RESET, k)) * s->h[row * H + k]);
}

static void step_gru(const Steps *s, const float *x, const float *h, int64_t row)
{
    const int64_t H = s->r->H;
    for (int64_t k = 0; k < H; k++) {
        float *state = &s->h[row * H + k];
        const double z = cell_apply(s, 0, cell_gate(s, x, h, GRU_UPDATE, k));
        const double r = s->r->before_reset ? cell_apply(s, 0, cell_gate(s, x, h, GRU_RESET, k)) : 1;
        const int64_t at = GRU_HIDDEN * H + k;
        const double n = cell_apply(s, 1, x[at] + cell_bias(s, 0, GRU_HIDDEN, k) +
                                              r * (h[at] + cell_bias(s, 1, GRU_HIDDEN, k)));
        *state = (float)((1 - z) * n + z * *state);
    }
}

static void multiply(const Steps *s, const float *a, int64_t M, float *panels, int64_t N, int64_t K,
                     float *y)
{
    const Product p = { .M = M, .N = N, .K = K, .batches = 1, .matrices = { 1, 1 } };
    product_panels(s->call, &p, a, panels, y);
}

/* more[.., hidden gate] = (reset * state) * R' */
static void gru_second_product(const Steps *s, const float *x)
{
    const int64_t H = s->r->H, G = s->r->cell * H, B = s->r->B;
    for (int64_t b = 0; b < B; b++) gru_reset(s, x + b * G, s->more + b * G, b);
    multiply(s, s->reset, B, s->second, H, H, s->part);
    for (int64_t b = 0; b < B; b++)
        memcpy(s->more + b * G + GRU_HIDDEN * H, s->part + b * H, sizeof(float) * (size_t)H);
}

/* Writes the state of a row as its output at step t. */
static void step_output(const Steps *s, int64_t t, int64_t row, bool live)
{
    const Recurrent *r = s->r;
    Tensor *y = &s->call->out[0];
    if (!y->data) return;
    const int64_t at = r->rows_first ? ((row * r->S + t) * r->D + s->direction) * r->H
                                     : ((t * r->D + s->direction) * r->B + row) * r->H;
    for (int64_t k = 0; k < r->H; k++) {
        const double v = live ? s->h[row * r->H + k] : 0;
        tensor_store(y, at + k, 1, &v);
    }
}

static void step_all(const Steps *s, int64_t i)
{
    static void (*const step[])(const Steps *, const float *, const float *, int64_t) = {
        [CELL_RNN] = step_rnn, [CELL_GRU] = step_gru, [CELL_LSTM] = step_lstm
    };
    const Recurrent *r = s->r;
    const int64_t G = r->cell * r->H, t = s->back ? r->S - 1 - i : i;
    const float *x = s->gates + t * r->B * G;
    multiply(s, s->h, r->B, s->hidden, G, r->H, s->more);
    if (r->cell == CELL_GRU && !r->before_reset) gru_second_product(s, x);
    for (int64_t b = 0; b < r->B; b++) {
        const bool live = !s->length || t < s->length[b];
        if (live) step[r->cell](s, x + b * G, s->more + b * G, b);
        step_output(s, t, b, live);
    }
}

/* [B, H] of this direction, from or into a tensor of all. */
static int64_t state_place(const Steps *s, int64_t row)
{
    const Recurrent *r = s->r;
    return (r->rows_first ? row * r->D + s->direction : s->direction * r->B + row) * r->H;
}

static float *state_begin(const Steps *s, int input, Err *err)
{
    const Recurrent *r = s->r;
    const Tensor *from = op_in(s->call, input);
    float *state = op_scratch(s->call, MAX(r->B * r->H, 1), sizeof *state, err);
    for (int64_t i = 0; state && i < r->B * r->H; i++)
        state[i] = from ? (float)tensor_get(from, state_place(s, i / r->H) + i % r->H) : 0;
    return state;
}

static void state_end(const Steps *s, int output, const float *state)
{
    const Recurrent *r = s->r;
    if (output >= s->call->n_out || !s->call->out[output].data) return;
    for (int64_t i = 0; i < r->B * r->H; i++) {
        const double v = state[i];
        tensor_store(&s->call->out[output], state_place(s, i / r->H) + i % r->H, 1, &v);
    }
}

/* The part of a weight that belongs to this direction, as floats; NULL: it is not given. */
static const float *direction_part(const Steps *s, int input, Err *err)
{
    const Tensor *t = op_in(s->call, input);
    const float *all = t ? op_f32(s->call, t, err) : NULL;
    return all ? all + s->direction * (tensor_count(t) / s->r->D) : NULL;
}

/* X as [S, B, I] floats. */
static const float *steps_first(OpCall *call, const Recurrent *r, Err *err)
{
    const float *x = op_f32(call, call->in[R_X], err);
    if (!x || !r->rows_first) return x;
    float *out = op_scratch(call, MAX(tensor_count(call->in[R_X]), 1), sizeof *out, err);
    for (int64_t i = 0; out && i < r->S * r->B; i++)
        memcpy(out + i * r->I, x + (i % r->B * r->S + i / r->B) * r->I, sizeof(float) * (size_t)r->I);
    return out;
}

static float *steps_room(const Steps *s, int64_t n, Err *err)
{
    return op_scratch(s->call, MAX(n, 1), sizeof(float), err);
}

/* Rows first .. first + N - 1 of a weight [.., K] in panels. */
static float *weight_panels(const Steps *s, int input, int64_t first, int64_t N, int64_t K, Err *err)
{
    const float *w = direction_part(s, input, err);
    float *panels = w ? steps_room(s, (int64_t)panels_f32_size(N, K), err) : NULL;
    if (panels) panels_f32_pack(w + first * K, true, N, K, panels);
    return panels;
}

static bool run_direction(Steps *s, Err *err)
{
    const Recurrent *r = s->r;
    const int64_t G = r->cell * r->H, one = r->B * r->H;
    float *w = weight_panels(s, R_W, 0, G, r->I, err);
    s->hidden = weight_panels(s, R_R, 0, G, r->H, err);
    if (r->cell == CELL_GRU) s->second = weight_panels(s, R_R, GRU_HIDDEN * r->H, r->H, r->H, err);
    s->bias = direction_part(s, R_B, err);
    s->peep = direction_part(s, R_P, err);
    s->gates = steps_room(s, r->S * r->B * G, err), s->more = steps_room(s, r->B * G, err);
    s->reset = steps_room(s, one, err), s->part = steps_room(s, one, err);
    s->h = state_begin(s, R_H, err), s->c = state_begin(s, R_C, err);
    if (!w || !s->hidden || !s->gates || !s->more || !s->reset || !s->part || !s->h || !s->c)
        return false;
    multiply(s, s->x, r->S * r->B, w, G, r->I, s->gates);
    for (int64_t i = 0; i < r->S; i++) step_all(s, i);
    state_end(s, 1, s->h);
    state_end(s, 2, s->c);
    return true;
}

static bool recurrent_run(OpCall *call, CellKind cell, Err *err)
{
    Recurrent r;
    const Tensor *lengths = op_in(call, R_LENGTHS);
    if (!recurrent_of(call, cell, &r, err)) return false;
    if (!r.B || !r.H) return true;
    const float *x = steps_first(call, &r, err);
    const bool back = str_is(onnx_string(call->node, "direction", "forward"), "reverse");
    for (int d = 0; d < r.D; d++) {
        Steps s = { .call = call, .r = &r, .act = r.act[d], .direction = d, .back = back || d == 1, .x = x,
                    .length = lengths ? lengths->data : NULL };
        if (!x || !run_direction(&s, err)) return false;
    }
    return true;
}

#define RECURRENT(name, cell)                                                                            \
    static bool name##_shape(OpCall *call, Err *err) { return recurrent_shape(call, cell, err); }        \
    static bool name##_run(OpCall *call, Err *err) { return recurrent_run(call, cell, err); }
RECURRENT(rnn, CELL_RNN)
RECURRENT(gru, CELL_GRU)
RECURRENT(lstm, CELL_LSTM)

const Op ops_recurrent[] = {
    { "GRU", NULL, 1, 3, 6, gru_shape, gru_run },
    { "LSTM", NULL, 1, 3, 8, lstm_shape, lstm_run },
    { "RNN", NULL, 1, 3, 6, rnn_shape, rnn_run },
    { 0 }
};
