#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""picture_pairs.py - what transformers says about pictures with texts, for tests/golden/pairs.

    python tools/oracle/picture_pairs.py [FOLDER]   # transformers 5.22 (no torchvision: the Pillow backend), torch 2.13, onnx

A folder for each case: a tiny random CLIP or SigLIP (model.safetensors; clip_onnx: model.onnx with the inputs and outputs that
Optimum's exporter gives it), tokenizer.json, preprocessor_config.json. In cases.json
  [{"case", "picture", "params", "result"}]: the file of tests/golden/images, the parameters of the zero-shot pipeline, its result;
in vectors.json
  {case: {"pictures": {file: vector}, "texts": {text: vector}}}: image_embeds and text_embeds."""
import json
import os
import sys
import warnings

import torch
import transformers as T
from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

from picture_tasks import PICTURES, SEEN, spread

warnings.simplefilter("ignore")
OUT = sys.argv[1] if len(sys.argv) > 1 else "tests/golden/pairs"
WORDS = """a photo of the cat and dog . This is a bus boat house tree bird red green blue example two small cats on one sofa
remote controls! It's 3 o'clock, über-nice café""".split()
LABELS = (["cat", "dog"], ["a red bus", "BOAT", "two cats", "Über café"], ["tree"])
PARAMS = [{"candidate_labels": x} for x in LABELS] + [{"candidate_labels": LABELS[1], "hypothesis_template": "{}"},
                                                      {"candidate_labels": ["cat", "dog", "cat"], "hypothesis_template": "it's a {} , no ?"}]
TEXTS = ["This is a photo of cat.", "two small cats", "It's 3 o'clock, a BUS!", "tree"]


def clip_tokenizer():
    """As CLIPTokenizer builds it."""
    t = Tokenizer(models.BPE(unk_token="<|endoftext|>", continuing_subword_prefix="", end_of_word_suffix="</w>"))
    t.normalizer = normalizers.Sequence([normalizers.NFC(), normalizers.Replace(Regex(r"\s+"), " "), normalizers.Lowercase()])
    split = r"""<\|startoftext\|>|<\|endoftext\|>|'s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+"""
    t.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(split), "removed", invert=True),
                                               pre_tokenizers.ByteLevel(add_prefix_space=False)])
    t.decoder = decoders.ByteLevel()
    t.train_from_iterator(WORDS, trainers.BpeTrainer(vocab_size=120, end_of_word_suffix="</w>", show_progress=False,
                                                     special_tokens=["<|startoftext|>", "<|endoftext|>"]))
    t.post_processor = processors.RobertaProcessing(("<|endoftext|>", 1), ("<|startoftext|>", 0), False, False)
    return T.PreTrainedTokenizerFast(tokenizer_object=t, bos_token="<|startoftext|>", eos_token="<|endoftext|>",
                                     unk_token="<|endoftext|>", pad_token="<|endoftext|>", model_max_length=20)


def siglip_tokenizer():
    t = Tokenizer(models.Unigram())
    t.normalizer = normalizers.Sequence([normalizers.Lowercase(), normalizers.Replace(Regex(r"[!\"'(),.?]"), ""),
                                         normalizers.Replace(Regex(r"\s+"), " "), normalizers.Strip()])
    t.pre_tokenizer = pre_tokenizers.Metaspace()
    t.decoder = decoders.Metaspace()
    t.train_from_iterator(WORDS, trainers.UnigramTrainer(vocab_size=90, special_tokens=["<pad>", "</s>", "<unk>"], unk_token="<unk>",
                                                         show_progress=False))
    t.post_processor = processors.TemplateProcessing(single="$A </s>", special_tokens=[("</s>", 1)])
    return T.PreTrainedTokenizerFast(tokenizer_object=t, eos_token="</s>", unk_token="<unk>", pad_token="</s>", model_max_length=64,
                                     model_input_names=["input_ids"])


TOWER = dict(hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=24)


def clip(vocabulary, end):
    c = T.CLIPConfig(text_config=dict(TOWER, vocab_size=vocabulary, max_position_embeddings=20, eos_token_id=end, bos_token_id=0, pad_token_id=1),
                     vision_config=dict(TOWER, image_size=24, patch_size=8), projection_dim=12, architectures=["CLIPModel"])
    return keep(T.CLIPModel(c), 2.6)


def siglip(vocabulary):
    c = T.SiglipConfig(text_config=dict(TOWER, vocab_size=vocabulary, max_position_embeddings=64, pad_token_id=1, bos_token_id=2, eos_token_id=1),
                       vision_config=dict(TOWER, image_size=24, patch_size=8), architectures=["SiglipModel"])
    model = keep(T.SiglipModel(c), 1.9)
    with torch.no_grad():
        model.logit_bias.fill_(-1.7)
    return model


