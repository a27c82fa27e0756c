/* SPDX-License-Identifier: Apache-2.0
 * json.c - what the library takes and gives as JSON, by Python's own module. */
#include "core.h"

PyObject *py_json_parse(State *state, const char *text)
{
    PyObject *string = PyUnicode_FromString(text);
    if (!string) return NULL;
    PyObject *value = PyObject_CallFunctionObjArgs(state->loads, string, NULL);
    Py_DECREF(string);
    return value;
}

bool py_json_text(State *state, PyObject *value, const char *what, PyObject **held, const char **text)
{
    *held = NULL;
    *text = NULL;
    if (!value || value == Py_None) return true;
    if (!PyDict_Check(value)) {
        PyErr_Format(PyExc_TypeError, "%s: found %R, wanted a dict or None", what,
                     (PyObject *)Py_TYPE(value));
        return false;
    }
    if (PyDict_Size(value) == 0) return true;
    *held = PyObject_CallFunctionObjArgs(state->dumps, value, NULL);
    *text = *held ? PyUnicode_AsUTF8AndSize(*held, NULL) : NULL;
    if (*text) return true;
    Py_CLEAR(*held);
    return false;
}
