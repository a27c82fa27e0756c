/* SPDX-License-Identifier: Apache-2.0
 * model.c - Model: an ef_model. A call waits in slices, so that Ctrl-C ends it. */
#include "core.h"

enum { SLICE_MS = 50, SHORT_BYTES = 2048 };

/* ---- opening ---- */

bool py_path_take(State *state, PyObject *object, const char *name, PyObject **bytes)
{
    if (PyUnicode_FSConverter(object, bytes)) return true;
    if (!PyErr_ExceptionMatches(PyExc_TypeError)) return py_raise_own(state, name); /* a NUL inside of it */
    PyErr_Format(PyExc_TypeError, "%s: found %R, wanted a str or a path", name, (PyObject *)Py_TYPE(object));
    return false;
}

bool py_int_take(State *state, PyObject *object, const char *name, const char *wanted, int *out)
{
    int over = 0;
    PyObject *whole = PyNumber_Index(object);
    long value = whole ? PyLong_AsLongAndOverflow(whole, &over) : 0;
    if (!whole && PyErr_ExceptionMatches(PyExc_TypeError))
        PyErr_Format(PyExc_TypeError, "%s: found %R, wanted an int", name, (PyObject *)Py_TYPE(object));
    bool fits = whole && !over && value >= INT32_MIN && value <= INT32_MAX;
    if (whole && over) py_raise_input(state, "%s: found a number of more than 64 bits, wanted %s", name, wanted);
    else if (whole && !fits) py_raise_input(state, "%s: found %S, wanted %s", name, whole, wanted);
    Py_XDECREF(whole);
    *out = (int)value;
    return fits;
}

static bool option_text(State *state, PyObject *keep, PyObject *object, const char *name, const char **out)
{
    PyObject *bytes = NULL;
    if (!object || object == Py_None) return true;
    if (!py_path_take(state, object, name, &bytes)) return false;
    *out = PyBytes_AsString(bytes);
    bool ok = PyList_Append(keep, bytes) == 0;
    Py_DECREF(bytes);
    return ok;
}

static bool option_normalize(PyObject *object, int *out)
{
    int yes = object && object != Py_None ? PyObject_IsTrue(object) : 0;
    if (object && object != Py_None) *out = yes ? 1 : -1;
    return yes >= 0;
}

bool py_options_take(State *state, PyObject *kwargs, PyObject *keep, ef_options *o, PyObject **progress)
{
    static char *names[] = { "threads",   "replicas",  "kernels",  "task",
                             "tokenizer", "processor", "pooling",  "ocr",
                             "precision", "normalize", "progress",  "max_length", NULL };
    PyObject *count[2] = { NULL }, *text[7] = { NULL }, *normalize = NULL, *length = NULL, *none = PyTuple_New(0);
    *o = (ef_options){ .struct_size = sizeof *o };
    int *counts[] = { &o->threads, &o->replicas };
    const char **out[] = { &o->kernels, &o->task, &o->tokenizer, &o->processor,
                           &o->pooling, &o->ocr,  &o->precision };
    bool ok =
        none && PyArg_ParseTupleAndKeywords(none, kwargs, "|$OOOOOOOOOOOO", names, &count[0],
                                            &count[1], &text[0], &text[1], &text[2], &text[3],
                                            &text[4], &text[5], &text[6], &normalize, progress, &length);
    Py_XDECREF(none);
    for (int i = 0; ok && i < 2; i++)
        ok = !count[i] || py_int_take(state, count[i], names[i], "0 to 4096", counts[i]);
    ok = ok && (!length || length == Py_None || py_int_take(state, length, "max_length", "0 to 2147483647", &o->max_length));
    for (int i = 0; ok && i < 7; i++) ok = option_text(state, keep, text[i], names[i + 2], out[i]);
    return ok && option_normalize(normalize, &o->normalize);
}

typedef struct Opening {
    const char *path;
    ef_array bytes;
    bool memory;
    ef_options options;
    PyObject *progress;
} Opening;

