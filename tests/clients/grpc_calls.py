# SPDX-License-Identifier: Apache-2.0
# grpc_calls.py - gRPC through grpcio's own client, health and reflection stubs, on both ports. The stubs of our services are
# made by protoc from what reflection says; replies are compared with those of HTTP field by field, and with the reference.
import concurrent.futures
import importlib
import json
import signal
import tempfile
import time
import urllib.request

import grpc
from google.protobuf import descriptor_pb2, descriptor_pool, json_format, message_factory
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2
from grpc_reflection.v1alpha.proto_reflection_descriptor_database import ProtoReflectionDescriptorDatabase

import reference
from grpc_common import MODELS, Server, Task, camel, check, check_files, code_of, f32, files_of, line, make_stubs, same

TASKS = {"embedding": MODELS / "embed", "sentence_embedding": MODELS / "embed", "sequence_classification": MODELS / "labels",
         "token_classification": "examples/bus-ner", "fill_mask": MODELS / "mask", "sparse_embedding": MODELS / "mask"}
TEXTS = ["book a bus from pune to goa [MASK]", "h\u00e9llo [MASK] w\u00f6rld \U0001f68c"]


def check_reflected(channel, task):
    """As grpcurl does it: nothing is known but the address, and JSON goes in and comes out."""
    pool = descriptor_pool.DescriptorPool(ProtoReflectionDescriptorDatabase(channel))
    method = pool.FindServiceByName(f"encoderfile.{task}.{camel(task)}Inference").methods_by_name["Predict"]
    request, reply = (message_factory.GetMessageClass(m) for m in (method.input_type, method.output_type))
    call = channel.unary_unary(f"/{method.containing_service.full_name}/Predict", request.SerializeToString, reply.FromString)
    answer = json_format.MessageToDict(call(json_format.ParseDict({"inputs": TEXTS}, request())))
    check(len(answer["results"]) == len(TEXTS), f"{task}: through reflection alone")


def shape(descriptor):
    """What matters of a message: names, numbers, types."""
    return sorted((f.name, f.number, f.type, f.label, f.type_name.rsplit(".", 1)[-1],
                   f.HasField("oneof_index")) for f in descriptor.field)


def check_reference(files, path, reference):
    """Health and reflection are what their own packages say."""
    theirs = descriptor_pb2.FileDescriptorProto()
    reference.DESCRIPTOR.CopyToProto(theirs)
    ours = {m.name: m for m in files[path].message_type}
    for message in theirs.message_type:
        check(message.name in ours and shape(ours[message.name]) == shape(message), f"{path}: {message.name}")
    for a, b in zip(files[path].service, theirs.service):
        mine = {(m.name, m.client_streaming, m.server_streaming) for m in a.method}
        check({(m.name, m.client_streaming, m.server_streaming) for m in b.method} <= mine, f"{path}: {a.name}")


# ---- the Rust encoderfile's cases ----
def check_task(server, task, address, folder):
    with grpc.insecure_channel(address) as channel:
        names, files = files_of(channel, "v1alpha")
        check(files_of(channel, "v1")[1] == files, f"{task}: reflection v1 is v1alpha")
        check_files(files, task)
        check_reflected(channel, task)
        make_stubs(files, folder)
        t = Task(task, channel)
        data = t.stub.GetModelMetadata(t.meta.GetModelMetadataRequest())
        check(bool(data.id2label) == ("classification" in task), f"{task}: labels")
        check(t.meta.ModelType.Name(data.model_type) == task.upper(), f"{task}: model type")
        request = t.request(inputs=TEXTS)
        reply = t.stub.Predict(request)
        check(len(reply.results) == len(TEXTS) and not reply.metadata, f"{task}: a result for each input")
        wrong = same(reply, server.post("/predict", {"inputs": TEXTS}))
        check(not wrong, f"{task}: as over HTTP: {wrong}")
        echo = t.stub.Predict(t.request(inputs=TEXTS, metadata={"a": "b"}))
        check(dict(echo.metadata) == {"a": "b"}, f"{task}: metadata")
        check(code_of(lambda: t.stub.Predict(t.request())) == grpc.StatusCode.INVALID_ARGUMENT, f"{task}: no inputs")
        check(code_of(lambda: t.stub.Predict(t.request(inputs=[""]))) == grpc.StatusCode.INVALID_ARGUMENT,
              f"{task}: empty input")
        other = channel.unary_unary("/encoderfile.image_classification.ImageClassificationInference/Predict")
        check(code_of(lambda: other(b"")) == grpc.StatusCode.UNIMPLEMENTED, f"{task}: another task's method")
        packed = t.stub.Predict(request, compression=grpc.Compression.Gzip)
        check(packed == reply, f"{task}: gzip")
        check_stream(t, task)
        check_health(channel, names, task)
        return files


