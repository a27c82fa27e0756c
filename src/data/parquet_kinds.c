/* SPDX-License-Identifier: Apache-2.0
 * parquet_kinds.c - see parquet_kinds.h. */
#include "parquet_kinds.h"

#include "arrow_kinds.h"

/* ---- entries ---- */
static void kind_as_it_is(Buf *to, const ArrowColumn *a, int64_t i)
{
    const size_t width = (size_t)arrow_width(a->field);
    buf_add(to, a->data.p + (size_t)i * width, width);
}

static int64_t kind_number(const ArrowColumn *a, int64_t i)
{
    const bool is_signed = a->field->kind != ARROW_INT || a->field->param[1];
    return arrow_int(a->data, i, arrow_width(a->field), is_signed);
}

static void kind_int32(Buf *to, const ArrowColumn *a, int64_t i)
{
    const int32_t v = (int32_t)kind_number(a, i);
    buf_add(to, &v, sizeof v);
}

static void kind_days(Buf *to, const ArrowColumn *a, int64_t i)
{
    const int64_t day = 86400000, ms = kind_number(a, i), days = ms / day - (ms % day < 0);
    const int32_t v = (int32_t)days;
    buf_add(to, &v, sizeof v);
}

static void kind_thousand_32(Buf *to, const ArrowColumn *a, int64_t i)
{
    const int32_t v = (int32_t)(uint32_t)((uint64_t)kind_number(a, i) * 1000);
    buf_add(to, &v, sizeof v);
}

static void kind_thousand(Buf *to, const ArrowColumn *a, int64_t i)
{
    const uint64_t v = (uint64_t)kind_number(a, i) * 1000;
    buf_add(to, &v, sizeof v);
}

static void kind_decimal(Buf *to, const ArrowColumn *a, int64_t i)
{
    const size_t width = (size_t)arrow_width(a->field);
    const char *p = a->data.p + (size_t)i * width;
    for (size_t k = width; k--;) buf_char(to, p[k]);
}

static void kind_bytes(Buf *to, const ArrowColumn *a, int64_t i)
{
    const Str s = arrow_value(NULL, a, i).s; /* a view: text and bytes need no arena */
    const uint32_t n = (uint32_t)s.n;
    buf_reserve(to, sizeof n + s.n);
    memcpy(to->p + to->n, &n, sizeof n);
    if (s.n) memcpy(to->p + to->n + sizeof n, s.p, s.n);
    to->n += sizeof n + s.n;
}

static void kind_nothing(Buf *to, const ArrowColumn *a, int64_t i)
{
    (void)to, (void)a, (void)i;
}

/* ---- kinds ---- */
static bool kind_integer(const ArrowField *f, ParquetKind *k)
{
    enum { UINT_8 = 11, INT_8 = 15 };
    const int bits = (int)f->param[0], order = bits == 8 ? 0 : bits == 16 ? 1 : bits == 32 ? 2 : 3;
    const bool is_signed = f->param[1];
    *k = (ParquetKind){ .type = bits == 64 ? PARQUET_INT64 : PARQUET_INT32, .converted = -1, .put = kind_as_it_is,
                        .as_it_is = bits >= 32 };
    if (bits < 32) k->put = kind_int32;
    if (is_signed && bits >= 32) return true;
    k->converted = (is_signed ? INT_8 : UINT_8) + order;
    k->logical = (ParquetLogical){ MEANS_INTEGER, .bits = bits, .is_signed = is_signed };
    return true;
}

static bool kind_float(const ArrowField *f, ParquetKind *k)
{
    enum { HALF, SINGLE };
    *k = (ParquetKind){ .type = f->param[0] == SINGLE ? PARQUET_FLOAT : PARQUET_DOUBLE, .converted = -1,
                        .as_it_is = true, .put = kind_as_it_is };
    if (f->param[0] == HALF) k->type = PARQUET_FIXED, k->width = 2, k->logical.means = MEANS_FLOAT16;
    return true;
}

