/* SPDX-License-Identifier: Apache-2.0
 * image_segmentation.c - which pixels show what, as transformers' pipelines give it. Semantic
 * (SegFormer): a map of logits for each label is resized to the picture as it was given (bilinear,
 * corners not aligned, as torch does it); a pixel has the label of its largest; one result for each
 * label that has a pixel, in the order of labels. Panoptic (DETR's masks, the variant): a map for each
 * query that is sure of an object, weighed by how sure; one result for each that keeps enough of what
 * it claims, in the order of queries. */
#include <math.h>

#include "image/image.h"
#include "parts.h"

#define SEGMENT_MASKS                                                                           \
    { "masks", 0, F_STR, .words = part_mask_words,                                              \
      .help = "how masks are written: PNG files (0 and 255), or COCO's run lengths; default: png" }
static const char *const semantic_words[] = { "semantic", NULL };
static const Field request[] = {
    PART_PICTURES("Picture"), PART_METADATA(11), SEGMENT_MASKS,
    { "subtask", 0, F_STR, .nullable = true, .words = semantic_words, .help = "what this model can" },
    { 0 },
};
static const Field panoptic_request[] = {
    PART_PICTURES("Picture"), PART_METADATA(11), SEGMENT_MASKS,
    { "subtask", 0, F_STR, .nullable = true, .words = part_subtask_words,
      .help = "panoptic and instance: objects one by one; semantic: labels; default: panoptic" },
    { "threshold", 0, F_F32, .nullable = true, .least = 0, .most = 1,
      .help = "objects with a score above it; default: 0.9" },
    { "mask_threshold", 0, F_F32, .nullable = true, .least = 0, .most = 1,
      .help = "a mask claims the pixels with a probability from this on; default: 0.5" },
    { "overlap_mask_area_threshold", 0, F_F32, .nullable = true, .least = 0, .most = 1,
      .help = "objects that keep more than this share of what their mask claims; default: 0.5" },
    { 0 },
};
static const float usual_threshold = 0.9f, usual_mask = 0.5f, usual_overlap = 0.5f;

static const Field rle_rows[] = {
    { "size", 1, F_U32, .repeated = true, .required = true, .help = "height and width" },
    { "counts", 2, F_U32, .repeated = true, .required = true,
      .help = "pixels outside, inside, outside ..., column by column" },
    { 0 },
};
static const Field segment_rows[] = {
    { "label", 1, F_STR, .required = true },
    { "index", 0, F_U32, .required = true },
    { "score", 2, F_F32, .required = true, .nullable = true, .help = "null: labels of pixels (semantic) have none" },
    { "mask", 3, F_BYTES, .help = "a PNG file of the picture's size: 255 where it is; in JSON as base64" },
    { "rle", 4, F_MSG, .msg = rle_rows, .msg_name = "MaskRuns", .help = "the same as run lengths; only if asked for" },
    { 0 },
};
static const Field result[] = {
    { "segments", 1, F_MSG, .repeated = true, .required = true, .msg = segment_rows, .msg_name = "ImageSegment",
      .help = "by label; objects in the order of the model's queries" },
    { 0 },
};
static const Field reply[] = PART_PICTURE_REPLY(result, "ImageSegments");

static const Field segment_columns[] = {
    { "label", 1, F_STR, .required = true }, { "index", 2, F_I32, .required = true }, { "score", 3, F_F32 },
    { "mask", 4, F_BYTES }, { 0 },
};
static const Field table[] = { { "segments", 1, F_MSG, .repeated = true, .msg = segment_columns }, { 0 } };
static const TaskTable tables[] = { { .rows = table }, { 0 } };

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

typedef struct SegmentMaps {
    const float *data;           /* [n, h, w] */
    int64_t n, h, w;
    const float *weight;         /* [n], or NULL: 1 each */
    float least;                 /* a pixel from this on is claimed */
    int64_t *claimed;            /* [n]: how many are, or NULL: not counted */
} SegmentMaps;