# ---- what transformers and sentence-transformers say ----
def sentences(t):
    wanted = reference.golden["vectors"]["mean"]
    return reference.same_vectors([r.embedding for r in t.stub.Predict(t.request(inputs=list(wanted))).results], list(wanted.values()))


def tokens(t):
    """Special ones are left out."""
    wanted = reference.golden["vectors"]["hidden"]
    got = [e.embedding for r in t.stub.Predict(t.request(inputs=list(wanted))).results for e in r.embeddings]
    return reference.same_vectors(got, [v for rows in wanted.values() for v in rows[1:-1]])


def sequences(t):
    wanted = {text: rows for text, rows in reference.golden["labels"]["softmax"].items() if text != "PAIR"}
    got = [(r.predicted_label, r.scores[r.predicted_index]) for r in t.stub.Predict(t.request(inputs=list(wanted))).results]
    return reference.same_scores(got, [rows[0] for rows in wanted.values()])


def entities(t):
    """Labels of tokens and where they stand, which is counted in bytes here."""
    got, wanted = [], []
    for text, spans in reference.golden["entities"]["none"].items():
        data = text.encode()
        got += [(o.label, len(data[:o.token_info.start].decode()), len(data[:o.token_info.end].decode()))
                for o in t.stub.Predict(t.request(inputs=[text])).results[0].tokens if o.label != "O"]
        wanted += [(label, start, end) for label, _, start, end, _ in spans]
    return reference.same_spans(got, wanted)


def fillings(t):
    wanted = reference.golden["fill_mask"]
    found = t.stub.Predict(t.request(inputs=[wanted["text"]])).results[0].masks[0].words
    return reference.same_scores([(w.token, w.score) for w in found[:3]], [(w[0], w[3]) for w in wanted["words"]])


def weights(t):
    wanted = reference.golden["sparse"]
    got = [p for r in t.stub.Predict(t.request(inputs=list(wanted))).results for p in zip(r.indices, r.values)]
    right, note = reference.same_scores(got, [p for rows in wanted.values() for p in rows])
    return right, f"{len(got)} weights" if right else note


VALUES = {"embedding": (tokens, reference.PIPELINE), "sentence_embedding": (sentences, reference.ST),
          "sequence_classification": (sequences, reference.PIPELINE), "token_classification": (entities, reference.PIPELINE),
          "fill_mask": (fillings, reference.PIPELINE), "sparse_embedding": (weights, reference.ST)}


def check_values(server, task):
    values, by = VALUES[task]
    for name, port in (("gRPC's", server.grpc), ("HTTP's", server.http)):
        with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
            reference.attempt("grpcio", f"encoderfile.{task}, Predict, {name} port", lambda: values(Task(task, channel)), by)


def check_stream(t, task):
    texts = [f"text number {i} " + "word " * (i * 7 % 40) for i in range(300)]
    replies = list(t.stub.PredictStream(t.request(inputs=[text]) for text in texts))
    alone = t.stub.Predict(t.request(inputs=texts))
    check(len(replies) == 300, f"{task}: stream, {len(replies)} replies")
    check([r.results[0] for r in replies] == list(alone.results), f"{task}: stream, in order")
    check(list(t.stub.PredictStream(iter([]))) == [], f"{task}: an empty stream")
    broken = t.stub.PredictStream(iter([t.request(inputs=["a"]), t.request(), t.request(inputs=["b"])]))
    check(code_of(lambda: list(broken)) == grpc.StatusCode.INVALID_ARGUMENT, f"{task}: an error in a stream")


