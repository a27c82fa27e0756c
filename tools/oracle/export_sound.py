"""Checks `encoderfile export` of models of sounds against transformers: random weights of every architecture and head,
saved as safetensors, exported by us, run by ONNX Runtime and by `onnx run`, compared with PyTorch.

    python tools/oracle/export_sound.py PROGRAM WORK_FOLDER [--opsets] [--golden FOLDER] [CASE...]

Prints a row for each: largest absolute difference (ONNX Runtime, then ours) over batches of sounds, of several lengths
where the graph takes any, and whether every node's tag follows from the hooks' module table. --opsets adds 14, 17, 20
and 21. --golden writes tests/golden/export_sound: a folder for each case with its inputs and answers; --foreign writes
tests/golden/sound_graphs: the first case as torch's own exporter writes it (transformers 4). Needs torch,
transformers 5, onnx, onnxruntime, numpy, safetensors."""
import argparse
import json
import os
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

from export_vision import by_us, module_table
from exported_tags import wrong_tags

warnings.filterwarnings("ignore")
tf.logging.set_verbosity_error()
tf.logging.disable_progress_bar()
LAYERS = dict(hidden_size=8, num_hidden_layers=2, num_attention_heads=2, intermediate_size=12)
SPEECH = LAYERS | dict(conv_dim=[8, 8, 12], conv_kernel=[10, 3, 2], conv_stride=[5, 2, 2], num_feat_extract_layers=3,
                       num_conv_pos_embeddings=6, num_conv_pos_embedding_groups=4, vocab_size=11, num_labels=5,
                       classifier_proj_size=7, layerdrop=0.0, mask_time_prob=0.0, mask_feature_prob=0.0)
# transformers 5 hands out the last hidden state before its norm unless told otherwise; 4, which the published
# checkpoints were trained with, behind it: so do we.
LARGE = SPEECH | dict(tie_last_hidden_states=True, feat_extract_norm="layer", do_stable_layer_norm=True, conv_bias=True, num_hidden_layers=3)
VOICE = dict(tdnn_dim=[8, 8, 10], tdnn_kernel=[3, 2, 1], tdnn_dilation=[1, 2, 1], xvector_output_dim=6)
DATA2VEC = SPEECH | dict(num_conv_pos_embeddings=3, conv_pos_kernel_size=5)
AST = LAYERS | dict(max_length=40, num_mel_bins=24, patch_size=8, frequency_stride=5, time_stride=6, num_labels=5)
WHISPER = dict(d_model=8, encoder_layers=2, encoder_attention_heads=2, encoder_ffn_dim=12, decoder_layers=1,
               decoder_attention_heads=2, decoder_ffn_dim=8, num_mel_bins=6, max_source_positions=12, vocab_size=20,
               pad_token_id=0, bos_token_id=1, eos_token_id=2, decoder_start_token_id=1, num_labels=5,
               classifier_proj_size=7, suppress_tokens=[], begin_suppress_tokens=[])
WEIGHED = dict(use_weighted_layer_sum=True)
LENGTHS = [(700,), (401,), (1003,)]


class WhisperEncoder:
    """The encoder of a whole model: what a folder of WhisperForConditionalGeneration is exported to."""

    def __new__(cls, config):
        model = tf.WhisperForConditionalGeneration(config)
        model.part = model.get_encoder()
        return model


