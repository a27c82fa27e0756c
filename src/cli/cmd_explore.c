/* SPDX-License-Identifier: Apache-2.0
 * cmd_explore.c - a model to look at in a browser: its modules, nodes, shapes, parameters, FLOPs and times. As a page
 * on this machine, as one HTML file, or as JSON. */
#include <signal.h>

#include "api/explore_page.h"
#include "cli/cli.h"
#include "model/exploring.h"
#include "server/one_page.h"

static const Option options[] = {
    { "html", 0, "FILE", "write one HTML file, which needs nothing else, and end" },
    { "json", 0, NULL, "print what the page shows as JSON, and end", .against = "html" },
    { "port", 'p', "N", "of the page, on 127.0.0.1; default: any free one", TAKES_PORT, .most = 65535,
      .against = "html json" },
    { 0 },
};

static volatile int stop;

static void explore_on_signal(int number)
{
    (void)number;
    stop = 1;
}

static bool explore_ready(void *context, int port, Err *err)
{
    (void)context;
    char line[128];
    const int n = snprintf(line, sizeof line, "http://127.0.0.1:%d/ (until interrupted)\n", port);
    return out_write((Str){ line, (size_t)n }, err);
}

static bool explore_serve(const Args *a, Str html, Err *err)
{
    const struct sigaction action = { .sa_handler = explore_on_signal };
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    const OnePage page = { .html = html, .port = (int)args_int(a, "port"), .ready = explore_ready };
    return one_page_serve(&page, &stop, err);
}

static bool explore_show(Args *a, Str json, Err *err)
{
    const char *file = args_value(a, "html");
    Buf html = { 0 };
    bool ok = explore_page(json, &html, err);
    if (ok && file) ok = dir_make_parents(file, err) && file_write(&a->arena, file, buf_view(&html), err);
    else if (ok) ok = explore_serve(a, buf_view(&html), err);
    if (ok && file) ok = out_write(str_of(str_format(&a->arena, "wrote %s (%zu bytes)\n", file, html.n)), err);
    buf_free(&html);
    return ok;
}

static bool explore_run(Args *a, Err *err)
{
    Exploring x = { 0 };
    const int own = a->packaged ? 0 : 1; /* a package is what it shows itself */
    if (a->n_text < own || a->n_text > own + 1)
        return fail(err, EF_USAGE, "explore: found %d models, wanted one, or two to compare", a->n_text);
    if (own) x.path = a->text[0];
    if (a->n_text > own) x.other = a->text[own];
    for (int i = 0; i < a->n_text; i++)
        if (!file_apart(args_value(a, "html"), a->text[i], err)) return false;
    if (!args_fill(a, &x, err) || !exploring_run(&a->arena, &x, err)) return false;
    if (!args_has(a, "json")) return explore_show(a, x.json, err);
    return out_write(x.json, err) && out_write(STR("\n"), err);
}

const Command cmd_explore = {
    .name = "explore",
    .summary = "show a model in the browser: modules, shapes, parameters, FLOPs, times",
    .usage = "MODEL [OTHER] [--html FILE | --json] [--length N]",
    .note = "MODEL is a folder, an .onnx (of any exporter) or a package; with OTHER both are set side by side. Times\n"
            "are of one text (or picture, or sound), the shortest of up to 20 runs for each step.\n",
    .example = "  encoderfile explore model.onnx\n"
               "  encoderfile explore fp32/model.onnx int8/model.onnx --html both.html\n"
               "  encoderfile explore my-ner.encoderfile --length 512 --json\n",
    .options = options,
    .more = explore_options,
    .model_word = 1,
    .run = explore_run,
};
