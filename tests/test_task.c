/* SPDX-License-Identifier: Apache-2.0
 * test_task.c - config.json, request bodies, and each task's way from hand-made numbers to JSON. */
#include "check.h"
#include "data/json.h"
#include "task/task.h"

static Arena arena;

static Value parse(const char *text)
{
    Value v = value_null();
    Err err = { 0 };
    if (!json_parse(&arena, str_of(text), &v, &err))
        printf("  bad test: %s: %s\n", text, err.message);
    return v;
}

/* ---- config.json ---- */
static bool config(const char *text, ModelConfig *out, Err *err)
{
    Value *root = NEW(&arena, Value);
    *root = parse(text);
    *err = (Err){ 0 };
    return config_read(&arena, root, out, err);
}

static void test_config(void)
{
    TEST("config");
    ModelConfig c;
    Err err;
    CHECK(config(
        "{\"model_type\":\"bert\",\"architectures\":[\"BertForTokenClassification\"],"
        "\"id2label\":{\"1\":\"bad\",\"0\":\"good\"},\"label2id\":{\"x\":9},\"hidden_size\":16,"
        "\"max_position_embeddings\":512,\"type_vocab_size\":2,\"pad_token_id\":3,"
        "\"problem_type\":null}",
        &c, &err));
    CHECK(str_is(c.model_type, "bert") && str_is(c.architecture, "BertForTokenClassification"));
    CHECK(c.num_labels == 2 && str_is(c.labels[0], "good") && str_is(c.labels[1], "bad"));
    CHECK(c.hidden_size == 16 && c.max_positions == 512 && c.type_vocab_size == 2 &&
          c.pad_token_id == 3);
    CHECK(config("{\"dim\":8,\"label2id\":{\"b\":\"1\",\"a\":0}}", &c, &err));
    CHECK(c.hidden_size == 8 && c.num_labels == 2 && str_is(c.labels[0], "a") &&
          str_is(c.labels[1], "b"));
    CHECK(config("{\"d_model\":8,\"num_labels\":3,\"id2label\":{\"0\":\"x\",\"1\":7}}", &c, &err));
    CHECK(c.num_labels == 3 && str_is(c.labels[1], "7") && str_is(c.labels[2], "LABEL_2"));
    CHECK(config("{\"num_labels\":3,\"pad_token_id\":-1}", &c, &err) && c.num_labels == 3 &&
          c.labels && str_is(c.labels[0], "LABEL_0") && str_is(c.labels[2], "LABEL_2"));
    CHECK(config("{\"num_labels\":1}", &c, &err) && c.num_labels == 1 && !c.labels);
    CHECK(config("{\"num_labels\":2,\"problem_type\":\"regression\"}", &c, &err) && !c.labels);
    CHECK(config("{}", &c, &err) && c.num_labels == 0 && !c.labels && c.architecture.n == 0);
    CHECK(config("{\"id2label\":{}}", &c, &err) && c.num_labels == 0);
}

/* Every name with one letter wrong: the suggestion is of the same task, or of none. */
static void suggest(const TaskName *row, const char *name, char as)
{
    char near[TASK_NAME_ROOM], typo[TASK_NAME_ROOM];
    for (size_t i = 0; name[i]; i++)
        for (int way = 0; way < 3; way++) {
            snprintf(typo, sizeof typo, "%.*s%s%s", (int)i, name, way == 1 ? "x" : way == 2 ? "xx" : "",
                     name + i + 1);
            for (char *p = typo; *p; p++) *p = *p == '-' ? as : *p;
            const TaskName *found = NULL;
            if (task_name(str_of(typo))) continue; /* "vqa" without its first letter is a name, too */
            if (task_name_near(str_of(typo), near)) found = task_name(str_of(near));
            if (!CHECK(!found || task_of_name(found) == task_of_name(row)))
                printf("  %s: found %s\n", typo, near);
        }
}

