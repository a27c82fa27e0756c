/* SPDX-License-Identifier: Apache-2.0
 * orient.c - which way up a picture is: tag 0x0112 in the EXIF block of its file, else
 * tiff:Orientation in its XMP, as Pillow looks for them. A block that makes no sense says
 * nothing. */
#include "decode.h"

enum { ORIENTATION = 0x0112, UPRIGHT = 1 };

typedef struct Exif { /* a TIFF file inside of the picture's */
    const uint8_t *p;
    size_t n;
    bool big;         /* endian */
} Exif;

static uint32_t exif_16(const Exif *e, size_t at)
{
    if (at + 2 > e->n) return 0;
    return e->big ? be16(e->p + at) : le16(e->p + at);
}

static uint32_t exif_32(const Exif *e, size_t at)
{
    if (at + 4 > e->n) return 0;
    return e->big ? be32(e->p + at) : le32(e->p + at);
}

/* A single whole number counts, in two or in four bytes. 0: no orientation. */
static int exif_value(const Exif *e, size_t entry)
{
    enum { SHORT = 3, LONG = 4, SIGNED_SHORT = 8, SIGNED_LONG = 9 };
    uint32_t type = exif_16(e, entry + 2);
    if (exif_32(e, entry + 4) != 1) return 0;
    uint32_t value = type == SHORT || type == SIGNED_SHORT ? exif_16(e, entry + 8)
                     : type == LONG || type == SIGNED_LONG ? exif_32(e, entry + 8)
                                                           : 0;
    return value <= 8 ? (int)value : 0;
}

static int exif_orientation(Str block)
{
    for (int i = 0; i < 2 && block.n >= 6 && memcmp(block.p, "Exif\0", 6) == 0; i++)
        block.p += 6, block.n -= 6;
    Exif e = { (const uint8_t *)block.p, block.n, block.n && block.p[0] == 'M' };
    if (block.n < 14 || (memcmp(block.p, "II", 2) && memcmp(block.p, "MM", 2))) return 0;
    size_t at = exif_32(&e, 4), count = exif_16(&e, at);
    int found = 0;
    for (size_t i = 0; i < count && at + 2 + 12 * (i + 1) <= e.n; i++) {
        size_t entry = at + 2 + 12 * i;
        if (exif_16(&e, entry) == ORIENTATION) found = exif_value(&e, entry);
    }
    return found;
}

static int xmp_orientation(Str xmp)
{
    static const char tag[] = "tiff:Orientation";
    const char *end = xmp.p + xmp.n;
    for (const char *p = xmp.p; p && (p = memmem(p, (size_t)(end - p), tag, strlen(tag)));) {
        p += strlen(tag);
        const char *digit = end - p >= 2 && p[0] == '>'                   ? p + 1
                            : end - p >= 3 && p[0] == '=' && p[1] == '"' ? p + 2
                                                                          : end;
        if (digit < end && *digit >= '0' && *digit <= '9') return *digit - '0';
    }
    return 0;
}

/* What a file says, while its parts are walked through. */
typedef struct Said {
    int exif, xmp;
} Said;

static int said_orientation(Said s)
{
    int found = s.exif ? s.exif : s.xmp;
    return found >= 1 && found <= 8 ? found : UPRIGHT;
}

