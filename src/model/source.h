/* SPDX-License-Identifier: Apache-2.0
 * source.h - where a model comes from when it is not a package yet: files in a folder, and the
 * checks that stand between them and a model that runs. Every message says what was found and what
 * is wanted, and contains the words of the troubleshooting guide ("model.onnx not found", "Missing
 * input_ids"). */
#ifndef MODEL_SOURCE_H
#define MODEL_SOURCE_H
#include "base/file.h"
#include "graph/graph.h"
#include "onnx/onnx.h"
#include "task/task.h"

typedef struct HeadWish {        /* the user's wishes about a text's vector; zero: none */
    TaskPooling pooling;
    TaskNormalize normalize;
} HeadWish;
/* From words ("cls"; "true" or "false"); empty: no wish (model_head.c). */
bool head_wish(Str pooling, Str normalize, HeadWish *, Err *);

typedef struct ModelSource {     /* what `build` and `--model FOLDER` start from; NULL: not there */
    const char *weights;         /* an .onnx, or a checkpoint: exported in memory for the task */
    const char *config;
    const char *prompts;         /* config_sentence_transformers.json */
    const char *modules;         /* folder of a modules.json that pools */
    HeadWish wish;
    TokenizerFiles tokenizer;    /* vocab: tokenizer.json, or what can be converted to one */
    const char *preprocessor, *processor; /* preprocessor_config.json, processor_config.json: of pictures and sounds */
    Str name, version, task;     /* task: any name of it; empty: from config.json's architectures */
    bool config_optional;        /* the user named the task: config.json may be missing */
    const Value *yaml_tokenizer; /* the YAML's `tokenizer` map, or NULL */
    int max_length;              /* ModelOpen; 0: the YAML or the files say it */
    Str precision;               /* "fp32", "bf16", "int8"; empty: the file's own */
    Str script;                  /* Lua transform; p NULL: none */
    const Str *lib;              /* [n_lib] of lua_libs; NULL: not said */
    size_t n_lib;
    bool compile;                /* for a package: the tokenizer as tables too */
    struct SourceInside {        /* inside the .onnx; wins over files. p NULL: not there */
        Str config, tokenizer, tokenizer_config; /* texts of these files */
        Str task;                /* "token-classification" */
        Str sentence;            /* files of a sentence-transformers folder: modules_gather */
    } inside;
} ModelSource;
/* Files by their usual names in a folder or in its folder onnx. Optional files that are missing: NULL. */
void source_folder(Arena *, const char *folder, ModelSource *);
/* The only .onnx of a folder, or of its folder onnx, by whatever name; NULL: none, or several. */
const char *source_lone_onnx(Arena *, const char *folder);
/* A lone .onnx: what it carries itself if that is enough, else with the files beside it. */
void source_onnx(Arena *, const char *path, ModelSource *);
/* A folder, an .onnx, or the file of a checkpoint with the others of its folder. False: none of these. */
bool source_path(Arena *, const char *path, ModelSource *);
/* What a model is called where nobody says: its folder, or an .onnx without its ending. */
Str source_name(Arena *, const char *path);
/* The files of a folder that could have been its weights, but for the one that was taken: their
 * paths, with commas. */
void source_other_weights(Arena *, const char *folder, const char *taken, Buf *);
/* What the weights say they are for, unless a task is given. */
void source_task_inside(Arena *, ModelSource *);
/* The user's task (empty: none), with which config.json may be missing, and tokenizer, a folder or a
 * file (NULL: the model's own): both win over what was found. */
void source_said(Arena *, Str task, const char *tokenizer, ModelSource *);
/* Files of a processor in place of the model's own (NULL: none): a folder with a preprocessor_config.json, a
 * processor_config.json or a tokenizer, or one of these files. */
bool source_processor(Arena *, const char *path, ModelSource *, Err *);
bool source_files(const ModelSource *, Err *); /* that every required file is there */
bool source_has_tokenizer(const ModelSource *, Err *); /* for tasks that read texts */

