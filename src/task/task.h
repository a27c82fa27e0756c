/* SPDX-License-Identifier: Apache-2.0
 * task.h - what a model is for. A task is one file: its schemas (field numbers are those of the
 * Rust encoderfile's .proto, so its gRPC clients keep working) and the way from a row's numbers to a
 * Value.
 *
 * Easy to get wrong: `scores` are probabilities (softmax; sigmoid for problem_type
 * multi_label_classification and for a single label; plain logits for regression), `logits` stay
 * raw; special tokens are left out of lists, [UNK] stays; offsets are bytes unless
 * "offsets":"chars". */
#ifndef TASK_TASK_H
#define TASK_TASK_H
#include "data/columns.h"
#include "input/items.h"
#include "task/pooling.h"

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
    float logit_scale, logit_bias; /* of a model with two towers: from a cosine to a logit */
} ModelConfig;
int config_vector_size(const ModelConfig *); /* vector_size, or hidden_size; 0: neither is known */
bool config_read(Arena *, const Value *root, ModelConfig *, Err *); /* errors name the key */
/* The head's width, where config.json does not count labels; and names as transformers gives them,
 * where it has none. Changes nothing that config.json says. */
void config_name_labels(Arena *, ModelConfig *, int64_t width);

typedef enum { GROUP_UNSAID, GROUP_NONE, GROUP_SIMPLE, GROUP_FIRST, GROUP_AVERAGE, GROUP_MAX } TaskGrouping;
/* From logits to scores; the model's own way is that of its problem_type. */
typedef enum { SCORE_OWN, SCORE_NONE, SCORE_SOFTMAX, SCORE_SIGMOID } TaskScore;
typedef enum { SUBTASK_OWN, SUBTASK_PANOPTIC, SUBTASK_INSTANCE, SUBTASK_SEMANTIC } TaskSubtask;
typedef struct TaskShare {       /* 0 is one, too */
    float value;
    bool said;
} TaskShare;
static inline float task_share(TaskShare s, float otherwise)
{
    return s.said ? s.value : otherwise;
}
typedef struct TaskOptions {     /* of one request; zero is the default */
    InputOptions input;          /* for the preparer */
    bool chars;                  /* offsets count codepoints */
    TaskNormalize normalize;     /* vectors to length 1 */
    bool base64;                 /* vectors as text */
    bool return_tokens;
    bool extract;                /* {entity type: text} */
    bool spans;                  /* entities by the words of bio.h: "spans" in the result; for tables only */
    int dimensions;              /* keep the first N components of a vector; 0: all */
    int top_k;                   /* labels or answers by score; 0: not said */
    int answer_tokens;           /* the longest answer; 0: 15 */
    bool impossible;             /* "no answer" is an answer */
    bool unaligned;              /* answers may begin and end inside a word */
    const Value *ignored;        /* labels whose entities are left out; NULL: "O" */
    const Value *targets;        /* of masks: only these words; NULL: all */
    TaskPooling pooling;
    TaskGrouping grouping;       /* tokens to entities: "aggregation" */
    TaskScore function;          /* from logits to scores: "function_to_apply" */
    TaskShare threshold;         /* objects with a score above this */
    TaskShare mask_threshold;    /* pixels of a mask with a probability from this on, */
    TaskShare overlap;           /*   of which an object must have more than this share */
    TaskSubtask subtask;
    bool runs;                   /* masks as run lengths */
    bool patches;                /* vectors of a picture's patches, too */
    const Value *candidates;     /* of a zero-shot request: the labels, as strings; NULL: not said */
    Str hypothesis;              /* what a label is put into; p NULL: not said */
    const float *const *vectors; /* [as many as Task.texts gave]: made by the model's second graph */
    bool frames;                 /* of sounds: a vector for each frame */
    TaskShare silence, min_speech, min_silence, pad, max_speech; /* of speech in a sound: SpeechRules */
} TaskOptions;
enum { TASK_RANK = 7 };
typedef struct TaskTensor {      /* of one row */
    const float *data;           /* [tokens, width] */
    int64_t tokens, width;       /* tokens: those of the row, or 1 */
    int rank;                    /* as the graph gave it, without its rows: [3, 224, 224] is */
    int64_t dim[TASK_RANK];      /*   tokens 672, width 224 */
} TaskTensor;
typedef struct TaskRow {
    Str first;
    const Str *second;           /* NULL: not a pair */
    const Str *words;            /* of a page, parts of `first`: encoding->word counts them; NULL: none */
    const int32_t *boxes;        /* [words][4]; NULL: none */
    const Str *choice;           /* the choice that this row is about; NULL: none */
    int width_given, height_given; /* of the row's picture, before resizing; 0: none */
    SoundPart sound;             /* the part of its sound that the row is about; samples 0: none */
    const struct Ctc *ctc;       /* the vocabulary of speech; NULL: none */
    const Encoding *encoding;
    bool swapped;                /* the second text came first in it */
    const Tokenizer *tokenizer;  /* for the text of a token */
    const float *data;           /* [tokens, width]: the graph's output; the result views it */
    int64_t tokens, width;       /* tokens = encoding->n, or 1: one vector for the row */
    const VectorHead *head;      /* of the model, or NULL; for pooling only, as `prompt` */
    int64_t prompt;              /* tokens of the prompt, in front */
    const float *scores;         /* [tokens, width]: by the package's script; NULL: the task's own */
    const TaskTensor *out;       /* [outputs of the task]; data, tokens and width are the first's */
    bool more;                   /* there is a second one */
} TaskRow;

