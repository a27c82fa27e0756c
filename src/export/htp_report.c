/* SPDX-License-Identifier: Apache-2.0
 * htp_report.c - an export for people: Markdown to keep, and the verbose console. */
#include "htp_report.h"

#include <stdlib.h>

enum { TOP = 20, CONSOLE_LINES = 30 };

const char *htp_thousands(Arena *arena, uint64_t n)
{
    char plain[24], out[32];
    int digits = snprintf(plain, sizeof plain, "%llu", (unsigned long long)n), at = 0;
    for (int i = 0; i < digits; i++) {
        if (i && (digits - i) % 3 == 0) out[at++] = ',';
        out[at++] = plain[i];
    }
    return str_dup(arena, (Str){ out, (size_t)at });
}

const char *htp_short(Arena *arena, uint64_t n)
{
    static const struct { double size; const char *letter; } units[] = {
        { 1e9, "B" }, { 1e6, "M" }, { 1e3, "K" },
    };
    for (size_t i = 0; i < COUNT(units); i++)
        if ((double)n >= units[i].size)
            return str_format(arena, "%.1f%s", (double)n / units[i].size, units[i].letter);
    return str_format(arena, "%llu", (unsigned long long)n);
}

/* ---- trees ---- */
typedef struct Tree {
    Buf *out;
    const Htp *h;
    bool nodes;             /* how many each has, and the operators of the last ones */
    int lines, most;        /* most 0: all */
} Tree;

static int htp_report_number_of(Str segment)
{
    int64_t n;
    const char *dot = segment.n ? memrchr(segment.p, '.', segment.n) : NULL;
    Str digits = { dot ? dot + 1 : NULL, dot ? segment.n - (size_t)(dot + 1 - segment.p) : 0 };
    return dot && str_int(digits, &n) && n >= 0 && n < 1 << 24 ? (int)n : 1 << 24;
}

typedef struct Child {
    int module, number;
} Child;

/* Numbers before names; names in the order they ran. */
static int by_number(const void *a, const void *b)
{
    const Child *x = a, *y = b;
    return x->number != y->number ? x->number - y->number : x->module - y->module;
}

static int children_of(const Htp *h, int at, Child **out)
{
    int n = 0;
    *out = ARRAY(h->arena, Child, h->n_module - at);
    for (int i = at + 1; i < h->n_module; i++)
        if (h->module[i].parent == at)
            (*out)[n++] = (Child){ i, htp_report_number_of(htp_last(h->module[i].tag)) };
    qsort(*out, (size_t)n, sizeof **out, by_number);
    return n;
}

static bool tree_full(Tree *t)
{
    return t->most && t->lines >= t->most;
}

static void tree_line(Tree *t, const char *indent, bool last, Str text)
{
    if (!tree_full(t))
        buf_printf(t->out, "%s%s%.*s\n", indent, last ? "└── " : "├── ", STR_ARG(text));
    t->lines++;
}

typedef struct OpTally {
    Str op, first;
    int count;
} OpTally;

/* The operators of a module that has no modules in it. */
static void tree_operators(Tree *t, int module, const char *indent)
{
    const OnnxGraph *g = t->h->graph;
    OpTally *tally = ARRAY(t->h->arena, OpTally, t->h->module[module].direct + 1);
    int n = 0;
    for (int i = 0; i < g->n_node; i++) {
        if (t->h->owner[i] != module) continue;
        int k = 0;
        while (k < n && !str_eq(tally[k].op, g->node[i].op)) k++;
        if (k == n) tally[n++] = (OpTally){ g->node[i].op, g->node[i].name, 0 };
        tally[k].count++;
    }
    for (int k = 0; k < n; k++) {
        const char *text = tally[k].count == 1
            ? str_format(t->h->arena, "%.*s: %.*s", STR_ARG(tally[k].op), STR_ARG(tally[k].first))
            : str_format(t->h->arena, "%.*s (%d ops)", STR_ARG(tally[k].op), tally[k].count);
        tree_line(t, indent, k == n - 1, str_of(text));
    }
}

static const char *module_line(const Tree *t, const HtpModule *m)
{
    Str name = htp_class(m);
    if (!t->nodes) return str_format(t->h->arena, "%.*s: %.*s", STR_ARG(name), STR_ARG(m->scope));
    return str_format(t->h->arena, "%.*s: %.*s (%d nodes)", STR_ARG(name), STR_ARG(m->scope),
                      m->total);
}

