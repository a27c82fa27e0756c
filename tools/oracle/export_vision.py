"""Checks `encoderfile export` of models of pictures against transformers: random weights of every architecture and
head, saved as safetensors, exported by us, run by ONNX Runtime and by `onnx run`, compared with PyTorch.

    python tools/oracle/export_vision.py PROGRAM WORK_FOLDER [--opsets] [--golden FOLDER] [CASE...]

Prints a row for each: largest absolute difference (ONNX Runtime, then ours) over batches of pictures, of several
sizes where the graph takes any, and whether every node's tag follows from the hooks' module table. --opsets adds 14,
17, 20 and 21. --golden writes tests/golden/export_vision: a folder for each case with its inputs and answers. Needs
torch, transformers 5, onnx, onnxruntime, numpy, safetensors."""
import argparse
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import warnings

import numpy as np
import onnx
import onnxruntime as ort
import torch
import transformers as tf
from safetensors.torch import load_file, save_file

from exported_tags import wrong_tags

warnings.filterwarnings("ignore")
tf.logging.set_verbosity_error()
tf.logging.disable_progress_bar()
SMALL = dict(hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=24, image_size=16, patch_size=4)
LABELS = dict(num_labels=5)
CLASSIFY = SMALL | LABELS
TEXT = dict(hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=24, vocab_size=30,
            max_position_embeddings=9, pad_token_id=1)
SEG = dict(hidden_sizes=[4, 8, 8, 12], depths=[1, 1, 2, 1], num_attention_heads=[1, 2, 2, 3], sr_ratios=[4, 2, 2, 1],
           mlp_ratios=[2, 2, 1, 2], decoder_hidden_size=10, num_labels=5)
STAGES = dict(hidden_sizes=[4, 4, 8, 12], depths=[1, 1, 2, 1], num_labels=5)
DETR = dict(d_model=16, encoder_layers=1, decoder_layers=2, encoder_attention_heads=2, decoder_attention_heads=4, encoder_ffn_dim=24,
            decoder_ffn_dim=20, num_queries=5, num_labels=4)
DINO = {k: v for k, v in CLASSIFY.items() if k != "intermediate_size"} | dict(mlp_ratio=2)



def detr(layer_type="bottleneck", **more):
    """With transformers' ResNet; timm's comes by names (see to_timm) or by timm itself."""
    backbone = tf.ResNetConfig(embedding_size=4, hidden_sizes=[4, 4, 8, 12], depths=[1, 1, 2, 1], layer_type=layer_type,
                               out_features=["stage1", "stage2", "stage3", "stage4"])
    return tf.DetrConfig(use_timm_backbone=False, backbone_config=backbone, **DETR | more)


def timm_detr(name, **more):
    return tf.DetrConfig(use_timm_backbone=True, backbone=name, use_pretrained_backbone=False, **DETR | more)


LAYOUT = TEXT | dict(hidden_size=24, coordinate_size=4, shape_size=4, max_position_embeddings=30, input_size=16, patch_size=4, rel_pos_bins=8,
                     max_rel_pos=16, rel_2d_pos_bins=16, max_rel_2d_pos=40, max_2d_position_embeddings=101)


