/* SPDX-License-Identifier: Apache-2.0
 * add_config.h - config and tokenizer files beside an .onnx that was exported without them: `add-config` and
 * ef_add_config. The .onnx itself is not touched. */
#ifndef API_ADD_CONFIG_H
#define API_ADD_CONFIG_H
#include "export/export.h"

typedef struct AddConfig {
    const char *onnx, *model; /* model: a folder */
    /* found */
    Export files;             /* target, and file[n_file] */
    double milliseconds;
} AddConfig;

bool add_config_files(Arena *, AddConfig *, Err *); /* add_config_close, whatever it returns */
Value add_config_json(Arena *, const AddConfig *);
void add_config_close(AddConfig *);

#endif
