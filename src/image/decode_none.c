/* SPDX-License-Identifier: Apache-2.0
 * decode_none.c - in place of decode_jpeg.c, decode_png.c and decode_webp.c in a build with
 * MEDIA=0: these formats are refused by name. */
#include "decode.h"

static bool media_left_out(Err *err)
{
    return fail(err, EF_MEDIA_TYPE, "left out of this build (MEDIA=0), which decodes GIF and BMP");
}

bool picture_read_jpeg(PictureJob *job, Err *err)
{
    (void)job;
    return media_left_out(err);
}

bool picture_read_png(PictureJob *job, Err *err)
{
    (void)job;
    return media_left_out(err);
}

bool picture_read_webp(PictureJob *job, Err *err)
{
    (void)job;
    return media_left_out(err);
}
