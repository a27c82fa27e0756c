#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""picture_tasks.py - what transformers' pipelines say about pictures, for tests/golden/pictures.

    python tools/oracle/picture_tasks.py [FOLDER]   # transformers 5.22 (no torchvision: the Pillow backend), torch 2.13, onnx

For each case a folder with a tiny random model (model.onnx by torch's exporter, config.json,
preprocessor_config.json), and in cases.json
  [{"case", "picture", "params", "result"}]: the file of tests/golden/images, the pipeline's parameters, its result; of masks
  the lengths of runs. resnet_hidden/cases.json has the same rows of a model whose vectors are [channels, height, width]."""
import json
import os
import sys
import warnings

import numpy as np
import torch
import transformers as T

warnings.simplefilter("ignore")
OUT = sys.argv[1] if len(sys.argv) > 1 else "tests/golden/pictures"
PICTURES = "tests/golden/images/"
SEEN = ["base420_37x29.jpg", "exif6.jpg", "cmyk.jpg", "png3_8_13x11.png", "png6_8_13x11.png", "png0_16_13x11.png", "lossy_37x29.webp",
        "plain_37x29.gif", "wide.jpg", "base420_1x1.jpg"]
SQUARE = dict(do_resize=True, do_rescale=True, do_normalize=True, resample=2, image_mean=[.5] * 3, image_std=[.5] * 3)


def names(*words):
    return dict(id2label=dict(enumerate(words)), label2id={w: i for i, w in enumerate(words)}, num_labels=len(words))


def export(model, folder, size, outputs):
    """Random weights that spread the answers: every tensor is scaled up."""
    os.makedirs(folder, exist_ok=True)
    pixels = torch.rand(2, 3, *size)
    torch.onnx.export(model, ({"pixel_values": pixels},), folder + "/model.onnx", input_names=["pixel_values"],
                      output_names=outputs, dynamic_axes={n: {0: "batch"} for n in ["pixel_values", *outputs]},
                      opset_version=17, dynamo=False)


def spread(model, scale):
    torch.manual_seed(7)
    with torch.no_grad():
        for p in model.parameters():
            p.copy_(torch.randn_like(p) * scale if p.dim() > 1 else p + torch.randn_like(p) * .2)
    return model.eval()


def save(folder, config, processor):
    os.makedirs(folder, exist_ok=True)
    config.save_pretrained(folder)
    with open(folder + "/preprocessor_config.json", "w") as f:
        json.dump(processor, f, indent=1)


def vit(problem=None, labels=("cat", "dog", "bus", "boat", "house", "tree", "bird")):
    c = T.ViTConfig(hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=24, image_size=24, patch_size=8,
                    problem_type=problem, architectures=["ViTForImageClassification"], **names(*labels))
    return spread(T.ViTForImageClassification(c), .35), dict(SQUARE, image_processor_type="ViTImageProcessor", size={"height": 24, "width": 24})


def resnet():
    c = T.ResNetConfig(embedding_size=8, hidden_sizes=[8, 12], depths=[1, 1], layer_type="basic",
                       architectures=["ResNetForImageClassification"], **names("red", "green", "blue"))
    p = dict(SQUARE, image_processor_type="ConvNextImageProcessor", resample=3, crop_pct=.875, size={"shortest_edge": 32})
    return spread(T.ResNetForImageClassification(c), .25), p


def yolos():
    c = T.YolosConfig(hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=24, image_size=[32, 48], patch_size=8,
                      num_detection_tokens=6, use_mid_position_embeddings=False, architectures=["YolosForObjectDetection"],
                      **names("cat", "dog", "bus"))
    p = dict(SQUARE, image_processor_type="YolosImageProcessor", size={"height": 32, "width": 48}, do_pad=False)
    return spread(T.YolosForObjectDetection(c), .5), p


def segformer():
    c = T.SegformerConfig(num_encoder_blocks=2, depths=[1, 1], sr_ratios=[2, 1], hidden_sizes=[8, 12], patch_sizes=[7, 3], strides=[4, 2],
                          num_attention_heads=[1, 2], mlp_ratios=[2, 2], decoder_hidden_size=12,
                          architectures=["SegformerForSemanticSegmentation"], **names("sky", "road", "house", "tree"))
    p = dict(SQUARE, image_processor_type="SegformerImageProcessor", size={"height": 32, "width": 32})
    return spread(T.SegformerForSemanticSegmentation(c), .4), p


CASES = []


def ask(case, pipe, params=({},), seen=SEEN, tidy=lambda r: r):
    for picture in seen:
        for p in params:
            CASES.append({"case": case, "picture": picture, "params": p, "result": tidy(pipe(PICTURES + picture, **p))})


def pipeline(task, model, processor):
    kind = getattr(T, processor["image_processor_type"])
    return T.pipeline(task, model=model, image_processor=kind(**{k: v for k, v in processor.items() if k != "image_processor_type"}))


def classification():
    for name, made, size in (("vit", vit(), (24, 24)), ("vit_several", vit("multi_label_classification"), (24, 24)),
                             ("resnet", resnet(), (32, 32))):
        model, processor = made
        folder = f"{OUT}/{name}"
        save(folder, model.config, processor)
        export(model, folder, size, ["logits"])
        params = ({}, {"top_k": 2}, {"function_to_apply": "none", "top_k": 9}) if name == "vit" else ({},)
        ask(name, pipeline("image-classification", model, processor), params)


def detection():
    model, processor = yolos()
    folder = f"{OUT}/yolos"
    save(folder, model.config, processor)
    export(model, folder, (32, 48), ["logits", "pred_boxes"])
    ask("yolos", pipeline("object-detection", model, processor), ({}, {"threshold": .35}))


def runs(mask):
    """Lengths of runs, row by row, from one of zeros on."""
    flat = np.asarray(mask).reshape(-1) > 0
    edges = np.flatnonzero(np.diff(np.concatenate([[False], flat])))
    return np.diff(np.concatenate([[0], edges, [flat.size]])).tolist()


def segmentation():
    model, processor = segformer()
    folder = f"{OUT}/segformer"
    save(folder, model.config, processor)
    export(model, folder, (32, 32), ["logits"])
    ask("segformer", pipeline("image-segmentation", model, processor),
        tidy=lambda r: [{"label": s["label"], "score": s["score"], "size": s["mask"].size, "runs": runs(s["mask"])} for s in r])


class Output(torch.nn.Module):
    """The model with one of its outputs."""

    def __init__(self, model, name):
        super().__init__()
        self.model, self.name = model, name

    def forward(self, pixel_values):
        return self.model(pixel_values)[self.name]


def embedding():
    """Vectors of the pooler, and (named "hidden") of the class token where the graph has no pooler's output."""
    c = T.ViTConfig(hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=24, image_size=24, patch_size=8,
                    architectures=["ViTModel"])
    model, processor = spread(T.ViTModel(c), .35), vit()[1]
    pipe = pipeline("image-feature-extraction", model, processor)
    for name, output in (("vit_vectors", "pooler_output"), ("vit_hidden", "last_hidden_state")):
        save(f"{OUT}/{name}", model.config, processor)
        export(Output(model, output), f"{OUT}/{name}", (24, 24), [output])
        for picture in SEEN:
            found = pipe(PICTURES + picture, pool=True)[0] if output == "pooler_output" else pipe(PICTURES + picture)[0][0]
            CASES.append({"case": name, "picture": picture, "params": {}, "result": found})


def maps():
    """Vectors in a plane: the pipeline gives [1][channels][height][width]."""
    c = T.ResNetConfig(embedding_size=4, hidden_sizes=[4, 6], depths=[1, 1], layer_type="basic", architectures=["ResNetModel"])
    model, processor, folder = spread(T.ResNetModel(c), .25), resnet()[1], f"{OUT}/resnet_hidden"
    pipe = pipeline("image-feature-extraction", model, processor)
    save(folder, c, processor)
    export(Output(model, "last_hidden_state").eval(), folder, (32, 32), ["last_hidden_state"])
    rows = [{"case": "resnet_hidden", "picture": p, "params": {}, "result": pipe(PICTURES + p)} for p in SEEN[:2]]
    with open(folder + "/cases.json", "w") as f:
        json.dump(rows, f, indent=0)


def main():
    os.makedirs(OUT, exist_ok=True)
    torch.manual_seed(1)
    classification()
    detection()
    segmentation()
    embedding()
    maps()
    with open(OUT + "/cases.json", "w") as f:
        json.dump(CASES, f, indent=0)


if __name__ == "__main__":
    main()
