/* SPDX-License-Identifier: Apache-2.0
 * module.c - the module itself: its state, its types, its functions. */
#include "core.h"

static PyModuleDef core_module;

State *py_state_of_module(PyObject *module)
{
    return PyModule_GetState(module);
}

State *py_state_of(PyObject *self)
{
    return PyType_GetModuleState(Py_TYPE(self));
}

static PyObject *import_name(const char *module, const char *name)
{
    PyObject *from = PyImport_ImportModule(module);
    PyObject *object = from ? PyObject_GetAttrString(from, name) : NULL;
    Py_XDECREF(from);
    return object;
}

static bool state_fill(PyObject *module, State *s)
{
    const struct TypeOf { PyTypeObject **type; PyType_Spec *spec;
    } types[] = {
        { &s->model, &py_model_spec },       { &s->tokenizer, &py_tokenizer_spec },
        { &s->encoding, &py_encoding_spec }, { &s->graph, &py_graph_spec },
        { &s->tensor, &py_tensor_spec },     { &s->arrow, &py_arrow_spec },
    };
    s->loads = import_name("json", "loads");
    s->dumps = import_name("encoderfile_c.errors", "dumps");
    s->classes = import_name("encoderfile_c.errors", "CLASSES");
    if (!s->loads || !s->dumps || !s->classes) return false;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        *types[i].type = (PyTypeObject *)PyType_FromModuleAndSpec(module, types[i].spec, NULL);
        if (!*types[i].type || PyModule_AddType(module, *types[i].type) != 0) return false;
    }
    return true;
}

static int core_exec(PyObject *module)
{
    if (!state_fill(module, PyModule_GetState(module)) || !py_arrow_watch_end()) return -1;
    return PyModule_AddStringConstant(module, "version", ef_version());
}

static int core_traverse(PyObject *module, visitproc visit, void *arg)
{
    State *s = PyModule_GetState(module);
    Py_VISIT(s->loads);
    Py_VISIT(s->dumps);
    Py_VISIT(s->classes);
    Py_VISIT((PyObject *)s->model);
    Py_VISIT((PyObject *)s->tokenizer);
    Py_VISIT((PyObject *)s->encoding);
    Py_VISIT((PyObject *)s->graph);
    Py_VISIT((PyObject *)s->tensor);
    Py_VISIT((PyObject *)s->arrow);
    return 0;
}

static int core_clear(PyObject *module)
{
    State *s = PyModule_GetState(module);
    Py_CLEAR(s->loads);
    Py_CLEAR(s->dumps);
    Py_CLEAR(s->classes);
    Py_CLEAR(s->model);
    Py_CLEAR(s->tokenizer);
    Py_CLEAR(s->encoding);
    Py_CLEAR(s->graph);
    Py_CLEAR(s->tensor);
    Py_CLEAR(s->arrow);
    return 0;
}

static void core_free(void *module)
{
    core_clear(module);
}

static PyModuleDef_Slot core_slots[] = { { Py_mod_exec, core_exec }, { 0, NULL } };
static PyModuleDef core_module = {
    PyModuleDef_HEAD_INIT,
    .m_name = "encoderfile_c._core",
    .m_doc = "encoderfile.h as Python types.",
    .m_size = sizeof(State),
    .m_methods = py_tool_methods,
    .m_slots = core_slots,
    .m_traverse = core_traverse,
    .m_clear = core_clear,
    .m_free = core_free,
};

PyMODINIT_FUNC PyInit__core(void);
PyMODINIT_FUNC PyInit__core(void)
{
    return PyModuleDef_Init(&core_module);
}
