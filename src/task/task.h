/* SPDX-License-Identifier: Apache-2.0
 * task.h - what a model is for. A task is one file: its schemas (field numbers are those of the
 * peer's .proto, so its gRPC clients keep working) and the way from a row's numbers to a Value.
 *
 * Easy to get wrong: `scores` are probabilities (softmax; sigmoid for problem_type
 * multi_label_classification and for a single label; plain logits for regression), `logits` stay
 * raw; special tokens are left out of lists, [UNK] stays; offsets are bytes unless
 * "offsets":"chars". */
#ifndef TASK_TASK_H
#define TASK_TASK_H
#include "input/input.h"
#include "task/head.h"

typedef struct ModelConfig {     /* what tasks and checks need of config.json */
    Str model_type;              /* "bert" */
    Str architecture;            /* first of `architectures`, or empty */
    Str problem_type;            /* empty: single label */
    int num_labels;              /* num_labels, else of id2label, else of label2id; 0: not said */
    Str *labels;                 /* [num_labels] by id, all named ("LABEL_3"); NULL: not said, one
                                  * label without a name, or a regression without names */
    int hidden_size, vocab_size, max_positions, type_vocab_size, pad_token_id; /* 0: not said */
    const Value *root;           /* the whole file, or NULL */
    const VectorHead *head;      /* how a text's vector is made of its tokens'; NULL: the graph does it */
    bool graph_pools;            /* the graph itself gives one vector a text */
    int vector_size;             /* numbers of that vector; 0: not known */
} ModelConfig;
int config_vector_size(const ModelConfig *); /* vector_size, or hidden_size; 0: neither is known */
bool config_read(Arena *, const Value *root, ModelConfig *, Err *); /* errors name the key */
/* The head's width, where config.json does not count labels; and names as transformers gives them,
 * where it has none. Changes nothing that config.json says. */
void config_name_labels(Arena *, ModelConfig *, int64_t width);

typedef enum { GROUP_UNSAID, GROUP_NONE, GROUP_SIMPLE, GROUP_FIRST, GROUP_AVERAGE, GROUP_MAX } TaskGrouping;
typedef struct TaskOptions {     /* of one request; zero is what nobody asked for */
    InputOptions input;          /* those for the preparer */
    bool chars;                  /* offsets count codepoints */
    TaskNormalize normalize;     /* vectors to length 1 */
    bool base64;                 /* vectors as text */
    bool return_tokens;
    bool extract;                /* {entity type: text} */
    int dimensions;              /* of a vector, from its front; 0: all */
    int top_k;                   /* labels by score; 0: none listed */
    bool outside;                /* entities named "O" are told too */
    const Value *targets;        /* of masks: only these words; NULL: all */
    TaskPooling pooling;
    TaskGrouping grouping;       /* tokens to entities: "aggregation" */
} TaskOptions;
typedef struct TaskTensor {      /* of one row */
    const float *data;           /* [tokens, width] */
    int64_t tokens, width;       /* tokens: those of the row, or 1 */
} TaskTensor;
typedef struct TaskRow {
    Str first;
    const Str *second;           /* NULL: not a pair */
    const Encoding *encoding;
    const Tokenizer *tokenizer;  /* for the text of a token */
    const float *data;           /* [tokens, width]: the graph's output; the result views it */
    int64_t tokens, width;       /* tokens = encoding->n, or 1: one vector for the row */
    const VectorHead *head;      /* of the model, or NULL; for pooling only, as `prompt` */
    int64_t prompt;              /* tokens of the prompt, in front */
    const float *scores;         /* [tokens, width]: by the package's script; NULL: the task's own */
    const TaskTensor *out;       /* [outputs of the task]; data, tokens and width are the first's */
} TaskRow;

enum { TASK_OUTPUTS = 2, TASK_OUTPUT_NAMES = 4 };
typedef struct Task {
    const char *name;            /* "token_classification" */
    int number;                  /* of the peer's ModelType */
    const Preparer *preparer;    /* items to rows */
    const char *outputs[TASK_OUTPUTS][TASK_OUTPUT_NAMES]; /* graph outputs that are needed; of each, names to look
                                  * for in this order */
    bool per_token;              /* the output has one vector per token: rank 3, else rank 2 */
    bool flat;                   /* or one number per token: rank 2 */
    bool labelled;               /* the output's last dim counts labels, */
    bool words;                  /* or the vocabulary */
    const char *shape;           /* "[batch_size, seq_len, hidden_dim]" for messages */
    const char *architectures[4];/* endings that fit: "ForTokenClassification"; NULL-terminated */
    /* Schemas: body, one entry of `results`, whole answer. The first row of `request` is `inputs` as
     * protobuf sends it; what JSON may say there is for task_inputs and task_request_describe. */
    const Field *request, *result, *reply;
    /* (optional) the row's numbers to one vector (task_pool_width): then finish sees tokens = 1, and
     * the rest need not be kept. Absent: all of them are needed. */
    void (*pool)(const TaskRow *, const TaskOptions *, float *out);
    /* (optional) tokens whose vectors are needed: then finish sees those alone. Absent: all. */
    bool (*wants)(const Tokenizer *, const Encoding *, size_t token);
    /* The result of an item, of its n rows. */
    void (*finish)(Arena *, const ModelConfig *, const TaskOptions *, const TaskRow *, size_t n,
                   Value *out);
} Task;

