/* SPDX-License-Identifier: Apache-2.0
 * json.c - what the library takes and gives as JSON, by Python's own module; of replies the library's tree, which is quicker. */
#include "core.h"

static PyObject *value_text(const ef_value *v)
{
    return PyUnicode_FromStringAndSize(v->as.text, (Py_ssize_t)v->size);
}

static PyObject *value_list(const ef_value *v)
{
    PyObject *list = PyList_New((Py_ssize_t)v->size);
    for (size_t i = 0; list && i < v->size; i++) {
        PyObject *item = py_value_make(&v->as.items[i]);
        if (!item || PyList_SetItem(list, (Py_ssize_t)i, item) != 0) Py_CLEAR(list);
    }
    return list;
}

static PyObject *value_dict(const ef_value *v)
{
    PyObject *dict = PyDict_New();
    for (size_t i = 0; dict && i < v->size; i++) {
        PyObject *key = value_text(&v->as.items[2 * i]), *item = py_value_make(&v->as.items[2 * i + 1]);
        if (!key || !item || PyDict_SetItem(dict, key, item) != 0) Py_CLEAR(dict);
        Py_XDECREF(key);
        Py_XDECREF(item);
    }
    return dict;
}

PyObject *py_value_make(const ef_value *v)
{
    switch (v->kind) {
    case EF_VALUE_BOOL: return PyBool_FromLong((long)v->as.integer);
    case EF_VALUE_INT: return PyLong_FromLongLong(v->as.integer);
    case EF_VALUE_FLOAT: return PyFloat_FromDouble(v->as.number);
    case EF_VALUE_TEXT: return value_text(v);
    case EF_VALUE_LIST: return value_list(v);
    case EF_VALUE_MAP: return value_dict(v);
    case EF_VALUE_NULL: break;
    }
    return Py_NewRef(Py_None);
}

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
    return py_raise_own(state, what);
}
