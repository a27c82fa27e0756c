/* SPDX-License-Identifier: Apache-2.0
 * npy.c - NumPy's .npy: magic and version, a length, a Python dict as text, the data.
 *
 *     "\x93NUMPY" 1 0  u16 (version 2 and 3: u32) header length, little endian
 *     "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }" spaces "\n"
 *
 * The whole head is padded to 64 bytes. Other orders and big endian are refused by name. */
#include "npy.h"

typedef struct NpyHeader { /* reading position in the dict */
    const char *p, *end;
    Str descr;
    bool fortran;
    bool has_descr, has_order, has_shape;
    Npy *npy;
} NpyHeader;

static bool npy_fail(const NpyHeader *h, const char *wanted, Err *err)
{
    int n = (int)MIN(h->end - h->p, 20);
    while (n > 0 && !utf8_valid((Str){ h->p, (size_t)n })) n--;
    return fail(err, EF_BAD_REQUEST, "npy header: found \"%.*s\", wanted %s", n, h->p, wanted);
}

static bool npy_take(NpyHeader *h, char c)
{
    while (h->p < h->end && (*h->p == ' ' || *h->p == '\n')) h->p++;
    if (h->p == h->end || *h->p != c) return false;
    h->p++;
    return true;
}

static bool take_word(NpyHeader *h, const char *word)
{
    if (!str_starts((Str){ h->p, (size_t)(h->end - h->p) }, word)) return false;
    h->p += strlen(word);
    return true;
}

static bool take_string(NpyHeader *h, Str *out, Err *err)
{
    char quote = npy_take(h, '\'') ? '\'' : npy_take(h, '"') ? '"' : 0;
    const char *close = quote ? memchr(h->p, quote, (size_t)(h->end - h->p)) : NULL;
    if (!close) return npy_fail(h, "a string in quotes", err);
    *out = (Str){ h->p, (size_t)(close - h->p) };
    h->p = close + 1;
    return true;
}

static bool npy_read_dim(NpyHeader *h, Err *err)
{
    const char *start = h->p;
    while (h->p < h->end && *h->p >= '0' && *h->p <= '9') h->p++;
    if (h->npy->rank == NPY_MAX_RANK)
        return fail(err, EF_UNSUPPORTED, "npy: found more than %d dimensions, wanted at most that",
                    NPY_MAX_RANK);
    int64_t *dim = &h->npy->dim[h->npy->rank++];
    if (str_int((Str){ start, (size_t)(h->p - start) }, dim)) return true;
    return h->p = start, npy_fail(h, "a dimension", err);
}

static bool npy_read_shape(NpyHeader *h, Err *err)
{
    if (!npy_take(h, '(')) return npy_fail(h, "'('", err);
    while (!npy_take(h, ')')) {
        if (!npy_read_dim(h, err)) return false;
        if (npy_take(h, ',')) {
            while (h->p < h->end && *h->p == ' ') h->p++;
        } else if (h->npy->rank == 1 || h->p == h->end || *h->p != ')') {
            return npy_fail(h, "',' or ')'", err); /* (3) is a number in Python, no tuple */
        }
    }
    return true;
}

static bool read_order(NpyHeader *h, Err *err)
{
    while (h->p < h->end && *h->p == ' ') h->p++;
    h->fortran = take_word(h, "True");
    return h->fortran || take_word(h, "False") || npy_fail(h, "True or False", err);
}

static bool npy_read_entry(NpyHeader *h, Err *err)
{
    Str key;
    if (!take_string(h, &key, err)) return false;
    bool *seen = str_is(key, "descr")           ? &h->has_descr
                 : str_is(key, "fortran_order") ? &h->has_order
                 : str_is(key, "shape")         ? &h->has_shape
                                                : NULL;
    if (!seen || *seen) return npy_fail(h, "one each of descr, fortran_order and shape", err);
    *seen = true;
    if (!npy_take(h, ':')) return npy_fail(h, "':'", err);
    if (seen == &h->has_descr) return take_string(h, &h->descr, err);
    return seen == &h->has_order ? read_order(h, err) : npy_read_shape(h, err);
}

