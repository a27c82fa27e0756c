/* SPDX-License-Identifier: Apache-2.0
 * pretokenize.h - the pre-tokenizers that live outside pretokenize.c. */
#ifndef TEXT_PRETOKENIZE_H
#define TEXT_PRETOKENIZE_H
#include "pipeline.h"

/* pretokenize_split.c: what is found is removed, stands alone or goes with a neighbour */
bool split_load(Arena *, const Value *, PreTokenizer *, Err *);
void split_run(const PreTokenizer *, Text *, Piece, Pieces *out);
AtSpace split_at_space(const PreTokenizer *);
bool punctuation_load(Arena *, const Value *, PreTokenizer *, Err *);
bool digits_load(Arena *, const Value *, PreTokenizer *, Err *);
bool delimiter_load(Arena *, const Value *, PreTokenizer *, Err *);
void chars_run(const PreTokenizer *, Text *, Piece, Pieces *out);
AtSpace chars_at_space(const PreTokenizer *);
bool fixed_length_load(Arena *, const Value *, PreTokenizer *, Err *);
void fixed_length_run(const PreTokenizer *, Text *, Piece, Pieces *out);
void scripts_run(const PreTokenizer *, Text *, Piece, Pieces *out);
/* pretokenize_write.c: those that change the text too */
bool byte_level_load(Arena *, const Value *, PreTokenizer *, Err *);
void byte_level_run(const PreTokenizer *, Text *, Piece, Pieces *out);
AtSpace byte_level_at_space(const PreTokenizer *);
bool metaspace_load(Arena *, const Value *, PreTokenizer *, Err *);
void metaspace_run(const PreTokenizer *, Text *, Piece, Pieces *out);
AtSpace metaspace_at_space(const PreTokenizer *);

#endif
