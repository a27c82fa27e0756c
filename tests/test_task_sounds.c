/* SPDX-License-Identifier: Apache-2.0
 * test_task_sounds.c - sounds through tiny models of each task, by the C API, compared with what transformers'
 * pipelines said (tools/oracle/sound_tasks.py): labels, text and times equal, scores within 1e-3, vectors within 1e-4.
 * The same alone and in company; what is no sound; long sounds. */
#include "data/base64.h"
#include "dialect/job.h"
#include "encoderfile.h"
#include "folder.h"
#include "input/items.h"
#include "model/model.h"
#include "sound_case.h"

#define MODELS "tests/golden/speech/"
enum { TOP_K = 5 }; /* by default; the pipeline gives all */

static Arena arena;

/* ctc_lower is another tokenizer of ctc. */
static ef_model *open_case(const char *name)
{
    ef_error err = { 0 };
    bool lower = strcmp(name, "ctc_lower") == 0;
    const char *path = str_format(&arena, MODELS "%s", lower ? "ctc" : name);
    ef_options o = { .struct_size = sizeof o, .threads = 1, .tokenizer = lower ? MODELS "ctc_lower" : NULL };
    ef_model *m = ef_open(path, &o, &err);
    if (!CHECK(m)) printf("  %s: %s\n", path, err.message);
    return m;
}

static ef_input sound_input(Str bytes)
{
    return (ef_input){ sizeof(ef_input), EF_SOUND, bytes.p, bytes.n, NULL, 0 };
}

static Value predict(ef_model *m, const ef_input *in, size_t n, const char *params)
{
    ef_error err = { 0 };
    Err bad = { 0 };
    Value reply = value_null();
    ef_reply *r = ef_predict(m, in, n, params, &err);
    if (!CHECK(r)) return printf("  %s\n", err.message), reply;
    const char *text = str_dup(&arena, str_of(ef_reply_json(r)));
    CHECK(json_parse(&arena, str_of(text), &reply, &bad));
    ef_reply_free(r);
    const Value *results = value_get(&reply, "results");
    return CHECK(results && results->list.n == n) ? *results : value_null();
}

/* ---- results ---- */
static bool same_labels(const Value *found, const Value *want)
{
    bool same = found && (found->list.n == want->list.n || (found->list.n == TOP_K && want->list.n > TOP_K));
    for (size_t i = 0; same && i < found->list.n; i++) {
        const Value *a = &found->list.items[i], *b = &want->list.items[i];
        same = str_eq(value_get(a, "label")->s, value_get(b, "label")->s) &&
               fabs(value_float(value_get(a, "score"), NAN) - value_float(value_get(b, "score"), NAN)) < 1e-3;
    }
    return same;
}

static bool same_chunks(const Value *found, const Value *want)
{
    bool same = found && found->list.n == want->list.n;
    for (size_t i = 0; same && i < want->list.n; i++) {
        const Value *a = &found->list.items[i], *b = &want->list.items[i];
        const Value *x = value_get(a, "timestamp"), *y = value_get(b, "timestamp");
        same = str_eq(value_get(a, "text")->s, value_get(b, "text")->s);
        for (size_t k = 0; same && k < 2; k++)
            same = fabs(value_float(&x->list.items[k], NAN) - value_float(&y->list.items[k], NAN)) < 1e-9;
    }
    return same;
}

static bool same_text(const Value *found, const Value *want)
{
    const Value *chunks = value_get(want, "chunks"), *mine = value_get(found, "chunks");
    return str_eq(value_get(found, "text")->s, value_get(want, "text")->s) &&
           (chunks ? same_chunks(mine, chunks) : !mine);
}

static bool same_numbers(const Value *found, const Value *want)
{
    bool same = found && found->list.n == want->list.n;
    for (size_t i = 0; same && i < want->list.n; i++)
        same = fabs(value_float(&found->list.items[i], NAN) - value_float(&want->list.items[i], NAN)) < 1e-4;
    return same;
}

static bool same_frames(const Value *frames, const Value *want)
{
    size_t n = frames ? frames->list.n : 0;
    return n && (int64_t)n == value_int(value_get(want, "frames"), -1) &&
           same_numbers(value_get(&frames->list.items[0], "embedding"), value_get(want, "first")) &&
           same_numbers(value_get(&frames->list.items[n - 1], "embedding"), value_get(want, "last")) &&
           value_float(value_get(&frames->list.items[1], "start"), 0) == 0.02;
}

