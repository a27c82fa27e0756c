/* SPDX-License-Identifier: Apache-2.0
 * einsum.c - Einsum: letters name dims; letters that the result does not have are summed over.
 * "..." stands for any further dims, aligned at their end. Plain loops over all letters, the last of which has steps of
 * its own: exporters write it for what could be a MatMul, and the graph may turn it into one. */
#include "ops/ops.h"

enum {
    MAX_LABELS = 26 * 2 + MAX_RANK,
    DOTS = 52,
    MAX_TERMS = 8
}; /* DOTS + k: k-th dim from the end of "..." */

typedef struct EinsumTerm { /* labels of one operand, or of the result */
    int n;
    int8_t label[MAX_RANK];
} EinsumTerm;
typedef struct Sum {
    EinsumTerm term[MAX_TERMS], out;
    int64_t dim[MAX_LABELS];             /* 0: not met yet (or empty, then met says so) */
    bool met[MAX_LABELS];
    int used[MAX_LABELS];                /* how often, for results that are not said */
    int dots;                            /* the longest "..." */
    int order[MAX_LABELS], n_out, n_all; /* labels of the result, then those summed over */
    int64_t step[MAX_TERMS][MAX_LABELS]; /* by place in order */
} Sum;

static int einsum_label_of(char c)
{
    return c >= 'A' && c <= 'Z' ? c - 'A' : c >= 'a' && c <= 'z' ? c - 'a' + 26 : -1;
}

/* Letters of one term; dots: dims that "..." stands for there. */
static bool read_term(const OpCall *call, Str text, int dots, EinsumTerm *term, Err *err)
{
    term->n = 0;
    for (size_t i = 0; i < text.n; i++) {
        if (text.p[i] == ' ') continue;
        const bool more = text.n - i >= 3 && !memcmp(text.p + i, "...", 3);
        const int label = einsum_label_of(text.p[i]), count = more ? dots : 1;
        if (!more && label < 0)
            return op_fail(call, err, "equation: found '%c', wanted letters", text.p[i]);
        if (term->n + count > MAX_RANK)
            return op_fail(call, err, "equation: found more than %d dimensions", MAX_RANK);
        for (int k = 0; k < count; k++)
            term->label[term->n++] = (int8_t)(more ? DOTS + dots - 1 - k : label);
        if (more) i += 2;
    }
    return true;
}

static int einsum_count_letters(Str text)
{
    int n = 0;
    for (size_t i = 0; i < text.n; i++) n += einsum_label_of(text.p[i]) >= 0;
    return n;
}

static bool has_dots(Str text)
{
    return text.n && memchr(text.p, '.', text.n);
}

static bool read_operand(const OpCall *call, Sum *s, int index, Str text, Err *err)
{
    const Tensor *t = call->in[index];
    EinsumTerm *term = &s->term[index];
    const int dots = has_dots(text) ? t->rank - einsum_count_letters(text) : 0;
    if (dots < 0 || !read_term(call, text, dots, term, err) || term->n != t->rank)
        return op_fail(call, err, "equation: input %d: found %d dimensions, wanted those of '%.*s'",
                       index, t->rank, (int)MIN(text.n, 40), text.p);
    s->dots = MAX(s->dots, dots);
    for (int i = 0; i < t->rank; i++) {
        const int label = term->label[i];
        int64_t *dim = &s->dim[label];
        if (s->met[label] && *dim != 1 && t->dim[i] != 1 && *dim != t->dim[i])
            return op_fail(call, err, "equation: input %d, dimension %d: found %lld, wanted %lld",
                           index, i, (long long)t->dim[i], (long long)*dim);
        if (!s->met[label] || *dim == 1) *dim = t->dim[i];
        s->met[label] = true;
        s->used[label]++;
    }
    return true;
}

/* Not said: the dots, then letters met once, in alphabetical order. */
static void implied_result(Sum *s)
{
    s->out.n = 0;
    for (int k = s->dots - 1; k >= 0; k--) s->out.label[s->out.n++] = (int8_t)(DOTS + k);
    for (int label = 0; label < DOTS && s->out.n < MAX_RANK; label++)
        if (s->used[label] == 1) s->out.label[s->out.n++] = (int8_t)label;
}

static bool order_labels(const OpCall *call, Sum *s, Err *err)
{
    bool done[MAX_LABELS] = { 0 };
    int64_t all = 1;
    for (int i = 0; i < s->out.n; i++) {
        const int label = s->out.label[i];
        if (!s->met[label] || done[label])
            return op_fail(call, err, "equation: wrong letters in its result");
        done[label] = true;
        s->order[s->n_all++] = label;
    }
    s->n_out = s->n_all;
    for (int label = 0; label < MAX_LABELS; label++)
        if (s->met[label] && !done[label]) s->order[s->n_all++] = label;
    for (int i = 0; i < s->n_all; i++)
        if (__builtin_mul_overflow(all, MAX(s->dim[s->order[i]], 1), &all) || all >> 44)
            return op_fail(call, err, "equation: too many products");
    for (int t = 0; t < call->n_in; t++) {
        int64_t step = 1;
        for (int i = s->term[t].n - 1; i >= 0; i--) {
            for (int k = 0; k < s->n_all; k++)
                if (s->order[k] == s->term[t].label[i] && call->in[t]->dim[i] != 1)
                    s->step[t][k] += step;
            step *= call->in[t]->dim[i];
        }
    }
    return true;
}

