/* SPDX-License-Identifier: Apache-2.0
 * task.c - the tasks a text encoder can be exported for. */
#include "export/task.h"

#include "task/task.h"

static const ExportTask tasks[] = {
    { "feature-extraction", HEAD_NONE, "Model", { "sentence-similarity" } },
    { "fill-mask", HEAD_MASKED, "ForMaskedLM", { "sparse-embedding" } },
    { "text-classification", HEAD_SEQUENCE, "ForSequenceClassification",
      { "zero-shot-classification", "text-ranking" } },
    { "token-classification", HEAD_TOKEN, "ForTokenClassification" },
    { "multiple-choice", HEAD_CHOICE, "ForMultipleChoice" },
    { "question-answering", HEAD_ANSWER, "ForQuestionAnswering", { "document-question-answering" } },
};

static bool export_task_is(const ExportTask *t, const char *name)
{
    if (strcmp(t->name, name) == 0) return true;
    for (size_t i = 0; i < COUNT(t->also) && t->also[i]; i++)
        if (strcmp(t->also[i], name) == 0) return true;
    return false;
}

static bool export_task_unknown(const char *name, Err *err)
{
    char near[TASK_NAME_ROOM];
    if (!task_name(str_of(name)) && task_name_near(str_of(name), near))
        return fail(err, EF_USAGE, "task: found \"%s\": did you mean %s?", name, near);
    return fail(err, EF_USAGE, "task: found \"%s\", wanted auto, feature-extraction, fill-mask, "
                "text-classification, token-classification, question-answering or "
                "multiple-choice", name);
}

bool export_task(const char *name, const Value *config, const ExportTask **out, Err *err)
{
    const Value *list = value_get(config, "architectures");
    bool automatic = !name || strcmp(name, "auto") == 0;
    Str class_name = { 0 };
    const TaskName *row = automatic ? NULL : task_name(str_of(name));
    if (list && list->kind == V_LIST && list->list.n)
        class_name = value_str(&list->list.items[0], class_name);
    *out = &tasks[0];
    for (size_t i = 0; i < COUNT(tasks); i++) {
        bool fits = automatic ? i && str_ends(class_name, tasks[i].suffix)
                              : row && export_task_is(&tasks[i], row->name);
        if (fits) return *out = &tasks[i], true;
    }
    if (automatic && str_is(class_name, "BertForPreTraining")) *out = &tasks[1];
    return automatic || export_task_unknown(name, err);
}
