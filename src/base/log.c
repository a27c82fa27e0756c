/* SPDX-License-Identifier: Apache-2.0
 * log.c - lines for operators, all on stderr so that stdout stays data, unless somebody asked for them; and
 * progress. */
#include "log.h"

#include <time.h>
#include <unistd.h>

#include "thread.h"

static ef_level limit = EF_LOG_INFO; /* set before threads start */

void log_limit(ef_level level)
{
    limit = level;
}

/* Set by one thread at a time, read by any: the other slot is written, then this number. No lock, which a child of
 * fork could find taken. */
static struct LogTo {
    LogSink *sink;
    void *own;
} log_slots[2];
static int log_slot;

void log_to(LogSink *sink, void *own)
{
    const int other = !__atomic_load_n(&log_slot, __ATOMIC_ACQUIRE);
    __atomic_store_n(&log_slots[other].own, own, __ATOMIC_RELAXED);
    __atomic_store_n(&log_slots[other].sink, sink, __ATOMIC_RELAXED);
    __atomic_store_n(&log_slot, other, __ATOMIC_RELEASE);
}

/* False: nobody asked for lines. */
static bool log_handed(ef_level level, const char *format, va_list args)
{
    const struct LogTo *to = &log_slots[__atomic_load_n(&log_slot, __ATOMIC_ACQUIRE)];
    LogSink *sink = __atomic_load_n(&to->sink, __ATOMIC_RELAXED);
    char text[4096];
    if (!sink) return false;
    text_print(text, sizeof text, format, args);
    sink(__atomic_load_n(&to->own, __ATOMIC_RELAXED), level, text);
    return true;
}

/* One write a line: lines of threads and of processes do not mix. */
static void log_write_line(const char *prefix, const char *format, va_list args)
{
    char text[4096];
    int n = snprintf(text, sizeof text, "%s", prefix);
    n += text_print(text + n, sizeof text - (size_t)n, format, args);
    n = MIN(n, (int)sizeof text - 2);
    text[n++] = '\n';
    for (ssize_t done = 0, w; done < n; done += w)
        if ((w = write(2, text + done, (size_t)(n - done))) <= 0) return;
}

static void log_format_line(ef_level level, const char *format, va_list args)
{
    static const char *const names[] = { "error", "warn", "info", "debug" };
    char when[32], prefix[64];
    time_t now = time(NULL);
    if (log_handed(level, format, args)) return;
    struct tm utc;
    strftime(when, sizeof when, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &utc));
    snprintf(prefix, sizeof prefix, "%s %s ", when, names[level]);
    log_write_line(prefix, format, args);
}

#define LINE(level, format)                                                                       \
    do {                                                                                          \
        va_list args;                                                                             \
        if ((level) > limit && !log_slots[__atomic_load_n(&log_slot, __ATOMIC_ACQUIRE)].sink)     \
            break;                                                                                \
        va_start(args, format);                                                                   \
        log_format_line(level, format, args);                                                     \
        va_end(args);                                                                             \
    } while (0)

void log_error(const char *format, ...)
{
    LINE(EF_LOG_ERROR, format);
}

void log_warn(const char *format, ...)
{
    LINE(EF_LOG_WARN, format);
}

void log_info(const char *format, ...)
{
    LINE(EF_LOG_INFO, format);
}

void log_debug(const char *format, ...)
{
    LINE(EF_LOG_DEBUG, format);
}

void log_asked(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    log_format_line(EF_LOG_INFO, format, args);
    va_end(args);
}

void log_line(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    if (!log_handed(EF_LOG_INFO, format, args)) log_write_line("", format, args);
    va_end(args);
}

static bool progress_wanted;
static _Thread_local struct ProgressTo {
    ProgressFn *fn;
    void *own;
} progress_to;

void progress_tell(ProgressFn *fn, void *own)
{
    progress_to = (struct ProgressTo){ fn, own };
}

static void progress_hand(Progress *p, uint64_t done)
{
    if (progress_to.fn && !p->stop) p->stop = !progress_to.fn(progress_to.own, p->label, done, p->total);
}

void progress_show(void)
{
    progress_wanted = isatty(2);
}

void progress_start(Progress *p, const char *label, uint64_t total)
{
    *p = (Progress){ .label = label, .started = now_seconds(), .total = total };
    progress_hand(p, 0);
}

/* "1:05 left": minutes and seconds. */
static int put_left(char *out, size_t room, const Progress *p, uint64_t done, double seconds)
{
    if (!done || done >= p->total) return 0;
    const double left = (double)(p->total - done) / ((double)done / seconds);
    return snprintf(out, room, ", %d:%02d left", (int)(left / 60) % 6000, (int)left % 60);
}

static void progress_draw(Progress *p, uint64_t done)
{
    const double now = now_seconds(), seconds = now - p->started;
    if (!progress_wanted || seconds < 0.5 || now - p->drawn < 0.1) return;
    static const char bar[] = "####################";
    const int width = (int)sizeof bar - 1;
    char line[160];
    int n = snprintf(line, sizeof line, "\r%.40s ", p->label);
    p->drawn = now;
    done = p->total ? MIN(done, p->total) : done;
    if (p->total)
        n += snprintf(line + n, sizeof line - (size_t)n, "[%-*.*s] %3d%%, ", width,
                      (int)((double)done / (double)p->total * width), bar, (int)(100 * done / p->total));
    n += snprintf(line + n, sizeof line - (size_t)n, "%.1f MB, %.1f MB/s", (double)done / 1e6,
                  (double)done / 1e6 / seconds);
    n += put_left(line + n, sizeof line - (size_t)n, p, done, seconds);
    fprintf(stderr, "%s\033[K", line);
}

bool progress_at(Progress *p, uint64_t done, Err *err)
{
    progress_hand(p, p->total ? MIN(done, p->total) : done);
    if (p->stop) return fail(err, EF_CANCELLED, "%s: the caller ended it", p->label);
    progress_draw(p, done);
    return true;
}

void progress_end(Progress *p)
{
    if (p->drawn > 0) fprintf(stderr, "\r\033[K");
}
