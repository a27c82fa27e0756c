/* SPDX-License-Identifier: Apache-2.0
 * validating.h - what `validate` and ef_validate share. An ONNX file and its hierarchy: is it
 * well-formed, is every node tagged, does its sidecar agree; a folder: optimum.h. */
#ifndef MODEL_VALIDATING_H
#define MODEL_VALIDATING_H
#include "base/option.h"
#include "export/htp.h"
#include "model/optimum.h"

typedef struct Validating {
    /* asked for */
    const char *path;       /* an .onnx, or a folder */
    bool compare;           /* the tags with those of the sidecar */
    bool repair;            /* rewrite the file: missing, differing and badly stored tags */
    bool judge;             /* the hf_ metadata, too */
    const char *sidecar;    /* NULL: looked for beside the file */
    /* found in a folder */
    bool folder;            /* it is one: what follows is of a file */
    OptimumReport optimum;
    /* found in a file */
    bool valid;             /* well-formed, and ONNX Runtime will not stumble over tags */
    const char *why;        /* when not */
    int nodes, tagged;      /* tagged: with tags of their own */
    HtpSource source;       /* of the tags */
    double coverage;        /* per cent */
    const char *sidecar_path; /* NULL: none */
    int repaired;           /* nodes; -1: not asked for */
    bool consistent;        /* where it was compared */
    Value problems;         /* of the metadata: lines */
    /* of both */
    bool ok;                /* nothing is wrong; of a folder: Optimum loads it and answers */
    Value report;           /* as JSON */
} Validating;

extern const Option validate_options[]; /* of Validating: for the command, and for ef_validate */
/* False: it cannot be read, or not be repaired. Everything else is a finding. */
bool validating_run(Arena *, Validating *, Err *);

#endif
