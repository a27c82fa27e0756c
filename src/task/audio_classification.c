/* SPDX-License-Identifier: Apache-2.0
 * audio_classification.c - labels for a sound, the best first, as transformers' pipeline gives them:
 * softmax whatever the problem_type is, unless the request says another function. */
#include "parts.h"

enum { TOP_K = 5 };

static const Field request[] = {
    PART_SOUNDS, PART_METADATA(11),
    { "top_k", 0, F_U32, .least = 1, .most = 1 << 18, .help = "how many of the best labels; default: 5" },
    { "function_to_apply", 0, F_STR, .words = part_score_words, .help = "from logits to scores; default: softmax" },
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
      .msg_name = "SoundLabelScore", .help = "by score, the best first" },
    { 0 },
};
static const Field reply[] = PART_REPLY(result, "SoundLabels");

static void audio_classification_finish(Arena *arena, const ModelConfig *config, const TaskOptions *options,
                                        const TaskRow *row, size_t n_rows, Value *out)
{
    (void)n_rows; /* one a sound */
    float *scores = ARRAY(arena, float, row->width);
    task_score(config, options->function ? options->function : SCORE_SOFTMAX, row->data, row->width, scores);
    *out = value_map(arena, 1);
    const int k = options->top_k ? options->top_k : TOP_K;
    value_add(out, "labels", part_top(arena, config, NULL, scores, row->width, k));
}

const Task task_audio_classification = {
    .name = "audio_classification",
    .many = "audio classifications",
    .names = { { "audio-classification", .reads = "audio" } },
    .number = 1011,
    .can = CAN_CLASSIFY_SOUND,
    .outputs = { { "logits" } },
    .shape = &shape_text_labels,
    .architectures = { "ForAudioClassification", "ForSequenceClassification" },
    .mcp_instructions = "This tool will classify a sound.",
    .mcp_description = "Names what is heard in a sound: labels with scores.",
    .no_lua = PART_NO_LUA_SOUND,
    .samples = part_sound_samples,
    .request = request,
    .result = result,
    .reply = reply,
    .items = &item_sounds,
    .preparer = &prepare_sounds,
    .finish = audio_classification_finish,
};
