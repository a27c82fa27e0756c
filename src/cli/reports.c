/* SPDX-License-Identifier: Apache-2.0
 * reports.c - see reports.h. */
#include "cli/reports.h"

#include <math.h>

/* ---- validate ---- */

static const char *folder_first_failed(const OptimumReport *r)
{
    for (int i = 0; i < r->n; i++)
        if (r->check[i].state == CHECK_FAILED) return r->check[i].name;
    return "";
}

void report_folder(Buf *b, const OptimumReport *r)
{
    for (int i = 0; i < r->n; i++)
        buf_printf(b, "  %-8s %-12s %s\n", check_states[r->check[i].state], r->check[i].name,
                   r->check[i].detail);
    for (size_t i = 0; i < r->missing.list.n; i++)
        buf_printf(b, "%s%.*s", i ? ", " : "Missing required files: ",
                   STR_ARG(r->missing.list.items[i].s));
    if (r->missing.list.n) buf_char(b, '\n');
    if (!r->loads)
        buf_printf(b, "%s: Optimum does not load it (%s)\n", r->folder, folder_first_failed(r));
    else buf_printf(b, "%s: Optimum loads it, as %s%s\n", r->folder, r->class_name,
                    r->compatible ? "" : ", but does not answer with it");
    if (r->runs) buf_printf(b, "%s: this program runs it, as %s\n", r->folder, r->task);
    else if (r->tried) buf_printf(b, "%s: this program does not run it\n", r->folder);
}

void report_accuracy(Buf *out, const Accuracy *acc)
{
    buf_printf(out, "  against fp32 on %zu %s: cosine %.5f on average, %.5f at worst", acc->texts,
               acc->pictures ? "pictures" : "texts", acc->mean, acc->worst);
    if (acc->labels)
        buf_printf(out, "; %.2f %% of %zu %s agree", 100 * acc->same, acc->labels, acc->pixels ? "pixels" : "labels");
    buf_puts(out, "\n");
}

void report_quantized(Buf *out, const Quantizing *z)
{
    const Quantize *q = &z->quantize;
    buf_printf(out, "  %s: weights %.2f MB of %.2f MB (%.1f %%), %d products, %d tables\n",
               quantizing_kind(z), (double)q->after / 1e6, (double)q->before / 1e6,
               100 * (double)q->after / (double)MAX(q->before, 1), q->products, q->tables);
    if (z->measured) report_accuracy(out, &z->accuracy);
}

/* ---- verify ---- */

static Str word_of(const Value *one, const char *key)
{
    return value_str(value_get(one, key), STR(""));
}

static void print_answer(Buf *b, const Value *one)
{
    const Value *words = value_get(one, "entities"), *label = value_get(one, "label");
    const Value *shape = value_get(one, "output_shape"), *masks = value_get(one, "masks");
    const Value *wide = value_get(one, "dimensions"), *weights = value_get(one, "weights");
    buf_printf(b, "Query: \"%.*s\"\n", STR_ARG(word_of(one, "query")));
    for (size_t i = 0; words && i < words->list.n; i++)
        buf_printf(b, "  - %.*s: \"%.*s\"\n", STR_ARG(word_of(&words->list.items[i], "label")),
                   STR_ARG(word_of(&words->list.items[i], "word")));
    if (words && !words->list.n) buf_puts(b, "  (no entities)\n");
    if (value_get(one, "answer")) buf_printf(b, "  - \"%.*s\"\n", STR_ARG(word_of(one, "answer")));
    if (label || value_get(one, "score"))
        buf_printf(b, "  - %.*s: %.4f\n", STR_ARG(value_str(label, STR("score"))),
                   value_float(value_get(one, "score"), 0));
    for (size_t i = 0; masks && i < masks->list.n; i++)
        buf_printf(b, "  - \"%.*s\": %.4f\n", STR_ARG(word_of(&masks->list.items[i], "word")),
                   value_float(value_get(&masks->list.items[i], "score"), 0));
    if (wide) buf_printf(b, "  - a vector of %lld numbers\n", (long long)wide->i);
    if (weights) buf_printf(b, "  - weights for %lld words\n", (long long)weights->i);
    if (value_get(one, "objects")) buf_printf(b, "  - %lld objects\n", (long long)value_get(one, "objects")->i);
    if (value_get(one, "segments")) buf_printf(b, "  - %lld segments\n", (long long)value_get(one, "segments")->i);
    if (shape)
        buf_printf(b, "  - output of %lld x %lld numbers\n", (long long)shape->list.items[0].i,
                   (long long)shape->list.items[1].i);
}

static void print_similarities(Buf *b, const Value *rows)
{
    for (size_t i = 0; rows && i < rows->list.n; i++)
        for (size_t k = i + 1; k < rows->list.n; k++)
            buf_printf(b, "  - similarity of %zu and %zu: %.4f\n", i + 1, k + 1,
                       rows->list.items[i].list.items[k].f);
}

static void print_numbers(Buf *b, const Verifying *v)
{
    const Value *g = value_get(&v->report, "golden");
    if (v->accuracy) buf_puts(b, "\nQuantized:\n"), report_accuracy(b, v->accuracy);
    if (!g) return;
    buf_printf(b, "\nfp32 against golden outputs: largest difference %.3g, %.0g allowed\n",
               value_float(value_get(g, "largest_difference"), INFINITY), VERIFY_ALLOWED);
    if (value_get(g, "quantized_difference"))
        buf_printf(b, "Quantized against golden outputs: largest difference %.3g\n",
                   value_float(value_get(g, "quantized_difference"), INFINITY));
}

void report_verified(Buf *b, const Verifying *v)
{
    const Value *results = value_get(&v->report, "results");
    buf_puts(b, "VERIFYING ONNX MODEL\n" RULE "\nTest Results:\n");
    for (size_t i = 0; results && i < results->list.n; i++) {
        buf_char(b, '\n');
        print_answer(b, &results->list.items[i]);
    }
    print_similarities(b, value_get(&v->report, "similarities"));
    print_numbers(b, v);
    const Value *problems = value_get(&v->report, "problems");
    for (size_t i = 0; problems && i < problems->list.n; i++)
        buf_printf(b, "%sProblem: %.*s\n", i ? "" : "\n", STR_ARG(problems->list.items[i].s));
    buf_printf(b, "\n%s\n" RULE, v->ok ? "VERIFICATION COMPLETE" : "VERIFICATION FAILED");
}
