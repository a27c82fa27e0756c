/* SPDX-License-Identifier: Apache-2.0
 * tokenizer.c - Tokenizer, and Encoding: ef_tokens of one input. Offsets count characters, as Python does. */
#include "core.h"

/* ---- Encoding ---- */

typedef struct Encoding {
    PyObject_HEAD
    const ef_tokens *tokens;
    ef_tokens *own;               /* NULL: borrowed from owner */
    PyObject *owner;              /* NULL: own */
} Encoding;

static PyObject *encoding_new(State *state, ef_tokens *own, const ef_tokens *tokens, PyObject *owner)
{
    allocfunc alloc = (allocfunc)PyType_GetSlot(state->encoding, Py_tp_alloc);
    Encoding *self = (Encoding *)alloc(state->encoding, 0);
    if (!self) return ef_tokens_free(own), NULL;
    self->tokens = tokens;
    self->own = own;
    self->owner = owner ? Py_NewRef(owner) : NULL;
    return (PyObject *)self;
}

static void encoding_dealloc(PyObject *object)
{
    Encoding *self = (Encoding *)object;
    PyTypeObject *type = Py_TYPE(object);
    ef_tokens_free(self->own);
    Py_XDECREF(self->owner);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    release(object);
    Py_DECREF(type);
}

typedef PyObject *EncodingItem(const ef_tokens *, size_t);

static PyObject *encoding_list(PyObject *self, EncodingItem *item)
{
    size_t n;
    const ef_tokens *tokens = ((Encoding *)self)->tokens;
    ef_tokens_ids(tokens, &n);
    PyObject *list = PyList_New((Py_ssize_t)n);
    for (size_t i = 0; list && i < n; i++) {
        PyObject *value = item(tokens, i);
        if (!value || PyList_SetItem(list, (Py_ssize_t)i, value) != 0) Py_CLEAR(list);
    }
    return list;
}

static PyObject *item_id(const ef_tokens *t, size_t i)
{
    size_t n;
    return PyLong_FromLong(ef_tokens_ids(t, &n)[i]);
}

static PyObject *item_type(const ef_tokens *t, size_t i)
{
    return PyLong_FromLong(ef_tokens_type_ids(t)[i]);
}

static PyObject *item_special(const ef_tokens *t, size_t i)
{
    return PyLong_FromLong(ef_tokens_special(t)[i]);
}

static PyObject *item_attention(const ef_tokens *t, size_t i)
{
    const uint8_t *mask = ef_tokens_attention(t);
    return PyLong_FromLong(mask ? mask[i] : 1);
}

static PyObject *item_offsets(const ef_tokens *t, size_t i)
{
    const int32_t *span = ef_tokens_offsets(t) + 2 * i;
    return Py_BuildValue("(ii)", (int)span[0], (int)span[1]);
}

static PyObject *item_word(const ef_tokens *t, size_t i)
{
    int32_t word = ef_tokens_word_ids(t)[i];
    return word < 0 ? Py_NewRef(Py_None) : PyLong_FromLong(word);
}

static PyObject *item_sequence(const ef_tokens *t, size_t i)
{
    return ef_tokens_special(t)[i] ? Py_NewRef(Py_None) : PyLong_FromLong(ef_tokens_sequences(t)[i]);
}

static PyObject *item_token(const ef_tokens *t, size_t i)
{
    const char *text = ef_tokens_text(t, i);
    return PyUnicode_DecodeUTF8(text ? text : "", (Py_ssize_t)ef_tokens_size(t, i), "replace");
}

static PyObject *encoding_get(PyObject *self, void *item)
{
    return encoding_list(self, *(EncodingItem **)item);
}

static PyObject *encoding_overflowing(PyObject *object, void *unused)
{
    (void)unused;
    Encoding *self = (Encoding *)object;
    PyObject *list = PyList_New(0);
    const ef_tokens *more;
    for (size_t i = 0; list && (more = ef_tokens_overflow(self->tokens, i)); i++) {
        PyObject *one = encoding_new(py_state_of(object), NULL, more, object);
        if (!one || PyList_Append(list, one) != 0) Py_CLEAR(list);
        Py_XDECREF(one);
    }
    return list;
}

static Py_ssize_t encoding_length(PyObject *self)
{
    size_t n;
    ef_tokens_ids(((Encoding *)self)->tokens, &n);
    return (Py_ssize_t)n;
}

