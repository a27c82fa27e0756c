/* SPDX-License-Identifier: Apache-2.0
 * inputs.c - Python objects as ef_input, without a copy of their bytes. Everything that the inputs point into is held
 * by a tuple or a list of references, since other threads may change a caller's lists while the GIL is released. */
#include "core.h"

typedef struct Take {
    State *state;
    Inputs *inputs;
    size_t index;
    PyObject *item;               /* what the caller gave */
} Take;

static bool take_wrong(const Take *t, PyObject *found, const char *wanted)
{
    PyErr_Format(PyExc_TypeError, "input %zu: found %R, wanted %s", t->index,
                 (PyObject *)Py_TYPE(found), wanted);
    return false;
}

/* What Python raised about it. */
static bool take_refused(const Take *t)
{
    char name[64];
    PyOS_snprintf(name, sizeof name, "input %zu", t->index);
    return py_raise_own(t->state, name);
}

/* Memory that lives as long as the inputs, filled with zeros. */
static void *take_memory(Take *t, size_t count, size_t size)
{
    PyObject *bytes = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)(count * size));
    if (!bytes || PyList_Append(t->inputs->keep, bytes) != 0) return Py_XDECREF(bytes), NULL;
    Py_DECREF(bytes); /* the list has it */
    return memset(PyBytes_AsString(bytes), 0, count * size);
}

static bool take_text(const Take *t, PyObject *object, const void **data, size_t *size)
{
    Py_ssize_t n;
    if (!PyUnicode_Check(object)) return take_wrong(t, object, "a str");
    const char *text = PyUnicode_AsUTF8AndSize(object, &n);
    *data = text;
    *size = text ? (size_t)n : 0;
    return text || take_refused(t);
}

static bool take_pair(const Take *t, PyObject *first, PyObject *second, ef_input *in)
{
    in->kind = EF_PAIR;
    return take_text(t, first, &in->data, &in->size) && take_text(t, second, &in->data2, &in->size2);
}

/* A list or tuple as a tuple that is held. */
static PyObject *take_tuple(Take *t, PyObject *object, const char *wanted)
{
    if (PyUnicode_Check(object) || PyDict_Check(object) || !PySequence_Check(object))
        return take_wrong(t, object, wanted), NULL;
    PyObject *tuple = PySequence_Tuple(object);
    if (!tuple || PyList_Append(t->inputs->keep, tuple) != 0) return Py_XDECREF(tuple), NULL;
    Py_DECREF(tuple);
    return tuple;
}

static bool take_words(Take *t, PyObject *object, const void **data, size_t *count)
{
    PyObject *tuple = take_tuple(t, object, "a list of words");
    Py_ssize_t n = tuple ? PyTuple_Size(tuple) : 0;
    ef_word *word = tuple ? take_memory(t, (size_t)n + 1, sizeof *word) : NULL;
    if (!word) return false;
    for (Py_ssize_t i = 0; i < n; i++) {
        const void *text;
        if (!take_text(t, PyTuple_GetItem(tuple, i), &text, &word[i].size)) return false;
        word[i].data = text;
    }
    *data = word;
    *count = (size_t)n;
    return true;
}

static bool take_int(const Take *t, PyObject *object, const char *what, const char *wanted, int *out)
{
    char name[64];
    PyOS_snprintf(name, sizeof name, "input %zu: %s", t->index, what);
    return py_int_take(t->state, object, name, wanted, out);
}

static bool take_box(Take *t, PyObject *object, ef_box *box)
{
    int32_t *side[] = { &box->left, &box->top, &box->right, &box->bottom };
    PyObject *tuple = take_tuple(t, object, "a box of four int: left, top, right, bottom");
    if (!tuple) return false;
    if (PyTuple_Size(tuple) != 4)
        return py_raise_input(t->state, "input %zu: found a box of %zd numbers, wanted 4", t->index, PyTuple_Size(tuple));
    for (int i = 0; i < 4; i++)
        if (!take_int(t, PyTuple_GetItem(tuple, i), "a box", "0 to 1000", side[i])) return false;
    return true;
}

