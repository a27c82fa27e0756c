/* SPDX-License-Identifier: Apache-2.0
 * zip.c - from the end of the file to its directory, from there to the members. Every number is
 * checked against the file before it is used. */
#include "zip.h"

#include <zlib.h>

enum {
    END_SIZE = 22, END64_SIZE = 56, LOCATOR_SIZE = 20, ENTRY_SIZE = 46, LOCAL_SIZE = 30,
    MOST_COMMENT = 65535, EXTRA_ZIP64 = 1, FLAG_ENCRYPTED = 1
};
static const uint64_t NARROW_END = 0xffffffff; /* the number stands in a zip64 field */

typedef struct Directory {
    uint64_t n, at, size;
} Directory;

static uint64_t zip_number_at(const char *p, int bytes)
{
    uint64_t n = 0;
    for (int i = bytes - 1; i >= 0; i--) n = n << 8 | (uint8_t)p[i];
    return n;
}

static bool has_mark(Str file, uint64_t at, size_t size, const char *mark)
{
    return at <= file.n && size <= file.n - at && memcmp(file.p + at, mark, 4) == 0;
}

/* The end record: the last bytes but for a comment, whose length it has. */
static const char *find_end(Str file)
{
    size_t most = MIN(file.n, (size_t)END_SIZE + MOST_COMMENT);
    for (size_t back = END_SIZE; back <= most; back++) {
        const char *p = file.p + file.n - back;
        if (memcmp(p, "PK\5\6", 4) == 0 && zip_number_at(p + 20, 2) == back - END_SIZE) return p;
    }
    return NULL;
}

/* The zip64 record, where a locator stands before the end record. */
static bool read_end64(Str file, const char *end, Directory *d, Err *err)
{
    size_t at = (size_t)(end - file.p);
    if (at < LOCATOR_SIZE || !has_mark(file, at - LOCATOR_SIZE, LOCATOR_SIZE, "PK\6\7"))
        return true;
    const char *locator = end - LOCATOR_SIZE;
    uint64_t place = zip_number_at(locator + 8, 8);
    if (!has_mark(file, place, END64_SIZE, "PK\6\6"))
        return fail(err, EF_BAD_MODEL, "zip: found no zip64 end record at byte %llu",
                    (unsigned long long)place);
    const char *p = file.p + place;
    *d =
        (Directory){ zip_number_at(p + 32, 8), zip_number_at(p + 48, 8), zip_number_at(p + 40, 8) };
    return true;
}

static bool find_directory(Str file, Directory *d, Err *err)
{
    const char *end = find_end(file);
    if (!end)
        return fail(err, EF_BAD_MODEL, "zip: found no end record in %zu bytes: the file is cut "
                    "short or no zip", file.n);
    if (zip_number_at(end + 4, 2) != zip_number_at(end + 6, 2))
        return fail(err, EF_UNSUPPORTED, "zip: found one of several volumes, wanted one file");
    *d = (Directory){ zip_number_at(end + 10, 2), zip_number_at(end + 16, 4),
                      zip_number_at(end + 12, 4) };
    if (!read_end64(file, end, d, err)) return false;
    if (d->at > file.n || d->size > file.n - d->at || d->n > d->size / ENTRY_SIZE)
        return fail(err, EF_BAD_MODEL, "zip: found a directory of %llu members in %llu bytes from "
                    "byte %llu, in a file of %zu", (unsigned long long)d->n,
                    (unsigned long long)d->size, (unsigned long long)d->at, file.n);
    return true;
}

/* Numbers that do not fit an entry: those of size, compressed size and place that are NARROW_END, in
 * this order, in its zip64 field. */
static bool widen_entry(Str extra, uint64_t *wide[3])
{
    bool needed = *wide[0] == NARROW_END || *wide[1] == NARROW_END || *wide[2] == NARROW_END;
    while (needed && extra.n >= 4) {
        uint64_t id = zip_number_at(extra.p, 2), n = zip_number_at(extra.p + 2, 2);
        if (n > extra.n - 4) return false;
        Str field = { extra.p + 4, (size_t)n };
        extra = (Str){ field.p + n, extra.n - 4 - (size_t)n };
        if (id != EXTRA_ZIP64) continue;
        for (int i = 0; i < 3; i++) {
            if (*wide[i] != NARROW_END) continue;
            if (field.n < 8) return false;
            *wide[i] = zip_number_at(field.p, 8);
            field = (Str){ field.p + 8, field.n - 8 };
        }
        return true;
    }
    return !needed;
}

