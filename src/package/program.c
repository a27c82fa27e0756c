/* SPDX-License-Identifier: Apache-2.0
 * program.c - is a file a program that can stand in front of a payload, and for which CPU? It is
 * never run, since it may be for another one: a note in it says which format it reads. */
#include "package/elf.h"
#include "package/format.h"

/* The note of this program, found by elf_note. */
static const struct {
    uint32_t owner_bytes, content_bytes, type;
    char owner[sizeof MARK_OWNER];
    uint32_t format;
} mark __attribute__((section(".note.encoderfile"), used, aligned(4))) = {
    sizeof MARK_OWNER, sizeof(uint32_t), MARK_TYPE, MARK_OWNER, FORMAT_VERSION,
};

static const Target targets[] = {
    { "x86_64-unknown-linux-gnu", "encoderfile-x86_64-linux", 62 },
    { "aarch64-unknown-linux-gnu", "encoderfile-aarch64-linux", 183 },
};

/* Programs are static, so that the C library of a triple makes no difference. */
static const struct Name {
    const char *name;
    const Target *target;
} names[] = {
    { "x86_64-unknown-linux-gnu", &targets[0] },
    { "x86_64-unknown-linux-musl", &targets[0] },
    { "x86_64-linux", &targets[0] },
    { "x86_64", &targets[0] },
    { "amd64", &targets[0] },
    { "aarch64-unknown-linux-gnu", &targets[1] },
    { "aarch64-unknown-linux-musl", &targets[1] },
    { "aarch64-linux", &targets[1] },
    { "aarch64", &targets[1] },
    { "arm64", &targets[1] },
};

const Target *target_named(const char *name, Err *err)
{
    for (size_t i = 0; i < COUNT(names); i++)
        if (strcmp(names[i].name, name) == 0) return names[i].target;
    fail(err, EF_UNSUPPORTED,
         "target: found `%s`, wanted %s (or x86_64-linux, x86_64, amd64) or %s (or aarch64-linux, "
         "aarch64, arm64)",
         name, targets[0].triple, targets[1].triple);
    return NULL;
}

const Target *target_of(Str file)
{
    ElfKind kind;
    if (!elf_kind(file, &kind)) return NULL;
    for (size_t i = 0; i < COUNT(targets); i++)
        if (targets[i].machine == kind.machine) return &targets[i];
    return NULL;
}

static bool check_machine(Str file, const Target **out, Err *err)
{
    ElfKind kind;
    if (!str_starts(file, "\177ELF"))
        return fail(err, EF_BAD_MODEL, "not an executable: found no ELF header");
    if (!elf_kind(file, &kind))
        return fail(err, EF_UNSUPPORTED,
                    "executable of another kind: wanted ELF of 64 bits, little endian");
    *out = target_of(file);
    if (!*out)
        return fail(err, EF_UNSUPPORTED,
                    "executable of another machine: found ELF machine %d, wanted %d (x86-64) or %d "
                    "(aarch64)",
                    kind.machine, targets[0].machine, targets[1].machine);
    return kind.runs ||
           fail(err, EF_BAD_MODEL, "not an executable: found another type of ELF file");
}

static bool check_mark(Str file, Err *err)
{
    Str content;
    uint32_t format;
    if (!elf_note(file, MARK_OWNER, MARK_TYPE, &content) || content.n < sizeof format)
        return fail(err, EF_BAD_MODEL,
                    "not an encoderfile program: found no note that says which format it reads");
    memcpy(&format, content.p, sizeof format);
    if (format != FORMAT_VERSION)
        return fail(err, EF_UNSUPPORTED, "program for packages of format %u, wanted %d", format,
                    FORMAT_VERSION);
    return true;
}

bool program_check(const char *path, const Target **out, Err *err)
{
    Mapping map;
    if (!file_map(path, &map, err)) return false;
    Str file = { (const char *)map.p, map.n };
    bool ok = check_machine(file, out, err) && check_mark(file, err);
    file_unmap(&map);
    return ok || within(err, "%s", path);
}
