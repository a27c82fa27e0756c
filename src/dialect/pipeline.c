/* SPDX-License-Identifier: Apache-2.0
 * pipeline.c - one call for every task, as transformers' pipeline() makes it: the pipeline by the task's name or
 * by the model, parameters that are checked by its rows, results nested as its own. The kinds are those of
 * `POST /`; a row says which of them, and what becomes of the inputs first. */
#include "pipeline.h"

#include "hub.h"
#include "parts.h"

struct Pipeline {
    const char *name;            /* as Hugging Face spells it */
    TaskCan can;                 /* of the models that have it */
    const JobKind *kind;
    const Field *parameters;     /* what a call may say; NULL: see pipeline_parameters */
    const char *key;             /* a parameter or a key of the inputs that asks for it; NULL: it is asked
                                  * for by its name, or is the first that the model can */
    /* (optional) the request as the kind reads it */
    bool (*turn)(Arena *, Value *request, Err *);
};

static const Field *field_named(const Field *rows, Str key)
{
    for (; rows->name; rows++)
        if (str_is(key, rows->name)) return rows;
    return NULL;
}

/* ---- texts to vectors ---- */
static const Field vector_parameters[] = {
    { "truncation", 0, F_BOOL, .nullable = true,
      .help = "false: a text that does not fit the model is an error; default: true" },
    { 0 },
};

static const Field picture_vector_parameters[] = {
    { "pool", 0, F_BOOL, .nullable = true, .help = "true: the pooler's vector; default: the last hidden states" },
    { 0 },
};

static bool pooler_fits(const Model *m, Err *err)
{
    return str_is(m->graph->value[m->graph->output[0]].name, "pooler_output") ||
           fail(err, EF_INVALID_INPUT, "pool: No pooled output was returned. Make sure the model has a "
                "`pooler` layer when using the `pool` option");
}

static bool read_picture_vectors(const Session *s, Job *job, const Value *request)
{
    const Value *parameters = value_get(request, "parameters");
    const Model *m = session_model(s);
    bool pool = value_bool(value_get(parameters, "pool"), false);
    if (!hub_read_items(s, job, value_get(request, "inputs")) || (pool && !pooler_fits(m, &job->work.err)))
        return false;
    job->work.options.patches = !pool && model_has_patches(m);
    return true;
}

static bool read_vectors(const Session *s, Job *job, const Value *request)
{
    const Value *parameters = value_get(request, "parameters");
    const ItemForm *own = session_model(s)->items, *form = own == &item_texts ? &item_any_texts : own;
    if (!hub_read_form(s, job, form, value_get(request, "inputs"))) return false;
    job->work.options.input.whole = !value_bool(value_get(parameters, "truncation"), true);
    return true;
}

/* [tokens][width], or what else the graph gives, in lists; the first is the batch of one. */
static Value nested_numbers(Arena *arena, const float *data, const int64_t *dim, int rank)
{
    if (rank <= 1) return value_of_f32(data, rank ? (size_t)dim[0] : 1);
    int64_t each = 1;
    for (int i = 1; i < rank; i++) each *= dim[i];
    Value list = value_list(arena, (size_t)dim[0]);
    for (int64_t i = 0; i < dim[0]; i++)
        list.list.items[i] = nested_numbers(arena, data + i * each, dim + 1, rank - 1);
    return list;
}

/* Of a picture the last hidden states, where they stand behind the pooler's vector. */
static Value finish_vectors(const Session *s, Job *job)
{
    (void)s;
    const Work *work = &job->work;
    Arena *arena = &job->work.arena;
    Value all = value_list(arena, work->n);
    for (size_t i = 0; i < work->n; i++) {
        const TaskTensor *row = work_result(work, work_row(work, i));
        if (work->options.patches && work->outputs > 1 && row[1].data) row++;
        Value one = value_list(arena, 1);
        one.list.items[0] = nested_numbers(arena, row->data, row->dim, row->rank);
        all.list.items[i] = one;
    }
    return job->in.single ? all.list.items[0] : all;
}

static const JobKind pipeline_vectors = {
    .name = "feature-extraction",
    .family = &family_hub,
    .keep = KEEP_TOKENS,
    .read = read_vectors,
    .finish = finish_vectors,
};

