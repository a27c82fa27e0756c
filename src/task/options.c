/* SPDX-License-Identifier: Apache-2.0
 * options.c - what a request may ask for beside its inputs: rows. A task has those that its schema
 * names; the same rows read them for HTTP, the C API and the command line. */
#include "data/json.h"
#include "parts.h"

typedef enum { SET_FLAG, SET_NOT, SET_EITHER, SET_COUNT, SET_STRIDE, SET_WORD,
               SET_SHARE, SET_TEXT, SET_LIST, SET_SECONDS, SET_SIDES } TaskOptionKind;
static const struct OptionRow {
    const char *name;
    TaskOptionKind kind;
    size_t at;                   /* in TaskOptions: a bool, an int or an enum (SET_EITHER: its last
                                  * two are no and yes) */
    const char *const *words;    /* of SET_WORD: their index is kept */
    int first;                   /* index of the first word */
} rows[] = {
    { "offsets", SET_FLAG, offsetof(TaskOptions, chars), part_offset_words, 0 },
    { "truncate", SET_NOT, offsetof(TaskOptions, input.whole), NULL, 0 },
    { "normalize", SET_EITHER, offsetof(TaskOptions, normalize), NULL, 0 },
    { "dimensions", SET_COUNT, offsetof(TaskOptions, dimensions), NULL, 0 },
    { "encoding", SET_FLAG, offsetof(TaskOptions, base64), part_encoding_words, 0 },
    { "pooling", SET_WORD, offsetof(TaskOptions, pooling), head_pooling_words, POOL_OWN },
    { "top_k", SET_COUNT, offsetof(TaskOptions, top_k), NULL, 0 },
    { "stride", SET_STRIDE, offsetof(TaskOptions, input.stride), NULL, 0 },
    { "doc_stride", SET_STRIDE, offsetof(TaskOptions, input.stride), NULL, 0 },
    { "max_seq_len", SET_COUNT, offsetof(TaskOptions, input.window), NULL, 0 },
    { "max_answer_len", SET_COUNT, offsetof(TaskOptions, answer_tokens), NULL, 0 },
    { "handle_impossible_answer", SET_FLAG, offsetof(TaskOptions, impossible), NULL, 0 },
    { "align_to_words", SET_NOT, offsetof(TaskOptions, unaligned), NULL, 0 },
    { "aggregation", SET_WORD, offsetof(TaskOptions, grouping), part_grouping_words, GROUP_NONE },
    { "function_to_apply", SET_WORD, offsetof(TaskOptions, function), part_score_words, SCORE_NONE },
    { "threshold", SET_SHARE, offsetof(TaskOptions, threshold), NULL, 0 },
    { "mask_threshold", SET_SHARE, offsetof(TaskOptions, mask_threshold), NULL, 0 },
    { "overlap_mask_area_threshold", SET_SHARE, offsetof(TaskOptions, overlap), NULL, 0 },
    { "subtask", SET_WORD, offsetof(TaskOptions, subtask), part_subtask_words, SUBTASK_PANOPTIC },
    { "masks", SET_FLAG, offsetof(TaskOptions, runs), part_mask_words, 0 },
    { "patches", SET_FLAG, offsetof(TaskOptions, patches), NULL, 0 },
    { "chunk_length_s", SET_SECONDS, offsetof(TaskOptions, input.chunk_s), NULL, 0 },
    { "stride_length_s", SET_SIDES, offsetof(TaskOptions, input.stride_s), NULL, 0 },
    { "return_timestamps", SET_WORD, offsetof(TaskOptions, input.times), part_time_words, TIMES_CHAR },
    { "neg_threshold", SET_SHARE, offsetof(TaskOptions, silence), NULL, 0 },
    { "min_speech_duration_ms", SET_SHARE, offsetof(TaskOptions, min_speech), NULL, 0 },
    { "min_silence_duration_ms", SET_SHARE, offsetof(TaskOptions, min_silence), NULL, 0 },
    { "speech_pad_ms", SET_SHARE, offsetof(TaskOptions, pad), NULL, 0 },
    { "max_speech_duration_s", SET_SHARE, offsetof(TaskOptions, max_speech), NULL, 0 },
    { "sampling_rate", SET_COUNT, offsetof(TaskOptions, input.rate), NULL, 0 },
    { "frames", SET_FLAG, offsetof(TaskOptions, frames), NULL, 0 },
    { "extract", SET_FLAG, offsetof(TaskOptions, extract), NULL, 0 },
    { "return_tokens", SET_FLAG, offsetof(TaskOptions, return_tokens), NULL, 0 },
    { "candidate_labels", SET_LIST, offsetof(TaskOptions, candidates), NULL, 0 },
    { "hypothesis_template", SET_TEXT, offsetof(TaskOptions, hypothesis), NULL, 0 },
};

