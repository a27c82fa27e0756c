/* SPDX-License-Identifier: Apache-2.0
 * choices.c - a prompt with choices: how they are written, and the rows that they become, one for each
 * choice beside the prompt. */
#include "items.h"

const Field item_choice_keys[] = {
    { "prompt", 1, F_STR, .required = true, .help = "what the choices go on from, or answer" },
    { "choices", 2, F_STR, .repeated = true, .required = true },
    { 0 },
};
const ItemForm item_choices = {
    .keys = item_choice_keys,
    .part = { ITEM_FIRST, ITEM_LIST },
    .object = true,
    .one = "an object with prompt and choices",
    .all = "an object with prompt and choices, or a list of such objects",
};

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
