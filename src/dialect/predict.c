/* SPDX-License-Identifier: Apache-2.0
 * predict.c - POST /predict: the task's own request and reply. The Rust encoderfile and TEI both have
 * this path; a body that only TEI's clients send gets TEI's reply. */
#include "parts.h"

static bool patches_fit(const Model *m, const TaskOptions *options, Err *err)
{
    return !options->patches || model_has_patches(m) ||
           fail(err, EF_INVALID_INPUT, "patches: found a model whose graph gives no last_hidden_state, wanted one");
}

bool job_options(const Session *s, Job *job, const Value *options)
{
    const Model *m = session_model(s);
    return task_options(m->task, &m->config, options, &job->work.options, &job->work.err) &&
           patches_fit(m, &job->work.options, &job->work.err) &&
           (!task_has_option(m->task, "prompt_name") || kind_prompt(s, job, options));
}

static bool read_predict(const Session *s, Job *job, const Value *request)
{
    const Model *m = session_model(s);
    Items inputs;
    size_t most = session_options(s)->max_inputs;
    if (site_can(site_of(s), CAN_SEE) && !files_of_numbers(&job->work.arena, &request, &job->work.err)) return false;
    if (!task_inputs(&job->work.arena, m->task, m->items, request, most, &inputs, &job->work.err))
        return false;
    job->work.item = inputs.item;
    job->work.n = inputs.n;
    job->in.single = inputs.n == 1;
    job->in.metadata = value_get(request, "metadata");
    return job_options(s, job, request);
}

static TaskRow task_row(const Model *m, const Work *work, size_t item, size_t r)
{
    const TaskTensor *result = work_result(work, r);
    const Item *given = &work->item[item];
    return (TaskRow){
        .first = given->first,
        .second = item_second(given),
        .words = given->boxes ? given->list : NULL,
        .boxes = given->boxes,
        .choice = given->list && !given->boxes && !given->picture.p ? &given->list[r - work_row(work, item)] : NULL,
        .width_given = work->row[r].width,
        .height_given = work->row[r].height,
        .sound = work->row[r].sound,
        .ctc = m->ctc,
        .encoding = &work->row[r].encoding,
        .swapped = work->row[r].swapped,
        .tokenizer = m->tokenizer,
        .data = result->data,
        .tokens = result->tokens,
        .width = result->width,
        .out = result,
        .more = work->outputs > 1 && result[1].data,
        .scores = work->scores ? work->scores[r] : NULL,
    };
}

/* The item's rows; n == 1: *one. */
static const TaskRow *task_rows(const Model *m, const Work *work, Arena *arena, size_t item, TaskRow *one)
{
    const size_t first = work_row(work, item), n = work_rows(work, item);
    TaskRow *rows = n == 1 ? one : ARRAY(arena, TaskRow, n);
    for (size_t i = 0; i < n; i++) rows[i] = task_row(m, work, item, first + i);
    return rows;
}

static void predict_item(const Session *s, const Job *job, Arena *arena, size_t item, Value *out)
{
    const Model *m = session_model(s);
    TaskRow one;
    const TaskRow *rows = task_rows(m, &job->work, arena, item, &one);
    m->task->finish(arena, &m->config, &job->work.options, rows, work_rows(&job->work, item), out);
}

/* ---- tables ---- */
static Columns fill_table(const Session *s, Job *job)
{
    enum { KEPT = 1 << 18 };
    const Model *m = session_model(s);
    const TaskTable *table = job->in.table;
    Work *work = &job->work;
    Arena scratch = { .budget = &work->budget, .local = true };
    const TaskFill fill = { &work->arena, &scratch, columns_make(&work->arena, table->rows) };
    for (size_t i = 0; i < work->n; i++) {
        TaskRow one;
        const TaskRow *rows = task_rows(m, work, &scratch, i, &one);
        table->fill(&fill, &m->config, &work->options, rows, work_rows(work, i));
        arena_reset(&scratch, KEPT);
    }
    arena_free(&scratch);
    return columns_made(&work->arena, table->rows, fill.to);
}

