/* SPDX-License-Identifier: Apache-2.0
 * arrow.c - Model.map_arrow and ArrowStream: ef_map_arrow by Arrow's PyCapsule interface. pyarrow, Polars, DuckDB and others
 * hand batches over and take the results, without a copy; none of them is imported here.
 *
 * Whoever has the results calls from any thread, with the GIL or without it. Batches are made without it: the input may be
 * Python code, and so may what gets log lines. A reference is dropped with the GIL. A thread that Python does not know does
 * not wait for it, since whoever has the GIL may wait for that thread: Python's main thread drops that reference when it next
 * takes the GIL. */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

#include "core.h"

static const char stream_name[] = "arrow_array_stream", schema_name[] = "arrow_schema"; /* of capsules */

typedef struct Mapped Mapped;
struct Mapped {                   /* results, and the model that makes them */
    struct ArrowArrayStream results;
    Handle *model;                /* entered: it stays open until mapped_free */
    bool begun;                   /* a batch was asked for */
    Mapped *next;                 /* in `dropped` */
};

/* ---- the GIL ---- */

/* A thread that Python does not know cannot have the GIL. At Python's end nobody may wait for it. */
static bool gil_is_known(void)
{
    return Py_IsInitialized() && PyGILState_GetThisThreadState();
}

typedef struct Unlocked {
    PyThreadState *thread;        /* NULL: this thread did not have the GIL */
    PyGILState_STATE before;
    PyObject *type, *value, *trace; /* an exception that is set: Python code of the input must not see it */
} Unlocked;

static Unlocked gil_release(void)
{
    Unlocked u = { 0 };
    if (!gil_is_known()) return u;
    u.before = PyGILState_Ensure();
    if (u.before == PyGILState_UNLOCKED) return PyGILState_Release(u.before), u;
    PyErr_Fetch(&u.type, &u.value, &u.trace);
    u.thread = PyEval_SaveThread();
    return u;
}

static void gil_restore(Unlocked u)
{
    if (!u.thread) return;
    PyEval_RestoreThread(u.thread);
    PyErr_Restore(u.type, u.value, u.trace);
    PyGILState_Release(u.before);
}

/* ---- Python's end ---- */

/* Callbacks of the input that are Python code crash once Python has ended, and threads without the GIL go on until the
 * process does. So Python waits for those that are in here, and lets none but its own thread in afterwards. */
static atomic_int threads_in;
static atomic_bool ended;
static pthread_t ender;           /* the thread that ended Python */

static void results_leave(void)
{
    atomic_fetch_sub(&threads_in, 1);
}

static bool results_enter(void)
{
    atomic_fetch_add(&threads_in, 1);
    if (!atomic_load(&ended) || pthread_equal(ender, pthread_self())) return true;
    results_leave();
    return false;
}

static PyObject *results_end(PyObject *self, PyObject *unused)
{
    enum { MOST_MS = 5000 };      /* an input may never answer */
    const struct timespec ms = { .tv_nsec = 1000000 };
    (void)self, (void)unused;
    ender = pthread_self();
    atomic_store(&ended, true);
    Py_BEGIN_ALLOW_THREADS
    for (int i = 0; i < MOST_MS && atomic_load(&threads_in) > 0; i++) nanosleep(&ms, NULL);
    Py_END_ALLOW_THREADS
    Py_RETURN_NONE;
}

/* Threads stay behind in the parent. */
static void results_forked(void)
{
    atomic_store(&threads_in, 0);
}

bool py_arrow_watch_end(void)
{
    static PyMethodDef end = { "results_end", results_end, METH_NOARGS, NULL };
    static bool watched;
    if (watched || PyInterpreterState_GetID(PyInterpreterState_Get()) != 0) return true;
    PyObject *exit = PyImport_ImportModule("atexit"), *call = PyCFunction_New(&end, NULL);
    PyObject *done = exit && call ? PyObject_CallMethod(exit, "register", "O", call) : NULL;
    watched = done && pthread_atfork(NULL, NULL, results_forked) == 0;
    Py_XDECREF(done), Py_XDECREF(call), Py_XDECREF(exit);
    return done;
}

/* ---- results ---- */

static _Atomic(Mapped *) dropped; /* released, and waiting for the GIL */

/* Its results are released. Needs the GIL. */
static void mapped_free(Mapped *m)
{
    py_handle_leave(m->model);
    Py_DECREF((PyObject *)m->model);
    free(m);
}

static int mapped_free_dropped(void *unused)
{
    (void)unused;
    for (Mapped *m = atomic_exchange(&dropped, NULL), *next; m; m = next) {
        next = m->next;
        mapped_free(m);
    }
    return 0;
}

static void mapped_drop_later(Mapped *m)
{
    m->next = atomic_load(&dropped);
    while (!atomic_compare_exchange_weak(&dropped, &m->next, m)) continue;
    if (Py_IsInitialized()) Py_AddPendingCall(mapped_free_dropped, NULL); /* no room: the next map_arrow does it */
}