static void htp_report_tree_inside(Tree *t, int module, const char *indent)
{
    Child *child;
    int n = children_of(t->h, module, &child);
    for (int i = 0; i < n; i++) {
        bool last = i == n - 1;
        const char *deeper = str_format(t->h->arena, "%s%s", indent, last ? "    " : "│   ");
        tree_line(t, indent, last, str_of(module_line(t, &t->h->module[child[i].module])));
        htp_report_tree_inside(t, child[i].module, deeper);
    }
    if (!n && t->nodes && module) tree_operators(t, module, indent);
}

static void put_tree(Buf *out, const Htp *h, bool nodes, int most)
{
    Tree t = { out, h, nodes, 1, most };
    Str name = htp_class(&h->module[0]);
    buf_printf(out, "%.*s", STR_ARG(name));
    if (nodes) buf_printf(out, " (%d nodes)", h->module[0].total);
    buf_char(out, '\n');
    htp_report_tree_inside(&t, 0, "");
    if (most && t.lines > most) buf_printf(out, "... and %d more lines\n", t.lines - most);
}

/* ---- Markdown ---- */
static void step_title(Buf *b, const HtpRun *r, HtpStep step, const char *title)
{
    buf_printf(b, "\n### ✅ Step %d/6: %s\n\n", step + 1, title);
    if (r->took[step] > 0) buf_printf(b, "- **Time**: %.2f ms\n", 1e3 * r->took[step]);
}

static void put_shape(Buf *b, const OnnxValue *v)
{
    buf_char(b, '[');
    for (int i = 0; i < v->rank; i++) {
        if (i) buf_puts(b, ", ");
        if (v->dim[i] >= 0) buf_printf(b, "%lld", (long long)v->dim[i]);
        else buf_str(b, v->symbol[i].n ? v->symbol[i] : STR("?"));
    }
    buf_char(b, ']');
}

static void put_inputs(Buf *b, const OnnxGraph *g)
{
    buf_puts(b, "\n| Input Name | Shape | Data Type |\n|---|---|---|\n");
    for (int i = 0; i < g->n_in; i++) {
        buf_printf(b, "| %.*s | ", STR_ARG(g->in[i].name));
        put_shape(b, &g->in[i]);
        buf_printf(b, " | %s |\n", dtype_name(g->in[i].type));
    }
}

static void put_details(Buf *b, const char *title, const Htp *h, bool nodes)
{
    buf_printf(b, "\n#### %s\n\n<details>\n<summary>%d modules</summary>\n\n```\n", title,
               h->n_module);
    put_tree(b, h, nodes, 0);
    buf_puts(b, "```\n\n</details>\n");
}

static double htp_report_share(int part, int of)
{
    return of ? 100.0 * part / of : 0;
}

static void put_outputs(Buf *b, const OnnxGraph *g)
{
    for (int i = 0; i < g->n_out; i++)
        buf_printf(b, "%s%.*s", i ? ", " : "", STR_ARG(g->out[i].name));
}

static void put_matches(Buf *b, const Htp *h)
{
    const HtpMatches *m = &h->matches;
    const struct { const char *name; int count; } rows[] = {
        { "Direct", m->direct }, { "Parent", m->parent }, { "Root", m->root_fallbacks },
    };
    buf_puts(b, "\n| Match Type | Count | Percentage |\n|---|---|---|\n");
    for (size_t i = 0; i < COUNT(rows); i++)
        buf_printf(b, "| %s | %d | %.1f%% |\n", rows[i].name, rows[i].count,
                   htp_report_share(rows[i].count, h->graph->n_node));
    HtpCounts c = htp_counts(h, (Str){ 0 });
    buf_puts(b, "\n#### Top 20 Nodes by Hierarchy\n\n");
    for (int i = 0; i < MIN(c.n, TOP); i++)
        buf_printf(b, "%d. `%.*s`: %d nodes\n", i + 1, STR_ARG(c.item[i].tag), c.item[i].count);
}

