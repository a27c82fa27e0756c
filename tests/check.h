/* SPDX-License-Identifier: Apache-2.0
 * check.h - the whole test harness: CHECK counts, a TEST names a group, finish() prints the line that
 * ./dev test adds up: "N passed, N failed, N skipped". */
#ifndef CHECK_H
#define CHECK_H
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"

static int checks_passed, checks_failed, checks_skipped;
static const char *check_group = "";

#define TEST(name) (check_group = (name))
#define CHECK(condition) check_one((condition), #condition, __FILE__, __LINE__)
#define SKIP(why) (checks_skipped++, printf("  skipped: %s: %s\n", check_group, (why)))

static inline bool check_one(bool ok, const char *what, const char *file, int line)
{
    if (ok) return checks_passed++, true;
    checks_failed++;
    printf("  FAILED: %s:%d: %s: %s\n", file, line, check_group, what);
    return false;
}

/* What an error must say: used as CHECK(says(&err, "wanted 3")). */
static inline bool says(const Err *err, const char *words)
{
    if (strstr(err->message, words)) return true;
    printf("  message was: %s\n", err->message);
    return false;
}

/* A package's program, for ef_build: the test itself, which has the library in it. */
#define OWN_PROGRAM "{\"base-binary-path\": \"/proc/self/exe\"}"

/* Of a tool: it worked. */
static inline bool went_well(char *report)
{
    bool ok = report != NULL;
    ef_string_free(report);
    return ok;
}

static inline int finish(void)
{
    printf("%d passed, %d failed, %d skipped\n", checks_passed, checks_failed, checks_skipped);
    return checks_failed ? 1 : 0;
}
#endif
