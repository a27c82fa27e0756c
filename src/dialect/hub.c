/* SPDX-License-Identifier: Apache-2.0
 * hub.c - `POST /` runs the model's task, in the shapes of the Hugging Face Hub, whose client posts to
 * the address it was given without a path. A body with `parameters` is that of a transformers pipeline
 * (labels, entities, masks, answers); any other is read as text-embeddings-inference's. One with `task` is a
 * pipeline's call: pipeline.c. */
#include <strings.h>

#include "hub.h"
#include "parts.h"
#include "pipeline.h"
#include "tei.h"

#include "data/number.h"
#include "task/answers.h"

static const Value *parameters_of(const Job *job)
{
    return value_get(job->in.value, "parameters");
}

typedef enum { INPUT_PAIRS = 1, INPUT_EMPTY = 2, INPUT_WORDS = 4 } InputKinds; /* that are taken, beside texts */

/* A text that came as words: `delimiter` stands between them where offsets count. */
static bool hub_read_words(Job *job, const Value *words, Item *item)
{
    Arena *arena = &job->work.arena;
    const Value *delimiter = value_get(value_get(job->in.value, "parameters"), "delimiter");
    Str *list = ARRAY(arena, Str, words->list.n);
    for (size_t i = 0; i < words->list.n; i++) {
        const Value *word = &words->list.items[i];
        if (word->kind != V_STR)
            return fail(&job->work.err, EF_INVALID_INPUT, "words[%zu]: found %s, wanted a string", i,
                        value_kind_name(word->kind));
        list[i] = word->s;
    }
    *item = (Item){ .list = list, .n = words->list.n, .cut = true, .blank = true };
    item_join_words_by(arena, value_str(delimiter, STR(" ")), item);
    return true;
}

/* One of `inputs`: a text; or, for tasks that take pairs or words, an object. */
static bool hub_read_text(Job *job, const Value *one, size_t i, InputKinds kinds)
{
    Item *item = &job->work.item[i];
    Err *err = &job->work.err;
    const ItemForm *form = kinds & INPUT_EMPTY ? &item_any_texts : &item_texts;
    const Value *words = kinds & INPUT_WORDS ? value_get(one, "words") : NULL;
    if (words && words->kind == V_LIST) return hub_read_words(job, words, item) || within(err, "inputs[%zu]", i);
    if (one->kind == V_MAP && kinds & INPUT_PAIRS)
        return item_read_object(&job->work.arena, form, one, item, err) || within(err, "inputs[%zu]", i);
    if (one->kind != V_STR)
        return fail(err, EF_INVALID_INPUT, "inputs[%zu]: found %s, wanted a string%s", i,
                    value_kind_name(one->kind), kinds & INPUT_PAIRS ? " or {\"text\", \"text_pair\"}" : "");
    item->first = one->s;
    item->blank = form->empty;
    return (form->empty && one->s.n == 0) || kind_text(job, "inputs", i, one->s);
}

/* Items of another form than texts, such as words with boxes: as /predict takes them. */
bool hub_read_items(const Session *s, Job *job, const Value *inputs)
{
    return hub_read_form(s, job, session_model(s)->items, inputs);
}

bool hub_read_form(const Session *s, Job *job, const ItemForm *form, const Value *inputs)
{
    Items items;
    if (!items_read(&job->work.arena, form, inputs, session_options(s)->max_inputs, &items, &job->work.err))
        return false;
    job->in.single = inputs->kind != V_LIST;
    job->work.item = items.item;
    job->work.n = items.n;
    return true;
}

/* `inputs` is a text or a list of them. */
static bool hub_read_texts(const Session *s, Job *job, const Value *request, const Field *rows, InputKinds kinds)
{
    const Value *inputs = value_get(request, "inputs");
    if (!schema_check(request, rows, &job->work.err)) return false;
    job->in.value = request;
    if (session_model(s)->items != &item_texts) return hub_read_items(s, job, inputs);
    job->in.single = inputs->kind == V_STR || (kinds & (INPUT_PAIRS | INPUT_WORDS) && inputs->kind == V_MAP);
    if (!job->in.single && inputs->kind != V_LIST)
        return fail(&job->work.err, EF_INVALID_INPUT, "inputs: found %s, wanted a string or a list",
                    value_kind_name(inputs->kind));
    job->work.n = job->in.single ? 1 : inputs->list.n;
    if (!kind_count(s, job, "inputs", job->work.n)) return false;
    job_items(job, job->work.n);
    for (size_t i = 0; i < job->work.n; i++)
        if (!hub_read_text(job, job->in.single ? inputs : &inputs->list.items[i], i, kinds)) return false;
    return true;
}