static const JobKind pipeline_picture_vectors = {
    .name = "image-feature-extraction",
    .family = &family_hub,
    .keep = KEEP_TOKENS,
    .read = read_picture_vectors,
    .finish = finish_vectors,
};

/* ---- what has no pipeline: as /predict, by the task's own options ---- */
static bool read_own(const Session *s, Job *job, const Value *request)
{
    const Value *parameters = value_get(request, "parameters");
    return hub_read_items(s, job, value_get(request, "inputs")) && job_options(s, job, parameters);
}

static Value finish_own(const Session *s, Job *job)
{
    Value list = value_list(&job->work.arena, job->work.n);
    for (size_t i = 0; i < job->work.n; i++) {
        Value *one = &list.list.items[i];
        kind_predict.item(s, job, &job->work.arena, i, one);
        const Value *vector = value_get(one, "embedding");
        if (vector) *one = *vector;
    }
    return job->in.single ? list.list.items[0] : list;
}

static const JobKind pipeline_own = {
    .name = "task",
    .family = &family_hub,
    .read = read_own,
    .finish = finish_own,
};

/* ---- sentences beside another, texts beside a query: the first text, and the others ---- */
static bool turn_first_and_others(Arena *arena, Value *request, const char *first, const char *others, Err *err)
{
    Value *inputs = (Value *)value_get(request, "inputs");
    size_t n = !inputs || inputs->kind == V_MAP ? 2 : inputs->kind == V_LIST ? inputs->list.n : 1;
    if (n < 2) return fail(err, EF_INVALID_INPUT, "inputs: found %zu, wanted %s, then %s", n, first, others);
    if (!inputs || inputs->kind == V_MAP) return true;
    Value map = value_map(arena, 2);
    value_add(&map, first, inputs->list.items[0]);
    value_add(&map, others, (Value){ .kind = V_LIST, .list = { inputs->list.items + 1, inputs->list.n - 1 } });
    *inputs = map;
    return true;
}

static const Field similarity_parameters[] = { KIND_TRUNCATION, KIND_PROMPT, { 0 } };

static bool turn_similarity(Arena *arena, Value *request, Err *err)
{
    return turn_first_and_others(arena, request, "source_sentence", "sentences", err);
}

static const Field rank_parameters[] = {
    KIND_TRUNCATION,
    { "raw_scores", 0, F_BOOL, .nullable = true, .help = "logits instead of probabilities; default: false" },
    { "return_text", 0, F_BOOL, .nullable = true, .help = "the text beside its score; default: false" },
    { 0 },
};

/* Of a map the members that TEI's body has; `parameters`, say, is no key of a map of inputs. */
static void add_rank_keys(Value *body, const Value *map)
{
    for (size_t i = 0; map->kind == V_MAP && i < map->map.n; i++) {
        const Member *m = &map->map.items[i];
        bool known = str_is(m->key, "query") || str_is(m->key, "texts") || field_named(rank_parameters, m->key);
        if (known && m->value.kind != V_NULL) body->map.items[body->map.n++] = *m;
    }
}

/* TEI's body: query and texts, with the parameters beside them. */
static bool turn_rank(Arena *arena, Value *request, Err *err)
{
    if (!turn_first_and_others(arena, request, "query", "texts", err)) return false;
    const Value *inputs = value_get(request, "inputs"), *parameters = value_get(request, "parameters");
    Value body = value_map(arena, inputs->map.n + parameters->map.n);
    add_rank_keys(&body, inputs);
    add_rank_keys(&body, parameters);
    *request = body;
    return true;
}

/* ---- zero-shot: labels may be one text with commas ---- */
Value pipeline_split(Arena *arena, Str text)
{
    size_t n = 1;
    for (size_t i = 0; i < text.n; i++) n += text.p[i] == ',';
    Value list = value_list(arena, n);
    list.list.n = 0;
    for (const char *p = text.p, *end = text.p + text.n; p <= end;) {
        const char *comma = memchr(p, ',', (size_t)(end - p));
        Str part = str_trim((Str){ p, (size_t)((comma ? comma : end) - p) });
        if (part.n) list.list.items[list.list.n++] = value_of_str(part);
        p = (comma ? comma : end) + 1;
    }
    return list;
}

static bool turn_zero(Arena *arena, Value *request, Err *err)
{
    (void)err;
    Value *labels = (Value *)value_get(value_get(request, "parameters"), "candidate_labels");
    if (labels && labels->kind == V_STR) *labels = pipeline_split(arena, labels->s);
    return true;
}

