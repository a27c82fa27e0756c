/* SPDX-License-Identifier: Apache-2.0
 * handle.c - an object of the library inside of a Python object. close() during a call of another thread takes effect
 * when that call has ended: the counts are guarded by the GIL. */
#include "core.h"

PyObject *py_handle_new(PyTypeObject *type, const char *what, void *native, void (*release)(void *))
{
    allocfunc alloc = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    Handle *self = (Handle *)alloc(type, 0);
    if (!self) {
        if (release) release(native);
        return NULL;
    }
    self->native = native;
    self->release = release;
    self->what = what;
    return (PyObject *)self;
}

void *py_handle_enter(Handle *self)
{
    if (!self->native)
        return py_raise_code(py_state_of((PyObject *)self), EF_INVALID_INPUT, "the %s is closed",
                             self->what);
    if (self->owner && !py_handle_enter(self->owner)) return NULL;
    self->users++;
    return self->native;
}

static void handle_release(Handle *self, void *native)
{
    if (!native || !self->release) return;
    Py_BEGIN_ALLOW_THREADS
    self->release(native);
    Py_END_ALLOW_THREADS
}

void py_handle_leave(Handle *self)
{
    if (--self->users == 0 && self->closing) {
        void *native = self->closing;
        self->closing = NULL;
        handle_release(self, native);
    }
    if (self->owner) py_handle_leave(self->owner);
}

PyObject *py_handle_close(PyObject *object, PyObject *unused)
{
    (void)unused;
    Handle *self = (Handle *)object;
    void *native = self->native;
    self->native = NULL;
    if (self->users > 0 && native) self->closing = native;
    else handle_release(self, native);
    Py_RETURN_NONE;
}

PyObject *py_handle_self(PyObject *self, PyObject *unused)
{
    (void)unused;
    return Py_NewRef(self);
}

PyObject *py_handle_exit(PyObject *self, PyObject *args)
{
    (void)args;
    return py_handle_close(self, NULL);
}

PyObject *py_handle_is_closed(PyObject *self, void *unused)
{
    (void)unused;
    Handle *handle = (Handle *)self;
    return PyBool_FromLong(!handle->native || (handle->owner && !handle->owner->native));
}

void py_handle_dealloc(PyObject *object)
{
    Handle *self = (Handle *)object;
    PyTypeObject *type = Py_TYPE(object);
    handle_release(self, self->native);
    Py_XDECREF((PyObject *)self->owner);
    Py_XDECREF(self->keep);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    release(object);
    Py_DECREF(type);
}
