# SPDX-License-Identifier: Apache-2.0
# grpc_common.py - what the scripts with grpcio's client share: a server on free ports, stubs made by protoc from what
# reflection says, and replies compared with those of HTTP field by field.
import base64
import importlib
import json
import os
import pathlib
import re
import signal
import struct
import subprocess
import sys
import tempfile
import time
import urllib.request

import grpc
from google.protobuf import descriptor_pb2
from grpc_reflection.v1alpha import reflection_pb2
from grpc_tools import protoc

import reference

PROGRAM, MODELS = os.environ["EF_PROGRAM"], pathlib.Path(os.environ["EF_MODELS"])


def check(ok, what):
    """Many of them: only failures have a line."""
    reference.counts["passed" if ok else "failed"] += 1
    if not ok:
        print(f"  FAILED: | grpcio | {what} |", flush=True)


def line(call, before):
    """What a group of checks came to."""
    print(f"  | grpcio | {call} | - | {sum(reference.counts.values()) - before} checks |", flush=True)


def code_of(call):
    try:
        call()
        return grpc.StatusCode.OK
    except grpc.RpcError as e:
        return e.code()


class Server:
    """`serve` on free ports."""

    def __init__(self, model, *options):
        self.process = subprocess.Popen(
            [PROGRAM, "serve", "--model", str(model), "--http-hostname", "127.0.0.1", "--http-port", "0",
             "--grpc-port", "0", *options], stderr=subprocess.PIPE, text=True)
        self.http = self.grpc = 0
        while not (self.http and self.grpc):
            line = self.process.stderr.readline()
            if not line:
                raise SystemExit(f"the server of {model} ended")
            if found := re.search(r"http://127\.0\.0\.1:(\d+)", line):
                self.http = int(found[1])
            if found := re.search(r"gRPC on (.*):(\d+)", line):
                self.grpc, self.v6 = int(found[2]), found[1] == "[::]"

    def post(self, path, body):
        request = urllib.request.Request(f"http://127.0.0.1:{self.http}{path}", json.dumps(body).encode(),
                                         {"Content-Type": "application/json"})
        return json.load(urllib.request.urlopen(request))

    def dropped(self):
        """Requests that were thrown away before their end: nobody waits for them any more."""
        text = urllib.request.urlopen(f"http://127.0.0.1:{self.http}/metrics").read().decode()
        return sum(float(n) for n in re.findall(r'^encoderfile_rejected_total{reason="(?:client_gone|deadline)"} (\S+)$', text, re.M))

    def drops(self, before):
        """Waits until one more was dropped; 15 seconds, on a machine that has better things to do."""
        end = time.monotonic() + 15
        while self.dropped() <= before and time.monotonic() < end:
            time.sleep(0.02)
        return self.dropped() > before

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGTERM)
        check(self.process.wait(20) == 0, "the server ends with 0")


# ---- stubs from reflection ----
def files_of(channel, stubs):
    """Every file of every service, by both versions of the protocol."""
    method = channel.stream_stream(f"/grpc.reflection.{stubs}.ServerReflection/ServerReflectionInfo",
                                   reflection_pb2.ServerReflectionRequest.SerializeToString,
                                   reflection_pb2.ServerReflectionResponse.FromString)
    listed = list(method(iter([reflection_pb2.ServerReflectionRequest(list_services="")])))[0]
    names = [s.name for s in listed.list_services_response.service]
    asked = [reflection_pb2.ServerReflectionRequest(file_containing_symbol=n) for n in names]
    files = {}
    for question, reply in zip(asked, method(iter(asked))):
        check(reply.original_request == question, "reflection repeats the question")
        for data in reply.file_descriptor_response.file_descriptor_proto:
            file = descriptor_pb2.FileDescriptorProto.FromString(data)
            files[file.name] = file
    return names, files


def compiled():
    """docs/proto as protoc understands it."""
    root = pathlib.Path("docs/proto")
    with tempfile.NamedTemporaryFile() as out:
        names = [str(p.relative_to(root)) for p in root.rglob("*.proto")]
        assert protoc.main(["protoc", f"-I{root}", f"--descriptor_set_out={out.name}", *names]) == 0
        both = descriptor_pb2.FileDescriptorSet.FromString(pathlib.Path(out.name).read_bytes())
    return {file.name: file for file in both.file}


DOCUMENTED = compiled()


def check_files(files, task):
    """What the server says of itself is what its .proto files say: names, numbers, types, methods, all of it."""
    own = {name: file for name, file in files.items() if not name.startswith("grpc/")}
    wanted = {f"encoderfile/{task}/{task}.proto", "encoderfile/metadata/metadata.proto", "tei/v1/tei.proto"}
    check(wanted <= set(own), f"{task}: reflection lacks {wanted - set(own)}")
    for name, file in own.items():
        check(file == DOCUMENTED.get(name), f"{task}: reflection of {name} differs from docs/proto")


def make_stubs(files, folder):
    """protoc's Python code for our own packages."""
    path = pathlib.Path(folder)
    both = descriptor_pb2.FileDescriptorSet(file=ordered(files))
    (path / "set.bin").write_bytes(both.SerializeToString())
    own = [n for n in files if not n.startswith("grpc/")]
    assert protoc.main(["protoc", f"--descriptor_set_in={path / 'set.bin'}", f"--python_out={folder}",
                        f"--grpc_python_out={folder}", *own]) == 0
    importlib.invalidate_caches()
    if folder not in sys.path:
        sys.path.insert(0, folder)


def ordered(files):
    done = {}

    def add(name):
        if name in done:
            return
        for other in files[name].dependency:
            add(other)
        done[name] = files[name]
    for name in files:
        add(name)
    return list(done.values())


def camel(task):
    return "".join(w.capitalize() for w in task.split("_"))


class Task:
    """The Rust encoderfile's service of a task, by its stub."""

    def __init__(self, task, channel):
        package = f"encoderfile.{task}.{task}"
        self.pb = importlib.import_module(package + "_pb2")
        self.stub = getattr(importlib.import_module(package + "_pb2_grpc"), camel(task) + "InferenceStub")(channel)
        self.meta = importlib.import_module("encoderfile.metadata.metadata_pb2")
        self.request = getattr(self.pb, camel(task) + "Request")


def f32(values):
    return [struct.unpack("<f", struct.pack("<f", v))[0] for v in values]


def same(message, tree, path=""):
    """A message against the JSON of HTTP."""
    for f in message.DESCRIPTOR.fields:
        value, wanted = getattr(message, f.name), tree.get(f.name)
        where = f"{path}.{f.name}"
        if not f.is_repeated and f.has_presence and not message.HasField(f.name):
            if wanted is not None:
                return where
            continue
        if f.message_type and f.message_type.GetOptions().map_entry:
            if dict(value) != (wanted or {}):
                return where
        elif f.is_repeated and f.message_type:
            wanted = wanted or []
            if len(value) != len(wanted):
                return where
            for a, b in zip(value, wanted):
                if wrong := same(a, b, where):
                    return wrong
        elif f.is_repeated:
            if list(value) != (f32(wanted) if f.cpp_type == f.CPPTYPE_FLOAT else wanted):
                return where
        elif f.message_type:
            if wrong := same(value, wanted, where):
                return wrong
        elif f.type == f.TYPE_BYTES:
            if base64.b64decode(wanted) != value:
                return where
        elif (f32([wanted])[0] if f.cpp_type == f.CPPTYPE_FLOAT else wanted) != value:
            return where
    return ""