static void test_names(void)
{
    TEST("names of tasks");
    static const struct { const char *typed, *ours; } rows[] = {
        { "token-classification", "token_classification" }, { "token_classification", "token_classification" },
        { "NER", "token_classification" }, { "text-classification", "sequence_classification" },
        { "sentiment-analysis", "sequence_classification" }, { "Sequence_Classification", "sequence_classification" },
        { "text-ranking", "sequence_classification" }, { "feature-extraction", "embedding" },
        { "feature_extraction", "embedding" }, { "embeddings", "embedding" }, { "fill_mask", "fill_mask" },
        { "masked-lm", "fill_mask" }, { "sentence-similarity", "sentence_embedding" },
        { "text-embedding", "sentence_embedding" }, { "sentence_embedding", "sentence_embedding" },
        { "sparse-embedding", "sparse_embedding" }, { "question-answering", "question_answering" }, { "QA", "question_answering" },
        { "multiple-choice", "multiple_choice" }, { "multiple-choices", NULL }, { "ner ", NULL }, { "", NULL },
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        const Task *task = task_find(str_of(rows[i].typed));
        if (!CHECK(rows[i].ours ? task && strcmp(task->name, rows[i].ours) == 0 : !task)) printf("  %s\n", rows[i].typed);
    }
    size_t tasks;
    const TaskName *row;
    const Task *const *task = task_all(&tasks);
    for (size_t i = 0; i < tasks; i++) CHECK(task_find(str_of(task[i]->name)) == task[i]);
    for (size_t i = 0; (row = task_name_at(i)); i++) {
        CHECK(task_name(str_of(row->name)) == row && strlen(row->name) < TASK_NAME_ROOM);
        suggest(row, row->name, '-');
        for (size_t k = 0; k < TASK_SYNONYMS && row->synonyms[k]; k++) {
            CHECK(task_name(str_of(row->synonyms[k])) == row);
            suggest(row, row->synonyms[k], '_');
        }
    }
    CHECK(!task_name_reads(STR("ner")) && task_name_reads(STR("image_xyz")) && task_name_reads(STR("Audio-Classification")));
    CHECK(!task_name_reads(STR("imagery")) && !task_name_reads(STR("image")));
}

static void test_config_errors(void)
{
    TEST("config errors");
    static const struct { const char *text, *words; } rows[] = {
        { "[]", "an object" },
        { "{\"hidden_size\":\"16\"}", "hidden_size: found a string, wanted a whole number" },
        { "{\"hidden_size\":1.5}", "hidden_size" },
        { "{\"hidden_size\":-5}", "hidden_size: found -5" },
        { "{\"num_labels\":99999999}", "num_labels: found 99999999" },
        { "{\"max_position_embeddings\":99999999999}", "max_position_embeddings" },
        { "{\"id2label\":[]}", "id2label: found a list, wanted an object" },
        { "{\"id2label\":{\"x\":\"y\"}}", "id2label: found id \"x\"" },
        { "{\"id2label\":{\"-1\":\"y\"}}", "id2label: found id \"-1\"" },
        { "{\"id2label\":{\"99999999\":\"y\"}}", "id2label: found id" },
        { "{\"id2label\":{\"0\":null}}", "id2label: found null" },
        { "{\"label2id\":{\"a\":\"one\"}}", "label2id: found id \"one\"" },
        { "{\"label2id\":{\"a\":1.5}}", "label2id: found a number" },
        { "{\"problem_type\":\"zero\"}", "problem_type: found \"zero\"" },
        { "{\"problem_type\":1}", "problem_type: found a number, wanted a string" },
        { "{\"model_type\":{}}", "model_type" },
        { "{\"architectures\":\"Bert\"}", "architectures: found a string" },
        { "{\"architectures\":[1]}", "architectures[0]" },
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        ModelConfig c;
        Err err;
        CHECK(!config(rows[i].text, &c, &err) && err.code == EF_BAD_MODEL &&
              says(&err, rows[i].words));
    }
}

/* ---- requests ---- */
static const Task *task(const char *name)
{
    return task_find(str_of(name));
}

