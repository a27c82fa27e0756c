# SPDX-License-Identifier: Apache-2.0
# seven_calls.py - the pipelines of one table, each of a tiny model, and each in four ways: `run`; a package's `serve`, asked by a
# body with its task; the same by huggingface_hub's client; and by grpcio's. Every cell is compared with what transformers' pipeline
# returned (tests/golden/pipelines, tests/golden/pictures ...). The fifth column, C's ef_run, is tests/test_dialect_pipeline.c.
import base64
import json
import pathlib
import subprocess
import tempfile

import grpc
from huggingface_hub import InferenceClient

import reference
from grpc_common import PROGRAM, Server, Task, files_of, make_stubs

GOLDEN = pathlib.Path("tests/golden")
PICTURE = "cmyk.jpg"


def lines(path):
    with open(GOLDEN / path) as file:
        return [json.loads(line) for line in file]


def text_case(model, task, version):
    """The first call without parameters."""
    return next(c for c in lines(f"pipelines/cases_{version}.jsonl") if (c["model"], c["task"], c["parameters"]) == (model, task, {}))


def picture_case(model):
    cases = json.loads((GOLDEN / "pictures/cases.json").read_text())
    return next(c for c in cases if (c["case"], c["picture"], c["params"]) == (model, PICTURE, {}))


def encoded(path):
    return base64.b64encode(pathlib.Path(path).read_bytes()).decode()


def run_words(*words, **parameters):
    """Behind `run TASK -m MODEL`."""
    said = [f"{key}={value if isinstance(value, str) else json.dumps(value)}" for key, value in parameters.items()]
    return [word for one in said for word in ("-p", one)] + ["--", *words]


class Row:
    """A pipeline: its model, the words of `run`, the inputs of a body, huggingface_hub's call, a message for gRPC, and what is compared:
    texts and numbers of a pipeline's result, of the client's, and of a message's."""

    def __init__(self, task, ours, model, words, inputs, result, client, message, facts, of_client, of_message, most=None):
        self.task, self.ours, self.model, self.words, self.inputs = task, ours, GOLDEN / model, words, inputs
        self.result, self.client, self.message = result, client, message
        self.facts, self.of_client, self.of_message, self.most = facts, of_client, of_message, most  # most: that a message has


def label_score(r):
    return r["label"], r["score"]


def field_score(r):
    return r.label, r.score


def box_facts(r):
    box = r["box"] if isinstance(r, dict) else {k: getattr(r.box, k) for k in ("xmin", "ymin", "xmax", "ymax")}
    label, score = label_score(r) if isinstance(r, dict) else field_score(r)
    return label, score, *[box[k] for k in ("xmin", "ymin", "xmax", "ymax")]


def answer_facts(r):
    r = r if isinstance(r, dict) else {k: getattr(r, k) for k in ("answer", "score", "start", "end")}
    return [(r["answer"], r["score"], r["start"], r["end"])]


def tag_facts(results):
    return [(r["entity"], r["score"], r["start"], r["end"]) for r in results]


def token_facts(reply):
    """Labels of a message's tokens, without "O"; its offsets count bytes, as characters in this text."""
    return [(t.label, t.score, t.token_info.start, t.token_info.end) for t in reply.results[0].tokens if t.label != "O"]


def text_rows():
    label, tags, answer = (text_case("labels", "text-classification", 5), text_case("tags", "token-classification", 5),
                           text_case("answers", "question-answering", 4))
    text, pair = label["inputs"], answer["inputs"]
    yield Row("text-classification", "sequence_classification", "pipelines/labels", run_words(text), text, label["result"],
              lambda c: c.text_classification(text), lambda t: t.request(inputs=[text]),
              lambda r: [label_score(x) for x in r], lambda r: [field_score(x) for x in r][:1],
              lambda r: [(r.results[0].predicted_label, max(r.results[0].scores))])
    yield Row("token-classification", "token_classification", "pipelines/tags", run_words(text), text, tags["result"],
              lambda c: c.token_classification(text, aggregation_strategy="none"), lambda t: t.request(inputs=[text]),
              tag_facts, lambda r: [(x.entity, x.score, x.start, x.end) for x in r], token_facts)
    yield Row("question-answering", "question_answering", "pipelines/answers", run_words(pair["question"], pair["context"]), pair, answer["result"],
              lambda c: c.question_answering(**pair), lambda t: t.request(inputs=[pair]),
              answer_facts, answer_facts, lambda r: answer_facts(r.results[0]))


