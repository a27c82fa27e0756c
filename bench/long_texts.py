#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How long a small request waits beside clients that tokenize texts of 1 MB.
usage: bench/long_texts.py PROGRAM MODEL_FOLDER [SECONDS [CLIENTS]]
Starts the server on a free port; prints milliseconds of POST /predict with one short text: alone, and beside CLIENTS
(4) that send POST /tokenize with 1 MB one after the other."""
import http.client
import json
import re
import subprocess
import sys
import threading
import time

TEXT = "the quick brown fox jumps over the lazy dog, then sleeps for 20 hours. "


def ask(connection, path, body):
    connection.request("POST", path, body, {"Content-Type": "application/json"})
    reply = connection.getresponse()
    reply.read()
    return reply.status


def small_requests(port, seconds):
    connection = http.client.HTTPConnection("127.0.0.1", port)
    body = json.dumps({"inputs": ["one short text"]})
    waits, end = [], time.time() + seconds
    while time.time() < end:
        begin = time.time()
        assert ask(connection, "/predict", body) == 200
        waits.append((time.time() - begin) * 1e3)
        time.sleep(0.02)
    return sorted(waits)


def show(name, waits):
    at = lambda q: waits[min(int(len(waits) * q), len(waits) - 1)]
    print(f"{name}: {len(waits)} requests, median {at(0.5):.1f} ms, p99 {at(0.99):.1f} ms, most {waits[-1]:.1f} ms")


def main():
    program, model = sys.argv[1:3]
    seconds = float(sys.argv[3]) if len(sys.argv) > 3 else 10
    clients = int(sys.argv[4]) if len(sys.argv) > 4 else 4
    server = subprocess.Popen([program, "serve", "--model", model, "--http-hostname", "127.0.0.1", "--http-port", "0",
                               "--grpc-port", "0"], stderr=subprocess.PIPE, text=True)
    port = None
    while not port:
        found = re.search(r"http://127\.0\.0\.1:(\d+)", server.stderr.readline())
        port = found and int(found.group(1))
    threading.Thread(target=server.stderr.read, daemon=True).start()
    show("alone", small_requests(port, seconds / 2))
    body, stop, done = json.dumps({"inputs": TEXT * (1000000 // len(TEXT))}), threading.Event(), []

    def stream():
        connection = http.client.HTTPConnection("127.0.0.1", port)
        while not stop.is_set():
            done.append(ask(connection, "/tokenize", body))

    threads = [threading.Thread(target=stream, daemon=True) for _ in range(clients)]
    for thread in threads:
        thread.start()
    time.sleep(0.5)
    show(f"beside {clients} clients with 1 MB", small_requests(port, seconds))
    stop.set()
    for thread in threads:
        thread.join(60)
    print(f"texts of 1 MB: {len(done)}, of them answered {done.count(200)}")
    server.terminate()
    server.wait()


main()
