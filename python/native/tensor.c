/* SPDX-License-Identifier: Apache-2.0
 * tensor.c - Tensor: an array that lies in memory of the library or of its own, by the buffer protocol, so that
 * numpy.asarray and memoryview read it without a copy. And the way in: buffers of callers as ef_array. */
#include <stdlib.h>

#include "core.h"

enum { MOST_RANK = 64 };

static const struct TypeRow {
    const char *dtype, *format;   /* of numpy; of the struct module */
    Py_ssize_t size;
    const char *others;           /* formats that mean the same here, with that size */
} rows[] = {
    [EF_F32] = { "float32", "f", 4, "f" },   [EF_F64] = { "float64", "d", 8, "d" },
    [EF_F16] = { "float16", "e", 2, "e" },   [EF_BF16] = { "bfloat16", "H", 2, "" },
    [EF_I8] = { "int8", "b", 1, "b" },       [EF_U8] = { "uint8", "B", 1, "Bc" },
    [EF_I16] = { "int16", "h", 2, "h" },     [EF_U16] = { "uint16", "H", 2, "H" },
    [EF_I32] = { "int32", "i", 4, "il" },    [EF_U32] = { "uint32", "I", 4, "IL" },
    [EF_I64] = { "int64", "q", 8, "qln" },   [EF_U64] = { "uint64", "Q", 8, "QLN" },
    [EF_BOOL] = { "bool", "?", 1, "?" },     [EF_STRING] = { "string", NULL, 0, "" },
};
enum { TYPE_COUNT = sizeof rows / sizeof *rows };

typedef struct Tensor {
    PyObject_HEAD
    PyObject *owner;
    void *data;
    ef_type type;
    int rank;
    Py_ssize_t size;              /* bytes */
    Py_ssize_t *shape;            /* [rank], then the strides, [rank] */
} Tensor;

const char *py_tensor_dtype(ef_type type)
{
    return (size_t)type < TYPE_COUNT ? rows[type].dtype : "unknown";
}

PyObject *py_tensor_new(State *state, ef_type type, Shape shape, void *data, PyObject *owner)
{
    if (!owner) return NULL;
    allocfunc alloc = (allocfunc)PyType_GetSlot(state->tensor, Py_tp_alloc);
    Tensor *self = (Tensor *)alloc(state->tensor, 0);
    if (!self) return Py_DECREF(owner), NULL;
    self->owner = owner;
    self->shape = PyMem_Calloc((size_t)shape.rank * 2 + 1, sizeof *self->shape);
    if (!self->shape) return Py_DECREF((PyObject *)self), PyErr_NoMemory();
    self->data = data;
    self->type = type;
    self->rank = shape.rank;
    self->size = rows[type].size;
    for (int i = shape.rank - 1; i >= 0; i--) {
        self->shape[i] = (Py_ssize_t)shape.dim[i];
        self->shape[shape.rank + i] = self->size;
        self->size *= self->shape[i];
    }
    return (PyObject *)self;
}

static void tensor_free_memory(PyObject *capsule)
{
    free(PyCapsule_GetPointer(capsule, NULL));
}

static void tensor_free_arrays(PyObject *capsule)
{
    ef_arrays_free(PyCapsule_GetPointer(capsule, NULL));
}

PyObject *py_tensor_alloc(State *state, ef_type type, Shape shape, void **data)
{
    size_t size = (size_t)rows[type].size;
    for (int i = 0; i < shape.rank; i++) size *= (size_t)shape.dim[i];
    *data = malloc(size ? size : 1);
    if (!*data) return PyErr_NoMemory();
    PyObject *owner = PyCapsule_New(*data, NULL, tensor_free_memory);
    if (!owner) free(*data);
    return py_tensor_new(state, type, shape, *data, owner);
}

static PyObject *tensor_of_array(State *state, const ef_array *array, PyObject *owner)
{
    if ((size_t)array->type >= TYPE_COUNT || !rows[array->type].format)
        return py_raise_code(state, EF_UNSUPPORTED,
                             "tensor \"%s\": of %s, which Python cannot be given", array->name,
                             py_tensor_dtype(array->type));
    return py_tensor_new(state, array->type, (Shape){ array->rank, array->dim },
                         (void *)array->data, Py_NewRef(owner));
}