/* ---- rows: of those that a model can, the first is its own ---- */
static const Pipeline pipelines[] = {
    { "zero-shot-image-classification", CAN_MATCH, &hub_seen, .turn = turn_zero },
    { "image-classification", CAN_CLASSIFY_PICTURE, &hub_seen },
    { "object-detection", CAN_DETECT, &hub_seen },
    { "image-segmentation", CAN_SEGMENT, &hub_seen },
    { "image-feature-extraction", CAN_EMBED_PICTURE, &pipeline_picture_vectors, picture_vector_parameters },
    { "image-embedding", CAN_EMBED_PICTURE, &pipeline_own },
    { "audio-classification", CAN_CLASSIFY_SOUND, &hub_seen },
    { "automatic-speech-recognition", CAN_TRANSCRIBE, &hub_seen },
    { "audio-feature-extraction", CAN_EMBED_SOUND, &pipeline_own },
    { "voice-activity-detection", CAN_FIND_SPEECH, &hub_seen },
    { "fill-mask", CAN_FILL, &hub_fill, hub_fill_parameters },
    { "sentence-similarity", CAN_EMBED | CAN_MATCH, &kind_tei_similarity, similarity_parameters, "source_sentence",
      turn_similarity },
    { "sentence-embedding", CAN_SENTENCE, &pipeline_own },
    { "feature-extraction", CAN_EMBED, &pipeline_vectors, vector_parameters },
    { "sparse-embedding", CAN_SPARSE, &pipeline_own },
    { "token-classification", CAN_TAG, &hub_tag, hub_tag_parameters },
    { "question-answering", CAN_ANSWER, &hub_answer, hub_answer_parameters },
    { "document-question-answering", CAN_ANSWER_PAGE, &hub_page_question, hub_page_parameters },
    { "multiple-choice", CAN_CHOOSE, &pipeline_own },
    { "zero-shot-classification", CAN_CLASSIFY, &hub_zero, hub_zero_parameters, "candidate_labels", turn_zero },
    { "text-ranking", CAN_RANK, &kind_tei_rerank, rank_parameters, "query", turn_rank },
    { "text-classification", CAN_CLASSIFY, &hub_classify, hub_classify_parameters },
};

const char *pipeline_name(const Pipeline *p)
{
    return p->name;
}

void pipeline_list(Buf *out)
{
    for (size_t i = 0; i < COUNT(pipelines); i++) buf_printf(out, "%s%s", i ? ", " : "", pipelines[i].name);
}

const Field *pipeline_parameters(const Site *site, const Pipeline *p)
{
    if (p->parameters) return p->parameters;
    return p->kind == &hub_seen ? hub_seen_parameters(site) : site->task->request + 1; /* without inputs */
}

/* ---- which ---- */
/* By the row's own name, else by what tasks are called ("ner"). */
static const Pipeline *pipeline_called(Str typed)
{
    const TaskName *known = task_name(typed);
    for (size_t i = 0; i < COUNT(pipelines); i++)
        if (task_is_called(typed, pipelines[i].name)) return &pipelines[i];
    for (size_t i = 0; known && i < COUNT(pipelines); i++)
        if (strcmp(known->name, pipelines[i].name) == 0) return &pipelines[i];
    return NULL;
}

static bool unknown_pipeline(Str typed, Err *err)
{
    char near[TASK_NAME_ROOM];
    Arena scratch = { .local = true };
    Buf all = { .arena = &scratch };
    pipeline_list(&all);
    if (task_name(typed)) fail(err, EF_UNSUPPORTED, "task: %.*s is not among what this program does: %.*s",
                               STR_ARG(typed), STR_ARG(buf_view(&all)));
    else if (task_name_near(typed, near)) fail(err, EF_INVALID_INPUT, "task: unknown task \"%.*s\": did you mean %s?",
                                               (int)MIN(typed.n, 60), typed.p, near);
    else fail(err, EF_INVALID_INPUT, "task: unknown task \"%.*s\": wanted one of %.*s", (int)MIN(typed.n, 60),
              typed.p, STR_ARG(buf_view(&all)));
    arena_free(&scratch);
    return false;
}

