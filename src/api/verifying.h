/* SPDX-License-Identifier: Apache-2.0
 * verifying.h - does a model answer, and with the right numbers? What `verify` and `export
 * --verify` share: sample texts through it, the int8 model beside it against it, both against
 * golden outputs. */
#ifndef API_VERIFYING_H
#define API_VERIFYING_H
#include "api/accuracy.h"

#define VERIFY_ALLOWED 1e-4 /* between an fp32 graph and its golden outputs */

typedef struct Verifying {
    const char *path;       /* a folder, or an .onnx */
    ModelOpen open;         /* the task and the tokenizer, where they were said */
    TextList texts;        /* none: samples */
    const char *source;     /* folder whose README.md may name samples and that may have golden
                             * outputs; NULL: that of path */
    const char *golden;     /* folder that must have ids.npy, start.npy and output.npy; or NULL */
    /* found */
    Value report;           /* {model, task, results, similarities, quantized, golden, problems,
                             * ok} */
    const Accuracy *accuracy; /* of the int8 model beside it; NULL: there is none */
    bool ok;                /* something was checked, nothing is wrong; else `problems` says what */
} Verifying;

extern const Option verify_options[]; /* of Verifying: for the command, and for ef_verify */
/* False: the model cannot be opened or run. What is wrong with its numbers is in the report. */
bool verifying_run(Arena *, Verifying *, Err *);

#endif
