/* SPDX-License-Identifier: Apache-2.0
 * wire.c - protobuf records one by one. ONNX files and gRPC messages come from outside, so every
 * length is checked against what is left before it is believed. */
#include "wire.h"

bool wire_varint(Wire *w, uint64_t *out)
{
    uint64_t n = 0;
    const uint8_t *p = w->p;
    for (int shift = 0; p < w->end && shift < 70; shift += 7) {
        uint8_t byte = *p++;
        if (shift == 63 && byte > 1) return false; /* does not fit 64 bits */
        n |= (uint64_t)(byte & 0x7F) << shift;
        if (byte & 0x80) continue;
        w->p = p;
        *out = n;
        return true;
    }
    return false;
}

static bool take_fixed(Wire *w, size_t size, Err *err)
{
    size_t left = (size_t)(w->end - w->p);
    if (left < size)
        return fail(err, EF_BAD_REQUEST, "protobuf: field %d: found %zu bytes, wanted %zu",
                    w->field, left, size);
    w->number = 0;
    memcpy(&w->number, w->p, size); /* little endian, as all our targets are */
    w->p += size;
    return true;
}

static bool wire_take_number(Wire *w, uint64_t *out, Err *err)
{
    if (wire_varint(w, out)) return true;
    return fail(err, EF_BAD_REQUEST, "protobuf: field %d: found a broken varint, wanted a number",
                w->field);
}

static bool wire_take_bytes(Wire *w, Err *err)
{
    uint64_t size;
    if (!wire_take_number(w, &size, err)) return false;
    size_t left = (size_t)(w->end - w->p);
    if (size > left)
        return fail(err, EF_BAD_REQUEST, "protobuf: field %d: found %zu bytes, wanted %llu",
                    w->field, left, (unsigned long long)size);
    w->bytes = (Str){ (const char *)w->p, (size_t)size };
    w->p += size;
    return true;
}

bool wire_next(Wire *w, Err *err)
{
    if (w->p == w->end) return false;
    uint64_t tag;
    w->field = 0;
    if (!wire_take_number(w, &tag, err)) return false;
    if (tag < 8 || tag > UINT32_MAX)
        return fail(err, EF_BAD_REQUEST,
                    "protobuf: found tag %llu, wanted a field from 1 to 536870911",
                    (unsigned long long)tag);
    w->field = (int)(tag >> 3);
    w->type = (WireType)(tag & 7);
    w->bytes = (Str){ 0 };
    switch (w->type) {
    case WIRE_VARINT: return wire_take_number(w, &w->number, err);
    case WIRE_64: return take_fixed(w, 8, err);
    case WIRE_32: return take_fixed(w, 4, err);
    case WIRE_BYTES: return wire_take_bytes(w, err);
    }
    return fail(err, EF_BAD_REQUEST, "protobuf: field %d: found wire type %d, wanted 0, 1, 2 or 5",
                w->field, (int)(tag & 7));
}

float wire_float(const Wire *w)
{
    uint32_t bits = (uint32_t)w->number;
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

void wire_put_varint(Buf *b, uint64_t n)
{
    uint8_t out[10];
    size_t size = 0;
    for (; n >= 0x80; n >>= 7) out[size++] = (uint8_t)(n | 0x80);
    out[size++] = (uint8_t)n;
    buf_add(b, out, size);
}

void wire_put_tag(Buf *b, int field, WireType type)
{
    wire_put_varint(b, (uint64_t)field << 3 | type);
}

void wire_put_int(Buf *b, int field, int64_t n)
{
    wire_put_tag(b, field, WIRE_VARINT);
    wire_put_varint(b, (uint64_t)n);
}

void wire_put_bytes(Buf *b, int field, Str bytes)
{
    wire_put_tag(b, field, WIRE_BYTES);
    wire_put_varint(b, bytes.n);
    buf_str(b, bytes);
}

void wire_put_fixed64(Buf *b, int field, uint64_t n)
{
    wire_put_tag(b, field, WIRE_64);
    buf_add(b, &n, sizeof n);
}

void wire_put_f32(Buf *b, int field, float x)
{
    wire_put_tag(b, field, WIRE_32);
    buf_add(b, &x, sizeof x);
}