static PyObject *model_make(PyTypeObject *type, Opening *how, PyObject *keep)
{
    State *state = PyType_GetModuleState(type);
    ef_error err;
    Progress p;
    ef_model *model;
    py_progress_begin(&p, how->progress);
    Py_BEGIN_ALLOW_THREADS
    model = how->memory ? ef_open_memory(how->bytes.data, how->bytes.size, &how->options, &err)
                        : ef_open(how->path, &how->options, &err);
    Py_END_ALLOW_THREADS
    if (!py_progress_end(&p)) return ef_close(model), NULL;
    if (!model) return py_raise_error(state, &err);
    PyObject *self = py_handle_new(type, "model", model, (void (*)(void *))ef_close);
    if (self) ((Handle *)self)->keep = Py_NewRef(keep);
    return self;
}

static PyObject *model_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    Opening how = { 0 };
    PyObject *path, *keep = PyList_New(0), *self = NULL;
    State *state = PyType_GetModuleState(type);
    if (keep && PyArg_ParseTuple(args, "O:Model", &path) &&
        py_options_take(state, kwargs, keep, &how.options, &how.progress) &&
        option_text(state, keep, path, "path", &how.path)) {
        if (how.path) self = model_make(type, &how, keep);
        else PyErr_SetString(PyExc_TypeError, "path: found None, wanted a str or a path");
    }
    Py_XDECREF(keep);
    return self;
}

static PyObject *model_from_bytes(PyObject *class, PyObject *args, PyObject *kwargs)
{
    Opening how = { .memory = true };
    int64_t dim[64];
    PyObject *data, *keep = PyList_New(0), *self = NULL;
    State *state = PyType_GetModuleState((PyTypeObject *)class);
    if (keep && PyArg_ParseTuple(args, "O:from_bytes", &data) &&
        py_options_take(state, kwargs, keep, &how.options, &how.progress) &&
        py_tensor_view(state, data, "data", keep, &how.bytes, dim))
        self = model_make((PyTypeObject *)class, &how, keep);
    Py_XDECREF(keep);
    return self;
}

/* ---- calls ---- */

typedef struct Call {
    ef_model *model;
    const char *task;             /* NULL and pipeline: the model's own */
    bool pipeline;                /* ef_run, not ef_predict */
    Inputs inputs;
    const char *params;
} Call;

/* Few short texts: they are done before anybody would press Ctrl-C, and 10 us sooner without another thread. */
static bool call_is_short(const Inputs *inputs)
{
    size_t bytes = 0;
    for (size_t i = 0; i < inputs->count; i++) {
        const ef_input *in = &inputs->in[i];
        if (in->kind > EF_PAIR || (bytes += in->size + in->size2) > SHORT_BYTES) return false;
    }
    return true;
}

static ef_reply *call_short(State *state, const Call *c)
{
    ef_error err;
    ef_reply *reply;
    const Inputs *in = &c->inputs;
    Py_BEGIN_ALLOW_THREADS
    reply = c->pipeline ? ef_run(c->model, c->task, in->in, in->count, c->params, &err)
                        : ef_predict(c->model, in->in, in->count, c->params, &err);
    Py_END_ALLOW_THREADS
    return reply ? reply : py_raise_error(state, &err);
}

static ef_call *call_start(const Call *c, ef_error *err)
{
    const Inputs *in = &c->inputs;
    return c->pipeline ? ef_start_run(c->model, c->task, in->in, in->count, c->params, NULL, NULL, err)
                       : ef_start(c->model, in->in, in->count, c->params, NULL, NULL, err);
}

