/* SPDX-License-Identifier: Apache-2.0
 * value.h - one tree for everything that is neither a tensor nor a graph: JSON, YAML, requests,
 * replies, options. And the Schema that says what such a tree must look like.
 *
 * Strings, lists and float arrays are views; whoever made the tree owns their arena. */
#ifndef DATA_VALUE_H
#define DATA_VALUE_H
#include "base/base.h"

typedef enum { V_NULL, V_BOOL, V_INT, V_FLOAT, V_STR, V_LIST, V_MAP, V_F32, V_BYTES, V_UINT } ValueKind;

typedef struct Value Value;
typedef struct Member Member;
struct Value {
    ValueKind kind;
    union {
        bool b;
        int64_t i;
        uint64_t u;                                   /* V_UINT: beyond int64; of records alone */
        double f;
        Str s;                                        /* UTF-8; of V_BYTES any bytes, written as base64 */
        struct { Value *items; size_t n; } list;
        struct { Member *items; size_t n; } map;      /* in the order of the source */
        struct { const float *p; size_t n; } f32;     /* written as a list; never parsed into */
    };
};
struct Member {
    Str key;
    Value value;
};

const Value *value_get(const Value *map, const char *key); /* NULL: absent, or no map (or NULL) */
Str value_str(const Value *, Str otherwise);               /* otherwise: NULL or not a string */
int64_t value_int(const Value *, int64_t otherwise);
double value_float(const Value *, double otherwise);       /* ints count too */
bool value_bool(const Value *, bool otherwise);
const char *value_kind_name(ValueKind);                    /* "a string", "a list": for messages */

/* Building trees. A list or map is made with room for n and filled by index or by value_add. */
static inline Value value_null(void) { return (Value){ .kind = V_NULL }; }
static inline Value value_of_bool(bool b) { return (Value){ .kind = V_BOOL, .b = b }; }
static inline Value value_of_int(int64_t i) { return (Value){ .kind = V_INT, .i = i }; }
static inline Value value_of_uint(uint64_t u) { return (Value){ .kind = V_UINT, .u = u }; }
static inline Value value_of_float(double f) { return (Value){ .kind = V_FLOAT, .f = f }; }
static inline Value value_of_str(Str s) { return (Value){ .kind = V_STR, .s = s }; }
static inline Value value_of_bytes(Str s) { return (Value){ .kind = V_BYTES, .s = s }; }
static inline Value value_of_text(const char *s) { return value_of_str(str_of(s)); } /* s is borrowed */
static inline Value value_of_f32(const float *p, size_t n)
{
    return (Value){ .kind = V_F32, .f32 = { p, n } };
}
Value value_list(Arena *, size_t n);          /* n nulls */
Value value_map(Arena *, size_t room);        /* empty, with room for that many members */
void value_add(Value *map, const char *key, Value); /* asserts that there is room */

/* ---- Schema: one description feeds JSON checking, OpenAPI, protobuf, MCP and docs ---- */
typedef enum {
    F_STR, F_BOOL, F_I32, F_U32, F_U64, F_F32, F_F64, F_BYTES, F_MSG, F_STR_MAP, F_NULL_STR_MAP,
    F_INT_STR_MAP, F_ANY
} FieldKind;
typedef struct ProtoEnum {   /* how protobuf says the words of a field */
    const char *name;        /* of the type */
    const char *const *names;/* of the values, in the order of the words */
    const int *numbers;      /* the same; NULL: 0, 1, 2 ... */
} ProtoEnum;
typedef struct Field Field;
struct Field {               /* rows; a list of rows ends with {0} */
    const char *name;
    int number;              /* of the protobuf field; 0: JSON only */
    FieldKind kind;
    bool repeated, required, nullable;
    const Field *msg;        /* F_MSG: its fields */
    const char *msg_name;    /* F_MSG: name of the component schema */
    const char *const *words;/* F_STR: the allowed ones, NULL-terminated, or NULL for any; F_ANY: or true or false */
    double least, most;      /* numbers: narrower than their kind; both 0: not */
    bool or_base64;          /* repeated F_F32: also a string, their little-endian bytes in base64 */
    const ProtoEnum *proto_enum; /* F_STR with words: protobuf sends a number for each of them */
    const char *oneof;       /* protobuf: at most one of the neighbours with this name is there */
    const char *help;        /* one line for OpenAPI and docs */
};
/* Checks a parsed map against the rows: types, required; unknown keys are ignored. The message
 * names the JSON path: "inputs[2]: found a number, wanted a string". A whole number may be written
 * 2.0: read it by value_float. */
bool schema_check(const Value *, const Field *rows, Err *);
/* The JSON Schema (2020-12, as OpenAPI 3.1 uses it) of the rows, as a Value. Messages stand inline,
 * with msg_name as their title, so that MCP can use it without components. */
Value schema_describe(Arena *, const Field *rows);

#endif
