/* SPDX-License-Identifier: Apache-2.0
 * test_export_tokenizer.c - a folder without tokenizer.json gets one when it is exported, and that
 * file alone gives the ids that transformers gives for the folder (tests/golden/text_models, c_*;
 * tools/oracle/tokenizer_written.py reads the written files with the reference itself). */
#include <unistd.h>

#define GOLDEN "" /* the working folder: there the written files lie */
#include "export/files.h"
#include "folder.h"
#include "text_replay.h"

static const char *const names[] = { "c_albert", "c_bert", "c_camembert", "c_cased", "c_clip",
                                     "c_deberta", "c_gpt2", "c_mpnet", "c_roberta", "c_spm",
                                     "c_xlmr" };

/* Copies the settings of a golden folder to the folder `name`, and moves what was made of its
 * vocabulary to where the replay looks for it. */
static void write_one(const char *golden, const char *name)
{
    Err err = { 0 };
    Export e = { .target = name };
    e.folder = e.encoder = path_join(&keep, golden, str_of(name));
    const char *made = path_join(&keep, name, STR("tokenizer.json"));
    CHECK(!file_is(path_join(&keep, e.folder, STR("tokenizer.json"))));
    bool told = false;
    if (!CHECK(files_copy_settings(&e, &err) && file_is(made))) printf("  %s\n", err.message);
    for (int i = 0; i < e.n_file; i++) told |= strcmp(e.file[i].name, "tokenizer.json") == 0;
    CHECK(told);
    CHECK(rename(made, str_format(&keep, "%s.json", name)) == 0);
    arena_free(&e.arena);
}

static int converted; /* cases */

static void replay_converted(Arena *arena, const Value *row)
{
    if (!str_starts(value_str(value_get(row, "t"), STR("")), "c_")) return;
    converted++;
    replay(arena, row);
}

/* Ids in the file are those the tokens have: a reader may take them as they stand. */
static void true_ids(void)
{
    Str text;
    Value root;
    Err err = { 0 };
    TEST("added tokens have their ids");
    if (!CHECK(file_read(&keep, "c_bert.json", FILE_LIMIT, &text, &err) &&
               json_parse(&keep, text, &root, &err)))
        return;
    const Value *added = value_get(&root, "added_tokens");
    const Value *vocab = value_get(value_get(&root, "model"), "vocab");
    CHECK(added && added->list.n >= 5 && value_get(&root, "version"));
    for (size_t i = 0; added && i < added->list.n; i++) {
        const Value *one = &added->list.items[i];
        const char *content = str_dup(&keep, value_str(value_get(one, "content"), STR("")));
        CHECK(value_int(value_get(one, "id"), -1) == value_int(value_get(vocab, content), -2));
    }
}

/* Left out: where it is not asked for, and where the source has its own. */
static void not_written(const char *bus, const char *bert)
{
    Err err = { 0 };
    Export no = { .target = "no", .folder = bert, .encoder = bert, .no_tokenizer = true };
    Export own = { .target = "own", .folder = bus, .encoder = bus };
    Str a, b;
    TEST("no tokenizer, or its own");
    CHECK(files_copy_settings(&no, &err) && !file_is("no/tokenizer.json"));
    CHECK(files_copy_settings(&own, &err));
    CHECK(file_read(&keep, path_join(&keep, bus, STR("tokenizer.json")), FILE_LIMIT, &a, &err) &&
          file_read(&keep, "own/tokenizer.json", FILE_LIMIT, &b, &err) && str_eq(a, b));
    arena_free(&no.arena), arena_free(&own.arena);
}

/* A vocabulary that cannot be read: a warning, and no file. */
static void broken(void)
{
    Err err = { 0 };
    Export e = { .target = "broken-out", .folder = "broken", .encoder = "broken" };
    TEST("a broken vocabulary");
    CHECK(dir_make_parents("broken/vocab.json", &err) &&
          file_write(&keep, "broken/vocab.json", STR("[1]"), &err));
    CHECK(files_copy_settings(&e, &err) && !file_is("broken-out/tokenizer.json"));
    CHECK(file_is("broken-out/vocab.json"));
    arena_free(&e.arena);
}

int main(void)
{
    char work[] = "/tmp/ef-written-XXXXXX";
    const char *golden = path_real(&keep, "tests/golden/text_models");
    const char *bus = path_real(&keep, "examples/bus-ner");
    CHECK(mkdtemp(work) && chdir(work) == 0);
    TEST("written");
    for (size_t i = 0; i < COUNT(names); i++) write_one(golden, names[i]);
    TEST("ids of transformers");
    replay_lines(path_join(&keep, golden, STR("cases.jsonl")), replay_converted);
    CHECK(converted > 300);
    true_ids();
    not_written(bus, path_join(&keep, golden, STR("c_bert")));
    broken();
    remove_tree(work);
    arena_free(&keep);
    return finish();
}
