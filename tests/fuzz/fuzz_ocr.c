/* SPDX-License-Identifier: Apache-2.0
 * fuzz_ocr.c - tables of Tesseract: whatever it writes, a page has words with boxes inside of it, or there is
 * an error. */
#include "input/ocr.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    Arena arena = { 0 };
    Err err = { 0 };
    Item page = { 0 };
    char *copy = memcpy(arena_raw(&arena, size + 1), data, size); /* ends where the input does */
    if (ocr_table(&arena, (Str){ copy, size }, 640, 480, &page, &err)) {
        if (page.n > PAGE_WORDS_MOST || !page.boxes || !item_check_boxes(&page, &err)) __builtin_trap();
        for (size_t i = 0; i < page.n; i++)
            if (page.list[i].n == 0 || !utf8_valid(page.list[i])) __builtin_trap();
    } else if (!err.code || !utf8_valid(str_of(err.message))) {
        __builtin_trap();
    }
    arena_free(&arena);
    return 0;
}
