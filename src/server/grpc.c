/* SPDX-License-Identifier: Apache-2.0
 * grpc.c - what gRPC puts around messages: frames in the body, timeouts and status texts in
 * header fields. */
#include "grpc.h"

GrpcEvent grpc_frame(Str arrived, size_t most, GrpcFrame *frame, Err *err)
{
    const uint8_t *p = (const uint8_t *)arrived.p;
    if (arrived.n == 0) return GRPC_MORE;
    if (p[0] > 1) {
        fail(err, EF_BAD_REQUEST, "message: found flag %d, wanted 0 or 1", p[0]);
        return GRPC_BAD;
    }
    if (arrived.n < GRPC_PREFIX) return GRPC_MORE;
    size_t n = (size_t)p[1] << 24 | (size_t)p[2] << 16 | (size_t)p[3] << 8 | p[4];
    if (n > most) {
        fail(err, EF_TOO_LARGE, "message: found %zu bytes, wanted at most %zu", n, most);
        return GRPC_BAD;
    }
    if (arrived.n - GRPC_PREFIX < n) return GRPC_MORE;
    *frame = (GrpcFrame){ { arrived.p + GRPC_PREFIX, n }, p[0] };
    return GRPC_MESSAGE;
}

void grpc_prefix(char out[GRPC_PREFIX], bool packed, size_t length)
{
    out[0] = packed;
    for (int i = 0; i < 4; i++) out[1 + i] = (char)(length >> (24 - 8 * i));
}

bool grpc_timeout(Str text, double *seconds, Err *err)
{
    static const struct { char unit; double seconds; } units[] = {
        { 'H', 3600 }, { 'M', 60 }, { 'S', 1 }, { 'm', 1e-3 }, { 'u', 1e-6 }, { 'n', 1e-9 },
    };
    enum { MOST_DIGITS = 8 };
    int64_t n;
    bool digits = text.n > 1 && text.n <= MOST_DIGITS + 1 && text.p[0] >= '0' && text.p[0] <= '9';
    for (size_t i = 0; digits && i < COUNT(units); i++)
        if (text.p[text.n - 1] == units[i].unit && str_int((Str){ text.p, text.n - 1 }, &n))
            return *seconds = (double)n * units[i].seconds, true;
    return fail(err, EF_BAD_REQUEST, "grpc-timeout: found \"%.*s\", wanted digits and a unit",
                (int)MIN(text.n, 20), text.p);
}

void grpc_escape(Buf *out, const char *text)
{
    for (const unsigned char *p = (const unsigned char *)text; *p; p++) {
        if (*p < ' ' || *p > '~' || *p == '%') buf_printf(out, "%%%02X", *p);
        else buf_char(out, (char)*p);
    }
}
