#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""picture_models.py - what transformers' pipelines say about pictures, for every architecture in two sizes, from safetensors.

    python tools/oracle/picture_models.py [--out FOLDER] [CASE...]   # transformers 5.22 (no torchvision: the Pillow backend), torch

For each case of tests/golden/picture_models a folder with config.json, preprocessor_config.json and tensors.tsv: no
weights, but what they are made of, so that a test can make them again (tests/seeded_weights.h):
  letters shared with the name before, the rest of the name, dims, shift (or all numbers, with commas), scale
The i-th number of a tensor is shift + scale * noise(FNV-1a of its name, i), which is in -1 .. 1. cases.json as that of
picture_tasks.py: [{"case", "picture", "params", "result"}]; segments.json: what DETR's processor makes of such noise
as logits and masks."""
import argparse
import json
import os
import shutil
import tempfile
import warnings

import numpy as np
import torch
import transformers as T
from safetensors.numpy import load_file, save_file
from transformers.image_utils import load_image

warnings.simplefilter("ignore")
T.logging.set_verbosity_error()
T.logging.disable_progress_bar()
PICTURES = "tests/golden/images/"
SEEN = ["base420_37x29.jpg", "exif6.jpg", "cmyk.jpg", "ycck.jpg", "png3_8_13x11.png", "png6_8_13x11.png", "png0_16_13x11.png",
        "lossy_alpha_37x29.webp", "plain_37x29.gif", "base420_1x1.jpg"]
WORDS = ("cat", "dog", "bus", "boat", "house", "tree", "bird")
MEANS = dict(do_rescale=True, do_normalize=True, image_mean=[.5, .4, .3], image_std=[.5, .3, .2])


def names(n):
    words = WORDS[:n]
    return dict(id2label=dict(enumerate(words)), label2id={w: i for i, w in enumerate(words)})


def square(side, kind="ViT", **more):
    return dict(image_processor_type=kind + "ImageProcessor", do_resize=True, size=dict(height=side, width=side), **dict(resample=2) | MEANS | more)


def edge(side, kind, crop=None, **more):
    cut = dict(do_center_crop=True, crop_size=dict(height=crop, width=crop)) if crop else {}
    return dict(image_processor_type=kind + "ImageProcessor", do_resize=True, size=dict(shortest_edge=side), **dict(resample=3) | cut | MEANS | more)


def detector(kind, least, most, **more):
    return dict(image_processor_type=kind + "ImageProcessor", do_resize=True, size=dict(shortest_edge=least, longest_edge=most), **MEANS | more)


def layers(n, C, **more):
    return dict(hidden_size=C, num_hidden_layers=n, num_attention_heads=C // 8, intermediate_size=C * 2) | names(7) | more


def dino(n, C, **more):
    kept = {k: v for k, v in layers(n, C).items() if k != "intermediate_size"}
    return kept | dict(mlp_ratio=2, layerscale_value=1.0) | more


def stages(widths, depths, **more):
    return dict(hidden_sizes=widths, depths=depths) | names(7) | more


def segformer(widths, depths, heads):
    return dict(hidden_sizes=widths, depths=depths, num_attention_heads=heads, sr_ratios=[4, 2, 2, 1], mlp_ratios=[2, 2, 1, 2],
                decoder_hidden_size=12) | names(4)


def detr(widths, depths, d_model, layer_type="bottleneck", **more):
    backbone = T.ResNetConfig(embedding_size=8, hidden_sizes=widths, depths=depths, layer_type=layer_type,
                              out_features=["stage1", "stage2", "stage3", "stage4"])
    return dict(use_timm_backbone=False, backbone_config=backbone, d_model=d_model, encoder_layers=1, decoder_layers=2,
                encoder_attention_heads=8, decoder_attention_heads=4, encoder_ffn_dim=24, decoder_ffn_dim=20, num_queries=6) | names(4) | more


def towers(n, C, side, patch, words, **more):
    text = dict(hidden_size=C, num_hidden_layers=1, num_attention_heads=2, intermediate_size=C, vocab_size=20, max_position_embeddings=words)
    vision = dict(hidden_size=C, num_hidden_layers=n, num_attention_heads=C // 8, intermediate_size=C * 2, image_size=side, patch_size=patch)
    return dict(text_config=text, vision_config=vision) | more


CLASSIFY, DETECT, SEGMENT, EMBED = "image-classification", "object-detection", "image-segmentation", "image-feature-extraction"
# case: task, class, config, processor, gain of the matrices, parameters
CASES = {
    "vit-small": (CLASSIFY, "ViTForImageClassification", "ViTConfig", layers(1, 16, image_size=24, patch_size=8), square(24), 2.5),
    "vit-large": (CLASSIFY, "ViTForImageClassification", "ViTConfig", layers(3, 48, image_size=48, patch_size=8), square(48), 2.5),
    "deit-small": (CLASSIFY, "DeiTForImageClassificationWithTeacher", "DeiTConfig", layers(1, 16, image_size=24, patch_size=8),
                   square(28, "DeiT", resample=3, do_center_crop=True, crop_size=dict(height=24, width=24)), 2.5),
    "deit-large": (CLASSIFY, "DeiTForImageClassification", "DeiTConfig", layers(3, 40, image_size=48, patch_size=16),
                   square(54, "DeiT", resample=3, do_center_crop=True, crop_size=dict(height=48, width=48)), 2.5),
    "beit-small": (CLASSIFY, "BeitForImageClassification", "BeitConfig",
                   layers(1, 16, image_size=24, patch_size=8, use_relative_position_bias=True), square(24, "Beit"), 2.5),
    "beit-large": (CLASSIFY, "BeitForImageClassification", "BeitConfig",
                   layers(3, 40, image_size=40, patch_size=8, use_shared_relative_position_bias=True, use_relative_position_bias=True,
                          use_absolute_position_embeddings=True, use_mean_pooling=False), square(40, "Beit", resample=3), 2.5),
    "dinov2-small": (CLASSIFY, "Dinov2ForImageClassification", "Dinov2Config", dino(1, 16, image_size=24, patch_size=6),
                     edge(28, "Bit", 24), 2.5),
    "dinov2-large": (CLASSIFY, "Dinov2ForImageClassification", "Dinov2Config",
                     dino(3, 40, image_size=42, patch_size=7, use_swiglu_ffn=True), edge(60, "Bit", 56), 2.5),
    "dinov2_with_registers-small": (CLASSIFY, "Dinov2WithRegistersForImageClassification", "Dinov2WithRegistersConfig",
                                    dino(1, 16, image_size=24, patch_size=6, num_register_tokens=2), edge(28, "Bit", 24), 2.5),
    "dinov2_with_registers-large": (CLASSIFY, "Dinov2WithRegistersForImageClassification", "Dinov2WithRegistersConfig",
                                    dino(3, 40, image_size=42, patch_size=7, num_register_tokens=4), edge(40, "Bit", 35), 2.5),
    "swin-small": (CLASSIFY, "SwinForImageClassification", "SwinConfig", dict(
        image_size=24, patch_size=2, embed_dim=8, depths=[2, 2], num_heads=[2, 4], window_size=3, mlp_ratio=2.0) | names(7), square(24), 2.5),
    "swin-large": (CLASSIFY, "SwinForImageClassification", "SwinConfig", dict(
        image_size=40, patch_size=2, embed_dim=16, depths=[2, 2, 2], num_heads=[2, 4, 4], window_size=4, mlp_ratio=2.0) | names(7),
        square(40, resample=3), 2.5),
    "convnext-small": (CLASSIFY, "ConvNextForImageClassification", "ConvNextConfig", stages([8, 12], [1, 1], num_stages=2,
        layer_scale_init_value=1.0), edge(32, "ConvNext", crop_pct=.875), 2.5),
    "convnext-large": (CLASSIFY, "ConvNextForImageClassification", "ConvNextConfig", stages([8, 16, 24, 32], [1, 2, 2, 1],
        layer_scale_init_value=1.0), edge(64, "ConvNext", crop_pct=.95), 2.5),
    "convnextv2-small": (CLASSIFY, "ConvNextV2ForImageClassification", "ConvNextV2Config", stages([8, 12], [1, 1], num_stages=2),
                         edge(32, "ConvNext", crop_pct=.875), 2.5),
    "convnextv2-large": (CLASSIFY, "ConvNextV2ForImageClassification", "ConvNextV2Config", stages([8, 16, 24, 32], [1, 2, 2, 1]),
                         edge(64, "ConvNext", crop_pct=.95), 2.5),
    "resnet-small": (CLASSIFY, "ResNetForImageClassification", "ResNetConfig", stages([8, 12], [1, 2], embedding_size=8, layer_type="basic"),
                     edge(32, "ConvNext", crop_pct=.875), 2),
    "resnet-large": (CLASSIFY, "ResNetForImageClassification", "ResNetConfig", stages([16, 24, 32, 48], [1, 2, 2, 1], embedding_size=12),
                     edge(64, "ConvNext", crop_pct=.875), 2),
    "resnet-basic-large": (CLASSIFY, "ResNetForImageClassification", "ResNetConfig", stages([8, 12, 16, 24], [1, 2, 2, 1],
        embedding_size=8, layer_type="basic"), edge(64, "ConvNext", crop_pct=.875), 2),
    "mobilenet_v2-small": (CLASSIFY, "MobileNetV2ForImageClassification", "MobileNetV2Config", dict(
        depth_multiplier=.05, depth_divisible_by=4, min_depth=4, expand_ratio=2.0, finegrained_output=False) | names(7),
        edge(36, "MobileNetV2", 32, resample=2), 2.2),
    "mobilenet_v2-large": (CLASSIFY, "MobileNetV2ForImageClassification", "MobileNetV2Config", dict(
        depth_multiplier=.1, depth_divisible_by=4, min_depth=4, expand_ratio=3.0, finegrained_output=False, tf_padding=False) | names(7),
        edge(72, "MobileNetV2", 64, resample=2), 2.2),
    "clip-small": (EMBED, "CLIPModel", "CLIPConfig", towers(1, 16, 24, 8, 9, projection_dim=8), edge(24, "CLIP", 24), 2),
    "clip-large": (EMBED, "CLIPModel", "CLIPConfig", towers(3, 40, 48, 12, 9, projection_dim=24), edge(48, "CLIP", 48), 2),
    "siglip-small": (EMBED, "SiglipModel", "SiglipConfig", towers(1, 16, 24, 8, 9), square(24, "Siglip", resample=3), 2),
    "siglip-large": (EMBED, "SiglipModel", "SiglipConfig", towers(3, 40, 48, 12, 9), square(48, "Siglip", resample=3), 2),
    "yolos-small": (DETECT, "YolosForObjectDetection", "YolosConfig", layers(2, 16, image_size=[32, 48], patch_size=8,
        num_detection_tokens=5, use_mid_position_embeddings=False), detector("Yolos", 32, 64), 2.5, [{}, {"threshold": .3}]),
    "yolos-large": (DETECT, "YolosForObjectDetection", "YolosConfig", layers(3, 40, image_size=[48, 64], patch_size=16,
        num_detection_tokens=9), detector("Yolos", 64, 96), 2.5, [{}, {"threshold": .3}]),
    "detr-small": (DETECT, "DetrForObjectDetection", "DetrConfig", detr([8, 8, 16, 24], [1, 1, 1, 1], 16), detector("Detr", 48, 80), 2.5,
                   [{}, {"threshold": .3}]),
    "detr-large": (DETECT, "DetrForObjectDetection", "DetrConfig", detr([8, 12, 16, 24], [1, 2, 1, 1], 32, "basic", encoder_layers=2),
                   detector("Detr", 64, 120, pad_size=dict(height=130, width=125)), 5, [{}, {"threshold": .2}]),
    "detr-panoptic-small": (SEGMENT, "DetrForSegmentation", "DetrConfig", detr([8, 8, 16, 24], [1, 1, 1, 1], 16),
                            detector("Detr", 48, 80), 4, [{"threshold": .4}, {"subtask": "semantic"}]),
    "detr-panoptic-large": (SEGMENT, "DetrForSegmentation", "DetrConfig", detr([8, 12, 16, 24], [1, 1, 2, 1], 32, num_queries=8), detector("Detr", 64, 120), 4,
                            [{"threshold": .5}, {"threshold": .2, "mask_threshold": .2, "overlap_mask_area_threshold": .1}]),
    "segformer-small": (SEGMENT, "SegformerForSemanticSegmentation", "SegformerConfig", segformer([8, 8, 8, 12], [1, 1, 1, 1], [1, 1, 2, 2]),
                        square(32, "Segformer"), 2.5, [{}, {"subtask": "semantic"}]),
    "segformer-large": (SEGMENT, "SegformerForSemanticSegmentation", "SegformerConfig", segformer([8, 16, 24, 32], [1, 2, 2, 1], [1, 2, 3, 4]),
                        square(64, "Segformer"), 2.5),
}


def noise(name, n):
    seed = 2166136261
    for byte in name.encode():
        seed = (seed ^ byte) * 16777619 & 0xffffffff
    x = (np.arange(n, dtype=np.uint64) * 0x9e3779b9 + seed).astype(np.uint32)
    for shift, factor in ((16, 0x85ebca6b), (13, 0xc2b2ae35)):
        x ^= x >> np.uint32(shift)
        x *= np.uint32(factor)
    x ^= x >> np.uint32(16)
    return ((x >> np.uint32(8)).astype(np.float32) * np.float32(2 ** -23) - np.float32(1))


def range_of(name, shape, gain):
    """shift and scale: matrices keep their input's size, times the gain; norms are near 1."""
    if name.endswith("running_var"):
        return 1, .5
    if len(shape) < 2:
        near_one = name.endswith(("weight", "lambda1", "lambda_1", "lambda_2")) or "layer_scale" in name
        return (1, .3) if near_one else (0, .3)
    if "query_position" in name:
        return 0, 4
    if "embeddings" in name and "projection" not in name or "token" in name:
        return 0, 1
    return 0, float("%.3g" % (gain * (1 / np.prod(shape[1:])) ** .5))


