/* SPDX-License-Identifier: Apache-2.0
 * sentence.h - sentence-transformers folders: modules.json says what follows the encoder (pooling,
 * dense, normalize). All of it becomes one graph with token_embeddings and sentence_embedding. */
#ifndef EXPORT_SENTENCE_H
#define EXPORT_SENTENCE_H
#include "export/arch.h"

typedef struct Sentence Sentence;

bool sentence_is(const char *folder);   /* has it a modules.json? */
/* Reads the modules and opens the weights of dense layers, which are added to `weights` as
 * "2.linear.weight". *encoder: the folder that config.json and the encoder's weights are in. */
bool sentence_open(Arena *, const char *folder, Sentence **, const char **encoder, Err *);
bool sentence_weights(Sentence *, Arena *, Safetensors *weights, Err *);
void sentence_close(Sentence *);
const Module *sentence_modules(Sentence *, Arena *); /* classes of the root's members */
void sentence_write(const Sentence *, Encoder *, Str hidden); /* the modules and both outputs */

#endif
