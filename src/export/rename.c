/* SPDX-License-Identifier: Apache-2.0
 * rename.c - checkpoints with older tensor names than the classes that read them: parts of a
 * name are replaced, and a matrix that holds several is seen as that many. Nothing is copied. */
#include "arch.h"

enum { MOST_NAME = 400 };

/* The place of a row's words in a name; "^new." counts at the beginning only. */
static const char *find_words(const char *name, const char *words)
{
    if (*words != '^') return strstr(name, words);
    return strncmp(name, words + 1, strlen(words + 1)) == 0 ? name : NULL;
}

static const char *rename_replace(Arena *arena, const char *name, const Rename *row, int part)
{
    const char *at = find_words(name, row->from);
    size_t gone = strlen(row->from) - (*row->from == '^');
    return str_format(arena, "%.*s%s%s", (int)(at - name), name, row->to[part], at + gone);
}

/* The k-th of n equal blocks of rows. */
static SafeTensor *rename_cut_block(Arena *arena, const SafeTensor *t, int k, int n)
{
    SafeTensor *view = NEW(arena, SafeTensor);
    *view = *t;
    if (t->rank == 0 || t->dim[0] % n) return view; /* its size will be found wrong */
    view->dim[0] /= n;
    view->bytes /= (size_t)n;
    view->data += (size_t)k * view->bytes;
    return view;
}

static void rename_one(Arena *arena, Safetensors *s, SafeTensor *t, const Rename *rows)
{
    const char *name = str_dup(arena, t->name);
    for (const Rename *row = rows; row->from; row++) {
        if (!find_words(name, row->from)) continue;
        int parts = 0;
        while (parts < (int)COUNT(row->to) && row->to[parts]) parts++;
        for (int k = 0; parts > 1 && k < parts; k++) {
            SafeTensor *view = rename_cut_block(arena, t, k, parts);
            view->name = str_of(rename_replace(arena, name, row, k));
            map_put(&s->by_name, arena, view->name, view);
        }
        if (parts > 1) return;
        name = rename_replace(arena, name, row, 0);
    }
    map_put(&s->by_name, arena, str_of(name), t);
}

void weights_rename(Arena *arena, Safetensors *s, const Rename *rows)
{
    for (int i = 0; rows && i < s->n; i++)
        if (s->item[i].name.n < MOST_NAME) rename_one(arena, s, &s->item[i], rows);
}
