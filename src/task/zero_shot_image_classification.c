/* SPDX-License-Identifier: Apache-2.0
 * zero_shot_image_classification.c - which of the request's labels goes best with a picture, by a model
 * with two towers (CLIP, SigLIP): each makes vectors, and their cosine, scaled, is the logit. Labels
 * become texts by a template. As transformers' pipeline: softmax over the labels; of SigLIP a sigmoid
 * for each. */
#include "parts.h"

static const Field request[] = {
    PART_PICTURES("Picture"), PART_METADATA(11),
    { "candidate_labels", 12, F_STR, .repeated = true, .required = true, .help = "what the picture may show" },
    { "hypothesis_template", 13, F_STR, .nullable = true,
      .help = "the text that a label is put into, with {} in its place; default: \"This is a photo of {}.\" (of "
              "texts: \"This example is {}.\")" },
    { "function_to_apply", 0, F_STR, .words = part_score_words,
      .help = "from logits to scores; default: softmax, or the sigmoid of SigLIP" },
    { 0 },
};

static const Field label_score[] = {
    { "label", 1, F_STR, .required = true },
    { "index", 0, F_U32, .required = true, .help = "of candidate_labels, from 0" },
    { "score", 2, F_F32, .required = true, .nullable = true },
    { 0 },
};
static const Field result[] = {
    { "labels", 1, F_MSG, .repeated = true, .required = true, .msg = label_score,
      .msg_name = "CandidateScore", .help = "all of them by score, the best first" },
    { 0 },
};
static const Field reply[] = PART_PICTURE_REPLY(result, "CandidateScores");

static bool zero_shot_texts(Arena *arena, const TaskOptions *options, size_t most, Str **out, size_t *n, Err *err)
{
    const Value *labels = options->candidates;
    Str form = options->hypothesis.p ? options->hypothesis : STR("This is a photo of {}.");
    if (!labels || labels->list.n == 0)
        return fail(err, EF_INVALID_INPUT, "candidate_labels: found %s, wanted at least one label",
                    labels ? "an empty list" : "nothing");
    *n = labels->list.n;
    if (*n > most)
        return fail(err, EF_INVALID_INPUT, "candidate_labels: found %zu, wanted at most %zu", *n, most);
    *out = ARRAY(arena, Str, *n);
    for (size_t i = 0; i < *n; i++) {
        if (labels->list.items[i].s.n == 0)
            return fail(err, EF_INVALID_INPUT, "candidate_labels[%zu]: found an empty string", i);
        if (!task_hypothesis(arena, form, labels->list.items[i].s, *out + i, err)) return false;
    }
    return true;
}

static TaskScore own_score(const ModelConfig *config)
{
    bool siglip = memmem(config->model_type.p, config->model_type.n, "siglip", 6);
    return siglip ? SCORE_SIGMOID : SCORE_SOFTMAX;
}

static void zero_shot_finish(Arena *arena, const ModelConfig *config, const TaskOptions *options,
                             const TaskRow *row, size_t n_rows, Value *out)
{
    (void)n_rows; /* the picture is the first; what follows are texts */
    size_t n = options->candidates->list.n;
    float *logits = ARRAY(arena, float, n), *scores = ARRAY(arena, float, n);
    for (size_t i = 0; i < n; i++)
        logits[i] = config->logit_scale * task_cosine(row->data, options->vectors[i], row->width) + config->logit_bias;
    task_score(config, options->function ? options->function : own_score(config), logits, (int64_t)n, scores);
    *out = value_map(arena, 1);
    value_add(out, "labels", part_top(arena, config, options->candidates, scores, (int64_t)n, (int)n));
}

const Task task_zero_shot_image_classification = {
    .name = "zero_shot_image_classification",
    .many = "zero-shot image classifications",
    .names = { { "zero-shot-image-classification", { "image-text-similarity" }, .reads = "images" } },
    .number = 1020,
    .can = CAN_MATCH | CAN_EMBED_PICTURE,
    .outputs = { { "image_embeds" } },
    .text_output = "text_embeds",
    .pair_output = "logits_per_image",
    .shape = &shape_text_vectors,
    .architectures = { "CLIPModel", "SiglipModel", "Siglip2Model" },
    .mcp_instructions = "This tool will say which of some labels fit a picture.",
    .mcp_description = "Says how well each of some labels, in your own words, fits a picture.",
    .no_lua = PART_NO_LUA_PICTURE,
    .samples = part_picture_samples,
    .request = request,
    .result = result,
    .reply = reply,
    .items = &item_pictures,
    .preparer = &prepare_pictures_and_texts,
    .texts = zero_shot_texts,
    .finish = zero_shot_finish,
};
