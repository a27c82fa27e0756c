/* SPDX-License-Identifier: Apache-2.0
 * arrow_import.h - what comes by Arrow's C Data Interface: columns of texts as views, and children that are taken out
 * of their struct. Pointers are trusted, since nobody could check them; numbers are not. */
#ifndef DATA_ARROW_IMPORT_H
#define DATA_ARROW_IMPORT_H
#include "data/arrow.h"

/* The columns of a struct; false: it is none. */
bool arrow_import_struct(const struct ArrowSchema *, Err *);
/* The type of a column of texts; false: it is of another type. */
bool arrow_import_texts(const struct ArrowSchema *, ArrowField *out, Err *);
/* A batch of a struct with so many columns: lengths fit, and no row is null. */
bool arrow_import_batch(const struct ArrowArray *, int64_t columns, Err *);
/* Views of such a column in the rows of a batch, and where these begin: entries from .. from + rows - 1. */
bool arrow_import_column(Arena *, const ArrowField *, const struct ArrowArray *batch, int64_t index, ArrowColumn *out,
                         int64_t *from, Err *);

/* One struct of children that are taken out of others, which stay to be released. Those of the first `cut` are cut to
 * the rows of the batch that they come from. */
void arrow_join_arrays(struct ArrowArray **from, int64_t n, const struct ArrowArray *batch, int64_t cut,
                       struct ArrowArray *out);

#endif
