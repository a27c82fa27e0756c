/* SPDX-License-Identifier: Apache-2.0
 * names.c - what tasks are called: by Hugging Face's pipelines, by Optimum (now and before), by the
 * Rust encoderfile and by ourselves. Names of tasks that we have are in the tasks' rows; the others are
 * listed here, to be refused by name. */
#include "task.h"

#define IMAGES "images"
#define AUDIO "audio"
static const TaskName others[] = { /* that this program does not do */
    { "text-generation",
      { "causal-lm", "text-generation-with-past", "causal-lm-with-past" } },
    { "text2text-generation",
      { "seq2seq-lm", "text2text-generation-with-past", "seq2seq-lm-with-past" } },
    { "translation" },
    { "summarization" },
    { "table-question-answering" },
    { "visual-question-answering", { "vqa" }, IMAGES },
    { "zero-shot-object-detection", .reads = IMAGES },
    { "depth-estimation", .reads = IMAGES },
    { "image-to-image", .reads = IMAGES },
    { "image-to-text", { "vision2seq-lm" }, IMAGES },
    { "image-text-to-text", .reads = IMAGES },
    { "mask-generation", .reads = IMAGES },
    { "masked-im", .reads = IMAGES },
    { "keypoint-matching", .reads = IMAGES },
    { "video-classification", .reads = "video" },
    { "audio-frame-classification", .reads = AUDIO },
    { "audio-xvector", .reads = AUDIO },
    { "speech2seq-lm", .reads = AUDIO },
    { "text-to-audio", { "text-to-speech" } },
    { "any-to-any" },
};

static char plain(char c)
{
    return c == '_' ? '-' : c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

bool task_is_called(Str typed, const char *name)
{
    size_t i = 0;
    while (i < typed.n && name[i] && plain(typed.p[i]) == name[i]) i++;
    return i == typed.n && !name[i];
}

const TaskName *task_name_at(size_t i)
{
    size_t n;
    const Task *const *task = task_all(&n);
    for (size_t t = 0; t < n; t++)
        for (size_t k = 0; k < TASK_NAMES && task[t]->names[k].name; k++)
            if (i-- == 0) return &task[t]->names[k];
    return i < COUNT(others) ? &others[i] : NULL;
}

const Task *task_of_name(const TaskName *row)
{
    size_t n;
    const Task *const *task = task_all(&n);
    for (size_t t = 0; t < n; t++)
        for (size_t k = 0; k < TASK_NAMES; k++)
            if (row == &task[t]->names[k]) return task[t];
    return NULL;
}

const TaskName *task_name(Str typed)
{
    const TaskName *row;
    for (size_t i = 0; (row = task_name_at(i)); i++) {
        if (task_is_called(typed, row->name)) return row;
        for (size_t k = 0; k < TASK_SYNONYMS && row->synonyms[k]; k++)
            if (task_is_called(typed, row->synonyms[k])) return row;
    }
    return NULL;
}

void task_list(Buf *out)
{
    size_t n;
    const Task *const *task = task_all(&n);
    for (size_t i = 0; i < n; i++) buf_printf(out, "%s%s", i ? ", " : "", task[i]->name);
}

/* The first word of an unknown name tells what it reads. */
const char *task_name_reads(Str typed)
{
    static const struct { const char *word, *reads; } first[] = {
        { "image", IMAGES }, { "audio", AUDIO }, { "video", "video" },
    };
    const TaskName *row = task_name(typed);
    for (size_t i = 0; !row && i < COUNT(first); i++) {
        size_t n = strlen(first[i].word);
        if (typed.n > n && task_is_called((Str){ typed.p, n }, first[i].word) && plain(typed.p[n]) == '-')
            return first[i].reads;
    }
    return row ? row->reads : NULL;
}

static bool same_task(const TaskName *a, const TaskName *b)
{
    return a == b || (task_of_name(a) && task_of_name(a) == task_of_name(b));
}

bool task_name_near(Str typed, char out[TASK_NAME_ROOM])
{
    enum { MOST = 256 };
    const char *all[MOST], *near;
    const TaskName *row;
    char word[TASK_NAME_ROOM];
    size_t n = 0;
    if (typed.n >= sizeof word) return false;
    for (size_t i = 0; i < typed.n; i++) word[i] = plain(typed.p[i]);
    for (size_t i = 0; (row = task_name_at(i)); i++) {
        assert(n + 1 + TASK_SYNONYMS <= MOST);
        all[n++] = row->name;
        for (size_t k = 0; k < TASK_SYNONYMS && row->synonyms[k]; k++) all[n++] = row->synonyms[k];
    }
    if (!(near = str_nearest((Str){ word, typed.n }, all, n))) return false;
    for (size_t i = 0; i < n; i++) { /* two tasks are equally near: no suggestion */
        const char *both[] = { all[i], near };
        if (!same_task(task_name(str_of(all[i])), task_name(str_of(near))) &&
            str_nearest((Str){ word, typed.n }, both, 2) == all[i])
            return false;
    }
    snprintf(out, TASK_NAME_ROOM, "%s", near);
    for (char *p = out; *p && memchr(typed.p, '_', typed.n); p++) *p = *p == '-' ? '_' : *p;
    return true;
}
