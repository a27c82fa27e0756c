/* SPDX-License-Identifier: Apache-2.0
 * htp_analysis.c - how many nodes each tag has; two files beside each other; a file beside its
 * sidecar. The keys are those of the Python exporter's analysis, and a few more. */
#include "htp.h"

#include <stdlib.h>

enum { TOP = 5 };

static bool str_contains(Str text, Str part)
{
    return !part.n || (text.n && memmem(text.p, text.n, part.p, part.n));
}

static int most_first(const void *a, const void *b)
{
    const HtpCount *x = a, *y = b;
    return x->count != y->count ? y->count - x->count : str_cmp(&x->tag, &y->tag);
}

HtpCounts htp_counts(const Htp *h, Str filter)
{
    HtpCounts c = { ARRAY(h->arena, HtpCount, h->graph->n_node + 1), 0, 0 };
    Map index = { 0 };
    for (int i = 0; i < h->graph->n_node; i++) {
        if (!h->tag[i].n || !str_contains(h->tag[i], filter)) continue;
        HtpCount *known = map_get(&index, h->tag[i]);
        if (!known) {
            known = &c.item[c.n++];
            known->tag = h->tag[i];
            map_put(&index, h->arena, h->tag[i], known);
        }
        known->count++;
        c.nodes++;
    }
    qsort(c.item, (size_t)c.n, sizeof *c.item, most_first);
    return c;
}

static Value counts_map(Arena *arena, const HtpCounts *c)
{
    Value map = value_map(arena, (size_t)c->n);
    for (int i = 0; i < c->n; i++)
        value_add(&map, str_dup(arena, c->item[i].tag), value_of_int(c->item[i].count));
    return map;
}

/* Nodes without a name are told apart by their number. */
static const char *htp_analysis_node_key(const Htp *h, int i)
{
    Str name = h->graph->node[i].name;
    return name.n ? str_dup(h->arena, name) : str_format(h->arena, "node_%d", i);
}

static Value modules_list(const Htp *h, Str filter)
{
    size_t n = 0;
    Value list = value_list(h->arena, (size_t)h->n_module);
    for (int i = 0; i < h->n_module; i++) {
        const HtpModule *m = &h->module[i];
        if (!str_contains(m->tag, filter)) continue;
        Value one = value_map(h->arena, 4);
        value_add(&one, "tag", value_of_str(m->tag));
        value_add(&one, "scope", value_of_str(m->scope));
        value_add(&one, "direct_nodes", value_of_int(m->direct));
        value_add(&one, "total_nodes", value_of_int(m->total));
        list.list.items[n++] = one;
    }
    list.list.n = n;
    return list;
}

Value htp_analysis(const Htp *h, const char *path, Str filter)
{
    HtpCounts c = htp_counts(h, filter);
    Value v = value_map(h->arena, 6 + HTP_MORE), info = value_map(h->arena, 3);
    Value stats = value_map(h->arena, 3);
    Value nodes = value_map(h->arena, (size_t)c.nodes);
    value_add(&info, "path", value_of_str(str_of(path)));
    value_add(&info, "total_nodes", value_of_int(h->graph->n_node));
    value_add(&info, "tag_source", value_of_str(str_of(htp_source_name[h->source])));
    value_add(&stats, "unique_tags", value_of_int(c.n));
    value_add(&stats, "tagged_operations", value_of_int(c.nodes));
    value_add(&stats, "coverage", value_of_float(htp_coverage(h)));
    for (int i = 0; i < h->graph->n_node; i++)
        if (h->tag[i].n && str_contains(h->tag[i], filter))
            value_add(&nodes, htp_analysis_node_key(h, i), value_of_str(h->tag[i]));
    value_add(&v, "model_info", info);
    value_add(&v, "statistics", stats);
    value_add(&v, "hierarchy_tags", counts_map(h->arena, &c));
    value_add(&v, "node_tags", nodes);
    value_add(&v, "modules", modules_list(h, filter));
    value_add(&v, "version", value_of_str(STR("1.0")));
    return v;
}