def check_health(channel, names, task):
    health = health_pb2_grpc.HealthStub(channel)
    serving = health_pb2.HealthCheckResponse.SERVING
    own = f"encoderfile.{task}.{camel(task)}Inference"
    for name in ["", own, "grpc.health.v1.Health"]:
        check(health.Check(health_pb2.HealthCheckRequest(service=name)).status == serving, f"health of {name!r}")
    check(code_of(lambda: health.Check(health_pb2.HealthCheckRequest(service="no"))) == grpc.StatusCode.NOT_FOUND,
          "health of nobody")
    watch = health.Watch(health_pb2.HealthCheckRequest(service="no"))
    check(next(watch).status == health_pb2.HealthCheckResponse.SERVICE_UNKNOWN, "watching nobody")
    watch.cancel()
    both = health.List(health_pb2.HealthListRequest()).statuses
    check(set(both) == {"", *names} and both[own].status == serving, "health of all")


# ---- text-embeddings-inference ----
class Tei:
    def __init__(self, channel):
        self.pb = importlib.import_module("tei.v1.tei_pb2")
        stubs = importlib.import_module("tei.v1.tei_pb2_grpc")
        for name in ["Info", "Embed", "Predict", "Rerank", "Tokenize"]:
            setattr(self, name.lower(), getattr(stubs, name + "Stub")(channel))


def check_times(metadata, text, what):
    check(metadata.compute_chars == len(text) and metadata.compute_tokens > 0, f"{what}: chars and tokens")
    parts = metadata.tokenization_time_ns + metadata.queue_time_ns + metadata.inference_time_ns
    check(0 < parts <= metadata.total_time_ns, f"{what}: times")


def check_embed(t, server):
    pb, text = t.pb, TEXTS[1]
    for options in [{}, {"normalize": False}, {"dimensions": 5}]:
        reply = t.embed.Embed(pb.EmbedRequest(inputs=text, **options))
        wanted = server.post("/embed", {"inputs": text, **options})[0]
        check(list(reply.embeddings) == f32(wanted), f"Embed {options}")
    check_times(reply.metadata, text, "Embed")
    head = dict(t.embed.Embed.with_call(pb.EmbedRequest(inputs=text))[1].initial_metadata())
    check(head.get("x-compute-characters") == str(len(text)) and "x-inference-time" in head, f"Embed: head {head}")
    reference.attempt("grpcio", "tei.v1.Embed/Embed", lambda: reference.same_vectors(
        [t.embed.Embed(pb.EmbedRequest(inputs=s)).embeddings for s in TEXTS], [reference.vector(s) for s in TEXTS]), reference.ST)
    streamed = list(t.embed.EmbedStream(pb.EmbedRequest(inputs=s) for s in TEXTS * 50))
    wanted = server.post("/embed", {"inputs": TEXTS * 50})
    check([list(r.embeddings) for r in streamed] == [f32(w) for w in wanted], "EmbedStream")
    every = t.embed.EmbedAll(pb.EmbedAllRequest(inputs=text))
    wanted = server.post("/embed_all", {"inputs": text})[0]
    check([list(e.embeddings) for e in every.token_embeddings] == [f32(w) for w in wanted], "EmbedAll")
    long = "word " * 600
    check(code_of(lambda: t.embed.Embed(pb.EmbedRequest(inputs=long))) == grpc.StatusCode.INVALID_ARGUMENT,
          "Embed: too long, and truncate is false by default")
    check(len(t.embed.Embed(pb.EmbedRequest(inputs=long, truncate=True)).embeddings) > 0, "Embed: truncate")
    left = t.embed.Embed(pb.EmbedRequest(inputs="start " + long + "end", truncate=True,
                                         truncation_direction=pb.TRUNCATION_DIRECTION_LEFT))
    wanted = server.post("/embed", {"inputs": "start " + long + "end", "truncate": True, "truncation_direction": "left"})
    check(list(left.embeddings) == f32(wanted[0]), "Embed: from the left")
    check(code_of(lambda: t.embed.Embed(pb.EmbedRequest())) == grpc.StatusCode.INVALID_ARGUMENT, "Embed: no text")
    check(code_of(lambda: t.embed.EmbedSparse(pb.EmbedSparseRequest(inputs="a"))) ==
          grpc.StatusCode.FAILED_PRECONDITION, "EmbedSparse: not with this model")