def write_tensors(path, tensors, gain, given):
    """Fills the tensors, and says in the file how."""
    before, lines = "", []
    for name in sorted(tensors):
        shape = tensors[name].shape
        shift, scale = (given[name], 0) if name in given else range_of(name, shape, gain)
        tensors[name] = (np.float32(shift) + np.float32(scale) * noise(name, int(np.prod(shape)))).reshape(shape).astype(np.float32)
        same = len(os.path.commonprefix([before, name]))
        said = ",".join("%g" % v for v in np.atleast_1d(shift))
        lines.append("%d\t%s\t%s\t%s\t%g\n" % (same, name[same:], "x".join(map(str, shape)), said, scale))
        before = name
    with open(path, "w") as f:
        f.writelines(lines)


def even(model, case, tensors):
    """Biases that leave every label of a query or pixel, and both sides of a mask, about equally likely: random weights
    prefer one for all of them."""
    pipe, biases = pipeline(case, model), {}
    found = [pipe.forward(pipe.preprocess(PICTURES + p)) for p in SEEN[:5]]
    for output, ends in (("logits", ("class_labels_classifier.bias", "class_labels_classifier.layers.2.bias", "decode_head.classifier.bias")),
                         ("pred_masks", ("mask_head.out_lay.bias",))):
        for name in tensors:
            if name.endswith(ends):
                maps = [f[output].movedim(1, -1) if f[output].dim() == 4 and output == "logits" else f[output] for f in found]
                width = tensors[name].size
                mean = np.mean([m.reshape(-1, width).mean(0).numpy() for m in maps], 0)
                biases[name] = np.array(["%.4g" % v for v in tensors[name] - mean], np.float32)
    return biases


