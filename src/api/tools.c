/* SPDX-License-Identifier: Apache-2.0
 * tools.c - the tools of encoderfile.h: options from JSON, the same run as the command's, the
 * report as JSON. */

#include "api/add_config.h"
#include "api/analyzing.h"
#include "api/build.h"
#include "api/embedding_metadata.h"
#include "api/exporting.h"
#include "api/guard_call.h"
#include "api/inspecting.h"
#include "api/json_options.h"
#include "api/quantizing.h"
#include "api/tokens.h"
#include "api/verifying.h"
#include "data/json.h"
#include "hub/hub.h"
#include "model/exploring.h"
#include "model/validating.h"

/* ---- calls ---- */

typedef struct ToolCall ToolCall;
struct ToolCall {
    bool (*run)(ToolCall *, Err *);
    const char *from, *to;  /* paths */
    const char *options;    /* JSON, or NULL */
    Arena arena;
    Exporting *exporting;   /* to close */
    Value report;
    Err err;
    char *text;             /* the report, for ef_string_free */
};

static void tool_body(void *call)
{
    ToolCall *c = call;
    Buf text = { .arena = &c->arena };
    if (c->from && !hub_path(&c->arena, c->from, HUB_MODEL, &c->from, &c->err)) return;
    if (!c->run(c, &c->err) || c->text) return;
    json_write_pretty(&text, &c->report);
    c->text = string_new(buf_view(&text), &c->err);
}

static char *tool_call(ToolCall *c, ef_error *err)
{
    guard_call(tool_body, c, &c->err);
    if (!c->text) fail(err, c->err.code, "%s", c->err.message);
    if (c->exporting) export_close(&c->exporting->e);
    arena_free(&c->arena);
    return c->text;
}

static bool tool_path(const char *path, const char *wanted, Err *err)
{
    return path || fail(err, EF_INVALID_INPUT, "found no path, wanted %s", wanted);
}

static bool set_texts(Arena *arena, const Value *v, TextList *out, Err *err)
{
    bool ok = v->kind == V_LIST;
    size_t n = ok ? v->list.n : 0;
    Str *text = ARRAY(arena, Str, n + 1);
    for (size_t i = 0; ok && i < n; i++) {
        ok = v->list.items[i].kind == V_STR;
        text[i] = v->list.items[i].s;
    }
    *out = (TextList){ text, n };
    return ok || fail(err, EF_USAGE, "options: texts: found %s, wanted a list of texts",
                      v->kind == V_LIST ? "something else in it" : value_kind_name(v->kind));
}

/* texts: (optional) the key that is no flag: the words behind a command's paths. */
static bool tool_options(ToolCall *c, const Option *rows, void *tool, TextList *texts, Err *err)
{
    Value root;
    if (!json_options_parse(&c->arena, c->options, &root, err)) return false;
    for (size_t i = 0; texts && i < root.map.n; i++) {
        Member *m = &root.map.items[i];
        if (!str_is(m->key, "texts")) continue;
        const bool given = json_options_given(&m->value);
        if (given && !set_texts(&c->arena, &m->value, texts, err)) return false;
        *m = root.map.items[--root.map.n], i--;
    }
    return json_options_set(rows, &c->arena, &root, tool, err);
}

static bool call_export(ToolCall *c, Err *err)
{
    Exporting *x = c->exporting = NEW(&c->arena, Exporting);
    x->e = (Export){ .model = c->from, .output = c->to };
    if (!tool_path(c->from, "a model folder", err) || !tool_path(c->to, "a folder to write", err) ||
        !tool_options(c, export_options, x, &x->texts, err) ||
        !exporting_run(&c->arena, x, err))
        return false;
    c->report = exporting_json(&c->arena, x);
    return true;
}

static bool call_quantize(ToolCall *c, Err *err)
{
    Quantizing z = { .model = c->from, .output = c->to };
    if (!tool_path(c->from, "a model folder or an .onnx", err) ||
        !tool_options(c, quantize_options, &z, NULL, err) ||
        !quantizing_run(&c->arena, &z, err))
        return false;
    c->report = quantizing_json(&c->arena, &z);
    return true;
}

static bool call_verify(ToolCall *c, Err *err)
{
    Verifying v = { .path = c->from };
    if (!tool_path(c->from, "a model folder or an .onnx", err) ||
        !tool_options(c, verify_options, &v, &v.texts, err) ||
        !verifying_run(&c->arena, &v, err))
        return false;
    c->report = v.report;
    return true;
}

static bool call_validate(ToolCall *c, Err *err)
{
    Validating v = { .path = c->from };
    if (!tool_path(c->from, "a model folder or an .onnx", err) ||
        !tool_options(c, validate_options, &v, NULL, err) ||
        !validating_run(&c->arena, &v, err))
        return false;
    c->report = v.report;
    return true;
}

static bool call_compare(ToolCall *c, Err *err)
{
    return tool_path(c->from, "an .onnx", err) && tool_path(c->to, "an .onnx", err) &&
           hierarchy_compare(&c->arena, c->from, c->to, &c->report, err);
}

static bool call_explore(ToolCall *c, Err *err)
{
    Exploring x = { .path = c->from };
    if (!tool_path(c->from, "a model folder, an .onnx or a package", err) ||
        !tool_options(c, explore_options, &x, NULL, err) ||
        (c->to && !hub_path(&c->arena, c->to, HUB_MODEL, &x.other, err)) || !exploring_run(&c->arena, &x, err))
        return false;
    c->text = string_new(x.json, err);
    return c->text != NULL;
}

