/* SPDX-License-Identifier: Apache-2.0
 * decode_webp.c - WebP by libwebp: lossy, lossless, with or without alpha; of an animation the
 * first frame on a canvas of zeros, which is what Pillow shows of it. */
#include <webp/decode.h>

#include "decode.h"

typedef struct WebpFrame { /* what is decoded, and where it lies on the canvas */
    Str data;
    int64_t left, top, width, height;
} WebpFrame;

static uint32_t le24(const uint8_t *p)
{
    return le16(p) | (uint32_t)p[2] << 16;
}

/* The first ANMF chunk; its frame must lie on the canvas. */
static bool webp_find_frame(PictureJob *job, int64_t width, int64_t height, WebpFrame *frame,
                            Err *err)
{
    enum { HEADER = 16 }; /* of the chunk's body, in front of the frame's own chunks */
    Str file = job->bytes;
    const uint8_t *p = (const uint8_t *)file.p;
    for (size_t at = 12; at + 8 <= file.n;) {
        size_t length = le32(p + at + 4);
        if (length > file.n - at - 8) break;
        const uint8_t *body = p + at + 8;
        if (memcmp(p + at, "ANMF", 4) == 0 && length > HEADER) {
            *frame = (WebpFrame){ { (const char *)body + HEADER, length - HEADER },
                                  2 * le24(body), 2 * le24(body + 3), le24(body + 6) + 1,
                                  le24(body + 9) + 1 };
            if (frame->left + frame->width <= width && frame->top + frame->height <= height)
                return true;
            return fail(err, EF_INVALID_INPUT,
                        "the first frame does not lie inside of the picture");
        }
        at += 8 + length + (length & 1);
    }
    return fail(err, EF_INVALID_INPUT, "an animation without a whole frame");
}

static bool webp_status(const PictureJob *job, VP8StatusCode status, Err *err)
{
    if (status == VP8_STATUS_OK) return true;
    if (status == VP8_STATUS_NOT_ENOUGH_DATA || status == VP8_STATUS_SUSPENDED)
        return picture_truncated(job, err);
    if (status == VP8_STATUS_OUT_OF_MEMORY)
        return fail(err, EF_IO, "out of memory");
    return fail(err, EF_INVALID_INPUT, "the data is broken");
}

static bool webp_decode(PictureJob *job, const WebpFrame *frame, Err *err)
{
    const Picture *p = job->picture;
    WebPDecoderConfig config;
    if (!WebPInitDecoderConfig(&config))
        return fail(err, EF_INTERNAL, "another version of libwebp");
    config.output.colorspace = MODE_RGB;
    config.output.is_external_memory = 1;
    size_t stride = (size_t)p->width * 3;
    size_t skip = (size_t)frame->top * stride + (size_t)frame->left * 3;
    config.output.u.RGBA.rgba = p->rgb + skip;
    config.output.u.RGBA.stride = (int)stride;
    config.output.u.RGBA.size = stride * (size_t)p->height - skip;
    /* At most: pixels of 4 bytes, and a plane of alpha; rows and tables. */
    size_t memory = (size_t)frame->width * (size_t)frame->height * 5 + (2 << 20);
    picture_hold(job, memory);
    VP8StatusCode status =
        WebPDecode((const uint8_t *)frame->data.p, frame->data.n, &config);
    WebPFreeDecBuffer(&config.output);
    picture_release(job, memory);
    return webp_status(job, status, err);
}

/* The frame's own header must say what the file's says: its rows are written without further
 * checks. */
static bool webp_check_frame(PictureJob *job, const WebpFrame *frame, Err *err)
{
    WebPBitstreamFeatures f;
    VP8StatusCode status = WebPGetFeatures((const uint8_t *)frame->data.p, frame->data.n, &f);
    if (!webp_status(job, status, err)) return false;
    if (f.width == frame->width && f.height == frame->height) return true;
    return fail(err, EF_INVALID_INPUT, "found a frame of %d x %d pixels, wanted %lld x %lld",
                f.width, f.height, (long long)frame->width, (long long)frame->height);
}

bool picture_read_webp(PictureJob *job, Err *err)
{
    WebPBitstreamFeatures f;
    Str file = job->bytes;
    if (le32((const uint8_t *)file.p + 4) > file.n - 8) return picture_truncated(job, err);
    VP8StatusCode status = WebPGetFeatures((const uint8_t *)file.p, file.n, &f);
    if (!webp_status(job, status, err) || !picture_room(job, f.width, f.height, err)) return false;
    WebpFrame frame = { .data = file, .width = f.width, .height = f.height };
    if (f.has_animation) {
        if (!webp_find_frame(job, f.width, f.height, &frame, err)) return false;
        if (!webp_check_frame(job, &frame, err)) return false;
        memset(job->picture->rgb, 0, (size_t)f.width * (size_t)f.height * 3);
    }
    return webp_decode(job, &frame, err);
}
