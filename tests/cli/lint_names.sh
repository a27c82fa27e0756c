#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# lint_names.sh - the check of names, on small files: a static function that too many files define, a type that two folders
# define, and what must not be taken for either. usage: tests/cli/lint_names.sh [PROGRAM]
. "$(dirname -- "$0")/lib.sh" || exit 1

mkdir -p src/base src/task src/odd
names() { awk -v clean="base task" -f "$ROOT/tools/lint/strip.awk" -f "$ROOT/tools/lint/names.awk" $(find src -name '*.[ch]' | sort); }
# file PATH TEXT
file() { printf '%s\n' "$2" >"src/$1"; }

for i in 1 2 3; do file base/$i.c 'static bool run(int n)
{
    return n > 1;
}'; done
works "three files may share a name" names
has "one name" "1 static names, 0 shared"
file task/4.c '/* static void run(void) { } */
static const int run_rows[] = { 1 };
static int run(int);
void use(void) { const char *s = "static void run(void) {"; }'
works "a comment, an array, a declaration and a string define nothing" names
file task/4.c 'static int run(const char *name,
               size_t n)
{
    return (int)n;
}'
fails "a fourth file" "FAILED: run is a static function of 4 files, wanted at most 3:.* src/task/4.c" names
has "is counted" "0 passed, 1 failed"
mv src/task/4.c src/odd/4.c && mv src/base/1.c src/base/2.c src/base/3.c src/odd/
works "folders that are not on the list are counted only" names
has "as shared" "1 static names, 1 shared"

file base/a.h 'typedef struct Step {
    int n;
} Step;'
works "a type of one folder" names
file base/b.h 'typedef struct Step { int n; } Step;'
works "twice in one folder" names
file task/a.h 'typedef struct { int m; } Step;'
fails "a type of two folders" "FAILED: Step is a type of 2 folders, wanted one: src/base/a.h src/task/a.h" names
finish