static EncodingItem *const get_id = item_id, *const get_type = item_type, *const get_special = item_special,
                    *const get_attention = item_attention, *const get_offsets = item_offsets,
                    *const get_word = item_word, *const get_sequence = item_sequence, *const get_token = item_token;
static PyGetSetDef encoding_fields[] = {
    { "ids", encoding_get, NULL, "a list of int", (void *)&get_id },
    { "type_ids", encoding_get, NULL, "0 for the first text, 1 for the second", (void *)&get_type },
    { "special_tokens_mask", encoding_get, NULL, "1 where the text has nothing", (void *)&get_special },
    { "attention_mask", encoding_get, NULL, "0 for padding", (void *)&get_attention },
    { "offsets", encoding_get, NULL, "(start, end) in characters", (void *)&get_offsets },
    { "word_ids", encoding_get, NULL, "the word that each token belongs to, or None", (void *)&get_word },
    { "sequence_ids", encoding_get, NULL, "0 for the first text, 1 for the second, None where special", (void *)&get_sequence },
    { "tokens", encoding_get, NULL, "a list of str", (void *)&get_token },
    { "overflowing", encoding_overflowing, NULL, "Encodings of what was cut off", NULL },
    { NULL }
};
static PyType_Slot encoding_slots[] = {
    { Py_tp_doc, "Tokens of one input." },
    { Py_tp_dealloc, encoding_dealloc },
    { Py_tp_getset, encoding_fields },
    { Py_sq_length, encoding_length },
    { 0, NULL }
};
PyType_Spec py_encoding_spec = { "encoderfile_c._core.Encoding", sizeof(Encoding), 0,
                              Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, encoding_slots };

/* ---- Tokenizer ---- */

static PyObject *tokenizer_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *names[] = { "path", NULL };
    PyObject *given, *path;
    State *state = PyType_GetModuleState(type);
    ef_error err;
    ef_tokenizer *tokenizer;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O:Tokenizer", names, &given) ||
        !py_path_take(state, given, "path", &path))
        return NULL;
    const char *text = PyBytes_AsString(path);
    Py_BEGIN_ALLOW_THREADS
    tokenizer = ef_tokenizer_open(text, &err);
    Py_END_ALLOW_THREADS
    Py_DECREF(path);
    if (!tokenizer) return py_raise_error(state, &err);
    return py_handle_new(type, "tokenizer", tokenizer, (void (*)(void *))ef_tokenizer_close);
}

PyObject *py_tokenizer_of(State *state, Handle *model)
{
    const ef_tokenizer *tokenizer = ef_model_tokenizer(model->native);
    if (!tokenizer) Py_RETURN_NONE;
    PyObject *self = py_handle_new(state->tokenizer, "tokenizer", (void *)tokenizer, NULL);
    if (self) ((Handle *)self)->owner = (Handle *)Py_NewRef((PyObject *)model);
    return self;
}

static bool encode_cut(State *state, const char *word, ef_cut *cut)
{
    static const char *const words[] = {
        [EF_CUT_LONGEST] = "longest", [EF_CUT_FIRST] = "first", [EF_CUT_SECOND] = "second"
    };
    for (int i = 0; i < 3; i++)
        if (strcmp(word, words[i]) == 0) return *cut = (ef_cut)i, true;
    return py_raise_input(state, "cut: found \"%s\", wanted longest, first or second", word);
}

static bool encode_options(State *state, PyObject *args, PyObject *kwargs, PyObject **inputs, ef_encode_options *o)
{
    static char *names[] = { "inputs",       "max_length", "stride",   "pad_id",   "pad_length",
                             "pad_multiple", "threads",    "cut",      "cut_left", "overflow",
                             "special",      "pad",        "pad_left", NULL };
    const char *cut = "longest";
    int left = 0, overflow = 0, special = 1, pad = 0, pad_left = 0;
    *o = (ef_encode_options){ .struct_size = sizeof *o, .chars = true };
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|$iiiiiisppppp", names, inputs, &o->max_length,
                                     &o->stride, &o->pad_id, &o->pad_length, &o->pad_multiple,
                                     &o->threads, &cut, &left, &overflow, &special, &pad,
                                     &pad_left))
        return false;
    o->cut_left = left;
    o->overflow = overflow;
    o->no_special = !special;
    o->pad = pad;
    o->pad_left = pad_left;
    return encode_cut(state, cut, &o->cut);
}

enum { MANY_TEXTS = 16 };         /* of fewer a call is not ended between two */

typedef PyObject *Encoded(State *, ef_tokens **, const Inputs *);