/* Seconds become milliseconds: Parquet has none. */
static bool kind_time(const ArrowField *f, ParquetKind *k)
{
    enum { SECONDS, TIME_MS = 7, TIMESTAMP_MS = 9 };
    const bool time = f->kind == ARROW_TIME, narrow = time && f->param[1] == 32;
    const int unit = (int)f->param[0];
    *k = (ParquetKind){ .type = narrow ? PARQUET_INT32 : PARQUET_INT64, .converted = -1, .put = kind_as_it_is,
                        .as_it_is = unit != SECONDS,
                        .logical = { time ? MEANS_TIME : MEANS_TIMESTAMP, .utc = f->zone.n,
                                     .unit = (ParquetUnit)MAX(unit, PARQUET_MS) } };
    if (unit == SECONDS) k->put = narrow ? kind_thousand_32 : kind_thousand;
    if (k->logical.utc && k->logical.unit != PARQUET_NS)
        k->converted = (time ? TIME_MS : TIMESTAMP_MS) + (k->logical.unit == PARQUET_US);
    return unit >= SECONDS && unit <= PARQUET_NS && (!time || narrow == (unit <= PARQUET_MS));
}

static bool kind_date(const ArrowField *f, ParquetKind *k)
{
    enum { DATE = 6 };
    *k = (ParquetKind){ .type = PARQUET_INT32, .converted = DATE, .logical = { MEANS_DATE }, .as_it_is = !f->param[0],
                        .put = f->param[0] ? kind_days : kind_as_it_is };
    return true;
}

static bool kind_decimals(const ArrowField *f, ParquetKind *k)
{
    enum { DECIMAL = 5 };
    *k = (ParquetKind){ .type = PARQUET_FIXED, .width = (int)arrow_width(f), .converted = DECIMAL, .put = kind_decimal,
                        .logical = { MEANS_DECIMAL, .precision = (int)f->param[0], .scale = (int)f->param[1] } };
    return f->param[0] > 0 && f->param[1] >= 0 && f->param[1] <= f->param[0];
}

static bool kind_text(const ArrowField *f, ParquetKind *k)
{
    enum { JSON = 19 };
    const bool text = arrow_kinds[f->kind].text;
    *k = (ParquetKind){ .type = PARQUET_BYTES, .converted = text ? 0 : -1, .put = kind_bytes,
                        .logical = { text ? MEANS_STRING : MEANS_NOTHING } };
    if (text && arrow_is_extension(f, "arrow.json")) k->converted = JSON, k->logical.means = MEANS_JSON;
    return true;
}

static bool kind_plain(const ArrowField *f, ParquetKind *k)
{
    *k = (ParquetKind){ .type = PARQUET_INT64, .converted = -1, .put = kind_as_it_is, .as_it_is = true };
    switch (f->kind) {
    case ARROW_BOOL: k->type = PARQUET_BOOLEAN, k->as_it_is = false; break;
    case ARROW_NULL:
        *k = (ParquetKind){ .type = PARQUET_INT32, .converted = -1, .logical = { MEANS_UNKNOWN }, .put = kind_nothing };
        break;
    case ARROW_FIXED_BINARY: 
        k->type = PARQUET_FIXED, k->width = (int)f->param[0];
        if (f->uuid) k->logical.means = MEANS_UUID;
        return k->width > 0;
    default: break; /* durations: a number */
    }
    return true;
}

static bool (*const kind_rows[ARROW_KINDS])(const ArrowField *, ParquetKind *) = {
    [ARROW_NULL] = kind_plain, [ARROW_INT] = kind_integer, [ARROW_FLOAT] = kind_float, [ARROW_BINARY] = kind_text,
    [ARROW_UTF8] = kind_text, [ARROW_BOOL] = kind_plain, [ARROW_DECIMAL] = kind_decimals, [ARROW_DATE] = kind_date,
    [ARROW_TIME] = kind_time, [ARROW_TIMESTAMP] = kind_time, [ARROW_FIXED_BINARY] = kind_plain,
    [ARROW_DURATION] = kind_plain, [ARROW_LARGE_BINARY] = kind_text, [ARROW_LARGE_UTF8] = kind_text,
    [ARROW_BINARY_VIEW] = kind_text, [ARROW_UTF8_VIEW] = kind_text,
};

bool parquet_kind_of(const ArrowField *f, ParquetKind *k)
{
    ArrowField plain = *f;
    plain.encoded = false; /* the values themselves are written */
    return kind_rows[f->kind] && kind_rows[f->kind](&plain, k);
}