/* Cancels when a signal's handler raised. */
static ef_reply *call_long(State *state, const Call *c)
{
    ef_error err = { 0 };
    ef_call *call;
    ef_reply *reply;
    bool done = false, interrupted = false;
    Py_BEGIN_ALLOW_THREADS
    call = call_start(c, &err);
    done = call && ef_wait(call, SLICE_MS);
    Py_END_ALLOW_THREADS
    if (!call) return py_raise_error(state, &err);
    while (!done && !interrupted) {
        interrupted = PyErr_CheckSignals() != 0;
        if (interrupted) ef_cancel(call);
        Py_BEGIN_ALLOW_THREADS
        done = ef_wait(call, interrupted ? -1 : SLICE_MS);
        Py_END_ALLOW_THREADS
    }
    Py_BEGIN_ALLOW_THREADS
    reply = ef_finish(call, &err);
    Py_END_ALLOW_THREADS
    if (interrupted) return ef_reply_free(reply), NULL;
    return reply ? reply : py_raise_error(state, &err);
}

typedef PyObject *Answer(State *, const Call *, ef_reply *);

static PyObject *answer_json(State *state, const Call *c, ef_reply *reply)
{
    (void)c;
    ef_error err;
    const ef_value *value;
    Py_BEGIN_ALLOW_THREADS
    value = ef_reply_value(reply, &err);
    Py_END_ALLOW_THREADS
    return value ? py_value_make(value) : py_raise_error(state, &err);
}

/* The width of an input's only row of numbers; 0: it has several, or none. */
static int64_t vector_width(const ef_tensor *t)
{
    if (!t || t->rank < 1 || t->rank > 2 || (t->rank == 2 && t->dim[0] != 1)) return 0;
    return t->dim[t->rank - 1];
}

static PyObject *answer_vectors(State *state, const Call *c, ef_reply *reply)
{
    int64_t width = c->inputs.count ? vector_width(ef_reply_tensor(reply, 0))
                                    : ef_describe(c->model)->dimensions;
    int64_t dim[2] = { (int64_t)c->inputs.count, width };
    void *data;
    PyObject *tensor = py_tensor_alloc(state, EF_F32, (Shape){ 2, dim }, &data);
    for (size_t i = 0; tensor && i < c->inputs.count; i++) {
        const ef_tensor *row = ef_reply_tensor(reply, i);
        if (width == 0 || vector_width(row) != width) {
            Py_DECREF(tensor);
            return py_raise_code(
                state, EF_UNSUPPORTED,
                "vectors: input %zu has no vector as the others have: the model is for other tasks",
                i);
        }
        memcpy((float *)data + i * (size_t)width, row->data, (size_t)width * sizeof(float));
    }
    return tensor;
}

/* The numbers of each input, as its task's graph gives them: [labels], [tokens][labels], ... */
static PyObject *answer_tensors(State *state, const Call *c, ef_reply *reply)
{
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list && i < c->inputs.count; i++) {
        const ef_tensor *row = ef_reply_tensor(reply, i);
        void *data;
        size_t n = 1;
        if (!row)
            return Py_DECREF(list), py_raise_code(state, EF_UNSUPPORTED,
                                                  "tensors: this model's task keeps no numbers");
        for (int d = 0; d < row->rank; d++) n *= (size_t)row->dim[d];
        PyObject *tensor = py_tensor_alloc(state, EF_F32, (Shape){ row->rank, row->dim }, &data);
        if (tensor) memcpy(data, row->data, n * sizeof(float));
        if (!tensor || PyList_Append(list, tensor) != 0) Py_CLEAR(list);
        Py_XDECREF(tensor);
    }
    return list;
}

static PyObject *call_answer(PyObject *self, Call *c, PyObject *inputs, PyObject *params, Answer *answer)
{
    State *state = py_state_of(self);
    PyObject *held = NULL, *out = NULL;
    if (!py_json_text(state, params, "params", &held, &c->params)) return NULL;
    if (py_inputs_take(state, inputs, &c->inputs)) {
        c->model = py_handle_enter((Handle *)self);
        if (c->model) {
            bool none = answer == answer_vectors &&
                        c->inputs.count == 0; /* the library takes no empty list */
            ef_reply *reply = none                        ? NULL
                              : call_is_short(&c->inputs) ? call_short(state, c)
                                                          : call_long(state, c);
            if (reply || none) out = answer(state, c, reply);
            ef_reply_free(reply);
            py_handle_leave((Handle *)self);
        }
        py_inputs_free(&c->inputs);
    }
    Py_XDECREF(held);
    return out;
}

