#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""graph_run.py - what ONNX Runtime gives for batches with padding anywhere, for tests/golden/graph_run.

    python tools/oracle/graph_run.py [FOLDER]   # onnxruntime 1.31, numpy; build/encoderfile exports the models

The models are the checkpoints of tests/golden/export. MODEL/CASE/ has NAME.npy for each input of the graph, and
out_NAME.npy for each output: every number, also where the mask hides the token. Cases: right, left (padding there), holes
(masks of any pattern), whole (none is hidden)."""
import json
import os
import shutil
import subprocess
import sys
import tempfile

import numpy as np
import onnxruntime

OUT = sys.argv[1] if len(sys.argv) > 1 else "tests/golden/graph_run"
MODELS = ["bert", "deberta-v2", "distilbert", "layoutlm", "modernbert", "mpnet", "roberta"]
CASES = {"right": (3, 9), "left": (3, 8), "holes": (2, 10), "whole": (1, 4)}


def masks(rng, case, rows, tokens):
    mask = np.ones((rows, tokens), np.int64)
    for row in range(rows):
        hidden = int(rng.integers(1, tokens - 2))
        if case == "right":
            mask[row, tokens - hidden:] = 0
        elif case == "left":
            mask[row, :hidden] = 0
        elif case == "holes":
            mask[row] = rng.integers(0, 2, tokens)
            mask[row, row] = 1
    return mask


def feeds(rng, case, rows, tokens, vocabulary):
    box = np.sort(rng.integers(0, 30, (rows, tokens, 4)), -1)
    return {
        "input_ids": rng.integers(5, min(vocabulary, 60), (rows, tokens)),
        "attention_mask": masks(rng, case, rows, tokens),
        "token_type_ids": np.repeat((np.arange(tokens) > tokens // 2).astype(np.int64)[None], rows, 0),
        "bbox": box,
    }


def main():
    shutil.rmtree(OUT, ignore_errors=True)
    rng = np.random.default_rng(7)
    for model in MODELS:
        source = f"tests/golden/export/{model}"
        vocabulary = json.load(open(f"{source}/config.json"))["vocab_size"]
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run(["build/encoderfile", "export", source, folder], check=True, capture_output=True)
            session = onnxruntime.InferenceSession(f"{folder}/model.onnx", providers=["CPUExecutionProvider"])
            names = [i.name for i in session.get_inputs()]
            for case, (rows, tokens) in CASES.items():
                given = {k: v for k, v in feeds(rng, case, rows, tokens, vocabulary).items() if k in names}
                path = f"{OUT}/{model}/{case}"
                os.makedirs(path)
                for name, array in given.items():
                    np.save(f"{path}/{name}.npy", array)
                for output, array in zip(session.get_outputs(), session.run(None, given)):
                    np.save(f"{path}/out_{output.name}.npy", array)


main()
