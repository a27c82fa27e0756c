/* SPDX-License-Identifier: Apache-2.0
 * models-page.c - prints the table of architectures for docs/models.md and README.md, a line for each row of
 * src/export/arch.c: its name in config.json, its heads, published models. `./dev docs` writes it there,
 * and tests/docs/check.sh compares. */
#include <stdio.h>

#include "export/arch.h"

static const char *const head_name[HEAD_COUNT] = {
    [HEAD_NONE] = "vectors",      [HEAD_MASKED] = "masks",   [HEAD_SEQUENCE] = "labels",
    [HEAD_TOKEN] = "token labels", [HEAD_ANSWER] = "answers", [HEAD_CHOICE] = "choices",
    [HEAD_IMAGE] = "labels", [HEAD_TEACHER] = "labels of two tokens", [HEAD_DETECT] = "boxes",
    [HEAD_SEGMENT] = "masks of labels", [HEAD_PANOPTIC] = "masks of objects",
    [HEAD_TOWERS] = "texts against pictures",
    [HEAD_SOUND] = "labels", [HEAD_SPEECH] = "labels", [HEAD_LETTERS] = "letters (CTC)",
    [HEAD_FRAMES] = "labels of frames", [HEAD_VOICE] = "speakers",
};

/* "all", or "all but answers, choices": what a row lacks is the shorter list. Vectors have no steps. */
static void print_heads(const Arch *a)
{
    const char *before = "all but ";
    for (int head = HEAD_NONE + 1; head < HEAD_IMAGE; head++)
        if (!a->steps[head]) printf("%s%s", before, head_name[head]), before = ", ";
    if (before[0] == 'a') printf("all");
}

/* Models of pictures and sounds differ more: what a row has. */
static void print_picture_heads(const Arch *a)
{
    printf("%s: vectors", a->hears ? "sounds" : "pictures");
    for (int head = HEAD_IMAGE; head < HEAD_COUNT; head++)
        if (a->steps[head]) printf(", %s", head_name[head]);
}

int main(void)
{
    puts("| `model_type` in config.json | heads | published models of this kind |\n|---|---|---|");
    for (const Arch *const *a = architectures; *a; a++) {
        if (!(*a)->models) return fprintf(stderr, "%s: .models is missing\n", (*a)->model_type), 1;
        printf("| `%s` | ", (*a)->model_type);
        ((*a)->write ? print_picture_heads : print_heads)(*a);
        printf(" | %s%s |\n", (*a)->models, (*a)->boxes ? "; words with boxes" : "");
    }
    return 0;
}