static void htp_report_put_process(Buf *b, const HtpRun *r)
{
    const Htp *h = r->htp;
    const Export *e = r->e;
    Arena *arena = h->arena;
    buf_puts(b, "\n## Export Process\n");
    step_title(b, r, STEP_PREPARE, "Model Preparation");
    buf_printf(b, "- **Model Class**: %s\n- **Total Modules**: %d\n"
               "- **Total Parameters**: %s (%s)\n", e->class_name, r->total_modules,
               htp_thousands(arena, e->parameters), htp_short(arena, e->parameters));
    step_title(b, r, STEP_INPUTS, "Input Generation");
    buf_printf(b, "- **Model Type**: %s\n- **Task**: %s\n", e->model_type, e->task_name);
    put_inputs(b, h->graph);
    step_title(b, r, STEP_HIERARCHY, "Hierarchy Building");
    buf_printf(b, "- **Modules Traced**: %d\n- **Execution Steps**: %d\n", h->n_module,
               2 * h->n_module);
    put_details(b, "Module Hierarchy Preview", h, false);
    step_title(b, r, STEP_ONNX, "ONNX Export");
    buf_printf(b, "- **Opset Version**: %d\n- **Constant Folding**: yes\n"
               "- **Model Size**: %.2f MB\n- **Output Names**: ", e->opset,
               (double)r->onnx_size / (1 << 20));
    put_outputs(b, h->graph);
    buf_char(b, '\n');
    step_title(b, r, STEP_TAGGING, "Node Tagging");
    buf_printf(b, "- **Coverage**: %.1f%%\n- **Tagged Nodes**: %d/%d\n- **Empty Tags**: %d\n",
               htp_coverage(h), h->tagged, h->graph->n_node, h->graph->n_node - h->tagged);
    put_matches(b, h);
    put_details(b, "Complete HF Hierarchy with ONNX Nodes", h, true);
    step_title(b, r, STEP_INJECTION, "Tag Injection");
    buf_printf(b, "- **Tags**: %s\n", e->clean ? "Stripped (clean ONNX)"
                                               : "Embedded in the nodes' metadata_props");
}

static void put_modules(Buf *b, const Htp *h)
{
    buf_puts(b, "\n## Module Hierarchy\n\n### Module List (Sorted by Execution Order)\n\n"
                "| Execution Order | Class Name | Nodes (direct/total) | Tag | Scope |\n"
                "|---|---|---|---|---|\n");
    for (int i = 0; i < h->n_module; i++) {
        const HtpModule *m = &h->module[i];
        Str name = htp_class(m), scope = m->scope.n ? m->scope : STR("[ROOT]");
        buf_printf(b, "| %d | %.*s | %d/%d | `%.*s` | %.*s |\n", i, STR_ARG(name), m->direct,
                   m->total, STR_ARG(m->tag), STR_ARG(scope));
    }
}

static int htp_report_by_name(const void *a, const void *b)
{
    return str_cmp(a, b);
}

static void put_mappings(Buf *b, const Htp *h)
{
    int n = h->graph->n_node;
    Str *line = ARRAY(h->arena, Str, n + 1);
    for (int i = 0; i < n; i++)
        line[i] = str_of(str_format(h->arena, "%.*s -> %.*s", STR_ARG(h->graph->node[i].name),
                                    STR_ARG(h->tag[i])));
    qsort(line, (size_t)n, sizeof *line, htp_report_by_name);
    buf_puts(b, "\n## Complete Node Mappings\n\n```\n");
    for (int i = 0; i < n; i++) buf_printf(b, "%.*s\n", STR_ARG(line[i]));
    buf_puts(b, "```\n");
}

static void put_summary(Buf *b, const HtpRun *r)
{
    const Htp *h = r->htp;
    Str onnx = path_name(r->e->onnx);
    buf_printf(b, "\n## Export Summary\n\n### Performance Metrics\n\n- **Total Time**: %.3f s\n",
               r->seconds);
    buf_printf(b, "\n### Coverage Statistics\n\n- **Hierarchy Modules**: %d\n"
               "- **Traced Modules**: %d/%d\n- **ONNX Nodes**: %d\n"
               "- **Tagged Nodes**: %d (%.1f%%)\n- **Empty Tags**: %d\n",
               r->total_modules, h->n_module, r->total_modules, h->graph->n_node, h->tagged,
               htp_coverage(h), h->graph->n_node - h->tagged);
    buf_printf(b, "\n### Output Files\n\n- **ONNX Model**: %.*s\n- **Metadata**: %s\n",
               STR_ARG(onnx), r->e->sidecar);
    if (r->report) buf_printf(b, "- **Report**: %s\n", r->report);
    buf_printf(b, "\n---\n*Written by encoderfile %s*\n", EF_VERSION);
}

void htp_markdown(Buf *b, const HtpRun *r)
{
    buf_printf(b, "# HTP ONNX Export Report\n\n**Generated**: %.*s\n\n**Model**: %s\n\n"
               "**Output**: %s\n\n**Strategy**: HTP\n\n**Export Time**: %.3f s\n",
               STR_ARG(r->started), r->e->model, r->e->onnx, r->seconds);
    htp_report_put_process(b, r);
    put_modules(b, r->htp);
    put_mappings(b, r->htp);
    put_summary(b, r);
}

