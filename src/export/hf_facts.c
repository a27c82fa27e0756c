/* SPDX-License-Identifier: Apache-2.0
 * hf_facts.c - hf_pipeline_config and hf_export_config: what was done to a graph, as the graph
 * itself tells. Whoever rewrites a file calls hf_metadata_refresh, so that they stay true. */
#include "data/json.h"
#include "export/hf_parts.h"

static Value hf_facts_number_or_null(int64_t n)
{
    return n == DIM_UNKNOWN ? value_null() : value_of_int(n);
}

/* The first input that is fed; NULL: none. */
static const OnnxValue *first_input(const OnnxGraph *g)
{
    for (int i = 0; i < g->n_in; i++)
        if (!onnx_is_init(g, g->in[i].name)) return &g->in[i];
    return NULL;
}

/* Sizes of the first input where any is fixed, null for those that are free; else null. */
static Value static_shapes(Arena *arena, const OnnxGraph *g)
{
    const OnnxValue *v = first_input(g);
    bool fixed = false;
    for (int i = 0; v && i < v->rank; i++) fixed |= v->dim[i] != DIM_UNKNOWN;
    if (!fixed) return value_null();
    Value list = value_list(arena, (size_t)v->rank);
    for (int i = 0; i < v->rank; i++) list.list.items[i] = hf_facts_number_or_null(v->dim[i]);
    return list;
}

/* The type that most elements of matrices have. */
static const char *weight_type(const OnnxGraph *g)
{
    static const struct {
        DType type;
        const char *name;
    } rows[] = { { T_F32, "fp32" }, { T_F16, "fp16" }, { T_BF16, "bf16" }, { T_I8, "int8" },
                 { T_U8, "int8" } };
    uint64_t count[COUNT(rows)] = { 0 };
    size_t best = 0;
    for (int i = 0; i < g->n_init; i++)
        for (size_t k = 0; k < COUNT(rows); k++)
            if (g->init[i].t.type == rows[k].type && g->init[i].t.rank > 1)
                count[k] += (uint64_t)tensor_count(&g->init[i].t);
    for (size_t k = 1; k < COUNT(rows); k++)
        if (count[k] > count[best]) best = k;
    return rows[best].name;
}

static bool has_operator(const OnnxGraph *g, const char *name)
{
    for (int i = 0; i < g->n_node; i++)
        if (str_is(g->node[i].op, name)) return true;
    return false;
}

static Value hf_facts_quantization(const OnnxGraph *g)
{
    if (has_operator(g, "DynamicQuantizeLinear")) return value_of_str(STR("dynamic"));
    bool fixed = has_operator(g, "QuantizeLinear") || has_operator(g, "DequantizeLinear") ||
                 has_operator(g, "QLinearMatMul");
    return fixed ? value_of_str(STR("static")) : value_null();
}

/* As `export --optimize` counts: ONNX Runtime's own operators are level 2. */
static int level_of(const OnnxGraph *g)
{
    for (int i = 0; i < g->n_node; i++)
        if (str_is(g->node[i].domain, "com.microsoft")) return 2;
    return 1;
}

static bool is_external(const OnnxGraph *g)
{
    for (int i = 0; i < g->n_init; i++)
        if (g->init[i].location.n) return true;
    return false;
}

static bool is_tagged(const OnnxGraph *g)
{
    for (int i = 0; i < g->n_node; i++)
        for (int k = 0; k < g->node[i].n_meta; k++)
            if (str_is(g->node[i].meta[k].key, "hierarchy_tag")) return true;
    return false;
}

Value hf_pipeline_config(Arena *arena, const OnnxModel *m)
{
    const OnnxValue *v = first_input(&m->graph);
    Value out = value_map(arena, 5);
    bool tokens = v && v->rank == 2;
    value_add(&out, "framework", value_of_str(STR("onnx")));
    value_add(&out, "device", value_of_str(STR("cpu")));
    value_add(&out, "batch_size",
              v && v->rank > 0 ? hf_facts_number_or_null(v->dim[0]) : value_null());
    value_add(&out, "sequence_length", tokens ? hf_facts_number_or_null(v->dim[1]) : value_null());
    value_add(&out, "num_threads", value_null()); /* nothing in a graph says how many */
    return out;
}

Value hf_export_config(Arena *arena, const OnnxModel *m, HfDone done)
{
    const OnnxGraph *g = &m->graph;
    Value out = value_map(arena, 7);
    value_add(&out, "opset_version", value_of_int(onnx_opset(m)));
    value_add(&out, "optimization_level", value_of_int(done.level ? done.level : level_of(g)));
    value_add(&out, "dtype", value_of_str(str_of(weight_type(g))));
    value_add(&out, "quantization", hf_facts_quantization(g));
    value_add(&out, "static_shapes", static_shapes(arena, g));
    value_add(&out, "use_external_data", value_of_bool(done.external || is_external(g)));
    value_add(&out, "hierarchy_tags_enabled", value_of_bool(is_tagged(g)));
    return out;
}

/* ---- after a rewrite ---- */

static Str json_text(Arena *arena, const Value *v)
{
    Buf b = { 0 };
    json_write(&b, v);
    Str text = { str_dup(arena, buf_view(&b)), b.n };
    buf_free(&b);
    return text;
}

static void hf_facts_replace(OnnxPair *item, int n, const char *key, Str value)
{
    for (int i = 0; i < n; i++)
        if (str_is(item[i].key, key)) item[i].value = value;
}

static HfDone done_before(Arena *arena, const HfMetadata *m)
{
    Value all = hf_metadata_value(arena, m);
    const Value *level = value_get(value_get(&all, "export_config"), "optimization_level");
    return (HfDone){ .level = (int)value_int(level, 0) };
}

void hf_metadata_refresh(Arena *arena, OnnxModel *m)
{
    HfMetadata old;
    hf_metadata_pairs(arena, m->meta, m->n_meta, &old);
    if (old.state != HF_GOOD || !hf_metadata_get(&old, "hf_export_config").p) return;
    Value pipeline = hf_pipeline_config(arena, m);
    Value export = hf_export_config(arena, m, done_before(arena, &old));
    OnnxPair *meta = ARRAY(arena, OnnxPair, m->n_meta);
    memcpy(meta, m->meta, (size_t)m->n_meta * sizeof *meta);
    const OnnxPair now[] = { { STR("hf_pipeline_config"), json_text(arena, &pipeline) },
                             { STR("hf_export_config"), json_text(arena, &export) } };
    for (size_t i = 0; i < COUNT(now); i++) {
        hf_facts_replace(old.item, old.n, now[i].key.p, now[i].value);
        hf_facts_replace(meta, m->n_meta, now[i].key.p, now[i].value);
    }
    hf_facts_replace(meta, m->n_meta, "hf_checksum", str_of(hf_checksum(arena, old.item, old.n)));
    m->meta = meta;
}