static PyObject *model_answer(PyObject *self, PyObject *args, PyObject *kwargs, Answer *answer)
{
    static char *names[] = { "inputs", "params", NULL };
    PyObject *inputs, *params = NULL;
    Call c = { 0 };
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|O", names, &inputs, &params)) return NULL;
    return call_answer(self, &c, inputs, params, answer);
}

static PyObject *model_predict(PyObject *self, PyObject *args, PyObject *kwargs)
{
    return model_answer(self, args, kwargs, answer_json);
}

static PyObject *model_vectors(PyObject *self, PyObject *args, PyObject *kwargs)
{
    return model_answer(self, args, kwargs, answer_vectors);
}

static PyObject *model_tensors(PyObject *self, PyObject *args, PyObject *kwargs)
{
    return model_answer(self, args, kwargs, answer_tensors);
}

/* A name, or None: the model's own. */
static bool call_task(State *state, PyObject *task, const char **out)
{
    Py_ssize_t size = 0;
    *out = NULL;
    if (task == Py_None) return true;
    if (!PyUnicode_Check(task)) {
        PyErr_Format(PyExc_TypeError, "task: found %R, wanted a str or None", (PyObject *)Py_TYPE(task));
        return false;
    }
    *out = PyUnicode_AsUTF8AndSize(task, &size);
    if (!*out) return py_raise_own(state, "task");
    return strlen(*out) == (size_t)size || py_raise_input(state, "task: found %R, wanted the name of a task", task);
}

static PyObject *model_run(PyObject *self, PyObject *args, PyObject *kwargs)
{
    static char *names[] = { "task", "inputs", "params", NULL };
    PyObject *task, *inputs, *params = NULL;
    Call c = { .pipeline = true };
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OO|O:run", names, &task, &inputs, &params) ||
        !call_task(py_state_of(self), task, &c.task))
        return NULL;
    return call_answer(self, &c, inputs, params, answer_json);
}

static PyObject *model_prepare(PyObject *self, PyObject *args, PyObject *kwargs)
{
    static char *names[] = { "inputs", "params", NULL };
    State *state = py_state_of(self);
    PyObject *object, *params = NULL, *held, *out = NULL;
    const char *text;
    Inputs inputs;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|O:prepare", names, &object, &params) ||
        !py_json_text(state, params, "params", &held, &text))
        return NULL;
    if (py_inputs_take(state, object, &inputs)) {
        ef_model *model = py_handle_enter((Handle *)self);
        if (model) {
            ef_arrays *arrays;
            ef_error err;
            Py_BEGIN_ALLOW_THREADS
            arrays = ef_prepare(model, inputs.in, inputs.count, text, &err);
            Py_END_ALLOW_THREADS
            out = arrays ? py_tensors_dict(state, arrays) : py_raise_error(state, &err);
            py_handle_leave((Handle *)self);
        }
        py_inputs_free(&inputs);
    }
    Py_XDECREF(held);
    return out;
}

/* ---- what it is ---- */

static PyObject *info_labels(const ef_info *info)
{
    PyObject *list = PyList_New(0);
    for (int i = 0; list && i < info->label_count; i++) {
        PyObject *text = PyUnicode_FromString(info->labels[i] ? info->labels[i] : "");
        if (!text || PyList_Append(list, text) != 0) Py_CLEAR(list);
        Py_XDECREF(text);
    }
    return list;
}

