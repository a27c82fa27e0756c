/* SPDX-License-Identifier: Apache-2.0
 * named.c - models by their name on the Hub: wherever a command takes a model, the path of the
 * files in the cache takes the name's place before the command runs. */
#include "cli/cli.h"
#include "hub/hub.h"

static bool named_replace(Args *a, HubUse use, const char **value, Err *err)
{
    const char *typed = *value;
    if (!typed || hub_path(&a->arena, hub_name(&a->arena, typed), use, value, err)) return true;
    if (!hub_is_name(typed) && (err->code == EF_NOT_FOUND || err->code == EF_UNAVAILABLE))
        fail(err, err->code, "%s; nor is there such a file or folder here",
             str_dup(&a->arena, str_of(err->message)));
    return false;
}

bool named_resolve(Args *a, Err *err)
{
    int word = a->command->model_word;
    for (int i = 0; i < a->n_given; i++) {
        const char *name = a->given[i].option->name;
        bool model = strcmp(name, "model") == 0, tokenizer = strcmp(name, "tokenizer") == 0;
        if ((model || tokenizer) &&
            !named_replace(a, model ? HUB_MODEL : HUB_TOKENIZER, &a->given[i].value, err))
            return false;
    }
    if (word == 0 || word > a->n_text || args_has(a, "model")) return true;
    return named_replace(a, HUB_MODEL, &a->text[word - 1], err);
}
