"""Seeded mutation of bytes and JSON, and a runner that collects every exception that is not a HeadwayError.

    mutants = json_mutants([config], num_mutants(2_000))
    assert not run(lambda text: load(write(text)), mutants, seconds_each=5)

A mutant depends on its seed alone, so a failure is reproduced with `json_mutants([config], 1, first_seed=seed)`.
"""

from __future__ import annotations

import copy
import json
import os
import random
import signal
import struct
import time
import traceback
import tracemalloc
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any, TypeAlias, TypeVar

from headway.errors import HeadwayError

Json: TypeAlias = Any  # None, bool, int, float, str, list or dict; mutants break every rule that a narrower type would state
Mutant = TypeVar("Mutant")

LITERALS = {
    "@nested arrays@": "[" * 100_000 + "]" * 100_000,
    "@nested objects@": '{"a":' * 100_000 + "0" + "}" * 100_000,
    "@5,000 digits@": "9" * 5_000,
    "@400 digits@": "1" + "0" * 400,
    "@400 digits and a point@": "1" + "0" * 400 + ".5",
    "@1e999@": "1e999",
    "@lone surrogate@": '"\\ud800"',
}
"""Strings that json_text replaces with JSON text that json.dumps cannot write."""
MOST_LITERALS = 8

EDGE_NUMBERS: tuple[int | float, ...] = (
    *(0, 1, -1, 2, -2, 3, 7, 16, 127, 255, 256, 65_535, 10**6, 10**9, -(10**9), 2**31 - 1, 2**31, -(2**31), 2**32, 2**53 + 1, 2**63 - 1),
    *(2**63, -(2**63), 2**64, 10**19, 0.0, -0.0, 0.5, 1.0, -1.5, 2.5, 1e-300, 1e300, -1e300, float("nan"), float("inf"), float("-inf")),
)
EDGE_STRINGS = (
    "",
    " ",
    "\0",
    "a",
    "0",
    "-1",
    "true",
    "null",
    "..",
    "../a",
    "/",
    "/etc/passwd",
    "a/b",
    "ä€😀",
    "x" * 300,
    "x" * 100_000,
    "%s{0}",
)


def num_mutants(default: int) -> int:
    """Return the number of mutants per format: the environment variable HEADWAY_FUZZ, or the default."""
    return int(os.environ.get("HEADWAY_FUZZ") or default)


def mutate_bytes(rng: random.Random, data: bytes) -> bytes:
    """Return the data after one to four random edits."""
    for _ in range(rng.choice((1, 1, 1, 2, 3, 4))):
        data = rng.choice(_BYTE_EDITS)(rng, data)
    return data


def mutate_json(rng: random.Random, value: Json) -> Json:
    """Return a copy of a JSON value after one to three random edits; json_text turns it into text."""
    value = copy.deepcopy(value)
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        value = _edit_json(rng, value)
    return value


def json_text(value: Json) -> bytes:
    """Return the value as JSON text, with the first MOST_LITERALS of each string in LITERALS replaced: a list may repeat one 1,000 times."""
    text = json.dumps(value, ensure_ascii=False)
    for name, literal in LITERALS.items():
        text = text.replace(f'"{name}"', literal, MOST_LITERALS)
    return text.encode("utf-8", "surrogatepass")


def byte_mutants(samples: Sequence[bytes], count: int, *, first_seed: int = 0) -> Iterator[tuple[int, bytes]]:
    """Yield `count` pairs of a seed and a mutant of one of the samples."""
    for seed in range(first_seed, first_seed + count):
        rng = random.Random(seed)
        yield seed, mutate_bytes(rng, rng.choice(samples))


def json_mutants(samples: Sequence[Json], count: int, *, first_seed: int = 0) -> Iterator[tuple[int, bytes]]:
    """Yield `count` pairs of a seed and the text of a mutant: four of five edited as values, the fifth as bytes."""
    for seed in range(first_seed, first_seed + count):
        rng = random.Random(seed)
        sample = rng.choice(samples)
        yield seed, mutate_bytes(rng, json_text(sample)) if rng.random() < 0.2 else json_text(mutate_json(rng, sample))


