/* SPDX-License-Identifier: Apache-2.0
 * test_audio_decode.c - files to samples: against libsndfile, and resampled against torchaudio
 * (tests/golden/sounds, written by tools/oracle/sounds.py); files that are truncated or lie; limits. */
#include "audio/decode.h"
#include "sound_case.h"

static bool read_sound(Arena *arena, Str bytes, int rate, double seconds, Sound *out, Err *err)
{
    return sound_read(arena, bytes, &(SoundLimits){ seconds }, rate, out, err);
}

static void check_file(Arena *arena, const Value *row)
{
    Err err = { 0 };
    Sound s = { 0 };
    char *name = str_dup(arena, value_str(value_get(row, "file"), STR("")));
    const Value *want = value_get(row, "samples");
    int64_t frames = value_int(value_get(row, "frames"), -1), step = value_int(value_get(row, "step"), 1);
    bool ok = read_sound(arena, sound_file(arena, name), 0, 0, &s, &err);
    double apart = ok ? sound_apart(s.samples, s.n, step, want) : 1;
    if (!CHECK(ok && s.n == (size_t)frames && s.rate == value_int(value_get(row, "rate"), 0) &&
               s.channels_given == value_int(value_get(row, "channels"), 0) && apart < 1e-7))
        printf("  %s: %zu samples, %g apart: %s\n", name, s.n, apart, err.message);
}

static void test_files(void)
{
    TEST("files");
    Arena arena = { 0 };
    const Value *rows = sound_rows(&arena, "decode.json");
    CHECK(rows && rows->list.n >= 16);
    for (size_t i = 0; rows && i < rows->list.n; i++) check_file(&arena, &rows->list.items[i]);
    arena_free(&arena);
}

static void check_rates(Arena *arena, const Value *row)
{
    Err err = { 0 };
    Sound s = { 0 };
    size_t n = (size_t)value_int(value_get(row, "n"), 0);
    const float *noise = sound_noise(arena, n);
    int given = (int)value_int(value_get(row, "given"), 0), wanted = (int)value_int(value_get(row, "wanted"), 0);
    SoundNumbers from = { .channel = &noise, .channels = 1, .n = n, .rate = given };
    bool ok = sound_take(arena, &from, NULL, wanted, &s, &err);
    double apart = ok ? sound_apart(s.samples, s.n, value_int(value_get(row, "step"), 1), value_get(row, "samples")) : 1;
    if (!CHECK(ok && (int64_t)s.n == value_int(value_get(row, "length"), -1) && apart < 2e-6))
        printf("  %d to %d Hz: %zu samples, %g apart: %s\n", given, wanted, s.n, apart, err.message);
}

static void test_rates(void)
{
    TEST("rates");
    Arena arena = { 0 };
    const Value *rows = sound_rows(&arena, "resample.json");
    CHECK(rows && rows->list.n >= 12);
    for (size_t i = 0; rows && i < rows->list.n; i++) check_rates(&arena, &rows->list.items[i]);
    arena_free(&arena);
}

/* ---- what is refused ---- */
static void refused(Str bytes, double seconds, ef_code code, const char *words)
{
    Arena arena = { 0 };
    Err err = { 0 };
    Sound s;
    CHECK(!read_sound(&arena, bytes, 16000, seconds, &s, &err) && err.code == code && says(&err, words));
    arena_free(&arena);
}

static Str changed(Arena *arena, Str from, size_t at, const char *bytes, size_t n)
{
    char *to = arena_raw(arena, from.n);
    memcpy(to, from.p, from.n);
    memcpy(to + at, bytes, n);
    return (Str){ to, from.n };
}
#define CHANGED(from, at, literal) changed(&arena, from, at, literal, sizeof(literal) - 1)

