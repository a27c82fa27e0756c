/* SPDX-License-Identifier: Apache-2.0
 * test_package.c - the container: a round trip through a file, and the ways bytes can lie. */
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"
#include "data/wire.h"
#include "package/package.h"

static char folder[] = "/tmp/ef-package-XXXXXX";
static Arena arena;

static const char *in_folder(const char *name)
{
    return str_format(&arena, "%s/%s", folder, name);
}

static const char big[100000] = "weights";

/* Three members: bytes, an empty one, and one in pieces with gaps. */
static Package sample(void)
{
    static const MemberPiece pieces[] = { { "head", 4, 0 },
                                          { big, sizeof big, 64 },
                                          { "tail", 4, 131072 } };
    Package p = { .model_type = 3, .name = STR("ner"), .version = STR("0.1.0") };
    p.member[MEMBER_CONFIG].bytes = STR("{\"model_type\":\"bert\"}");
    p.member[MEMBER_TRANSFORM].bytes = STR("");
    p.member[MEMBER_PANELS] =
        (PackageMember){ .bytes = { NULL, 131200 }, .piece = pieces, .n_piece = 3 };
    return p;
}

static bool write_sample(const char *program, const char *path, Err *err)
{
    Package p = sample();
    return package_write(program, path, &p, err);
}

static void check_sample(const Package *p)
{
    CHECK(p->model_type == 3 && str_is(p->name, "ner") && str_is(p->version, "0.1.0"));
    CHECK(p->program_size % 4096 == 0);
    CHECK(str_is(p->member[MEMBER_CONFIG].bytes, "{\"model_type\":\"bert\"}"));
    CHECK(p->member[MEMBER_TRANSFORM].bytes.p && p->member[MEMBER_TRANSFORM].bytes.n == 0);
    CHECK(!p->member[MEMBER_WEIGHTS].bytes.p);
    Str panels = p->member[MEMBER_PANELS].bytes;
    CHECK(panels.n == 131200 && memcmp(panels.p, "head\0\0", 6) == 0);
    CHECK(memcmp(panels.p + 64, big, sizeof big) == 0 && memcmp(panels.p + 131072, "tail", 4) == 0);
    CHECK(panels.p[131199] == 0);
    for (int kind = 0; kind < MEMBER_COUNT; kind++) {
        Str m = p->member[kind].bytes;
        if (m.p) CHECK((m.p - (const char *)p->file.p) % (m.n < 4096 ? 64 : 4096) == 0);
    }
}

static void round_trip(void)
{
    TEST("round trip");
    Err err = { 0 };
    Package p;
    struct stat st;
    const char *program = in_folder("program"), *path = in_folder("x.encoderfile"),
               *again = in_folder("again");
    CHECK(file_write(&arena, program, STR("program"), &err));
    CHECK(!package_is(program) && !package_is(in_folder("absent")));
    CHECK(write_sample(program, path, &err) && package_is(path));
    CHECK(stat(path, &st) == 0 && (st.st_mode & 0777) == 0755);
    if (CHECK(package_open(path, &p, &err))) {
        check_sample(&p);
        CHECK(package_verify(&p, &err));
        package_close(&p);
    }
    TEST("a package as the program of another");
    CHECK(write_sample(path, again, &err) && package_open(again, &p, &err));
    check_sample(&p);
    package_close(&p);
    TEST("packages of before, whose manifest follows the program at once");
    static const char *const before[] = { "ours", "peer" };
    for (size_t i = 0; i < COUNT(before); i++) {
        const char *old = str_format(&arena, "tests/fuzz/corpus/package/%s", before[i]);
        if (!CHECK(package_open(old, &p, &err) && package_verify(&p, &err))) continue;
        CHECK(p.program_size < 4096 && p.member[MEMBER_CONFIG].bytes.n > 0);
        package_close(&p);
        CHECK(write_sample(old, again, &err) && package_open(again, &p, &err));
        check_sample(&p);
        package_close(&p);
    }
}

/* ---- the section that strip keeps ---- */

static uint64_t number(const char *p, int bytes)
{
    uint64_t n = 0;
    for (int i = bytes; i--;) n = n << 8 | (uint8_t)p[i];
    return n;
}