static void test_registry(void)
{
    TEST("registry");
    size_t n;
    const Task *const *all = task_all(&n);
    CHECK(n == 18);
    for (size_t i = 0; i < n; i++) {
        CHECK(task(all[i]->name) == all[i] && task_by_number(all[i]->number) == all[i]);
        CHECK(all[i]->outputs[0] && all[i]->finish && all[i]->request && all[i]->architectures[0]);
        CHECK(task_reply_schema(all[i])->msg == all[i]->result);
    }
    CHECK(!task("embedings") && !task_by_number(0) && !task_by_number(99));
}

static bool inputs(const char *body, Items *out, Err *err)
{
    Value v = parse(body);
    *err = (Err){ 0 };
    return task_inputs(&arena, task("token_classification"), &item_texts, &v, 3, out, err);
}

static void test_inputs(void)
{
    TEST("inputs");
    Items in;
    Err err;
    CHECK(
        inputs("{\"inputs\":[\"a\",[\"b\",\"c\"]],\"metadata\":{\"k\":\"v\"},\"x\":1}", &in, &err));
    CHECK(in.n == 2 && str_is(in.item[0].first, "a") && !in.item[0].second.p);
    CHECK(str_is(in.item[1].first, "b") && str_is(in.item[1].second, "c"));
    CHECK(inputs("{\"inputs\":\"only\",\"metadata\":null}", &in, &err) && in.n == 1 &&
          str_is(in.item[0].first, "only"));
    static const struct { const char *body, *words; ef_code code;
    } rows[] = {
        { "[]", "found a list, wanted an object", EF_INVALID_INPUT },
        { "{}", "inputs: found nothing, wanted a string", EF_INVALID_INPUT },
        { "{\"inputs\":null}", "inputs: found null", EF_INVALID_INPUT },
        { "{\"inputs\":[]}", "Cannot tokenize empty string: found an empty list, wanted", EF_INVALID_INPUT },
        { "{\"inputs\":\"\"}", "Cannot tokenize empty string", EF_INVALID_INPUT },
        { "{\"inputs\":[\"a\",\"\"]}", "inputs[1]: Cannot tokenize empty string",
          EF_INVALID_INPUT },
        { "{\"inputs\":[\"a\",7]}", "inputs[1]: found a number, wanted a string or",
          EF_INVALID_INPUT },
        { "{\"inputs\":[[\"a\"]]}", "inputs[0]: found a list of 1", EF_INVALID_INPUT },
        { "{\"inputs\":[[\"a\",2]]}", "inputs[0][1]: found a number", EF_INVALID_INPUT },
        { "{\"inputs\":[[\"a\",\"\"]]}", "Cannot tokenize empty string", EF_INVALID_INPUT },
        { "{\"inputs\":[\"a\",\"a\",\"a\",\"a\"]}", "inputs: found 4, wanted at most 3",
          EF_INVALID_INPUT },
        { "{\"inputs\":[\"a\"],\"metadata\":{\"k\":1}}", "metadata.k: found a number",
          EF_INVALID_INPUT },
        { "{\"inputs\":[\"a\"],\"offsets\":\"words\"}", "offsets: found \"words\"",
          EF_INVALID_INPUT },
    };
    for (size_t i = 0; i < COUNT(rows); i++)
        CHECK(!inputs(rows[i].body, &in, &err) && err.code == rows[i].code &&
              says(&err, rows[i].words));
    Item bad = { .first = STR("a\xff") };
    CHECK(!items_check(&item_texts, &(Items){ &bad, 1 }, 3, &err) && says(&err, "UTF-8"));
    CHECK(!items_check(&item_texts, &(Items){ &bad, 0 }, 3, &err) &&
          says(&err, "empty string"));
}