# case: class, config, sizes of pictures (the first one is the golden file's)
CASES = {
    "vit": (tf.ViTForImageClassification, lambda: tf.ViTConfig(**CLASSIFY), [(16, 16)]),
    "vit-base": (tf.ViTModel, lambda: tf.ViTConfig(**SMALL), [(16, 16)]),
    "vit-wide": (tf.ViTForImageClassification, lambda: tf.ViTConfig(**CLASSIFY | dict(
        image_size=[12, 20], patch_size=[3, 5], qkv_bias=False, hidden_act="gelu_new")), [(12, 20)]),
    "deit": (tf.DeiTForImageClassificationWithTeacher, lambda: tf.DeiTConfig(**CLASSIFY), [(16, 16)]),
    "deit-plain": (tf.DeiTForImageClassification, lambda: tf.DeiTConfig(**CLASSIFY), [(16, 16)]),
    "dinov2": (tf.Dinov2ForImageClassification, lambda: tf.Dinov2Config(**DINO), [(16, 16), (16, 24), (8, 12), (21, 19)]),
    "dinov2-gated": (tf.Dinov2Model, lambda: tf.Dinov2Config(**DINO | dict(use_swiglu_ffn=True)), [(16, 16), (28, 8)]),
    "dinov2_with_registers": (tf.Dinov2WithRegistersForImageClassification, lambda: tf.Dinov2WithRegistersConfig(
        **DINO | dict(use_swiglu_ffn=True, num_register_tokens=3)), [(16, 16), (24, 16), (8, 12), (21, 19)]),
    "dinov2_with_registers-base": (tf.Dinov2WithRegistersModel, lambda: tf.Dinov2WithRegistersConfig(**DINO), [(16, 16)]),
    "beit": (tf.BeitForImageClassification, lambda: tf.BeitConfig(**CLASSIFY | dict(use_relative_position_bias=True)), [(16, 16)]),
    "beit-shared": (tf.BeitForImageClassification, lambda: tf.BeitConfig(**CLASSIFY | dict(
        use_relative_position_bias=True, use_shared_relative_position_bias=True, use_absolute_position_embeddings=True,
        use_mean_pooling=False, layer_scale_init_value=0.0)), [(16, 16)]),
    "beit-base": (tf.BeitModel, lambda: tf.BeitConfig(**SMALL), [(16, 16)]),
    "convnext": (tf.ConvNextForImageClassification, lambda: tf.ConvNextConfig(**STAGES), [(32, 32), (48, 40)]),
    "convnext-base": (tf.ConvNextModel, lambda: tf.ConvNextConfig(**STAGES | dict(layer_scale_init_value=0.0)), [(32, 32)]),
    "convnextv2": (tf.ConvNextV2ForImageClassification, lambda: tf.ConvNextV2Config(**STAGES), [(32, 32), (48, 40)]),
    "resnet": (tf.ResNetForImageClassification, lambda: tf.ResNetConfig(embedding_size=6, **STAGES), [(24, 24), (48, 40)]),
    "resnet-early": (tf.ResNetModel, lambda: tf.ResNetConfig(embedding_size=6, downsample_in_bottleneck=True,
        downsample_in_first_stage=True, hidden_act="gelu", **STAGES), [(24, 24)]),
    "resnet-basic": (tf.ResNetForImageClassification, lambda: tf.ResNetConfig(embedding_size=4, layer_type="basic", **STAGES),
        [(24, 24), (41, 29)]),
    "clip": (tf.CLIPModel, lambda: tf.CLIPConfig(text_config=TEXT | dict(eos_token_id=29), vision_config=SMALL,
                                                 projection_dim=10), [(16, 16)]),
    "clip-old": (tf.CLIPModel, lambda: tf.CLIPConfig(
        text_config=TEXT | dict(eos_token_id=2, hidden_act="gelu"), vision_config=SMALL | dict(hidden_act="gelu"),
        projection_dim=10), [(16, 16)]),
    "siglip": (tf.SiglipModel, lambda: tf.SiglipConfig(text_config=TEXT, vision_config=SMALL), [(16, 16)]),
    "swin": (tf.SwinForImageClassification, lambda: tf.SwinConfig(image_size=24, patch_size=2, embed_dim=8, depths=[2, 2],
        num_heads=[2, 4], window_size=3, mlp_ratio=2.0, num_labels=5), [(24, 24)]),
    "swin-padded": (tf.SwinModel, lambda: tf.SwinConfig(image_size=[28, 20], patch_size=2, embed_dim=8, depths=[2, 2, 1],
        num_heads=[2, 1, 4], window_size=3, mlp_ratio=1.5, use_absolute_embeddings=True, qkv_bias=False), [(28, 20)]),
    "segformer": (tf.SegformerForSemanticSegmentation, lambda: tf.SegformerConfig(**SEG), [(32, 32), (64, 40), (37, 51)]),
    "segformer-labels": (tf.SegformerForImageClassification, lambda: tf.SegformerConfig(**SEG), [(32, 32), (64, 40)]),
    "segformer-base": (tf.SegformerModel, lambda: tf.SegformerConfig(**SEG), [(32, 32)]),
    "yolos": (tf.YolosForObjectDetection, lambda: tf.YolosConfig(**CLASSIFY | dict(
        image_size=[16, 24], num_detection_tokens=3, num_hidden_layers=3)), [(16, 24), (24, 16), (28, 36), (21, 19)]),
    "yolos-plain": (tf.YolosForObjectDetection, lambda: tf.YolosConfig(**CLASSIFY | dict(
        image_size=[16, 24], num_detection_tokens=3, use_mid_position_embeddings=False)), [(16, 24), (24, 16)]),
    "yolos-base": (tf.YolosModel, lambda: tf.YolosConfig(**SMALL | dict(image_size=[16, 24], num_detection_tokens=3)), [(16, 24)]),
    "mobilenet_v2": (tf.MobileNetV2ForImageClassification, lambda: tf.MobileNetV2Config(
        depth_multiplier=0.02, depth_divisible_by=2, min_depth=2, finegrained_output=False, expand_ratio=2.0, num_labels=5),
        [(32, 32), (45, 39), (64, 33)]),
    "mobilenet_v2-base": (tf.MobileNetV2Model, lambda: tf.MobileNetV2Config(
        depth_multiplier=0.1, depth_divisible_by=4, min_depth=4, first_layer_is_expansion=False, tf_padding=False), [(32, 32)]),
    "detr": (tf.DetrForObjectDetection, detr, [(33, 40), (97, 64), (40, 130)]),
    "detr-basic": (tf.DetrForObjectDetection, lambda: detr("basic", position_embedding_type="learned", auxiliary_loss=True),
        [(64, 96), (97, 64)]),
    "detr-base": (tf.DetrModel, detr, [(64, 96)]),
    "detr-timm": (tf.DetrForObjectDetection, detr, [(33, 40), (97, 64)]),
    "detr-panoptic": (tf.DetrForSegmentation, lambda: detr(d_model=32, encoder_attention_heads=8), [(33, 40), (97, 67), (40, 130)]),
    "layoutlmv3": (tf.LayoutLMv3ForTokenClassification, lambda: tf.LayoutLMv3Config(num_labels=5, **LAYOUT), [(16, 16)]),
    "layoutlmv3-many": (tf.LayoutLMv3ForTokenClassification, lambda: tf.LayoutLMv3Config(num_labels=12, **LAYOUT), [(16, 16)]),
    "layoutlmv3-class": (tf.LayoutLMv3ForSequenceClassification, lambda: tf.LayoutLMv3Config(num_labels=5, **LAYOUT | dict(
        has_spatial_attention_bias=False)), [(16, 16)]),
    "layoutlmv3-answer": (tf.LayoutLMv3ForQuestionAnswering, lambda: tf.LayoutLMv3Config(**LAYOUT), [(16, 16)]),
    "layoutlmv3-base": (tf.LayoutLMv3Model, lambda: tf.LayoutLMv3Config(**LAYOUT | dict(has_relative_attention_bias=False)), [(16, 16)]),
    "layoutlmv3-usual": (tf.LayoutLMv3Model, lambda: tf.LayoutLMv3Config(**LAYOUT | dict(
        rel_pos_bins=32, max_rel_pos=128, rel_2d_pos_bins=64, max_rel_2d_pos=256, max_position_embeddings=514, max_2d_position_embeddings=1024)), [(16, 16)]),
    "deit-base": (tf.DeiTModel, lambda: tf.DeiTConfig(**SMALL), [(16, 16)]),
}
if importlib.util.find_spec("timm"):  # weights of 11 and 24 million numbers
    CASES |= {
        "detr-resnet18": (tf.DetrForObjectDetection, lambda: timm_detr("resnet18"), [(64, 96), (97, 64)]),
        "detr-resnet50-dc5": (tf.DetrForObjectDetection, lambda: timm_detr("resnet50", dilation=True), [(64, 96), (97, 64)]),
        "detr-resnet50-panoptic": (tf.DetrForSegmentation, lambda: timm_detr("resnet50", d_model=32, encoder_attention_heads=8),
                                   [(64, 96), (97, 67)]),
    }