static bool call_metadata(ToolCall *c, Err *err)
{
    HfMetadata m;
    if (!tool_path(c->from, "an .onnx", err) || !hf_metadata_usable(&c->arena, c->from, &m, err))
        return false;
    c->report = hf_metadata_value(&c->arena, &m);
    return true;
}

/* The report now: what its strings lie in is closed before it is given. */
static bool tool_report(ToolCall *c, const Value *report, Err *err)
{
    Buf text = { .arena = &c->arena };
    json_write_pretty(&text, report);
    c->text = string_new(buf_view(&text), err);
    return c->text != NULL;
}

static bool call_build(ToolCall *c, Err *err)
{
    BuildConfig config = { 0 };
    BuildReport built;
    bool yaml = c->from && build_is_yaml(c->from);
    if (!tool_path(c->from, "a YAML or a model", err) || (yaml && !build_read(&c->arena, c->from, &config, err)))
        return false;
    if (!yaml) config.folder = c->from;
    if (!tool_options(c, build_options, &config, NULL, err)) return false;
    if (c->to) config.output_path = c->to;
    if (!build_run(&c->arena, &config, &built, err)) return false;
    Value report = build_json(&c->arena, &built);
    bool ok = tool_report(c, &report, err);
    model_close(built.model);
    return ok;
}

static bool call_inspect(ToolCall *c, Err *err)
{
    Inspecting i = { 0 };
    Model *m;
    if (!tool_path(c->from, "a package or a model folder", err) ||
        !tool_options(c, inspect_options, &i, NULL, err) || !model_open_with(c->from, &i.open, &m, err))
        return false;
    Value report = inspecting_json(&c->arena, &i, m);
    bool ok = inspecting_verify(&i, m, err) && tool_report(c, &report, err);
    model_close(m);
    return ok;
}

static bool call_analyze(ToolCall *c, Err *err)
{
    Analyzing a = { .path = c->from };
    if (!tool_path(c->from, "an .onnx", err) || !tool_options(c, analyze_options, &a, NULL, err) ||
        !analyzing_run(&c->arena, &a, err))
        return false;
    bool ok = tool_report(c, &a.report, err);
    analyzing_close(&a);
    return ok;
}

static bool call_add_config(ToolCall *c, Err *err)
{
    static const Option none[] = { { 0 } };
    AddConfig a = { .onnx = c->from, .model = c->to };
    if (!tool_path(c->from, "an .onnx", err) || !tool_path(c->to, "the model's folder", err) ||
        !tool_options(c, none, &a, NULL, err))
        return false;
    bool ok = add_config_files(&c->arena, &a, err);
    Value report = ok ? add_config_json(&c->arena, &a) : value_null();
    ok = ok && tool_report(c, &report, err);
    add_config_close(&a);
    return ok;
}

/* The second word of the command is a key here: it may be left out. */
static const Option embed_model[] = {
    { "model", 0, "DIR", "the model's folder; default: that of the .onnx", TAKES_PATH,
      OPTION_FIELD_OF(EmbeddingMetadata, model) },
};

static bool call_embed_metadata(ToolCall *c, Err *err)
{
    Option rows[32];
    size_t n = 0;
    EmbeddingMetadata x = { .onnx = c->from };
    rows[n++] = embed_model[0];
    for (const Option *o = embed_metadata_options; o->name && n + 1 < COUNT(rows); o++) rows[n++] = *o;
    rows[n] = (Option){ 0 };
    if (!tool_path(c->from, "an .onnx", err) || !tool_options(c, rows, &x, NULL, err) ||
        !embedding_metadata_run(&c->arena, &x, err))
        return false;
    c->report = embedding_metadata_json(&c->arena, &x);
    return true;
}

char *ef_export(const char *model_dir, const char *out_dir, const char *options, ef_error *err)
{
    return tool_call(&(ToolCall){ call_export, model_dir, out_dir, options }, err);
}

char *ef_build(const char *model, const char *out, const char *options, ef_error *err)
{
    return tool_call(&(ToolCall){ call_build, model, out, options }, err);
}

char *ef_quantize(const char *model, const char *out, const char *options, ef_error *err)
{
    return tool_call(&(ToolCall){ call_quantize, model, out, options }, err);
}

char *ef_verify(const char *model, const char *options, ef_error *err)
{
    return tool_call(&(ToolCall){ call_verify, model, NULL, options }, err);
}

char *ef_validate(const char *model, const char *options, ef_error *err)
{
    return tool_call(&(ToolCall){ call_validate, model, NULL, options }, err);
}

char *ef_compare(const char *onnx, const char *other_onnx, ef_error *err)
{
    return tool_call(&(ToolCall){ call_compare, onnx, other_onnx }, err);
}

char *ef_metadata(const char *onnx, ef_error *err)
{
    return tool_call(&(ToolCall){ call_metadata, onnx }, err);
}

char *ef_inspect(const char *model, const char *options, ef_error *err)
{
    return tool_call(&(ToolCall){ call_inspect, model, NULL, options }, err);
}

char *ef_analyze(const char *onnx, const char *options, ef_error *err)
{
    return tool_call(&(ToolCall){ call_analyze, onnx, NULL, options }, err);
}

char *ef_add_config(const char *onnx, const char *model_dir, const char *options, ef_error *err)
{
    return tool_call(&(ToolCall){ call_add_config, onnx, model_dir, options }, err);
}

char *ef_embed_metadata(const char *onnx, const char *options, ef_error *err)
{
    return tool_call(&(ToolCall){ call_embed_metadata, onnx, NULL, options }, err);
}

char *ef_explore(const char *model, const char *other, const char *options, ef_error *err)
{
    return tool_call(&(ToolCall){ call_explore, model, other, options }, err);
}