static bool take_boxes(Take *t, PyObject *object, const ef_box **out, size_t *count)
{
    PyObject *tuple = take_tuple(t, object, "a list of boxes");
    Py_ssize_t n = tuple ? PyTuple_Size(tuple) : 0;
    ef_box *box = tuple ? take_memory(t, (size_t)n + 1, sizeof *box) : NULL;
    if (!box) return false;
    for (Py_ssize_t i = 0; i < n; i++)
        if (!take_box(t, PyTuple_GetItem(tuple, i), &box[i])) return false;
    *out = box;
    *count = (size_t)n;
    return true;
}

/* ---- pictures and sounds: the bytes of a file, or an array ---- */

static bool take_view(Take *t, PyObject *object, const char *wanted, ef_array *view, int64_t *dim)
{
    char name[64];
    PyOS_snprintf(name, sizeof name, "input %zu", t->index);
    if (!PyObject_CheckBuffer(object)) return take_wrong(t, object, wanted);
    return py_tensor_view(t->state, object, name, t->inputs->keep, view, dim);
}

static bool take_shape_wrong(const Take *t, const ef_array *view, const char *wanted)
{
    char shape[160] = "";
    for (int i = 0; i < view->rank && strlen(shape) < sizeof shape - 32; i++)
        PyOS_snprintf(shape + strlen(shape), sizeof shape - strlen(shape), "%s%lld", i ? ", " : "", (long long)view->dim[i]);
    return py_raise_input(t->state, "input %zu: found an array of %s [%s], wanted %s", t->index, py_tensor_dtype(view->type),
                          shape, wanted);
}

typedef struct Picture {
    const void *bytes;            /* NULL: pixels */
    size_t size;
    const ef_pixels *pixels;
} Picture;

/* [channels, height, width], as torch has pictures, with the channels behind. NULL: an exception is set. */
static const uint8_t *take_planes(Take *t, const ef_array *view, int64_t *dim)
{
    const int64_t channels = dim[0], pixels = dim[1] * dim[2];
    const uint8_t *from = view->data;
    uint8_t *to = take_memory(t, (size_t)pixels, (size_t)channels);
    for (int64_t i = 0; to && i < pixels; i++)
        for (int64_t c = 0; c < channels; c++) to[i * channels + c] = from[c * pixels + i];
    dim[0] = dim[1], dim[1] = dim[2], dim[2] = channels;
    return to;
}

static bool are_channels(int64_t n)
{
    return n == 1 || n == 3 || n == 4;
}

static bool take_picture(Take *t, PyObject *object, Picture *out)
{
    ef_array view;
    int64_t dim[64] = { 0 };
    const char *wanted = "the bytes of a file, or an array of uint8 [height, width, 1, 3 or 4] or [1 or 3, height, width]";
    if (!take_view(t, object, wanted, &view, dim)) return false;
    if (view.type != EF_U8) return take_shape_wrong(t, &view, wanted);
    if (view.rank == 1) return *out = (Picture){ view.data, view.size, NULL }, true;
    bool planes = view.rank == 3 && view.size > 0 && !are_channels(dim[2]) && (dim[0] == 1 || dim[0] == 3);
    if (planes && !(view.data = take_planes(t, &view, dim))) return false;
    int64_t channels = view.rank == 2 ? 1 : dim[2];
    bool fits = (view.rank == 2 || view.rank == 3) && are_channels(channels) && view.size > 0 && dim[0] <= INT32_MAX &&
                dim[1] <= INT32_MAX;
    if (!fits) return take_shape_wrong(t, &view, wanted);
    ef_pixels *pixels = take_memory(t, 1, sizeof *pixels);
    if (!pixels) return false;
    *pixels = (ef_pixels){ .struct_size = sizeof *pixels,
                           .data = view.data,
                           .width = (int)dim[1],
                           .height = (int)dim[0],
                           .channels = (int)channels,
                           .stride = (size_t)(dim[1] * channels) };
    *out = (Picture){ .pixels = pixels };
    return true;
}

static bool take_rate(const Take *t, int *rate)
{
    PyObject *value = PyDict_GetItemString(t->item, "sampling_rate");
    if (!value) return py_raise_input(t->state, "input %zu: found samples without a \"sampling_rate\"", t->index);
    if (!take_int(t, value, "sampling_rate", "samples a second", rate)) return false;
    return *rate > 0 || py_raise_input(t->state, "input %zu: sampling_rate: found %d, wanted samples a second", t->index, *rate);
}