/* pattern: a regular expression that every text must match; NULL: it may be empty. */
static Value texts_request(Arena *arena, const Site *site, const Field *rows, const char *pattern)
{
    if (hub_reads_pages(site)) return hub_pages_request(arena, site, rows);
    const char *text = pattern
        ? str_format(arena, "{\"type\":\"string\",\"minLength\":1,\"pattern\":\"%s\"}", pattern)
        : "{\"type\":\"string\"}";
    Value inputs = kind_schema(
        arena,
        str_format(
            arena,
            "{\"anyOf\":[%s,{\"type\":\"array\",\"minItems\":1,\"maxItems\":%zu,\"items\":%s}]}",
            text, site->max_inputs, text));
    return kind_schema_with(arena, rows, "inputs", inputs);
}

/* ---- how long texts are cut ---- */
static const char *const cuts[] = { "longest_first", "only_first", "only_second", "do_not_truncate", NULL };
#define LENGTH_PARAMETER(from)                                                                              \
    { "max_length", 0, F_U32, .nullable = true, .least = from, .most = INT32_MAX,                           \
      .help = "tokens that are left of a longer text, special ones counted; default: as many as the model takes" }
#define CUT_PARAMETERS                                                                                      \
    { "truncation", 0, F_ANY, .nullable = true, .words = cuts,                                              \
      .help = "false: a text that does not fit the model is an error; longest_first, only_first, "          \
              "only_second: which text of a pair is cut; default: true, longest_first" },                   \
    LENGTH_PARAMETER(1)

static void hub_read_cut(Job *job, const Value *parameters)
{
    enum { WHOLE = COUNT(cuts) - 2 };
    const Value *truncation = value_get(parameters, "truncation");
    InputOptions *options = &job->work.options.input;
    options->most = (int)value_float(value_get(parameters, "max_length"), 0);
    options->whole = !value_bool(truncation, true);
    if (!truncation || truncation->kind != V_STR) return;
    size_t k = 0;
    while (!str_is(truncation->s, cuts[k])) k++; /* it is one of them: the rows have been checked */
    options->whole = k == WHOLE;
    options->cut = options->whole ? TRUNCATE_LONGEST_FIRST : (TruncateStrategy)k;
}

/* ---- text classification ---- */
static const char *const functions[] = { "none", "softmax", "sigmoid", NULL };
const Field hub_classify_parameters[] = {
    { "function_to_apply", 0, F_STR, .nullable = true, .words = functions,
      .help = "from logits to scores; default: by the model's problem_type" },
    { "top_k", 0, F_U32, .nullable = true, .least = 1, .most = 1 << 18,
      .help = "how many of the best labels; default: all" },
    CUT_PARAMETERS,
    { 0 },
};
static const Field classify_rows[] = {
    { "inputs", 0, F_ANY, .required = true, .help = "a text or a list of texts" },
    { "parameters", 0, F_MSG, .required = true, .msg = hub_classify_parameters },
    { 0 },
};

static const Field page_classify_rows[] = {
    { "inputs", 0, F_ANY, .required = true, .help = "a page or a list of pages" },
    { "parameters", 0, F_MSG, .nullable = true, .msg = hub_classify_parameters },
    { 0 },
};

static bool read_classify(const Session *s, Job *job, const Value *request)
{
    const Field *rows = hub_reads_pages(site_of(s)) ? page_classify_rows : classify_rows;
    if (!hub_read_texts(s, job, request, rows, INPUT_PAIRS | INPUT_EMPTY)) return false;
    hub_read_cut(job, value_get(request, "parameters"));
    return true;
}

static TaskScore score_named(Str name)
{
    if (str_is(name, "none")) return SCORE_NONE;
    if (str_is(name, "softmax")) return SCORE_SOFTMAX;
    return str_is(name, "sigmoid") ? SCORE_SIGMOID : SCORE_OWN;
}

/* A pipeline that is not told top_k gives the best label alone, and a list of it for a bare text. */
static Value classify_best(const Job *job, Value labels)
{
    for (size_t i = 0; i < labels.list.n; i++) labels.list.items[i] = labels.list.items[i].list.items[0];
    return job->in.single && !job->in.bare ? labels.list.items[0] : labels;
}

