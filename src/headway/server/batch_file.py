"""Files of OpenAI's batch format: reading and checking the input, resuming and appending the output."""

from __future__ import annotations

import json
import os
import stat
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import msgspec

from headway.errors import HeadwayError, OptionError, ResourceError, quantity
from headway.json_files import parse_json_object
from headway.server.errors import ApiError, from_exception
from headway.server.wire import ChatRequest, CompletionRequest, EmbeddingRequest, decode

BODIES: Mapping[str, type] = {
    "/v1/chat/completions": ChatRequest,
    "/v1/completions": CompletionRequest,
    "/v1/embeddings": EmbeddingRequest,
}
MAX_SHOWN = 10
KEY_CHARACTERS = 512
FSYNC_SECONDS = 1.0
RESULT_START = b'{"id": "batch_req_'
"""Start of each line of an output file."""


@dataclass(frozen=True, slots=True)
class Line:
    """A request in the input file. Its body stays in the file until the request runs.

    prefix   start of the body's text; requests that share it run one after another
    """

    custom_id: str
    url: str
    offset: int
    size: int
    prefix: str

    def body(self, file: BinaryIO) -> bytes:
        """Return the JSON body of the request."""
        file.seek(self.offset)
        body: dict[str, Any] = json.loads(file.read(self.size))["body"]
        return json.dumps(body).encode()


def read_lines(path: Path) -> list[Line]:
    """Return the requests of an input file, all of them checked.

    Errors   OptionError that names the first wrong lines: no JSON, a field that is missing or wrong, an id that occurs twice.
    """
    lines, first_line, problems = list[Line](), dict[str, int](), list[str]()
    for number, offset, raw in _raw_lines(path):
        try:
            line = _line(raw, offset)
        except (HeadwayError, ApiError) as error:
            problems.append(f"line {number}: {error}")
            continue
        if line.custom_id in first_line:
            problems.append(f"line {number}: got custom_id {line.custom_id!r:.100} of line {first_line[line.custom_id]} again")
        first_line.setdefault(line.custom_id, number)
        lines.append(line)
    if problems:
        more = f"\n… and {len(problems) - MAX_SHOWN:,} more" if len(problems) > MAX_SHOWN else ""
        shown = "\n".join(problems[:MAX_SHOWN])
        raise OptionError(
            f"got {path} with {quantity(len(problems), 'wrong line')}, expected requests\n{shown}{more}", hint="nothing was run"
        )
    if not lines:
        raise OptionError(f"got {path} without a line, expected one request per line")
    return lines


def _raw_lines(path: Path) -> Iterator[tuple[int, int, bytes]]:
    """Yield number, offset and content of the lines that are not empty."""
    try:
        with path.open("rb") as file:
            offset = 0
            for number, raw in enumerate(file, 1):
                if raw.strip():
                    yield number, offset, raw
                offset += len(raw)
    except OSError as error:
        raise OptionError(f"got {path}, expected a file that can be read ({error.strerror})") from error


def _line(raw: bytes, offset: int) -> Line:
    value = parse_json_object(raw, "a line", OptionError)
    custom_id, url, body = value.get("custom_id"), value.get("url"), value.get("body")
    if not isinstance(custom_id, str) or not custom_id or not custom_id.isprintable():
        raise OptionError(f"got custom_id {custom_id!r:.100}, expected a printable text")
    if value.get("method") != "POST":
        raise OptionError(f"got method {value.get('method')!r:.100}, expected 'POST'")
    if not isinstance(url, str) or url not in BODIES:
        raise OptionError(f"got url {url!r:.100}, expected {', '.join(BODIES)}")
    if not isinstance(body, dict):
        raise OptionError("got no body, expected an object")
    try:
        decoded: object = decode(BODIES[url], json.dumps(body).encode())
    except (msgspec.MsgspecError, RecursionError) as error:
        raise from_exception(error) from error
    if getattr(decoded, "stream", None):
        raise OptionError("got stream: true, expected a request without a stream")
    text = body.get("messages") or body.get("prompt") or body.get("input")
    prefix = (text if isinstance(text, str) else json.dumps(text))[:KEY_CHARACTERS]
    return Line(custom_id, url, offset, len(raw), prefix)


def repair(path: Path) -> dict[str, int]:
    """Return the status codes of the lines of an output file by their ids. A last line that was cut off is removed.

    Errors   OptionError for a file with other content, which stays as it is.
    """
    if not path.exists():
        return {}
    found, end = dict[str, int](), 0
    for number, offset, raw in _raw_lines(path):
        is_whole = raw.endswith(b"\n")
        if not is_whole and _is_start_of_result(raw):
            break
        try:
            result = json.loads(raw) if is_whole else {}
            found[str(result["custom_id"])] = int(result["response"]["status_code"])
        except (ValueError, KeyError, TypeError) as error:
            raise OptionError(
                f"got {path} with a line {number} that is no result, expected the output of an earlier run", hint="choose another --out"
            ) from error
        end = offset + len(raw)
    if end < path.stat().st_size:
        with path.open("r+b") as file:
            file.truncate(end)
    return found


def _is_start_of_result(raw: bytes) -> bool:
    """Return True for the start of a line of an output file, with the zeros that a loss of power may leave at its end."""
    return raw.startswith(RESULT_START) or RESULT_START.startswith(raw.rstrip(b"\0"))


class Output:
    """A file that results are appended to: every line with one write, synchronised to the disk every second and at the end."""

    def __init__(self, path: Path) -> None:
        """Open the file.

        Errors   OptionError if it is no regular file or cannot be opened, or another process appends to it.
        """
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666)
        except OSError as error:
            raise OptionError(f"got {path}, expected a file that can be written ({error.strerror})") from error
        if not stat.S_ISREG(os.fstat(self._file).st_mode):
            os.close(self._file)
            raise OptionError(f"got {path}, which is no regular file, expected one: it is read again to continue")
        self._path = path
        self._lock(path)
        self._synced = time.monotonic()

    def append(self, value: Mapping[str, object]) -> None:
        """Append one result.

        Errors   ResourceError for a full disk.
        """
        line = memoryview(json.dumps(value, ensure_ascii=False).encode() + b"\n")
        try:
            while line:  # a signal or a full pipe may cut a write short
                line = line[os.write(self._file, line) :]
            if time.monotonic() - self._synced > FSYNC_SECONDS:
                self._sync()
        except OSError as error:
            raise self._full(error) from error

    def close(self) -> None:
        """Synchronise and close the file.

        Errors   ResourceError for a full disk.
        """
        try:
            self._sync()
        except OSError as error:
            raise self._full(error) from error
        finally:
            os.close(self._file)

    def _full(self, error: OSError) -> ResourceError:
        return ResourceError(
            f"got {self._path}, which cannot be written further ({error.strerror}), expected space for the results",
            hint="the results so far are kept: make space, and run the same command again",
        )

    def _sync(self) -> None:
        os.fsync(self._file)
        self._synced = time.monotonic()

    def _lock(self, path: Path) -> None:
        try:
            import fcntl
        except ImportError:  # Windows
            return
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            os.close(self._file)
            raise OptionError(
                f"got {path}, which another process writes, expected a file of our own", hint="choose another --out"
            ) from error
