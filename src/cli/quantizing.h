/* SPDX-License-Identifier: Apache-2.0
 * quantizing.h - what `quantize`, `export --quantize`, `build` and `verify` share: one .onnx to a
 * smaller one beside it, and how far a smaller model's answers are from those of the first. */
#ifndef CLI_QUANTIZING_H
#define CLI_QUANTIZING_H
#include "cli/cli.h"
#include "export/quantize.h"

typedef struct Accuracy {   /* of one model against another, over the same texts */
    size_t texts, labels;   /* labels: compared ones; 0: the outputs are no scores */
    double same;            /* share of labels that agree */
    double mean, worst;     /* cosine of a text's whole output */
    double most;            /* largest difference of a number */
} Accuracy;

typedef struct Quantizing {
    const char *from, *to;  /* .onnx */
    ModelOpen open;         /* how both are opened for a comparison */
    Quantize quantize;      /* target or half: asked for; the rest: found */
    uint64_t size_from, size_to, size_config; /* of files */
} Quantizing;

/* Writes `to`, and ort_config.json beside it. */
bool quantizing_run(Arena *, Quantizing *, Err *);

/* Texts to compare on: of --calibrate, or (n 0) a few sentences of our own. */
typedef struct QuantizingTexts {
    Str *text;
    size_t n;
    bool none;              /* --no-report */
} QuantizingTexts;
#define OPTIONS_ACCURACY                                                                 \
    { "calibrate", 0, "FILE", "texts for the accuracy report, one a line",               \
      .against = "no-report" },                                                          \
    { "no-report", 0, NULL, "do not run both models to compare them" }
bool quantizing_texts(Args *, QuantizingTexts *, Err *);
bool quantizing_compare(Arena *, const Model *full, const Model *small, const Str *texts, size_t n,
                        Accuracy *, Err *);
/* The same of two .onnx; both are opened with the tokenizer of their folders. */
bool quantizing_compare_files(Arena *, const Quantizing *, const Str *texts, size_t n, Accuracy *,
                              Err *);
/* One text's outputs [tokens, width] of both models, added up from a zero Accuracy;
 * accuracy_finish makes means of the sums. */
void accuracy_add(Accuracy *, const float *full, const float *small, int64_t tokens, int64_t width,
                  bool labels);
void accuracy_finish(Accuracy *);
Value accuracy_json(Arena *, const Accuracy *);
void accuracy_print(Buf *, const Accuracy *); /* a line */
Value quantizing_json(Arena *, const Quantizing *, const Accuracy *); /* Accuracy: may be NULL */
void quantizing_print(Buf *, const Quantizing *, const Accuracy *);

#endif