/* The Hub's: always a list of lists. */
static Value finish_classify(const Session *s, Job *job)
{
    const Value *parameters = parameters_of(job), *top_k = value_get(parameters, "top_k");
    TaskScore how = score_named(value_str(value_get(parameters, "function_to_apply"), STR("")));
    size_t most = (size_t)value_float(top_k, 1 << 18);
    Value list = value_list(&job->work.arena, job->work.n);
    for (size_t r = 0; r < job->work.n; r++) {
        size_t n = (size_t)work_result(&job->work, r)->width;
        const float *scores = kind_scores(s, job, &job->work.arena, r, how);
        if (!kind_finite(job, scores, n)) return value_null();
        list.list.items[r] = kind_labels(s, &job->work.arena, scores, n, most);
    }
    if (!job->in.exact) return list;
    if (!top_k) return classify_best(job, list);
    return job->in.single ? list.list.items[0] : list;
}

const JobKind hub_classify = {
    .name = "text-classification",
    .family = &family_hub,
    .read = read_classify,
    .finish = finish_classify,
};

/* ---- zero-shot classification: a pair of text and hypothesis for each candidate ----
 * Each pair is an item, so that several threads prepare a long list of candidates. */
const Field hub_zero_parameters[] = {
    { "candidate_labels", 0, F_STR, .repeated = true, .required = true },
    { "hypothesis_template", 0, F_STR, .nullable = true,
      .help = "with {} where the label goes; default: \"This example is {}.\"" },
    { "multi_label", 0, F_BOOL, .nullable = true,
      .help = "score each label by itself; default: false" },
    { 0 },
};
static const Field zero_rows[] = {
    { "inputs", 0, F_ANY, .required = true, .help = "a text" },
    { "parameters", 0, F_MSG, .required = true, .msg = hub_zero_parameters },
    { 0 },
};

/* The label of an NLI model that says that one text follows from the other; -1: none. The pipeline then takes the
 * last. */
static int entailment(const Job *job, const ModelConfig *config)
{
    for (int i = 0; i < config->num_labels && config->labels; i++)
        if (config->labels[i].n >= 6 && strncasecmp(config->labels[i].p, "entail", 6) == 0)
            return i;
    return job->in.exact ? config->num_labels - 1 : -1;
}

/* The texts: one, or for a pipeline a list of them. */
static bool zero_texts(Job *job, const Value *inputs, const Value **text, size_t *n)
{
    bool list = job->in.exact && inputs->kind == V_LIST && inputs->list.n;
    *text = list ? inputs->list.items : inputs;
    *n = list ? inputs->list.n : 1;
    job->in.single = !list;
    for (size_t i = 0; i < *n; i++) {
        const Value *one = &(*text)[i];
        if (one->kind != V_STR)
            return fail(&job->work.err, EF_INVALID_INPUT, "inputs: found %s, wanted a string",
                        value_kind_name(one->kind));
        if (!kind_text(job, "inputs", i, one->s)) return false;
    }
    return true;
}

static bool read_zero(const Session *s, Job *job, const Value *request)
{
    Arena *arena = &job->work.arena;
    if (!schema_check(request, zero_rows, &job->work.err)) return false;
    if (entailment(job, &session_model(s)->config) < 0)
        return fail(&job->work.err, EF_UNSUPPORTED,
                    "candidate_labels: the model has no label for entailment");
    const Value *parameters = value_get(request, "parameters");
    const Value *labels = value_get(parameters, "candidate_labels"), *text;
    Str form = value_str(value_get(parameters, "hypothesis_template"), STR("This example is {}."));
    size_t n_text, n = labels->list.n;
    job->in.value = request;
    if (!kind_count(s, job, "candidate_labels", n) ||
        !zero_texts(job, value_get(request, "inputs"), &text, &n_text) ||
        !kind_count(s, job, "inputs with candidate_labels", n_text * n))
        return false;
    job_items(job, n_text * n);
    for (size_t i = 0; i < job->work.n; i++) {
        Item *item = &job->work.item[i];
        item->first = text[i / n].s;
        if (!task_hypothesis(arena, form, labels->list.items[i % n].s, &item->second, &job->work.err)) return false;
    }
    return true;
}

/* Of n rows from `first` on: softmax over the candidates' entailment; with multi_label, for each candidate over
 * entailment and contradiction: as transformers does. */