static bool take_sound(Take *t, PyObject *object, ef_input *in)
{
    ef_array view;
    int64_t dim[64] = { 0 };
    int rate;
    const char *wanted = "the bytes of a file, or an array of float32 [samples] or [channels, samples]";
    in->kind = EF_SOUND;
    if (!take_view(t, object, wanted, &view, dim)) return false;
    if (view.type == EF_U8 && view.rank == 1) return in->data = view.data, in->size = view.size, true;
    if (view.type != EF_F32 || view.rank < 1 || view.rank > 2) return take_shape_wrong(t, &view, wanted);
    if (!take_rate(t, &rate)) return false;
    bool mono = view.rank == 1;
    if (!mono && (dim[0] < 1 || dim[0] > 64)) return take_shape_wrong(t, &view, wanted);
    ef_samples *samples = take_memory(t, 1, sizeof *samples);
    if (!samples) return false;
    *samples = (ef_samples){ .struct_size = sizeof *samples,
                             .data = view.data,
                             .count = (size_t)dim[mono ? 0 : 1],
                             .channels = mono ? 1 : (int)dim[0],
                             .rate = rate };
    in->data2 = samples;
    in->size2 = 1;
    return true;
}

/* ---- dicts: which keys there are says what it is ---- */

static bool take_page(Take *t, PyObject *words, PyObject *image, ef_input *in)
{
    PyObject *boxes = PyDict_GetItemString(t->item, "boxes"),
             *question = PyDict_GetItemString(t->item, "question");
    ef_page *page = take_memory(t, 1, sizeof *page);
    size_t count = 0, size;
    const void *data = NULL;
    Picture picture = { 0 };
    if (!page) return false;
    page->struct_size = sizeof *page;
    if (words && !take_words(t, words, &data, &page->count)) return false;
    page->words = data;
    if (boxes && !take_boxes(t, boxes, &page->boxes, &count)) return false;
    if (words && count != page->count)
        return py_raise_input(t->state, "input %zu: found %zu boxes, wanted %zu: one for each word", t->index, count, page->count);
    if (question && !take_text(t, question, &data, &size)) return false;
    page->question = question ? data : NULL;
    page->question_size = question ? size : 0;
    if (image && !take_picture(t, image, &picture)) return false;
    page->image = picture.bytes;
    page->image_size = picture.size;
    page->pixels = picture.pixels;
    in->kind = EF_PAGE;
    in->data = page;
    in->size = 1;
    return true;
}

static bool take_dict_picture(Take *t, PyObject *image, ef_input *in)
{
    Picture picture;
    if (PyDict_GetItemString(t->item, "words") || PyDict_GetItemString(t->item, "question"))
        return take_page(t, PyDict_GetItemString(t->item, "words"), image, in);
    in->kind = EF_PICTURE;
    if (!take_picture(t, image, &picture)) return false;
    in->data = picture.bytes;
    in->size = picture.size;
    in->data2 = picture.pixels;
    in->size2 = picture.pixels ? 1 : 0;
    return true;
}

static bool take_dict_words(Take *t, PyObject *words, ef_input *in)
{
    PyObject *second = PyDict_GetItemString(t->item, "words_pair");
    if (PyDict_GetItemString(t->item, "boxes")) return take_page(t, words, NULL, in);
    in->kind = EF_WORDS;
    return take_words(t, words, &in->data, &in->size) &&
           (!second || take_words(t, second, &in->data2, &in->size2));
}

static bool take_dict_choices(Take *t, PyObject *choices, ef_input *in)
{
    PyObject *prompt = PyDict_GetItemString(t->item, "prompt");
    in->kind = EF_CHOICES;
    return take_words(t, choices, &in->data2, &in->size2) &&
           take_text(t, prompt ? prompt : Py_None, &in->data, &in->size);
}

static bool take_dict_question(Take *t, PyObject *question, ef_input *in)
{
    PyObject *context = PyDict_GetItemString(t->item, "context");
    return take_pair(t, question, context ? context : Py_None, in);
}

static bool take_dict_text(Take *t, PyObject *text, ef_input *in)
{
    PyObject *second = PyDict_GetItemString(t->item, "text_pair");
    if (second && second != Py_None) return take_pair(t, text, second, in);
    return take_text(t, text, &in->data, &in->size);
}