/* An .onnx and the files beside it that hold its weights, mapped (source_onnx.c). A checkpoint
 * (data/checkpoint.h) is exported into memory first. */
typedef struct OnnxFile {
    OnnxModel model;
    struct MappedFile *files;
} OnnxFile;
bool onnx_file_open(Arena *, const char *path, OnnxFile *, Err *); /* by the class in config.json */
bool onnx_file_open_for(Arena *, const char *path, const char *task, OnnxFile *, Err *);
void onnx_file_close(OnnxFile *);
uint64_t onnx_file_bytes(const OnnxFile *); /* of all files */
void onnx_file_forget(const OnnxFile *);    /* weights have been packed: most of it need not stay in memory */
const char *onnx_precision(const OnnxModel *); /* "int8" when it quantizes, else "fp32" */
/* The precision asked for, or the model's own; an error if it is higher than that. */
bool source_precision(const OnnxModel *, Str asked, const char **out, Err *);

/* Checks (source_check.c). */
bool source_family(const ModelConfig *, Err *); /* of checkpoints: refuses what is no encoder */
/* The task by its name, checked against config.json's class. No name: by the metadata of the .onnx
 * (`inside`), else by the class and the graph's outputs; "auto": else by the rest of config.json. onnx
 * NULL: a checkpoint, of which a graph without head can always be made. */
bool source_task(const ModelSource *, const ModelConfig *, const OnnxModel *, const Task **, Err *);
/* The task, or its variant where the graph (NULL: the class of the checkpoint) is of that kind. */
const Task *source_variant(const Task *, const ModelConfig *, const OnnxModel *);
/* Has input_ids, and they are integers; or pixel_values, input_values or input_features, and they are floats. */
bool source_inputs(const OnnxModel *, Err *);
bool source_sees_pages(const OnnxModel *); /* reads boxes and pixels */
/* That the kept output needs no inputs but those that items of this form give. */
bool source_needs(const Graph *, const ItemForm *, Err *);
/* The task's output of that number. */
bool source_output(const OnnxModel *, const Task *, const ModelConfig *, int index,
                   const OnnxValue **, Err *);
/* Tokens for which the graph's table of positions (found by its name) has room; 0: it has none. */
int64_t source_positions(const Graph *);

/* What the sidecar beside an .onnx says (source_shapes.c): the shapes of its inputs; and the tokens of a row, with
 * the sidecar's name. 0: there is none, or it leaves them open. */
typedef struct DeclaredShape {   /* of an input, with the graph's rank */
    bool said;
    int64_t dim[MAX_RANK];       /* -1: open */
} DeclaredShape;
void source_declared_shapes(const char *onnx, const OnnxGraph *, DeclaredShape *out /*[n_in]*/);
int64_t source_declared_tokens(Arena *, const char *onnx, const OnnxGraph *, Str *file);

/* How a text is cut to the model's length (source_limit.c). */
typedef struct LimitSource {
    const Value *yaml;           /* the YAML's `tokenizer` map, or NULL */
    const Value *file;           /* tokenizer_config.json, or NULL */
    const Value *sentence;       /* sentence-transformers' own file, or NULL */
    const Tokenizer *tokenizer;  /* its own truncation counts where the file gives no length */
    const ModelConfig *config;   /* the position table */
    const Value *json;           /* config.json, which may say that there is none; NULL: max_position_embeddings
                                  * counts all the same, as sentence-transformers counts it */
    const char **from;           /* (optional) out: who said the limit, for `inspect` */
    int asked;                   /* ModelOpen's max_length; 0: none */
} LimitSource;
bool limit_from_source(const LimitSource *, EncodeOptions *, Err *);
bool limit_from_package(const Value *config, EncodeOptions *,
                        Err *); /* the Rust encoderfile's {padding, truncation} */
/* A caller's wish, 0: none, for what has a limit already: only a lower one counts. */
bool limit_of_caller(EncodeOptions *, int asked, const Tokenizer *, Err *);
Value limit_to_package(Arena *, const EncodeOptions *);               /* the `truncation` of it */

#endif