/* Behind the member's own header, whose names and fields may have other lengths. */
static bool find_data(Str file, uint64_t at, uint64_t size, ZipMember *m, Err *err)
{
    if (!has_mark(file, at, LOCAL_SIZE, "PK\3\4"))
        return fail(err, EF_BAD_MODEL, "found no header at byte %llu", (unsigned long long)at);
    const char *p = file.p + at;
    uint64_t begin = at + LOCAL_SIZE + zip_number_at(p + 26, 2) + zip_number_at(p + 28, 2);
    if (begin > file.n || size > file.n - begin)
        return fail(err, EF_BAD_MODEL, "found %llu bytes from byte %llu, in a file of %zu",
                    (unsigned long long)size, (unsigned long long)begin, file.n);
    m->bytes = (Str){ file.p + begin, (size_t)size };
    return true;
}

static bool zip_read_member(Str file, const char *p, Str extra, ZipMember *m, Err *err)
{
    uint64_t compressed = zip_number_at(p + 20, 4), size = zip_number_at(p + 24, 4),
             at = zip_number_at(p + 42, 4);
    if (zip_number_at(p + 8, 2) & FLAG_ENCRYPTED)
        return fail(err, EF_UNSUPPORTED, "found an encrypted member");
    if (zip_number_at(p + 10, 2) != 0)
        return fail(err, EF_UNSUPPORTED, "found a compressed member (method %d), wanted it stored",
                    (int)zip_number_at(p + 10, 2));
    if (!widen_entry(extra, (uint64_t *[]){ &size, &compressed, &at }))
        return fail(err, EF_BAD_MODEL, "its zip64 field is cut short or missing");
    if (compressed != size)
        return fail(err, EF_BAD_MODEL, "found %llu bytes stored for %llu",
                    (unsigned long long)compressed, (unsigned long long)size);
    m->crc = (uint32_t)zip_number_at(p + 16, 4);
    return find_data(file, at, size, m, err);
}

/* One entry of the directory, whose rest follows in *left. */
static bool zip_read_entry(Str file, Str *left, Zip *zip, ZipMember *m, Err *err)
{
    const char *p = left->p;
    if (!has_mark(*left, 0, ENTRY_SIZE, "PK\1\2"))
        return fail(err, EF_BAD_MODEL, "zip: member %zu: found no entry of the directory", zip->n);
    size_t name = (size_t)zip_number_at(p + 28, 2), extra = (size_t)zip_number_at(p + 30, 2);
    size_t all = ENTRY_SIZE + name + extra + (size_t)zip_number_at(p + 32, 2);
    if (all > left->n)
        return fail(err, EF_BAD_MODEL, "zip: member %zu: its entry is cut short", zip->n);
    m->name = (Str){ p + ENTRY_SIZE, name };
    bool ok = map_get(&zip->by_name, m->name)
                  ? fail(err, EF_BAD_MODEL, "the name comes twice")
                  : zip_read_member(file, p, (Str){ m->name.p + name, extra }, m, err);
    if (!ok) return within(err, "zip: %.*s", (int)MIN(name, 100), m->name.p);
    *left = (Str){ p + all, left->n - all };
    return true;
}

bool zip_read(Arena *arena, Str file, Zip *zip, Err *err)
{
    Directory d = { 0 };
    *zip = (Zip){ 0 };
    if (!find_directory(file, &d, err)) return false;
    Str left = { file.p + d.at, (size_t)d.size };
    zip->item = ARRAY(arena, ZipMember, d.n + 1);
    while (zip->n < d.n) {
        ZipMember *m = &zip->item[zip->n];
        if (!zip_read_entry(file, &left, zip, m, err)) return false;
        map_put(&zip->by_name, arena, m->name, m);
        zip->n++;
    }
    return true;
}

const ZipMember *zip_find(const Zip *zip, Str name)
{
    return map_get(&zip->by_name, name);
}

bool zip_check(const ZipMember *m, Err *err)
{
    if (!m->crc) return true;
    uLong found = crc32_z(crc32_z(0, NULL, 0), (const Bytef *)m->bytes.p, m->bytes.n);
    return found == m->crc ||
           fail(err, EF_BAD_MODEL, "zip: %.*s: found checksum %08lx, wanted %08lx: the file is "
                "damaged", (int)MIN(m->name.n, 100), m->name.p, found, (unsigned long)m->crc);
}
