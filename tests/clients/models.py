#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# models.py FOLDER: checkpoints with random weights, small and always the same: what our exporter makes of them is
# what the clients of this folder talk to. No framework is needed to write one.
import json
import struct
import sys
from pathlib import Path

import numpy

WORDS = """[PAD] [UNK] [CLS] [SEP] [MASK] the a is of and to in bus train goes from london paris rome pune book hotel near
river sea cheap good bad film was very not city capital france italy ticket tomorrow ##s ##ing ##ed . , ? !""".split()
WORDS += [f"word{i}" for i in range(64 - len(WORDS))] + [chr(97 + i) for i in range(26)] + [f"##{chr(97 + i)}" for i in range(26)]
WORDS = list(dict.fromkeys(WORDS))
C, F, LAYERS, HEADS, POSITIONS = 32, 64, 2, 4, 64

TOKENIZER = {
    "version": "1.0", "truncation": None, "padding": None,
    "added_tokens": [{"id": i, "content": w, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False,
                      "special": True} for i, w in enumerate(WORDS[:5])],
    "normalizer": {"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True, "strip_accents": None, "lowercase": True},
    "pre_tokenizer": {"type": "BertPreTokenizer"},
    "post_processor": {"type": "TemplateProcessing",
                       "single": [{"SpecialToken": {"id": "[CLS]", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}},
                                  {"SpecialToken": {"id": "[SEP]", "type_id": 0}}],
                       "pair": [{"SpecialToken": {"id": "[CLS]", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}},
                                {"SpecialToken": {"id": "[SEP]", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}},
                                {"SpecialToken": {"id": "[SEP]", "type_id": 1}}],
                       "special_tokens": {"[CLS]": {"id": "[CLS]", "ids": [2], "tokens": ["[CLS]"]},
                                          "[SEP]": {"id": "[SEP]", "ids": [3], "tokens": ["[SEP]"]}}},
    "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": True},
    "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##", "max_input_chars_per_word": 100,
              "vocab": {w: i for i, w in enumerate(WORDS)}},
}


def linear(weights, name, n, k):
    weights[name + ".weight"] = (n, k)
    weights[name + ".bias"] = (n,)


def norm(weights, name):
    weights[name + ".weight"] = weights[name + ".bias"] = (C,)


def encoder(prefix, pooler):
    w, V = {}, len(WORDS)
    e = prefix + "embeddings."
    w[e + "word_embeddings.weight"] = (V, C)
    w[e + "position_embeddings.weight"] = (POSITIONS, C)
    w[e + "token_type_embeddings.weight"] = (2, C)
    norm(w, e + "LayerNorm")
    for i in range(LAYERS):
        p = f"{prefix}encoder.layer.{i}."
        for part in ("query", "key", "value"):
            linear(w, f"{p}attention.self.{part}", C, C)
        linear(w, p + "attention.output.dense", C, C)
        norm(w, p + "attention.output.LayerNorm")
        linear(w, p + "intermediate.dense", F, C)
        linear(w, p + "output.dense", C, F)
        norm(w, p + "output.LayerNorm")
    if pooler:
        linear(w, prefix + "pooler.dense", C, C)
    return w


def labelled(n):
    def head(w):
        linear(w, "classifier", n, C)
    return head


def masked(w):
    p = "cls.predictions."
    w[p + "bias"] = (len(WORDS),)
    linear(w, p + "transform.dense", C, C)
    norm(w, p + "transform.LayerNorm")


# name: architecture, prefix, pooler, head, labels
MODELS = {
    "embed": ("BertModel", "", True, None, []),
    "labels": ("BertForSequenceClassification", "bert.", True, labelled(3), ["good", "bad", "neither"]),
    "infer": ("BertForSequenceClassification", "bert.", True, labelled(3), ["contradiction", "neutral", "entailment"]),
    "rank": ("BertForSequenceClassification", "bert.", True, labelled(1), ["LABEL_0"]),
    "mask": ("BertForMaskedLM", "bert.", False, masked, []),
}


def save(path, tensors):
    """The safetensors format: length, JSON, bytes."""
    header, blob = {}, b""
    for name, x in tensors.items():
        data = x.astype("<f4").tobytes()
        header[name] = {"dtype": "F32", "shape": list(x.shape), "data_offsets": [len(blob), len(blob) + len(data)]}
        blob += data
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + blob)


def make(root, name):
    architecture, prefix, pooler, head, labels = MODELS[name]
    random = numpy.random.default_rng(sorted(MODELS).index(name))
    shapes = encoder(prefix, pooler)
    if head:
        head(shapes)
    tensors = {}
    for key, shape in shapes.items():
        x = random.standard_normal(shape) * (0.5 if len(shape) > 1 else 0.1)
        tensors[key] = x + 1 if key.endswith("LayerNorm.weight") else x
    config = {"model_type": "bert", "architectures": [architecture], "vocab_size": len(WORDS), "hidden_size": C,
              "num_hidden_layers": LAYERS, "num_attention_heads": HEADS, "intermediate_size": F, "hidden_act": "gelu",
              "max_position_embeddings": POSITIONS, "type_vocab_size": 2, "layer_norm_eps": 1e-12, "pad_token_id": 0,
              "hidden_dropout_prob": 0.1, "attention_probs_dropout_prob": 0.1, "initializer_range": 0.02,
              "position_embedding_type": "absolute", "tie_word_embeddings": True}
    if labels:
        config["id2label"] = {str(i): s for i, s in enumerate(labels)}
        config["label2id"] = {s: i for i, s in enumerate(labels)}
    folder = root / name
    folder.mkdir(parents=True, exist_ok=True)
    save(folder / "model.safetensors", tensors)
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "tokenizer.json").write_text(json.dumps(TOKENIZER))
    (folder / "tokenizer_config.json").write_text(json.dumps(
        {"model_max_length": POSITIONS, "pad_token": "[PAD]", "mask_token": "[MASK]", "tokenizer_class": "BertTokenizer"}))


    (folder / "config_sentence_transformers.json").write_text(json.dumps({"prompts": {"query": "book a "}}))


for name in MODELS:
    make(Path(sys.argv[1]), name)