static const float *zero_scores(const Session *s, Job *job, size_t first, size_t n)
{
    int yes = entailment(job, &session_model(s)->config), no = yes == 0 ? session_model(s)->config.num_labels - 1 : 0;
    bool alone = value_bool(value_get(parameters_of(job), "multi_label"), false) || n == 1;
    float *scores = ARRAY(&job->work.arena, float, n);
    for (size_t r = 0; r < n; r++) {
        const float *logits = work_result(&job->work, first + r)->data;
        float both[2] = { logits[no], logits[yes] };
        if (alone) task_softmax(both, 2, both);
        scores[r] = both[1];
    }
    if (!alone) task_softmax(scores, (int64_t)n, scores);
    return scores;
}

/* [{label, score}], as the Hub gives it. */
static Value zero_list(Arena *arena, const Value *labels, const float *scores, const size_t *order)
{
    Value list = value_list(arena, labels->list.n);
    for (size_t i = 0; i < list.list.n; i++) {
        Value *one = &list.list.items[i];
        *one = value_map(arena, 2);
        value_add(one, "label", labels->list.items[order[i]]);
        value_add(one, "score", value_of_float(number_widen(scores[order[i]])));
    }
    return list;
}

/* {sequence, labels, scores}, as the pipeline gives it. */
static Value zero_columns(Arena *arena, Str text, const Value *labels, const float *scores, const size_t *order)
{
    Value names = value_list(arena, labels->list.n), numbers = value_list(arena, labels->list.n);
    for (size_t i = 0; i < names.list.n; i++) {
        names.list.items[i] = labels->list.items[order[i]];
        numbers.list.items[i] = value_of_float(number_widen(scores[order[i]]));
    }
    Value one = value_map(arena, 3);
    value_add(&one, "sequence", value_of_str(text));
    value_add(&one, "labels", names);
    value_add(&one, "scores", numbers);
    return one;
}

static Value finish_zero(const Session *s, Job *job)
{
    Arena *arena = &job->work.arena;
    const Value *labels = value_get(parameters_of(job), "candidate_labels");
    size_t n = labels->list.n;
    Value list = value_list(arena, job->work.n / n);
    for (size_t i = 0; i < list.list.n; i++) {
        const float *scores = zero_scores(s, job, i * n, n);
        if (!kind_finite(job, scores, n)) return value_null();
        const size_t *order = kind_order(arena, scores, n);
        list.list.items[i] = job->in.exact
                                 ? zero_columns(arena, job->work.item[i * n].first, labels, scores, order)
                                 : zero_list(arena, labels, scores, order);
    }
    return job->in.single ? list.list.items[0] : list;
}

const JobKind hub_zero = {
    .name = "zero-shot-classification",
    .family = &family_hub,
    .read = read_zero,
    .finish = finish_zero,
};

/* ---- token classification ---- */
static const char *const groupings[] = { "none", "simple", "first", "average", "max", NULL };
const Field hub_tag_parameters[] = {
    { "aggregation_strategy", 0, F_STR, .nullable = true, .words = groupings,
      .help = "default: simple" },
    { "ignore_labels", 0, F_STR, .repeated = true, .nullable = true, .help = "default: O" },
    { "stride", 0, F_U32, .nullable = true, .least = 0, .most = INT32_MAX,
      .help = "tokens that neighbouring windows of a long text share; default: the text is cut" },
    { "delimiter", 0, F_STR, .nullable = true,
      .help = "of a text that comes as words: what stands between them where offsets count; default: a space" },
    LENGTH_PARAMETER(3), /* with a stride: of each window, where a token must fit between the special ones */
    { 0 },
};
static const Field tag_rows[] = {
    { "inputs", 0, F_ANY, .required = true, .help = "a text or a list of texts" },
    { "parameters", 0, F_MSG, .nullable = true, .msg = hub_tag_parameters },
    { 0 },
};

static TaskGrouping grouping_named(Str name)
{
    for (int i = 0; groupings[i]; i++)
        if (str_is(name, groupings[i])) return (TaskGrouping)(GROUP_NONE + i);
    return GROUP_SIMPLE;
}