static int word_index(const char *const *words, Str word)
{
    int i = 0;
    while (words[i] && !str_is(word, words[i])) i++;
    return i;
}

/* Seconds: one number for both sides, or [left, right]. */
static bool sides_of(const Value *v, double side[2])
{
    const bool list = v->kind == V_LIST && v->list.n == 2;
    for (int i = 0; i < 2; i++) {
        double s = value_float(list ? &v->list.items[i] : v, -1);
        if (!(s >= 0 && s <= 3600)) return false;
        side[i] = s;
    }
    return true;
}

/* The value has been checked against the schema. */
static void set(TaskOptions *options, const struct OptionRow *row, const Value *v)
{
    char *field = (char *)options + row->at;
    int word = row->words ? word_index(row->words, v->s) : 0;
    switch (row->kind) {
    case SET_FLAG: *(bool *)field = row->words ? word == 1 : v->b; break;
    case SET_NOT: *(bool *)field = !v->b; break;
    case SET_EITHER: *(int *)field = v->b ? NORMALIZE_YES : NORMALIZE_NO; break;
    case SET_STRIDE: options->input.windows = true; /* 0 is a stride, too */ /* fall through */
    case SET_COUNT: *(int *)field = (int)value_float(v, 0); break;
    case SET_WORD: *(int *)field = row->first + word; break;
    case SET_SHARE: *(TaskShare *)field = (TaskShare){ (float)value_float(v, 0), true }; break;
    case SET_TEXT: *(Str *)field = v->s; break;
    case SET_LIST: *(const Value **)field = v; break;
    case SET_SECONDS: *(double *)field = value_float(v, 0); break;
    case SET_SIDES: options->input.stride_said = sides_of(v, options->input.stride_s); break;
    }
}

bool task_has_option(const Task *task, const char *name)
{
    for (const Field *f = task->request; f->name; f++)
        if (strcmp(f->name, name) == 0) return true;
    return false;
}

bool task_vector_fits(const ModelConfig *config, const TaskOptions *options, Err *err)
{
    const VectorHead *head = config->head;
    int width = config_vector_size(config);
    if (options->pooling != POOL_OWN && config->graph_pools)
        return fail(err, EF_INVALID_INPUT, "pooling: found \"%s\", wanted \"model\": its graph gives "
                    "vectors that are pooled already", head_pooling_words[options->pooling]);
    if (options->pooling != POOL_OWN && head && config->hidden_size) {
        width = (int)head_width(head, options->pooling, config->hidden_size);
        if (!width)
            return fail(err, EF_INVALID_INPUT, "pooling: found \"%s\", wanted \"model\": its dense "
                        "layer needs the ways that it was trained with",
                        head_pooling_words[options->pooling]);
    }
    if (!width || options->dimensions <= width) return true;
    return fail(err, EF_INVALID_INPUT, "dimensions: found %d, wanted 1 to %d", options->dimensions,
                width);
}

bool task_hypothesis(Arena *arena, Str form, Str label, Str *out, Err *err)
{
    const char *gap = memmem(form.p, form.n, "{}", 2);
    if (!gap) return fail(err, EF_INVALID_INPUT, "hypothesis_template: found no {}");
    size_t before = (size_t)(gap - form.p), behind = form.n - before - 2;
    char *text = arena_alloc(arena, form.n + label.n);
    memcpy(text, form.p, before);
    memcpy(text + before, label.p, label.n);
    memcpy(text + before + label.n, gap + 2, behind);
    *out = (Str){ text, before + label.n + behind };
    return true;
}

