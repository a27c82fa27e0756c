/* SPDX-License-Identifier: Apache-2.0
 * child.c - see child.h. The child is spawned in a process group of its own, so that what it starts is
 * killed with it. It gets its limits before it gets any input. Its streams are sockets: a write to one
 * that nobody reads any more is an error here, not a signal. */
#include "base/child.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "base/thread.h"

enum { STREAMS = 3, NOTE_ROOM = 512, WAIT_MS = 5 };

typedef struct ChildRun {
    const ChildCall *call;
    const char *name;            /* for messages */
    pid_t pid;
    int ours[STREAMS];           /* our ends of its stdin, stdout, stderr; -1: closed */
    size_t sent, got, noted;
    char note[NOTE_ROOM];        /* the beginning of its stderr */
    double deadline;
    bool overflow, late;
    bool unknown;                /* how it ended: the process ignores SIGCHLD, or waits for every child itself */
} ChildRun;

/* ---- begin ---- */
static void child_close(ChildRun *c, int stream)
{
    if (c->ours[stream] >= 0) close(c->ours[stream]);
    c->ours[stream] = -1;
}

static void close_pairs(int pair[STREAMS][2])
{
    for (int i = 0; i < STREAMS; i++)
        for (int k = 0; k < 2; k++)
            if (pair[i][k] >= 0) close(pair[i][k]);
}

static bool open_pairs(int pair[STREAMS][2], Err *err)
{
    memset(pair, -1, sizeof(int[STREAMS][2]));
    for (int i = 0; i < STREAMS; i++)
        if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair[i]) != 0) {
            fail(err, EF_UNAVAILABLE, "no stream can be opened: %s", strerror(errno));
            return close_pairs(pair), false;
        }
    return true;
}

/* Signals as a new program expects them, whatever the caller's threads block or ignore. */
static void default_signals(posix_spawnattr_t *how)
{
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_init(how);
    posix_spawnattr_setflags(how, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    posix_spawnattr_setpgroup(how, 0);
    posix_spawnattr_setsigmask(how, &none);
    posix_spawnattr_setsigdefault(how, &all);
}

/* All but the streams. The C library has one call for it from 2.34 on, and the Python package is compiled for
 * 2.17. What another thread opens in the meantime is closed by its own flag. */
static void close_others(posix_spawn_file_actions_t *files)
{
    DIR *open_ones = opendir("/proc/self/fd");
    for (const struct dirent *one; open_ones && (one = readdir(open_ones));)
        if (atoi(one->d_name) >= STREAMS) posix_spawn_file_actions_addclose(files, atoi(one->d_name));
    if (open_ones) closedir(open_ones);
}

static int spawn_child(ChildRun *c, int pair[STREAMS][2])
{
    static char *const no_environment[] = { NULL };
    posix_spawn_file_actions_t files;
    posix_spawnattr_t how;
    default_signals(&how);
    posix_spawn_file_actions_init(&files);
    for (int i = 0; i < STREAMS; i++) posix_spawn_file_actions_adddup2(&files, pair[i][1], i);
    close_others(&files);
    int failed = posix_spawn(&c->pid, c->call->argv[0], &files, &how, (char *const *)c->call->argv,
                             no_environment);
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&how);
    return failed;
}

static void limit_child(const ChildRun *c)
{
    const rlim_t seconds = (rlim_t)c->call->seconds + 1, bytes = c->call->memory;
    const struct { int what; rlim_t most; } limits[] = {
        { RLIMIT_AS, bytes }, { RLIMIT_CPU, seconds * 16 }, { RLIMIT_CORE, 0 }, { RLIMIT_FSIZE, 0 },
    };
    for (size_t i = 0; i < COUNT(limits); i++)
        prlimit(c->pid, (__rlimit_resource_t)limits[i].what,
                &(struct rlimit){ limits[i].most, limits[i].most }, NULL);
}

static bool child_begin(ChildRun *c, Err *err)
{
    int pair[STREAMS][2];
    if (!open_pairs(pair, err)) return false;
    int failed = spawn_child(c, pair);
    for (int i = 0; i < STREAMS; i++) {
        c->ours[i] = failed ? -1 : pair[i][0];
        if (!failed) fcntl(c->ours[i], F_SETFL, O_NONBLOCK), pair[i][0] = -1;
    }
    close_pairs(pair);
    if (failed)
        return fail(err, failed == ENOENT ? EF_NOT_FOUND : EF_UNAVAILABLE, "%s: cannot be started: %s",
                    c->name, strerror(failed));
    limit_child(c);
    return true;
}

