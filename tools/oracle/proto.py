#!/usr/bin/env python3
"""Messages as protobuf writes and reads them, for tests/golden/proto.tsv and the seeds of tests/fuzz/corpus/proto.

usage: tools/oracle/proto.py; from the repository's root, needs protobuf and grpcio-tools.
A line is: name, bytes as they came, the tree as JSON ("-": refused), bytes as protobuf writes that tree again."""
import base64
import json
import pathlib
import subprocess
import sys
import tempfile

PROTO = """
syntax = "proto3";
package test;
enum Color { RED = 0; GREEN = 1; BLUE = 21; }
message Inner { string name = 1; repeated float x = 2; Inner next = 3; }
message All {
  string s = 1; bool b = 2; int32 i = 3; uint32 u = 4; uint64 wide = 5; float f = 6; double d = 7; bytes raw = 8;
  Color color = 9; optional string os = 10; optional uint32 ou = 11;
  repeated float floats = 12; repeated uint32 ids = 13; repeated string texts = 14; repeated Inner inners = 15;
  Inner inner = 16; map<string, string> tags = 17; map<uint32, string> names = 18;
  oneof pick { string left = 19; uint32 right = 20; }
  repeated Color colors = 21; repeated double doubles = 22; repeated bool flags = 23; repeated int32 signed = 24;
}
"""
WORDS = {0: "red", 1: "green", 21: "blue"}


def load(folder):
    path = pathlib.Path(folder)
    (path / "t.proto").write_text(PROTO)
    subprocess.run([sys.executable, "-m", "grpc_tools.protoc", f"-I{folder}", f"--python_out={folder}", "t.proto"],
                   check=True, cwd=folder)
    sys.path.insert(0, folder)
    import t_pb2
    return t_pb2


def scalar(field, value):
    if field.type == field.TYPE_ENUM:
        return WORDS.get(value, value)
    if field.type == field.TYPE_BYTES:
        return base64.b64encode(value).decode()
    return value


def tree(message):
    out = {}
    for f in message.DESCRIPTOR.fields:
        value = getattr(message, f.name)
        if f.message_type and f.message_type.GetOptions().map_entry:
            out[f.name] = {str(k): value[k] for k in sorted(value)}
        elif f.is_repeated:
            out[f.name] = [tree(v) if f.message_type else scalar(f, v) for v in value]
        elif f.has_presence:
            if message.HasField(f.name):
                out[f.name] = tree(value) if f.message_type else scalar(f, value)
        else:
            out[f.name] = scalar(f, value)
    return out


def built(m):
    """Cases by their fields."""
    def case(**fields):
        return m.All(**fields).SerializeToString(deterministic=True)
    inner = m.Inner(name="deep", x=[1, 2], next=m.Inner(name="deeper", next=m.Inner()))
    yield "empty", b""
    yield "scalars", case(s="h\u00e9", b=True, i=-5, u=4294967295, wide=1 << 40, f=1.5, d=-0.1, raw=b"raw")
    yield "negative zero", case(f=-0.0, d=-0.0)
    yield "enum", case(color=21)
    yield "enum unknown", case(color=7)
    yield "optional", case(os="", ou=0)
    yield "optional set", case(os="x", ou=300)
    yield "floats", case(floats=[0.5, -1, 0, 65504, 0.25])
    yield "many floats", case(floats=[k / 4 for k in range(384)])
    yield "ids", case(ids=[0, 1, 127, 128, 16384, 4294967295])
    yield "texts", case(texts=["a", "", "\u65e5\u672c", "\U0001f68c"])
    yield "long text", case(s="word " * 100)
    yield "messages", case(inners=[inner, m.Inner(), m.Inner(x=[3] * 40)], inner=inner)
    yield "empty message", case(inner=m.Inner())
    # one entry each: their order is nobody's promise
    yield "maps", case(tags={"a": "1"}, names={300: "B-X"})
    yield "empty in maps", case(tags={"": ""}, names={0: ""})
    yield "oneof", case(left="")
    yield "oneof number", case(right=0)
    yield "lists", case(colors=[0, 1, 21, 5], doubles=[1.5, 2.25], flags=[True, False], signed=[-1, 1, -2147483648])


