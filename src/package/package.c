/* SPDX-License-Identifier: Apache-2.0
 * package.c - reads the container. The file is untrusted; checked are the footer's offsets, the
 * manifest's wire format, the bounds of every member, and the SHA-256 of the small ones. Weights
 * are hashed only on request, so that a start does not read them. */
#include "package/package.h"

#include "data/wire.h"
#include "kernels/kernels.h"
#include "package/elf.h"
#include "package/format.h"

const MemberRow member_rows[MEMBER_COUNT] = {
    [MEMBER_WEIGHTS] = { "weights", 100 },
    [MEMBER_TRANSFORM] = { "transform", 110 },
    [MEMBER_CONFIG] = { "model_config", 120 },
    [MEMBER_TOKENIZER] = { "tokenizer", 130 },
    [MEMBER_IMAGE] = { "image_preprocessor", 140 },
    [MEMBER_GRAPH] = { "graph", 1000 },
    [MEMBER_PANELS] = { "panels", 1001 },
    [MEMBER_FULL_CONFIG] = { "config", 1002 },
    [MEMBER_FACTS] = { "facts", 1003 },
    [MEMBER_TOKENS] = { "tokenizer_tables", 1004 },
    [MEMBER_HEAD] = { "head", 1005 },
    [MEMBER_TEXT_GRAPH] = { "text_graph", 1006 },
    [MEMBER_TEXT_PANELS] = { "text_panels", 1007 },
    [MEMBER_AUDIO] = { "audio_preprocessor", 1008 },
};

const char *member_name(MemberKind kind)
{
    return member_rows[kind].name;
}

static uint64_t read_little(const uint8_t *p, int bytes)
{
    uint64_t n = 0;
    for (int i = 0; i < bytes; i++) n |= (uint64_t)p[i] << (8 * i);
    return n;
}

static void put_little(uint8_t *p, uint64_t n, int bytes)
{
    for (int i = 0; i < bytes; i++) p[i] = (uint8_t)(n >> (8 * i));
}

bool footer_read(Str file, Footer *f)
{
    if (file.n < FOOTER_BYTES) return false;
    const uint8_t *p = (const uint8_t *)file.p + file.n - FOOTER_BYTES;
    if (memcmp(p, FOOTER_MAGIC, 8) != 0) return false;
    *f = (Footer){ .version = (uint32_t)read_little(p + 8, 4), .offset = read_little(p + 12, 8),
                   .length = read_little(p + 20, 8), .flags = (uint32_t)read_little(p + 28, 4) };
    return true;
}

void footer_write(const Footer *f, uint8_t out[FOOTER_BYTES])
{
    memcpy(out, FOOTER_MAGIC, 8);
    put_little(out + 8, f->version, 4);
    put_little(out + 12, f->offset, 8);
    put_little(out + 20, f->length, 8);
    put_little(out + 28, f->flags, 4);
}

bool payload_find(Str *file, Footer *f)
{
    Str section;
    if (footer_read(*file, f)) return true;
    if (!elf_section(*file, PAYLOAD_SECTION, &section) || !footer_read(section, f)) return false;
    f->offset = (uint64_t)(section.p - file->p);
    file->n = (size_t)f->offset + section.n;
    return true;
}

/* The bytes offset .. offset+length of the file before its footer. */
static bool package_slice(Str file, uint64_t offset, uint64_t length, const char *what, Str *out,
                          Err *err)
{
    uint64_t end, limit = file.n - FOOTER_BYTES;
    if (__builtin_add_overflow(offset, length, &end))
        return fail(err, EF_BAD_MODEL, "metadata offset overflow: %s at byte %llu with length %llu",
                    what, (unsigned long long)offset, (unsigned long long)length);
    if (end > limit)
        return fail(err, EF_BAD_MODEL,
                    "truncated encoderfile: %s ends at byte %llu, file length is %zu", what,
                    (unsigned long long)end, file.n);
    *out = (Str){ file.p + offset, (size_t)length };
    return true;
}

static bool read_footer(Str *file, Footer *f, Err *err)
{
    if (!payload_find(file, f))
        return fail(err, EF_BAD_MODEL,
                    "Not a valid encoderfile: no payload in this file (was it stripped or "
                    "truncated?)");
    if (f->version != FORMAT_VERSION)
        return fail(err, EF_UNSUPPORTED, "encoderfile format: found version %u, wanted %d",
                    f->version, FORMAT_VERSION);
    if (!(f->flags & FLAG_PROTOBUF))
        return fail(err, EF_BAD_MODEL, "format v1 requires protobuf metadata: found flags %u",
                    f->flags);
    return true;
}

/* Sums and hashes of a member while its record is read. */
typedef struct Artifact {
    uint64_t offset, length;
    Str sha256;
} Artifact;

static bool read_artifact(Str bytes, Artifact *a, Err *err)
{
    Wire w = wire_over(bytes);
    while (wire_next(&w, err)) {
        if (w.field == ARTIFACT_OFFSET && w.type == WIRE_64) a->offset = w.number;
        if (w.field == ARTIFACT_LENGTH && w.type == WIRE_64) a->length = w.number;
        if (w.field == ARTIFACT_SHA256 && w.type == WIRE_BYTES) a->sha256 = w.bytes;
    }
    return err->code == EF_OK;
}

