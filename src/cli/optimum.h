/* SPDX-License-Identifier: Apache-2.0
 * optimum.h - would Optimum's ORTModelForX.from_pretrained(folder) work? A row for each check. */
#ifndef CLI_OPTIMUM_H
#define CLI_OPTIMUM_H
#include "cli/cli.h"

typedef enum { CHECK_OK, CHECK_WARNING, CHECK_FAILED } CheckState;
typedef struct Check {
    const char *name;       /* "config.json" */
    CheckState state;
    const char *detail;     /* what was found, or what is wrong */
} Check;
typedef struct OptimumReport {
    const char *folder;
    Check check[16];
    int n;
    bool compatible;        /* none failed */
    Value missing;          /* names of required files that are not there */
    Value optional;         /* name to whether it is there */
} OptimumReport;

/* False only when there is no such folder; everything else is a finding. load: and run a text. */
bool optimum_check(Arena *, const char *folder, bool load, OptimumReport *, Err *);
void optimum_print(Buf *, const OptimumReport *);
Value optimum_json(Arena *, const OptimumReport *);

#endif
