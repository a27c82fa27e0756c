/* SPDX-License-Identifier: Apache-2.0
 * decode_jpeg.c - JPEG by libjpeg-turbo with its defaults, which are Pillow's: the accurate integer
 * IDCT and triangle upsampling. Four components are CMYK, inverted as Adobe does.
 *
 * libjpeg reports an error by a jump: it lands in this file, and no arena is touched while a
 * decompressor is open, so that a call that is abandoned for want of memory leaves none behind. So
 * the header is read twice: for the size, then with the memory for it. */
#include <setjmp.h>
#include <stdio.h>

#include <jpeglib.h>

#include "decode.h"

typedef struct JpegReader {
    struct jpeg_decompress_struct info;
    struct jpeg_error_mgr errors;
    struct jpeg_source_mgr source;
    struct jpeg_progress_mgr progress;
    jmp_buf failed;
    bool truncated;
    char message[JMSG_LENGTH_MAX];
} JpegReader;

static void jpeg_fail(j_common_ptr info)
{
    JpegReader *r = (JpegReader *)info->client_data;
    info->err->format_message(info, r->message);
    longjmp(r->failed, 1);
}

/* Warnings: Pillow shows what it can of a file with damaged data. */
static void jpeg_ignore(j_common_ptr info, int level)
{
    (void)info, (void)level;
}

/* A scan of a few bytes may go through every block of the picture: thousands of them would take
 * minutes. An encoder writes about ten. */
static void jpeg_count_scans(j_common_ptr info)
{
    enum { SCANS_MOST = 500 };
    JpegReader *r = (JpegReader *)info->client_data;
    if (r->info.input_scan_number <= SCANS_MOST) return;
    snprintf(r->message, sizeof r->message, "found over %d scans, wanted fewer", SCANS_MOST);
    longjmp(r->failed, 1);
}

static void jpeg_source_nothing(j_decompress_ptr info)
{
    (void)info;
}

static boolean jpeg_source_ended(j_decompress_ptr info)
{
    JpegReader *r = (JpegReader *)info->client_data;
    r->truncated = true;
    longjmp(r->failed, 1);
}

static void jpeg_source_skip(j_decompress_ptr info, long n)
{
    if (n > 0 && (size_t)n > info->src->bytes_in_buffer) jpeg_source_ended(info);
    if (n <= 0) return;
    info->src->next_input_byte += n;
    info->src->bytes_in_buffer -= (size_t)n;
}

static void jpeg_open(JpegReader *r, Str bytes)
{
    r->info.err = jpeg_std_error(&r->errors);
    r->errors.error_exit = jpeg_fail;
    r->errors.emit_message = jpeg_ignore;
    r->info.client_data = r;
    jpeg_create_decompress(&r->info);
    r->source = (struct jpeg_source_mgr){
        .next_input_byte = (const JOCTET *)bytes.p, .bytes_in_buffer = bytes.n,
        .init_source = jpeg_source_nothing, .fill_input_buffer = jpeg_source_ended,
        .skip_input_data = jpeg_source_skip, .resync_to_restart = jpeg_resync_to_restart,
        .term_source = jpeg_source_nothing,
    };
    r->info.src = &r->source;
    r->progress.progress_monitor = jpeg_count_scans;
    r->info.progress = &r->progress;
    jpeg_read_header(&r->info, TRUE);
}

/* The most that libjpeg takes for a picture: rows of samples; and all coefficients, where they come
 * in several scans. */
static size_t jpeg_memory(JpegReader *r)
{
    const struct jpeg_decompress_struct *info = &r->info;
    size_t edge = 8 * 4, bytes = 1 << 20; /* the largest sampling factor is 4 */
    bytes += 256 * (info->image_width + edge) * (size_t)info->num_components;
    if (jpeg_has_multiple_scans(&r->info))
        bytes += 2 * (info->image_width + edge) * (info->image_height + edge) *
                 (size_t)info->num_components;
    return bytes;
}

/* (255 - c) * (255 - k) / 255, rounded; what the file holds is 255 - c and 255 - k already. */
static void jpeg_put_cmyk(const uint8_t *cmyk, int n, uint8_t *rgb)
{
    for (int i = 0; i < n; i++, cmyk += 4, rgb += 3)
        for (int c = 0; c < 3; c++) {
            unsigned product = (unsigned)cmyk[c] * cmyk[3] + 128;
            rgb[c] = (uint8_t)((product + (product >> 8)) >> 8);
        }
}

static void jpeg_read_rows(JpegReader *r, const Picture *p, uint8_t *line)
{
    size_t row = (size_t)p->width * 3;
    for (int y; (y = (int)r->info.output_scanline) < p->height;) {
        JSAMPROW rows[4];
        int n = MIN(p->height - y, line ? 1 : (int)COUNT(rows));
        for (int i = 0; i < n; i++) rows[i] = line ? line : p->rgb + (size_t)(y + i) * row;
        jpeg_read_scanlines(&r->info, rows, (JDIMENSION)n);
        if (line) jpeg_put_cmyk(line, p->width, p->rgb + (size_t)y * row);
    }
}

/* False: an error, in r. line: room for a row of CMYK, or NULL: the picture has no four components.
 * p NULL: the header only. */
static bool jpeg_run(JpegReader *r, Str bytes, size_t memory, const Picture *p, uint8_t *line)
{
    if (setjmp(r->failed)) return false;
    jpeg_open(r, bytes);
    if (!p) return true;
    r->info.mem->max_memory_to_use = (long)memory;
    r->info.out_color_space = line ? JCS_CMYK : JCS_RGB;
    jpeg_start_decompress(&r->info);
    jpeg_read_rows(r, p, line);
    jpeg_finish_decompress(&r->info); /* a file without its end marker is truncated */
    return true;
}

static bool jpeg_error(const PictureJob *job, const JpegReader *r, Err *err)
{
    if (r->truncated) return picture_truncated(job, err);
    return fail(err, EF_INVALID_INPUT, "%s", r->message);
}

bool picture_read_jpeg(PictureJob *job, Err *err)
{
    JpegReader *r = NEW(job->scratch, JpegReader);
    bool ok = jpeg_run(r, job->bytes, 0, NULL, NULL);
    int64_t width = r->info.image_width, height = r->info.image_height;
    int components = r->info.num_components;
    size_t memory = ok ? jpeg_memory(r) : 0;
    jpeg_destroy_decompress(&r->info);
    if (!ok) return jpeg_error(job, r, err);
    if (components != 1 && components != 3 && components != 4)
        return fail(err, EF_INVALID_INPUT, "found %d components, wanted 1, 3 or 4", components);
    if (!picture_room(job, width, height, err)) return false;
    uint8_t *line = components == 4 ? arena_raw(job->scratch, (size_t)width * 4) : NULL;
    picture_hold(job, memory);
    ok = jpeg_run(r, job->bytes, memory, job->picture, line);
    jpeg_destroy_decompress(&r->info);
    picture_release(job, memory);
    return ok || jpeg_error(job, r, err);
}
