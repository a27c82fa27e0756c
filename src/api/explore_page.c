/* SPDX-License-Identifier: Apache-2.0
 * explore_page.c - see explore_page.h. A line "{{name}}" of the template stands for a file of web/, or for the data. */
#include "api/explore_page.h"

#include "server/web.h"

/* Inside a script element nothing may look like its end: JSON has another way to write '<'. */
static void page_put_json(Buf *html, Str json)
{
    for (size_t from = 0, to; from < json.n; from = to + 1) {
        const char *mark = memchr(json.p + from, '<', json.n - from);
        to = mark ? (size_t)(mark - json.p) : json.n;
        buf_add(html, json.p + from, to - from);
        if (mark) buf_puts(html, "\\u003c");
    }
}

static bool page_put_line(Buf *html, Str line, Str json, Err *err)
{
    if (!str_starts(line, "{{") || !str_ends(line, "}}")) return buf_str(html, line), buf_char(html, '\n'), true;
    const Str name = { line.p + 2, line.n - 4 };
    if (str_is(name, "data")) return page_put_json(html, json), buf_char(html, '\n'), true;
    return web_unpack(name, html, err);
}

bool explore_page(Str json, Buf *html, Err *err)
{
    Buf template = { 0 };
    bool ok = web_unpack(STR("explore.html"), &template, err);
    for (size_t from = 0, to; ok && from < template.n; from = to + 1) {
        const char *end = memchr(template.p + from, '\n', template.n - from);
        to = end ? (size_t)(end - template.p) : template.n;
        ok = page_put_line(html, (Str){ template.p + from, to - from }, json, err);
    }
    buf_free(&template);
    return ok;
}