static PyObject *model_info(PyObject *self, PyObject *unused)
{
    (void)unused;
    ef_model *model = py_handle_enter((Handle *)self);
    if (!model) return NULL;
    const ef_info *i = ef_describe(model);
    PyObject *labels = info_labels(i);
    PyObject *dict =
        labels ? Py_BuildValue("{s:z,s:z,s:z,s:z,s:i,s:i,s:O,s:z,s:O,s:i}", "name", i->name,
                               "version", i->version, "task", i->task, "kernels", i->kernels,
                               "max_tokens", i->max_tokens, "hidden", i->hidden, "labels", labels,
                               "pooling", i->pooling, "normalized",
                               i->normalized ? Py_True : Py_False, "dimensions", i->dimensions)
               : NULL;
    Py_XDECREF(labels);
    py_handle_leave((Handle *)self);
    return dict;
}

static PyObject *model_tokenizer(PyObject *self, void *unused)
{
    (void)unused;
    if (!py_handle_enter((Handle *)self)) return NULL;
    PyObject *tokenizer = py_tokenizer_of(py_state_of(self), (Handle *)self);
    py_handle_leave((Handle *)self);
    return tokenizer;
}

static PyMethodDef model_methods[] = {
    { "predict", (PyCFunction)(void (*)(void))model_predict, METH_VARARGS | METH_KEYWORDS,
      "predict($self, inputs, params=None)\n--\n\nWhat POST /predict answers for these inputs." },
    { "run", (PyCFunction)(void (*)(void))model_run, METH_VARARGS | METH_KEYWORDS,
      "run($self, task, inputs, params=None)\n--\n\nWhat a pipeline of transformers returns: for "
      "one input its result, for several a list." },
    { "vectors", (PyCFunction)(void (*)(void))model_vectors, METH_VARARGS | METH_KEYWORDS,
      "vectors($self, inputs, params=None)\n--\n\nOne float32 Tensor [inputs, dimensions]." },
    { "tensors", (PyCFunction)(void (*)(void))model_tensors, METH_VARARGS | METH_KEYWORDS,
      "tensors($self, inputs, params=None)\n--\n\nA float32 Tensor for each input: the numbers "
      "that its task's graph gives." },
    { "prepare", (PyCFunction)(void (*)(void))model_prepare, METH_VARARGS | METH_KEYWORDS,
      "prepare($self, inputs, params=None)\n--\n\nThe tensors that the graph would be given: name "
      "-> Tensor." },
    { "map_arrow", (PyCFunction)(void (*)(void))py_model_map_arrow, METH_VARARGS | METH_KEYWORDS,
      "map_arrow($self, data, /, **options)\n--\n\nThe rows of a table with their results, as "
      "`map` gives them: batches of Arrow in and out, without a copy." },
    { "info", model_info, METH_NOARGS, "info($self)\n--\n\nName, task, labels, sizes." },
    { "from_bytes", (PyCFunction)(void (*)(void))model_from_bytes,
      METH_CLASS | METH_VARARGS | METH_KEYWORDS,
      "from_bytes($type, data, **options)\n--\n\nA package that is in memory, which is not "
      "copied." },
    { "close", py_handle_close, METH_NOARGS,
      "close($self)\n--\n\nReleases it; calls that run now end first." },
    { "__enter__", py_handle_self, METH_NOARGS, NULL },
    { "__exit__", py_handle_exit, METH_VARARGS, NULL },
    { NULL }
};
static PyGetSetDef model_fields[] = {
    { "tokenizer", model_tokenizer, NULL, "its Tokenizer, or None" },
    { "closed", py_handle_is_closed, NULL, "close was called" },
    { NULL }
};
static PyType_Slot model_slots[] = {
    { Py_tp_doc, "Model(path, *, threads=0, replicas=0, kernels=None, task=None, tokenizer=None, "
                 "processor=None, pooling=None, "
                 "ocr=None, precision=None, normalize=None, progress=None, max_length=None)\n--\n\nAn opened model; "
                 "any number of threads may use it." },
    { Py_tp_new, model_new },
    { Py_tp_dealloc, py_handle_dealloc },
    { Py_tp_methods, model_methods },
    { Py_tp_getset, model_fields },
    { 0, NULL }
};
PyType_Spec py_model_spec = { "encoderfile_c._core.Model", sizeof(Handle), 0, Py_TPFLAGS_DEFAULT,
                              model_slots };
