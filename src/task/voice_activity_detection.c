/* SPDX-License-Identifier: Apache-2.0
 * voice_activity_detection.c - where in a sound somebody speaks: the segments that silero-vad's get_speech_timestamps
 * gives, with its parameters. */
#include "audio/speech.h"
#include "parts.h"

static const Field request[] = {
    PART_SOUNDS, PART_METADATA(11),
    { "threshold", 0, F_F32, .nullable = true, .least = 0, .most = 1,
      .help = "a window from this probability on is speech; default: 0.5" },
    { "neg_threshold", 0, F_F32, .nullable = true, .least = 0, .most = 1,
      .help = "in speech, one below this is silence; default: threshold - 0.15" },
    { "min_speech_duration_ms", 0, F_F32, .nullable = true, .least = 0, .most = 3600000,
      .help = "shorter segments are left out; default: 250" },
    { "min_silence_duration_ms", 0, F_F32, .nullable = true, .least = 0, .most = 3600000,
      .help = "silence that ends a segment; default: 100" },
    { "speech_pad_ms", 0, F_F32, .nullable = true, .least = 0, .most = 3600000,
      .help = "what a segment is widened by at both ends; default: 30" },
    { "max_speech_duration_s", 0, F_F32, .nullable = true, .least = 0, .most = 3600,
      .help = "longer segments are cut at their longest silence; default: any length" },
    { "sampling_rate", 0, F_U32, .nullable = true, .least = 8000, .most = 16000,
      .help = "of the windows: 16000 (the default) or 8000" },
    { 0 },
};

static const Field segment[] = {
    { "start", 1, F_F64, .required = true, .help = "in seconds" },
    { "end", 2, F_F64, .required = true },
    { "start_sample", 3, F_U64, .required = true, .help = "at the sampling rate of the windows" },
    { "end_sample", 4, F_U64, .required = true },
    { 0 },
};
static const Field result[] = {
    { "segments", 1, F_MSG, .repeated = true, .required = true, .msg = segment, .msg_name = "SpeechSegment",
      .help = "where somebody speaks, in their order" },
    { 0 },
};
static const Field reply[] = PART_REPLY(result, "SpeechSegments");

static SpeechRules activity_rules(const TaskOptions *o)
{
    const SpeechRules *d = &speech_rules;
    return (SpeechRules){ .threshold = o->threshold.said ? (double)o->threshold.value : d->threshold,
                          .silence_threshold = o->silence.said ? (double)o->silence.value : d->silence_threshold,
                          .min_speech_ms = task_share(o->min_speech, (float)d->min_speech_ms),
                          .min_silence_ms = task_share(o->min_silence, (float)d->min_silence_ms),
                          .pad_ms = task_share(o->pad, (float)d->pad_ms),
                          .max_speech_s = task_share(o->max_speech, 0) };
}

static void activity_finish(Arena *arena, const ModelConfig *config, const TaskOptions *options, const TaskRow *row,
                            size_t n_rows, Value *out)
{
    (void)config;
    const SpeechRules rules = activity_rules(options);
    const SoundPart *last = &row[n_rows - 1].sound;
    SpeechSegment *found = NULL;
    float *p = ARRAY(arena, float, n_rows);
    for (size_t r = 0; r < n_rows; r++) p[r] = row[r].data[0];
    size_t n = speech_segments(arena, &rules, last->rate, p, n_rows, last->at + last->samples, &found);
    Value list = value_list(arena, n);
    for (size_t i = 0; i < n; i++) {
        Value one = value_map(arena, 4);
        value_add(&one, "start", value_of_float((double)found[i].start / last->rate));
        value_add(&one, "end", value_of_float((double)found[i].end / last->rate));
        value_add(&one, "start_sample", value_of_int(found[i].start));
        value_add(&one, "end_sample", value_of_int(found[i].end));
        list.list.items[i] = one;
    }
    *out = value_map(arena, 1);
    value_add(out, "segments", list);
}

const Task task_voice_activity_detection = {
    .name = "voice_activity_detection",
    .many = "speech segments",
    .names = { { "voice-activity-detection", { "vad" }, .reads = "audio" } },
    .number = 1014,
    .can = CAN_FIND_SPEECH,
    .outputs = { { "output" } },
    .shape = &shape_window_speech,
    .architectures = { "SileroVad" },
    .mcp_instructions = "This tool will find speech in a sound.",
    .mcp_description = "Says where in a sound somebody speaks.",
    .no_lua = PART_NO_LUA_SOUND,
    .samples = part_sound_samples,
    .request = request,
    .result = result,
    .reply = reply,
    .items = &item_sounds,
    .preparer = &prepare_speech,
    .finish = activity_finish,
};