static PyObject *encode_run(State *state, const ef_tokenizer *tokenizer, const Inputs *inputs,
                            const ef_encode_options *o, Encoded *then)
{
    ef_error err;
    bool ok;
    Progress p = { 0 };
    PyObject *result = NULL;
    bool many = inputs->count >= MANY_TEXTS;
    ef_tokens **out = PyMem_Calloc(inputs->count + 1, sizeof *out);
    if (!out) return PyErr_NoMemory();
    if (many) py_progress_begin(&p, Py_None);
    Py_BEGIN_ALLOW_THREADS
    ok = ef_encode(tokenizer, inputs->in, inputs->count, o, out, &err);
    Py_END_ALLOW_THREADS
    if (!many || py_progress_end(&p)) result = ok ? then(state, out, inputs) : py_raise_error(state, &err);
    for (size_t i = 0; i < inputs->count; i++) ef_tokens_free(out[i]);
    PyMem_Free(out);
    return result;
}

static PyObject *encode_call(PyObject *self, PyObject *args, PyObject *kwargs, Encoded *then)
{
    State *state = py_state_of(self);
    PyObject *object, *result = NULL;
    ef_encode_options options;
    Inputs inputs;
    if (!encode_options(state, args, kwargs, &object, &options) || !py_inputs_take(state, object, &inputs))
        return NULL;
    ef_tokenizer *tokenizer = py_handle_enter((Handle *)self);
    if (tokenizer) {
        result = encode_run(state, tokenizer, &inputs, &options, then);
        py_handle_leave((Handle *)self);
    }
    py_inputs_free(&inputs);
    return result;
}

static PyObject *encoded_list(State *state, ef_tokens **out, const Inputs *inputs)
{
    PyObject *list = PyList_New((Py_ssize_t)inputs->count);
    for (size_t i = 0; list && i < inputs->count; i++) {
        ef_tokens *tokens = out[i];
        out[i] = NULL;
        PyObject *one = encoding_new(state, tokens, tokens, NULL);
        if (!one || PyList_SetItem(list, (Py_ssize_t)i, one) != 0) Py_CLEAR(list);
    }
    if (!list || !inputs->single) return list;
    PyObject *one = Py_NewRef(PyList_GetItem(list, 0));
    Py_DECREF(list);
    return one;
}

static void encoded_row(const ef_tokens *t, int64_t *const column[3], size_t row, size_t width)
{
    size_t n;
    const int32_t *ids = ef_tokens_ids(t, &n), *types = ef_tokens_type_ids(t);
    const uint8_t *mask = ef_tokens_attention(t);
    for (size_t i = 0; i < width; i++) {
        column[0][row * width + i] = ids[i];
        column[1][row * width + i] = mask ? mask[i] : 1;
        column[2][row * width + i] = types[i];
    }
}

static PyObject *encoded_arrays(State *state, ef_tokens **out, const Inputs *inputs)
{
    static const char *const names[] = { "input_ids", "attention_mask", "token_type_ids" };
    size_t width = 0, n;
    int64_t *column[3];
    PyObject *dict = PyDict_New();
    for (size_t i = 0; i < inputs->count; i++) {
        ef_tokens_ids(out[i], &n);
        if (i > 0 && n != width) {
            py_raise_input(state, "input %zu: found %zu tokens, wanted %zu as the first has: pad them", i, n, width);
            Py_CLEAR(dict);
            return NULL;
        }
        width = n;
    }
    int64_t dim[2] = { (int64_t)inputs->count, (int64_t)width };
    for (int c = 0; dict && c < 3; c++) {
        PyObject *tensor = py_tensor_alloc(state, EF_I64, (Shape){ 2, dim }, (void **)&column[c]);
        if (!tensor || PyDict_SetItemString(dict, names[c], tensor) != 0) Py_CLEAR(dict);
        Py_XDECREF(tensor);
    }
    for (size_t i = 0; dict && i < inputs->count; i++) encoded_row(out[i], column, i, width);
    return dict;
}

static PyObject *tokenizer_encode(PyObject *self, PyObject *args, PyObject *kwargs)
{
    return encode_call(self, args, kwargs, encoded_list);
}

static PyObject *tokenizer_arrays(PyObject *self, PyObject *args, PyObject *kwargs)
{
    return encode_call(self, args, kwargs, encoded_arrays);
}

