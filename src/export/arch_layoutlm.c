/* SPDX-License-Identifier: Apache-2.0
 * arch_layoutlm.c - LayoutLM: BERT whose embeddings also say where on the page a word stands. */
#include "arch_rows.h"

static bool layoutlm_configure(Encoder *m, const Value *config, Err *err)
{
    int64_t *places = m->own = NEW(m->b->arena, int64_t);
    *places = value_int(value_get(config, "max_2d_position_embeddings"), 1024);
    return (*places > 0 && *places < 1 << 24) ||
           fail(err, EF_BAD_MODEL, "config.json: max_2d_position_embeddings: found %lld",
                (long long)*places);
}

/* Column k of the boxes, [B, S]: left, upper, right, lower */
static Str layoutlm_box_side(Encoder *m, const char *inside, int64_t k)
{
    Str y = NODE(m->b, inside, "Gather", STR("bbox"), build_int(m->b, k));
    build_attr_int(m->b, "axis", 2);
    return y;
}

static Str add_place(Encoder *m, const char *inside, Str x, int64_t width, const char *table,
                     Str place)
{
    Builder *b = m->b;
    const char *path = build_path(b, "%s.%s_position_embeddings", inside, table);
    Str w = build_table(b, path, *(int64_t *)m->own, width);
    return NODE(b, inside, "Add", x, NODE(b, path, "Gather", w, place));
}

static Str layoutlm_embed(Encoder *m, const char *inside, Str x, int64_t width)
{
    Str at[4];
    for (int i = 0; i < 4; i++) {
        at[i] = layoutlm_box_side(m, inside, i);
        x = add_place(m, inside, x, width, i % 2 ? "y" : "x", at[i]);
    }
    x = add_place(m, inside, x, width, "h", NODE(m->b, inside, "Sub", at[3], at[1]));
    return add_place(m, inside, x, width, "w", NODE(m->b, inside, "Sub", at[2], at[0]));
}

const Arch arch_layoutlm = {
    .model_type = "layoutlm", .family = "LayoutLM", .base = "layoutlm.",
    .models = "layoutlm-base-uncased",
    .modules = bert_modules, .head_modules = { [HEAD_MASKED] = bert_masked_modules },
    .eps = 1e-12, .boxes = true,
    .embeddings = BERT_EMBEDDINGS, .layer = BERT_LAYER, .paths = BERT_PATHS,
    .steps = { [HEAD_MASKED] = bert_masked, [HEAD_SEQUENCE] = bert_sequence,
               [HEAD_TOKEN] = steps_classify_tokens, [HEAD_ANSWER] = steps_answer },
    .configure = layoutlm_configure, .embed = layoutlm_embed,
};
