# SPDX-License-Identifier: Apache-2.0
# grpc_items_calls.py - gRPC through grpcio's own client where an input is more than a text: questions, choices, pages (words
# with boxes). Models and what transformers and PyTorch make of them: tests/golden (tools/oracle/question_answering.py, choices.py,
# boxes.py). Every reply is compared with that of HTTP, field by field, and with the reference.
import json
import math
import pathlib
import tempfile

import grpc
from google.protobuf import json_format

import reference
from grpc_common import Server, Task, check, check_files, code_of, files_of, line, make_stubs, same

GOLDEN = pathlib.Path("tests/golden")
SIDES = ("left", "top", "right", "bottom")


def rows(path):
    with open(GOLDEN / path) as file:
        return [json.loads(one) for one in file]


def message(t, body):
    """A body of /predict as a message: there pages have a field of their own."""
    tree = dict(body)
    if "words" in tree["inputs"][0]:
        tree["pages"] = [{"words": page["words"], "boxes": [dict(zip(SIDES, box)) for box in page["boxes"]]}
                         for page in tree.pop("inputs")]
    return json_format.ParseDict(tree, t.request())


# ---- what the reference says: (body of /predict, whether its results are right) ----
def right_answers(pair, wanted):
    """Scores near, and the same places, which the pipeline counts in characters."""
    context = pair["context"].encode()

    def right(results):
        found = list(results[0].answers) or [results[0]]
        return len(found) == len(wanted) and all(
            reference.near(a.score, score) and a.answer == answer and
            (len(context[:a.start].decode()), len(context[:a.end].decode())) == (start, end)
            for a, (score, start, end, answer) in zip(found, wanted))
    return right


def questions():
    """The shorter half of the pairs, each with every set of options."""
    pairs, (options, *golden) = rows("question_answering/pairs.jsonl"), rows("question_answering/answers.jsonl")
    short = [row for row in golden if row["model"] == "bert" and len(pairs[row["pair"]]["context"]) < 1000]
    for row in short:
        for number, wanted in row["answers"]:
            pair = pairs[row["pair"]]
            yield {"inputs": [pair], **options["options"][number]}, right_answers(pair, wanted)


def choices():
    for row in rows("multiple_choice/choices.jsonl"):
        if row["model"] == "bert":
            yield ({"inputs": [{"prompt": row["prompt"], "choices": row["choices"]}]},
                   lambda results, wanted=row["logits"]: len(results[0].logits) == len(wanted) and
                   all(map(reference.near, results[0].logits, wanted)))


def softmax(logits):
    powers = [math.exp(x - max(logits)) for x in logits]
    return [p / sum(powers) for p in powers]


def pages(model):
    for row in rows("boxes/words.jsonl"):
        if row["model"] == model:
            wanted = [softmax(x) for x, word in zip(row["logits"], row["word"]) if word >= 0]
            yield ({"inputs": [{"words": row["words"], "boxes": row["boxes"]}]},
                   lambda results, wanted=wanted: len(results[0].tokens) == len(wanted) and
                   all(all(map(reference.near, a.scores, b)) for a, b in zip(results[0].tokens, wanted)))


CASES = [  # task, model, bodies, a body that is refused, whose answers they are
    ("question_answering", "question_answering/bert", questions(), {"inputs": [{"question": "who?", "context": ""}]},
     reference.PIPELINE),
    ("multiple_choice", "multiple_choice/bert", choices(), {"inputs": [{"prompt": "x", "choices": []}]}, "PyTorch"),
    ("token_classification", "boxes/layoutlm", pages("layoutlm"), {"inputs": [{"words": ["a"], "boxes": [[0, 0, 1, 1001]]}]},
     "PyTorch"),
    ("token_classification", "boxes/lilt", pages("lilt"), {"inputs": [{"words": ["a", "b"], "boxes": [[0, 0, 1, 1]]}]},
     "PyTorch"),
]


def check_bodies(t, server, name, bodies):
    """How many of them, and how many are as in the reference."""
    right = 0
    for body, judge in bodies:
        reply = t.stub.Predict(message(t, body))
        wrong = same(reply, server.post("/predict", body))
        check(not wrong, f"{name}: {str(body)[:200]}: as over HTTP: {wrong}")
        right += judge(reply.results)
    return right == len(bodies) and right > 0, f"{right} of {len(bodies)} equal"


def check_streams(t, server, name, bodies):
    """Several inputs in a message, and a message behind the other: the order stays, metadata comes back."""
    plain = [body for body, _ in bodies if len(body) == 1][:8]
    joined = {"inputs": [body["inputs"][0] for body in plain], "metadata": {"a": "b"}}
    reply = t.stub.Predict(message(t, joined))
    wrong = same(reply, server.post("/predict", joined))
    check(len(reply.results) == len(plain) and not wrong, f"{name}: several inputs: {wrong}")
    streamed = list(t.stub.PredictStream(message(t, body) for body in plain))
    check([s.results[0] for s in streamed] == list(reply.results), f"{name}: a stream")


def check_refused(t, name, bad, good):
    check(code_of(lambda: t.stub.Predict(message(t, bad))) == grpc.StatusCode.INVALID_ARGUMENT, f"{name}: a wrong input")
    check(code_of(lambda: t.stub.Predict(t.request())) == grpc.StatusCode.INVALID_ARGUMENT, f"{name}: no inputs")
    broken = t.stub.PredictStream(iter([message(t, good), message(t, bad)]))
    check(code_of(lambda: list(broken)) == grpc.StatusCode.INVALID_ARGUMENT, f"{name}: an error in a stream")


def check_texts(t, name):
    """A text where a page is wanted, which the same message has room for."""
    if "inputs" in t.request.DESCRIPTOR.fields_by_name and "pages" in t.request.DESCRIPTOR.fields_by_name:
        check(code_of(lambda: t.stub.Predict(t.request(inputs=["a text"]))) == grpc.StatusCode.INVALID_ARGUMENT,
              f"{name}: a text")


def check_model(task, model, bodies, bad, by, folder):
    bodies = list(bodies)
    with Server(GOLDEN / model, "--model-type", task) as server:
        for name, port in (("gRPC's", server.grpc), ("HTTP's", server.http)):
            with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
                files = files_of(channel, "v1alpha")[1]
                check_files(files, task)
                make_stubs(files, folder)
                t = Task(task, channel)
                reference.attempt("grpcio", f"encoderfile.{task} of {model}, Predict, {name} port",
                                  lambda: check_bodies(t, server, model, bodies), by)
                check_streams(t, server, model, bodies)
                check_refused(t, model, bad, bodies[0][0])
                check_texts(t, model)


def main():
    with tempfile.TemporaryDirectory() as folder:
        for task, model, bodies, bad, by in CASES:
            before = sum(reference.counts.values())
            check_model(task, model, bodies, bad, by, folder)
            line(f"{model}: both ports", before)
    reference.finish()


main()
