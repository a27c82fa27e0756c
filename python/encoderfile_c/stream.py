# SPDX-License-Identifier: Apache-2.0
"""A package behind a pair of pipes: Arrow in, Arrow out. Needs pyarrow; nothing of this package's compiled part.

    from encoderfile_c.stream import stream
    for batch in stream("./my.encoderfile", reader, column="text", keep=["id"]): ...

Only the text goes to the process; the columns of `keep` stay here and are put in front of the answers without a copy.
The process answers a batch with a batch of the same rows in the same order. A row that failed has nulls and an `error`.

column: the text's (path's, picture's, sound's); of tasks that read several all of them, {"question": "q", "context": "page"} where
they are called otherwise. keep: names of columns, or "all" of them but the text's. Other options are those of `map`:
candidate_labels=["cat", "dog"], top_k=3, normalize=True.
"""
from __future__ import annotations

import difflib
import json
import os
import subprocess
import tempfile
import threading
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa

Columns = str | Sequence[str] | Mapping[str, str]
__all__ = ["Encoder", "StreamError", "runnable", "schema", "stream"]


class StreamError(RuntimeError):
    """The process ended before it had answered everything. killed: by a signal, not by itself."""

    killed = False


def runnable(package: str) -> str:
    """The same path; a package that an engine has copied may have lost its right to run."""
    if os.path.exists(package) and not os.access(package, os.X_OK):
        os.chmod(package, 0o755)
    return package


def sent(column: Columns, options: Mapping[str, Any]) -> dict[str, str]:
    """What goes to the process: the name it has there, and the one it has here."""
    if isinstance(column, Mapping):
        return dict(column)
    names = [column] if isinstance(column, str) else list(column)
    second = options.get("column2")
    return {name: name for name in (*names, *([second] if second else []))}


def kept(names: Sequence[str], keep: Sequence[str] | None, gone: Mapping[str, str]) -> list[str]:
    """The columns that are kept of those that there are."""
    if keep is None or keep == "all":
        return [name for name in names if name not in gone.values()]
    if isinstance(keep, str):
        raise TypeError(f'keep: found {keep!r}, wanted a list of names, or "all"')
    return list(keep)


def there(names: Sequence[str], wanted: Iterable[str]) -> None:
    for name in wanted:
        if name not in names:
            near = difflib.get_close_matches(name, names, 1)
            raise KeyError(f"no column {name!r}; there are {list(names)}" + (f"; did you mean {near[0]!r}?" if near else ""))
        if list(names).count(name) > 1:
            raise ValueError(f"two columns are called {name!r}: rename one of them")


def apart(keep: Iterable[str], found: pa.Schema) -> None:
    """What is kept must not be called as a result is."""
    both = set(keep) & set(found.names)
    if both:
        raise ValueError(f"keep: {sorted(both)[0]!r} is a column of the results, too: rename it, or leave it out")


def command(package: str, column: Columns, threads: int, program: str | None, options: Mapping[str, Any]) -> list[str]:
    """`map` with these options: results="tokens" is --results tokens; lists go into --params, None is the default."""
    head = [program, "map", "-m", package] if program else [os.path.abspath(package), "map"]
    flags = ["--input-format", "arrow", "--output-format", "arrow", "--errors", "keep", "--threads", str(threads)]
    if isinstance(column, str):
        flags += ["--column", column]
    given = {name: value for name, value in options.items() if value is not None}
    params = dict(given.pop("params", {}))
    params.update((name, given.pop(name)) for name, value in list(given.items()) if isinstance(value, (list, tuple, dict)))
    if params:
        flags += ["--params", json.dumps(params)]
    for name, value in given.items():
        flags += ["--" + name.replace("_", "-"), str(value).lower() if isinstance(value, bool) else str(value)]
    return head + flags