/* Whether the call has the key that asks for the row. */
static bool pipeline_asked(const Pipeline *p, const Value *call)
{
    return !p->key || value_get(value_get(call, "parameters"), p->key) || value_get(value_get(call, "inputs"), p->key);
}

const Pipeline *pipeline_of(const Site *site, Str task, const Value *call, Err *err)
{
    const Pipeline *p = task.n ? pipeline_called(task) : NULL;
    if (task.n && !p) return unknown_pipeline(task, err), NULL;
    if (p && !site_can(site, p->can))
        return fail(err, EF_UNSUPPORTED, "task: found %s, wanted another model or another task: this model is for %s",
                    p->name, site->task->name), NULL;
    for (size_t i = 0; !p && i < COUNT(pipelines); i++)
        if (site_can(site, pipelines[i].can) && pipeline_asked(&pipelines[i], call)) p = &pipelines[i];
    if (!p) fail(err, EF_UNSUPPORTED, "task: %s has no pipeline", site->task->name);
    return p;
}

/* ---- parameters ---- */
bool pipeline_is_input(const Site *site, Str key)
{
    return field_named(site->items->keys, key) != NULL;
}

bool pipeline_key_known(const Site *site, const Pipeline *p, Str key, Err *err)
{
    enum { MOST = 32 };
    const Field *lists[] = { pipeline_parameters(site, p), site->items->keys };
    const char *names[MOST];
    size_t n = 0;
    for (size_t i = 0; i < COUNT(lists); i++)
        for (const Field *f = lists[i]; f->name && n < MOST; f++) names[n++] = f->name;
    for (size_t i = 0; i < n; i++)
        if (str_is(key, names[i])) return true;
    const char *near = str_nearest(key, names, n);
    Buf all = { 0 };
    for (size_t i = 0; i < n; i++) buf_printf(&all, "%s%s", i ? ", " : "", names[i]);
    fail(err, EF_INVALID_INPUT, "parameters: %s has no \"%.*s\": %s%s%.*s%s", p->name, (int)MIN(key.n, 60), key.p,
         near ? "did you mean " : "wanted one of ", near ? near : "", near ? 0 : (int)all.n, near ? "" : all.p,
         near ? "?" : "");
    buf_free(&all);
    return false;
}

/* A list may be given as its only element. The members are those of the request, whatever `turn` made of it. */
static void listed_parameters(Arena *arena, const Field *rows, Value *parameters)
{
    for (size_t i = 0; i < parameters->map.n; i++) {
        Member *m = &parameters->map.items[i];
        const Field *f = field_named(rows, m->key);
        if (!f || !f->repeated || m->value.kind != V_STR) continue;
        Value list = value_list(arena, 1);
        list.list.items[0] = m->value;
        m->value = list;
    }
}

/* ---- inputs ---- */
static Value part_value(Arena *arena, ItemPart part, const Item *item)
{
    Value list;
    switch (part) {
    case ITEM_FIRST: return item->first.p ? value_of_str(item->first) : value_null();
    case ITEM_SECOND: return item->second.p ? value_of_str(item->second) : value_null();
    case ITEM_PICTURE: return item->picture.p ? value_of_bytes(item->picture) : value_null();
    case ITEM_WORD_BOXES: break;
    case ITEM_SOUND: return item->sound.p ? value_of_bytes(item->sound) : value_null();
    case ITEM_RATE: return item->numbers ? value_of_int(item->numbers->rate) : value_null();
    case ITEM_NUMBERS:
        list = value_list(arena, item->numbers ? (size_t)item->numbers->channels : 0);
        for (size_t i = 0; i < list.list.n; i++)
            list.list.items[i] = value_of_f32(item->numbers->channel[i], item->numbers->n);
        return list.list.n ? list : value_null();
    case ITEM_LIST:
        if (!item->list) break;
        list = value_list(arena, item->n);
        for (size_t i = 0; i < item->n; i++) list.list.items[i] = value_of_str(item->list[i]);
        return list;
    case ITEM_BOXES:
        if (!item->boxes) break;
        list = value_list(arena, item->n);
        for (size_t i = 0; i < list.list.n; i++) {
            list.list.items[i] = value_list(arena, BOX_SIDES);
            for (int k = 0; k < BOX_SIDES; k++)
                list.list.items[i].list.items[k] = value_of_int(item->boxes[i * BOX_SIDES + (size_t)k]);
        }
        return list;
    }
    return value_null();
}

