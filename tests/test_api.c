/* SPDX-License-Identifier: Apache-2.0
 * test_api.c - encoderfile.h as a program uses it, on the bundled model; run it from the root. */
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "check.h"

static const char model_path[] = "examples/bus-ner";
static const char text[] = "AC sleeper bus from Bangalore to Mumbai tomorrow";

static void describe(const ef_model *m)
{
    TEST("describe");
    const ef_info *info = ef_describe(m);
    CHECK(strcmp(info->task, "token_classification") == 0 && strcmp(info->version, "0.1.0") == 0);
    CHECK(info->label_count > 0 && info->labels && info->labels[0][0]);
    CHECK(info->max_tokens > 0 && info->kernels[0] && info->hidden > 0);
    CHECK(strlen(ef_version()) > 0);
}

static void predict(ef_model *m)
{
    TEST("predict");
    ef_error err = { 0 };
    ef_input in[] = { ef_text(text), ef_text("from Pune") };
    ef_reply *r = ef_predict(m, in, 2, "{\"offsets\":\"chars\"}", &err);
    if (!CHECK(r != NULL)) return;
    CHECK(strstr(ef_reply_json(r), "{\"results\":[") == ef_reply_json(r));
    CHECK(strstr(ef_reply_json(r), "B-SRC") != NULL);
    const ef_tensor *t = ef_reply_tensor(r, 0), *alone = NULL;
    CHECK(t && t->rank == 2 && t->dim[1] == ef_describe(m)->label_count);
    CHECK(t->struct_size == sizeof *t && t == ef_reply_tensor(r, 0));
    t = ef_reply_tensor(r, 1);
    CHECK(t && !ef_reply_tensor(r, 2));
    TEST("alone and in company");
    ef_reply *one = ef_predict(m, in + 1, 1, NULL, &err);
    CHECK(one && (alone = ef_reply_tensor(one, 0)) && alone->dim[0] == t->dim[0]);
    CHECK(memcmp(alone->data, t->data, sizeof(float) * (size_t)(t->dim[0] * t->dim[1])) == 0);
    ef_reply_free(one);
    ef_reply_free(r);
}

static void wrong_inputs(ef_model *m)
{
    TEST("wrong inputs");
    ef_error err = { 0 };
    ef_input empty = ef_text(""), broken = ef_text("\xff"), missing = { .struct_size = sizeof missing };
    CHECK(!ef_predict(m, &empty, 1, NULL, &err) && err.code == EF_INVALID_INPUT);
    CHECK(!ef_predict(m, &broken, 1, NULL, &err) && says(&err, "UTF-8"));
    CHECK(!ef_predict(m, &missing, 1, NULL, &err) && says(&err, "found no text"));
    CHECK(!ef_predict(m, &empty, 1, "{", &err) && says(&err, "params_json"));
    CHECK(!ef_predict(m, &empty, 0, NULL, NULL));
    CHECK(!ef_open("nowhere", NULL, &err) && says(&err, "nowhere"));
    CHECK(!ef_open("nowhere", NULL, NULL));
    CHECK(!ef_open(NULL, NULL, &err) && says(&err, "Not a valid encoderfile"));
}

static void kinds_of_inputs(ef_model *m)
{
    TEST("inputs that the model does not take are refused by name");
    static const struct { ef_kind kind; const char *name; } refused[] = {
        { EF_WORDS, "input 1: found no words" },
        { EF_BOXES, "found words with boxes, wanted a text or a pair" },
        { EF_PICTURE, "found a picture, wanted a text or a pair" },
        { EF_SOUND, "found sound, wanted a text or a pair" },
        { EF_CHOICES, "found a prompt with choices, wanted a text or a pair" },
        { EF_PAGE, "found a page, wanted a text or a pair" },
        { EF_PAGE + 1, "input 1: kind: found 8, wanted one of ef_kind" },
        { (ef_kind)-1, "input 1: kind: found -1" },
    };
    ef_error err = { 0 };
    ef_tokens *out[2];
    for (size_t i = 0; i < COUNT(refused); i++) {
        ef_input in[2] = { ef_text("a"), { .struct_size = sizeof *in, .kind = refused[i].kind } };
        CHECK(!ef_predict(m, in, 2, NULL, &err) && says(&err, refused[i].name));
        if (refused[i].kind == EF_WORDS) continue;
        CHECK(!ef_encode(ef_model_tokenizer(m), in, 2, NULL, out, &err) && says(&err, "input 1: "));
    }
    static const size_t none[] = { 1, (size_t)1 << 33, SIZE_MAX };
    for (size_t i = 0; i < COUNT(none); i++)
        CHECK(!ef_predict(m, NULL, none[i], NULL, &err) && says(&err, "found no inputs"));
    static const ef_word endless[] = { { "to", 2 }, { "Goa", SIZE_MAX } };
    ef_input wrong[] = { { sizeof *wrong, EF_TEXT, text, SIZE_MAX, NULL, 0 }, { sizeof *wrong, EF_PAIR, text, 2, text, SIZE_MAX },
                         { sizeof *wrong, EF_WORDS, endless, 2, NULL, 0 } };
    for (size_t i = 0; i < COUNT(wrong); i++) {
        CHECK(!ef_predict(m, &wrong[i], 1, NULL, &err) && says(&err, "size: found 18446744073709551615 bytes"));
        CHECK(!ef_encode(ef_model_tokenizer(m), &wrong[i], 1, NULL, out, &err) && says(&err, "size: found 18446744073709551615"));
    }
}

