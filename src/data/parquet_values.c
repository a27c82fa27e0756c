/* SPDX-License-Identifier: Apache-2.0
 * parquet_values.c - see parquet_values.h. */
#include "parquet_values.h"

#include "base/bytes.h"

#define RAW_MOST ((size_t)1 << 30) /* bytes at a time */

/* A number of `width` bits, 64 at most, from bit `at` on; the bytes up to `end` may be read. */
static uint64_t bits_at(const uint8_t *p, const uint8_t *end, size_t at, int width)
{
    uint64_t v = 0;
    const int shift = (int)(at & 7);
    p += at >> 3;
    if (width == 0) return 0;
    if (end - p >= 8) memcpy(&v, p, 8); /* little endian, as all our targets are */
    else memcpy(&v, p, (size_t)(end - p));
    v >>= shift;
    if (shift + width > 64) v |= (uint64_t)p[8] << (64 - shift);
    return width == 64 ? v : v & (((uint64_t)1 << width) - 1);
}

/* ---- runs and packed numbers ---- */
ParquetHybrid parquet_hybrid(Str s, int width)
{
    return (ParquetHybrid){ .in = wire_over(s), .width = width };
}

static bool hybrid_run(ParquetHybrid *h)
{
    uint64_t head;
    if (!wire_varint(&h->in, &head)) return false;
    const uint64_t left = (uint64_t)(h->in.end - h->in.p);
    h->run = head >> 1, h->bits = NULL, h->bit = 0;
    if (head & 1) { /* groups of eight; the last one may be cut where no value is */
        if (h->width && h->run > left) h->run = left;
        const uint64_t bytes = MIN(h->run * (uint64_t)h->width, left);
        h->bits = h->in.p;
        h->run = h->width ? MIN(h->run * 8, bytes * 8 / (uint64_t)h->width) : MIN(h->run, UINT32_MAX) * 8;
        h->in.p += bytes;
        return true;
    }
    const int bytes = (h->width + 7) / 8;
    if (left < (uint64_t)bytes) return false;
    h->value = 0;
    for (int i = 0; i < bytes; i++) h->value |= (uint32_t)*h->in.p++ << 8 * i;
    return true;
}

bool parquet_hybrid_take(ParquetHybrid *h, uint32_t *out, size_t n)
{
    while (n) {
        if (h->run == 0 && !hybrid_run(h)) return false;
        const size_t now = MIN(n, h->run);
        for (size_t i = 0; i < now; i++, h->bit += (size_t)h->width)
            out[i] = h->bits ? (uint32_t)bits_at(h->bits, h->in.p, h->bit, h->width) : h->value;
        out += now, n -= now, h->run -= now;
    }
    return true;
}

/* ---- differences ---- */
static bool delta_number(Wire *in, int64_t *out)
{
    uint64_t v;
    if (!wire_varint(in, &v)) return false;
    *out = (int64_t)(v >> 1) ^ -(int64_t)(v & 1);
    return true;
}

static bool delta_open(ParquetDelta *d, Wire in)
{
    enum { BLOCK_MOST = 1 << 20 };
    uint64_t block;
    *d = (ParquetDelta){ .in = in, .first = true };
    if (!wire_varint(&d->in, &block) || !wire_varint(&d->in, &d->minis) || !wire_varint(&d->in, &d->left) ||
        !delta_number(&d->in, &d->value))
        return false;
    if (block == 0 || block > BLOCK_MOST || d->minis == 0 || d->minis > block || block % d->minis) return false;
    d->each = block / d->minis;
    d->mini = d->minis, d->at = d->each; /* as behind a block */
    return d->each % 8 == 0;
}

/* The next miniblock that has values. */
static bool delta_mini(ParquetDelta *d)
{
    if (d->mini + 1 < d->minis) {
        d->mini++;
    } else {
        if (!delta_number(&d->in, &d->least) || (uint64_t)(d->in.end - d->in.p) < d->minis) return false;
        d->width = d->in.p, d->mini = 0;
        d->in.p += d->minis;
    }
    const uint64_t bytes = d->each / 8 * d->width[d->mini];
    if (d->width[d->mini] > 64 || bytes > (uint64_t)(d->in.end - d->in.p)) return false;
    d->bits = d->in.p, d->at = 0;
    d->in.p += bytes;
    return true;
}

