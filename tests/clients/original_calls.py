# SPDX-License-Identifier: Apache-2.0
# original_calls.py - the black-box tests of the Rust encoderfile, replayed through its own names: a package is
# built from its fixtures, served, and asked by curl's, gRPC's and MCP's clients. docs/original.md says which case is where.
# EF_ORIGINAL=FOLDER, with the Rust encoderfile's `encoderfile` and `encoderfile-runtime` in it, runs the same cases against that
# program too, compares both programs' answers, and reads each one's packages with the other.
import importlib
import json
import os
import pathlib
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

import anyio
import grpc
from grpc_tools import protoc
from mcp import Client

import reference

FIXTURES = pathlib.Path("../shared/fixtures/dummy").resolve()
TASKS = ["embedding", "sequence_classification", "token_classification", "sentence_embedding"]
OTHER = dict(zip(TASKS, ["token_classification", "sentence_embedding", "embedding", "sequence_classification"]))
TEXTS = ["Test sentence 1", "Another one, which is longer."]
SAMPLE = "Hugging Face is a technology company based in New York and Paris."
EVERY_LIBRARY = """
  lua_libs: [coroutine, table, io, os, package, string, utf8, math]
  transform: |
    p = package.path
    function MyCoroutine()
        return Tensor({1, 2, 3})
    end
    function Postprocess(arr)
        local mycor = coroutine.create(MyCoroutine)
        local _, tensor = coroutine.resume(mycor)
        io.stderr:write("")
        local fp_values = {}
        for point in utf8.codes("hello") do
            table.insert(fp_values, point)
        end
        local t = os.time() + math.floor(1.5) + string.len("a")
        return arr:softmax(3)
    end
"""


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as s:
        return s.getsockname()[1]


def local():
    """[::1] as the Rust encoderfile's test has it, where this machine has it."""
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
        return "[::1]"
    except OSError:
        return "127.0.0.1"


class Program:
    """Ours, or the Rust encoderfile's: the same command lines."""

    def __init__(self, name, tool, base=None):
        self.name, self.tool, self.base = name, tool, base
        self.refusal = "Model must return" if base else "Invalid model type"

    def build(self, folder, task, more="", model=None):
        """The package's path; the YAML's own is relative, and --directory says to what."""
        (folder / "there").mkdir(exist_ok=True)
        config = folder / f"{task}.yml"
        config.write_text(f"encoderfile:\n  name: test-{task}\n  version: \"1.0\"\n  path: {FIXTURES / (model or task)}\n  model_type: {task}\n"
                          f"  output_path: ./{task}.encoderfile{more}\n")
        extra = ["--base-binary-path", self.base, "--no-download"] if self.base else []
        done = subprocess.run([self.tool, "build", "-f", config, "--directory", folder / "there", *extra], capture_output=True,
                              text=True, cwd=folder)
        self.said = done.stderr + done.stdout
        package = folder / "there" / f"{task}.encoderfile"
        if done.returncode == 0 and self.base:
            package.chmod(0o755)
        return package if done.returncode == 0 else None

    def inspect(self, package):
        return json.loads(subprocess.run([self.tool, "inspect", package], capture_output=True, text=True, check=True).stdout)

    def check(self, case, right, note=""):
        reference.check(self.name, case, right, note or ("as wanted" if right else "NOT as wanted"))

    def attempt(self, case, work):
        try:
            right, note = work()
        except Exception as error:
            right, note = False, f"{type(error).__name__}: {str(error)[:200]}"
        self.check(case, right, note)