const Task *task_find(Str name);           /* by any of its names; NULL: unknown, or none of ours */
const Task *task_by_number(int number);
const Task *const *task_all(size_t *count);

/* What tasks are called (names.c). A "-" is as good as a "_", and case does not matter. */
enum { TASK_SYNONYMS = 5, TASK_NAME_ROOM = 48 };
typedef struct TaskName {
    const char *name;            /* as Hugging Face spells it now: "token-classification" */
    const char *ours;            /* the Task that does it; NULL: none */
    const char *synonyms[TASK_SYNONYMS];
    const char *reads;           /* "images", "audio", "video"; NULL: texts */
} TaskName;
const TaskName *task_name(Str typed);      /* NULL: unknown */
const TaskName *task_names(size_t *count);
const char *task_name_reads(Str typed);    /* of unknown names too: "image_embedding" */
/* The nearest of all names, spelled with the "_" of the typed one. False: none is near, or those of
 * two tasks are equally so. */
bool task_name_near(Str typed, char out[TASK_NAME_ROOM]);

typedef struct TaskInputs {
    Item *item;                  /* [n] */
    size_t n;
} TaskInputs;
/* "inputs" of a parsed body: a text, or a list of texts and [first, second] pairs; none empty, at
 * most `limit`. Then the other rows of the request schema. Messages begin with the JSON path. */
bool task_inputs(Arena *, const Task *, const Value *request, size_t limit, TaskInputs *, Err *);
/* `inputs` alone; NULL: absent, which is an error like others. */
bool task_texts(Arena *, const Value *inputs, size_t limit, TaskInputs *, Err *);
Value task_texts_describe(Arena *, size_t limit); /* its JSON Schema; limit 0: not said */
bool task_inputs_check(const TaskInputs *, size_t limit, Err *); /* without JSON */
typedef struct TaskLimits {      /* what a description of the request should say */
    size_t inputs;               /* most of one request; 0: not said */
    int width;                   /* of a vector; 0: not known */
} TaskLimits;
Value task_request_describe(Arena *, const Task *, TaskLimits); /* the JSON Schema of the body */
/* {"offsets": "chars"}: those that the task has, after task_keys. */
bool task_options(const Task *, const ModelConfig *, const Value *request, TaskOptions *, Err *);
/* False: a key of the request looks like a misspelled one of the task's. Others that the task does
 * not have are not looked at: those of other tasks, those that clients of other servers send, and
 * what resembles none. */
bool task_keys(const Task *, const Value *request, Err *);
/* Does the head take another way of pooling, and has a vector so many dimensions? */
bool task_vector_fits(const ModelConfig *, const TaskOptions *, Err *);
/* {"results": [...], "model_id": ..., "metadata": ...?}; metadata is echoed when the request had
 * it. */
Value task_reply(Arena *, Value *results, size_t n, Str model_id, const Value *metadata);
const Field *task_reply_schema(const Task *);
/* The row's encoding with offsets in the unit that the request asked for. */
Encoding task_spans(Arena *, const TaskOptions *, const TaskRow *);
void task_softmax(const float *logits, int64_t n, float *out); /* out may be logits */
/* From logits of a text to scores; the model's own way is that of its problem_type. */
typedef enum { SCORE_OWN, SCORE_NONE, SCORE_SOFTMAX, SCORE_SIGMOID } TaskScore;
void task_score(const ModelConfig *, TaskScore, const float *logits, int64_t n, float *out);
Value task_label(Arena *, const ModelConfig *, int64_t index); /* "LABEL_3" where it has no name */
/* Of the request's encoding, dimensions and length; the numbers are copied where they change. */
Value task_vector(Arena *, const TaskOptions *, const float *, int64_t n);
/* One vector of a row's: by the head, whose pooling options may replace; or, of a vocabulary, as
 * SPLADE does. */
void task_pool(const TaskRow *, const TaskOptions *, float *out);
void task_sparse(const TaskRow *, const TaskOptions *, float *out);
/* What a masked language model fills in; the name is NULL where the tokenizer has none. */
const char *task_mask_name(const Tokenizer *);

#endif
