/* SPDX-License-Identifier: Apache-2.0
 * export.h - a model folder (safetensors, config.json, tokenizer) to an ONNX folder that ONNX
 * Runtime, Optimum and our own engine load. It needs nothing but this program, reads weights of
 * .bin files without running their pickles, and downloads nothing.
 *
 *     Export e = { .model = "bert-base-uncased", .output = "out", .opset = 18 };
 *     ok = export_open(&e, err) && export_build(&e, err) && export_write(&e, err) &&
 *          export_copy(&e, err) && export_labels(&e, err);
 *     export_close(&e);
 *
 * The caller may print progress between steps; a file is written completely or not at all. */
#ifndef EXPORT_EXPORT_H
#define EXPORT_EXPORT_H
#include "base/file.h"
#include "export/hf_metadata.h"

typedef struct ExportFile {
    const char *name;       /* below the output folder */
    uint64_t size;
    enum { FILE_WRITTEN, FILE_COPIED, FILE_READ } how;
} ExportFile;
typedef struct ExportWork ExportWork;
/* Of the report: the first is through after export_open, two more after export_build, one after
 * export_write, the last two after export_copy. */
typedef enum {
    STEP_PREPARE, STEP_INPUTS, STEP_HIERARCHY, STEP_ONNX, STEP_TAGGING, STEP_INJECTION, HTP_STEPS
} HtpStep;

typedef struct Export {
    /* asked for */
    const char *model;      /* a folder, or its weights */
    const char *output;     /* a folder; with no_config the .onnx itself */
    const char *task;       /* NULL, "auto": by config.json's architectures */
    int opset;              /* 14 to 21 */
    const char *dtype;      /* of matrices in the file: NULL, "fp32", "fp16", "bf16" */
    int64_t batch, length;  /* fixed shapes of the inputs; 0: any */
    int optimize;           /* 2: ONNX Runtime's own operators; 3: GELU by its tanh form too */
    const char *class_names; /* of tags: NULL, "transformers-5", "transformers-4" */
    bool torch_modules;     /* norms and tables are levels of a tag too */
    bool clean;             /* no hierarchy tags in the file */
    bool report;            /* <stem>_htp_export_report.md too */
    bool no_config;         /* the .onnx alone */
    const char *tokenizer_from; /* a folder or a vocabulary, instead of the source's; or NULL */
    bool no_tokenizer;      /* its files are not copied */
    bool no_metadata;       /* no hf_* metadata in the file */
    HfTokenizer include_tokenizer; /* tokenizer.json and the like in the metadata */
    uint64_t most_inside;   /* bytes of weights beyond which they go to <name>_data; 0: 2 GiB */
    /* found */
    const char *folder;     /* where the source is */
    const char *encoder;    /* the same, but for old sentence-transformers folders */
    const char *weights;    /* the checkpoint's file, or its index; NULL: none there */
    const char *target;     /* folder that is written to */
    const char *onnx;       /* path of the .onnx */
    const char *sidecar;    /* file name of the modules and tags as JSON */
    bool moved;             /* output named an .onnx, and a folder was made of it */
    const char *model_type, *class_name, *task_name;
    const char *tokenizer;  /* its file, or NULL: none there */
    bool pictures;          /* a model of pictures alone, which needs none */
    bool tokenizer_inside;  /* the .onnx holds it, and runs alone */
    int nodes, tagged, layers;
    uint64_t parameters;
    ExportFile file[64];    /* what was written or copied, by name */
    int n_file;
    /* kept */
    Arena arena;
    ExportWork *work;
} Export;

bool export_open(Export *, Err *);   /* config, weights, task: everything that can be wrong */
bool export_build(Export *, Err *);  /* the graph */
bool export_write(Export *, Err *);  /* model.onnx */
/* Instead of a file: the same bytes in memory. Nothing is written, and `output` is not used. */
bool export_map(Export *, Mapping *, Err *);
bool export_copy(Export *, Err *);   /* config, tokenizer, export_metadata.json, the sidecar */
bool export_labels(Export *, Err *); /* label2id.json, id2label.json */
bool export_graphml(Export *, Err *); /* <stem>_hierarchical_graph.graphml and .onnxdata */
void export_show(const Export *, HtpStep, Buf *); /* a step that is through, for people */
void export_close(Export *);

#endif
