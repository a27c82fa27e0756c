/* SPDX-License-Identifier: Apache-2.0
 * reports.h - what the library's tools found, as text for people; `--json` prints their own
 * reports. */
#ifndef CLI_REPORTS_H
#define CLI_REPORTS_H
#include "api/quantizing.h"
#include "api/verifying.h"
#include "cli/cli.h"
#include "model/optimum.h"

#define RULE "============================================================\n"

void report_folder(Buf *, const OptimumReport *);
void report_accuracy(Buf *, const Accuracy *); /* a line */
void report_quantized(Buf *, const Quantizing *);
void report_verified(Buf *, const Verifying *);

#endif