# case: class, config, shapes of a row (the first one is the golden file's)
CASES = {
    "wav2vec2": (tf.Wav2Vec2ForCTC, lambda: tf.Wav2Vec2Config(**SPEECH), LENGTHS),
    "wav2vec2-large": (tf.Wav2Vec2ForCTC, lambda: tf.Wav2Vec2Config(**LARGE), LENGTHS),
    "wav2vec2-old": (tf.Wav2Vec2ForCTC, lambda: tf.Wav2Vec2Config(**SPEECH), LENGTHS),
    "wav2vec2-labels": (tf.Wav2Vec2ForSequenceClassification, lambda: tf.Wav2Vec2Config(**SPEECH | WEIGHED), LENGTHS),
    "wav2vec2-labels-large": (tf.Wav2Vec2ForSequenceClassification, lambda: tf.Wav2Vec2Config(**LARGE | WEIGHED), LENGTHS),
    "wav2vec2-labels-plain": (tf.Wav2Vec2ForSequenceClassification, lambda: tf.Wav2Vec2Config(**SPEECH), LENGTHS),
    "wav2vec2-base": (tf.Wav2Vec2Model, lambda: tf.Wav2Vec2Config(**SPEECH | dict(
        num_conv_pos_embeddings=5, hidden_act="relu", feat_extract_activation="gelu_new")), LENGTHS),
    "wav2vec2-frames": (tf.Wav2Vec2ForAudioFrameClassification, lambda: tf.Wav2Vec2Config(**SPEECH | WEIGHED), LENGTHS),
    "wav2vec2-voice": (tf.Wav2Vec2ForXVector, lambda: tf.Wav2Vec2Config(**SPEECH | VOICE), LENGTHS),
    "hubert": (tf.HubertForCTC, lambda: tf.HubertConfig(**SPEECH), LENGTHS),
    "hubert-large": (tf.HubertForSequenceClassification, lambda: tf.HubertConfig(**LARGE | WEIGHED), LENGTHS),
    "hubert-batch-norm": (tf.HubertModel, lambda: tf.HubertConfig(**SPEECH | dict(
        conv_pos_batch_norm=True, feat_proj_layer_norm=False)), LENGTHS),
    "wavlm": (tf.WavLMForSequenceClassification, lambda: tf.WavLMConfig(**SPEECH | dict(
        num_buckets=16, max_bucket_distance=20)), LENGTHS),
    "wavlm-large": (tf.WavLMForCTC, lambda: tf.WavLMConfig(**LARGE | dict(num_buckets=320)), LENGTHS),
    "wavlm-voice": (tf.WavLMForXVector, lambda: tf.WavLMConfig(**SPEECH | VOICE | WEIGHED), LENGTHS),
    "data2vec-audio": (tf.Data2VecAudioForCTC, lambda: tf.Data2VecAudioConfig(**DATA2VEC), LENGTHS),
    "data2vec-audio-labels": (tf.Data2VecAudioForSequenceClassification, lambda: tf.Data2VecAudioConfig(
        **DATA2VEC | dict(conv_pos_kernel_size=6, num_hidden_layers=3)), LENGTHS),
    "audio-spectrogram-transformer": (tf.ASTForAudioClassification, lambda: tf.ASTConfig(**AST), [(40, 24)]),
    "audio-spectrogram-transformer-base": (tf.ASTModel, lambda: tf.ASTConfig(**AST | dict(
        qkv_bias=False, max_length=51, num_hidden_layers=3)), [(51, 24)]),
    "whisper": (WhisperEncoder, lambda: tf.WhisperConfig(**WHISPER), [(6, 24)]),
    "whisper-labels": (tf.WhisperForAudioClassification, lambda: tf.WhisperConfig(**WHISPER | WEIGHED | dict(
        encoder_layers=3, num_mel_bins=8)), [(8, 24)]),
}
# The folder of a case in tests/golden/export_sound: two for every row of src/export/arch.c that takes sounds.
GOLDEN = ["wav2vec2", "wav2vec2-large", "wav2vec2-old", "wav2vec2-labels", "wav2vec2-base",
          "wav2vec2-voice", "hubert", "hubert-large", "hubert-batch-norm", "wavlm", "wavlm-large", "data2vec-audio",
          "data2vec-audio-labels", "audio-spectrogram-transformer", "audio-spectrogram-transformer-base", "whisper",
          "whisper-labels"]
OUTPUTS = ["logits", "embeddings", "last_hidden_state", "pooler_output"]
OLD_NAMES = {"parametrizations.weight.original0": "weight_g", "parametrizations.weight.original1": "weight_v"}


