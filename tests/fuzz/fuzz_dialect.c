/* SPDX-License-Identifier: Apache-2.0
 * fuzz_dialect.c - any bytes as the body of every dialect, for models of every group: texts that
 * are neither empty nor too many, or an error that is said. And as the header `traceparent`. */
#include <stdlib.h>

#include "data/json.h"
#include "server/trace.h"
#include "dialect/family.h"
#include "session/stages.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char tokenizer_json[] =
    "{\"version\":\"1.0\",\"added_tokens\":[{\"id\":4,\"content\":\"[MASK]\",\"single_word\":false,"
    "\"lstrip\":false,\"rstrip\":false,\"normalized\":false,\"special\":true}],\"normalizer\":null,"
    "\"pre_tokenizer\":{\"type\":\"Whitespace\"},\"post_processor\":null,\"decoder\":null,"
    "\"model\":{\"type\":\"WordPiece\","
    "\"unk_token\":\"[UNK]\",\"continuing_subword_prefix\":\"##\",\"max_input_chars_per_word\":100,"
    "\"vocab\":{\"[UNK]\":0,\"a\":1,\"b\":2,\"boom\":3,\"[MASK]\":4}}}";

enum { MOST = 8 };
static Str labels[] = { { "contradiction", 13 }, { "entailment", 10 } };
static void must(bool ok)
{
    if (!ok) abort();
}

/* A text, a picture or a sound, a box for every word, and words that are parts of the text. */
static bool items_whole(const Item *item)
{
    Err err;
    bool ok = (item->first.n > 0) + (item->picture.n > 0) + (item->sound.n > 0 || item->numbers) == 1 ||
              (item->blank && item->first.n == 0);
    ok &= !item->boxes || (item->n && item_check_boxes(item, &err));
    for (size_t i = 0; ok && i < item->n; i++) {
        Str word = item->list[i];
        ok = (word.n || item->blank) && (!item->boxes || (word.p >= item->first.p && word.p + word.n <= item->first.p + item->first.n));
    }
    return ok;
}

static void read_as(const Session *s, const JobKind *kind, Str body)
{
    Job *job = job_new();
    Value request;
    job->in.kind = kind;
    if (json_parse_most(&job->work.arena, body, 4096, &request, &job->work.err)) {
        bool ok = kind->read(s, job, &request);
        must(ok == (job->work.err.code == EF_OK) && (ok || job->work.err.message[0]));
        must(!ok || job->work.n <= MOST);
        for (size_t i = 0; ok && i < job->work.n; i++)
            must(items_whole(&job->work.item[i]) && (!item_second(&job->work.item[i]) || utf8_valid(*item_second(&job->work.item[i]))));
    }
    job_free(job);
}

static Model *model_once(void)
{
    static Model model;
    Err err;
    if (model.tokenizer) return &model;
    must(tokenizer_load(&model.arena, str_of(tokenizer_json), &model.tokenizer, &err));
    model.config = (ModelConfig){ .num_labels = 2, .labels = labels, .hidden_size = 4 };
    return &model;
}

/* The kinds of every family's routes; what a body chooses among is read by way of these. */
static void read_as_all(const Session *s, Str body)
{
    for (int f = 0; families[f]; f++)
        for (const Route *r = families[f]->route; r->path; r++) {
            if (r->job) read_as(s, r->job, body);
            if (r->line) read_as(s, r->line, body);
        }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    size_t n;
    Model *model = model_once();
    Site site = { .config = &model->config, .max_inputs = MOST };
    Session s = { .model = model, .options = { .max_inputs = MOST }, .steps = { .own = &site } };
    Str body = { (const char *)data, size };
    TraceParent parent;
    const Task *const *task = task_all(&n);
    for (size_t t = 0; t < n; t++) {
        site.task = model->task = task[t];
        site.items = model->items = task[t]->items;
        read_as_all(&s, body);
        site.items = model->items = &item_words; /* of a graph that reads boxes */
        if (task_has_option(task[t], "pages")) read_as(&s, &kind_predict, body);
    }
    trace_parent(body, &parent);
    return 0;
}
