#!/usr/bin/env python3
"""The server as its clients and operators meet it: one table, each line with what is wanted. Standard library only.

usage: bench/serving.py PROGRAM MODEL TEST... [--peer PACKAGE] [--int8] [--seconds 20] [--rounds 5]

  start         start to the first answer, and what is resident then
  load          short texts, mixed texts, mixed batches; against a peer where one is given; resident after it
  overhead      one client: a request less a bare echo and the same call in process
  health        /health while the model is saturated
  headofline    short queries beside documents; the longest batch
  sigterm       requests lost when the server is told to end
  kill          requests of a killed client that stay
  idle          10,000 idle connections: memory with them and after them
  map           100,000 lines (--lines) against `bench` on the same lengths; killed and resumed; on all CPUs
  bus           requests a second of examples/bus-ner (MODEL: its package), and where the time is

No TEST: all but bus. Figures are medians of --rounds runs of --seconds; a run with more than 2 % steal is made again
(twice at most). Each ends with `ok` or `BROKEN` against what is wanted. The server runs on one CPU, clients on another
(--server-cpu 0, --client-cpu 1; -1: anywhere). MODEL: folder or package. --peer: a package of the original encoderfile,
loaded in turns with ours (as root it sees a machine of one CPU, since its runtime pins threads itself). --int8: wanted
is what an int8 model must show. Needs build/bench/load and build/bench/inprocess (make those)."""
import argparse
import itertools
import json
import os
import random
import re
import select
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time

WORDS = "/usr/share/common-licenses/GPL-3"
HEALTH = b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n"
LONG = " ".join(["word"] * 600)


def percentile(values, p):
    values = sorted(values)
    return values[min(len(values) - 1, int(len(values) * p / 100))]


def show(name, seconds):
    us = [s * 1e6 for s in seconds]
    print(f"  {name:38s} n {len(us):6d}  median {percentile(us, 50):9.0f}  p99 {percentile(us, 99):9.0f}  "
          f"max {max(us):9.0f} us", flush=True)


def show_runs(name, values, unit):
    print(f"  {name}: {statistics.median(values):.4g} {unit} (runs: {', '.join(f'{v:.4g}' for v in values)})",
          flush=True)


def verdict(what, found, wanted, unit, at_least=False):
    good = found >= wanted if at_least else found <= wanted
    print(f"{'ok    ' if good else 'BROKEN'} {what}: {found:.4g} {unit}, wanted at {'least' if at_least else 'most'} "
          f"{wanted:.4g}", flush=True)


def steal():
    v = [int(x) for x in open("/proc/stat").readline().split()[1:]]
    return v[7], sum(v[:8])


def repeated(args, measure):
    """What `measure` returns, --rounds times."""
    out = []
    for _ in range(args.rounds):
        for _ in range(3):
            stolen, all_time = steal()
            value = measure()
            s, a = steal()
            part = (s - stolen) / max(a - all_time, 1)
            if part <= 0.02:
                break
        args.steal = max(args.steal, part)
        out.append(value)
    return out


def memory(pid):
    """Resident megabytes."""
    return int(re.search(r"VmRSS:\s+(\d+)", open(f"/proc/{pid}/status").read())[1]) / 1024


def one_cpu(cpu, command):
    """The command sees a machine of one CPU, whatever it asks: for runtimes that pin their threads."""
    if os.geteuid():
        return ["taskset", "-c", str(cpu)] + command
    f = tempfile.NamedTemporaryFile("w", suffix=".cpus", delete=False)
    f.write(f"{cpu}\n")
    f.close()
    hide = "".join(f"mount --bind {f.name} /sys/devices/system/cpu/{n}; " for n in ("possible", "present", "online"))
    return ["unshare", "-m", "sh", "-c", hide + f'exec taskset -c {cpu} "$@"', "sh"] + command


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as s:
        return s.getsockname()[1]


