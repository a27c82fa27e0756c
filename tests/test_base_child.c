/* SPDX-License-Identifier: Apache-2.0
 * test_base_child.c - programs that are run once: what they get and give, and what becomes of those that are
 * slow, talk too much, want too much memory, crash, or are not there. */
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/child.h"
#include "base/file.h"
#include "base/thread.h"
#include "check.h"
#include "folder.h"

static Arena arena;
static char folder[] = "/tmp/ef_child_XXXXXX";
enum { ROOM = 1 << 16 };

static const char *script(const char *name, const char *text)
{
    Err err = { 0 };
    const char *path = str_format(&arena, "%s/%s", folder, name);
    CHECK(file_write(&arena, path, str_of(str_format(&arena, "#!/bin/sh\n%s\n", text)), &err));
    chmod(path, 0755);
    return path;
}

static bool run_script(const char *text, Str in, double seconds, Str *out, Err *err)
{
    const char *const argv[] = { script("program", text), "one", "a b; exit 9", NULL };
    ChildCall call = { .argv = argv, .in = { { "head ", 5 }, in }, .out = arena_raw(&arena, ROOM), .room = ROOM,
                       .seconds = seconds, .memory = (size_t)64 << 20 };
    size_t n;
    *err = (Err){ 0 };
    bool ok = child_run(&call, &n, err);
    *out = (Str){ call.out, n };
    return ok;
}

static void test_good(void)
{
    TEST("what it gets and gives");
    Str out;
    Err err;
    CHECK(run_script("/bin/cat; echo \"$1 $2 $#\"", STR("tail"), 20, &out, &err) && str_is(out, "head tailone a b; exit 9 2\n"));
    setenv("EF_SECRET", "yes", 1);
    CHECK(run_script("echo \"<$EF_SECRET$HOME>\"", STR(""), 20, &out, &err) && str_is(out, "<>\n"));
    CHECK(run_script("exit 0", STR(""), 20, &out, &err) && out.n == 0);
    int fd = dup2(2, 77); /* without CLOEXEC: it is closed all the same */
    CHECK(run_script("for f in /proc/self/fd/*; do echo ${f##*/}; done | /usr/bin/tr '\\n' ' '", STR(""), 20, &out, &err));
    char *other = str_format(&arena, " %d ", fd), *text = str_dup(&arena, out);
    CHECK(fd > 2 && !strstr(text, other));
    close(fd);
}

/* More than a pipe holds, both ways at once; and input that nobody reads. */
static void test_long_input(void)
{
    TEST("long input");
    Str out;
    Err err;
    Str in = { arena_alloc(&arena, 4 << 20), 4 << 20 };
    memset((char *)in.p, 'x', in.n);
    CHECK(run_script("/usr/bin/wc -c", in, 20, &out, &err) && str_is(out, "4194309\n"));
    CHECK(run_script("echo unread", in, 20, &out, &err) && str_is(out, "unread\n"));
    CHECK(!run_script("/bin/cat", in, 20, &out, &err) && err.code == EF_TOO_LARGE &&
          says(&err, "program: wrote more than 65536 bytes, and was stopped"));
}

static void test_slow(void)
{
    TEST("slow ones");
    static const char *const texts[] = { "exec /bin/sleep 100", "exec >&- 2>&-; exec /bin/sleep 100", "/bin/sleep 100 & wait",
                                         "trap '' TERM INT HUP; while :; do :; done" };
    for (size_t i = 0; i < COUNT(texts); i++) {
        Str out;
        Err err;
        double begin = now_seconds();
        CHECK(!run_script(texts[i], STR(""), 0.2, &out, &err) && err.code == EF_DEADLINE &&
              says(&err, "program: did not end within 0.2 seconds, and was stopped"));
        CHECK(now_seconds() - begin < 20);
    }
}

