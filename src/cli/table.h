/* SPDX-License-Identifier: Apache-2.0
 * table.h - results as rows and columns, for spreadsheets. */
#ifndef CLI_TABLE_H
#define CLI_TABLE_H
#include "data/value.h"

/* A result whose member is a list of objects (tokens, embeddings) gives a line for each of them,
 * any other one line. Columns: "row" (from 0), then the members as they first appear; an object
 * inside gives "outer.inner", numbers give "name.0", "name.1" and so on. A line of names comes
 * first. */
void table_write(Buf *, const Value *results);

#endif