@dataclass(frozen=True)
class Failure:
    """A mutant that raised something else than a HeadwayError, or took too long."""

    seed: int
    error: str
    where: str

    def __str__(self) -> str:
        return f"seed {self.seed}: {self.error}\n    {self.where}"


SECONDS = 5.0
"""Processor time of one mutant. Another limit, of the time that passes, ends what hangs."""
COUNTED_EACH = 10
"""Counting allocations takes several times as long as a mutant; memory_bytes limits the others."""
BYTES_PER_BYTE = 8
"""Bytes that a mutant may allocate per byte of it. A text with one emoji takes seven: the file, and Python's text of two and of four bytes a character."""
FREE_BYTES = 2 * 1024**2
"""Memory that reading any file may take: modules that are imported when they are needed, and messages."""
FREE_RESIDENT_BYTES = 8 * 1024**2
"""The same for the process as a whole, whose allocator takes whole pages and keeps them."""


class TimeLimitError(BaseException):
    """A mutant that took too long; a BaseException, so that no `except Exception` hides it."""


def run(
    attempt: Callable[[Mutant], object],
    mutants: Iterable[tuple[int, Mutant]],
    *,
    seconds_each: float,
    memory_bytes: int = 4 * 1024**3,
    most_failures: int = 20,
    bytes_per_byte: float | None = None,
    more_bytes: int = 0,
) -> list[Failure]:
    """Call attempt(mutant) for every (seed, mutant) and return the failures: exceptions that are not a HeadwayError.

    seconds_each   time limit of one call; it interrupts Python code, and C code when that returns
    memory_bytes   what the process may allocate in addition to what it has; more raises MemoryError
    most_failures  number of failures after which to stop
    bytes_per_byte  what may be allocated for a mutant at once, per byte of it; None for any. Of each COUNTED_EACH-th mutant, the
                   allocations of Python and NumPy are counted, in addition to FREE_BYTES; of the others, on Linux, the resident
                   memory of the process, in addition to FREE_RESIDENT_BYTES, so that native code is counted too
    more_bytes     size of the other files that are read with each mutant

    KeyboardInterrupt passes through.
    """
    failures: list[Failure] = []
    with _alarm():
        for seed, mutant in mutants:  # made without limits: text of several megabytes is copied several times

            def limited(seed: int = seed, mutant: Mutant = mutant) -> None:
                signal.setitimer(signal.ITIMER_REAL, seconds_each)
                try:
                    with _memory_limit(memory_bytes), _processor_limit(), _allocation_limit(seed, mutant, bytes_per_byte, more_bytes):
                        attempt(mutant)
                finally:
                    signal.setitimer(signal.ITIMER_REAL, 0)

            error = _error_of(limited)
            if isinstance(error, MemoryError):  # what imports a module needs the memory only once
                error = _error_of(limited)
            if error is not None:
                failures.append(_failure(seed, error))
            if len(failures) >= most_failures:
                break
    return failures


def _error_of(call: Callable[[], None]) -> BaseException | None:
    """Return the error of a call, None if it succeeds or raises a HeadwayError."""
    try:
        call()
    except HeadwayError:
        pass
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # Rust's PanicException is no Exception
        return error
    return None


def _allocation_limit(seed: int, mutant: object, bytes_per_byte: float | None, more_bytes: int) -> AbstractContextManager[None]:
    """Return the limit of what a mutant may allocate."""
    if bytes_per_byte is None:
        return nullcontext()
    parts = mutant if isinstance(mutant, tuple) else (mutant,)
    most = bytes_per_byte * (more_bytes + sum(len(part) for part in parts if isinstance(part, bytes)))
    return _traced_limit(FREE_BYTES + most) if seed % COUNTED_EACH == 0 else _resident_limit(FREE_RESIDENT_BYTES + most)


@contextmanager
def _traced_limit(most_bytes: float) -> Iterator[None]:
    """Raise MemoryError if Python and NumPy allocate more than this at once."""
    tracemalloc.start(1)
    try:
        yield
    finally:
        allocated = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        _expect_at_most(allocated, most_bytes)


@contextmanager
def _resident_limit(most_bytes: float) -> Iterator[None]:
    """Raise MemoryError if the resident memory of the process grows by more than this at any time, where the system counts it (Linux)."""
    try:
        Path("/proc/self/clear_refs").write_text("5")  # the highest resident memory becomes the present one
        before = _highest_resident()
    except OSError:
        yield
        return
    try:
        yield
    finally:
        _expect_at_most(_highest_resident() - before, most_bytes)


