/* SPDX-License-Identifier: Apache-2.0
 * cmd_extract.c - entities of texts: type to text, by the BIO rule of task/bio.h. */
#include "cli/cli.h"
#include "api/texts.h"
#include "task/bio.h"

static const Option options[] = {
    OPTIONS_OPEN,
    { "all", 0, NULL, "every text of a type, as a list; else the first" },
    { "detailed", 0, NULL, "with the query and each entity's place in it" },
    OPTION_OFFSETS(.beside = "detailed"),
    { "json", 0, NULL, "as JSON: what it does anyway" },
    { 0 },
};

static Value describe(Args *a, const Texts *t, size_t i, const BioOptions *how)
{
    const ModelConfig *config = &t->model->config;
    BioSpans found = bio_entities(&a->arena, t->text[i], bio_tokens(&a->arena, texts_result(t, i)));
    return args_has(a, "detailed") ? bio_detail(&a->arena, config, t->text[i], &found, how)
                                   : bio_extract(&a->arena, config, &found, how);
}

/* One text is an object, several are a list. */
static bool print_all(Args *a, const Texts *t, Err *err)
{
    BioOptions how = { .all = args_has(a, "all"), .chars = args_int(a, "offsets") };
    Value list = value_list(&a->arena, t->n);
    for (size_t i = 0; i < t->n; i++) list.list.items[i] = describe(a, t, i, &how);
    return out_json(t->n == 1 ? &list.list.items[0] : &list, err);
}

static bool extract(Args *a, const Model *m, Err *err)
{
    Texts t;
    if (!task_can(m->task, NULL, CAN_TAG))
        return fail(err, EF_USAGE, "extract: found a model for %s, wanted token_classification",
                    m->task->name);
    bool ok = texts_open(&t, m, args_texts(a, 0), (size_t)a->n_text, err) && texts_run(&t, err) &&
              print_all(a, &t, err);
    texts_close(&t);
    return ok;
}

static bool extract_run(Args *a, Err *err)
{
    Model *m;
    if (a->n_text == 0) return fail(err, EF_USAGE, "extract: wanted at least one text");
    if (!args_model(a, &m, err)) return false;
    bool ok = extract(a, m, err);
    model_close(m);
    return ok;
}

const Command cmd_extract = {
    .name = "extract",
    .summary = "the entities of a text as JSON: type to text",
    .model_first = true,
    .usage = "[MODEL] [--all] [--detailed] TEXT...",
    .example = "  encoderfile extract --model ./bus-ner \"AC sleeper from Bangalore to Mumbai\"\n"
               "  {\"SRC\": \"Bangalore\", \"DEST\": \"Mumbai\", \"BUS_TYPE\": \"AC\", ...}\n",
    .options = options,
    .run = extract_run,
};
