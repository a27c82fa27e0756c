/* SPDX-License-Identifier: Apache-2.0
 * encoderfile.h - run transformer encoders from C. The only header a program needs.
 *
 *     ef_error err;
 *     ef_model *m = ef_open("ner.encoderfile", NULL, &err);
 *     if (!m) return fprintf(stderr, "%s\n", err.message), 1;
 *
 *     ef_input in[] = { ef_text("Ada Lovelace was born in London") };
 *     ef_reply *r = ef_predict(m, in, 1, NULL, &err);
 *     if (r) puts(ef_reply_json(r));
 *     ef_reply_free(r);
 *     ef_close(m);
 *
 * Failure: a call that can fail returns NULL or false and fills *err (err may be NULL).
 * Ownership: ef_open, ef_predict, ef_encode and so on give you an object to release with its own
 *   call; every pointer read from an object is borrowed and dies with it. All releases accept NULL. Replies, tokens
 *   and lists of tensors may be read and released after their model was closed (but for ef_reply_arrow).
 * Threads: one ef_model serves any number of threads; an ef_reply belongs to one thread at a time.
 * Growth: structs that may get more fields begin with struct_size. In a struct that you fill, set
 *   it to sizeof: `ef_options o = { .struct_size = sizeof o };`. Fields beyond it count as zero. A
 *   size larger than this library knows is fine while the rest is zero, and an error otherwise.
 *   0 stands for the fields of version 0.1; an ef_input must have its size, since inputs lie in
 *   arrays (ef_text and ef_pair set it). In a struct that you get, it says how many bytes there are.
 * Process: no call changes the environment or exits. Memory that is missing fails the call with
 *   EF_IO or EF_UNAVAILABLE; what it had allocated by then may stay allocated. In
 *   ef_serve, and in the library's own threads between requests, missing memory aborts.
 * Fork: models and graphs belong to the process that opened them. In a child every call with one fails with
 *   EF_UNAVAILABLE, but for those that release or describe it: open it again there. Tokenizers go on working. */
