/* SPDX-License-Identifier: Apache-2.0
 * test_api_memory.c - tools of the C API whose system has no memory at one moment, at every moment in
 * turn: each call is done as ever or fails, and leaves no file open and none that is not whole. */
#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/file.h"
#include "check.h"
#include "folder.h"
#include "scarce.h"

#ifdef __SANITIZE_ADDRESS__
/* What an abandoned call had allocated may stay allocated (api/guard_call.h). */
__attribute__((visibility("default"))) const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "detect_leaks=0";
}
#endif

enum { MOST_PLACES = 100000 };
#ifdef __SANITIZE_ADDRESS__
enum { STEP = 5 };
#else
enum { STEP = 1 };
#endif
static char work[] = "/tmp/ef-api-memory-XXXXXX";
static char exported[64], quantized[64];

static char *export_small(ef_error *err)
{
    return ef_export("tests/golden/multiple_choice/bert", exported, NULL, err);
}

static char *quantize_small(ef_error *err)
{
    return ef_quantize(exported, quantized, "{\"no-report\": true}", err);
}

/* Files that are still open to be written, with a name or without one. */
static int count_open(void)
{
    char link[300], to[300];
    int n = 0;
    DIR *dir = opendir("/proc/self/fd");
    for (struct dirent *entry; dir && (entry = readdir(dir));) {
        snprintf(link, sizeof link, "/proc/self/fd/%s", entry->d_name);
        ssize_t length = readlink(link, to, sizeof to - 1);
        to[MAX(length, 0)] = 0;
        bool written = fcntl(atoi(entry->d_name), F_GETFL) & (O_WRONLY | O_RDWR);
        n += written && (str_starts(str_of(to), work) || str_starts(str_of(to), "/memfd:"));
    }
    if (dir) closedir(dir);
    return n;
}

static int count_temporary(const char *folder)
{
    int n = 0;
    DIR *dir = opendir(folder);
    for (struct dirent *entry; dir && (entry = readdir(dir));) n += strstr(entry->d_name, ".tmp.") != NULL;
    if (dir) closedir(dir);
    return n;
}

static void try_everywhere(char *(*call)(ef_error *), const char *folder)
{
    int refusals = 0;
    bool refused = true;
    for (int n = 1; refused && n < MOST_PLACES; n += STEP) {
        ef_error err = { 0 };
        scarce_begin(n, true);
        char *report = call(&err);
        refused = scarce_end();
        bool ok = (report || (refused && strstr(err.message, "memory"))) && count_open() == 0 &&
                  count_temporary(folder) == 0;
        if (!CHECK(ok))
            printf("  at %d: \"%s\", %d open, %d temporary\n", n, err.message, count_open(), count_temporary(folder));
        refusals += refused;
        ef_string_free(report);
    }
    CHECK(!refused && refusals * STEP > 50);
}

int main(void)
{
    if (!CHECK(mkdtemp(work))) return finish();
    snprintf(exported, sizeof exported, "%s/onnx", work);
    snprintf(quantized, sizeof quantized, "%s/int8", work);
    TEST("export without memory");
    try_everywhere(export_small, exported);
    TEST("quantize without memory");
    try_everywhere(quantize_small, quantized);
    remove_tree(work);
    return finish();
}
