/* SPDX-License-Identifier: Apache-2.0
 * inspecting.c - see inspecting.h: the Rust encoderfile's two objects first, then sizes, hashes, tokenizer and
 * graph. */
#include "api/inspecting.h"

#include "api/build.h"
#include "model/feed.h"
#include "model/open_options.h"

#define FIELD(field) OPTION_FIELD_OF(Inspecting, field)
const Option inspect_options[] = {
    OPTIONS_TASK(FIELD(open.task)),
    OPTION_TOKENIZER(FIELD(open.tokenizer)),
    OPTION_POOLING(FIELD(open.pooling)),
    OPTION_NORMALIZE(FIELD(open.normalize)),
    { "verify", 0, NULL, "check the SHA-256 of every member", TAKES_NOTHING, FIELD(verify) },
    { 0 },
};

static Value inspect_text(const char *s)
{
    return value_of_str(str_of(s));
}

/* Which libraries were asked for; null where the build did not say. */
static Value lua_libs(Arena *arena, const Transform *script)
{
    if (!script || !script->lib) return value_null();
    size_t n = 0;
    while (transform_libs[n]) n++;
    Value v = value_map(arena, n);
    for (size_t i = 0; i < n; i++)
        value_add(&v, transform_libs[i], value_of_bool(script->libs >> i & 1));
    return v;
}

static Value encoderfile_config(Arena *arena, const Model *m)
{
    Value v = value_map(arena, 5);
    value_add(&v, "name", value_of_str(m->name));
    value_add(&v, "version", value_of_str(m->version));
    value_add(&v, "model_type", inspect_text(m->task->name));
    value_add(&v, "transform",
              m->transform ? value_of_str(m->transform->script) : value_null());
    value_add(&v, "lua_libs", lua_libs(arena, m->transform));
    return v;
}

static Value member_info(Arena *arena, const Package *p, MemberKind kind)
{
    const PackageMember *m = &p->member[kind];
    char *hex = arena_alloc(arena, 65);
    for (int i = 0; i < 32; i++) snprintf(hex + 2 * i, 3, "%02x", m->sha256[i]);
    Value v = value_map(arena, 4);
    value_add(&v, "name", inspect_text(member_name(kind)));
    value_add(&v, "offset", value_of_int(m->bytes.p - (const char *)p->file.p));
    value_add(&v, "length", value_of_int((int64_t)m->bytes.n));
    value_add(&v, "sha256", inspect_text(hex));
    return v;
}

static Value package_info(Arena *arena, const Package *p, bool verified)
{
    Value members = value_list(arena, MEMBER_COUNT);
    members.list.n = 0;
    for (int kind = 0; kind < MEMBER_COUNT; kind++)
        if (p->member[kind].bytes.p)
            members.list.items[members.list.n++] = member_info(arena, p, kind);
    const Target *target = target_of((Str){ (const char *)p->file.p, p->file.n });
    Value v = value_map(arena, 6);
    value_add(&v, "target", target ? inspect_text(target->triple) : value_null());
    value_add(&v, "size", value_of_int((int64_t)p->file.n));
    value_add(&v, "program_size", value_of_int((int64_t)p->program_size));
    value_add(&v, "format_version", value_of_int(1));
    value_add(&v, "verified", value_of_bool(verified));
    value_add(&v, "members", members);
    return v;
}

static Value tokenizer_info(Arena *arena, const Model *m)
{
    Value v = value_map(arena, 5);
    value_add(&v, "kind", inspect_text(tokenizer_kind(m->tokenizer)));
    value_add(&v, "size", value_of_int((int64_t)tokenizer_size(m->tokenizer)));
    value_add(&v, "max_length",
              m->encode.max_length ? value_of_int(m->encode.max_length) : value_null());
    bool said = m->encode.max_length && m->limit_from;
    value_add(&v, "max_length_from", said ? inspect_text(m->limit_from) : value_null());
    value_add(&v, "truncation", limit_to_package(arena, &m->encode));
    return v;
}

