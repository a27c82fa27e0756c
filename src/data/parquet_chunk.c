/* SPDX-License-Identifier: Apache-2.0
 * parquet_chunk.c - see parquet_chunk.h. What a header says of its page is checked against the file, and against
 * what its codec can do, before memory is taken for it. */
#include "parquet_chunk.h"

#include <zlib.h>

#include "base/bytes.h"
#include "gzip.h"
#include "unpack.h"

enum { PAGE_MOST = 512 << 20 };

/* ---- codecs ---- */
typedef struct CodecRow {
    const char *name;
    size_t ratio;            /* the most that a byte can become; 0: not read */
    bool (*unpack)(Str packed, void *to, size_t n);
} CodecRow;

static bool codec_gzip(Str packed, void *to, size_t n)
{
    Buf out = { 0 };
    const bool ok = gzip_unpack(&out, packed, n, &(Err){ 0 }) && out.n == n;
    if (ok && n) memcpy(to, out.p, n);
    buf_free(&out);
    return ok;
}

static bool codec_none(Str packed, void *to, size_t n)
{
    if (packed.n != n) return false;
    if (n) memcpy(to, packed.p, n);
    return true;
}

enum { CODEC_NONE };
static const CodecRow codecs[] = {
    [CODEC_NONE] = { "UNCOMPRESSED", 1, codec_none }, { "SNAPPY", 22, unpack_snappy }, { "GZIP", 1032, codec_gzip },
    { "LZO" }, { "BROTLI" }, { "LZ4", 255, unpack_lz4_hadoop }, { "ZSTD", 1 << 15, unpack_zstd },
    { "LZ4_RAW", 255, unpack_lz4_block },
};

static bool chunk_damaged(const char *what, Err *err)
{
    return fail(err, EF_INVALID_INPUT, "found %s", what);
}

/* As it is where it is not packed, else in c->page. */
static bool chunk_unpack(ParquetChunk *c, Str packed, size_t n, Str *out, Err *err)
{
    const CodecRow *codec = &codecs[c->codec];
    *out = packed;
    if (c->codec == CODEC_NONE && packed.n == n) return true;
    if (n > PAGE_MOST)
        return fail(err, EF_TOO_LARGE, "found a page of %zu bytes, wanted at most 512 MiB", n);
    if (n / codec->ratio > packed.n) return chunk_damaged("a page that is larger than its bytes can make", err);
    c->page.n = 0;
    if (!buf_try(&c->page, MAX(n, 1))) return fail(err, EF_TOO_LARGE, "found a page of %zu bytes: no memory for it", n);
    c->page.n = n;
    *out = buf_view(&c->page);
    if (n && !codec->unpack(packed, c->page.p, n))
        return fail(err, EF_INVALID_INPUT, "found a page that cannot be unpacked (%s)", codec->name);
    if (c->forget) c->forget(packed.p, packed.n);
    return true;
}

/* ---- a page ---- */
typedef struct PageHead {
    int64_t type, unpacked, packed, crc;
    int64_t values, encoding, levels[2]; /* v1: encodings; v2: bytes; of definition, repetition */
    bool summed, stored;     /* there is a checksum; v2: not packed */
} PageHead;
enum { PAGE_DATA, PAGE_INDEX, PAGE_DICTIONARY, PAGE_DATA_2 };

static void page_of_kind(Thrift *t, const ThriftField *at, PageHead *h)
{
    const bool second = at->id == 8;
    if (!thrift_struct(t, at)) return;
    for (ThriftField f = { 0 }; thrift_next(t, &f);) {
        if (f.id == 1) h->values = thrift_int(t, &f);
        else if (f.id == (second ? 4 : 2)) h->encoding = thrift_int(t, &f);
        else if (f.id == (second ? 5 : 3) && at->id != 7) h->levels[0] = thrift_int(t, &f);
        else if (f.id == (second ? 6 : 4) && at->id != 7) h->levels[1] = thrift_int(t, &f);
        else if (f.id == 7 && second) h->stored = !thrift_int(t, &f);
        else thrift_skip(t, &f);
    }
}

