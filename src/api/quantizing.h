/* SPDX-License-Identifier: Apache-2.0
 * quantizing.h - one .onnx to a smaller one: what `quantize`, `export --quantize` and ef_quantize
 * share. */
#ifndef API_QUANTIZING_H
#define API_QUANTIZING_H
#include "api/accuracy.h"
#include "export/quantize.h"

typedef struct Quantizing {
    /* asked for; zero: the default */
    const char *model;      /* its folder, or an .onnx */
    const char *output;     /* a folder, or an .onnx; NULL: model_quantized.onnx beside it */
    const char *target;     /* a CPU, for int8; NULL: the first of quantize_targets */
    const char *dtype;      /* int8 (NULL), fp16, bf16 */
    bool per_channel;       /* accepted; scales are always per channel */
    ModelOpen open;         /* how both are opened for a comparison */
    const char *calibrate;  /* file of texts to compare on, one a line; NULL: a few of our own */
    bool no_report;         /* do not compare */
    /* found */
    const char *from, *to;  /* .onnx */
    Quantize quantize;
    uint64_t size_from, size_to, size_config; /* of files */
    Accuracy accuracy;
    bool measured;
    Err unmeasured;         /* why not, where it was tried: the file is written all the same */
} Quantizing;

extern const Option quantize_options[]; /* of Quantizing: for the command, and for ef_quantize */
bool quantizing_run(Arena *, Quantizing *, Err *);
/* Parts of it. Writes `to` from `from` by `quantize`, and ort_config.json beside it. */
bool quantizing_write(Arena *, Quantizing *, Err *);
void quantizing_measure(Arena *, Quantizing *, const Str *texts, size_t n); /* n 0: our own */
const char *quantizing_kind(const Quantizing *); /* "avx2", "fp16" */
Value quantizing_json(Arena *, const Quantizing *);

#endif