static bool delta_next(ParquetDelta *d, int64_t *out)
{
    if (d->left == 0) return false;
    if (!d->first) {
        if (d->at == d->each && !delta_mini(d)) return false;
        const int width = d->width[d->mini];
        const uint64_t step = bits_at(d->bits, d->in.p, d->at++ * (size_t)width, width);
        d->value = (int64_t)((uint64_t)d->value + (uint64_t)d->least + step); /* wraps */
    }
    d->first = false;
    d->left--;
    *out = d->value;
    return true;
}

/* What stands behind the differences. */
static bool delta_behind(ParquetDelta d, Wire *out)
{
    for (uint64_t left = d.left ? d.left - 1 : 0; left; left -= MIN(left, d.each))
        if (!delta_mini(&d)) return false;
    *out = d.in;
    return true;
}

/* ---- values ---- */
void parquet_raw_begin(ParquetRaw *raw, const ParquetNode *leaf)
{
    raw->data.n = raw->offset.n = 0;
    if (!leaf->width) buf_add(&raw->offset, &(int32_t){ 0 }, sizeof(int32_t));
}

void parquet_raw_free(ParquetRaw *raw)
{
    buf_free(&raw->data);
    buf_free(&raw->offset);
}

void parquet_raw_null(ParquetRaw *to, const ParquetNode *leaf, size_t n)
{
    if (leaf->width) {
        buf_reserve(&to->data, n * (size_t)leaf->width);
        memset(to->data.p + to->data.n, 0, n * (size_t)leaf->width);
        to->data.n += n * (size_t)leaf->width;
        return;
    }
    const int32_t end = (int32_t)to->data.n;
    for (size_t i = 0; i < n; i++) buf_add(&to->offset, &end, sizeof end);
}

size_t parquet_raw_count(const ParquetRaw *raw, const ParquetNode *leaf)
{
    return leaf->width ? raw->data.n / (size_t)leaf->width : raw->offset.n / sizeof(int32_t) - 1;
}

static bool raw_bytes(ParquetRaw *to, const void *p, size_t n)
{
    if (n > RAW_MOST - MIN(to->data.n, RAW_MOST)) return false;
    buf_add(&to->data, p, n);
    const int32_t end = (int32_t)to->data.n;
    buf_add(&to->offset, &end, sizeof end);
    return true;
}

static bool plain_bits(ParquetValues *v, ParquetRaw *to, size_t n)
{
    if ((size_t)(v->in.end - v->in.p) < (v->bit + n + 7) / 8) return false;
    for (size_t i = 0; i < n; i++, v->bit++) buf_char(&to->data, (char)(v->in.p[v->bit >> 3] >> (v->bit & 7) & 1));
    return true;
}

static bool plain_take(ParquetValues *v, ParquetRaw *to, size_t n)
{
    const size_t width = (size_t)v->leaf->width;
    if (v->leaf->type == PARQUET_BOOLEAN) return plain_bits(v, to, n);
    if (width) {
        if ((size_t)(v->in.end - v->in.p) / width < n) return false;
        buf_add(&to->data, v->in.p, n * width);
        v->in.p += n * width;
        return true;
    }
    for (size_t i = 0; i < n; i++) {
        const size_t left = (size_t)(v->in.end - v->in.p);
        if (left < 4 || le32(v->in.p) > left - 4) return false;
        const size_t bytes = le32(v->in.p);
        if (!raw_bytes(to, v->in.p + 4, bytes)) return false;
        v->in.p += 4 + bytes;
    }
    return true;
}

