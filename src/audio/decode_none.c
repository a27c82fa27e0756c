/* SPDX-License-Identifier: Apache-2.0
 * decode_none.c - in place of decode_flac.c in a build with MEDIA=0: the format is refused by name. */
#include "decode.h"

bool sound_read_flac(SoundJob *job, Err *err)
{
    (void)job;
    return fail(err, EF_MEDIA_TYPE, "left out of this build (MEDIA=0), which decodes WAV");
}
