/* SPDX-License-Identifier: Apache-2.0
 * schema.h - private to src/onnx: the messages of onnx.proto as rows. read.c and write.c walk
 * the same rows, so a field is named once. Tensors, attributes and value infos, whose C form
 * differs from the message, have a pair of functions instead. */
#ifndef ONNX_SCHEMA_H
#define ONNX_SCHEMA_H
#include "data/wire.h"
#include "onnx/onnx.h"

typedef struct OnnxReader {
    Arena *arena;
    Err *err;
    int depth;              /* of graphs inside attributes */
} OnnxReader;

typedef enum {
    FIELD_STR,
    FIELD_DOMAIN, /* FIELD_DOMAIN: a Str where "ai.onnx" becomes the empty name it stands for */
    FIELD_INT,
    FIELD_STRS,
    FIELD_MSG,
    FIELD_MSGS,
    FIELD_REFUSED
} OnnxFieldKind;
typedef struct OnnxMessage OnnxMessage;
typedef struct OnnxField {
    int number;             /* 0 ends the list */
    OnnxFieldKind kind;
    size_t at;              /* offset of a Str, int64_t, Str *, struct or array of structs */
    size_t count;           /* FIELD_STRS, FIELD_MSGS: offset of the int that counts them */
    const OnnxMessage *of;  /* FIELD_MSG, FIELD_MSGS, FIELD_REFUSED (for its name) */
} OnnxField;
struct OnnxMessage {
    const char *name;       /* for errors */
    size_t size;            /* of the C struct */
    const OnnxField *fields; /* or, when NULL: */
    bool (*read)(OnnxReader *, Str, void *);
    void (*write)(Buf *, const void *);
};
extern const OnnxMessage message_model, message_graph, message_tensor;

bool message_read(OnnxReader *, const OnnxMessage *, Str, void *into);
void message_write(Buf *, const OnnxMessage *, int number, const void *); /* with tag and length */

/* Field numbers of an attribute's value, by AttrType. */
enum { ATTR_TYPES = A_GRAPHS + 1 };
extern const int attr_field[ATTR_TYPES];

bool read_attr(OnnxReader *, Str, void *);
bool read_tensor(OnnxReader *, Str, void *);
bool read_value(OnnxReader *, Str, void *);
void write_attr(Buf *, const void *);
void write_tensor(Buf *, const void *);
void write_value(Buf *, const void *);

#endif
