/* SPDX-License-Identifier: Apache-2.0
 * admission.c - what can be refused is refused here, before it costs a run. What comes out is work
 * with rows, so that the queue knows how much it is. */
#include "stages.h"

#include "audio/audio.h"
#include "image/image.h"

_Static_assert(SESSION_MAX_PIXELS == PICTURE_PIXELS, "the default of both");
_Static_assert(SESSION_MAX_SECONDS == (int)SOUND_SECONDS, "the default of both");

enum {
    SCRATCH_KEPT = 1 << 20,
    SLICE_BYTES = 16 << 10,      /* of text: about a millisecond of work */
    MOST_SLICES = 64,
};

static bool runs(const Work *work)
{
    return work->keep != KEEP_NOTHING;
}

/* ---- items to rows ---- */
static bool check_rows(const Work *work, const PreparedRows *made, Err *err)
{
    for (size_t i = 0; runs(work) && i < made->n; i++)
        if (made->row[i].encoding.n == 0 && made->row[i].features == 0)
            return fail(err, EF_INVALID_INPUT, "found no tokens, wanted at least one");
    return true;
}

/* true also where it stopped because nobody waits any more: the caller asks work_unwanted. */
static bool prepare_items(const Session *s, Work *work, Arena *arena, size_t from, size_t to, Err *err)
{
    Arena scratch = { .budget = &work->budget, .local = true };
    const Preparer *preparer = work->preparer ? work->preparer : s->model->preparer;
    InputModel model = model_input(s->model);
    model.max_pixels = s->options.max_pixels;
    model.max_seconds = (double)s->options.max_seconds;
    PrepareCall call = { &model, &work->options.input, arena, &scratch };
    bool ok = true;
    for (size_t i = from; i < to && ok && !work_is_unwanted(work, now_seconds()); i++) {
        work->made[i].row = &work->row[i];
        ok = (page_read(s, &call, &work->item[i], err) &&
              preparer->prepare(&call, &work->item[i], &work->made[i], err) &&
              check_rows(work, &work->made[i], err)) ||
             within(err, "%s[%zu]", work->called ? work->called : "inputs", i);
        arena_reset(&scratch, SCRATCH_KEPT);
    }
    arena_free(&scratch);
    return ok;
}

/* ---- slices ---- */
static size_t text_bytes(const Work *work)
{
    size_t bytes = 0;
    for (size_t i = 0; i < work->n; i++) bytes += item_bytes(&work->item[i]);
    return bytes;
}

/* A small file may be an hour of sound. */
static bool has_sound(const Work *work)
{
    for (size_t i = 0; i < work->n; i++)
        if (work->item[i].sound.n || work->item[i].numbers) return true;
    return false;
}

/* 0: it is not worth it. One slice goes to the line of long ones, too. */
static int slices_of(const Session *s, const Work *work)
{
    size_t bytes = text_bytes(work);
    size_t slices = MIN(MIN(bytes / SLICE_BYTES, work->n), (size_t)MOST_SLICES);
    bool slow = stage_for(bytes) == STAGE_LONG || work_unread_pages(s, work) || has_sound(work);
    return slices > 1 || slow ? (int)MAX(slices, 1) : 0;
}

static void cut_slices(Work *work, int slices)
{
    work->slice.arena = ARRAY(&work->arena, Arena, slices);
    for (int i = 0; i < slices; i++) work->slice.arena[i].budget = &work->budget;
    work->slice.n = work->slice.left = slices;
}

typedef struct AdmitStep {       /* what is done guarded */
    Session *s;
    Work *work;
    Worker *worker;
    int slice;
    Err err;                     /* of a slice */
    bool ok;
} AdmitStep;

static void prepare_slice(void *arg)
{
    AdmitStep *step = arg;
    Work *work = step->work;
    size_t slices = (size_t)work->slice.n, slice = (size_t)step->slice;
    size_t from = work->n * slice / slices, to = work->n * (slice + 1) / slices;
    step->ok = prepare_items(step->s, work, &work->slice.arena[slice], from, to, &step->err);
}

static void run_slice(Session *s, Work *work, int slice)
{
    AdmitStep step = { .s = s, .work = work, .slice = slice };
    if (session_guarded(s, prepare_slice, &step, &step.err) && step.ok) return;
    pthread_mutex_lock(&s->queue.lock); /* the first failure is the answer */
    if (work->err.code == EF_OK) work->err = step.err;
    pthread_mutex_unlock(&s->queue.lock);
}

/* ---- prompts ---- */
/* As sentence-transformers counts them: with special tokens in front, without one at the end. */
static bool count_prompt(const Session *s, Work *work, Str prompt)
{
    Arena scratch = { .budget = &work->budget, .local = true };
    Encoding e;
    bool ok = tokenizer_encode(s->model->tokenizer, &scratch, prompt, NULL,
                               &s->model->encode, &e, &work->err);
    if (ok) work->prompt = (int64_t)e.n - (e.n && e.special[e.n - 1]);
    arena_free(&scratch);
    return ok || within(&work->err, "prompt");
}