Value pipeline_input(Arena *arena, const ItemForm *form, const Item *item)
{
    if (item->cut) {
        Value words = value_map(arena, 1);
        value_add(&words, "words", part_value(arena, ITEM_LIST, item));
        return words;
    }
    Value map = value_map(arena, ITEM_KEYS);
    for (size_t i = 0; form->keys[i].name; i++) {
        Value v = part_value(arena, form->part[i], item);
        if (v.kind != V_NULL) value_add(&map, form->keys[i].name, v);
    }
    bool alone = map.map.n == 1 && str_is(map.map.items[0].key, form->keys[0].name);
    return alone ? map.map.items[0].value : map;
}

/* The input with what the parameters say of it: a value by itself is that of the first key that they leave open. */
static Value input_with(Arena *arena, const ItemForm *form, const Value *parameters, const Value *input)
{
    Value map = value_map(arena, ITEM_KEYS);
    bool whole = input && input->kind == V_MAP, placed = whole || !input;
    for (size_t i = 0; form->keys[i].name; i++) {
        const char *key = form->keys[i].name;
        const Value *own = whole ? value_get(input, key) : NULL, *said = own ? own : value_get(parameters, key);
        if (!said && !placed) said = input, placed = true;
        if (said) value_add(&map, key, *said);
    }
    return map;
}

/* Parameters that belong to the inputs go there. */
static Value inputs_with(Arena *arena, const ItemForm *form, const Value *parameters, const Value *inputs)
{
    if (!inputs || inputs->kind != V_LIST) return input_with(arena, form, parameters, inputs);
    Value list = value_list(arena, inputs->list.n);
    for (size_t i = 0; i < list.list.n; i++)
        list.list.items[i] = input_with(arena, form, parameters, &inputs->list.items[i]);
    return list;
}

/* ---- a call ---- */
static const Field call_rows[] = {
    { "task", 0, F_STR, .nullable = true, .help = "any name of a task; default: the model's" },
    { "inputs", 0, F_ANY, .help = "an input or a list of them" },
    { "parameters", 0, F_MSG, .nullable = true, .msg = (const Field[]){ { 0 } }, .help = "of the pipeline's call" },
    { 0 },
};

/* The call as the row's kind reads it: {inputs, parameters}. */
static bool pipeline_request(const Site *site, const Pipeline *p, Arena *arena, const Value *call, Value *out, Err *err)
{
    const Value *given = value_get(call, "parameters"), *inputs = value_get(call, "inputs");
    size_t n = given && given->kind == V_MAP ? given->map.n : 0;
    Value parameters = value_map(arena, n);
    bool beside = false;
    for (size_t i = 0; i < n; i++) {
        if (!pipeline_key_known(site, p, given->map.items[i].key, err)) return false;
        bool input = !field_named(pipeline_parameters(site, p), given->map.items[i].key);
        beside |= input;
        if (!input) parameters.map.items[parameters.map.n++] = given->map.items[i];
    }
    if (!inputs && !beside) return fail(err, EF_INVALID_INPUT, "inputs: found nothing, wanted %s", site->items->all);
    *out = value_map(arena, 2);
    value_add(out, "inputs", beside ? inputs_with(arena, site->items, given, inputs) : *inputs);
    value_add(out, "parameters", parameters);
    if (p->turn && !p->turn(arena, out, err)) return false; /* first: labels in one text are more than one */
    listed_parameters(arena, pipeline_parameters(site, p), &parameters);
    return true;
}

static bool read_pipeline(const Session *s, Job *job, const Value *call)
{
    const Site *site = site_of(s);
    Err *err = &job->work.err;
    Value *request = NEW(&job->work.arena, Value);
    if (!schema_check(call, call_rows, err)) return false;
    const Pipeline *p = pipeline_of(site, value_str(value_get(call, "task"), STR("")), call, err);
    if (!p || !pipeline_request(site, p, &job->work.arena, call, request, err)) return false;
    job->in.kind = p->kind;
    const Value *inputs = value_get(call, "inputs");
    job->in.exact = true;
    job->in.bare = inputs && inputs->kind == V_STR;
    return p->kind->read(s, job, request);
}

const JobKind kind_pipeline = {
    .name = "pipeline",
    .family = &family_hub,
    .values = MOST_IDS,
    .files = true,
    .read = read_pipeline,
};
