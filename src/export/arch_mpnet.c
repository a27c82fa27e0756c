/* SPDX-License-Identifier: Apache-2.0
 * arch_mpnet.c - MPNet: RoBERTa's positions and heads, and one bias by distance for all layers. */
#include "arch_rows.h"

static const Module modules[] = {
    { "", "*Model" },
    { "embeddings", "*Embeddings" },
    { "encoder", "*Encoder" },
    { "encoder.layer.#", "*Layer" },
    { "encoder.layer.#.attention", "*Attention" },
    { "encoder.layer.#.attention.attn", "*SelfAttention" },
    { "encoder.layer.#.intermediate", "*Intermediate" },
    { "encoder.layer.#.intermediate.intermediate_act_fn", "!" },
    { "encoder.layer.#.output", "*Output" },
    { "pooler", "*Pooler" },
    { 0 },
};

enum { BUCKETS = 32, FARTHEST = 128 };

static bool mpnet_configure(Encoder *m, const Value *config, Err *err)
{
    int64_t *buckets = NEW(m->b->arena, int64_t);
    *buckets = value_int(value_get(config, "relative_attention_num_buckets"), 32);
    m->own = buckets;
    m->n[K_PAD] = 1; /* transformers counts from it, whatever pad_token_id says */
    return *buckets >= BUCKETS || /* transformers buckets into 32, whatever the table holds */
           fail(err, EF_BAD_MODEL, "config.json: relative_attention_num_buckets: found %lld, "
                "wanted 32", (long long)*buckets);
}

static void mpnet_prepare(Encoder *m, Str hidden)
{
    (void)hidden;
    Builder *b = m->b;
    const char *path = encoder_path(m, "encoder");
    const char *table = encoder_path(m, "encoder.relative_attention_bias");
    Str w = build_table(b, table, *(int64_t *)m->own, m->n[K_HEADS]);
    Str bucket = relative_buckets(b, path, encoder_length(m), BUCKETS, FARTHEST);
    Str bias = NODE(b, path, "Transpose", NODE(b, table, "Gather", w, bucket));
    build_attr_ints(b, "perm", (int64_t[]){ 2, 0, 1 }, 3);
    m->mask = NODE(b, path, "Add", NODE(b, path, "Unsqueeze", bias, INTS(b, 0)), m->mask);
}

const Arch arch_mpnet = {
    .model_type = "mpnet", .family = "MPNet", .base = "mpnet.",
    .models = "all-mpnet-base-v2, multi-qa-mpnet-base-dot-v1",
    .modules = modules, .head_modules = ROBERTA_HEADS,
    .otherwise = { [K_VOCAB] = 30527, [K_PAD] = 1 },
    .eps = 1e-12, .positions = POS_PADDED, .types = TYPES_NONE,
    .embeddings = { .words = "embeddings.word_embeddings",
                    .positions = "embeddings.position_embeddings",
                    .norm = "embeddings.LayerNorm" },
    .layer = BERT_LAYER,
    .paths = { .q = "attention.attn.q", .k = "attention.attn.k", .v = "attention.attn.v",
               .attend = "attention.attn", .out = "attention.attn.o",
               .sum1 = "attention", .norm1 = "attention.LayerNorm", BERT_FEED_FORWARD },
    .steps = { [HEAD_MASKED] = roberta_masked, [HEAD_SEQUENCE] = roberta_sequence,
               [HEAD_TOKEN] = steps_classify_tokens, [HEAD_ANSWER] = steps_answer,
               [HEAD_CHOICE] = bert_sequence },
    .configure = mpnet_configure, .prepare = mpnet_prepare,
};