static bool same_result(const Value *found, const Value *want)
{
    if (value_get(found, "labels")) return same_labels(value_get(found, "labels"), want);
    if (value_get(found, "frames")) return same_frames(value_get(found, "frames"), want);
    if (value_get(found, "embedding")) return same_numbers(value_get(found, "embedding"), value_get(want, "mean"));
    return same_text(found, want);
}

/* ---- golden cases ---- */
static void ask_one(ef_model *m, const Value *row, const char *params)
{
    char *name = str_dup(&arena, value_get(row, "sound")->s);
    ef_input in = sound_input(sound_file(&arena, name));
    Value results = predict(m, &in, 1, params);
    if (results.kind == V_LIST && !CHECK(same_result(&results.list.items[0], value_get(row, "result"))))
        printf("  %.*s: %s %s\n", STR_ARG(value_get(row, "case")->s), name, params);
}

static void check_row(ef_model *m, const Value *row)
{
    Buf params = { .arena = &arena };
    json_write(&params, value_get(row, "params"));
    buf_char(&params, 0);
    ask_one(m, row, params.p);
    if (str_is(value_get(row, "case")->s, "vectors")) ask_one(m, row, "{\"frames\": true}");
}

/* Rows without parameters in one call, twice: some of one length, some of others. */
static void check_together(ef_model *m, const Value *rows, Str name)
{
    enum { MOST = 16 };
    ef_input in[MOST];
    const Value *want[MOST];
    size_t n = 0;
    for (size_t twice = 0; twice < 2; twice++)
        for (size_t i = 0; i < rows->list.n && n < MOST; i++) {
            const Value *row = &rows->list.items[i];
            if (!str_eq(value_get(row, "case")->s, name) || value_get(row, "params")->map.n) continue;
            want[n] = value_get(row, "result");
            in[n++] = sound_input(sound_file(&arena, str_dup(&arena, value_get(row, "sound")->s)));
        }
    Value results = predict(m, in, n, NULL);
    for (size_t i = 0; results.kind == V_LIST && i < n; i++) CHECK(same_result(&results.list.items[i], want[i]));
    CHECK(n >= 4);
}

static void test_golden(void)
{
    TEST("golden");
    Str file = { 0 }, last = { 0 };
    Value *rows = NEW(&arena, Value);
    Err err = { 0 };
    ef_model *m = NULL;
    if (!CHECK(file_read(&arena, MODELS "cases.json", GOLDEN_MOST, &file, &err) && json_parse(&arena, file, rows, &err)))
        return;
    for (size_t i = 0; i < rows->list.n; i++) {
        Str name = value_get(&rows->list.items[i], "case")->s;
        if (!str_eq(name, last)) {
            ef_close(m);
            m = open_case(str_dup(&arena, name));
            if (m) check_together(m, rows, name);
            last = name;
        }
        if (m) check_row(m, &rows->list.items[i]);
    }
    ef_close(m);
}

/* ---- refused ---- */
static void refused(ef_model *m, Str bytes, const char *params, ef_code code, const char *words)
{
    ef_input in = sound_input(bytes);
    ef_error err = { 0 };
    ef_reply *r = ef_predict(m, &in, 1, params, &err);
    CHECK(!r && err.code == code && says(&err, words));
    ef_reply_free(r);
}

/* So many seconds of a 16 kHz tone. */
static Str tone_file(size_t seconds)
{
    Str half = item_sample_sound(&arena, 1);
    size_t samples = half.n - 44, n = 2 * seconds;
    char *wav = arena_raw(&arena, 44 + n * samples);
    memcpy(wav, half.p, 44);
    for (size_t i = 0; i < n; i++) memcpy(wav + 44 + i * samples, half.p + 44, samples);
    uint32_t bytes = (uint32_t)(n * samples);
    memcpy(wav + 40, &bytes, sizeof bytes);
    return (Str){ wav, 44 + n * samples };
}