class Server:
    def __init__(self, args, *flags, peer=False):
        self.port = free_port()
        where = ["--http-hostname", "127.0.0.1", "--http-port", str(self.port), "--grpc-port", str(free_port())]
        if peer:
            command = [args.peer, "serve", *where]
            command = one_cpu(args.server_cpu, command) if args.server_cpu >= 0 else command
        else:
            command = [args.program, "serve", "--model", args.model, *where, *flags]
            command = ["taskset", "-c", str(args.server_cpu)] + command if args.server_cpu >= 0 else command
        begin = time.perf_counter()
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.first_answer = None
        while self.process.poll() is None and time.perf_counter() - begin < 60:
            try:
                with self.connect() as s:
                    if ask(s, predict(["a query of eight tokens"])) == 200:
                        self.first_answer = time.perf_counter() - begin
                        return
            except OSError:
                time.sleep(0.0002)
        sys.exit("the server did not start")

    def connect(self):
        s = socket.create_connection(("127.0.0.1", self.port))
        s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return s

    def metric(self, name):
        with self.connect() as s:
            s.sendall(b"GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            text = b"".join(iter(lambda: s.recv(1 << 16), b"")).decode()
        return float(re.search(rf"^{name}(?:{{[^}}]*}})? (\S+)", text, re.M)[1])

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait()


def predict(texts):
    body = json.dumps({"inputs": texts}).encode()
    head = f"POST /predict HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode() + body


def ask(s, request):
    """The status, or None when the connection ended before the whole reply."""
    s.sendall(request)
    data = s.recv(1 << 16)
    while b"\r\n\r\n" not in data:
        more = s.recv(1 << 16)
        if not more:
            return None
        data += more
    at = data.index(b"\r\n\r\n") + 4
    length = int(data[:at].lower().split(b"content-length:")[1].split(b"\r\n")[0])
    left = length - (len(data) - at)
    while left > 0:
        more = s.recv(1 << 16)
        if not more:
            return None
        left -= len(more)
    return int(data[9:12])


def timed(s, request, seconds, least=200):
    out = []
    end = time.perf_counter() + seconds
    while time.perf_counter() < end or len(out) < least:
        begin = time.perf_counter()
        status = ask(s, request)
        out.append(time.perf_counter() - begin)
        assert status == 200, status
    return out


def bodies(folder):
    """The texts that the original was measured with: consecutive words, 10 or 5 to 90 of them."""
    words = re.sub(r"\s+", " ", open(WORDS).read()).split()
    rng = random.Random(7)

    def text(n):
        i = rng.randrange(len(words) - n)
        return " ".join(words[i:i + n])
    for name, make in (("short", lambda: text(10)), ("mixed", lambda: text(rng.randint(5, 90)))):
        for batch, count in ((1, 256), (32, 32)):
            with open(f"{folder}/{name}_b{batch}.txt", "w") as f:
                for _ in range(count):
                    f.write(json.dumps({"inputs": [make() for _ in range(batch)]}) + "\n")


def client(args, port, file, clients, seconds, warm=5, path="/predict"):
    command = [args.load, str(port), path, file, str(clients), str(seconds), str(warm)]
    out = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    return json.loads(out.stdout)


def flood(args, server, texts, clients, seconds):
    """Clients in a process of their own, so that they do not share the interpreter with who measures."""
    with open(args.folder + "/flood.txt", "w") as f:
        f.write(json.dumps({"inputs": texts}) + "\n")
    command = [args.load, str(server.port), "/predict", args.folder + "/flood.txt", str(clients), str(seconds), "0"]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


# ---- the tests ----
def start(args):
    def once():
        server = Server(args)
        resident = memory(server.process.pid)
        server.stop()
        return server.first_answer * 1e3, resident
    times, resident = zip(*[once() for _ in range(11)])
    show_runs("start to first answer", times, "ms")
    verdict("start to first answer, median", statistics.median(times), 15, "ms")
    verdict("resident after the first answer", statistics.median(resident), 50 if args.int8 else 110, "MB")


SETS = [  # name, file, clients, texts a request, times the peer: fp32, int8
    ("short texts", "short_b1", 32, 1, 1.8, 1.9),
    ("mixed texts", "mixed_b1", 32, 1, None, None),
    ("mixed batches of 32", "mixed_b32", 8, 32, 2.7, 3.2),
]


def load(args):
    servers = {"ours": Server(args)}
    if args.peer:
        servers["peer"] = Server(args, peer=True)
    before = {k: memory(s.process.pid) for k, s in servers.items()}
    for name, file, clients, texts, *factors in SETS:
        rounds, turns = {k: [] for k in servers}, itertools.count()
        tokens, inputs = (servers["ours"].metric(f"encoderfile_{x}_total") for x in ("tokens", "inputs"))

        def turn():
            order = sorted(servers, reverse=next(turns) % 2)
            return {k: client(args, servers[k].port, f"{args.folder}/{file}.txt", clients, args.seconds) for k in order}
        for result in repeated(args, turn):
            for k in servers:
                rounds[k].append(result[k])
        tokens, inputs = (servers["ours"].metric(f"encoderfile_{x}_total") - b
                          for x, b in (("tokens", tokens), ("inputs", inputs)))
        print(f"  {name}, {clients} clients, {tokens / inputs:.1f} tokens a text")
        speed = {}
        for k, rs in rounds.items():
            speed[k] = statistics.median(r["rps"] * texts for r in rs)
            tail = statistics.median(r["p99_ms"] / r["mean_ms"] for r in rs)
            print(f"    {k}: {speed[k]:7.1f} texts/s ({min(r['rps'] for r in rs) * texts:.1f} to "
                  f"{max(r['rps'] for r in rs) * texts:.1f}), "
                  f"mean {statistics.median(r['mean_ms'] for r in rs):.1f} ms, "
                  f"p99 {tail:.2f} times the mean", flush=True)
            if k == "ours" and clients == 32:
                verdict(f"{name}: p99 over mean", tail, 1.5, "times")
        if args.peer and factors[args.int8]:
            verdict(f"{name}: against the peer", speed["ours"] / speed["peer"], factors[args.int8], "times", True)
        elif args.peer:
            print(f"    {speed['ours'] / speed['peer']:.2f} times the peer")
    after = {k: memory(s.process.pid) for k, s in servers.items()}
    for k in servers:
        print(f"  {k}: resident {before[k]:.0f} MB after the first answer, {after[k]:.0f} MB after load")
    verdict("resident after load", after["ours"], 50 if args.int8 else 110, "MB")
    for s in servers.values():
        s.process.kill()
        s.process.wait()


def echo_server(cpu):
    """POST /MICROSECONDS/BYTES computes so long and answers so many bytes: what a reply costs at least."""
    listener = socket.create_server(("127.0.0.1", 0))
    pid = os.fork()
    if pid:
        return pid, listener.getsockname()[1]
    if cpu >= 0:
        os.sched_setaffinity(0, {cpu})
    while True:
        s, _ = listener.accept()
        s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        while message := s.recv(1 << 16):
            begin = time.perf_counter()
            delay, size = (int(word) for word in message[:40].split()[1].split(b"/")[1:])
            reply = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % size + b"x" * size
            while time.perf_counter() - begin < delay * 1e-6:
                pass
            s.sendall(reply)


class InProcess:
    """The same call without a server, on the server's CPU."""
    def __init__(self, args, text):
        command = [args.inprocess, args.model, text]
        command = ["taskset", "-c", str(args.server_cpu)] + command if args.server_cpu >= 0 else command
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def median(self, calls):
        self.process.stdin.write(f"{calls}\n")
        self.process.stdin.flush()
        return float(self.process.stdout.readline()) / 1e6

    def stop(self):
        self.process.stdin.close()
        self.process.wait()


def overhead(args):
    """A request's time outside the model: from outside, minus an echo and what the same call takes in process. The
    machine's speed moves by more than what is looked for, so all take short turns, each turn has its own difference,
    and a run's figure is the median of those."""
    text, calls, file = "a short text of some tokens", 20, args.folder + "/one.txt"
    with open(file, "w") as f:
        f.write(json.dumps({"inputs": [text]}) + "\n")
    inner, server, (pid, echo) = InProcess(args, text), Server(args), echo_server(args.server_cpu)
    inside = inner.median(100)

    def one(port, path, seconds):
        return client(args, port, file, 1, seconds, path=path)["p50_ms"] / 1e3

    def run():
        nonlocal inside
        turns, end = [], time.perf_counter() + args.seconds
        while time.perf_counter() < end:
            us, seen = round(inside * 1e6), {}
            asks = {"plain": lambda: one(echo, "/0/5", 0.02),
                    "computing": lambda: one(echo, f"/{us}/5000", calls * inside) - us / 1e6,
                    "inside": lambda: inner.median(calls),
                    "post": lambda: one(server.port, "/predict", calls * inside)}
            for name in sorted(asks, reverse=len(turns) % 2):  # whoever comes next finds its memory cold
                seen[name] = asks[name]()
            inside, above = seen["inside"], seen["post"] - seen["inside"]
            turns.append((seen["plain"], seen["computing"], inside, seen["post"], above - seen["plain"],
                          above - seen["computing"]))
        return [statistics.median(column) for column in zip(*turns)]
    runs = repeated(args, run)
    names = ("a bare echo", "an echo of 5 KB after as much computing, less that", "in process", "POST /predict",
             "POST /predict, less in process and bare echo", "the same, less that other echo")
    for name, column in zip(names, zip(*runs)):
        show_runs(name, [c * 1e6 for c in column], "us")
    verdict("overhead above echo and in-process time", statistics.median(r[4] for r in runs) * 1e6, 60, "us")
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    inner.stop()
    server.stop()


def health(args):
    server = Server(args)

    def run():
        load = flood(args, server, [LONG] * 32, 8, args.seconds + 2)
        time.sleep(1)
        s, out = server.connect(), []
        end = time.perf_counter() + args.seconds
        while time.perf_counter() < end:
            out += timed(s, HEALTH, 0, 1)
            time.sleep(0.003)
        show("GET /health, saturated", out)
        load.kill()
        load.wait()
        return percentile(out, 99) * 1e3
    verdict("/health p99 while saturated", statistics.median(repeated(args, run)), 5, "ms")
    server.process.kill()
    server.process.wait()


def headofline(args):
    server = Server(args)
    s, query = server.connect(), predict(["a query of eight tokens"])

    def run():
        alone = timed(s, query, min(args.seconds, 2))
        show("short query, alone", alone)
        documents = flood(args, server, [LONG], 16, args.seconds + 1)
        time.sleep(1)
        company, end = [], time.perf_counter() + args.seconds
        while time.perf_counter() < end:
            company += timed(s, query, 0, 1)
        show("short query, beside 16 x 512 tokens", company)
        print(f"  the documents: {json.loads(documents.communicate()[0])['rps']:.1f} a second", flush=True)
        return percentile(company, 99) * 1e3, (3 * percentile(alone, 99) + 0.2) * 1e3
    found, limit = (statistics.median(column) for column in zip(*repeated(args, run)))
    verdict("short query beside documents, p99", found, limit, "ms")
    verdict("longest batch", longest_run(server) * 1e3, 250, "ms")
    server.process.kill()
    server.process.wait()


def longest_run(server):
    """The upper edge of the highest bucket that a run fell into: never less than the longest."""
    with server.connect() as s:
        s.sendall(b"GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        text = b"".join(iter(lambda: s.recv(1 << 16), b"")).decode()
    rows = re.findall(r'encoderfile_compute_seconds_bucket{le="([^"]+)"} (\d+)', text)
    return next(float(edge) for edge, n in rows if n == rows[-1][1])


def sigterm(args):
    """Requests whose bytes were all with the system before the signal: each must be answered."""
    server = Server(args)
    request = predict([LONG])
    sockets = [server.connect() for _ in range(32)]
    for s in sockets:
        s.sendall(request)
    time.sleep(0.05)
    server.process.send_signal(signal.SIGTERM)
    waiting, data = set(sockets), {s: b"" for s in sockets}
    while waiting:
        for s in select.select(list(waiting), [], [], 60)[0]:
            more = s.recv(1 << 20)
            data[s] += more
            if not more:
                waiting.discard(s)
    lost = sum(not (d.startswith(b"HTTP/1.1 200") and d.rstrip().endswith(b"}")) for d in data.values())
    verdict(f"SIGTERM: requests lost of {len(sockets)}", lost, 0, "")
    verdict("SIGTERM: exit status", server.process.wait(), 0, "")


def kill(args):
    """A client that is killed takes its requests with it."""
    server = Server(args)
    load = flood(args, server, [LONG] * 32, 16, 60)
    time.sleep(1)
    busy = server.metric("encoderfile_queue_length")
    load.kill()
    load.wait()
    begin = time.perf_counter()
    while server.metric("encoderfile_queue_length") > 0 and time.perf_counter() - begin < 30:
        time.sleep(0.01)
    left = server.metric("encoderfile_queue_length")
    print(f"  kill -9 of a client with {busy:.0f} requests waiting: {left:.0f} are left after "
          f"{time.perf_counter() - begin:.2f} s")
    verdict("requests of a killed client still waiting", left, 0, "")
    server.stop()


def idle(args):
    server = Server(args)
    pid = server.process.pid
    import resource
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    count = min(10000, most - 100)
    before = memory(pid)
    sockets = []
    for _ in range(count):
        sockets.append(server.connect())
        if len(sockets) % 100 == 0:
            ask(sockets[-1], HEALTH)
    for s in sockets:
        assert ask(s, HEALTH) == 200
    full = memory(pid)
    for s in sockets:
        s.close()
    time.sleep(2)
    print(f"  {count} idle connections: {before:.1f} MB before, {full:.1f} MB with them, {memory(pid):.1f} MB after")
    verdict(f"{count} idle connections", full - before, 40, "MB")
    verdict("of that kept afterwards", memory(pid) - before, 4, "MB")
    server.stop()


def lengths_of(args, lines):
    """Tokens of each line, by the program's own tokenizer."""
    with open(lines) as f:
        out = subprocess.run([args.program, "tokenize", "--model", args.model, "--jsonl"], stdin=f, text=True,
                             stdout=subprocess.PIPE, check=True).stdout
    return [len(json.loads(line)["ids"]) for line in out.splitlines()]


def run_map(args, lines, out, *flags, stop_after=None):
    """Seconds, and resident megabytes along the way; stop_after: killed by then."""
    begin, seen = time.perf_counter(), []
    command = [args.program, "map", "--model", args.model, lines, "-o", out, *flags]
    p = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    while p.poll() is None:
        try:
            seen.append(memory(p.pid))
        except (OSError, TypeError):
            break
        time.sleep(0.1)
        if stop_after and time.perf_counter() - begin > stop_after:
            p.kill()
    p.wait()
    return time.perf_counter() - begin, seen


def map_lines(args):
    """Many lines through `map`, on all CPUs, against `bench` on batches of the same lengths in turns."""
    os.sched_setaffinity(0, range(os.cpu_count()))
    words, rng = open(WORDS).read().split(), random.Random(3)
    lines, out, cut = (f"{args.folder}/{n}.jsonl" for n in ("lines", "out", "cut"))
    with open(lines, "w") as f:
        for _ in range(args.lines):
            n = rng.randint(3, 12)
            at = rng.randrange(len(words) - n)
            f.write(json.dumps(" ".join(words[at:at + n])) + "\n")
    tokens = lengths_of(args, lines)
    model, speeds, batch = [], [], ",".join(str(n) for n in tokens[:512])
    for turn in range(3):
        target = f"{out}.{turn}"
        said = subprocess.check_output([args.program, "bench", "--model", args.model, "--lengths", batch, "--json"])
        model.append(json.loads(said)["tokens_per_s"])
        took, seen = run_map(args, lines, target)
        speeds.append(sum(tokens) / took)
        print(f"  {args.lines} lines, {sum(tokens)} tokens: {speeds[-1]:.0f} tokens/s, the model alone "
              f"{model[-1]:.0f}; memory {seen[len(seen) // 4]:.0f} MB at a quarter, {max(seen):.0f} MB at most",
              flush=True)
        if turn and args.lines / took < 2000:
            break  # long runs: two are enough
    verdict("map against bench", statistics.median(speeds) / statistics.median(model), 0.95, "times", True)
    run_map(args, lines, cut, stop_after=took / 3)
    whole = open(f"{out}.0", "rb").read()
    there = os.path.getsize(cut)
    run_map(args, lines, cut, "--resume")
    print(f"  killed after {there} of {len(whole)} bytes and resumed")
    verdict("lines lost, doubled or changed by a kill", int(open(cut, "rb").read() != whole), 0, "")


def cpu_seconds(pid):
    """In the program, and in the system for it."""
    fields = open(f"/proc/{pid}/stat").read().rsplit(")", 1)[1].split()
    return [int(fields[i]) / os.sysconf("SC_CLK_TCK") for i in (11, 12)]


def bus(args):
    """Queries to the bus model, answered token by token and as entities."""
    with open("examples/bus-ner/heldout.jsonl") as f:
        queries = [" ".join(json.loads(line)["words"]) for line in f]
    server = Server(args)
    for name, more in (("every token", {}), ("entities (extract)", {"extract": True})):
        with open(args.folder + "/bus.txt", "w") as f:
            f.writelines(json.dumps({"inputs": [q], **more}) + "\n" for q in queries)
        sums = ("tokens_total", "jobs_total", "compute_seconds_sum", "finish_seconds_sum")

        def counted():
            return [server.metric(f"encoderfile_{m}") for m in sums] + cpu_seconds(server.process.pid)
        before = counted()
        runs = repeated(args, lambda: client(args, server.port, args.folder + "/bus.txt", 32, args.seconds))
        tokens, n, model, finish, user, system = (now - then for now, then in zip(counted(), before))
        show_runs(f"{name}, 32 clients, {tokens / n:.1f} tokens a text", [r["rps"] for r in runs], "a second")
        rest = user - model - finish
        print("  microseconds of a request: " + ", ".join(f"{what} {1e6 * t / n:.0f}" for what, t in (
            ("model", model), ("reply", finish), ("tokens, HTTP and the rest", rest), ("system", system))), flush=True)
    server.stop()


def main():
    tests = {"start": start, "load": load, "overhead": overhead, "health": health, "headofline": headofline,
             "sigterm": sigterm, "kill": kill, "idle": idle, "map": map_lines, "bus": bus}
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("model")
    parser.add_argument("test", nargs="*", default=[t for t in tests if t != "bus"])
    parser.add_argument("--peer")
    parser.add_argument("--int8", action="store_true")
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--lines", type=int, default=100000)
    parser.add_argument("--server-cpu", type=int, default=0)
    parser.add_argument("--client-cpu", type=int, default=1)
    parser.add_argument("--load", default="build/bench/load")
    parser.add_argument("--inprocess", default="build/bench/inprocess")
    args = parser.parse_intermixed_args()
    if args.client_cpu >= 0:
        os.sched_setaffinity(0, {args.client_cpu})
    with tempfile.TemporaryDirectory() as args.folder:
        bodies(args.folder)
        for name in args.test:
            print(f"{name}:", flush=True)
            args.steal, before = 0, os.getloadavg()[0]
            tests[name](args)
            print(f"  load {before:.1f} to {os.getloadavg()[0]:.1f}, steal at most {args.steal:.1%}", flush=True)


if __name__ == "__main__":
    main()
