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
    CHECK(p->program_size == 7);
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
    TEST("programs");
    const char *self = path_self(&arena, &err);
    CHECK(self && program_check(self, self, &err));
    CHECK(!program_check(in_folder("program"), self, &err) && says(&err, "no ELF header"));
    Str elf;
    CHECK(file_read(&arena, self, 1 << 28, &elf, &err));
    ((char *)elf.p)[18] ^= 0x40;
    CHECK(file_write(&arena, in_folder("foreign"), elf, &err));
    CHECK(!program_check(in_folder("foreign"), self, &err) && says(&err, "another machine"));
}

int main(void)
{
    if (!mkdtemp(folder)) return 1;
    round_trip();
    broken_footers();
    broken_manifests();
    damaged_members();
    failing_writes();
    static const char *const files[] = { "program", "x.encoderfile", "again", "large", "foreign" };
    for (size_t i = 0; i < COUNT(files); i++) unlink(in_folder(files[i]));
    CHECK(rmdir(folder) == 0); /* nothing else was left behind */
    arena_free(&arena);
    return finish();
}
