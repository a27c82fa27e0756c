/* SPDX-License-Identifier: Apache-2.0
 * image_classification.c - labels for a picture, the best first, as transformers' pipeline gives them.
 * Messages and numbers are those of the Rust encoderfile's .proto, whose `score` is a logit. */
#include "parts.h"

enum { TOP_K = 5 };

static const Field request[] = {
    PART_PICTURES("ImageInput"), PART_METADATA(11),
    { "top_k", 0, F_U32, .least = 1, .most = 1 << 18, .help = "how many of the best labels; default: 5" },
    { "function_to_apply", 0, F_STR, .words = part_score_words,
      .help = "from logits to scores; default: softmax, or sigmoid where several labels may hold or there "
              "is one" },
    { 0 },
};

static const Field label_score[] = {
    { "label", 1, F_STR, .required = true },
    { "index", 0, F_U32, .required = true },
    { "score", 2, F_F32, .required = true, .nullable = true },
    { 0 },
};
static const Field result[] = {
    { "labels", 1, F_MSG, .repeated = true, .required = true, .msg = label_score,
      .msg_name = "ImageLabelScore", .help = "by score, the best first" },
    { 0 },
};
static const Field reply[] = PART_PICTURE_REPLY(result, "ImageLabels");

/* The pipeline has no rule for a regression. */
static TaskScore image_score(const ModelConfig *config, int64_t labels)
{
    bool several = str_is(config->problem_type, "multi_label_classification");
    return several || labels == 1 ? SCORE_SIGMOID : SCORE_SOFTMAX;
}

static void image_classification_finish(Arena *arena, const ModelConfig *config, const TaskOptions *options,
                                        const TaskRow *row, size_t n_rows, Value *out)
{
    (void)n_rows; /* one a picture */
    float *scores = ARRAY(arena, float, row->width);
    TaskScore how = options->function ? options->function : image_score(config, row->width);
    task_score(config, how, row->data, row->width, scores);
    *out = value_map(arena, 1);
    int most = options->top_k ? options->top_k : TOP_K;
    value_add(out, "labels", part_top(arena, config, NULL, scores, row->width, most));
}

const Task task_image_classification = {
    .name = "image_classification",
    .many = "image classifications",
    .names = { { "image-classification", .reads = "images" } },
    .number = 21,
    .can = CAN_CLASSIFY_PICTURE,
    .outputs = { { "logits" } },
    .shape = &shape_text_labels,
    .architectures = { "ForImageClassification", "ForImageClassificationWithTeacher" },
    .mcp_instructions = "This tool will classify a picture.",
    .mcp_description = "Names what a picture shows: labels with scores.",
    .no_lua = PART_NO_LUA_PICTURE,
    .samples = part_picture_samples,
    .request = request,
    .result = result,
    .reply = reply,
    .items = &item_pictures,
    .preparer = &prepare_pictures,
    .finish = image_classification_finish,
};