/* The ids of a sequence of int (numpy's too), as int32. */
static int32_t *decode_ids(State *state, PyObject *object, Py_ssize_t *count)
{
    PyObject *tuple = PySequence_Tuple(object);
    if (!tuple) return NULL;
    *count = PyTuple_Size(tuple);
    int32_t *ids = PyMem_Malloc(((size_t)*count + 1) * sizeof *ids);
    if (!ids) PyErr_NoMemory();
    for (Py_ssize_t i = 0; ids && i < *count; i++) {
        PyObject *whole = PyNumber_Index(PyTuple_GetItem(tuple, i));
        long id = whole ? PyLong_AsLong(whole) : -1;
        Py_XDECREF(whole);
        if (!PyErr_Occurred() && (id < 0 || id > INT32_MAX))
            py_raise_input(state, "id %zd: found %ld, wanted 0 to %d", i, id, INT32_MAX);
        else if (PyErr_Occurred()) py_raise_own(state, "id");
        if (PyErr_Occurred()) {
            PyMem_Free(ids);
            ids = NULL;
        } else {
            ids[i] = (int32_t)id;
        }
    }
    Py_DECREF(tuple);
    return ids;
}

static PyObject *tokenizer_decode(PyObject *self, PyObject *args, PyObject *kwargs)
{
    static char *names[] = { "ids", "skip_special", NULL };
    PyObject *object, *text = NULL;
    int skip = 0;
    Py_ssize_t count;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|p:decode", names, &object, &skip)) return NULL;
    int32_t *ids = decode_ids(py_state_of(self), object, &count);
    ef_tokenizer *tokenizer = ids ? py_handle_enter((Handle *)self) : NULL;
    if (tokenizer) {
        ef_error err;
        char *out = ef_decode(tokenizer, ids, (size_t)count, skip, &err);
        text = out ? PyUnicode_DecodeUTF8(out, (Py_ssize_t)ef_string_size(out), "replace")
                   : py_raise_error(py_state_of(self), &err);
        ef_string_free(out);
        py_handle_leave((Handle *)self);
    }
    PyMem_Free(ids);
    return text;
}

/* The texts of a tuple of str; they live as long as it does. */
static ef_word *join_tokens(State *state, PyObject *tuple)
{
    Py_ssize_t n = PyTuple_Size(tuple), size;
    ef_word *words = PyMem_Malloc(((size_t)n + 1) * sizeof *words);
    if (!words) PyErr_NoMemory();
    for (Py_ssize_t i = 0; words && i < n; i++) {
        PyObject *one = PyTuple_GetItem(tuple, i);
        const char *text = PyUnicode_Check(one) ? PyUnicode_AsUTF8AndSize(one, &size) : NULL;
        if (text) {
            words[i] = (ef_word){ text, (size_t)size };
            continue;
        }
        if (PyErr_Occurred()) py_raise_own(state, "token");
        else PyErr_Format(PyExc_TypeError, "token %zd: found %R, wanted a str", i, (PyObject *)Py_TYPE(one));
        PyMem_Free(words);
        words = NULL;
    }
    return words;
}

static PyObject *tokenizer_join_tokens(PyObject *self, PyObject *tokens)
{
    PyObject *tuple = PySequence_Tuple(tokens), *text = NULL;
    ef_word *words = tuple ? join_tokens(py_state_of(self), tuple) : NULL;
    ef_tokenizer *tokenizer = words ? py_handle_enter((Handle *)self) : NULL;
    if (tokenizer) {
        ef_error err;
        char *out = ef_join(tokenizer, words, (size_t)PyTuple_Size(tuple), &err);
        text = out ? PyUnicode_DecodeUTF8(out, (Py_ssize_t)ef_string_size(out), "replace")
                   : py_raise_error(py_state_of(self), &err);
        ef_string_free(out);
        py_handle_leave((Handle *)self);
    }
    PyMem_Free(words);
    Py_XDECREF(tuple);
    return text;
}

static PyObject *tokenizer_id(PyObject *self, PyObject *token)
{
    if (!PyUnicode_Check(token)) {
        PyErr_Format(PyExc_TypeError, "token: found %R, wanted a str", (PyObject *)Py_TYPE(token));
        return NULL;
    }
    Py_ssize_t n;
    const char *text = PyUnicode_AsUTF8AndSize(token, &n);
    ef_tokenizer *tokenizer = text ? py_handle_enter((Handle *)self) : NULL;
    if (!tokenizer) return NULL;
    int32_t id = strlen(text) == (size_t)n ? ef_token_id(tokenizer, text) : -1;
    py_handle_leave((Handle *)self);
    return id < 0 ? Py_NewRef(Py_None) : PyLong_FromLong(id);
}

