/* SPDX-License-Identifier: Apache-2.0
 * build_pack.c - a loaded model as the members of a package: what the Rust encoderfile's `inspect` reads (8
 * fields of config.json) and what we start from (optimized graph, panels, tables, facts). The .onnx
 * and the tokenizer.json are left out: the panels are the weights in the order in which they are
 * read, the tables are the vocabulary as it is searched. */
#include "api/build.h"
#include "data/json.h"

/* A count as the Rust encoderfile types it, or null. */
static Value count_or_null(const Value *v)
{
    return v && v->kind == V_INT && v->i >= 0 ? *v : value_null();
}

static Value map_or_null(const Value *v)
{
    return v && v->kind == V_MAP ? *v : value_null();
}

/* label2id's values are integers, or (some exporters) integers as strings; the Rust encoderfile wants the
 * former. */
static Value label2id(Arena *arena, const Value *v)
{
    if (!v || v->kind != V_MAP) return value_null();
    Value out = value_map(arena, v->map.n);
    for (size_t i = 0; i < v->map.n; i++) {
        const Member *m = &v->map.items[i];
        int64_t id = value_int(&m->value, -1);
        if (m->value.kind == V_STR && !str_int(m->value.s, &id)) return value_null();
        if (id < 0) return value_null();
        out.map.items[out.map.n++] = (Member){ m->key, value_of_int(id) };
    }
    return out;
}

/* Labels that config.json does not name: LABEL_0 and so on, as ids to names and names to ids. */
static void number_labels(Arena *arena, const ModelConfig *c, Value *id2label, Value *label2id)
{
    *id2label = value_map(arena, (size_t)c->num_labels);
    *label2id = value_map(arena, (size_t)c->num_labels);
    for (int i = 0; i < c->num_labels; i++) {
        const char *name = str_dup(arena, c->labels[i]);
        value_add(id2label, str_format(arena, "%d", i), value_of_str(str_of(name)));
        value_add(label2id, name, value_of_int(i));
    }
}

Value build_model_config(Arena *arena, const Model *m)
{
    const Value *config = m->config.root;
    Value out = value_map(arena, 8), count = count_or_null(value_get(config, "num_labels"));
    Value names = map_or_null(value_get(config, "id2label"));
    Value ids = label2id(arena, value_get(config, "label2id"));
    if (task_labels(m->task, &m->config) && names.kind == V_NULL && ids.kind == V_NULL) {
        count = value_of_int(m->config.num_labels);
        number_labels(arena, &m->config, &names, &ids);
    }
    value_add(&out, "model_type",
              value_of_str(value_str(value_get(config, "model_type"), STR(""))));
    value_add(&out, "num_labels", count);
    value_add(&out, "id2label", names);
    value_add(&out, "label2id", ids);
    static const char *const counts[] = { "height", "width", "image_size", "num_channels" };
    for (size_t i = 0; i < COUNT(counts); i++)
        value_add(&out, counts[i], count_or_null(value_get(config, counts[i])));
    return out;
}

/* Bytes that outlive the buffer they were written in. */
static Str build_pack_keep(Arena *arena, Buf *b)
{
    Str out = { memcpy(arena_raw(arena, b->n + 1), b->p, b->n), b->n };
    buf_free(b);
    return out;
}

static Str pack_json(Arena *arena, Value v)
{
    Buf b = { 0 };
    json_write(&b, &v);
    return build_pack_keep(arena, &b);
}

static void pack_limits(Arena *arena, const Model *m, Value *facts)
{
    value_add(facts, "max_length", value_of_int(m->encode.max_length));
    if (m->limit_from) value_add(facts, "max_length_from", value_of_text(m->limit_from));
    value_add(facts, "truncation", limit_to_package(arena, &m->encode));
    value_add(facts, "token_type_ids", value_of_bool(!m->flat_types));
}