/* What becomes of a picture; size: [height, width] of what the model gets, null where that depends on it. */
static Value image_info(Arena *arena, const ImageProcessor *image)
{
    int height, width;
    bool fixed = image_fixed_size(image, &height, &width);
    Value v = value_map(arena, 4), size = value_list(arena, 2);
    size.list.items[0] = value_of_int(height), size.list.items[1] = value_of_int(width);
    value_add(&v, "processor", inspect_text(image->name));
    value_add(&v, "size", fixed ? size : value_null());
    value_add(&v, "mean", value_of_f32(image->mean, COUNT(image->mean)));
    value_add(&v, "std", value_of_f32(image->std, COUNT(image->std)));
    return v;
}

/* What becomes of a sound; samples: of every one, null where that depends on it. */
static Value audio_info(Arena *arena, const AudioProcessor *audio)
{
    Value v = value_map(arena, 4);
    value_add(&v, "processor", inspect_text(audio->name));
    value_add(&v, "sampling_rate", value_of_int(audio->rate));
    value_add(&v, "samples", audio->samples ? value_of_int(audio->samples) : value_null());
    value_add(&v, "frames", audio->frames ? value_of_int(audio->frames) : value_null());
    return v;
}

/* Symbolic dims by their names, unnamed ones as null. */
static Value shape_of(Arena *arena, const OnnxValue *v)
{
    if (v->rank < 0) return value_null();
    Value out = value_list(arena, (size_t)v->rank);
    for (int i = 0; i < v->rank; i++)
        if (v->dim[i] >= 0) out.list.items[i] = value_of_int(v->dim[i]);
        else if (v->symbol[i].n) out.list.items[i] = value_of_str(v->symbol[i]);
    return out;
}

static Value value_info(Arena *arena, const OnnxValue *o)
{
    Value v = value_map(arena, 3);
    value_add(&v, "name", value_of_str(o->name));
    value_add(&v, "type", inspect_text(dtype_name(o->type)));
    value_add(&v, "shape", shape_of(arena, o));
    return v;
}

/* Those of the file that are inputs or outputs of the graph (old files list weights as inputs too).
 * */
static Value values_info(Arena *arena, const Graph *g, const int *number, int n,
                         const OnnxValue *all, int n_all)
{
    Value out = value_list(arena, (size_t)n);
    for (int i = 0; i < n; i++)
        for (int k = 0; k < n_all; k++)
            if (str_eq(g->value[number[i]].name, all[k].name))
                out.list.items[i] = value_info(arena, &all[k]);
    return out;
}

static Value graph_info(Arena *arena, const Graph *g)
{
    const OnnxGraph *file = &g->model->graph;
    int64_t nodes = 0;
    for (int i = 0; i < g->n_node; i++) nodes += g->node[i] && g->node[i]->op;
    Value v = value_map(arena, 3);
    value_add(&v, "nodes", value_of_int(nodes));
    value_add(&v, "inputs", values_info(arena, g, g->input, g->n_input, file->in, file->n_in));
    value_add(&v, "outputs", values_info(arena, g, g->output, g->n_output, file->out, file->n_out));
    return v;
}

/* -1 as null, or by its name. */
static Value fed_shape(Arena *arena, const FeedInput *in)
{
    Value out = value_list(arena, (size_t)in->rank);
    for (int i = 0; i < in->rank; i++)
        if (in->dim[i] >= 0) out.list.items[i] = value_of_int(in->dim[i]);
        else if (in->symbol[i].n) out.list.items[i] = value_of_str(in->symbol[i]);
    return out;
}