/* Ids that get a prompt are texts like others: with special tokens. */
bool work_prompt(const Session *s, Work *work, Str prompt)
{
    const VectorHead *head = s->model->config.head;
    for (size_t i = 0; i < work->n; i++) {
        Str *text = &work->item[i].first;
        char *both = arena_alloc(&work->arena, prompt.n + text->n + 1);
        memcpy(both, prompt.p, prompt.n);
        memcpy(both + prompt.n, text->p, text->n);
        *text = (Str){ both, prompt.n + text->n };
        work->item[i].plain = false;
    }
    work->prompted = true;
    return !head || !head->without_prompt || !prompt.n || count_prompt(s, work, prompt);
}

/* As sentence-transformers' encode() does for who names no prompt. */
static bool default_prompt(const Session *s, const Work *work)
{
    return s->model->prompt.n && !work->prompted && runs(work);
}

/* ---- a request ---- */
/* Body, texts, scripts: all that is not cut into slices. */
static bool open_work(Session *s, Work *work, Worker *worker)
{
    bool ok = s->steps.open(s, work);
    if (ok && default_prompt(s, work)) ok = work_prompt(s, work, s->model->prompt);
    if (!ok || !script_items(s, work, worker) || !texts_find(s, work) || !pages_check(s, work)) return false;
    work->row = ARRAY(&work->arena, Prepared, work->n);
    work->made = ARRAY(&work->arena, PreparedRows, work->n);
    return true;
}

/* What its rows and their text will take, roughly: a number is 4 bytes and some 12 as text, a token
 * 64 as text and the rest as tree. */
static size_t weight(const Session *s, const Work *work)
{
    enum { OF_NUMBER = 16, OF_TEXT = 64, OF_TOKEN = 400 };
    const Task *task = s->model->task;
    size_t vocabulary = s->model->tokenizer ? tokenizer_size(s->model->tokenizer) : 0;
    if (!runs(work)) return (size_t)work->tokens * OF_TEXT;
    size_t width = (size_t)task_width(task, &s->model->config, vocabulary);
    bool all = task_keeps_tokens(task) && !work_pooling(s, work);
    size_t vectors = all ? (size_t)work->tokens : work->rows;
    return vectors * width * OF_NUMBER + (all ? (size_t)work->tokens * OF_TOKEN : 0);
}

/* The rows of all items, one after another. */
static void join_rows(Work *work)
{
    size_t total = 0;
    bool in_place = true;
    for (size_t i = 0; i < work->n; i++) {
        total += work->made[i].n;
        in_place &= work->made[i].n == 1 && work->made[i].row == &work->row[i];
    }
    work->rows = total;
    if (in_place) return;
    work->row = ARRAY(&work->arena, Prepared, total);
    work->start = ARRAY(&work->arena, size_t, work->n + 1);
    for (size_t i = 0, at = 0; i < work->n; i++) {
        memcpy(work->row + at, work->made[i].row, work->made[i].n * sizeof *work->row);
        work->start[i + 1] = at += work->made[i].n;
    }
}

/* ---- state from row to row ---- */
/* Rows of one graph share what they hand on; it begins as zeros. Returns the item's most steps. */
static int carry_item(const Session *s, Work *work, size_t item)
{
    int most = 0;
    for (int g = 0; g < model_graphs(s->model); g++) {
        const Engine *engine = model_engine(s->model, g);
        int64_t numbers = engine ? engine_state_numbers(engine) : 0;
        float *state = NULL;
        int step = 0;
        for (size_t r = 0; numbers && r < work_rows(work, item); r++) {
            Prepared *row = &work->row[work_row(work, item) + r];
            if (row->graph != g) continue;
            if (!state) state = ARRAY(&work->arena, float, numbers);
            row->state = state;
            row->step = step++;
        }
        most = MAX(most, step);
    }
    return most;
}

/* The first rows of all items, then their second ones ... */
static void order_steps(Work *work, int steps)
{
    size_t *at = ARRAY(&work->arena, size_t, steps + 1);
    for (size_t r = 0; r < work->rows; r++) at[work->row[r].step + 1]++;
    for (int i = 0; i < steps; i++) at[i + 1] += at[i];
    work->order = ARRAY(&work->arena, size_t, work->rows);
    for (size_t r = 0; r < work->rows; r++) work->order[at[work->row[r].step]++] = r;
}

static void carry_state(const Session *s, Work *work)
{
    int steps = 0;
    for (size_t i = 0; i < work->n; i++) steps = MAX(steps, carry_item(s, work, i));
    if (steps > 1) order_steps(work, steps);
}