# The folder of a case in tests/golden/export_vision: one for every row of src/export/arch.c that takes pictures.
GOLDEN = ["vit", "vit-base", "deit", "dinov2", "dinov2_with_registers", "beit", "convnext", "convnextv2",
          "resnet", "clip", "siglip", "swin",
          "segformer", "yolos", "mobilenet_v2", "detr", "detr-timm", "layoutlmv3", "layoutlmv3-answer"]
OUTPUTS = ["start_logits", "end_logits", "pred_masks", "logits", "last_hidden_state", "pooler_output", "pred_boxes", "logits_per_image", "logits_per_text",
           "text_embeds", "image_embeds"]


def make(case, folder):
    model_class, config, _ = CASES[case]
    torch.manual_seed(7)
    model = model_class(config()).eval()
    for name, p in list(model.named_parameters()) + list(model.named_buffers()):
        if p.dtype.is_floating_point:  # zeros and ones would hide a forgotten bias or gamma
            noise = torch.randn_like(p) * 0.1
            if p.dim() == 4 and "mobilenet" in case:  # else a picture is lost in so many layers
                torch.nn.init.kaiming_normal_(p)
            p.data.add_(noise.abs() if "var" in name else noise)
    shutil.rmtree(folder, ignore_errors=True)
    model.save_pretrained(folder)
    if case == "detr-timm":
        to_timm(folder)
    os.chmod(os.path.join(folder, "model.safetensors"), 0o644)
    with open(os.path.join(folder, "preprocessor_config.json"), "w") as f:
        h, w = CASES[case][2][0]
        json.dump(dict(image_processor_type="ViTImageProcessor", do_resize=True, size=dict(height=h, width=w), resample=2,
                       do_rescale=True, rescale_factor=1 / 255, do_normalize=True, image_mean=[0.5] * 3,
                       image_std=[0.5] * 3), f)
    return model


