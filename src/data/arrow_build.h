/* SPDX-License-Identifier: Apache-2.0
 * arrow_build.h - results in Arrow's layout: the columns of columns.h, chunk after chunk, become one batch.
 *
 * Fields of a schema: text utf8, bytes binary, whole numbers int32 (F_U64: int64), floats as they are, a list
 * list<item>, an object struct, a map of strings list<struct<key, value>>. Every column may be null, entries of
 * lists may not, and members of objects only where the schema does not require them. */
#ifndef DATA_ARROW_BUILD_H
#define DATA_ARROW_BUILD_H
#include "data/arrow.h"
#include "data/columns.h"

typedef struct ArrowVectors { /* how lists of floats that are a column are told */
    int64_t fixed;           /* every `embedding` has so many: fixed_size_list; 0: list */
    bool half;               /* float16 */
} ArrowVectors;
/* [rows] */
void arrow_fields_of(Arena *, const Field *rows, ArrowVectors, ArrowField *out);

typedef struct ArrowBuild ArrowBuild;
/* fields: [n], of arrow_fields_of; borrowed. */
ArrowBuild *arrow_build_new(Arena *, const ArrowField *fields, int n);
/* Adds a row for each entry; columns are those of the same schema. False: a list is longer than 2 GiB, or has
 * another length than all must have. */
bool arrow_build_add(ArrowBuild *, const Columns *, Err *);
int64_t arrow_build_rows(const ArrowBuild *);
void arrow_build_columns(const ArrowBuild *, Arena *, ArrowColumn *out); /* [n]: views until the next call */
void arrow_build_clear(ArrowBuild *);  /* no rows; memory is kept, but not much more than the last batch took */
void arrow_build_free(ArrowBuild *);

#endif