void htp_summary(Buf *b, const Htp *h, const char *path, Str filter)
{
    HtpCounts c = htp_counts(h, filter);
    buf_printf(b, "Hierarchy Analysis Summary\nModel: %s\nTags from: %s\nTotal unique tags: %d\n"
               "Total tagged operations: %d\nTag coverage: %.1f%%\nTotal nodes processed: %d\n",
               path, htp_source_name[h->source], c.n, c.nodes, htp_coverage(h), h->graph->n_node);
    buf_puts(b, c.n ? "Tag distribution:\n" : "No tags found\n");
    for (int i = 0; i < MIN(c.n, TOP); i++)
        buf_printf(b, "  %.*s: %d\n", STR_ARG(c.item[i].tag), c.item[i].count);
    if (c.n > TOP) buf_printf(b, "  and %d more\n", c.n - TOP);
}

static void csv_field(Buf *b, Str s)
{
    buf_char(b, '"');
    for (size_t i = 0; i < s.n; i++) {
        if (s.p[i] == '"') buf_char(b, '"');
        buf_char(b, s.p[i]);
    }
    buf_char(b, '"');
}

void htp_csv(Buf *b, const Htp *h, Str filter)
{
    HtpCounts c = htp_counts(h, filter);
    buf_puts(b, "Tag,Count\n");
    if (!c.n) buf_puts(b, "\"No tags found\",0\n");
    for (int i = 0; i < c.n; i++) {
        csv_field(b, c.item[i].tag);
        buf_printf(b, ",%d\n", c.item[i].count);
    }
}

/* ---- two files ---- */
typedef struct Pair {
    Str tag;
    int count[2];
} Pair;

static int by_difference(const void *a, const void *b)
{
    const Pair *x = a, *y = b;
    int dx = abs(x->count[0] - x->count[1]), dy = abs(y->count[0] - y->count[1]);
    return dx != dy ? dy - dx : str_cmp(&x->tag, &y->tag);
}

static int merge_counts(Arena *arena, const HtpCounts *c, Pair *pair)
{
    Map index = { 0 };
    int n = 0;
    for (int side = 0; side < 2; side++)
        for (int i = 0; i < c[side].n; i++) {
            Pair *p = map_get(&index, c[side].item[i].tag);
            if (!p) {
                p = &pair[n++];
                p->tag = c[side].item[i].tag;
                map_put(&index, arena, p->tag, p);
            }
            p->count[side] = c[side].item[i].count;
        }
    qsort(pair, (size_t)n, sizeof *pair, by_difference);
    return n;
}

static Value htp_analysis_differences(Arena *arena, const Pair *pair, int n)
{
    Value list = value_list(arena, (size_t)n);
    size_t k = 0;
    for (int i = 0; i < n; i++) {
        const Pair *p = &pair[i];
        if (p->count[0] == p->count[1]) continue;
        Value one = value_map(arena, 4);
        value_add(&one, "tag", value_of_str(p->tag));
        value_add(&one, "model1_count", value_of_int(p->count[0]));
        value_add(&one, "model2_count", value_of_int(p->count[1]));
        value_add(&one, "difference", value_of_int(p->count[1] - p->count[0]));
        list.list.items[k++] = one;
    }
    list.list.n = k;
    return list;
}

static Value only_in(Arena *arena, const Pair *pair, int n, int side)
{
    Value list = value_list(arena, (size_t)n);
    size_t k = 0;
    for (int i = 0; i < n; i++)
        if (!pair[i].count[!side]) list.list.items[k++] = value_of_str(pair[i].tag);
    list.list.n = k;
    return list;
}