/* What a caller of a later version has: fields that this one does not know. */
typedef struct LaterInput {
    ef_input known;
    const char *more;
} LaterInput;
typedef struct LaterOptions {
    ef_options known;
    const char *more;
} LaterOptions;

static void later_callers(ef_model *m)
{
    TEST("callers of a later version: what is not set does no harm, what is set is refused");
    ef_error err = { 0 };
    LaterInput in[2] = { { ef_text(text), NULL }, { ef_text("from Pune"), NULL } };
    LaterOptions o = { { .struct_size = sizeof o, .threads = 1 }, NULL };
    in[0].known.struct_size = in[1].known.struct_size = sizeof *in;
    ef_reply *r = ef_predict(m, &in[0].known, 2, NULL, &err);
    CHECK(r && strstr(ef_reply_json(r), "B-SRC") && ef_reply_tensor(r, 1));
    ef_reply_free(r);
    in[1].more = "something";
    CHECK(!ef_predict(m, &in[0].known, 2, NULL, &err) && says(&err, "input 1: ef_input: struct_size"));
    in[1].known.struct_size = sizeof in->known;
    CHECK(!ef_predict(m, &in[0].known, 2, NULL, &err) && says(&err, "as the first input has"));
    ef_model *other = ef_open(model_path, &o.known, &err);
    CHECK(other != NULL);
    ef_close(other);
    o.more = "something";
    CHECK(!ef_open(model_path, &o.known, &err) && says(&err, "ef_options: struct_size"));
}