static void put_number(char *p, uint64_t n, int bytes)
{
    for (int i = 0; i < bytes; i++) p[i] = (char)(n >> 8 * i);
}

enum { E_TYPE = 16, E_MACHINE = 18, E_SHOFF = 40, E_SHNUM = 60, SH_OFFSET = 24, SH_SIZE = 32, SH_BYTES = 64 };

/* What strip makes of a package: the payload two pages further, the table of sections last. */
static Str strip_by_hand(Str file, const Package *p)
{
    uint64_t from = p->program_size, to = from + 8192, table = number(file.p + E_SHOFF, 8);
    size_t bytes = SH_BYTES * number(file.p + E_SHNUM, 2), n = to + (file.n - from) + bytes;
    char *out = arena_alloc(&arena, n);
    memcpy(out, file.p, from);
    memcpy(out + to, file.p + from, file.n - from);
    memcpy(out + n - bytes, file.p + table, bytes);
    put_number(out + E_SHOFF, n - bytes, 8);
    put_number(out + n - SH_BYTES + SH_OFFSET, to, 8); /* our section is the last of the table */
    return (Str){ out, n };
}

static void stripped_packages(const char *self)
{
    TEST("a package that was stripped");
    Err err = { 0 };
    Package p;
    const char *path = in_folder("elf"), *stripped = in_folder("stripped"), *again = in_folder("again");
    CHECK(write_sample(self, path, &err));
    if (!CHECK(package_open(path, &p, &err))) return;
    check_sample(&p);
    Str file = { (const char *)p.file.p, p.file.n }, moved = strip_by_hand(file, &p);
    CHECK(file_write(&arena, stripped, moved, &err) && package_is(stripped));
    package_close(&p);
    if (!CHECK(package_open(stripped, &p, &err))) return;
    check_sample(&p);
    CHECK(package_verify(&p, &err) && p.program_size != number(moved.p + moved.n - 20, 8));
    package_close(&p);
    TEST("a program, its package and what strip made of it build the same");
    CHECK(write_sample(path, again, &err));
    Mapping one, two;
    if (CHECK(file_map(path, &one, &err) && file_map(again, &two, &err)))
        CHECK(one.n == two.n && memcmp(one.p, two.p, one.n) == 0), file_unmap(&two);
    CHECK(write_sample(stripped, again, &err));
    if (CHECK(file_map(again, &two, &err)))
        CHECK(one.n == two.n && memcmp(one.p, two.p, one.n) == 0), file_unmap(&two);
    file_unmap(&one);
}

/* How the Rust encoderfile reads: the footer is the last 32 bytes, its offset counts from the start
 * of the file, offsets of members from the manifest. Written after its format, not after ours. */
static void peer_reads(const char *self)
{
    TEST("how the Rust encoderfile reads");
    Err err = { 0 };
    Mapping file;
    if (!CHECK(write_sample(self, in_folder("elf"), &err) && file_map(in_folder("elf"), &file, &err))) return;
    const char *footer = (const char *)file.p + file.n - 32;
    CHECK(memcmp(footer, "ENCFILE", 8) == 0 && number(footer + 8, 4) == 1 && number(footer + 28, 4) == 1);
    const char *manifest = (const char *)file.p + number(footer + 12, 8);
    static const char head[] = "\x08\x03\x12\x03" "ner\x1a\x05" "0.1.0";
    CHECK(memcmp(manifest, head, sizeof head - 1) == 0);
    const char *transform = manifest + sizeof head - 1, *config = transform + 3 + 52;
    CHECK(memcmp(transform, "\xf2\x06\x34\x09", 4) == 0); /* 110, 52 bytes, fixed64 */
    CHECK(memcmp(config, "\xc2\x07\x34\x09", 4) == 0);    /* 120 */
    uint64_t at = number(config + 4, 8), length = number(config + 13, 8);
    CHECK(length == 21 && memcmp(manifest + at, "{\"model_type\":\"bert\"}", 21) == 0);
    file_unmap(&file);
}

/* ---- broken bytes ---- */

static Str load(const char *name)
{
    Err err;
    Str s = { 0 };
    CHECK(file_read(&arena, in_folder(name), 1 << 24, &s, &err));
    return s;
}

