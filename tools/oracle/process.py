#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""process.py - what transformers' AutoTokenizer and AutoImageProcessor feed a model, for tests/golden/process.

    python tools/oracle/process.py [FOLDER]   # transformers 5.22 (no torchvision: the Pillow backend), tokenizers, torch

The models are those of tests/golden/export and tests/golden/export_vision; their tokenizers are written here, a folder for
each kind. cases.jsonl has
  {"model", "tokenizer", "texts": [[text] or [text, pair]], "tensors": {name: [[...]]}}, padded to the longest; or
  {"model", "pictures": [file of tests/golden/images], "tensors": {name: {"shape", "sha256"}}}: the first 16 digits; or
  {"model", "sounds": [file here], "tensors": {name: {"shape", "step", "values"}}}: every so many numbers. AST's without torchaudio."""
import hashlib
import os
import shutil
import sys
import tempfile
import warnings
import wave

import numpy as np
import transformers as tf
from PIL import Image

import tiny

warnings.simplefilter("ignore")
OUT = sys.argv[1] if len(sys.argv) > 1 else "tests/golden/process"
LIMIT, RATE = 24, 16000
WORDS = ["Ada wrote about machines.", "The river Thames flows through the city, and the City grew along the river: café!", "東京 und Zürich"]
BATCHES = [[[WORDS[0]]], [[w] for w in WORDS], [[WORDS[0], WORDS[1]], [WORDS[2], WORDS[0]]]]


KINDS = {
    "wordpiece": (tiny.bert_tokenizer, tiny.BERT),
    "mpnet": (tiny.mpnet_tokenizer, dict(tiny.ANGLE, unk="[UNK]")),
    "bytes": (tiny.bytes_tokenizer, tiny.ANGLE),
    "unigram": (tiny.xlmr_tokenizer, tiny.ANGLE),
    "unigram_bert": (tiny.deberta_tokenizer, tiny.BERT),
}
TEXTS = {"bert": "wordpiece", "distilbert": "wordpiece", "electra": "wordpiece", "ernie": "wordpiece", "mpnet": "mpnet", "roberta": "bytes",
         "xlm-roberta": "unigram", "camembert": "unigram", "albert": "unigram_bert", "deberta-v2": "unigram_bert", "modernbert": "wordpiece"}
TYPES = {"bert", "electra", "ernie", "albert", "deberta-v2"}  # whose tokenizers give token_type_ids
PICTURES = ["vit", "deit", "beit", "convnext", "convnextv2", "resnet", "swin", "dinov2", "dinov2_with_registers", "mobilenet_v2", "segformer",
            "yolos"]
SEEN = [["base420_37x29.jpg"], ["cmyk.jpg", "lossy_37x29.webp"]]


def tokenizers():
    for name, (make, names) in KINDS.items():
        folder = f"{OUT}/{name}"
        shutil.rmtree(folder, ignore_errors=True)
        typed = any(kind == name and model in TYPES for model, kind in TEXTS.items())  # as their own classes say it
        inputs = {"model_input_names": ["input_ids", "token_type_ids", "attention_mask"]} if typed else {}
        tiny.fast(tf.PreTrainedTokenizerFast, make(), names, LIMIT, **inputs).save_pretrained(folder)
        for extra in ("special_tokens_map.json",):
            if os.path.exists(f"{folder}/{extra}"):
                os.remove(f"{folder}/{extra}")


def texts():
    for model, kind in TEXTS.items():
        with tempfile.TemporaryDirectory() as folder:
            shutil.copytree(f"{OUT}/{kind}", folder, dirs_exist_ok=True)
            shutil.copy(f"tests/golden/export/{model}/config.json", folder)
            tokenizer = tf.AutoTokenizer.from_pretrained(folder)
        for batch in BATCHES:
            pairs = [b[1] for b in batch] if len(batch[0]) > 1 else None
            made = tokenizer([b[0] for b in batch], pairs, padding=True, truncation=True, return_tensors="np", return_token_type_ids=model in TYPES)
            yield {"model": "export/" + model, "tokenizer": kind, "texts": batch, "tensors": {k: v.tolist() for k, v in made.items()}}


def pictures():
    for model in PICTURES:
        processor = tf.AutoImageProcessor.from_pretrained("tests/golden/export_vision/" + model)
        for names in SEEN:
            images = [Image.open("tests/golden/images/" + n).convert("RGB") for n in names]
            made = processor(images, return_tensors="pt")
            tensors = {}
            for key, value in made.items():
                array = np.ascontiguousarray(value.numpy())
                tensors[key] = {"shape": list(array.shape), "sha256": hashlib.sha256(array.tobytes()).hexdigest()[:16]}
            yield {"model": "export_vision/" + model, "pictures": names, "tensors": tensors}


def samples():
    """A second of a voice that nobody has, at 16 kHz: as a file, and as transformers takes it."""
    t = np.arange(RATE) / RATE
    noise = np.random.default_rng(5).standard_normal(RATE)
    data = np.round(np.clip(.3 * np.sin(880 * t * (1 + t)) + .2 * np.sin(5000 * t) + .05 * noise, -1, 1) * 32767).astype("<i2")
    with wave.open(f"{OUT}/second.wav", "wb") as file:
        file.setparams((1, 2, RATE, len(data), "NONE", "NONE"))
        file.writeframes(data.tobytes())
    return data.astype(np.float32) / 32768


def sounds():
    heard = samples()
    for model in ("wav2vec2", "hubert", "ast", "whisper"):
        made = tf.AutoFeatureExtractor.from_pretrained("tests/golden/speech/" + model)(heard, sampling_rate=RATE, return_tensors="np")
        tensors = {}
        for key, value in made.items():
            step = max(1, value.size // 400)
            tensors[key] = {"shape": list(value.shape), "step": step, "values": [round(float(x), 7) for x in value.ravel()[::step]]}
        yield {"model": "speech/" + model, "sounds": ["second.wav"], "tensors": tensors}


tokenizers()
rows = [*texts(), *pictures(), *sounds()]
tiny.write_lines(f"{OUT}/cases.jsonl", rows)
print(len(rows), "cases of", len({r["model"] for r in rows}), "model types")