/* ---- bytes ---- */
static void child_send(ChildRun *c)
{
    const Str *in = c->call->in;
    bool first = c->sent < in[0].n;
    const Str part = first ? in[0] : in[1];
    size_t at = first ? c->sent : c->sent - in[0].n;
    ssize_t n = at < part.n ? send(c->ours[0], part.p + at, part.n - at, MSG_NOSIGNAL) : 0;
    if (n > 0) c->sent += (size_t)n;
    bool broken = n < 0 && errno != EAGAIN && errno != EINTR; /* it does not read all: that is its business */
    if (broken || c->sent == in[0].n + in[1].n) child_close(c, 0);
}

/* Bytes beyond the room are read, too, and lost: then *over. */
static void child_read(ChildRun *c, int stream, char *to, size_t room, size_t *n, bool *over)
{
    char lost[512];
    bool full = *n == room;
    ssize_t got = read(c->ours[stream], full ? lost : to + *n, full ? sizeof lost : room - *n);
    if (got > 0 && full) *over = true;
    else if (got > 0) *n += (size_t)got;
    if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR)) child_close(c, stream);
}

static int left_ms(const ChildRun *c)
{
    double left = c->deadline - now_seconds();
    return left > 0 ? (int)(left * 1000) + 1 : 0;
}

static void child_talk(ChildRun *c)
{
    bool ignored;
    while (!c->overflow && (c->ours[1] >= 0 || c->ours[2] >= 0)) {
        struct pollfd p[STREAMS] = { { c->ours[0], POLLOUT, 0 }, { c->ours[1], POLLIN, 0 },
                                     { c->ours[2], POLLIN, 0 } };
        int ready = poll(p, STREAMS, left_ms(c));
        if (ready == 0 && left_ms(c) == 0) {
            c->late = true;
            return;
        }
        if (p[0].revents) child_send(c);
        if (p[1].revents) child_read(c, 1, c->call->out, c->call->room, &c->got, &c->overflow);
        if (p[2].revents) child_read(c, 2, c->note, sizeof c->note, &c->noted, &ignored);
    }
}

/* ---- end ---- */
static int child_end(ChildRun *c)
{
    int status = 0;
    pid_t gone;
    while ((gone = waitpid(c->pid, &status, WNOHANG)) == 0 && !c->late && !c->overflow) {
        if (left_ms(c) == 0) c->late = true;
        else poll(NULL, 0, WAIT_MS);
    }
    kill(-c->pid, SIGKILL); /* what it left behind */
    while (gone == 0 && waitpid(c->pid, &status, 0) < 0 && errno == EINTR) continue;
    c->unknown = gone < 0;
    for (int i = 0; i < STREAMS; i++) child_close(c, i);
    return status;
}

static Str first_line(const ChildRun *c)
{
    Str line = { c->note, 0 };
    while (line.n < c->noted && line.n < 160 && (unsigned char)line.p[line.n] >= ' ') line.n++;
    if (!utf8_valid(line)) line.n = 0;
    return line;
}

static bool child_judge(const ChildRun *c, int status, Err *err)
{
    Str said = first_line(c);
    const char *colon = said.n ? ": " : "";
    if (c->overflow)
        return fail(err, EF_TOO_LARGE, "%s: wrote more than %zu bytes, and was stopped", c->name,
                    c->call->room);
    if (c->late)
        return fail(err, EF_DEADLINE, "%s: did not end within %.3g seconds, and was stopped", c->name,
                    c->call->seconds);
    if (WIFSIGNALED(status))
        return fail(err, EF_UNAVAILABLE, "%s: ended by signal %d%s%.*s", c->name, WTERMSIG(status), colon,
                    STR_ARG(said));
    if (WEXITSTATUS(status))
        return fail(err, EF_UNAVAILABLE, "%s: ended with status %d%s%.*s", c->name, WEXITSTATUS(status),
                    colon, STR_ARG(said));
    if (c->unknown && !c->got) /* what it wrote is all that tells */
        return fail(err, EF_UNAVAILABLE, "%s: ended without a word, and this process (SIGCHLD) is not told how%s%.*s",
                    c->name, colon, STR_ARG(said));
    return true;
}

bool child_run(const ChildCall *call, size_t *n, Err *err)
{
    ChildRun c = { .call = call, .name = path_name(call->argv[0]).p, .ours = { -1, -1, -1 },
                .deadline = now_seconds() + call->seconds };
    *n = 0;
    if (!child_begin(&c, err)) return false;
    child_talk(&c);
    if (!child_judge(&c, child_end(&c), err)) return false;
    *n = c.got;
    return true;
}

bool child_is(const char *path)
{
    return access(path, X_OK) == 0 && !dir_is(path);
}

const char *child_find(Arena *arena, const char *name)
{
    const char *at = getenv("PATH");
    for (size_t n; at; at = at[n] ? at + n + 1 : NULL) {
        n = strcspn(at, ":");
        if (at[0] != '/') continue; /* a relative one would depend on where we are */
        const char *path = str_format(arena, "%.*s/%s", (int)n, at, name);
        if (child_is(path)) return path;
    }
    return NULL;
}