def pipeline(case, model):
    processor = dict(CASES[case][4])
    kind = getattr(T, processor.pop("image_processor_type"))
    return T.pipeline(CASES[case][0], model=model, image_processor=kind(**processor))


def make(case, folder):
    task, kind, config, numbers, processor, gain = CASES[case][:6]
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    model = getattr(T, kind)(getattr(T, config)(architectures=[kind], **numbers))
    with tempfile.TemporaryDirectory() as work:
        model.save_pretrained(work)
        path = os.path.join(work, "model.safetensors")
        tensors = {k: v for k, v in load_file(path).items() if v.dtype == np.float32}
        given = {}
        for _ in range(2 if task in (DETECT, SEGMENT) else 1):
            write_tensors(os.path.join(folder, "tensors.tsv"), tensors, gain, given)
            save_file(tensors, path, {"format": "pt"})
            model = getattr(T, kind).from_pretrained(work).eval()
            given = even(model, case, tensors) if task in (DETECT, SEGMENT) else {}
        said = model.config.to_diff_dict()
        for key in ("dtype", "transformers_version"):
            said.pop(key, None)
        with open(os.path.join(folder, "config.json"), "w") as f:
            json.dump(said, f, separators=(",", ":"))
    with open(os.path.join(folder, "preprocessor_config.json"), "w") as f:
        json.dump(processor, f, separators=(",", ":"))
    return model


