/* SPDX-License-Identifier: Apache-2.0
 * fuzz_package.c - package_parse on any bytes: an error, or members that lie inside the file. Tables
 * of a tokenizer are opened and used even if their hash is wrong: large ones are never hashed. The
 * same bytes as a program: its note, and its section table with one more section. */
#include "package/elf.h"
#include "package/package.h"
#include "text/text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void use_tables(Str tables)
{
    Arena arena = { 0 };
    Tokenizer *t;
    Encoding e;
    Err err = { 0 };
    Str copy = { memcpy(arena_raw(&arena, tables.n + 1), tables.p, tables.n), tables.n }, text;
    if (!tokenizer_map(&arena, copy, &t, &err)) assert(err.code != EF_OK && err.message[0]);
    else if (tokenizer_encode(t, &arena, STR("ab aba \xc3\xa9x"), NULL, NULL, &e, &err)) {
        for (size_t i = 0; i < e.n; i++)
            assert(e.ids[i] >= 0 && (size_t)e.ids[i] < tokenizer_size(t));
        assert(tokenizer_decode(t, e.ids, e.n, false, &arena, &text, &err));
    }
    arena_free(&arena);
}

static void use_program(Str file)
{
    Str note = { 0 };
    ElfGrown g;
    elf_note(file, "encoderfile", 1, &note);
    assert(!note.n || (note.p >= file.p && note.p + note.n <= file.p + file.n));
    elf_grow(file, ".encfile", 100, 4096, &g);
    assert(g.n_head + g.body.n <= file.n && g.body.p >= file.p);
    assert(g.offset % 4096 == 0 && g.offset >= g.n_head + g.body.n + g.tables.n);
    buf_free(&g.tables);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    Package p;
    Err err = { 0 };
    Str file = { (const char *)data, size };
    use_program(file);
    bool ok = package_parse(file, &p, &err);
    if (p.member[MEMBER_TOKENS].bytes.p) use_tables(p.member[MEMBER_TOKENS].bytes);
    if (!ok) {
        assert(err.code != EF_OK && err.message[0]);
        return 0;
    }
    for (int kind = 0; kind < MEMBER_COUNT; kind++) {
        Str m = p.member[kind].bytes;
        assert(!m.p || (m.p >= file.p && m.n <= size && m.p + m.n <= file.p + size));
    }
    package_verify(&p, &err);
    return 0;
}
