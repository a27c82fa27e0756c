/* SPDX-License-Identifier: Apache-2.0
 * classes.c - which tokenizer class AutoTokenizer of transformers 5 takes for a folder, and which inputs a call of that
 * class returns. The class that tokenizer_config.json names counts, unless the model's own is the general one; without
 * a name it is the model's. */
#include "convert.h"

static const char general[] = "TokenizersBackend"; /* it has what the files say, and nothing else */

/* Names with spaces around, without "Fast". */
static bool class_is_among(const char *names, Str name)
{
    char word[64];
    if (!name.n || name.n + 3 > sizeof word) return false;
    snprintf(word, sizeof word, " %.*s ", STR_ARG(name));
    return strstr(names, word);
}

static Str class_without_fast(Str name)
{
    if (str_ends(name, "Fast")) name.n -= 4;
    return name;
}

static const struct {
    const char *class, *models; /* values of model_type in config.json */
} of_models[] = {
    { "BertTokenizer", " bert distilbert electra ernie convbert layoutlm megatron-bert nezha nomic_bert qdqbert realm "
                       "retribert squeezebert bros blip align chinese_clip flava vilt visual_bert grounding-dino "
                       "mm-grounding-dino " },
    { "RobertaTokenizer", " roberta roberta-prelayernorm longformer bart data2vec-text ibert lilt mega mra bridgetower "
                          "clap " },
    { "XLMRobertaTokenizer", " xlm-roberta xmod gte jina_embeddings_v3 metaclip_2 trocr " },
    { "AlbertTokenizer", " albert yoso " },
    { "MPNetTokenizer", " mpnet " },
    { "DebertaTokenizer", " deberta " },
    { "DebertaV2Tokenizer", " deberta-v2 " },
    { "CamembertTokenizer", " camembert " },
    { "CLIPTokenizer", " clip clipseg aimv2 groupvit owlvit owlv2 xclip oneformer omdet-turbo " },
    { "GPT2Tokenizer", " gpt2 gpt_neo gptj codegen opt phi starcoder2 blip-2 " },
    { "T5Tokenizer", " t5 mt5 switch_transformers " },
    { "Qwen2Tokenizer", " qwen2 qwen3 " },
    { "SiglipTokenizer", " siglip " },
    { "EsmTokenizer", " esm " },
    { "FunnelTokenizer", " funnel " },
    { "FNetTokenizer", " fnet " },
    { "BigBirdTokenizer", " big_bird " },
    { "RoFormerTokenizer", " roformer " },
    { "MobileBertTokenizer", " mobilebert " },
    { "LxmertTokenizer", " lxmert " },
    { "MarkupLMTokenizer", " markuplm " },
    { "DPRQuestionEncoderTokenizer", " dpr " },
    { "LayoutLMv2Tokenizer", " layoutlmv2 " },
    { "LayoutLMv3Tokenizer", " layoutlmv3 " },
    { "LayoutXLMTokenizer", " layoutxlm " },
    { "TapasTokenizer", " tapas " },
    { "CanineTokenizer", " canine " },
    { general, " modernbert modernbert-decoder nystromformer xlm-roberta-xl umt5 camembertv2-base kosmos-2 "
               "pix2struct " },
};

Str class_of_folder(Str said, Str model_type)
{
    Str own = model_type.n ? str_of(general) : (Str){ 0 };
    bool known = false;
    for (size_t i = 0; i < COUNT(of_models) && !known; i++)
        if (class_is_among(of_models[i].models, model_type)) own = str_of(of_models[i].class), known = true;
    return said.n && !(known && str_is(own, general)) ? said : own;
}

bool class_is_general(Str name)
{
    return str_is(name, general) || str_is(name, "PreTrainedTokenizerFast");
}

static const struct {
    const char *classes, *names[4];
} inputs[] = {
    { " BertTokenizer ElectraTokenizer LayoutLMTokenizer MobileBertTokenizer ConvBertTokenizer SqueezeBertTokenizer "
      "LxmertTokenizer DPRQuestionEncoderTokenizer DPRContextEncoderTokenizer MarkupLMTokenizer ",
      { "input_ids", "token_type_ids", "attention_mask" } },
    { " DebertaTokenizer DebertaV2Tokenizer LayoutLMv2Tokenizer TapasTokenizer CanineTokenizer ",
      { "input_ids", "attention_mask", "token_type_ids" } },
    { " LayoutLMv3Tokenizer ", { "input_ids", "attention_mask", "bbox" } },
    { " FNetTokenizer ", { "input_ids", "token_type_ids" } },
    { "", { "input_ids", "attention_mask" } }, /* every other class */
};

const char *const *class_inputs(Str name)
{
    size_t i = 0; /* where nothing names a class, all three */
    while (name.n && *inputs[i].classes && !class_is_among(inputs[i].classes, class_without_fast(name))) i++;
    return inputs[i].names;
}