TIMM = [(r"conv_encoder\.", ""), (r"embedder\.embedder\.convolution", "conv1"), (r"embedder\.embedder\.normalization", "bn1"),
        (r"encoder\.stages\.(\d)\.layers", lambda m: "layer%d" % (int(m[1]) + 1)), (r"shortcut\.convolution", "downsample.0"),
        (r"shortcut\.normalization", "downsample.1"), (r"layer\.(\d)\.convolution", lambda m: "conv%d" % (int(m[1]) + 1)),
        (r"layer\.(\d)\.normalization", lambda m: "bn%d" % (int(m[1]) + 1)), (r"\.out_proj", ".o_proj"),
        (r"\.(fc\d)", r".mlp.\1")]


def to_timm(folder):
    """The same weights by the names that timm has for them, and those of today's classes for the rest."""
    path, tensors = os.path.join(folder, "model.safetensors"), {}
    for name, tensor in load_file(path).items():
        for old, new in TIMM:
            name = re.sub(old, new, name)
        tensors[name] = tensor
    save_file(tensors, path, {"format": "pt"})
    path = os.path.join(folder, "config.json")
    config = json.load(open(path)) | dict(backbone_config=dict(model_type="timm_backbone", backbone="resnet50"))
    with open(path, "w") as f:
        json.dump(config, f, indent=2)


def feeds(case, model):
    rng = np.random.default_rng(5)
    for i, (h, w) in enumerate(CASES[case][2]):
        for rows in (2, 1, 3) if i == 0 else (2,):
            feed = {"pixel_values": rng.standard_normal((rows, 3, h, w)).astype(np.float32)}
            if "detr" in case:
                feed["pixel_mask"] = live_pixels(rows, h, w)
            if "layoutlmv3" in case:
                feed |= page(rows, *(300, 1000) if "usual" in case else (9, 100), rng)
            yield feed | (texts(case, rng) if hasattr(model.config, "text_config") else {})


def page(rows, words, side, rng):
    """Words with boxes; all rows but the first are padded at their end."""
    ids, mask = rng.integers(3, 28, (rows, words)), np.ones((rows, words), np.int64)
    corners = np.sort(rng.integers(0, side + 1, (rows, words, 2, 2)), 2)
    for row in range(1, rows):
        ids[row, words - 2 * row:], mask[row, words - 2 * row:] = 1, 0
    return {"input_ids": ids, "bbox": corners.reshape(rows, words, 4) * mask[:, :, None], "attention_mask": mask}


def live_pixels(rows, h, w):
    """The first picture is whole, the others are padded at the right and the bottom."""
    mask = np.zeros((rows, h, w), np.int64)
    for row in range(rows):
        mask[row, :h - 13 * row, :w - 17 * row] = 1
    return mask


def texts(case, rng):
    """Three, padded behind their ends; SigLIP's have no mask."""
    ids = rng.integers(3, 28, (3, 9))
    mask = np.ones((3, 9), np.int64)
    for row, end in enumerate((8, 4, 6)):
        ids[row, end], ids[row, end + 1:], mask[row, end + 1:] = 29, 1, 0
    return {"input_ids": ids} | ({} if "siglip" in case else {"attention_mask": mask})


def torch_answers(model, feed, names):
    with torch.no_grad():
        out = model(**{k: torch.from_numpy(v) for k, v in feed.items()})
    return {n: getattr(out, n).numpy() for n in names}


