/* SPDX-License-Identifier: Apache-2.0
 * cmd_analyze.c - how the nodes of an ONNX file are spread over the modules of its source model. */
#include "api/analyzing.h"
#include "cli/cli.h"
#include "data/json.h"

typedef enum { AS_JSON, AS_CSV, AS_SUMMARY } Format;
static const char *const format_words[] = { [AS_JSON] = "json", "csv", "summary", NULL };
static const Option options[] = {
    { "output-format", 0, "FORMAT", "of the output", TAKES_WORD, .standard = "json",
      .words = format_words },
    { "output-file", 0, "FILE", "write it there" },
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

static void put(Buf *b, const Analyzing *x, Format format)
{
    const Htp *h = &x->file.htp;
    Str filter = str_of(x->filter);
    if (format == AS_CSV) return htp_csv(b, h, filter);
    if (format == AS_JSON) {
        json_write_pretty(b, &x->report);
        return buf_char(b, '\n');
    }
    htp_summary(b, h, x->path, filter);
    for (size_t i = 0; i < x->more.map.n; i++) {
        buf_printf(b, "%.*s: ", STR_ARG(x->more.map.items[i].key));
        json_write(b, &x->more.map.items[i].value);
        buf_char(b, '\n');
    }
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
    Analyzing x = { .path = a->n_text ? a->text[0] : NULL };
    Format format;
    if (a->n_text != 1)
        return fail(err, EF_USAGE, "found %d files, wanted one ONNX model", a->n_text);
    if (!args_fill(a, &x, err)) return false;
    if (!file_apart(args_value(a, "output-file"), x.path, err) ||
        !file_apart(args_value(a, "output-file"), x.sidecar, err))
        return false;
    if (!parse_format(a, &format, err) || !check_shown(a, format, err)) return false;
    if (!analyzing_run(&a->arena, &x, err)) return false;
    Buf b = { 0 };
    put(&b, &x, format);
    bool ok = deliver(a, &b, err);
    buf_free(&b);
    analyzing_close(&x);
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
    .more = analyze_options,
    .run = analyze_run,
    .builder = true,
};