enum { TASK_OUTPUTS = 2, TASK_OUTPUT_NAMES = 4 };
/* What a model can be asked, whatever its task is called. Routes, calls and commands name what they
 * need; a task can do nothing that its row does not say. */
typedef enum {
    CAN_EMBED = 1 << 0,          /* vectors of a text and of its tokens */
    CAN_SENTENCE = 1 << 1,       /* one vector a text is the result: the prompts and settings of
                                  * sentence-transformers hold */
    CAN_SPARSE = 1 << 2,         /* a weight for each word of the vocabulary */
    CAN_FILL = 1 << 3,           /* words for masks */
    CAN_CLASSIFY = 1 << 4,       /* labels of a text or a pair */
    CAN_RANK = 1 << 5,           /* how well a pair fits */
    CAN_TAG = 1 << 6,            /* labels of tokens, and the entities that they make */
    CAN_ANSWER = 1 << 7,         /* where in a context the answer to a question stands */
    CAN_CHOOSE = 1 << 8,         /* the best of some choices */
    CAN_CLASSIFY_PICTURE = 1 << 9, /* labels of a picture */
    CAN_DETECT = 1 << 10,        /* objects in a picture, with boxes */
    CAN_SEGMENT = 1 << 11,       /* which of its pixels show what */
    CAN_EMBED_PICTURE = 1 << 12, /* a vector of a picture */
    CAN_MATCH = 1 << 13,         /* how well texts go with a picture; vectors of both */
    CAN_CLASSIFY_SOUND = 1 << 14, /* labels of a sound */
    CAN_TRANSCRIBE = 1 << 15,    /* what is said in it */
    CAN_EMBED_SOUND = 1 << 16,   /* vectors of a sound and of its frames */
    CAN_FIND_SPEECH = 1 << 17,   /* where in it somebody speaks */
    CAN_ANSWER_PAGE = 1 << 19,   /* which words of a page answer a question */
    /* by its items; rows do not say it */
    CAN_READ = 1 << 20,          /* takes texts, which have tokens */
    CAN_SEE = 1 << 21,           /* takes pictures */
    CAN_HEAR = 1 << 22,          /* takes sounds */
} TaskCan;

/* What a graph's output is. */
typedef enum { PER_TEXT, PER_TOKEN, PER_PART } TaskPer; /* of a picture: queries, pixels; of a sound: frames */
/* What its last axis counts; AXIS_SINGLE: there is none, but one number for each text or token. */
typedef enum {
    AXIS_HIDDEN, AXIS_LABELS, AXIS_WORDS, AXIS_SINGLE,
    AXIS_LABELS_OR_NONE,         /* labels, and behind them "nothing" */
    AXIS_MAP,                    /* of a map of pixels: the labels are the first axis */
    AXIS_PLACES                  /* one number for each token, and behind them for what else the model reads */
} TaskAxis;
typedef struct TaskShape {
    TaskPer per;                 /* one vector for each of them */
    TaskAxis last;
    int rank;
    const char *numbers, *text;  /* for messages: "logits", "[batch_size, seq_len, n_labels]" */
} TaskShape;
extern const TaskShape shape_token_vectors, shape_text_vectors, shape_token_labels,
    shape_text_labels, shape_token_words, shape_text_words, shape_token_numbers,
    shape_page_numbers, shape_choices, shape_query_labels, shape_label_maps, shape_patch_vectors,
    shape_frame_words, shape_frame_vectors, shape_window_speech;

typedef struct TaskSample {      /* texts to try a model with */
    const char *label;           /* one that the model must have; NULL: any model */
    const char *text[3];         /* "{mask}" stands for the tokenizer's mask */
} TaskSample;

typedef void TaskPool(const TaskRow *, const TaskOptions *, float *out);

