/* SPDX-License-Identifier: Apache-2.0
 * tag.c - from a module path to its hierarchy tag: the classes of the modules on the way that are
 * not torch.nn's own, with the number of those that stand in a list. */
#include "build.h"

/* "encoder.layer.#" against the first n bytes of a path. */
static bool tag_pattern_fits(const char *pattern, const char *path, size_t n)
{
    size_t i = 0;
    for (; *pattern && i < n; pattern++) {
        if (*pattern != '#') {
            if (*pattern != path[i++]) return false;
            continue;
        }
        if (path[i] < '0' || path[i] > '9') return false;
        while (i < n && path[i] >= '0' && path[i] <= '9') i++;
    }
    return !*pattern && i == n;
}

static const char *class_at(const Builder *b, const char *path, size_t n)
{
    size_t base = strlen(b->base);
    const Module *rows = b->head_modules;
    if (n + 1 >= base && strncmp(path, b->base, MIN(n, base)) == 0) { /* "bert" is of the encoder */
        rows = b->modules;
        path += MIN(n, base), n -= MIN(n, base);
    }
    for (const Module *m = rows; m && m->path; m++)
        if (tag_pattern_fits(m->path, path, n)) return m->class_name;
    return NULL;
}

/* The classes that transformers 4 (4.57) calls otherwise; NULL: it has them elsewhere. */
static const struct {
    const char *now, *then;
} older[] = {
    { "BertSelfAttention", "BertSdpaSelfAttention" },
    { "RobertaSelfAttention", "RobertaSdpaSelfAttention" },
    { "XLMRobertaSelfAttention", "XLMRobertaSdpaSelfAttention" },
    { "CamembertSelfAttention", "CamembertSdpaSelfAttention" },
    { "DistilBertSelfAttention", "DistilBertSdpaAttention" },
    { "AlbertAttention", "AlbertSdpaAttention" },
    { "ModernBertRotaryEmbedding", NULL },
    { "EsmRotaryEmbedding", NULL },
};

/* "*Layer" to "BertLayer", "Legacy*Head" to "LegacyDebertaV2Head"; empty: no level. */
static Str full_class(Builder *b, const char *name)
{
    const char *star = strchr(name, '*'), *full = name;
    if (star)
        full = str_format(b->arena, "%.*s%s%s", (int)(star - name), name, b->family, star + 1);
    for (size_t i = 0; b->older_classes && i < COUNT(older); i++)
        if (strcmp(older[i].now, full) == 0) full = older[i].then;
    return str_of(full);
}

const char *build_class(Builder *b, const char *name)
{
    return full_class(b, name).p;
}

/* A norm or a table: known words stand for themselves. */
static const char *torch_class(const Builder *b, const char *path, size_t n)
{
    static const char *const words[] = { "word_embeddings", "token_type_embeddings",
                                         "position_embeddings" };
    const char *name = b->torch_modules ? map_get(&b->torch, (Str){ path, n }) : NULL;
    for (size_t i = 0; name && i < COUNT(words); i++)
        if (str_ends((Str){ path, n }, words[i])) return words[i];
    return name;
}

void build_torch_module(Builder *b, const char *path, const char *class_name)
{
    map_put(&b->torch, b->arena, str_of(path), (void *)class_name);
}

/* "Layer.0" of a path that ends there: the number of a list member, or nothing. */
static Str tag_number_at(const char *path, size_t n)
{
    size_t from = n;
    while (from && path[from - 1] >= '0' && path[from - 1] <= '9') from--;
    bool numbered = from < n && (!from || path[from - 1] == '.');
    return numbered ? (Str){ path + from, n - from } : (Str){ 0 };
}

static void put_class(Buf *out, Builder *b, const char *path, size_t n)
{
    const char *name = class_at(b, path, n);
    Str number = tag_number_at(path, n);
    if (name && *name == '!') name = b->act_class;
    if (!name) name = torch_class(b, path, n);
    Str full = name ? full_class(b, name) : (Str){ 0 };
    if (!full.n) return;
    buf_printf(out, "/%.*s", STR_ARG(full));
    if (number.n) buf_printf(out, ".%.*s", STR_ARG(number));
}

const char *build_tag(Builder *b, const char *path)
{
    Buf out = { 0 };
    buf_printf(&out, "/%s", b->root_class);
    for (size_t n = 1; *path && n <= strlen(path); n++)
        if (!path[n] || path[n] == '.') put_class(&out, b, path, n);
    const char *tag = str_dup(b->arena, buf_view(&out));
    buf_free(&out);
    return tag;
}
