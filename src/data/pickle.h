/* SPDX-License-Identifier: Apache-2.0
 * pickle.h - Python's pickles, as far as a dict of tensors needs them. A pickle is a program for a
 * machine with a stack; this machine only builds values. A global is a row of the caller's table,
 * never code; calling one (REDUCE) gives a value that holds its row and the arguments; what BUILD
 * would set is dropped.
 *
 * Refused with a message that names them: globals without a row, opcodes that no such pickle has,
 * and pickles of more values than MOST_VALUES. Values may be shared and may contain themselves:
 * do not walk them without a bound. */
#ifndef DATA_PICKLE_H
#define DATA_PICKLE_H
#include "base/base.h"

typedef struct PickleGlobal { /* rows; a list ends with {0} */
    const char *module, *name;
    int what, type;         /* the caller's own */
    bool dict;              /* a call without arguments is an empty dict */
} PickleGlobal;

typedef enum {
    PICKLE_NONE, PICKLE_BOOL, PICKLE_INT, PICKLE_LONG, PICKLE_FLOAT, PICKLE_STR, PICKLE_TUPLE,
    PICKLE_LIST, PICKLE_DICT, PICKLE_GLOBAL, PICKLE_CALL, PICKLE_ID, PICKLE_MARK
} PickleKind;

typedef struct PickleValue PickleValue;
struct PickleValue {
    PickleKind kind;
    const PickleGlobal *global; /* of PICKLE_GLOBAL and PICKLE_CALL */
    int64_t i;              /* of PICKLE_BOOL and PICKLE_INT; a float's value is not kept */
    Str s;                  /* text; the bytes of an integer beyond 64 bits */
    PickleValue **item;     /* of a tuple or list, of a call's arguments, of a persistent id; */
    size_t n, room;         /* a dict's keys and values in turns */
};

typedef struct Pickle {
    const PickleValue *root;
    PickleValue **id;       /* the persistent ids, in their order: tuples of the writer's making */
    size_t n_id, room;
} Pickle;

/* Reads one pickle and moves *bytes behind it. Texts are views of the bytes. */
bool pickle_read(Arena *, Str *bytes, const PickleGlobal *, Pickle *, Err *);
/* The value of a dict's key, the last one if it comes twice. NULL: absent, or no dict. */
const PickleValue *pickle_get(const PickleValue *dict, const char *key);
const char *pickle_kind_name(PickleKind);

#endif
