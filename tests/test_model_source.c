/* SPDX-License-Identifier: Apache-2.0
 * test_model_source.c - between files and a model: families, tasks, the length limit. */
#include "check.h"
#include "data/json.h"
#include "model/source.h"

static Arena arena;

static Value *parse(const char *json)
{
    Err err = { 0 };
    Value *v = NEW(&arena, Value);
    CHECK(json_parse(&arena, str_of(json), v, &err));
    return v;
}

static ModelConfig config(const char *json)
{
    Err err = { 0 };
    ModelConfig c = { 0 };
    CHECK(config_read(&arena, parse(json), &c, &err));
    return c;
}

static void families(void)
{
    TEST("families: checkpoints that cannot be exported here");
    static const struct Case { const char *json, *words;
    } cases[] = {
        { "{\"model_type\":\"bert\",\"is_decoder\":false}", NULL },
        { "{\"model_type\":\"t5\",\"architectures\":[\"T5EncoderModel\"]}", "T5 is not supported as a checkpoint" },
        { "{\"model_type\":\"xlnet\"}", "XLNet is not supported" },
        { "{\"model_type\":\"transfo-xl\"}", "Transformer-XL is not supported" },
        { "{\"model_type\":\"gpt2\",\"architectures\":[\"GPT2ForSequenceClassification\"]}",
          "a decoder" },
        { "{\"model_type\":\"bart\"}", "an encoder-decoder" },
        { "{\"model_type\":\"new\",\"architectures\":[\"NewForCausalLM\"]}", "generates text" },
        { "{\"model_type\":\"new\",\"is_encoder_decoder\":true}", "is_encoder_decoder" },
        { "{\"model_type\":\"new\",\"is_decoder\":true}", "is_decoder" },
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        Err err = { 0 };
        ModelConfig c = config(cases[i].json);
        bool ok = source_family(&c, &err);
        CHECK(ok == !cases[i].words && (ok || says(&err, cases[i].words)));
    }
}

typedef struct TaskCase {
    const char *name, *architecture, *found, *words;
    const char *output;          /* of the graph; NULL: a checkpoint */
    int rank, width;
} TaskCase;

static void choose(const TaskCase *c)
{
    Err err = { 0 };
    const Task *task = NULL;
    OnnxValue out = { .name = str_of(c->output), .rank = c->rank, .dim = { -1, -1, -1 } };
    if (c->rank) out.dim[c->rank - 1] = c->width;
    OnnxModel onnx = { .graph = { .out = &out, .n_out = 1 } };
    ModelConfig config = { .model_type = STR("bert"), .architecture = str_of(c->architecture),
                           .vocab_size = 99 };
    ModelSource s = { .task = str_of(c->name) };
    bool ok = source_task(&s, &config, c->output ? &onnx : NULL, &task, &err);
    if (!CHECK(ok == !c->words)) printf("  %s of %s: %s\n", c->name, c->architecture, err.message);
    CHECK(ok ? c->found && strcmp(task->name, c->found) == 0 : says(&err, c->words));
}

static void tasks_of_checkpoints(void)
{
    TEST("tasks of checkpoints: their class, or none of its heads");
    static const TaskCase cases[] = {
        { "", "BertForTokenClassification", "token_classification" },
        { "", "BertModel", "embedding" },
        { "sentence_embedding", "BertModel", "sentence_embedding" },
        { "embedding", "BertForMaskedLM", "embedding" },
        { "feature-extraction", "BertForTokenClassification", "embedding" },
        { "", "BertForMaskedLM", "fill_mask" },
        { "sparse_embedding", "BertForMaskedLM", "sparse_embedding" },
        { "sequence_classification", "Unheard", "sequence_classification" },
        { "ner", "BertForTokenClassification", "token_classification" },
        { "", "Unheard", NULL, "does not tell the task" },
        { "token_classification", "BertModel", NULL, "no classifier weights" },
        { "token_classification", "BertForMaskedLM", NULL, "no classifier weights" },
        { "ner", "BertForSequenceClassification", NULL, "Invalid model type" },
        { "fill-mask", "BertModel", NULL, "no weights of that head" },
        { "embeding", "BertModel", NULL, "did you mean embedding?" },
        { "text_clasification", "BertModel", NULL, "did you mean text_classification?" },
        { "question-answering", "BertModel", NULL, "no weights of that head" },
        { "question-answering", "BertForQuestionAnswering", "question_answering" },
        { "", "TapasForQuestionAnswering", NULL, "TAPAS is not supported" },
        { "question-answering", "TapasForQuestionAnswering", NULL, "about tables" },
        { "", "TapasForMaskedLM", "fill_mask" },
        { "translation", "BertModel", NULL, "translation is not supported" },
        { "image_classification", "ViTForImageClassification", "image_classification" },
        { "depth-estimation", "ViT", NULL, "depth-estimation is not supported: wanted one of embedding" },
        { "audio-xvector", "Wav2Vec2", NULL, "audio-xvector is not supported: wanted one of embedding" },
        { "asr", "Wav2Vec2ForCTC", "automatic_speech_recognition" },
    };
    for (size_t i = 0; i < COUNT(cases); i++) choose(&cases[i]);
}

