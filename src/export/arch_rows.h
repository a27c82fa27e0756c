/* SPDX-License-Identifier: Apache-2.0
 * arch_rows.h - the rows, and what they share: private to the arch_*.c files. */
#ifndef EXPORT_ARCH_ROWS_H
#define EXPORT_ARCH_ROWS_H
#include "arch.h"

extern const Arch arch_bert, arch_roberta, arch_xlm_roberta, arch_camembert, arch_distilbert,
    arch_electra, arch_albert, arch_mpnet, arch_modernbert, arch_deberta_v2,
    arch_deberta, arch_layoutlm, arch_ernie, arch_nomic_bert, arch_gte, arch_new, arch_jina_v3,
    arch_eurobert, arch_esm, arch_lilt, arch_layoutlmv3, arch_vit, arch_deit, arch_dinov2,
    arch_dinov2_registers, arch_beit, arch_convnext, arch_convnextv2, arch_resnet,
    arch_clip, arch_siglip, arch_swin, arch_segformer, arch_yolos,
    arch_mobilenet_v2, arch_detr, arch_wav2vec2, arch_hubert, arch_wavlm, arch_data2vec_audio, arch_ast,
    arch_whisper;

/* Layers of BERT's shape, which many families have kept to the letter (arch_bert.c). */
extern const Module bert_modules[], bert_masked_modules[];
extern const ArchStep bert_masked[], bert_sequence[];
#define BERT_EMBEDDINGS                                                                         \
    { .words = "embeddings.word_embeddings", .positions = "embeddings.position_embeddings",     \
      .types = "embeddings.token_type_embeddings", .norm = "embeddings.LayerNorm" }
#define BERT_LAYER "encoder.layer.%d"
#define BERT_BEHIND_ATTENTION                                                                   \
    .out = "attention.output.dense", .sum1 = "attention.output",                                \
    .norm1 = "attention.output.LayerNorm", BERT_FEED_FORWARD
#define BERT_FEED_FORWARD                                                                       \
    .up = "intermediate.dense", .act = "intermediate.intermediate_act_fn",                      \
    .down = "output.dense", .sum2 = "output", .norm2 = "output.LayerNorm"
#define BERT_PATHS                                                                              \
    { .q = "attention.self.query", .k = "attention.self.key", .v = "attention.self.value",      \
      .attend = "attention.self", BERT_BEHIND_ATTENTION }
/* Heads that are one linear on every token. */
extern const ArchStep steps_classify_tokens[], steps_answer[];
/* RoBERTa's heads, which others took over (arch_roberta.c). */
extern const Module roberta_lm_head[], roberta_classifier[];
#define ROBERTA_HEADS { [HEAD_MASKED] = roberta_lm_head, [HEAD_SEQUENCE] = roberta_classifier }
extern const ArchStep roberta_masked[], roberta_sequence[];
/* ViT's layers, as transformers 5 names them (arch_vit.c). */
extern const Module vit_modules[];
extern const Rename vit_renames[];
extern const ArchStep picture_classify_first[], vit_pooler[];
void vit_write(Encoder *);
#define VIT_RENAMES                                                                             \
    { "encoder.layer.", { "layers." } },                                                        \
    { "attention.attention.query", { "attention.q_proj" } },                                    \
    { "attention.attention.key", { "attention.k_proj" } },                                      \
    { "attention.attention.value", { "attention.v_proj" } },                                    \
    { "attention.output.dense", { "attention.o_proj" } },                                       \
    { "intermediate.dense", { "mlp.fc1" } },                                                    \
    { ".output.dense", { ".mlp.fc2" } }
#define VIT_ATTENTION                                                                           \
    .q = "attention.q_proj", .k = "attention.k_proj", .v = "attention.v_proj",                  \
    .attend = "attention", .out = "attention.o_proj", .sum1 = "", .sum2 = ""
#define VIT_PATHS                                                                               \
    VIT_ATTENTION, .norm1 = "layernorm_before", .norm2 = "layernorm_after",                     \
    .up = "mlp.fc1", .act = "mlp.activation_fn", .down = "mlp.fc2"
#define VIT_LAYERS                                                                              \
    .modules = vit_modules, .renames = vit_renames, .eps = 1e-12, .pre_norm = true,             \
    .layer = "layers.%d", .paths = { VIT_PATHS }, .final_norm = "layernorm"

/* Boxes of words as LiLT and LayoutLMv3 embed them: left, upper, right, lower, height and width beside
 * one another, [B, S, 4 * sides + 2 * sizes] (arch_lilt.c). */
typedef struct BoxTables {
    int64_t places;              /* rows of each table */
    int64_t sides, sizes;        /* columns */
    bool clipped;                /* heights and widths below 0 count as 0 */
} BoxTables;
Str layout_boxes(Encoder *, const char *inside, const BoxTables *);

/* ResNet's maps, which DETR begins with (arch_resnet.c). */
typedef struct ResNetNames {     /* of modules; numbers of stages and convolutions count from `from` */
    const char *stem[3];         /* convolution, norm, activation; below the base */
    const char *pool, *layer;
    const char *inner[3];        /* of each convolution of a layer, below the layer */
    const char *around[2], *act; /* act NULL: inner's, of the last convolution */
    int from;
} ResNetNames;
typedef struct ResNet {
    const ResNetNames *names;
    const Activation *act;
    Stages stages;
    int64_t stem;                /* channels before the first stage */
    bool basic, early, first;    /* layer_type; downsample_in_bottleneck, _in_first_stage */
    bool dilated;                /* the last stage keeps the size of the one before */
} ResNet;
bool resnet_read(ResNet *, const Value *config, Err *);
/* The last map; stage (optional): that of each stage. */
Str resnet_maps(Encoder *, const ResNet *, const char *base, Str *stage);

#endif