/* ---- equal options ---- */
static void put_option(Buf *to, const struct OptionRow *row, const TaskOptions *o)
{
    const char *field = (const char *)o + row->at;
    const TaskShare *share = (const TaskShare *)field;
    const Str *text = (const Str *)field;
    const Value *list;
    switch (row->kind) {
    case SET_FLAG: case SET_NOT:
        if (*(const bool *)field) buf_printf(to, "%s ", row->name);
        break;
    case SET_EITHER: case SET_COUNT: case SET_WORD:
        if (*(const int *)field) buf_printf(to, "%s %d ", row->name, *(const int *)field);
        break;
    case SET_STRIDE:
        if (o->input.windows) buf_printf(to, "%s %d ", row->name, *(const int *)field);
        break;
    case SET_SHARE:
        if (share->said) buf_printf(to, "%s %.9g ", row->name, (double)share->value);
        break;
    case SET_TEXT:
        if (text->p) buf_printf(to, "%s \"%.*s\" ", row->name, STR_ARG(*text));
        break;
    case SET_LIST:
        memcpy(&list, field, sizeof list);
        if (list) buf_printf(to, "%s ", row->name), json_write(to, list);
        break;
    case SET_SECONDS:
        if (*(const double *)field > 0) buf_printf(to, "%s %.17g ", row->name, *(const double *)field);
        break;
    case SET_SIDES:
        if (o->input.stride_said)
            buf_printf(to, "%s %.17g %.17g ", row->name, o->input.stride_s[0], o->input.stride_s[1]);
        break;
    }
}

void task_options_text(const Task *task, const TaskOptions *options, Buf *to)
{
    for (size_t i = 0; i < COUNT(rows); i++)
        if (task_has_option(task, rows[i].name)) put_option(to, &rows[i], options);
}

/* ---- keys that nobody reads ---- */

/* What clients of other servers put into a body: never taken for a misspelled key of ours. */
static const char *const elsewhere[] = {
    "add_special_tokens", "aggregation_strategy", "auto_truncate", "candidate_labels", "document",
    "documents", "embedding_type", "embedding_types", "encoding_format",
    "hypothesis_template", "id", "ids", "ignore_labels", "input", "input_type", "instances",
    "late_chunking", "max_length", "max_question_len", "max_tokens_per_doc", "model", "model_id", "multi_label",
    "normalized", "options", "output_dimension", "output_dtype", "padding", "parameters",
    "priority", "prompt", "prompt_name", "queries", "query", "rank_fields", "raw_scores",
    "relevant_spans", "return_documents", "return_tensors", "return_text", "sentences",
    "skip_special_tokens", "source_sentence", "targets", "task", "text", "text_pair",
    "texts", "top_n", "truncation", "truncation_direction", "truncation_side", "user",
};

static bool is_foreign(Str key)
{
    for (size_t i = 0; i < COUNT(rows); i++)
        if (str_is(key, rows[i].name)) return true; /* of another task */
    for (size_t i = 0; i < COUNT(elsewhere); i++)
        if (str_is(key, elsewhere[i])) return true;
    return false;
}

bool task_keys(const Task *task, const Value *request, Err *err)
{
    enum { MOST_NAMES = 16, MOST_TRIED = 64, LONGEST = 64 }; /* enough for real misspellings */
    const char *names[MOST_NAMES];
    size_t n = 0, tried = 0;
    for (; task->request[n].name; n++) names[n] = task->request[n].name;
    assert(n < MOST_NAMES);
    for (size_t i = 0; request->kind == V_MAP && i < request->map.n && tried < MOST_TRIED; i++) {
        Str key = request->map.items[i].key;
        size_t k = 0;
        while (k < n && !str_is(key, names[k])) k++;
        if (k < n || key.n > LONGEST || is_foreign(key)) continue;
        tried++;
        const char *near = str_nearest(key, names, n);
        if (near)
            return fail(err, EF_INVALID_INPUT, "unknown key \"%.*s\": did you mean %s?",
                        STR_ARG(key), near);
    }
    return true;
}

bool task_options(const Task *task, const ModelConfig *config, const Value *request,
                  TaskOptions *options, Err *err)
{
    *options = (TaskOptions){ 0 };
    if (!request) return true;
    if (!schema_check(request, task->request + 1, err) || /* inputs: task_inputs */
        !task_keys(task, request, err))
        return false;
    for (size_t i = 0; i < COUNT(rows); i++) {
        const Value *v = value_get(request, rows[i].name);
        if (v && v->kind != V_NULL && task_has_option(task, rows[i].name)) set(options, &rows[i], v);
        else continue;
        if (rows[i].kind == SET_SIDES && !options->input.stride_said)
            return fail(err, EF_INVALID_INPUT, "%s: wanted seconds, 0 to 3600, or [left, right]", rows[i].name);
    }
    return task_vector_fits(config, options, err);
}
