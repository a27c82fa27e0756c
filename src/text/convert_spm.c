/* SPDX-License-Identifier: Apache-2.0
 * convert_spm.c - a SentencePiece model: the few fields of its protobuf that matter, and the merges
 * that its BPE vocabularies imply. */
#include <stdlib.h>

#include "convert.h"
#include "data/wire.h"
#include "vocab.h"

enum { PIECE_NORMAL = 1, MODEL_UNIGRAM = 1, MODEL_BPE = 2 };

static bool spm_read_piece(Arena *arena, Str bytes, Value *out, uint8_t *type, Err *err)
{
    Str piece = { 0 };
    float score = 0;
    *type = PIECE_NORMAL;
    err->code = EF_OK;
    for (Wire w = wire_over(bytes); wire_next(&w, err);) {
        if (w.field == 1 && w.type == WIRE_BYTES) piece = w.bytes;
        if (w.field == 2 && w.type == WIRE_32) score = wire_float(&w);
        if (w.field == 3 && w.type == WIRE_VARINT) *type = (uint8_t)w.number;
    }
    if (err->code != EF_OK) return false;
    if (!piece.p || !utf8_valid(piece) || score != score)
        return fail(err, EF_BAD_MODEL, "found a piece without text or score");
    *out = value_list(arena, 2);
    out->list.items[0] = value_of_str(piece);
    out->list.items[1] = value_of_float((double)score);
    return true;
}

static bool read_trainer(Str bytes, Spm *out, Err *err)
{
    int64_t kind = MODEL_UNIGRAM;
    err->code = EF_OK;
    for (Wire w = wire_over(bytes); wire_next(&w, err);) {
        if (w.type == WIRE_VARINT && w.field == 3) kind = (int64_t)w.number;
        if (w.type == WIRE_VARINT && w.field == 35) out->byte_fallback = w.number;
        if (w.type == WIRE_VARINT && w.field == 40) out->unk_id = (int32_t)w.number;
        if (w.type == WIRE_BYTES && w.field == 45) out->unk = w.bytes;
    }
    if (err->code != EF_OK) return false;
    out->bpe = kind == MODEL_BPE;
    if (kind == MODEL_UNIGRAM || kind == MODEL_BPE) return true;
    return fail(err, EF_UNSUPPORTED, "found model type %lld, wanted 1 (Unigram) or 2 (BPE)",
                (long long)kind);
}

static bool read_normalizer(Str bytes, Spm *out, Err *err)
{
    err->code = EF_OK;
    for (Wire w = wire_over(bytes); wire_next(&w, err);)
        if (w.field == 2 && w.type == WIRE_BYTES) out->charsmap = w.bytes;
    return err->code == EF_OK;
}

static bool count_pieces(Str bytes, size_t *n, Err *err)
{
    err->code = EF_OK;
    *n = 0;
    for (Wire w = wire_over(bytes); wire_next(&w, err);) *n += w.field == 1 && w.type == WIRE_BYTES;
    return err->code == EF_OK;
}

static bool spm_read_all(Arena *arena, Str bytes, Spm *out, Err *err)
{
    size_t n;
    if (!count_pieces(bytes, &n, err)) return false;
    uint8_t *types = ARRAY(arena, uint8_t, n);
    *out = (Spm){ .vocab = value_list(arena, n), .types = types, .unk = STR("<unk>") };
    n = 0;
    for (Wire w = wire_over(bytes); wire_next(&w, err);) {
        if (w.type != WIRE_BYTES) continue;
        Value *piece = w.field == 1 ? &out->vocab.list.items[n] : NULL;
        bool ok = w.field == 1   ? spm_read_piece(arena, w.bytes, piece, types + n, err)
                  : w.field == 2 ? read_trainer(w.bytes, out, err)
                  : w.field == 3 ? read_normalizer(w.bytes, out, err)
                                 : true;
        if (!ok) return false;
        n += w.field == 1;
    }
    return n > 0 || fail(err, EF_BAD_MODEL, "found no pieces");
}

bool spm_read(Arena *arena, Str bytes, Spm *out, Err *err)
{
    return spm_read_all(arena, bytes, out, err) || within(err, "SentencePiece model");
}

/* Every cut of a piece into two pieces is a merge; its rank is the piece's id, then the length of
 * the left part. */
Value spm_merges(Arena *arena, const Spm *spm)
{
    Map known = { 0 };
    Buf merges = { 0 };
    size_t n = spm->vocab.list.n;
    for (size_t i = 0; i < n; i++)
        map_put(&known, arena, spm->vocab.list.items[i].list.items[0].s, &known);
    for (size_t i = 0; i < n; i++) {
        Str piece = spm->vocab.list.items[i].list.items[0].s;
        for (size_t at = 1; at < piece.n; at++) {
            Str left = { piece.p, at }, right = { piece.p + at, piece.n - at };
            if ((piece.p[at] & 0xc0) == 0x80 || !map_get(&known, left) || !map_get(&known, right))
                continue;
            Value pair = value_list(arena, 2);
            pair.list.items[0] = value_of_str(left), pair.list.items[1] = value_of_str(right);
            buf_add(&merges, &pair, sizeof pair);
        }
    }
    Value list = value_list(arena, merges.n / sizeof(Value));
    if (merges.n) memcpy(list.list.items, merges.p, merges.n);
    buf_free(&merges);
    return list;
}
