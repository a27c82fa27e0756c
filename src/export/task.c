/* SPDX-License-Identifier: Apache-2.0
 * task.c - the tasks a text encoder can be exported for. */
#include "export/task.h"

static const ExportTask tasks[] = {
    { "feature-extraction", HEAD_NONE, "Model",
      { "embedding", "embeddings", "default", "sentence-similarity", "sentence-embedding" } },
    { "fill-mask", HEAD_MASKED, "ForMaskedLM", { "masked-lm", "masked-language-modeling", "mlm" } },
    { "text-classification", HEAD_SEQUENCE, "ForSequenceClassification",
      { "sequence-classification", "sentiment-analysis", "zero-shot-classification",
        "text-ranking", "sequence_classification" } },
    { "token-classification", HEAD_TOKEN, "ForTokenClassification",
      { "ner", "named-entity-recognition", "token_classification" } },
    { "multiple-choice", HEAD_CHOICE, "ForMultipleChoice", { "multiple_choice" } },
    { "question-answering", HEAD_ANSWER, "ForQuestionAnswering",
      { "qa", "extractive-qa", "document-question-answering" } },
};

static bool is_called(const ExportTask *t, const char *name)
{
    if (strcmp(t->name, name) == 0) return true;
    for (size_t i = 0; i < COUNT(t->synonyms) && t->synonyms[i]; i++)
        if (strcmp(t->synonyms[i], name) == 0) return true;
    return false;
}

static bool unknown(const char *name, Err *err)
{
    const char *names[COUNT(tasks)];
    for (size_t i = 0; i < COUNT(tasks); i++) names[i] = tasks[i].name;
    const char *near = str_nearest(str_of(name), names, COUNT(names));
    if (near)
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
    if (list && list->kind == V_LIST && list->list.n)
        class_name = value_str(&list->list.items[0], class_name);
    *out = &tasks[0];
    for (size_t i = 0; i < COUNT(tasks); i++) {
        bool fits = automatic ? i && str_ends(class_name, tasks[i].suffix)
                              : is_called(&tasks[i], name);
        if (fits) return *out = &tasks[i], true;
    }
    if (automatic && str_is(class_name, "BertForPreTraining")) *out = &tasks[1];
    return automatic || unknown(name, err);
}
