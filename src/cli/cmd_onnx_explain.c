/* SPDX-License-Identifier: Apache-2.0
 * cmd_onnx_explain.c - the plan of a model, step by step: layout, kernel, bytes, FLOPs, and why a
 * step stayed generic. Takes what `bench` takes: a lone .onnx, a folder or a package. */
#include "cli/cli.h"
#include "kernels/kernels.h"

enum { MOST_ROWS = 4096, MOST_TOKENS = 65536 };
static const Option options[] = {
    OPTIONS_TASK(OPTION_NO_FIELD),
    OPTION_TOKENIZER(OPTION_NO_FIELD),
    { "rows", 'b', "N", "texts or pictures of the batch", TAKES_COUNT, .standard = "1", .least = 1,
      .most = MOST_ROWS },
    { "tokens", 's', "N", "tokens of each text; default: 128, or what the model takes", TAKES_COUNT,
      .least = 1, .most = MOST_TOKENS },
    { "precision", 0, "P", "of an .onnx: fp32, bf16 or int8" },
    { "json", 0, NULL, "as JSON" },
    { 0 },
};

static void put_step(Buf *b, int i, const ExplainedStep *s)
{
    buf_printf(b, "%4d  %-12s %-7s %-11s %9.3f MB %9.3f MB %9.3f MFLOP  %.*s", i, s->op, s->layout,
               s->kernel ? s->kernel : s->why ? "generic" : "copy", (double)s->weight_bytes / 1e6,
               (double)s->made_bytes / 1e6, s->flops / 1e6, STR_ARG(s->name));
    buf_printf(b, s->why ? "  (%s)\n" : "\n", s->why);
}

static ExplainedStep totals(const Explained *e, int *generic)
{
    ExplainedStep all = { 0 };
    *generic = 0;
    for (int i = 0; i < e->n; i++) {
        all.weight_bytes += e->step[i].weight_bytes;
        all.flops += e->step[i].flops;
        *generic += e->step[i].why != NULL;
    }
    return all;
}

static void onnx_explain_put_text(Buf *b, const Model *m, const Explained *e)
{
    int generic;
    ExplainedStep all = totals(e, &generic);
    buf_printf(b, "%.*s: %lld ", STR_ARG(m->name), (long long)e->B);
    if (model_brings_tensors(m)) buf_puts(b, e->B == 1 ? "row" : "rows");
    else buf_printf(b, "x %lld tokens", (long long)e->S);
    buf_printf(b, ", %s, %s kernels\n", m->precision, kernels_isa(kernels(), m->precision));
    if (e->ragged) buf_puts(b, "layout: ragged, batches without padding\n");
    else buf_printf(b, "layout: padded: %s\n", e->why_not ? e->why_not : "not proved");
    if (e->dynamic) buf_puts(b, "no plan: shapes depend on data, every node runs as ONNX says\n");
    buf_printf(b, "%d nodes, %d of them computed when the plan is made; %d steps, %d generic\n",
               e->nodes, e->known, e->n, generic);
    buf_printf(b, "weights read %.3f MB, activations %.3f MB, %.3f MFLOP\n\n",
               (double)all.weight_bytes / 1e6, (double)e->block_bytes / 1e6, all.flops / 1e6);
    buf_puts(b, "step  operator     layout  kernel           weights         made           work\n");
    for (int i = 0; i < e->n; i++) put_step(b, i, &e->step[i]);
}

static Value text_or_null(const char *text)
{
    return text ? value_of_str(str_of(text)) : value_null();
}

static Value step_json(Arena *arena, const ExplainedStep *s)
{
    Value v = value_map(arena, 9);
    value_add(&v, "operator", value_of_str(str_of(s->op)));
    value_add(&v, "node", value_of_str(s->name));
    value_add(&v, "makes", value_of_str(str_of(s->type)));
    value_add(&v, "layout", value_of_str(str_of(s->layout)));
    value_add(&v, "kernel", text_or_null(s->kernel));
    value_add(&v, "weight_bytes", value_of_int((int64_t)s->weight_bytes));
    value_add(&v, "made_bytes", value_of_int((int64_t)s->made_bytes));
    value_add(&v, "flops", value_of_float(s->flops));
    value_add(&v, "generic_because", text_or_null(s->why));
    return v;
}

