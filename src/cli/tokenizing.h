/* SPDX-License-Identifier: Apache-2.0
 * tokenizing.h - what `tokenize` does with one input, and with a stream of them: a stream is read in
 * pieces, whose lines are split over workers and written in order, so that memory is bounded and
 * the first answers come while the last questions are still being read. */
#ifndef CLI_TOKENIZING_H
#define CLI_TOKENIZING_H
#include "cli/cli.h"

typedef struct Tokenizing { /* the same for every input */
    const Tokenizer *tokenizer;
    EncodeOptions encode;
    bool chars;             /* offsets count codepoints */
    bool pair, words;       /* what an input is */
    bool decode;            /* inputs are ids */
    bool skip_special;      /* with decode */
    bool json;              /* a line of a stream is JSON, not text */
} Tokenizing;

/* One object and a newline behind `out`; the arena is for working memory. */
bool tokenize_text(const Tokenizing *, Arena *, Str first, const Str *second, Buf *out, Err *);
bool tokenize_words(const Tokenizing *, Arena *, Words first, const Words *second, Buf *out, Err *);
bool tokenize_ids(const Tokenizing *, Arena *, const int32_t *ids, size_t n, Buf *out, Err *);
bool tokenize_line(const Tokenizing *, Arena *, Str line, Buf *out, Err *);
/* stdin to stdout. A broken line ends it: what stands before it has been written. */
bool tokenize_stream(const Tokenizing *, int threads, Err *);

#endif
