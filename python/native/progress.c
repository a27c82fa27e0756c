/* SPDX-License-Identifier: Apache-2.0
 * progress.c - the way back: progress of the tools and log lines, to Python code, from whatever thread they come. */
#include <time.h>

#include "core.h"

enum { SIGNALS_MS = 50 };

static long long progress_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000LL + t.tv_nsec / 1000000;
}

/* False: cancel. */
static bool progress_ask(Progress *p, const char *stage, uint64_t done, uint64_t total)
{
    if (PyErr_CheckSignals() != 0) return false;
    if (!p->callable) return true;
    PyObject *answer = PyObject_CallFunction(p->callable, "sKK", stage, (unsigned long long)done,
                                             (unsigned long long)total);
    bool go_on = answer && answer != Py_False;
    Py_XDECREF(answer);
    return go_on;
}

static bool progress_report(void *own, const char *stage, uint64_t done, uint64_t total)
{
    Progress *p = own;
    long long now = progress_now();
    if (p->raised) return false;
    if (!p->callable && now - p->asked < SIGNALS_MS) return true;
    PyGILState_STATE gil = PyGILState_Ensure();
    PyObject *type, *value, *trace; /* one that was set before: none may be while code runs */
    p->asked = now;
    bool go_on = progress_ask(p, stage ? stage : "", done, total);
    if (PyErr_Occurred()) {
        p->raised = true; /* shown by py_progress_end, on the thread that called */
        PyErr_Fetch(&type, &value, &trace);
        PyErr_NormalizeException(&type, &value, &trace);
        Py_XDECREF(type);
        Py_XDECREF(trace);
        p->error = value;
    }
    PyGILState_Release(gil);
    return go_on;
}

void py_progress_begin(Progress *p, PyObject *callable)
{
    *p = (Progress){ .callable = callable == Py_None ? NULL : callable, .asked = progress_now() };
    ef_set_progress(progress_report, p);
}

bool py_progress_end(Progress *p)
{
    ef_set_progress(NULL, NULL);
    if (!p->raised) return true;
    PyErr_SetObject((PyObject *)Py_TYPE(p->error), p->error);
    Py_CLEAR(p->error);
    return false;
}

/* ---- log lines ---- */

static PyObject *log_callable;    /* guarded by the GIL */

static void log_line(void *own, ef_level level, const char *text)
{
    (void)own;
    if (!Py_IsInitialized()) return;
    PyGILState_STATE gil = PyGILState_Ensure();
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    PyObject *callable = log_callable ? Py_NewRef(log_callable) : NULL;
    PyObject *done = callable ? PyObject_CallFunction(callable, "is", (int)level, text) : NULL;
    if (callable && !done) PyErr_WriteUnraisable(callable);
    Py_XDECREF(done);
    Py_XDECREF(callable);
    PyErr_Restore(type, value, trace);
    PyGILState_Release(gil);
}

PyObject *py_core_set_log(PyObject *module, PyObject *callable)
{
    (void)module;
    if (callable != Py_None && !PyCallable_Check(callable)) {
        PyErr_Format(PyExc_TypeError, "set_log: found %R, wanted a callable or None",
                     (PyObject *)Py_TYPE(callable));
        return NULL;
    }
    PyObject *old = log_callable;
    log_callable = callable == Py_None ? NULL : Py_NewRef(callable);
    ef_set_log(log_callable ? log_line : NULL, NULL);
    Py_XDECREF(old);
    Py_RETURN_NONE;
}
