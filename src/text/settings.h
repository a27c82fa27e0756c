/* SPDX-License-Identifier: Apache-2.0
 * settings.h - settings that live outside tokenizer.json: they change its tree before it is loaded,
 * so that a package carries what they amount to. */
#ifndef TEXT_SETTINGS_H
#define TEXT_SETTINGS_H
#include "convert.h"

/* Changes the tree of a tokenizer.json by the files beside it, as transformers does (settings.c
 * says where not). New parts live in the arena. */
void settings_apply(Arena *, Value *root, const Sidecar *);
/* Those of them that concern a converted vocabulary too: decoding, special tokens in texts. */
void settings_common(Arena *, Value *root, const Sidecar *);
/* sentence-transformers' do_lower_case: a Lowercase in front, unless there is one. */
void settings_lowercase(Arena *, Value *root);

/* settings_added.c: added_tokens_decoder, special_tokens_map.json, added_tokens.json. */
void settings_added(Arena *, Value *root, const Sidecar *, Str tokenizer_class);

/* A member of a map, made where it is missing. */
void settings_put(Arena *, Value *map, const char *key, Value);

#endif
