/* SPDX-License-Identifier: Apache-2.0
 * regex_parse.h - the tree between the text of a pattern and its program; only for regex_*.c. */
#ifndef TEXT_REGEX_PARSE_H
#define TEXT_REGEX_PARSE_H
#include "regex.h"

typedef enum {
    NODE_EMPTY,
    NODE_CHAR,
    NODE_CLASS,
    NODE_SEQUENCE,
    NODE_EITHER,
    NODE_REPEAT,
    NODE_ASSERT,
    NODE_LOOK,
    NODE_ATOMIC
} NodeKind;
typedef struct Node Node;
struct Node {
    NodeKind kind;
    uint8_t mode;        /* LoopMode, Assertion, or 1: a negative look */
    bool behind;         /* of a look */
    uint32_t code;       /* of a character */
    int32_t least, most; /* of a repeat; -1: any number */
    const CharClass *set;
    Node *child; /* first of a sequence or of alternatives */
    Node *next;  /* sibling */
};

enum { REPEAT_LIMIT = 1000, NESTING_LIMIT = 100, PROGRAM_LIMIT = 50000, WORK_LIMIT = 1000000 };
bool regex_parse(Arena *, Str pattern, Node **out, Err *);

#endif