def make(case, folder):
    model_class, config, _ = CASES[case]
    torch.manual_seed(7)
    model = model_class(config()).eval()
    for name, p in list(model.named_parameters()) + list(model.named_buffers()):
        if p.dtype.is_floating_point:  # zeros and ones would hide a forgotten bias or gamma
            noise = torch.randn_like(p) * 0.1
            p.data.add_(noise.abs() if "var" in name else noise)
    shutil.rmtree(folder, ignore_errors=True)
    part = model.__dict__["_modules"].pop("part", None)
    model.save_pretrained(folder)
    path = os.path.join(folder, "model.safetensors")
    os.chmod(path, 0o644)
    if case.endswith("-old"):
        save_file({key(k): v for k, v in load_file(path).items()}, path)
    with open(os.path.join(folder, "preprocessor_config.json"), "w") as f:
        json.dump(dict(feature_extractor_type=model_class.__name__.split("For")[0] + "FeatureExtractor", sampling_rate=16000,
                       padding_value=0.0, do_normalize=True, feature_size=1), f)
    return part if part is not None else model


def key(name):
    for new, old in OLD_NAMES.items():
        name = name.replace(new, old)
    return name


def input_name(model):
    return model.main_input_name if "Whisper" not in type(model).__name__ else "input_features"


def feeds(case, model):
    rng = np.random.default_rng(5)
    for i, shape in enumerate(CASES[case][2]):
        for rows in (2, 1, 3) if i == 0 else (2,):
            yield {input_name(model): rng.standard_normal((rows, *shape)).astype(np.float32)}


def torch_answers(model, feed, names):
    with torch.no_grad():
        out = model(**{k: torch.from_numpy(v) for k, v in feed.items()})
    return {n: getattr(out, n).numpy() for n in names if getattr(out, n, None) is not None}


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


def check(args, case, opset):
    source = os.path.join(args.work, case)
    out = source + ".onnx%d" % opset
    model = make(case, source)
    shutil.rmtree(out, ignore_errors=True)
    result = subprocess.run([args.program, "export", source, out, "--opset", str(opset)], capture_output=True, text=True)
    if result.returncode:
        print("%-36s %2d  %s" % (case, opset, result.stderr.strip()), flush=True)
        return False
    path = os.path.join(out, "model.onnx")
    onnx.checker.check_model(onnx.load(path), full_check=True)
    worst = difference(case, model, path, args.program)
    tags = wrong_tags(path, module_table(model, next(iter(feeds(case, model)))))
    print("%-36s %2d  %8.2g %8.2g  tags %s" % (case, opset, *worst, "ok" if not tags else "WRONG %s" % (tags[0],)), flush=True)
    return max(worst) <= 1e-4 and not tags


def golden(args, case):
    folder = os.path.join(args.golden, case)
    model = make(case, folder)
    os.remove(os.path.join(folder, "generation_config.json")) if case == "whisper" else None
    feed = next(iter(feeds(case, model)))
    for name, value in (feed | torch_answers(model, feed, OUTPUTS)).items():
        np.save(os.path.join(folder, name + ".npy"), np.ascontiguousarray(value))


def foreign(args, case):
    folder = os.path.join(args.foreign, case + "-torchscript")
    model = make(case, os.path.join(args.work, case))
    feed = next(iter(feeds(case, model)))
    os.makedirs(folder, exist_ok=True)
    for name, value in (feed | torch_answers(model, feed, ["logits"])).items():
        np.save(os.path.join(folder, name + ".npy"), value)
    torch.onnx.export(model, tuple(torch.from_numpy(v) for v in feed.values()), os.path.join(folder, "model.onnx"),
                      input_names=list(feed), output_names=["logits"], opset_version=18, dynamo=False,
                      dynamic_axes={n: {0: "batch_size", 1: "sequence_length"} for n in feed})


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("work")
    parser.add_argument("--opsets", action="store_true")
    parser.add_argument("--golden", help="folder to write, as tests/golden/export_sound")
    parser.add_argument("--foreign", help="folder to write, as tests/golden/sound_graphs")
    parser.add_argument("case", nargs="*")
    args = parser.parse_intermixed_args()
    torch.set_num_threads(1)
    os.makedirs(args.work, exist_ok=True)
    if args.foreign:
        return foreign(args, args.case[0] if args.case else GOLDEN[0])
    if args.golden:
        for case in args.case or GOLDEN:
            golden(args, case)
        return
    bad = 0
    for case in args.case or CASES:
        for opset in (18, 14, 17, 20, 21) if args.opsets else (18,):
            bad += not check(args, case, opset)
    print("%d differ by more than 1e-4, or in their tags" % bad)
    sys.exit(bad > 0)


if __name__ == "__main__":
    main()
