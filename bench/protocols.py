#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""One model over every protocol, in turns: what HTTP/2, gRPC and TLS cost beside HTTP/1.1, and a reader that is slow.

usage: bench/protocols.py PROGRAM MODEL [--seconds N] [--rounds N] [TEST...]
tests: short mixed batches handshakes slow (default: all), a run of each about N seconds long. MODEL is a package that
embeds sentences. The server runs on CPU 0, h2load (of nghttp2-client) and openssl on CPU 1. Of each protocol the
median of the rounds, and its part of HTTP/1.1's."""
import argparse
import json
import os
import re
import socket
import statistics
import struct
import subprocess
import sys
import tempfile
import time

WORDS = open("/usr/share/common-licenses/GPL-3").read().split()
LENGTHS = [4, 6, 8, 10, 12, 14, 16, 20, 24, 28, 32, 40, 48, 64, 80, 96]  # words of the texts of a mixed batch
GRPC = "encoderfile.sentence_embedding.SentenceEmbeddingInference/Predict"
JSON_HEADER = ["-H", "content-type:application/json"]
GRPC_HEADERS = ["-H", "content-type:application/grpc", "-H", "te:trailers"]
CLIENTS = {"short": 32, "mixed": 32, "batches": 8}
STREAMS = {"short": 100, "mixed": 100, "batches": 8}  # of one connection; a batch takes a third of a second


def text(n, at=0):
    return " ".join(WORDS[at:at + n])


TEXTS = {"short": [text(10)], "mixed": [text(42)], "batches": [text(LENGTHS[i % 16], 37 * i) for i in range(32)]}


def varint(n):
    return bytes([n]) if n < 128 else bytes([n & 127 | 128]) + varint(n >> 7)


def message(texts):
    """PredictRequest: field 1, the inputs; before it gRPC's flag and length."""
    body = b"".join(b"\x0a" + varint(len(t.encode())) + t.encode() for t in texts)
    return b"\0" + struct.pack(">I", len(body)) + body


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as s:
        return s.getsockname()[1]


class Server:
    def __init__(self, program, model, *flags):
        self.port = free_port()
        self.process = subprocess.Popen(
            ["taskset", "-c", "0", program, "serve", "--model", model, "--http-hostname", "127.0.0.1", "--http-port",
             str(self.port), "--grpc-port", str(free_port()), *flags], stderr=subprocess.DEVNULL)
        for _ in range(200):
            try:
                socket.create_connection(("127.0.0.1", self.port)).close()
                return
            except OSError:
                time.sleep(0.02)
        sys.exit("protocols.py: the server did not start")

    def memory(self):
        return int(re.search(r"VmRSS:\s+(\d+)", open(f"/proc/{self.process.pid}/status").read())[1]) / 1024

    def stop(self):
        self.process.terminate()
        self.process.wait()


def rows(plain, secure, folder, test):
    """(name, h2load's arguments); the first is what the others are compared with."""
    streams, many = str(STREAMS[test]), f"one connection, {STREAMS[test]} streams"
    c, json_body, grpc_body = str(CLIENTS[test]), f"{folder}/{test}.json", f"{folder}/{test}.grpc"
    as_json, as_grpc = [*JSON_HEADER, "-d", json_body], [*GRPC_HEADERS, "-d", grpc_body]
    url, tls = f"http://127.0.0.1:{plain.port}/", f"https://127.0.0.1:{secure.port}/"
    return [
        ("HTTP/1.1", ["--h1", "-c", c, *as_json, url + "predict"]),
        ("HTTP/2", ["-c", c, "-m", "1", *as_json, url + "predict"]),
        (f"HTTP/2, {many}", ["-c", "1", "-m", streams, *as_json, url + "predict"]),
        ("gRPC", ["-c", c, "-m", "1", *as_grpc, url + GRPC]),
        (f"gRPC, {many}", ["-c", "1", "-m", streams, *as_grpc, url + GRPC]),
        ("TLS, HTTP/1.1", ["--h1", "-c", c, *as_json, tls + "predict"]),
        ("TLS, HTTP/2", ["-c", c, "-m", "1", *as_json, tls + "predict"]),
    ]


def h2load(arguments, count):
    """Requests a second. One that was not answered by 200 ends the run, and so do replies too small for a vector:
    gRPC's errors are 200s too."""
    out = subprocess.run(["taskset", "-c", "1", "h2load", "-n", str(count), *arguments], capture_output=True,
                         text=True, check=True).stdout
    codes = re.search(r"status codes: (\d+) 2xx, (\d+) 3xx, (\d+) 4xx, (\d+) 5xx", out)
    data = int(re.search(r"headers .*, [\d.]+[KMG]?B \((\d+)\) data", out)[1])
    if not codes or int(codes[1]) != count or data < 1000 * count:
        sys.exit(f"protocols.py: {' '.join(arguments)}: {codes and codes[0]}, {data} bytes")
    return float(re.search(r"([\d.]+) req/s", out)[1])


