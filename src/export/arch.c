/* SPDX-License-Identifier: Apache-2.0
 * arch.c - the architectures there are. */
#include "arch.h"
#include "arch_rows.h"

const Arch *const architectures[] = {
    &arch_bert, &arch_roberta, &arch_xlm_roberta, &arch_camembert, &arch_distilbert,
    &arch_electra, &arch_albert, &arch_mpnet, &arch_modernbert, &arch_deberta_v2,
    &arch_deberta, &arch_layoutlm, &arch_ernie, &arch_nomic_bert, &arch_gte, &arch_new,
    &arch_jina_v3, &arch_eurobert, &arch_esm, &arch_lilt, &arch_layoutlmv3,
    &arch_vit, &arch_deit, &arch_dinov2, &arch_dinov2_registers, &arch_beit,
    &arch_convnext, &arch_convnextv2, &arch_resnet, &arch_clip,
    &arch_siglip, &arch_swin, &arch_segformer,
    &arch_yolos, &arch_mobilenet_v2, &arch_detr,
    &arch_wav2vec2, &arch_hubert, &arch_wavlm, &arch_data2vec_audio, &arch_ast, &arch_whisper, NULL,
};

const Arch *arch_find(Str model_type)
{
    for (const Arch *const *a = architectures; *a; a++)
        if (str_is(model_type, (*a)->model_type)) return *a;
    return NULL;
}
