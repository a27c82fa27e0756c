/* SPDX-License-Identifier: Apache-2.0
 * write.c - writes the container behind a copy of the program: whole or not at all. Everything is
 * laid out before the first byte, so the manifest, which stands in front, is right at once; the
 * weights are streamed from where they lie (pieces), never gathered in memory. */
#include "base/log.h"
#include "data/wire.h"
#include "package/elf.h"
#include "package/format.h"

enum { STRIDE = 8 << 20 }; /* bytes between two updates of the progress bar */

typedef struct PackageLayout {     /* offsets from the manifest, which lies at a page */
    uint64_t offset[MEMBER_COUNT];
    uint8_t sha256[MEMBER_COUNT][32];
    uint64_t end;                  /* of the members: where the footer goes */
} PackageLayout;

static bool member_is_present(const PackageMember *m)
{
    return m->bytes.p || m->n_piece;
}

static void put_artifact(Buf *manifest, int field, uint64_t offset, uint64_t length,
                         const uint8_t *sha256)
{
    Buf body = { 0 };
    wire_put_fixed64(&body, ARTIFACT_OFFSET, offset);
    wire_put_fixed64(&body, ARTIFACT_LENGTH, length);
    wire_put_bytes(&body, ARTIFACT_SHA256, (Str){ (const char *)sha256, 32 });
    wire_put_bytes(manifest, field, buf_view(&body));
    buf_free(&body);
}

/* Its length does not depend on the offsets: they are fixed64. */
static void put_manifest(Buf *out, const Package *content, const PackageLayout *at)
{
    wire_put_int(out, MANIFEST_TYPE, content->model_type);
    wire_put_bytes(out, MANIFEST_NAME, content->name);
    wire_put_bytes(out, MANIFEST_VERSION, content->version);
    for (int kind = 0; kind < MEMBER_COUNT; kind++)
        if (member_is_present(&content->member[kind]))
            put_artifact(out, member_rows[kind].field, at->offset[kind],
                         content->member[kind].bytes.n, at->sha256[kind]);
}

static uint64_t member_boundary(const PackageMember *m)
{
    return m->bytes.n < MEMBER_PAGE ? MEMBER_ALIGN : MEMBER_PAGE;
}

/* Where everything will stand, and the manifest that says so. */
static void lay_out(const Package *content, PackageLayout *at, Buf *manifest)
{
    *at = (PackageLayout){ 0 };
    put_manifest(manifest, content, at);
    uint64_t end = manifest->n;
    for (int kind = 0; kind < MEMBER_COUNT; kind++) {
        const PackageMember *m = &content->member[kind];
        if (!member_is_present(m)) continue;
        uint64_t start = ROUND_UP(end, member_boundary(m));
        at->offset[kind] = start;
        member_hash(m, at->sha256[kind]);
        end = start + m->bytes.n;
    }
    at->end = end;
    manifest->n = 0;
    put_manifest(manifest, content, at);
}

static bool add_slowly(FileWriter *w, Progress *bar, const void *bytes, size_t n, Err *err)
{
    const char *p = bytes;
    for (size_t step; n; p += step, n -= step) {
        step = MIN(n, (size_t)STRIDE);
        if (!writer_add(w, p, step, err)) return false;
        if (!progress_at(bar, w->written, err)) return writer_abort(w), false;
    }
    return true;
}

/* Zeros up to a place in the file; every gap is shorter than the boundary it fills up to. */
static bool package_fill_to(FileWriter *w, uint64_t to, Err *err)
{
    static const char zeros[4096];
    while (w->written < to)
        if (!writer_add(w, zeros, MIN(to - w->written, sizeof zeros), err)) return false;
    return true;
}

static bool add_member(FileWriter *w, Progress *bar, const PackageMember *m, Err *err)
{
    uint64_t start = w->written;
    for (size_t i = 0; i < m->n_piece; i++)
        if (!package_fill_to(w, start + m->piece[i].offset, err) ||
            !add_slowly(w, bar, m->piece[i].data, m->piece[i].bytes, err))
            return false;
    if (m->n_piece == 0 && !add_slowly(w, bar, m->bytes.p, m->bytes.n, err)) return false;
    return package_fill_to(w, start + m->bytes.n, err);
}

static bool add_members(FileWriter *w, Progress *bar, const Package *content, Err *err)
{
    for (int kind = 0; kind < MEMBER_COUNT; kind++) {
        const PackageMember *m = &content->member[kind];
        if (!member_is_present(m)) continue;
        if (!writer_align(w, member_boundary(m), err) || !add_member(w, bar, m, err)) return false;
    }
    return true;
}

static bool add_program(FileWriter *w, Progress *bar, const ElfGrown *program, Err *err)
{
    return writer_add(w, program->head, program->n_head, err) &&
           add_slowly(w, bar, program->body.p, program->body.n, err) &&
           writer_add(w, program->tables.p, program->tables.n, err) &&
           writer_align(w, MEMBER_PAGE, err);
}

/* writer_add, on failure, has already removed what was there. */
static bool package_write_all(FileWriter *w, Str program, const Package *content, Err *err)
{
    PackageLayout at;
    ElfGrown front;
    Buf manifest = { 0 };
    lay_out(content, &at, &manifest);
    elf_grow(program, PAYLOAD_SECTION, at.end + FOOTER_BYTES, MEMBER_PAGE, &front);
    Progress bar;
    progress_start(&bar, "writing", front.offset + at.end);
    uint8_t footer[FOOTER_BYTES];
    footer_write(&(Footer){ FORMAT_VERSION, FLAG_PROTOBUF, front.offset, manifest.n }, footer);
    bool ok = add_program(w, &bar, &front, err) && writer_add(w, manifest.p, manifest.n, err) &&
              add_members(w, &bar, content, err) && writer_add(w, footer, sizeof footer, err);
    progress_end(&bar);
    buf_free(&front.tables);
    buf_free(&manifest);
    return ok && writer_commit(w, err);
}

/* The program without a payload that may follow it; that of a stripped package is cut by elf_grow,
 * since tables lie behind it. */
static Str program_part(const Mapping *file)
{
    Str bytes = { (const char *)file->p, file->n };
    Footer f;
    if (footer_read(bytes, &f) && f.offset < bytes.n) bytes.n = (size_t)f.offset;
    return bytes;
}

bool package_write(const char *program_path, const char *path, const Package *content, Err *err)
{
    Mapping program;
    if (!file_map(program_path, &program, err)) return false;
    Arena arena = { 0 };
    FileWriter w;
    bool ok = writer_open(&w, &arena, path, 0755, err) &&
              package_write_all(&w, program_part(&program), content, err);
    file_unmap(&program);
    arena_free(&arena);
    return ok;
}
