/* SPDX-License-Identifier: Apache-2.0
 * log.h - lines for operators, on stderr or to who asked for them, and how far long work is. Nothing below cli
 * prints otherwise. */
#ifndef BASE_LOG_H
#define BASE_LOG_H
#include "base.h"

void log_limit(ef_level);                            /* what says less is kept quiet; EF_LOG_INFO */
void log_error(const char *, ...) PRINTF(1, 2);
void log_warn(const char *, ...) PRINTF(1, 2);
void log_info(const char *, ...) PRINTF(1, 2);
void log_debug(const char *, ...) PRINTF(1, 2);
void log_asked(const char *, ...) PRINTF(1, 2);      /* as log_info, whatever the limit */
void log_line(const char *, ...) PRINTF(1, 2);       /* without time and level, always */
/* Lines of every level go there instead, without time and level; NULL: stderr again. On any thread. */
typedef void LogSink(void *own, ef_level, const char *text);
void log_to(LogSink *, void *own);

/* Who wants to know how far the calls of this thread are; false: the call is to end. NULL: nobody. */
typedef bool ProgressFn(void *own, const char *stage, uint64_t done, uint64_t total);
void progress_tell(ProgressFn *, void *own);
/* In a program also one line on a terminal, nothing elsewhere; shown only once the work takes over half a second:
 * how much of the bytes is through, how fast, and the time that is left. */
typedef struct Progress {
    const char *label;
    double started, drawn;
    uint64_t total;                                  /* bytes; 0: not known */
    bool stop;                                       /* who was told wants it to end */
} Progress;
void progress_show(void);                            /* for a program; a library stays quiet */
void progress_start(Progress *, const char *label, uint64_t total);
bool progress_at(Progress *, uint64_t done, Err *);  /* false: EF_CANCELLED */
void progress_end(Progress *);

#endif
