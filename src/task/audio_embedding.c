/* SPDX-License-Identifier: Apache-2.0
 * audio_embedding.c - one vector for a sound: the graph's own (a pooler_output), else the mean of its frames'
 * last hidden states; or the vectors of all frames. A sound that came in chunks has the frames of all of
 * them. */
#include "parts.h"

static const Field request[] = {
    PART_SOUNDS, PART_METADATA(11), PART_VECTORS,
    { "frames", 0, F_BOOL, .help = "a vector for each frame instead of one for the sound; default: false" },
    { 0 },
};
static const Field frame[] = {
    { "start", 1, F_F64, .help = "its first second; absent where frames are no moments" },
    { "embedding", 2, F_F32, .repeated = true, .required = true, .or_base64 = true },
    { 0 },
};
static const Field result[] = {
    { "embedding", 1, F_F32, .repeated = true, .or_base64 = true, .help = "of the sound" },
    { "frames", 2, F_MSG, .repeated = true, .msg = frame, .msg_name = "SoundFrame", .help = "with frames" },
    { 0 },
};
static const Field reply[] = PART_REPLY(result, "SoundEmbedding");

static const Field table[] = { { "embedding", 1, F_F32, .repeated = true }, { 0 } };
static const Field table_of_frames[] = { /* values: frames x width */
    { "embedding", 1, F_F32, .repeated = true }, { "frames", 2, F_I32 }, { "values", 3, F_F32, .repeated = true },
    { 0 },
};

static Value sound_told(Arena *arena, const Value *answer)
{
    const Value *frames = value_get(answer, "frames"), *whole = value_get(answer, "embedding");
    Value out = value_map(arena, 3);
    if (whole) value_add(&out, "embedding", *whole);
    if (!frames) return out;
    value_add(&out, "frames", value_of_int((int64_t)frames->list.n));
    value_add(&out, "values", part_flat(arena, frames, "embedding"));
    return out;
}

static bool wants_frames(const TaskOptions *options)
{
    return options->frames;
}
static const TaskTable tables[] = {
    { .when = wants_frames, .rows = table_of_frames, .shape = sound_told },
    { .rows = table, .shape = sound_told },
    { 0 },
};

static Value sound_mean(Arena *arena, const TaskOptions *options, const TaskRow *row, size_t n_rows)
{
    double *sum = ARRAY(arena, double, row->width);
    float *mean = ARRAY(arena, float, row->width);
    int64_t frames = 0;
    for (size_t r = 0; r < n_rows; r++) {
        int64_t from, to;
        part_frames(&row[r], &from, &to);
        frames += to - from;
        for (int64_t f = from; f < to; f++)
            for (int64_t i = 0; i < row->width; i++) sum[i] += row[r].data[f * row->width + i];
    }
    for (int64_t i = 0; i < row->width; i++) mean[i] = (float)(sum[i] / (double)MAX(frames, 1));
    return task_vector(arena, options, mean, row->width);
}

static Value sound_frame(Arena *arena, const TaskOptions *options, const TaskRow *row, int64_t f)
{
    const SoundPart *s = &row->sound;
    Value one = value_map(arena, 2);
    if (s->ratio > 1) value_add(&one, "start", value_of_float((double)(s->at + f * s->ratio) / s->rate));
    value_add(&one, "embedding", task_vector(arena, options, row->data + f * row->width, row->width));
    return one;
}

static Value sound_frames(Arena *arena, const TaskOptions *options, const TaskRow *row, size_t n_rows)
{
    size_t n = 0;
    for (size_t r = 0; r < n_rows; r++) n += (size_t)row[r].tokens;
    Value list = value_list(arena, n);
    n = 0;
    for (size_t r = 0; r < n_rows; r++) {
        int64_t from, to;
        part_frames(&row[r], &from, &to);
        for (int64_t f = from; f < to; f++) list.list.items[n++] = sound_frame(arena, options, &row[r], f);
    }
    list.list.n = n;
    return list;
}

static void audio_embedding_finish(Arena *arena, const ModelConfig *config, const TaskOptions *options,
                                   const TaskRow *row, size_t n_rows, Value *out)
{
    (void)config;
    *out = value_map(arena, 1);
    if (options->frames) value_add(out, "frames", sound_frames(arena, options, row, n_rows));
    else value_add(out, "embedding", sound_mean(arena, options, row, n_rows));
}

const Task task_audio_embedding = {
    .name = "audio_embedding",
    .many = "audio embeddings",
    .names = { { "audio-feature-extraction", { "audio-embedding", "audio-embeddings" }, .reads = "audio" } },
    .number = 1013,
    .can = CAN_EMBED_SOUND,
    .outputs = { { "pooler_output", "last_hidden_state" } },
    .shape = &shape_frame_vectors,
    .architectures = { "Model", "Encoder" },
    .mcp_instructions = "This tool will embed sounds.",
    .mcp_description = "Makes a vector of a sound, to compare sounds with.",
    .no_lua = PART_NO_LUA_SOUND,
    .samples = part_sound_samples,
    .request = request,
    .result = result,
    .reply = reply,
    .tables = tables,
    .items = &item_sounds,
    .preparer = &prepare_sounds,
    .finish = audio_embedding_finish,
};