def check_sparse(t, server):
    for text in TEXTS:
        reply = t.embed.EmbedSparse(t.pb.EmbedSparseRequest(inputs=text))
        wanted = server.post("/embed_sparse", {"inputs": text})[0]
        check([(v.index, v.value) for v in reply.sparse_embeddings] ==
              [(w["index"], f32([w["value"]])[0]) for w in wanted], "EmbedSparse")
    check(len(list(t.embed.EmbedSparseStream(t.pb.EmbedSparseRequest(inputs=s) for s in TEXTS))) == 2, "EmbedSparseStream")


def check_predict(t, server):
    pb, text = t.pb, TEXTS[0]
    for options in [{}, {"raw_scores": True}]:
        reply = t.predict.Predict(pb.PredictRequest(inputs=text, **options))
        wanted = server.post("/predict", {"inputs": text, "truncate": True, "raw_scores": False, **options})
        check([(p.label, p.score) for p in reply.predictions] == [(w["label"], f32([w["score"]])[0]) for w in wanted],
              f"Predict {options}")
    check_times(reply.metadata, text, "Predict")
    pair = t.predict.PredictPair(pb.PredictPairRequest(inputs=TEXTS))
    wanted = server.post("/predict", {"inputs": [TEXTS], "raw_scores": False})[0]
    check([p.score for p in pair.predictions] == f32([w["score"] for w in wanted]), "PredictPair")
    labels = reference.golden["labels"]["softmax"]
    reference.attempt("grpcio", "tei.v1.Predict/Predict", lambda: reference.same_scores(
        [(p.label, p.score) for s in labels if s != "PAIR" for p in t.predict.Predict(pb.PredictRequest(inputs=s)).predictions],
        [p for s, rows in labels.items() if s != "PAIR" for p in rows]), reference.PIPELINE)
    check(code_of(lambda: t.predict.PredictPair(pb.PredictPairRequest(inputs=["a"] * 3))) ==
          grpc.StatusCode.INVALID_ARGUMENT, "PredictPair of three")
    streamed = list(t.predict.PredictStream(pb.PredictRequest(inputs=s) for s in TEXTS))
    check(len(streamed) == 2 and streamed[0].predictions == t.predict.Predict(pb.PredictRequest(inputs=text)).predictions,
          "PredictStream")
    check(code_of(lambda: t.embed.Embed(pb.EmbedRequest(inputs="a"))) == grpc.StatusCode.FAILED_PRECONDITION,
          "Embed: not with this model")


def check_tokens(t, server):
    pb, text = t.pb, TEXTS[1]
    for special in (False, True):
        reply = t.tokenize.Tokenize(pb.EncodeRequest(inputs=text, add_special_tokens=special))
        wanted = server.post("/tokenize", {"inputs": text, "add_special_tokens": special})[0]
        check(len(reply.tokens) == len(wanted) and not any(
            a.id != b["id"] or a.text != b["text"] or a.special != b["special"] or
            (a.start if a.HasField("start") else None) != b["start"] for a, b in zip(reply.tokens, wanted)),
            f"Tokenize, special {special}")
    ids = [token.id for token in reply.tokens]
    for skip in (False, True):
        text = t.tokenize.Decode(pb.DecodeRequest(ids=ids, skip_special_tokens=skip)).text
        check(text == server.post("/decode", {"ids": ids, "skip_special_tokens": skip})[0], f"Decode, skip {skip}")
    both = list(t.tokenize.DecodeStream(pb.DecodeRequest(ids=[i]) for i in ids))
    check(len(both) == len(ids), "DecodeStream")
    check(len(list(t.tokenize.TokenizeStream(pb.EncodeRequest(inputs=s) for s in TEXTS))) == 2, "TokenizeStream")