static bool read_tag(const Session *s, Job *job, const Value *request)
{
    const InputKinds words = job->in.exact ? INPUT_WORDS : 0;
    if (!hub_read_texts(s, job, request, tag_rows, INPUT_EMPTY | words)) return false;
    const Value *parameters = value_get(request, "parameters");
    const Value *ignored = value_get(parameters, "ignore_labels"),
                *stride = value_get(parameters, "stride");
    TaskOptions *options = &job->work.options;
    options->chars = true;
    if (ignored && ignored->kind == V_LIST) options->ignored = ignored;
    Str unsaid = str_of(job->in.exact ? "none" : "simple"); /* the pipeline's default, the Hub's */
    options->grouping = grouping_named(value_str(value_get(parameters, "aggregation_strategy"), unsaid));
    options->input.most = (int)value_float(value_get(parameters, "max_length"), 0);
    options->input.windows = stride && stride->kind != V_NULL;
    options->input.stride = (int)value_float(stride, 0);
    return true;
}

static Value entities_of(const Session *s, Job *job, size_t item)
{
    Value result;
    kind_predict.item(s, job, &job->work.arena, item, &result);
    return *value_get(&result, "entities");
}

/* A list of entities for one text; for a list of texts, a list of such lists. */
static Value finish_tag(const Session *s, Job *job)
{
    Value list = value_list(&job->work.arena, job->work.n);
    for (size_t r = 0; r < job->work.n; r++) list.list.items[r] = entities_of(s, job, r);
    return job->in.single ? list.list.items[0] : list;
}

const JobKind hub_tag = {
    .name = "token-classification",
    .family = &family_hub,
    .read = read_tag,
    .finish = finish_tag,
};

/* ---- masks ---- */
const Field hub_fill_parameters[] = {
    { "top_k", 0, F_U32, .nullable = true, .least = 1, .most = 1 << 18,
      .help = "how many words; default: 5" },
    { "targets", 0, F_STR, .repeated = true, .nullable = true, .help = "only these words" },
    CUT_PARAMETERS,
    { 0 },
};
static const Field fill_rows[] = {
    { "inputs", 0, F_ANY, .required = true, .help = "a text or a list of texts" },
    { "parameters", 0, F_MSG, .required = true, .msg = hub_fill_parameters },
    { 0 },
};

static bool read_fill(const Session *s, Job *job, const Value *request)
{
    const Value *parameters = value_get(request, "parameters");
    if (!hub_read_texts(s, job, request, fill_rows, 0)) return false;
    hub_read_cut(job, parameters);
    job->work.options.top_k = (int)value_float(value_get(parameters, "top_k"), 0);
    job->work.options.targets = value_get(parameters, "targets");
    const char *mask = task_mask_name(session_model(s)->tokenizer);
    job->in.single |= job->in.exact && job->work.n == 1; /* the pipeline opens a list of one */
    for (size_t i = 0; i < job->work.n; i++)
        if (!mask || !memmem(job->work.item[i].first.p, job->work.item[i].first.n, mask, strlen(mask)))
            return fail(&job->work.err, EF_INVALID_INPUT, "inputs[%zu]: found no mask, wanted %s", i,
                        mask ? mask : "a model that has one");
    return true;
}

static Value masks_of(const Session *s, Job *job, size_t row)
{
    Value result;
    kind_predict.item(s, job, &job->work.arena, row, &result);
    Value masks = *value_get(&result, "masks");
    for (size_t i = 0; i < masks.list.n; i++)
        masks.list.items[i] = *value_get(&masks.list.items[i], "words");
    return masks.list.n == 1 ? masks.list.items[0] : masks;
}

static Value finish_fill(const Session *s, Job *job)
{
    Value list = value_list(&job->work.arena, job->work.n);
    for (size_t r = 0; r < job->work.n; r++) list.list.items[r] = masks_of(s, job, r);
    return job->in.single ? list.list.items[0] : list;
}

const JobKind hub_fill = {
    .name = "fill-mask",
    .family = &family_hub,
    .read = read_fill,
    .finish = finish_fill,
};

/* ---- questions ---- */
const Field hub_answer_parameters[] = { ANSWER_OPTIONS, { 0 } };
static const Field answer_rows[] = {
    { "inputs", 0, F_ANY, .required = true, .help = "a question with its context, or a list of these" },
    { "parameters", 0, F_MSG, .nullable = true, .msg = hub_answer_parameters },
    { 0 },
};

static bool read_answer(const Session *s, Job *job, const Value *request)
{
    const Value *parameters = value_get(request, "parameters");
    if (!schema_check(request, answer_rows, &job->work.err) ||
        !hub_read_items(s, job, value_get(request, "inputs")))
        return false;
    job->in.single |= job->in.exact && job->work.n == 1; /* the pipeline opens a list of one */
    if (parameters && parameters->kind == V_MAP && !job_options(s, job, parameters)) return false;
    job->work.options.chars = true;
    return true;
}

