/* SPDX-License-Identifier: Apache-2.0
 * files.h - finding the source, naming the target, copying what belongs to a model. */
#ifndef EXPORT_FILES_H
#define EXPORT_FILES_H
#include "base/file.h"
#include "export/export.h"

bool files_source(Export *, Err *);  /* sets folder */
/* Sets target, onnx, moved. False: a file of the source, or any other, stands where a folder or the
 * .onnx would go. */
bool files_target(Export *, Err *);
const char *files_tokenizer(Export *); /* name of the tokenizer's main file, or NULL */
/* Copies one file of the source if it is there; a file onto itself is left alone. */
bool files_copy(Export *, const char *name, Err *);
/* Config, tokenizer, processors, modules; and a tokenizer.json where the source has its vocabulary
 * in another form. */
bool files_copy_settings(Export *, Err *);
void files_note(Export *, const char *name, uint64_t size); /* it was written */
/* Of the usual files around a model, those that the export did not find; a list of names. */
Value files_missing(Arena *, const Export *);
/* Adds files (name and size), written, copied (names) and bytes to a report. */
void files_report(Arena *, const ExportFile *, size_t n, Value *report);

#endif
