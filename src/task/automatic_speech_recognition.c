/* SPDX-License-Identifier: Apache-2.0
 * automatic_speech_recognition.c - speech to text by a CTC head, as transformers' pipeline: the likeliest token
 * of each frame, chunks joined without what their neighbours have too, then one decoding of all frames. */
#include "audio/ctc.h"
#include "parts.h"

static const Field request[] = {
    PART_SOUNDS, PART_METADATA(11),
    { "return_timestamps", 0, F_STR, .nullable = true, .words = part_time_words,
      .help = "chunks of the text with their seconds: its characters or its words; default: none" },
    { "chunk_length_s", 0, F_F32, .nullable = true, .least = 0, .most = 3600,
      .help = "cut a sound into chunks of so many seconds; default: none up to a minute, then 30" },
    { "stride_length_s", 0, F_ANY, .nullable = true,
      .help = "seconds that a chunk shares with each neighbour, or [left, right]; default: a sixth of a chunk" },
    { 0 },
};

static const Field chunk[] = {
    { "text", 1, F_STR, .required = true },
    { "timestamp", 2, F_F64, .repeated = true, .required = true, .help = "its first second, and where it ends" },
    { 0 },
};
static const Field result[] = {
    { "text", 1, F_STR, .required = true },
    { "chunks", 2, F_MSG, .repeated = true, .msg = chunk, .msg_name = "SpeechChunk",
      .help = "with return_timestamps: its characters or words" },
    { 0 },
};
static const Field reply[] = PART_REPLY(result, "Transcript");

static const Field chunk_columns[] = {
    { "text", 1, F_STR, .required = true }, { "start", 2, F_F64, .required = true },
    { "end", 3, F_F64, .required = true }, { 0 },
};
static const Field table[] = {
    { "text", 1, F_STR }, { "chunks", 2, F_MSG, .repeated = true, .msg = chunk_columns }, { 0 },
};

static Value transcript_told(Arena *arena, const Value *answer)
{
    const Value *chunks = value_get(answer, "chunks");
    Value out = value_map(arena, 2);
    value_add(&out, "text", *value_get(answer, "text"));
    if (!chunks) return out;
    Value list = value_list(arena, chunks->list.n);
    for (size_t i = 0; i < chunks->list.n; i++) {
        const Value *times = value_get(&chunks->list.items[i], "timestamp");
        Value one = value_map(arena, 3);
        value_add(&one, "text", *value_get(&chunks->list.items[i], "text"));
        value_add(&one, "start", times->list.items[0]);
        value_add(&one, "end", times->list.items[1]);
        list.list.items[i] = one;
    }
    value_add(&out, "chunks", list);
    return out;
}
static const TaskTable tables[] = { { .rows = table, .shape = transcript_told }, { 0 } };

static int32_t *speech_ids(Arena *arena, const TaskRow *row, size_t n_rows, size_t *n)
{
    size_t room = 0;
    for (size_t r = 0; r < n_rows; r++) room += (size_t)row[r].tokens;
    int32_t *ids = ARRAY(arena, int32_t, room + 1);
    *n = 0;
    for (size_t r = 0; r < n_rows; r++) {
        int64_t from, to;
        part_frames(&row[r], &from, &to);
        for (int64_t f = from; f < to; f++)
            ids[(*n)++] = (int32_t)part_best(row[r].data + f * row[r].width, row[r].width);
    }
    return ids;
}

static Value speech_chunks(Arena *arena, const SoundPart *part, const CtcSpans *spans)
{
    Value list = value_list(arena, spans->n);
    for (size_t i = 0; i < spans->n; i++) {
        const CtcSpan *span = &spans->span[i];
        Value one = value_map(arena, 2), times = value_list(arena, 2);
        times.list.items[0] = value_of_float((double)(span->start * part->ratio) / part->rate);
        times.list.items[1] = value_of_float((double)(span->end * part->ratio) / part->rate);
        value_add(&one, "text", value_of_str(span->text));
        value_add(&one, "timestamp", times);
        list.list.items[i] = one;
    }
    return list;
}

static void speech_finish(Arena *arena, const ModelConfig *config, const TaskOptions *options, const TaskRow *row,
                          size_t n_rows, Value *out)
{
    (void)config;
    size_t n;
    const int32_t *ids = speech_ids(arena, row, n_rows, &n);
    CtcSpans characters = ctc_characters(row->ctc, arena, ids, n);
    *out = value_map(arena, 2);
    value_add(out, "text", value_of_str(ctc_text(row->ctc, arena, &characters)));
    if (options->input.times == TIMES_NONE) return;
    CtcSpans words = ctc_words(row->ctc, arena, &characters);
    const CtcSpans *spans = options->input.times == TIMES_WORD ? &words : &characters;
    value_add(out, "chunks", speech_chunks(arena, &row->sound, spans));
}

const Task task_automatic_speech_recognition = {
    .name = "automatic_speech_recognition",
    .many = "transcripts",
    .names = { { "automatic-speech-recognition", { "asr", "audio-ctc" }, .reads = "audio" } },
    .number = 1012,
    .can = CAN_TRANSCRIBE,
    .outputs = { { "logits" } },
    .shape = &shape_frame_words,
    .architectures = { "ForCTC" },
    .mcp_instructions = "This tool will transcribe speech.",
    .mcp_description = "Writes down what is said in a sound.",
    .no_lua = PART_NO_LUA_SOUND,
    .samples = part_sound_samples,
    .request = request,
    .result = result,
    .reply = reply,
    .tables = tables,
    .items = &item_sounds,
    .preparer = &prepare_sounds,
    .finish = speech_finish,
};