static void test_refused(void)
{
    TEST("refused");
    ef_model *ctc = open_case("ctc"), *labels = open_case("wav2vec2");
    Str speech = sound_file(&arena, "speech.flac");
    if (!ctc || !labels) return;
    refused(ctc, STR("hello"), NULL, EF_INVALID_INPUT, "inputs[0]: sound: found 5 bytes that begin with \"hello\"");
    refused(ctc, STR("ID3\4"), NULL, EF_MEDIA_TYPE, "ffmpeg -i FILE.mp3");
    refused(ctc, (Str){ speech.p, speech.n / 2 }, NULL, EF_INVALID_INPUT, "sound: FLAC: ");
    refused(ctc, sound_file(&arena, "mono.wav"), NULL, EF_INVALID_INPUT, "found 90 samples of 16000 Hz, wanted at least 400");
    refused(ctc, speech, "{\"chunk_length_s\": 1, \"stride_length_s\": 0.5}", EF_INVALID_INPUT,
            "stride_length_s: found 1 seconds on both sides of a chunk of 1, wanted at most 0.875");
    refused(ctc, speech, "{\"chunk_length_s\": 60, \"stride_length_s\": [29.9, 29.9]}", EF_INVALID_INPUT,
            "wanted at most 52.5: seven eighths of it");
    refused(ctc, speech, "{\"chunk_length_s\": 0.0001}", EF_INVALID_INPUT, "chunk_length_s: found");
    refused(ctc, speech, "{\"chunk_length_s\": 100}", EF_TOO_LARGE, "chunk_length_s: found 100, wanted at most 60");
    refused(ctc, speech, "{\"chunk_length_s\": -1}", EF_INVALID_INPUT, "chunk_length_s");
    refused(ctc, speech, "{\"stride_length_s\": [1]}", EF_INVALID_INPUT, "stride_length_s: wanted seconds");
    refused(ctc, speech, "{\"stride_length_s\": -2}", EF_INVALID_INPUT, "stride_length_s: wanted seconds");
    refused(ctc, speech, "{\"return_timestamps\": \"line\"}", EF_INVALID_INPUT, "return_timestamps");
    refused(labels, tone_file(61), NULL, EF_TOO_LARGE, "found 61.0 seconds, wanted at most 60");
    ef_input text = { sizeof text, EF_TEXT, "hello", 5, NULL, 0 };
    ef_error err = { 0 };
    CHECK(!ef_predict(ctc, &text, 1, NULL, &err) && says(&err, "found a text, wanted a sound"));
    ef_close(ctc);
    ef_close(labels);
}

/* A sound over a minute comes in chunks by itself, and says what it says in chunks of 30 seconds. */
static void test_long(void)
{
    TEST("long sounds");
    ef_model *ctc = open_case("ctc");
    if (!ctc) return;
    ef_input in = sound_input(tone_file(65));
    Value whole = predict(ctc, &in, 1, "{\"return_timestamps\": \"char\"}");
    Value cut = predict(ctc, &in, 1, "{\"return_timestamps\": \"char\", \"chunk_length_s\": 30, \"stride_length_s\": 5}");
    if (whole.kind == V_LIST && cut.kind == V_LIST) {
        const Value *chunks = value_get(&whole.list.items[0], "chunks");
        CHECK(same_text(&whole.list.items[0], &cut.list.items[0]));
        CHECK(chunks->list.n && value_float(&value_get(&chunks->list.items[chunks->list.n - 1], "timestamp")->list.items[1], 0) > 60);
    }
    ef_close(ctc);
}

/* ---- sounds as numbers ---- */
static bool read_numbers(const char *text, Item *item, Err *err)
{
    Value *v = NEW(&arena, Value);
    *item = (Item){ 0 };
    *err = (Err){ 0 };
    if (!CHECK(json_parse(&arena, str_of(text), v, err))) return false;
    return item_read_object(&arena, &item_sounds, v, item, err) && item_check(&item_sounds, item, err);
}

/* Channels of several lengths, also where the first has none. */
static void test_channels(void)
{
    TEST("channels");
    static const char *const odd[][2] = {
        { "{\"array\":[[],[0.1,0.2,0.3]],\"sampling_rate\":16000}", "array: found channels of 0 and 3 samples" },
        { "{\"array\":[[0.1,0.2],[]],\"sampling_rate\":16000}", "array: found channels of 2 and 0 samples" },
        { "{\"array\":[[],[]],\"sampling_rate\":16000}", "array: found no samples" },
    };
    Item item;
    Err err;
    for (size_t i = 0; i < COUNT(odd); i++) CHECK(!read_numbers(odd[i][0], &item, &err) && says(&err, odd[i][1]));
    CHECK(read_numbers("{\"array\":[[0.5,0.25],[0.5,0.75]],\"sampling_rate\":16000}", &item, &err) &&
          item.numbers->channels == 2 && item.numbers->n == 2 && item.numbers->channel[1][1] == 0.75f);
}

