/* SPDX-License-Identifier: Apache-2.0
 * graph.c - Graph: an ef_graph. Tensors in by the buffer protocol, Tensors out, by name. */
#include "core.h"

enum { MOST_RANK = 64 };

static PyObject *graph_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    PyObject *given, *path = NULL, *keep = PyList_New(0), *progress = NULL, *self = NULL;
    ef_options options;
    ef_graph *graph;
    ef_error err;
    Progress p;
    State *state = PyType_GetModuleState(type);
    if (keep && PyArg_ParseTuple(args, "O:Graph", &given) && py_path_take(state, given, "path", &path) &&
        py_options_take(state, kwargs, keep, &options, &progress)) {
        const char *text = PyBytes_AsString(path);
        py_progress_begin(&p, progress);
        Py_BEGIN_ALLOW_THREADS
        graph = ef_graph_open(text, &options, &err);
        Py_END_ALLOW_THREADS
        if (!py_progress_end(&p)) ef_graph_close(graph);
        else if (!graph) py_raise_error(state, &err);
        else self = py_handle_new(type, "graph", graph, (void (*)(void *))ef_graph_close);
    }
    Py_XDECREF(path);
    Py_XDECREF(keep);
    return self;
}

/* ---- what goes in and out ---- */

static PyObject *describe_dim(const ef_array *a, int i)
{
    if (a->dim[i] >= 0) return PyLong_FromLongLong(a->dim[i]);
    const char *name = a->dim_names ? a->dim_names[i] : NULL;
    return name ? PyUnicode_FromString(name) : Py_NewRef(Py_None);
}

static PyObject *describe_one(const ef_array *a)
{
    PyObject *shape = PyList_New(a->rank > 0 ? a->rank : 0);
    for (int i = 0; shape && i < a->rank; i++) {
        PyObject *dim = describe_dim(a, i);
        if (!dim || PyList_SetItem(shape, i, dim) != 0) Py_CLEAR(shape);
    }
    return shape ? Py_BuildValue("{s:s,s:s,s:N}", "name", a->name, "dtype",
                                 py_tensor_dtype(a->type), "shape", shape)
                 : NULL;
}

typedef const ef_array *Describe(const ef_graph *, size_t *count);

static PyObject *graph_describe(PyObject *self, void *which)
{
    size_t n;
    ef_graph *graph = py_handle_enter((Handle *)self);
    if (!graph) return NULL;
    const ef_array *array = (*(Describe **)which)(graph, &n);
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list && i < n; i++) {
        PyObject *one = describe_one(&array[i]);
        if (!one || PyList_Append(list, one) != 0) Py_CLEAR(list);
        Py_XDECREF(one);
    }
    py_handle_leave((Handle *)self);
    return list;
}

/* ---- a run ---- */

typedef struct Feed {
    State *state;
    PyObject *keep;               /* a list: what the rest points into */
    ef_array *array;
    int64_t (*dim)[MOST_RANK];
    size_t count;
    const char **output;
    size_t outputs;
} Feed;

static const char *feed_name(const Feed *f, PyObject *object, const char *what)
{
    const char *name = PyUnicode_Check(object) ? PyUnicode_AsUTF8AndSize(object, NULL) : NULL;
    if (name) return name;
    if (PyErr_Occurred()) py_raise_own(f->state, what);
    else PyErr_Format(PyExc_TypeError, "%s: found %R, wanted a str", what, (PyObject *)Py_TYPE(object));
    return NULL;
}

static bool feed_inputs(Feed *f, PyObject *feeds)
{
    PyObject *key, *value;
    Py_ssize_t at = 0;
    PyObject *copy = PyDict_Copy(feeds); /* the caller's may change meanwhile */
    if (!copy || PyList_Append(f->keep, copy) != 0) return Py_XDECREF(copy), false;
    Py_DECREF(copy);
    size_t n = (size_t)PyDict_Size(copy) + 1;
    f->array = PyMem_Calloc(n, sizeof *f->array);
    f->dim = PyMem_Calloc(n, sizeof *f->dim);
    if (!f->array || !f->dim) return PyErr_NoMemory(), false;
    while (PyDict_Next(copy, &at, &key, &value)) {
        const char *name = feed_name(f, key, "the name of an input");
        if (!name || !py_tensor_view(f->state, value, name, f->keep, &f->array[f->count], f->dim[f->count]))
            return false;
        f->count++;
    }
    return true;
}

