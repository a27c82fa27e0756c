/* SPDX-License-Identifier: Apache-2.0
 * number.h - decimal text and binary numbers, both ways: exact, shortest, and blind to the locale.
 *
 * Text out: plain when 1e-5 <= |x| < 1e16, else one digit before the point and an exponent; always
 * with a '.' or an 'e' ("1.0", "0.1", "1e-7", "1.5e20"), so that it reads back as a float. */
#ifndef DATA_NUMBER_H
#define DATA_NUMBER_H
#include "base/base.h"

enum { NUMBER_ROOM = 32 }; /* more bytes than any writer below needs */

/* [sign] digits [. digits] [e [sign] digits], a form the caller has checked. Correctly rounded;
 * infinite when out of range. */
double number_read(Str);

/* These write at `out` and return the end; the floats must be finite. */
char *number_write_f32(char *out, float);  /* fewest digits that read back as this float */
char *number_write_f64(char *out, double); /* the shortest of 15, 16 or 17 digits that reads back */
char *number_write_int(char *out, int64_t);

/* The double that a reader gets from the shortest text of this float: 0.1f gives 0.1. */
double number_widen(float);

/* Places `count` digits (no zero at the end) so that the first `point` of them are whole. */
char *number_layout(char *out, const char *digits, int count, int point);

#endif
