/* SPDX-License-Identifier: Apache-2.0
 * rewrite.h - characters to normalized characters with their spans: decomposition with its
 * reordering of marks, removal by class, lower case; in that order, each of them optional. */
#ifndef TEXT_REWRITE_H
#define TEXT_REWRITE_H
#include "pieces.h"

typedef struct RewriteMark { /* a combining character that waits for its place */
    uint32_t code;
    uint8_t order;
    bool first; /* of the character it comes from */
    Span at;    /* of that character */
} RewriteMark;

typedef struct TextRewrite { /* set the first five, the rest zero; rewrite_end when all is in */
    Text *out;
    bool decompose;  /* NFD */
    uint16_t remove; /* UNICODE_* flags of characters to leave out */
    bool lower;
    bool compatible; /* NFKD where it decomposes */
    RewriteMark *marks; /* since the last starter */
    size_t n, cap;
    uint64_t orders; /* bit set of those in marks */
    Span last;       /* of the source character written last */
} TextRewrite;

void rewrite_code(TextRewrite *, uint32_t code, Span);
void rewrite_end(TextRewrite *);        /* writes the marks that still wait */
void rewrite_source(TextRewrite *, Source); /* all of it, with the end */

#endif
