#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A Hugging Face Hub for tests, of the Python library alone: the models are folders, and the organization of a name
says what goes wrong.

usage: server.py MODELS LOG [--cert FILE --key FILE] [--rate BYTES_PER_SECOND]

MODELS/NAME/... is the model ORG/NAME for every ORG. Prints "hub PORT", "storage PORT" and, with a certificate,
"proxy PORT", on 127.0.0.1 and ::1 alike; ends when stdin does. LOG gets a line per request:

    HOST METHOD PATH range=RANGE auth=TOKEN
"""
import argparse
import hashlib
import json
import os
import select
import socket
import ssl
import struct
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote

LFS = (".safetensors", ".onnx", ".bin", ".dat", "_data")
lock = threading.Lock()
counts = {}


def count(key):
    """How often that has been asked for, this time included."""
    with lock:
        counts[key] = counts.get(key, 0) + 1
        return counts[key]


def reset(connection):
    """Ends a connection as a crash would."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


class Model:
    def __init__(self, folder):
        self.folder = folder
        self.files = sorted(os.path.relpath(os.path.join(at, name), folder)
                            for at, _, names in os.walk(folder) for name in names)
        text = "".join(f + str(os.path.getsize(os.path.join(folder, f))) for f in self.files)
        self.commit = hashlib.sha1(text.encode()).hexdigest()
        self.etags = {}

    def read(self, name):
        with open(os.path.join(self.folder, name), "rb") as f:
            return f.read()

    def etag(self, name):
        if name not in self.etags:
            data = self.read(name)
            if name.endswith(LFS):
                self.etags[name] = hashlib.sha256(data).hexdigest()
            else:
                self.etags[name] = hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()
        return self.etags[name]


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *args):
        pass

    def note(self):
        line = "%s %s %s range=%s auth=%s\n" % (self.headers.get("Host"), self.command, self.path,
                                                 self.headers.get("Range"), self.headers.get("Authorization"))
        with lock, open(self.server.log, "a") as log:
            log.write(line)

    def answer(self, status, body=b"", chunked=False, cut=None, **fields):
        self.send_response(status)
        for name, value in fields.items():
            self.send_header(name.replace("_", "-"), value)
        if chunked:
            self.send_header("Transfer-Encoding", "chunked")
        elif "Content_Length" not in fields:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command == "HEAD":
            return
        if chunked:
            for at in range(0, len(body), 1000):
                part = body[at:at + 1000]
                self.wfile.write(b"%x;note=1\r\n%s\r\n" % (len(part), part))
            self.wfile.write(b"0\r\nTrailer: x\r\n\r\n")
            return
        self.slowly(body if cut is None else body[:cut])
        if cut is not None:
            self.wfile.flush()
            self.close_connection = True

    def slowly(self, body):
        rate = self.server.rate // (8 if "/kill/" in self.path or "/damage/" in self.path else 1)
        if not rate:
            return self.wfile.write(body)
        step = max(rate // 50, 1)
        for at in range(0, len(body), step):
            self.wfile.write(body[at:at + step])
            time.sleep(0.02)

    def do_HEAD(self):
        self.do_GET()

    def do_GET(self):
        self.note()
        path = unquote(self.path)
        parts = path.lstrip("/").split("/")
        try:
            if parts[0] == "storage":
                return self.storage(parts[1], parts[2], "/".join(parts[3:]).split("?")[0])
            if parts[:2] == ["api", "models"] and len(parts) >= 6 and parts[4] == "tree":
                return self.tree(parts[3])
            if parts[:2] == ["api", "models"] and len(parts) >= 6:
                return self.listing(parts[2], parts[3], "/".join(parts[5:]))
            if parts[:2] == ["api", "resolve-cache"]:
                return self.small(parts[2], parts[3], "/".join(parts[4:]))
            if len(parts) >= 5 and parts[2] == "resolve":
                return self.resolve(parts[0], parts[1], parts[3], "/".join(parts[4:]))
            self.answer(404)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True

    # ---- what goes wrong, by the organization ----
    def refused(self, org, name):
        """True: answered."""
        auth = self.headers.get("Authorization")
        if org == "gated" and auth != "Bearer good":
            self.answer(403 if auth else 401, X_Error_Code="GatedRepo", X_Error_Message="gated")
        elif org == "private" and auth != "Bearer good":
            self.answer(401, X_Error_Message="Invalid username or password.")
        elif org == "forbidden":
            self.answer(403)
        elif org == "gone":
            self.answer(404, X_Error_Code="RepoNotFound")
        elif org == "limit" and count(("limit", self.path)) <= 1:
            self.answer(429, Retry_After="1")
        elif org == "limited":
            self.answer(429, Retry_After="3600")
        elif org == "repairs":
            self.answer(503, Retry_After="86400")
        elif org == "hints":
            self.wfile.write(b"HTTP/1.1 103 Early Hints\r\n\r\n" * 1000)
            return False
        elif org == "broken":
            self.answer(500, b"<html>oops</html>")
        elif org == "flaky" and count(("flaky", self.path)) <= 2:
            self.answer(503)
        elif org == "loop":
            self.answer(302, Location="/%s?%d" % (self.path.split("?")[0].lstrip("/"), count("loop")))
        elif org == "plain":
            self.answer(302, Location="http://example.com/x")
        elif org == "noise":
            self.wfile.write(b"SSH-2.0-OpenSSH_9.2\r\n\r\n")
            self.close_connection = True
        elif org == "header":
            self.wfile.write(b"HTTP/1.1 200 OK\r\nX-A: 1\r\n" + b"X-B: " + b"y" * 100000 + b"\r\n\r\n")
            self.close_connection = True
        elif org == "silent":
            time.sleep(30)
        elif org == "reset" and count(("reset", self.path)) <= 1:
            reset(self.connection)
            self.close_connection = True
        else:
            return False
        return True

    def model(self, name):
        model = self.server.models.get(name)
        if not model:
            self.answer(401, X_Error_Message="Invalid username or password.")
        return model

    def listing(self, org, name, revision):
        model = self.model(name)
        if not model or (org != "gated" and self.refused(org, name)):
            return
        if revision not in ("main", "v1", "refs/pr/1", model.commit) and org != "othersha":
            return self.answer(404, X_Error_Code="RevisionNotFound")
        names = model.files + (["../../outside"] if org == "outside" else [])
        body = {"id": org + "/" + name, "sha": model.commit, "siblings": [{"rfilename": f} for f in names]}
        if org == "badsha":
            body["sha"] = "../../etc"
        text = json.dumps(body).encode()
        if org == "badjson":
            text = text[:-5]
        self.answer(200, text, chunked=org == "chunked", Content_Type="application/json")

    def tree(self, name):
        """What huggingface_hub asks for."""
        model, entries = self.server.models[name], []
        for file in model.files:
            size = os.path.getsize(os.path.join(model.folder, file))
            entry = {"type": "file", "path": file, "size": size, "oid": model.etag(file)[:40]}
            if file.endswith(LFS):
                entry["lfs"] = {"oid": model.etag(file), "size": size, "pointerSize": 134}
            entries.append(entry)
        self.answer(200, json.dumps(entries).encode(), Content_Type="application/json")

    def resolve(self, org, name, revision, file):
        model = self.model(name)
        if not model or self.refused(org, name):
            return
        known = {"X_Repo_Commit": model.commit}
        if file not in model.files:
            return self.answer(404, X_Error_Code="EntryNotFound", **known)
        if not file.endswith(LFS):
            if org == "relative":
                return self.answer(307, Location="/api/resolve-cache/%s/%s/%s" % (org, name, file), **known)
            return self.small(org, name, file)
        size = os.path.getsize(os.path.join(model.folder, file))
        scheme = "https" if self.server.tls else "http"
        where = "%s://%s:%d/storage/%s/%s/%s?signed=%d" % (
            scheme, "localhost", self.server.storage_port, org, name, file, count("signed"))
        if org != "noetag":
            known["X_Linked_Etag"] = '"%s"' % model.etag(file)
        if org != "nosize":
            known["X_Linked_Size"] = str(size + (org == "wrongsize"))
        self.answer(302, Location=where, **known)

    def small(self, org, name, file):
        model = self.server.models[name]
        body = model.read(file)
        etag = '"%s"' % model.etag(file)
        if org == "weak":
            etag = "W/" + etag
        fields = {"X_Repo_Commit": model.commit, "ETag": etag}
        if org == "wrongsmall" and file == "tokenizer.json":
            body = body[:-1] + b"?"
        if org == "badetag":
            fields["ETag"] = '"../../../escape"'
        self.answer(200, body, chunked=org == "chunked" and self.command == "GET", **fields)

    def storage(self, org, name, file):
        model = self.server.models[name]
        wanted = self.headers.get("Range") if org != "norange" else None
        size = os.path.getsize(os.path.join(model.folder, file))
        first, last, status, fields = 0, size - 1, 200, {"ETag": '"of-the-storage"'}
        if wanted:
            begin, end = wanted.removeprefix("bytes=").split("-")
            first, last, status = int(begin), min(int(end), size - 1), 206
            wrong = org == "badrange"
            fields["Content_Range"] = "bytes %d-%d/%d" % (first + wrong, last + wrong, size)
        with open(os.path.join(model.folder, file), "rb") as f:
            f.seek(first)
            body = f.read(last + 1 - first)
        if org == "wrongsum":
            body = bytes([body[0] ^ 1]) + body[1:]
        if org == "expire" and int(self.path.split("signed=")[1]) < 2:
            return self.answer(403, b"<Error>Request has expired</Error>")
        if org == "storage500":
            return self.answer(500)
        if org == "stall":
            self.answer(status, body, cut=None, Content_Length=str(len(body) + 1000), **fields)
            time.sleep(30)
            return
        cut = None
        if org == "cut" and count(("cut", file)) <= 3:
            cut = len(body) // 3
        if org == "cutall":
            cut = 0
        if org == "extra":
            body += b"more"
        self.answer(status, body, cut=cut, **fields)

    # ---- a proxy: whatever is asked for, it is the hub ----
    def do_CONNECT(self):
        self.note()
        if self.server.user and self.headers.get("Proxy-Authorization") != self.server.user:
            return self.answer(407)
        if self.path.startswith("refused."):
            return self.answer(502)
        with socket.create_connection(("127.0.0.1", self.server.hub_port)) as far:
            self.wfile.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
            self.wfile.flush()
            pair = [self.connection, far]
            while True:
                for one in select.select(pair, [], [], 20)[0]:
                    data = one.recv(65536)
                    if not data:
                        self.close_connection = True
                        return
                    pair[one is pair[0]].sendall(data)


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64

    def handle_error(self, request, address):
        pass


def start(options, models, tls, **more):
    server = Server(("127.0.0.1", 0), Handler)
    server.log, server.rate, server.models, server.tls = options.log, options.rate, models, tls
    server.user = None
    for name, value in more.items():
        setattr(server, name, value)
    if tls:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(options.cert, options.key)
        server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server.server_address[1]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("models")
    parser.add_argument("log")
    parser.add_argument("--cert")
    parser.add_argument("--key")
    parser.add_argument("--rate", type=int, default=0)
    options = parser.parse_args()
    models = {name: Model(os.path.join(options.models, name)) for name in os.listdir(options.models)}
    tls = bool(options.cert)
    storage = start(options, models, tls)
    hub = start(options, models, tls, storage_port=storage)
    print("hub %d\nstorage %d" % (hub, storage))
    if tls:
        print("proxy %d" % start(options, models, False, hub_port=hub))
        print("proxy-with-password %d" % start(options, models, False, hub_port=hub, user="Basic bWU6c2VjIHJldA=="))
    sys.stdout.flush()
    sys.stdin.read()


if __name__ == "__main__":
    main()
