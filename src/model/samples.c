/* SPDX-License-Identifier: Apache-2.0
 * samples.c - see samples.h. */
#include "model/samples.h"

#include "base/file.h"
#include "data/yaml.h"

enum { MOST_README = 1 << 20, MOST_SAMPLES = 8 };

/* The block between two lines of dashes at the top of a README.md. */
static Str front_matter(Str text)
{
    if (!str_starts(text, "---\n")) return (Str){ 0 };
    const char *end = memmem(text.p + 3, text.n - 3, "\n---", 4);
    return end ? (Str){ text.p + 4, (size_t)(end - text.p - 3) } : (Str){ 0 };
}

static void take(Str *list, size_t *n, const Value *v)
{
    bool fits = v && v->kind == V_STR && v->s.n && utf8_valid(v->s);
    if (fits && *n < MOST_SAMPLES) list[(*n)++] = v->s;
}

/* widget: [{text}, {source_sentence, sentences: [...]}]; a file that is none of this has none. */
static size_t of_readme(Arena *arena, const char *folder, Str *list)
{
    Err ignored;
    Str text;
    Value root;
    size_t n = 0;
    const char *path = path_join(arena, folder, STR("README.md"));
    if (!file_is(path) || !file_read(arena, path, MOST_README, &text, &ignored)) return 0;
    Str front = front_matter(text);
    if (!front.n || !yaml_parse(arena, front, &root, &ignored)) return 0;
    const Value *widget = value_get(&root, "widget");
    for (size_t i = 0; widget && widget->kind == V_LIST && i < widget->list.n; i++) {
        const Value *one = &widget->list.items[i], *more = value_get(one, "sentences");
        take(list, &n, value_get(one, "text"));
        take(list, &n, value_get(one, "source_sentence"));
        for (size_t k = 0; more && more->kind == V_LIST && k < more->list.n; k++)
            take(list, &n, &more->list.items[k]);
    }
    return n;
}

size_t samples_find(Arena *arena, const char *folder, const Task *task, const ModelConfig *config,
                    const Tokenizer *tokenizer, const Str **out)
{
    Str *list = ARRAY(arena, Str, MOST_SAMPLES);
    size_t n = folder ? of_readme(arena, folder, list) : 0;
    *out = list;
    return n ? n : task_samples(arena, task, config, tokenizer, out);
}
