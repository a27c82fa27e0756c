/* SPDX-License-Identifier: Apache-2.0
 * arrow_import.h - what comes by Arrow's C Data Interface: columns as views, and children that are taken out
 * of their struct. Pointers are trusted, since nobody could check them; numbers are not. */
#ifndef DATA_ARROW_IMPORT_H
#define DATA_ARROW_IMPORT_H
#include "data/arrow.h"

/* The columns of a struct; false: it is none. */
bool arrow_import_struct(const struct ArrowSchema *, Err *);
/* Their types; what is not known is strange. */
void arrow_import_fields(Arena *, const struct ArrowSchema *, ArrowFields *out);
/* A batch of a struct with so many columns: lengths fit, and no row is null. */
bool arrow_import_batch(const struct ArrowArray *, int64_t columns, Err *);
/* Views of a column in the rows of a batch, for arrow_value: its entries are the rows. The field can be read
 * (arrow_can_read). */
bool arrow_import_column(Arena *, const ArrowField *, const struct ArrowArray *batch, int64_t index, ArrowColumn *out,
                         Err *);

/* One struct of children that are taken out of others, which stay to be released. Those of the first `cut` are cut to
 * the rows of the batch that they come from. */
void arrow_join_arrays(struct ArrowArray **from, int64_t n, const struct ArrowArray *batch, int64_t cut,
                       struct ArrowArray *out);

#endif
