# SPDX-License-Identifier: Apache-2.0
"""tokenizer_settings.py - what transformers makes of the files beside a tokenizer.json.

    python tools/oracle/tokenizer_settings.py       # from the root; transformers 4.57, then 5

Adds to tests/golden/text_settings/cases.jsonl the folders that this version of transformers is asked
about (below: 4 or 5), for tests/test_text_settings. A row with "files" describes a folder: a name of
a file and its content, or "@FILE" for one of tests/golden; the rows behind it are cases as in
tests/text_replay.h. Version 4 applies settings to tokenizer.json; version 5 ignores most of the file
for classes that it knows, so it is asked only where the class takes any file.
"""
import json
import os
import sys
import tempfile

import transformers

sys.path.insert(0, os.path.dirname(__file__))
from tokenizer_models import case, write  # noqa: E402

GOLDEN = "tests/golden/"
OUT = GOLDEN + "text_settings/cases.jsonl"
TEXTS = ["Café À 東京", "  a [MASK] <mask> foo<new>b", "", "I 've [CLS] </s> <ent1>! ."]


def token(content, **flags):
    return {"content": content, "lstrip": False, "rstrip": False, "normalized": False,
            "single_word": False, "special": True, **flags}


def folder(base, config=None, specials=None, added=None):
    files = {"tokenizer.json": "@" + base}
    for name, content in [("tokenizer_config.json", config), ("special_tokens_map.json", specials),
                          ("added_tokens.json", added)]:
        if content is not None:
            files[name] = content
    return files


BERT = {"tokenizer_class": "BertTokenizer"}
ROBERTA = {"tokenizer_class": "RobertaTokenizer"}
FAST = {"tokenizer_class": "PreTrainedTokenizerFast"}
CASED, BYTES = "text/cased.json", "text_models/roberta.json"
FOLDERS = [
    # version, name, files
    (4, "cased file, class lowercases", folder(CASED, BERT)),
    (4, "cased file, cased class", folder(CASED, {**BERT, "do_lower_case": False})),
    (4, "accents kept", folder(CASED, {**BERT, "strip_accents": False})),
    (4, "accents stripped", folder(CASED, {**BERT, "do_lower_case": False, "strip_accents": True})),
    (4, "chinese left", folder(CASED, {**BERT, "tokenize_chinese_chars": False})),
    (4, "distilbert", folder("text/keep.json", {"tokenizer_class": "DistilBertTokenizer"})),
    (4, "electra, fast", folder(CASED, {"tokenizer_class": "ElectraTokenizerFast"})),
    (4, "any class", folder(CASED, FAST)),
    (4, "not a plain normalizer", folder("text/steps.json", BERT)),
    (4, "roberta, prefix", folder(BYTES, {**ROBERTA, "add_prefix_space": True})),
    (4, "roberta, not trimmed", folder(BYTES, {**ROBERTA, "trim_offsets": False})),
    (4, "roberta, the class's own", folder("text_models/layoutlmv3.json", ROBERTA)),
    (4, "layoutlmv3, the class's own",
     folder(BYTES, {"tokenizer_class": "LayoutLMv3Tokenizer"})),
    (4, "decoder: new tokens and flags", folder(BYTES, {**ROBERTA, "added_tokens_decoder": {
        "0": token("<s>"), "1": token("<pad>"), "2": token("</s>"), "3": token("<unk>"),
        "900": token("<mask>", lstrip=False, rstrip=True),
        "902": token("<new>", special=False, normalized=True),
        "901": token("<ent1>", special=False, lstrip=True)}})),
    (4, "decoder makes special", folder(CASED, {**BERT, "additional_special_tokens": ["<new>"],
                                                "added_tokens_decoder": {
        "600": token("<new>", special=False, single_word=True), "4": token("[MASK]", lstrip=True)}})),
    (4, "special tokens map", folder(CASED, BERT, {
        "cls_token": "[CLS]", "mask_token": {"content": "<mask>", "lstrip": True, "rstrip": False,
                                             "normalized": False, "single_word": False},
        "additional_special_tokens": ["<ent1>", token("<new>", rstrip=True)]})),
    (4, "map without config's words", folder(BYTES, {**ROBERTA, "mask_token": "<other>"}, {
        "mask_token": "<mask>", "additional_special_tokens": ["foo"]})),
    (4, "decoder hides the map", folder(CASED, {**BERT, "added_tokens_decoder": {
        "4": token("[MASK]")}}, {"additional_special_tokens": ["<new>"]})),
    (4, "added tokens", folder(CASED, BERT, {"additional_special_tokens": ["<ent1>"]}, {
        "<new>": 446, "<ent1>": 445, "foo": 444})),
    (4, "words for roles", folder(CASED, {**BERT, "mask_token": "<mask>", "bos_token": "<new>"})),
    (4, "special tokens split", folder(CASED, {**BERT, "split_special_tokens": True})),
    (4, "special tokens split, bytes", folder(BYTES, {**ROBERTA, "split_special_tokens": True})),
    (4, "cleaned up", folder("text_models/albert.json", {
        "tokenizer_class": "PreTrainedTokenizerFast", "clean_up_tokenization_spaces": True})),
    (5, "bos and eos", folder(BYTES, {**FAST, "add_bos_token": True, "add_eos_token": True,
                                      "bos_token": "<s>", "eos_token": "</s>"})),
    (5, "bos only", folder(CASED, {**FAST, "add_bos_token": True, "bos_token": "[CLS]"})),
    (5, "neither", folder(CASED, {**FAST, "add_eos_token": False})),
    (5, "any class, bytes", folder("text_models/layoutlmv3.json", FAST)),
    (5, "cleaned up, bytes", folder(BYTES, {**FAST, "clean_up_tokenization_spaces": True})),
    (5, "cleaned up, 5", folder("text_models/albert.json", {
        **FAST, "clean_up_tokenization_spaces": True})),
]


def rows(name, files):
    with tempfile.TemporaryDirectory() as path:
        for file, content in files.items():
            text = open(GOLDEN + content[1:]).read() if isinstance(content, str) else \
                json.dumps(content)
            open(os.path.join(path, file), "w").write(text)
        t = transformers.AutoTokenizer.from_pretrained(path)
    yield {"folder": name, "files": files}
    backend = t.backend_tokenizer
    backend.no_truncation()
    backend.no_padding()
    for text in TEXTS:
        yield case(name, backend, text)
    yield case(name, backend, "a", "b")
    for skip in (False, True):
        ids = backend.encode(TEXTS[3]).ids
        yield {"t": name, "d": ids, "skip": skip,
               "text": t.decode(ids, skip_special_tokens=skip)}


def main():
    version = int(transformers.__version__.split(".")[0])
    kept = []
    if version == 5 and os.path.exists(OUT):
        kept = [json.loads(line) for line in open(OUT)]
        theirs = {name for v, name, _ in FOLDERS if v == 4}
        kept = [r for r in kept if r.get("folder", r.get("t")) in theirs]
    made = [r for v, name, files in FOLDERS if v == version for r in rows(name, files)]
    os.makedirs(os.path.dirname(OUT), exist_ok=True)
    write(OUT, kept + made)
    print(len(kept) + len(made), "rows")


if __name__ == "__main__":
    main()