class _Process:
    def __init__(self, arguments: list[str]) -> None:
        self.log = tempfile.TemporaryFile()  # a pipe that nobody reads would fill up
        self.name = arguments[0]
        self.child = subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.log)
        assert self.child.stdin and self.child.stdout
        self.stdin, self.stdout = self.child.stdin, self.child.stdout
        self.writer: pa.RecordBatchStreamWriter | None = None
        self.reader: pa.RecordBatchStreamReader | None = None

    def send(self, batch: pa.RecordBatch) -> None:
        if self.writer is None:
            self.schema = batch.schema.remove_metadata()
            self.writer = pa.ipc.new_stream(self.stdin, self.schema)
        self.writer.write_batch(_as(batch, self.schema))
        self.stdin.flush()

    def finish(self) -> None:
        if self.writer is not None:
            self.writer.close()
        self.stdin.close()

    def receive(self) -> pa.RecordBatch:
        if self.reader is None:
            self.reader = pa.ipc.open_stream(self.stdout)
        return self.reader.read_next_batch()

    def wrong(self, what: str) -> StreamError:
        """Why it ended: its last words."""
        try:
            status: Any = self.child.wait(timeout=10)
        except subprocess.TimeoutExpired:
            status = "none: it is still running"
        self.log.seek(0, os.SEEK_END)
        self.log.seek(max(0, self.log.tell() - 2000))
        said = self.log.read().decode(errors="replace").strip()
        error = StreamError(f"{self.name}: {what} (status {status}): {said[-1000:]}")
        error.killed = isinstance(status, int) and status < 0
        return error

    def end(self) -> None:
        self.child.kill()
        for pipe in (self.stdin, self.stdout):
            try:
                pipe.close()
            except OSError:
                pass
        self.child.wait()
        self.log.close()


def _as(batch: pa.RecordBatch, wanted: pa.Schema) -> pa.RecordBatch:
    """A stream has one schema: texts of another width or layout become those of its first batch. Numbers are no texts."""
    try:
        for c, f in zip(batch.columns, wanted):
            if c.type != f.type and pa.types.is_primitive(c.type):
                raise pa.ArrowTypeError(f"{f.name}: found {c.type}")
        columns = [c if c.type == f.type else c.cast(f.type) for c, f in zip(batch.columns, wanted)]
    except pa.ArrowException as e:
        raise TypeError(f"found columns {batch.schema.types}, wanted {wanted.types} as in the first batch") from e
    return pa.RecordBatch.from_arrays(columns, schema=wanted)


def _typed(name: str, column: pa.Array) -> pa.Array:
    """Where all values are null they may have no type of their own, and the next batch has one."""
    if not pa.types.is_null(column.type):
        return column
    return column.cast(pa.binary() if name in ("image", "audio") else pa.utf8())


def _part(batch: pa.RecordBatch, columns: Mapping[str, str]) -> pa.RecordBatch:
    there(batch.schema.names, columns.values())
    return pa.RecordBatch.from_arrays([_typed(name, batch.column(own)) for name, own in columns.items()], names=list(columns))


def _glued(batch: pa.RecordBatch, keep: Sequence[str], gone: Mapping[str, str], answer: pa.RecordBatch) -> pa.RecordBatch:
    names = kept(batch.schema.names, keep, gone)
    there(batch.schema.names, names)
    apart(names, answer.schema)
    fields = [*(batch.schema.field(name) for name in names), *answer.schema]
    columns = [*(batch.column(name) for name in names), *answer.columns]
    return pa.RecordBatch.from_arrays(columns, schema=pa.schema(fields, metadata=answer.schema.metadata))


def schema(package: str, column: Columns = "text", keep: pa.Schema | None = None, program: str | None = None, **options: Any) -> pa.Schema:
    """The columns of the answers, with those that are kept in front; by the package itself, which loads for it."""
    names = list(sent(column, options))
    process = _Process(command(package, column, 1, program, options))
    try:
        try:
            process.send(pa.record_batch([pa.array([], pa.utf8())] * len(names), names=names))
            process.finish()
            found = process.receive().schema
        except (pa.ArrowInvalid, StopIteration, OSError):
            raise process.wrong("found no answer") from None
    finally:
        process.end()
    apart(keep.names if keep is not None else [], found)
    return pa.schema([*(keep or []), *found], metadata=found.metadata)