#ifndef ENCODERFILE_H
#define ENCODERFILE_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#ifdef __cplusplus
extern "C" {
#endif
#if defined(__GNUC__)
#pragma GCC visibility push(default)
#endif

typedef struct ef_model ef_model;   /* weights, tokenizer, plan cache, worker threads */
typedef struct ef_reply ef_reply;   /* the outcome of one predict call */
typedef struct ef_tokenizer ef_tokenizer; /* texts to ids and back, with or without a model */
typedef struct ef_tokens ef_tokens; /* ids and offsets of one input */

typedef enum {
    EF_OK,
    EF_USAGE,         /* a command line or an option that makes no sense */
    EF_BAD_REQUEST,   /* not parseable: broken JSON, broken HTTP */
    EF_INVALID_INPUT, /* parseable, but wrong: empty text, unknown option */
    EF_NOT_FOUND,     /* no such file, route or name */
    EF_METHOD,        /* the route exists, the method does not */
    EF_TOO_LARGE,     /* over a limit that the caller can see */
    EF_MEDIA_TYPE,    /* a body of a kind nobody asked for */
    EF_TIMEOUT,       /* the client was too slow */
    EF_DEADLINE,      /* the answer would come too late */
    EF_UNAUTHORIZED,  /* no key, or a wrong one */
    EF_OVERLOADED,    /* the queue is full: try again */
    EF_UNAVAILABLE,   /* stopping, or not ready */
    EF_BAD_MODEL,     /* a model file, tokenizer or package that is broken */
    EF_UNSUPPORTED,   /* well formed, but nothing here can run it */
    EF_IO,            /* the operating system said no */
    EF_INTERNAL,      /* our mistake */
    EF_EMPTY,         /* as EF_INVALID_INPUT: no text, where one is needed */
    EF_CANCELLED      /* the caller ended it */
} ef_code;
typedef struct {
    ef_code code;
    char message[1016];
} ef_error;

/* What an input is: data[size], data2[size2]. What a model does not take is refused by name. */
typedef enum {
    EF_TEXT,    /* UTF-8 */
    EF_PAIR,    /* two texts: query and passage, question and context */
    EF_WORDS,   /* a text that comes cut: ef_word; data2: NULL, or the second text's ef_word */
    EF_BOXES,   /* words of a page: ef_word; data2: as many ef_box */
    EF_PICTURE, /* the bytes of an image file; or data NULL, data2: ef_pixels, size2: 1 */
    EF_SOUND,   /* the bytes of a sound file; or data NULL, data2: ef_samples, size2: 1 */
    EF_CHOICES, /* UTF-8: a prompt; data2: ef_word, the endings to choose from */
    EF_PAGE     /* one ef_page: words with boxes, a picture, a question, as the model needs them */
} ef_kind;
typedef struct {
    const char *data; /* UTF-8 */
    size_t size;
} ef_word;
typedef struct { /* in thousandths of the page's width and height, 0 to 1000 */
    int32_t left, top, right, bottom;
} ef_box;
typedef struct { /* a picture that is decoded already */
    size_t struct_size;
    const uint8_t *data;   /* rows from the top, pixels from the left */
    int width, height;
    int channels;          /* of a pixel: 1 grey, 3 RGB, 4 RGBA (whose alpha is dropped) */
    size_t stride;         /* bytes from row to row; 0: width * channels */
} ef_pixels;
typedef struct { /* a sound that is decoded already */
    size_t struct_size;
    const float *data;     /* [channels][count], -1 to 1 */
    size_t count;          /* of each channel */
    int channels, rate;    /* rate: samples a second */
} ef_samples;
typedef struct { /* a page of a document; what is not there is NULL */
    size_t struct_size;
    const char *question;  /* UTF-8; for models that answer questions */
    const ef_word *words;  /* [count]; none: they are read from the image (ef_options.ocr) */
    const ef_box *boxes;   /* [count] */
    size_t count;
    const void *image;     /* the bytes of an image file */
    size_t image_size;
    const ef_pixels *pixels; /* or the picture itself, where there is no image */
    size_t question_size;  /* of a question that may have zero bytes; 0: it ends at the first */
} ef_page;
typedef struct { /* bytes are borrowed for the duration of the call */
    size_t struct_size;
    ef_kind kind;
    const void *data;
    size_t size;
    const void *data2;
    size_t size2;
} ef_input;

typedef struct {         /* zero means: the default */
    size_t struct_size;
    int threads;         /* default: the CPUs this process may use; at most 4096 */
    const char *kernels; /* "scalar", "avx2", ...; one for the process: others are an error once a model was opened;
                          * default: the best this CPU has */
    /* What the model is for, by Hugging Face's name or ours ("ner", "token_classification"); a folder
     * or an .onnx then needs no config.json. Default: as its files say. */
    const char *task;
    const char *tokenizer; /* its folder or its tokenizer.json; default: the model's own */
    const char *pooling; /* of a text's vector: "mean", "cls", "last", ...; default: the model's own */
    int normalize;       /* vectors to length 1: 1 yes, -1 no; default: the model's own way */
    const char *ocr;     /* path of Tesseract, which reads the words of pages; default: none is run */
    const char *processor; /* folder or file of the image processor, feature extractor or tokenizer; default: the
                            * model's own */
    const char *precision; /* "fp32", "bf16", "int8": lowered while it is opened; higher than stored is an error;
                            * default: as stored */
    int replicas;        /* batches that run at the same time; default: as many as there is work for */
    int max_length;      /* tokens of a text that is cut, never more than the model takes (of a package: than it says);
                          * default: as its files say */
} ef_options;

typedef struct { /* row-major view into an ef_reply */
    size_t struct_size;
    const char *name;
    int rank;
    int64_t dim[4];
    const float *data;
} ef_tensor;
typedef struct {
    size_t struct_size;
    const char *name, *version, *task, *kernels;
    int max_tokens, hidden, label_count;
    const char *const *labels;
    const char *pooling; /* of texts' vectors: "mean", "cls+max", "graph", "script"; NULL: no vectors */
    bool normalized;     /* they have length 1 */
    int dimensions;      /* numbers of such a vector, or of a sparse one; 0: not known */
} ef_info;

const char *ef_version(void);

/* Log lines go to stderr, or to `line` (on any thread, without the line's end). Process wide; NULL: stderr again. One that
 * another thread has begun may still come to the function before. */
typedef enum { EF_LOG_ERROR, EF_LOG_WARN, EF_LOG_INFO, EF_LOG_DEBUG } ef_level;
void ef_set_log(void (*line)(void *own, ef_level, const char *text), void *own);
/* How far a call is: stage "downloading", "packing weights"; total 0: not known. false ends the call with
 * EF_CANCELLED, and what it was writing is removed. */
typedef bool (*ef_progress)(void *own, const char *stage, uint64_t done, uint64_t total);
/* Of ef_open, ef_graph_open, ef_encode and the tools that this thread calls from now on; NULL: none. */
void ef_set_progress(ef_progress, void *own);

/* A package, a model folder or the weights in one (.onnx, .safetensors, pytorch_model.bin); "hf:org/name", a model
 * on the Hugging Face Hub, which is downloaded if it is not in the cache (docs/hub.md), as in every call that takes a
 * model; NULL opens the model appended to this very executable. */
ef_model *ef_open(const char *path, const ef_options *, ef_error *);
/* A package's bytes, wherever they came from; they are borrowed until ef_close. */
ef_model *ef_open_memory(const void *data, size_t size, const ef_options *, ef_error *);
const ef_info *ef_describe(const ef_model *);
void ef_close(ef_model *);

/* Inputs of one call are batched together and with those of other threads; replies keep input order.
 * params_json: the task's options of POST /predict ({"offsets":"chars"}), or NULL; others are an error. */
ef_reply *ef_predict(ef_model *, const ef_input *, size_t count, const char *params_json, ef_error *);
/* The same inputs through a pipeline of transformers; the reply's JSON is what that returns for them: for one
 * input its result, for several a list (docs/run.md). task: any name of a task that the model can do; NULL: the
 * model's own. params_json: of the pipeline's call ({"top_k": 3}), or NULL; those that belong to the inputs
 * ({"question": "Who?"}) stand for that part of every input, and with all parts there need not be one. */
ef_reply *ef_run(ef_model *, const char *task, const ef_input *, size_t count, const char *params_json, ef_error *);
/* The same without waiting. done may be NULL; it is called once, on a thread of the library, and must not close the
 * model; calls of this model that wait fail in it (EF_INVALID_INPUT). From then on ef_finish does not wait. It may still
 * be running, or yet to come, when ef_finish returns, but no more when ef_close does: until then own must stay. A call is
 * finished before its model is closed. NULL, which ef_start gives when it fails, is a call that is done, has nothing to
 * cancel, and has no reply: EF_INVALID_INPUT. */
typedef struct ef_call ef_call;
ef_call *ef_start(ef_model *, const ef_input *, size_t count, const char *params_json,
                  void (*done)(void *own), void *own, ef_error *);
ef_call *ef_start_run(ef_model *, const char *task, const ef_input *, size_t count, const char *params_json,
                      void (*done)(void *own), void *own, ef_error *);
bool ef_wait(ef_call *, int timeout_ms);    /* true: it is done; below 0: however long it takes */
void ef_cancel(ef_call *);                  /* what has not run is not run, and ef_finish fails: EF_CANCELLED */
ef_reply *ef_finish(ef_call *, ef_error *); /* waits, releases the call, gives its reply or its error */

const ef_tensor *ef_reply_tensor(const ef_reply *, size_t input); /* NULL: no such input, or of ef_run */
const char *ef_reply_json(const ef_reply *); /* what POST /predict would answer, or the pipeline */
void ef_reply_free(ef_reply *);

/* That JSON as a tree, for callers that make objects of their own of it; made on the first call. */
typedef enum {
    EF_VALUE_NULL, EF_VALUE_BOOL, EF_VALUE_INT, EF_VALUE_FLOAT, EF_VALUE_TEXT, EF_VALUE_LIST, EF_VALUE_MAP
} ef_value_kind;
typedef struct ef_value ef_value;
struct ef_value {
    ef_value_kind kind;
    size_t size;               /* bytes of a text; items of a list; members of a map */
    union {
        int64_t integer;       /* of a bool: 0 or 1 */
        double number;
        const char *text;      /* UTF-8, without a zero at its end */
        const ef_value *items; /* [size]; of a map [2 * size]: key, value, key, value ... */
    } as;
};
const ef_value *ef_reply_value(ef_reply *, ef_error *);

/* Arrow's C Data Interface, as its specification has it. */
#ifndef ARROW_C_DATA_INTERFACE
#define ARROW_C_DATA_INTERFACE
#define ARROW_FLAG_DICTIONARY_ORDERED 1
#define ARROW_FLAG_NULLABLE 2
#define ARROW_FLAG_MAP_KEYS_SORTED 4
struct ArrowSchema {
    const char *format, *name, *metadata;
    int64_t flags, n_children;
    struct ArrowSchema **children, *dictionary;
    void (*release)(struct ArrowSchema *);
    void *private_data;
};
struct ArrowArray {
    int64_t length, null_count, offset, n_buffers, n_children;
    const void **buffers;
    struct ArrowArray **children, *dictionary;
    void (*release)(struct ArrowArray *);
    void *private_data;
};
#endif
/* The results as columns, one row for each input, in a struct array: those that `map` writes for the task
 * (docs/scale.md), without `error`; of token classification the entities where they were asked for ("aggregation"), else
 * the tokens. Both structs are yours to release, and outlive the reply. The model must still be open.
 * EF_UNSUPPORTED: of ef_run. */
bool ef_reply_arrow(const ef_reply *, struct ArrowSchema *, struct ArrowArray *, ef_error *);
/* Arrow's C Stream Interface, likewise. */
#ifndef ARROW_C_STREAM_INTERFACE
#define ARROW_C_STREAM_INTERFACE
struct ArrowArrayStream {
    int (*get_schema)(struct ArrowArrayStream *, struct ArrowSchema *out);
    int (*get_next)(struct ArrowArrayStream *, struct ArrowArray *out);
    const char *(*get_last_error)(struct ArrowArrayStream *);
    void (*release)(struct ArrowArrayStream *);
    void *private_data;
};
#endif
/* Batches through a model, each when `out` is asked for it, on the thread that asks: the kept columns as they came, not
 * copied, then what `map` writes for the task, then `error`, which says why a row has no result (null, empty, too long).
 * options: NULL, or {"column": "text", "keep": ["id"], "results": "tokens"} and the task's options as in ef_predict; offsets
 * count characters unless "offsets" says otherwise; "column2" names the second texts of pairs, where it is not null.
 * Columns are taken as by `map` (docs/scale.md): question and context, prompt and choices, words and boxes; pictures and
 * sounds as bytes, as paths of files, which are opened, or as samples.
 * true: `in` was moved into `out`, which must be released before the model is closed; false: `in` is as it was. What is
 * wrong with `in` itself is told by get_schema and get_next of `out`: EINVAL, ENOSYS, or the code of `in`; from then on
 * every get_next says so. */
bool ef_map_arrow(ef_model *, struct ArrowArrayStream *in, const char *options, struct ArrowArrayStream *out, ef_error *);

/* Tensors in, tensors out, by name: the graph alone, without tokenizer and task. */
typedef enum {
    EF_F32, EF_F64, EF_F16, EF_BF16, EF_I8, EF_U8, EF_I16, EF_U16, EF_I32, EF_U32, EF_I64, EF_U64, EF_BOOL, EF_STRING
} ef_type;
typedef struct {
    size_t struct_size;
    const char *name;
    ef_type type;
    int rank;
    const int64_t *dim;           /* [rank]; -1, in descriptions: any */
    const char *const *dim_names; /* [rank], or NULL: what dims that are any are called, or NULL */
    const void *data;             /* row-major; NULL in descriptions */
    size_t size;                  /* bytes */
} ef_array;
typedef struct ef_arrays ef_arrays; /* a list of named tensors */
typedef struct ef_graph ef_graph;
/* An .onnx, a folder with one, a checkpoint (exported in memory) or a package. Of the options count threads, kernels,
 * precision, and of a checkpoint task: the head that it gets. */
ef_graph *ef_graph_open(const char *path, const ef_options *, ef_error *);
const ef_array *ef_graph_inputs(const ef_graph *, size_t *count);
const ef_array *ef_graph_outputs(const ef_graph *, size_t *count);
/* Any number of threads. outputs: names of those that are wanted; output_count 0: all. All inputs of the graph must be
 * there; integers of another width are converted, and so are floats. */
ef_arrays *ef_graph_run(ef_graph *, const ef_array *in, size_t count, const char *const *outputs,
                        size_t output_count, ef_error *);
void ef_graph_close(ef_graph *);
size_t ef_arrays_count(const ef_arrays *);
const ef_array *ef_arrays_at(const ef_arrays *, size_t index); /* NULL: no more of them */
void ef_arrays_free(ef_arrays *);
/* The tensors that the model's graph is given for these inputs: what `process` writes. Words of pages must be there. */
ef_arrays *ef_prepare(ef_model *, const ef_input *, size_t count, const char *params_json, ef_error *);

/* Texts to ids and back. path: tokenizer.json, vocab.txt, vocab.json (with merges.txt), a
 * SentencePiece .model, a folder with one of them (and its settings), or a package. */
ef_tokenizer *ef_tokenizer_open(const char *path, ef_error *);
const ef_tokenizer *ef_model_tokenizer(const ef_model *); /* dies with the model; NULL: it reads no texts */
void ef_tokenizer_close(ef_tokenizer *);
size_t ef_token_count(const ef_tokenizer *);              /* ids are below this */
int32_t ef_token_id(const ef_tokenizer *, const char *token); /* -1: no such token */
const char *ef_token_text(const ef_tokenizer *, int32_t id);  /* NULL: no such id */
size_t ef_token_size(const ef_tokenizer *, int32_t id);       /* bytes of it: zeros may be among them */
/* Its settings as JSON: model_max_length, padding_side, truncation_side, special tokens and their ids, ...
 * (docs/c-api.md); released by ef_string_free. */
char *ef_tokenizer_describe(const ef_tokenizer *, ef_error *);

typedef enum { EF_CUT_LONGEST, EF_CUT_FIRST, EF_CUT_SECOND } ef_cut; /* which text of a pair */
typedef struct {      /* zero means: the default */
    size_t struct_size;
    int max_length;   /* tokens, special ones included; default, and where it has no room for these: all of them */
    ef_cut cut;       /* what is shortened */
    bool cut_left;    /* from its front */
    bool overflow;    /* what is cut off is there too: ef_tokens_overflow */
    int stride;       /* tokens that neighbouring windows share; below max_length */
    bool no_special;  /* add no special tokens */
    bool chars;       /* offsets count codepoints; default: bytes */
    bool pad;         /* every input to one length: that of the longest, or pad_length */
    int pad_id, pad_length, pad_multiple;
    bool pad_left;
    int threads;      /* for many inputs; default: the CPUs this process may use */
} ef_encode_options;
/* out[count]; each is released by ef_tokens_free. On failure there are none. */
bool ef_encode(const ef_tokenizer *, const ef_input *, size_t count, const ef_encode_options *,
               ef_tokens **out, ef_error *);
/* One text, cut as the model needs it. */
ef_tokens *ef_tokenize(ef_model *, const char *text, size_t size, ef_error *);
const int32_t *ef_tokens_ids(const ef_tokens *, size_t *count);
const int32_t *ef_tokens_offsets(const ef_tokens *); /* [count][2], into the text or the word */
const int32_t *ef_tokens_type_ids(const ef_tokens *); /* [count] */
const int32_t *ef_tokens_word_ids(const ef_tokens *); /* [count]; -1: special */
const uint8_t *ef_tokens_special(const ef_tokens *); /* [count]: 1 where the text has nothing */
const uint8_t *ef_tokens_sequences(const ef_tokens *); /* [count]: 1 in the second text; 0 where special */
const uint8_t *ef_tokens_attention(const ef_tokens *); /* [count]: 0 for padding; NULL: none */
const char *ef_tokens_text(const ef_tokens *, size_t index); /* NULL: no such token */
size_t ef_tokens_size(const ef_tokens *, size_t index); /* bytes of it: zeros may be among them */
const ef_tokens *ef_tokens_overflow(const ef_tokens *, size_t index); /* NULL: no more of them */
void ef_tokens_free(ef_tokens *);
/* Released by ef_string_free. skip_special: leave special tokens out. */
char *ef_decode(const ef_tokenizer *, const int32_t *ids, size_t count, bool skip_special, ef_error *);
/* The same of tokens as ef_tokens_text has them, also of those that are not in the vocabulary. */
char *ef_join(const ef_tokenizer *, const ef_word *tokens, size_t count, ef_error *);
size_t ef_string_size(const char *); /* bytes of such a text, in which there may be zeros; of NULL 0 */
void ef_string_free(char *);

/* The toolchain: each reads one thing, and writes another or judges it. options: NULL, or a JSON
 * object of the command's flags by their names, {"task": "ner", "quantize": true}; docs/c-api.md has
 * them. What comes back is what the command prints with --json, released by ef_string_free; NULL: it
 * failed. A model that is not right ("ok", "valid" or "compatible" false) is no failure. */
char *ef_export(const char *model_dir, const char *out_dir, const char *options, ef_error *);
/* out: a folder or an .onnx; NULL: model_quantized.onnx beside the model. */
char *ef_quantize(const char *model, const char *out, const char *options, ef_error *);
char *ef_verify(const char *model, const char *options, ef_error *);
char *ef_validate(const char *model, const char *options, ef_error *); /* an .onnx, or a folder */
char *ef_compare(const char *onnx, const char *other_onnx, ef_error *); /* their hierarchy tags */
/* What `explore --json` prints; other: a second model beside it, or NULL. */
char *ef_explore(const char *model, const char *other, const char *options, ef_error *);
char *ef_metadata(const char *onnx, ef_error *);                        /* what `metadata read` shows */
char *ef_inspect(const char *model, const char *options, ef_error *);   /* what `inspect --json` prints */
char *ef_analyze(const char *onnx, const char *options, ef_error *);    /* its hierarchy tags */
/* Copies the files of a model's folder that belong beside an .onnx. */
char *ef_add_config(const char *onnx, const char *model_dir, const char *options, ef_error *);
char *ef_embed_metadata(const char *onnx, const char *options, ef_error *); /* `metadata embed` */
/* model: a YAML, or a model as for `build MODEL`. The package's program is base_binary_path of the YAML or
 * "base-binary-path" of the options; where neither names one, the program that calls this, if that is
 * encoderfile itself, and an error otherwise. out: NULL: as YAML or options say. */
char *ef_build(const char *model, const char *out, const char *options, ef_error *);
/* Serves until *stop; signals are the caller's. options: NULL, or a JSON object of those flags of
 * `serve` that concern neither model nor batches: {"http-port": 8080, "disable-grpc": true}. */
bool ef_serve(ef_model *, const char *options, const volatile int *stop, ef_error *);

static inline ef_input ef_text(const char *s)
{
    ef_input in = { sizeof(ef_input), EF_TEXT, s, strlen(s), NULL, 0 };
    return in;
}
static inline ef_input ef_pair(const char *s, const char *second)
{
    ef_input in = { sizeof(ef_input), EF_PAIR, s, strlen(s), second, strlen(second) };
    return in;
}
#if defined(__GNUC__)
#pragma GCC visibility pop
#endif
#ifdef __cplusplus
}
#endif
#endif
