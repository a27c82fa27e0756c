/* SPDX-License-Identifier: Apache-2.0
 * elementwise.c - operators that compute each output number from the numbers in the same place.
 *
 * A row's loops are a table by element type. A loop sees spans whose inputs advance by one or
 * stand still (walk.c makes them so), which covers equal shapes, scalars and rows; everything
 * else is many short spans. A type without a loop of its own is converted in blocks to one that has:
 * float16 and bfloat16 to float, short integers to those of 64 bits, whose low bits are the answer.
 * Integers wrap around; division by integer zero gives zero (ONNX leaves it open) because a
 * model must not end the program. Plain loops on purpose: those of floats and bytes become vectors,
 * and these operators wait for memory anyway. */
#include <math.h>

#include "walk.h"

typedef struct Args {
    const void *in[WALK_IN];
    int64_t step[WALK_IN];  /* 0 or 1 */
    void *out;
    int64_t n;
    double p[2];            /* attributes, in the order of the row's Param */
} Args;
typedef void LoopFn(const Args *);
typedef LoopFn *const Loops[T_COUNT];

/* ---- loops ---- */

#define VECTORS __attribute__((optimize("O3"))) /* those of 64 bits would be larger, not faster */

#define BINARY(name, T, W, R, EXPR)                                             \
    static void name(const Args *r)                                             \
    {                                                                           \
        typedef W Wide __attribute__((unused));                                 \
        typedef T Type __attribute__((unused));                                 \
        const T *a = r->in[0], *b = r->in[1];                                   \
        R *o = r->out;                                                          \
        const int64_t n = r->n;                                                 \
        if (r->step[0] && r->step[1]) {                                         \
            for (int64_t i = 0; i < n; i++) {                                   \
                const T x = a[i], y = b[i];                                     \
                o[i] = (R)(EXPR);                                               \
            }                                                                   \
        } else if (r->step[0]) {                                                \
            const T y = *b;                                                     \
            for (int64_t i = 0; i < n; i++) {                                   \
                const T x = a[i];                                               \
                o[i] = (R)(EXPR);                                               \
            }                                                                   \
        } else {                                                                \
            const T x = *a;                                                     \
            for (int64_t i = 0; i < n; i++) {                                   \
                const T y = b[i * r->step[1]];                                  \
                o[i] = (R)(EXPR);                                               \
            }                                                                   \
        }                                                                       \
    }
#define UNARY(name, T, W, R, EXPR)                                              \
    static void name(const Args *r)                                             \
    {                                                                           \
        typedef W Wide __attribute__((unused));                                 \
        const T *a = r->in[0], p = (T)r->p[0], q = (T)r->p[1];                  \
        R *o = r->out;                                                          \
        (void)p, (void)q;                                                       \
        for (int64_t i = 0; i < r->n; i++) {                                    \
            const T x = a[i * r->step[0]];                                      \
            o[i] = (R)(EXPR);                                                   \
        }                                                                       \
    }

