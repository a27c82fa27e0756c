/* SPDX-License-Identifier: Apache-2.0
 * convert_open.c - a tokenizer from a file or folder, whatever form its vocabulary has. */
#include "base/file.h"
#include "convert.h"
#include "data/json.h"
#include "text.h"

enum { FILE_LIMIT = 1 << 28 };

/* The vocabulary of a folder: the first of these that is there. */
static const char *const names[] = { "tokenizer.json",          "vocab.txt",    "vocab.json",
                                     "sentencepiece.bpe.model", "spiece.model", "spm.model",
                                     "tokenizer.model" };

static const char *find(Arena *arena, const char *path, Err *err)
{
    if (!dir_is(path)) return path;
    for (size_t i = 0; i < COUNT(names); i++) {
        const char *file = path_join(arena, path, str_of(names[i]));
        if (file_is(file)) return file;
    }
    fail(err, EF_IO, "%s: found no tokenizer.json, vocab.txt, vocab.json or SentencePiece model",
         path);
    return NULL;
}

/* A JSON object beside the vocabulary; *out stays NULL where there is none. */
static bool read_beside(Arena *arena, const char *path, const char *name, const Value **out,
                        Err *err)
{
    const char *file = path_join(arena, path_dir(arena, path), str_of(name));
    Value *v = NEW(arena, Value);
    Str text;
    if (!file_is(file)) return true;
    if (!file_read(arena, file, FILE_LIMIT, &text, err)) return false;
    if (!json_parse(arena, text, v, err)) return within(err, "%s", file);
    return *out = v, true;
}

/* What the vocabulary itself tells of the class: a special token as file name. */
static Str hint(const char *path, Str bytes, ConvertKind kind)
{
    static const char *const marks[] = { "<|startoftext|>", "<s>" };
    for (size_t i = 0; i < COUNT(marks) && kind == FROM_MERGES; i++)
        if (memmem(bytes.p, bytes.n, marks[i], strlen(marks[i]))) return str_of(marks[i]);
    Str name = path_name(path);
    return kind == FROM_WORDS ? STR("vocab.txt") : kind == FROM_MERGES ? STR("vocab.json") : name;
}

static bool convert(Arena *tree, Arena *arena, const char *path, Str bytes, ConvertKind kind,
                    Tokenizer **out, Err *err)
{
    Sidecar side = { 0 };
    Str merges = { 0 };
    Value root;
    if (!read_beside(tree, path, "tokenizer_config.json", &side.config, err) ||
        !read_beside(tree, path, "special_tokens_map.json", &side.specials, err))
        return false;
    const char *file = path_join(tree, path_dir(tree, path), STR("merges.txt"));
    if (kind == FROM_MERGES && !file_read(tree, file, FILE_LIMIT, &merges, err)) return false;
    Str class = value_str(value_get(side.config, "tokenizer_class"), STR(""));
    const Style *style = convert_style(class, hint(path, bytes, kind), kind);
    return convert_tokenizer(tree, style, bytes, merges, &side, &root, err) &&
           tokenizer_from_value(arena, &root, out, err);
}

static bool open_file(Arena *tree, Arena *arena, const char *path, bool folder, Tokenizer **out,
                      Err *err)
{
    Str bytes;
    const Value *config = NULL;
    if (!file_read(tree, path, FILE_LIMIT, &bytes, err)) return false;
    Str name = path_name(path);
    if (str_ends(name, ".model"))
        return convert(tree, arena, path, bytes, FROM_SENTENCEPIECE, out, err);
    if (str_ends(name, ".txt")) return convert(tree, arena, path, bytes, FROM_WORDS, out, err);
    if (str_is(name, "vocab.json")) return convert(tree, arena, path, bytes, FROM_MERGES, out, err);
    if (folder && !read_beside(tree, path, "tokenizer_config.json", &config, err)) return false;
    return tokenizer_load_config(arena, bytes, config, out, err);
}

bool tokenizer_open(Arena *arena, const char *path, Tokenizer **out, Err *err)
{
    Arena tree = { 0 };
    const char *file = find(&tree, path, err);
    bool ok =
        file && (open_file(&tree, arena, file, file != path, out, err) || within(err, "%s", file));
    arena_free(&tree);
    return ok;
}
