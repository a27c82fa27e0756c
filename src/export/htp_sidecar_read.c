/* SPDX-License-Identifier: Apache-2.0
 * htp_sidecar_read.c - sidecars of any age: a map of nodes under one of three names, whose values
 * are the tag itself or an object around it. */
#include "htp.h"

static const char *const endings[] = { "_htp_metadata.json", "_htp_integrated_metadata.json",
                                       "_hierarchy.json" };

const char *htp_sidecar_find(Arena *arena, const char *onnx)
{
    Str path = str_of(onnx);
    if (str_ends(path, ".onnx")) path.n -= 5;
    for (size_t i = 0; i < COUNT(endings); i++) {
        const char *name = str_format(arena, "%.*s%s", STR_ARG(path), endings[i]);
        if (file_is(name)) return name;
    }
    return NULL;
}

static Str htp_sidecar_tag_of(const Value *v)
{
    static const char *const keys[] = { "primary_path", "hierarchy_tag", "tag", "traced_tag" };
    if (v->kind == V_STR) return v->s;
    const Value *tags = value_get(v, "tags");
    for (size_t i = 0; i < COUNT(keys); i++) {
        Str tag = value_str(value_get(v, keys[i]), (Str){ 0 });
        if (tag.n) return tag;
    }
    if (tags && tags->kind == V_LIST && tags->list.n)
        return value_str(&tags->list.items[0], (Str){ 0 });
    return (Str){ 0 };
}

void htp_sidecar_tags(const Value *sidecar, HtpVisit *visit, void *context)
{
    static const char *const keys[] = { "nodes", "tagged_nodes", "node_tags" };
    const Value *map = NULL;
    for (size_t i = 0; i < COUNT(keys) && (!map || map->kind != V_MAP); i++)
        map = value_get(sidecar, keys[i]);
    for (size_t i = 0; map && map->kind == V_MAP && i < map->map.n; i++)
        visit(context, map->map.items[i].key, htp_sidecar_tag_of(&map->map.items[i].value));
}