static void earlier_callers(ef_model *m)
{
    TEST("callers of an earlier version: fields beyond theirs count as zero");
    ef_error err = { 0 };
    ef_input in = ef_text(text), none = { .kind = EF_TEXT, .data = text, .size = 2 };
    ef_tokens *t;
    size_t all, n;
    ef_encode_options o = { .struct_size = offsetof(ef_encode_options, cut_left), .max_length = 4, .cut_left = true };
    CHECK(ef_encode(ef_model_tokenizer(m), &in, 1, &o, &t, &err) && ef_tokens_ids(t, &n) && n == 4);
    const int32_t right = ef_tokens_ids(t, &n)[1];
    ef_tokens_free(t);
    o.struct_size = sizeof o;
    CHECK(ef_encode(ef_model_tokenizer(m), &in, 1, &o, &t, &err) && ef_tokens_ids(t, &n)[1] != right);
    ef_tokens_free(t);
    o.cut = 7;
    o.struct_size = offsetof(ef_encode_options, max_length);
    CHECK(ef_encode(ef_model_tokenizer(m), &in, 1, &o, &t, &err) && ef_tokens_ids(t, &all) && all > 4);
    ef_tokens_free(t);
    o.struct_size = 12; /* as no compiler makes them: perhaps half a pointer */
    CHECK(!ef_encode(ef_model_tokenizer(m), &in, 1, &o, &t, &err) && says(&err, "found 12, wanted sizeof"));
    o.struct_size = 3;
    CHECK(!ef_encode(ef_model_tokenizer(m), &in, 1, &o, &t, &err) && says(&err, "found 3, wanted sizeof"));
    o.struct_size = 0; /* version 0.1: all of these */
    CHECK(!ef_encode(ef_model_tokenizer(m), &in, 1, &o, &t, &err) && says(&err, "cut: found 7"));
    CHECK(!ef_predict(m, &none, 1, NULL, &err) && says(&err, "ef_input: struct_size: found 0"));
    static const struct { ef_encode_options o; const char *says; } below[] = {
        { { .max_length = -1 }, "max_length: found -1, wanted 0 or more" }, { { .stride = -1 }, "stride: found -1" },
        { { .pad = true, .pad_length = -1 }, "pad_length: found -1" }, { { .threads = -9 }, "threads: found -9" },
        { { .pad = true, .pad_multiple = INT32_MIN }, "pad_multiple: found -2147483648" },
    };
    for (size_t i = 0; i < COUNT(below); i++)
        CHECK(!ef_encode(ef_model_tokenizer(m), &in, 1, &below[i].o, &t, &err) && says(&err, below[i].says));
    CHECK(!ef_decode(ef_model_tokenizer(m), NULL, 3, false, &err) && says(&err, "found no ids, wanted 3"));
    char *nothing = ef_decode(ef_model_tokenizer(m), NULL, 0, false, &err);
    CHECK(nothing && !*nothing);
    ef_string_free(nothing);
    struct ArrowArrayStream stream = { 0 };
    CHECK(!ef_map_arrow(m, NULL, NULL, &stream, &err) && says(&err, "found no stream"));
    CHECK(!ef_map_arrow(m, &stream, NULL, NULL, &err) && says(&err, "found no stream"));
    CHECK(!ef_map_arrow(m, &stream, NULL, &stream, &err) && says(&err, "found a stream that was released"));
    CHECK(ef_describe(m)->struct_size == sizeof(ef_info));
}

static void lengths(void)
{
    TEST("max_length: the caller's, never more than the model has positions");
    static const struct Case { int asked, wanted; } cases[] = { { 0, 24 }, { 9, 9 }, { 30, 30 }, { INT32_MAX, 64 } };
    for (size_t i = 0; i < COUNT(cases); i++) {
        ef_error err = { 0 };
        ef_options o = { .struct_size = sizeof o, .task = "embedding", .max_length = cases[i].asked };
        ef_model *m = ef_open("tests/golden/sentence/mean", &o, &err);
        if (!CHECK(m && ef_describe(m)->max_tokens == cases[i].wanted))
            printf("  case %zu: found %d, wanted %d (%s)\n", i, m ? ef_describe(m)->max_tokens : -1, cases[i].wanted, err.message);
        ef_close(m);
    }
}

/* Of a model, of a graph, and those of a call. */
static void options_that_cannot_be(void)
{
    TEST("options that cannot be");
    static const struct { ef_options o; const char *says; } wrong[] = {
        { { .threads = -1 }, "threads: found -1, wanted 1 to 4096, or 0 for the default" },
        { { .threads = 4097 }, "threads: found 4097" }, { { .threads = INT32_MIN }, "threads: found -2147483648" },
        { { .struct_size = sizeof(ef_options), .replicas = -1 }, "replicas: found -1" },
        { { .struct_size = sizeof(ef_options), .max_length = -1 }, "max_length: found -1, wanted 1" }, { { .struct_size = 3 }, "ef_options: struct_size: found 3" },
    };
    ef_error err = { 0 };
    for (size_t i = 0; i < COUNT(wrong); i++) {
        CHECK(!ef_open(model_path, &wrong[i].o, &err) && err.code == EF_INVALID_INPUT && says(&err, wrong[i].says));
        CHECK(!ef_graph_open(model_path, &wrong[i].o, &err) && err.code == EF_INVALID_INPUT && says(&err, wrong[i].says));
    }
    static const struct { const char *json, *says; } unknown[] = {
        { "{\"foo\": 1}", "unknown option \"foo\", wanted those of token_classification: metadata, " },
        { "{\"offsets\": \"chars\", \"pooling\": \"cls\"}", "unknown option \"pooling\"" },
        { "{\"ofsets\": \"chars\"}", "unknown key \"ofsets\": did you mean offsets?" },
        { "[1]", "found a list" },
    };
    ef_model *m = ef_open(model_path, &(ef_options){ .threads = 1 }, &err);
    ef_input in = ef_text("AC bus");
    for (size_t i = 0; m && i < COUNT(unknown); i++) {
        CHECK(!ef_predict(m, &in, 1, unknown[i].json, &err) && says(&err, unknown[i].says));
        CHECK(!ef_start(m, &in, 1, unknown[i].json, NULL, NULL, &err) && says(&err, unknown[i].says));
        CHECK(!ef_prepare(m, &in, 1, unknown[i].json, &err) && says(&err, unknown[i].says));
    }
    ef_reply *r = m ? ef_predict(m, &in, 1, "{\"offsets\": \"chars\", \"pooling\": null}", &err) : NULL;
    CHECK(r); /* null: as if it were not there */
    ef_reply_free(r), ef_close(m);
}

