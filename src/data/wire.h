/* SPDX-License-Identifier: Apache-2.0
 * wire.h - the protobuf wire format: a cursor over bytes, a writer. No descriptors, no copies. */
#ifndef DATA_WIRE_H
#define DATA_WIRE_H
#include "base/base.h"

typedef enum { WIRE_VARINT = 0, WIRE_64 = 1, WIRE_BYTES = 2, WIRE_32 = 5 } WireType;

typedef struct Wire {      /* reading position */
    const uint8_t *p, *end;
    int field;             /* of the record just read */
    WireType type;
    uint64_t number;       /* VARINT, 64 and 32: the raw bits */
    Str bytes;             /* BYTES: a view */
} Wire;
static inline Wire wire_over(Str s)
{
    const uint8_t *p = (const uint8_t *)(s.n ? s.p : "");
    return (Wire){ .p = p, .end = p + s.n };
}
/* Next record into w; false at the end, or (with err->code set) when malformed: groups, field 0,
 * broken varints and lengths beyond the end are errors. Set err->code = EF_OK before the loop. */
bool wire_next(Wire *w, Err *);
float wire_float(const Wire *);     /* of a WIRE_32 record */
/* Repeated scalars come packed (one BYTES record) or one by one; a reader must take both. */
bool wire_varint(Wire *w, uint64_t *out); /* one raw varint inside packed bytes; false: at the end
                                           * (w->p == w->end), or malformed and not moved */

void wire_put_varint(Buf *, uint64_t);
void wire_put_tag(Buf *, int field, WireType);
void wire_put_int(Buf *, int field, int64_t);          /* tag and varint (negative: ten bytes) */
void wire_put_bytes(Buf *, int field, Str);
void wire_put_fixed64(Buf *, int field, uint64_t);
void wire_put_f32(Buf *, int field, float);

#endif
