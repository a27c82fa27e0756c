/* SPDX-License-Identifier: Apache-2.0
 * arrow_text.h - values that JSON and CSV have no type for, as text: decimals with all their digits, dates and times
 * by ISO 8601, UUIDs. */
#ifndef DATA_ARROW_TEXT_H
#define DATA_ARROW_TEXT_H
#include "arrow.h"

/* A value of a column of decimals, dates, times, timestamps or UUIDs: "-12.30", "2024-02-29", "12:30:05.250",
 * "2024-02-29T12:30:05.250Z" (Z where there is a zone). A fraction has the digits of its unit, and is absent where it
 * is 0. A time that no day has is the number that stands there. */
Value arrow_text(Arena *, const ArrowField *, Str bytes);

#endif
