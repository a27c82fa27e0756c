/* SPDX-License-Identifier: Apache-2.0
 * seeded_weights.h - weights that are not stored: tensors.tsv, which tools/oracle/picture_models.py writes,
 * says of each tensor how its numbers are made from its name, and here they are made again. */
#ifndef SEEDED_WEIGHTS_H
#define SEEDED_WEIGHTS_H
#include <stdlib.h>

#include "base/file.h"

enum { SEEDED_NAME = 256, SEEDED_RANK = 4 };
typedef struct SeededRow {
    char name[SEEDED_NAME];
    int64_t dim[SEEDED_RANK], count;
    int rank;
    const char *shift;       /* one number, or all of them with commas */
    float scale;
} SeededRow;

/* -1 .. 1, by the name and the place. */
static inline float seeded_noise(const char *name, uint32_t i)
{
    uint32_t x = 2166136261u;
    for (; *name; name++) x = (x ^ (uint8_t)*name) * 16777619u;
    x += i * 0x9e3779b9u;
    x = (x ^ x >> 16) * 0x85ebca6bu;
    x = (x ^ x >> 13) * 0xc2b2ae35u;
    return (float)((x ^ x >> 16) >> 8) * 0x1p-23f - 1;
}

/* "12<tab>weight<tab>8x4<tab>0<tab>0.5": the first 12 letters of the name are those of the row before. */
static inline const char *seeded_row(SeededRow *r, const char *line)
{
    char *at;
    size_t same = strtoul(line, &at, 10), n = strcspn(++at, "\t");
    memcpy(r->name + same, at, n);
    r->name[same + n] = 0;
    at += n + 1;
    r->count = 1;
    for (r->rank = 0; *at != '\t'; at += *at == 'x') r->count *= r->dim[r->rank++] = strtoll(at, &at, 10);
    r->shift = ++at;
    r->scale = strtof(at + strcspn(at, "\t") + 1, &at);
    return at + 1;
}

static inline void seeded_numbers(const SeededRow *r, Buf *data)
{
    const char *at = r->shift;
    char *end;
    float shift = strtof(at, &end);
    for (int64_t i = 0; i < r->count; i++) {
        float v = shift + r->scale * seeded_noise(r->name, (uint32_t)i);
        buf_add(data, &v, sizeof v);
        if (*end == ',') shift = strtof(end + 1, &end);
    }
}

/* The bytes of a model.safetensors. */
static inline Str seeded_weights(Arena *to, Str rows)
{
    Buf head = { .arena = to }, data = { .arena = to }, file = { .arena = to };
    SeededRow r = { 0 };
    buf_char(&head, '{');
    for (const char *line = rows.p; line < rows.p + rows.n;) {
        line = seeded_row(&r, line);
        size_t from = data.n;
        seeded_numbers(&r, &data);
        buf_printf(&head, "%s\"%s\":{\"dtype\":\"F32\",\"shape\":[", head.n > 1 ? "," : "", r.name);
        for (int i = 0; i < r.rank; i++) buf_printf(&head, "%s%lld", i ? "," : "", (long long)r.dim[i]);
        buf_printf(&head, "],\"data_offsets\":[%zu,%zu]}", from, data.n);
    }
    buf_char(&head, '}');
    while (head.n % 8) buf_char(&head, ' ');
    uint64_t n = head.n;
    buf_add(&file, &n, sizeof n);
    buf_add(&file, head.p, head.n);
    buf_add(&file, data.p, data.n);
    return buf_view(&file);
}

#endif