class Serving:
    def __init__(self, package, *command):
        self.process = subprocess.Popen([package, *command], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait(20)


def ask(url, body=None):
    """Status and JSON, or text."""
    data = None if body is None else json.dumps(body).encode()
    try:
        reply = urllib.request.urlopen(urllib.request.Request(url, data, {"Content-Type": "application/json"}), timeout=60)
        status, text = reply.status, reply.read()
    except urllib.error.HTTPError as e:
        status, text = e.code, e.read()
    try:
        return status, json.loads(text)
    except ValueError:
        return status, text.decode(errors="replace")


def wait_for(url):
    for _ in range(600):
        try:
            if ask(url)[0] == 200:
                return True
        except OSError:
            time.sleep(0.05)
    return False


# ---- gRPC's stubs, from docs/proto: the Rust encoderfile's names and numbers ----
def make_stubs(folder):
    files = [str(p.relative_to("docs/proto")) for p in pathlib.Path("docs/proto/encoderfile").rglob("*.proto")]
    assert protoc.main(["protoc", "-Idocs/proto", f"--python_out={folder}", f"--grpc_python_out={folder}", *files]) == 0
    sys.path.insert(0, str(folder))


def check_grpc(task, address):
    """Case 3: labels, as many results as inputs, no metadata, INVALID_ARGUMENT."""
    camel = "".join(w.capitalize() for w in task.split("_"))
    pb = importlib.import_module(f"encoderfile.{task}.{task}_pb2")
    stubs = importlib.import_module(f"encoderfile.{task}.{task}_pb2_grpc")
    meta = importlib.import_module("encoderfile.metadata.metadata_pb2")
    with grpc.insecure_channel(address) as channel:
        stub = getattr(stubs, camel + "InferenceStub")(channel)
        labels = stub.GetModelMetadata(meta.GetModelMetadataRequest()).id2label
        reply = stub.Predict(getattr(pb, camel + "Request")(inputs=TEXTS))
        try:
            stub.Predict(getattr(pb, camel + "Request")(inputs=[]))
            code = grpc.StatusCode.OK
        except grpc.RpcError as e:
            code = e.code()
    right = (bool(labels) == ("classification" in task) and len(reply.results) == len(TEXTS) and not reply.metadata and
             code == grpc.StatusCode.INVALID_ARGUMENT)
    return right, f"{len(labels)} labels, {len(reply.results)} results, {code.name}"


# ---- MCP ----
async def talk(url):
    async with Client(url) as client:
        names = sorted(t.name for t in (await client.list_tools()).tools)
        return names, await client.call_tool("run_encoder", {"inputs": TEXTS})


def check_mcp(program, task, url):
    """Case 4. The Rust encoderfile has one tool; ours has a second, named after the task."""
    names, result = anyio.run(talk, url)
    wanted = ["run_encoder"] if program.base else sorted(["run_encoder", task])
    return names == wanted and len(result.structured_content["results"]) == len(TEXTS), ", ".join(names)


# ---- the cases ----
def numbers(tree):
    """A reply as (numbers, the rest): texts and labels must be equal, numbers near."""
    if isinstance(tree, dict):
        parts = [(k, numbers(v)) for k, v in sorted(tree.items())]
        return [n for _, (ns, _) in parts for n in ns], {k: rest for k, (_, rest) in parts}
    if isinstance(tree, list):
        parts = [numbers(v) for v in tree]
        return [n for ns, _ in parts for n in ns], [rest for _, rest in parts]
    return ([tree], None) if isinstance(tree, float) else ([], tree)


def serve_and_ask(program, task, package):
    """Cases 1 to 3 of one task; the reply to /predict."""
    http, rpc = free_port(), free_port()
    with Serving(package, "serve", "--http-port", str(http), "--grpc-port", str(rpc)):
        base = f"http://127.0.0.1:{http}"
        program.check(f"{task}: /health is polled", wait_for(base + "/health"))
        status, reply = ask(base + "/predict", {"inputs": TEXTS})
        program.check(f"{task}: /openapi.json, /model", ask(base + "/openapi.json")[0] == ask(base + "/model")[0] == 200)
        program.check(f"{task}: /predict of two", status == 200 and len(reply["results"]) == 2)
        status, said = ask(base + "/predict", {"inputs": []})
        program.check(f"{task}: /predict of none", status == 422 and "Cannot tokenize empty string" in str(said), f"{status}")
        if task == "token_classification":
            program.check("every Lua library: /predict", ask(base + "/predict", {"inputs": [SAMPLE]})[0] == 200)
        program.attempt(f"{task}: gRPC", lambda: check_grpc(task, f"{local()}:{rpc}"))
    port = free_port()
    with Serving(package, "mcp", "--port", str(port)):
        for _ in range(600):
            try:
                socket.create_connection(("127.0.0.1", port)).close()
                break
            except OSError:
                time.sleep(0.05)
        program.attempt(f"{task}: MCP", lambda: check_mcp(program, task, f"http://localhost:{port}/mcp"))
    return reply


def play(program, folder):
    """Cases 1 to 6; packages and replies by task."""
    packages, replies = {}, {}
    for task in TASKS:
        more = EVERY_LIBRARY if task == "token_classification" else ""
        packages[task] = program.build(folder, task, more)
        program.check(f"{task}: build", packages[task] and os.access(packages[task], os.X_OK), "" if packages[task] else program.said[-200:])
        facts = program.inspect(packages[task])
        program.check(f"{task}: inspect", facts["encoderfile_config"]["name"] == f"test-{task}")
        replies[task] = serve_and_ask(program, task, packages[task])
    (folder / "wrong").mkdir()
    for task in TASKS:
        wrong = program.build(folder / "wrong", OTHER[task], model=task)
        program.check(f"a model of {task} is no {OTHER[task]}", wrong is None and program.refusal in program.said)
    missing = subprocess.run([program.tool, "build", "-f", "encoderfile_does_not_exist.yml"], capture_output=True, text=True)
    program.check("a YAML that is not there", missing.returncode != 0 and "Encoderfile config not found" in missing.stderr)
    return packages, replies


def compare(ours, theirs, mine, other):
    """Case 9, and more: the same answers, and each reads the other's packages."""
    for task in TASKS:
        a, b = numbers(mine[1][task]["results"]), numbers(other[1][task]["results"])
        scores = task == "sequence_classification"  # ours are probabilities, theirs the logits again
        pairs = list(zip(a[0], b[0]))
        if scores:
            a, b = ([x for r in m[1][task]["results"] for x in r["logits"]] for m in (mine, other))
            pairs = list(zip(a, b))
        worst = max(abs(x - y) for x, y in pairs)
        same = len(pairs) > 0 and (scores or a[1] == b[1])
        reference.check("both", f"{task}: /predict", same and worst < 1e-4, f"differ by {worst:.1e} at most")
        reference.check("both", f"{task}: the Rust encoderfile's inspect of our package",
                        theirs.inspect(mine[0][task]) == theirs.inspect(other[0][task]))
        http = free_port()
        with Serving(ours.tool, "serve", "--model", other[0][task], "--http-port", str(http), "--disable-grpc"):
            wait_for(f"http://127.0.0.1:{http}/health")
            again = ask(f"http://127.0.0.1:{http}/predict", {"inputs": TEXTS})[1]
        reference.check("both", f"{task}: the Rust encoderfile's package, served by us", again == mine[1][task])


def main():
    if not FIXTURES.is_dir():
        reference.counts["skipped"] += 1
        print(f"  skipped: {FIXTURES}: the Rust encoderfile's fixtures are not there")
        reference.finish()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for part in ("stubs", "ours", "theirs"):
            (folder / part).mkdir()
        make_stubs(folder / "stubs")
        ours = Program("encoderfile", os.environ["EF_PROGRAM"])
        mine = play(ours, folder / "ours")
        if original := os.environ.get("EF_ORIGINAL"):
            theirs = Program("the Rust encoderfile", os.path.join(original, "encoderfile"), os.path.join(original, "encoderfile-runtime"))
            compare(ours, theirs, mine, play(theirs, folder / "theirs"))
    reference.finish()


main()
