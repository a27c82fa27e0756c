/* SPDX-License-Identifier: Apache-2.0
 * errors.c - an ef_error as an exception: its class is a row of encoderfile_c.errors, its .code the code's name. */
#include <stdarg.h>
#include <stdio.h>

#include "core.h"

static const char *const code_names[] = {
    [EF_OK] = "ok",
    [EF_USAGE] = "usage",
    [EF_BAD_REQUEST] = "bad_request",
    [EF_INVALID_INPUT] = "invalid_input",
    [EF_NOT_FOUND] = "not_found",
    [EF_METHOD] = "method",
    [EF_TOO_LARGE] = "too_large",
    [EF_MEDIA_TYPE] = "media_type",
    [EF_TIMEOUT] = "timeout",
    [EF_DEADLINE] = "deadline",
    [EF_UNAUTHORIZED] = "unauthorized",
    [EF_OVERLOADED] = "overloaded",
    [EF_UNAVAILABLE] = "unavailable",
    [EF_BAD_MODEL] = "bad_model",
    [EF_UNSUPPORTED] = "unsupported",
    [EF_IO] = "io",
    [EF_INTERNAL] = "internal",
    [EF_EMPTY] = "empty",
    [EF_CANCELLED] = "cancelled",
};
enum { CODE_COUNT = sizeof code_names / sizeof *code_names };

/* Missing memory has no code of its own. */
static const char *error_name(const ef_error *err)
{
    if (strncmp(err->message, "out of memory", strlen("out of memory")) == 0) return "memory";
    return (size_t)err->code < CODE_COUNT ? code_names[err->code] : "internal";
}

void *py_raise_error(State *state, const ef_error *err)
{
    const char *name = error_name(err);
    PyObject *class = state->classes ? PyDict_GetItemString(state->classes, name)
                                     : NULL; /* borrowed; NULL: shutting down */
    if (!class) class = PyExc_RuntimeError;
    PyObject *text = PyUnicode_DecodeUTF8(err->message, (Py_ssize_t)strlen(err->message), "replace");
    PyObject *code = PyUnicode_FromString(name);
    PyObject *exception = text && code ? PyObject_CallFunctionObjArgs(class, text, NULL) : NULL;
    if (exception && PyObject_SetAttrString(exception, "code", code) == 0) PyErr_SetObject(class, exception);
    Py_XDECREF(text);
    Py_XDECREF(code);
    Py_XDECREF(exception);
    return NULL;
}

void *py_raise_code(State *state, ef_code code, const char *format, ...)
{
    ef_error err = { .code = code };
    va_list list;
    va_start(list, format);
    vsnprintf(err.message, sizeof err.message, format, list);
    va_end(list);
    return py_raise_error(state, &err);
}

/* With the code of its class. */
static bool raise_text(State *state, PyObject *text)
{
    const char *words = text ? PyUnicode_AsUTF8AndSize(text, NULL) : NULL;
    if (words) py_raise_code(state, EF_INVALID_INPUT, "%s", words);
    Py_XDECREF(text);
    return false;
}

bool py_raise_input(State *state, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    PyObject *text = PyUnicode_FromFormatV(format, list);
    va_end(list);
    return raise_text(state, text);
}

bool py_raise_own(State *state, const char *what)
{
    PyObject *type, *value, *trace;
    if (!PyErr_ExceptionMatches(PyExc_ValueError) && !PyErr_ExceptionMatches(PyExc_OverflowError) &&
        !PyErr_ExceptionMatches(PyExc_BufferError))
        return false;
    PyErr_Fetch(&type, &value, &trace);
    PyErr_NormalizeException(&type, &value, &trace);
    py_raise_input(state, "%s: %S", what, value);
    Py_XDECREF(type);
    Py_XDECREF(value);
    Py_XDECREF(trace);
    return false;
}
