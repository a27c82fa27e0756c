/* SPDX-License-Identifier: Apache-2.0
 * text.c - texts and pairs to rows. A text is one row; with a stride, a long one becomes windows
 * that overlap. */
#include "windows.h"

enum { WORK_KEPT = 1 << 20 };

const Str *item_second(const Item *item)
{
    return item->second.p ? &item->second : NULL;
}

/* How many texts stand in `list` alone: choices. The words of a page or a text are views of `first`. */
static size_t item_listed(const Item *item)
{
    return item->list && !item->boxes && !item->cut ? item->n : 0;
}

size_t item_bytes(const Item *item)
{
    size_t bytes = item->first.n + item->second.n + item->picture.n + item_sound_bytes(item);
    for (size_t i = 0; i < item_listed(item); i++) bytes += item->list[i].n;
    return bytes;
}

size_t item_characters(const Item *item)
{
    size_t n = utf8_length(item->first) + utf8_length(item->second);
    for (size_t i = 0; i < item_listed(item); i++) n += utf8_length(item->list[i]);
    return n;
}

/* ---- encoding ---- */
EncodeOptions prepare_how(const PrepareCall *call)
{
    const InputOptions *o = call->options;
    EncodeOptions how = call->model->encode;
    how.work = call->work; /* apart from the row, which may wait long: it is many times the text */
    how.no_special |= o->no_special;
    how.truncate_left |= o->left;
    if (o->cut) how.strategy = o->cut;
    if (o->most && (!how.max_length || o->most < how.max_length)) how.max_length = o->most;
    if (o->whole || o->uncut) how.max_length = 0;
    return how;
}

/* The tokenizer does not cut to less than its special tokens. */
static bool check_whole(const PrepareCall *call, const Encoding *e, Err *err)
{
    const InputOptions *o = call->options;
    int most = call->model->encode.max_length;
    if ((!o->whole && !o->most) || most <= 0 || e->n <= (size_t)most) return true;
    return fail(err, EF_INVALID_INPUT, "found %zu tokens, wanted at most %d", e->n, most);
}

static bool encoded(const PrepareCall *call, Encoding *e, bool ok, Err *err)
{
    arena_reset(call->work, WORK_KEPT); /* an item may have thousands of rows, each with a long text */
    if (!ok) return within(err, "Error during tokenization");
    if (!check_whole(call, e, err)) return false;
    if (call->model->flat_types) memset(e->type_ids, 0, e->n * sizeof *e->type_ids);
    return true;
}

bool prepare_encode(const PrepareCall *call, Str first, const Str *second,
                    const EncodeOptions *how, Encoding *out, Err *err)
{
    const InputModel *m = call->model;
    return encoded(call, out, tokenizer_encode(m->tokenizer, call->arena, first, second, how, out, err),
                   err);
}

bool prepare_words(const PrepareCall *call, Words words, const EncodeOptions *how, Encoding *out, Err *err)
{
    const Tokenizer *t = call->model->tokenizer;
    return encoded(call, out, tokenizer_encode_words(t, call->arena, words, NULL, how, out, err), err);
}

/* ---- texts ---- */
static bool prepare_text_windows(const PrepareCall *call, const Item *item, PreparedRows *out, Err *err)
{
    WindowOptions cut = windows_options(call);
    Windows windows;
    if (!windows_of_text(call->model->tokenizer, call->arena, item->first, &cut, &windows, err))
        return within(err, "Error during tokenization");
    windows_to_rows(call, &windows, false, out);
    return true;
}

/* A text that came as words. */
static bool prepare_cut_rows(const PrepareCall *call, const Item *item, PreparedRows *out, Err *err)
{
    const Words words = { item->list, item->n };
    const EncodeOptions how = prepare_how(call);
    const WindowOptions cut = windows_options(call);
    Windows windows;
    out->n = 1;
    if (windows_wanted(call)) {
        if (!windows_of_words(call->model->tokenizer, call->arena, words, &cut, &windows, err))
            return within(err, "Error during tokenization");
        windows_to_rows(call, &windows, false, out);
    } else if (!prepare_words(call, words, &how, &out->row->encoding, err)) {
        return false;
    }
    for (size_t i = 0; i < out->n; i++) item_place_tokens(item, &out->row[i].encoding);
    return true;
}

static bool prepare_text_rows(const PrepareCall *call, const Item *item, PreparedRows *out, Err *err)
{
    EncodeOptions how = prepare_how(call);
    how.no_special |= item->plain;
    if (item->cut) return prepare_cut_rows(call, item, out, err);
    if (windows_wanted(call) && !item_second(item)) return prepare_text_windows(call, item, out, err);
    out->n = 1;
    return prepare_encode(call, item->first, item_second(item), &how, &out->row->encoding, err);
}

const Preparer prepare_text = { "text", prepare_text_rows };