static void environment(void)
{
    TEST("kernels by name leave the environment and the process' own choice alone");
    ef_error err = { 0 };
    const char *before = getenv("EF_CPU"), *own = "scalar";
    ef_model *m = ef_open(model_path, NULL, &err);
    if (m) own = ef_describe(m)->kernels;
    CHECK(m && !ef_open(model_path, &(ef_options){ .kernels = "abacus" }, &err) && says(&err, "abacus"));
    ef_model *same = ef_open(model_path, &(ef_options){ .kernels = own }, &err);
    CHECK(same && strcmp(ef_describe(same)->kernels, own) == 0);
    const char *other = strcmp(own, "scalar") == 0 ? "avx2" : "scalar";
    CHECK(!ef_open(model_path, &(ef_options){ .kernels = other }, &err) && says(&err, "kernels: found"));
    CHECK(getenv("EF_CPU") == before);
    ef_close(m), ef_close(same);
}

static void tokens(ef_model *m)
{
    TEST("tokens");
    ef_error err = { 0 };
    size_t n = 0;
    ef_tokens *t = ef_tokenize(m, text, strlen(text), &err);
    if (!CHECK(t != NULL)) return;
    const int32_t *ids = ef_tokens_ids(t, &n), *offsets = ef_tokens_offsets(t);
    CHECK(n > 3 && ids[0] != ids[1]);
    CHECK(strcmp(ef_tokens_text(t, 0), "[CLS]") == 0 && offsets[0] == 0 && offsets[1] == 0);
    CHECK(offsets[2] == 0 && offsets[3] >= 2 && !ef_tokens_text(t, n));
    const uint8_t *special = ef_tokens_special(t);
    CHECK(special[0] == 1 && special[1] == 0 && special[n - 1] == 1);
    CHECK(ef_tokens_type_ids(t)[1] == 0 && ef_tokens_text(t, 1) == ef_tokens_text(t, 1));
    ef_tokens_free(t);
    CHECK(!ef_tokenize(m, "\xff", 1, &err) && says(&err, "UTF-8"));
}

static void check_batch(const ef_tokenizer *t)
{
    TEST("encode: text, pair, words, overflow, padding, alone and in company");
    enum { MANY = 100 };
    static const ef_word words[] = { { "from", 4 }, { "Pune", 4 } }, more[] = { { "to", 2 } };
    ef_error err = { 0 };
    ef_input in[MANY];
    ef_tokens *out[MANY], *one;
    size_t n, k;
    for (int i = 0; i < MANY; i++) in[i] = ef_text(i % 2 ? text : "from P\xc3\xbcne");
    in[1] = ef_pair("from Pune", "to Mumbai");
    in[3] = (ef_input){ sizeof *in, EF_WORDS, words, 2, more, 1 };
    ef_encode_options o = { .max_length = 9, .overflow = true, .stride = 1, .chars = true };
    if (!CHECK(ef_encode(t, in, MANY, &o, out, &err))) return;
    for (int i = 0; i < MANY; i++) {
        const int32_t *ids = ef_tokens_ids(out[i], &n);
        CHECK(n <= 9 && ef_encode(t, &in[i], 1, &o, &one, &err));
        CHECK(memcmp(ids, ef_tokens_ids(one, &k), n * sizeof *ids) == 0 && k == n);
        ef_tokens_free(one);
    }
    CHECK(ef_tokens_word_ids(out[3])[0] == -1 && ef_tokens_word_ids(out[3])[1] == 0);
    ef_tokens_ids(out[1], &n);
    CHECK(ef_tokens_type_ids(out[1])[n - 1] == 1 && ef_tokens_type_ids(out[1])[0] == 0);
    CHECK(ef_tokens_sequences(out[1])[1] == 0 && ef_tokens_sequences(out[1])[n - 2] == 1 && !ef_tokens_sequences(out[1])[n - 1]);
    const ef_tokens *window = ef_tokens_overflow(out[5], 0);
    CHECK(window && ef_tokens_ids(window, &n)[0] == ef_tokens_ids(out[5], &k)[0] && n <= 9);
    CHECK(strcmp(ef_tokens_text(window, 0), "[CLS]") == 0 && !ef_tokens_overflow(window, 0));
    for (int i = 0; i < MANY; i++) ef_tokens_free(out[i]);
    ef_encode_options pad = { .pad = true, .pad_multiple = 8, .threads = 2 };
    CHECK(ef_encode(t, in, MANY, &pad, out, &err));
    for (int i = 0; i < MANY; i++) {
        const uint8_t *attention = ef_tokens_attention(out[i]);
        CHECK(ef_tokens_ids(out[i], &k) && k % 8 == 0 && (i == 0 || k == n));
        CHECK(attention ? attention[0] == 1 : i % 2); /* the longest have no padding */
        CHECK(i % 2 || (attention && attention[k - 1] == 0));
        n = k;
        ef_tokens_free(out[i]);
    }
}

