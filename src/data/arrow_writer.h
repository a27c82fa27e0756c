/* SPDX-License-Identifier: Apache-2.0
 * arrow_writer.h - the writer of Arrow's form, for arrow_write.c and arrow_resume.c. */
#ifndef DATA_ARROW_WRITER_H
#define DATA_ARROW_WRITER_H
#include "arrow_form.h"

typedef struct ArrowBlocks { /* of a file's footer: where, bytes of the metadata, of the body */
    int64_t (*item)[3];
    size_t n, room;
} ArrowBlocks;
typedef struct ArrowSent {   /* what has been written of a dictionary */
    int64_t id;
    uint64_t version;
    int parts;
} ArrowSent;
typedef struct ArrowWriter {
    BatchWriter all;
    Arena *arena;
    const ArrowFields *fields;
    BatchOut out;
    bool file;
    int64_t at;              /* bytes so far */
    ArrowBlocks dictionaries, batches;
    ArrowSent *sent;         /* [encoded fields] */
    int n_sent;
    Buf meta;
} ArrowWriter;

void arrow_note_block(Arena *, ArrowBlocks *, int64_t at, int64_t meta, int64_t body);
ArrowSent *arrow_sent_of(ArrowWriter *, int64_t dictionary);

#endif