/* ---- a model that does not say how many samples a frame is ---- */
/* The model of this case with another config.json. */
static ef_model *open_with_config(const char *config)
{
    char folder[] = "/tmp/ef_sounds_XXXXXX";
    static const char *const names[] = { "model.onnx", "preprocessor_config.json", "tokenizer_config.json", "vocab.json" };
    Err bad = { 0 };
    Str bytes;
    if (!CHECK(mkdtemp(folder))) return NULL;
    for (size_t i = 0; i < COUNT(names); i++)
        CHECK(file_read(&arena, str_format(&arena, MODELS "ctc/%s", names[i]), GOLDEN_MOST, &bytes, &bad) &&
              file_write(&arena, str_format(&arena, "%s/%s", folder, names[i]), bytes, &bad));
    CHECK(file_write(&arena, str_format(&arena, "%s/config.json", folder), str_of(config), &bad));
    ef_error err = { 0 };
    ef_model *m = ef_open(folder, &(ef_options){ .struct_size = sizeof(ef_options), .threads = 1 }, &err);
    if (!CHECK(m)) printf("  %s\n", err.message);
    remove_tree(folder);
    return m;
}
#define CTC_CONFIG(type) "{\"architectures\": [\"Wav2Vec2ForCTC\"], \"model_type\": \"" type "\"}"

static void test_strides(void)
{
    TEST("config.json without conv_kernel and conv_stride");
    static const char timed[] = "{\"return_timestamps\": \"char\", \"chunk_length_s\": 1}";
    ef_model *known = open_with_config(CTC_CONFIG("wav2vec2")), *said = open_case("ctc");
    ef_model *unknown = open_with_config(CTC_CONFIG("of-our-own"));
    Str speech = sound_file(&arena, "speech.flac");
    ef_input in = sound_input(speech);
    if (!known || !said || !unknown) return;
    Value a = predict(known, &in, 1, timed), b = predict(said, &in, 1, timed), whole = predict(unknown, &in, 1, NULL);
    CHECK(a.kind == V_LIST && b.kind == V_LIST && same_text(&a.list.items[0], &b.list.items[0]));
    CHECK(whole.kind == V_LIST && value_get(&whole.list.items[0], "text")->s.n);
    refused(unknown, speech, "{\"chunk_length_s\": 1}", EF_UNSUPPORTED, "chunk_length_s: found no conv_kernel");
    refused(unknown, speech, "{\"return_timestamps\": \"word\"}", EF_UNSUPPORTED, "return_timestamps: found no conv_kernel");
    refused(unknown, tone_file(61), NULL, EF_UNSUPPORTED, "a sound of over a minute: found no conv_kernel");
    ef_close(known), ef_close(said), ef_close(unknown);
}

/* ---- in a session ---- */
static void keep(Work *work)
{
    (void)work;
}

/* A small file may be an hour: it goes the way of long texts, and no runner prepares it. */
static void test_line(void)
{
    TEST("the line of sounds");
    Model *model = NULL;
    Err err = { 0 };
    const uint32_t samples = 3200; /* bytes: a body that a runner would take if it were a text */
    Str tenth = { item_sample_sound(&arena, 1).p, 44 + samples };
    memcpy((char *)tenth.p + 40, &samples, sizeof samples);
    if (!CHECK(model_open(MODELS "ctc", &model, &err))) return;
    for (int threads = 1; threads <= 2; threads++) {
        Session *s = job_session(model, &(SessionOptions){ .threads = threads });
        Buf body = { .arena = &arena };
        Job *job = job_new();
        buf_puts(&body, "{\"inputs\":\"");
        base64_write(&body, tenth);
        buf_puts(&body, "\"}");
        job->in.body = buf_view(&body);
        job->work.done = keep;
        CHECK(job_submit(s, job, &err));
        session_drain(s);
        CHECK(job->work.err.code == EF_OK && job->work.slice.n == 1);
        job_free(job);
        session_free(s);
    }
    model_close(model);
}

int main(void)
{
    test_golden();
    test_channels();
    test_strides();
    test_line();
    test_refused();
    test_long();
    arena_free(&arena);
    return finish();
}
