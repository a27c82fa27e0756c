/* SPDX-License-Identifier: Apache-2.0
 * schema.h - private to src/onnx: the messages of onnx.proto as rows. read.c and write.c walk
 * the same rows, so a field is named once. Tensors, attributes and value infos, whose C form
 * differs from the message, have a pair of functions instead. */
#ifndef ONNX_SCHEMA_H
#define ONNX_SCHEMA_H
#include "data/wire.h"
#include "onnx/onnx.h"

typedef struct Reader {
    Arena *arena;
    Err *err;
    int depth;              /* of graphs inside attributes */
} Reader;

typedef enum {
    F_STR,
    F_DOMAIN, /* F_DOMAIN: a Str where "ai.onnx" becomes the empty name it stands for */
    F_INT,
    F_STRS,
    F_MSG,
    F_MSGS,
    F_REFUSED
} FieldKind;
typedef struct Message Message;
typedef struct Field {
    int number;             /* 0 ends the list */
    FieldKind kind;
    size_t at;              /* offset of a Str, int64_t, Str *, struct or array of structs */
    size_t count;           /* F_STRS, F_MSGS: offset of the int that counts them */
    const Message *of;      /* F_MSG, F_MSGS, F_REFUSED (for its name) */
} Field;
struct Message {
    const char *name;       /* for errors */
    size_t size;            /* of the C struct */
    const Field *fields;    /* or, when NULL: */
    bool (*read)(Reader *, Str, void *);
    void (*write)(Buf *, const void *);
};
extern const Message message_model, message_graph, message_tensor;

bool message_read(Reader *, const Message *, Str, void *into);
void message_write(Buf *, const Message *, int number, const void *); /* with tag and length */

/* Field numbers of an attribute's value, by AttrType. */
enum { ATTR_TYPES = A_GRAPHS + 1 };
extern const int attr_field[ATTR_TYPES];

bool read_attr(Reader *, Str, void *);
bool read_tensor(Reader *, Str, void *);
bool read_value(Reader *, Str, void *);
void write_attr(Buf *, const void *);
void write_tensor(Buf *, const void *);
void write_value(Buf *, const void *);

#endif
