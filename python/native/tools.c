/* SPDX-License-Identifier: Apache-2.0
 * tools.c - the toolchain: paths and a dict of options in, a dict out. */
#include "core.h"

typedef struct Tool {
    char *(*run)(const char *first, const char *second, const char *options, ef_error *);
    const char *names[5];         /* of the parameters; the paths come first */
    int paths;
    bool second_optional;
} Tool;

typedef struct ToolCall {
    PyObject *path[2];            /* bytes; NULL: None */
    PyObject *options, *progress;
} ToolCall;

static bool tool_parse(State *state, const Tool *tool, PyObject *args, PyObject *kwargs, ToolCall *c)
{
    char **names = (char **)tool->names;
    PyObject *path[2] = { NULL };
    bool ok = tool->paths == 1
                  ? PyArg_ParseTupleAndKeywords(args, kwargs, "O|OO", names, &path[0], &c->options, &c->progress)
                  : PyArg_ParseTupleAndKeywords(args, kwargs, tool->second_optional ? "O|OOO" : "OO|OO", names, &path[0],
                                                &path[1], &c->options, &c->progress);
    if (path[1] == Py_None) path[1] = NULL;
    for (int i = 0; ok && i < 2; i++) ok = !path[i] || py_path_take(state, path[i], names[i], &c->path[i]);
    return ok;
}

static PyObject *tool_run(PyObject *module, PyObject *args, PyObject *kwargs, const Tool *tool)
{
    State *state = py_state_of_module(module);
    ToolCall c = { 0 };
    PyObject *held = NULL, *report = NULL;
    const char *options, *path[2];
    if (tool_parse(state, tool, args, kwargs, &c) && py_json_text(state, c.options, "options", &held, &options)) {
        Progress p;
        ef_error err;
        char *text;
        for (int i = 0; i < 2; i++) path[i] = c.path[i] ? PyBytes_AsString(c.path[i]) : NULL;
        py_progress_begin(&p, c.progress ? c.progress : Py_None);
        Py_BEGIN_ALLOW_THREADS
        text = tool->run(path[0], path[1], options, &err);
        Py_END_ALLOW_THREADS
        if (py_progress_end(&p)) report = text ? py_json_parse(state, text) : py_raise_error(state, &err);
        ef_string_free(text);
    }
    Py_XDECREF(c.path[0]);
    Py_XDECREF(c.path[1]);
    Py_XDECREF(held);
    return report;
}

static char *run_verify(const char *model, const char *none, const char *options, ef_error *err)
{
    (void)none;
    return ef_verify(model, options, err);
}

static char *run_validate(const char *model, const char *none, const char *options, ef_error *err)
{
    (void)none;
    return ef_validate(model, options, err);
}

static char *run_inspect(const char *model, const char *none, const char *options, ef_error *err)
{
    (void)none;
    return ef_inspect(model, options, err);
}

static char *run_analyze(const char *onnx, const char *none, const char *options, ef_error *err)
{
    (void)none;
    return ef_analyze(onnx, options, err);
}

static char *run_embed_metadata(const char *onnx, const char *none, const char *options, ef_error *err)
{
    (void)none;
    return ef_embed_metadata(onnx, options, err);
}

static bool run_no_options(const char *options, ef_error *err)
{
    if (!options) return true;
    if (err) *err = (ef_error){ EF_USAGE, "options: found some, wanted none: this tool has no options" };
    return false;
}

static char *run_metadata(const char *onnx, const char *none, const char *options, ef_error *err)
{
    (void)none;
    return run_no_options(options, err) ? ef_metadata(onnx, err) : NULL;
}

static char *run_compare(const char *onnx, const char *other, const char *options, ef_error *err)
{
    return run_no_options(options, err) ? ef_compare(onnx, other, err) : NULL;
}

#define TOOL(name, function, ...)                                                             \
    static PyObject *tool_##name(PyObject *module, PyObject *args, PyObject *kwargs)          \
    {                                                                                         \
        static const Tool tool = { function, __VA_ARGS__ };                                   \
        return tool_run(module, args, kwargs, &tool);                                         \
    }
TOOL(export, ef_export, { "model", "out", "options", "progress" }, 2)
TOOL(quantize, ef_quantize, { "model", "out", "options", "progress" }, 2, true)
TOOL(build, ef_build, { "model", "out", "options", "progress" }, 2, true)
TOOL(add_config, ef_add_config, { "onnx", "model", "options", "progress" }, 2)
TOOL(compare, run_compare, { "onnx", "other", "options", "progress" }, 2)
TOOL(explore, ef_explore, { "model", "other", "options", "progress" }, 2, true)
TOOL(verify, run_verify, { "model", "options", "progress" }, 1)
TOOL(validate, run_validate, { "model", "options", "progress" }, 1)
TOOL(inspect, run_inspect, { "model", "options", "progress" }, 1)
TOOL(analyze, run_analyze, { "onnx", "options", "progress" }, 1)
TOOL(metadata, run_metadata, { "onnx", "options", "progress" }, 1)
TOOL(embed_metadata, run_embed_metadata, { "onnx", "options", "progress" }, 1)

#define METHOD(name, parameters, says)                                                             \
    {                                                                                              \
#name, (PyCFunction)(void (*)(void))tool_##name, METH_VARARGS | METH_KEYWORDS,             \
            #name "(" parameters ")\n--\n\n" says                                                  \
    }
PyMethodDef py_tool_methods[] = {
    METHOD(export, "model, out, options=None, progress=None",
           "A checkpoint's folder to a folder with model.onnx."),
    METHOD(quantize, "model, out=None, options=None, progress=None",
           "The same model with weights of int8."),
    METHOD(build, "model, out=None, options=None, progress=None",
           "One executable of a model, or of what a YAML says."),
    METHOD(add_config, "onnx, model, options=None, progress=None",
           "Copies the files of a model's folder that belong beside an .onnx."),
    METHOD(compare, "onnx, other, options=None, progress=None", "Hierarchy tags of two models."),
    METHOD(explore, "model, other=None, options=None, progress=None",
           "Modules, nodes, shapes, parameters, FLOPs and times of a model, or of two."),
    METHOD(verify, "model, options=None, progress=None",
           "Runs the model and says whether it does what it should."),
    METHOD(validate, "model, options=None, progress=None", "Would Optimum load it?"),
    METHOD(inspect, "model, options=None, progress=None", "What is in a model or a package."),
    METHOD(analyze, "onnx, options=None, progress=None", "The hierarchy tags of an .onnx."),
    METHOD(metadata, "onnx, options=None, progress=None", "The metadata of an .onnx."),
    METHOD(embed_metadata, "onnx, options=None, progress=None", "Writes metadata into an .onnx."),
    { "set_log", py_core_set_log, METH_O,
      "set_log(callable, /)\n--\n\nLog lines go to callable(level, text); None: to stderr." },
    { NULL }
};
