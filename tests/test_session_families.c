/* SPDX-License-Identifier: Apache-2.0
 * test_session_families.c - models whose name or class does not tell what they can do (tests/golden/families, by
 * tools/oracle/families.py): what the graph needs decides, and the task that is asked for. */
#include "base/file.h"
#include "check.h"
#include "data/npy.h"
#include "encoderfile.h"

#define GOLDEN "tests/golden/families/"
enum { MOST_TEXTS = 8 };

/* The lines of texts.txt. */
static size_t read_texts(Arena *arena, const char *folder, ef_input *in)
{
    Err err;
    Str all = { 0 };
    size_t n = 0;
    file_read(arena, path_join(arena, folder, STR("texts.txt")), 4096, &all, &err);
    for (char *line = strtok(str_dup(arena, all), "\n"); line && n < MOST_TEXTS; line = strtok(NULL, "\n"))
        in[n++] = ef_text(line);
    return n;
}

/* Largest difference to the reference; infinite where the sizes differ. */
static double difference(const ef_reply *r, size_t texts, const Npy *want)
{
    const float *p = want->data;
    size_t left = want->bytes / 4;
    double most = 0;
    for (size_t i = 0; i < texts; i++) {
        const ef_tensor *t = ef_reply_tensor(r, i);
        if (!t) return INFINITY;
        size_t n = (size_t)(t->dim[0] * (t->rank == 2 ? t->dim[1] : 1));
        if (n > left) return INFINITY;
        for (size_t k = 0; k < n; k++) most = fmax(most, fabs((double)t->data[k] - p[k]));
        p += n, left -= n;
    }
    return left ? INFINITY : most;
}

/* All texts in one batch against torch's answers for each alone. */
static void answers(const char *folder, const char *task, const char *found)
{
    Arena arena = { 0 };
    ef_error err = { 0 };
    ef_input in[MOST_TEXTS];
    Str file;
    Npy want;
    ef_model *m = ef_open(folder, &(ef_options){ .threads = 1, .task = task }, &err);
    size_t n = read_texts(&arena, folder, in);
    CHECK(n == 4 && file_read(&arena, path_join(&arena, folder, STR("output.npy")), 1 << 20, &file, &err) &&
          npy_read(file, &want, &err));
    if (!CHECK(m)) printf("  %s: %s\n", folder, err.message);
    ef_reply *r = m ? ef_predict(m, in, n, NULL, &err) : NULL;
    double d = r ? difference(r, n, &want) : INFINITY;
    if (!CHECK(d <= 1e-5)) printf("  %s: difference %g %s\n", folder, d, err.message);
    CHECK(m && strcmp(ef_describe(m)->task, found) == 0);
    ef_reply_free(r);
    ef_close(m);
    arena_free(&arena);
}

static void refused(const char *folder, const char *task, ef_code code, const char *words)
{
    ef_error err = { 0 };
    ef_model *m = ef_open(folder, &(ef_options){ .task = task }, &err);
    if (!CHECK(!m && err.code == code && says(&err, words))) printf("  %s: %s\n", folder, err.message);
    ef_close(m);
}

static void graphs_that_answer(void)
{
    TEST("BART, T5, CLIP and GPT-2 as ONNX answer as torch does");
    answers(GOLDEN "bart", NULL, "sequence_classification");
    answers(GOLDEN "bart", "zero-shot-classification", "sequence_classification");
    answers(GOLDEN "t5", NULL, "embedding");
    answers(GOLDEN "t5", "feature_extraction", "embedding");
    answers(GOLDEN "clip-text", NULL, "embedding");
    answers(GOLDEN "clip", NULL, "sentence_embedding"); /* the half of it that reads texts */
    answers(GOLDEN "clip", "sentence-similarity", "sentence_embedding");
    answers(GOLDEN "gpt2", NULL, "sequence_classification");
}

static void masked_language_models(void)
{
    TEST("the checkpoint of a masked language model without its head");
    answers(GOLDEN "bert-masked", "embedding", "embedding");
    answers(GOLDEN "bert-masked", "feature-extraction", "embedding");
    refused(GOLDEN "bert-masked", "token_classification", EF_INVALID_INPUT, "the checkpoint has no classifier weights");
    refused(GOLDEN "bert-masked", "sentiment-analysis", EF_INVALID_INPUT, "the checkpoint has no classifier weights");
}

static void two_labels(void)
{
    TEST("two labels that config.json does not name");
    ef_error err = { 0 };
    ef_input in = ef_text("w7");
    ef_model *m = ef_open(GOLDEN "gpt2", NULL, &err);
    ef_reply *r = m ? ef_predict(m, &in, 1, NULL, &err) : NULL;
    CHECK(m && ef_describe(m)->label_count == 2 && strcmp(ef_describe(m)->labels[1], "LABEL_1") == 0);
    CHECK(r && strstr(ef_reply_json(r), "\"predicted_label\":\"LABEL_"));
    ef_reply_free(r);
    ef_close(m);
}

static void another_tokenizer(void)
{
    TEST("another tokenizer than the folder's");
    ef_error err = { 0 };
    ef_model *m = ef_open(GOLDEN "bart", &(ef_options){ .threads = 1, .tokenizer = "examples/bus-ner" }, &err);
    CHECK(m && ef_token_count(ef_model_tokenizer(m)) > 1000 && ef_describe(m)->max_tokens == 30);
    ef_close(m);
    m = ef_open(GOLDEN "bart", &(ef_options){ .tokenizer = GOLDEN "gone.json" }, &err);
    CHECK(!m && err.code == EF_NOT_FOUND && says(&err, "gone.json"));
}

static void graphs_that_cannot(void)
{
    TEST("graphs that need more than a text are refused by that");
    refused(GOLDEN "gpt2-past", NULL, EF_UNSUPPORTED, "past_key_values.0.key, the cache of a decoder");
    refused(GOLDEN "gpt2-past", "token-classification", EF_INVALID_INPUT, "it has another head, or none");
    refused(GOLDEN "t5-decoder", "embedding", EF_UNSUPPORTED, "encoder_attention_mask, what an encoder gave");
    refused(GOLDEN "bart", "token-classification", EF_INVALID_INPUT, "it has another head, or none");
    refused(GOLDEN "bart", "embedding", EF_INVALID_INPUT, "gives no hidden states");
    refused(GOLDEN "clip", "image-classification", EF_INVALID_INPUT, "it has another head, or none");
}

int main(void)
{
    graphs_that_answer();
    masked_language_models();
    two_labels();
    another_tokenizer();
    graphs_that_cannot();
    return finish();
}
