/* SPDX-License-Identifier: Apache-2.0
 * checkpoint.c - which file of a folder holds the weights, and a table over several files. */
#include "checkpoint.h"

#include "json.h"
#include "torch.h"

enum { MOST_INDEX = 100000000, MOST_FILES = 1000, MOST_ADAPTER = 1 << 20 };
#define SAFE_NAME "model.safetensors"
#define TORCH_NAME "pytorch_model.bin"
#define INDEX ".index.json"

static bool ends_as_safetensors(const char *path)
{
    return str_ends(str_of(path), ".safetensors") || str_ends(str_of(path), ".safetensors" INDEX);
}

bool checkpoint_is(const char *path)
{
    Mapping file;
    Err ignored; /* a file that cannot be read is named by whoever opens it next */
    if (!file_is(path)) return false;
    if (ends_as_safetensors(path) || str_ends(str_of(path), ".bin" INDEX)) return true;
    if (!file_map(path, &file, &ignored)) return false;
    bool is = torch_is((Str){ (const char *)file.p, file.n });
    file_unmap(&file);
    return is;
}

const char *checkpoint_find(Arena *arena, const char *folder)
{
    static const char *const names[] = { SAFE_NAME, SAFE_NAME INDEX, TORCH_NAME, TORCH_NAME INDEX };
    for (size_t i = 0; i < COUNT(names); i++) {
        const char *path = path_join(arena, folder, str_of(names[i]));
        if (file_is(path)) return path;
    }
    return NULL;
}

typedef bool ReadWeights(Arena *, Str bytes, Safetensors *, Err *);

static ReadWeights *checkpoint_reader_of(const char *path)
{
    return ends_as_safetensors(path) ? safetensors_read : torch_read;
}

static bool open_one(Arena *arena, const char *path, ReadWeights *read, Mapping *file,
                     Safetensors *s, Err *err)
{
    if (!file_map(path, file, err)) return false;
    return read(arena, (Str){ (const char *)file->p, file->n }, s, err) || within(err, "%s", path);
}

/* ---- several files ---- */
typedef struct ShardIndex {
    Arena *arena;
    const char *path, *folder;
    Safetensors *all;
    Map open;               /* files, by the name the index has */
} ShardIndex;

/* The file of that name, opened at its first mention. */
static Safetensors *find_shard(ShardIndex *x, Str name, Err *err)
{
    Safetensors *s = map_get(&x->open, name);
    if (s) return s;
    if (!path_stays_inside(name) || x->all->n_file == MOST_FILES) {
        fail(err, EF_BAD_MODEL, "%s: found \"%.*s\", wanted a file of this folder", x->path,
             (int)MIN(name.n, 100), name.p);
        return NULL;
    }
    s = NEW(x->arena, Safetensors);
    map_put(&x->open, x->arena, name, s);
    Mapping *file = &x->all->file[x->all->n_file++];
    const char *path = path_join(x->arena, x->folder, name);
    return open_one(x->arena, path, checkpoint_reader_of(x->path), file, s, err) ? s : NULL;
}

static bool add_tensor(ShardIndex *x, Str name, Str place, Err *err)
{
    Safetensors *all = x->all, *s = find_shard(x, place, err);
    if (!s) return false;
    const SafeTensor *t = safetensors_find(s, name);
    if (!t)
        return fail(err, EF_BAD_MODEL, "%s: %.*s is not in %.*s", x->path, (int)MIN(name.n, 80),
                    name.p, (int)MIN(place.n, 80), place.p);
    all->item[all->n] = *t;
    map_put(&all->by_name, x->arena, t->name, &all->item[all->n++]);
    return true;
}

