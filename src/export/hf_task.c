/* SPDX-License-Identifier: Apache-2.0
 * hf_task.c - the rows of task detection. A class name tells its task by a part of it, some only
 * together with what config.json describes (a ForConditionalGeneration may translate, look or
 * listen). The first row that fits counts. */
#include "hf_task.h"

#include "task/task.h"

/* Classes whose names do not say it. */
static const struct ExactRow {
    const char *task, *classes; /* each with spaces around */
} exact[] = {
    { "zero-shot-image-classification",
      " CLIPModel SiglipModel Siglip2Model AlignModel AltCLIPModel BlipModel CLIPSegModel "
      "ChineseCLIPModel MetaClip2Model " },
    { "mask-generation", " SamModel SamHQModel Sam2Model Sam3TrackerModel EdgeTamModel " },
    { "text-to-audio", " BarkModel VitsModel FastSpeech2ConformerModel "
                       "FastSpeech2ConformerWithHifiGan MusicgenForConditionalGeneration "
                       "MusicgenMelodyForConditionalGeneration " },
    { "text2text-generation", " MarianMTModel " },
    { "text-generation", " BertGenerationDecoder " },
    { "document-question-answering", " LayoutLMForQuestionAnswering " },
    { "table-question-answering", " TapasForQuestionAnswering " },
};

typedef struct ClassRow {
    const char *part;       /* of the class name */
    const char *keys[4];    /* any of them set in config.json; none given: always */
    const char *task;
} ClassRow;

#define SEES { "vision_config", "vq_config", "vision_tokenizer_config" }
#define HEARS { "audio_config", "num_mel_bins", "conv_kernel", "conv_depthwise_kernel_size" }
static const ClassRow classes[] = {
    { "TableQuestionAnswering", { 0 }, "table-question-answering" },
    { "DocumentQuestionAnswering", { 0 }, "document-question-answering" },
    { "VisualQuestionAnswering", { 0 }, "visual-question-answering" },
    { "QuestionAnswering", { "vision_config", "modality_type_vocab_size" },
      "visual-question-answering" },
    { "QuestionAnswering", { 0 }, "question-answering" },
    { "SequenceClassification", HEARS, "audio-classification" },
    { "SequenceClassification", { 0 }, "text-classification" },
    { "TokenClassification", { 0 }, "token-classification" },
    { "MultipleChoice", { 0 }, "multiple-choice" },
    { "MaskedLM", { 0 }, "fill-mask" },
    { "ForPreTraining", { 0 }, "fill-mask" },
    { "WithLMHeadModel", { 0 }, "fill-mask" },
    { "CausalLM", { 0 }, "text-generation" },
    { "LMHead", { 0 }, "text-generation" },
    { "ZeroShotObjectDetection", { 0 }, "zero-shot-object-detection" },
    { "ObjectDetection", { "vision_config", "text_config" }, "zero-shot-object-detection" },
    { "ObjectDetection", { 0 }, "object-detection" },
    { "ImageClassification", { 0 }, "image-classification" },
    { "VideoClassification", { 0 }, "video-classification" },
    { "AudioFrameClassification", { 0 }, "audio-frame-classification" },
    { "AudioClassification", { 0 }, "audio-classification" },
    { "XVector", { 0 }, "audio-xvector" },
    { "Segmentation", { 0 }, "image-segmentation" },
    { "DepthEstimation", { 0 }, "depth-estimation" },
    { "MaskedImageModeling", { 0 }, "masked-im" },
    { "KeypointMatching", { 0 }, "keypoint-matching" },
    { "SuperResolution", { 0 }, "image-to-image" },
    { "ImageTextRetrieval", { 0 }, "zero-shot-image-classification" },
    { "TextToSpeech", { 0 }, "text-to-audio" },
    { "TextToWaveform", { 0 }, "text-to-audio" },
    { "TextToSpectrogram", { 0 }, "text-to-audio" },
    { "TTSForConditional", { 0 }, "text-to-audio" },
    { "ForCTC", { 0 }, "automatic-speech-recognition" },
    { "ForRNNT", { 0 }, "automatic-speech-recognition" },
    { "ForTDT", { 0 }, "automatic-speech-recognition" },
    { "ForSpeechToText", { 0 }, "automatic-speech-recognition" },
    { "SpeechRecognition", { 0 }, "automatic-speech-recognition" },
    { "ConditionalGeneration", SEES, "image-text-to-text" },
    { "ConditionalGeneration", { "sampling_rate", "num_mel_bins", "encoder_feature_dim" },
      "automatic-speech-recognition" },
    { "Speech2TextForConditionalGeneration", { 0 }, "automatic-speech-recognition" },
    { "AsrForConditionalGeneration", { 0 }, "automatic-speech-recognition" },
    { "ConditionalGeneration", { 0 }, "text2text-generation" },
    { "Text2Text", { "vision_config" }, "image-text-to-text" },
    { "TextToText", { 0 }, "text2text-generation" },
    { "Seq2Seq", { 0 }, "text2text-generation" },
    { "VisionEncoderDecoder", { 0 }, "image-text-to-text" },
    { "SpeechEncoderDecoder", { 0 }, "automatic-speech-recognition" },
    { "EncoderDecoder", { 0 }, "text2text-generation" },
    { "Model", { 0 }, "feature-extraction" },
    { "Encoder", { 0 }, "feature-extraction" },
    { "Backbone", { 0 }, "feature-extraction" },
    { "Transformer", { 0 }, "feature-extraction" },
};

/* Where the class says nothing: kinds of models that have one use. A type ends here at a "-", "_",
 * a digit or its end. */