static void test_wav_refused(void)
{
    TEST("WAV that is refused");
    Arena arena = { 0 };
    Str wav = sound_file(&arena, "mono.wav"), f32 = sound_file(&arena, "f32.wav");
    enum { CHANNELS = 22, RATE = 24, FRAME = 32, BITS = 34, SIZE = 40 };
    refused((Str){ wav.p, wav.n - 1 }, 0, EF_INVALID_INPUT, "sound: WAV: the file is truncated: it ends after 223");
    refused((Str){ wav.p, 43 }, 0, EF_INVALID_INPUT, "found no chunk of samples");
    refused((Str){ wav.p, 20 }, 0, EF_INVALID_INPUT, "truncated");
    refused((Str){ wav.p, 12 }, 0, EF_INVALID_INPUT, "found no chunk of samples");
    refused(CHANGED(wav, SIZE, "\xff\xff\xff\x7f"), 0, EF_INVALID_INPUT, "truncated");
    refused(CHANGED(wav, CHANNELS, "\0\0"), 0, EF_INVALID_INPUT, "found 0 channels, wanted 1 to 64");
    refused(CHANGED(wav, CHANNELS, "\x7\0"), 0, EF_INVALID_INPUT, "found frames of 2 bytes, wanted 14");
    refused(CHANGED(wav, RATE, "\1\0\0\0"), 0, EF_INVALID_INPUT, "found a sampling rate of 1 Hz, wanted 1000 to 384000");
    refused(CHANGED(wav, RATE, "\x40\x42\xf\0"), 0, EF_INVALID_INPUT, "found a sampling rate of 1000000 Hz");
    refused(CHANGED(wav, RATE, "\0\0\0\0"), 0, EF_INVALID_INPUT, "found a sampling rate of 0 Hz");
    refused(CHANGED(wav, BITS, "\xc\0"), 0, EF_MEDIA_TYPE, "found coding 0x0001 of 12 bits");
    refused(CHANGED(wav, 20, "\x55\0"), 0, EF_MEDIA_TYPE, "found coding 0x0055 of 16 bits");
    refused(CHANGED(wav, 36, "junk"), 0, EF_INVALID_INPUT, "found no chunk of samples");
    refused(CHANGED(wav, 12, "data\0\0\0\0"), 0, EF_INVALID_INPUT, "found samples before their format");
    refused((Str){ wav.p, 44 }, 0, EF_INVALID_INPUT, "truncated");
    Str none = CHANGED(wav, SIZE, "\0\0\0\0");
    refused((Str){ none.p, 44 }, 0, EF_INVALID_INPUT, "found no samples");
    refused(CHANGED(f32, f32.n - 8, "\0\0\xc0\x7f"), 0, EF_INVALID_INPUT, "found nan as sample 89, wanted numbers");
    refused(CHANGED(f32, f32.n - 720, "\0\0\x80\x7f"), 0, EF_INVALID_INPUT, "found inf as sample 0");
    refused(wav, 0.005, EF_TOO_LARGE, "found 0.0 seconds, wanted at most 0.005");
    arena_free(&arena);
}

static void test_flac_refused(void)
{
    TEST("FLAC that is refused");
    Arena arena = { 0 };
    Str flac = sound_file(&arena, "stereo.flac"), hours;
    enum { BLOCK = 10, RATE = 18, SAMPLES = 21 };
    refused((Str){ flac.p, flac.n - 900 }, 0, EF_INVALID_INPUT, "sound: FLAC: ");
    refused((Str){ flac.p, 41 }, 0, EF_INVALID_INPUT, "truncated");
    refused((Str){ flac.p, 60 }, 0, EF_INVALID_INPUT, "truncated");
    refused(CHANGED(flac, flac.n / 2, "\x12\x34\x56"), 0, EF_INVALID_INPUT, "broken block");
    refused(CHANGED(flac, 4, "\4"), 0, EF_INVALID_INPUT, "found no stream information");
    refused(CHANGED(flac, BLOCK, "\0\1"), 0, EF_INVALID_INPUT, "found blocks of 1 samples, wanted at least 16");
    refused(CHANGED(flac, RATE, "\0\0\1"), 0, EF_INVALID_INPUT, "found a sampling rate of");
    refused(CHANGED(flac, 26, "\x55\x55"), 0, EF_INVALID_INPUT, "the checksum of its samples does not agree");
    hours = CHANGED(flac, SAMPLES + 1, "\x44\xaa\x20\0"); /* ten hours of 32 kHz, says the header */
    refused(hours, 0, EF_TOO_LARGE, "found 36000.0 seconds, wanted at most 3600");
    refused(flac, 0.1, EF_TOO_LARGE, "found 0.2 seconds, wanted at most 0.1");
    Str unknown = CHANGED(flac, SAMPLES + 1, "\0\0\0\0"); /* a length that is found out by decoding */
    Sound s;
    Err err = { 0 };
    CHECK(read_sound(&arena, unknown, 0, 0, &s, &err) && s.n == 5000);
    refused(unknown, 0.1, EF_TOO_LARGE, "found over 0.1 seconds, wanted at most 0.1");
    arena_free(&arena);
}