static void test_options(void)
{
    TEST("options");
    TaskOptions o;
    Err err;
    Value chars = parse("{\"offsets\":\"chars\"}"), bytes = parse("{\"offsets\":\"bytes\"}");
    Value none = parse("{}"), wrong = parse("{\"offsets\":1}");
    CHECK(task_options(task("embedding"), &(ModelConfig){ 0 }, &chars, &o, &err) && o.chars);
    CHECK(task_options(task("embedding"), &(ModelConfig){ 0 }, &bytes, &o, &err) && !o.chars);
    CHECK(task_options(task("embedding"), &(ModelConfig){ 0 }, &none, &o, &err) && !o.chars);
    CHECK(task_options(task("embedding"), &(ModelConfig){ 0 }, NULL, &o, &err) && !o.chars);
    CHECK(!task_options(task("embedding"), &(ModelConfig){ 0 }, &wrong, &o, &err) && says(&err, "offsets"));
}

static void test_describe(void)
{
    TEST("describe");
    Value schema = task_request_describe(&arena, task("embedding"), &item_texts, (TaskLimits){ 0 });
    const Value *in = value_get(value_get(&schema, "properties"), "inputs");
    CHECK(value_get(in, "anyOf") && value_get(in, "anyOf")->list.n == 2);
    CHECK(value_get(value_get(&schema, "properties"), "offsets"));
    CHECK(!value_get(value_get(&schema, "properties"), "pages")); /* JSON has them as inputs: */
    schema = task_request_describe(&arena, task("embedding"), &item_words, (TaskLimits){ 0 });
    in = value_get(value_get(value_get(&schema, "properties"), "inputs"), "anyOf");
    CHECK(in && in->list.n == 2 && value_get(value_get(&in->list.items[0], "properties"), "boxes"));
}

/* ---- results ---- */
static const char tokenizer_json[] =
    "{\"version\":\"1.0\",\"added_tokens\":["
    "{\"id\":0,\"content\":\"[UNK]\",\"single_word\":false,\"lstrip\":false,\"rstrip\":false,"
    "\"normalized\":false,\"special\":true}],"
    "\"normalizer\":null,\"pre_tokenizer\":{\"type\":\"Whitespace\"},\"post_processor\":null,"
    "\"decoder\":null,\"model\":{\"type\":\"WordPiece\",\"unk_token\":\"[UNK]\","
    "\"continuing_subword_prefix\":\"##\",\"max_input_chars_per_word\":100,"
    "\"vocab\":{\"[UNK]\":0,\"caf\xc3\xa9\":1,\"bar\":2}}}";
static Tokenizer *tokenizer;

/* [special] café bar [special], as if a post-processor had been there. */
static Encoding encoding = {
    .n = 4,
    .ids = (int32_t[]){ 0, 1, 2, 0 },
    .type_ids = (int32_t[]){ 0, 0, 0, 0 },
    .start = (int32_t[]){ 0, 0, 6, 0 },
    .end = (int32_t[]){ 0, 5, 9, 0 },
    .word = (int32_t[]){ -1, 0, 1, -1 },
    .special = (uint8_t[]){ 1, 0, 0, 1 },
    .sequence = (uint8_t[]){ 0, 0, 0, 0 },
};

static bool gives(const char *name, const ModelConfig *c, bool chars, const TaskRow *row,
                  const char *json)
{
    Value out;
    Buf text = { 0 };
    TaskRow full = *row;
    full.tokenizer = tokenizer;
    if (!full.encoding) full.encoding = &encoding;
    if (!full.first.p) full.first = STR("caf\xc3\xa9 bar");
    task(name)->finish(&arena, c, &(TaskOptions){ .chars = chars }, &full, 1, &out);
    json_write(&text, &out);
    bool ok = str_is(buf_view(&text), json);
    if (!ok) printf("  gave   %.*s\n  wanted %s\n", STR_ARG(buf_view(&text)), json);
    Err err = { 0 };
    ok = ok && schema_check(&out, task(name)->result, &err);
    if (err.message[0]) printf("  not its own schema: %s\n", err.message);
    buf_free(&text);
    return ok;
}

