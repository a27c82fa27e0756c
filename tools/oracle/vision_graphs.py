# SPDX-License-Identifier: Apache-2.0
"""Writes tests/golden/vision_graphs: vision models of transformers with random weights, as torch's TorchScript exporter writes them,
each a folder of ONNX's own test layout with the outputs of ONNX Runtime. tests/cli/vision_graphs.sh runs them as they are and with
everything fused. Usage: python tools/oracle/vision_graphs.py tests/golden/vision_graphs"""
import logging
import os
import sys
import warnings

import onnx
import onnxruntime
import torch
import transformers as T
from onnx import numpy_helper

warnings.filterwarnings("ignore")
logging.disable(logging.WARNING)
torch.manual_seed(0)
SMALL = dict(hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=24)
RESNET = dict(embedding_size=4, hidden_sizes=[8, 8, 12, 16], depths=[1, 1, 1, 1])


def detr():
    backbone = T.ResNetConfig(**RESNET, out_features=["stage4"])
    return T.DetrForObjectDetection(T.DetrConfig(
        use_timm_backbone=False, use_pretrained_backbone=False, backbone=None, backbone_config=backbone, d_model=16, encoder_layers=1,
        decoder_layers=1, encoder_ffn_dim=16, decoder_ffn_dim=16, encoder_attention_heads=2, decoder_attention_heads=2, num_queries=5))


MODELS = {
    "vit": (lambda: T.ViTForImageClassification(T.ViTConfig(**SMALL, image_size=32, patch_size=8)), (32, 32)),
    "convnext": (lambda: T.ConvNextForImageClassification(T.ConvNextConfig(hidden_sizes=[4, 4, 8, 8], depths=[1, 1, 1, 1])), (32, 32)),
    "resnet": (lambda: T.ResNetForImageClassification(T.ResNetConfig(**RESNET)), (24, 20)),
    "detr": (detr, (64, 32)),
}


class Tuple(torch.nn.Module):
    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, pixels):
        found = self.model(pixel_values=pixels, return_dict=True)
        return tuple(v for v in found.values() if isinstance(v, torch.Tensor))[:2]


def shorten(path): # without names of modules and what the exporter says of inner values
    model = onnx.load(path)
    del model.graph.value_info[:]
    for i, node in enumerate(model.graph.node):
        node.name, node.doc_string = f"{node.op_type}{i}", ""
    onnx.save(model, path)


def main(out):
    for name, (make, (height, width)) in MODELS.items():
        folder = os.path.join(out, name)
        os.makedirs(f"{folder}/test_data_set_0", exist_ok=True)
        model = make().eval()
        for p in model.parameters():
            p.data += torch.randn_like(p) * 0.1
        for m in model.modules():
            if isinstance(m, torch.nn.BatchNorm2d):
                m.running_mean.normal_(0, 0.1), m.running_var.uniform_(0.5, 1.5)
        pixels = torch.randn(2, 3, height, width)
        with torch.no_grad():
            torch.onnx.export(Tuple(model), (pixels,), f"{folder}/model.onnx", input_names=["pixel_values"], opset_version=17, dynamo=False,
                              dynamic_axes={"pixel_values": {0: "batch"}})
        shorten(f"{folder}/model.onnx")
        session = onnxruntime.InferenceSession(f"{folder}/model.onnx", providers=["CPUExecutionProvider"])
        outputs = session.run(None, {"pixel_values": pixels.numpy()})
        for kind, values in (("input", [pixels.numpy()]), ("output", outputs)):
            for i, v in enumerate(values):
                with open(f"{folder}/test_data_set_0/{kind}_{i}.pb", "wb") as f:
                    f.write(numpy_helper.from_array(v).SerializeToString())
        with open(f"{folder}/tolerance.txt", "w") as f:
            f.write("1e-4 1e-4\n")
        print(name, [v.shape for v in outputs])


main(sys.argv[1])
