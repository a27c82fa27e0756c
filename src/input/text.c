/* SPDX-License-Identifier: Apache-2.0
 * text.c - texts and pairs to rows. A text is one row; with a stride, a long one becomes windows
 * that overlap. */
#include "input.h"

enum { WORK_KEPT = 1 << 20 };

const Str *item_second(const Item *item)
{
    return item->second.p ? &item->second : NULL;
}

size_t item_bytes(const Item *item)
{
    size_t bytes = item->first.n + item->second.n;
    for (size_t i = 0; item->list && i < item->n; i++) bytes += item->list[i].n;
    return bytes;
}

size_t item_characters(const Item *item)
{
    size_t n = utf8_length(item->first) + utf8_length(item->second);
    for (size_t i = 0; item->list && i < item->n; i++) n += utf8_length(item->list[i]);
    return n;
}

/* ---- encoding ---- */
EncodeOptions prepare_how(const PrepareCall *call)
{
    const InputOptions *o = call->options;
    EncodeOptions how = call->model->encode;
    how.work = call->work; /* many times the text, and all that is cut off: a row may wait long */
    how.no_special |= o->no_special;
    how.truncate_left |= o->left;
    if (o->whole || o->uncut) how.max_length = 0;
    return how;
}

static bool check_whole(const PrepareCall *call, const Encoding *e, Err *err)
{
    int most = call->model->encode.max_length;
    if (!call->options->whole || most <= 0 || e->n <= (size_t)most) return true;
    return fail(err, EF_INVALID_INPUT, "found %zu tokens, wanted at most %d", e->n, most);
}

bool prepare_encode(const PrepareCall *call, Str first, const Str *second,
                    const EncodeOptions *how, Encoding *out, Err *err)
{
    const InputModel *m = call->model;
    bool ok = tokenizer_encode(m->tokenizer, call->arena, first, second, how, out, err);
    arena_reset(call->work, WORK_KEPT); /* an item may have thousands of rows, each with a long text */
    if (!ok) return within(err, "Error during tokenization");
    if (!check_whole(call, out, err)) return false;
    if (m->flat_types) memset(out->type_ids, 0, out->n * sizeof *out->type_ids);
    return true;
}

/* ---- texts ---- */
static bool prepare_text_rows(const PrepareCall *call, const Item *item, PreparedRows *out, Err *err)
{
    EncodeOptions how = prepare_how(call);
    how.no_special |= item->plain;
    out->n = 1;
    return prepare_encode(call, item->first, item_second(item), &how, &out->row->encoding, err);
}

const Preparer prepare_text = { "text", prepare_text_rows };

/* ---- choices ---- */
static bool prepare_choice_rows(const PrepareCall *call, const Item *item, PreparedRows *out,
                                Err *err)
{
    EncodeOptions how = prepare_how(call);
    *out = (PreparedRows){ ARRAY(call->arena, Prepared, item->n), item->n };
    for (size_t i = 0; i < item->n; i++)
        if (!prepare_encode(call, item->first, &item->list[i], &how, &out->row[i].encoding, err))
            return within(err, "choice %zu", i);
    return true;
}

const Preparer prepare_choices = { "choices", prepare_choice_rows };
