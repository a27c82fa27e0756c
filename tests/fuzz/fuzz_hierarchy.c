/* SPDX-License-Identifier: Apache-2.0
 * fuzz_hierarchy.c - any hierarchy: lines are nodes (name, tag, namespace and doc_string between
 * tabs), then, behind zero bytes, a sidecar and a config.json. Every node that has a tag has a
 * module, counts add up, and all outputs can be written. */
#include <stdlib.h>

#include "data/json.h"
#include "export/htp.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool ok)
{
    if (!ok) abort();
}

static Str cut(Str *rest, char mark)
{
    const char *at = rest->n ? memchr(rest->p, mark, rest->n) : NULL;
    Str head = { rest->p, at ? (size_t)(at - rest->p) : rest->n };
    size_t used = head.n + (at != NULL);
    rest->p += used, rest->n -= used;
    return head;
}

static void make_nodes(Arena *arena, Str text, OnnxGraph *g)
{
    static const char *const keys[] = { HTP_TAG, "namespace" };
    g->node = ARRAY(arena, OnnxNode, text.n + 1);
    while (text.n) {
        Str line = cut(&text, '\n');
        OnnxNode *n = &g->node[g->n_node++];
        n->name = cut(&line, '\t');
        n->meta = ARRAY(arena, OnnxPair, COUNT(keys));
        for (size_t i = 0; i < COUNT(keys); i++) {
            Str value = cut(&line, '\t');
            if (value.n) n->meta[n->n_meta++] = (OnnxPair){ str_of(keys[i]), value };
        }
        n->doc = line;
    }
}

static void check(const Htp *h)
{
    int total = 0;
    for (int i = 0; i < h->graph->n_node; i++) {
        must((h->tag[i].n > 0) == (h->owner[i] >= 0) && h->owner[i] < h->n_module);
        if (h->tag[i].n) must(str_eq(h->tag[i], h->module[h->owner[i]].tag));
    }
    for (int i = 0; i < h->n_module; i++) {
        must(h->module[i].parent < i && h->module[i].direct <= h->module[i].total);
        total += h->module[i].direct;
    }
    must(total == h->tagged && htp_coverage(h) <= 100);
    must(h->matches.root_nodes + h->matches.scoped_nodes == (h->source ? h->graph->n_node : 0));
}

static void write_all(Arena *arena, const Htp *h, const Value *sidecar)
{
    Buf b = { 0 };
    Value v = htp_analysis(h, "x.onnx", (Str){ 0 });
    json_write(&b, &v);
    v = htp_compare(arena, h, "x", h, "x");
    must(value_int(value_get(value_get(&v, "summary"), "total_differences"), 1) == 0);
    htp_summary(&b, h, "x", STR("a"));
    htp_csv(&b, h, (Str){ 0 });
    if (sidecar) v = htp_consistency(arena, h->graph, sidecar);
    json_write(&b, &v);
    buf_free(&b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    Arena arena = { 0 };
    Err err = { 0 };
    Str rest = { (const char *)data, size }, nodes = cut(&rest, 0), side = cut(&rest, 0);
    Value sidecar, config;
    OnnxGraph g = { 0 };
    Htp h;
    make_nodes(&arena, nodes, &g);
    bool has_side = json_parse(&arena, side, &sidecar, &err);
    bool has_config = json_parse(&arena, rest, &config, &err);
    HtpHints hints = { has_side ? &sidecar : NULL, has_config ? &config : NULL };
    htp_read(&arena, &g, &hints, &h);
    check(&h);
    write_all(&arena, &h, hints.sidecar);
    arena_free(&arena);
    return 0;
}
