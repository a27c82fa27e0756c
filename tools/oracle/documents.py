#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""documents.py - what transformers says about pages, for tests/golden/documents.

    python tools/oracle/documents.py [FOLDER]   # transformers 5.22, torch 2.13, onnx, Pillow; tests/golden/boxes for the tokenizers
                                                # Tesseract 5.3 and pytesseract for ocr.jsonl
    python tools/oracle/documents.py check PROGRAM   # asks the program about pages that Tesseract reads, and the pipeline

Writes pages (PNG), folders of tiny random models, and
  pages.jsonl  {"page", "words", "boxes"}
  cases.jsonl  {"model", "page", "question", "params", "result"}: what the document-question-answering pipeline gives, called with the
                 page's words and boxes
               {"model", "page", "labels"} of sequence classification: [[label, score]], the best first
               {"model", "page", "tokens"} of token classification: [[label, score, word]] of each token that is not special
  ocr.jsonl    {"page", "width", "height", "table", "words", "boxes"}: what Tesseract writes about a page, and the words and boxes that
                 the pipeline makes of it
layoutlm and lilt are checkpoints; layoutlmv3 is ONNX by torch's exporter with the inputs that Optimum gives it (input_ids,
attention_mask, bbox, pixel_values), its weights stored in half precision. The pipeline of 5.22 hands a LayoutLMv3 its page under a
name that the model does not read: here the model gets it as pixel_values, and the numbers of its patches, which lie behind those of
the tokens, are left out."""
import json
import os
import sys
import warnings

import numpy as np
import onnx
import torch
import transformers as T
from PIL import Image, ImageDraw, ImageFont

import tiny

warnings.simplefilter("ignore")
OUT = sys.argv[1] if len(sys.argv) > 1 else "tests/golden/documents"
LIMIT = {"layoutlm": 80, "lilt": 80, "layoutlmv3": 64}
LABELS = ["O", "B-KEY", "I-KEY", "B-VALUE", "I-VALUE"]
KINDS = ["letter", "invoice", "form"]
PAGES = {
    "invoice": (240, 320, ["Invoice No. 1815", "Ada Lovelace, London", "Date: 10 December 1843", "2 engines at 384.40", "Total: 768.80",
                           "Thank you!"]),
    "letter": (333, 170, ["São Paulo, café 12", "the river Thames flows through", "the city, and the City grew along", "the river: machines repeat",
                          "what we have taught them", "THE END of the first part was not", "the end of the second.", "Engines, he said,",
                          "don't think; Zürich, Genève"]),
    "word": (97, 41, ["Ada"]),
}
QUESTIONS = ["What is the total?", "Who was born  in London ?", "naïve"]
PARAMS = [{}, {"top_k": 4}, {"top_k": 3, "max_answer_len": 2}, {"top_k": 5, "handle_impossible_answer": True},
          {"top_k": 3, "max_seq_len": 30, "doc_stride": 6}, {"top_k": 14, "max_seq_len": 56}]


# ---- pages ----
def draw(name):
    """The page, its words, and their boxes in thousandths of it."""
    width, height, lines = PAGES[name]
    page, words, boxes = Image.new("RGB", (width, height), "white"), [], []
    pen, font = ImageDraw.Draw(page), ImageFont.load_default(13)
    for i, line in enumerate(lines):
        x = 8 + 9 * (i % 3)
        for word in line.split():
            pen.text((x, 8 + 17 * i), word, fill="black", font=font)
            box = pen.textbbox((x, 8 + 17 * i), word, font=font)
            words.append(word)
            boxes.append([max(0, min(1000, int(1000 * v / side))) for v, side in zip(box, (width, height) * 2)])
            x = box[2] + 5
    return page, words, boxes


# ---- models ----
def classes(*words):
    return dict(id2label=dict(enumerate(words)), label2id={w: i for i, w in enumerate(words)}, num_labels=len(words))


def half(model):
    with torch.no_grad():
        for p in model.parameters():
            p.copy_(p.to(torch.float16).float())
    return model.eval()


def checkpoint(name, kind, config, tokenizer, seed):
    folder = f"{OUT}/{name}"
    config.vocab_size = len(tokenizer)
    torch.manual_seed(seed)
    head = "qa_outputs" if "Question" in kind.__name__ else "classifier"
    tiny.save(folder, tiny.randomize(kind(config), seed, head, 0.8).to(torch.bfloat16), tokenizer)
    return kind.from_pretrained(folder, dtype=torch.float32).eval()


def store_halves(path):
    """Weights of more than a few numbers in half precision, with a Cast behind each."""
    m = onnx.load(path)
    casts = []
    for t in m.graph.initializer:
        if t.data_type != onnx.TensorProto.FLOAT or np.prod(t.dims) < 256:
            continue
        a = onnx.numpy_helper.to_array(t)
        name = t.name
        t.CopyFrom(onnx.numpy_helper.from_array(a.astype(np.float16), name + ".half"))
        casts.append(onnx.helper.make_node("Cast", [name + ".half"], [name], to=onnx.TensorProto.FLOAT))
    nodes = casts + list(m.graph.node)
    kept = {v.name: v.name for v in [*m.graph.input, *m.graph.output]}
    short = lambda name: kept.setdefault(name, f"v{len(kept)}") if name else name
    for t in m.graph.initializer:
        t.name = short(t.name)
    for n in nodes:
        n.ClearField("doc_string")
        n.ClearField("name")
        n.input[:] = [short(x) for x in n.input]
        n.output[:] = [short(x) for x in n.output]
    del m.graph.value_info[:]
    del m.graph.node[:]
    m.graph.node.extend(nodes)
    onnx.save(m, path)


class Tensors(torch.nn.Module):
    """The model with tensors in and tensors out."""

    def __init__(self, model, outputs):
        super().__init__()
        self.model, self.outputs = model, outputs

    def forward(self, input_ids, attention_mask, bbox, pixel_values):
        made = self.model(input_ids=input_ids, attention_mask=attention_mask, bbox=bbox, pixel_values=pixel_values)
        return tuple(made[o] for o in self.outputs)


def save_tokenizer(folder, tokenizer):
    tokenizer.save_pretrained(folder)
    with open(folder + "/tokenizer.json") as f:
        tree = json.load(f)
    with open(folder + "/tokenizer.json", "w") as f:
        json.dump(tree, f, ensure_ascii=False, separators=(",", ":"))


def layoutlmv3(name, head, tokenizer, labels, seed):
    folder = f"{OUT}/{name}"
    kind = getattr(T, "LayoutLMv3For" + head)
    config = T.LayoutLMv3Config(vocab_size=len(tokenizer), hidden_size=24, num_hidden_layers=1, num_attention_heads=2, intermediate_size=32,
                                coordinate_size=4, shape_size=4, max_position_embeddings=LIMIT["layoutlmv3"] + 2, max_2d_position_embeddings=1024,
                                input_size=16, patch_size=8, architectures=[kind.__name__], **classes(*labels))
    torch.manual_seed(seed)
    model = half(tiny.randomize(kind(config), seed, "qa_outputs" if "Question" in head else "classifier", 0.5))
    os.makedirs(folder, exist_ok=True)
    config.save_pretrained(folder)
    save_tokenizer(folder, tokenizer)
    with open(folder + "/preprocessor_config.json", "w") as f:
        json.dump({"image_processor_type": "LayoutLMv3ImageProcessor", "apply_ocr": False, "do_resize": True, "size": {"height": 16, "width": 16},
                   "resample": 2, "do_rescale": True, "do_normalize": True, "image_mean": [.5] * 3, "image_std": [.5] * 3}, f)
    outputs = ["start_logits", "end_logits"] if "Question" in head else ["logits"]
    ids = torch.randint(5, 300, (2, 11))
    boxes = torch.randint(0, 500, (2, 11, 4))
    boxes[..., 2:] += boxes[..., :2]
    inputs = (ids, torch.ones_like(ids), boxes, torch.rand(2, 3, 16, 16))
    names = ["input_ids", "attention_mask", "bbox", "pixel_values"]
    axes = {n: {0: "batch_size", 1: "sequence_length"} for n in names[:3] + ([] if head == "SequenceClassification" else outputs)}
    axes.update({n: {0: "batch_size"} for n in names[3:] + (outputs if head == "SequenceClassification" else [])})
    torch.onnx.export(Tensors(model, outputs).eval(), inputs, folder + "/model.onnx", input_names=names, output_names=outputs, dynamic_axes=axes,
                      opset_version=17, dynamo=False)
    store_halves(folder + "/model.onnx")
    return model


# ---- answers ----
def digits(x):
    return float("%.7g" % float(x))


class WithPage(T.DocumentQuestionAnsweringPipeline):
    def _forward(self, inputs, **kwargs):
        if "image" in inputs:
            inputs["pixel_values"] = inputs.pop("image")
        tokens = inputs["input_ids"].shape[1]
        made = super()._forward(inputs, **kwargs)
        return dict(made, start_logits=made["start_logits"][:, :tokens], end_logits=made["end_logits"][:, :tokens])


def ask(rows, name, pipe, page):
    image, words, boxes = draw(page)
    pairs = list(zip(words, boxes))
    for question in QUESTIONS:
        for params in PARAMS if page != "word" else PARAMS[:4]:
            found = pipe({"image": image, "question": question, "word_boxes": pairs}, **params)
            rows.append({"model": name, "page": page, "question": question, "params": params,
                         "result": [dict(a, score=digits(a["score"])) for a in found]})


def encode(family, tokenizer, words, boxes):
    if family != "layoutlm":
        e = tokenizer(words, boxes=boxes, truncation=True, return_tensors="pt")
        return e, e.word_ids()
    e = tokenizer(words, is_split_into_words=True, truncation=True, return_tensors="pt")
    ends = {0: [0] * 4, len(e.word_ids()) - 1: [1000] * 4}
    e["bbox"] = torch.tensor([[ends[i] if w is None else boxes[w] for i, w in enumerate(e.word_ids())]])
    return e, e.word_ids()


def classify(rows, name, family, model, tokenizer, page, image_processor):
    image, words, boxes = draw(page)
    inputs, ids = encode(family, tokenizer, words, boxes)
    if image_processor:
        inputs["pixel_values"] = image_processor(image, return_tensors="pt")["pixel_values"]
        inputs.pop("token_type_ids", None)
    with torch.no_grad():
        scores = model(**inputs).logits[0].softmax(-1)
    row = {"model": name, "page": page}
    names = model.config.id2label
    if scores.dim() == 1:
        best = sorted(range(len(scores)), key=lambda i: -float(scores[i]))
        rows.append(dict(row, labels=[[names[i], digits(scores[i])] for i in best]))
        return
    kept = [i for i, w in enumerate(ids) if w is not None]
    rows.append(dict(row, tokens=[[names[int(scores[i].argmax())], digits(scores[i].max()), ids[i]] for i in kept]))


def enlarged(page):
    """Three times as large, so that Tesseract finds something."""
    image = draw(page)[0]
    return image.resize((3 * image.width, 3 * image.height), Image.BICUBIC)


def read(page):
    import pytesseract
    from transformers.pipelines.document_question_answering import apply_tesseract
    image = enlarged(page)
    words, boxes = apply_tesseract(image, lang=None, tesseract_config="")
    return {"page": page, "width": image.width, "height": image.height, "table": pytesseract.image_to_data(image, config=""), "words": words,
            "boxes": boxes}


def check(program):
    """Answers about pages whose words Tesseract reads: the program's against the pipeline's."""
    import shutil
    import subprocess
    import tempfile
    if not shutil.which("tesseract"):
        return print("skipped: no tesseract")
    T.logging.set_verbosity_error()
    asked = 0
    for name, kind in (("layoutlm_qa", T.LayoutLMForQuestionAnswering), ("lilt_qa", T.LiltForQuestionAnswering)):
        folder = "tests/golden/documents/" + name
        pipe = WithPage(model=kind.from_pretrained(folder, dtype=torch.float32).eval(), tokenizer=T.AutoTokenizer.from_pretrained(folder),
                        task="document-question-answering")
        for page in PAGES:
            with tempfile.TemporaryDirectory() as work:
                enlarged(page).save(work + "/page.png")
                for question in QUESTIONS:
                    want = pipe({"image": work + "/page.png", "question": question}, top_k=3)
                    out = subprocess.run([program, "infer", "-m", folder, "--question", question, "--top-k", "3", "-f", "jsonl", work + "/page.png"],
                                         check=True, capture_output=True, text=True)
                    got = json.loads(out.stdout)["answers"]
                    assert [{**a, "score": 0} for a in got] == [{**a, "score": 0} for a in want], (name, page, question, got, want)
                    assert all(abs(a["score"] - b["score"]) < 1e-3 for a, b in zip(got, want)), (got, want)
                    asked += 1
    print(f"{asked} questions about pages that Tesseract reads: answers, words and order equal, scores within 1e-3")


def tokenizer_of(family):
    t = T.AutoTokenizer.from_pretrained("tests/golden/boxes/" + ("layoutlm" if family == "layoutlm" else "lilt"))
    t.model_max_length = LIMIT[family]
    return t


def main():
    T.logging.set_verbosity_error()
    torch.set_num_threads(1)
    os.makedirs(OUT, exist_ok=True)
    for page in PAGES:
        draw(page)[0].convert("L").save(f"{OUT}/{page}.png", optimize=True)
    tiny.write_lines(f"{OUT}/pages.jsonl", [dict(zip(("page", "words", "boxes"), (p, *draw(p)[1:]))) for p in PAGES])
    tiny.write_lines(f"{OUT}/ocr.jsonl", [read(p) for p in PAGES])
    sizes = dict(num_hidden_layers=1, num_attention_heads=2, intermediate_size=24, max_2d_position_embeddings=1001)
    rows = []
    bert, bytes_ = tokenizer_of("layoutlm"), tokenizer_of("lilt")
    three = tokenizer_of("layoutlmv3")
    image_processor = T.LayoutLMv3ImageProcessor(apply_ocr=False, size={"height": 16, "width": 16})
    layoutlm = lambda **more: T.LayoutLMConfig(hidden_size=8, max_position_embeddings=LIMIT["layoutlm"], **sizes, **more)
    lilt = lambda **more: T.LiltConfig(hidden_size=24, max_position_embeddings=LIMIT["lilt"] + 2, type_vocab_size=1, pad_token_id=1, **sizes, **more)
    asked = [("layoutlm_qa", checkpoint("layoutlm_qa", T.LayoutLMForQuestionAnswering, layoutlm(), bert, 51), bert, None),
             ("lilt_qa", checkpoint("lilt_qa", T.LiltForQuestionAnswering, lilt(), bytes_, 52), bytes_, None),
             ("layoutlmv3_qa", layoutlmv3("layoutlmv3_qa", "QuestionAnswering", three, ["a", "b"], 53), three, image_processor)]
    for name, model, tokenizer, pictures in asked:
        pipe = WithPage(model=model, tokenizer=tokenizer, image_processor=pictures, task="document-question-answering")
        for page in PAGES:
            ask(rows, name, pipe, page)
    sorted_ = [("layoutlmv3_class", "layoutlmv3", layoutlmv3("layoutlmv3_class", "SequenceClassification", three, KINDS, 55), three, image_processor),
               ("layoutlmv3_tags", "layoutlmv3", layoutlmv3("layoutlmv3_tags", "TokenClassification", three, LABELS, 56), three, image_processor)]
    for name, family, model, tokenizer, pictures in sorted_:
        for page in PAGES:
            classify(rows, name, family, model, tokenizer, page, pictures)
    tiny.write_lines(f"{OUT}/cases.jsonl", rows)


if sys.argv[1:2] == ["check"]:
    check(sys.argv[2])
else:
    main()
