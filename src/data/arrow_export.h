/* SPDX-License-Identifier: Apache-2.0
 * arrow_export.h - results by Arrow's C Data Interface, whose structs the public header has: whoever takes them owns
 * them, and calls `release` once on each; children may be taken out and outlive the rest. */
#ifndef DATA_ARROW_EXPORT_H
#define DATA_ARROW_EXPORT_H
#include "data/columns.h"

/* The columns, which are those of `rows`, as one struct array. Everything is copied. */
bool arrow_export(const Field *rows, const Columns *, size_t n, struct ArrowSchema *, struct ArrowArray *, Err *);

#endif
