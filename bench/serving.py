#!/usr/bin/env python3
"""How the server behaves, beside how fast it computes: what a request costs above a bare echo, whether /health and
short queries get through while it is busy, whether SIGTERM loses a request. Standard library only.

usage: bench/serving.py PROGRAM MODEL [--seconds N] [--server-cpu N --client-cpu N] [TEST...]
tests: overhead health headofline sigterm (default: all). MODEL: folder or package, embeddings or any text task."""
import argparse
import json
import os
import select
import signal
import socket
import subprocess
import sys
import threading
import time


def percentile(values, p):
    values = sorted(values)
    return values[min(len(values) - 1, int(len(values) * p / 100))]


def show(name, seconds):
    us = [s * 1e6 for s in seconds]
    print(f"{name:34s} n {len(us):6d}  median {percentile(us, 50):9.0f}  p99 {percentile(us, 99):9.0f}  "
          f"max {max(us):9.0f} us")


class Server:
    def __init__(self, args, *flags):
        command = [args.program, "serve", "--model", args.model, "--http-hostname", "127.0.0.1", "--http-port", "0"]
        if args.server_cpu is not None:
            command = ["taskset", "-c", str(args.server_cpu)] + command
        self.process = subprocess.Popen(command + list(flags), stderr=subprocess.PIPE, text=True)
        while True:
            line = self.process.stderr.readline()
            if "http://" in line:
                break
            if not line:
                sys.exit("the server did not start")
        self.port = int(line.rsplit(":", 1)[1])
        self.log = []
        threading.Thread(target=lambda: self.log.extend(self.process.stderr), daemon=True).start()

    def lines(self):
        return [json.loads(line) for line in list(self.log) if line.startswith("{")]

    def connect(self):
        s = socket.create_connection(("127.0.0.1", self.port))
        s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return s

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait()


def predict(texts):
    body = json.dumps({"inputs": texts}).encode()
    head = f"POST /predict HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode() + body


HEALTH = b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n"


def ask(s, request):
    """The status, or None when the connection ended before the whole reply."""
    s.sendall(request)
    data = b""
    while b"\r\n\r\n" not in data:
        more = s.recv(1 << 16)
        if not more:
            return None
        data += more
    head, _, body = data.partition(b"\r\n\r\n")
    length = int(head.lower().split(b"content-length:")[1].split(b"\r\n")[0])
    while len(body) < length:
        more = s.recv(1 << 16)
        if not more:
            return None
        body += more
    return int(head.split()[1])


def timed(s, request, seconds, least=200):
    out = []
    end = time.perf_counter() + seconds
    while time.perf_counter() < end or len(out) < least:
        begin = time.perf_counter()
        status = ask(s, request)
        out.append(time.perf_counter() - begin)
        assert status == 200, status
    return out


def echo_server(cpu):
    listener = socket.create_server(("127.0.0.1", 0))
    port = listener.getsockname()[1]
    pid = os.fork()
    if pid:
        listener.close()
        return pid, port
    if cpu is not None:
        os.sched_setaffinity(0, {cpu})
    s, _ = listener.accept()
    s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    reply = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n\"OK!\""
    while s.recv(1 << 16):
        s.sendall(reply)
    os._exit(0)


def overhead(args):
    """A request's time outside the model: from outside, minus what the server itself says the model took."""
    server = Server(args, "--access-log", "json")
    pid, port = echo_server(args.server_cpu)
    echo = socket.create_connection(("127.0.0.1", port))
    echo.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    s = server.connect()
    text = predict(["a short text of some tokens"])
    timed(s, text, 0.3)

    echoes, healths, texts = [], [], []
    for _ in range(max(2, int(args.seconds))):
        echoes += timed(echo, HEALTH, 0.3)
        healths += timed(s, HEALTH, 0.3)
        texts += timed(s, text, 0.3)
    show("echo", echoes)
    show("GET /health", healths)
    show("POST /predict", texts)
    time.sleep(0.2)
    model = [(r["queue_ms"] + r["model_ms"]) / 1e3 for r in server.lines() if r["path"] == "/predict"]
    show("of that: queue and model", model)
    rest = percentile(texts, 50) - percentile(echoes, 50) - percentile(model, 50)
    print(f"overhead above echo and model: {rest * 1e6:.0f} us by medians")
    echo.close()
    os.waitpid(pid, 0)
    server.stop()


def flood(server, request, stop, count, seconds=None):
    def one():
        s = server.connect()
        while not stop.is_set():
            begin = time.perf_counter()
            if ask(s, request) != 200:
                break
            if seconds is not None:
                seconds.append(time.perf_counter() - begin)

    threads = [threading.Thread(target=one, daemon=True) for _ in range(count)]
    for t in threads:
        t.start()
    return threads


LONG = " ".join(["word"] * 600)


def health(args):
    server = Server(args)
    stop, batches = threading.Event(), []
    flood(server, predict([LONG] * 32), stop, 8, batches)
    time.sleep(1)
    s = server.connect()
    out = []
    end = time.perf_counter() + args.seconds
    while time.perf_counter() < end:
        out += timed(s, HEALTH, 0, 1)
        time.sleep(0.005)
    show("GET /health, saturated", out)
    stop.set()
    server.process.kill()


def headofline(args):
    server = Server(args)
    s = server.connect()
    query = predict(["a query of eight tokens"])
    alone = timed(s, query, min(args.seconds, 2))
    show("short query, alone", alone)
    stop, documents = threading.Event(), []
    flood(server, predict([LONG]), stop, 16, documents)
    time.sleep(1)
    company = []
    end = time.perf_counter() + args.seconds
    while time.perf_counter() < end or len(company) < 100:
        company += timed(s, query, 0, 1)
    show("short query, beside 16 x 512 tokens", company)
    show("the documents", documents)
    limit = 3 * percentile(alone, 99) + 0.2
    print(f"p99 {percentile(company, 99) * 1e3:.0f} ms, wanted at most {limit * 1e3:.0f} ms")
    stop.set()
    server.process.kill()


def sigterm(args):
    """Requests whose bytes were all with the system before the signal: each must be answered."""
    server = Server(args)
    request = predict([LONG])
    sockets = [server.connect() for _ in range(32)]
    for s in sockets:
        s.sendall(request)
    time.sleep(0.05)
    server.process.send_signal(signal.SIGTERM)
    answered, waiting, data = 0, set(sockets), {s: b"" for s in sockets}
    while waiting:
        for s in select.select(list(waiting), [], [], 60)[0]:
            more = s.recv(1 << 20)
            data[s] += more
            if not more:
                waiting.discard(s)
    answered = sum(d.startswith(b"HTTP/1.1 200") and d.rstrip().endswith(b"}") for d in data.values())
    print(f"SIGTERM: {answered} of {len(sockets)} requests answered, exit status {server.process.wait()}")


def main():
    tests = {"overhead": overhead, "health": health, "headofline": headofline, "sigterm": sigterm}
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("model")
    parser.add_argument("test", nargs="*", default=list(tests))
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--server-cpu", type=int)
    parser.add_argument("--client-cpu", type=int)
    args = parser.parse_args()
    if args.client_cpu is not None:
        os.sched_setaffinity(0, {args.client_cpu})
    for name in args.test:
        tests[name](args)


main()