/* The map of each pixel's largest: one row after another, each map's line first mixed from two of its rows. */
static uint16_t *pixel_labels(Arena *arena, const SegmentMaps *maps, int64_t width, int64_t height)
{
    int64_t h = maps->h, w = maps->w;
    uint16_t *best = ARRAY(arena, uint16_t, width * height), *to = best;
    float *most = ARRAY(arena, float, width);
    MapPoint *column = ARRAY(arena, MapPoint, width);
    for (int64_t x = 0; x < width; x++) column[x] = map_point(x, w, width);
    for (int64_t y = 0; y < height; y++, to += width) {
        MapPoint row = map_point(y, h, height);
        for (int64_t l = 0; l < maps->n; l++) {
            const float weight = maps->weight ? maps->weight[l] : 1;
            const float *above = maps->data + (l * h + row.at) * w, *below = maps->data + (l * h + row.next) * w;
            for (int64_t x = 0; x < width; x++) {
                MapPoint c = column[x];
                float upper = (1 - c.share) * above[c.at] + c.share * above[c.next];
                float lower = (1 - c.share) * below[c.at] + c.share * below[c.next];
                float v = ((1 - row.share) * upper + row.share * lower) * weight;
                if (maps->claimed) maps->claimed[l] += v >= maps->least;
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

/* ---- results ---- */
typedef struct PictureSegment {
    int64_t place;               /* of the pixels that are its own */
    int64_t label;
    Value score;
} PictureSegment;

static Value segment_value(Arena *arena, const ModelConfig *config, const TaskOptions *options,
                           const TaskRow *row, const uint16_t *places, PictureSegment s)
{
    Value one = value_map(arena, COUNT(segment_rows));
    value_add(&one, "label", task_label(arena, config, s.label));
    value_add(&one, "index", value_of_int(s.label));
    value_add(&one, "score", s.score);
    if (options->runs) value_add(&one, "rle", mask_runs(arena, places, s.place, row));
    else value_add(&one, "mask", mask_png(arena, places, s.place, row));
    return one;
}

/* How many pixels each of the n maps has. */
static int64_t *segment_areas(Arena *arena, const uint16_t *places, const TaskRow *row, int64_t n)
{
    int64_t *area = ARRAY(arena, int64_t, n + 1), pixels = (int64_t)row->width_given * row->height_given;
    for (int64_t i = 0; places && i < pixels; i++) area[places[i]]++;
    return area;
}

static Value segments_by_label(Arena *arena, const ModelConfig *config, const TaskOptions *options,
                               const TaskRow *row, const SegmentMaps *maps)
{
    uint16_t *labels = maps->n ? pixel_labels(arena, maps, row->width_given, row->height_given) : NULL;
    int64_t *area = segment_areas(arena, labels, row, maps->n);
    Value list = value_list(arena, (size_t)maps->n);
    list.list.n = 0;
    for (int64_t l = 0; l < maps->n; l++)
        if (area[l])
            list.list.items[list.list.n++] =
                segment_value(arena, config, options, row, labels, (PictureSegment){ l, l, value_null() });
    return list;
}

static void segments_out(Arena *arena, Value list, Value *out)
{
    *out = value_map(arena, 1);
    value_add(out, "segments", list);
}

static void image_segmentation_finish(Arena *arena, const ModelConfig *config, const TaskOptions *options,
                                      const TaskRow *row, size_t n_rows, Value *out)
{
    (void)n_rows; /* one a picture */
    const TaskTensor *t = &row->out[0];
    SegmentMaps maps = { .data = t->data, .h = t->dim[1], .w = t->dim[2] };
    if (t->rank == 3) maps.n = MIN(t->dim[0], (int64_t)UINT16_MAX);
    segments_out(arena, segments_by_label(arena, config, options, row, &maps), out);
}

/* ---- masks of queries ---- */
typedef struct Queries {         /* logits of labels and of "nothing", and a mask, for each */
    const TaskTensor *logits, *masks;
    int64_t n, labels, pixels;   /* pixels: of a mask */
} Queries;

static bool queries_read(const TaskRow *row, Queries *q)
{
    const TaskTensor *logits = &row->out[0], *masks = &row->out[1];
    *q = (Queries){ logits, masks, logits->tokens, logits->width - 1, 0 };
    if (masks->rank != 3 || masks->dim[0] != q->n || q->labels < 1) return false;
    q->pixels = masks->dim[1] * masks->dim[2];
    return q->pixels > 0 && q->n <= UINT16_MAX && q->labels <= UINT16_MAX;
}

static float segment_sigmoid(float x)
{
    return 1 / (1 + expf(-x));
}

/* The labels' own maps: each query's mask counts as much as the query is sure of the label. */
static SegmentMaps query_labels(Arena *arena, const Queries *q)
{
    float *score = ARRAY(arena, float, q->labels + 1), *sum = ARRAY(arena, float, q->labels * q->pixels);
    float *mask = ARRAY(arena, float, q->pixels);
    for (int64_t i = 0; i < q->n; i++) {
        task_softmax(q->logits->data + i * (q->labels + 1), q->labels + 1, score);
        for (int64_t p = 0; p < q->pixels; p++) mask[p] = segment_sigmoid(q->masks->data[i * q->pixels + p]);
        for (int64_t l = 0; l < q->labels; l++)
            for (int64_t p = 0; p < q->pixels; p++) sum[l * q->pixels + p] += score[l] * mask[p];
    }
    return (SegmentMaps){ .data = sum, .n = q->labels, .h = q->masks->dim[1], .w = q->masks->dim[2] };
}

/* Those that are sure of an object: their masks, scores and (label) what they see. */
static SegmentMaps query_objects(Arena *arena, const Queries *q, float threshold, int64_t *label)
{
    SegmentMaps maps = { .h = q->masks->dim[1], .w = q->masks->dim[2] };
    float *score = ARRAY(arena, float, q->labels + 1), *sure = ARRAY(arena, float, q->n + 1);
    float *mask = ARRAY(arena, float, q->n * q->pixels);
    for (int64_t i = 0; i < q->n; i++) {
        task_softmax(q->logits->data + i * (q->labels + 1), q->labels + 1, score);
        int64_t best = part_best(score, q->labels + 1);
        if (best == q->labels || !(score[best] > threshold)) continue;
        for (int64_t p = 0; p < q->pixels; p++)
            mask[maps.n * q->pixels + p] = segment_sigmoid(q->masks->data[i * q->pixels + p]);
        label[maps.n] = best, sure[maps.n++] = score[best];
    }
    maps.data = mask, maps.weight = sure, maps.claimed = ARRAY(arena, int64_t, maps.n + 1);
    return maps;
}

static Value segments_by_query(Arena *arena, const ModelConfig *config, const TaskOptions *options,
                               const TaskRow *row, const Queries *q)
{
    int64_t *label = ARRAY(arena, int64_t, q->n + 1);
    SegmentMaps maps = query_objects(arena, q, task_share(options->threshold, usual_threshold), label);
    maps.least = task_share(options->mask_threshold, usual_mask);
    uint16_t *places = maps.n ? pixel_labels(arena, &maps, row->width_given, row->height_given) : NULL;
    int64_t *area = segment_areas(arena, places, row, maps.n);
    float overlap = task_share(options->overlap, usual_overlap);
    Value list = value_list(arena, (size_t)maps.n);
    list.list.n = 0;
    for (int64_t k = 0; k < maps.n; k++) {
        if (!area[k] || !maps.claimed[k] || !((float)area[k] / (float)maps.claimed[k] > overlap)) continue;
        Value score = value_of_float(nearbyint((double)maps.weight[k] * 1e6) / 1e6);
        list.list.items[list.list.n++] =
            segment_value(arena, config, options, row, places, (PictureSegment){ k, label[k], score });
    }
    return list;
}

static void image_panoptic_finish(Arena *arena, const ModelConfig *config, const TaskOptions *options,
                                  const TaskRow *row, size_t n_rows, Value *out)
{
    (void)n_rows; /* one a picture */
    Queries q;
    Arena scratch = { .budget = arena->budget, .local = true };
    if (!queries_read(row, &q)) return segments_out(arena, value_list(arena, 0), out);
    if (options->subtask == SUBTASK_SEMANTIC) {
        SegmentMaps maps = query_labels(&scratch, &q);
        segments_out(arena, segments_by_label(arena, config, options, row, &maps), out);
    } else {
        segments_out(arena, segments_by_query(arena, config, options, row, &q), out);
    }
    arena_free(&scratch);
}

#define SEGMENTATION                                                                            \
    .name = "image_segmentation",                                                               \
    .many = "image segmentations",                                                              \
    .names = { { "image-segmentation", { "semantic-segmentation" }, .reads = "images" } },      \
    .number = 22,                                                                               \
    .can = CAN_SEGMENT,                                                                         \
    .mcp_instructions = "This tool will tell which pixels of a picture show what.",             \
    .mcp_description = "Segments a picture: labels with masks.",                                \
    .no_lua = PART_NO_LUA_PICTURE,                                                              \
    .samples = part_picture_samples,                                                            \
    .result = result,                                                                           \
    .reply = reply, .tables = tables,                                                             \
    .items = &item_pictures,                                                                    \
    .preparer = &prepare_pictures

static const Task panoptic = {
    SEGMENTATION,
    .outputs = { { "logits" }, { "pred_masks" } },
    .shape = &shape_query_labels,
    .second_rank = 4,
    .architectures = { "ForSegmentation" },
    .request = panoptic_request,
    .finish = image_panoptic_finish,
};

const Task task_image_segmentation = {
    SEGMENTATION,
    .outputs = { { "logits" } },
    .shape = &shape_label_maps,
    .variant = &panoptic,
    .architectures = { "ForSemanticSegmentation", "ForSegmentation" },
    .request = request,
    .finish = image_segmentation_finish,
};