static bool rejects(Str file, const char *words)
{
    Err err = { 0 };
    Package p;
    return !package_parse(file, &p, &err) && says(&err, words);
}

static void set_u64(Str file, size_t from_end, uint64_t value)
{
    memcpy((char *)file.p + file.n - from_end, &value, 8);
}

static void broken_footers(void)
{
    TEST("footers");
    Str good = load("x.encoderfile");
    CHECK(rejects((Str){ 0 }, "Not a valid encoderfile"));
    CHECK(rejects((Str){ good.p, 31 }, "Not a valid encoderfile"));
    CHECK(rejects((Str){ good.p, good.n - 1 }, "stripped or truncated"));
    struct { size_t at; uint64_t value; const char *words; } cases[] = {
        { 20, UINT64_MAX, "overflow" },
        { 20, 1u << 30, "truncated encoderfile: manifest ends at byte" },
        { 12, UINT64_MAX - 3, "overflow" },
        { 12, 1u << 30, "truncated encoderfile: manifest" },
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        Str s = load("x.encoderfile");
        set_u64(s, cases[i].at, cases[i].value);
        CHECK(rejects(s, cases[i].words));
    }
    Str version = load("x.encoderfile"), flags = load("x.encoderfile");
    ((char *)version.p)[version.n - 24] = 2;
    CHECK(rejects(version, "found version 2, wanted 1"));
    ((char *)flags.p)[flags.n - 4] = 0;
    CHECK(rejects(flags, "format v1 requires protobuf metadata"));
}

/* A file that is a manifest and a footer, nothing else. */
static Str only_manifest(const Buf *manifest)
{
    Buf b = { 0 };
    uint64_t zero = 0, length = manifest->n;
    uint32_t one = 1;
    buf_add(&b, manifest->p, manifest->n);
    buf_add(&b, "ENCFILE", 8);
    buf_add(&b, &one, 4);
    buf_add(&b, &zero, 8);
    buf_add(&b, &length, 8);
    buf_add(&b, &one, 4);
    Str out = { memcpy(arena_raw(&arena, b.n), b.p, b.n), b.n };
    buf_free(&b);
    return out;
}

static Str with_member(uint64_t offset, uint64_t length, Str sha256)
{
    Buf member = { 0 }, manifest = { 0 };
    wire_put_fixed64(&member, 1, offset);
    wire_put_fixed64(&member, 2, length);
    wire_put_bytes(&member, 3, sha256);
    wire_put_bytes(&manifest, 120, buf_view(&member));
    Str out = only_manifest(&manifest);
    buf_free(&member);
    buf_free(&manifest);
    return out;
}

static void broken_manifests(void)
{
    TEST("manifests");
    static const char zeros[32];
    CHECK(rejects(with_member(0, UINT64_MAX, (Str){ zeros, 32 }), "model_config ends at byte"));
    CHECK(rejects(with_member(UINT64_MAX, 2, (Str){ zeros, 32 }), "overflow"));
    CHECK(rejects(with_member(0, 1000, (Str){ zeros, 32 }), "truncated encoderfile: model_config"));
    CHECK(rejects(with_member(0, 8, (Str){ zeros, 31 }), "SHA-256 has 31 bytes"));
    CHECK(rejects(with_member(0, 8, (Str){ zeros, 32 }), "does not match"));
    Buf garbage = { 0 }, name = { 0 };
    buf_add(&garbage, "\xff\xff\xff", 3);
    CHECK(rejects(only_manifest(&garbage), "failed to decode manifest protobuf"));
    wire_put_bytes(&name, 2, STR("\xff\xfe"));
    CHECK(rejects(only_manifest(&name), "not UTF-8"));
    buf_free(&garbage);
    buf_free(&name);
}

