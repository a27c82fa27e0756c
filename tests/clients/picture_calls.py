# SPDX-License-Identifier: Apache-2.0
# picture_calls.py - pictures through huggingface_hub's InferenceClient, openai's and grpcio's clients, MCP's, and in the Rust
# encoderfile's JSON. Models and what transformers' pipelines say: tests/golden/pictures, tests/golden/pairs
# (tools/oracle/picture_tasks.py, picture_pairs.py).
import base64
import json
import pathlib
import tempfile
import urllib.request

import anyio
import grpc
import numpy
import openai
from huggingface_hub import InferenceClient
from mcp import Client

import reference
from grpc_common import Server, Task, check, check_files, code_of, files_of, line, make_stubs, same
from reference import PIPELINE, attempt, near, same_scores, same_vectors

GOLDEN = pathlib.Path("tests/golden")
HUB = "huggingface_hub"


def cases(folder, name):
    """Without parameters, or with those that the Hub's client has."""
    rows = json.loads((GOLDEN / folder / "cases.json").read_text())
    return [r for r in rows if r["case"] == name]


def file_of(row):
    return GOLDEN / "images" / row["picture"]


def every(rows, call):
    """The first difference, or how many there were."""
    for row in rows:
        right, note = call(row)
        if not right:
            return False, f"{row['picture']}: {note}"
    return True, f"{len(rows)} pictures equal"


# ---- huggingface_hub ----
def labels(client, method):
    def call(row):
        got = getattr(client, method)(str(file_of(row)), **row["params"])
        return same_scores([(g.label, g.score) for g in got], [(w["label"], w["score"]) for w in row["result"]])
    return call


def boxes(client):
    def call(row):
        got = client.object_detection(str(file_of(row)), **row["params"])
        found = [(g.label, g.box.xmin, g.box.ymin, g.box.xmax, g.box.ymax) for g in got]
        wanted = [(w["label"], *(w["box"][side] for side in ("xmin", "ymin", "xmax", "ymax"))) for w in row["result"]]
        right = len(found) == len(wanted) and all(
            f[0] == w[0] and all(abs(a - b) <= (abs(b) > 20000) for a, b in zip(f[1:], w[1:])) for f, w in zip(found, wanted))
        return right and all(near(g.score, w["score"]) for g, w in zip(got, row["result"])), f"{found} for {wanted}"
    return call


def masks(client):
    """PIL images, of 0 and 255."""
    def call(row):
        got = client.image_segmentation(str(file_of(row)))
        for g, w in zip(got, row["result"]):
            flat = numpy.repeat(numpy.arange(len(w["runs"])) % 2 * 255, w["runs"])
            if list(g.mask.size) != w["size"] or (numpy.asarray(g.mask).reshape(-1) != flat).mean() > 1e-3:
                return False, f"the mask of {w['label']}"
        return [g.label for g in got] == [w["label"] for w in row["result"]], "labels"
    return call


def hub():
    with Server(GOLDEN / "pictures/vit") as server:
        client = InferenceClient(f"http://127.0.0.1:{server.http}")
        attempt(HUB, "image_classification", lambda: every(cases("pictures", "vit"), labels(client, "image_classification")), PIPELINE)
    with Server(GOLDEN / "pictures/yolos") as server:
        client = InferenceClient(f"http://127.0.0.1:{server.http}")
        attempt(HUB, "object_detection", lambda: every(cases("pictures", "yolos"), boxes(client)), PIPELINE)
    with Server(GOLDEN / "pictures/segformer") as server:
        client = InferenceClient(f"http://127.0.0.1:{server.http}")
        attempt(HUB, "image_segmentation", lambda: every(cases("pictures", "segformer"), masks(client)), PIPELINE)
    for name in ("clip", "siglip"):
        with Server(GOLDEN / "pairs" / name) as server:
            client = InferenceClient(f"http://127.0.0.1:{server.http}")
            rows = [r for r in cases("pairs", name) if len(r["params"]["candidate_labels"]) > 1]  # the client wants two
            attempt(HUB, f"zero_shot_image_classification, {name}",
                    lambda: every(rows, labels(client, "zero_shot_image_classification")), PIPELINE)
            others(name, server, client)


