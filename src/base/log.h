/* SPDX-License-Identifier: Apache-2.0
 * log.h - lines for operators on stderr, and the progress bar. Nothing below cli prints otherwise. */
#ifndef BASE_LOG_H
#define BASE_LOG_H
#include "base.h"

typedef enum { LOG_ERROR, LOG_WARN, LOG_INFO, LOG_DEBUG } LogLevel;
void log_limit(LogLevel);                            /* what says less is kept quiet; LOG_INFO */
void log_error(const char *, ...) PRINTF(1, 2);
void log_warn(const char *, ...) PRINTF(1, 2);
void log_info(const char *, ...) PRINTF(1, 2);
void log_debug(const char *, ...) PRINTF(1, 2);
void log_asked(const char *, ...) PRINTF(1, 2);      /* as log_info, whatever the limit */
void log_line(const char *, ...) PRINTF(1, 2);       /* without time and level, always */

/* One line on a terminal, nothing elsewhere; shown only once the work takes over half a second: how
 * much of the bytes is through, how fast, and the time that is left. */
typedef struct Progress {
    const char *label;
    double started, drawn;
    uint64_t total;                                  /* bytes; 0: not known */
} Progress;
void progress_show(void);                            /* for a program; a library stays quiet */
void progress_start(Progress *, const char *label, uint64_t total);
void progress_at(Progress *, uint64_t done);
void progress_end(Progress *);

#endif