static void test_embeddings(void)
{
    TEST("embeddings");
    ModelConfig c = { 0 };
    float data[] = { 9, 9, 1, 2, 3, 4, 9, 9 };
    TaskRow row = { .data = data, .tokens = 4, .width = 2 };
    CHECK(gives("embedding", &c, false, &row,
                "{\"embeddings\":[{\"embedding\":[1.0,2.0],\"token_info\":"
                "{\"token\":\"caf\xc3\xa9\",\"token_id\":1,\"start\":0,\"end\":5}},"
                "{\"embedding\":[3.0,4.0],\"token_info\":"
                "{\"token\":\"bar\",\"token_id\":2,\"start\":6,\"end\":9}}]}"));
    TaskRow pooled = { .data = data + 2, .tokens = 1, .width = 3 };
    CHECK(gives("sentence_embedding", &c, false, &pooled, "{\"embedding\":[1.0,2.0,3.0]}"));
    float mean[2];
    task("sentence_embedding")->pool(&row, &(TaskOptions){ 0 }, mean);
    CHECK(mean[0] == 5.5f && mean[1] == 6.0f);
    Encoding cut = encoding;
    cut.truncated = true;
    pooled.encoding = &cut;
    CHECK(gives("sentence_embedding", &c, false, &pooled,
                "{\"embedding\":[1.0,2.0,3.0],\"truncated\":true}"));
}

static void test_sequences(void)
{
    TEST("sequences");
    ModelConfig c = { .num_labels = 2, .labels = (Str[]){ STR("no"), STR("yes") } };
    float logits[] = { 0, 0 }, three[] = { 0, NAN, -1 }, huge[] = { 1000, -1000 };
    TaskRow row = { .data = logits, .tokens = 1, .width = 2 };
    CHECK(gives("sequence_classification", &c, false, &row,
                "{\"logits\":[0.0,0.0],\"scores\":[0.5,0.5],\"predicted_index\":0,"
                "\"predicted_label\":\"no\"}"));
    logits[1] = 2;
    c.problem_type = STR("multi_label_classification");
    CHECK(gives("sequence_classification", &c, false, &row,
                "{\"logits\":[0.0,2.0],\"scores\":[0.5,0.880797],\"predicted_index\":1,"
                "\"predicted_label\":\"yes\"}"));
    c.problem_type = STR("regression");
    c.labels = NULL;
    CHECK(gives("sequence_classification", &c, false, &row,
                "{\"logits\":[0.0,2.0],\"scores\":[0.0,2.0],\"predicted_index\":1,"
                "\"predicted_label\":null}"));
    c.problem_type = (Str){ 0 };
    row.data = huge;
    CHECK(gives("sequence_classification", &c, false, &row,
                "{\"logits\":[1000.0,-1000.0],\"scores\":[1.0,0.0],\"predicted_index\":0,"
                "\"predicted_label\":\"LABEL_0\"}"));
    row.width = 1;
    CHECK(gives("sequence_classification", &c, false, &row,
                "{\"logits\":[1000.0],\"scores\":[1.0],\"predicted_index\":0,\"predicted_"
                "label\":null}"));
    c.problem_type = STR("single_label_classification");
    row.data = (float[]){ 2 };
    CHECK(gives("sequence_classification", &c, false, &row,
                "{\"logits\":[2.0],\"scores\":[0.880797],\"predicted_index\":0,"
                "\"predicted_label\":null}"));
    c.problem_type = (Str){ 0 };
    row = (TaskRow){ .data = three, .tokens = 1, .width = 3 };
    c.labels = (Str[]){ STR("no"), STR("yes") };
    three[0] = -2;
    CHECK(gives("sequence_classification", &c, false, &row,
                "{\"logits\":[-2.0,null,-1.0],\"scores\":[null,null,null],\"predicted_index\":2,"
                "\"predicted_label\":\"LABEL_2\"}"));
}

