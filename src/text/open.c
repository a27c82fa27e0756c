/* SPDX-License-Identifier: Apache-2.0
 * open.c - a tokenizer from a file. */
#include "base/file.h"
#include "pipeline.h"

enum { FILE_LIMIT = 1 << 28 };

bool tokenizer_open(Arena *arena, const char *path, Tokenizer **out, Err *err)
{
    Arena file = { 0 };
    Str text;
    bool ok = file_read(&file, path, FILE_LIMIT, &text, err) &&
              (tokenizer_load(arena, text, out, err) || within(err, "%s", path));
    arena_free(&file);
    return ok;
}