static Columns predict_columns(const Session *s, Job *job)
{
    const TaskTable *table = job->in.table;
    Arena *arena = &job->work.arena;
    if (table->fill) return fill_table(s, job);
    Value *results = ARRAY(arena, Value, job->work.n);
    for (size_t i = 0; i < job->work.n; i++) {
        predict_item(s, job, arena, i, &results[i]);
        if (table->shape) results[i] = table->shape(arena, &results[i]);
    }
    return columns_of(arena, table->rows, results, job->work.n);
}

static Value predict_frame(const Session *s, Job *job, Value *rows, size_t n)
{
    return task_reply(&job->work.arena, rows, n, session_model(s)->name, job->in.metadata);
}

static Value predict_request(Arena *arena, const Site *site)
{
    Value schema = task_request_describe(arena, site->task, site->items, (TaskLimits){
                                             site->max_inputs, config_vector_size(site->config) });
    if (task_has_option(site->task, "prompt_name")) kind_schema_prompt(arena, site, &schema);
    kind_schema_example(arena, site, &schema);
    return schema;
}

static Value predict_reply(Arena *arena, const Site *site)
{
    return schema_describe(arena, task_reply_schema(site->task));
}

const JobKind kind_predict = {
    .name = "predict",
    .family = &family_own,
    .read = read_predict,
    .item = predict_item,
    .frame = predict_frame,
    .columns = predict_columns,
    .request = predict_request,
    .reply = predict_reply,
};

/* The Rust encoderfile's route for forms; it takes what /predict takes. */
const JobKind kind_predict_files = {
    .name = "predict_multipart",
    .family = &family_own,
    .files = true,
    .needs = CAN_SEE | CAN_HEAR,
    .read = read_predict,
    .item = predict_item,
    .frame = predict_frame,
    .request = predict_request,
    .reply = predict_reply,
};

/* ---- or TEI's ---- */
static bool has_any(const Value *request, const char *const *keys)
{
    for (; *keys; keys++)
        if (value_get(request, *keys)) return true;
    return false;
}

static bool only_lists(const Value *inputs)
{
    if (!inputs || inputs->kind != V_LIST || inputs->list.n == 0) return false;
    for (size_t i = 0; i < inputs->list.n; i++)
        if (inputs->list.items[i].kind != V_LIST) return false;
    return true;
}

static bool says_tei(const Value *request)
{
    static const char *const theirs[] = { "raw_scores", "truncation_direction", NULL };
    return has_any(request, theirs);
}

/* The Rust encoderfile takes neither a bare text nor a list of lists: those are TEI's. A flat list is
 * the Rust encoderfile's batch, unless the body has one of TEI's keys. */
static bool is_tei(const Session *s, const Value *request)
{
    static const char *const ours[] = { "metadata", "top_k", "offsets", "return_tokens", NULL };
    const Value *inputs = value_get(request, "inputs");
    if (!site_can(site_of(s), CAN_CLASSIFY)) return false;
    if (says_tei(request)) return true;
    return !has_any(request, ours) && inputs && (inputs->kind == V_STR || only_lists(inputs));
}

static bool read_any(const Session *s, Job *job, const Value *request)
{
    job->in.kind = is_tei(s, request) ? &kind_tei_predict : &kind_predict;
    if (job->in.kind == &kind_tei_predict && !says_tei(request) &&
        !task_keys(session_model(s)->task, request, &job->work.err))
        return job->in.kind = &kind_predict, false; /* spelled right, the key would make it ours */
    return job->in.kind->read(s, job, request);
}

static Value any_request(Arena *arena, const Site *site)
{
    Value own = predict_request(arena, site);
    if (!site_can(site, CAN_CLASSIFY)) return own;
    return kind_schema_any(arena, own, kind_tei_predict.request(arena, site));
}

static Value any_reply(Arena *arena, const Site *site)
{
    Value own = predict_reply(arena, site);
    if (!site_can(site, CAN_CLASSIFY)) return own;
    return kind_schema_any(arena, own, kind_tei_predict.reply(arena, site));
}

const JobKind kind_predict_any = {
    .name = "predict",
    .family = &family_own,
    .other = &family_tei,
    .files = true,
    .values = MOST_IDS, /* or the bytes of pictures, as numbers */
    .read = read_any,
    .request = any_request,
    .reply = any_reply,
};