static void mapped_release(Mapped *m)
{
    const Unlocked u = gil_release();
    if (m->results.release) m->results.release(&m->results);
    gil_restore(u);
}

/* By whoever has the results: with the GIL, or without it. */
static void mapped_drop(Mapped *m)
{
    if (!results_enter()) return; /* the process ends, too */
    mapped_release(m);
    results_leave();
    if (!gil_is_known()) return mapped_drop_later(m);
    const PyGILState_STATE before = PyGILState_Ensure();
    mapped_free(m);
    PyGILState_Release(before);
}

/* Here, where the GIL is held, also at Python's end. */
static void mapped_end(Mapped *m)
{
    if (!results_enter()) return;
    mapped_release(m);
    results_leave();
    mapped_free(m);
}

/* Of the model, which is entered here. NULL: a Python exception is set. */
static Mapped *mapped_new(Handle *model)
{
    if (!py_handle_enter(model)) return NULL;
    Mapped *m = calloc(1, sizeof *m);
    if (!m) return py_handle_leave(model), PyErr_NoMemory(), NULL;
    Py_INCREF((PyObject *)model);
    m->model = model;
    return m;
}

static int mapped_schema(Mapped *m, struct ArrowSchema *out)
{
    if (!results_enter()) return ECANCELED;
    const Unlocked u = gil_release();
    const int code = m->results.get_schema(&m->results, out);
    results_leave();
    gil_restore(u);
    return code;
}

static void *mapped_raise(State *state, Mapped *m, int code)
{
    const char *why = m->results.get_last_error(&m->results);
    return py_raise_code(state, code == EINVAL ? EF_INVALID_INPUT : code == ENOSYS ? EF_UNSUPPORTED : EF_IO, "%s",
                         why ? why : strerror(code));
}

/* What is wrong with the columns is told now, not where the results are read. */
static bool mapped_open(State *state, Mapped *m, struct ArrowArrayStream *in, const char *options)
{
    struct ArrowSchema schema = { 0 };
    ef_error err;
    bool ok;
    if (!results_enter()) return py_raise_code(state, EF_UNAVAILABLE, "map_arrow: Python is ending"), false;
    Py_BEGIN_ALLOW_THREADS
    ok = ef_map_arrow(m->model->native, in, options, &m->results, &err);
    results_leave();
    Py_END_ALLOW_THREADS
    if (!ok) return py_raise_error(state, &err), false;
    const int code = mapped_schema(m, &schema);
    if (code) return mapped_raise(state, m, code), false;
    schema.release(&schema);
    return true;
}

/* ---- what is handed out ---- */

static int stream_get_schema(struct ArrowArrayStream *stream, struct ArrowSchema *out)
{
    return mapped_schema(stream->private_data, out);
}

static int stream_get_next(struct ArrowArrayStream *stream, struct ArrowArray *out)
{
    Mapped *m = stream->private_data;
    if (!results_enter()) return ECANCELED;
    m->begun = true;
    const Unlocked u = gil_release();
    const int code = m->results.get_next(&m->results, out);
    results_leave();
    gil_restore(u);
    return code;
}

static const char *stream_get_error(struct ArrowArrayStream *stream)
{
    Mapped *m = stream->private_data;
    return m->results.get_last_error(&m->results);
}

static void stream_release(struct ArrowArrayStream *stream)
{
    stream->release = NULL;
    mapped_drop(stream->private_data);
}

typedef struct ArrowStream {
    PyObject_HEAD
    Mapped *mapped;               /* NULL: handed out */
} ArrowStream;

static Mapped *arrow_take(PyObject *object)
{
    ArrowStream *self = (ArrowStream *)object;
    Mapped *m = self->mapped;
    self->mapped = NULL;
    return m ? m : py_raise_code(py_state_of(object), EF_INVALID_INPUT,
                                 "found results that are being read, or were: a stream is read once. Call map_arrow again");
}

/* Who looked at the schema only has not used the stream up: it can be had again. */
static void arrow_free_capsule(PyObject *capsule)
{
    struct ArrowArrayStream *stream = PyCapsule_GetPointer(capsule, stream_name);
    ArrowStream *owner = PyCapsule_GetContext(capsule);
    Mapped *m = stream->release ? stream->private_data : NULL;
    if (m && !m->begun) owner->mapped = m;
    else if (m) mapped_end(m);
    free(stream);
    Py_DECREF((PyObject *)owner);
}