/* What it started dies with it: the pid that it told is gone. */
static void test_left_behind(void)
{
    TEST("what it leaves behind");
    Str out;
    Err err;
    int64_t pid = 0;
    CHECK(run_script("/bin/sleep 100 >/dev/null 2>&1 <&1 & echo -n $!", STR(""), 20, &out, &err) && str_int(out, &pid) && pid > 1);
    bool gone = false;
    for (int i = 0; i < 400 && !gone; i++) {
        Str state = { 0 };
        Err none;
        bool there = file_read(&arena, str_format(&arena, "/proc/%lld/stat", (long long)pid), 4096, &state, &none);
        gone = !there || memmem(state.p, state.n, ") Z", 3); /* or is to be collected by who took it over */
        usleep(5000);
    }
    CHECK(gone);
}

static void test_bad(void)
{
    TEST("those that fail");
    Str out;
    Err err;
    CHECK(!run_script("echo 'no language data' >&2; echo second >&2; exit 3", STR(""), 20, &out, &err) &&
          err.code == EF_UNAVAILABLE && says(&err, "program: ended with status 3: no language data") && !strstr(err.message, "second"));
    CHECK(!run_script("kill -SEGV $$", STR(""), 20, &out, &err) && says(&err, "program: ended by signal 11"));
    CHECK(!run_script("printf '\\377\\376' >&2; exit 1", STR(""), 20, &out, &err) && utf8_valid(str_of(err.message)));
    CHECK(!run_script("i=0; while [ $i -lt 300 ]; do echo much >&2; i=$((i+1)); done; exit 1", STR(""), 20, &out, &err) &&
          says(&err, "status 1: much"));
    const char *const argv[] = { str_format(&arena, "%s/absent", folder), NULL };
    ChildCall call = { .argv = argv, .out = arena_raw(&arena, 8), .room = 8, .seconds = 5, .memory = (size_t)1 << 30 };
    size_t n;
    if (getenv("EF_EMULATOR")) SKIP("an emulator starts a copy of this program, and that one finds nothing there");
    else CHECK(!child_run(&call, &n, &err) && err.code == EF_NOT_FOUND && says(&err, "absent: cannot be started"));
}

static void test_memory(void)
{
    TEST("one that wants too much memory");
    Str out;
    Err err;
    static const char *const grow = "x=aaaaaaaaaaaaaaaa; while :; do x=$x$x; done";
#ifdef __SANITIZE_ADDRESS__
    (void)out, (void)err, (void)grow; /* it would be this program's own limit */
#else
    if (getenv("EF_EMULATOR")) SKIP("an emulator keeps no limit of address space");
    else CHECK(!run_script(grow, STR(""), 50, &out, &err) && err.code != EF_DEADLINE);
#endif
}

/* A host program may ignore SIGCHLD: then nobody tells how a child ended. */
static void test_untold(void)
{
    TEST("an end that is not told");
    Str out;
    Err err;
    signal(SIGCHLD, SIG_IGN);
    CHECK(run_script("echo well", STR(""), 20, &out, &err) && str_is(out, "well\n"));
    CHECK(!run_script("echo no such language >&2; exit 1", STR(""), 20, &out, &err) && err.code == EF_UNAVAILABLE &&
          says(&err, "no such language"));
    CHECK(!run_script("kill -9 $$", STR(""), 20, &out, &err) && err.code == EF_UNAVAILABLE);
    CHECK(!run_script("/bin/sleep 20", STR(""), 0.2, &out, &err) && err.code == EF_DEADLINE);
    signal(SIGCHLD, SIG_DFL);
}

static void test_find(void)
{
    TEST("where PATH finds it");
    const char *old = str_dup(&arena, str_of(getenv("PATH") ? getenv("PATH") : ""));
    setenv("PATH", str_format(&arena, "/nowhere:.:%s", folder), 1);
    const char *found = child_find(&arena, "program");
    CHECK(found && strcmp(found, str_format(&arena, "%s/program", folder)) == 0);
    CHECK(!child_find(&arena, "absent") && child_is(found) && !child_is(folder));
    unsetenv("PATH");
    CHECK(!child_find(&arena, "program"));
    setenv("PATH", old, 1);
}

int main(void)
{
    if (!CHECK(mkdtemp(folder))) return finish();
    test_good();
    test_long_input();
    test_slow();
    test_left_behind();
    test_bad();
    test_memory();
    test_untold();
    test_find();
    remove_tree(folder);
    arena_free(&arena);
    return finish();
}