static void test_others_refused(void)
{
    TEST("other formats");
    refused(STR("ID3\4\0\0\0\0\0\0"), 0, EF_MEDIA_TYPE,
            "sound: found MP3, wanted WAV or FLAC; to convert: ffmpeg -i FILE.mp3 -ac 1 -ar 16000 FILE.wav");
    refused(STR("\xff\xfb\x90\x64"), 0, EF_MEDIA_TYPE, "found MP3");
    refused(STR("OggS\0\2\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\1\x13OpusHead"), 0, EF_MEDIA_TYPE, "FILE.opus");
    refused(STR("OggS\0\2\0\0\0\0\0\0\0\0"), 0, EF_MEDIA_TYPE, "found Ogg");
    refused(STR("\0\0\0\x20" "ftypM4A "), 0, EF_MEDIA_TYPE, "ffmpeg -i FILE.m4a");
    refused(STR("\x1a\x45\xdf\xa3"), 0, EF_MEDIA_TYPE, "found WebM");
    refused(STR("hello"), 0, EF_INVALID_INPUT, "found 5 bytes that begin with \"hello\", wanted WAV or FLAC");
    refused(STR(""), 0, EF_INVALID_INPUT, "found no bytes");
}

static void test_numbers_refused(void)
{
    TEST("numbers that are refused");
    Arena arena = { 0 };
    float x[] = { 0.5f, (float)NAN, 0 };
    const float *channel[] = { x, x };
    Err err = { 0 };
    Sound s;
    SoundNumbers from = { channel, 1, 3, 16000 };
    CHECK(!sound_take(&arena, &from, NULL, 16000, &s, &err) && says(&err, "sound: found nan as sample 1"));
    from.n = 0;
    CHECK(!sound_take(&arena, &from, NULL, 16000, &s, &err) && says(&err, "found no samples"));
    from = (SoundNumbers){ channel, 1, 1, -5 };
    CHECK(!sound_take(&arena, &from, NULL, 16000, &s, &err) && says(&err, "found a sampling rate of 0 Hz"));
    x[1] = 0.25f;
    from = (SoundNumbers){ channel, 2, 3, 16000 };
    CHECK(sound_take(&arena, &from, NULL, 16000, &s, &err) && s.n == 3 && s.samples[1] == 0.25f);
    enum { SAMPLES = 160 }; /* a hundredth of a second */
    static const float quiet[SAMPLES];
    const float *many[SOUND_CHANNELS_MOST];
    for (int i = 0; i < SOUND_CHANNELS_MOST; i++) many[i] = quiet;
    from = (SoundNumbers){ many, SOUND_CHANNELS_MOST, SAMPLES, 16000 };
    SoundLimits limits = { 0.01 };
    CHECK(!sound_take(&arena, &from, &limits, 16000, &s, &err) && err.code == EF_TOO_LARGE &&
          says(&err, "sound: found 0.0 seconds of 64 channels at 16000 Hz, wanted at most 0.01 of 2 at 48000"));
    from.channels = 2;
    CHECK(sound_take(&arena, &from, &limits, 16000, &s, &err) && s.n == SAMPLES);
    arena_free(&arena);
}

/* A file of many channels that does not say its length: refused within its seconds. */
static void test_channels_of_unknown_length(void)
{
    TEST("channels of unknown length");
    static const float quiet[SOUND_BLOCK];
    Arena arena = { 0 };
    Err err = { 0 };
    Sound s = { .rate = 16000 };
    SoundJob job = { .arena = &arena, .scratch = &arena, .seconds = 10, .sound = &s }; /* 15000 samples of a channel */
    CHECK(sound_begin(&job, 16000, SOUND_CHANNELS_MOST, 0, &err));
    for (int i = 0; i < 3; i++) CHECK(sound_push(&job, quiet, SOUND_BLOCK, &err));
    CHECK(!sound_push(&job, quiet, SOUND_BLOCK, &err) && err.code == EF_TOO_LARGE &&
          says(&err, "found over 1.0 seconds of 64 channels at 16000 Hz, wanted at most 10 of 2 at 48000"));
    arena_free(&arena);
}

int main(void)
{
    test_files();
    test_rates();
    test_wav_refused();
    test_flac_refused();
    test_others_refused();
    test_numbers_refused();
    test_channels_of_unknown_length();
    return finish();
}
