/* SPDX-License-Identifier: Apache-2.0
 * verifying.h - does a model answer, and with the right numbers? What `verify` and `export
 * --verify` share: sample texts through it, the int8 model beside it against it, both against
 * golden outputs. */
#ifndef CLI_VERIFYING_H
#define CLI_VERIFYING_H
#include "cli/quantizing.h"

typedef struct Verifying {
    const char *path;       /* a folder, or an .onnx */
    ModelOpen open;         /* the task and the tokenizer, where they were said */
    const Str *text;        /* [n]; n 0: samples */
    size_t n;
    const char *samples;    /* folder whose README.md may name samples; NULL: that of path */
    const char *golden;     /* folder with ids.npy, start.npy, output.npy; NULL: that of path */
    bool golden_wanted;     /* without them it fails */
    /* found */
    Value report;           /* {model, task, results, similarities, quantized, golden, problems,
                             * ok} */
    const Accuracy *accuracy; /* of the int8 model beside it; NULL: there is none */
    bool ok;                /* something was checked, nothing is wrong; else `problems` says what */
} Verifying;

/* False: the model cannot be opened or run. What is wrong with its numbers is in the report. */
bool verifying_run(Arena *, Verifying *, Err *);
void verifying_print(Buf *, const Verifying *);

#endif
