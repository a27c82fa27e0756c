/* SPDX-License-Identifier: Apache-2.0
 * arrow_export.h - results by Arrow's C Data Interface, whose structs the public header has: whoever takes them owns
 * them, and calls `release` once on each; children may be taken out and outlive the rest. */
#ifndef DATA_ARROW_EXPORT_H
#define DATA_ARROW_EXPORT_H
#include "data/columns.h"

/* The columns, which are those of `rows`, as one struct array. Everything is copied. */
bool arrow_export(const Field *rows, const Columns *, struct ArrowSchema *, struct ArrowArray *, Err *);

/* The same, chunk after chunk. */
typedef struct ArrowExport ArrowExport;
ArrowExport *arrow_export_new(const Field *rows);
bool arrow_export_add(ArrowExport *, const Columns *, Err *);        /* as arrow_build_add */
void arrow_export_schema(const ArrowExport *, struct ArrowSchema *); /* outlives it */
void arrow_export_array(ArrowExport *, struct ArrowArray *);         /* takes it over */
void arrow_export_drop(ArrowExport *);                               /* or that; NULL is fine */

/* The schema of a struct with these n columns, copied: what DuckDB 1 hands out for a column dies with the schema around
 * it, although Arrow says that it may be taken out. */
void arrow_export_copies(struct ArrowSchema *const *column, int64_t n, struct ArrowSchema *);

#endif
