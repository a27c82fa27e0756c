/* SPDX-License-Identifier: Apache-2.0
 * trace.h - OpenTelemetry: a span for every request and one for each of its stages, sent as
 * OTLP/HTTP (JSON) to a collector, in batches and by a thread of their own. Nobody waits for it:
 * what does not fit, or cannot be sent, is dropped and counted. */
#ifndef SERVER_TRACE_H
#define SERVER_TRACE_H
#include "base/base.h"

typedef struct Tracer Tracer;
struct Exchange;

/* url: "http://host:4318" or https, perhaps with a path other than /v1/traces. */
Tracer *tracer_new(const char *url, Err *);         /* NULL: err */
void tracer_add(Tracer *, const struct Exchange *); /* its reply is sent; NULL tracer: nothing */
void tracer_free(Tracer *);                         /* tries to send the rest first; NULL is fine */

typedef struct TraceParent { /* of the header `traceparent` */
    uint8_t trace[16], span[8];
    bool sampled;
} TraceParent;
bool trace_parent(Str header, TraceParent *); /* false: none, or not well formed */

#endif
