/* SPDX-License-Identifier: Apache-2.0
 * audio.h - a sound's bytes to the tensor a speech or audio model takes, as transformers does it with
 * numpy: decode, mix to one channel, resample, then the samples, filter banks or log-mel of its
 * feature extractor.
 *
 *     sound_from_text or a file's bytes -> sound_read -> audio_prepare -> AudioTensor
 *     numbers with their rate           -> sound_take /
 *
 * Samples are float32 in -1 .. 1, one channel: the mean of the file's. Resampling is that of
 * torchaudio (a windowed sinc, 6 zero crossings), also for files, which transformers leaves to ffmpeg.
 * Refused: other formats than WAV and FLAC (by name, with a command that converts them), URLs, sounds
 * over a limit of seconds (before anything is decoded, where the file says its length), truncated files,
 * samples that are no numbers, rates that no recorder has.
 * Decoding, mixing and resampling go block by block: a file never stands in memory as samples of its
 * own rate. One sound is one call without state, so that threads can take a sound each. */
#ifndef AUDIO_AUDIO_H
#define AUDIO_AUDIO_H
#include "data/value.h"

enum { SOUND_RATE_LEAST = 1000, SOUND_RATE_MOST = 384000, SOUND_CHANNELS_MOST = 64 };
#define SOUND_SECONDS 3600.0 /* the default limit: 230 MB of samples at 16 kHz */
/* Of a second that a limit allows: numbers of all channels. A small file may hold many: FLAC of silence. */
#define SOUND_NUMBERS (48000 * 2)

typedef struct SoundLimits {
    double seconds;     /* of a sound; 0: SOUND_SECONDS */
} SoundLimits;

typedef struct Sound {
    const float *samples; /* [n], one channel */
    size_t n;
    int rate;           /* of `samples`, in Hz */
    int rate_given, channels_given; /* as the file says */
    const char *format; /* "WAV", "FLAC", "samples" */
} Sound;

/* The file's bytes to samples at `rate` (0: the file's own). `limits` may be NULL. The samples live in
 * the arena; what the decoder needs besides counts in its budget during the call.
 * Errors: EF_INVALID_INPUT (no sound, or a broken one), EF_MEDIA_TYPE (a format that is not decoded),
 * EF_TOO_LARGE (over the limit). */
bool sound_read(Arena *, Str bytes, const SoundLimits *, int rate, Sound *, Err *);
/* The same of samples that are numbers already: [channels][n] at `given` Hz. */
typedef struct SoundNumbers {
    const float *const *channel;
    int channels;
    size_t n;
    int rate;
} SoundNumbers;
bool sound_take(Arena *, const SoundNumbers *, const SoundLimits *, int rate, Sound *, Err *);
/* A sound written as text: base64, or a data URI with base64. Gives the file's bytes, which sound_read
 * has to judge. A URL or a path is an error that says so. */
bool sound_from_text(Arena *, Str text, Str *bytes, Err *);
/* "WAV or FLAC": what this program decodes, for messages and docs. */
const char *sound_formats(void);

/* ---- feature extractors ---- */
typedef enum {
    AUDIO_SAMPLES, /* Wav2Vec2FeatureExtractor: input_values [samples] */
    AUDIO_BANKS,   /* ASTFeatureExtractor: input_values [frames, mels] */
    AUDIO_LOG_MEL  /* WhisperFeatureExtractor: input_features [mels, frames] */
} AudioKind;
typedef struct Spectrum Spectrum; /* spectrum.h: window, transform and filters */

typedef struct AudioProcessor { /* what preprocessor_config.json says, with its class's defaults */
    const char *name;     /* of the class: "ASTFeatureExtractor" */
    const char *input;    /* of the graph: "input_values", "input_features" */
    AudioKind kind;
    int rate;
    bool normalize;
    double mean, std;     /* AUDIO_BANKS */
    int mels, hop, frames;/* AUDIO_BANKS, AUDIO_LOG_MEL: frames of every tensor */
    int samples;          /* of every tensor: AUDIO_LOG_MEL, or where the graph leaves no choice; 0: any */
    int least;            /* samples without which the model has nothing to say */
    int ratio;            /* samples of a frame of its output; 1: not known */
    bool mask;            /* return_attention_mask */
    const Spectrum *spectrum; /* NULL: AUDIO_SAMPLES */
} AudioProcessor;

/* The files of a model's folder, parsed; each may be NULL. processor_config.json wins where it has a
 * feature_extractor; config.json tells the class where none of them does. */
typedef struct AudioConfigs {
    const Value *preprocessor, *processor, *config;
} AudioConfigs;
/* Errors: EF_BAD_MODEL (a value that makes no sense), EF_UNSUPPORTED (a class that is not here). The
 * tables live in the arena. */
bool audio_processor_open(Arena *, const AudioConfigs *, AudioProcessor *, Err *);
bool audio_model_type(Str model_type); /* of config.json: one of a class below */
/* Whether these are the files of a model that hears: they name a class of audio_processor_open's kind. */
bool audio_configs_say(const AudioConfigs *);

typedef struct AudioTensor {
    float *values;       /* [dim[0]] or [dim[0]][dim[1]] */
    int rank;
    int64_t dim[2];
    bool truncated;      /* the sound is longer than every tensor: its end is cut off */
} AudioTensor;
/* One sound alone, at the processor's rate. Errors: EF_INVALID_INPUT (too short). */
bool audio_prepare(Arena *, const AudioProcessor *, const float *samples, size_t n, AudioTensor *, Err *);

#endif