static bool dictionary_one(const ParquetValues *v, ParquetRaw *to, uint32_t i)
{
    const ParquetRaw *d = v->dictionary;
    const size_t width = (size_t)v->leaf->width;
    if (width) return buf_add(&to->data, d->data.p + i * width, width), true;
    int32_t span[2];
    memcpy(span, d->offset.p + i * sizeof *span, sizeof span);
    const size_t bytes = (size_t)(span[1] - span[0]);
    return raw_bytes(to, bytes ? d->data.p + span[0] : "", bytes); /* of empty strings alone there is no data */
}

static bool dictionary_take(ParquetValues *v, ParquetRaw *to, size_t n)
{
    enum { BLOCK = 256 };
    uint32_t index[BLOCK];
    const size_t known = parquet_raw_count(v->dictionary, v->leaf);
    for (size_t now; n; n -= now) {
        now = MIN(n, BLOCK);
        if (!parquet_hybrid_take(&v->index, index, now)) return false;
        for (size_t i = 0; i < now; i++)
            if (index[i] >= known || !dictionary_one(v, to, index[i])) return false;
    }
    return true;
}

static bool rle_take(ParquetValues *v, ParquetRaw *to, size_t n)
{
    for (uint32_t bit; n; n--) {
        if (!parquet_hybrid_take(&v->index, &bit, 1)) return false;
        buf_char(&to->data, (char)bit);
    }
    return true;
}

static bool delta_take(ParquetValues *v, ParquetRaw *to, size_t n)
{
    for (int64_t x; n; n--) {
        if (!delta_next(&v->delta, &x)) return false;
        buf_add(&to->data, &x, (size_t)v->leaf->width);
    }
    return true;
}

/* Of values with a width it is checked: others would shift what follows. */
static bool sized_bytes(const ParquetValues *v, ParquetRaw *to, const void *p, size_t n)
{
    if (!v->leaf->width) return raw_bytes(to, p, n);
    if (n != (size_t)v->leaf->width) return false;
    return buf_add(&to->data, p, n), true;
}

static bool lengths_take(ParquetValues *v, ParquetRaw *to, size_t n)
{
    for (int64_t bytes; n; n--) {
        if (!delta_next(&v->delta, &bytes) || bytes < 0 || bytes > v->in.end - v->in.p) return false;
        if (!sized_bytes(v, to, v->in.p, (size_t)bytes)) return false;
        v->in.p += bytes;
    }
    return true;
}

static bool prefixes_take(ParquetValues *v, ParquetRaw *to, size_t n)
{
    for (int64_t same, bytes; n; n--) {
        if (!delta_next(&v->prefix, &same) || same < 0 || (uint64_t)same > v->last.n) return false;
        if (!delta_next(&v->delta, &bytes) || bytes < 0 || bytes > v->in.end - v->in.p) return false;
        v->last.n = (size_t)same;
        buf_add(&v->last, v->in.p, (size_t)bytes);
        v->in.p += bytes;
        if (!sized_bytes(v, to, v->last.p ? v->last.p : "", v->last.n)) return false;
    }
    return true;
}

static bool split_take(ParquetValues *v, ParquetRaw *to, size_t n)
{
    const size_t width = (size_t)v->leaf->width, all = (size_t)(v->in.end - v->in.p) / width;
    if (n > all - v->bit) return false;
    buf_reserve(&to->data, n * width);
    for (size_t i = 0; i < n; i++, v->bit++)
        for (size_t j = 0; j < width; j++) to->data.p[to->data.n++] = (char)v->in.p[j * all + v->bit];
    return true;
}

/* ---- a page ---- */
static bool open_plain(ParquetValues *v) { return (void)v, true; }

static bool open_dictionary(ParquetValues *v)
{
    if (!v->dictionary) return false;
    const Str rest = { (const char *)v->in.p, (size_t)(v->in.end - v->in.p) };
    if (rest.n == 0) return true; /* of a page without values */
    v->index = parquet_hybrid((Str){ rest.p + 1, rest.n - 1 }, *v->in.p);
    return *v->in.p <= 32;
}

static bool open_rle(ParquetValues *v)
{
    const size_t left = (size_t)(v->in.end - v->in.p);
    if (left == 0) return true;
    if (left < 4 || le32(v->in.p) > left - 4) return false;
    v->index = parquet_hybrid((Str){ (const char *)v->in.p + 4, le32(v->in.p) }, 1);
    return true;
}

