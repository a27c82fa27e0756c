/* SPDX-License-Identifier: Apache-2.0
 * quantize_weights.c - float weights to bytes, block by block while the file is written. */
#include <float.h>
#include <math.h>

#include "quantize_plan.h"

enum { BLOCK = 1 << 16 }; /* elements of a block */

static float quantize_element(const OnnxTensor *t, int64_t i)
{
    float f;
    memcpy(&f, (const char *)t->t.data + 4 * i, 4);
    return f;
}

typedef struct Reach { /* of the weights of a row or column; 0 is always within */
    float low, high;
} Reach;

static bool find_reach(const OnnxTensor *t, ScaleAxis axis, Reach *reach, Err *err)
{
    int64_t R = t->t.dim[0], C = t->t.dim[1];
    for (int64_t r = 0; r < R; r++)
        for (int64_t c = 0; c < C; c++) {
            Reach *at = &reach[axis == AXIS_ROWS ? r : c];
            float w = quantize_element(t, r * C + c);
            if (!(fabsf(w) <= FLT_MAX))
                return fail(err, EF_BAD_MODEL, "%.*s: found a weight that is not finite",
                            STR_ARG(t->name));
            at->low = MIN(at->low, w), at->high = MAX(at->high, w);
        }
    return true;
}

bool quantize_scales(Arena *arena, QuantizeSource *s, Err *err)
{
    int64_t n = s->from->t.dim[s->axis == AXIS_COLUMNS];
    float *scale = ARRAY(arena, float, n);
    uint8_t *zero = s->least == 0 ? ARRAY(arena, uint8_t, n) : NULL;
    Reach *reach = ARRAY(arena, Reach, n);
    if (!find_reach(s->from, s->axis, reach, err)) return false;
    for (int64_t i = 0; i < n; i++) {
        float wide = zero ? reach[i].high - reach[i].low : MAX(reach[i].high, -reach[i].low);
        scale[i] = wide > 0 ? wide / (float)s->most : 1;
        if (zero) zero[i] = (uint8_t)lrintf(-reach[i].low / scale[i]);
    }
    s->scale = scale, s->zero = zero;
    return true;
}

static uint8_t to_byte(const QuantizeSource *s, float w, int64_t at)
{
    int q = (int)lrintf(w / s->scale[at]) + (s->zero ? s->zero[at] : 0);
    return (uint8_t)MIN(MAX(q, s->least), s->most);
}

/* Element i of the result, counted as it is written. */
static void quantize_put_block(const QuantizeSource *s, DType type, int64_t from, int64_t n,
                               uint8_t *out)
{
    int64_t R = s->from->t.dim[0], C = s->from->t.rank > 1 ? s->from->t.dim[1] : 1;
    for (int64_t i = 0; i < n; i++) {
        int64_t at = from + i;
        if (s->scale) {
            int64_t r = s->turned ? at % R : at / C, c = s->turned ? at / R : at % C;
            out[i] = to_byte(s, quantize_element(s->from, r * C + c), s->axis == AXIS_ROWS ? r : c);
        } else {
            float w = quantize_element(s->from, at);
            uint16_t half = type == T_F16 ? f32_to_f16(w) : f32_to_bf16(w);
            memcpy(out + 2 * i, &half, 2);
        }
    }
}

bool quantize_pour(void *quantize, const OnnxTensor *init, FileWriter *to, Err *err)
{
    Quantize *q = quantize;
    const QuantizeSource *s = &q->source[init - q->model.graph.init];
    if (!s->from) return true; /* an empty constant */
    Arena scratch = { 0 };
    size_t size = dtype_size(init->t.type);
    uint8_t *block = arena_raw(&scratch, BLOCK * size);
    int64_t count = tensor_count(&init->t);
    bool ok = true;
    for (int64_t from = 0; ok && from < count; from += BLOCK) {
        int64_t n = MIN(count - from, BLOCK);
        quantize_put_block(s, init->t.type, from, n, block);
        ok = writer_add(to, block, (size_t)n * size, err) && progress_at(&q->progress, to->written, err);
    }
    arena_free(&scratch);
    return ok;
}