enum { TASK_NAMES = 4, TASK_SYNONYMS = 5, TASK_NAME_ROOM = 48 };
typedef struct TaskName {        /* what others call a task */
    const char *name;            /* as Hugging Face spells it now: "token-classification" */
    const char *synonyms[TASK_SYNONYMS];
    const char *reads;           /* "images", "audio", "video"; NULL: texts */
} TaskName;

typedef struct TaskFill {        /* where the rows of a table go */
    Arena *arena, *scratch;      /* of the table; of one item */
    ColumnMaker *to;             /* [rows of the table]: each gets one entry */
} TaskFill;
typedef struct TaskTable {       /* results as columns: a way to tell them in a table */
    const char *name;            /* of --results; NULL: the one there is */
    TaskCan of;                  /* (optional) only for models that can this */
    const Field *rows;
    /* (optional) a result as a map of these rows; absent: it is one */
    Value (*shape)(Arena *, const Value *result);
    void (*ask)(TaskOptions *);  /* (optional) what the result must have for it */
    /* (optional) the same rows straight from an item's n rows, where nobody needs the result; absent: by `finish` and
     * `shape` */
    void (*fill)(const TaskFill *, const ModelConfig *, const TaskOptions *, const TaskRow *, size_t n);
    bool (*when)(const TaskOptions *); /* (optional) only for requests that ask for more columns */
} TaskTable;

typedef struct Task {
    const char *name;            /* "token_classification" */
    const char *many;            /* what it makes, for messages: "token classifications" */
    TaskName names[TASK_NAMES];  /* its own, with "-", is among them */
    int number;                  /* of the Rust encoderfile's ModelType */
    TaskCan can;                 /* one or more */
    TaskCan can_of_one;          /* and what a model with one label can */
    const ItemForm *items;       /* how they are written, */
    const Preparer *preparer;    /*   and how they become rows */
    const char *outputs[TASK_OUTPUTS][TASK_OUTPUT_NAMES]; /* graph outputs that are needed; of each,
                                  * names to look for in this order */
    const TaskShape *shape;      /* of the outputs */
    int second_rank;             /* of the second output; 0: the shape's */
    const struct Task *variant;  /* (optional) takes its place where the graph has its second output */
    const char *text_output;     /* (optional) of models with two towers: what the second graph, which
                                  * reads texts, gives; `outputs` are those of the first */
    const char *pair_output;     /* and how well both go together */
    const TaskShape *pooled;     /* (optional) what `pool` always makes of it */
    bool on_request;             /* outputs behind the first are optional, and kept where options->patches is set */
    const char *architectures[4];/* endings that fit: "ForTokenClassification"; NULL-terminated */
    const char *mcp_instructions, *mcp_description; /* for a host of MCP */
    const char *lua;             /* a Postprocess to begin with; NULL: the task takes none, */
    const char *no_lua;          /*   for this reason */
    const TaskSample *samples;   /* the first that fits; the last has no label */
    /* Schemas: body, one entry of `results`, whole answer. The first row of `request` is `inputs` as
     * protobuf sends it; what JSON may say there is for task_inputs and task_request_describe. */
    const Field *request, *result, *reply;
    const TaskTable *tables;     /* (optional) the default first; ends with rows NULL. Absent: `result` as it is */
    /* (optional) the row's numbers to one vector: where the task is always `pooled`, finish sees that
     * vector alone (tokens = 1); else it is for clients that ask for vectors. */
    TaskPool *pool;
    /* (optional) how many numbers `pool` makes of an output of these dims; absent: its width */
    int64_t (*pool_width)(int rank, const int64_t *dim);
    /* (optional) tokens whose vectors are needed: then finish sees those alone. Absent: all. */
    bool (*wants)(const Tokenizer *, const Encoding *, size_t token);
    /* (optional) texts of the request beside its items, at most `most`, whose vectors finish needs
     * (options->vectors). */
    bool (*texts)(Arena *, const TaskOptions *, size_t most, Str **out, size_t *n, Err *);
    /* The result of an item, of its n rows. */
    void (*finish)(Arena *, const ModelConfig *, const TaskOptions *, const TaskRow *, size_t n,
                   Value *out);
} Task;

const Task *task_find(Str name);           /* by any of its names; NULL: unknown, or none of ours */
const Task *task_by_number(int number);
const Task *const *task_all(size_t *count);
const Task *task_that_can(TaskCan);        /* the first of the list */

