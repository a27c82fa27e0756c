/* SPDX-License-Identifier: Apache-2.0
 * test_text_settings.c - the files beside a tokenizer.json, against what transformers makes of them
 * (tests/golden/text_settings, written by tools/oracle/tokenizer_settings.py). */
#include <stdlib.h>
#include <unistd.h>

#define GOLDEN "tests/golden/"
#include "text_replay.h"

static const char *const names[] = { "tokenizer.json", "tokenizer_config.json",
                                     "special_tokens_map.json", "added_tokens.json" };
static char folder[] = "/tmp/ef-settings-XXXXXX";

/* "@text/cased.json" stands for that file of the goldens. */
static void write_file(const char *path, const Value *content)
{
    Err err = { 0 };
    Buf b = { 0 };
    Str copy = value_str(content, STR("")), text;
    if (copy.n) {
        const char *from = str_format(&keep, GOLDEN "%.*s", (int)copy.n - 1, copy.p + 1);
        CHECK(file_read(&keep, from, FILE_LIMIT, &text, &err));
        buf_str(&b, text);
    } else json_write(&b, content);
    CHECK(file_write(&keep, path, buf_view(&b), &err));
    buf_free(&b);
}

static void open_folder(const Value *row)
{
    const Value *files = value_get(row, "files");
    Err err = { 0 };
    size_t i = 0;
    while (loaded[i].name) i++;
    for (size_t k = 0; k < COUNT(names); k++) {
        const char *path = path_join(&keep, folder, str_of(names[k]));
        unlink(path);
        if (value_get(files, names[k])) write_file(path, value_get(files, names[k]));
    }
    loaded[i].name = str_dup(&keep, value_str(value_get(row, "folder"), STR("")));
    if (!CHECK(tokenizer_open(&keep, folder, &loaded[i].tokenizer, &err)))
        printf("  %s: %s\n", loaded[i].name, err.message);
}

static void row(Arena *arena, const Value *v)
{
    if (value_get(v, "files")) open_folder(v);
    else replay(arena, v);
}

int main(void)
{
    TEST("transformers");
    if (CHECK(mkdtemp(folder))) replay_lines(GOLDEN "text_settings/cases.jsonl", row);
    for (size_t k = 0; k < COUNT(names); k++) unlink(path_join(&keep, folder, str_of(names[k])));
    rmdir(folder);
    arena_free(&keep);
    return finish();
}
