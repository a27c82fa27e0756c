#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tasks.py OUT - which task a class is for, by the auto-class tables of transformers: tests/golden/tasks.tsv.

A line: class, model type, those of a few telling keys that its default config has, the tasks of every table the class
stands in (the bare tables only if there is no other). Needs transformers 5.x."""
import sys

import transformers.models.auto.modeling_auto as auto
from transformers import CONFIG_MAPPING

# Tables by what the pipelines (transformers) and the exporter (Optimum) call their task.
TABLES = {
    "AUDIO_CLASSIFICATION": "audio-classification",
    "AUDIO_FRAME_CLASSIFICATION": "audio-frame-classification",
    "AUDIO_XVECTOR": "audio-xvector",
    "CAUSAL_LM": "text-generation",
    "CTC": "automatic-speech-recognition",
    "DEPTH_ESTIMATION": "depth-estimation",
    "DOCUMENT_QUESTION_ANSWERING": "document-question-answering",
    "IMAGE_CLASSIFICATION": "image-classification",
    "IMAGE_SEGMENTATION": "image-segmentation",
    "IMAGE_TEXT_TO_TEXT": "image-text-to-text",
    "IMAGE_TO_IMAGE": "image-to-image",
    "INSTANCE_SEGMENTATION": "image-segmentation",
    "KEYPOINT_MATCHING": "keypoint-matching",
    "MASKED_IMAGE_MODELING": "masked-im",
    "MASKED_LM": "fill-mask",
    "MASK_GENERATION": "mask-generation",
    "MULTIMODAL_LM": "any-to-any",
    "MULTIPLE_CHOICE": "multiple-choice",
    "OBJECT_DETECTION": "object-detection",
    "QUESTION_ANSWERING": "question-answering",
    "SEMANTIC_SEGMENTATION": "image-segmentation",
    "SEQUENCE_CLASSIFICATION": "text-classification",
    "SEQ_TO_SEQ_CAUSAL_LM": "text2text-generation",
    "SPEECH_SEQ_2_SEQ": "automatic-speech-recognition",
    "TABLE_QUESTION_ANSWERING": "table-question-answering",
    "TDT": "automatic-speech-recognition",
    "RNNT": "automatic-speech-recognition",
    "TEXT_TO_SPECTROGRAM": "text-to-audio",
    "TEXT_TO_WAVEFORM": "text-to-audio",
    "TOKEN_CLASSIFICATION": "token-classification",
    "UNIVERSAL_SEGMENTATION": "image-segmentation",
    "VIDEO_CLASSIFICATION": "video-classification",
    "VISUAL_QUESTION_ANSWERING": "visual-question-answering",
    "ZERO_SHOT_IMAGE_CLASSIFICATION": "zero-shot-image-classification",
    "ZERO_SHOT_OBJECT_DETECTION": "zero-shot-object-detection",
}
# What a config.json of that kind would have: every key that src/export/hf_task.c asks for.
KEYS = ["vision_config", "vq_config", "vision_tokenizer_config", "audio_config", "text_config", "num_mel_bins", "conv_kernel",
        "conv_depthwise_kernel_size", "sampling_rate", "encoder_feature_dim", "modality_type_vocab_size"]


def classes(value):
    return [value] if isinstance(value, str) else list(value)


def hints(model_type):
    """Keys that files of this kind have: those of the default config that are set."""
    try:
        config = CONFIG_MAPPING[model_type]().to_dict()
    except Exception:  # some cannot be made without arguments
        return []
    return [key for key in KEYS if config.get(key)]


def main():
    found = {}
    for table, task in TABLES.items():
        for model_type, value in getattr(auto, f"MODEL_FOR_{table}_MAPPING_NAMES").items():
            for name in classes(value):
                found.setdefault((name, model_type), set()).add(task)
    headed = {name for name, _ in found}
    for model_type, value in auto.MODEL_MAPPING_NAMES.items():
        for name in classes(value):
            if name not in headed:
                found.setdefault((name, model_type), set()).add("feature-extraction")
    for model_type, value in auto.MODEL_FOR_IMAGE_MAPPING_NAMES.items():
        for name in classes(value):
            if name not in headed:
                found.setdefault((name, model_type), set()).add("image-feature-extraction")
    told = {model_type: ",".join(hints(model_type)) for _, model_type in found}
    with open(sys.argv[1], "w") as out:
        for (name, model_type), tasks in sorted(found.items()):
            print(name, model_type, told[model_type], ",".join(sorted(tasks)), sep="\t", file=out)


main()
