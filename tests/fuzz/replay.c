/* SPDX-License-Identifier: Apache-2.0
 * replay.c - main() for a fuzz target without libFuzzer: runs it over the files and folders named
 * on the command line. A finding crashes, as it would under the fuzzer; REPLAY_VERBOSE=1 prints
 * each file's name first. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int passed, failed;

static void replay_file(const char *path)
{
    if (getenv("REPLAY_VERBOSE")) fprintf(stderr, "%s\n", path);
    FILE *f = fopen(path, "rb");
    if (!f) {
        failed++;
        printf("  FAILED: %s: cannot be opened\n", path);
        return;
    }
    Buf b = { 0 };
    char block[4096];
    for (size_t n; (n = fread(block, 1, sizeof block, f)) > 0;) buf_add(&b, block, n);
    fclose(f);
    uint8_t *exact = malloc(b.n ? b.n : 1); /* no byte more, so that a sanitizer sees an overrun */
    if (!exact) abort();
    if (b.n) memcpy(exact, b.p, b.n);
    LLVMFuzzerTestOneInput(exact, b.n);
    passed++;
    free(exact);
    buf_free(&b);
}

static void replay(const char *path)
{
    DIR *folder = opendir(path);
    if (!folder) return replay_file(path);
    for (struct dirent *entry; (entry = readdir(folder));) {
        if (entry->d_name[0] == '.') continue;
        Arena arena = { 0 };
        replay(str_format(&arena, "%s/%s", path, entry->d_name));
        arena_free(&arena);
    }
    closedir(folder);
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) replay(argv[i]);
    printf("%d passed, %d failed, 0 skipped\n", passed, failed);
    return failed ? 1 : 0;
}
