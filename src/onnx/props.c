/* SPDX-License-Identifier: Apache-2.0
 * props.c - the metadata_props of a model without its graph. They are records of the outermost
 * message, and the graph is one other: only a few pages of a file of any size are read, and
 * rewriting copies the graph byte for byte. */
#include "base/file.h"
#include "onnx/onnx.h"
#include "data/wire.h"

enum { PROPS = 14, MOST_PROPS = 1 << 16 };

static bool props_read_pair(Str record, OnnxPair *pair, Err *err)
{
    Wire w = wire_over(record);
    *pair = (OnnxPair){ 0 };
    err->code = EF_OK;
    while (wire_next(&w, err)) {
        if (w.type != WIRE_BYTES) continue;
        if (w.field == 1) pair->key = w.bytes;
        if (w.field == 2) pair->value = w.bytes;
    }
    return err->code == EF_OK || fail_of_model(err);
}

/* Whether the whole is records and one of them a graph; *n: those that are properties. */
static bool props_count(Str file, int *n, Err *err)
{
    Wire w = wire_over(file);
    bool graph = false;
    *n = 0;
    err->code = EF_OK;
    while (wire_next(&w, err)) {
        graph |= w.field == 7 && w.type == WIRE_BYTES;
        *n += w.field == PROPS && w.type == WIRE_BYTES;
        if (*n > MOST_PROPS)
            return fail(err, EF_TOO_LARGE, "found more than %d metadata_props", MOST_PROPS);
    }
    if (err->code != EF_OK) return fail_of_model(err);
    return graph || fail(err, EF_BAD_MODEL, "found no graph in %zu bytes, wanted an ONNX model",
                         file.n);
}

bool onnx_props(Arena *arena, Str file, OnnxPair **out, int *n, Err *err)
{
    int at = 0;
    if (!props_count(file, n, err)) return false;
    *out = ARRAY(arena, OnnxPair, *n + 1);
    Wire w = wire_over(file);
    while (wire_next(&w, err))
        if (w.field == PROPS && w.type == WIRE_BYTES &&
            !props_read_pair(w.bytes, &(*out)[at++], err))
            return within(err, "metadata_props[%d]", at - 1);
    return true;
}

/* Copies up to `end` what was not copied yet. */
static bool copy_until(FileWriter *to, const uint8_t **from, const uint8_t *end, Err *err)
{
    const uint8_t *p = *from;
    *from = end;
    return p == end || writer_add(to, p, (size_t)(end - p), err);
}

static bool add_pairs(FileWriter *to, const OnnxPair *pair, int n, Err *err)
{
    Buf b = { 0 }, one = { 0 };
    for (int i = 0; i < n; i++) {
        one.n = 0;
        wire_put_bytes(&one, 1, pair[i].key);
        wire_put_bytes(&one, 2, pair[i].value);
        wire_put_bytes(&b, PROPS, buf_view(&one));
    }
    bool ok = writer_add(to, b.p, b.n, err);
    buf_free(&one), buf_free(&b);
    return ok;
}

bool onnx_props_write(FileWriter *to, Str file, OnnxDrop *drop, const OnnxPair *pair, int n,
                      Err *err)
{
    int ignored;
    OnnxPair old;
    if (!props_count(file, &ignored, err)) return false;
    Wire w = wire_over(file);
    const uint8_t *from = w.p, *record = w.p;
    for (; wire_next(&w, err); record = w.p) {
        if (w.field != PROPS || w.type != WIRE_BYTES) continue;
        if (!props_read_pair(w.bytes, &old, err)) return false;
        if (!drop(old.key)) continue;
        if (!copy_until(to, &from, record, err)) return false;
        from = w.p;
    }
    return copy_until(to, &from, w.end, err) && add_pairs(to, pair, n, err);
}