static Value explain_json(Arena *arena, const Model *m, const Explained *e)
{
    int generic;
    ExplainedStep all = totals(e, &generic);
    Value v = value_map(arena, 15), steps = value_list(arena, (size_t)e->n);
    for (int i = 0; i < e->n; i++) steps.list.items[i] = step_json(arena, &e->step[i]);
    value_add(&v, "model", value_of_str(m->name));
    value_add(&v, "precision", value_of_str(str_of(m->precision)));
    value_add(&v, "isa", value_of_str(str_of(kernels_isa(kernels(), m->precision))));
    value_add(&v, "rows", value_of_int(e->B));
    value_add(&v, "tokens", value_of_int(e->S));
    value_add(&v, "ragged", value_of_bool(e->ragged));
    value_add(&v, "padded_because", e->ragged ? value_null() : text_or_null(e->why_not));
    value_add(&v, "dynamic", value_of_bool(e->dynamic));
    value_add(&v, "nodes", value_of_int(e->nodes));
    value_add(&v, "computed_when_planned", value_of_int(e->known));
    value_add(&v, "generic_steps", value_of_int(generic));
    value_add(&v, "weight_bytes", value_of_int((int64_t)all.weight_bytes));
    value_add(&v, "activation_bytes", value_of_int((int64_t)e->block_bytes));
    value_add(&v, "flops", value_of_float(all.flops));
    value_add(&v, "steps", steps);
    return v;
}

static bool onnx_explain_report(Args *a, const Model *m, const Explained *e, Err *err)
{
    if (args_has(a, "json")) {
        Value v = explain_json(&a->arena, m, e);
        return out_json(&v, err);
    }
    Buf b = { 0 };
    onnx_explain_put_text(&b, m, e);
    bool ok = out_buf(&b, err);
    buf_free(&b);
    return ok;
}

static bool open_model(const Args *a, Model **m, Err *err)
{
    const char *precision = args_value(a, "precision");
    ModelOpen how = args_open(a);
    if (!how.task.n && !how.tokenizer && str_ends(str_of(a->text[0]), ".onnx"))
        return model_open_bare_in(precision ? str_of(precision) : (Str){ 0 }, a->text[0], m,
                                  err);
    if (precision)
        return fail(err, EF_UNSUPPORTED, "--precision: found %s, wanted an .onnx, no task and "
                    "no tokenizer",
                    a->text[0]);
    return model_open_with(a->text[0], &how, m, err);
}

static bool onnx_explain_run(Args *a, Err *err)
{
    Model *m;
    Explained e;
    if (a->n_text != 1)
        return fail(err, EF_USAGE, "onnx explain: found %d files, wanted one model", a->n_text);
    if (!open_model(a, &m, err)) return false;
    if (args_has(a, "tokens") && model_brings_tensors(m) && !m->tokenizer)
        return model_close(m),
               fail(err, EF_USAGE, "--tokens: found a model whose rows have no tokens, wanted --rows alone");
    int64_t tokens = args_has(a, "tokens") ? args_int(a, "tokens") : model_usual_length(m);
    bool ok = engine_explain(m->engine, &a->arena, args_int(a, "rows"), tokens, &e, err) ||
              within(err, "%s", a->text[0]);
    ok = ok && onnx_explain_report(a, m, &e, err);
    model_close(m);
    return ok;
}

const Command cmd_onnx_explain = {
    .name = "onnx explain",
    .summary = "print the plan of a model: steps, layout, kernels, bytes, FLOPs",
    .options = options,
    .run = onnx_explain_run,
    .usage = "MODEL.onnx|FOLDER|PACKAGE [--rows N] [--tokens N] [--json]",
    .example = "  encoderfile onnx explain model.onnx\n"
               "  encoderfile onnx explain --tokens 512 --json my-ner.encoderfile\n",
};
