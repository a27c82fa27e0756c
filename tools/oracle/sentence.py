#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""sentence.py - tiny sentence-transformers folders with random weights, saved by its own save(), and the vectors that its
own encode() gives: tests/golden/sentence. Each text is encoded alone, so that no padding is near it. (Not tried: cls and max
with a prompt that is left out. There Pooling overwrites the class token with -1e9 before it is used.)

    python tools/oracle/sentence.py [tests/golden/sentence]        # sentence-transformers 5.2.3, transformers 4.57.6

vectors.json of a folder: "texts", "own" (encode), "normalized" (encode with normalize_embeddings) and, where the folder has
a prompt called "query", "query" (normalized, with that prompt; "own" has the default prompt where there is one).
"""
import json
import os
import shutil
import sys

import torch
from sentence_transformers import SentenceTransformer, models
from tokenizers import Tokenizer, decoders, models as parts, normalizers, pre_tokenizers, processors
from transformers import BertConfig, BertModel, DistilBertConfig, DistilBertModel, PreTrainedTokenizerFast

TEXTS = [
    "A plain sentence.",
    " ",
    "query: is part of the text",
    "Straße, naïve café; 42 %",
    "Привет, мир",
    "日本語の文",
    "καλημέρα κόσμε",
    "x",
    "[CLS] and [SEP] inside",
    "two\nlines\tand tabs   and spaces",
    "emoji 🙂 and unknown ☃",
    "a long one " * 20,
]


def tokenizer(side, inputs):
    letters = "abcdefghijklmnopqrstuvwxyz0123456789приветмкαλημέραόσßïé"
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    words += list(dict.fromkeys(letters)) + ["##" + c for c in dict.fromkeys(letters)]
    words += list("日本語の文.,;:%") + ["the", "and", "long", "one", "query", "sentence", "##ing", "text"]
    vocab = {w: i for i, w in enumerate(words)}
    t = Tokenizer(parts.WordPiece(vocab, unk_token="[UNK]"))
    t.normalizer = normalizers.BertNormalizer(lowercase=True, strip_accents=False)
    t.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    t.decoder = decoders.WordPiece()
    t.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", 2), ("[SEP]", 3)])
    return PreTrainedTokenizerFast(
        tokenizer_object=t, pad_token="[PAD]", unk_token="[UNK]", cls_token="[CLS]", sep_token="[SEP]",
        mask_token="[MASK]", model_max_length=48, padding_side=side,
        model_input_names=inputs), len(words)


def encoder(folder, kind, limit, side):
    """A Transformer module around random weights; biases and norms too, or mistakes in them would not show."""
    inputs = ["input_ids", "attention_mask"] + (["token_type_ids"] if kind == "bert" else [])
    t, size = tokenizer(side, inputs)
    if kind == "bert":
        model = BertModel(BertConfig(vocab_size=size, hidden_size=16, num_hidden_layers=2, num_attention_heads=2,
                                     intermediate_size=32, max_position_embeddings=64))
    else:
        model = DistilBertModel(DistilBertConfig(vocab_size=size, dim=16, n_layers=2, n_heads=2, hidden_dim=32,
                                                 max_position_embeddings=64))
    with torch.no_grad():
        for p in model.parameters():
            p.add_(torch.randn_like(p) * 0.2)
    model.eval().save_pretrained(folder)
    t.save_pretrained(folder)
    return models.Transformer(folder, max_seq_length=limit)


def pooling(**how):
    return models.Pooling(16, pooling_mode_mean_tokens=how.pop("mean", False), **how)


def make(name, kind, limit, modules, side="right", prompts=None, default=None):
    return {"name": name, "kind": kind, "limit": limit, "side": side, "modules": modules, "prompts": prompts,
            "default": default}


CASES = [
    make("mean", "bert", 24, lambda: [pooling(mean=True)]),
    make("cls", "distilbert", 32, lambda: [pooling(pooling_mode_cls_token=True), models.Normalize()],
         prompts={"query": "query: ", "document": ""}),
    make("last", "bert", 20, lambda: [
        pooling(pooling_mode_lasttoken=True), models.Dense(16, 12), models.Normalize(),
        models.Dense(12, 8, bias=False, activation_function=torch.nn.Identity())], side="left",
        prompts={"query": "the query: ", "document": "text: "}, default="query"),
    make("weighted", "bert", 24, lambda: [
        pooling(pooling_mode_weightedmean_tokens=True, pooling_mode_max_tokens=True, include_prompt=False)],
         prompts={"query": "query: "}, default="query"),
    make("joined", "distilbert", 24, lambda: [
        pooling(mean=True, pooling_mode_cls_token=True, pooling_mode_max_tokens=True,
                pooling_mode_mean_sqrt_len_tokens=True),
        models.Dense(64, 10, activation_function=torch.nn.GELU()), models.Normalize()],
        prompts={"query": "the query: ", "document": ""}),
]


def rows(model, **how):
    return [[float("%.8g" % x) for x in model.encode([t], convert_to_numpy=True, show_progress_bar=False, **how)[0]]
            for t in TEXTS]


def main():
    out = sys.argv[1] if len(sys.argv) > 1 else "tests/golden/sentence"
    for i, case in enumerate(CASES):
        torch.manual_seed(17 + i)
        folder = os.path.join(out, case["name"])
        shutil.rmtree(folder, ignore_errors=True)
        base = folder + ".base"
        model = SentenceTransformer(modules=[encoder(base, case["kind"], case["limit"], case["side"])] + case["modules"](),
                                    device="cpu", prompts=case["prompts"], default_prompt_name=case["default"])
        with torch.no_grad():
            for p in [p for m in list(model)[1:] for p in m.parameters()]:
                p.add_(torch.randn_like(p) * 0.2)
        model.eval().save(folder, create_model_card=False)
        shutil.rmtree(base)
        model = SentenceTransformer(folder, device="cpu").eval()
        found = {"texts": TEXTS, "own": rows(model), "normalized": rows(model, normalize_embeddings=True)}
        if case["prompts"]:
            found["query"] = rows(model, normalize_embeddings=True, prompt_name="query")
        with open(os.path.join(folder, "vectors.json"), "w") as f:
            json.dump(found, f, ensure_ascii=False, separators=(",", ":"))
            f.write("\n")
        for root, _, files in os.walk(folder):
            for n in files:
                if n in ("special_tokens_map.json", ".gitattributes"):
                    os.remove(os.path.join(root, n))
        print("%-10s %2d dimensions, max %d tokens" % (case["name"], len(found["own"][0]), model.max_seq_length))


if __name__ == "__main__":
    main()
