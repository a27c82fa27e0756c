/* SPDX-License-Identifier: Apache-2.0
 * ocr.h - the words of a page and where they stand, read from its picture by Tesseract, a program of its
 * own. Words and boxes are those that transformers' processors get by pytesseract's image_to_data. */
#ifndef INPUT_OCR_H
#define INPUT_OCR_H
#include "image/image.h"
#include "input/input.h"

#define OCR_PROGRAM "tesseract"
enum { OCR_SECONDS = 60, OCR_TEXT = 4 << 20 }; /* of a page: time, bytes of its table */
#define OCR_MEMORY ((size_t)2 << 30)

/* Sets the words of the item, which may be none, and their boxes. program: its path. seconds 0: OCR_SECONDS. */
bool ocr_read(Arena *, Arena *scratch, const char *program, double seconds, const Picture *, Item *, Err *);
/* The same from what it wrote: a line of column names, then a line for each part of the page; those without
 * text are no words. width, height: of the page in pixels. */
bool ocr_table(Arena *, Str table, int width, int height, Item *, Err *);

#endif
