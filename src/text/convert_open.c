/* SPDX-License-Identifier: Apache-2.0
 * convert_open.c - a tokenizer from a file or folder, whatever form its vocabulary has. */
#include "base/file.h"
#include "convert.h"
#include "data/json.h"
#include "settings.h"
#include "text.h"

enum { FILE_LIMIT = 1 << 28 };

static const char *convert_path_of(Arena *arena, const char *folder, const char *name)
{
    const char *file = path_join(arena, folder, str_of(name));
    return file_is(file) ? file : NULL;
}

static void find_sidecar(Arena *arena, const char *folder, TokenizerFiles *f)
{
    f->config = convert_path_of(arena, folder, "tokenizer_config.json");
    f->specials = convert_path_of(arena, folder, "special_tokens_map.json");
    f->added = convert_path_of(arena, folder, "added_tokens.json");
}

TokenizerFiles tokenizer_files(Arena *arena, const char *folder)
{
    static const char *const names[] = { "tokenizer.json",          "vocab.txt",    "vocab.json",
                                         "sentencepiece.bpe.model", "spiece.model", "spm.model",
                                         "tokenizer.model" };
    TokenizerFiles f = { 0 };
    for (size_t i = 0; i < COUNT(names) && !f.vocab; i++)
        f.vocab = convert_path_of(arena, folder, names[i]);
    find_sidecar(arena, folder, &f);
    return f;
}

/* A JSON object; *out stays NULL where there is no file. */
static bool convert_read_object(Arena *arena, const char *file, const Value **out, Err *err)
{
    if (!file) return true;
    Value *v = NEW(arena, Value);
    Str text, name = path_name(file);
    if (!file_read(arena, file, FILE_LIMIT, &text, err)) return false;
    if (!json_parse(arena, text, v, err)) return within(err, "%.*s", STR_ARG(name));
    if (v->kind != V_MAP)
        return fail(err, EF_BAD_MODEL, "%.*s must be an object: found %s", STR_ARG(name),
                    value_kind_name(v->kind));
    return *out = v, true;
}

/* What the vocabulary itself tells of the class: a special token as file name. */
static Str convert_class_hint(Str name, Str bytes, ConvertKind kind)
{
    static const char *const marks[] = { "<|startoftext|>", "<s>" };
    for (size_t i = 0; i < COUNT(marks) && kind == FROM_MERGES; i++)
        if (memmem(bytes.p, bytes.n, marks[i], strlen(marks[i]))) return str_of(marks[i]);
    return kind == FROM_WORDS ? STR("vocab.txt") : kind == FROM_MERGES ? STR("vocab.json") : name;
}

static bool convert_bytes(Arena *arena, const TokenizerFiles *f, Str bytes, ConvertKind kind,
                          const Sidecar *side, Value *out, Err *err)
{
    Str merges = { 0 };
    const char *file = path_join(arena, path_dir(arena, f->vocab), STR("merges.txt"));
    if (kind == FROM_MERGES && !file_read(arena, file, FILE_LIMIT, &merges, err)) return false;
    Str class = value_str(value_get(side->config, "tokenizer_class"), STR(""));
    const Style *style =
        convert_style(class, convert_class_hint(path_name(f->vocab), bytes, kind), kind);
    return convert_tokenizer(arena, style, bytes, merges, side, out, err);
}

static bool convert_parse_json(Arena *arena, Str json, const Sidecar *side, Value *out, Err *err)
{
    if (!json_parse(arena, json, out, err)) return within(err, "tokenizer.json");
    if (side->config || side->specials || side->added) settings_apply(arena, out, side);
    return true;
}

/* *converted: it was no tokenizer.json. */
static bool read_tree(Arena *arena, const TokenizerFiles *f, const Sidecar *side, Value *out,
                      bool *converted, Err *err)
{
    Str bytes, name = path_name(f->vocab);
    bool pieces = str_ends(name, ".model"), words = str_ends(name, ".txt");
    if (!file_read(arena, f->vocab, FILE_LIMIT, &bytes, err)) return false;
    *converted = pieces || words || str_is(name, "vocab.json");
    if (!*converted) return convert_parse_json(arena, bytes, side, out, err);
    ConvertKind kind = pieces ? FROM_SENTENCEPIECE : words ? FROM_WORDS : FROM_MERGES;
    return convert_bytes(arena, f, bytes, kind, side, out, err) ||
           within(err, "%.*s", STR_ARG(name));
}

static bool convert_read_sidecar(Arena *arena, const TokenizerFiles *f, Sidecar *side, Err *err)
{
    return convert_read_object(arena, f->config, &side->config, err) &&
           convert_read_object(arena, f->specials, &side->specials, err) &&
           convert_read_object(arena, f->added, &side->added, err);
}

bool tokenizer_converted(Arena *arena, const TokenizerFiles *f, Value *out, Err *err)
{
    Sidecar side = { 0 };
    bool converted;
    if (!convert_read_sidecar(arena, f, &side, err) ||
        !read_tree(arena, f, &side, out, &converted, err))
        return false;
    convert_publish(out);
    return true;
}

bool tokenizer_tree(Arena *arena, const TokenizerFiles *f, Value *out, Err *err)
{
    Sidecar side = { 0 };
    const Value *sentence = NULL;
    bool converted;
    if (!convert_read_sidecar(arena, f, &side, err) ||
        !convert_read_object(arena, f->sentence, &sentence, err) ||
        !read_tree(arena, f, &side, out, &converted, err))
        return false;
    if (converted) settings_common(arena, out, &side);
    if (value_bool(value_get(sentence, "do_lower_case"), false)) settings_lowercase(arena, out);
    return true;
}

bool tokenizer_is_json(const char *vocab)
{
    return str_ends(path_name(vocab), ".json") && !str_is(path_name(vocab), "vocab.json");
}

TokenizerFiles tokenizer_files_at(Arena *arena, const char *path)
{
    TokenizerFiles f = { .vocab = path };
    if (dir_is(path)) return tokenizer_files(arena, path);
    if (!tokenizer_is_json(path))
        find_sidecar(arena, path_dir(arena, path), &f);
    return f;
}

bool tokenizer_find(Arena *arena, const char *path, TokenizerFiles *f, Err *err)
{
    *f = tokenizer_files_at(arena, path);
    return (f->vocab && file_is(f->vocab)) ||
           fail(err, EF_NOT_FOUND,
                "%s: found no tokenizer.json, vocab.txt, vocab.json or SentencePiece model", path);
}

static bool convert_open_files(Arena *tree, Arena *arena, const char *path, Tokenizer **out,
                               Err *err)
{
    TokenizerFiles f;
    Value root;
    if (!tokenizer_find(tree, path, &f, err)) return false;
    return (tokenizer_tree(tree, &f, &root, err) &&
            tokenizer_from_value(arena, &root, out, err)) || within(err, "%s", f.vocab);
}

bool tokenizer_open(Arena *arena, const char *path, Tokenizer **out, Err *err)
{
    Arena tree = { .local = true };
    bool ok = convert_open_files(&tree, arena, path, out, err);
    arena_free(&tree);
    return ok || fail_of_model(err);
}