static bool npy_read_dict(NpyHeader *h, Err *err)
{
    if (!npy_take(h, '{')) return npy_fail(h, "'{'", err);
    while (!npy_take(h, '}')) {
        if (!npy_read_entry(h, err)) return false;
        if (npy_take(h, ',')) continue;
        if (!npy_take(h, '}')) return npy_fail(h, "',' or '}'", err);
        break;
    }
    if (h->has_descr && h->has_order && h->has_shape) return true;
    return npy_fail(h, "descr, fortran_order and shape", err);
}

/* '<f4', '|b1': byte order, kind, size. */
static bool npy_read_type(NpyHeader *h, Err *err)
{
    static const char *const known[] = { "f2", "f4", "f8", "i1", "i2", "i4",
                                         "i8", "u1", "u2", "u4", "u8", "b1" };
    Str type = h->descr;
    bool order = type.n == 3 && (type.p[0] == '<' || type.p[0] == '|' || type.p[2] == '1');
    for (size_t i = 0; order && i < COUNT(known); i++) {
        if (memcmp(type.p + 1, known[i], 2)) continue;
        h->npy->kind = type.p[1];
        h->npy->size = type.p[2] - '0';
        return true;
    }
    return fail(err, EF_UNSUPPORTED, "npy: found type \"%.*s\", wanted little endian f, i, u or b",
                (int)MIN(type.n, (size_t)20), type.p);
}

static bool shape_bytes(const Npy *npy, size_t *bytes)
{
    *bytes = (size_t)npy->size;
    for (int i = 0; i < npy->rank; i++)
        if (__builtin_mul_overflow(*bytes, (size_t)npy->dim[i], bytes)) return false;
    return true;
}

/* Finds the dict behind the magic, version and length. */
static bool find_header(Str file, NpyHeader *h, Err *err)
{
    if (file.n < 12 || memcmp(file.p, "\x93NUMPY", 6))
        return fail(err, EF_BAD_REQUEST, "npy: found no magic number, wanted \\x93NUMPY");
    const unsigned char *head = (const unsigned char *)file.p;
    if (head[6] < 1 || head[6] > 3)
        return fail(err, EF_UNSUPPORTED, "npy: found version %d, wanted 1, 2 or 3", head[6]);
    size_t start = head[6] == 1 ? 10 : 12, size = head[8] | (size_t)head[9] << 8;
    if (head[6] > 1) size |= (size_t)head[10] << 16 | (size_t)head[11] << 24;
    if (size > file.n - start)
        return fail(err, EF_BAD_REQUEST, "npy: found %zu bytes of header, wanted %zu",
                    file.n - start, size);
    h->p = file.p + start;
    h->end = h->p + size;
    return true;
}

bool npy_read(Str file, Npy *npy, Err *err)
{
    *npy = (Npy){ 0 };
    NpyHeader h = { .npy = npy };
    if (!find_header(file, &h, err) || !npy_read_dict(&h, err) || !npy_read_type(&h, err))
        return false;
    if (h.fortran && npy->rank > 1)
        return fail(err, EF_UNSUPPORTED, "npy: found Fortran order, wanted C order");
    size_t left = (size_t)(file.p + file.n - h.end);
    if (!shape_bytes(npy, &npy->bytes) || npy->bytes != left)
        return fail(err, EF_BAD_REQUEST,
                    "npy: found %zu bytes of data, wanted as many as the shape says", left);
    npy->data = h.end;
    return true;
}

void npy_write(Buf *b, const Npy *npy)
{
    size_t bytes, start = b->n;
    bool fits = shape_bytes(npy, &bytes);
    assert(fits && bytes == npy->bytes && npy->rank <= NPY_MAX_RANK);
    (void)fits;
    buf_add(b, "\x93NUMPY\1\0\0\0", 10);
    buf_printf(b, "{'descr': '%c%c%d', 'fortran_order': False, 'shape': (",
               npy->size == 1 ? '|' : '<', npy->kind, npy->size);
    for (int i = 0; i < npy->rank; i++)
        buf_printf(b, "%s%lld%s", i ? ", " : "", (long long)npy->dim[i], npy->rank == 1 ? "," : "");
    buf_puts(b, "), }");
    while ((b->n - start) % 64 != 63) buf_char(b, ' ');
    buf_char(b, '\n');
    size_t header = b->n - start - 10;
    b->p[start + 8] = (char)header;
    b->p[start + 9] = (char)(header >> 8);
    buf_add(b, npy->data, bytes);
}