/* A caller's file, broken: not a request of its caller's. */
static void broken_files(void)
{
    TEST("a model's file that cannot be parsed is a broken model");
    static const char *const broken[] = { "config.json", "tokenizer.json", "model.safetensors" };
    static const char *const files[] = { "config.json", "tokenizer.json", "model.safetensors" };
    ef_error err = { 0 };
    Arena a = { 0 };
    char *from = realpath(model_path, NULL);
    for (size_t i = 0; i < COUNT(broken); i++) {
        char dir[] = "/tmp/ef-api-XXXXXX";
        if (!CHECK(mkdtemp(dir))) break;
        for (size_t k = 0; k < COUNT(files); k++) {
            const char *to = path_join(&a, dir, str_of(files[k]));
            CHECK(k == i ? file_write(&a, to, STR("{\"a\":"), &err)
                         : symlink(path_join(&a, from, str_of(files[k])), to) == 0);
        }
        CHECK(!ef_open(dir, NULL, &err) && err.code == EF_BAD_MODEL && says(&err, broken[i]));
        ef_tokenizer *t = ef_tokenizer_open(dir, &err);
        CHECK(i == 1 ? !t && err.code == EF_BAD_MODEL : t != NULL);
        ef_tokenizer_close(t);
        ef_graph *g = ef_graph_open(dir, NULL, &err);
        CHECK(i != 1 ? !g && err.code == EF_BAD_MODEL : g != NULL);
        ef_graph_close(g);
        for (size_t k = 0; k < COUNT(files); k++) unlink(path_join(&a, dir, str_of(files[k])));
        rmdir(dir);
    }
    free(from);
    arena_free(&a);
}

static void check_refusals(const ef_tokenizer *t)
{
    TEST("encode and decode: what is refused");
    ef_error err = { 0 };
    ef_input in[] = { ef_text("a"), ef_text("\xff") }, none = { .struct_size = sizeof none };
    ef_tokens *out[2];
    CHECK(!ef_encode(t, in, 2, NULL, out, &err) && says(&err, "input 1:") && !out[0] && !out[1]);
    CHECK(!ef_encode(t, &none, 1, NULL, out, &err) && says(&err, "found no text"));
    static const ef_word words[] = { { "to", 2 }, { NULL, 2 } };
    ef_input cut[] = { { sizeof *cut, EF_WORDS, words, 2, NULL, 0 }, { sizeof *cut, EF_WORDS, words, 1, words, 2 } };
    for (int i = 0; i < 2; i++)
        CHECK(!ef_encode(t, &cut[i], 1, NULL, out, &err) && says(&err, "input 0: word 1: found no text"));
    CHECK(!ef_encode(t, in, 1, &(ef_encode_options){ .max_length = 4, .stride = 4 }, out, &err) &&
          says(&err, "below max_length"));
    CHECK(!ef_encode(t, in, 1, &(ef_encode_options){ .pad = true, .pad_id = -1 }, out, &err));
    CHECK(!ef_encode(t, in, 1, &(ef_encode_options){ .cut = 7 }, out, &err));
    CHECK(!ef_decode(t, (int32_t[]){ 1 << 30 }, 1, false, &err) && says(&err, "wanted one below"));
    CHECK(!ef_tokenizer_open("nowhere", &err) && says(&err, "nowhere"));
    CHECK(!ef_tokenizer_open(NULL, &err) && !ef_tokenizer_open("docs", NULL));
}

