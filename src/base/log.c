/* SPDX-License-Identifier: Apache-2.0
 * log.c - lines for operators, all on stderr so that stdout stays data; and one progress line. */
#include "log.h"

#include <time.h>
#include <unistd.h>

#include "thread.h"

static void line(const char *level, const char *format, va_list args)
{
    char text[2048], when[32];
    time_t now = time(NULL);
    struct tm utc;
    strftime(when, sizeof when, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &utc));
    vsnprintf(text, sizeof text, format, args);
    fprintf(stderr, "%s %s %s\n", when, level, text); /* one call: lines of threads do not mix */
}

void log_info(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    line("info", format, args);
    va_end(args);
}

void log_warn(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    line("warn", format, args);
    va_end(args);
}

void progress_start(Progress *p, const char *label, uint64_t total)
{
    *p = (Progress){ .label = label, .started = now_seconds(), .total = total };
}

void progress_at(Progress *p, uint64_t done)
{
    double now = now_seconds();
    if (now - p->started < 0.5 || now - p->drawn < 0.1 || p->total == 0 || !isatty(2)) return;
    p->drawn = now;
    static const char bar[] = "##############################";
    int width = (int)sizeof bar - 1, full = (int)((double)done / (double)p->total * width);
    fprintf(stderr, "\r%s [%-*.*s] %3d%%", p->label, width, full, bar,
            (int)(100 * done / p->total));
}

void progress_end(Progress *p)
{
    if (p->drawn > 0) fprintf(stderr, "\r\033[K");
}
