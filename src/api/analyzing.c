/* SPDX-License-Identifier: Apache-2.0
 * analyzing.c - see analyzing.h. */
#include "api/analyzing.h"

#define FIELD(field) OPTION_FIELD_OF(Analyzing, field)
const Option analyze_options[] = {
    { "filter-tag", 0, "TEXT", "only tags that contain it", TAKES_TEXT, FIELD(filter) },
    { "sidecar", 0, "FILE", "the hierarchy's JSON, where it is not beside the model", TAKES_TEXT, FIELD(sidecar) },
    { "show-metadata", 0, NULL, "the hf_ metadata too", TAKES_NOTHING, FIELD(metadata) },
    { "show-task", 0, NULL, "the task that the metadata names", TAKES_NOTHING, FIELD(task) },
    { "show-processor", 0, NULL, "how the metadata says inputs are prepared", TAKES_NOTHING, FIELD(processor) },
    { "validate-metadata", 0, NULL, "what can be said against the metadata", TAKES_NOTHING, FIELD(problems) },
    { 0 },
};

static Value analyze_problems(Arena *arena, const HfMetadata *m)
{
    const char *line[32];
    int n = hf_metadata_problems(arena, m, line, COUNT(line));
    Value list = value_list(arena, (size_t)n);
    for (int i = 0; i < n; i++) list.list.items[i] = value_of_str(str_of(line[i]));
    return list;
}

static Value analyze_metadata(Arena *arena, const Analyzing *a, const HfMetadata *m)
{
    const struct { bool asked; const char *name, *key; } rows[] = {
        { a->task, "task", "pipeline_task" },
        { a->processor, "processor", "processor_config" },
    };
    Value more = value_map(arena, HTP_MORE), all = hf_metadata_value(arena, m);
    if (a->metadata) value_add(&more, "metadata", all);
    for (size_t i = 0; i < COUNT(rows); i++) {
        const Value *found = value_get(&all, rows[i].key);
        if (rows[i].asked) value_add(&more, rows[i].name, found ? *found : value_null());
    }
    if (a->problems) value_add(&more, "metadata_problems", analyze_problems(arena, m));
    return more;
}

bool analyzing_run(Arena *arena, Analyzing *a, Err *err)
{
    HfMetadata metadata;
    if (!hf_metadata_open(arena, a->path, &metadata, err) ||
        !hierarchy_open(arena, a->path, a->sidecar, &a->file, err))
        return false;
    a->more = analyze_metadata(arena, a, &metadata);
    a->report = htp_analysis(&a->file.htp, a->path, str_of(a->filter));
    for (size_t i = 0; i < a->more.map.n; i++)
        value_add(&a->report, a->more.map.items[i].key.p, a->more.map.items[i].value);
    return true;
}

void analyzing_close(Analyzing *a)
{
    hierarchy_close(&a->file);
}
