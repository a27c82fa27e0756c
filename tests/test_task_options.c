/* SPDX-License-Identifier: Apache-2.0
 * test_task_options.c - what a request may ask of the reply: entities against what transformers
 * groups (tests/golden/task, by tools/oracle/entities.py), vectors, labels, tokens. */
#include "base/file.h"
#include "check.h"
#include "data/base64.h"
#include "data/json.h"
#include "task/task.h"

static Arena arena;

static bool options(const char *task, const char *json, TaskOptions *out, Err *err)
{
    Value *v = NEW(&arena, Value);
    *err = (Err){ 0 };
    ModelConfig config = { .hidden_size = 4 };
    return json_parse(&arena, str_of(str_dup(&arena, str_of(json))), v, err) &&
           task_options(task_find(str_of(task)), &config, v, out, err);
}

static void test_reading(void)
{
    TEST("options");
    TaskOptions o;
    Err err;
    CHECK(options("sentence_embedding", "{\"normalize\":true,\"pooling\":\"max\",\"dimensions\":4,"
                  "\"encoding\":\"base64\",\"truncate\":false,\"return_tokens\":true}", &o, &err));
    CHECK(o.normalize && o.pooling == POOL_MAX && o.dimensions == 4 && o.base64 && o.input.whole &&
          o.return_tokens && !o.chars);
    CHECK(options("token_classification", "{\"aggregation\":\"simple\",\"offsets\":\"chars\"}", &o,
                  &err) && o.grouping == GROUP_SIMPLE && o.chars && !o.input.whole);
    CHECK(options("token_classification", "{\"top_k\":\"not one of its options\"}", &o, &err));
    CHECK(options("token_classification", "{\"normalise\":\"near none of its options\"}", &o, &err));
    static const struct { const char *task, *json, *words; } wrong[] = {
        { "sentence_embedding", "{\"dimensions\":5}", "dimensions: found 5, wanted 1 to 4" },
        { "sentence_embedding", "{\"dimensions\":0}", "dimensions: found 0, wanted a whole number" },
        { "sentence_embedding", "{\"normalize\":1}", "normalize: found a number" },
        { "sentence_embedding", "{\"pooling\":\"sum\"}", "one of \"model\", \"mean\"" },
        { "embedding", "{\"encoding\":\"hex\"}", "one of \"float\", \"base64\"" },
        { "sequence_classification", "{\"top_k\":0}", "top_k: found 0" },
        { "embedding", "{\"Normalise\":true}", "unknown key \"Normalise\": did you mean normalize?" },
        { "embedding", "{\"retrun_token\":true,\"dimensoins\":2}", "did you mean dimensions?" },
        { "token_classification", "{\"agregation\":\"none\"}", "did you mean aggregation?" },
        { "fill_mask", "{\"topk\":1}", "did you mean top_k?" },
        { "token_classification", "{\"aggregation\":\"best\"}", "aggregation: found \"best\"" },
    };
    for (size_t i = 0; i < COUNT(wrong); i++)
        CHECK(!options(wrong[i].task, wrong[i].json, &o, &err) && err.code == EF_INVALID_INPUT &&
              says(&err, wrong[i].words));
}

/* ---- vectors and labels ---- */
static const float rows3[] = { 3, 4, 0, 1, -3, 8, 0, 1, 6, -6, 3, 1 }; /* [3, 4] */
static int32_t ids[] = { 1, 2, 3 }, zeros[3];
static uint8_t special[] = { 1, 0, 1 }, sequence[3];
static const Encoding three = { .n = 3, .ids = ids, .type_ids = zeros, .start = zeros, .end = zeros,
                                .word = zeros, .special = special, .sequence = sequence };

static Value finish_row(const char *name, const char *json, TaskRow row)
{
    TaskOptions o;
    Err err;
    Value out = value_null();
    static Str labels[] = { { "a", 1 }, { "b", 1 }, { "c", 1 }, { "d", 1 } };
    ModelConfig config = { .hidden_size = 4, .num_labels = 4, .labels = labels };
    const Task *task = task_find(str_of(name));
    CHECK(options(name, json, &o, &err));
    float *pooled = ARRAY(&arena, float, row.width);
    if (task_own_pool(task)) {
        task->pool(&row, &o, pooled);
        row.data = pooled, row.tokens = 1;
    }
    task->finish(&arena, &config, &o, &row, 1, &out);
    return out;
}

