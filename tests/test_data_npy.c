/* SPDX-License-Identifier: Apache-2.0
 * test_data_npy.c - .npy files: the layout NumPy documents, and broken ones. */
#include "check.h"
#include "data/npy.h"

static Err err;

/* A version 1 file with this dict and so many bytes of data behind it. */
static Str file_of(Buf *b, const char *dict, size_t data)
{
    size_t n = strlen(dict);
    b->n = 0;
    buf_add(b, "\x93NUMPY\1\0", 8);
    buf_char(b, (char)n), buf_char(b, (char)(n >> 8));
    buf_puts(b, dict);
    for (size_t i = 0; i < data; i++) buf_char(b, (char)i);
    return buf_view(b);
}

static void test_round_trip(void)
{
    TEST("round trip");
    static const float data[6] = { 1, 2, 3, 4, 5, 6 };
    Npy in = { 'f', 4, 2, { 2, 3 }, data, sizeof data }, out;
    Buf b = { 0 };
    npy_write(&b, &in);
    CHECK(b.n == 128 + 24 && b.p[127] == '\n');
    CHECK(!memcmp(
        b.p, "\x93NUMPY\1\0\x76\0{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }  ",
        71));
    CHECK(npy_read(buf_view(&b), &out, &err));
    CHECK(out.kind == 'f' && out.size == 4 && out.rank == 2 && out.dim[0] == 2 && out.dim[1] == 3);
    CHECK(out.bytes == sizeof data && !memcmp(out.data, data, sizeof data));
    b.n = 0;
    npy_write(&b, &(Npy){ 'b', 1, 1, { 5 }, data, 5 });
    CHECK(strstr(b.p + 10, "'descr': '|b1'") && strstr(b.p + 10, "'shape': (5,)"));
    CHECK(npy_read(buf_view(&b), &out, &err) && out.rank == 1 && out.dim[0] == 5 &&
          out.kind == 'b');
    b.n = 0;
    npy_write(&b, &(Npy){ 'i', 8, 0, { 0 }, data, 8 });
    CHECK(strstr(b.p + 10, "'shape': ()"));
    CHECK(npy_read(buf_view(&b), &out, &err) && out.rank == 0 && out.bytes == 8);
    b.n = 0;
    npy_write(&b, &(Npy){ 'u', 2, 3, { 4, 0, 7 }, NULL, 0 });
    CHECK(npy_read(buf_view(&b), &out, &err) && out.rank == 3 && out.dim[1] == 0 && out.bytes == 0);
    npy_write(&b, &in); /* behind other bytes: padded from its own start */
    CHECK(npy_read((Str){ b.p + 128, b.n - 128 }, &out, &err) && out.bytes == 24);
    buf_free(&b);
}

static void test_forms(void)
{
    TEST("forms that are read");
    Buf b = { 0 };
    Npy npy;
    CHECK(npy_read(file_of(&b, "{\"shape\":(2,),\"descr\":\"<i2\",\"fortran_order\":False}", 4),
                   &npy, &err));
    CHECK(npy.kind == 'i' && npy.size == 2 && npy.dim[0] == 2);
    CHECK(npy_read(file_of(&b, "{'descr': '>u1', 'fortran_order': False, 'shape': (1,), }\n", 1),
                   &npy, &err));
    CHECK(npy_read(file_of(&b, "{'descr': '<f8', 'fortran_order': True, 'shape': (1,), }", 8), &npy,
                   &err));
    b.n = 0;
    buf_add(&b, "\x93NUMPY\2\0\x35\0\0\0{'descr':'<f2','fortran_order':False,'shape':(1, 2)} ",
            12 + 53);
    buf_add(&b, "abcd", 4);
    CHECK(npy_read(buf_view(&b), &npy, &err) && npy.size == 2 && npy.dim[1] == 2);
    b.p[6] = 3;
    CHECK(npy_read(buf_view(&b), &npy, &err));
    buf_free(&b);
}

typedef struct Bad {
    const char *dict;
    ef_code code;
    const char *message;
} Bad;