/* ---- console ---- */
#define RULE "================================================================================\n"

static void console_inputs(Buf *b, const HtpRun *r)
{
    const OnnxGraph *g = r->htp->graph;
    buf_printf(b, "Model type: %s, task: %s\n", r->e->model_type, r->e->task_name);
    for (int i = 0; i < g->n_in; i++) {
        buf_printf(b, "  %.*s: ", STR_ARG(g->in[i].name));
        put_shape(b, &g->in[i]);
        buf_printf(b, " (%s)\n", dtype_name(g->in[i].type));
    }
}

static void console_tagging(Buf *b, const HtpRun *r)
{
    const Htp *h = r->htp;
    const HtpMatches *m = &h->matches;
    int n = h->graph->n_node;
    HtpCounts c = htp_counts(h, (Str){ 0 });
    buf_printf(b,
               "Coverage: %.1f%%\nTagged: %d/%d\n  Direct: %d (%.1f%%)\n  Parent: %d (%.1f%%)\n"
               "  Root: %d (%.1f%%)\nEmpty tags: %d\nTop %d tags:\n",
               htp_coverage(h), h->tagged, n, m->direct, htp_report_share(m->direct, n), m->parent,
               htp_report_share(m->parent, n), m->root_fallbacks,
               htp_report_share(m->root_fallbacks, n), n - h->tagged, TOP);
    for (int i = 0; i < MIN(c.n, TOP); i++)
        buf_printf(b, "  %3d  %.*s\n", c.item[i].count, STR_ARG(c.item[i].tag));
    put_tree(b, h, true, CONSOLE_LINES);
}

static void console_prepare(Buf *b, const HtpRun *r)
{
    const Export *e = r->e;
    Arena arena = { 0 };
    buf_printf(b, "Model: %s (%s parameters)\nTarget: %s\n", e->class_name,
               htp_short(&arena, e->parameters), e->onnx);
    arena_free(&arena);
}

static void console_hierarchy(Buf *b, const HtpRun *r)
{
    buf_printf(b, "Traced modules: %d, execution steps: %d\n", r->htp->n_module,
               2 * r->htp->n_module);
    put_tree(b, r->htp, false, CONSOLE_LINES);
}

static void console_onnx(Buf *b, const HtpRun *r)
{
    buf_printf(b, "Opset: %d, constant folding: yes, size: %.2f MB, outputs: ", r->e->opset,
               (double)r->onnx_size / (1 << 20));
    put_outputs(b, r->htp->graph);
    buf_char(b, '\n');
}

static void console_injection(Buf *b, const HtpRun *r)
{
    const Htp *h = r->htp;
    buf_printf(b, "%s\n\nHierarchy modules: %d, traced: %d/%d, ONNX nodes: %d, "
               "tagged: %d (%.1f%%)\n",
               r->e->clean ? "Stripped (clean ONNX)" : "Embedded in the nodes' metadata_props",
               r->total_modules, h->n_module, r->total_modules, h->graph->n_node, h->tagged,
               htp_coverage(h));
}

void htp_console(Buf *b, const HtpRun *r, HtpStep step)
{
    static const struct {
        const char *title;
        void (*put)(Buf *, const HtpRun *);
    } rows[HTP_STEPS] = {
        [STEP_PREPARE] = { "MODEL PREPARATION", console_prepare },
        [STEP_INPUTS] = { "INPUT GENERATION", console_inputs },
        [STEP_HIERARCHY] = { "HIERARCHY BUILDING", console_hierarchy },
        [STEP_ONNX] = { "ONNX EXPORT", console_onnx },
        [STEP_TAGGING] = { "ONNX NODE TAGGING", console_tagging },
        [STEP_INJECTION] = { "TAG INJECTION", console_injection },
    };
    if (step == STEP_PREPARE)
        buf_printf(b, RULE "HTP ONNX EXPORT PROCESS\n" RULE "Export Time: %.*s\nModel: %s\n"
                   "Strategy: HTP\nHierarchy Embedding: %s\n", STR_ARG(r->started), r->e->model,
                   r->e->clean ? "DISABLED" : "ENABLED");
    buf_printf(b, "\nSTEP %d/6: %s\n", step + 1, rows[step].title);
    rows[step].put(b, r);
}