# ---- the same model by other clients ----
def others(name, server, client):
    golden = json.loads((GOLDEN / "pairs/vectors.json").read_text())[name]
    texts, pictures = list(golden["texts"]), list(golden["pictures"])
    images = [base64.b64encode((GOLDEN / "images" / p).read_bytes()).decode() for p in pictures]
    both = [{"text": t} for t in texts] + [{"image": i} for i in images]
    wanted = list(golden["texts"].values()) + list(golden["pictures"].values())
    ours = openai.OpenAI(base_url=f"http://127.0.0.1:{server.http}/v1", api_key="none", max_retries=0)
    attempt("openai", f"embeddings.create, texts and pictures, {name}",
            lambda: same_vectors([d.embedding for d in ours.embeddings.create(model="m", input=both).data], wanted), PIPELINE)

    def similarity():
        got = client.sentence_similarity(texts[0], texts[1:])
        return all(near(g, reference.cosine(wanted[0], w)) for g, w in zip(got, wanted[1:len(texts)])), ""
    attempt(HUB, f"sentence_similarity, {name}", similarity, PIPELINE)
    row = cases("pairs", name)[1]

    async def tool():
        async with Client(f"http://127.0.0.1:{server.http}/mcp") as mcp:
            image = base64.b64encode(file_of(row).read_bytes()).decode()
            reply = await mcp.call_tool("zero_shot_image_classification", {"inputs": [image], **row["params"]})
            return reply.structured_content["results"][0]["labels"]

    attempt("mcp", f"zero_shot_image_classification, {name}", lambda: same_scores(
        [(g["label"], g["score"]) for g in anyio.run(tool)], [(w["label"], w["score"]) for w in row["result"]]), PIPELINE)


# ---- gRPC: every reply is HTTP's, field by field ----
def grpc_of(task, folder, params, right):
    before = sum(reference.counts.values())
    with Server(GOLDEN / folder) as server, grpc.insecure_channel(f"127.0.0.1:{server.grpc}") as channel:
        files = files_of(channel, "v1")[1]
        check_files(files, task)
        with tempfile.TemporaryDirectory() as path:
            make_stubs(files, path)
            t = Task(task, channel)
        for row in cases(*folder.split("/")):
            if any(k not in params for k in row["params"]):
                continue
            data = file_of(row).read_bytes()
            request = t.request(**row["params"])
            request.inputs.add(image=data)
            reply = t.stub.Predict(request)
            tree = server.post("/predict", {"inputs": [base64.b64encode(data).decode()], **row["params"]})
            wrong = same(reply, tree)
            check(not wrong, f"{task}: {row['picture']}: {wrong} differs from HTTP")
            check(right(reply.results[0], row["result"]), f"{task}: {row['picture']} differs from the pipeline")
        check(code_of(lambda: t.stub.Predict(t.request())) == grpc.StatusCode.INVALID_ARGUMENT, f"{task}: no pictures")
        bad = t.request()
        bad.inputs.add(image=b"a text")
        check(code_of(lambda: t.stub.Predict(bad)) == grpc.StatusCode.INVALID_ARGUMENT, f"{task}: a text")
        check(t.stub.GetModelMetadata(t.meta.GetModelMetadataRequest()).model_id == pathlib.Path(folder).name, f"{task}: metadata")
    line(f"{task}: Predict", before)


def same_labels(result, wanted):
    return same_scores([(g.label, g.score) for g in result.labels], [(w["label"], w["score"]) for w in wanted])[0]


def same_objects(result, wanted):
    return [g.label for g in result.objects] == [w["label"] for w in wanted] and all(
        near(g.score, w["score"]) and abs(g.box.xmin - w["box"]["xmin"]) <= 1 for g, w in zip(result.objects, wanted))


def same_segments(result, wanted):
    return [s.label for s in result.segments] == [w["label"] for w in wanted]


def same_numbers(result, wanted):
    return len(result.embedding) == len(wanted) and all(near(a, b) for a, b in zip(result.embedding, wanted))


# ---- the Rust encoderfile's HTTP ----
def original():
    """{"images": [{"image_bytes": [numbers]}]}."""
    with Server(GOLDEN / "pictures/vit") as server:
        def call(row):
            body = {"images": [{"image_bytes": list(file_of(row).read_bytes()), "image_format": "Png"}], "metadata": {"a": "b"}}
            reply = server.post("/predict", body)
            got = reply["results"][0]["labels"]
            return reply["metadata"] == {"a": "b"} and same_scores([(g["label"], g["score"]) for g in got],
                                                                   [(w["label"], w["score"]) for w in row["result"]])[0], "labels"
        attempt("encoderfile (Rust)", "POST /predict, images", lambda: every([r for r in cases("pictures", "vit") if not r["params"]], call), PIPELINE)
        bad = urllib.request.Request(f"http://127.0.0.1:{server.http}/predict", b'{"images":[{"image_bytes":[1,256]}]}',
                                     {"Content-Type": "application/json"})
        try:
            urllib.request.urlopen(bad)
            check(False, "a number that is no byte is refused")
        except urllib.error.HTTPError as e:
            check(e.code == 422 and "images[0].image_bytes[1]: wanted 0 to 255" in e.read().decode(), "a number that is no byte")


hub()
original()
grpc_of("image_classification", "pictures/vit", (), same_labels)
grpc_of("object_detection", "pictures/yolos", (), same_objects)
grpc_of("image_segmentation", "pictures/segformer", (), same_segments)
grpc_of("image_embedding", "pictures/vit_vectors", (), same_numbers)
grpc_of("zero_shot_image_classification", "pairs/clip", ("candidate_labels", "hypothesis_template"), same_labels)
grpc_of("zero_shot_image_classification", "pairs/siglip", ("candidate_labels", "hypothesis_template"), same_labels)
reference.finish()