static bool package_read_member(Str file, const Package *p, Str record, MemberKind kind,
                                PackageMember *m, Err *err)
{
    Artifact a = { 0 };
    if (!read_artifact(record, &a, err)) return within(err, "failed to decode manifest protobuf");
    uint64_t at;
    if (__builtin_add_overflow(p->program_size, a.offset, &at))
        return fail(err, EF_BAD_MODEL, "metadata offset overflow: %s", member_name(kind));
    if (!package_slice(file, at, a.length, member_name(kind), &m->bytes, err)) return false;
    if (a.sha256.n != sizeof m->sha256)
        return fail(err, EF_BAD_MODEL, "%s: SHA-256 has %zu bytes, wanted 32", member_name(kind),
                    a.sha256.n);
    memcpy(m->sha256, a.sha256.p, sizeof m->sha256);
    return true;
}

static MemberKind member_by_field(int field)
{
    MemberKind kind = 0;
    while (kind < MEMBER_COUNT && member_rows[kind].field != field) kind++;
    return kind;
}

static bool read_manifest(Str file, Str manifest, Package *p, Err *err)
{
    Wire w = wire_over(manifest);
    err->code = EF_OK;
    while (wire_next(&w, err)) {
        MemberKind kind = member_by_field(w.field);
        if (w.field == MANIFEST_TYPE && w.type == WIRE_VARINT)
            p->model_type = (int)(w.number & 0xffff);
        if (w.field == MANIFEST_NAME && w.type == WIRE_BYTES) p->name = w.bytes;
        if (w.field == MANIFEST_VERSION && w.type == WIRE_BYTES) p->version = w.bytes;
        if (kind == MEMBER_COUNT || w.type != WIRE_BYTES)
            continue; /* later versions may have more */
        if (!package_read_member(file, p, w.bytes, kind, &p->member[kind], err)) return false;
    }
    if (err->code != EF_OK) return within(err, "failed to decode manifest protobuf");
    if (!utf8_valid(p->name) || !utf8_valid(p->version))
        return fail(err, EF_BAD_MODEL,
                    "failed to decode manifest protobuf: name or version is not UTF-8");
    return true;
}

void member_hash(const PackageMember *m, uint8_t sha256[32])
{
    static const char zeros[256]; /* pieces start at 64-byte boundaries: gaps are short */
    Sha256 sha;
    sha256_start(&sha);
    uint64_t at = 0;
    for (size_t i = 0; i < m->n_piece; i++) {
        for (uint64_t n; (n = MIN(m->piece[i].offset - at, sizeof zeros)) > 0; at += n)
            sha256_add(&sha, zeros, n);
        sha256_add(&sha, m->piece[i].data, m->piece[i].bytes);
        at += m->piece[i].bytes;
    }
    if (m->n_piece == 0 && m->bytes.n) sha256_add(&sha, m->bytes.p, m->bytes.n), at = m->bytes.n;
    for (uint64_t n; (n = MIN(m->bytes.n - at, sizeof zeros)) > 0; at += n)
        sha256_add(&sha, zeros, n);
    sha256_end(&sha, sha256);
}

static bool check_hash(const Package *p, MemberKind kind, Err *err)
{
    uint8_t found[32];
    const PackageMember *m = &p->member[kind];
    if (!m->bytes.p) return true;
    member_hash(m, found);
    return memcmp(found, m->sha256, sizeof found) == 0 ||
           fail(err, EF_BAD_MODEL, "%s: SHA-256 does not match the manifest: the file is damaged",
                member_name(kind));
}

/* Of large tables a start reads little, and every index is checked where it is used. */
static bool hashed_at_open(const Package *p, MemberKind kind)
{
    return p->member[kind].bytes.n < (kind == MEMBER_TOKENS ? TABLES_HASHED : HASHED_AT_OPEN);
}

bool package_parse(Str file, Package *p, Err *err)
{
    Footer f;
    Str manifest;
    *p = (Package){ .name = STR(""), .version = STR("") };
    if (!read_footer(&file, &f, err)) return false;
    if (!package_slice(file, f.offset, f.length, "manifest", &manifest, err)) return false;
    p->program_size = f.offset;
    bool ok = read_manifest(file, manifest, p, err);
    for (MemberKind kind = 0; kind < MEMBER_COUNT && ok; kind++)
        ok = !hashed_at_open(p, kind) || check_hash(p, kind, err);
    return ok;
}

bool package_verify(const Package *p, Err *err)
{
    bool ok = true;
    for (MemberKind kind = 0; kind < MEMBER_COUNT && ok; kind++) ok = check_hash(p, kind, err);
    return ok;
}

bool package_is(const char *path)
{
    Mapping map;
    Footer f;
    Err ignored;
    if (!file_map(path, &map, &ignored)) return false;
    bool is = payload_find(&(Str){ (const char *)map.p, map.n }, &f);
    file_unmap(&map);
    return is;
}

bool package_open(const char *path, Package *p, Err *err)
{
    Mapping map;
    *p = (Package){ 0 };
    if (!file_map(path, &map, err)) return false;
    if (!package_parse((Str){ (const char *)map.p, map.n }, p, err)) {
        file_unmap(&map);
        *p = (Package){ 0 };
        return within(err, "%s", path);
    }
    p->file = map;
    return true;
}

void package_close(Package *p)
{
    file_unmap(&p->file);
    *p = (Package){ 0 };
}
