/* SPDX-License-Identifier: Apache-2.0
 * pages.c - pages that depend on the model only: rendered once, at start. */
#include "data/json.h"
#include "routes.h"

void alive_render(Arena *arena, const Site *site, Buf *out)
{
    (void)arena, (void)site;
    buf_puts(out, "\"OK!\"");
}

Value alive_reply(Arena *arena, const Site *site)
{
    (void)site;
    Value schema = value_map(arena, 2);
    value_add(&schema, "type", value_of_text("string"));
    value_add(&schema, "const", value_of_text("OK!"));
    return schema;
}

static const Field route_schema[] = {
    { "method", 0, F_STR, .required = true },
    { "path", 0, F_STR, .required = true },
    { "summary", 0, F_STR, .required = true },
    { 0 },
};
static const Field index_schema[] = {
    { "model_id", 0, F_STR, .required = true },
    { "model_type", 0, F_STR, .required = true },
    { "routes", 0, F_MSG, .repeated = true, .required = true, .msg = route_schema,
      .msg_name = "Route" },
    { 0 },
};

void index_render(Arena *arena, const Site *site, Buf *out)
{
    size_t n = site->routes;
    const Route *row = site->route;
    Value page = value_map(arena, 3), routes = value_list(arena, n);
    routes.list.n = 0;
    for (size_t i = 0; i < n; i++) {
        if (route_media(&row[i]) || !route_applies(&row[i], site)) continue;
        Value *one = &routes.list.items[routes.list.n++];
        *one = value_map(arena, 3);
        value_add(one, "method", value_of_text(row[i].method));
        value_add(one, "path", value_of_text(row[i].path));
        value_add(one, "summary", value_of_text(row[i].summary));
    }
    value_add(&page, "model_id", value_of_str(site->model_id));
    value_add(&page, "model_type", value_of_text(site->task->name));
    value_add(&page, "routes", routes);
    json_write(out, &page);
}

Value index_reply(Arena *arena, const Site *site)
{
    (void)site;
    return schema_describe(arena, index_schema);
}
