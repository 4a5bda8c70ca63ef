"""Corrupt state files: each one raises a HeadwayError."""

from __future__ import annotations

import json
import random
import struct
from pathlib import Path

import pytest

from headway.errors import HeadwayError, TrainingError
from headway.train.loop import Run
from headway.train.run import Data, start
from headway.train.state import load_state, read_progress
from tests.train.test_run import OPTIONS, TEXT

VALUES = (
    None, True, -1, 0, 2**53, 10**19, 10**400, 1e308, float("nan"), float("inf"), "", "12", "\ud800", [], {}, [[]], [1], [[1, 2, 3]],
    {"step": 1}, [{"step": "1", "loss": 1, "validation_loss": 1, "seconds": 1}], [None], [["1", 2.0]], [[1, "2"]],
)  # fmt: skip
"""JSON values to insert."""


@pytest.fixture(scope="module")
def run(tmp_path_factory) -> Run:
    folder = tmp_path_factory.mktemp("state")
    (folder / "text.txt").write_text(TEXT)
    run = start(folder / "out", OPTIONS, Data(files=[folder / "text.txt"], tokenizer="bytes"))
    run.train(lambda progress: None, should_stop=lambda: run.step == 5)
    return run


def split(content: bytes) -> tuple[dict, bytes]:
    """Return the header and the tensors of a safetensors file."""
    (size,) = struct.unpack("<Q", content[:8])
    return json.loads(content[8 : 8 + size]), content[8 + size :]


def joined(header: object, tensors: bytes) -> bytes:
    text = header if isinstance(header, bytes) else json.dumps(header).encode("utf-8", "surrogatepass")
    return struct.pack("<Q", len(text)) + text + tensors


def places(value: object, path: tuple = ()) -> list[tuple]:
    """Return the path of every value inside a JSON value."""
    children = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(place for key, child in children for place in places(child, (*path, key)))]


def replaced(value: object, path: tuple, by: object) -> object:
    if not path:
        return by
    copy = dict(value) if isinstance(value, dict) else list(value)
    if by is ... and len(path) == 1:
        del copy[path[0]]
    else:
        copy[path[0]] = replaced(copy[path[0]], path[1:], by)
    return copy


def mutated(content: bytes, rng: random.Random) -> bytes:
    """Return a state file with changed bytes, a changed header, or changed progress."""
    header, tensors = split(content)
    kind = rng.randrange(4)
    if kind == 0:  # bytes, mostly of the header
        changed = bytearray(content)
        for _ in range(rng.randint(1, 8)):
            changed[rng.randrange(rng.choice((len(content), len(content) - len(tensors))))] = rng.randrange(256)
        return bytes(changed[: rng.choice((len(changed), rng.randrange(len(changed))))])
    if kind == 1:  # the header's values
        path = rng.choice(places(header)[1:])
        return joined(replaced(header, path, rng.choice((*VALUES, ..., "F16", "I64", "BOOL", "F8_E4M3", [7, 3]))), tensors)
    progress = json.loads(header["__metadata__"]["progress"])
    if kind == 2:  # values of the progress
        path = rng.choice(places(progress))
        text = json.dumps(replaced(progress, path, rng.choice((*VALUES, *((...,) if path else ())))))
    else:  # the text of the progress
        text = list(json.dumps(progress))
        for _ in range(rng.randint(1, 4)):
            text[rng.randrange(len(text))] = rng.choice(
                ("", "[" * rng.choice((1, 5000)), "9" * rng.choice((1, 400)), "{", "}", '"', "\\", "x")
            )
        text = "".join(text)
    return joined(replaced(header, ("__metadata__", "progress"), text), tensors)


def read(run: Run, path: Path, content: bytes) -> None:
    path.write_bytes(content)
    try:
        read_progress(path)
        load_state(path, run.model, run.optimizer)
    except HeadwayError:
        pass


def test_a_state_that_is_corrupt_in_any_way_is_a_headway_error(run, tmp_path):
    content, rng = run.state_path.read_bytes(), random.Random(0)
    for _ in range(300):
        read(run, tmp_path / "state.safetensors", mutated(content, rng))


@pytest.mark.parametrize(
    ("progress", "message"),
    [
        ({"seconds": 1.0}, "a step that is not an integer of at least 0"),
        ({"step": 5}, "a number that is missing"),
        ({"step": -5, "seconds": 1.0}, "a step that is not"),
        ({"step": 5, "seconds": 1.0, "curve": {}}, "a dict instead of a list"),
        ({"step": 5, "seconds": 1.0, "curve": [{"step": 5}]}, "a point of the curve without"),
        ({"step": 5, "seconds": 1.0, "losses": [[5]]}, "an entry of losses that is not"),
        ({"step": 5, "seconds": 1.0, "recent": [float("nan")]}, "a number that is missing, not finite"),
    ],
)
def test_progress_that_is_invalid_is_named(run, tmp_path, progress, message):
    header, tensors = split(run.state_path.read_bytes())
    path = tmp_path / "state.safetensors"
    path.write_bytes(joined(replaced(header, ("__metadata__", "progress"), json.dumps(progress)), tensors))
    with pytest.raises(TrainingError, match=f"with invalid progress \\({message}"):
        read_progress(path)


def test_progress_nested_too_deeply_is_an_error(run, tmp_path):
    header, tensors = split(run.state_path.read_bytes())
    path = tmp_path / "state.safetensors"
    path.write_bytes(joined(replaced(header, ("__metadata__", "progress"), '{"curve": ' + "[" * 100_000), tensors))
    with pytest.raises(TrainingError, match="nested too deeply") as error:
        read_progress(path)
    assert error.value.hint == "start a new run"


def test_tensors_of_another_dtype_are_an_error(run, tmp_path):
    header, tensors = split(run.state_path.read_bytes())
    name = next(name for name in header if name.startswith("exp_avg."))
    changed = replaced(header, (name, "dtype"), "I32")  # the same number of bytes as F32
    path = tmp_path / "state.safetensors"
    path.write_bytes(joined(changed, tensors))
    with pytest.raises(TrainingError, match=r"of dtype torch\.int32, expected .* of dtype torch\.float32"):
        load_state(path, run.model, run.optimizer)