def keep(model, scale):
    spread(model, .35)
    with torch.no_grad():
        model.logit_scale.fill_(scale)
    return model


CLIP = dict(image_processor_type="CLIPImageProcessor", do_resize=True, size={"shortest_edge": 24}, resample=3, do_center_crop=True,
            crop_size={"height": 24, "width": 24}, do_rescale=True, do_normalize=True, do_convert_rgb=True,
            image_mean=[.48145466, .4578275, .40821073], image_std=[.26862954, .26130258, .27577711])
SIGLIP = dict(image_processor_type="SiglipImageProcessor", do_resize=True, size={"height": 24, "width": 24}, resample=3, do_rescale=True,
              do_normalize=True, image_mean=[.5] * 3, image_std=[.5] * 3)


class Named(torch.nn.Module):
    """With Optimum's inputs and outputs, in its order."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, input_ids, pixel_values, attention_mask):
        out = self.model(input_ids=input_ids, pixel_values=pixel_values, attention_mask=attention_mask)
        return out.logits_per_image, out.logits_per_text, out.text_embeds, out.image_embeds


def export(model, folder):
    texts, pictures = "text_batch_size", "image_batch_size"
    axes = {"input_ids": {0: texts, 1: "sequence_length"}, "pixel_values": {0: pictures, 1: "num_channels", 2: "height", 3: "width"},
            "attention_mask": {0: texts, 1: "sequence_length"}, "logits_per_image": {0: pictures, 1: texts},
            "logits_per_text": {0: texts, 1: pictures}, "text_embeds": {0: texts}, "image_embeds": {0: pictures}}
    ids = torch.tensor([[0, 9, 8, 1], [0, 7, 1, 1]])
    torch.onnx.export(Named(model), (ids, torch.rand(2, 3, 24, 24), torch.tensor([[1, 1, 1, 1], [1, 1, 1, 0]])), folder + "/model.onnx",
                      input_names=list(axes)[:3], output_names=list(axes)[3:], dynamic_axes=axes, opset_version=17, dynamo=False)


def vectors(model, tokenizer, processor, padding):
    out = {"pictures": {}, "texts": {}}
    from transformers.image_utils import load_image
    with torch.no_grad():
        for text in TEXTS:
            ids = tokenizer([text], return_tensors="pt", **padding)
            pixels = processor(images=[load_image(PICTURES + SEEN[0])], return_tensors="pt")
            out["texts"][text] = model(**ids, **pixels).text_embeds[0].tolist()
        for picture in SEEN:
            pixels = processor(images=[load_image(PICTURES + picture)], return_tensors="pt")
            out["pictures"][picture] = model(**ids, **pixels).image_embeds[0].tolist()
    return out


def main():
    cases, all_vectors = [], {}
    for name in ("clip", "clip_old", "clip_onnx", "siglip"):
        tokenizer = siglip_tokenizer() if name == "siglip" else clip_tokenizer()
        # 2: as in CLIP's first config.json, where the end of a text is the highest id
        model = siglip(len(tokenizer)) if name == "siglip" else clip(len(tokenizer), 2 if name == "clip_old" else 1)
        said = SIGLIP if name == "siglip" else CLIP
        padding = dict(padding="max_length", max_length=64, truncation=True) if name == "siglip" else dict(padding=True)
        folder = f"{OUT}/{name}"
        os.makedirs(folder, exist_ok=True)
        tokenizer.save_pretrained(folder)
        if name == "clip_onnx":
            model.config.save_pretrained(folder)
            export(model, folder)
        else:
            model.save_pretrained(folder)
        with open(folder + "/preprocessor_config.json", "w") as f:
            json.dump(said, f, indent=1)
        processor = getattr(T, said["image_processor_type"])(**{k: v for k, v in said.items() if k != "image_processor_type"})
        pipe = T.pipeline("zero-shot-image-classification", model=model, tokenizer=tokenizer, image_processor=processor)
        for picture in SEEN:
            for params in PARAMS:
                cases.append({"case": name, "picture": picture, "params": params, "result": pipe(PICTURES + picture, **params)})
        all_vectors[name] = vectors(model, tokenizer, processor, padding)
    for name, what in (("cases", cases), ("vectors", all_vectors)):
        with open(f"{OUT}/{name}.json", "w") as f:
            json.dump(what, f, indent=0)


if __name__ == "__main__":
    torch.manual_seed(1)
    main()
