/* SPDX-License-Identifier: Apache-2.0
 * serving_none.c - ef_serve of a library that was built without the server. */
#include "base/base.h"

bool ef_serve(ef_model *m, const char *options, const volatile int *stop, ef_error *err)
{
    (void)m, (void)options, (void)stop;
    return fail(err, EF_UNSUPPORTED, "this library was built without the server: run the program, encoderfile serve");
}
