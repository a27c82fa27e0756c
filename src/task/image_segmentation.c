/* SPDX-License-Identifier: Apache-2.0
 * image_segmentation.c - which pixels show what: semantic segmentation, as SegFormer's pipeline gives
 * it. A map of logits for each label is resized to the picture as it was given (bilinear, corners not
 * aligned, as torch does it); a pixel has the label of its largest; one result for each label that has
 * a pixel, in the order of labels. */
#include <math.h>

#include "image/image.h"
#include "parts.h"

static const Field request[] = {
    PART_PICTURES("Picture"), PART_METADATA(11),
    { "masks", 0, F_STR, .words = part_mask_words,
      .help = "how masks are written: PNG files (0 and 255), or COCO's run lengths; default: png" },
    { 0 },
};

static const Field rle_rows[] = {
    { "size", 1, F_U32, .repeated = true, .required = true, .help = "height and width" },
    { "counts", 2, F_U32, .repeated = true, .required = true,
      .help = "pixels outside, inside, outside ..., column by column" },
    { 0 },
};
static const Field segment_rows[] = {
    { "label", 1, F_STR, .required = true },
    { "index", 0, F_U32, .required = true },
    { "score", 2, F_F32, .required = true, .nullable = true, .help = "null: of all pixels together there is none" },
    { "mask", 3, F_BYTES, .help = "a PNG file of the picture's size: 255 where it is; in JSON as base64" },
    { "rle", 4, F_MSG, .msg = rle_rows, .msg_name = "MaskRuns", .help = "the same as run lengths; only if asked for" },
    { 0 },
};
static const Field result[] = {
    { "segments", 1, F_MSG, .repeated = true, .required = true, .msg = segment_rows, .msg_name = "ImageSegment",
      .help = "by label" },
    { 0 },
};
static const Field reply[] = PART_PICTURE_REPLY(result, "ImageSegments");

/* ---- resizing ---- */
typedef struct MapPoint {        /* between two rows or columns of a map */
    int64_t at, next;
    float share;                 /* of the second */
} MapPoint;

static MapPoint map_point(int64_t i, int64_t from, int64_t to)
{
    float real = fmaxf(((float)from / (float)to) * ((float)i + 0.5f) - 0.5f, 0);
    int64_t at = MIN((int64_t)real, from - 1);
    return (MapPoint){ at, at + (at < from - 1), real - (float)at };
}

/* The label of each pixel: one row after another, each label's line first mixed from two rows of its map. */
static uint16_t *pixel_labels(Arena *arena, const TaskTensor *maps, int64_t width, int64_t height)
{
    int64_t labels = maps->dim[0], h = maps->dim[1], w = maps->dim[2];
    uint16_t *best = ARRAY(arena, uint16_t, width * height), *to = best;
    float *most = ARRAY(arena, float, width);
    MapPoint *column = ARRAY(arena, MapPoint, width);
    for (int64_t x = 0; x < width; x++) column[x] = map_point(x, w, width);
    for (int64_t y = 0; y < height; y++, to += width) {
        MapPoint row = map_point(y, h, height);
        for (int64_t l = 0; l < labels; l++) {
            const float *above = maps->data + (l * h + row.at) * w, *below = maps->data + (l * h + row.next) * w;
            for (int64_t x = 0; x < width; x++) {
                MapPoint c = column[x];
                float upper = (1 - c.share) * above[c.at] + c.share * above[c.next];
                float lower = (1 - c.share) * below[c.at] + c.share * below[c.next];
                float v = (1 - row.share) * upper + row.share * lower;
                if (l == 0 || v > most[x]) most[x] = v, to[x] = (uint16_t)l;
            }
        }
    }
    return best;
}

/* ---- masks ---- */
static Value mask_png(Arena *arena, const uint16_t *labels, int64_t label, const TaskRow *row)
{
    Arena scratch = { .budget = arena->budget, .local = true };
    size_t n = (size_t)row->width_given * (size_t)row->height_given;
    uint8_t *grey = arena_raw(&scratch, n + 1);
    for (size_t i = 0; i < n; i++) grey[i] = labels[i] == label ? 255 : 0;
    Buf png = { .arena = arena };
    png_write_grey(&scratch, &png, grey, row->width_given, row->height_given);
    arena_free(&scratch);
    return value_of_bytes(buf_view(&png));
}

/* Run lengths go down the columns, as COCO's do. */
static Value mask_runs(Arena *arena, const uint16_t *labels, int64_t label, const TaskRow *row)
{
    size_t w = (size_t)row->width_given, h = (size_t)row->height_given, runs = 0;
    Value v = value_map(arena, 2), size = value_list(arena, 2), counts;
    size.list.items[0] = value_of_int((int64_t)h), size.list.items[1] = value_of_int((int64_t)w);
    for (int pass = 0; pass < 2; pass++) { /* counted, then filled */
        counts = value_list(arena, pass ? runs : 0);
        size_t n = 0, length = 0;
        bool inside = false;
        for (size_t i = 0; i <= w * h; i++) {
            bool now = i < w * h && labels[i % h * w + i / h] == label;
            if (i < w * h && now == inside) {
                length++;
                continue;
            }
            if (pass) counts.list.items[n] = value_of_int((int64_t)length);
            n++, length = 1, inside = now;
        }
        runs = n;
    }
    value_add(&v, "size", size);
    value_add(&v, "counts", counts);
    return v;
}

static void image_segmentation_finish(Arena *arena, const ModelConfig *config, const TaskOptions *options,
                                      const TaskRow *row, size_t n_rows, Value *out)
{
    (void)n_rows; /* one a picture */
    const TaskTensor *maps = &row->out[0];
    int64_t n = maps->rank == 3 ? MIN(maps->dim[0], (int64_t)UINT16_MAX) : 0;
    int64_t pixels = (int64_t)row->width_given * row->height_given;
    uint16_t *labels = n ? pixel_labels(arena, maps, row->width_given, row->height_given) : NULL;
    uint8_t *there = ARRAY(arena, uint8_t, n + 1);
    for (int64_t i = 0; n && i < pixels; i++) there[labels[i]] = 1;
    Value list = value_list(arena, (size_t)n);
    list.list.n = 0;
    for (int64_t l = 0; l < n; l++) {
        if (!there[l]) continue;
        Value *one = &list.list.items[list.list.n++];
        *one = value_map(arena, COUNT(segment_rows));
        value_add(one, "label", task_label(arena, config, l));
        value_add(one, "index", value_of_int(l));
        value_add(one, "score", value_null());
        if (options->runs) value_add(one, "rle", mask_runs(arena, labels, l, row));
        else value_add(one, "mask", mask_png(arena, labels, l, row));
    }
    *out = value_map(arena, 1);
    value_add(out, "segments", list);
}

const Task task_image_segmentation = {
    .name = "image_segmentation",
    .many = "image segmentations",
    .names = { { "image-segmentation", { "semantic-segmentation" }, .reads = "images" } },
    .number = 22,
    .can = CAN_SEGMENT,
    .outputs = { { "logits" } },
    .shape = &shape_label_maps,
    .architectures = { "ForSemanticSegmentation" },
    .mcp_instructions = "This tool will tell which pixels of a picture show what.",
    .mcp_description = "Segments a picture: labels with masks.",
    .no_lua = PART_NO_LUA_PICTURE,
    .samples = part_picture_samples,
    .request = request,
    .result = result,
    .reply = reply,
    .items = &item_pictures,
    .preparer = &prepare_pictures,
    .finish = image_segmentation_finish,
};