PyObject *py_tensors_dict(State *state, ef_arrays *arrays)
{
    PyObject *owner = PyCapsule_New(arrays, NULL, tensor_free_arrays);
    if (!owner) return ef_arrays_free(arrays), NULL;
    PyObject *dict = PyDict_New();
    for (size_t i = 0; dict && i < ef_arrays_count(arrays); i++) {
        const ef_array *array = ef_arrays_at(arrays, i);
        PyObject *tensor = tensor_of_array(state, array, owner);
        if (!tensor || PyDict_SetItemString(dict, array->name, tensor) != 0) Py_CLEAR(dict);
        Py_XDECREF(tensor);
    }
    Py_DECREF(owner);
    return dict;
}

/* ---- callers' buffers ---- */

static bool type_of_format(const char *format, Py_ssize_t size, ef_type *type)
{
    if (!format) format = "B";
    if (*format && strchr("@=<|", *format)) format++;
    for (int i = 0; i < TYPE_COUNT; i++)
        if (strlen(format) == 1 && strchr(rows[i].others, *format) && rows[i].size == size)
            return *type = i, true;
    return false;
}

static bool view_refuse(PyObject *object, const char *name, const char *wanted)
{
    PyErr_Format(PyExc_TypeError, "%s: found %R, wanted %s", name, (PyObject *)Py_TYPE(object), wanted);
    return false;
}

static bool view_fill(State *state, const Py_buffer *view, const char *name, ef_array *out, int64_t *dim)
{
    if (view->ndim > MOST_RANK || !PyBuffer_IsContiguous(view, 'C'))
        return py_raise_input(state, "%s: found an array that is not contiguous, wanted one that is: use "
                              "numpy.ascontiguousarray", name);
    *out = (ef_array){ .struct_size = sizeof *out,
                       .name = name,
                       .rank = view->ndim,
                       .dim = dim,
                       .data = view->buf,
                       .size = (size_t)view->len };
    if (view->format && (strchr(view->format, 'w') || strchr(view->format, 's') || strchr(view->format, 'O'))) {
        PyErr_Format(PyExc_TypeError, "%s: found strings or objects, wanted numbers: a tokenizer makes ids of texts", name);
        return false;
    }
    if (!type_of_format(view->format, view->itemsize, &out->type)) {
        PyErr_Format(PyExc_TypeError,
                     "%s: found numbers of format \"%s\", wanted float32, int64 or another plain "
                     "dtype in this machine's byte order",
                     name, view->format ? view->format : "");
        return false;
    }
    for (int i = 0; i < view->ndim; i++) dim[i] = view->shape ? view->shape[i] : view->len / view->itemsize;
    return true;
}

bool py_tensor_view(State *state, PyObject *object, const char *name, PyObject *keep, ef_array *out, int64_t *dim)
{
    if (!PyObject_CheckBuffer(object))
        return view_refuse(object, name, "an array (numpy, memoryview, anything with a buffer)");
    /* The memoryview holds the memory; what is read of it by view stays valid as long. */
    PyObject *memory = PyMemoryView_FromObject(object);
    if (!memory) return py_raise_own(state, name);
    Py_buffer view;
    bool ok = PyList_Append(keep, memory) == 0 && PyObject_GetBuffer(memory, &view, PyBUF_FULL_RO) == 0;
    Py_DECREF(memory);
    if (!ok) return py_raise_own(state, name);
    ok = view_fill(state, &view, name, out, dim);
    PyBuffer_Release(&view);
    return ok;
}

/* ---- the type ---- */

static int tensor_get_buffer(PyObject *object, Py_buffer *view, int flags)
{
    Tensor *self = (Tensor *)object;
    *view = (Py_buffer){ .buf = self->data,
                         .obj = Py_NewRef(object),
                         .len = self->size,
                         .itemsize = rows[self->type].size,
                         .ndim = self->rank };
    if (flags & PyBUF_FORMAT) view->format = (char *)rows[self->type].format;
    if ((flags & PyBUF_ND) == PyBUF_ND) view->shape = self->shape;
    if ((flags & PyBUF_STRIDES) == PyBUF_STRIDES) view->strides = self->shape + self->rank;
    if (!view->shape) view->ndim = 1;
    return 0;
}

