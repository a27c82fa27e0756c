/* SPDX-License-Identifier: Apache-2.0
 * test_data_wire.c - the protobuf wire format against bytes written by hand, and broken ones. */
#include "check.h"
#include "data/wire.h"

static Err err;

static bool writes(Buf *b, const char *bytes, size_t n)
{
    bool ok = b->n == n && !memcmp(b->p, bytes, n);
    b->n = 0;
    return ok;
}
#define WRITES(b, literal) writes((b), (literal), sizeof(literal) - 1)

/* Malformed: the first record that fails says so. */
static bool broken(const char *bytes, size_t n, const char *message)
{
    Wire w = wire_over((Str){ bytes, n });
    err = (Err){ 0 };
    while (wire_next(&w, &err)) {}
    return err.code == EF_BAD_REQUEST && says(&err, message);
}
#define BROKEN(literal, message) broken((literal), sizeof(literal) - 1, (message))

static void test_writing(void)
{
    TEST("writing");
    Buf b = { 0 };
    wire_put_int(&b, 1, 150);
    CHECK(WRITES(&b, "\x08\x96\x01"));
    wire_put_int(&b, 1, 0);
    CHECK(WRITES(&b, "\x08\x00"));
    wire_put_int(&b, 2, -1);
    CHECK(WRITES(&b, "\x10\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"));
    wire_put_bytes(&b, 2, STR("testing"));
    CHECK(WRITES(&b, "\x12\x07testing"));
    wire_put_bytes(&b, 16, (Str){ 0 });
    CHECK(WRITES(&b, "\x82\x01\x00"));
    wire_put_fixed64(&b, 3, 0x0102030405060708);
    CHECK(WRITES(&b, "\x19\x08\x07\x06\x05\x04\x03\x02\x01"));
    wire_put_f32(&b, 4, 1.5f);
    CHECK(WRITES(&b, "\x25\x00\x00\xc0\x3f"));
    wire_put_tag(&b, 536870911, WIRE_BYTES);
    CHECK(WRITES(&b, "\xfa\xff\xff\xff\x0f"));
    buf_free(&b);
}

static void test_reading(void)
{
    TEST("reading");
    static const char bytes[] = "\x08\x96\x01"
                                "\x12\x02hi"
                                "\x25\x00\x00\xc0\x3f"
                                "\x19\x08\x07\x06\x05\x04\x03\x02\x01"
                                "\xfa\xff\xff\xff\x0f\x00";
    Wire w = wire_over((Str){ bytes, sizeof bytes - 1 });
    err = (Err){ 0 };
    CHECK(wire_next(&w, &err) && w.field == 1 && w.type == WIRE_VARINT && w.number == 150);
    CHECK(wire_next(&w, &err) && w.field == 2 && w.type == WIRE_BYTES && str_is(w.bytes, "hi"));
    CHECK(w.bytes.p == bytes + 5); /* a view */
    CHECK(wire_next(&w, &err) && w.field == 4 && w.type == WIRE_32 && wire_float(&w) == 1.5f);
    CHECK(wire_next(&w, &err) && w.field == 3 && w.type == WIRE_64 &&
          w.number == 0x0102030405060708);
    CHECK(wire_next(&w, &err) && w.field == 536870911 && w.bytes.n == 0);
    CHECK(!wire_next(&w, &err) && err.code == EF_OK);
    CHECK(!wire_next(&w, &err) && err.code == EF_OK); /* stays at the end */
    w = wire_over((Str){ 0 });
    CHECK(!wire_next(&w, &err) && err.code == EF_OK);
}

static void test_varints(void)
{
    TEST("varints");
    static const uint64_t rows[] = {
        0, 1, 127, 128, 16383, 16384, UINT32_MAX, INT64_MAX, UINT64_MAX
    };
    Buf b = { 0 };
    for (size_t i = 0; i < COUNT(rows); i++) wire_put_varint(&b, rows[i]);
    Wire w = wire_over(buf_view(&b));
    uint64_t n;
    for (size_t i = 0; i < COUNT(rows); i++) CHECK(wire_varint(&w, &n) && n == rows[i]);
    CHECK(!wire_varint(&w, &n) && w.p == w.end);
    w = wire_over(STR("\x01\x80"));
    CHECK(wire_varint(&w, &n) && !wire_varint(&w, &n) &&
          w.p == w.end - 1); /* not at the end: broken */
    w = wire_over(STR("\x80\x80\x00"));
    CHECK(wire_varint(&w, &n) && n == 0 && w.p == w.end); /* longer than needed is allowed */
    w = wire_over(STR("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02"));
    CHECK(!wire_varint(&w, &n));
    w = wire_over(STR("\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01"));
    CHECK(!wire_varint(&w, &n));
    buf_free(&b);
}

static void test_broken(void)
{
    TEST("broken");
    CHECK(BROKEN("\x08", "field 1: found a broken varint"));
    CHECK(BROKEN("\x08\x01\x08\x80", "field 1: found a broken varint"));
    CHECK(BROKEN("\x80", "found a broken varint"));
    CHECK(BROKEN("\x00\x01", "found tag 0"));
    CHECK(BROKEN("\x02\x00", "found tag 2"));
    CHECK(BROKEN("\x80\x80\x80\x80\x10\x00", "wanted a field from 1 to 536870911"));
    CHECK(BROKEN("\x0b\x0c", "field 1: found wire type 3"));
    CHECK(BROKEN("\x0c", "found wire type 4"));
    CHECK(BROKEN("\x0e", "found wire type 6"));
    CHECK(BROKEN("\x0f", "found wire type 7"));
    CHECK(BROKEN("\x0a\x03hi", "field 1: found 2 bytes, wanted 3"));
    CHECK(BROKEN("\x0a", "found a broken varint"));
    CHECK(BROKEN("\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
                 "found 0 bytes, wanted 18446744073709551615"));
    CHECK(BROKEN("\x0d\x01\x02\x03", "found 3 bytes, wanted 4"));
    CHECK(BROKEN("\x09\x01\x02\x03\x04\x05\x06\x07", "found 7 bytes, wanted 8"));
}

int main(void)
{
    test_writing();
    test_reading();
    test_varints();
    test_broken();
    return finish();
}
