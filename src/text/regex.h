/* SPDX-License-Identifier: Apache-2.0
 * regex.h - regular expressions as the reference's engine (Oniguruma) reads them, on class
 * tables of our own, since no library has the same ones. A backtracking machine with a budget of
 * steps: a hostile pattern ends in an error, never in a hang. The patterns of well-known
 * tokenizers are found by their text and matched by hand-written code (regex_known.c).
 *
 * Easy to get wrong: ^ and $ are those of lines, always; (?m) lets . match a newline; (?i) in the
 * middle reaches over every | up to the end of its group; a{2}? is (?:a{2})? and a{1,2}+ is
 * (?:a{1,2})+, while a*+ is possessive. Refused: back references, conditions, recursion, absence,
 * \X, \K, \G. (?i) knows pairs of single characters, not "ss" for a sharp s. */
#ifndef TEXT_REGEX_H
#define TEXT_REGEX_H
#include "data/value.h"
#include "unicode_classes.h"

typedef struct Range { /* bytes */
    size_t from, to;
} Range;

/* ---- character classes (regex_class.c) ---- */
typedef struct CharClass CharClass;
typedef enum { ITEM_RANGE, ITEM_CATEGORIES, ITEM_POSIX, ITEM_SCRIPT, ITEM_CLASS } ItemKind;
typedef struct ClassItem {
    ItemKind kind;
    bool negate;
    uint32_t low, high; /* code points; or in `low` a bit set or the script */
    const CharClass *nested;
} ClassItem;
struct CharClass {
    bool negate, fold;
    ClassItem *items;
    size_t n, cap;
    const CharClass *both; /* (optional) && */
    uint32_t ascii[4];     /* answers, once class_finish was called */
};
void class_add(Arena *, CharClass *, ClassItem);
void class_finish(CharClass *);
bool class_slow(const CharClass *, uint32_t code);
static inline bool class_has(const CharClass *c, uint32_t code)
{
    return code < 128 ? c->ascii[code / 32] >> code % 32 & 1 : class_slow(c, code);
}
bool class_property(Str name, ClassItem *out); /* \p{name}; false: there is none */

/* ---- programs (regex_parse.c, regex_emit.c) ---- */
typedef enum {
    OP_MATCH,
    OP_CHAR,
    OP_CLASS,
    OP_LOOP,
    OP_SPLIT,
    OP_JUMP,
    OP_ASSERT,
    OP_LOOK,
    OP_ATOMIC,
    OP_ENTER,
    OP_MOVED,
    OP_TARGET
} OpKind;
typedef enum { GREEDY, LAZY, POSSESSIVE } LoopMode;
typedef enum {
    ASSERT_LINE_START,
    ASSERT_LINE_END,
    ASSERT_START,
    ASSERT_END,
    ASSERT_LAST_LINE,
    ASSERT_WORD,
    ASSERT_NOT_WORD
} Assertion;
typedef struct RegexOp {
    uint8_t kind, mode; /* mode: LoopMode, Assertion, or 1: a negative look */
    bool behind;        /* of a look */
    int32_t a, b;       /* CHAR: code. LOOP: least and most (-1: any). SPLIT: tried first and
                         * second. JUMP, LOOK, ATOMIC, MOVED: where it goes on. LOOK: b most
                         * characters back (-1: any). ENTER, MOVED: b register */
    const CharClass *set;
} RegexOp;
enum { REGEX_REGISTERS = 32 };
typedef struct Regex {
    RegexOp *ops;
    size_t n, cap;
} Regex;
bool regex_compile(Arena *, Str pattern, Regex *out, Err *);

/* ---- searching (regex_match.c) ---- */
typedef struct Back { /* where to go on when something fails */
    uint32_t op;
    uint32_t kind;
    size_t at, low;
} Back;
typedef struct RegexSearch { /* set the first two, the rest zero */
    Str text;           /* valid UTF-8 */
    Arena *arena;       /* for a deep stack */
    size_t at;          /* where the next search starts */
    bool matched;       /* there was a match, ... */
    size_t last;        /* ... and its end */
    uint64_t steps;
    const char *trouble; /* why it was given up; NULL: it was not */
    size_t target;       /* where a look behind must end */
    Back *stack;         /* first, until it is too small */
    size_t depth, room;
    Back first[16];
} RegexSearch;
/* First match at or after byte `from`. */
bool regex_find(const Regex *, RegexSearch *, size_t from, Range *out);

/* ---- patterns of tokenizer.json: {"String": ...} or {"Regex": ...} (regex_known.c) ---- */
/* End of the match at byte i; i: there is none. */
typedef size_t KnownMatch(Str text, size_t i);
typedef struct Pattern {
    Str string;        /* looked for as it is, unless empty */
    KnownMatch *known; /* or NULL */
    bool blanks;       /* the expression is " {2,}" */
    Regex regex;
} Pattern;
bool pattern_load(Arena *, const Value *, const char *where, Pattern *out, Err *);
/* The next match; empty ones too, but not right behind another match. */
bool pattern_next(const Pattern *, RegexSearch *, Range *hit);
KnownMatch gpt2_match; /* the pattern of ByteLevel */

#endif