def foreign():
    """Bytes that our writer would not choose, and broken ones."""
    yield "unpacked floats", bytes.fromhex("65 0000803f 65 00000040".replace(" ", ""))
    yield "floats both ways", bytes.fromhex("65 0000803f 6204 00000040 65 00004040".replace(" ", ""))
    yield "unpacked ids", bytes.fromhex("6801 68ac02 6a02 0305".replace(" ", ""))
    yield "empty packed", bytes.fromhex("6200 6a00")
    yield "the last of two", b"\x0a\x01a\x0a\x01b"
    yield "merged", b"\x82\x01\x03\x0a\x01a" + b"\x82\x01\x06\x12\x04\x00\x00\x80\x3f" + b"\x82\x01\x03\x0a\x01b"
    yield "oneof, the last", b"\x9a\x01\x01a" + b"\xa0\x01\x05"
    yield "oneof, back again", b"\x9a\x01\x01a" + b"\xa0\x01\x05" + b"\x9a\x01\x01b"
    yield "unknown fields", b"\xc8\x3e\x01" + b"\x0a\x01x" + b"\xc2\x3e\x03abc" + b"\xcd\x3e\0\0\0\0" + b"\xc9\x3e" + b"\0" * 8
    yield "other wire type", b"\x08\x05" + b"\x12\x01a"
    yield "map without key", b"\x8a\x01\x03\x12\x01v"
    yield "map without value", b"\x8a\x01\x03\x0a\x01k" + b"\x92\x01\x02\x08\x07"
    yield "long varint", b"\x18\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01" + b"\x20\x81\x00"
    yield "bool of two", b"\x10\x02"
    yield "int of 64 bits", b"\x18\xff\xff\xff\xff\x1f" + b"\x20\xff\xff\xff\xff\xff\x01"
    yield "length beyond", b"\x0a\x05ab"
    yield "length huge", b"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\x7f"
    yield "inner length beyond", b"\x82\x01\x03\x0a\x05a"
    yield "cut varint", b"\x18\x80"
    yield "endless varint", b"\x18" + b"\x80" * 11 + b"\x00"
    yield "field zero", b"\x02\x00"
    yield "end of a group", b"\x0c"
    yield "packed floats cut", b"\x62\x03\x00\x00\x80"
    yield "packed varint cut", b"\x6a\x02\x01\x80"
    yield "not utf-8", b"\x0a\x02\xff\xfe"
    yield "surrogate", b"\x72\x03\xed\xa0\x80"
    yield "map not utf-8", b"\x8a\x01\x03\x0a\x01\xff"
    yield "too deep", deep(150)
    yield "deep enough", deep(60)


def deep(n):
    body = b""
    for _ in range(n):
        length = len(body)
        size = bytes([length]) if length < 128 else bytes([length & 127 | 128, length >> 7])
        body = b"\x1a" + size + body
    length = len(body)
    size = bytes([length]) if length < 128 else bytes([length & 127 | 128, length >> 7])
    return b"\x82\x01" + size + body


def main():
    with tempfile.TemporaryDirectory() as folder:
        m = load(folder)
    lines, corpus = [], pathlib.Path("tests/fuzz/corpus/proto")
    corpus.mkdir(parents=True, exist_ok=True)
    for name, data in [*built(m), *foreign()]:
        (corpus / name.replace(" ", "_").replace(",", "")).write_bytes(data)
        try:
            message = m.All.FromString(data)
        except Exception:
            lines.append(f"{name}\t{data.hex()}\t-\t")
            continue
        message.DiscardUnknownFields()
        text = json.dumps(tree(message), ensure_ascii=False, separators=(",", ":"))
        lines.append(f"{name}\t{data.hex()}\t{text}\t{message.SerializeToString(deterministic=True).hex()}")
    pathlib.Path("tests/golden/proto.tsv").write_text("\n".join(lines) + "\n")


main()