static void tasks_of_graphs(void)
{
    TEST("tasks of graphs: their outputs, beside a class that exporters leave as it was");
    static const TaskCase cases[] = {
        { "", "BertForMaskedLM", "embedding", NULL, "last_hidden_state", 3, 8 },
        { "", "BertForMaskedLM", "fill_mask", NULL, "logits", 3, 99 },
        { "", "BertForSequenceClassification", "embedding", NULL, "last_hidden_state", 3, 8 },
        { "embedding", "BertForSequenceClassification", "embedding", NULL, "last_hidden_state", 3, 8 },
        { "embedding", "BertForSequenceClassification", NULL, "gives no hidden states", "logits", 2, 3 },
        { "token_classification", "BertForMaskedLM", "token_classification", NULL, "logits", 3, 5 },
        { "token_classification", "BertForMaskedLM", NULL, "words of the vocabulary", "logits", 3, 99 },
        { "token_classification", "BertForMaskedLM", NULL, "words of the vocabulary", "logits", 3, -1 },
        { "token_classification", "BertForSequenceClassification", NULL, "another head", "logits", 3, 5 },
        { "", "TapasForQuestionAnswering", NULL, "TAPAS is not supported", "logits", 2, -1 },
        { "", "TapasForQuestionAnswering", "embedding", NULL, "last_hidden_state", 3, 8 },
        { "", "CLIPModel", "sentence_embedding", NULL, "text_embeds", 2, 8 },
        { "ner", "", "token_classification", NULL, "logits", 3, 5 },
    };
    for (size_t i = 0; i < COUNT(cases); i++) choose(&cases[i]);
}

static const char bert[] = "{\"model_type\":\"bert\",\"max_position_embeddings\":512}";
static const char roberta[] =
    "{\"model_type\":\"roberta\",\"max_position_embeddings\":514,\"pad_token_id\":1}";
static const char none[] = "{\"model_type\":\"bert\"}";

static void limits(void)
{
    TEST("limits: the caller's, YAML, model_max_length, max_length, positions");
    static const struct Case { const char *config, *yaml, *file; int wanted, asked; } cases[] = {
        { bert, NULL, "{\"model_max_length\":256,\"max_length\":128}", 128 },
        { bert, NULL, "{\"model_max_length\":100,\"max_length\":128}", 100 },
        { bert, NULL, "{\"model_max_length\":1e30,\"max_length\":128,\"max_len\":99}", 99 },
        { bert, NULL, "{\"max_length\":128}", 128 },
        { bert, "{\"max_length\":64}", "{\"model_max_length\":256}", 64 },
        { bert, "{\"max_length\":null}", "{\"model_max_length\":256}", 256 },
        { bert, NULL, "{\"model_max_length\":1000000000000000019884624838656}", 512 },
        { bert, NULL, "{\"model_max_length\":1e30}", 512 },
        { bert, "{\"max_length\":4096}", "{}", 512 },
        { roberta, NULL, "{\"model_max_length\":514}", 512 },
        { none, NULL, "{\"model_max_length\":1e30}", 0 },
        { none, NULL, "{}", 512 },
        { none, "{\"max_length\":100000}", "{}", 100000 },
        { bert, "{\"max_length\":64}", "{\"model_max_length\":256,\"max_length\":128}", 300, .asked = 300 },
        { bert, NULL, "{\"model_max_length\":256}", 9, .asked = 9 },
        { roberta, NULL, "{\"model_max_length\":256}", 512, .asked = INT32_MAX },
        { none, NULL, "{\"model_max_length\":256}", 0, .asked = INT32_MAX },
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        Err err = { 0 };
        EncodeOptions o;
        ModelConfig c = config(cases[i].config);
        LimitSource s = { .asked = cases[i].asked, .yaml = cases[i].yaml ? parse(cases[i].yaml) : NULL,
                          .file = parse(cases[i].file), .config = &c };
        if (!CHECK(limit_from_source(&s, &o, &err) && o.max_length == cases[i].wanted))
            printf("  case %zu: found %d, wanted %d (%s)\n", i, o.max_length, cases[i].wanted,
                   err.message);
    }
}

