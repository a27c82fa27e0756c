/* SPDX-License-Identifier: Apache-2.0
 * core.h - the extension module encoderfile_c._core: the objects of encoderfile.h as Python types. The stable ABI of
 * Python 3.11 (abi3), so one file serves every later version. Every call that may take long releases the GIL.
 *
 * Names that the files share begin with py_, since the library beside them has many of the others. A reference that a
 * function returns is the caller's; NULL or false means that a Python exception is set. */
#ifndef PYTHON_CORE_H
#define PYTHON_CORE_H
#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030B0000
#include <Python.h>

#include "encoderfile.h"

typedef struct State {            /* of the module */
    PyObject *loads, *dumps;      /* json.loads; json.dumps, PathLike objects taken as their path */
    PyObject *classes;            /* encoderfile_c.errors.CLASSES: name of an ef_code -> class */
    PyTypeObject *model, *tokenizer, *encoding, *graph, *tensor, *arrow;
} State;
State *py_state_of_module(PyObject *module);
State *py_state_of(PyObject *self);  /* of an object of one of the types */

/* ---- errors.c ---- */
void *py_raise_error(State *, const ef_error *);              /* returns NULL */
/* The exception of a code, raised by the binding itself. */
void *py_raise_code(State *, ef_code, const char *format, ...);
/* An InputError, its text by PyUnicode_FromFormat. Returns false. */
bool py_raise_input(State *, const char *format, ...);
/* What Python raised about a value (ValueError, OverflowError, BufferError) becomes an InputError: "what: its words". Other
 * exceptions stay. Returns false. */
bool py_raise_own(State *, const char *what);

/* ---- handle.c: what Model, Tokenizer and Graph have in common ---- */
typedef struct Handle Handle;
struct Handle {
    PyObject_HEAD
    void *native;                 /* NULL: closed, or being closed by the last of its users */
    void (*release)(void *);      /* NULL: borrowed from owner */
    Handle *owner;                /* (optional) kept alive and open while this one is used */
    PyObject *keep;               /* (optional) what native borrows */
    void *closing;                /* native, once close was called during a call */
    Py_ssize_t users;             /* calls that run now */
    const char *what;             /* "model" */
};
PyObject *py_handle_new(PyTypeObject *, const char *what, void *native, void (*release)(void *));
void *py_handle_enter(Handle *);     /* native; each is followed by a py_handle_leave */
void py_handle_leave(Handle *);
PyObject *py_handle_close(PyObject *self, PyObject *unused);
PyObject *py_handle_self(PyObject *self, PyObject *unused);  /* __enter__ */
PyObject *py_handle_exit(PyObject *self, PyObject *args);    /* __exit__ */
PyObject *py_handle_is_closed(PyObject *self, void *unused);
void py_handle_dealloc(PyObject *self);

/* ---- inputs.c: Python objects to ef_input ---- */
typedef struct Inputs {
    ef_input *in;
    size_t count;
    bool single;                  /* it was one input, not a list of them */
    PyObject *items;              /* a tuple: the inputs, held while the GIL is released */
    PyObject *keep;               /* a list: what else in[] points into */
} Inputs;
/* A str, a tuple of two, a dict, or a list of these; text_only: as texts are given to a tokenizer. */
bool py_inputs_take(State *, PyObject *, Inputs *);
void py_inputs_free(Inputs *);

/* ---- tensor.c: named arrays, by the buffer protocol ---- */
typedef struct Shape {
    int rank;
    const int64_t *dim;
} Shape;
/* data lies in what owner keeps alive; owner's reference is taken over, also on failure. */
PyObject *py_tensor_new(State *, ef_type, Shape, void *data, PyObject *owner);
PyObject *py_tensor_alloc(State *, ef_type, Shape, void **data); /* of its own memory, not filled */
PyObject *py_tensors_dict(State *, ef_arrays *);  /* name -> Tensor; takes the arrays over */
const char *py_tensor_dtype(ef_type);             /* "float32" */
/* A C-contiguous buffer of one of the types; keep gets what holds it. dim: [64], filled. */
bool py_tensor_view(State *, PyObject *, const char *name, PyObject *keep, ef_array *out, int64_t *dim);

/* ---- json.c ---- */
PyObject *py_json_parse(State *, const char *text);
PyObject *py_value_make(const ef_value *);        /* what json.loads makes of the same text */
/* None: *text is NULL; else the UTF-8 of *held, which the caller releases. */
bool py_json_text(State *, PyObject *value, const char *what, PyObject **held, const char **text);

/* ---- model.c, tokenizer.c, graph.c, arrow.c, tools.c ---- */
extern PyType_Spec py_model_spec, py_tokenizer_spec, py_encoding_spec, py_graph_spec, py_tensor_spec, py_arrow_spec;
extern PyMethodDef py_tool_methods[];
PyObject *py_tokenizer_of(State *, Handle *model);  /* of an open model; None: it reads no texts */
PyObject *py_model_map_arrow(PyObject *self, PyObject *args, PyObject *kwargs);
bool py_arrow_watch_end(void); /* false: a Python exception is set */
/* Options of Model and Graph, parsed from kwargs. keep: a list that holds their texts. */
bool py_options_take(State *, PyObject *kwargs, PyObject *keep, ef_options *, PyObject **progress);
/* A str or a path as the system's bytes, for a parameter of that name. */
bool py_path_take(State *, PyObject *, const char *name, PyObject **bytes);
/* A whole number that is an int in C, too. wanted: "1 to 64" */
bool py_int_take(State *, PyObject *, const char *name, const char *wanted, int *out);

/* Progress of the calls that this thread makes between begin and end: to a callable, and to signals (Ctrl-C). The GIL
 * is held at begin and end, and not held by the calls. end: false if Python code raised. */
typedef struct Progress {
    PyObject *callable;           /* NULL: none */
    bool raised;
    PyObject *error;              /* what Python code raised */
    long long asked;              /* when signals were last looked at, in ms */
} Progress;
void py_progress_begin(Progress *, PyObject *callable);
bool py_progress_end(Progress *);
PyObject *py_core_set_log(PyObject *module, PyObject *callable);

#endif
