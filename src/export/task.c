/* SPDX-License-Identifier: Apache-2.0
 * task.c - the tasks a model can be exported for. */
#include "export/task.h"

#include "task/task.h"

static const ExportTask tasks[] = {
    { "feature-extraction", HEAD_NONE, "Model", { "sentence-similarity", "image-feature-extraction" } },
    { "fill-mask", HEAD_MASKED, "ForMaskedLM", { "sparse-embedding" } },
    { "text-classification", HEAD_SEQUENCE, "ForSequenceClassification",
      { "zero-shot-classification", "text-ranking" } },
    { "token-classification", HEAD_TOKEN, "ForTokenClassification" },
    { "multiple-choice", HEAD_CHOICE, "ForMultipleChoice" },
    { "question-answering", HEAD_ANSWER, "ForQuestionAnswering", { "document-question-answering" } },
    { "image-classification", HEAD_IMAGE, "ForImageClassification" },
    { "image-classification", HEAD_TEACHER, "ForImageClassificationWithTeacher" },
    { "object-detection", HEAD_DETECT, "ForObjectDetection" },
    { "image-segmentation", HEAD_SEGMENT, "ForSemanticSegmentation" },
    { "image-segmentation", HEAD_PANOPTIC, "ForSegmentation" },
    { "zero-shot-image-classification", HEAD_TOWERS, "Model", { "feature-extraction", "image-feature-extraction" } },
    { "audio-classification", HEAD_SOUND, "ForAudioClassification" },
    { "audio-classification", HEAD_SPEECH, "ForSequenceClassification" },
    { "automatic-speech-recognition", HEAD_LETTERS, "ForCTC" },
    { "audio-frame-classification", HEAD_FRAMES, "ForAudioFrameClassification" },
    { "audio-xvector", HEAD_VOICE, "ForXVector" },
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
                "text-classification, token-classification, question-answering, "
                "multiple-choice, image-classification, object-detection, image-segmentation, "
                "zero-shot-image-classification, audio-classification, "
                "automatic-speech-recognition, audio-frame-classification or audio-xvector", name);
}

/* By the class: "BertModel" has no head, "CLIPModel" has two towers, and ForSequenceClassification
 * may read or listen. A head that the family has goes before one that it lacks. */
static const ExportTask *export_task_of_class(Str class_name, const Arch *arch)
{
    const ExportTask *lacking = str_is(class_name, "BertForPreTraining") ? &tasks[1] : &tasks[0];
    for (size_t i = COUNT(tasks) - 1; i > 0; i--) {
        if (!str_ends(class_name, tasks[i].suffix)) continue;
        if (arch->steps[tasks[i].head]) return &tasks[i];
        if (tasks[i].head != HEAD_TOWERS) lacking = &tasks[i];
    }
    return lacking;
}

/* The same for the name of a task. */
static const ExportTask *export_task_of_name(const char *name, const Arch *arch)
{
    const ExportTask *lacking = NULL;
    for (size_t i = COUNT(tasks); i-- > 0;) {
        if (!export_task_is(&tasks[i], name)) continue;
        if (arch->steps[tasks[i].head]) return &tasks[i];
        lacking = &tasks[i];
    }
    return lacking;
}

bool export_task(const char *name, const Arch *arch, const Value *config, const ExportTask **out,
                 Err *err)
{
    const Value *list = value_get(config, "architectures");
    Str class_name = { 0 };
    if (list && list->kind == V_LIST && list->list.n)
        class_name = value_str(&list->list.items[0], class_name);
    *out = export_task_of_class(class_name, arch);
    if (!name || strcmp(name, "auto") == 0) return true;
    const TaskName *row = task_name(str_of(name));
    if (row && export_task_is(*out, row->name)) return true; /* two classes may have one task */
    *out = row ? export_task_of_name(row->name, arch) : NULL;
    return *out || export_task_unknown(name, err);
}