static void tokenizer(ef_model *m)
{
    TEST("tokenizer");
    ef_error err = { 0 };
    const ef_tokenizer *t = ef_model_tokenizer(m);
    int32_t cls = ef_token_id(t, "[CLS]");
    CHECK(cls >= 0 && (size_t)cls < ef_token_count(t) && ef_token_id(t, "no such token") == -1);
    check_batch(t);
    check_refusals(t);
    TEST("decode");
    ef_tokens *tokens = ef_tokenize(m, "From Pune", 9, &err);
    size_t n;
    const int32_t *ids = ef_tokens_ids(tokens, &n);
    char *back = ef_decode(t, ids, n, true, &err), *all = ef_decode(t, ids, n, false, &err);
    CHECK(back && strcmp(back, "from pune") == 0 && all && strstr(all, "[CLS]") == all);
    ef_string_free(back), ef_string_free(all), ef_string_free(NULL), ef_tokens_free(tokens);
    const ef_word parts[] = { { "from", 4 }, { "xyz\xc3\xbc", 5 }, { "##q", 3 }, { NULL, 9 }, { "\xff", 1 } };
    back = ef_join(t, parts, 3, &err), all = ef_join(t, parts, 0, &err);
    CHECK(back && strcmp(back, "from xyz\xc3\xbcq") == 0 && all && ef_string_size(all) == 0);
    ef_string_free(back), ef_string_free(all);
    CHECK(!ef_join(t, parts, 5, &err) && says(&err, "token 4: not valid UTF-8"));
    CHECK(!ef_join(t, NULL, 2, &err) && says(&err, "found no tokens, wanted 2"));
    TEST("texts with a zero");
    ef_tokenizer *bytes = ef_tokenizer_open("tests/golden/strides/roberta", &err);
    ef_input zero = { sizeof zero, EF_TEXT, "a\0b", 3, NULL, 0 };
    if (CHECK(bytes && ef_encode(bytes, &zero, 1, NULL, &tokens, &err))) {
        ids = ef_tokens_ids(tokens, &n);
        back = ef_decode(bytes, ids, n, true, &err);
        CHECK(ef_string_size(back) == 3 && memcmp(back, "a\0b", 4) == 0 && ef_string_size(NULL) == 0);
        CHECK(n == 5 && ef_tokens_size(tokens, 2) == 2 && ef_tokens_size(tokens, n) == 0);
        CHECK(ef_token_size(bytes, ids[2]) == 2 && ef_token_size(bytes, -1) == 0);
        ef_string_free(back), ef_tokens_free(tokens);
    }
    ef_tokenizer_close(bytes);
    TEST("tokenizer of a folder");
    ef_tokenizer *own = ef_tokenizer_open(model_path, &err);
    CHECK(own && ef_token_count(own) == ef_token_count(t));
    if (own) check_batch(own);
    ef_tokenizer_close(own), ef_tokenizer_close(NULL);
}

/* The same package, once mapped from its file and once from memory, at an odd address. */
static void from_memory(const char *path)
{
    TEST("from memory");
    ef_error err = { 0 };
    ef_input in = ef_text(text);
    enum { MOST = 256 << 20 }; /* a program with debug information is large */
    FILE *file = fopen(path, "rb");
    char *bytes = malloc(MOST);
    size_t n = file ? fread(bytes + 1, 1, MOST - 1, file) : 0;
    CHECK(file && n < MOST - 1);
    if (file) fclose(file);
    ef_model *mapped = ef_open(path, NULL, &err), *held = ef_open_memory(bytes + 1, n, NULL, &err);
    if (CHECK(mapped && held)) {
        ef_reply *a = ef_predict(mapped, &in, 1, NULL, &err), *b = ef_predict(held, &in, 1, NULL, &err);
        CHECK(a && b && strcmp(ef_reply_json(a), ef_reply_json(b)) == 0);
        ef_reply_free(a), ef_reply_free(b);
    }
    ef_close(mapped), ef_close(held);
    CHECK(!ef_open_memory(bytes + 1, n / 2, NULL, &err) && says(&err, "Not a valid encoderfile"));
    for (size_t size = 0; size < (size_t)1 << 50; size = size * 1024 + 1)
        CHECK(!ef_open_memory(NULL, size, NULL, &err) && says(&err, "Not a valid encoderfile"));
    free(bytes);
}

