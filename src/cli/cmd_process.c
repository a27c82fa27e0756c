/* SPDX-License-Identifier: Apache-2.0
 * cmd_process.c - the tensors that a model's graph is given for some inputs, as NumPy files: for another runtime, or
 * to look at. They are what transformers' AutoTokenizer or AutoProcessor would feed. */
#include "base/file.h"
#include "cli/given.h"
#include "data/json.h"
#include "data/npy.h"
#include "model/feed.h"

static const Option options[] = {
    OPTIONS_OPEN,
    OPTION_PROCESSOR,
    OPTIONS_GIVEN,
    { "question", 0, "TEXT", "question answering: asked of each text, whose answers are in there" },
    { "output-dir", 'o', "DIR", "where the files go: NAME.npy for each input of the graph, and inputs.json" },
    { "json", 0, NULL, "print inputs.json instead of a line for each file" },
    { 0 },
};

static const char *const list_name = "inputs.json";

/* As NumPy names it. */
static const char *numpy_type(DType type)
{
    return type == T_I64 ? "int64" : type == T_I32 ? "int32" : "float32";
}

static bool write_tensor(Args *a, const char *path, const Tensor *t, Err *err)
{
    Buf file = { 0 };
    Npy npy = { .kind = t->type == T_F32 ? 'f' : 'i', .size = (int)dtype_size(t->type), .rank = t->rank,
                .data = t->data, .bytes = dtype_size(t->type) };
    for (int i = 0; i < t->rank; i++) npy.dim[i] = t->dim[i], npy.bytes *= (size_t)t->dim[i];
    npy_write(&file, &npy);
    bool ok = file_write(&a->arena, path, buf_view(&file), err);
    buf_free(&file);
    return ok;
}

static Value tensor_row(Arena *arena, const Named *one, const char *file)
{
    Value v = value_map(arena, 4), shape = value_list(arena, (size_t)one->t.rank);
    for (int i = 0; i < one->t.rank; i++) shape.list.items[i] = value_of_int(one->t.dim[i]);
    value_add(&v, "name", value_of_str(one->name));
    value_add(&v, "file", value_of_text(file));
    value_add(&v, "dtype", value_of_text(numpy_type(one->t.type)));
    value_add(&v, "shape", shape);
    return v;
}

static void tell_tensor(Buf *out, const Named *one, const char *path)
{
    buf_printf(out, "%.*s %s [", STR_ARG(one->name), numpy_type(one->t.type));
    for (int i = 0; i < one->t.rank; i++) buf_printf(out, "%s%lld", i ? ", " : "", (long long)one->t.dim[i]);
    buf_printf(out, "] %s\n", path);
}

static bool write_list(Args *a, const char *folder, const Value *list, Buf *lines, Err *err)
{
    Buf text = { .arena = &a->arena };
    json_write_pretty(&text, list);
    buf_char(&text, '\n');
    return file_write(&a->arena, path_join(&a->arena, folder, str_of(list_name)), buf_view(&text), err) &&
           out_write(buf_view(args_has(a, "json") ? &text : lines), err);
}

static bool write_tensors(Args *a, const Model *m, const Feed *feed, const Named *made, Err *err)
{
    const char *folder = args_value(a, "output-dir");
    Value inputs = value_list(&a->arena, (size_t)feed->n), list = value_map(&a->arena, 4);
    Buf lines = { .arena = &a->arena };
    if (!dir_make_parents(path_join(&a->arena, folder, str_of(list_name)), err)) return false;
    for (int i = 0; i < feed->n; i++) {
        const char *file = str_format(&a->arena, "%.*s.npy", STR_ARG(made[i].name));
        const char *path = path_join(&a->arena, folder, str_of(file));
        if (!write_tensor(a, path, &made[i].t, err)) return false;
        inputs.list.items[i] = tensor_row(&a->arena, &made[i], file);
        tell_tensor(&lines, &made[i], path);
    }
    value_add(&list, "model", value_of_str(m->name));
    value_add(&list, "processor", value_of_text(feed->processor));
    value_add(&list, "kind", value_of_text(feed->kind));
    value_add(&list, "inputs", inputs);
    return write_list(a, folder, &list, &lines, err);
}

/* A graph's input may have any name; as a file's it could lie elsewhere. */
static bool names_are_safe(const Feed *feed, Err *err)
{
    for (int i = 0; i < feed->n; i++) {
        Str name = feed->input[i].name;
        if (!name.n || memchr(name.p, '/', name.n) || memchr(name.p, 0, name.n))
            return fail(err, EF_UNSUPPORTED, "input \"%.*s\" of the graph: wanted a name that a file can have",
                        STR_ARG(name));
    }
    return true;
}

static bool process_run(Args *a, Err *err)
{
    Model *m;
    Feed feed;
    if (!args_has(a, "output-dir")) return fail(err, EF_USAGE, "process: wanted --output-dir DIR");
    if (!args_model(a, &m, err)) return false;
    GivenItems in = { .a = a, .form = m->items, .arena = &a->arena };
    feed_of(&a->arena, m, &feed);
    Named *made = ARRAY(&a->arena, Named, feed.n + 1);
    bool ok = names_are_safe(&feed, err) && given_items(&in, err) &&
              items_check(m->items, &(Items){ in.item, in.n }, SIZE_MAX, err) &&
              feed_make(&a->arena, m, &feed, &(FeedItems){ in.item, in.n, NULL }, made, err) &&
              write_tensors(a, m, &feed, made, err);
    model_close(m);
    return ok;
}

const Command cmd_process = {
    .name = "process",
    .summary = "write the tensors that a model is given for some inputs, as NumPy files",
    .options = options,
    .model_first = true,
    .note = NOTE_LIMIT,
    .run = process_run,
    .usage = "[MODEL] [INPUT...] --output-dir DIR",
    .example = "  encoderfile process ./sst2 \"I love this!\" \"not bad\" --output-dir tensors\n"
               "  encoderfile process ./vit photo.jpg -o tensors  # tensors/pixel_values.npy\n",
};
