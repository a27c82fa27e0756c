/* SPDX-License-Identifier: Apache-2.0
 * quantizing.h - what `quantize` and `export --quantize` share: one .onnx to a smaller one beside
 * it, and how far its answers are from those of the first. */
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
/* Both are opened with the tokenizer of their folders. n 0: a few sentences of our own. */
bool quantizing_compare(Arena *, const Quantizing *, const Str *texts, size_t n, Accuracy *, Err *);
bool quantizing_words(Arena *, const char *file, Str **texts, size_t *n, Err *); /* its lines */
Value quantizing_json(Arena *, const Quantizing *, const Accuracy *); /* Accuracy: may be NULL */
void quantizing_print(Buf *, const Quantizing *, const Accuracy *);

#endif
