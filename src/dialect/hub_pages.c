/* SPDX-License-Identifier: Apache-2.0
 * hub_pages.c - `POST /` of models that read pages, in the shapes of the Hub: questions about a document
 * as its client sends them, {"inputs": {"image": base64, "question": ...}, "parameters": {...}}, and pages
 * to label. */
#include "hub.h"
#include "parts.h"
#include "task/answers.h"

/* Tesseract reads English unless it is told otherwise, and nobody tells it. */
static const char *const languages[] = { "eng", NULL };
const Field hub_page_parameters[] = {
    PAGE_ANSWER_OPTIONS,
    { "word_boxes", 0, F_ANY, .nullable = true, .help = "the page's words: a list of [word, box]" },
    { "lang", 0, F_STR, .nullable = true, .words = languages,
      .help = "of the page; give words and boxes for others" },
    { 0 },
};
static const Field page_rows[] = {
    { "inputs", 0, F_ANY, .required = true, .help = "a question with its page, or a list of these" },
    { "parameters", 0, F_MSG, .nullable = true, .msg = hub_page_parameters },
    { 0 },
};

bool hub_reads_pages(const Site *site)
{
    return item_form_has(site->items, ITEM_BOXES);
}

/* The words that the parameters have become the page's; *page is it. */
static bool take_words(Job *job, const Value *words, const Value **page)
{
    const Value *given = *page;
    if (!words || words->kind == V_NULL) return true;
    if (given->kind != V_MAP)
        return fail(&job->work.err, EF_INVALID_INPUT, "word_boxes: found %s as inputs, wanted one page, whose words "
                    "they are", value_kind_name(given->kind));
    Value *both = NEW(&job->work.arena, Value);
    *both = value_map(&job->work.arena, given->map.n + 1);
    memcpy(both->map.items, given->map.items, given->map.n * sizeof *given->map.items);
    both->map.n = given->map.n;
    if (!value_get(both, "word_boxes")) value_add(both, "word_boxes", *words);
    *page = both;
    return true;
}

static bool read_page_question(const Session *s, Job *job, const Value *request)
{
    const Value *inputs = value_get(request, "inputs"), *parameters = value_get(request, "parameters");
    return schema_check(request, page_rows, &job->work.err) &&
           take_words(job, value_get(parameters, "word_boxes"), &inputs) && hub_read_items(s, job, inputs) &&
           (!parameters || parameters->kind != V_MAP || job_options(s, job, parameters));
}

/* A list of answers for each page; as the pipeline, also where there is one. */
static Value finish_page_question(const Session *s, Job *job)
{
    Value list = value_list(&job->work.arena, job->work.n), result;
    for (size_t i = 0; i < job->work.n; i++) {
        kind_predict.item(s, job, &job->work.arena, i, &result);
        list.list.items[i] = *value_get(&result, "answers");
    }
    return job->in.single ? list.list.items[0] : list;
}

Value hub_pages_request(Arena *arena, const Site *site, const Field *rows)
{
    return kind_schema_with(arena, rows ? rows : page_rows, "inputs",
                            items_describe(arena, site->items, site->max_inputs));
}

const JobKind hub_page_question = {
    .name = "document-question-answering",
    .family = &family_hub,
    .read = read_page_question,
    .finish = finish_page_question,
};