static Value answers_of(const Session *s, Job *job, size_t item)
{
    Value result;
    kind_predict.item(s, job, &job->work.arena, item, &result);
    const Value *several = value_get(&result, "answers");
    if (!several) return result;
    return several->list.n == 1 ? several->list.items[0] : *several; /* as the pipeline */
}

/* For one question an answer, or with top_k a list; for a list of questions, a list of these. */
static Value finish_answer(const Session *s, Job *job)
{
    Value list = value_list(&job->work.arena, job->work.n);
    for (size_t i = 0; i < job->work.n; i++) list.list.items[i] = answers_of(s, job, i);
    return job->in.single ? list.list.items[0] : list;
}

const JobKind hub_answer = {
    .name = "question-answering",
    .family = &family_hub,
    .read = read_answer,
    .finish = finish_answer,
};

/* ---- pictures and sounds: a list of the results' own lists ---- */
static const Field label_parameters[] = {
    { "function_to_apply", 0, F_STR, .nullable = true, .words = functions,
      .help = "from logits to scores; default: by the model's problem_type" },
    { "top_k", 0, F_U32, .nullable = true, .least = 1, .most = 1 << 18,
      .help = "how many of the best labels; default: 5" },
    { 0 },
};

static const Field threshold_parameters[] = {
    { "threshold", 0, F_F32, .nullable = true, .least = 0, .most = 1, .help = "default: 0.5" },
    { 0 },
};
static const Field segment_parameters[] = {
    { "subtask", 0, F_STR, .nullable = true, .help = "panoptic, instance or semantic: what the model can" },
    { "mask_threshold", 0, F_F32, .nullable = true, .help = "of panoptic and instance; default: 0.5" },
    { "overlap_mask_area_threshold", 0, F_F32, .nullable = true, .help = "the same; default: 0.5" },
    { "threshold", 0, F_F32, .nullable = true, .help = "the same; default: 0.9" },
    { 0 },
};

static const Field match_parameters[] = {
    { "candidate_labels", 0, F_STR, .repeated = true, .required = true },
    { "hypothesis_template", 0, F_STR, .nullable = true,
      .help = "with {} where the label goes; default: \"This is a photo of {}.\"" },
    { 0 },
};

static const Field no_parameters[] = { { 0 } };

static const Field sound_parameters[] = {
    { "function_to_apply", 0, F_STR, .nullable = true, .words = functions,
      .help = "from logits to scores; default: softmax" },
    { "top_k", 0, F_U32, .nullable = true, .least = 1, .most = 1 << 18,
      .help = "how many of the best labels; default: all" },
    { 0 },
};
static const char *const times[] = { "char", "word", NULL };
static const Field speech_parameters[] = {
    { "return_timestamps", 0, F_STR, .nullable = true, .words = times,
      .help = "chunks of the text with their seconds: its characters or its words" },
    { "chunk_length_s", 0, F_F32, .nullable = true, .least = 0, .most = 3600,
      .help = "cut a sound into chunks of so many seconds; default: none up to a minute, then 30" },
    { "stride_length_s", 0, F_ANY, .nullable = true,
      .help = "seconds that a chunk shares with each neighbour, or [left, right]; default: a sixth of a chunk" },
    { 0 },
};

/* What a pipeline of pictures or sounds is asked and answers: its parameters are options of /predict. */
static const struct SeenKind {
    TaskCan can;
    const Field *parameters;     /* NULL: all options of the task */
    const char *list;            /* of a result: what the pipeline gives; NULL: all of it */
    const char *keys[3];         /* of each in it; none: they are numbers */
    int top_k;                   /* where a call does not say it; 0: as /predict */
} seen_kinds[] = {
    { CAN_CLASSIFY_PICTURE, label_parameters, "labels", { "label", "score" } },
    { CAN_DETECT, threshold_parameters, "objects", { "score", "label", "box" } },
    { CAN_SEGMENT, segment_parameters, "segments", { "score", "label", "mask" } },
    { CAN_MATCH, match_parameters, "labels", { "score", "label" } },
    { CAN_EMBED_PICTURE, no_parameters, "embedding", { NULL } },
    { CAN_CLASSIFY_SOUND, sound_parameters, "labels", { "score", "label" }, INT32_MAX },
    { CAN_TRANSCRIBE, speech_parameters, NULL, { NULL } },
    { CAN_EMBED_SOUND, no_parameters, "embedding", { NULL } },
    { CAN_FIND_SPEECH, NULL, "segments", { NULL } },
};

