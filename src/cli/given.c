/* SPDX-License-Identifier: Apache-2.0
 * given.c - see given.h. */
#include "cli/given.h"

#include <unistd.h>

#include "base/child.h"
#include "input/ocr.h"

static void given_keep(GivenItems *in, Item item)
{
    if (in->n == in->room) {
        Item *more = ARRAY(in->arena, Item, in->room * 2 + 16);
        if (in->n) memcpy(more, in->item, in->n * sizeof *more);
        in->item = more;
        in->room = in->room * 2 + 16;
    }
    in->item[in->n++] = item;
}

static Str question_of(const GivenItems *in)
{
    const char *question = args_value(in->a, "question");
    return question ? str_of(question) : (Str){ 0 };
}

static bool read_stream(GivenItems *in, const char *path, Err *err)
{
    Records records;
    Record r;
    bool more = true, ok = true;
    const RecordsHow how = { .form = args_value(in->a, "input-format"), .field = args_value(in->a, "field"),
                             .keep = "" };
    if (!records_open(&records, path, in->form, &how, err)) return false;
    records.names.question = question_of(in);
    while (ok && more) {
        ok = records_next(&records, in->arena, &r, &more, err);
        if (ok && more && r.err.code != EF_OK) {
            *err = r.err;
            ok = within(err, "%s", records.lines.name);
        }
        if (ok && more && !r.nothing) given_keep(in, r.item);
    }
    records_close(&records);
    return ok;
}

static bool read_context(GivenItems *in, const char *path, Err *err)
{
    enum { MOST = 256 << 20 };
    Item item = { .first = question_of(in) };
    if (!file_read(in->arena, path, MOST, &item.second, err)) return false;
    if (!utf8_valid(item.second)) return fail(err, EF_INVALID_INPUT, "%s: is not valid UTF-8", path);
    given_keep(in, item);
    return true;
}

static bool read_files(GivenItems *in, Err *err)
{
    for (int i = 0; i < in->a->n_text; i++) {
        Item item = { 0 };
        const char *text = in->a->text[i];
        bool page = item_form_has(in->form, ITEM_BOXES);
        if (page && !file_is(text))
            return fail(err, EF_INVALID_INPUT, "found a text, wanted %s; or the path of a page's picture: "
                        "\"%.60s\" is none", in->form->one, text);
        if (!item_open_file(in->arena, in->form, str_of(text), &item, err)) return false;
        if (page) item.second = question_of(in);
        given_keep(in, item);
    }
    return true;
}

/* As many an item as the task needs; with a question, each is a context of it. */
static bool read_line(GivenItems *in, Err *err)
{
    Args *a = in->a;
    Str *text = ARRAY(in->arena, Str, a->n_text + 1);
    Items items;
    if (item_form_file(in->form)) return read_files(in, err);
    for (int i = 0; i < a->n_text; i++) {
        text[i] = str_of(a->text[i]);
        if (!utf8_valid(text[i]))
            return fail(err, EF_INVALID_INPUT, "text %d is not valid UTF-8", i + 1);
        if (question_of(in).p) given_keep(in, (Item){ .first = question_of(in), .second = text[i] });
    }
    if (question_of(in).p) return true;
    if (!items_of_texts(in->arena, in->form, text, (size_t)a->n_text, &items, err)) return false;
    for (size_t i = 0; i < items.n; i++) given_keep(in, items.item[i]);
    return true;
}

const char *given_ocr(Args *a, const Model *model)
{
    return model_reads_boxes(model) ? child_find(&a->arena, OCR_PROGRAM) : NULL;
}

bool given_items(GivenItems *in, Err *err)
{
    Args *a = in->a;
    const char *path = args_value(a, "input"), *context = args_value(a, "context-file");
    if (!read_line(in, err)) return false;
    if (context && !read_context(in, context, err)) return false;
    if (!path && in->n == 0 && !isatty(STDIN_FILENO)) path = "-";
    const char *unused = args_has(a, "field") ? "field" : "input-format";
    if (!path && args_has(a, unused))
        return fail(err, EF_USAGE, "--%s has no effect on the texts of the line: wanted --input "
                    "FILE", unused);
    if (path && !read_stream(in, path, err)) return false;
    const ItemFile *file = item_form_file(in->form);
    return in->n || fail(err, EF_USAGE, "%s: wanted at least one %s", a->command->name,
                         file ? file->noun : "text");
}
