/* SPDX-License-Identifier: Apache-2.0
 * os_linux.c - what this system does its own way: mappings, our own path, CPUs we may use, time. */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cgroup.h"
#include "file.h"
#include "thread.h"

static bool map_open(int fd, const char *path, Mapping *map, Err *err)
{
    struct stat st;
    if (fstat(fd, &st) != 0) return fail(err, EF_IO, "%s: %s", path, strerror(errno));
    if (S_ISDIR(st.st_mode))
        return fail(err, EF_INVALID_INPUT, "%s: found a folder, wanted a file", path);
    if (!S_ISREG(st.st_mode)) return fail(err, EF_INVALID_INPUT, "%s: not a regular file", path);
    *map = (Mapping){ .p = (const uint8_t *)"", .n = (size_t)st.st_size };
    if (map->n == 0) return true;
    void *p = mmap(NULL, map->n, PROT_READ, MAP_PRIVATE, fd, 0);
    if (p == MAP_FAILED) return fail(err, EF_IO, "%s: cannot be mapped: %s", path, strerror(errno));
    map->p = p;
    return true;
}

bool file_map(const char *path, Mapping *map, Err *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a pipe must not make us wait */
    if (fd < 0)
        return fail(err, errno == ENOENT ? EF_NOT_FOUND : EF_IO, "%s: %s", path, strerror(errno));
    bool ok = map_open(fd, path, map, err);
    close(fd);
    return ok && file_is_here(path, map, err);
}

bool writer_open_memory(FileWriter *w, Err *err)
{
    /* By its number: the C library has a function for it from 2.27 on, and the Python package takes 2.17. */
    *w = (FileWriter){ .fd = (int)syscall(SYS_memfd_create, "encoderfile", 1u /* MFD_CLOEXEC */), .path = "memory" };
    if (w->fd < 0) return fail(err, EF_IO, "memory: cannot be written: %s", strerror(errno));
    writer_guard(w);
    return true;
}

bool writer_map(FileWriter *w, Mapping *map, Err *err)
{
    bool ok = map_open(w->fd, w->path, map, err);
    writer_abort(w);
    return ok;
}

void file_unmap(Mapping *map)
{
    if (map->n) munmap((void *)map->p, map->n);
    *map = (Mapping){ 0 };
}

void file_forget(const void *p, size_t n)
{
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), from = ROUND_UP((uintptr_t)p, page);
    const uintptr_t to = ((uintptr_t)p + n) / page * page;
    if (from < to) madvise((void *)from, to - from, MADV_DONTNEED);
}

void memory_large(void *p, size_t n)
{
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE); /* 4, 16 or 64 KB */
    uintptr_t from = ROUND_UP((uintptr_t)p, page), to = ((uintptr_t)p + n) / page * page;
    if (from < to) madvise((void *)from, to - from, MADV_HUGEPAGE);
}

const char *path_self(Arena *arena, Err *err)
{
    char path[4096];
    ssize_t n = readlink("/proc/self/exe", path, sizeof path);
    if (n > 0 && (size_t)n < sizeof path) return str_dup(arena, (Str){ path, (size_t)n });
    const char *named =
        (const char *)(uintptr_t)getauxval(AT_EXECFN); /* no /proc in an empty chroot */
    if (named) return str_dup(arena, str_of(named));
    fail(err, EF_IO, "this executable cannot be found: neither /proc/self/exe nor AT_EXECFN");
    return NULL;
}

/* A dozen small files, read once in a process: twice would be a tenth of a start. */
static int quota_cpus(void)
{
    static int found = -1; /* two threads that both read find the same */
    int quota = __atomic_load_n(&found, __ATOMIC_RELAXED);
    if (quota < 0) {
        quota = MAX(cgroup_cpus("/proc/self/cgroup", "/sys/fs/cgroup"), 0);
        __atomic_store_n(&found, quota, __ATOMIC_RELAXED);
    }
    return quota;
}

int cpu_count(void)
{
    cpu_set_t set;
    int allowed = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
    int quota = quota_cpus();
    return MAX(quota > 0 ? MIN(allowed, quota) : allowed, 1);
}

double now_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

Str now_utc(Arena *arena)
{
    struct timespec now;
    struct tm utc;
    char text[32];
    clock_gettime(CLOCK_REALTIME, &now);
    strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", gmtime_r(&now.tv_sec, &utc));
    return str_of(str_format(arena, "%s.%03dZ", text, (int)(now.tv_nsec / 1000000)));
}

void cpu_pause(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

/* Linux keeps this per thread, although POSIX says process. */
void thread_lower(int steps)
{
    id_t me = (id_t)syscall(SYS_gettid);
    setpriority(PRIO_PROCESS, me, MIN(getpriority(PRIO_PROCESS, me) + steps, 19));
}

/* Since Linux 6.12 a thread may ask for a shorter time slice; it then preempts others when it
 * wakes. Older kernels ignore it. */
void thread_prompt(void)
{
    enum { TURN_NS = 100000 };
    struct { /* the system's header for it does not go with <sched.h> */
        uint32_t size, policy;
        uint64_t flags;
        int32_t nice;
        uint32_t priority;
        uint64_t runtime, deadline, period;
    } attr;
    if (syscall(SYS_sched_getattr, 0, &attr, sizeof attr, 0) != 0) return;
    if (attr.policy != SCHED_OTHER) return;
    attr.runtime = TURN_NS;
    syscall(SYS_sched_setattr, 0, &attr, 0);
}
