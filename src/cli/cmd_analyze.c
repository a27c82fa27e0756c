/* SPDX-License-Identifier: Apache-2.0
 * cmd_analyze.c - how the nodes of an ONNX file are spread over the modules of its source model. */
#include "cli/cli.h"
#include "export/hierarchy.h"
#include "data/json.h"
#include "export/hf_metadata.h"

typedef enum { AS_JSON, AS_CSV, AS_SUMMARY } Format;
static const char *const format_words[] = { [AS_JSON] = "json", "csv", "summary", NULL };
static const Option options[] = {
    { "output-format", 0, "FORMAT", "of the output", TAKES_WORD, .standard = "json",
      .words = format_words },
    { "output-file", 0, "FILE", "write it there" },
    { "filter-tag", 0, "TEXT", "only tags that contain it" },
    { "sidecar", 0, "FILE", "the hierarchy's JSON, where it is not beside the model" },
    { "show-metadata", 0, NULL, "the hf_ metadata too" },
    { "show-task", 0, NULL, "the task that the metadata names" },
    { "show-processor", 0, NULL, "how the metadata says inputs are prepared" },
    { "validate-metadata", 0, NULL, "what can be said against the metadata" },
    { "json", 0, NULL, "the same as --output-format json" },
    OPTION_VERBOSE,
    { 0 },
};

static bool parse_format(const Args *a, Format *out, Err *err)
{
    *out = (Format)args_int(a, "output-format");
    if (*out == AS_JSON || !args_has(a, "json")) return true;
    return fail(err, EF_USAGE, "--json: found --output-format %s beside it, wanted one of them",
                format_words[*out]);
}

/* ---- metadata, where it was asked for ---- */
static Value problems_of(Arena *arena, const HfMetadata *m)
{
    const char *line[32];
    int n = hf_metadata_problems(arena, m, line, COUNT(line));
    Value list = value_list(arena, (size_t)n);
    for (int i = 0; i < n; i++) list.list.items[i] = value_of_str(str_of(line[i]));
    return list;
}

/* At most HTP_MORE members of JSON; the same as lines of the summary. */
static Value metadata_of(Args *a, const HfMetadata *m)
{
    static const struct { const char *option, *name, *key; } rows[] = {
        { "show-task", "task", "pipeline_task" },
        { "show-processor", "processor", "processor_config" },
    };
    Value more = value_map(&a->arena, HTP_MORE), all = hf_metadata_value(&a->arena, m);
    if (args_has(a, "show-metadata")) value_add(&more, "metadata", all);
    for (size_t i = 0; i < COUNT(rows); i++) {
        const Value *found = value_get(&all, rows[i].key);
        if (args_has(a, rows[i].option))
            value_add(&more, rows[i].name, found ? *found : value_null());
    }
    if (args_has(a, "validate-metadata"))
        value_add(&more, "metadata_problems", problems_of(&a->arena, m));
    return more;
}

/* A table of nodes has no place for the metadata. */
static bool check_shown(const Args *a, Format format, Err *err)
{
    static const char *const shown[] = { "show-metadata", "show-task", "show-processor",
                                         "validate-metadata" };
    for (size_t i = 0; format == AS_CSV && i < COUNT(shown); i++)
        if (args_has(a, shown[i]))
            return fail(err, EF_USAGE, "--%s: found --output-format csv, wanted json or summary",
                        shown[i]);
    return true;
}

static void put(Args *a, Buf *b, const Htp *h, const HfMetadata *m, Format format)
{
    Str filter = str_of(args_value(a, "filter-tag"));
    Value more = metadata_of(a, m), v = htp_analysis(h, a->text[0], filter);
    if (format == AS_CSV) return htp_csv(b, h, filter);
    if (format == AS_SUMMARY) htp_summary(b, h, a->text[0], filter);
    for (size_t i = 0; i < more.map.n; i++) {
        const Member *one = &more.map.items[i];
        value_add(&v, one->key.p, one->value);
        if (format != AS_SUMMARY) continue;
        buf_printf(b, "%.*s: ", STR_ARG(one->key));
        json_write(b, &one->value);
        buf_char(b, '\n');
    }
    if (format == AS_SUMMARY) return;
    json_write_pretty(b, &v);
    buf_char(b, '\n');
}

static bool deliver(Args *a, Buf *b, Err *err)
{
    const char *file = args_value(a, "output-file");
    if (!file) return out_buf(b, err);
    if (!dir_make_parents(file, err) || !file_write(&a->arena, file, buf_view(b), err))
        return false;
    return out_write(str_of(str_format(&a->arena, "Analysis exported to: %s\n", file)), err);
}

static bool analyze(Args *a, Err *err)
{
    HierarchyFile f;
    HfMetadata metadata;
    Format format;
    if (a->n_text != 1)
        return fail(err, EF_USAGE, "found %d files, wanted one ONNX model", a->n_text);
    if (!file_apart(args_value(a, "output-file"), a->text[0], err) ||
        !file_apart(args_value(a, "output-file"), args_value(a, "sidecar"), err))
        return false;
    if (!parse_format(a, &format, err) || !check_shown(a, format, err)) return false;
    if (!hf_metadata_open(&a->arena, a->text[0], &metadata, err)) return false;
    if (!hierarchy_open(&a->arena, a->text[0], args_value(a, "sidecar"), &f, err)) return false;
    Buf b = { 0 };
    put(a, &b, &f.htp, &metadata, format);
    bool ok = deliver(a, &b, err);
    buf_free(&b);
    hierarchy_close(&f);
    return ok;
}

static bool analyze_run(Args *a, Err *err)
{
    return analyze(a, err) || within(err, "Error during analysis");
}

const Command cmd_analyze = {
    .name = "analyze",
    .summary = "say which modules of the source model the nodes of an ONNX file belong to",
    .usage = "MODEL.onnx [--output-format json|csv|summary] [--filter-tag TEXT]",
    .example = "  encoderfile analyze model.onnx --output-format summary\n"
               "  encoderfile analyze model.onnx --filter-tag BertAttention --output-file t.json\n",
    .options = options,
    .run = analyze_run,
    .builder = true,
};
