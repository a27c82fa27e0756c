/* SPDX-License-Identifier: Apache-2.0
 * decode_flac.c - FLAC by libFLAC, from memory. A frame that is broken ends the call, and so does a sum of
 * all samples (MD5) that does not agree.
 *
 * The header is read here, and its limits are checked before libFLAC is started. libFLAC takes from the
 * heap what one block needs, which counts in the budget; a call that is abandoned for want of memory
 * closes it. */
#include <FLAC/stream_decoder.h>

#include "base/budget.h"
#include "base/guard.h"
#include "decode.h"

typedef struct FlacInfo { /* the block STREAMINFO, which comes first */
    uint32_t block;       /* most samples of a block */
    uint32_t rate, channels, bits;
    uint64_t samples;     /* 0: not known */
} FlacInfo;
typedef struct FlacReader {
    GuardHold hold;       /* first: flac_close finds the rest by it */
    SoundJob *job;
    Err *err;
    FLAC__StreamDecoder *decoder;
    FlacInfo info;
    size_t at;            /* in the file */
    bool beyond;          /* the decoder asked for bytes behind the end */
    bool failed;          /* err says why */
    float *mono;          /* [info.block] */
    size_t heap;          /* bytes that were drawn for libFLAC */
} FlacReader;

static bool flac_info(const SoundJob *job, FlacInfo *info, Err *err)
{
    enum { INFO = 8, SIZE = 34, LEAST = 16 };
    const uint8_t *p = (const uint8_t *)job->bytes.p;
    if (job->bytes.n < INFO + SIZE) return sound_truncated(job, err);
    if ((p[4] & 127) != 0 || be32(p + 4) % (1 << 24) != SIZE)
        return fail(err, EF_INVALID_INPUT, "found no stream information behind the first 4 bytes");
    p += INFO;
    *info = (FlacInfo){ .block = be16(p + 2), .rate = be32(p + 10) >> 12, .channels = (p[12] >> 1 & 7) + 1,
                        .bits = ((p[12] & 1) << 4 | p[13] >> 4) + 1,
                        .samples = (uint64_t)(p[13] & 15) << 32 | be32(p + 14) };
    return info->block >= LEAST || fail(err, EF_INVALID_INPUT, "found blocks of %u samples, wanted at least %d",
                                        info->block, LEAST);
}

static FLAC__StreamDecoderReadStatus flac_take(const FLAC__StreamDecoder *d, FLAC__byte *to, size_t *n, void *arg)
{
    (void)d;
    FlacReader *r = arg;
    size_t left = r->job->bytes.n - r->at;
    if (*n > left) *n = left;
    memcpy(to, r->job->bytes.p + r->at, *n);
    r->at += *n;
    r->beyond = *n == 0;
    return *n ? FLAC__STREAM_DECODER_READ_STATUS_CONTINUE : FLAC__STREAM_DECODER_READ_STATUS_END_OF_STREAM;
}

static bool flac_block_fits(const FlacInfo *info, const FLAC__FrameHeader *h, Err *err)
{
    return (h->blocksize <= info->block && h->bits_per_sample == info->bits && h->channels == info->channels &&
            h->sample_rate == info->rate) ||
           fail(err, EF_INVALID_INPUT, "found a block that does not fit the file's header");
}

static FLAC__StreamDecoderWriteStatus flac_block(const FLAC__StreamDecoder *d, const FLAC__Frame *frame,
                                                 const FLAC__int32 *const channel[], void *arg)
{
    (void)d;
    FlacReader *r = arg;
    const FlacInfo *info = &r->info;
    const double scale = 1.0 / (double)(1ull << (info->bits - 1));
    r->failed = r->failed || !flac_block_fits(info, &frame->header, r->err);
    if (r->failed) return FLAC__STREAM_DECODER_WRITE_STATUS_ABORT;
    for (uint32_t i = 0; i < frame->header.blocksize; i++) {
        float sum = 0;
        for (uint32_t c = 0; c < info->channels; c++) sum += (float)(channel[c][i] * scale);
        r->mono[i] = info->channels > 1 ? sum / (float)info->channels : sum;
    }
    r->failed = !sound_push(r->job, r->mono, frame->header.blocksize, r->err);
    return r->failed ? FLAC__STREAM_DECODER_WRITE_STATUS_ABORT : FLAC__STREAM_DECODER_WRITE_STATUS_CONTINUE;
}

static void flac_broken(const FLAC__StreamDecoder *d, FLAC__StreamDecoderErrorStatus status, void *arg)
{
    (void)d;
    FlacReader *r = arg;
    if (!r->failed && r->beyond) sound_truncated(r->job, r->err);
    else if (!r->failed)
        fail(r->err, EF_INVALID_INPUT, "found a broken block (%s)", FLAC__StreamDecoderErrorStatusString[status]);
    r->failed = true;
}

static void flac_close(GuardHold *hold)
{
    FlacReader *r = (FlacReader *)hold;
    guard_let_go(hold);
    if (r->decoder) FLAC__stream_decoder_delete(r->decoder);
    if (r->job->arena->budget) budget_return(r->job->arena->budget, r->heap);
}

static bool flac_open(FlacReader *r)
{
    Budget *budget = r->job->arena->budget;
    r->mono = arena_raw(r->job->scratch, r->info.block * sizeof *r->mono);
    r->heap = (size_t)r->info.block * r->info.channels * 8 + (64 << 10); /* signals and residuals */
    if (budget && !budget_draw(budget, r->heap)) memory_missing(r->heap, budget, true);
    r->decoder = FLAC__stream_decoder_new();
    guard_hold(&r->hold, flac_close);
    if (r->decoder) FLAC__stream_decoder_set_md5_checking(r->decoder, true);
    return (r->decoder &&
            FLAC__stream_decoder_init_stream(r->decoder, flac_take, NULL, NULL, NULL, NULL, flac_block, NULL,
                                             flac_broken, r) == FLAC__STREAM_DECODER_INIT_STATUS_OK) ||
           fail(r->err, EF_INTERNAL, "libFLAC refuses to start");
}

static bool flac_run(FlacReader *r)
{
    const SoundJob *job = r->job;
    while (!r->failed && FLAC__stream_decoder_get_state(r->decoder) < FLAC__STREAM_DECODER_END_OF_STREAM)
        if (!FLAC__stream_decoder_process_single(r->decoder)) break;
    if (r->failed) return false;
    if (FLAC__stream_decoder_get_state(r->decoder) != FLAC__STREAM_DECODER_END_OF_STREAM)
        return fail(r->err, EF_INVALID_INPUT, "libFLAC stops: %s",
                    FLAC__stream_decoder_get_resolved_state_string(r->decoder));
    if (r->info.samples && job->taken < r->info.samples) return sound_truncated(job, r->err);
    return FLAC__stream_decoder_finish(r->decoder) ||
           fail(r->err, EF_INVALID_INPUT, "the checksum of its samples does not agree with them");
}

bool sound_read_flac(SoundJob *job, Err *err)
{
    FlacReader r = { .job = job, .err = err };
    const FlacInfo *info = &r.info;
    if (!flac_info(job, &r.info, err) || !sound_begin(job, info->rate, info->channels, info->samples, err))
        return false;
    bool ok = flac_open(&r) && flac_run(&r);
    flac_close(&r.hold);
    return ok;
}