static const struct SeenKind *seen_kind(const Site *site)
{
    for (size_t i = 0; i < COUNT(seen_kinds); i++)
        if (site_can(site, seen_kinds[i].can)) return &seen_kinds[i];
    return NULL;
}

const Field *hub_seen_parameters(const Site *site)
{
    const Field *own = seen_kind(site)->parameters;
    return own ? own : site->task->request + 1; /* without inputs */
}

static const Field *seen_rows(Arena *arena, const Site *site)
{
    Field *rows = ARRAY(arena, Field, 3);
    rows[0] = (Field){ "inputs", 0, F_ANY, .required = true, .help = site->items->all };
    rows[1] = (Field){ "parameters", 0, F_MSG, .nullable = true, .msg = hub_seen_parameters(site) };
    return rows;
}

static bool read_seen(const Session *s, Job *job, const Value *request)
{
    const Value *parameters = value_get(request, "parameters");
    if (!schema_check(request, seen_rows(&job->work.arena, site_of(s)), &job->work.err) ||
        !hub_read_items(s, job, value_get(request, "inputs")))
        return false;
    if (parameters && parameters->kind == V_MAP && !job_options(s, job, parameters)) return false;
    if (!job->work.options.top_k) job->work.options.top_k = seen_kind(site_of(s))->top_k;
    return true;
}

/* /predict tells more than a pipeline. */
static Value seen_part(Arena *arena, const struct SeenKind *kind, const Value *whole)
{
    enum { KEYS = COUNT(kind->keys) };
    Value one = value_map(arena, KEYS);
    if (!kind->keys[0]) return *whole;
    for (size_t i = 0; i < KEYS && kind->keys[i]; i++)
        value_add(&one, kind->keys[i], *value_get(whole, kind->keys[i]));
    return one;
}

static Value seen_result(const Session *s, Job *job, size_t item)
{
    const struct SeenKind *kind = seen_kind(site_of(s));
    Value result;
    kind_predict.item(s, job, &job->work.arena, item, &result);
    if (!kind->list) return result;
    Value list = *value_get(&result, kind->list);
    for (size_t i = 0; list.kind == V_LIST && i < list.list.n; i++)
        list.list.items[i] = seen_part(&job->work.arena, kind, &list.list.items[i]);
    return list;
}

static Value finish_seen(const Session *s, Job *job)
{
    Value list = value_list(&job->work.arena, job->work.n);
    for (size_t i = 0; i < job->work.n; i++) list.list.items[i] = seen_result(s, job, i);
    return job->in.single ? list.list.items[0] : list;
}

const JobKind hub_seen = {
    .name = "file",
    .family = &family_hub,
    .read = read_seen,
    .finish = finish_seen,
};

/* ---- by the model's task, and by what the body has ---- */
static const JobKind *kind_for(const Site *site, const Value *request)
{
    const Value *task = value_get(request, "task");
    if (task && task->kind != V_NULL) return &kind_pipeline;
    const Value *parameters = value_get(request, "parameters"),
                *inputs = value_get(request, "inputs");
    bool pipeline = parameters && parameters->kind != V_NULL;
    if (site_can(site, CAN_ANSWER_PAGE)) return &hub_page_question;
    if (site_can(site, CAN_CLASSIFY) && hub_reads_pages(site)) return &hub_classify;
    if (site_can(site, CAN_MATCH) && value_get(inputs, "source_sentence")) return &kind_tei_similarity;
    if (site_can(site, CAN_SEE | CAN_HEAR)) return &hub_seen;
    if (site_can(site, CAN_FILL) && pipeline) return &hub_fill;
    if (site_can(site, CAN_SPARSE)) return &kind_tei_sparse;
    if (site_can(site, CAN_EMBED))
        return inputs && inputs->kind == V_MAP ? &kind_tei_similarity : &kind_tei_embed;
    if (site_can(site, CAN_TAG)) return &hub_tag;
    if (site_can(site, CAN_ANSWER)) return &hub_answer;
    if (value_get(parameters, "candidate_labels")) return &hub_zero;
    if (pipeline) return &hub_classify;
    bool ranks = site_can(site, CAN_RANK) && value_get(request, "query");
    return ranks ? &kind_rerank_any : &kind_tei_predict;
}