/* Segments up to the first scan; what stands between them is skipped, as libjpeg does. */
int picture_orientation_jpeg(Str file)
{
    enum { APP1 = 0xe1, SOS = 0xda, EOI = 0xd9, SOI = 0xd8, RST0 = 0xd0, TEM = 0x01 };
    static const char xap[] = "http://ns.adobe.com/xap/1.0/";
    const uint8_t *p = (const uint8_t *)file.p;
    Said said = { 0 };
    for (size_t at = 2; at + 4 <= file.n;) {
        uint8_t marker = p[at + 1];
        if (p[at] != 0xff || marker == 0xff || marker == 0) {
            at++;
            continue;
        }
        if (marker == SOS || marker == EOI) break;
        if (marker == TEM || (marker >= RST0 && marker <= SOI)) {
            at += 2;
            continue;
        }
        size_t length = be16(p + at + 2);
        if (length < 2 || at + 2 + length > file.n) break;
        Str body = { file.p + at + 4, length - 2 };
        if (marker == APP1 && !said.exif && body.n > 6 && memcmp(body.p, "Exif\0", 6) == 0)
            said.exif = exif_orientation(body);
        if (marker == APP1 && body.n > sizeof xap && memcmp(body.p, xap, sizeof xap) == 0)
            said.xmp = xmp_orientation((Str){ body.p + sizeof xap, body.n - sizeof xap });
        at += 2 + length;
    }
    return said_orientation(said);
}

/* Only XMP that is not compressed: what writes it leaves it readable, as its specification asks. */
static int png_text_orientation(Str body)
{
    static const char key[] = "XML:com.adobe.xmp";
    if (body.n < sizeof key + 2 || memcmp(body.p, key, sizeof key) != 0) return 0;
    return body.p[sizeof key] == 0 ? xmp_orientation(body) : 0;
}

int picture_orientation_png(Str file)
{
    const uint8_t *p = (const uint8_t *)file.p;
    Said said = { 0 };
    for (size_t at = 8; at + 12 <= file.n;) {
        size_t length = be32(p + at);
        if (length > file.n - at - 12) break;
        Str body = { file.p + at + 8, length };
        if (memcmp(p + at + 4, "eXIf", 4) == 0) said.exif = exif_orientation(body);
        if (memcmp(p + at + 4, "iTXt", 4) == 0)
            said.xmp = MAX(said.xmp, png_text_orientation(body));
        at += 12 + length;
    }
    return said_orientation(said);
}

int picture_orientation_webp(Str file)
{
    const uint8_t *p = (const uint8_t *)file.p;
    Said said = { 0 };
    for (size_t at = 12; at + 8 <= file.n;) {
        size_t length = le32(p + at + 4);
        if (length > file.n - at - 8) break;
        Str body = { file.p + at + 8, length };
        if (memcmp(p + at, "EXIF", 4) == 0 && !said.exif) said.exif = exif_orientation(body);
        if (memcmp(p + at, "XMP ", 4) == 0 && !said.xmp) said.xmp = xmp_orientation(body);
        at += 8 + length + (length & 1);
    }
    return said_orientation(said);
}

/* Where the pixel (x, y) of the upright picture comes from. */
static const struct Turn {
    bool swap, flip_x, flip_y; /* first x and y change places; flips count in the file's picture */
} turns[9] = {
    [2] = { false, true, false }, [3] = { false, true, true }, [4] = { false, false, true },
    [5] = { true, false, false }, [6] = { true, false, true }, [7] = { true, true, true },
    [8] = { true, true, false },
};

bool picture_turn(PictureJob *job, Err *err)
{
    Picture *p = job->picture, from = *p;
    struct Turn turn = turns[p->orientation];
    if (turn.swap) p->width = from.height, p->height = from.width;
    if (!(p->rgb = picture_bytes(job->arena, p, err))) return false;
    ptrdiff_t right = turn.flip_x ? -3 : 3; /* steps in the file's picture */
    ptrdiff_t down = (ptrdiff_t)from.width * (turn.flip_y ? -3 : 3);
    const uint8_t *row = from.rgb + (turn.flip_x ? (ptrdiff_t)(from.width - 1) * 3 : 0) +
                         (turn.flip_y ? (ptrdiff_t)(from.height - 1) * from.width * 3 : 0);
    uint8_t *to = p->rgb;
    for (int y = 0; y < p->height; y++, row += turn.swap ? right : down) {
        const uint8_t *pixel = row;
        for (int x = 0; x < p->width; x++, to += 3, pixel += turn.swap ? down : right)
            to[0] = pixel[0], to[1] = pixel[1], to[2] = pixel[2];
    }
    return true;
}
