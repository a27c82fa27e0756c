/* SPDX-License-Identifier: Apache-2.0
 * elf.c - header, segments, sections, notes. The tables are copied out of the file, since nothing
 * promises that they are aligned. */
#include "package/elf.h"

typedef struct ElfHeader {
    uint8_t ident[16];
    uint16_t type, machine;
    uint32_t version;
    uint64_t entry, segments, sections; /* the last two: offsets of the tables */
    uint32_t flags;
    uint16_t size, segment_size, n_segment, section_size, n_section, names;
} ElfHeader;

typedef struct Segment {
    uint32_t type, flags;
    uint64_t offset, address, physical, file_bytes, memory_bytes, align;
} Segment;

typedef struct ElfSection {
    uint32_t name, type; /* name: offset in the section of names */
    uint64_t flags, address, offset, size;
    uint32_t link, info;
    uint64_t align, entry_size;
} ElfSection;
_Static_assert(sizeof(ElfHeader) == 64 && sizeof(Segment) == 56 && sizeof(ElfSection) == 64,
               "ELF's own");
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the structs above are read as they lie");

enum { TYPE_EXECUTABLE = 2, TYPE_SHARED = 3 };   /* a program that may lie anywhere is the second */
enum { SEGMENT_LOAD = 1, SEGMENT_NOTE = 4 };
enum { SECTION_NONE = 0, SECTION_BYTES = 1, SECTION_NO_BYTES = 8 };
enum { FLAG_ALLOC = 2 }; /* "lies in memory": llvm-strip drops sections without it */

static bool elf_holds(Str file, uint64_t at, uint64_t bytes)
{
    return bytes <= file.n && at <= file.n - bytes;
}

static bool elf_read_header(Str file, ElfHeader *h)
{
    if (file.n < sizeof *h) return false;
    memcpy(h, file.p, sizeof *h);
    return memcmp(h->ident, "\177ELF\2\1", 6) == 0; /* 64 bits, little endian */
}

bool elf_kind(Str file, ElfKind *kind)
{
    ElfHeader h;
    if (!elf_read_header(file, &h)) return false;
    *kind = (ElfKind){ h.machine, h.type == TYPE_EXECUTABLE || h.type == TYPE_SHARED };
    return true;
}

/* ---- segments and notes ---- */

static bool has_segments(Str file, const ElfHeader *h)
{
    return h->n_segment && h->segment_size == sizeof(Segment) &&
           elf_holds(file, h->segments, (uint64_t)h->n_segment * sizeof(Segment));
}

static Segment segment_at(Str file, const ElfHeader *h, int i)
{
    Segment s;
    memcpy(&s, file.p + h->segments + (size_t)i * sizeof s, sizeof s);
    return s;
}

/* A note: three numbers (bytes of owner, of content, and a type), owner, content, each filled up. */
static bool find_note(Str notes, uint64_t align, Str owner, uint32_t type, Str *content)
{
    uint32_t n[3];
    for (uint64_t at = 0; elf_holds(notes, at, sizeof n);) {
        memcpy(n, notes.p + at, sizeof n);
        uint64_t start = ROUND_UP(at + sizeof n + n[0], align);
        if (!elf_holds(notes, start, n[1])) return false;
        const char *name = notes.p + at + sizeof n;
        if (n[2] == type && n[0] == owner.n && memcmp(name, owner.p, owner.n) == 0)
            return *content = (Str){ notes.p + start, n[1] }, true;
        at = ROUND_UP(start + n[1], align);
    }
    return false;
}

bool elf_note(Str file, const char *owner, uint32_t type, Str *content)
{
    ElfHeader h;
    Str name = { owner, strlen(owner) + 1 };
    if (!elf_read_header(file, &h) || !has_segments(file, &h)) return false;
    for (int i = 0; i < h.n_segment; i++) {
        Segment s = segment_at(file, &h, i);
        if (s.type != SEGMENT_NOTE || !elf_holds(file, s.offset, s.file_bytes)) continue;
        Str notes = { file.p + s.offset, (size_t)s.file_bytes };
        if (find_note(notes, s.align == 8 ? 8 : 4, name, type, content)) return true;
    }
    return false;
}

/* ---- sections ---- */

static ElfSection section_at(Str file, const ElfHeader *h, int i)
{
    ElfSection s;
    memcpy(&s, file.p + h->sections + (size_t)i * sizeof s, sizeof s);
    return s;
}

static bool has_sections(Str file, const ElfHeader *h)
{
    return h->section_size == sizeof(ElfSection) && h->names < h->n_section &&
           elf_holds(file, h->sections, (uint64_t)h->n_section * sizeof(ElfSection));
}

static bool section_names(Str file, const ElfHeader *h, Str *names)
{
    ElfSection s = section_at(file, h, h->names);
    if (!elf_holds(file, s.offset, s.size)) return false;
    *names = (Str){ file.p + s.offset, (size_t)s.size };
    return true;
}

/* The number of the section of this name; that of sections: there is none. */
static int section_find(Str file, const ElfHeader *h, Str names, const char *name)
{
    size_t n = strlen(name) + 1;
    int i = 1; /* the first is none */
    for (; i < h->n_section; i++) {
        ElfSection s = section_at(file, h, i);
        if (elf_holds(names, s.name, n) && memcmp(names.p + s.name, name, n) == 0) break;
    }
    return MIN(i, h->n_section);
}

