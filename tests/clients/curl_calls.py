# SPDX-License-Identifier: Apache-2.0
# curl_calls.py - curl over HTTP/1.1, HTTP/2 and both under TLS, with a certificate that it verifies; what it gets is compared
# with the reference. curl.sh has its statuses and shapes.
import json
import os
import re
import subprocess
import tempfile

from reference import PIPELINE, ST, attempt, finish, golden, same_scores, same_spans, same_vectors

VERSIONS = {"HTTP/1.1": (["--http1.1"], "1.1"), "h2c": (["--http2-prior-knowledge"], "2")}
UNDER_TLS = {"HTTP/1.1, TLS": (["--http1.1"], "1.1"), "HTTP/2, TLS": (["--http2"], "2"),
             "HTTP/2, TLS 1.2": (["--http2", "--tls-max", "1.2"], "2")}


class Server:
    def __init__(self, model, *options):
        self.process = subprocess.Popen([os.environ["EF_PROGRAM"], "serve", "--model", model, "--http-hostname", "127.0.0.1",
                                         "--http-port", "0", "--grpc-port", "0", *options], stderr=subprocess.PIPE, text=True)
        self.url = next(m[0] for m in (re.search(r"https?://127\.0\.0\.1:\d+", line) for line in self.process.stderr) if m)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait(20)


def post(url, flags, version, body):
    done = subprocess.run(["curl", "-s", "-S", "-m", "30", "-w", "\n%{http_code} %{http_version}", *flags, "-H",
                           "Content-Type: application/json", "-d", json.dumps(body), url], capture_output=True, text=True)
    text, _, line = done.stdout.rpartition("\n")
    if line != f"200 {version}":
        raise RuntimeError(f"{line}, wanted 200 {version}: {text[:100]} {done.stderr}")
    return json.loads(text)


def vectors(*how):
    wanted = golden["vectors"]["normalized"]
    return lambda url: same_vectors(post(url + "/embed", *how, {"inputs": list(wanted)}), list(wanted.values()))


def labels(*how):
    text, wanted = next(iter(golden["labels"]["softmax"].items()))
    return lambda url: same_scores([(o["label"], o["score"]) for o in post(url + "/predict", *how, {"inputs": text})], wanted)


def spans(*how):
    wanted = golden["entities"]["simple"]

    def ask(url):
        got = post(url + "/predict", *how, {"inputs": list(wanted), "aggregation": "simple", "offsets": "chars"})
        return same_spans([(e["entity_group"], e["start"], e["end"]) for r in got["results"] for e in r["entities"]],
                          [(w[0], w[2], w[3]) for rows in wanted.values() for w in rows])
    return ask


def certificate(folder):
    file, key = os.path.join(folder, "server.pem"), os.path.join(folder, "server.key")
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", key, "-out",
                    file, "-days", "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1"], check=True, capture_output=True)
    return file, key


models = os.environ["EF_MODELS"]
CALLS = [("/embed", vectors, ST, [f"{models}/embed", "--model-type", "sentence_embedding"]), ("/predict", labels, PIPELINE, [f"{models}/labels"]),
         ("/predict, aggregation=simple", spans, PIPELINE, ["examples/bus-ner"])]
with tempfile.TemporaryDirectory() as folder:
    cert, key = certificate(folder)
    for call, work, by, model in CALLS:
        for versions, options, more in ((VERSIONS, [], []), (UNDER_TLS, ["--cert-file", cert, "--key-file", key], ["--cacert", cert])):
            with Server(*model, *options) as server:
                for name, (flags, version) in versions.items():
                    attempt("curl", f"{name}: {call}", lambda: work(flags + more, version)(server.url), by)
finish()
