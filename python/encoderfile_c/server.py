# SPDX-License-Identifier: Apache-2.0
"""Server: the program as a child process that answers over HTTP, gRPC and MCP."""
from __future__ import annotations

import collections
import json
import os
import re
import signal
import subprocess
import threading
import time
import urllib.request
import weakref
from typing import Any

from ._program import find_program
from ._source import source
from .errors import DeadlineError, UnavailableError

__all__ = ["Server"]

_LISTENING = re.compile(r" on (https?)://(\[[^\]]*\]|[^:/\s]+):(\d+)$")
_GRPC = re.compile(r"gRPC on (\[[^\]]*\]|[^:\s]+):(\d+)$")


class Server:
    """Serves a model until stop(), the end of the `with` block, or the end of this process.

        with Server("examples/bus-ner") as server:
            server.predict(["AC sleeper bus from Bangalore to Mumbai"])

    port 0 takes a free one; `server.url` has it once start() has returned, which is when the model answers. Other keywords are options of
    `encoderfile serve`: Server(model, threads=2, disable_grpc=True) is --threads 2 --disable-grpc.
    """

    def __init__(self, model: str | os.PathLike[str], *, host: str = "127.0.0.1", port: int = 0, grpc_port: int | None = None,
                 timeout: float = 60.0, program: str | os.PathLike[str] | None = None, **options: Any) -> None:
        self.model = source(model)
        self.host = host
        self.url: str = ""
        self.port: int = port
        self.grpc_port: int | None = grpc_port
        self._timeout = timeout
        self._program = os.fspath(program) if program is not None else None
        self._options = options
        self._process: subprocess.Popen[str] | None = None
        self._lines: collections.deque[str] = collections.deque(maxlen=200)
        self._told = threading.Condition()

    def _command(self) -> list[str]:
        command = [self._program or find_program(), "serve", self.model, "--http-hostname", self.host, "--http-port", str(self.port)]
        command += ["--disable-grpc"] if self.grpc_port is None else ["--grpc-port", str(self.grpc_port)]
        for key, value in self._options.items():
            flag = "--" + key.replace("_", "-")
            if value is True:
                command.append(flag)
            elif value is not None and value is not False:
                command += [flag, str(value)]
        return command

    def start(self) -> Server:
        """Starts it and returns when it answers. UnavailableError with its last line when it ends instead."""
        if self._process is not None and self._process.poll() is None:
            return self
        self.url = ""
        self._process = subprocess.Popen(self._command(), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        threading.Thread(target=self._read, args=(self._process,), daemon=True).start()
        self._at_exit = weakref.finalize(self, _end, self._process)
        ends = time.monotonic() + self._timeout
        with self._told:
            while not self.url and self._process.poll() is None and time.monotonic() < ends:
                self._told.wait(0.1)
        if not self.url:
            self._fail()
        self._wait_ready(ends)
        return self

    def _read(self, process: subprocess.Popen[str]) -> None:
        assert process.stderr is not None
        for line in process.stderr:
            line = line.rstrip("\n")
            with self._told:
                self._lines.append(line)
                if found := _GRPC.search(line):
                    self.grpc_port = int(found[2])
                elif found := _LISTENING.search(line):
                    self.port = int(found[3])
                    self.url = f"{found[1]}://{found[2]}:{found[3]}"
                self._told.notify_all()

    def _fail(self) -> None:
        assert self._process is not None
        ended = self._process.poll()
        self.stop()
        last = next((line for line in reversed(self._lines) if line), "")
        if ended is None:
            raise DeadlineError(f"the server was not there within {self._timeout:g} s: {last}")
        raise UnavailableError(f"the server ended with status {ended}: {last}")

    def _wait_ready(self, ends: float) -> None:
        while True:
            try:
                with urllib.request.urlopen(self.url + "/health", timeout=5):
                    return
            except OSError:
                if self._process is None or self._process.poll() is not None or time.monotonic() > ends:
                    self._fail()
                time.sleep(0.05)

    def stop(self, timeout: float = 10.0) -> int | None:
        """Ends it: SIGTERM, and SIGKILL after `timeout` seconds. Its exit status; None: it was not started."""
        process, self._process = self._process, None
        if process is None:
            return None
        self._at_exit.detach()
        return _end(process, timeout)

    @property
    def running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process is not None else None

    @property
    def log(self) -> list[str]:
        """Its last lines."""
        with self._told:
            return list(self._lines)

    def request(self, path: str, body: Any = None, *, method: str | None = None) -> Any:
        """The parsed JSON of a reply. body None: GET, else POST."""
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data, {"Content-Type": "application/json"}, method=method)
        with urllib.request.urlopen(request) as reply:
            return json.loads(reply.read() or b"null")

    def predict(self, inputs: list[Any], **params: Any) -> Any:
        """What POST /predict answers."""
        return self.request("/predict", {"inputs": inputs, **params})

    def __enter__(self) -> Server:
        return self.start()

    def __exit__(self, *exception: object) -> None:
        self.stop()

    def __repr__(self) -> str:
        return f"<Server {self.model} {self.url or 'not started'}>"


def _end(process: subprocess.Popen[str], timeout: float = 10.0) -> int:
    if process.poll() is None:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(timeout)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
    if process.stderr is not None:
        process.stderr.close()
    return int(process.returncode)