def check_rerank(t, server):
    """Of a model with one label."""
    pb = t.pb
    for case in reference.golden["rank"]:
        reference.attempt("grpcio", "tei.v1.Rerank/Rerank", lambda: reference.same_scores(
            [(r.index, r.score) for r in t.rerank.Rerank(pb.RerankRequest(query=case["query"], texts=case["texts"])).ranks],
            case["ranks"]), reference.ST)
    for options in [{}, {"raw_scores": True}, {"return_text": True}]:
        reply = t.rerank.Rerank(pb.RerankRequest(query="bus", texts=TEXTS, **options))
        wanted = server.post("/rerank", {"query": "bus", "texts": TEXTS, **options})
        check([(r.index, r.score, r.text if r.HasField("text") else None) for r in reply.ranks] ==
              [(w["index"], f32([w["score"]])[0], w.get("text")) for w in wanted], f"Rerank {options}")
        messages = [pb.RerankStreamRequest(query="bus", text=s, **options) for s in TEXTS]
        check(t.rerank.RerankStream(iter(messages)).ranks == reply.ranks, f"RerankStream {options}")
    check(code_of(lambda: t.rerank.Rerank(pb.RerankRequest(query="bus"))) == grpc.StatusCode.INVALID_ARGUMENT,
          "Rerank of nothing")
    empty = [pb.RerankStreamRequest(query="bus", text="a"), pb.RerankStreamRequest(query="bus")]
    check(code_of(lambda: t.rerank.RerankStream(iter(empty))) == grpc.StatusCode.INVALID_ARGUMENT,
          "RerankStream of an empty text")


def check_tei(server, task):
    with grpc.insecure_channel(f"localhost:{server.grpc}") as channel:
        t = Tei(channel)
        info = t.info.Info(t.pb.InfoRequest())
        page = json.load(urllib.request.urlopen(f"http://127.0.0.1:{server.http}/info"))
        check(info.model_id == page["model_id"] and info.max_input_length == page["max_input_length"], "Info")
        kind = "CLASSIFIER" if "classification" in task else "EMBEDDING"
        check(t.pb.ModelType.Name(info.model_type) == f"MODEL_TYPE_{kind}", "Info: type")
        check_tokens(t, server)
        health = health_pb2_grpc.HealthStub(channel)
        for name, able in [("Embed", "embedding" in task or task == "fill_mask"), ("Predict", task == "sequence_classification")]:
            status = health.Check(health_pb2.HealthCheckRequest(service=f"tei.v1.{name}")).status
            check(status == (1 if able else 2), f"{task}: health of {name}")
        if task == "sparse_embedding":
            check_sparse(t, server)
        elif "embedding" in task:
            check_embed(t, server)
        if task == "sequence_classification":
            check_predict(t, server)


# ---- beside the point of any task ----
def check_stop(model):
    """Watchers hear of the end; calls on their way are answered."""
    with Server(model, "--model-type", "embedding", "--drain", "1") as server, grpc.insecure_channel(f"localhost:{server.grpc}") as channel:
        watch = health_pb2_grpc.HealthStub(channel).Watch(health_pb2.HealthCheckRequest())
        check(next(watch).status == health_pb2.HealthCheckResponse.SERVING, "watch: serving")
        server.process.send_signal(signal.SIGTERM)
        check(next(watch).status == health_pb2.HealthCheckResponse.NOT_SERVING, "watch: not serving")
        check(code_of(lambda: list(watch)) == grpc.StatusCode.UNAVAILABLE, "watch: the end")


def check_keys(model):
    with Server(model, "--model-type", "embedding", "--api-key", "secret") as server:
        with grpc.insecure_channel(f"localhost:{server.grpc}") as channel:
            call = channel.unary_unary("/encoderfile.embedding.EmbeddingInference/Predict")
            check(code_of(lambda: call(b"\x0a\x01a")) == grpc.StatusCode.UNAUTHENTICATED, "no key")
            check(call(b"\x0a\x01a", metadata=[("authorization", "Bearer secret")]), "key")
            health = health_pb2_grpc.HealthStub(channel)
            check(health.Check(health_pb2.HealthCheckRequest()).status == 1, "health needs no key")
            check(len(files_of(channel, "v1")[0]) > 3, "reflection needs no key")


