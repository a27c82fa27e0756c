/* SPDX-License-Identifier: Apache-2.0
 * detr.h - what the two files of DETR share: private to arch_detr.c and detr_masks.c. */
#ifndef EXPORT_DETR_H
#define EXPORT_DETR_H
#include "arch_rows.h"

typedef struct DetrOwn {
    ResNet resnet;
    int64_t layers, heads, inner, queries; /* of the decoder */
    bool learned;           /* positions from tables, not waves */
    bool normed;            /* auxiliary_loss: the decoder's norm stands behind every layer too */
    bool dilated;           /* timm's last stage keeps the size of the one before */
    Str height, width;      /* [1] each: of the last map */
    Str places;             /* [B, h * w, C], or one row for all */
    Str projected;          /* [B, C, h, w]: the last map, as wide as the encoder */
    Str memory;             /* [B, h * w, C]: what the encoder made of it */
    Str stage[MOST_STAGES]; /* the maps of the backbone */
} DetrOwn;

/* x with `size` ([1]) places along an axis, each that of the nearest before it, as torch has it. */
Str detr_nearest(Builder *, const char *path, Str x, int64_t axis, Str size);
/* detr_masks.c: pred_masks, [B, queries, h, w], of the decoder's tokens. */
void detr_masks(Encoder *, const DetrOwn *, Str tokens);
extern const Module detr_mask_modules[];
#define DETR_MASK_STAGE(i, number)                                                              \
    { "mask_head.adapter" #i ".", { "mask_head.fpn_stages." #number ".fpn_adapter." } }
#define DETR_MASK_REFINE(i, number)                                                             \
    { "mask_head.lay" #i ".", { "mask_head.fpn_stages." #number ".refine.conv." } },            \
    { "mask_head.gn" #i ".", { "mask_head.fpn_stages." #number ".refine.norm." } }
#define DETR_MASK_RENAMES                                                                       \
    { "bbox_attention.q_linear.", { "bbox_attention.q_proj." } },                               \
    { "bbox_attention.k_linear.", { "bbox_attention.k_proj." } },                               \
    { "mask_head.lay1.", { "mask_head.conv1.conv." } },                                         \
    { "mask_head.gn1.", { "mask_head.conv1.norm." } },                                          \
    { "mask_head.lay2.", { "mask_head.conv2.conv." } },                                         \
    { "mask_head.gn2.", { "mask_head.conv2.norm." } },                                          \
    DETR_MASK_STAGE(1, 0), DETR_MASK_REFINE(3, 0), DETR_MASK_STAGE(2, 1),                       \
    DETR_MASK_REFINE(4, 1), DETR_MASK_STAGE(3, 2), DETR_MASK_REFINE(5, 2),                      \
    { "mask_head.out_lay.", { "mask_head.output_conv." } }

#endif