static void test_tokens(void)
{
    TEST("tokens");
    ModelConfig c = { .num_labels = 2, .labels = (Str[]){ STR("O"), STR("PLACE") } };
    float data[] = { 9, 9, 0, 0, 100, -100, 9, 9 };
    TaskRow row = { .data = data, .tokens = 4, .width = 2 };
#define ENTRY(token, id, start, end, scores, label, score)                                        \
    "{\"token_info\":{\"token\":\"" token "\",\"token_id\":" id ",\"start\":" start ",\"end\":" end \
    "},\"scores\":[" scores "],\"label\":\"" label "\",\"score\":" score "}"
    CHECK(gives("token_classification", &c, false, &row,
                "{\"tokens\":[" ENTRY("caf\xc3\xa9", "1", "0", "5", "0.5,0.5", "O", "0.5") ","
                ENTRY("bar", "2", "6", "9", "1.0,0.0", "O", "1.0") "]}"));
    data[3] = 200, data[4] = -100, data[5] = 100;
    c.num_labels = 1;
    CHECK(gives("token_classification", &c, true, &row,
                "{\"tokens\":[" ENTRY("caf\xc3\xa9", "1", "0", "4", "0.0,1.0", "LABEL_1", "1.0") ","
                ENTRY("bar", "2", "5", "8", "0.0,1.0", "LABEL_1", "1.0") "]}"));
    CHECK(encoding.end[1] == 5); /* offsets of the row itself stay */
}

/* The second text of a pair counts from its own start. */
static void test_pairs(void)
{
    TEST("pairs");
    ModelConfig c = { 0 };
    uint8_t sequence[] = { 0, 0, 1, 0 };
    int32_t start[] = { 0, 0, 3, 0 }, end[] = { 0, 5, 6, 0 };
    Encoding pair = encoding;
    pair.sequence = sequence, pair.start = start, pair.end = end;
    Str second = STR("\xc3\xa9 bar");
    float data[] = { 9, 1, 2, 9 };
    TaskRow row = { .first = STR("caf\xc3\xa9"), .second = &second, .encoding = &pair, .data = data,
                    .tokens = 4, .width = 1 };
    CHECK(gives("embedding", &c, true, &row,
                "{\"embeddings\":[{\"embedding\":[1.0],\"token_info\":"
                "{\"token\":\"caf\xc3\xa9\",\"token_id\":1,\"start\":0,\"end\":4,\"sequence\":0}},"
                "{\"embedding\":[2.0],\"token_info\":"
                "{\"token\":\"bar\",\"token_id\":2,\"start\":2,\"end\":5,\"sequence\":1}}]}"));
}

static void test_softmax(void)
{
    TEST("softmax");
    float x[7] = { -3, 0.5f, 2, 2, -100, 88, 90 }, sum = 0;
    task_softmax(x, 7, x);
    for (int i = 0; i < 7; i++) sum += x[i];
    CHECK(fabsf(sum - 1) < 1e-6f && x[6] > x[5] && x[5] > x[2]);
    CHECK(fabsf(x[6] - 0.8807971f) < 1e-6f);
}

static void test_reply(void)
{
    TEST("reply");
    Value results[2] = { value_of_int(1), value_of_int(2) }, metadata = parse("{\"k\":\"v\"}"),
          null = value_null();
    Buf text = { 0 };
    Value reply = task_reply(&arena, results, 2, STR("m"), NULL);
    json_write(&text, &reply);
    CHECK(str_is(buf_view(&text), "{\"results\":[1,2],\"model_id\":\"m\"}"));
    text.n = 0;
    reply = task_reply(&arena, results, 1, STR("m"), &metadata);
    json_write(&text, &reply);
    CHECK(
        str_is(buf_view(&text), "{\"results\":[1],\"model_id\":\"m\",\"metadata\":{\"k\":\"v\"}}"));
    reply = task_reply(&arena, results, 1, STR("m"), &null);
    CHECK(!value_get(&reply, "metadata"));
    buf_free(&text);
}

int main(void)
{
    Err err = { 0 };
    test_config();
    test_names();
    test_config_errors();
    test_registry();
    test_inputs();
    test_options();
    test_describe();
    test_softmax();
    test_reply();
    TEST("tokenizer");
    if (CHECK(tokenizer_load(&arena, str_of(tokenizer_json), &tokenizer, &err))) {
        test_embeddings();
        test_sequences();
        test_tokens();
        test_pairs();
    } else {
        printf("  %s\n", err.message);
    }
    arena_free(&arena);
    return finish();
}