static PyObject *tokenizer_token(PyObject *self, PyObject *number)
{
    PyObject *whole = PyNumber_Index(number);
    long id = whole ? PyLong_AsLong(whole) : -1;
    Py_XDECREF(whole);
    if (PyErr_Occurred()) return NULL;
    ef_tokenizer *tokenizer = py_handle_enter((Handle *)self);
    if (!tokenizer) return NULL;
    const char *text = id >= 0 && id <= INT32_MAX ? ef_token_text(tokenizer, (int32_t)id) : NULL;
    PyObject *token =
        text ? PyUnicode_DecodeUTF8(text, (Py_ssize_t)ef_token_size(tokenizer, (int32_t)id), "replace") : Py_NewRef(Py_None);
    py_handle_leave((Handle *)self);
    return token;
}

static PyObject *tokenizer_describe(PyObject *self, PyObject *unused)
{
    (void)unused;
    ef_error err;
    ef_tokenizer *tokenizer = py_handle_enter((Handle *)self);
    if (!tokenizer) return NULL;
    char *text = ef_tokenizer_describe(tokenizer, &err);
    PyObject *dict = text ? py_json_parse(py_state_of(self), text) : py_raise_error(py_state_of(self), &err);
    ef_string_free(text);
    py_handle_leave((Handle *)self);
    return dict;
}

static Py_ssize_t tokenizer_length(PyObject *self)
{
    ef_tokenizer *tokenizer = py_handle_enter((Handle *)self);
    if (!tokenizer) return -1;
    size_t n = ef_token_count(tokenizer);
    py_handle_leave((Handle *)self);
    return (Py_ssize_t)n;
}

#define ENCODE_OPTIONS                                                                             \
    "max_length=0, stride=0, pad_id=0, pad_length=0, pad_multiple=0, threads=0, cut='longest', "   \
    "cut_left=False, "                                                                             \
    "overflow=False, special=True, pad=False, pad_left=False"
static PyMethodDef tokenizer_methods[] = {
    { "encode", (PyCFunction)(void (*)(void))tokenizer_encode, METH_VARARGS | METH_KEYWORDS,
      "encode($self, inputs, *, " ENCODE_OPTIONS
      ")\n--\n\nAn Encoding; of a list a list of them." },
    { "arrays", (PyCFunction)(void (*)(void))tokenizer_arrays, METH_VARARGS | METH_KEYWORDS,
      "arrays($self, inputs, *, " ENCODE_OPTIONS
      ")\n--\n\nint64 Tensors [inputs, tokens]: input_ids, attention_mask, token_type_ids." },
    { "decode", (PyCFunction)(void (*)(void))tokenizer_decode, METH_VARARGS | METH_KEYWORDS,
      "decode($self, ids, skip_special=False)\n--\n\nThe text of ids." },
    { "join", tokenizer_join_tokens, METH_O, "join($self, tokens, /)\n--\n\nThe text of tokens, in the vocabulary or not." },
    { "token_to_id", tokenizer_id, METH_O, "token_to_id($self, token, /)\n--\n\nIts id, or None." },
    { "id_to_token", tokenizer_token, METH_O,
      "id_to_token($self, id, /)\n--\n\nIts token, or None." },
    { "describe", tokenizer_describe, METH_NOARGS,
      "describe($self)\n--\n\nIts settings and special tokens." },
    { "close", py_handle_close, METH_NOARGS, "close($self)\n--\n\nReleases it." },
    { "__enter__", py_handle_self, METH_NOARGS, NULL },
    { "__exit__", py_handle_exit, METH_VARARGS, NULL },
    { NULL }
};
static PyGetSetDef tokenizer_fields[] = {
    { "closed", py_handle_is_closed, NULL, "close was called" },
    { NULL }
};
static PyType_Slot tokenizer_slots[] = {
    { Py_tp_doc, "Tokenizer(path)\n--\n\nTexts to ids and back: a tokenizer.json, a folder, a package." },
    { Py_tp_new, tokenizer_new },
    { Py_tp_dealloc, py_handle_dealloc },
    { Py_tp_methods, tokenizer_methods },
    { Py_tp_getset, tokenizer_fields },
    { Py_sq_length, tokenizer_length },
    { 0, NULL }
};
PyType_Spec py_tokenizer_spec = { "encoderfile_c._core.Tokenizer", sizeof(Handle), 0,
                                  Py_TPFLAGS_DEFAULT, tokenizer_slots };