def runs(mask):
    """Lengths of runs, row by row, from one of zeros on."""
    flat = np.asarray(mask).reshape(-1) > 0
    edges = np.flatnonzero(np.diff(np.concatenate([[False], flat])))
    return np.diff(np.concatenate([[0], edges, [flat.size]])).tolist()


def tidy(found):
    for one in found:
        if "mask" in one:
            mask = one.pop("mask")
            one["size"], one["runs"] = mask.size, runs(mask)
        if one.get("score") is not None:
            one["score"] = float("%.7g" % one["score"])
    return found


def vectors(case, model):
    """CLIP and SigLIP: image_embeds."""
    processor = pipeline(case, model).image_processor
    for picture in SEEN:
        pixels = processor(load_image(PICTURES + picture), return_tensors="pt")["pixel_values"]
        with torch.no_grad():
            found = model(pixel_values=pixels, input_ids=torch.ones(1, 9, dtype=torch.long)).image_embeds[0]
        yield {"case": case, "picture": picture, "params": {}, "result": [float("%.7g" % v) for v in found]}


def ask(case, model):
    if CASES[case][0] == EMBED:
        yield from vectors(case, model)
        return
    pipe = pipeline(case, model)
    for picture in SEEN:
        for params in CASES[case][6] if len(CASES[case]) > 6 else [{}]:
            yield {"case": case, "picture": picture, "params": params, "result": tidy(pipe(PICTURES + picture, **params))}