static bool read_hub(const Session *s, Job *job, const Value *request)
{
    job->in.kind = kind_for(site_of(s), request);
    return job->in.kind->read(s, job, request);
}

/* ---- schemas ---- */
/* The schema of a body without `parameters`. */
static Value plain(Arena *arena, Value schema)
{
    const Value *old = value_get(&schema, "properties");
    Value properties = value_map(arena, old->map.n + 1);
    for (size_t i = 0; i < old->map.n; i++)
        if (!str_is(old->map.items[i].key, "parameters"))
            properties.map.items[properties.map.n++] = old->map.items[i];
    value_add(&properties, "parameters", kind_schema(arena, "{\"type\":\"null\"}"));
    *(Value *)old = properties;
    return schema;
}

/* A text that contains the mask token. */
static const char *mask_pattern(Arena *arena, const Site *site)
{
    const char *name = task_mask_name(session_model(site->session)->tokenizer);
    return name ? str_format(arena, "[%c]%.*s[%c]", name[0], (int)strlen(name) - 2, name + 1,
                             name[strlen(name) - 1])
                : "";
}

static Value hub_request(Arena *arena, const Site *site)
{
    if (site_can(site, CAN_ANSWER_PAGE)) return hub_pages_request(arena, site, NULL);
    if (site_can(site, CAN_CLASSIFY) && hub_reads_pages(site))
        return hub_pages_request(arena, site, page_classify_rows);
    if (site_can(site, CAN_SEE | CAN_HEAR))
        return kind_schema_with(arena, seen_rows(arena, site), "inputs",
                                items_describe(arena, site->items, site->max_inputs));
    Value sparse = kind_tei_sparse.request(arena, site);
    if (site_can(site, CAN_FILL))
        return kind_schema_any(arena,
                               texts_request(arena, site, fill_rows, mask_pattern(arena, site)),
                               plain(arena, sparse));
    if (site_can(site, CAN_SPARSE)) return sparse;
    if (site_can(site, CAN_EMBED))
        return kind_schema_any(arena, kind_tei_embed.request(arena, site),
                               kind_tei_similarity.request(arena, site));
    if (site_can(site, CAN_TAG)) return texts_request(arena, site, tag_rows, NULL);
    if (site_can(site, CAN_ANSWER))
        return kind_schema_with(arena, answer_rows, "inputs",
                                items_describe(arena, site->items, site->max_inputs));
    Value labels = texts_request(arena, site, classify_rows, NULL);
    return kind_schema_any(arena, labels, plain(arena, kind_tei_predict.request(arena, site)));
}

static Value hub_reply(Arena *arena, const Site *site)
{
    Value any = value_map(arena, 1); /* arrays of entities, labels or masks */
    if (site_can(site, CAN_EMBED))
        return kind_schema_any(arena, kind_tei_embed.reply(arena, site),
                               kind_tei_similarity.reply(arena, site));
    if (site_can(site, CAN_CLASSIFY)) return kind_tei_predict.reply(arena, site);
    if (site_can(site, CAN_ANSWER | CAN_TRANSCRIBE)) return any; /* an answer, or a list */
    return kind_schema_list(arena, any);
}

const JobKind kind_hub = {
    .name = "hub",
    .family = &family_hub,
    .other = &family_cohere, /* of a ranker */
    .values = MOST_IDS,
    .files = true,
    .needs = CAN_EMBED | CAN_SPARSE | CAN_FILL | CAN_CLASSIFY | CAN_TAG | CAN_ANSWER |
             CAN_CLASSIFY_PICTURE | CAN_DETECT | CAN_SEGMENT | CAN_EMBED_PICTURE | CAN_MATCH | CAN_ANSWER_PAGE |
             CAN_CLASSIFY_SOUND | CAN_TRANSCRIBE | CAN_EMBED_SOUND,
    .read = read_hub,
    .request = hub_request,
    .reply = hub_reply,
};

/* ---- the family ---- */
static const Route routes[] = {
    { "POST", "/", "hub", "What the model is for, in the shapes of the Hugging Face Hub",
      .job = &kind_hub },
    { "POST", "/invocations", "invocations", "The same as POST /", .same_as = "/" },
    { 0 },
};
const Family family_hub = { .name = "Hugging Face Hub", .route = routes, .errors = &tei_errors };
