/* SPDX-License-Identifier: Apache-2.0
 * image.h - a picture's bytes to the tensor a vision model takes, as transformers does it with
 * Pillow: decode, turn upright (EXIF), RGB, resize, crop, rescale, normalize, pad.
 *
 *     picture_from_text or a file's bytes -> picture_read -> image_prepare -> PixelTensor
 *
 * Exact: the 8-bit RGB of picture_read equals Pillow's, and so does every byte that is resized;
 * the floats equal those of the Pillow backend of transformers (docs/images.md). Pictures are
 * 8-bit RGB from here on: alpha is dropped, not blended.
 * Refused: other formats than JPEG, PNG, WebP, GIF and BMP (by name), URLs, pictures over a limit
 * of pixels (before anything is decoded), truncated files.
 * One picture is one call without state, so that threads can take a picture each. */
#ifndef IMAGE_IMAGE_H
#define IMAGE_IMAGE_H
#include "data/value.h"

typedef struct PictureLimits {
    int64_t pixels; /* width * height that a file may say it has; 0: PICTURE_PIXELS; 2^31 at most */
} PictureLimits;
#define PICTURE_PIXELS 89478485 /* where Pillow begins to warn: 256 MiB of RGB */

typedef struct Picture {
    uint8_t *rgb;       /* [height][width][3] */
    int width, height;  /* upright: as a viewer shows it, and as boxes are to be reported */
    int orientation;    /* 1 to 8, as the file says; rgb is upright already */
    const char *format; /* "JPEG", "PNG", "WebP", "GIF", "BMP" */
} Picture;

/* The file's bytes to RGB; the first picture of an animation. `limits` may be NULL. The picture
 * lives in the arena; what the decoder needs besides counts in its budget during the call.
 * Errors: EF_INVALID_INPUT (no picture, or a broken one), EF_MEDIA_TYPE (a format that is not
 * decoded), EF_TOO_LARGE (over the limit). */
bool picture_read(Arena *, Str bytes, const PictureLimits *, Picture *, Err *);
/* A picture written as text: base64, or a data URI with base64. Gives the file's bytes, which
 * picture_read has to judge. A URL or a path is an error that says so. */
bool picture_from_text(Arena *, Str text, Str *bytes, Err *);
/* "JPEG, PNG, WebP, GIF or BMP": what this program decodes, for messages and docs. */
const char *picture_formats(void);

/* Appends a PNG file of one channel: [height][width]. */
void png_write_grey(Arena *scratch, Buf *, const uint8_t *grey, int width, int height);

/* The numbers are Pillow's, which preprocessor_config.json uses. */
typedef enum {
    RESAMPLE_NEAREST, RESAMPLE_LANCZOS, RESAMPLE_BILINEAR, RESAMPLE_BICUBIC, RESAMPLE_BOX,
    RESAMPLE_HAMMING
} Resample;
typedef enum { ROUND_PILLOW, ROUND_TORCHVISION } ResizeRounding;
typedef struct ResizeWindow { /* part of the resized picture; zeros where it reaches outside */
    int left, top, width, height;
} ResizeWindow;
typedef struct Resizing {
    int width, height; /* of the whole resized picture */
    Resample resample;
    ResizeRounding rounding;
    ResizeWindow window;
} Resizing;
/* out: [window.height][window.width][3]. */
void picture_resize(Arena *scratch, const Picture *from, const Resizing *, uint8_t *out);

typedef enum {
    SIZE_KEEP,     /* no resizing */
    SIZE_EXACT,    /* height x width */
    SIZE_SHORTEST, /* the shorter edge; the other in proportion */
    SIZE_BETWEEN,  /* the same, but the longer edge is at most `longest` */
    SIZE_WITHIN    /* as large as fits into height x width, in proportion */
} SizeRule;

typedef struct ImageProcessor { /* what preprocessor_config.json says, with its class's defaults */
    const char *name;        /* of the class: "ViTImageProcessor" */
    SizeRule size;
    int height, width;       /* SIZE_EXACT, SIZE_WITHIN */
    int shortest, longest;   /* SIZE_SHORTEST, SIZE_BETWEEN */
    int multiple;            /* edges are rounded down to a multiple of it (YOLOS: 16); else 1 */
    Resample resample;
    bool crop;               /* the middle, crop_height x crop_width; zeros where that is larger */
    int crop_height, crop_width;
    bool rescale, normalize;
    double rescale_factor;
    float mean[3], std[3];
    int pad_height, pad_width; /* zeros at the right and the bottom up to this; 0: none */
    bool pixel_mask;         /* the model is to be told which pixels are picture: PixelTensor */
    bool torchvision;        /* compute as torchvision does; the default is Pillow's way */
} ImageProcessor;

/* The files of a model's folder, parsed; each may be NULL. processor_config.json wins where it has
 * an image_processor; config.json tells the class where none of them does. */
typedef struct ImageConfigs {
    const Value *preprocessor, *processor, *config;
} ImageConfigs;
/* Errors: EF_BAD_MODEL (a value that makes no sense), EF_UNSUPPORTED (a class that is not here). */
bool image_processor_open(const ImageConfigs *, ImageProcessor *, Err *);
/* Whether all pictures become tensors of one size, and which; false: 0 and 0. */
bool image_fixed_size(const ImageProcessor *, int *height, int *width);

typedef struct PixelTensor {
    float *values;                    /* [3][height][width]: pixel_values */
    int height, width;
    int live_height, live_width;      /* pixel_mask is 1 in this corner, 0 in what was padded */
    int picture_height, picture_width; /* before resizing: what boxes and masks are scaled to */
} PixelTensor;
/* One picture alone. Errors: EF_INVALID_INPUT (an edge would be 0 pixels), EF_TOO_LARGE. */
bool image_prepare(Arena *, const ImageProcessor *, const Picture *, PixelTensor *, Err *);
/* The same before rescaling: bytes [height][width][3], without padding. For tests and tools. */
bool image_prepare_bytes(Arena *, const ImageProcessor *, const Picture *, Picture *out, Err *);

#endif
