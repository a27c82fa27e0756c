#!/usr/bin/env python3
"""Trains the bus query tagger from nothing and writes every model file beside this script.

The WordPiece vocabulary and the BERT weights are both learnt from generated queries. Each chunk of training data
is generated afresh, so there is nothing to overfit but the generator itself.

    python train.py                      # a full training run on one CPU core
    python train.py --steps 300 --out /tmp/quick
"""
import argparse
import json
import math
import random
import string
import time
from pathlib import Path

import torch
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers
from transformers import BertConfig, BertForTokenClassification

from generate import LABELS, Generator

HERE = Path(__file__).resolve().parent
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
MAX_LENGTH = 128
IGNORED = -100
LABEL_ID = {label: i for i, label in enumerate(LABELS)}


# -- tokenizer -------------------------------------------------------------------------------------------------------
def train_tokenizer(generator, vocab_size, count=60000):
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece(prefix="##")
    trainer = trainers.WordPieceTrainer(vocab_size=vocab_size, special_tokens=SPECIAL, show_progress=False,
                                        initial_alphabet=list(string.printable[:94].lower()), limit_alphabet=71)
    tokenizer.train_from_iterator((" ".join(generator.query()["words"]) for _ in range(count)), trainer)
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[(name, tokenizer.token_to_id(name)) for name in ("[CLS]", "[SEP]")])
    return tokenizer


def token_labels(encoding, labels):
    """One label id a token. Later pieces of a word continue its entity, except punctuation that ends the word."""
    word_ids, tokens = encoding.word_ids, encoding.tokens
    result = [IGNORED] * len(tokens)
    ends_word = True
    for i in reversed(range(len(tokens))):
        word = word_ids[i]
        if word is None:
            continue
        first = word_ids[i - 1] != word
        ends_word = ends_word or word_ids[i + 1] != word
        label = labels[word]
        if not first:
            ends_word = ends_word and tokens[i] in set(",.?!;:)\"'")
            label = "O" if ends_word else label.replace("B-", "I-")
        result[i] = LABEL_ID[label]
    return result


# -- data ------------------------------------------------------------------------------------------------------------
def draw(generator, rng):
    """One training text; now and then several queries in a row, so that late positions are trained too."""
    query = generator.query()
    if rng.random() < 0.04:
        for _ in range(rng.randint(1, 5)):
            more = generator.query()
            query = {"words": query["words"] + more["words"], "labels": query["labels"] + more["labels"]}
    return query


def draw_many(seed, count):
    generator = Generator(seed)
    return [generator.query() for _ in range(count)]


def encode(tokenizer, queries):
    encodings = tokenizer.encode_batch([query["words"] for query in queries], is_pretokenized=True)
    return [(enc.ids, token_labels(enc, query["labels"])) for enc, query in zip(encodings, queries)
            if len(enc.ids) <= MAX_LENGTH]


def batches(samples, size, rng):
    """Batches of similar length in random order: short queries need not be padded to the longest."""
    samples = sorted(samples, key=lambda sample: len(sample[0]) + rng.random() * 2)
    groups = [samples[i:i + size] for i in range(0, len(samples), size)]
    rng.shuffle(groups)
    for group in groups:
        width = max(len(ids) for ids, _ in group)
        yield (torch.tensor([ids + [0] * (width - len(ids)) for ids, _ in group]),
               torch.tensor([[1] * len(ids) + [0] * (width - len(ids)) for ids, _ in group]),
               torch.tensor([labels + [IGNORED] * (width - len(labels)) for _, labels in group]))


def training_batches(tokenizer, generator, size, rng, chunk=20000):
    while True:
        yield from batches(encode(tokenizer, [draw(generator, rng) for _ in range(chunk)]), size, rng)


# -- model -----------------------------------------------------------------------------------------------------------
def build_model(options, vocab_size):
    config = BertConfig(
        vocab_size=vocab_size, hidden_size=options.hidden, num_hidden_layers=options.layers,
        num_attention_heads=options.heads, intermediate_size=options.intermediate, max_position_embeddings=MAX_LENGTH,
        hidden_dropout_prob=options.dropout, attention_probs_dropout_prob=options.dropout, initializer_range=0.05,
        id2label=dict(enumerate(LABELS)), label2id=LABEL_ID)
    # Eager attention exports to plain MatMul and Softmax nodes.
    return BertForTokenClassification._from_config(config, attn_implementation="eager")


