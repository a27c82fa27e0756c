/* SPDX-License-Identifier: Apache-2.0
 * decode.h - between decode.c and the decoders. A decoder fills a Picture as it lies in the file;
 * decode.c turns it upright. */
#ifndef IMAGE_DECODE_H
#define IMAGE_DECODE_H
#include "base/bytes.h"
#include "image.h"

typedef struct PictureJob {
    Arena *arena;          /* the picture's */
    Arena *scratch;        /* ends with the call */
    Str bytes;             /* the whole file */
    int64_t pixels;        /* the limit */
    Picture *picture;
} PictureJob;

typedef bool PictureReadFn(PictureJob *, Err *);
PictureReadFn picture_read_jpeg, picture_read_png, picture_read_webp, picture_read_gif,
    picture_read_bmp;

/* Checks the size that the file's header says, and makes room for rgb. */
bool picture_room(PictureJob *, int64_t width, int64_t height, Err *);
/* Room for its width and height; NULL: no memory. */
void *picture_bytes(Arena *, const Picture *, Err *);
bool picture_truncated(const PictureJob *, Err *); /* always false */
/* Memory that a foreign library takes from the heap: counted in the arena's budget between these.
 * The library must be closed when picture_hold is called: out of budget, the call is abandoned
 * there. */
void picture_hold(PictureJob *, size_t bytes);
void picture_release(PictureJob *, size_t bytes);

/* What an index or a grey value of 8 bits looks like. */
typedef struct Colours {
    uint8_t rgb[256][3];
} Colours;
void colours_grey(Colours *); /* each as bright as its number */
/* A palette of RGB. Indices beyond it are black; if all of it is grey as above, they are grey
 * too. */
void colours_set(Colours *, const uint8_t *rgb, size_t count);
void colours_put(const Colours *, const uint8_t *index, int n, uint8_t *rgb);

/* The orientation in the file's metadata: EXIF first, else XMP; 1 if there is none. */
int picture_orientation_jpeg(Str file);
int picture_orientation_png(Str file);
int picture_orientation_webp(Str file);
/* Turns the picture as its orientation (2 to 8) says. */
bool picture_turn(PictureJob *, Err *);

#endif