def segments():
    """What is made of queries and masks, by itself: random models of this size mark the whole picture by one query."""
    processor, rows = T.DetrImageProcessor(), []
    for i, (queries, h, w, size) in enumerate([(12, 6, 8, (29, 37)), (20, 5, 5, (11, 13)), (9, 7, 4, (40, 21))]):
        logits = torch.from_numpy(noise("logits%d" % i, queries * 5).reshape(1, queries, 5) * np.float32(4))
        masks = torch.from_numpy(noise("masks%d" % i, queries * h * w).reshape(1, queries, h, w) * np.float32(6))
        output = T.models.detr.modeling_detr.DetrSegmentationOutput(logits=logits, pred_masks=masks)
        for params in ({}, {"threshold": .6}, {"threshold": .3, "mask_threshold": .3, "overlap_mask_area_threshold": .2}):
            usual = {"threshold": .9, "mask_threshold": .5, "overlap_mask_area_threshold": .5}
            found = processor.post_process_panoptic_segmentation(output, target_sizes=[size], **usual | params)[0]
            result = [{"label": "LABEL_%d" % s["label_id"], "score": s["score"], "size": size[::-1],
                       "runs": runs(found["segmentation"].numpy() == s["id"])} for s in found["segments_info"]]
            rows.append({"number": i, "queries": queries, "map": [h, w], "params": params, "result": result})
        labels = processor.post_process_semantic_segmentation(output, target_sizes=[size])[0].numpy()
        result = [{"label": "LABEL_%d" % v, "score": None, "size": size[::-1], "runs": runs(labels == v)} for v in np.unique(labels)]
        rows.append({"number": i, "queries": queries, "map": [h, w], "params": {"subtask": "semantic"}, "result": result})
    return rows


def write_rows(path, rows):
    with open(path, "w") as f:
        f.write("[\n" + ",\n".join(json.dumps(r, separators=(",", ":")) for r in rows) + "\n]\n")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", default="tests/golden/picture_models")
    parser.add_argument("case", nargs="*")
    args = parser.parse_args()
    torch.set_num_threads(1)
    rows = []
    for case in args.case or CASES:
        made = list(ask(case, make(case, os.path.join(args.out, case))))
        rows += made
        print("%-28s %d tensors" % (case, sum(1 for _ in open(os.path.join(args.out, case, "tensors.tsv")))),
              [[(r.get("label"), round(r["score"] or 0, 3)) if isinstance(r, dict) else round(r, 3) for r in m["result"]][:2] for m in made[:4]],
              flush=True)
    write_rows(os.path.join(args.out, "cases.json"), rows)
    write_rows(os.path.join(args.out, "segments.json"), segments())


if __name__ == "__main__":
    main()
