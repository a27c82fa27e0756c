#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""python_faces.py GROUP... - what sentence-transformers 6.2 ("st"), transformers 5 ("tokenizers") and Optimum ("ort") answer to the
calls of tests/python/face_cases.py, into tests/golden/python. "ort" runs the exports of $EF
(default: build/encoderfile), and needs transformers 4."""
from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import types
from typing import Any

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.join(HERE, "..", "..")
sys.path.insert(0, os.path.join(ROOT, "tests", "python"))
os.environ.update(HF_HUB_OFFLINE="1", TOKENIZERS_PARALLELISM="false")
import face_cases  # noqa: E402


def sentence_classes() -> Any:
    import sentence_transformers
    import sentence_transformers.util

    return sentence_transformers


def tokenizer_classes() -> Any:
    import transformers

    return transformers


def ort_classes() -> Any:
    import optimum.onnxruntime as ort

    made = tempfile.mkdtemp()
    classes = types.SimpleNamespace(**{name: getattr(ort, name) for name in dir(ort) if name.startswith("ORTModelFor")})

    def folder(name: str) -> str:
        own, out = face_cases.tokenizer_path(name), os.path.join(made, name.replace("/", "-"))
        if os.path.isfile(os.path.join(own, "model.onnx")):
            return own
        if not os.path.isdir(out):
            subprocess.check_call([os.environ.get("EF", os.path.join(ROOT, "build", "encoderfile")), "export", own, out],
                                  stdout=subprocess.DEVNULL)
        return out

    classes.onnx_folder = folder
    return classes


KINDS = {"st": (sentence_classes, face_cases.GROUPS), "tokenizers": (tokenizer_classes, face_cases.TOKENIZER_GROUPS),
         "ort": (ort_classes, face_cases.ORT_GROUPS)}


def main() -> None:
    for kind in sys.argv[1:] or KINDS:
        load, groups = KINDS[kind]
        classes = load()
        answers = {group: {name: face_cases.answer(case, classes) for name, case in cases.items()} for group, cases in groups.items()}
        path = os.path.join(ROOT, "tests", "golden", "python", kind + ".json")
        with open(path, "w", encoding="utf-8") as file:
            lines = [json.dumps(group) + ": {\n" + ",\n".join(f"{json.dumps(name)}: {json.dumps(value, ensure_ascii=False)}"
                                                              for name, value in found.items()) + "}" for group, found in answers.items()]
            file.write("{" + ",\n".join(lines) + "}\n")
        print(path, sum(map(len, answers.values())), "cases")


if __name__ == "__main__":
    main()
