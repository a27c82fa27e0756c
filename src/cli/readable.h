/* SPDX-License-Identifier: Apache-2.0
 * readable.h - a reply as a few lines for people: what `infer` prints on a terminal. */
#ifndef CLI_READABLE_H
#define CLI_READABLE_H
#include "dialect/job.h"

void readable_write(Buf *, const Model *, const Job *); /* of a job that is done */

#endif