static bool find_sum(const OpCall *call, Sum *s, Err *err)
{
    Str rest = onnx_string(call->node, "equation", "");
    *s = (Sum){ 0 };
    if (call->n_in > MAX_TERMS)
        return op_fail(call, err, "found %d inputs, wanted at most %d", call->n_in, MAX_TERMS);
    const char *arrow = rest.n > 1 ? memmem(rest.p, rest.n, "->", 2) : NULL;
    Str result = arrow ? (Str){ arrow + 2, rest.n - (size_t)(arrow + 2 - rest.p) } : (Str){ 0 };
    if (arrow) rest.n = (size_t)(arrow - rest.p);
    for (int i = 0; i < call->n_in; i++) {
        const char *comma = rest.n ? memchr(rest.p, ',', rest.n) : NULL;
        if (!comma != (i == call->n_in - 1) || !call->in[i])
            return op_fail(call, err, "equation: wanted a term for each of %d inputs", call->n_in);
        const Str term = comma ? (Str){ rest.p, (size_t)(comma - rest.p) } : rest;
        if (!read_operand(call, s, i, term, err)) return false;
        if (comma) rest = (Str){ comma + 1, rest.n - term.n - 1 };
    }
    if (!arrow) implied_result(s);
    if (arrow && !read_term(call, result, s->dots, &s->out, err)) return false;
    return order_labels(call, s, err);
}

static bool einsum_shape(OpCall *call, Err *err)
{
    Sum s;
    int64_t dim[MAX_RANK];
    for (int i = 1; i < call->n_in; i++)
        if (call->in[i] && call->in[i]->type != call->in[0]->type)
            return op_wrong_input(call, i, "the type of input 0", err);
    if (!find_sum(call, &s, err)) return false;
    for (int i = 0; i < s.n_out; i++) dim[i] = s.dim[s.order[i]];
    return op_out(call, 0, call->in[0]->type, s.n_out, dim);
}

typedef struct EinsumJob {
    const OpCall *call;
    const Sum *s;
    int64_t terms;          /* products added up for one number */
    int64_t run;            /* of those, one after another: the last label that is summed over */
    bool floats;            /* two inputs of float32, as nearly always */
} EinsumJob;

static void add_places(const EinsumJob *job, int from, int to, int64_t index, int64_t *at)
{
    const Sum *s = job->s;
    for (int k = to - 1; k >= from; k--) {
        const int64_t dim = s->dim[s->order[k]];
        for (int t = 0; t < job->call->n_in; t++) at[t] += index % dim * s->step[t][k];
        index /= dim;
    }
}

/* Added one after another in double precision, whoever asks. */
static double add_run(const EinsumJob *job, const int64_t *at, double sum)
{
    const OpCall *call = job->call;
    const int last = MAX(job->s->n_all - 1, 0); /* of a single product any step will do */
    if (job->floats) {
        const float *a = (const float *)call->in[0]->data + at[0], *b = (const float *)call->in[1]->data + at[1];
        const int64_t next_a = job->s->step[0][last], next_b = job->s->step[1][last];
        for (int64_t i = 0; i < job->run; i++) sum += (double)a[i * next_a] * b[i * next_b];
        return sum;
    }
    for (int64_t i = 0; i < job->run; i++) {
        double product = 1;
        for (int t = 0; t < call->n_in; t++)
            product *= tensor_get(call->in[t], at[t] + i * job->s->step[t][last]);
        sum += product;
    }
    return sum;
}

static void sum_range(void *context, int64_t from, int64_t to)
{
    const EinsumJob *job = context;
    const Sum *s = job->s;
    for (int64_t o = from; o < to; o++) {
        int64_t first[MAX_TERMS] = { 0 };
        double sum = 0;
        add_places(job, 0, s->n_out, o, first);
        for (int64_t i = 0; i < job->terms; i += job->run) {
            int64_t at[MAX_TERMS];
            memcpy(at, first, sizeof at);
            add_places(job, s->n_out, s->n_all, i, at);
            sum = add_run(job, at, sum);
        }
        tensor_store(&job->call->out[0], o, 1, &sum);
    }
}

static bool einsum_run(OpCall *call, Err *err)
{
    Sum s;
    if (!find_sum(call, &s, err)) return false;
    EinsumJob job = { call, &s, 1, 1, call->n_in == 2 && call->in[0]->type == T_F32 };
    for (int k = s.n_out; k < s.n_all; k++) job.terms *= job.run = s.dim[s.order[k]];
    if (job.run == 0) job.run = 1; /* nothing is added */
    op_split(call, tensor_count(&call->out[0]), MAX(8192 / MAX(job.terms, 1), 1), sum_range, &job);
    return true;
}

const Op ops_einsum[] = {
    { "Einsum", NULL, 12, 1, 0, einsum_shape, einsum_run, 0, TOKEN_NO, .cost = COST_EINSUM },
    { 0 }
};
