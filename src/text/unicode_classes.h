/* SPDX-License-Identifier: Apache-2.0
 * unicode_classes.h - the properties of each code point for the reference's regular expressions,
 * UnicodeScripts and grapheme clusters (tools/oracle/unicode_classes.py). Three different
 * versions of Unicode, none of them that of unicode.h. */
#ifndef TEXT_UNICODE_CLASSES_H
#define TEXT_UNICODE_CLASSES_H
#include "base/base.h"

typedef enum { /* general categories; Cn: not assigned */
               CATEGORY_CN,
               CATEGORY_CC,
               CATEGORY_CF,
               CATEGORY_CO,
               CATEGORY_CS,
               CATEGORY_LL,
               CATEGORY_LM,
               CATEGORY_LO,
               CATEGORY_LT,
               CATEGORY_LU,
               CATEGORY_MC,
               CATEGORY_ME,
               CATEGORY_MN,
               CATEGORY_ND,
               CATEGORY_NL,
               CATEGORY_NO,
               CATEGORY_PC,
               CATEGORY_PD,
               CATEGORY_PE,
               CATEGORY_PF,
               CATEGORY_PI,
               CATEGORY_PO,
               CATEGORY_PS,
               CATEGORY_SC,
               CATEGORY_SK,
               CATEGORY_SM,
               CATEGORY_SO,
               CATEGORY_ZL,
               CATEGORY_ZP,
               CATEGORY_ZS
} Category;
enum { /* POSIX classes, as bits */
       POSIX_ALPHA = 1,
       POSIX_LOWER = 2,
       POSIX_UPPER = 4,
       POSIX_PUNCT = 8,
       POSIX_SPACE = 16,
       POSIX_WORD = 32,
       POSIX_GRAPH = 64,
       POSIX_PRINT = 128,
       POSIX_BLANK = 256,
       POSIX_XDIGIT = 512,
       POSIX_WORD_ALONE = 1024,    /* \w outside of brackets has six more, such as one half */
       POSIX_PUNCT_BRACKETS = 2048 /* [[:punct:]] has symbols too, \p{Punct} has not */
};
enum {                          /* grapheme clusters: what a code point joins */
       GRAPHEME_AFTER = 1,      /* anything before it: an extending mark or the joiner */
       GRAPHEME_PREPEND = 2,    /* anything after it */
       GRAPHEME_PASSIVE = 4,    /* is no control: others may join it */
       GRAPHEME_PICTURE = 8,    /* a picture and a joiner before it */
       GRAPHEME_AFTER_L = 16,   /* Hangul: a leading consonant before it */
       GRAPHEME_AFTER_V = 32,   /* a vowel before it */
       GRAPHEME_AFTER_T = 64,   /* a trailing consonant before it */
       GRAPHEME_BEFORE_L = 128, /* and the same after it */
       GRAPHEME_BEFORE_V = 256,
       GRAPHEME_BEFORE_T = 512,
       GRAPHEME_CONSONANT = 1024, /* of a conjunct: consonant, linker, consonant */
       GRAPHEME_LINKER = 2048,
       GRAPHEME_BETWEEN = 4096 /* may stand between them */
};

typedef struct ClassRecord {
    uint8_t category;
    uint16_t posix;
} ClassRecord;
typedef struct ScriptRecord {
    uint8_t script; /* of regular expressions: index into script_names */
    uint8_t old;    /* of UnicodeScripts: just a number; 0: goes with any */
} ScriptRecord;
typedef struct UnicodeFold { /* sorted by code */
    uint32_t code, next;     /* next of the cycle of those that (?i) takes for one another */
} UnicodeFold;

enum { CLASS_BLOCK = 256, CLASS_BLOCKS = 0x110000 / CLASS_BLOCK };
extern const uint8_t class_index[CLASS_BLOCKS], script_index[CLASS_BLOCKS];
extern const uint8_t grapheme_index[CLASS_BLOCKS];
extern const uint8_t class_leaves[], script_leaves[], grapheme_leaves[];
extern const ClassRecord class_records[];
extern const ScriptRecord script_records[];
extern const uint16_t grapheme_records[];
extern const UnicodeFold unicode_folds[];
extern const size_t unicode_fold_count;
extern const char *const script_names[];
extern const size_t script_count;

static inline size_t class_leaf(const uint8_t *index, const uint8_t *leaves, uint32_t code)
{
    return leaves[(size_t)index[code / CLASS_BLOCK] * CLASS_BLOCK + code % CLASS_BLOCK];
}
static inline const ClassRecord *class_of(uint32_t code)
{
    return &class_records[class_leaf(class_index, class_leaves, code)];
}
static inline const ScriptRecord *script_of(uint32_t code)
{
    return &script_records[class_leaf(script_index, script_leaves, code)];
}
static inline uint16_t grapheme_of(uint32_t code)
{
    return grapheme_records[class_leaf(grapheme_index, grapheme_leaves, code)];
}
uint32_t unicode_fold_next(uint32_t code); /* itself: (?i) makes no difference */

#endif