def stream(package: str, batches: Iterable[pa.RecordBatch], column: Columns = "text", keep: Sequence[str] = (), threads: int = 1,
           ahead: int = 4, program: str | None = None, **options: Any) -> Iterator[pa.RecordBatch]:
    """Answers to record batches, one for each, by one process. At most `ahead` batches are under way. batches: an iterable of
    them, or what exports a stream of Arrow: a table, a frame."""
    if ahead < 1:
        raise ValueError(f"ahead: found {ahead}, wanted 1 or more")  # with none under way nothing would ever be sent
    if hasattr(batches, "__arrow_c_stream__") and not isinstance(batches, pa.RecordBatchReader):
        batches = pa.RecordBatchReader.from_stream(batches)
    source = iter(batches)
    try:
        first = next(source)
    except StopIteration:
        return
    process = _Process(command(package, column, threads, program, options))
    waiting: deque[pa.RecordBatch] = deque()
    room, failed, names = threading.Semaphore(ahead), [], sent(column, options)
    under_way = threading.Semaphore(0)
    done = threading.Event()

    def feed() -> None:
        try:
            batch = first
            while True:
                room.acquire()
                if done.is_set():
                    return
                part = _part(batch, names)
                waiting.append(batch)
                under_way.release()
                process.send(part)
                batch = next(source, None)
                if batch is None:
                    break
        except OSError:
            pass  # the process went: who reads its answers sees that
        except BaseException as e:  # of the source: told where answers are read
            failed.append(e)
        finally:
            try:
                process.finish()
            except (OSError, ValueError):
                pass
            done.set()
            under_way.release()

    thread = threading.Thread(target=feed, daemon=True)
    thread.start()
    try:
        while True:
            under_way.acquire()
            if not waiting:
                break
            try:
                answer = process.receive()
            except (StopIteration, pa.ArrowInvalid, OSError):
                if failed:
                    raise failed[0] from None
                raise process.wrong("ended inside the stream") from None
            batch = waiting.popleft()
            if answer.num_rows != batch.num_rows:
                raise process.wrong(f"{answer.num_rows} answers to {batch.num_rows} rows")
            yield _glued(batch, keep, names, answer)
            room.release()
        if failed:
            raise failed[0]
        try:
            process.receive()
        except StopIteration:
            pass
        else:
            raise process.wrong("found more answers than batches")
        if process.child.wait() != 0:
            raise process.wrong("failed at the end")
    finally:
        done.set()
        room.release()
        process.end()


class Encoder:
    """One process that is kept: called with a batch or a table, it answers with the same. For engines that hand over a
    batch and wait. A process that died is started again, once a batch, and is asked again; where that one dies, too, the
    call fails. Calls of several threads take turns."""

    def __init__(self, package: str, column: Columns = "text", keep: Sequence[str] = (), threads: int = 1, program: str | None = None,
                 **options: Any) -> None:
        self.package, self.column, self.keep = package, column, keep
        self.threads, self.program, self.options = threads, program, options
        self._process: _Process | None = None
        self._lock = threading.Lock()

    def __getstate__(self) -> dict[str, Any]:
        return {k: v for k, v in self.__dict__.items() if not k.startswith("_")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        type(self).__init__(self, **{k: v for k, v in state.items() if k != "options"}, **state["options"])

    def _answer(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        used = self._process is not None
        try:
            return self._ask(batch)
        except StreamError as error:
            if not used and not error.killed:  # it has never answered, and ended by itself: the command is wrong
                raise
            return self._ask(batch)

    def _ask(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        if self._process is None:
            self._process = _Process(command(self.package, self.column, self.threads, self.program, self.options))
        process, names = self._process, sent(self.column, self.options)
        try:
            process.send(_part(batch, names))
            answer = process.receive()
        except (StopIteration, pa.ArrowInvalid, OSError):
            error = process.wrong("ended instead of an answer")
            self.close()
            raise error from None
        if answer.num_rows != batch.num_rows:
            self.close()
            raise StreamError(f"{self.package}: {answer.num_rows} answers to {batch.num_rows} rows")
        return _glued(batch, self.keep, names, answer)

    def __call__(self, rows: Any) -> Any:
        if not isinstance(rows, (pa.RecordBatch, pa.Table)):
            raise TypeError(f"found a {type(rows).__name__}, wanted a batch or a table of pyarrow (of Ray: batch_format=\"pyarrow\")")
        with self._lock:
            if isinstance(rows, pa.RecordBatch):
                return self._answer(rows)
            parts = rows.to_batches() or [pa.record_batch([pa.array([], f.type) for f in rows.schema], schema=rows.schema)]
            return pa.Table.from_batches([self._answer(b) for b in parts])

    def close(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.end()

    def __del__(self) -> None:
        if getattr(self, "_process", None) is not None:
            self.close()