/* What the graph is fed, in which shapes and by whose word, and what a caller gives for it. */
static Value processor_info(Arena *arena, const Model *m)
{
    Feed feed;
    feed_of(arena, m, &feed);
    Value v = value_map(arena, 4), inputs = value_list(arena, (size_t)feed.n);
    for (int i = 0; i < feed.n; i++) {
        const FeedInput *in = &feed.input[i];
        Value one = value_map(arena, 4);
        value_add(&one, "name", value_of_str(in->name));
        value_add(&one, "type", inspect_text(dtype_name(in->type)));
        value_add(&one, "shape", fed_shape(arena, in));
        value_add(&one, "shape_from", inspect_text(shape_sources[in->from]));
        inputs.list.items[i] = one;
    }
    value_add(&v, "type", inspect_text(feed.processor));
    value_add(&v, "kind", inspect_text(feed.kind));
    value_add(&v, "takes", inspect_text(m->items->one));
    value_add(&v, "feeds", inputs);
    return v;
}

/* How a text's vector is made. */
static Value vector_info(Arena *arena, const Model *m)
{
    const VectorHead *head = m->config.head;
    int width = config_vector_size(&m->config);
    Value v = value_map(arena, 8), dense = value_list(arena, HEAD_STEPS);
    dense.list.n = 0;
    for (int i = 0; head && i < head->n; i++)
        if (head->step[i].weight) dense.list.items[dense.list.n++] = value_of_int(head->step[i].out);
    value_add(&v, "pooling", inspect_text(model_pooling(m, arena)));
    value_add(&v, "assumed", value_of_bool(head && head->assumed));
    value_add(&v, "include_prompt", value_of_bool(!head || !head->without_prompt));
    value_add(&v, "dense", dense);
    value_add(&v, "normalized", head ? value_of_bool(head_normalizes(head)) : value_null());
    value_add(&v, "dimensions", width ? value_of_int(width) : value_null());
    value_add(&v, "prompt", m->prompt.n ? value_of_str(m->prompt) : value_null());
    value_add(&v, "prompts", m->prompts ? *m->prompts : value_null());
    return v;
}

/* What a request cannot do without. */
static Value request_info(Arena *arena, const Model *m)
{
    const Field *rows = m->task->request;
    Value v = value_map(arena, 2), needed = value_list(arena, 16);
    needed.list.n = 0;
    for (size_t i = 0; rows[i].name && needed.list.n < 16; i++)
        if (rows[i].required) needed.list.items[needed.list.n++] = value_of_text(rows[i].name);
    value_add(&v, "required", needed);
    value_add(&v, "inputs", value_of_text(m->items->all));
    return v;
}

Value inspecting_json(Arena *arena, const Inspecting *i, const Model *m)
{
    const char *why = NULL;
    bool ragged = engine_ragged(m->engine, &why);
    Value v = value_map(arena, 13);
    value_add(&v, "model_config", build_model_config(arena, m));
    value_add(&v, "encoderfile_config", encoderfile_config(arena, m));
    value_add(&v, "request", request_info(arena, m));
    if (m->package.file.n) value_add(&v, "package", package_info(arena, &m->package, i->verify));
    value_add(&v, "precision", inspect_text(m->precision));
    value_add(&v, "ragged", value_of_bool(ragged));
    if (!ragged) value_add(&v, "ragged_why_not", inspect_text(why ? why : ""));
    if (model_makes_vectors(m)) value_add(&v, "vector", vector_info(arena, m));
    if (m->tokenizer) value_add(&v, "tokenizer", tokenizer_info(arena, m));
    if (m->image) value_add(&v, "image", image_info(arena, m->image));
    if (m->audio) value_add(&v, "audio", audio_info(arena, m->audio));
    value_add(&v, "processor", processor_info(arena, m));
    value_add(&v, "graph", graph_info(arena, m->graph));
    if (m->text_graph) value_add(&v, "text_graph", graph_info(arena, m->text_graph));
    return v;
}

bool inspecting_verify(const Inspecting *i, const Model *m, Err *err)
{
    if (!i->verify) return true;
    if (m->package.file.n) return package_verify(&m->package, err);
    return fail(err, EF_USAGE, "--verify: found a model that is no package, wanted one: only "
                "packages carry SHA-256 sums");
}
