# SPDX-License-Identifier: Apache-2.0
# collector_calls.py - a collector of OpenTelemetry traces, as small as can be: what the server sends it, and what the server
# does when it is away.
import json
import os
import signal
import socket
import ssl
import subprocess
import tempfile
import threading
import time
import urllib.request
from http.server import BaseHTTPRequestHandler, HTTPServer

from reference import attempt, finish

batches = []


class Collector(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        batches.append((self.path, self.headers["content-type"], json.loads(body)))
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_):
        pass


def serve(url, roots=""):
    model = os.path.join(os.environ["EF_MODELS"], "embed")
    server = subprocess.Popen([os.environ["EF_PROGRAM"], "serve", "--model", model, "--model-type", "sentence_embedding", "--http-port",
                               "0", "--http-hostname", "127.0.0.1", "--enable-otel", "--otel-exporter-url", url],
                              stderr=subprocess.PIPE, text=True, env={**os.environ, "SSL_CERT_FILE": roots})
    for line in server.stderr:
        if "http://127.0.0.1:" in line and "serving" in line:
            return server, "http://127.0.0.1:" + line.rsplit(":", 1)[1].strip()
    raise RuntimeError("no server")


def embed(base, **headers):
    request = urllib.request.Request(base + "/embed", b'{"inputs":["a bus","rome"]}', {"content-type": "application/json", **headers})
    return urllib.request.urlopen(request, timeout=20).status


def end(server):
    server.send_signal(signal.SIGTERM)
    return server.wait(20)


def spans_of(batches):
    return [s for _, _, b in batches for s in b["resourceSpans"][0]["scopeSpans"][0]["spans"]]


TRACE, PARENT = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"


def spans():
    collector = HTTPServer(("127.0.0.1", 0), Collector)
    threading.Thread(target=collector.serve_forever, daemon=True).start()
    server, base = serve(f"http://127.0.0.1:{collector.server_port}")
    embed(base, traceparent=f"00-{TRACE}-{PARENT}-01")
    embed(base, traceparent=f"00-{TRACE}-{PARENT}-00")  # not sampled
    embed(base)
    time.sleep(1.5)
    urllib.request.urlopen(base + "/health", timeout=20)  # goes with the rest, at the end
    code = end(server)
    collector.shutdown()
    path, kind, first = batches[0]
    resource = {a["key"]: a["value"]["stringValue"] for a in first["resourceSpans"][0]["resource"]["attributes"]}
    all_spans = spans_of(batches)
    roots = [s for s in all_spans if s["kind"] == 2]
    mine = [s for s in all_spans if s["traceId"] == TRACE]
    root = [s for s in mine if s["kind"] == 2][0]
    stages = {s["name"]: s for s in mine if s.get("parentSpanId") == root["spanId"]}
    facts = {a["key"]: list(a["value"].values())[0] for a in root["attributes"]}
    times = all(int(root["startTimeUnixNano"]) <= int(s["startTimeUnixNano"]) + 1000 and
                int(s["startTimeUnixNano"]) <= int(s["endTimeUnixNano"]) <= int(root["endTimeUnixNano"]) + 1000 for s in stages.values())
    near = abs(int(root["startTimeUnixNano"]) / 1e9 - time.time()) < 60
    right = (path == "/v1/traces" and kind == "application/json" and resource["service.name"] == "encoderfile" and code == 0 and
             sorted(s["name"] for s in roots) == ["GET /health", "POST /embed", "POST /embed"] and root["parentSpanId"] == PARENT and
             sorted(stages) == ["compute", "queue", "tokenize"] and times and near and len(mine) == 4 and
             facts["http.response.status_code"] == "200" and facts["encoderfile.inputs"] == "2" and
             len({s["spanId"] for s in all_spans}) == len(all_spans))
    return right, f"{len(all_spans)} spans in {len(batches)} batches"


def away():
    """Nobody listens, or somebody who never answers: requests take what they take."""
    silent = socket.create_server(("127.0.0.1", 0))
    for url in ("http://127.0.0.1:9", f"http://127.0.0.1:{silent.getsockname()[1]}"):
        server, base = serve(url)
        begin = time.monotonic()
        good = all(embed(base) == 200 for _ in range(100))
        seconds = time.monotonic() - begin
        code = end(server)
        if not good or code != 0 or seconds > 10:
            return False, f"{seconds:.1f} s, exit status {code}"
    return True, f"100 requests in {seconds:.1f} s"


def certificate(folder, name, address):
    """Signed by itself, for an address: its file, with the key in it."""
    file, key = (os.path.join(folder, f"{name}.{end}") for end in ("pem", "key"))
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", key,
                    "-out", file, "-days", "2", "-subj", f"/CN={name}", "-addext", f"subjectAltName={address}"],
                   check=True, capture_output=True)
    return file, key


def under_tls():
    """Spans arrive where the certificate is trusted and names the address; elsewhere they do not, and the log says why."""
    notes = []
    with tempfile.TemporaryDirectory() as folder:
        right, other = certificate(folder, "right", "IP:127.0.0.1"), certificate(folder, "other", "DNS:example.org")
        for (file, key), roots, wanted in ((right, right[0], ""), (right, other[0], "self-signed certificate"),
                                           (other, other[0], "IP address mismatch")):
            collector = HTTPServer(("127.0.0.1", 0), Collector)
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(file, key)
            collector.socket = context.wrap_socket(collector.socket, server_side=True)
            threading.Thread(target=collector.serve_forever, daemon=True).start()
            batches.clear()
            server, base = serve(f"https://127.0.0.1:{collector.server_port}", roots)
            good = embed(base) == 200
            code = end(server)
            said = server.stderr.read()
            collector.shutdown()
            roots_seen = len([s for s in spans_of(batches) if s["kind"] == 2])
            if not good or code != 0 or roots_seen != (0 if wanted else 1) or wanted not in said:
                return False, f"{roots_seen} spans, exit status {code}: {said[-300:]}"
            notes.append(wanted or "trusted")
    return True, ", ".join(notes)


attempt("OTLP collector", "spans of requests, traceparent", spans)
attempt("OTLP collector", "away, or silent", away)
attempt("OTLP collector", "https://", under_tls)
finish()
