/* SPDX-License-Identifier: Apache-2.0
 * telling.c - who hears of log lines, and of how far a call is. */
#include "base/log.h"

void ef_set_log(void (*line)(void *own, ef_level, const char *text), void *own)
{
    log_to(line, own);
}

void ef_set_progress(ef_progress progress, void *own)
{
    progress_tell(progress, own);
}