def by_us(program, path, feed, names):
    folder = path + ".run"
    os.makedirs(folder, exist_ok=True)
    line = [program, "onnx", "run", path, "-o", folder]
    for name, value in feed.items():
        np.save(os.path.join(folder, name + ".npy"), value)
        line += ["-i", "%s=%s" % (name, os.path.join(folder, name + ".npy"))]
    subprocess.run(line, check=True, capture_output=True)
    return [np.load(os.path.join(folder, n + ".npy")) for n in names]


def difference(case, model, path, program):
    session = ort.InferenceSession(path, providers=["CPUExecutionProvider"])
    names = [o.name for o in session.get_outputs()]
    worst = [0.0, 0.0]
    for feed in feeds(case, model):
        want = torch_answers(model, feed, names)
        for k, got in enumerate((session.run(None, feed), by_us(program, path, feed, names))):
            for name, a in zip(names, got):
                assert a.shape == want[name].shape, (name, a.shape, want[name].shape)
                worst[k] = max(worst[k], float(np.abs(a - want[name]).max()))
    return worst


def module_table(model, feed):
    """Rule 2.1 of the hierarchy: what hooks see, {path: tag}, classes of torch.nn left out."""
    table, stack = {}, []

    def enter(name):
        def hook(module, args):
            last = name.split(".")[-1]
            tag = (stack[-1] if stack else "") + "/" + type(module).__name__ + ("." + last if last.isdigit() else "")
            stack.append(tag)
            table.setdefault(name, tag)
        return hook
    handles = []
    for name, module in model.named_modules():
        if type(module).__module__.startswith(("torch.nn", "torch._C")):
            continue
        handles.append(module.register_forward_pre_hook(enter(name)))
        handles.append(module.register_forward_hook(lambda m, a, o: stack.pop() and None))
    torch_answers(model, feed, [])
    for h in handles:
        h.remove()
    return table


def check_tags(case, model, path):
    if case == "detr-timm":  # has the modules of transformers' backbone
        return []
    return wrong_tags(path, module_table(model, next(iter(feeds(case, model)))))


def check(args, case, opset):
    source = os.path.join(args.work, case)
    out = source + ".onnx%d" % opset
    model = make(case, source)
    shutil.rmtree(out, ignore_errors=True)
    result = subprocess.run([args.program, "export", source, out, "--opset", str(opset)], capture_output=True, text=True)
    if result.returncode:
        print("%-18s %2d  %s" % (case, opset, result.stderr.strip()), flush=True)
        return False
    path = os.path.join(out, "model.onnx")
    onnx.checker.check_model(onnx.load(path), full_check=True)
    worst = difference(case, model, path, args.program)
    tags = check_tags(case, model, path)
    print("%-18s %2d  %8.2g %8.2g  tags %s" % (case, opset, *worst, "ok" if not tags else "WRONG %s" % (tags[0],)), flush=True)
    return max(worst) <= 1e-4 and not tags


def golden(args, case):
    folder = os.path.join(args.golden, case)
    model = make(case, folder)
    feed = next(iter(feeds(case, model)))
    with torch.no_grad():
        out = model(**{k: torch.from_numpy(v) for k, v in feed.items()})
    for name, value in feed.items():
        np.save(os.path.join(folder, name + ".npy"), value)
    for name in OUTPUTS:
        if getattr(out, name, None) is not None and (name != "last_hidden_state" or "logits" not in out):
            np.save(os.path.join(folder, name + ".npy"), np.ascontiguousarray(getattr(out, name).numpy()))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("work")
    parser.add_argument("--opsets", action="store_true")
    parser.add_argument("--golden", help="folder to write, as tests/golden/export_vision")
    parser.add_argument("case", nargs="*")
    args = parser.parse_intermixed_args()
    torch.set_num_threads(1)
    os.makedirs(args.work, exist_ok=True)
    if args.golden:
        for case in args.case or GOLDEN:
            golden(args, case)
        return
    bad = 0
    for case in args.case or CASES:
        for opset in (18, 20, 21) if args.opsets and "registers" in case else (18, 14, 17, 20, 21) if args.opsets else (18,):
            bad += not check(args, case, opset)
    print("%d differ by more than 1e-4, or in their tags" % bad)
    sys.exit(bad > 0)


if __name__ == "__main__":
    main()