def _highest_resident() -> int:
    """Return the bytes of VmHWM, the highest resident memory."""
    return int(Path("/proc/self/status").read_text().partition("VmHWM:")[2].split(maxsplit=1)[0]) * 1024


def _expect_at_most(allocated: int, most_bytes: float) -> None:
    if allocated > most_bytes:
        raise MemoryError(f"{allocated:,} bytes, expected at most {most_bytes:,.0f}")


@contextmanager
def _processor_limit() -> Iterator[None]:
    """Raise TimeLimitError after more than SECONDS of the processor."""
    start = time.process_time()
    try:
        yield
    finally:
        seconds = time.process_time() - start
        if seconds > SECONDS:
            raise TimeLimitError(f"{seconds:.1f} seconds of the processor")


def report(failures: Sequence[Failure]) -> str:
    """Return the failures as text for an assertion, one for each place in the source."""
    first_at = {failure.where: failure for failure in reversed(failures)}
    return f"{len(failures)} mutants raised something else than a HeadwayError:\n" + "\n".join(map(str, first_at.values()))


def _failure(seed: int, error: BaseException) -> Failure:
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if "/tests/fuzz/" not in frame.filename]
    own = [frame for frame in frames if "/headway/" in frame.filename] or frames
    where = f"{own[-1].filename}:{own[-1].lineno} in {own[-1].name}: {own[-1].line}" if own else "the attempt itself"
    return Failure(seed, f"{type(error).__name__}: {str(error)[:200]}", where)


@contextmanager
def _alarm() -> Iterator[None]:
    def expire(number: int, frame: FrameType | None) -> None:
        raise TimeLimitError("the time limit of one mutant")

    previous = signal.signal(signal.SIGALRM, expire)
    try:
        yield
    finally:
        signal.signal(signal.SIGALRM, previous)