static Str pack_facts(Arena *arena, const Model *m)
{
    const char *why = NULL;
    Value facts = value_map(arena, 17);
    value_add(&facts, "tool", value_of_str(STR("encoderfile " EF_VERSION)));
    value_add(&facts, "precision", value_of_str(str_of(m->precision)));
    value_add(&facts, "ragged", value_of_bool(engine_ragged(m->engine, &why)));
    if (m->tokenizer) pack_limits(arena, m, &facts);
    if (m->tokenizer_settings) value_add(&facts, "tokenizer", *m->tokenizer_settings);
    if (m->pad_left) value_add(&facts, "padding_side", value_of_text("left"));
    if (m->prompts) value_add(&facts, "prompts", *m->prompts);
    if (m->prompt.n) value_add(&facts, "prompt", value_of_str(m->prompt));
    if (m->config.head) value_add(&facts, "head", head_store(arena, m->config.head));
    if (model_reads_boxes(m)) model_store_boxes(arena, m, &facts);
    if (m->text_graph) model_store_pairs(m, &facts);
    return pack_json(arena, facts);
}

static void pack_graph(Arena *arena, const Graph *graph, PackageMember *member, PackageMember *panels)
{
    OnnxModel *onnx = NEW(arena, OnnxModel);
    GraphWeights weights = { 0 };
    graph_to_onnx(graph, arena, onnx, &weights);
    Buf b = { 0 };
    onnx_write(&b, onnx);
    member->bytes = build_pack_keep(arena, &b);
    MemberPiece *pieces = ARRAY(arena, MemberPiece, weights.n + 1);
    for (int i = 0; i < weights.n; i++)
        pieces[i] =
            (MemberPiece){ weights.item[i].data, weights.item[i].bytes, weights.item[i].offset };
    *panels = (PackageMember){ .bytes = { NULL, weights.total }, .piece = pieces,
                               .n_piece = (size_t)weights.n };
    if (weights.n == 0) panels->bytes = STR("");
}

/* The weights of dense layers; the JSON among the facts says which there are. */
static void pack_head(Arena *arena, const VectorHead *head, PackageMember *member)
{
    MemberPiece *piece = ARRAY(arena, MemberPiece, 2 * head->n + 1);
    uint64_t at = 0, bias;
    for (int i = 0; i < head->n; i++) {
        const HeadStep *s = &head->step[i];
        if (!s->weight) continue;
        uint64_t bytes = head_bytes(s->in, s->out, &bias);
        piece[member->n_piece++] = (MemberPiece){ s->weight, bias, at };
        if (s->bias)
            piece[member->n_piece++] = (MemberPiece){ s->bias, bytes - bias, at + bias };
        at += bytes;
    }
    member->piece = piece;
    member->bytes = (Str){ NULL, at };
}

static Str pack_script(Arena *arena, const Transform *script)
{
    Buf b = { 0 };
    transform_write(&b, script);
    return build_pack_keep(arena, &b);
}

void build_pack(Arena *arena, const Model *m, Package *p)
{
    *p = (Package){ .model_type = m->task->number, .name = m->name, .version = m->version };
    if (m->transform) p->member[MEMBER_TRANSFORM].bytes = pack_script(arena, m->transform);
    p->member[MEMBER_CONFIG].bytes = pack_json(arena, build_model_config(arena, m));
    p->member[MEMBER_TOKENS].bytes = m->tokenizer_tables;
    p->member[MEMBER_IMAGE].bytes = m->image_text;
    p->member[MEMBER_AUDIO].bytes = m->audio_text;
    p->member[MEMBER_FULL_CONFIG].bytes = m->config_text;
    p->member[MEMBER_FACTS].bytes = pack_facts(arena, m);
    if (m->config.head) pack_head(arena, m->config.head, &p->member[MEMBER_HEAD]);
    pack_graph(arena, m->graph, &p->member[MEMBER_GRAPH], &p->member[MEMBER_PANELS]);
    if (m->text_graph)
        pack_graph(arena, m->text_graph, &p->member[MEMBER_TEXT_GRAPH], &p->member[MEMBER_TEXT_PANELS]);
}
