/* SPDX-License-Identifier: Apache-2.0
 * task.c - the list of tasks, and what is the same for all of them: the reply around the
 * results. A new task is a file and a line here. */
#include "task.h"

#include "parts.h"

#define TASKS(TASK)                                                                               \
    TASK(embedding)                                                                               \
    TASK(sentence_embedding)                                                                      \
    TASK(sequence_classification)                                                                 \
    TASK(token_classification)                                                                    \
    TASK(fill_mask)                                                                               \
    TASK(sparse_embedding)                                                                        \
    TASK(question_answering)                                                                      \
    TASK(document_question_answering)                                                             \
    TASK(multiple_choice)                                                                         \
    TASK(image_classification)                                                                    \
    TASK(object_detection)                                                                        \
    TASK(image_segmentation)                                                                      \
    TASK(image_embedding)                                                                         \
    TASK(zero_shot_image_classification)                                                          \
    TASK(audio_classification)                                                                    \
    TASK(automatic_speech_recognition)                                                            \
    TASK(audio_embedding)                                                                         \
    TASK(voice_activity_detection)

#define DECLARE(name) extern const Task task_##name;
#define LIST(name) &task_##name,
TASKS(DECLARE)
static const Task *const tasks[] = { TASKS(LIST) };

const Task *task_find(Str name)
{
    const TaskName *row = task_name(name);
    return row ? task_of_name(row) : NULL;
}

const Task *task_by_number(int number)
{
    for (size_t i = 0; i < COUNT(tasks); i++)
        if (tasks[i]->number == number) return tasks[i];
    return NULL;
}

const Task *const *task_all(size_t *count)
{
    *count = COUNT(tasks);
    return tasks;
}

const Task *task_that_can(TaskCan any)
{
    for (size_t i = 0; i < COUNT(tasks); i++)
        if (tasks[i]->can & any) return tasks[i];
    return NULL;
}

bool task_can(const Task *task, const ModelConfig *config, TaskCan any)
{
    TaskCan all = task->can | (config && config->num_labels == 1 ? task->can_of_one : 0);
    bool sees = item_form_needs(task->items, ITEM_PICTURE), hears = item_form_has(task->items, ITEM_SOUND);
    all |= (sees ? CAN_SEE : hears ? CAN_HEAR : CAN_READ) | (task->text_output ? CAN_READ : 0);
    return all & any;
}

static bool table_fits(const TaskTable *t, const Task *task, const ModelConfig *config, const TaskOptions *options)
{
    return (!t->of || task_can(task, config, t->of)) && (!t->when || (options && t->when(options)));
}

bool task_table(const Task *task, const ModelConfig *config, TaskTold how, TaskTable *out, Err *err)
{
    const char *name = how.name;
    Buf names = { 0 };
    const TaskTable *t = task->tables;
    for (; t && t->rows; t++) {
        if (table_fits(t, task, config, how.options) && (!name || (t->name && strcmp(name, t->name) == 0))) break;
        if (t->name) buf_printf(&names, "%s%s", names.n ? ", " : "", t->name);
    }
    bool ok = t ? t->rows != NULL : !name;
    if (ok) *out = t ? *t : (TaskTable){ .rows = task->result };
    else if (names.n)
        fail(err, EF_USAGE, "--results: found \"%s\", wanted one of %.*s", name, STR_ARG(buf_view(&names)));
    else fail(err, EF_USAGE, "--results: found a model for %s, wanted one for token_classification", task->name);
    buf_free(&names);
    return ok;
}

Value task_reply(Arena *arena, Value *results, size_t n, Str model_id, const Value *metadata)
{
    Value reply = value_map(arena, 3);
    value_add(&reply, "results", (Value){ .kind = V_LIST, .list = { results, n } });
    value_add(&reply, "model_id", value_of_str(model_id));
    if (metadata && metadata->kind != V_NULL) value_add(&reply, "metadata", *metadata);
    return reply;
}

const Field *task_reply_schema(const Task *task)
{
    return task->reply;
}
