/* SPDX-License-Identifier: Apache-2.0
 * output.c - stdout is data: it is written whole, or the command fails (a full disk is an error).
 * */
#include <errno.h>

#include "cli/cli.h"
#include "data/json.h"

static bool reader_left;

bool out_closed(void)
{
    return reader_left;
}

bool out_failed(Err *err)
{
    reader_left |= errno == EPIPE;
    return fail(err, EF_IO, "output: cannot be written: %s", strerror(errno));
}

bool out_write(Str s, Err *err)
{
    if ((s.n == 0 || fwrite(s.p, 1, s.n, stdout) == s.n) && fflush(stdout) == 0) return true;
    return out_failed(err);
}

bool out_buf(Buf *b, Err *err)
{
    bool ok = out_write(buf_view(b), err);
    b->n = 0;
    return ok;
}

bool out_json(const Value *v, Err *err)
{
    Buf b = { 0 };
    json_write_pretty(&b, v);
    buf_char(&b, '\n');
    bool ok = out_buf(&b, err);
    buf_free(&b);
    return ok;
}