static bool page_head(ParquetChunk *c, PageHead *h, Str *body, Err *err)
{
    Thrift t = thrift_over((Str){ c->bytes.p + c->at, c->bytes.n - c->at });
    *h = (PageHead){ .type = -1 };
    for (ThriftField f = { 0 }; thrift_next(&t, &f);)
        switch (f.id) {
        case 1: h->type = thrift_int(&t, &f); break;
        case 2: h->unpacked = thrift_int(&t, &f); break;
        case 3: h->packed = thrift_int(&t, &f); break;
        case 4: h->crc = thrift_int(&t, &f), h->summed = true; break;
        case 5: case 7: case 8: page_of_kind(&t, &f, h); break;
        default: thrift_skip(&t, &f);
        }
    if (t.broken) return chunk_damaged("a header of a page that makes no sense", err);
    const uint64_t left = (uint64_t)(t.in.end - t.in.p);
    if (h->packed < 0 || (uint64_t)h->packed > left || h->unpacked < 0 || h->values < 0 || h->values > INT32_MAX)
        return chunk_damaged("a page that leads out of its chunk", err);
    *body = (Str){ (const char *)t.in.p, (size_t)h->packed };
    c->at = c->bytes.n - (size_t)left + body->n;
    if (h->summed && (uint32_t)crc32_z(0, (const Bytef *)body->p, body->n) != (uint32_t)h->crc)
        return chunk_damaged("a page whose checksum is another one: it is damaged", err);
    return true;
}

static int level_bits(int most)
{
    return most ? 32 - __builtin_clz((unsigned)most) : 0;
}

/* Version 1: a length before each kind of levels, all packed together. */
static bool page_levels(int most, int64_t encoding, Str *rest, ParquetHybrid *out, Err *err)
{
    if (!most) return true;
    if (encoding != ENCODED_RLE)
        return fail(err, EF_UNSUPPORTED, "found levels of encoding %lld, wanted RLE", (long long)encoding);
    const size_t n = rest->n >= 4 ? le32((const uint8_t *)rest->p) : SIZE_MAX;
    if (n > rest->n - MIN(rest->n, 4)) return chunk_damaged("levels that lead out of their page", err);
    *out = parquet_hybrid((Str){ rest->p + 4, n }, level_bits(most));
    rest->p += 4 + n, rest->n -= 4 + n;
    return true;
}

static bool page_data(ParquetChunk *c, const PageHead *h, Str body, Str *values, Err *err)
{
    return chunk_unpack(c, body, (size_t)h->unpacked, values, err) &&
           page_levels(c->leaf->repeated, h->levels[1], values, &c->repeated, err) &&
           page_levels(c->leaf->defined, h->levels[0], values, &c->defined, err);
}

/* Version 2: levels in front, never packed. */
static bool page_data_2(ParquetChunk *c, const PageHead *h, Str body, Str *values, Err *err)
{
    const uint64_t defined = (uint64_t)h->levels[0], repeated = (uint64_t)h->levels[1];
    if (repeated > body.n || defined > body.n - repeated || (uint64_t)h->unpacked < repeated + defined)
        return chunk_damaged("levels that lead out of their page", err);
    c->repeated = parquet_hybrid((Str){ body.p, repeated }, level_bits(c->leaf->repeated));
    c->defined = parquet_hybrid((Str){ body.p + repeated, defined }, level_bits(c->leaf->defined));
    *values = (Str){ body.p + repeated + defined, body.n - repeated - defined };
    const size_t n = (size_t)h->unpacked - repeated - defined;
    const bool stored = h->stored && !c->packed;
    return stored || (n == 0 && values->n == 0) || chunk_unpack(c, *values, n, values, err);
}

static bool page_dictionary(ParquetChunk *c, const PageHead *h, Str body, Err *err)
{
    Str values;
    if (h->encoding != ENCODED_PLAIN && h->encoding != ENCODED_OLD_DICTIONARY)
        return fail(err, EF_UNSUPPORTED, "found a dictionary of encoding %lld, wanted PLAIN", (long long)h->encoding);
    if (c->has_dictionary) return chunk_damaged("a second dictionary", err);
    parquet_raw_begin(&c->dictionary, c->leaf);
    c->has_dictionary = true;
    return chunk_unpack(c, body, (size_t)h->unpacked, &values, err) &&
           parquet_values_open(&c->values, c->leaf, ENCODED_PLAIN, values, NULL, err) &&
           parquet_values_take(&c->values, &c->dictionary, (size_t)h->values, err);
}

/* Pages that are not packed are read where they are. */
static void chunk_forget(ParquetChunk *c, size_t behind)
{
    if (!c->forget || c->codec != CODEC_NONE || behind <= c->forgotten) return;
    c->forget(c->bytes.p + c->forgotten, behind - c->forgotten);
    c->forgotten = behind;
}

void parquet_chunk_rest(ParquetChunk *c)
{
    const char *p = (const char *)c->values.in.p;
    if (c->values.encoding == ENCODED_PLAIN && p >= c->bytes.p && p <= c->bytes.p + c->bytes.n)
        chunk_forget(c, (size_t)(p - c->bytes.p));
}