def check_limits(model):
    with Server(model, "--model-type", "embedding", "--max-body", "20000") as server:
        with grpc.insecure_channel(f"localhost:{server.grpc}") as channel:
            call = channel.unary_unary("/encoderfile.embedding.EmbeddingInference/Predict")
            check(code_of(lambda: call(b"\0" * 30000)) == grpc.StatusCode.RESOURCE_EXHAUSTED, "a long message")
            check(code_of(lambda: call(b"\xff" * 30)) == grpc.StatusCode.INVALID_ARGUMENT, "no protobuf")
            check(code_of(lambda: call(b"\x0a\x02\xff\xff")) == grpc.StatusCode.INVALID_ARGUMENT, "no UTF-8")
            try:
                call(b"\x0a\x02\xff\xff")
            except grpc.RpcError as e:
                check(e.details() == "protobuf: inputs: found bytes that are not UTF-8", f"details: {e.details()}")
            check(code_of(lambda: call(b"\x0a\x04" + b"long" * 1, timeout=30)) == grpc.StatusCode.OK, "a short one")


def check_company(server, task):
    """A hundred streams on one connection; deadlines; clients that change their mind."""
    options = [("grpc.use_local_subchannel_pool", 1), ("grpc.max_receive_message_length", -1)]
    with grpc.insecure_channel(f"localhost:{server.grpc}", options) as channel:
        t = Task(task, channel)
        alone = t.stub.Predict(t.request(inputs=TEXTS))
        with concurrent.futures.ThreadPoolExecutor(100) as pool:
            calls = [pool.submit(t.stub.Predict, t.request(inputs=TEXTS)) for _ in range(1000)]
            check(all(c.result() == alone for c in calls), "a hundred at once")
        long, seconds = long_call(t)
        deadline = lambda wait: check(code_of(lambda: t.stub.Predict(long, timeout=wait)) == grpc.StatusCode.DEADLINE_EXCEEDED, "deadline")
        check(left_early(server, seconds, deadline), "a call past its deadline is dropped")
        check(left_early(server, seconds, lambda wait: cancel_after(t.stub.Predict.future(long), wait)), "a cancelled call is dropped")
        check(t.stub.Predict(t.request(inputs=TEXTS)) == alone, "and others go on")


def cancel_after(call, wait):
    time.sleep(wait)
    call.cancel()


def left_early(server, seconds, leave):
    """Is a call of so many seconds dropped whose client leaves by leave(wait)? A part of the seconds is the reply's way to this
    client, another for every machine, and a call whose rows are done cannot be dropped: shorter waits are tried, too."""
    for part in (8, 16, 32, 64):
        before = server.dropped()
        leave(seconds / part)
        if server.drops(before):
            return True
    return False


def long_call(t):
    """A request that takes half a second or more on this machine, and how long it took."""
    texts = 250
    while True:
        request = t.request(inputs=["word " * 60] * texts)
        start = time.monotonic()
        t.stub.Predict(request)
        seconds = time.monotonic() - start
        if seconds > 0.5 or texts >= 4000:
            return request, seconds
        texts *= 2


def main():
    with tempfile.TemporaryDirectory() as folder:
        for task, model in TASKS.items():
            before = sum(reference.counts.values())
            with Server(model, "--model-type", task) as server:
                host = "[::1]" if server.v6 else "127.0.0.1"
                for address in (f"{host}:{server.grpc}", f"127.0.0.1:{server.http}"):
                    files = check_task(server, task, address, folder)
                check_values(server, task)
                check_tei(server, task)
                check_company(server, task)
            line(f"{task}: every method, both ports", before)
        before = sum(reference.counts.values())
        with Server(MODELS / "rank") as server, grpc.insecure_channel(f"localhost:{server.grpc}") as channel:
            check_rerank(Tei(channel), server)
        line("tei.v1.Rerank", before)
    before = sum(reference.counts.values())
    check_reference(files, "grpc/health/v1/health.proto", health_pb2)
    check_reference(files, "grpc/reflection/v1alpha/reflection.proto", reflection_pb2)
    check_stop(MODELS / "embed")
    check_keys(MODELS / "embed")
    check_limits(MODELS / "embed")
    line("health, reflection, keys, limits, the end", before)
    reference.finish()


main()
