/* SPDX-License-Identifier: Apache-2.0
 * build.h - from a model, by flags or a YAML file (or five environment variables), to a package.
 * Everything is validated before the first byte is written; nothing here prints. */
#ifndef API_BUILD_H
#define API_BUILD_H
#include "api/accuracy.h"
#include "export/export.h"

typedef struct BuildConfig {
    ModelSource source;          /* files are filled in by build_run when `folder` is given */
    ModelOpen open;              /* flags: a task over the YAML's, a tokenizer over the model's */
    const char *yaml;            /* what was read; NULL: none, and name and task are derived */
    const char *folder;          /* YAML `path` as a string: a folder, or an .onnx that has all */
    const char *output_path;     /* wins over output_dir */
    const char *output_dir;      /* NULL: the current folder */
    const char *base_binary;     /* NULL: this very program, */
    bool own_program;            /*   which the command is; a library's caller is some other one */
    const char *target;          /* NULL: this machine */
    const char *cache_dir;       /* accepted: nothing is downloaded or cached */
    bool validate_only;          /* `build: false`, --no-build */
    const char *script_path;     /* YAML `transform: {path: ...}`; NULL: source.script as it is */
    const char *libs;            /* of `lua_libs`, one a line; NULL: not said */
    int max_length, stride;      /* of `tokenizer`; 0: not said */
    const char *truncation_side, *truncation_strategy, *pad_strategy; /* the same; NULL: not said */
    bool trust_script;           /* `validate_transform: false`: no dry run of it */
    const char *calibrate;       /* texts to compare a lower precision on; NULL: a few of ours */
    bool no_report;              /* do not compare */
} BuildConfig;

extern const Option build_options[]; /* a flag and by its `key` the YAML: fields of BuildConfig */

bool build_is_yaml(const char *path); /* by its name */
bool build_read(Arena *, const char *yaml_path, BuildConfig *, Err *);
bool build_read_text(Arena *, const char *yaml_path, Str text, BuildConfig *, Err *); /* of that file */
/* The settings as YAML that builds the same again; paths that are read are written absolute. */
void build_write(Arena *, const BuildConfig *, const Model *, Buf *);
/* MODEL_WEIGHTS_PATH, TOKENIZER_PATH, MODEL_CONFIG_PATH, MODEL_TYPE, MODEL_NAME. */
bool build_from_environment(Arena *, BuildConfig *, Err *);

typedef struct BuildReport {
    Model *model; /* open, for whoever wants to tell about it; the caller closes it */
    const char *program;         /* what stands in front, */
    const Target *target;        /* and what it runs on */
    const char *path;            /* what was written; NULL: nothing */
    uint64_t size;
    double seconds;              /* without the comparison */
    ExportFile file[8];          /* what it was made of; the package itself is not among them */
    size_t n_file;
    Value missing;               /* names of files that could have been there */
    const char *others;          /* weights that were not taken, with commas; NULL: none */
    Accuracy accuracy;           /* of a precision that was asked for, against the files' own */
    bool measured;
    Err unmeasured;              /* why not, where it was tried; the package is written */
} BuildReport;
/* Relative paths count from the current folder; build_read has looked beside the YAML. */
bool build_run(Arena *, const BuildConfig *, BuildReport *, Err *);

/* What the rows' fields mean for the source (build_config.c). */
bool build_settings(Arena *, const BuildConfig *, ModelSource *, Err *);

Value build_json(Arena *, const BuildReport *);

/* What stands in a package of this model. Parts live in the arena and in the model. */
void build_pack(Arena *, const Model *, Package *);
Value build_model_config(Arena *, const Model *); /* the eight fields that the Rust encoderfile keeps */

#endif