static void damaged_members(void)
{
    TEST("hashes");
    Err err = { 0 };
    Package p;
    Str small = load("x.encoderfile");
    if (!CHECK(package_parse(small, &p, &err))) return;
    ((char *)p.member[MEMBER_CONFIG].bytes.p)[3] ^= 1;
    CHECK(rejects(small, "model_config: SHA-256 does not match"));
    Package large = sample();
    static char weights[2 << 20];
    large.member[MEMBER_WEIGHTS].bytes = (Str){ weights, sizeof weights };
    CHECK(package_write(in_folder("program"), in_folder("large"), &large, &err));
    Str file = load("large");
    CHECK(package_parse(file, &p, &err) && package_verify(&p, &err));
    ((char *)p.member[MEMBER_WEIGHTS].bytes.p)[77] ^= 1;
    CHECK(package_parse(file, &p, &err)); /* large members are not hashed at open */
    CHECK(!package_verify(&p, &err) && says(&err, "weights: SHA-256 does not match"));
}

static void failing_writes(void)
{
    TEST("writes that fail leave nothing");
    Err err = { 0 };
    CHECK(!write_sample(in_folder("absent"), in_folder("y"), &err));
    CHECK(!write_sample(in_folder("program"), "/proc/nowhere/y", &err) &&
          says(&err, "cannot be written"));
    CHECK(access(in_folder("y"), F_OK) != 0);
}

/* ---- programs ---- */

/* What program_check says of this program with some bytes of it changed. */
static void refuses_program(Str elf, size_t at, uint64_t value, int bytes, const char *words)
{
    Err err = { 0 };
    const Target *target;
    Str changed = { memcpy(arena_raw(&arena, elf.n), elf.p, elf.n), elf.n };
    put_number((char *)changed.p + at, value, bytes);
    CHECK(file_write(&arena, in_folder("foreign"), changed, &err));
    CHECK(!program_check(in_folder("foreign"), &target, &err) && says(&err, words));
}

static void programs(const char *self)
{
    TEST("programs");
    Err err = { 0 };
    const Target *target = NULL;
    Str elf;
    CHECK(program_check(self, &target, &err) && target);
    CHECK(!program_check(in_folder("program"), &target, &err) && says(&err, "no ELF header"));
    CHECK(file_read(&arena, self, 1 << 28, &elf, &err));
    refuses_program(elf, E_MACHINE, 40, 2, "another machine: found ELF machine 40, wanted 62 (x86-64) or 183 (aarch64)");
    refuses_program(elf, 4, 1, 1, "another kind: wanted ELF of 64 bits, little endian");
    refuses_program(elf, 5, 2, 1, "another kind");
    refuses_program(elf, E_TYPE, 1, 2, "another type of ELF file");
    const char *note = memmem(elf.p, elf.n, "encoderfile\0\1\0\0\0", 16);
    if (!CHECK(note && note - elf.p < 4096)) return;
    refuses_program(elf, (size_t)(note - elf.p) + 12, 2, 4, "packages of format 2, wanted 1");
    refuses_program(elf, (size_t)(note - elf.p), 'E', 1, "not an encoderfile program");
    const Target *own = target_of(elf);
    put_number((char *)elf.p + E_MACHINE, own->machine == 183 ? 62 : 183, 2);
    CHECK(file_write(&arena, in_folder("foreign"), elf, &err));
    CHECK(program_check(in_folder("foreign"), &target, &err) && target != own);
    TEST("targets");
    static const char *const arm[] = { "aarch64-unknown-linux-gnu", "aarch64-linux", "aarch64", "arm64" };
    for (size_t i = 0; i < COUNT(arm); i++) {
        target = target_named(arm[i], &err);
        CHECK(target && target->machine == 183);
    }
    target = target_named("x86_64", &err);
    CHECK(target && target->machine == 62);
    CHECK(!target_named("riscv64-unknown-linux-gnu", &err) && says(&err, "wanted x86_64-unknown-linux-gnu"));
}

int main(void)
{
    if (!mkdtemp(folder)) return 1;
    round_trip();
    broken_footers();
    broken_manifests();
    damaged_members();
    failing_writes();
    Err err = { 0 };
    const char *self = path_self(&arena, &err);
    if (CHECK(self)) {
        stripped_packages(self);
        peer_reads(self);
        programs(self);
    }
    static const char *const files[] = { "program",  "x.encoderfile", "again", "large",
                                         "stripped", "foreign",       "elf" };
    for (size_t i = 0; i < COUNT(files); i++) unlink(in_folder(files[i]));
    CHECK(rmdir(folder) == 0); /* nothing else was left behind */
    arena_free(&arena);
    return finish();
}
