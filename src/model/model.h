/* SPDX-License-Identifier: Apache-2.0
 * model.h - one loaded model, the same whether it came from a folder, an .onnx or a package. It does
 * not change after opening. */
#ifndef MODEL_MODEL_H
#define MODEL_MODEL_H
#include "audio/audio.h"
#include "audio/ctc.h"
#include "engine/engine.h"
#include "image/image.h"
#include "package/package.h"
#include "model/source.h"
#include "task/head.h"
#include "task/task.h"
#include "transform/transform.h"

enum { MODEL_GRAPHS = 2 };

typedef struct Model {
    Arena arena;
    Str name, version;
    const Task *task;
    ModelConfig config;
    Tokenizer *tokenizer;        /* NULL: it reads no texts */
    const Value *tokenizer_settings; /* of the files beside it; NULL: a package that does not say */
    EncodeOptions encode;        /* truncation settings; max_length is the model's limit, */
    const char *limit_from;      /*   said by this file, "options", "graph", "default"; NULL: not known */
    bool flat_types;             /* token_type_ids are fed as zeros, also for pairs */
    bool pad_left;               /* the tokenizer's padding_side: then contexts precede questions */
    const ItemForm *items;       /* what it takes, and how that becomes rows: the task's, or words with */
    const Preparer *preparer;    /*   boxes where the graph reads boxes */
    SpecialBoxes special;        /* of special tokens, where the graph reads boxes */
    const ImageProcessor *image; /* of models that read pictures, which may have no tokenizer; else NULL */
    Str image_text;              /* the object that it was read from; only for a build */
    AudioProcessor *audio;       /* of models that hear; else NULL */
    const Ctc *ctc;              /* of those that transcribe; else NULL */
    Str audio_text;              /* the files that both were read from; only for a build */
    Graph *graph;
    Engine *engine;
    Graph *text_graph;           /* (optional) of models with two towers: a second graph, which reads texts; */
    Engine *second;              /*   rows that it runs have graph = 1 */
    int pad_to, pad_id;          /* its texts are filled up to so many tokens; 0: they are not */
    const char *precision;       /* "fp32", "bf16", "int8" */
    Transform *transform;        /* NULL: none */
    Package package;             /* file.n = 0: not from a package's file */
    OnnxFile *onnx;              /* the .onnx with its weights; NULL: from a package */
    const char *weights;         /* path of the file that it was read from; NULL: from a package */
    const Value *prompts;        /* {name: text to put before texts}; NULL: none */
    Str prompt;                  /* put before texts whose request names no prompt */
    const Value *sentence;       /* files that the .onnx carries: modules_gather; NULL: none */
    Str config_text;             /* config.json as it was, */
    const Value *config_json;    /*   and read */
    Str tokenizer_tables;        /* the tokenizer compiled; only for a build */
    double load_seconds;         /* that opening it took */
    uint64_t load_bytes;         /* of the package, or of the .onnx with its weights */
} Model;

/* path: a folder, an .onnx (its folder gives the rest), a package, or NULL for this very
 * executable. */
bool model_open(const char *path, Model **, Err *);
typedef struct ModelOpen {       /* the caller's wishes, which win over the files; zero: none */
    Str task;                    /* any name of task.h; "auto": guessed where the files do not say.
                                  * A package takes no other than its own */
    const char *tokenizer;       /* its folder or file (tokenizer_files_at) */
    const char *processor;       /* source_processor; a package takes only the tokenizer of it */
    Str pooling, normalize;      /* head_wish */
    Str precision;               /* source_precision; a package takes no other than its own */
    int max_length;              /* tokens of a text; never more than the model takes, or the package says */
} ModelOpen;
bool model_open_with(const char *path, const ModelOpen *, Model **, Err *);
/* A package in memory, which must stay there. */
bool model_open_bytes(Str package, const ModelOpen *, Model **, Err *);
bool model_open_source(const ModelSource *, Model **,
                       Err *); /* validates everything; the dry run is the caller's */
