/* SPDX-License-Identifier: Apache-2.0
 * alias.c - lines written for other programs. A link to this one that is called optimum-cli, or
 * that word in front, takes that program's words; a link called modelexport has our own commands. */
#include "base/file.h"
#include "cli/cli.h"

enum { MOST_WORDS = 3 };
static const struct {
    const char *word[MOST_WORDS];
    const char *command;
} aliases[] = {
    { { "optimum-cli", "export", "onnx" }, "export" },
    { { "optimum-cli", "onnxruntime", "quantize" }, "quantize" },
    { { "--version" }, "version" },
};

/* How many words of the line make the row's; 0: not this one. */
static int matched(const char *const *words, char **line, int n)
{
    int k = 0;
    for (; k < MOST_WORDS && words[k]; k++) {
        Str word = k < n ? path_name(line[k]) : (Str){ 0 };
        if (!str_is(word, words[k])) return 0;
    }
    return k;
}

void alias_apply(Arena *arena, int *argc, char ***argv)
{
    for (size_t i = 0; i < COUNT(aliases); i++)
        for (int from = 0; from < 2 && from < *argc; from++) {
            int n = matched(aliases[i].word, *argv + from, *argc - from);
            if (!n) continue;
            int rest = *argc - from - n;
            char **line = ARRAY(arena, char *, rest + 3);
            line[0] = (*argv)[0], line[1] = (char *)aliases[i].command;
            memcpy(line + 2, *argv + from + n, sizeof *line * (size_t)rest);
            *argc = rest + 2, *argv = line;
            return;
        }
}
