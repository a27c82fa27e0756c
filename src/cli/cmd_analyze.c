/* SPDX-License-Identifier: Apache-2.0
 * cmd_analyze.c - how the nodes of an ONNX file are spread over the modules of its source model. */
#include "cli/cli.h"
#include "cli/hierarchy.h"
#include "data/json.h"

static const Option options[] = {
    { "output-format", 0, "FORMAT", "json (the default), csv or summary" },
    { "output-file", 0, "FILE", "write it there" },
    { "filter-tag", 0, "TEXT", "only tags that contain it" },
    { "sidecar", 0, "FILE", "the hierarchy's JSON, where it is not beside the model" },
    { "json", 0, NULL, "the same as --output-format json" },
    { "verbose", 'v', NULL, NULL },
    { 0 },
};

typedef enum { AS_JSON, AS_CSV, AS_SUMMARY } Format;

static bool parse_format(const Args *a, Format *out, Err *err)
{
    static const char *const words[] = { "json", "csv", "summary" };
    const char *word = args_value(a, "output-format");
    *out = AS_JSON;
    for (size_t i = 0; word && i < COUNT(words); i++)
        if (strcmp(word, words[i]) == 0) return *out = (Format)i, true;
    return !word || fail(err, EF_USAGE, "--output-format: found \"%s\", wanted json, csv or summary",
                         word);
}

static void put(Buf *b, const Htp *h, const char *path, Format format, Str filter)
{
    if (format == AS_CSV) return htp_csv(b, h, filter);
    if (format == AS_SUMMARY) return htp_summary(b, h, path, filter);
    Value v = htp_analysis(h, path, filter);
    json_write_pretty(b, &v);
    buf_char(b, '\n');
}

static bool deliver(Args *a, Buf *b, Err *err)
{
    const char *file = args_value(a, "output-file");
    if (!file) return out_buf(b, err);
    if (!dir_make_parents(file, err) || !file_write(&a->arena, file, buf_view(b), err)) return false;
    return out_write(str_of(str_format(&a->arena, "Analysis exported to: %s\n", file)), err);
}

static bool analyze(Args *a, Err *err)
{
    HierarchyFile f;
    Format format;
    if (a->n_text != 1)
        return fail(err, EF_USAGE, "found %d files, wanted one ONNX model", a->n_text);
    if (!parse_format(a, &format, err)) return false;
    if (!hierarchy_open(&a->arena, a->text[0], args_value(a, "sidecar"), &f, err)) return false;
    Buf b = { 0 };
    put(&b, &f.htp, a->text[0], format, str_of(args_value(a, "filter-tag")));
    bool ok = deliver(a, &b, err);
    buf_free(&b);
    hierarchy_close(&f);
    return ok;
}

static bool run(Args *a, Err *err)
{
    return analyze(a, err) || within(err, "Error during analysis");
}

const Command cmd_analyze = {
    .name = "analyze",
    .summary = "say which modules of the source model the nodes of an ONNX file belong to",
    .usage = "MODEL.onnx [--output-format json|csv|summary] [--filter-tag TEXT]",
    .example = "  encoderfile analyze model.onnx --output-format summary\n"
               "  encoderfile analyze model.onnx --filter-tag BertAttention --output-file tags.json\n",
    .options = options,
    .run = run,
    .builder = true,
};
