/* SPDX-License-Identifier: Apache-2.0
 * accuracy.h - how far a smaller model's answers are from those of the first: what `quantize`,
 * `build --precision` and `verify` report. */
#ifndef API_ACCURACY_H
#define API_ACCURACY_H
#include "base/option.h"
#include "model/model.h"

typedef struct Accuracy {   /* of one model against another, over the same texts or pictures */
    size_t texts, labels;   /* labels: compared ones; 0: the outputs are no scores */
    bool pictures, pixels;  /* the texts are pictures; the labels those of pixels */
    double same;            /* share of labels that agree */
    double mean, worst;     /* cosine of a text's whole output */
    double most;            /* largest difference of a number */
} Accuracy;

typedef struct TextList {
    const Str *text;        /* [n] */
    size_t n;
} TextList;

/* n 0: a few sentences of our own. */
bool accuracy_models(Arena *, const Model *full, const Model *small, const Str *texts, size_t n,
                     Accuracy *, Err *);
typedef struct AccuracyFiles {
    const char *full, *small; /* .onnx */
    ModelOpen open;         /* of both; each has the tokenizer of its folder */
} AccuracyFiles;
bool accuracy_files(Arena *, const AccuracyFiles *, const Str *texts, size_t n, Accuracy *, Err *);
/* Texts of a file, one a line; empty lines are passed over. None is an error. */
bool accuracy_texts(Arena *, const char *file, Str **texts, size_t *n, Err *);

/* One text's outputs [tokens, width] of both models, added up from a zero Accuracy;
 * accuracy_finish makes means of the sums. */
void accuracy_add(Accuracy *, const float *full, const float *small, int64_t tokens, int64_t width,
                  bool labels);
void accuracy_finish(Accuracy *);
Value accuracy_json(Arena *, const Accuracy *);

/* Of quantize and build: for structs with these two fields. */
#define OPTIONS_ACCURACY(Struct)                                                            \
    { "calibrate", 0, "FILE", "texts, or paths of pictures, for the accuracy report, one a line", TAKES_TEXT,      \
      OPTION_FIELD_OF(Struct, calibrate), .against = "no-report" },                         \
    { "no-report", 0, NULL, "do not run both models to compare them", TAKES_NOTHING,        \
      OPTION_FIELD_OF(Struct, no_report) }

#endif
