/* SPDX-License-Identifier: Apache-2.0
 * cmd_licenses.c - the notices of everything that is linked, which every program and package holds. */
#include "cli/cli.h"
#include "data/gzip.h"

enum { NOTICES_MOST = 4 << 20 };
extern const char notices_begin[], notices_end[]; /* notices.S */

static Str next_part(Str *rest, char end)
{
    const char *at = memchr(rest->p, end, rest->n);
    Str part = { rest->p, at ? (size_t)(at - rest->p) : rest->n };
    rest->p += part.n + (at != NULL), rest->n -= part.n + (at != NULL);
    return part;
}

/* Lines of three members with a tab between, up to the first text. */
static Value components(Arena *arena, Str text)
{
    static const char *const names[] = { "component", "license", "copyright" };
    enum { MOST = 64 };
    Value list = value_list(arena, MOST);
    list.list.n = 0;
    while (text.n && list.list.n < MOST) {
        Str line = next_part(&text, '\n');
        if (str_starts(line, "====")) break;
        if (!line.n || !memchr(line.p, '\t', line.n)) continue;
        Value one = value_map(arena, COUNT(names));
        for (size_t i = 0; i < COUNT(names); i++) value_add(&one, names[i], value_of_str(next_part(&line, '\t')));
        list.list.items[list.list.n++] = one;
    }
    return list;
}

static bool licenses_run(Args *a, Err *err)
{
    Buf text = { .arena = &a->arena };
    const Str packed = { notices_begin, (size_t)(notices_end - notices_begin) };
    if (!gzip_unpack(&text, packed, NOTICES_MOST, err)) return within(err, "licenses");
    if (!args_has(a, "json")) return out_write(buf_view(&text), err);
    Value v = value_map(&a->arena, 2);
    value_add(&v, "components", components(&a->arena, buf_view(&text)));
    value_add(&v, "text", value_of_str(buf_view(&text)));
    return out_json(&v, err);
}

static const Option options[] = { { "json", 0, NULL, "as JSON, with a list of the components" }, { 0 } };
const Command cmd_licenses = {
    .name = "licenses",
    .summary = "print the licences of everything that is inside this file",
    .usage = "[--json]",
    .options = options,
    .run = licenses_run,
    .example = "  encoderfile licenses | less\n",
};