/* requested_schema is a wish, which a producer may leave out of account. */
static PyObject *arrow_c_stream(PyObject *self, PyObject *args, PyObject *kwargs)
{
    static char *names[] = { "requested_schema", NULL };
    PyObject *wish = NULL;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|O:__arrow_c_stream__", names, &wish)) return NULL;
    Mapped *m = arrow_take(self);
    if (!m) return NULL;
    struct ArrowArrayStream *stream = malloc(sizeof *stream);
    PyObject *capsule = stream ? PyCapsule_New(stream, stream_name, NULL) : PyErr_NoMemory();
    if (!capsule) return ((ArrowStream *)self)->mapped = m, free(stream), NULL;
    *stream = (struct ArrowArrayStream){ stream_get_schema, stream_get_next, stream_get_error, stream_release, m };
    PyCapsule_SetContext(capsule, Py_NewRef(self));
    PyCapsule_SetDestructor(capsule, arrow_free_capsule);
    return capsule;
}

static void schema_free_capsule(PyObject *capsule)
{
    struct ArrowSchema *schema = PyCapsule_GetPointer(capsule, schema_name);
    if (schema->release) schema->release(schema);
    free(schema);
}

static PyObject *arrow_c_schema(PyObject *self, PyObject *unused)
{
    (void)unused;
    Mapped *m = arrow_take(self);
    if (!m) return NULL;
    PyObject *capsule = NULL;
    struct ArrowSchema *schema = calloc(1, sizeof *schema);
    const int code = schema ? mapped_schema(m, schema) : ENOMEM;
    if (!schema) PyErr_NoMemory();
    else if (code) mapped_raise(py_state_of(self), m, code);
    else capsule = PyCapsule_New(schema, schema_name, schema_free_capsule);
    if (!capsule && schema && schema->release) schema->release(schema);
    if (!capsule) free(schema);
    ((ArrowStream *)self)->mapped = m;
    return capsule;
}

static void arrow_dealloc(PyObject *object)
{
    ArrowStream *self = (ArrowStream *)object;
    PyTypeObject *type = Py_TYPE(object);
    if (self->mapped) mapped_end(self->mapped);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    release(object);
    Py_DECREF(type);
}

static PyMethodDef arrow_methods[] = {
    { "__arrow_c_stream__", (PyCFunction)(void (*)(void))arrow_c_stream, METH_VARARGS | METH_KEYWORDS,
      "__arrow_c_stream__($self, requested_schema=None)\n--\n\nThe results, once." },
    { "__arrow_c_schema__", arrow_c_schema, METH_NOARGS,
      "__arrow_c_schema__($self)\n--\n\nTheir columns, before they are read." },
    { NULL }
};
static PyType_Slot arrow_slots[] = {
    { Py_tp_doc, "Results that are made when they are read, batch by batch, by whatever reads __arrow_c_stream__." },
    { Py_tp_dealloc, arrow_dealloc },
    { Py_tp_methods, arrow_methods },
    { 0, NULL }
};
PyType_Spec py_arrow_spec = { "encoderfile_c._core.ArrowStream", sizeof(ArrowStream), 0,
                              Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, arrow_slots };

/* ---- what comes in ---- */

static PyObject *input_capsule(PyObject *data)
{
    PyObject *capsule, *method = NULL;
    if (PyCapsule_CheckExact(data)) capsule = Py_NewRef(data);
    else {
        method = PyObject_GetAttrString(data, "__arrow_c_stream__");
        if (!method && !PyErr_ExceptionMatches(PyExc_AttributeError)) return NULL;
        PyErr_Clear();
        capsule = method ? PyObject_CallNoArgs(method) : Py_NewRef(data);
        Py_XDECREF(method);
    }
    if (!capsule || PyCapsule_IsValid(capsule, stream_name)) return capsule;
    PyErr_Format(PyExc_TypeError, "data: found %R, wanted an object with __arrow_c_stream__ (a table of pyarrow, Polars or "
                 "DuckDB) or a capsule \"%s\"", PyCapsule_CheckExact(capsule) ? capsule : (PyObject *)Py_TYPE(capsule),
                 stream_name);
    Py_DECREF(capsule);
    return NULL;
}

static PyObject *arrow_new(State *state, Mapped *m)
{
    allocfunc alloc = (allocfunc)PyType_GetSlot(state->arrow, Py_tp_alloc);
    ArrowStream *self = (ArrowStream *)alloc(state->arrow, 0);
    if (self) self->mapped = m;
    return (PyObject *)self;
}

PyObject *py_model_map_arrow(PyObject *self, PyObject *args, PyObject *kwargs)
{
    State *state = py_state_of(self);
    PyObject *data, *held, *out = NULL;
    const char *options;
    mapped_free_dropped(NULL);
    if (!PyArg_ParseTuple(args, "O:map_arrow", &data) || !py_json_text(state, kwargs, "options", &held, &options)) return NULL;
    Mapped *m = mapped_new((Handle *)self);
    PyObject *capsule = m ? input_capsule(data) : NULL;
    if (capsule && mapped_open(state, m, PyCapsule_GetPointer(capsule, stream_name), options)) out = arrow_new(state, m);
    if (m && !out) mapped_end(m);
    Py_XDECREF(capsule);
    Py_XDECREF(held);
    return out;
}
