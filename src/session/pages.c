/* SPDX-License-Identifier: Apache-2.0
 * pages.c - the words of a page that came as a picture alone: read by the program that the session was
 * given for it. */
#include "input/ocr.h"
#include "stages.h"

/* Its words are still to be read. */
static bool page_is_unread(const Session *s, const Item *item)
{
    return item->picture.p && !item->boxes && model_reads_boxes(s->model);
}

size_t work_unread_pages(const Session *s, const Work *work)
{
    size_t n = 0;
    for (size_t i = 0; i < work->n; i++) n += page_is_unread(s, &work->item[i]);
    return n;
}

/* Each is seconds of a program's time; who limits a request's items limits these, too. */
bool pages_check(const Session *s, Work *work)
{
    enum { MOST = 16 };
    size_t n = s->options.ocr && s->options.max_inputs < SIZE_MAX ? work_unread_pages(s, work) : 0;
    if (n <= MOST) return true;
    return fail(&work->err, EF_TOO_LARGE, "%s: found %zu images without their words, wanted at most %d in a request: "
                "send more requests, or words and boxes", work->called ? work->called : "inputs", n, MOST);
}

bool page_read(const Session *s, const PrepareCall *call, Item *item, Err *err)
{
    Picture page;
    PictureLimits limits = { call->model->max_pixels };
    if (!page_is_unread(s, item)) return true;
    if (!s->options.ocr)
        return fail(err, EF_INVALID_INPUT, "found an image without its words, wanted words and boxes beside it; or "
                    "Tesseract, which reads them: install it (apt install tesseract-ocr), and let `serve` run it with "
                    "--ocr PATH");
    return (picture_read(call->work, item->picture, &limits, &page, err) || within(err, "image")) &&
           ocr_read(call->arena, call->work, s->options.ocr, s->options.ocr_seconds, &page, item, err);
}
