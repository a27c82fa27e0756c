/* SPDX-License-Identifier: Apache-2.0
 * tei.h - what the files of text-embeddings-inference share. Included by this folder only. */
#ifndef DIALECT_TEI_H
#define DIALECT_TEI_H
#include "dialect/family.h"

typedef struct TeiSpans {        /* seconds of a job's stages; 0: it did not reach that stage */
    double total, tokenize, queue, inference;
} TeiSpans;
TeiSpans tei_spans(const WorkTimes *);

extern const ErrorForm tei_errors;                           /* {"error", "error_type"} */
extern const FamilyMeters tei_meters;
Value tei_info(Arena *, const Site *);                       /* GET /info */
const GrpcService *tei_services(Arena *, const Site *);

#endif
