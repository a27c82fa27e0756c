#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""vision.py - graphs of pictures beside ONNX Runtime, OpenVINO and PyTorch, one thread, in turns.

    make build/bench/graph_turns && python bench/vision.py MODELS [--models vit-base,...] [--seconds 1] [--rounds 3] [--cpu]

MODELS is a folder of NAME.onnx; those that are not there are made of random weights (where
transformers is installed); needs onnxruntime, openvino and torch as far as they are to be compared. Each engine stays loaded and
gets its turn in every round; the best run of each counts, in wall time (--cpu: of the process, on a machine that others use). Lines:
the best peer's time over ours, and the least that is wanted. Then int8 beside quantize_dynamic and static QDQ, bf16 beside what
OpenVINO takes by itself where the processor has it, and the part of ResNet-50 that Winograd could save."""
import argparse
import os
import subprocess
import tempfile
import time
import warnings

os.environ["OMP_NUM_THREADS"] = "1"
warnings.filterwarnings("ignore")
import numpy as np

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
WANTED = {"vit-base": 1.04, "dinov2-small": 1.04, "clip-vision-b32": 1.05, "convnext-tiny": 1.05, "swin-tiny": 1.05, "resnet-50": 0.97,
          "yolos-tiny": 1.08, "segformer-b0": 1.15, "detr-r50": 1.0}
SIZES = {"segformer-b0": (512, 512), "yolos-tiny": (512, 688), "detr-r50": (800, 1066)}


def best(run, seconds):
    """Wall and CPU milliseconds of the best run."""
    wall = cpu = 1e9
    end = time.perf_counter() + seconds
    count = 0
    while count < 2 or time.perf_counter() < end:
        a, b = time.perf_counter(), time.process_time()
        run()
        wall, cpu, count = min(wall, time.perf_counter() - a), min(cpu, time.process_time() - b), count + 1
    return wall * 1e3, cpu * 1e3


class Ours:
    def __init__(self, path, precision, pixels):
        self.process = subprocess.Popen([f"{ROOT}/build/bench/graph_turns", path, precision, pixels], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.isa = self.process.stdout.readline().strip()
        if not self.isa:
            raise RuntimeError("graph_turns does not start")

    def turn(self, seconds):
        self.process.stdin.write(f"{seconds}\n")
        self.process.stdin.flush()
        return tuple(map(float, self.process.stdout.readline().split()))

    def close(self):
        self.process.stdin.close()
        self.process.wait()


class Peer:
    def __init__(self, run):
        self.run = run

    def turn(self, seconds):
        return best(self.run, seconds)

    def close(self):
        self.run = None


def onnxruntime_of(path, x):
    import onnxruntime as ort
    o = ort.SessionOptions()
    o.intra_op_num_threads, o.log_severity_level = 1, 3
    session = ort.InferenceSession(path, o, providers=["CPUExecutionProvider"])
    feed = {session.get_inputs()[0].name: x}
    return Peer(lambda: session.run(None, feed))


def openvino_of(path, x, **options):
    import openvino as ov
    core = ov.Core()
    model = core.read_model(path)
    model.reshape({model.inputs[0]: list(x.shape)})
    compiled = core.compile_model(model, "CPU", {"INFERENCE_NUM_THREADS": 1, **options})
    request = compiled.create_infer_request()
    return Peer(lambda: request.infer([x]))


def torch_of(name, x):
    import torch
    torch.set_num_threads(1)
    model, given = module(name), torch.from_numpy(x)

    def run():
        with torch.no_grad():
            model(pixel_values=given)
    return Peer(run)


def module(name):
    import transformers as T
    T.logging.set_verbosity_error()
    resnet = dict(use_timm_backbone=False, use_pretrained_backbone=False, backbone=None, backbone_config=T.ResNetConfig(out_features=["stage4"]))
    return {
        "vit-base": lambda: T.ViTForImageClassification(T.ViTConfig(num_labels=1000)),
        "resnet-50": lambda: T.ResNetForImageClassification(T.ResNetConfig(num_labels=1000)),
        "convnext-tiny": lambda: T.ConvNextForImageClassification(T.ConvNextConfig(num_labels=1000)),
        "swin-tiny": lambda: T.SwinForImageClassification(T.SwinConfig(num_labels=1000)),
        "clip-vision-b32": lambda: T.CLIPVisionModelWithProjection(T.CLIPVisionConfig()),
        "dinov2-small": lambda: T.Dinov2Model(T.Dinov2Config(hidden_size=384, num_attention_heads=6, image_size=224)),
        "segformer-b0": lambda: T.SegformerForSemanticSegmentation(T.SegformerConfig(num_labels=150)),
        "detr-r50": lambda: T.DetrForObjectDetection(T.DetrConfig(**resnet)),
        "yolos-tiny": lambda: T.YolosForObjectDetection(T.YolosConfig(hidden_size=192, num_attention_heads=3, intermediate_size=768,
                                                                      image_size=[512, 688], use_mid_position_embeddings=False)),
    }[name]().eval()


def make(folder, name):
    """NAME.onnx of random weights; BatchNormalization with means and variances as trained ones have."""
    import torch
    model = module(name)
    for m in model.modules():
        if isinstance(m, torch.nn.BatchNorm2d):
            m.running_mean.normal_(0, .1)
            m.running_var.uniform_(.5, 1.5)

    class Flat(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.model = model  # its weights are no constants

        def forward(self, x):
            return tuple(v for v in self.model(pixel_values=x, return_dict=True).values() if isinstance(v, torch.Tensor))[:2]

    with torch.no_grad():
        torch.onnx.export(Flat(), (torch.zeros(1, 3, *SIZES.get(name, (224, 224))),), f"{folder}/{name}.onnx", input_names=["pixel_values"],
                          opset_version=17, dynamo=False, dynamic_axes={"pixel_values": {0: "batch"}})


def timed(engines, o):
    """name: best milliseconds, over all rounds; an engine that cannot is left out."""
    open_, result = {}, {}
    for name, start in engines.items():
        try:
            open_[name] = start()
        except Exception as e:
            print(f"  {name}: {type(e).__name__} {str(e)[:120]}", flush=True)
    for _ in range(o.rounds):
        for name, engine in open_.items():
            ms = engine.turn(o.seconds)[1 if o.cpu else 0]
            result[name] = min(result.get(name, 1e9), ms)
    for engine in open_.values():
        engine.close()
    return result


def line(title, ours, peers, wanted):
    least = min(peers.values())
    words = ", ".join(f"{k} {v:.1f}" for k, v in peers.items())
    print(f"{title:24} ours {ours:8.1f} ms   {words}   {least / ours:6.3f} (wanted {wanted})", flush=True)


def fp32(name, path, x, pixels, o):
    engines = {"ours": lambda: Ours(path, "fp32", pixels), "ONNX Runtime": lambda: onnxruntime_of(path, x),
               "OpenVINO": lambda: openvino_of(path, x, INFERENCE_PRECISION_HINT="f32"), "PyTorch": lambda: torch_of(name, x)}
    ms = timed(engines, o)
    line(name, ms.pop("ours"), ms, WANTED[name])


def quantized(path, folder, x):
    """Files of quantize_dynamic, its bytes with and without a sign, and of static QDQ."""
    import logging
    from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_dynamic, quantize_static
    from onnxruntime.quantization.shape_inference import quant_pre_process
    logging.disable(logging.WARNING)

    class Reader(CalibrationDataReader):
        def __init__(self):
            self.left = iter([{"pixel_values": x}] * 2)

        def get_next(self):
            return next(self.left, None)

    ready = f"{folder}/ready.onnx"
    quant_pre_process(path, ready, skip_symbolic_shape=True)
    quantize_dynamic(ready, f"{folder}/dynamic.onnx", weight_type=QuantType.QInt8)
    quantize_dynamic(ready, f"{folder}/dynamic_u8.onnx", weight_type=QuantType.QUInt8)
    quantize_static(ready, f"{folder}/qdq.onnx", Reader(), quant_format=QuantFormat.QDQ, per_channel=True,
                    activation_type=QuantType.QUInt8, weight_type=QuantType.QInt8)


def int8(name, path, x, pixels, o):
    with tempfile.TemporaryDirectory() as folder:
        quantized(path, folder, x)
        engines = {"ours": lambda: Ours(path, "int8", pixels)}
        for file in ("dynamic", "dynamic_u8", "qdq"):
            engines[file] = lambda file=file: onnxruntime_of(f"{folder}/{file}.onnx", x)
        ms = timed(engines, o)
    ours, qdq = ms.pop("ours"), ms.pop("qdq", None)
    line(name + " int8", ours, ms, 1.15)
    if qdq:
        print(f"{'':24} static QDQ {qdq:.1f} ms, {qdq / ours:.3f} of ours", flush=True)


def bf16(name, path, x, pixels, o):
    ms = timed({"ours": lambda: Ours(path, "bf16", pixels), "OpenVINO's default": lambda: openvino_of(path, x)}, o)
    if len(ms) == 2:
        line(name + " bf16", ms.pop("ours"), ms, 1.0)


def winograd():
    """3 x 3 convolutions of stride 1 in ResNet-50, of all multiplications; F(2, 3) leaves 4/9 of them, its transforms cost besides."""
    total = part = 0
    size, before = 112, 64
    total += 112 * 112 * 64 * 147
    for stage, (blocks, width) in enumerate([(3, 64), (4, 128), (6, 256), (3, 512)]):
        size = 56 >> stage
        for b in range(blocks):
            stride = 2 if stage and b == 0 else 1
            total += (size * stride) ** 2 * before * width + size * size * (9 * width * width + width * width * 4)
            total += size * size * before * width * 4 if b == 0 else 0
            part += 0 if stride == 2 else size * size * 9 * width * width
            before = width * 4
    print(f"ResNet-50: 3 x 3 with stride 1 are {100 * part / total:.0f} % of {total / 1e9:.2f} G multiplications; Winograd F(2, 3) would leave "
          f"{100 - 100 * part / total * 5 / 9:.0f} % of all, at best {1 / (1 - part / total * 5 / 9):.2f} times as fast, less its transforms", flush=True)


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("folder")
    options.add_argument("--models", default=",".join(WANTED))
    options.add_argument("--only", default="fp32,int8,bf16")
    options.add_argument("--seconds", type=float, default=1)
    options.add_argument("--rounds", type=int, default=3)
    options.add_argument("--cpu", action="store_true")
    o = options.parse_args()
    with open("/proc/cpuinfo") as f:
        has_bf16 = "bf16" in f.read()
    for name in o.models.split(","):
        path = f"{o.folder}/{name}.onnx"
        if not os.path.exists(path):
            make(o.folder, name)
        x = np.random.default_rng(1).normal(0, 1, (1, 3, *SIZES.get(name, (224, 224)))).astype(np.float32)
        with tempfile.NamedTemporaryFile(suffix=".npy") as pixels:
            np.save(pixels, x)
            pixels.flush()
            if "fp32" in o.only:
                fp32(name, path, x, pixels.name, o)
            if "int8" in o.only and name in ("vit-base", "resnet-50"):
                int8(name, path, x, pixels.name, o)
            if "bf16" in o.only and has_bf16:
                bf16(name, path, x, pixels.name, o)
    winograd()


if __name__ == "__main__":
    main()