static const struct TypeRow {
    const char *type, *task;
} types[] = {
    { "gpt", "text-generation" },         { "llama", "text-generation" },
    { "mistral", "text-generation" },     { "qwen", "text-generation" },
    { "opt", "text-generation" },         { "bloom", "text-generation" },
    { "falcon", "text-generation" },      { "phi", "text-generation" },
    { "gemma", "text-generation" },       { "t5", "text2text-generation" },
    { "bart", "text2text-generation" },   { "pegasus", "text2text-generation" },
    { "marian", "text2text-generation" }, { "clip", "zero-shot-image-classification" },
    { "siglip", "zero-shot-image-classification" },
    { "whisper", "automatic-speech-recognition" },
    { "wav2vec", "automatic-speech-recognition" },
    { "detr", "object-detection" },       { "yolos", "object-detection" },
    { "sam", "mask-generation" },         { "segformer", "image-segmentation" },
};

/* Labels say "classification"; other keys say of what. */
static const ClassRow labelled[] = {
    { "", { "image_size", "num_channels", "patch_size" }, "image-classification" },
    { "", { "sampling_rate", "num_mel_bins", "conv_kernel", "sample_rate" },
      "audio-classification" },
    { "", { 0 }, "text-classification" },
};

static bool is_set(const Value *config, const char *key)
{
    const Value *v = value_get(config, key);
    return v && v->kind != V_NULL && !(v->kind == V_BOOL && !v->b);
}

static bool any_set(const Value *config, const char *const keys[4])
{
    if (!keys[0]) return true;
    for (int i = 0; i < 4 && keys[i]; i++)
        if (is_set(config, keys[i])) return true;
    return false;
}

static const char *by_rows(const ClassRow *rows, size_t n, Str name, const Value *config)
{
    for (size_t i = 0; i < n; i++)
        if (memmem(name.p, name.n, rows[i].part, strlen(rows[i].part)) &&
            any_set(config, rows[i].keys))
            return rows[i].task;
    return NULL;
}

static const char *hf_task_by_name(Str name)
{
    for (size_t i = 0; i < COUNT(exact); i++) {
        const char *all = exact[i].classes;
        const char *p = name.n ? memmem(all, strlen(all), name.p, name.n) : NULL;
        if (p && p > all && p[-1] == ' ' && p[name.n] == ' ') return exact[i].task;
    }
    return NULL;
}

static const char *by_class(const Value *config)
{
    const Value *list = value_get(config, "architectures");
    if (!list || list->kind != V_LIST || !list->list.n) return NULL;
    Str name = value_str(&list->list.items[0], (Str){ 0 });
    const char *task = hf_task_by_name(name);
    if (task) return task;
    return name.n ? by_rows(classes, COUNT(classes), name, config) : NULL;
}

/* {"summarization": {...}, "translation_en_to_de": {...}}: what T5 was trained for. */
static const char *by_params(const Value *config)
{
    const Value *params = value_get(config, "task_specific_params");
    if (!params || params->kind != V_MAP) return NULL;
    for (size_t i = 0; i < params->map.n; i++) {
        Str key = params->map.items[i].key;
        const char *task = hf_task_known(key);
        if (task) return task;
        if (str_starts(key, "translation")) return "translation";
    }
    return NULL;
}

static const char *by_type(const Value *config)
{
    Str type = value_str(value_get(config, "model_type"), (Str){ 0 });
    for (size_t i = 0; i < COUNT(types); i++) {
        size_t n = strlen(types[i].type);
        char next = type.n > n ? type.p[n] : 0;
        bool ends = !next || next == '-' || next == '_' || (next >= '0' && next <= '9');
        if (ends && str_starts(type, types[i].type)) return types[i].task;
    }
    return NULL;
}

/* "B-PER", "I-PER": labels of words. */
static bool tags_words(const Value *labels)
{
    for (size_t i = 0; labels && labels->kind == V_MAP && i < labels->map.n; i++) {
        Str name = value_str(&labels->map.items[i].value, (Str){ 0 });
        if (str_starts(name, "B-") || str_starts(name, "I-")) return true;
    }
    return false;
}

static const char *by_labels(const Value *config)
{
    const Value *labels = value_get(config, "id2label"), *count = value_get(config, "num_labels");
    if (tags_words(labels)) return "token-classification";
    bool has = (labels && labels->kind == V_MAP && labels->map.n) || value_int(count, 0) > 0;
    return has ? by_rows(labelled, COUNT(labelled), STR("labels"), config) : NULL;
}

const char *hf_task_detect(const Value *config, HfTaskFrom *from)
{
    const char *const found[] = {
        [HF_TASK_NAMED] = hf_task_known(value_str(value_get(config, "task"), (Str){ 0 })),
        [HF_TASK_CLASS] = by_class(config),
        [HF_TASK_PARAMS] = by_params(config),
        [HF_TASK_TYPE] = by_type(config),
        [HF_TASK_LABELS] = by_labels(config),
        [HF_TASK_DEFAULT] = "feature-extraction",
    };
    size_t i = 0;
    while (!found[i]) i++;
    if (from) *from = (HfTaskFrom)i;
    return found[i];
}

const char *hf_task_from_name(HfTaskFrom from)
{
    static const char *const names[] = { "task", "architectures", "task_specific_params",
                                         "model_type", "labels", "default" };
    return names[from];
}

const char *hf_task_known(Str name)
{
    const TaskName *row = task_name(name);
    return row ? row->name : NULL;
}

bool hf_task_check(const char *name, const char **out, Err *err)
{
    char near[TASK_NAME_ROOM];
    *out = hf_task_known(str_of(name));
    if (*out) return true;
    bool found = task_name_near(str_of(name), near);
    return fail(err, EF_USAGE, "task: found \"%s\", wanted one like token-classification%s%s%s",
                name, found ? ": did you mean " : "", found ? near : "", found ? "?" : "");
}
