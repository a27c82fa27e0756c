/* SPDX-License-Identifier: Apache-2.0
 * samples.c - texts to try a model with: those of its task's row. */
#include "parts.h"

#define MASK "{mask}"

const TaskSample part_samples[] = {
    { NULL, { "A man is eating food.", "Someone has a meal.",
              "The central bank raised interest rates." } },
};

const TaskSample part_picture_samples[] = {
    { NULL, { "picture.jpg" } },
};

const TaskSample part_sound_samples[] = {
    { NULL, { "sound.wav" } },
};

static bool has_label(const ModelConfig *config, const char *label)
{
    for (int i = 0; config && config->labels && i < config->num_labels; i++)
        if (str_is(config->labels[i], label)) return true;
    return false;
}

/* The tokenizer's mask in place of ours; p NULL: it has none. */
static Str sample_text(Arena *arena, const char *text, const Tokenizer *tokenizer)
{
    const char *gap = strstr(text, MASK), *mask = gap ? task_mask_name(tokenizer) : NULL;
    if (!gap) return str_of(text);
    if (!mask) return (Str){ 0 };
    return str_of(str_format(arena, "%.*s%s%s", (int)(gap - text), text, mask, gap + strlen(MASK)));
}

size_t task_samples(Arena *arena, const Task *task, const ModelConfig *config,
                    const Tokenizer *tokenizer, const Str **out)
{
    const TaskSample *row = task ? task->samples : part_samples;
    size_t n = 0;
    while (row->label && !has_label(config, row->label)) row++;
    Str *list = ARRAY(arena, Str, COUNT(row->text));
    for (size_t i = 0; i < COUNT(row->text) && row->text[i]; i++)
        if ((list[n] = sample_text(arena, row->text[i], tokenizer)).p) n++;
    *out = list;
    return n;
}

void task_sample_options(Arena *arena, const Task *task, TaskOptions *options)
{
    static const char *const labels[] = { "a bus", "a cat", "nothing" };
    if (!task->texts) return;
    Value *list = NEW(arena, Value);
    *list = value_list(arena, COUNT(labels));
    for (size_t i = 0; i < COUNT(labels); i++) list->list.items[i] = value_of_text(labels[i]);
    options->candidates = list;
}
