/* SPDX-License-Identifier: Apache-2.0
 * test_data_safetensors.c - headers that lie: each is refused with a word about what is wrong. */
#include <unistd.h>

#include "check.h"
#include "data/checkpoint.h"

/* header (its length is put before it) and `data` bytes of zeros */
static Str file_of(Arena *arena, const char *header, size_t data)
{
    size_t n = strlen(header);
    char *p = arena_alloc(arena, 8 + n + data);
    for (int i = 0; i < 8; i++) p[i] = (char)(n >> 8 * i);
    memcpy(p + 8, header, n);
    return (Str){ p, 8 + n + data };
}

#define ENTRY(type, shape, from, to) \
    "{\"dtype\":\"" type "\",\"shape\":" shape ",\"data_offsets\":[" #from "," #to "]}"

static void good(void)
{
    Arena arena = { 0 };
    Err err = { 0 };
    Safetensors s;
    TEST("good");
    const char *header = "{\"__metadata__\":{\"format\":\"pt\"},\"b\":" ENTRY("BF16", "[3]", 24, 30)
        ",\"a\":" ENTRY("F32", "[2,3]", 0, 24) ",\"none\":" ENTRY("F32", "[0,7]", 30, 30)
        ",\"one\":" ENTRY("I64", "[]", 30, 38) "}   ";
    Str file = file_of(&arena, header, 38);
    CHECK(safetensors_read(&arena, file, &s, &err) && s.n == 4);
    const SafeTensor *a = safetensors_find(&s, STR("a")), *b = safetensors_find(&s, STR("b"));
    if (CHECK(a && b && !safetensors_find(&s, STR("c")))) {
        CHECK(a->rank == 2 && a->dim[0] == 2 && a->dim[1] == 3 && a->type == SAFE_F32);
        CHECK((const char *)a->data == file.p + file.n - 38 && a->bytes == 24);
        CHECK(b->type == SAFE_BF16 && (const char *)b->data == file.p + file.n - 14);
        CHECK(strcmp(safetype_name(b->type), "BF16") == 0 && safetype_size(b->type) == 2);
    }
    CHECK(safetensors_read(&arena, file_of(&arena, "{}", 0), &s, &err) && s.n == 0);
    arena_free(&arena);
}

static const struct {
    const char *header;
    size_t data;
    const char *says;
} bad[] = {
    { "", 0, "header" },
    { "[1]", 0, "wanted an object" },
    { "{\"a\":1}", 0, "a: wanted an object" },
    { "{\"a\":{}}", 0, "dtype is missing" },
    { "{\"a\":{\"dtype\":\"F31\"}}", 0, "found dtype F31" },
    { "{\"a\":{\"dtype\":\"F32\"}}", 0, "shape is missing" },
    { "{\"a\":" ENTRY("F32", "[-1]", 0, 4) "}", 4, "whole numbers from 0" },
    { "{\"a\":" ENTRY("F32", "[1.5]", 0, 4) "}", 4, "whole numbers from 0" },
    { "{\"a\":" ENTRY("F32", "[1,1,1,1,1,1,1,1,1]", 0, 4) "}", 4, "at most 8" },
    { "{\"a\":" ENTRY("F32", "[4611686018427387904,4]", 0, 0) "}", 4, "more bytes than the file" },
    { "{\"a\":" ENTRY("F32", "[9223372036854775807]", 0, 4) "}", 4, "more bytes than the file" },
    { "{\"a\":" ENTRY("F32", "[1]", 0, 8) "}", 8, "the shape needs 4" },
    { "{\"a\":" ENTRY("F32", "[1]", 4, 0) "}", 4, "data_offsets" },
    { "{\"a\":" ENTRY("F32", "[1]", -4, 0) "}", 4, "data_offsets" },
    { "{\"a\":" ENTRY("F32", "[1]", 1, 5) "}", 4, "in 4 bytes of data" },
    { "{\"a\":" ENTRY("F32", "[1]", 4, 8) "}", 8, "follows a hole" },
    { "{\"a\":" ENTRY("F32", "[1]", 0, 4) "}", 8, "belong to no tensor" },
    { "{\"a\":" ENTRY("F32", "[2]", 0, 8) ",\"b\":" ENTRY("F32", "[1]", 4, 8) "}", 8, "overlaps" },
    { "{\"a\":" ENTRY("U8", "[1]", 0, 1) ",\"a\":" ENTRY("U8", "[1]", 1, 2) "}", 2, "comes twice" },
};

