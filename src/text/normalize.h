/* SPDX-License-Identifier: Apache-2.0
 * normalize.h - what the files of the normalizers share: kinds that live outside normalize.c, and
 * the reference's way of giving spans to text that was made from other text. */
#ifndef TEXT_NORMALIZE_H
#define TEXT_NORMALIZE_H
#include "pipeline.h"

/* Spans by counting: every new character says how many source characters it uses up. 1: none, it is
 * inserted and has the span of the last one used; 0: the next one, whose span it has; -n: that one
 * and n more. The reference does nothing else, even where the count drifts from the text. */
typedef struct Aligner { /* set the first two, the rest zero */
    Source in;
    Text *out;
    size_t next; /* byte of the source character not yet used */
    bool used;   /* any */
    Span last;   /* of the one used last */
} Aligner;
void align_add(Aligner *, uint32_t code, int change);

Source source_part(Source, size_t from, size_t to);

/* normalize_forms.c */
void nfc_run(const Normalizer *, Source, Text *out);
void nfkc_run(const Normalizer *, Source, Text *out);
void nfd_run(const Normalizer *, Source, Text *out);
void nfkd_run(const Normalizer *, Source, Text *out);
/* normalize_precompiled.c */
bool precompiled_load(Arena *, const Value *, Normalizer *, Err *);
bool precompiled_blob(Arena *, const Value *, Str *out, Err *); /* its map, as it is used */
void precompiled_run(const Normalizer *, Source, Text *out);
bool precompiled_apart(const Normalizer *);
/* normalize_replace.c */
bool replace_load(Arena *, const Value *, Normalizer *, Err *);
void replace_run(const Normalizer *, Source, Text *out);
bool replace_apart(const Normalizer *);

#endif