static void test_broken(void)
{
    TEST("broken");
    static const Bad rows[] = {
        /* each with 24 bytes of data */
        { "{'descr': '>f4', 'fortran_order': False, 'shape': (6,), }", EF_UNSUPPORTED,
          "found type \">f4\"" },
        { "{'descr': '=f4', 'fortran_order': False, 'shape': (6,), }", EF_UNSUPPORTED,
          "found type \"=f4\"" },
        { "{'descr': '<c8', 'fortran_order': False, 'shape': (3,), }", EF_UNSUPPORTED,
          "found type \"<c8\"" },
        { "{'descr': '|O', 'fortran_order': False, 'shape': (3,), }", EF_UNSUPPORTED,
          "found type \"|O\"" },
        { "{'descr': '<f4', 'fortran_order': True, 'shape': (2, 3), }", EF_UNSUPPORTED, "Fortran" },
        { "{'descr': '<f4', 'fortran_order': False, 'shape': (7,), }", EF_BAD_REQUEST,
          "found 24 bytes" },
        { "{'descr': '<f4', 'fortran_order': False, 'shape': (5,), }", EF_BAD_REQUEST,
          "found 24 bytes" },
        { "{'descr': '<f4', 'fortran_order': False, 'shape': (6), }", EF_BAD_REQUEST,
          "wanted ','" },
        { "{'descr': '<f4', 'fortran_order': False, 'shape': (-6,), }", EF_BAD_REQUEST,
          "a dimension" },
        { "{'descr': '<f4', 'fortran_order': False, 'shape': (6,", EF_BAD_REQUEST, "a dimension" },
        { "{'descr': '<f4', 'fortran_order': False, 'shape': (", EF_BAD_REQUEST, "a dimension" },
        { "{'descr': '<f4', 'fortran_order': False, 'shape': (4611686018427387904, 4, 6), }",
          EF_BAD_REQUEST, "as the shape says" },
        { "{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,), }",
          EF_BAD_REQUEST, "a dimension" },
        { "{'descr': '<f4', 'fortran_order': False, 'shape': (1,1,1,1,1,1,1,1,6), }",
          EF_UNSUPPORTED, "more than 8" },
        { "{'descr': '<f4', 'fortran_order': False}", EF_BAD_REQUEST,
          "wanted descr, fortran_order and shape" },
        { "{'descr': '<f4', 'descr': '<f4'}", EF_BAD_REQUEST, "wanted one each" },
        { "{'descr': '<f4', 'fortran_order': Maybe", EF_BAD_REQUEST, "wanted True or False" },
        { "{'descr': [('a', '<f4')], 'fortran_order': False", EF_BAD_REQUEST, "wanted a string" },
        { "{'descr", EF_BAD_REQUEST, "wanted a string in quotes" },
        { "{'descr'", EF_BAD_REQUEST, "wanted ':'" },
        { "[]", EF_BAD_REQUEST, "wanted '{'" },
    };
    Buf b = { 0 };
    Npy npy;
    for (size_t i = 0; i < COUNT(rows); i++) {
        err = (Err){ 0 };
        CHECK(!npy_read(file_of(&b, rows[i].dict, 24), &npy, &err));
        CHECK(err.code == rows[i].code && says(&err, rows[i].message));
    }
    Str whole = file_of(&b, "{'descr': '<f4', 'fortran_order': False, 'shape': (6,), }", 24);
    CHECK(npy_read(whole, &npy, &err));
    int accepted = 0;
    for (size_t n = 0; n < whole.n; n++) accepted += npy_read((Str){ whole.p, n }, &npy, &err);
    CHECK(accepted == 0); /* cut anywhere */
    b.p[6] = 4;
    CHECK(!npy_read(whole, &npy, &err) && says(&err, "found version 4"));
    b.p[0] = 'x';
    CHECK(!npy_read(whole, &npy, &err) && says(&err, "no magic number"));
    buf_free(&b);
}

int main(void)
{
    test_round_trip();
    test_forms();
    test_broken();
    return finish();
}
