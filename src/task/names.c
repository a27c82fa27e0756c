/* SPDX-License-Identifier: Apache-2.0
 * names.c - what tasks are called: by Hugging Face's pipelines, by Optimum (now and before), by the
 * peer and by ourselves. Whatever takes the name of a task reads this table. */
#include "task.h"

#define IMAGES "images"
#define AUDIO "audio"
static const TaskName names[] = {
    { "feature-extraction", "embedding",
      { "embedding", "embeddings", "token-embedding", "token-embeddings", "default" } },
    { "sentence-similarity", "sentence_embedding",
      { "sentence-embedding", "sentence-embeddings", "text-embedding", "text-embeddings" } },
    { "sparse-embedding", "sparse_embedding", { "sparse-embeddings", "splade" } },
    { "text-classification", "sequence_classification",
      { "sequence-classification", "sentiment-analysis" } },
    { "zero-shot-classification", "sequence_classification" },
    { "text-ranking", "sequence_classification", { "reranking", "rerank" } },
    { "token-classification", "token_classification", { "ner", "named-entity-recognition" } },
    { "fill-mask", "fill_mask", { "masked-lm", "masked-language-modeling", "mlm" } },
    { "question-answering", NULL, { "qa", "extractive-qa" } },
    { "multiple-choice" },
    { "text-generation", NULL,
      { "causal-lm", "text-generation-with-past", "causal-lm-with-past" } },
    { "text2text-generation", NULL,
      { "seq2seq-lm", "text2text-generation-with-past", "seq2seq-lm-with-past" } },
    { "translation" },
    { "summarization" },
    { "table-question-answering" },
    { "document-question-answering", .reads = IMAGES },
    { "visual-question-answering", NULL, { "vqa" }, IMAGES },
    { "image-classification", .reads = IMAGES },
    { "image-feature-extraction", .reads = IMAGES },
    { "image-segmentation", NULL, { "semantic-segmentation" }, IMAGES },
    { "object-detection", .reads = IMAGES },
    { "zero-shot-image-classification", .reads = IMAGES },
    { "zero-shot-object-detection", .reads = IMAGES },
    { "depth-estimation", .reads = IMAGES },
    { "image-to-image", .reads = IMAGES },
    { "image-to-text", NULL, { "vision2seq-lm" }, IMAGES },
    { "image-text-to-text", .reads = IMAGES },
    { "mask-generation", .reads = IMAGES },
    { "masked-im", .reads = IMAGES },
    { "keypoint-matching", .reads = IMAGES },
    { "video-classification", .reads = "video" },
    { "audio-classification", .reads = AUDIO },
    { "audio-frame-classification", .reads = AUDIO },
    { "audio-xvector", .reads = AUDIO },
    { "automatic-speech-recognition", NULL, { "asr", "audio-ctc", "speech2seq-lm" }, AUDIO },
    { "text-to-audio", NULL, { "text-to-speech" } },
    { "any-to-any" },
};

static char plain(char c)
{
    return c == '_' ? '-' : c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static bool is_called(Str typed, const char *name)
{
    size_t i = 0;
    while (i < typed.n && name[i] && plain(typed.p[i]) == name[i]) i++;
    return i == typed.n && !name[i];
}

const TaskName *task_name(Str typed)
{
    for (size_t i = 0; i < COUNT(names); i++) {
        if (is_called(typed, names[i].name)) return &names[i];
        for (size_t k = 0; k < TASK_SYNONYMS && names[i].synonyms[k]; k++)
            if (is_called(typed, names[i].synonyms[k])) return &names[i];
    }
    return NULL;
}

const TaskName *task_names(size_t *count)
{
    *count = COUNT(names);
    return names;
}

/* A name that is not in the table says by its first word what it reads. */
const char *task_name_reads(Str typed)
{
    static const struct { const char *word, *reads; } first[] = {
        { "image", IMAGES }, { "audio", AUDIO }, { "video", "video" },
    };
    const TaskName *row = task_name(typed);
    for (size_t i = 0; !row && i < COUNT(first); i++) {
        size_t n = strlen(first[i].word);
        if (typed.n > n && is_called((Str){ typed.p, n }, first[i].word) && plain(typed.p[n]) == '-')
            return first[i].reads;
    }
    return row ? row->reads : NULL;
}

static bool same_task(const TaskName *a, const TaskName *b)
{
    return a == b || (a->ours && b->ours && strcmp(a->ours, b->ours) == 0);
}

bool task_name_near(Str typed, char out[TASK_NAME_ROOM])
{
    const char *all[COUNT(names) * (1 + TASK_SYNONYMS)], *near;
    char word[TASK_NAME_ROOM];
    size_t n = 0;
    if (typed.n >= sizeof word) return false;
    for (size_t i = 0; i < typed.n; i++) word[i] = plain(typed.p[i]);
    for (size_t i = 0; i < COUNT(names); i++) {
        all[n++] = names[i].name;
        for (size_t k = 0; k < TASK_SYNONYMS && names[i].synonyms[k]; k++)
            all[n++] = names[i].synonyms[k];
    }
    if (!(near = str_nearest((Str){ word, typed.n }, all, n))) return false;
    for (size_t i = 0; i < n; i++) { /* of two that are equally near, the first is given */
        const char *both[] = { all[i], near };
        if (!same_task(task_name(str_of(all[i])), task_name(str_of(near))) &&
            str_nearest((Str){ word, typed.n }, both, 2) == all[i])
            return false;
    }
    snprintf(out, TASK_NAME_ROOM, "%s", near);
    for (char *p = out; *p && memchr(typed.p, '_', typed.n); p++) *p = *p == '-' ? '_' : *p;
    return true;
}