static bool writes(const char *name, const char *json, TaskRow row, const char *wanted)
{
    Buf text = { 0 };
    Value v = finish_row(name, json, row);
    json_write(&text, &v);
    bool ok = str_is(buf_view(&text), wanted);
    if (!ok) printf("  gave %.*s\n  not  %s\n", STR_ARG(buf_view(&text)), wanted);
    buf_free(&text);
    return ok;
}

static void test_vectors(void)
{
    TEST("vectors");
    TaskRow row = { .encoding = &three, .data = rows3, .tokens = 3, .width = 4 };
    const char *task = "sentence_embedding";
    CHECK(writes(task, "{}", row, "{\"embedding\":[2.0,2.0,1.0,1.0]}"));
    CHECK(writes(task, "{\"pooling\":\"mean\"}", row, "{\"embedding\":[2.0,2.0,1.0,1.0]}"));
    CHECK(writes(task, "{\"pooling\":\"cls\"}", row, "{\"embedding\":[3.0,4.0,0.0,1.0]}"));
    CHECK(writes(task, "{\"pooling\":\"max\"}", row, "{\"embedding\":[6.0,8.0,3.0,1.0]}"));
    CHECK(writes(task, "{\"pooling\":\"last\"}", row, "{\"embedding\":[6.0,-6.0,3.0,1.0]}"));
    CHECK(writes(task, "{\"pooling\":\"cls\",\"dimensions\":2}", row, "{\"embedding\":[3.0,4.0]}"));
    CHECK(writes(task, "{\"pooling\":\"cls\",\"dimensions\":2,\"normalize\":true}", row,
                 "{\"embedding\":[0.6,0.8]}"));
    CHECK(writes(task, "{\"pooling\":\"cls\",\"dimensions\":2,\"encoding\":\"base64\"}", row,
                 "{\"embedding\":\"AABAQAAAgEA=\"}"));
}

static void test_labels(void)
{
    TEST("labels");
    static const float logits[] = { 0, 2, 2, -1 };
    TaskRow row = { .encoding = &three, .data = logits, .scores = logits, .tokens = 1, .width = 4 };
    Value v = finish_row("sequence_classification", "{\"top_k\":3}", row);
    Buf text = { 0 };
    json_write(&text, value_get(&v, "top"));
    CHECK(str_is(buf_view(&text), "[{\"label\":\"b\",\"index\":1,\"score\":2.0},"
                                  "{\"label\":\"c\",\"index\":2,\"score\":2.0},"
                                  "{\"label\":\"a\",\"index\":0,\"score\":0.0}]"));
    v = finish_row("sequence_classification", "{\"top_k\":99}", row);
    CHECK(value_get(&v, "top")->list.n == 4);
    buf_free(&text);
}

/* ---- entities ---- */
static bool near(const Value *a, const Value *b)
{
    return fabs(value_float(a, 9) - value_float(b, 99)) < 2e-6;
}

static bool same_entity(const Value *mine, const Value *theirs)
{
    for (size_t i = 0; i < theirs->map.n; i++) {
        const char *key = str_dup(&arena, theirs->map.items[i].key);
        const Value *wanted = &theirs->map.items[i].value, *found = value_get(mine, key);
        if (!found || found->kind != wanted->kind) return false;
        if (wanted->kind == V_FLOAT && !near(found, wanted)) return false;
        if (wanted->kind == V_INT && found->i != wanted->i) return false;
        if (wanted->kind == V_STR && !str_eq(found->s, wanted->s)) return false;
    }
    return mine->map.n == theirs->map.n;
}