static bool feed_outputs(Feed *f, PyObject *names)
{
    if (!names || names == Py_None) return true;
    if (PyUnicode_Check(names))
        return PyErr_SetString(PyExc_TypeError, "outputs: found a str, wanted a list of str"),
               false;
    PyObject *tuple = PySequence_Tuple(names);
    if (!tuple || PyList_Append(f->keep, tuple) != 0) return Py_XDECREF(tuple), false;
    Py_DECREF(tuple);
    f->outputs = (size_t)PyTuple_Size(tuple);
    f->output = PyMem_Calloc(f->outputs + 1, sizeof *f->output);
    if (!f->output) return PyErr_NoMemory(), false;
    for (size_t i = 0; i < f->outputs; i++)
        if (!(f->output[i] =
                  feed_name(f, PyTuple_GetItem(tuple, (Py_ssize_t)i), "the name of an output")))
            return false;
    return true;
}

static PyObject *feed_run(PyObject *self, const Feed *f)
{
    ef_error err;
    ef_arrays *out;
    ef_graph *graph = py_handle_enter((Handle *)self);
    if (!graph) return NULL;
    Py_BEGIN_ALLOW_THREADS
    out = ef_graph_run(graph, f->array, f->count, f->output, f->outputs, &err);
    Py_END_ALLOW_THREADS
    py_handle_leave((Handle *)self);
    return out ? py_tensors_dict(f->state, out) : py_raise_error(f->state, &err);
}

static PyObject *graph_run(PyObject *self, PyObject *args, PyObject *kwargs)
{
    static char *names[] = { "feeds", "outputs", NULL };
    PyObject *feeds, *outputs = NULL, *result = NULL;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|O:run", names, &feeds, &outputs)) return NULL;
    if (!PyDict_Check(feeds)) {
        PyErr_Format(PyExc_TypeError, "feeds: found %R, wanted a dict of arrays", (PyObject *)Py_TYPE(feeds));
        return NULL;
    }
    Feed f = { .state = py_state_of(self), .keep = PyList_New(0) };
    if (f.keep && feed_inputs(&f, feeds) && feed_outputs(&f, outputs)) result = feed_run(self, &f);
    PyMem_Free(f.array);
    PyMem_Free(f.dim);
    PyMem_Free(f.output);
    Py_XDECREF(f.keep);
    return result;
}

static PyMethodDef graph_methods[] = {
    { "run", (PyCFunction)(void (*)(void))graph_run, METH_VARARGS | METH_KEYWORDS,
      "run($self, feeds, outputs=None)\n--\n\nname -> Tensor, of all outputs or of those named." },
    { "close", py_handle_close, METH_NOARGS,
      "close($self)\n--\n\nReleases it; calls that run now end first." },
    { "__enter__", py_handle_self, METH_NOARGS, NULL },
    { "__exit__", py_handle_exit, METH_VARARGS, NULL },
    { NULL }
};
static Describe *const describe_inputs = ef_graph_inputs, *const describe_outputs = ef_graph_outputs;
static PyGetSetDef graph_fields[] = {
    { "inputs", graph_describe, NULL,
      "a list of {name, dtype, shape}; a dimension that is any is its name or None",
      (void *)&describe_inputs },
    { "outputs", graph_describe, NULL, "the same of the outputs", (void *)&describe_outputs },
    { "closed", py_handle_is_closed, NULL, "close was called", NULL },
    { NULL }
};
static PyType_Slot graph_slots[] = {
    { Py_tp_doc, "Graph(path, *, threads=0, kernels=None, precision=None, task=None, progress=None)\n--\n\nA "
                 "graph alone: tensors in, tensors out." },
    { Py_tp_new, graph_new },
    { Py_tp_dealloc, py_handle_dealloc },
    { Py_tp_methods, graph_methods },
    { Py_tp_getset, graph_fields },
    { 0, NULL }
};
PyType_Spec py_graph_spec = { "encoderfile_c._core.Graph", sizeof(Handle), 0, Py_TPFLAGS_DEFAULT,
                              graph_slots };
