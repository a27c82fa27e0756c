/* SPDX-License-Identifier: Apache-2.0
 * models-page.c - prints the table of architectures for docs/models.md and README.md, a line for each row of
 * src/export/arch.c: its name in config.json, its heads, published models. `./dev docs` writes it there,
 * and tests/docs/check.sh compares. */
#include <stdio.h>

#include "export/arch.h"

static const char *const head_name[HEAD_COUNT] = {
    [HEAD_NONE] = "vectors",      [HEAD_MASKED] = "mask",    [HEAD_SEQUENCE] = "labels",
    [HEAD_TOKEN] = "token labels", [HEAD_ANSWER] = "answers", [HEAD_CHOICE] = "choices",
};

int main(void)
{
    puts("| `model_type` in config.json | heads | published models of this kind |\n|---|---|---|");
    for (const Arch *const *a = architectures; *a; a++) {
        printf("| `%s` | %s", (*a)->model_type, head_name[HEAD_NONE]);
        for (int head = HEAD_NONE + 1; head < HEAD_COUNT; head++)
            if ((*a)->steps[head]) printf(", %s", head_name[head]);
        if (!(*a)->models) return fprintf(stderr, "%s: .models is missing\n", (*a)->model_type), 1;
        printf(" | %s%s |\n", (*a)->models, (*a)->boxes ? "; words with boxes" : "");
    }
    return 0;
}
