/* SPDX-License-Identifier: Apache-2.0
 * pictures.c - pictures to rows: a file's bytes become the tensor that the model's processor makes of
 * them. The decoded picture is scratch; a row keeps its pixel_values and the size that it was given in.
 * Pictures of one size run together; a DETR's pixel_mask is of the row alone, so what others send does
 * not change its answer. */
#include "engine/engine.h"
#include "image/image.h"
#include "items.h"

const Field item_picture_keys[] = {
    { "image", 1, F_BYTES, .required = true, .help = "the file's bytes: base64 or a data URI in JSON" },
    { 0 },
};
const ItemForm item_pictures = {
    .keys = item_picture_keys,
    .part = { ITEM_PICTURE },
    .alone = true,
    .object = true,
    .one = "a picture: base64 or a data URI, or an object with image",
    .all = "a picture (base64 or a data URI, or an object with image), or a list of pictures",
};

static const Field either_keys[] = {
    { "text", 1, F_STR },
    { "image", 2, F_BYTES, .help = "the file's bytes: base64 or a data URI in JSON" },
    { 0 },
};
const ItemForm item_texts_or_pictures = {
    .keys = either_keys,
    .part = { ITEM_FIRST, ITEM_PICTURE },
    .alone = true,
    .object = true,
    .either = true,
    .one = "a text, a picture as a data URI, or an object with text or image",
    .all = "a text, a picture (a data URI, or an object with image), or a list of both",
};

/* ---- items ---- */
bool item_read_picture(Arena *arena, const Value *v, Str *out, Err *err)
{
    if (v->kind != V_BYTES && v->kind != V_STR)
        return fail(err, EF_INVALID_INPUT, "found %s, wanted a picture: base64 or a data URI",
                    value_kind_name(v->kind));
    if (v->s.n == 0) return fail(err, EF_INVALID_INPUT, "picture: found no bytes");
    *out = v->s;
    return v->kind == V_BYTES || picture_from_text(arena, v->s, out, err);
}

static void sample_put(uint8_t *to, size_t bytes, uint32_t number)
{
    for (size_t i = 0; i < bytes; i++) to[i] = (uint8_t)(number >> (8 * i));
}

Str item_sample_picture(Arena *arena, size_t number)
{
    enum { HEAD = 54, WIDTH = 64, HEIGHT = 48, BYTES = HEAD + 3 * WIDTH * HEIGHT };
    uint8_t *bmp = arena_alloc(arena, BYTES), *pixel = bmp + HEAD;
    memcpy(bmp, "BM", 2);
    sample_put(bmp + 2, 4, BYTES);
    sample_put(bmp + 10, 4, HEAD);
    sample_put(bmp + 14, 4, 40); /* BITMAPINFOHEADER */
    sample_put(bmp + 18, 4, WIDTH);
    sample_put(bmp + 22, 4, HEIGHT);
    sample_put(bmp + 26, 2, 1); /* planes */
    sample_put(bmp + 28, 2, 24);
    for (size_t i = 0; i < (size_t)WIDTH * HEIGHT; i++, pixel += 3) {
        size_t x = i % WIDTH, y = i / WIDTH;
        pixel[0] = (uint8_t)(4 * x), pixel[1] = (uint8_t)(5 * y + 64 * number), pixel[2] = (uint8_t)(x * y);
    }
    return (Str){ (char *)bmp, BYTES };
}

/* ---- rows ---- */
static Feature picture_pixels(const PixelTensor *t)
{
    return (Feature){ "pixel_values",
                      { .type = T_F32, .rank = 3, .dim = { 3, t->height, t->width }, .data = t->values } };
}

/* 1 where the picture is, 0 in what was padded. */
static Feature picture_mask(Arena *arena, const PixelTensor *t)
{
    int64_t *mask = ARRAY(arena, int64_t, t->height * t->width);
    for (int y = 0; y < t->live_height; y++)
        for (int x = 0; x < t->live_width; x++) mask[y * t->width + x] = 1;
    return (Feature){ "pixel_mask", { .type = T_I64, .rank = 2, .dim = { t->height, t->width }, .data = mask } };
}

bool prepare_pixels(const PrepareCall *call, Str bytes, Prepared *row, Err *err)
{
    const ImageProcessor *how = call->model->image;
    Picture picture;
    PixelTensor pixels;
    PictureLimits limits = { call->model->max_pixels };
    if (!picture_read(call->work, bytes, &limits, &picture, err) ||
        !image_prepare(call->arena, how, &picture, &pixels, err))
        return false;
    Feature *feature = ARRAY(call->arena, Feature, 2);
    feature[0] = picture_pixels(&pixels);
    if (how->pixel_mask) feature[1] = picture_mask(call->arena, &pixels);
    *row = (Prepared){ .feature = feature, .features = how->pixel_mask ? 2 : 1,
                       .width = picture.width, .height = picture.height };
    return true;
}

static bool prepare_picture_row(const PrepareCall *call, const Item *item, PreparedRows *out, Err *err)
{
    out->n = 1;
    return prepare_pixels(call, item->picture, out->row, err);
}

const Preparer prepare_pictures = { "pictures", prepare_picture_row };

/* ---- a picture, texts, or both ---- */
/* SigLIP was trained on texts of full length: padding is part of them. */
static bool prepare_tower_text(const PrepareCall *call, Str text, Prepared *row, Err *err)
{
    EncodeOptions how = prepare_how(call);
    *row = (Prepared){ .graph = 1 };
    if (!prepare_encode(call, text, NULL, &how, &row->encoding, err)) return false;
    if (!call->model->pad_to) return true;
    PadOptions pad = { .length = (size_t)call->model->pad_to, .id = call->model->pad_id };
    return encodings_pad(call->arena, &row->encoding, 1, &pad, err);
}

static bool prepare_both(const PrepareCall *call, const Item *item, PreparedRows *out, Err *err)
{
    size_t n = (item->picture.p != NULL) + (item->first.p != NULL) + item->n;
    if (n > 1) out->row = ARRAY(call->arena, Prepared, n);
    Prepared *row = out->row;
    if (item->picture.p && !prepare_picture_row(call, item, out, err)) return false;
    row += item->picture.p != NULL;
    if (item->first.p && !prepare_tower_text(call, item->first, row++, err)) return false;
    for (size_t i = 0; i < item->n; i++)
        if (!prepare_tower_text(call, item->list[i], row++, err)) return false;
    out->n = n;
    return true;
}

const Preparer prepare_pictures_and_texts = { "pictures and texts", prepare_both };