/* The graph alone, with its first output: no task, no tokenizer (`bench` of a lone .onnx). */
bool model_open_bare(const char *onnx_path, Model **, Err *);
bool model_open_bare_in(Str precision, const char *onnx_path, Model **, Err *);
void model_close(Model *);
int model_graphs(const Model *);       /* 1, or 2 */
const Engine *model_engine(const Model *, int graph);
int model_outputs(const Model *, int graph); /* that a row of it has */
InputModel model_input(const Model *); /* for preparers */
bool model_reads_boxes(const Model *);
int model_usual_length(const Model *); /* tokens of a text for timing: 128, or the model's limit */
/* sample_rows.c: rows bring tensors of their own (pictures, sounds); such rows for timing, of samples. */
bool model_brings_tensors(const Model *);
bool model_sample_batch(const Model *, Arena *, int n, Batch *, Err *);
/* Rows of tokens, the same at every call; start: [rows + 1], borrowed. */
Batch model_sample_tokens(const Model *, Arena *, const int32_t *start, int rows);
/* Runs one short text, a small picture or a short sound through everything: "Model inference failed: ..." */
bool model_dry_run(const Model *, Err *);

/* model_tokenizer.c: parts of the above. */
bool model_open_tokenizer(Model *, const ModelSource *, Err *);
bool model_packed_tokenizer(Model *, const Value *facts, const char *other, Err *);
void model_store_boxes(Arena *, const Model *, Value *facts); /* of special tokens: two members */

/* model_image.c: parts of the above. */
bool model_reads_pictures(const Model *);
bool model_reads_texts(const Model *, Err *); /* it has a tokenizer; false with an error */
bool model_json_file(Model *, const char *path, const Value **, Err *); /* NULL: none; parsed */
bool model_open_image(Model *, const ModelSource *, Err *);
bool model_has_patches(const Model *); /* its graph gives the last hidden states */
bool model_packed_image(Model *, Err *);
void model_image_inputs(Model *, const OnnxModel *); /* what of the processor's tensors the graph reads */
/* What it reads: "texts of up to 512 tokens (WordPiece)", "pictures, 224 x 224 (ViTImageProcessor)". */
void model_describe_input(const Model *, Buf *);

/* model_towers.c: of models with two towers, what makes logits of cosines, and how long texts are. */
bool model_open_pairs(Model *, const OnnxModel *, Err *);
void model_store_pairs(const Model *, Value *facts); /* three members */
bool model_packed_pairs(Model *, const Value *facts, Err *);
/* model_audio.c: parts of the above. */
bool model_hears(const Model *);
bool model_open_audio(Model *, const ModelSource *, Err *);
bool model_packed_audio(Model *, Err *);
bool model_audio_fits(Model *, Err *);        /* the tensors of its sounds, and the graph; sets a fixed length */
void model_describe_sounds(const Model *, Buf *);

/* model_head.c: of models that make vectors, the output to take, and config.head. */
bool model_makes_vectors(const Model *);    /* of tokens, or of texts */
bool model_takes_no_wish(const Model *, const HeadWish *, Err *); /* for models without vectors */
bool model_output(Model *, const ModelSource *, const OnnxModel *, Str *output, Err *);
bool model_packed_output(Model *, const Value *facts, const HeadWish *, const OnnxModel *,
                         Str *output, Err *);
/* "pooling: mean (assumed: ...), not normalized, max 512 tokens"; nothing for a model without vectors. */
void model_describe_head(const Model *, Buf *);
void model_log_head(const Model *);         /* the same as a line of the log, */
void model_log_assumed(const Model *);      /* only where the pooling is assumed */
/* "mean", "cls+max", "graph", "script"; NULL: the model makes no vectors. */
const char *model_pooling(const Model *, Arena *);

#endif
