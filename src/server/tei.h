/* SPDX-License-Identifier: Apache-2.0
 * tei.h - the te_* series and x-* fields of text-embeddings-inference. */
#ifndef SERVER_TEI_H
#define SERVER_TEI_H
#include "head.h"
#include "dialect/dialect.h"

enum { TE_BUCKETS = 35, TE_SPANS = 4, TE_FAILURES = 6, TE_FIELDS = 8 };
#define TE_LEAST 1e-5            /* seconds; bounds are this times 1.5, times 1.5 squared ... */
#define TE_RATIO 1.5

typedef struct TeHistogram {
    uint64_t bucket[TE_BUCKETS + 1], count;
    double sum;
} TeHistogram;

typedef struct TeMeters {
    uint64_t requests[2], successes[2];            /* of one input; of several */
    uint64_t failures[TE_FAILURES];
    uint64_t inputs[2], good_inputs[2];            /* of models that embed; that predict */
    TeHistogram request[TE_SPANS], input[2][TE_SPANS]; /* total, tokenization, queue, inference */
    TeHistogram length;                            /* tokens */
} TeMeters;

struct Exchange;
struct Loop;
/* How long the texts of its job were: before they are forgotten; and the rest, when it was sent. */
void tei_lengths(TeMeters *, const struct Exchange *, const Job *);
void tei_answered(TeMeters *, const struct Exchange *);
void tei_page(const struct Loop *, Buf *out);

typedef struct TeFields {        /* room for them */
    ReplyField field[TE_FIELDS];
    char text[TE_FIELDS][24];
} TeFields;
size_t tei_fields(const Job *, TeFields *);        /* how many there are */

#endif