Value htp_compare(Arena *arena, const Htp *a, const char *a_path, const Htp *b, const char *b_path)
{
    HtpCounts c[] = { htp_counts(a, (Str){ 0 }), htp_counts(b, (Str){ 0 }) };
    Pair *pair = ARRAY(arena, Pair, c[0].n + c[1].n + 1);
    int n = merge_counts(arena, c, pair);
    Value v = value_map(arena, 6), sum = value_map(arena, 4);
    Value found = htp_analysis_differences(arena, pair, n);
    value_add(&sum, "total_differences", value_of_int((int64_t)found.list.n));
    value_add(&sum, "model1_unique_tags", value_of_int(c[0].n));
    value_add(&sum, "model2_unique_tags", value_of_int(c[1].n));
    value_add(&v, "model1_path", value_of_str(str_of(a_path)));
    value_add(&v, "model2_path", value_of_str(str_of(b_path)));
    value_add(&v, "tag_differences", found);
    value_add(&v, "model1_only_tags", only_in(arena, pair, n, 0));
    value_add(&v, "model2_only_tags", only_in(arena, pair, n, 1));
    value_add(&v, "summary", sum);
    return v;
}

/* ---- a file and its sidecar ---- */
typedef struct Consistency {
    Arena *arena;
    Map in_file;           /* node to its tag */
    Map in_sidecar;
    Value mismatch, file_only, sidecar_only;
    size_t n_mismatch, n_file_only, n_sidecar_only, room;
    int sidecar_nodes;
} Consistency;

static void count_one(void *context, Str node, Str tag)
{
    (void)node, (void)tag;
    ++*(size_t *)context;
}

static Value one_tag(Arena *arena, Str tag)
{
    Value list = value_list(arena, 1);
    list.list.items[0] = value_of_str(tag);
    return list;
}

static void compare_one(void *context, Str node, Str tag)
{
    Consistency *c = context;
    const Str *own = map_get(&c->in_file, node);
    c->sidecar_nodes++;
    map_put(&c->in_sidecar, c->arena, node, c);
    if (!own) c->sidecar_only.list.items[c->n_sidecar_only++] = value_of_str(node);
    if (!own || !own->n || str_eq(*own, tag)) return;
    Value one = value_map(c->arena, 3);
    value_add(&one, "node", value_of_str(node));
    value_add(&one, "onnx_tags", one_tag(c->arena, *own));
    value_add(&one, "sidecar_tags", one_tag(c->arena, tag));
    c->mismatch.list.items[c->n_mismatch++] = one;
}

/* Nodes of the file: with tags, or without where the file is clean. */
static int note_nodes(Consistency *c, const OnnxGraph *g)
{
    int tagged = 0;
    for (int i = 0; i < g->n_node; i++) {
        HtpSource ignored;
        Str *tag = NEW(c->arena, Str);
        *tag = htp_node_tag(c->arena, &g->node[i], &ignored);
        tagged += tag->n > 0;
        map_put(&c->in_file, c->arena, g->node[i].name, tag);
    }
    return tagged;
}

Value htp_consistency(Arena *arena, const OnnxGraph *g, const Value *sidecar)
{
    Consistency c = { .arena = arena };
    size_t listed = 0;
    htp_sidecar_tags(sidecar, count_one, &listed);
    c.mismatch = value_list(arena, listed), c.sidecar_only = value_list(arena, listed);
    c.file_only = value_list(arena, (size_t)g->n_node);
    int tagged = note_nodes(&c, g);
    htp_sidecar_tags(sidecar, compare_one, &c);
    for (int i = 0; i < g->n_node; i++)
        if (!map_get(&c.in_sidecar, g->node[i].name))
            c.file_only.list.items[c.n_file_only++] = value_of_str(g->node[i].name);
    c.mismatch.list.n = c.n_mismatch, c.sidecar_only.list.n = c.n_sidecar_only;
    c.file_only.list.n = c.n_file_only;
    Value v = value_map(arena, 8);
    bool same = listed && !c.n_mismatch && !c.n_sidecar_only && !c.n_file_only;
    value_add(&v, "consistent", value_of_bool(same));
    value_add(&v, "total_onnx_nodes", value_of_int(g->n_node));
    value_add(&v, "tagged_onnx_nodes", value_of_int(tagged));
    value_add(&v, "total_sidecar_nodes", value_of_int(c.sidecar_nodes));
    value_add(&v, "tag_mismatches", c.mismatch);
    value_add(&v, "onnx_only_nodes", c.file_only);
    value_add(&v, "sidecar_only_nodes", c.sidecar_only);
    if (!listed) value_add(&v, "error", value_of_str(STR("the sidecar names no node")));
    return v;
}
