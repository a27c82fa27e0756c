/* SPDX-License-Identifier: Apache-2.0
 * windows.c - see windows.h. The tokenizer cuts; this is what the pipelines ask it for. */
#include "windows.h"

/* The tokenizer ignores a limit below the number of special tokens. */
static bool windows_check_length(const Windows *out, int most, Err *err)
{
    for (size_t i = 0; i < out->n; i++)
        if (out->items[i].n > (size_t)most)
            return fail(err, EF_INVALID_INPUT,
                        "windows of %d tokens: found no room for text beside the special tokens", most);
    return true;
}

static bool windows_list(Arena *arena, Encoding front, int most, Windows *out, Err *err)
{
    out->n = 1 + front.n_overflow;
    out->items = ARRAY(arena, Encoding, out->n);
    if (front.n_overflow)
        memcpy(out->items + 1, front.overflow, front.n_overflow * sizeof *front.overflow);
    front.overflow = NULL, front.n_overflow = 0;
    out->items[0] = front;
    return windows_check_length(out, most, err);
}

static bool windows_encode(const Tokenizer *t, Arena *arena, Str first, const Str *second,
                           const EncodeOptions *options, Windows *out, Err *err)
{
    Encoding front = { 0 };
    return tokenizer_encode(t, arena, first, second, options, &front, err) &&
           windows_list(arena, front, options->max_length, out, err);
}

/* Each window begins at least one token after the one before, so a stride is at most that long. */
static int windows_stride(const Tokenizer *t, const WindowOptions *options)
{
    Err ignored;
    Encoding none = { 0 };
    Arena scratch = { .local = true };
    if (options->stride > 0) tokenizer_encode(t, &scratch, STR(""), NULL, NULL, &none, &ignored);
    int most = options->max_length - (int)none.n - 1;
    arena_free(&scratch);
    return MAX(MIN(options->stride, most), 0);
}

static EncodeOptions windows_how(const Tokenizer *t, const WindowOptions *options)
{
    return (EncodeOptions){ .max_length = options->max_length, .stride = windows_stride(t, options),
                            .truncate_left = options->truncate_left, .overflow = true,
                            .most_windows = options->most, .work = options->work };
}

bool windows_of_text(const Tokenizer *t, Arena *arena, Str text, const WindowOptions *options,
                     Windows *out, Err *err)
{
    EncodeOptions how = windows_how(t, options);
    return windows_encode(t, arena, text, NULL, &how, out, err);
}

bool windows_of_words(const Tokenizer *t, Arena *arena, Words words, const WindowOptions *options,
                      Windows *out, Err *err)
{
    EncodeOptions how = windows_how(t, options);
    Encoding front = { 0 };
    return tokenizer_encode_words(t, arena, words, NULL, &how, &front, err) &&
           windows_list(arena, front, how.max_length, out, err);
}

static bool question_lengths(const QuestionOptions *options, EncodeOptions *how, Err *err)
{
    int limit = options->limit ? options->limit : INT32_MAX;
    int usual = options->page ? limit : MIN(QUESTION_MAX_SEQ_LEN, limit);
    int length = options->max_seq_len ? options->max_seq_len : usual;
    int stride = options->doc_stride >= 0 ? options->doc_stride
                                          : MIN(options->page ? PAGE_DOC_STRIDE : QUESTION_DOC_STRIDE, length / 2);
    how->max_length = length, how->stride = stride;
    if (length < 1 || length > limit)
        return fail(err, EF_INVALID_INPUT, "max_seq_len: found %d, wanted 1 to %d", length, limit);
    if (stride > length)
        return fail(err, EF_INVALID_INPUT, "doc_stride: found %d, wanted at most max_seq_len, %d",
                    stride, length);
    return true;
}

/* A stride that nobody asked for gives way to a long question or a short window; the pipeline fails there.
 * taken: tokens beside those of the context. */
static int question_stride(const EncodeOptions *how, size_t taken)
{
    int room = how->max_length - (int)taken;
    return how->stride < room ? how->stride : MAX(room / 2, 0);
}

static int context_stride(const Tokenizer *t, Arena *arena, Str question, bool swap, const EncodeOptions *how)
{
    Encoding alone = { 0 };
    Err ignored;
    const Str none = STR("");
    if (!tokenizer_encode(t, arena, swap ? none : question, swap ? &question : &none, NULL, &alone, &ignored))
        return how->stride;
    return question_stride(how, alone.n);
}

bool windows_of_question(const Tokenizer *t, Arena *arena, Str question, Str context,
                         const QuestionOptions *options, Windows *out, Err *err)
{
    bool swap = options->context_first;
    EncodeOptions how = { .strategy = swap ? TRUNCATE_ONLY_FIRST : TRUNCATE_ONLY_SECOND,
                          .truncate_left = options->truncate_left, .overflow = true,
                          .most_windows = options->most, .work = options->work };
    if (!question_lengths(options, &how, err)) return false;
    if (options->doc_stride < 0) how.stride = context_stride(t, arena, question, swap, &how);
    return windows_encode(t, arena, swap ? context : question, swap ? &question : &context, &how,
                          out, err) ||
           within(err, "question and context");
}

static int page_stride(const Tokenizer *t, Arena *arena, Words question, const EncodeOptions *how)
{
    Encoding alone = { 0 };
    Err ignored;
    const Words none = { question.items, 0 };
    if (!tokenizer_encode_words(t, arena, question, &none, NULL, &alone, &ignored)) return how->stride;
    return question_stride(how, alone.n);
}

bool windows_of_page(const Tokenizer *t, Arena *arena, Words question, Words page, const QuestionOptions *options,
                     Windows *out, Err *err)
{
    Encoding front = { 0 };
    EncodeOptions how = { .strategy = TRUNCATE_ONLY_SECOND, .truncate_left = options->truncate_left, .overflow = true,
                          .most_windows = options->most, .work = options->work };
    if (!question_lengths(options, &how, err)) return false;
    if (options->doc_stride < 0) how.stride = page_stride(t, arena, question, &how);
    return (tokenizer_encode_words(t, arena, question, &page, &how, &front, err) &&
            windows_list(arena, front, how.max_length, out, err)) ||
           within(err, "question and words");
}

bool windows_wanted(const PrepareCall *call)
{
    const InputOptions *o = call->options;
    return o->windows && !o->uncut && call->model->encode.max_length > 0;
}

WindowOptions windows_options(const PrepareCall *call)
{
    const EncodeOptions *limit = &call->model->encode;
    const int asked = call->options->most ? call->options->most : limit->max_length;
    return (WindowOptions){ MIN(asked, limit->max_length), call->options->stride, WINDOWS_MOST,
                            limit->truncate_left || call->options->left, call->work };
}

void windows_to_rows(const PrepareCall *call, const Windows *windows, bool swapped,
                     PreparedRows *out)
{
    *out = (PreparedRows){ ARRAY(call->arena, Prepared, windows->n), windows->n };
    for (size_t i = 0; i < windows->n; i++) {
        Encoding *e = &out->row[i].encoding;
        *e = windows->items[i];
        e->truncated = false;
        if (call->model->flat_types) memset(e->type_ids, 0, e->n * sizeof *e->type_ids);
        out->row[i].swapped = swapped;
    }
}
