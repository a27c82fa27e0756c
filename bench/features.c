/* SPDX-License-Identifier: Apache-2.0
 * features.c - the features of one sound, timed in turns with transformers by bench/features.py: it works only
 * when told to.
 *
 *     build/bench/features CLASS          (Wav2Vec2FeatureExtractor, ASTFeatureExtractor, WhisperFeatureExtractor)
 *
 * A line "RUNS SAMPLES" is answered by the least CPU time in milliseconds. Memory is kept from run to run, as
 * numpy's allocator keeps it. The first line out is the instruction set. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "audio/audio.h"
#include "data/json.h"
#include "kernels/kernels.h"

static double cpu_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return 1e3 * (double)t.tv_sec + 1e-6 * (double)t.tv_nsec;
}

static float *noise(Arena *arena, size_t n)
{
    float *x = ARRAY(arena, float, n);
    for (size_t i = 0; i < n; i++) x[i] = (float)(i * 7919u % 1000u) / 500.0f - 1.0f;
    return x;
}

static bool answer_line(const AudioProcessor *p, char *line, Err *err)
{
    Arena sound = { 0 }, work = { .step = 64 << 20 };
    AudioTensor t;
    char *at;
    double best = 1e9;
    bool ok = true;
    const long runs = strtol(line, &at, 10);
    const size_t n = strtoul(at, NULL, 10);
    const float *x = noise(&sound, n);
    for (long i = 0; ok && i < runs; i++) {
        const double from = cpu_ms();
        ok = audio_prepare(&work, p, x, n, &t, err);
        best = MIN(best, cpu_ms() - from);
        arena_reset(&work, SIZE_MAX);
    }
    if (ok) printf("%.6f\n", best);
    fflush(stdout);
    arena_free(&work);
    arena_free(&sound);
    return ok;
}

int main(int argc, char **argv)
{
    Err err = { 0 };
    Arena arena = { 0 };
    AudioProcessor p;
    char line[256];
    if (argc < 2) return fprintf(stderr, "usage: features CLASS\n"), 2;
    const Str config = str_of(str_format(&arena, "{\"feature_extractor_type\": \"%s\"}", argv[1]));
    Value parsed;
    bool ok = json_parse(&arena, config, &parsed, &err) &&
              audio_processor_open(&arena, &(AudioConfigs){ .preprocessor = &parsed }, &p, &err);
    if (ok) printf("%s\n", kernels()->isa), fflush(stdout);
    while (ok && fgets(line, sizeof line, stdin)) ok = answer_line(&p, line, &err);
    if (!ok) fprintf(stderr, "features: %s\n", err.message);
    arena_free(&arena);
    return !ok;
}
