/* SPDX-License-Identifier: Apache-2.0
 * model_towers.c - models with two towers, one for pictures and one for texts, in one file (CLIP, SigLIP;
 * our exporter's graph, or Optimum's). Each is a graph of its own; what the file does with both vectors is
 * two numbers, which it is asked for: logit = scale * cosine + bias. A package keeps them. */
#include "model/model.h"

#include <math.h>

enum { TOWER_VECTORS = 3 };      /* a picture's, and those of two texts */

/* Vectors that lie on the axes: the cosine with the first text is 1, with the second 0. */
static Tensor axis_vectors(Arena *arena, int64_t rows, int64_t width)
{
    float *x = ARRAY(arena, float, rows * width);
    for (int64_t r = 0; r < rows; r++) x[r * width + r] = 1;
    return (Tensor){ .type = T_F32, .rank = 2, .dim = { rows, width }, .data = x };
}

static bool pair_logits(const Model *m, Arena *arena, const OnnxModel *onnx, float logit[2], Err *err)
{
    const Str pictures = str_of(m->task->outputs[0][0]), texts = str_of(m->task->text_output);
    const Str both[] = { pictures, texts }, out = str_of(m->task->pair_output);
    const int64_t width = MAX(m->config.vector_size, TOWER_VECTORS);
    Named in[] = { { pictures, axis_vectors(arena, 1, width) }, { texts, axis_vectors(arena, 2, width) } }, made;
    Graph *g;
    if (!graph_from_onnx(arena, onnx, &g, err)) return false;
    graph_cut(g, both, COUNT(both));
    graph_keep(g, &out, 1);
    if (!engine_run_generic(g, NULL, in, COUNT(in), arena, &made, err)) return false;
    if (!str_eq(made.name, out) || tensor_count(&made.t) != 2)
        return fail(err, EF_BAD_MODEL, "found no numbers for a picture and two texts, wanted two");
    for (int i = 0; i < 2; i++) logit[i] = (float)tensor_get(&made.t, i);
    return true;
}

/* As transformers' pipeline: SigLIP's texts always have 64 tokens. */
static void pad_texts(Model *m)
{
    enum { SIGLIP_TOKENS = 64 };
    const Value *texts = value_get(m->config.root, "text_config");
    if (!memmem(m->config.model_type.p, m->config.model_type.n, "siglip", strlen("siglip"))) return;
    m->pad_to = m->encode.max_length > 0 ? MIN(m->encode.max_length, SIGLIP_TOKENS) : SIGLIP_TOKENS;
    if (m->pad_id < 0) m->pad_id = (int)value_int(value_get(texts, "pad_token_id"), 1);
    m->encode.max_length = m->pad_to;
}

bool model_open_pairs(Model *m, const OnnxModel *onnx, Err *err)
{
    Arena arena = { .local = true };
    float logit[2] = { 0 };
    bool ok = pair_logits(m, &arena, onnx, logit, err);
    if (ok && !(isfinite(logit[0]) && isfinite(logit[1])))
        ok = fail(err, EF_BAD_MODEL, "found numbers that are not finite");
    arena_free(&arena);
    if (!ok) return within(err, "%s", m->task->pair_output);
    m->config.logit_scale = logit[0] - logit[1];
    m->config.logit_bias = logit[1];
    pad_texts(m);
    return true;
}

void model_store_pairs(const Model *m, Value *facts)
{
    value_add(facts, "logit_scale", value_of_float(m->config.logit_scale));
    value_add(facts, "logit_bias", value_of_float(m->config.logit_bias));
    if (m->pad_to) value_add(facts, "text_padding", value_of_int(m->pad_id));
}

bool model_packed_pairs(Model *m, const Value *facts, Err *err)
{
    double scale = value_float(value_get(facts, "logit_scale"), NAN);
    double bias = value_float(value_get(facts, "logit_bias"), NAN);
    const Value *padding = value_get(facts, "text_padding");
    if (!isfinite(scale) || !isfinite(bias))
        return fail(err, EF_BAD_MODEL, "facts: logit_scale, logit_bias: found no number, wanted one");
    m->config.logit_scale = (float)scale;
    m->config.logit_bias = (float)bias;
    if (padding) m->pad_to = m->encode.max_length, m->pad_id = (int)value_int(padding, 0);
    return true;
}