def picture_rows():
    path = str(GOLDEN / "images" / PICTURE)
    data = pathlib.Path(path).read_bytes()
    for task, ours, model, facts, of_message in (
            ("image-classification", "image_classification", "vit", lambda r: [label_score(x) for x in r],
             lambda r: [field_score(x) for x in r.results[0].labels]),
            ("object-detection", "object_detection", "yolos", lambda r: [box_facts(x) for x in r],
             lambda r: [box_facts(x) for x in r.results[0].objects])):
        method = task.replace("-", "_")
        yield Row(task, ours, "pictures/" + model, run_words(path), encoded(path), picture_case(model)["result"],
                  lambda c, method=method: getattr(c, method)(path), lambda t: t.request(inputs=[{"image": data}]), facts,
                  (lambda r: [field_score(x) for x in r]) if model == "vit" else (lambda r: [box_facts(x) for x in r]), of_message)


def sound_rows():
    path = str(GOLDEN / "sounds/speech.flac")
    cases = json.loads((GOLDEN / "speech/cases.json").read_text())
    case = next(c for c in cases if (c["case"], c["sound"], c["params"]) == ("wav2vec2", "speech.flac", {}))
    yield Row("audio-classification", "audio_classification", "speech/wav2vec2", run_words(path), encoded(path), case["result"],
              lambda c: c.audio_classification(path), lambda t: t.request(inputs=[{"audio": pathlib.Path(path).read_bytes()}]),
              lambda r: [label_score(x) for x in r], lambda r: [field_score(x) for x in r], lambda r: [field_score(x) for x in r.results[0].labels], 5)


def page_rows():
    path = str(GOLDEN / "documents/invoice.png")
    page = lines("documents/pages.jsonl")[0]
    case = next(c for c in lines("documents/cases.jsonl") if (c["model"], c["page"], c["params"]) == ("layoutlmv3_qa", "invoice", {}))
    question, words = case["question"], [list(pair) for pair in zip(page["words"], page["boxes"])]
    sides = ("left", "top", "right", "bottom")
    message = {"question": question, "words": page["words"], "boxes": [dict(zip(sides, box)) for box in page["boxes"]],
               "image": pathlib.Path(path).read_bytes()}

    def facts(results):
        return [fact for r in results for fact in answer_facts(r)]
    yield Row("document-question-answering", "document_question_answering", "documents/layoutlmv3_qa",
              run_words(path, question=question, word_boxes=words), {"image": encoded(path), "question": question, "word_boxes": words},
              case["result"], lambda c: c.document_question_answering(path, question, word_boxes=words),
              lambda t: t.request(inputs=[message]), facts, facts, lambda r: facts(r.results[0].answers))


def same(found, wanted):
    right = len(found) == len(wanted) and all(
        len(a) == len(b) and all(reference.near(x, y) if isinstance(y, float) else x == y for x, y in zip(a, b)) for a, b in zip(found, wanted))
    return right, f"{len(wanted)} equal" if right else f"{str(found)[:150]} for {str(wanted)[:150]}"


def by_run(row):
    done = subprocess.run([PROGRAM, "run", row.task, "-m", str(row.model), *row.words], capture_output=True, check=True, timeout=60)
    return row.facts(json.loads(done.stdout))


def by_grpc(row, server, folder):
    with grpc.insecure_channel(f"127.0.0.1:{server.grpc}") as channel:
        make_stubs(files_of(channel, "v1alpha")[1], folder)
        t = Task(row.ours, channel)
        return row.of_message(t.stub.Predict(row.message(t)))


def check_row(row, folder):
    wanted = row.facts(row.result)
    package = f"{folder}/{row.ours}.encoderfile"
    subprocess.run([PROGRAM, "build", str(row.model), "-o", package], check=True, capture_output=True, timeout=60)
    reference.attempt("run", row.task, lambda: same(by_run(row), wanted), reference.PIPELINE)
    with Server(package) as server:
        body = {"task": row.task, "inputs": row.inputs}
        reference.attempt("serve", row.task, lambda: same(row.facts(server.post("/", body)), wanted), reference.PIPELINE)
        client = InferenceClient(f"http://127.0.0.1:{server.http}")
        reference.attempt("huggingface_hub", row.task, lambda: same(row.of_client(row.client(client)), wanted), reference.PIPELINE)
        reference.attempt("grpcio", row.task, lambda: same(by_grpc(row, server, folder), wanted[:row.most]), reference.PIPELINE)


with tempfile.TemporaryDirectory() as folder:
    for row in [*text_rows(), *picture_rows(), *sound_rows(), *page_rows()]:
        check_row(row, folder)
reference.finish()