/* max_position_embeddings is no limit where there is no table of so many rows; others still are one. */
static void limits_without_a_table(void)
{
    TEST("limits: models of distances and angles");
    static const char open[] = "{\"model_max_length\":1e30}";
    static const struct Case { const char *own, *file; int wanted, sentences; } cases[] = {
        { "\"model_type\":\"deberta-v2\",\"position_biased_input\":false", open, 0, 64 },
        { "\"model_type\":\"deberta\",\"position_biased_input\":false", open, 0, 64 },
        { "\"model_type\":\"deberta-v2\",\"position_biased_input\":false", "{\"model_max_length\":99}", 99, 64 },
        { "\"model_type\":\"deberta-v2\",\"position_biased_input\":false", "{}", 512, 64 },
        { "\"model_type\":\"deberta-v2\",\"position_biased_input\":true", open, 64, 64 },
        { "\"model_type\":\"deberta-v2\"", open, 64, 64 },
        { "\"model_type\":\"esm\",\"position_embedding_type\":\"rotary\"", open, 0, 63 },
        { "\"model_type\":\"esm\",\"position_embedding_type\":\"absolute\"", open, 63, 63 },
        { "\"model_type\":\"modernbert\"", open, 0, 64 },
        { "\"model_type\":\"bert\",\"position_biased_input\":false", open, 64, 64 },
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        Err err = { 0 };
        EncodeOptions o, sentences;
        char json[256];
        snprintf(json, sizeof json, "{%s,\"max_position_embeddings\":64}", cases[i].own);
        ModelConfig c = config(json);
        LimitSource s = { .file = parse(cases[i].file), .config = &c }, own = s;
        own.json = parse(json);
        bool ok = limit_from_source(&own, &o, &err) && limit_from_source(&s, &sentences, &err);
        if (!CHECK(ok && o.max_length == cases[i].wanted && sentences.max_length == cases[i].sentences))
            printf("  case %zu: found %d and %d (%s)\n", i, o.max_length, sentences.max_length, err.message);
    }
}

static void sentence_limits(void)
{
    TEST("limits: sentence-transformers before tokenizer_config.json, behind YAML");
    static const struct Case { const char *yaml, *sentence, *file; int wanted; } cases[] = {
        { "{}", "{\"max_seq_length\":256}", "{\"model_max_length\":512}", 256 },
        { "{\"max_length\":64}", "{\"max_seq_length\":256}", "{}", 64 },
        { "{}", "{\"max_seq_length\":null}", "{\"model_max_length\":128}", 128 },
        { "{}", "{\"max_seq_length\":4096}", "{}", 512 },
        { "{}", "{}", "{\"max_len\":100}", 100 },
        { "{}", "{\"max_seq_length\":20,\"tokenizer_args\":{\"model_max_length\":12}}", "{}", 12 },
        { "{}", "{\"max_seq_length\":20,\"processor_kwargs\":{\"model_max_length\":30}}", "{}", 30 },
        { "{}", "{\"processing_kwargs\":{\"text\":{\"max_length\":10}},\"max_seq_length\":20}", "{\"model_max_length\":30}", 10 },
        { "{}", "{\"processing_kwargs\":{\"text\":{\"max_length\":10},\"common\":{\"max_length\":9}}}", "{}", 9 },
        { "{\"max_length\":64}", "{\"processing_kwargs\":{\"text\":{\"max_length\":10}}}", "{}", 64 },
        { "{}", "{\"processing_kwargs\":{\"text\":{\"padding\":true}},\"max_seq_length\":20}", "{}", 20 },
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        Err err = { 0 };
        EncodeOptions o;
        ModelConfig c = config(bert);
        LimitSource s = { parse(cases[i].yaml), parse(cases[i].file), parse(cases[i].sentence),
                          NULL, &c };
        CHECK(limit_from_source(&s, &o, &err) && o.max_length == cases[i].wanted);
    }
}

