/* SPDX-License-Identifier: Apache-2.0
 * modules.h - modules.json of a sentence-transformers folder: an encoder and what follows it. The
 * exporter writes it as operators (sentence.c); a session applies it to the encoder's rows. */
#ifndef EXPORT_MODULES_H
#define EXPORT_MODULES_H
#include "base/file.h"
#include "onnx/onnx.h"
#include "task/head.h"

enum { MODULES_MOST = HEAD_STEPS };
typedef enum {
    MODULE_ENCODER, MODULE_POOLING, MODULE_DENSE, MODULE_NORMALIZE, MODULE_DROPOUT, MODULE_KINDS
} ModuleKind;
typedef struct SentenceModule {
    ModuleKind kind;
    const char *folder;          /* of its config.json and weights; NULL: see ModulesAt */
    Str path;                    /* the same below the root; empty: the root */
    bool way[POOL_WAYS];         /* of pooling */
    bool without_prompt;
    Act act;                 /* of a dense layer */
} SentenceModule;
typedef struct ModulesAt {       /* where the files are: */
    const char *folder;          /* in a folder, or, where that is NULL, in the metadata of an .onnx: */
    const Value *inside;         /* what modules_gather gave; weights of dense layers are the graph's */
    const OnnxModel *onnx;
} ModulesAt;
typedef struct Modules {
    ModulesAt at;
    SentenceModule row[MODULES_MOST];
    int n;
    const char *encoder;         /* the folder that config.json and the encoder's weights are in */
} Modules;

/* Whether modules.json is there and has a Pooling: other lists (sparse, late interaction) do not
 * give one vector per text. One that cannot be read counts as there, so that reading it gives
 * the error. *encoder: the folder of the first module. */
bool modules_pool(Arena *, const char *folder, const char **encoder);
/* False: modules.json has a module that nothing here can run (StaticEmbedding, Router). True also where there is no
 * such file, or none that can be read. */
bool modules_known(Arena *, const char *folder, Err *);
/* Whether modules.json is that of a cross encoder or a sparse one, which have a head of config.json's. */
bool modules_other_task(Arena *, const char *folder);
bool modules_read(Arena *, const ModulesAt *, Modules *, Err *);
/* {"modules.json": [...], "1_Pooling/config.json": {...}, ...}: all but weights, for a file that is
 * to be enough by itself. V_NULL: there is no modules.json, or it cannot be read. */
Value modules_gather(Arena *, const char *folder);
const char *module_kind_name(ModuleKind);
const char *modules_settings(Arena *, const char *encoder); /* sentence_bert_config.json or its like */
/* Pooling and what follows, with the weights of dense layers. */
bool modules_head(Arena *, const Modules *, VectorHead **, Err *);

#endif