/* Whether it can do any of these. config NULL: without regard to the model's labels. */
bool task_can(const Task *, const ModelConfig *config, TaskCan any);
bool task_fits_rank(const Task *, int output, int rank); /* a graph may pool by itself */
const TaskShape *task_kept(const Task *);  /* shape of the numbers that finish gets of a row */
TaskPool *task_own_pool(const Task *);     /* makes them from the graph's output; NULL: they are the output */
bool task_keeps_tokens(const Task *);      /* every token's numbers, unless they are pooled */
/* Labels that an output has, by its dims without the batch; below 0: it has none, or leaves it open. */
int64_t shape_labels(const TaskShape *, int rank, const int64_t *dim);
int task_labels(const Task *, const ModelConfig *); /* that have names; 0: none */
/* Numbers of the last axis; 0: config.json does not say. */
int64_t task_width(const Task *, const ModelConfig *, size_t vocabulary);
/* Its samples, or (NULL) texts for any task; those with a mask need a tokenizer that has one. */
size_t task_samples(Arena *, const Task *, const ModelConfig *, const Tokenizer *, const Str **out);
/* What a request with its samples cannot do without: labels of a zero-shot task. */
void task_sample_options(Arena *, const Task *, TaskOptions *);

/* Whatever takes the name of a task asks here (names.c): those of the rows, and those of tasks that
 * this program does not do. A "-" is as good as a "_", and case does not matter. */
const TaskName *task_name(Str typed);      /* NULL: unknown */
bool task_is_called(Str typed, const char *name); /* whether they are the same name */
const TaskName *task_name_at(size_t);      /* all of them, from 0; NULL: no more */
const Task *task_of_name(const TaskName *); /* NULL: none of ours */
const char *task_name_reads(Str typed);    /* of unknown names too: "image_embedding" */
/* The nearest of all names, spelled with the "_" of the typed one. False: none is near, or those of
 * two tasks are equally so. */
bool task_name_near(Str typed, char out[TASK_NAME_ROOM]);
void task_list(Buf *);                     /* "embedding, sentence_embedding, ..." */

/* The items of a parsed body ("inputs", in the form of the model's; none empty, at most `limit`). Then
 * the other rows of the request schema. Messages begin with the JSON path. */
bool task_inputs(Arena *, const Task *, const ItemForm *, const Value *request, size_t limit, Items *,
                 Err *);
typedef struct TaskLimits {      /* what a description of the request should say */
    size_t inputs;               /* most of one request; 0: not said */
    int width;                   /* of a vector; 0: not known */
} TaskLimits;
/* The JSON Schema of the body. */
Value task_request_describe(Arena *, const Task *, const ItemForm *, TaskLimits);
typedef struct TaskTold {        /* how results are to be told in a table; zero: the default */
    const char *name;            /* of TaskTable */
    const TaskOptions *options;
} TaskTold;
/* One of its tables. False: it has none of that name. */
bool task_table(const Task *, const ModelConfig *, TaskTold, TaskTable *, Err *);
/* {"offsets": "chars"}: those that the task has, after task_keys. */
bool task_options(const Task *, const ModelConfig *, const Value *request, TaskOptions *, Err *);
bool task_has_option(const Task *, const char *name);
/* Those that differ from the default, whatever the request's words and order were: equal options are equal text. */
void task_options_text(const Task *, const TaskOptions *, Buf *);
/* False: a key of the request looks like a misspelled one of the task's. Others that the task does
 * not have are not looked at: those of other tasks, those that clients of other servers send, and
 * what resembles none. */
bool task_keys(const Task *, const Value *request, Err *);
/* Checks the request's pooling and dimensions against the model's vectors. */
bool task_vector_fits(const ModelConfig *, const TaskOptions *, Err *);
/* {"results": [...], "model_id": ..., "metadata": ...?}; metadata is echoed when the request had
 * it. */
Value task_reply(Arena *, Value *results, size_t n, Str model_id, const Value *metadata);
const Field *task_reply_schema(const Task *);
/* The row's encoding with offsets in the unit that the request asked for. */
Encoding task_spans(Arena *, const TaskOptions *, const TaskRow *);
void task_softmax(const float *logits, int64_t n, float *out); /* out may be logits */
void task_score(const ModelConfig *, TaskScore, const float *logits, int64_t n, float *out);
Value task_label(Arena *, const ModelConfig *, int64_t index); /* "LABEL_3" where it has no name */
float task_cosine(const float *, const float *, int64_t n); /* 0 where one of them is of zeros */
/* A vector by the request's options (dimensions, normalize, base64); its numbers are copied only
 * where they change. */
Value task_vector(Arena *, const TaskOptions *, const float *, int64_t n);
/* The template with the label in place of its first {}; false: it has none. */
bool task_hypothesis(Arena *, Str template, Str label, Str *out, Err *);
/* What a masked language model fills in; the name is NULL where the tokenizer has none. */
const char *task_mask_name(const Tokenizer *);

#endif