def learning_rate(step, options):
    warmup = max(1, options.steps // 20)
    if step < warmup:
        return options.rate * (step + 1) / warmup
    progress = (step - warmup) / max(1, options.steps - warmup)
    return options.rate * (0.01 + 0.99 * 0.5 * (1 + math.cos(math.pi * progress)))


def make_optimizer(model, options):
    matrices = [p for p in model.parameters() if p.dim() > 1]
    vectors = [p for p in model.parameters() if p.dim() <= 1]
    return torch.optim.AdamW([{"params": matrices, "weight_decay": 0.01}, {"params": vectors, "weight_decay": 0.0}],
                             lr=options.rate, betas=(0.9, 0.98))


def token_accuracy(model, data):
    model.eval()
    right = total = 0
    with torch.no_grad():
        for ids, mask, labels in data:
            wanted = labels != IGNORED
            best = model(input_ids=ids, attention_mask=mask).logits.argmax(-1)
            right += (best[wanted] == labels[wanted]).sum().item()
            total += wanted.sum().item()
    model.train()
    return right / total


def fit(model, tokenizer, options):
    rng = random.Random(options.seed)
    check = list(batches(encode(tokenizer, draw_many(options.seed + 1, 2000)), 128, rng))
    stream = training_batches(tokenizer, Generator(options.seed), options.batch, rng)
    optimizer, loss_of = make_optimizer(model, options), torch.nn.CrossEntropyLoss(label_smoothing=options.smoothing)
    start, shown = time.time(), 0.0
    model.train()
    for step in range(options.steps):
        ids, mask, labels = next(stream)
        for group in optimizer.param_groups:
            group["lr"] = learning_rate(step, options)
        loss = loss_of(model(input_ids=ids, attention_mask=mask).logits.flatten(0, 1), labels.flatten())
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        shown += loss.item()
        if (step + 1) % options.every == 0:
            print(f"step {step + 1}/{options.steps}  loss {shown / options.every:.4f}  "
                  f"token accuracy {token_accuracy(model, check):.4f}  {time.time() - start:.0f} s", flush=True)
            shown = 0.0


# -- files -----------------------------------------------------------------------------------------------------------
def write_json(path, value):
    path.write_text(json.dumps(value, indent=2, ensure_ascii=False) + "\n")


def save_tokenizer(tokenizer, out):
    tokenizer.save(str(out / "tokenizer.json"))
    vocab = sorted(tokenizer.get_vocab().items(), key=lambda item: item[1])
    (out / "vocab.txt").write_text("".join(token + "\n" for token, _ in vocab))
    names = {"unk_token": "[UNK]", "sep_token": "[SEP]", "pad_token": "[PAD]", "cls_token": "[CLS]",
             "mask_token": "[MASK]"}
    write_json(out / "special_tokens_map.json", names)
    write_json(out / "tokenizer_config.json", {
        "tokenizer_class": "BertTokenizer", "do_lower_case": True, "do_basic_tokenize": True, "strip_accents": None,
        "tokenize_chinese_chars": True, "clean_up_tokenization_spaces": False, "model_max_length": MAX_LENGTH, **names})


def save_model(model, out):
    model.eval().save_pretrained(out)
    write_json(out / "id2label.json", {str(i): label for i, label in enumerate(LABELS)})
    write_json(out / "label2id.json", LABEL_ID)


def arguments():
    parser = argparse.ArgumentParser(description="Train the bus query tagger and write its files.")
    parser.add_argument("--out", type=Path, default=HERE)
    parser.add_argument("--steps", type=int, default=9000)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--rate", type=float, default=1.5e-3)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--vocab", type=int, default=1600)
    parser.add_argument("--hidden", type=int, default=96)
    parser.add_argument("--layers", type=int, default=3)
    parser.add_argument("--heads", type=int, default=6)
    parser.add_argument("--intermediate", type=int, default=256)
    parser.add_argument("--dropout", type=float, default=0.05)
    parser.add_argument("--smoothing", type=float, default=0.02)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--every", type=int, default=500)
    return parser.parse_args()


def main():
    options = arguments()
    torch.set_num_threads(options.threads)
    torch.manual_seed(options.seed)
    options.out.mkdir(parents=True, exist_ok=True)
    tokenizer = train_tokenizer(Generator(options.seed + 2), options.vocab)
    model = build_model(options, tokenizer.get_vocab_size())
    encoder = sum(p.numel() for p in model.bert.encoder.parameters())
    print(f"{tokenizer.get_vocab_size()} tokens, {model.num_parameters()} weights, {encoder} of them in the encoder")
    fit(model, tokenizer, options)
    save_tokenizer(tokenizer, options.out)
    save_model(model, options.out)


if __name__ == "__main__":
    main()