static void toolchain(ef_model *m)
{
    TEST("build");
    ef_error err = { 0 };
    char path[] = "/tmp/ef-api-XXXXXX";
    int fd = mkstemp(path), stop = 1;
    if (fd >= 0) close(fd);
    CHECK(went_well(ef_build("examples/bus-ner/config.yml", path, OWN_PROGRAM, &err)));
    CHECK(!ef_build("examples/bus-ner/config.yml", path, NULL, &err) && says(&err, "base_binary_path: found none"));
    ef_model *built = ef_open(path, &(ef_options){ .threads = 1 }, &err);
    CHECK(built && strcmp(ef_describe(built)->name, "bus-ner") == 0);
    ef_close(built);
    built = ef_open(path, &(ef_options){ .struct_size = sizeof(ef_options), .max_length = 9 }, &err);
    CHECK(built && ef_describe(built)->max_tokens == 9);
    ef_close(built);
    CHECK(!ef_open(path, &(ef_options){ .struct_size = sizeof(ef_options), .max_length = 1 }, &err));
    CHECK(says(&err, "max_length: found 1, wanted at least 2"));
    from_memory(path);
    ef_tokenizer *packed = ef_tokenizer_open(path, &err);
    CHECK(packed && ef_token_count(packed) == ef_token_count(ef_model_tokenizer(m)));
    if (packed) check_batch(packed);
    ef_tokenizer_close(packed);
    unlink(path);
    CHECK(!ef_build("nowhere.yml", NULL, NULL, &err) && says(&err, "config not found"));
    TEST("serve");
    CHECK(ef_serve(m, "{\"http-hostname\":\"127.0.0.1\",\"http-port\":0}", &stop, &err));
    CHECK(!ef_serve(m, "{\"http-port\":70000}", &stop, &err) && says(&err, "http-port"));
    CHECK(ef_serve(m, "{\"http-hostname\":\"127.0.0.1\",\"http-port\":0,\"disable-grpc\":true}", &stop, &err));
    CHECK(ef_serve(m, "{\"http-hostname\":\"127.0.0.1\",\"http-port\":0,\"tei\":true}", &stop, &err));
    CHECK(!ef_serve(m, "{\"disable-grpc\":1,\"disable-http\":true}", &stop, &err) && says(&err, "both"));
    CHECK(!ef_serve(m, "{\"disable-grpc\":\"x\"}", &stop, &err) && says(&err, "options: --disable-grpc: found"));
    CHECK(!ef_serve(m, "{\"prot\":1}", &stop, &err) && says(&err, "unknown key \"prot\""));
    CHECK(!ef_serve(m, "{\"threads\":1}", &stop, &err) && says(&err, "open already"));
    CHECK(!ef_serve(m, NULL, NULL, &err) && says(&err, "stop: found NULL"));
}

/* config.json of any model may carry LABEL_0 and LABEL_1. */
static void embeddings_have_no_labels(void)
{
    TEST("labels of an embedding");
    static const char *const files[] = { "model.onnx", "tokenizer.json" };
    ef_error err = { 0 };
    Arena a = { 0 };
    char dir[] = "/tmp/ef-api-XXXXXX", *root = realpath("../shared/fixtures/dummy/embedding", NULL);
    if (!root) return (void)SKIP("no ../shared/fixtures");
    const char *config = mkdtemp(dir) ? path_join(&a, dir, STR("config.json")) : "";
    CHECK(file_write(&a, config, STR("{\"model_type\":\"bert\",\"id2label\":{\"0\":\"LABEL_0\"},"
                                     "\"architectures\":[\"BertModel\"]}"), &err));
    for (size_t i = 0; i < COUNT(files); i++)
        CHECK(symlink(path_join(&a, root, str_of(files[i])), path_join(&a, dir, str_of(files[i]))) == 0);
    ef_model *m = ef_open(dir, NULL, &err);
    CHECK(m && ef_describe(m)->label_count == 0 && !ef_describe(m)->labels);
    ef_close(m);
    for (size_t i = 0; i < COUNT(files); i++) unlink(path_join(&a, dir, str_of(files[i])));
    unlink(config), rmdir(dir);
    free(root);
    arena_free(&a);
}