static void price_rows(const Session *s, Work *work)
{
    for (size_t i = 0; i < work->n; i++) {
        work->characters += item_characters(&work->item[i]);
        for (size_t r = work_row(work, i); r < work_row(work, i) + work_rows(work, i); r++) {
            Prepared *row = &work->row[r];
            row->item = i;
            const Engine *engine = model_engine(s->model, row->graph);
            int64_t tokens = (int64_t)row->encoding.n;
            const RowInputs own = { row->feature, row->features };
            if (!row->cost) row->cost = engine ? engine_cost(engine, tokens, &own) : tokens;
            work->tokens += (int64_t)row->encoding.n;
        }
    }
}

static bool close_work(Session *s, Work *work)
{
    if (work->err.code != EF_OK) return false;
    join_rows(work);
    if (runs(work)) carry_state(s, work);
    price_rows(s, work);
    work->outputs = s->outputs;
    work->result = ARRAY(&work->arena, TaskTensor, work->rows * (size_t)work->outputs);
    work->times.admitted = now_seconds();
    meter_add(&s->meters.tokenize, METER_SECONDS, work->times.admitted - work->times.entered);
    size_t more = weight(s, work);
    if (!budget_aside(&work->budget, more)) memory_missing(more, &work->budget, true);
    return true;
}

static void open_step(void *arg)
{
    AdmitStep *step = arg;
    step->ok = open_work(step->s, step->work, step->worker);
    bool runner = step->worker->crew->stage == STAGE_RUN; /* the line may be closed before it ends */
    int slices = step->ok && !runner ? slices_of(step->s, step->work) : 0;
    if (slices) cut_slices(step->work, slices);
}

static void close_step(void *arg)
{
    AdmitStep *step = arg;
    step->ok = close_work(step->s, step->work);
}

static void prepare_step(void *arg)
{
    AdmitStep *step = arg;
    Work *work = step->work;
    step->ok = prepare_items(step->s, work, &work->arena, 0, work->n, &work->err) &&
               !work_unwanted(step->s, work) && close_work(step->s, work);
}

static bool run_step(AdmitStep *step, void (*fn)(void *))
{
    step->ok = false;
    return session_guarded(step->s, fn, step, &step->work->err) && step->ok;
}

static void whole_step(void *arg)
{
    AdmitStep *step = arg;
    step->ok = open_work(step->s, step->work, NULL);
    if (step->ok) prepare_step(arg);
}

bool work_admit(Session *s, Work *work)
{
    AdmitStep step = { .s = s, .work = work };
    return run_step(&step, whole_step);
}

/* ---- the crew ---- */
static void pass_on(Session *s, Work *work, bool ok)
{
    if (ok && runs(work)) return queue_pass(&s->queue, STAGE_RUN, work);
    if (ok) s->steps.finish(s, NULL, &work, 1);
    work_done(s, work);
}

void admit_whole(Session *s, Work *work, Worker *worker)
{
    AdmitStep step = { .s = s, .work = work, .worker = worker };
    if (work_unwanted(s, work) || !run_step(&step, open_step)) return work_done(s, work);
    if (work->slice.n) return queue_pass(&s->queue, STAGE_LONG, work);
    pass_on(s, work, run_step(&step, prepare_step));
}

static bool admit_small(Session *s, Work *work, Worker *worker)
{
    AdmitStep step = { .s = s, .work = work, .worker = worker };
    return !work_unwanted(s, work) && run_step(&step, open_step) && run_step(&step, prepare_step);
}

/* What is to be run is passed on at once. */
void admit_list(Session *s, Work *list, Worker *worker)
{
    Work *to_run = NULL, **end = &to_run;
    for (Work *work = list, *next; work; work = next) {
        next = work->next;
        bool ok = admit_small(s, work, worker);
        if (!ok || !runs(work)) {
            pass_on(s, work, ok);
            continue;
        }
        work->next = NULL;
        *end = work;
        end = &work->next;
    }
    if (to_run) queue_pass_runs(&s->queue, to_run);
}

static void admit_slice(Session *s, Work *work, int slice)
{
    AdmitStep step = { .s = s, .work = work };
    if (!__atomic_load_n(&work->abandoned, __ATOMIC_RELAXED)) run_slice(s, work, slice);
    if (__atomic_sub_fetch(&work->slice.left, 1, __ATOMIC_ACQ_REL) > 0) return;
    pass_on(s, work, !work_unwanted(s, work) && run_step(&step, close_step));
}

void admission_thread(Worker *me)
{
    Session *s = me->s;
    int slice;
    for (Work *work; !me->replaced && (work = queue_take(&s->queue, me->crew->stage, &slice));) {
        if (work->slice.n) admit_slice(s, work, slice);
        else admit_whole(s, work, me);
    }
}
