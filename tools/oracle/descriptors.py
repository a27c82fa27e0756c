#!/usr/bin/env python3
"""docs/proto as protoc understands it, for tests/golden/descriptors: a FileDescriptorProto for each package.

usage: tools/oracle/descriptors.py; from the repository's root, needs grpcio-tools."""
import pathlib
import tempfile

from google.protobuf import descriptor_pb2
from grpc_tools import protoc

OUT = pathlib.Path("tests/golden/descriptors")


def main():
    files = sorted(str(p.relative_to("docs/proto")) for p in pathlib.Path("docs/proto").rglob("*.proto"))
    with tempfile.NamedTemporaryFile() as out:
        assert protoc.main(["protoc", "-Idocs/proto", f"--descriptor_set_out={out.name}", *files]) == 0
        both = descriptor_pb2.FileDescriptorSet.FromString(pathlib.Path(out.name).read_bytes())
    OUT.mkdir(parents=True, exist_ok=True)
    for file in both.file:
        (OUT / f"{file.package}.bin").write_bytes(file.SerializeToString(deterministic=True))


main()