static bool open_index(ShardIndex *x, Err *err)
{
    Str text;
    Value root;
    if (!file_read(x->arena, x->path, MOST_INDEX, &text, err)) return false;
    if (!json_parse(x->arena, text, &root, err)) return within(err, "%s", x->path);
    const Value *map = value_get(&root, "weight_map");
    if (!map || map->kind != V_MAP)
        return fail(err, EF_BAD_MODEL, "%s: weight_map is missing or no object", x->path);
    x->all->file = ARRAY(x->arena, Mapping, MIN(map->map.n, (size_t)MOST_FILES) + 1);
    x->all->item = ARRAY(x->arena, SafeTensor, map->map.n + 1);
    for (size_t i = 0; i < map->map.n; i++) {
        const Member *m = &map->map.items[i];
        if (!add_tensor(x, m->key, value_str(&m->value, STR("")), err)) return false;
    }
    return true;
}

static bool open_alone(Arena *arena, const char *path, Safetensors *s, Err *err)
{
    Mapping *file = NEW(arena, Mapping);
    bool ok = open_one(arena, path, checkpoint_reader_of(path), file, s, err);
    s->file = file, s->n_file = 1;
    return ok;
}

/* ---- wrappers ---- */

/* What every name begins with, of what wrappers put there; NULL: nothing. */
static const char *common_wrapper(const Safetensors *s)
{
    static const char *const wrappers[] = { "module.", "_orig_mod.", "model." };
    for (size_t w = 0; w < COUNT(wrappers); w++) {
        int i = 0;
        while (i < s->n && str_starts(s->item[i].name, wrappers[w]) &&
               s->item[i].name.n > strlen(wrappers[w]))
            i++;
        if (s->n && i == s->n) return wrappers[w];
    }
    return NULL;
}

/* One wrapper may be inside another. */
static void unwrap_names(Arena *arena, Safetensors *s)
{
    for (const char *gone; (gone = common_wrapper(s));) {
        s->by_name = (Map){ 0 };
        for (int i = 0; i < s->n; i++) {
            Str *name = &s->item[i].name;
            name->p += strlen(gone), name->n -= strlen(gone);
            map_put(&s->by_name, arena, *name, &s->item[i]);
        }
    }
}

/* ---- none there ---- */

/* An adapter is a difference to a model that is elsewhere. */
static bool refuse_adapter(Arena *arena, const char *folder, const char *config, Err *err)
{
    Str text, base = { 0 };
    Value root;
    Err ignored;
    if (file_read(arena, config, MOST_ADAPTER, &text, &ignored) &&
        json_parse(arena, text, &root, &ignored))
        base = value_str(value_get(&root, "base_model_name_or_path"), base);
    return fail(err, EF_UNSUPPORTED, "%s: found a LoRA adapter without its base model%s%.*s%s; "
                "merge them with peft (merge_and_unload), save into a new folder and give that",
                folder, base.n ? " (" : "", (int)MIN(base.n, 60), base.p ? base.p : "",
                base.n ? ")" : "");
}

bool checkpoint_no_adapter(const char *path, Err *err)
{
    Arena arena = { 0 };
    bool file = file_is(path);
    const char *folder = file ? path_dir(&arena, path) : path;
    const char *config = path_join(&arena, folder, STR("adapter_config.json"));
    bool weights = file ? !str_starts(path_name(path), "adapter_model.")
                        : checkpoint_find(&arena, folder) != NULL;
    bool ok = weights || !file_is(config) || refuse_adapter(&arena, folder, config, err);
    arena_free(&arena);
    return ok;
}

bool checkpoint_open(Arena *arena, const char *path, Safetensors *s, Err *err)
{
    *s = (Safetensors){ 0 };
    const char *file = dir_is(path) ? checkpoint_find(arena, path) : path;
    if (!file)
        return checkpoint_no_adapter(path, err) &&
               fail(err, EF_NOT_FOUND, "%s: neither " SAFE_NAME " nor " TORCH_NAME " is there, nor "
                    "an index (" SAFE_NAME INDEX ")", path);
    ShardIndex x = { .arena = arena, .path = file, .folder = path_dir(arena, file), .all = s };
    bool ok = str_ends(str_of(file), INDEX) ? open_index(&x, err)
                                            : open_alone(arena, file, s, err);
    if (ok) unwrap_names(arena, s);
    else safetensors_close(s);
    return ok;
}
