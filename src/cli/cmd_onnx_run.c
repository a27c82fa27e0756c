/* SPDX-License-Identifier: Apache-2.0
 * cmd_onnx_run.c - any graph on any tensors, with ONNX's own semantics: nothing fused, nothing
 * merged. */
#include "api/running.h"
#include "cli/cli.h"
#include "cli/onnx_io.h"

static const Option options[] = {
    { "input", 'i', "NAME=FILE", "a tensor as .npy or .pb; once for each input" },
    { "output-dir", 'o', "DIR", "where OUTPUT.npy files go; default: here" },
    OPTION_THREADS,
    { "json", 0, NULL, "what was written, as JSON" },
    { 0 },
};

static bool load_inputs(Args *a, Named *in, size_t *n, Err *err)
{
    for (int i = 0; i < a->n_given; i++) {
        if (strcmp(a->given[i].option->name, "input") != 0) continue;
        const char *value = a->given[i].value, *equals = strchr(value, '=');
        if (!equals) return fail(err, EF_USAGE, "--input: found \"%s\", wanted NAME=FILE", value);
        in[*n].name = (Str){ value, (size_t)(equals - value) };
        if (!tensor_read_file(&a->arena, equals + 1, &in[(*n)++].t, err)) return false;
    }
    return true;
}

/* <dir>/<output>.npy, with nothing in the name that means something to a file system. */
static const char *output_file(Args *a, Str name)
{
    const char *dir = args_value(a, "output-dir");
    char *file = str_format(&a->arena, "%.*s.npy", STR_ARG(name));
    for (char *p = file; *p; p++) {
        bool plain = (*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') ||
                     (*p >= '0' && *p <= '9') || *p == '-' || *p == '_' || (*p == '.' && p != file);
        if (!plain) *p = '_';
    }
    return path_join(&a->arena, dir ? dir : ".", str_of(file));
}

/* No output takes the place of a tensor that was read. */
static bool check_apart(Args *a, const Named *out, int n, Err *err)
{
    for (int i = 0; i < n; i++)
        for (int k = 0; k < a->n_given; k++) {
            const Given *g = &a->given[k];
            if (strcmp(g->option->name, "input") == 0 &&
                !file_apart(output_file(a, out[i].name), strchr(g->value, '=') + 1, err))
                return false;
        }
    return true;
}

static Value output_json(Arena *arena, const Named *out, const char *path)
{
    Value v = value_map(arena, 4), shape = value_list(arena, (size_t)out->t.rank);
    for (int i = 0; i < out->t.rank; i++) shape.list.items[i] = value_of_int(out->t.dim[i]);
    value_add(&v, "name", value_of_str(out->name));
    value_add(&v, "file", value_of_text(path));
    value_add(&v, "type", value_of_text(dtype_name(out->t.type)));
    value_add(&v, "shape", shape);
    return v;
}

static bool save_outputs(Args *a, const Named *out, int n, Err *err)
{
    Buf b = { .arena = &a->arena };
    Value list = value_list(&a->arena, (size_t)n), v = value_map(&a->arena, 1);
    bool ok = check_apart(a, out, n, err);
    for (int i = 0; i < n && ok; i++) {
        char shape[128];
        const char *path = output_file(a, out[i].name);
        ok = tensor_write_file(&a->arena, path, &out[i].t, err);
        buf_printf(&b, "%s: %s\n", path, tensor_show(&out[i].t, shape));
        list.list.items[i] = output_json(&a->arena, &out[i], path);
    }
    value_add(&v, "outputs", list);
    return ok && (args_has(a, "json") ? out_json(&v, err) : out_buf(&b, err));
}

static bool onnx_run_run(Args *a, Err *err)
{
    Running *graph;
    size_t n_in = 0;
    int n_out;
    Named *in = ARRAY(&a->arena, Named, a->n_given + 1);
    RunningOpen how = { .exact = true, .threads = (int)args_int(a, "threads") };
    if (a->n_text != 1)
        return fail(err, EF_USAGE, "onnx run: found %d files, wanted one model", a->n_text);
    if (!load_inputs(a, in, &n_in, err) || !running_open(a->text[0], &how, &graph, err)) return false;
    running_outputs(graph, &n_out);
    Named *out = ARRAY(&a->arena, Named, n_out + 1);
    bool ok = running_run(graph, in, n_in, &a->arena, out, err);
    ok = ok ? save_outputs(a, out, n_out, err) : within(err, "%s", a->text[0]);
    running_close(graph);
    return ok;
}

const Command cmd_onnx_run = {
    .name = "onnx run",
    .summary = "run any ONNX graph on tensors from files",
    .options = options,
    .note = "All values of the graph together may take 1 GiB and 64 times what weights and inputs\n"
            "take, but not over 16 GiB; no single one over 4 GiB.\n",
    .run = onnx_run_run,
    .usage = "MODEL.onnx --input NAME=FILE... [--output-dir DIR]",
    .example = "  encoderfile onnx run model.onnx -i input_ids=ids.npy -i attention_mask=mask.npy "
               "-o out\n",
};
