/* SPDX-License-Identifier: Apache-2.0
 * table.h - results as rows and columns, for spreadsheets. */
#ifndef DATA_TABLE_H
#define DATA_TABLE_H
#include "data/value.h"

/* Results whose schema has a list of objects (tokens, embeddings) give a line for each of these,
 * others one line each. Columns: "row" (from 0), then the fields in the order of the schema; an
 * object inside gives "outer.inner", a list of numbers "name.0", "name.1" and so on, any other list
 * is one cell of JSON. A line of names comes first. */
void table_write(Buf *, const Field *rows, const Value *results);

#endif