/* kind of loop, name of the row; R is the output's type, or T for "the same". */
#define INT_LOOPS(LOOP, name, EXPR)                        \
    LOOP(name##_i64, int64_t, uint64_t, int64_t, EXPR)     \
    LOOP(name##_u64, uint64_t, uint64_t, uint64_t, EXPR)
#define INT_ROWS(name) [T_I64] = name##_i64, [T_U64] = name##_u64

#define INTS(LOOP, name, EXPR) \
    INT_LOOPS(LOOP, name, EXPR) static Loops name = { INT_ROWS(name) };
#define FLOATS(LOOP, name, F32, F64)                  \
    VECTORS LOOP(name##_f32, float, float, float, F32)        \
    LOOP(name##_f64, double, double, double, F64)     \
    static Loops name = { [T_F32] = name##_f32, [T_F64] = name##_f64 };
#define NUMBERS(LOOP, name, F32, F64, EXPR)           \
    VECTORS LOOP(name##_f32, float, float, float, F32)        \
    LOOP(name##_f64, double, double, double, F64)     \
    INT_LOOPS(LOOP, name, EXPR)                       \
    static Loops name = { [T_F32] = name##_f32, [T_F64] = name##_f64, INT_ROWS(name) };
#define BOOLS(LOOP, name, EXPR)                       \
    VECTORS LOOP(name##_bool, uint8_t, uint8_t, uint8_t, EXPR) \
    static Loops name = { [T_BOOL] = name##_bool };
#define COMPARE(name, EXPR)                                   \
    VECTORS BINARY(name##_f32, float, float, uint8_t, EXPR)           \
    BINARY(name##_f64, double, double, uint8_t, EXPR)         \
    BINARY(name##_i64, int64_t, int64_t, uint8_t, EXPR)       \
    BINARY(name##_u64, uint64_t, uint64_t, uint8_t, EXPR)     \
    VECTORS BINARY(name##_u8, uint8_t, uint8_t, uint8_t, EXPR)        \
    static Loops name = { [T_F32] = name##_f32, [T_F64] = name##_f64, [T_BOOL] = name##_u8, \
                          [T_U8] = name##_u8, INT_ROWS(name) };

#define SIGNED(T) ((T)-1 < (T)1)
#define BIGGER(x, y) ((x) >= (y) || (x) != (x) ? (x) : (y)) /* NaN wins, as in NumPy */
#define SMALLER(x, y) ((x) <= (y) || (x) != (x) ? (x) : (y))
#define NEGATIVE(x) (!((x) > 0) && (x) != 0) /* asks nothing silly of unsigned types */
#define DIVIDED (y == 0 ? 0 : SIGNED(Type) && y == (Type)-1 ? (Type)(0 - (Wide)x) : x / y)
#define FLOOR_MOD \
    (SIGNED(Type) ? (Type)floor_mod((int64_t)REMAINDER, (int64_t)y) : (Type)REMAINDER)
#define REMAINDER (y == 0 || (SIGNED(Type) && y == (Type)-1) ? 0 : x % y)

static int64_t floor_mod(int64_t rest, int64_t y)
{
    return rest && (rest < 0) != (y < 0) ? rest + y : rest;
}

static double floor_fmod(double x, double y) /* the sign of the divisor, as in Python */
{
    const double rest = fmod(x, y);
    if (rest == 0) return copysign(0, y);
    return (rest < 0) != (y < 0) ? rest + y : rest;
}

static uint64_t int_power(uint64_t x, int64_t y) /* negative exponents: only 1 and -1 survive */
{
    if (y < 0) return x == 1 ? 1 : x == UINT64_MAX ? (y % 2 ? UINT64_MAX : 1) : 0;
    uint64_t out = 1;
    for (; y; y >>= 1, x *= x)
        if (y & 1) out *= x;
    return out;
}

NUMBERS(BINARY, add, x + y, x + y, (Wide)x + (Wide)y)
NUMBERS(BINARY, sub, x - y, x - y, (Wide)x - (Wide)y)
NUMBERS(BINARY, mul, x *y, x *y, (Wide)x *(Wide)y)
NUMBERS(BINARY, divide, x / y, x / y, DIVIDED)
NUMBERS(BINARY, mod_c, fmodf(x, y), fmod(x, y), REMAINDER)
NUMBERS(BINARY, mod_floor, (float)floor_fmod(x, y), floor_fmod(x, y), FLOOR_MOD)
NUMBERS(BINARY, power, y == 2 ? x * x : powf(x, y), y == 2 ? x * x : pow(x, y),
        int_power((uint64_t)x, (int64_t)y))
NUMBERS(BINARY, max, BIGGER(x, y), BIGGER(x, y), x > y ? x : y)
NUMBERS(BINARY, min, SMALLER(x, y), SMALLER(x, y), x < y ? x : y)
NUMBERS(BINARY, prelu, x < 0 ? x * y : x, x < 0 ? x * y : x,
        NEGATIVE(x) ? (Wide)x *(Wide)y : (Wide)x)
COMPARE(equal, x == y)
COMPARE(less, x < y)
COMPARE(less_equal, x <= y)
COMPARE(greater, x > y)
COMPARE(greater_equal, x >= y)
BOOLS(BINARY, and, x && y)
BOOLS(BINARY, or, x || y)
BOOLS(BINARY, xor, !x != !y)
INTS(BINARY, bit_and, x &y)
INTS(BINARY, bit_or, x | y)
INTS(BINARY, bit_xor, x ^ y)
INTS(BINARY, shift_left, (uint64_t)y < 8 * sizeof x ? (Wide)x << y : 0)
INTS(BINARY, shift_right, (uint64_t)y < 8 * sizeof x ? x >> y : NEGATIVE(x) ? (Type)-1 : 0)

BOOLS(UNARY, not, !x)
INTS(UNARY, bit_not, ~x)
NUMBERS(UNARY, negate, -x, -x, 0 - (Wide)x)
NUMBERS(UNARY, absolute, fabsf(x), fabs(x), NEGATIVE(x) ? 0 - (Wide)x : (Wide)x)
NUMBERS(UNARY, sign, x != x ? x : (x > 0) - (x < 0), x != x ? x : (x > 0) - (x < 0),
        (x > 0) - NEGATIVE(x))
NUMBERS(UNARY, relu, x < 0 ? 0 : x, x < 0 ? 0 : x, NEGATIVE(x) ? 0 : x)
FLOATS(UNARY, square_root, sqrtf(x), sqrt(x))
FLOATS(UNARY, reciprocal, 1 / x, 1 / x)
FLOATS(UNARY, exponential, expf(x), exp(x))
FLOATS(UNARY, logarithm, logf(x), log(x))
FLOATS(UNARY, error_function, erff(x), erf(x))
FLOATS(UNARY, tangent_h, tanhf(x), tanh(x))
FLOATS(UNARY, sigmoid, 1 / (1 + expf(-x)), 1 / (1 + exp(-x)))
FLOATS(UNARY, gelu, 0.5f * x * (1 + erff(x * 0.70710678f)), 0.5 * x * (1 + erf(x * M_SQRT1_2)))
FLOATS(UNARY, gelu_tanh, 0.5f * x * (1 + tanhf(0.79788456f * (x + 0.044715f * x * x * x))),
       0.5 * x * (1 + tanh(0.7978845608028654 * (x + 0.044715 * x * x * x))))
FLOATS(UNARY, quick_gelu, x / (1 + expf(-p * x)), x / (1 + exp(-p * x)))
FLOATS(UNARY, floor_of, floorf(x), floor(x))
FLOATS(UNARY, ceiling, ceilf(x), ceil(x))
FLOATS(UNARY, round_even, rintf(x), rint(x))
FLOATS(UNARY, sine, sinf(x), sin(x))
FLOATS(UNARY, cosine, cosf(x), cos(x))
FLOATS(UNARY, tangent, tanf(x), tan(x))
FLOATS(UNARY, arc_sine, asinf(x), asin(x))
FLOATS(UNARY, arc_cosine, acosf(x), acos(x))
FLOATS(UNARY, arc_tangent, atanf(x), atan(x))
FLOATS(UNARY, sine_h, sinhf(x), sinh(x))
FLOATS(UNARY, cosine_h, coshf(x), cosh(x))
FLOATS(UNARY, arc_sine_h, asinhf(x), asinh(x))
FLOATS(UNARY, arc_cosine_h, acoshf(x), acosh(x))
FLOATS(UNARY, arc_tangent_h, atanhf(x), atanh(x))
FLOATS(UNARY, leaky_relu, x < 0 ? p * x : x, x < 0 ? p * x : x)
FLOATS(UNARY, elu, x < 0 ? p * expm1f(x) : x, x < 0 ? p * expm1(x) : x)
FLOATS(UNARY, selu, x > 0 ? q * x : q * p * expm1f(x), x > 0 ? q * x : q * p * expm1(x))
FLOATS(UNARY, celu, x < 0 ? p * expm1f(x / p) : x, x < 0 ? p * expm1(x / p) : x)
FLOATS(UNARY, hard_sigmoid, fmaxf(0, fminf(1, p * x + q)), fmax(0, fmin(1, p * x + q)))
FLOATS(UNARY, hard_swish, x *fmaxf(0, fminf(1, x / 6 + 0.5f)), x *fmax(0, fmin(1, x / 6 + 0.5)))
FLOATS(UNARY, thresholded_relu, x > p ? x : 0, x > p ? x : 0)
FLOATS(UNARY, softplus, fmaxf(x, 0) + log1pf(expf(-fabsf(x))), fmax(x, 0) + log1p(exp(-fabs(x))))
FLOATS(UNARY, softsign, x / (1 + fabsf(x)), x / (1 + fabs(x)))
FLOATS(UNARY, mish, x *tanhf(log1pf(expf(x))), x *tanh(log1p(exp(x))))
FLOATS(UNARY, shrink, x < -p ? x + q : x > p ? x - q : 0, x < -p ? x + q : x > p ? x - q : 0)
UNARY(nan_f32, float, float, uint8_t, x != x)
UNARY(nan_f64, double, double, uint8_t, x != x)
static Loops is_nan = { [T_F32] = nan_f32, [T_F64] = nan_f64 };
UNARY(inf_f32, float, float, uint8_t, (p != 0 && x == -INFINITY) || (q != 0 && x == INFINITY))
UNARY(inf_f64, double, double, uint8_t, (p != 0 && x == -INFINITY) || (q != 0 && x == INFINITY))
static Loops is_inf = { [T_F32] = inf_f32, [T_F64] = inf_f64 };

/* Where: the condition first, then two values of one size; a name, because types do not matter. */
#define CHOOSE(name, T)                                                                   \
    VECTORS static void name(const Args *r)                                                       \
    {                                                                                     \
        const uint8_t *c = r->in[0];                                                      \
        const T *x = r->in[1], *y = r->in[2];                                             \
        T *o = r->out;                                                                    \
        const int64_t sc = r->step[0], sx = r->step[1], sy = r->step[2];                  \
        if (sc && sx && sy)                                                               \
            for (int64_t i = 0; i < r->n; i++) o[i] = c[i] ? x[i] : y[i];                 \
        else                                                                              \
            for (int64_t i = 0; i < r->n; i++) o[i] = c[i * sc] ? x[i * sx] : y[i * sy];  \
    }
CHOOSE(choose_1, uint8_t)
CHOOSE(choose_2, uint16_t)
CHOOSE(choose_4, uint32_t)
CHOOSE(choose_8, uint64_t)
static LoopFn *const choose[] = { [1] = choose_1, [2] = choose_2, [4] = choose_4, [8] = choose_8 };

/* ---- running loops over spans ---- */

typedef struct ElementWork {
    LoopFn *fn;
    bool wider;             /* fn is one of the wider type */
    ActFn *activate;        /* instead of fn: f32, one input */
    Act act;
    int n_in;
    const Tensor *in[WALK_IN];
    Tensor out;
    double p[2];
} ElementWork;

/* The type whose loops stand in for one that has none. */
static DType wider_type(DType type)
{
    static const DType wider[T_COUNT] = { [T_F16] = T_F32, [T_BF16] = T_F32, [T_I8] = T_I64,
                                          [T_I16] = T_I64, [T_I32] = T_I64, [T_U8] = T_U64,
                                          [T_U16] = T_U64, [T_U32] = T_U64 };
    return wider[type] ? wider[type] : type;
}

static const char *element_at(const Tensor *t, int64_t index)
{
    return (const char *)t->data + (size_t)index * dtype_size(t->type);
}

/* Blocks through the wider type. */
static void wider_span(const ElementWork *w, const WalkSpan *s)
{
    enum { BLOCK = 256 };
    uint64_t in[WALK_IN][BLOCK], out[BLOCK];
    const DType wider = wider_type(w->in[0]->type);
    for (int64_t done = 0; done < s->n; done += BLOCK) {
        Args a = { .n = MIN(BLOCK, s->n - done), .p = { w->p[0], w->p[1] }, .out = out };
        for (int k = 0; k < w->n_in; k++) {
            Tensor to = { .type = wider, .data = in[k] };
            a.in[k] = in[k];
            a.step[k] = s->step[k];
            tensor_convert(w->in[k], s->at[k] + done * s->step[k], &to, 0, s->step[k] ? a.n : 1);
        }
        Tensor to = w->out, from = { .type = wider, .data = out };
        if (to.type == T_BOOL) a.out = (char *)to.data + s->out + done;
        w->fn(&a);
        if (to.type != T_BOOL) tensor_convert(&from, 0, &to, s->out + done, a.n);
    }
}

static void run_span(const void *context, const WalkSpan *s)
{
    const ElementWork *w = context;
    if (w->wider) {
        wider_span(w, s);
        return;
    }
    Args a = { .n = s->n, .p = { w->p[0], w->p[1] }, .out = (void *)element_at(&w->out, s->out) };
    for (int k = 0; k < w->n_in; k++) {
        a.in[k] = element_at(w->in[k], s->at[k]);
        a.step[k] = s->step[k];
    }
    if (w->activate) {
        w->activate(w->act, a.in[0], a.out, a.n);
    } else {
        w->fn(&a);
    }
}

static LoopFn *loop_of(Loops loops, DType type)
{
    return loops[type] ? loops[type] : loops[wider_type(type)];
}

static void run_work(const OpCall *call, ElementWork *w)
{
    Walk walk = walk_over(w->out.rank, w->out.dim);
    for (int k = 0; k < w->n_in; k++) walk_broadcast(&walk, w->in[k]);
    walk_run(&walk, call, run_span, w);
}

/* ---- shape rules ---- */

static bool same_type(const OpCall *call, int a, int b, Err *err)
{
    char wanted[64];
    if (call->in[a]->type == call->in[b]->type) return true;
    snprintf(wanted, sizeof wanted, "%s as input %d", dtype_name(call->in[a]->type), a);
    return op_wrong_input(call, b, wanted, err);
}

static bool known_type(const OpCall *call, Loops loops, Err *err)
{
    if (loop_of(loops, call->in[0]->type)) return true;
    return op_wrong_input(call, 0, "a type this operator computes with", err);
}

/* All inputs broadcast together, whatever their number; out 0 gets the type. */
static bool shape_together(OpCall *call, DType type, Err *err)
{
    Tensor sum = *call->in[0];
    for (int i = 1; i < call->n_in; i++) {
        if (!call->in[i]) return op_fail(call, err, "input %d: found none, wanted one", i);
        const Tensor *pair[] = { &sum, call->in[i] };
        OpCall two = { .node = call->node, .in = pair, .n_in = 2 };
        Tensor next = sum;
        if (!op_broadcast(&two, 0, 1, next.dim, &next.rank, err)) return false;
        sum = next;
    }
    return op_out(call, 0, type, sum.rank, sum.dim);
}

static bool shape_binary(OpCall *call, Loops loops, DType result, Err *err)
{
    for (int i = 1; i < call->n_in; i++)
        if (call->in[i] && !same_type(call, 0, i, err)) return false;
    return known_type(call, loops, err) &&
           shape_together(call, result ? result : call->in[0]->type, err);
}

static bool shape_unary(OpCall *call, Loops loops, DType result, Err *err)
{
    const Tensor *t = call->in[0];
    return known_type(call, loops, err) &&
           op_out(call, 0, result ? result : t->type, t->rank, t->dim);
}

/* ---- rows' functions ---- */

static bool run_two(OpCall *call, Loops loops, const Tensor *a, const Tensor *b)
{
    ElementWork w = {
        .fn = loop_of(loops, a->type), .wider = !loops[a->type], .n_in = 2, .in = { a, b },
        .out = call->out[0]
    };
    run_work(call, &w);
    return true;
}

static bool elementwise_run_all(OpCall *call,
                                Loops loops) /* folds any number of inputs into the output */
{
    if (call->n_in == 1)
        tensor_convert(call->in[0], 0, &call->out[0], 0, tensor_count(call->in[0]));
    for (int i = 1; i < call->n_in; i++)
        run_two(call, loops, i == 1 ? call->in[0] : &call->out[0], call->in[i]);
    return true;
}

static bool elementwise_run_one(OpCall *call, Loops loops, Act act, const double p[2])
{
    const DType type = call->in[0]->type;
    ElementWork w = { .fn = loop_of(loops, type), .wider = !loops[type], .n_in = 1,
                      .in = { call->in[0] }, .out = call->out[0], .act = act, .p = { p[0], p[1] } };
    if (act != ACT_NONE && type == T_F32 && call->k) w.activate = call->k->activate;
    run_work(call, &w);
    return true;
}

#define BINARY_OP(name, result)                                                                    \
    static bool name##_shape(OpCall *c, Err *err) { return shape_binary(c, name, result, err); }   \
    static bool name##_run(OpCall *c, Err *err) { return (void)err, elementwise_run_all(c, name); }
#define UNARY_OP(name, result, act, P, Q)                                                          \
    static bool name##_shape(OpCall *c, Err *err)                                                  \
    {                                                                                              \
        return shape_unary(c, name, result, err);                                                  \
    }                                                                                              \
    static bool name##_run(OpCall *c, Err *err)                                                    \
    {                                                                                              \
        (void)err;                                                                                 \
        return elementwise_run_one(c, name, act, (const double[2]){ P, Q });                       \
    }
#define PLAIN_OP(name) UNARY_OP(name, T_NONE, ACT_NONE, 0, 0)
#define ATTR(name, otherwise) onnx_float(c->node, name, otherwise)

BINARY_OP(add, T_NONE)
BINARY_OP(sub, T_NONE)
BINARY_OP(mul, T_NONE)
BINARY_OP(divide, T_NONE)
BINARY_OP(max, T_NONE)
BINARY_OP(min, T_NONE)
BINARY_OP(prelu, T_NONE)
BINARY_OP(equal, T_BOOL)
BINARY_OP(less, T_BOOL)
BINARY_OP(less_equal, T_BOOL)
BINARY_OP(greater, T_BOOL)
BINARY_OP(greater_equal, T_BOOL)
BINARY_OP(and, T_BOOL)
BINARY_OP(or, T_BOOL)
BINARY_OP(xor, T_BOOL)
BINARY_OP(bit_and, T_NONE)
BINARY_OP(bit_or, T_NONE)
BINARY_OP(bit_xor, T_NONE)

UNARY_OP(tangent_h, T_NONE, ACT_TANH, 0, 0)
UNARY_OP(sigmoid, T_NONE, ACT_SIGMOID, 0, 0)
UNARY_OP(relu, T_NONE, ACT_RELU, 0, 0)
UNARY_OP(quick_gelu, T_NONE, ACT_NONE, ATTR("alpha", 1.702f), 0)
UNARY_OP(leaky_relu, T_NONE, ACT_NONE, ATTR("alpha", 0.01f), 0)
UNARY_OP(elu, T_NONE, ACT_NONE, ATTR("alpha", 1), 0)
UNARY_OP(selu, T_NONE, ACT_NONE, ATTR("alpha", 1.67326319217681884765625f),
         ATTR("gamma", 1.05070102214813232421875f))
UNARY_OP(celu, T_NONE, ACT_NONE, ATTR("alpha", 1), 0)
UNARY_OP(hard_sigmoid, T_NONE, ACT_NONE, ATTR("alpha", 0.2f), ATTR("beta", 0.5f))
UNARY_OP(thresholded_relu, T_NONE, ACT_NONE, ATTR("alpha", 1), 0)
UNARY_OP(shrink, T_NONE, ACT_NONE, ATTR("lambd", 0.5f), ATTR("bias", 0))
UNARY_OP(is_nan, T_BOOL, ACT_NONE, 0, 0)
UNARY_OP(is_inf, T_BOOL, ACT_NONE, (double)op_attr_int(c, "detect_negative", 1),
         (double)op_attr_int(c, "detect_positive", 1))
UNARY_OP(not, T_BOOL, ACT_NONE, 0, 0)
PLAIN_OP(bit_not)
PLAIN_OP(negate)
PLAIN_OP(absolute)
PLAIN_OP(sign)
PLAIN_OP(square_root)
PLAIN_OP(reciprocal)
PLAIN_OP(exponential)
PLAIN_OP(logarithm)
PLAIN_OP(error_function)
PLAIN_OP(floor_of)
PLAIN_OP(ceiling)
PLAIN_OP(round_even)
PLAIN_OP(sine)
PLAIN_OP(cosine)
PLAIN_OP(tangent)
PLAIN_OP(arc_sine)
PLAIN_OP(arc_cosine)
PLAIN_OP(arc_tangent)
PLAIN_OP(sine_h)
PLAIN_OP(cosine_h)
PLAIN_OP(arc_sine_h)
PLAIN_OP(arc_cosine_h)
PLAIN_OP(arc_tangent_h)
PLAIN_OP(hard_swish)
PLAIN_OP(softplus)
PLAIN_OP(softsign)
PLAIN_OP(mish)

/* Swish(x) = x * sigmoid(alpha * x): the loop of QuickGelu, with another default. */
static bool swish_run(OpCall *c, Err *err)
{
    (void)err;
    const float alpha = ATTR("alpha", 1);
    return elementwise_run_one(c, quick_gelu, alpha == 1 ? ACT_SILU : ACT_NONE,
                               (const double[2]){ alpha, 0 });
}

static bool gelu_run(OpCall *call, Err *err)
{
    (void)err;
    const double none[2] = { 0, 0 };
    bool exact = !str_is(onnx_string(call->node, "approximate", "none"), "tanh");
    return exact ? elementwise_run_one(call, gelu, ACT_GELU, none)
                 : elementwise_run_one(call, gelu_tanh, ACT_GELU_TANH, none);
}

static bool gelu_shape(OpCall *call, Err *err)
{
    return shape_unary(call, gelu, T_NONE, err);
}

/* com.microsoft: Gelu after adding a bias; FastGelu is the tanh form with an optional bias. */
static bool bias_gelu_shape(OpCall *call, Err *err)
{
    if (op_in(call, 1)) return shape_binary(call, add, T_NONE, err) && known_type(call, gelu, err);
    return gelu_shape(call, err);
}

static bool run_bias_gelu(OpCall *call, Loops loops, Act act)
{
    const double none[2] = { 0, 0 };
    if (!op_in(call, 1)) return elementwise_run_one(call, loops, act, none);
    run_two(call, add, call->in[0], call->in[1]);
    const Tensor sum = call->out[0], *in[] = { &sum };
    OpCall then = *call;
    then.in = in;
    return elementwise_run_one(&then, loops, act, none);
}

static bool bias_gelu_run(OpCall *call, Err *err)
{
    return (void)err, run_bias_gelu(call, gelu, ACT_GELU);
}

static bool fast_gelu_run(OpCall *call, Err *err)
{
    return (void)err, run_bias_gelu(call, gelu_tanh, ACT_GELU_TANH);
}

static bool mod_shape(OpCall *call, Err *err)
{
    return shape_binary(call, mod_floor, T_NONE, err);
}

static bool mod_run(OpCall *call, Err *err)
{
    (void)err;
    return op_attr_int(call, "fmod", 0) ? elementwise_run_all(call, mod_c)
                                        : elementwise_run_all(call, mod_floor);
}

static bool shift_shape(OpCall *call, Err *err)
{
    Str way = onnx_string(call->node, "direction", "");
    if (!str_is(way, "LEFT") && !str_is(way, "RIGHT"))
        return op_fail(call, err, "direction: found '%.*s', wanted LEFT or RIGHT", STR_ARG(way));
    return shape_binary(call, shift_left, T_NONE, err);
}

static bool shift_run(OpCall *call, Err *err)
{
    (void)err;
    bool left = str_is(onnx_string(call->node, "direction", ""), "LEFT");
    return left ? elementwise_run_all(call, shift_left) : elementwise_run_all(call, shift_right);
}

/* ---- Pow: the exponent has a type of its own ---- */

static bool power_shape(OpCall *call, Err *err)
{
    if (!loop_of(power, call->in[1]->type)) return op_wrong_input(call, 1, "numbers", err);
    return known_type(call, power, err) && shape_together(call, call->in[0]->type, err);
}

/* A copy in scratch with another type. */
static bool converted_copy(OpCall *call, const Tensor *t, DType type, Tensor *out, Err *err)
{
    const int64_t n = tensor_count(t);
    *out = *t;
    out->type = type;
    out->data = op_scratch(call, n, dtype_size(type), err);
    if (!out->data) return false;
    tensor_convert(t, 0, out, 0, n);
    return true;
}

static bool elementwise_is_integer(DType type)
{
    return bit_and[type] != NULL;
}

static bool power_run(OpCall *call, Err *err)
{
    const Tensor *x = call->in[0], *y = call->in[1];
    Tensor other, wide, *out = &call->out[0];
    if (x->type == y->type) return elementwise_run_all(call, power);
    if (!elementwise_is_integer(x->type) || elementwise_is_integer(y->type)) {
        if (!converted_copy(call, y, x->type, &other, err)) return false;
        return run_two(call, power, x, &other);
    }
    if (!converted_copy(call, y, T_F64, &other, err) || !converted_copy(call, x, T_F64, &wide, err))
        return false;
    Tensor result = *out;
    result.type = T_F64;
    if (!(result.data = op_scratch(call, tensor_count(out), 8, err))) return false;
    ElementWork w = { .fn = power[T_F64], .n_in = 2, .in = { &wide, &other }, .out = result };
    run_work(call, &w);
    tensor_convert(&result, 0, out, 0, tensor_count(out));
    return true;
}

/* ---- Sum, Mean ---- */

static bool mean_shape(OpCall *call, Err *err)
{
    return shape_binary(call, square_root, T_NONE, err); /* floats only */
}

static bool mean_run(OpCall *call, Err *err)
{
    (void)err;
    double count = call->n_in;
    uint8_t bytes[8];
    Tensor divisor = { .type = call->out[0].type, .data = bytes };
    tensor_store(&divisor, 0, 1, &count);
    elementwise_run_all(call, add);
    return run_two(call, divide, &call->out[0], &divisor);
}

/* ---- Clip ---- */

static bool clip_shape(OpCall *call, Err *err)
{
    for (int i = 1; i < call->n_in; i++) {
        if (!call->in[i]) continue;
        if (!same_type(call, 0, i, err)) return false;
        if (tensor_count(call->in[i]) != 1) return op_wrong_input(call, i, "one number", err);
    }
    return known_type(call, max, err) && op_same(call, err);
}

/* A limit that is an attribute (until opset 11), as a scalar of the input's type. */
static const Tensor *clip_limit(const OpCall *call, const char *name, int index, Tensor *scalar)
{
    if (op_in(call, index)) {
        *scalar = *call->in[index];
        scalar->rank = 0;
        return scalar;
    }
    const OnnxAttr *a = onnx_attr(call->node, name);
    if (!a || a->type != A_FLOAT) return NULL;
    double value = a->f;
    tensor_store(scalar, 0, 1, &value);
    return scalar;
}

static bool clip_run(OpCall *call, Err *err)
{
    (void)err;
    uint8_t low_bytes[8], high_bytes[8];
    Tensor low = { .type = call->in[0]->type, .data = low_bytes };
    Tensor high = { .type = call->in[0]->type, .data = high_bytes };
    const Tensor *from = call->in[0], *a = clip_limit(call, "min", 1, &low);
    const Tensor *b = clip_limit(call, "max", 2, &high);
    if (a) {
        run_two(call, max, from, a);
        from = &call->out[0];
    }
    if (b) return run_two(call, min, from, b);
    if (!a) tensor_convert(from, 0, &call->out[0], 0, tensor_count(from));
    return true;
}

/* ---- Where ---- */

static bool where_shape(OpCall *call, Err *err)
{
    if (call->in[0]->type != T_BOOL) return op_wrong_input(call, 0, "bool", err);
    return same_type(call, 1, 2, err) && shape_together(call, call->in[1]->type, err);
}

static bool where_run(OpCall *call, Err *err)
{
    (void)err;
    ElementWork w = { .fn = choose[dtype_size(call->in[1]->type)], .n_in = 3, .out = call->out[0] };
    for (int i = 0; i < 3; i++) w.in[i] = call->in[i];
    run_work(call, &w);
    return true;
}

/* ---- copies and conversions ---- */

static void convert_range(void *context, int64_t from, int64_t to)
{
    OpCall *call = context;
    tensor_convert(call->in[0], from, &call->out[0], from, to - from);
}

static bool dropout_copy_run(OpCall *call, Err *err)
{
    (void)err;
    if (call->out[0].data == call->in[0]->data && call->out[0].type == call->in[0]->type)
        return true;
    op_split(call, tensor_count(&call->out[0]), 32768, convert_range, call);
    return true;
}

static bool cast_shape(OpCall *call, Err *err)
{
    const Tensor *t = call->in[0];
    const int64_t to = call->n_in > 1 ? (int64_t)call->in[1]->type : op_attr_int(call, "to", 0);
    const bool known = to > 0 && to < T_COUNT && dtype_size((DType)to);
    if (!known) return op_fail(call, err, "to: found type %lld, wanted numbers", (long long)to);
    return op_out(call, 0, (DType)to, t->rank, t->dim);
}

static bool dropout_shape(OpCall *call, Err *err)
{
    const Tensor *t = call->in[0], *training = op_in(call, 2);
    if (training && training->data && tensor_get_int(training, 0) && op_in(call, 1) != NULL &&
        (!call->in[1]->data || tensor_get(call->in[1], 0) != 0))
        return fail(err, EF_UNSUPPORTED, "node '%.*s' (Dropout): found training_mode, wanted inference",
                    STR_ARG(call->node->name));
    return op_same(call, err) &&
           op_out(call, 1, call->opset < 10 ? t->type : T_BOOL, t->rank, t->dim);
}

static bool dropout_run(OpCall *call, Err *err)
{
    const double one = 1;
    Tensor *mask = call->n_out > 1 ? &call->out[1] : NULL;
    const int64_t n = mask && mask->data ? tensor_count(mask) : 0;
    for (int64_t i = 0; i < n; i++) tensor_store(mask, i, 1, &one);
    return dropout_copy_run(call, err);
}

#define MICROSOFT "com.microsoft"
const Op ops_elementwise[] = {
    /* name, domain, since, inputs, shape, run, values, token */
    { "Abs", NULL, 1, 1, 1, absolute_shape, absolute_run, 0, TOKEN_EACH },
    { "Acos", NULL, 7, 1, 1, arc_cosine_shape, arc_cosine_run, 0, TOKEN_EACH },
    { "Acosh", NULL, 9, 1, 1, arc_cosine_h_shape, arc_cosine_h_run, 0, TOKEN_EACH },
    { "Add", NULL, 7, 2, 2, add_shape, add_run, 0, TOKEN_EACH },
    { "And", NULL, 7, 2, 2, and_shape, and_run, 0, TOKEN_EACH },
    { "Asin", NULL, 7, 1, 1, arc_sine_shape, arc_sine_run, 0, TOKEN_EACH },
    { "Asinh", NULL, 9, 1, 1, arc_sine_h_shape, arc_sine_h_run, 0, TOKEN_EACH },
    { "Atan", NULL, 7, 1, 1, arc_tangent_shape, arc_tangent_run, 0, TOKEN_EACH },
    { "Atanh", NULL, 9, 1, 1, arc_tangent_h_shape, arc_tangent_h_run, 0, TOKEN_EACH },
    { "BiasGelu", MICROSOFT, 1, 2, 2, bias_gelu_shape, bias_gelu_run, 0, TOKEN_EACH },
    { "BitShift", NULL, 11, 2, 2, shift_shape, shift_run, 0, TOKEN_EACH },
    { "BitwiseAnd", NULL, 18, 2, 2, bit_and_shape, bit_and_run, 0, TOKEN_EACH },
    { "BitwiseNot", NULL, 18, 1, 1, bit_not_shape, bit_not_run, 0, TOKEN_EACH },
    { "BitwiseOr", NULL, 18, 2, 2, bit_or_shape, bit_or_run, 0, TOKEN_EACH },
    { "BitwiseXor", NULL, 18, 2, 2, bit_xor_shape, bit_xor_run, 0, TOKEN_EACH },
    { "Cast", NULL, 6, 1, 1, cast_shape, dropout_copy_run, 0, TOKEN_EACH },
    { "CastLike", NULL, 15, 2, 2, cast_shape, dropout_copy_run, 0, TOKEN_EACH },
    { "Ceil", NULL, 1, 1, 1, ceiling_shape, ceiling_run, 0, TOKEN_EACH },
    { "Celu", NULL, 12, 1, 1, celu_shape, celu_run, 0, TOKEN_EACH },
    { "Clip", NULL, 6, 1, 3, clip_shape, clip_run, 0, TOKEN_EACH },
    { "Cos", NULL, 7, 1, 1, cosine_shape, cosine_run, 0, TOKEN_EACH },
    { "Cosh", NULL, 9, 1, 1, cosine_h_shape, cosine_h_run, 0, TOKEN_EACH },
    { "Div", NULL, 7, 2, 2, divide_shape, divide_run, 0, TOKEN_EACH },
    { "Dropout", NULL, 7, 1, 3, dropout_shape, dropout_run, 0, TOKEN_EACH },
    { "Elu", NULL, 1, 1, 1, elu_shape, elu_run, 0, TOKEN_EACH },
    { "Equal", NULL, 7, 2, 2, equal_shape, equal_run, 0, TOKEN_EACH },
    { "Erf", NULL, 9, 1, 1, error_function_shape, error_function_run, 0, TOKEN_EACH },
    { "Exp", NULL, 1, 1, 1, exponential_shape, exponential_run, 0, TOKEN_EACH },
    { "FastGelu", MICROSOFT, 1, 1, 2, bias_gelu_shape, fast_gelu_run, 0, TOKEN_EACH },
    { "Floor", NULL, 1, 1, 1, floor_of_shape, floor_of_run, 0, TOKEN_EACH },
    { "Gelu", NULL, 20, 1, 1, gelu_shape, gelu_run, 0, TOKEN_EACH },
    { "Gelu", MICROSOFT, 1, 1, 1, gelu_shape, gelu_run, 0, TOKEN_EACH },
    { "Greater", NULL, 7, 2, 2, greater_shape, greater_run, 0, TOKEN_EACH },
    { "GreaterOrEqual", NULL, 12, 2, 2, greater_equal_shape, greater_equal_run, 0, TOKEN_EACH },
    { "HardSigmoid", NULL, 1, 1, 1, hard_sigmoid_shape, hard_sigmoid_run, 0, TOKEN_EACH },
    { "HardSwish", NULL, 14, 1, 1, hard_swish_shape, hard_swish_run, 0, TOKEN_EACH },
    { "Identity", NULL, 1, 1, 1, op_same, dropout_copy_run, 0, TOKEN_EACH },
    { "IsInf", NULL, 10, 1, 1, is_inf_shape, is_inf_run, 0, TOKEN_EACH },
    { "IsNaN", NULL, 9, 1, 1, is_nan_shape, is_nan_run, 0, TOKEN_EACH },
    { "LeakyRelu", NULL, 1, 1, 1, leaky_relu_shape, leaky_relu_run, 0, TOKEN_EACH },
    { "Less", NULL, 7, 2, 2, less_shape, less_run, 0, TOKEN_EACH },
    { "LessOrEqual", NULL, 12, 2, 2, less_equal_shape, less_equal_run, 0, TOKEN_EACH },
    { "Log", NULL, 1, 1, 1, logarithm_shape, logarithm_run, 0, TOKEN_EACH },
    { "Max", NULL, 8, 1, 0, max_shape, max_run, 0, TOKEN_EACH },
    { "Mean", NULL, 8, 1, 0, mean_shape, mean_run, 0, TOKEN_EACH },
    { "Min", NULL, 8, 1, 0, min_shape, min_run, 0, TOKEN_EACH },
    { "Mish", NULL, 18, 1, 1, mish_shape, mish_run, 0, TOKEN_EACH },
    { "Mod", NULL, 10, 2, 2, mod_shape, mod_run, 0, TOKEN_EACH },
    { "Mul", NULL, 7, 2, 2, mul_shape, mul_run, 0, TOKEN_EACH },
    { "Neg", NULL, 1, 1, 1, negate_shape, negate_run, 0, TOKEN_EACH },
    { "Not", NULL, 1, 1, 1, not_shape, not_run, 0, TOKEN_EACH },
    { "Or", NULL, 7, 2, 2, or_shape, or_run, 0, TOKEN_EACH },
    { "PRelu", NULL, 7, 2, 2, prelu_shape, prelu_run, 0, TOKEN_EACH },
    { "Pow", NULL, 7, 2, 2, power_shape, power_run, 0, TOKEN_EACH },
    { "QuickGelu", MICROSOFT, 1, 1, 1, quick_gelu_shape, quick_gelu_run, 0, TOKEN_EACH },
    { "Reciprocal", NULL, 1, 1, 1, reciprocal_shape, reciprocal_run, 0, TOKEN_EACH },
    { "Relu", NULL, 1, 1, 1, relu_shape, relu_run, 0, TOKEN_EACH },
    { "Round", NULL, 11, 1, 1, round_even_shape, round_even_run, 0, TOKEN_EACH },
    { "Selu", NULL, 1, 1, 1, selu_shape, selu_run, 0, TOKEN_EACH },
    { "Shrink", NULL, 9, 1, 1, shrink_shape, shrink_run, 0, TOKEN_EACH },
    { "Sigmoid", NULL, 1, 1, 1, sigmoid_shape, sigmoid_run, 0, TOKEN_EACH },
    { "Sign", NULL, 9, 1, 1, sign_shape, sign_run, 0, TOKEN_EACH },
    { "Sin", NULL, 7, 1, 1, sine_shape, sine_run, 0, TOKEN_EACH },
    { "Sinh", NULL, 9, 1, 1, sine_h_shape, sine_h_run, 0, TOKEN_EACH },
    { "Softplus", NULL, 1, 1, 1, softplus_shape, softplus_run, 0, TOKEN_EACH },
    { "Softsign", NULL, 1, 1, 1, softsign_shape, softsign_run, 0, TOKEN_EACH },
    { "Sqrt", NULL, 1, 1, 1, square_root_shape, square_root_run, 0, TOKEN_EACH },
    { "Sub", NULL, 7, 2, 2, sub_shape, sub_run, 0, TOKEN_EACH },
    { "Sum", NULL, 8, 1, 0, add_shape, add_run, 0, TOKEN_EACH },
    { "Swish", NULL, 24, 1, 1, quick_gelu_shape, swish_run, 0, TOKEN_EACH },
    { "Tan", NULL, 7, 1, 1, tangent_shape, tangent_run, 0, TOKEN_EACH },
    { "Tanh", NULL, 1, 1, 1, tangent_h_shape, tangent_h_run, 0, TOKEN_EACH },
    { "ThresholdedRelu", NULL, 10, 1, 1, thresholded_relu_shape, thresholded_relu_run, 0, TOKEN_EACH },
    { "Where", NULL, 9, 3, 3, where_shape, where_run, 0, TOKEN_EACH },
    { "Xor", NULL, 7, 2, 2, xor_shape, xor_run, 0, TOKEN_EACH },
    { 0 }
};
