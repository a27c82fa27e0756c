/* SPDX-License-Identifier: Apache-2.0
 * ctc.h - ids of frames to text, as Wav2Vec2CTCTokenizer decodes them: equal neighbours are one, the
 * padding token is the blank, the word delimiter a space. Equal means the same token's text, and that
 * is decided before blanks are dropped. */
#ifndef AUDIO_CTC_H
#define AUDIO_CTC_H
#include "data/value.h"

typedef struct CtcFiles { /* of the model's folder, parsed; each but vocab may be NULL */
    const Value *vocab;   /* vocab.json; by languages with target_lang */
    const Value *config;  /* tokenizer_config.json */
    const Value *specials;/* special_tokens_map.json */
    const Value *added;   /* added_tokens.json */
} CtcFiles;
typedef struct Ctc Ctc;
/* The vocabulary lives in the arena, with views of the files. Errors: EF_BAD_MODEL. */
bool ctc_open(Arena *, const CtcFiles *, const Ctc **, Err *);
size_t ctc_size(const Ctc *); /* ids below this have a token, or are unknown */

typedef struct CtcSpan {  /* a character or a word; frames first .. end - 1 */
    Str text;
    int64_t start, end;
} CtcSpan;
typedef struct CtcSpans {
    CtcSpan *span;
    size_t n;
} CtcSpans;
/* What is left of n frames' ids: every token that is no blank. */
CtcSpans ctc_characters(const Ctc *, Arena *, const int32_t *ids, size_t n);
CtcSpans ctc_words(const Ctc *, Arena *, const CtcSpans *characters);
Str ctc_text(const Ctc *, Arena *, const CtcSpans *characters);

#endif
