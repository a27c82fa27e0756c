/* SPDX-License-Identifier: Apache-2.0
 * sized.c - see sized.h. */
#include "api/sized.h"

size_t sized_bytes(const void *given, size_t first)
{
    size_t size;
    memcpy(&size, given, sizeof size);
    return size ? size : first;
}

bool sized_read(const void *given, size_t first, void *known, size_t bytes, const char *name,
                Err *err)
{
    enum { MOST = 4096 }; /* whatever is larger was never set */
    memset(known, 0, bytes);
    if (!given) return true;
    size_t size = sized_bytes(given, first);
    if (size < sizeof size || size > MOST || (size != first && size % sizeof(void *))) /* half a pointer */
        return fail(err, EF_INVALID_INPUT, "%s: struct_size: found %zu, wanted sizeof(%s)", name,
                    size, name);
    for (size_t i = bytes; i < size; i++)
        if (((const char *)given)[i])
            return fail(err, EF_UNSUPPORTED, "%s: struct_size: found %zu and byte %zu set, this "
                        "version (%s) knows %zu bytes", name, size, i, EF_VERSION, bytes);
    memcpy(known, given, MIN(size, bytes));
    return true;
}

bool options_read(const ef_options *given, ef_options *out, Err *err)
{
    enum { MOST = 4096 }; /* as the flags of the commands */
    if (!sized_read(given, FIRST_OPTIONS, out, sizeof *out, "ef_options", err)) return false;
    const struct Count { const char *name; int value; } counts[] = {
        { "threads", out->threads }, { "replicas", out->replicas },
    };
    for (size_t i = 0; i < COUNT(counts); i++)
        if (counts[i].value < 0 || counts[i].value > MOST)
            return fail(err, EF_INVALID_INPUT, "%s: found %d, wanted 1 to %d, or 0 for the default", counts[i].name,
                        counts[i].value, MOST);
    if (out->max_length < 0)
        return fail(err, EF_INVALID_INPUT, "max_length: found %d, wanted 1 or more, or 0 for the default",
                    out->max_length);
    return true;
}

/* ---- inputs ---- */

bool inputs_open(InputList *list, const ef_input *in, size_t n, Err *err)
{
    if (n && !in) return fail(err, EF_INVALID_INPUT, "found no inputs, wanted %zu", n);
    *list = (InputList){ (const char *)in, n ? in->struct_size : 0 };
    return true;
}

bool size_is_memory(size_t bytes, Err *err)
{
    return bytes <= PTRDIFF_MAX ||
           fail(err, EF_INVALID_INPUT, "size: found %zu bytes, wanted how many there are", bytes);
}

static bool check_input(const InputList *list, const char *at, ef_input *out, Err *err)
{
    if (sized_bytes(at, 0) != list->step)
        return fail(err, EF_INVALID_INPUT, "struct_size: found %zu, wanted %zu, as the first input "
                    "has", sized_bytes(at, 0), list->step);
    if (!sized_read(at, 0, out, sizeof *out, "ef_input", err)) return false;
    if (!size_is_memory(out->size, err) || !size_is_memory(out->size2, err)) return false;
    return input_name(out->kind) ||
           fail(err, EF_INVALID_INPUT, "kind: found %d, wanted one of ef_kind", (int)out->kind);
}

bool inputs_read(const InputList *list, size_t index, ef_input *out, Err *err)
{
    return check_input(list, list->at + index * list->step, out, err) ||
           within(err, "input %zu", index);
}

const char *input_name(ef_kind kind)
{
    static const char *const names[] = {
        [EF_TEXT] = "a text", [EF_PAIR] = "a pair of texts", [EF_WORDS] = "words",
        [EF_BOXES] = "words with boxes", [EF_PICTURE] = "a picture", [EF_SOUND] = "sound",
        [EF_CHOICES] = "a prompt with choices", [EF_PAGE] = "a page",
    };
    return (size_t)kind < COUNT(names) ? names[kind] : NULL;
}