static void refused(void)
{
    TEST("refused");
    for (size_t i = 0; i < COUNT(bad); i++) {
        Arena arena = { 0 };
        Err err = { 0 };
        Safetensors s;
        Str file = file_of(&arena, bad[i].header, bad[i].data);
        if (!CHECK(!safetensors_read(&arena, file, &s, &err)) || !CHECK(says(&err, bad[i].says)))
            printf("  %s\n", bad[i].header);
        CHECK(err.code == EF_BAD_MODEL);
        arena_free(&arena);
    }
}

static void truncated(void)
{
    Arena arena = { 0 };
    TEST("truncated");
    Str whole = file_of(&arena, "{\"a\":" ENTRY("F32", "[2]", 0, 8) "}", 8);
    for (size_t n = 0; n < whole.n; n++) {
        Err err = { 0 };
        Safetensors s;
        CHECK(!safetensors_read(&arena, (Str){ whole.p, n }, &s, &err));
    }
    arena_free(&arena);
}

/* ---- several files ---- */
static void put(Arena *arena, const char *folder, const char *name, Str bytes)
{
    Err err;
    CHECK(file_write(arena, path_join(arena, folder, str_of(name)), bytes, &err));
}

static void sharded(void)
{
    Arena arena = { 0 };
    Err err = { 0 };
    Safetensors s;
    char folder[] = "/tmp/ef-shards-XXXXXX";
    TEST("sharded");
    if (!CHECK(mkdtemp(folder))) return;
    put(&arena, folder, "one", file_of(&arena, "{\"a\":" ENTRY("U8", "[1]", 0, 1) "}", 1));
    put(&arena, folder, "two", file_of(&arena, "{\"b\":" ENTRY("U8", "[2]", 0, 2) "}", 2));
    const char *index = "model.safetensors.index.json";
    put(&arena, folder, index, STR("{\"weight_map\": {\"a\": \"one\", \"b\": \"two\"}}"));
    CHECK(checkpoint_open(&arena, folder, &s, &err) && s.n == 2 && s.n_file == 2);
    const SafeTensor *b = safetensors_find(&s, STR("b"));
    CHECK(b && b->bytes == 2);
    safetensors_close(&s);
    put(&arena, folder, index, STR("{\"weight_map\": {\"a\": \"two\"}}"));
    CHECK(!checkpoint_open(&arena, folder, &s, &err) && says(&err, "a is not in two"));
    put(&arena, folder, index, STR("{\"weight_map\": {\"a\": \"../one\"}}"));
    CHECK(!checkpoint_open(&arena, folder, &s, &err) && says(&err, "a file of this folder"));
    put(&arena, folder, index, STR("{\"weight_map\": {\"a\": \"gone\"}}"));
    CHECK(!checkpoint_open(&arena, folder, &s, &err) && says(&err, "gone"));
    put(&arena, folder, index, STR("{\"weight_map\": [1]}"));
    CHECK(!checkpoint_open(&arena, folder, &s, &err) && says(&err, "weight_map"));
    static const char *const names[] = { "one", "two", "model.safetensors.index.json" };
    for (size_t i = 0; i < COUNT(names); i++) unlink(path_join(&arena, folder, str_of(names[i])));
    rmdir(folder);
    arena_free(&arena);
}

int main(void)
{
    good();
    refused();
    truncated();
    sharded();
    return finish();
}