static const struct DictRow {     /* the first key that is there */
    const char *key;
    bool (*take)(Take *, PyObject *, ef_input *);
    const char *others[4];        /* that may stand beside it */
} dict_rows[] = {
    { "image", take_dict_picture, { "words", "boxes", "question" } },
    { "words", take_dict_words, { "boxes", "question", "words_pair" } },
    { "audio", take_sound, { "sampling_rate" } },
    { "choices", take_dict_choices, { "prompt" } },
    { "question", take_dict_question, { "context" } },
    { "text", take_dict_text, { "text_pair" } },
};
enum { DICT_ROWS = sizeof dict_rows / sizeof *dict_rows };

static bool row_has(const struct DictRow *row, PyObject *key)
{
    const char *text = PyUnicode_Check(key) ? PyUnicode_AsUTF8AndSize(key, NULL) : NULL;
    if (!text) return PyErr_Clear(), false;
    if (strcmp(text, row->key) == 0) return true;
    for (int i = 0; i < 4 && row->others[i]; i++)
        if (strcmp(text, row->others[i]) == 0) return true;
    return false;
}

static bool take_dict(Take *t, ef_input *in)
{
    PyObject *key, *value;
    Py_ssize_t at = 0;
    const struct DictRow *row = dict_rows;
    while (row < dict_rows + DICT_ROWS && !PyDict_GetItemString(t->item, row->key)) row++;
    if (row == dict_rows + DICT_ROWS)
        return py_raise_input(t->state, "input %zu: found a dict without \"text\", \"question\", \"words\", \"image\", "
                              "\"audio\" or \"choices\"", t->index);
    /* A copy holds the values: the caller may change the dict meanwhile. */
    PyObject *copy = PyDict_Copy(t->item);
    if (!copy || PyList_Append(t->inputs->keep, copy) != 0) return Py_XDECREF(copy), false;
    Py_DECREF(copy);
    t->item = copy;
    while (PyDict_Next(copy, &at, &key, &value))
        if (!row_has(row, key))
            return py_raise_input(t->state, "input %zu: found the key %R beside \"%s\"", t->index, key, row->key);
    return row->take(t, PyDict_GetItemString(copy, row->key), in);
}

static bool take_one(Take *t, ef_input *in)
{
    *in = (ef_input){ .struct_size = sizeof *in, .kind = EF_TEXT };
    if (PyUnicode_Check(t->item)) return take_text(t, t->item, &in->data, &in->size);
    if (PyDict_Check(t->item)) return take_dict(t, in);
    if (PyTuple_Check(t->item) || PyList_Check(t->item)) {
        PyObject *tuple = take_tuple(t, t->item, "a pair");
        if (!tuple) return false;
        if (PyTuple_Size(tuple) == 2)
            return take_pair(t, PyTuple_GetItem(tuple, 0), PyTuple_GetItem(tuple, 1), in);
        return py_raise_input(t->state, "input %zu: found a tuple of %zd, wanted a pair of str", t->index,
                              PyTuple_Size(tuple));
    }
    return take_wrong(t, t->item, "a str, a pair of str or a dict");
}

bool py_inputs_take(State *state, PyObject *object, Inputs *inputs)
{
    bool list = PyList_Check(object);
    *inputs = (Inputs){ .single = !list,
                        .keep = PyList_New(0),
                        .items = list ? PyList_AsTuple(object) : PyTuple_Pack(1, object) };
    if (!inputs->keep || !inputs->items) return py_inputs_free(inputs), false;
    inputs->count = (size_t)PyTuple_Size(inputs->items);
    inputs->in = PyMem_Malloc((inputs->count + 1) * sizeof *inputs->in);
    if (!inputs->in) return py_inputs_free(inputs), PyErr_NoMemory(), false;
    for (size_t i = 0; i < inputs->count; i++)
        if (!take_one(&(Take){ state, inputs, i, PyTuple_GetItem(inputs->items, (Py_ssize_t)i) }, &inputs->in[i]))
            return py_inputs_free(inputs), false;
    return true;
}

void py_inputs_free(Inputs *inputs)
{
    PyMem_Free(inputs->in);
    Py_CLEAR(inputs->items);
    Py_CLEAR(inputs->keep);
}