def stolen():
    v = [int(x) for x in open("/proc/stat").readline().split()[1:]]
    return v[7], sum(v[:8])


def load(args, plain, secure, folder, test):
    texts = TEXTS[test]
    open(f"{folder}/{test}.json", "w").write(json.dumps({"inputs": texts}))
    open(f"{folder}/{test}.grpc", "wb").write(message(texts))
    each = rows(plain, secure, folder, test)
    count = max(4 * CLIENTS[test], int(args.seconds * h2load(each[0][1], 4 * CLIENTS[test])))
    found, before = {}, stolen()
    for _ in range(args.rounds):
        for name, arguments in each:
            found.setdefault(name, []).append(h2load(arguments, count))
    after = stolen()
    share = 100 * (after[0] - before[0]) / max(1, after[1] - before[1])
    print(f"{test}: {len(texts)} text(s) of {sum(len(t.split()) for t in texts)} words, {CLIENTS[test]} clients, median "
          f"of {args.rounds} x {count} requests, load {os.getloadavg()[0]:.1f}, steal {share:.2f} %")
    base = statistics.median(found["HTTP/1.1"])
    for name, values in found.items():
        rate = statistics.median(values)
        mark = "ok   " if rate >= 0.9 * base else "SHORT"
        print(f"{mark} {name:38s} {rate:8.1f} requests/s, {rate / base:.3f} of HTTP/1.1's, wanted 0.9", flush=True)


def handshakes(args, secure):
    out = subprocess.run(["taskset", "-c", "1", "openssl", "s_time", "-connect", f"127.0.0.1:{secure.port}", "-new",
                          "-time", str(args.seconds)], capture_output=True, text=True).stdout
    count, seconds = re.search(r"(\d+) connections in (\d+) real seconds", out).groups()
    print(f"      TLS 1.3 handshakes, all new: {int(count) / int(seconds):.0f} a second", flush=True)


def slow(args):
    """A reply of more than 50 MB at 4 MB a second; the memory it holds may not grow while it goes out."""
    server = Server(args.program, args.model)
    with tempfile.NamedTemporaryFile("w", suffix=".json") as f:
        json.dump({"inputs": [text(8, i) for i in range(1200)]}, f)
        f.flush()
        command = ["curl", "-s", "--http2-prior-knowledge", "-H", "content-type: application/json", "-d", f"@{f.name}",
                   "-o", "/dev/null", "-w", "%{size_download}", f"http://127.0.0.1:{server.port}"]
        path = "/embed_all"
        subprocess.run([*command[:-1], command[-1] + path], check=True, stdout=subprocess.DEVNULL)
        first = server.memory()
        run = subprocess.Popen([*command[:1], "--limit-rate", "4M", *command[1:-1], command[-1] + path],
                               stdout=subprocess.PIPE, text=True)
        seen = []
        while run.poll() is None:
            seen.append(server.memory())
            time.sleep(0.5)
        size = int(run.stdout.read()) / 1e6
    server.stop()
    half = seen[len(seen) // 2:]
    mark = "ok   " if size >= 50 and max(half) <= max(seen[:len(seen) // 2]) + 1 else "SHORT"
    print(f"{mark} a slow reader of {size:.0f} MB: {first:.0f} MB resident after a quick one, at most {max(seen):.0f} while "
          f"this one reads, {max(half):.0f} in its second half", flush=True)


def main():
    p = argparse.ArgumentParser(usage=__doc__)
    p.add_argument("program"), p.add_argument("model"), p.add_argument("tests", nargs="*")
    p.add_argument("--seconds", type=int, default=20), p.add_argument("--rounds", type=int, default=5)
    args = p.parse_intermixed_args()
    tests = args.tests or ["short", "mixed", "batches", "handshakes", "slow"]
    with tempfile.TemporaryDirectory() as folder:
        key, chain = f"{folder}/key.pem", f"{folder}/chain.pem"
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                        "-keyout", key, "-out", chain, "-days", "2", "-subj", "/CN=localhost"], check=True,
                       stderr=subprocess.DEVNULL)
        plain = Server(args.program, args.model)
        secure = Server(args.program, args.model, "--cert-file", chain, "--key-file", key)
        for test in tests:
            if test in TEXTS:
                load(args, plain, secure, folder, test)
        if "handshakes" in tests:
            handshakes(args, secure)
        plain.stop(), secure.stop()
        if "slow" in tests:
            slow(args)


if __name__ == "__main__":
    main()