bool elf_section(Str file, const char *name, Str *content)
{
    ElfHeader h;
    Str names;
    if (!elf_read_header(file, &h) || !has_sections(file, &h) || !section_names(file, &h, &names))
        return false;
    int i = section_find(file, &h, names, name);
    if (i == h.n_section) return false;
    ElfSection s = section_at(file, &h, i);
    if (s.type == SECTION_NO_BYTES || !elf_holds(file, s.offset, s.size)) return false;
    *content = (Str){ file.p + s.offset, (size_t)s.size };
    return true;
}

/* ---- one section more ---- */

typedef struct Growing {
    Str file;
    ElfHeader h;
    Str names;      /* of its sections */
    int at;         /* number of the section that is written; n_section: a new one */
    uint64_t limit; /* what lies from here on is dropped: the payload that was there before */
    uint64_t end;   /* in the file, of what stays */
    uint64_t memory;/* the first address behind the program */
} Growing;

static bool measure_segments(Growing *g)
{
    if (!has_segments(g->file, &g->h)) return false;
    g->end = MAX(sizeof g->h, g->h.segments + (uint64_t)g->h.n_segment * sizeof(Segment));
    for (int i = 0; i < g->h.n_segment; i++) {
        Segment s = segment_at(g->file, &g->h, i);
        if (!elf_holds(g->file, s.offset, s.file_bytes)) return false;
        g->end = MAX(g->end, s.offset + s.file_bytes);
        if (s.type == SEGMENT_LOAD) g->memory = MAX(g->memory, s.address + s.memory_bytes);
    }
    return g->end <= g->limit;
}

static bool has_bytes(const ElfSection *s)
{
    return s->type != SECTION_NONE && s->type != SECTION_NO_BYTES;
}

static bool measure_sections(Growing *g)
{
    for (int i = 0; i < g->h.n_section; i++) {
        ElfSection s = section_at(g->file, &g->h, i);
        if (i == g->h.names || i == g->at || !has_bytes(&s) || s.offset >= g->limit) continue;
        if (!elf_holds(g->file, s.offset, s.size)) return false;
        g->end = MAX(g->end, s.offset + s.size);
    }
    return g->end <= g->limit;
}

static bool elf_measure(Growing *g, const char *name)
{
    if (!elf_read_header(g->file, &g->h) || !has_sections(g->file, &g->h)) return false;
    if (!section_names(g->file, &g->h, &g->names)) return false;
    g->at = section_find(g->file, &g->h, g->names, name);
    g->limit = g->at < g->h.n_section ? section_at(g->file, &g->h, g->at).offset : UINT64_MAX;
    enum { MOST = 0xff00 }; /* numbers from here on mean something else */
    return g->h.n_section + 1 < MOST && measure_segments(g) && measure_sections(g);
}

static uint32_t elf_put_names(const Growing *g, const char *name, Buf *tables)
{
    bool known = g->at < g->h.n_section;
    buf_add(tables, g->names.p, g->names.n);
    if (!known) buf_add(tables, name, strlen(name) + 1);
    return known ? section_at(g->file, &g->h, g->at).name : (uint32_t)g->names.n;
}

static void put_sections(const Growing *g, const ElfSection *last, uint64_t names, Buf *tables)
{
    for (int i = 0; i < g->h.n_section; i++) {
        ElfSection s = section_at(g->file, &g->h, i);
        if (i == g->h.names) s.offset = g->end, s.size = names;
        else if (has_bytes(&s) && s.offset >= g->limit) s.offset = g->end, s.size = 0;
        buf_add(tables, i == g->at ? last : &s, sizeof s);
    }
    if (g->at == g->h.n_section) buf_add(tables, last, sizeof *last);
}

static void elf_fill_to(Buf *b, uint64_t align, uint64_t from)
{
    static const char zeros[8];
    buf_add(b, zeros, (size_t)(ROUND_UP(from + b->n, align) - from) - b->n);
}

void elf_grow(Str program, const char *name, uint64_t size, uint64_t align, ElfGrown *out)
{
    enum { TABLE_ALIGN = 8, PAGE_MOST = 1 << 16 };
    Growing g = { .file = program };
    *out = (ElfGrown){ .body = program, .offset = ROUND_UP(program.n, align) };
    if (!elf_measure(&g, name)) return;
    ElfSection last = { .type = SECTION_BYTES, .flags = FLAG_ALLOC, .size = size, .align = align,
                     .address = ROUND_UP(g.memory, MAX(align, (uint64_t)PAGE_MOST)) };
    last.name = elf_put_names(&g, name, &out->tables);
    uint64_t names = out->tables.n;
    elf_fill_to(&out->tables, TABLE_ALIGN, g.end);
    ElfHeader h = g.h;
    h.sections = g.end + out->tables.n;
    h.n_section += g.at == g.h.n_section;
    last.offset = out->offset = ROUND_UP(h.sections + h.n_section * sizeof last, align);
    put_sections(&g, &last, names, &out->tables);
    memcpy(out->head, &h, sizeof h);
    out->n_head = sizeof h;
    out->body = (Str){ program.p + sizeof h, (size_t)g.end - sizeof h };
}
