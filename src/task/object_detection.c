/* SPDX-License-Identifier: Apache-2.0
 * object_detection.c - what is in a picture, and where: DETR and YOLOS, whose queries each have logits
 * of the labels and of "nothing", and a box. As transformers: softmax over all of them, the best label
 * without "nothing"; boxes in pixels of the picture as it was given, cut towards zero and not clamped;
 * in the order of the queries. */
#include "data/number.h"
#include "parts.h"

static const float usual_threshold = 0.5f;

static const Field request[] = {
    PART_PICTURES("Picture"), PART_METADATA(11),
    { "threshold", 0, F_F32, .nullable = true, .least = 0, .most = 1,
      .help = "objects with a score above it; default: 0.5, of masks 0.9" },
    { 0 },
};

static const Field box_rows[] = {
    { "xmin", 1, F_I32, .required = true }, { "ymin", 2, F_I32, .required = true },
    { "xmax", 3, F_I32, .required = true }, { "ymax", 4, F_I32, .required = true },
    { 0 },
};
static const Field object_rows[] = {
    { "label", 1, F_STR, .required = true },
    { "index", 0, F_U32, .required = true },
    { "score", 2, F_F32, .required = true, .nullable = true },
    { "box", 3, F_MSG, .required = true, .msg = box_rows, .msg_name = "ImageBox",
      .help = "in pixels of the picture as it was given" },
    { 0 },
};
static const Field result[] = {
    { "objects", 1, F_MSG, .repeated = true, .required = true, .msg = object_rows, .msg_name = "DetectedObject",
      .help = "in the order of the model's queries" },
    { 0 },
};
static const Field reply[] = PART_PICTURE_REPLY(result, "DetectedObjects");

/* A corner in pixels; a value that no int holds (a broken model's) is 0. */
static Value corner(float middle, float size, float side, int edge)
{
    float at = (middle + side * size) * (float)edge;
    return value_of_int(at > -1e9f && at < 1e9f ? (int64_t)at : 0);
}

/* Middle and size, in parts of the picture, to corners. */
static Value object_box(Arena *arena, const TaskRow *row, const float *box)
{
    Value v = value_map(arena, COUNT(box_rows));
    value_add(&v, "xmin", corner(box[0], box[2], -0.5f, row->width_given));
    value_add(&v, "ymin", corner(box[1], box[3], -0.5f, row->height_given));
    value_add(&v, "xmax", corner(box[0], box[2], 0.5f, row->width_given));
    value_add(&v, "ymax", corner(box[1], box[3], 0.5f, row->height_given));
    return v;
}

static void object_detection_finish(Arena *arena, const ModelConfig *config, const TaskOptions *options,
                                    const TaskRow *row, size_t n_rows, Value *out)
{
    (void)n_rows; /* one a picture */
    const TaskTensor *logits = &row->out[0], *boxes = &row->out[1];
    float threshold = task_share(options->threshold, usual_threshold);
    float *score = ARRAY(arena, float, logits->width);
    Value list = value_list(arena, (size_t)logits->tokens);
    list.list.n = 0;
    bool fits = logits->width > 1 && boxes->width == 4 && boxes->tokens == logits->tokens;
    for (int64_t q = 0; fits && q < logits->tokens; q++) {
        task_softmax(logits->data + q * logits->width, logits->width, score);
        int64_t best = part_best(score, logits->width - 1);
        if (!(score[best] > threshold)) continue;
        Value *one = &list.list.items[list.list.n++];
        *one = value_map(arena, COUNT(object_rows));
        value_add(one, "label", task_label(arena, config, best));
        value_add(one, "index", value_of_int(best));
        value_add(one, "score", value_of_float(number_widen(score[best])));
        value_add(one, "box", object_box(arena, row, boxes->data + q * boxes->width));
    }
    *out = value_map(arena, 1);
    value_add(out, "objects", list);
}

const Task task_object_detection = {
    .name = "object_detection",
    .many = "object detections",
    .names = { { "object-detection", .reads = "images" } },
    .number = 23,
    .can = CAN_DETECT,
    .outputs = { { "logits" }, { "pred_boxes" } },
    .shape = &shape_query_labels,
    .architectures = { "ForObjectDetection" },
    .mcp_instructions = "This tool will find objects in a picture.",
    .mcp_description = "Finds objects in a picture: labels, scores and boxes in pixels.",
    .no_lua = PART_NO_LUA_PICTURE,
    .samples = part_picture_samples,
    .request = request,
    .result = result,
    .reply = reply,
    .items = &item_pictures,
    .preparer = &prepare_pictures,
    .finish = object_detection_finish,
};