@contextmanager
def _memory_limit(num_bytes: int) -> Iterator[None]:
    """Limit the address space to its present size and num_bytes more, where the system counts it (Linux)."""
    try:
        import resource

        with open("/proc/self/statm") as file:
            size = int(file.read().split()[0]) * resource.getpagesize()
    except (ImportError, OSError):
        yield
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    limit = size + num_bytes
    resource.setrlimit(resource.RLIMIT_AS, (limit if hard == resource.RLIM_INFINITY else min(limit, hard), hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def _span(rng: random.Random, data: bytes) -> tuple[int, int]:
    """Draw a chunk of the data: half of them short, and half of them in the first 1,000 bytes, where headers are."""
    first = rng.randrange(min(len(data), rng.choice((1_000, len(data)))) + 1 if data else 1)
    return first, min(len(data), first + rng.choice((1, 2, 4, 8, rng.randrange(len(data) + 1))))


def _flip_bits(rng: random.Random, data: bytes) -> bytes:
    first, _ = _span(rng, data)
    if first >= len(data):
        return data
    return data[:first] + bytes([data[first] ^ (1 << rng.randrange(8))]) + data[first + 1 :]


def _overwrite(rng: random.Random, data: bytes) -> bytes:
    first, last = _span(rng, data)
    last = min(last, first + 64)
    return data[:first] + rng.randbytes(last - first) + data[last:]


def _insert(rng: random.Random, data: bytes) -> bytes:
    first, _ = _span(rng, data)
    chunk = rng.choice(
        (rng.randbytes(rng.randrange(1, 9)), b"\0" * rng.randrange(1, 9), b"\xff" * rng.randrange(1, 9), b'"', b"{", b"[", b",", b"\n")
    )
    return data[:first] + chunk + data[first:]


def _delete(rng: random.Random, data: bytes) -> bytes:
    first, last = _span(rng, data)
    return data[:first] + data[last:]


def _duplicate(rng: random.Random, data: bytes) -> bytes:
    first, last = _span(rng, data)
    return data[:last] + data[first:last] * rng.choice((1, 1, 2, 16)) + data[last:]


def _truncate(rng: random.Random, data: bytes) -> bytes:
    return data[: _span(rng, data)[0]]


def _splice(rng: random.Random, data: bytes) -> bytes:
    """Copy one chunk over another place."""
    first, last = _span(rng, data)
    target, _ = _span(rng, data)
    return data[:target] + data[first:last] + data[target + last - first :]


def _set_integer(rng: random.Random, data: bytes) -> bytes:
    """Replace an aligned or unaligned binary integer, or a decimal number in text, by an edge value."""
    digits = [index for index, byte in enumerate(data[:100_000]) if 48 <= byte <= 57] if rng.random() < 0.5 else []
    if digits:
        first = last = rng.choice(digits)
        while first > 0 and 48 <= data[first - 1] <= 57:
            first -= 1
        while last < len(data) and 48 <= data[last] <= 57:
            last += 1
        number = rng.choice(["9" * 5_000, *(str(int(n)) for n in EDGE_NUMBERS if abs(n) < 2**70)])
        return data[:first] + number.encode() + data[last:]
    code, size = rng.choice((("<I", 4), ("<Q", 8), ("<H", 2), ("<B", 1), (">I", 4)))
    first, _ = _span(rng, data)
    first = first // size * size if rng.random() < 0.7 else first
    value = rng.choice((0, 1, 2, 127, 128, 255, 2 ** (8 * size - 1) - 1, 2 ** (8 * size - 1), 2 ** (8 * size) - 1, 10**9))
    return data[:first] + struct.pack(code, value % 2 ** (8 * size)) + data[first + size :]


_BYTE_EDITS = (_flip_bits, _overwrite, _insert, _delete, _duplicate, _truncate, _splice, _set_integer)


def _places(value: Json, path: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    """Return the paths of the value and of the values in it, at most the first 200 of each array or object."""
    paths = [path]
    children: list[tuple[str | int, Json]] = []
    if isinstance(value, dict):
        children = list(value.items())[:200]
    elif isinstance(value, list):
        children = list(enumerate(value[:200]))
    for key, child in children:
        paths += _places(child, (*path, key))
    return paths


def _edit_json(rng: random.Random, value: Json) -> Json:
    paths = _places(value)
    depth = rng.choice((1, 2, 100))
    path = rng.choice([path for path in paths if len(path) <= depth])
    if not path:
        return value if rng.random() < 0.8 else _replacement(rng, value, value)
    parent: Any = value
    for step in path[:-1]:
        parent = parent[step]
    key = path[-1]
    match rng.randrange(6):
        case 0:
            del parent[key]
        case 1 if isinstance(parent, dict):
            parent[rng.choice((*EDGE_STRINGS, *map(str, parent)))] = _replacement(rng, value, parent[key])
        case 1 if isinstance(parent, list):
            parent.insert(rng.randrange(len(parent) + 1), _replacement(rng, value, parent[key]))
        case 2:
            source: Json = value
            for step in rng.choice(paths):
                source = source[step]
            parent[key] = copy.deepcopy(source)
        case _:
            parent[key] = _replacement(rng, value, parent[key])
    return value


def _repeated(old: list[Json]) -> list[Json]:
    """Return the first element 1,000 times, or 10 times if it may be large: three edits are to leave a mutant of a few megabytes."""
    is_large = bool(old) and (isinstance(old[0], list | dict) or (isinstance(old[0], str) and len(old[0]) > 100))
    return old[:1] * (10 if is_large else 1_000)


def _replacement(rng: random.Random, root: Json, old: Json) -> Json:
    """Draw a value of any type; a number is often replaced by a number, and a string by a string."""
    if isinstance(old, int | float) and rng.random() < 0.5:
        return rng.choice(
            (*EDGE_NUMBERS, old + 1, old - 1, -old, old * 2, float(old), str(old), "@5,000 digits@", "@400 digits@", "@1e999@")
        )
    if isinstance(old, str) and rng.random() < 0.5:
        return rng.choice((*EDGE_STRINGS, old + "x", old[:-1], old.upper(), old * 2, "@lone surrogate@"))
    if isinstance(old, list) and rng.random() < 0.5:
        return rng.choice((old * 2, old[::-1], [old], _repeated(old), old[1:]))
    return rng.choice((None, True, False, rng.choice(EDGE_NUMBERS), rng.choice(EDGE_STRINGS), [], {}, [None], {"": []}, [[]], *LITERALS))
