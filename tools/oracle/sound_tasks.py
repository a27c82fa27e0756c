#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""sound_tasks.py - what transformers' pipelines say about sounds, for tests/golden/speech.

    python tools/oracle/sound_tasks.py [FOLDER]   # transformers 5.22, torch, torchaudio 2.11, soundfile, onnx

For each case a folder with a tiny random model (model.onnx by torch's exporter, config.json, preprocessor_config.json; of CTC models
vocab.json and tokenizer_config.json; ctc_lower has these alone, and is another tokenizer of the model ctc), and in cases.json
  [{"case", "task", "sound", "params", "result"}]: the file of tests/golden/sounds, the pipeline's parameters, its result.
Sounds are given as float64 arrays with their sampling_rate: files would go through ffmpeg, whose resampler is another one."""
import json
import os
import sys
import warnings

import onnx
import soundfile
import torch
import transformers as T
import transformers.models.audio_spectrogram_transformer.feature_extraction_audio_spectrogram_transformer as ast_module

warnings.simplefilter("ignore")
ast_module.is_speech_available = lambda: False  # its numpy path
OUT = sys.argv[1] if len(sys.argv) > 1 else "tests/golden/speech"
SOUNDS = "tests/golden/sounds/"
HEARD = ["speech.flac", "stereo.flac", "eight.flac"]
SMALL = dict(hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=24, attn_implementation="eager")
SEVEN = dict(conv_dim=[8] * 7)
THREE = dict(conv_dim=[8] * 3, conv_kernel=[10, 8, 8], conv_stride=[5, 8, 8])  # the same 320 samples a frame
CONV = dict(num_conv_pos_embeddings=8, num_conv_pos_embedding_groups=2, mask_time_prob=0.0, layerdrop=0.0)


def names(*words):
    return dict(id2label=dict(enumerate(words)), label2id={w: i for i, w in enumerate(words)}, num_labels=len(words))


def spread(model, scale):
    torch.manual_seed(11)
    with torch.no_grad():
        for p in model.parameters():
            p.copy_(torch.randn_like(p) * scale if p.dim() > 1 else p + torch.randn_like(p) * .2)
    return model.eval()


def whole(name):
    x, rate = soundfile.read(SOUNDS + name, dtype="float64", always_2d=True)
    return x.mean(1), rate


def wav2vec2(cls, config, layers=THREE, **more):
    c = config(**SMALL, **CONV, **layers, **more)
    return spread(cls(c), .3)


def samples(n=6000):
    return {"input_values": torch.randn(1, n)}


class Logits(torch.nn.Module):
    def __init__(self, model, name):
        super().__init__()
        self.model, self.name = model, name

    def forward(self, x):
        return getattr(self.model(x), self.name)


def save(folder, model, extractor):
    os.makedirs(folder, exist_ok=True)
    model.config.architectures = [type(model).__name__]
    model.config.save_pretrained(folder)
    extractor.save_pretrained(folder)
    path = folder + "/preprocessor_config.json"
    if not os.path.exists(path):
        raise SystemExit(f"{folder}: no preprocessor_config.json")


def write(case, model, extractor, value, output):
    folder = f"{OUT}/{case}"
    save(folder, model, extractor)
    (name, tensor), = value.items()
    axes = {name: {0: "batch", **({1: "samples"} if tensor.dim() == 2 else {})}, output: {0: "batch", **({1: "frames"} if output != "logits" or "ctc" in case else {})}}
    torch.onnx.export(Logits(model, output).eval(), (tensor,), folder + "/model.onnx", input_names=[name], output_names=[output], dynamic_axes=axes,
                      opset_version=17, dynamo=False)
    graph = onnx.load(folder + "/model.onnx")
    for node in graph.graph.node:
        node.ClearField("doc_string")
    onnx.save(graph, folder + "/model.onnx")


def ask(rows, case, task, pipe, sound, **params):
    x, rate = whole(sound)
    result = pipe({"array": x, "sampling_rate": rate}, **params)
    if isinstance(result, dict):
        result = {"text": result["text"], **({"chunks": [{"text": c["text"], "timestamp": list(c["timestamp"])} for c in result["chunks"]]} if "chunks" in result else {})}
    rows.append(dict(case=case, task=task, sound=sound, params=params, result=result))


def classify(rows, case, model, extractor, value):
    write(case, model, extractor, value, "logits")
    pipe = T.pipeline("audio-classification", model=model, feature_extractor=extractor)
    for sound in HEARD:
        ask(rows, case, "audio-classification", pipe, sound)
    ask(rows, case, "audio-classification", pipe, HEARD[0], top_k=2)
    ask(rows, case, "audio-classification", pipe, HEARD[0], top_k=100, function_to_apply="sigmoid")
    ask(rows, case, "audio-classification", pipe, HEARD[1], function_to_apply="none")


def transcribe(rows, case, model, extractor, tokenizer):
    tokenizer.save_pretrained(f"{OUT}/{case}")
    pipe = T.pipeline("automatic-speech-recognition", model=model, feature_extractor=extractor, tokenizer=tokenizer)
    for sound in HEARD[:2]:
        for params in [{}, dict(return_timestamps="word"), dict(return_timestamps="char")]:
            ask(rows, case, "automatic-speech-recognition", pipe, sound, **params)
    for params in [dict(chunk_length_s=.5), dict(chunk_length_s=.5, stride_length_s=.1, return_timestamps="word"),
                   dict(chunk_length_s=.6, stride_length_s=[.2, .05], return_timestamps="char"), dict(chunk_length_s=10)]:
        ask(rows, case, "automatic-speech-recognition", pipe, HEARD[0], **params)


def vectors(rows, case, model, extractor, value):
    write(case, model, extractor, value, "last_hidden_state")
    for sound in HEARD[:2]:
        x, rate = whole(sound)
        x = x if rate == 16000 else __import__("torchaudio").functional.resample(torch.from_numpy(x), rate, 16000).numpy()
        with torch.no_grad():
            out = model(**extractor(x, sampling_rate=16000, return_tensors="pt")).last_hidden_state[0]
        rows.append(dict(case=case, task="audio-feature-extraction", sound=sound, params={},
                         result=dict(frames=len(out), mean=out.mean(0).tolist(), first=out[0].tolist(), last=out[-1].tolist())))


def vocabulary(folder, tokens, **more):
    os.makedirs(folder, exist_ok=True)
    with open(folder + "/vocab.json", "w") as f:
        json.dump({t: i for i, t in enumerate(tokens)}, f)
    return T.Wav2Vec2CTCTokenizer(folder + "/vocab.json", **more)


os.makedirs(OUT, exist_ok=True)
rows = []
group = T.Wav2Vec2FeatureExtractor()
layer = T.Wav2Vec2FeatureExtractor(return_attention_mask=True)
words = names("yes", "no", "up", "down", "left", "right", "stop")
classify(rows, "wav2vec2", wav2vec2(T.Wav2Vec2ForSequenceClassification, T.Wav2Vec2Config, classifier_proj_size=12, use_weighted_layer_sum=True, **words), group, samples())
classify(rows, "hubert", wav2vec2(T.HubertForSequenceClassification, T.HubertConfig, classifier_proj_size=12, feat_extract_norm="layer", do_stable_layer_norm=True, conv_bias=True, **words), layer, samples())
classify(rows, "ast", spread(T.ASTForAudioClassification(T.ASTConfig(**SMALL, num_mel_bins=32, max_length=100, patch_size=16, **words)), .2),
         T.ASTFeatureExtractor(num_mel_bins=32, max_length=100), {"input_values": torch.randn(1, 100, 32)})
classify(rows, "whisper", spread(T.WhisperForAudioClassification(T.WhisperConfig(
    d_model=16, encoder_layers=1, encoder_attention_heads=2, encoder_ffn_dim=24, decoder_layers=1, decoder_attention_heads=2, decoder_ffn_dim=16,
    num_mel_bins=16, max_source_positions=100, vocab_size=60, pad_token_id=0, bos_token_id=1, eos_token_id=2, decoder_start_token_id=3,
    classifier_proj_size=12, attn_implementation="eager", **words)), .3),
    T.WhisperFeatureExtractor(feature_size=16, chunk_length=2), {"input_features": torch.randn(1, 16, 200)})
tokens = ["<unk>", "O", "</s>", "<pad>", "E", "<s>", "T", "|", "N", "A", "I", "'", "É"]
ctc = wav2vec2(T.Wav2Vec2ForCTC, T.Wav2Vec2Config, SEVEN, vocab_size=len(tokens), pad_token_id=3)
write("ctc", ctc, group, samples(), "logits")
transcribe(rows, "ctc", ctc, group, vocabulary(f"{OUT}/ctc", tokens))
tokens = ["a", "b", "c", "ch", "[PAD]", "Ω", "ÜΣ", "-", "e", "f", "[UNK]"]  # another tokenizer of the same model
transcribe(rows, "ctc_lower", ctc, group, vocabulary(f"{OUT}/ctc_lower", tokens, pad_token="[PAD]", unk_token="[UNK]", word_delimiter_token="-",
                                                     do_lower_case=True))
vectors(rows, "vectors", wav2vec2(T.Wav2Vec2Model, T.Wav2Vec2Config), group, samples())
with open(OUT + "/cases.json", "w") as f:
    f.write("[\n" + ",\n".join(json.dumps(row, ensure_ascii=False) for row in rows) + "\n]\n")