static void broken_limits(void)
{
    TEST("limits that make no sense");
    static const struct Case { const char *yaml, *file, *words; } cases[] = {
        { "{}", "{\"model_max_length\":\"x\"}", "model_max_length must be an int" },
        { "{}", "{\"max_length\":0}", "above 0" },
        { "{\"max_length\":-1}", "{}", "tokenizer: max_length" },
        { "{\"truncation_side\":\"up\"}", "{}", "truncation_side: found \"up\"" },
        { "{\"truncation_strategy\":3}", "{}", "wanted a word" },
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        Err err = { 0 };
        EncodeOptions o;
        ModelConfig c = config(bert);
        LimitSource s = { .yaml = parse(cases[i].yaml), .file = parse(cases[i].file),
                          .config = &c };
        CHECK(!limit_from_source(&s, &o, &err) && says(&err, cases[i].words));
    }
}

/* A tokenizer of two special tokens, whose own limit is 7. */
static void limits_of_a_tokenizer(void)
{
    TEST("limits and the tokenizer's own");
    static const char json[] =
        "{\"truncation\":{\"max_length\":7,\"strategy\":\"LongestFirst\",\"stride\":0,"
        "\"direction\":\"Right\"},\"added_tokens\":[],\"normalizer\":null,"
        "\"pre_tokenizer\":{\"type\":\"BertPreTokenizer\"},\"post_processor\":{"
        "\"type\":\"BertProcessing\",\"sep\":[\"[SEP]\",1],\"cls\":[\"[CLS]\",2]},"
        "\"model\":{\"type\":\"WordPiece\",\"unk_token\":\"a\",\"continuing_subword_prefix\":"
        "\"##\",\"max_input_chars_per_word\":100,\"vocab\":{\"a\":0,\"[SEP]\":1,\"[CLS]\":2}}}";
    static const struct Case { const char *yaml, *file; int wanted; } cases[] = {
        { "{}", "{\"model_max_length\":9}", 9 }, { "{}", "{}", 7 },
        { "{\"max_length\":2}", "{}", 2 },       { "{\"max_length\":1}", "{}", -1 },
    };
    Err err = { 0 };
    Tokenizer *t = NULL;
    ModelConfig c = config(bert);
    if (!CHECK(tokenizer_load(&arena, str_of(json), &t, &err))) printf("  %s\n", err.message);
    for (size_t i = 0; i < COUNT(cases) && t; i++) {
        EncodeOptions o;
        LimitSource s = { parse(cases[i].yaml), parse(cases[i].file), NULL, t, &c };
        bool ok = limit_from_source(&s, &o, &err);
        CHECK(ok ? o.max_length == cases[i].wanted : says(&err, "wanted at least 2"));
        CHECK(ok == (cases[i].wanted > 0));
    }
}

static void packed_limits(void)
{
    TEST("limits in a package");
    Err err = { 0 };
    EncodeOptions o = { .max_length = 77, .strategy = TRUNCATE_ONLY_SECOND, .truncate_left = true },
                  back;
    Value map = value_map(&arena, 1);
    value_add(&map, "truncation", limit_to_package(&arena, &o));
    CHECK(limit_from_package(&map, &back, &err));
    CHECK(back.max_length == 77 && back.strategy == o.strategy && back.truncate_left);
    const Value *peer =
        parse("{\"padding\":{},\"truncation\":{\"direction\":\"Right\","
              "\"max_length\":5076964154930102272,\"strategy\":\"LongestFirst\",\"stride\":0}}");
    CHECK(limit_from_package(peer, &back, &err) && back.max_length == 0 && !back.truncate_left);
    CHECK(limit_from_package(NULL, &back, &err) && back.max_length == 0);
}

int main(void)
{
    families();
    tasks_of_checkpoints();
    tasks_of_graphs();
    limits();
    limits_without_a_table();
    sentence_limits();
    broken_limits();
    limits_of_a_tokenizer();
    packed_limits();
    arena_free(&arena);
    return finish();
}