static bool same_entities(const Value *mine, const Value *theirs)
{
    bool ok = mine && mine->list.n == theirs->list.n;
    for (size_t i = 0; ok && i < theirs->list.n; i++)
        ok = same_entity(&mine->list.items[i], &theirs->list.items[i]);
    if (ok) return true;
    Buf text = { 0 };
    json_write(&text, mine);
    buf_puts(&text, "\n  not  ");
    json_write(&text, theirs);
    printf("  gave %.*s\n", STR_ARG(buf_view(&text)));
    buf_free(&text);
    return false;
}

static bool extracts(const ModelConfig *config, const TaskOptions *o, const TaskRow *row,
                     const Value *wanted)
{
    Value out;
    Buf mine = { 0 }, theirs = { 0 };
    task_find(STR("token_classification"))->finish(&arena, config, o, row, 1, &out);
    json_write(&mine, value_get(&out, "extracted"));
    json_write(&theirs, wanted);
    bool ok = !value_get(&out, "tokens") && str_eq(buf_view(&mine), buf_view(&theirs));
    if (!ok)
        printf("  gave %.*s\n  not  %.*s\n", STR_ARG(buf_view(&mine)),
               STR_ARG(buf_view(&theirs)));
    buf_free(&mine);
    buf_free(&theirs);
    return ok;
}

static void check_case(const Value *c, const ModelConfig *config, const Tokenizer *tokenizer)
{
    static const char *const ways[] = { "none", "simple", "first", "average", "max" };
    Str text = value_str(value_get(c, "text"), STR(""));
    const Value *wanted_ids = value_get(c, "ids"), *rows = value_get(c, "logits");
    Encoding e;
    Err err = { 0 };
    if (!CHECK(tokenizer_encode(tokenizer, &arena, text, NULL, NULL, &e, &err))) return;
    if (!CHECK(e.n == wanted_ids->list.n && e.n == rows->list.n)) return;
    float *logits = ARRAY(&arena, float, e.n * (size_t)config->num_labels);
    for (size_t t = 0; t < e.n; t++)
        for (int l = 0; l < config->num_labels; l++)
            logits[t * (size_t)config->num_labels + (size_t)l] =
                (float)rows->list.items[t].list.items[l].i;
    for (size_t w = 0; w < COUNT(ways); w++) {
        TaskOptions o = { .chars = true, .grouping = GROUP_NONE + (TaskGrouping)w };
        TaskRow row = { .first = text, .encoding = &e, .tokenizer = tokenizer, .data = logits,
                        .tokens = (int64_t)e.n, .width = config->num_labels };
        Value out;
        task_find(STR("token_classification"))->finish(&arena, config, &o, &row, 1, &out);
        CHECK(!value_get(&out, "tokens"));
        if (!CHECK(same_entities(value_get(&out, "entities"), value_get(c, ways[w]))))
            printf("  %s of %.*s\n", ways[w], STR_ARG(text));
    }
    TaskOptions o = { .chars = true, .extract = true };
    TaskRow row = { .first = text, .encoding = &e, .tokenizer = tokenizer, .data = logits,
                    .tokens = (int64_t)e.n, .width = config->num_labels };
    CHECK(extracts(config, &o, &row, value_get(c, "extract")));
}

static void test_entities(void)
{
    TEST("entities");
    Value root;
    Str text;
    Err err = { 0 };
    if (!CHECK(file_read(&arena, "tests/golden/task/entities.json", 1 << 20, &text, &err) &&
               json_parse(&arena, text, &root, &err)))
        return;
    const Value *names = value_get(&root, "labels"), *cases = value_get(&root, "cases");
    ModelConfig config = { .num_labels = (int)names->list.n };
    config.labels = ARRAY(&arena, Str, names->list.n);
    for (size_t i = 0; i < names->list.n; i++) config.labels[i] = names->list.items[i].s;
    for (size_t i = 0; i < cases->list.n; i++) {
        const Value *c = &cases->list.items[i];
        Tokenizer *tokenizer;
        const char *folder = str_dup(&arena, value_str(value_get(c, "tokenizer"), STR("")));
        if (CHECK(tokenizer_open(&arena, folder, &tokenizer, &err)))
            check_case(c, &config, tokenizer);
    }
}

int main(void)
{
    test_reading();
    test_vectors();
    test_labels();
    test_entities();
    arena_free(&arena);
    return finish();
}