static bool open_delta(ParquetValues *v)
{
    return v->in.p == v->in.end || delta_open(&v->delta, v->in);
}

static bool open_lengths(ParquetValues *v)
{
    return v->in.p == v->in.end || (delta_open(&v->delta, v->in) && delta_behind(v->delta, &v->in));
}

static bool open_prefixes(ParquetValues *v)
{
    v->last.n = 0;
    if (v->in.p == v->in.end) return true;
    return delta_open(&v->prefix, v->in) && delta_behind(v->prefix, &v->in) && open_lengths(v);
}

enum { /* types as bits */
    OF_BOOLEAN = 1 << PARQUET_BOOLEAN,
    OF_INTEGERS = 1 << PARQUET_INT32 | 1 << PARQUET_INT64,
    OF_NUMBERS = OF_INTEGERS | 1 << PARQUET_FLOAT | 1 << PARQUET_DOUBLE,
    OF_BYTES = 1 << PARQUET_BYTES, OF_FIXED = 1 << PARQUET_FIXED,
    OF_ALL = OF_BOOLEAN | OF_NUMBERS | OF_BYTES | OF_FIXED | 1 << PARQUET_INT96
};
typedef struct EncodingRow {
    const char *name;
    int types;               /* that have it; 0: nobody's */
    bool (*open)(ParquetValues *);
    bool (*take)(ParquetValues *, ParquetRaw *, size_t);
} EncodingRow;
static const EncodingRow encodings[] = {
    [ENCODED_PLAIN] = { "PLAIN", OF_ALL, open_plain, plain_take },
    [1] = { "GROUP_VAR_INT" },
    [ENCODED_OLD_DICTIONARY] = { "PLAIN_DICTIONARY", OF_ALL & ~OF_BOOLEAN, open_dictionary, dictionary_take },
    [ENCODED_RLE] = { "RLE", OF_BOOLEAN, open_rle, rle_take },
    [ENCODED_BITS] = { "BIT_PACKED" },
    [ENCODED_DELTA] = { "DELTA_BINARY_PACKED", OF_INTEGERS, open_delta, delta_take },
    [ENCODED_LENGTHS] = { "DELTA_LENGTH_BYTE_ARRAY", OF_BYTES, open_lengths, lengths_take },
    [ENCODED_PREFIXES] = { "DELTA_BYTE_ARRAY", OF_BYTES | OF_FIXED, open_prefixes, prefixes_take },
    [ENCODED_DICTIONARY] = { "RLE_DICTIONARY", OF_ALL & ~OF_BOOLEAN, open_dictionary, dictionary_take },
    [ENCODED_SPLIT] = { "BYTE_STREAM_SPLIT", OF_NUMBERS | OF_FIXED, open_plain, split_take },
};

bool parquet_values_open(ParquetValues *v, const ParquetNode *leaf, int64_t encoding, Str bytes,
                         const ParquetRaw *dictionary, Err *err)
{
    if (encoding < 0 || encoding >= (int64_t)COUNT(encodings))
        return fail(err, EF_UNSUPPORTED, "found encoding %lld, which is not known", (long long)encoding);
    const EncodingRow *row = &encodings[encoding];
    if (!(row->types >> leaf->type & 1))
        return fail(err, EF_UNSUPPORTED, "found the encoding %s, which is not read for such values", row->name);
    *v = (ParquetValues){ .leaf = leaf, .encoding = (ParquetEncoding)encoding, .in = wire_over(bytes),
                          .dictionary = dictionary, .last = v->last };
    return row->open(v) || fail(err, EF_INVALID_INPUT, "found values that are no %s", row->name);
}

bool parquet_values_take(ParquetValues *v, ParquetRaw *to, size_t n, Err *err)
{
    return n == 0 || encodings[v->encoding].take(v, to, n) ||
           fail(err, EF_INVALID_INPUT, "found fewer values than there should be, or damaged ones (%s)",
                encodings[v->encoding].name);
}