/* Bytes of address space in use. */
static size_t space_used(void)
{
    long pages = 0;
    FILE *file = fopen("/proc/self/statm", "re");
    if (file && fscanf(file, "%ld", &pages) != 1) pages = 0;
    if (file) fclose(file);
    return (size_t)pages * (size_t)sysconf(_SC_PAGESIZE);
}

/* What a caller does, with so much memory more and no thread but this one. */
static _Noreturn void call_short_of_memory(size_t more)
{
    ef_error err = { 0 };
    ef_tokens *tokens = NULL;
    ef_input in = ef_text(text);
    struct rlimit limit = { space_used() + more, space_used() + more };
    if (setrlimit(RLIMIT_AS, &limit) != 0) _exit(3);
    ef_tokenizer *t = ef_tokenizer_open(model_path, &err);
    bool sound = t || err.message[0];
    if (t) sound &= ef_encode(t, &in, 1, NULL, &tokens, &err) || err.message[0];
    ef_model *m = ef_open(model_path, &(ef_options){ .threads = 1 }, &err);
    sound &= m || err.message[0];
    char *report = ef_validate(model_path, NULL, &err);
    sound &= report || err.message[0];
    _exit(sound ? m ? 0 : 1 : 2);
}

static void short_of_memory(void)
{
    TEST("memory that is missing fails a call, and does not end the process");
    int opened = 0, refused = 0;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    return (void)SKIP("a sanitizer needs its address space");
#endif
    if (getenv("EF_EMULATOR")) return (void)SKIP("an emulator's address space is not the program's");
    for (size_t more = 0; more <= 48 << 20; more += 1536 << 10) {
        int status = 0;
        fflush(stdout);
        pid_t child = fork();
        if (child == 0) call_short_of_memory(more);
        CHECK(waitpid(child, &status, 0) == child);
        if (!CHECK(WIFEXITED(status) && WEXITSTATUS(status) <= 1))
            printf("  %zu bytes more: status %d\n", more, status);
        opened += WIFEXITED(status) && WEXITSTATUS(status) == 0;
        refused += WIFEXITED(status) && WEXITSTATUS(status) == 1;
    }
    CHECK(opened > 0 && refused > 0);
}

static void replies_stay(void)
{
    TEST("what a closed model has answered");
    ef_error err = { 0 };
    ef_model *m = ef_open(model_path, NULL, &err);
    if (!CHECK(m)) return;
    const char *asked = "from Pune to Goa";
    ef_input in = ef_text(asked);
    size_t n = 0;
    ef_reply *r = ef_predict(m, &in, 1, NULL, &err);
    ef_arrays *list = ef_prepare(m, &in, 1, NULL, &err);
    ef_tokens *t = ef_tokenize(m, asked, strlen(asked), &err);
    ef_close(m);
    if (!CHECK(r && list && t)) return;
    const ef_tensor *scores = ef_reply_tensor(r, 0);
    CHECK(scores && strcmp(scores->name, "logits") == 0 && isfinite(scores->data[0]));
    CHECK(strstr(ef_reply_json(r), "token_info") && ef_reply_value(r, &err));
    CHECK(strcmp(ef_arrays_at(list, 0)->name, "input_ids") == 0 && *(const int64_t *)ef_arrays_at(list, 0)->data == ef_tokens_ids(t, &n)[0]);
    CHECK(n > 4 && strcmp(ef_tokens_text(t, 1), "from") == 0);
    ef_reply_free(r), ef_arrays_free(list), ef_tokens_free(t);
}

int main(void)
{
    short_of_memory();
    ef_error err = { 0 };
    ef_model *m = ef_open(model_path, NULL, &err);
    if (!CHECK(m != NULL)) return printf("  %s\n", err.message), finish();
    describe(m);
    predict(m);
    wrong_inputs(m);
    kinds_of_inputs(m);
    later_callers(m);
    earlier_callers(m);
    environment();
    options_that_cannot_be();
    lengths();
    tokens(m);
    tokenizer(m);
    toolchain(m);
    ef_close(m);
    embeddings_have_no_labels();
    broken_files();
    replies_stay();
    ef_close(NULL), ef_reply_free(NULL), ef_tokens_free(NULL);
    return finish();
}
