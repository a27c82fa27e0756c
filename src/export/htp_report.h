/* SPDX-License-Identifier: Apache-2.0
 * htp_report.h - what an export says about itself: <stem>_htp_metadata.json, for tools that do not
 * read ONNX and for files whose tags were left out; <stem>_htp_export_report.md and the verbose
 * console, for people. Times are measured, lists are never cut (but the console's). */
#ifndef EXPORT_HTP_REPORT_H
#define EXPORT_HTP_REPORT_H
#include "export/export.h"
#include "export/htp.h"

typedef struct HtpRun {       /* one export */
    const Export *e;
    const Htp *htp;
    Str started;              /* UTC, ISO 8601 */
    double seconds;           /* so far */
    uint64_t onnx_size;
    int total_modules;        /* those of torch.nn too, but for Dropout */
    Str done[HTP_STEPS];      /* when each step was through */
    double took[HTP_STEPS];   /* seconds; 0: too short to measure */
    const char *report;       /* file name; NULL: none is written */
} HtpRun;

/* The sidecar; keys and their order are those of the Python exporter's <stem>_htp_metadata.json. */
Value htp_sidecar(const HtpRun *);
void htp_markdown(Buf *, const HtpRun *);
void htp_console(Buf *, const HtpRun *, HtpStep); /* of one step, when it is through */

/* "4385920" to "4,385,920"; "4.4M". */
const char *htp_thousands(Arena *, uint64_t);
const char *htp_short(Arena *, uint64_t);

#endif