static void tensor_dealloc(PyObject *object)
{
    Tensor *self = (Tensor *)object;
    PyTypeObject *type = Py_TYPE(object);
    Py_XDECREF(self->owner);
    PyMem_Free(self->shape);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    release(object);
    Py_DECREF(type);
}

static PyObject *tensor_shape(PyObject *object, void *unused)
{
    (void)unused;
    Tensor *self = (Tensor *)object;
    PyObject *tuple = PyTuple_New(self->rank);
    for (int i = 0; tuple && i < self->rank; i++) {
        PyObject *n = PyLong_FromSsize_t(self->shape[i]);
        if (!n || PyTuple_SetItem(tuple, i, n) != 0) Py_CLEAR(tuple);
    }
    return tuple;
}

static PyObject *tensor_get_dtype(PyObject *object, void *unused)
{
    (void)unused;
    return PyUnicode_FromString(py_tensor_dtype(((Tensor *)object)->type));
}

static PyObject *tensor_nbytes(PyObject *object, void *unused)
{
    (void)unused;
    return PyLong_FromSsize_t(((Tensor *)object)->size);
}

static PyObject *tensor_call(const char *module, PyObject *object, const char *then)
{
    PyObject *from = PyImport_ImportModule(module);
    PyObject *made = from ? PyObject_CallMethod(from, then, "O", object) : NULL;
    Py_XDECREF(from);
    return made;
}

static PyObject *tensor_numpy(PyObject *self, PyObject *unused)
{
    (void)unused;
    return tensor_call("numpy", self, "asarray");
}

static PyObject *tensor_tolist(PyObject *self, PyObject *unused)
{
    (void)unused;
    PyObject *view = PyMemoryView_FromObject(self);
    PyObject *list = view ? PyObject_CallMethod(view, "tolist", NULL) : NULL;
    Py_XDECREF(view);
    return list;
}

static Py_ssize_t tensor_length(PyObject *object)
{
    Tensor *self = (Tensor *)object;
    if (self->rank > 0) return self->shape[0];
    PyErr_SetString(PyExc_TypeError, "a tensor without dimensions has no length");
    return -1;
}

static PyObject *tensor_repr(PyObject *self)
{
    PyObject *shape = tensor_shape(self, NULL);
    PyObject *text = shape ? PyUnicode_FromFormat("<Tensor %s %R>",
                                                  py_tensor_dtype(((Tensor *)self)->type), shape)
                           : NULL;
    Py_XDECREF(shape);
    return text;
}

static PyMethodDef tensor_methods[] = {
    { "numpy", tensor_numpy, METH_NOARGS, "numpy($self)\n--\n\nA numpy array of the same memory." },
    { "tolist", tensor_tolist, METH_NOARGS, "tolist($self)\n--\n\nNested lists of Python numbers." },
    { NULL }
};
static PyGetSetDef tensor_fields[] = {
    { "shape", tensor_shape, NULL, "a tuple of int" },
    { "dtype", tensor_get_dtype, NULL,
      "\"float32\", \"int64\", ...: numpy's name; \"bfloat16\" is given as uint16" },
    { "nbytes", tensor_nbytes, NULL, "bytes of the numbers" },
    { NULL }
};
static PyType_Slot tensor_slots[] = {
    { Py_tp_doc, "An array that the library made: numpy.asarray(t) and memoryview(t) share its memory." },
    { Py_tp_dealloc, tensor_dealloc },
    { Py_tp_repr, tensor_repr },
    { Py_tp_methods, tensor_methods },
    { Py_tp_getset, tensor_fields },
    { Py_sq_length, tensor_length },
    { Py_bf_getbuffer, tensor_get_buffer },
    { 0, NULL }
};
PyType_Spec py_tensor_spec = { "encoderfile_c._core.Tensor", sizeof(Tensor), 0,
                            Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, tensor_slots };