static bool chunk_page(ParquetChunk *c, Err *err)
{
    PageHead h;
    Str body, values;
    chunk_forget(c, c->at);
    if (!page_head(c, &h, &body, err)) return false;
    c->left = 0;
    if (h.type == PAGE_INDEX) return true;
    if (h.type == PAGE_DICTIONARY) return page_dictionary(c, &h, body, err);
    if (h.type != PAGE_DATA && h.type != PAGE_DATA_2)
        return fail(err, EF_UNSUPPORTED, "found a page of type %lld, which is not known", (long long)h.type);
    if (!(h.type == PAGE_DATA ? page_data : page_data_2)(c, &h, body, &values, err)) return false;
    c->left = (uint32_t)h.values;
    return parquet_values_open(&c->values, c->leaf, h.encoding, values, c->has_dictionary ? &c->dictionary : NULL, err);
}

/* ---- levels ---- */
static bool level_block(ParquetHybrid *from, int most, uint8_t *out, size_t n)
{
    uint32_t block[PARQUET_LEVELS];
    bool ok = true;
    if (!most) return memset(out, 0, n), true;
    if (!parquet_hybrid_take(from, block, n)) return false;
    for (size_t i = 0; i < n; i++) {
        ok = ok && block[i] <= (uint32_t)most;
        out[i] = (uint8_t)block[i];
    }
    return ok;
}

bool parquet_chunk_levels(ParquetChunk *c, bool *more, Err *err)
{
    c->level = c->levels = 0;
    while (c->left == 0 && c->at < c->bytes.n)
        if (!chunk_page(c, err)) return false;
    const size_t n = MIN(c->left, PARQUET_LEVELS);
    *more = n > 0;
    if (!level_block(&c->repeated, c->leaf->repeated, c->rep, n) ||
        !level_block(&c->defined, c->leaf->defined, c->def, n))
        return chunk_damaged("fewer levels than a page should have, or too high ones", err);
    c->left -= (uint32_t)n;
    c->levels = n;
    return true;
}

/* ---- where it is ---- */
typedef struct ChunkMeta {
    int64_t type, codec, bytes, data, dictionary;
    bool elsewhere, encrypted, there;
} ChunkMeta;

static void chunk_meta(Thrift *t, const ThriftField *at, ChunkMeta *m)
{
    if (!thrift_struct(t, at)) return;
    m->there = true;
    for (ThriftField f = { 0 }; thrift_next(t, &f);)
        switch (f.id) {
        case 1: m->type = thrift_int(t, &f); break;
        case 4: m->codec = thrift_int(t, &f); break;
        case 7: m->bytes = thrift_int(t, &f); break;
        case 9: m->data = thrift_int(t, &f); break;
        case 11: m->dictionary = thrift_int(t, &f); break;
        default: thrift_skip(t, &f);
        }
}

static void chunk_column(Thrift *t, const ThriftField *item, ChunkMeta *m)
{
    *m = (ChunkMeta){ 0 };
    if (!thrift_struct(t, item)) return;
    for (ThriftField f = { 0 }; thrift_next(t, &f);) {
        m->elsewhere |= f.id == 1;
        m->encrypted |= f.id == 8 || f.id == 9;
        if (f.id == 3) chunk_meta(t, &f, m);
        else thrift_skip(t, &f);
    }
}

bool parquet_chunk_open(ParquetChunk *c, const ParquetNode *leaf, Str file, Thrift *t, const ThriftField *item,
                        Err *err)
{
    ChunkMeta m;
    chunk_column(t, item, &m);
    if (t->broken) return chunk_damaged("a footer that makes no sense", err);
    if (m.encrypted) return fail(err, EF_UNSUPPORTED, "found it encrypted, which is not read");
    if (m.elsewhere) return fail(err, EF_UNSUPPORTED, "found its values in another file, which is not read");
    if (!m.there || m.type != (int64_t)leaf->type) return chunk_damaged("another type than the schema's", err);
    if (m.codec < 0 || m.codec >= (int64_t)COUNT(codecs) || !codecs[m.codec].ratio)
        return fail(err, EF_UNSUPPORTED, "found the compression %s, wanted none, SNAPPY, GZIP, ZSTD or LZ4",
                    m.codec >= 0 && m.codec < (int64_t)COUNT(codecs) ? codecs[m.codec].name : "of an unknown number");
    const int64_t at = m.dictionary > 0 && m.dictionary < m.data ? m.dictionary : m.data;
    if (at < 0 || (uint64_t)at > file.n || m.bytes < 0 || (uint64_t)m.bytes > file.n - (uint64_t)at)
        return chunk_damaged("a chunk that leads out of the file", err);
    c->leaf = leaf, c->codec = (int)m.codec;
    c->bytes = (Str){ file.p + at, (size_t)m.bytes };
    c->at = c->level = c->levels = c->forgotten = 0, c->left = 0;
    c->has_dictionary = false;
    return true;
}

void parquet_chunk_free(ParquetChunk *c)
{
    parquet_raw_free(&c->dictionary);
    buf_free(&c->page);
    buf_free(&c->values.last);
}
