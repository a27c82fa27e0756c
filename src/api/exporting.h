/* SPDX-License-Identifier: Apache-2.0
 * exporting.h - an export from its first look at the source to its report: what `export` and
 * ef_export share. */
#ifndef API_EXPORTING_H
#define API_EXPORTING_H
#include "api/quantizing.h"
#include "api/verifying.h"
#include "export/export.h"

typedef enum {
    EXPORT_OPENED,          /* the source is known, nothing is written */
    EXPORT_BUILT,           /* the graph */
    EXPORT_WRITTEN,         /* model.onnx */
    EXPORT_COPIED,          /* the files around it */
    EXPORT_QUANTIZING,      /* the int8 model comes next */
    EXPORT_QUANTIZED,
    EXPORT_DONE,            /* all files are there; they are not verified yet */
} ExportStage;

typedef struct Exporting Exporting;
struct Exporting {
    Export e;               /* model and output are set by the caller; the rest as in export.h */
    /* asked for; zero: the default */
    const char *shapes;     /* "1,128": rows and tokens */
    const char *level;      /* of optimization: O1, O2, O3 */
    const char *strategy;   /* htp */
    const char *target;     /* a CPU: an int8 model too */
    bool include_tokenizer, exclude_tokenizer; /* in the .onnx; neither: where it is small */
    bool graphml;           /* draw the graph */
    bool verify;            /* try the result */
    Str input_text;         /* on this text, */
    TextList texts;        /* and on these; none: samples */
    /* (optional) called after each stage; false ends the export */
    bool (*stage)(Exporting *, ExportStage, Err *);
    void *context;          /* the caller's */
    /* found */
    Quantizing quantizing;  /* where a target was asked for */
    Err unquantized;        /* why there is no int8 model: the export stands */
    Verifying verifying;    /* where it was asked for */
    Value warnings;         /* texts: what did not work beside the export itself */
    double seconds;         /* without verifying */
};

extern const Option export_options[]; /* of Exporting: for the command, and for ef_export */
/* True: the files are there, `verifying` has what it found. Either way: export_close(&x->e). */
bool exporting_run(Arena *, Exporting *, Err *);
Value exporting_json(Arena *, const Exporting *);

#endif
