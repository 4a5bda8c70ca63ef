"""Packed weights kept in a file: used where it is whole and the right one, packed anew in every other case."""

from __future__ import annotations

from dataclasses import replace

import numpy
import pytest

from headway.errors import NotFiniteError, ResourceError
from headway.kernels.cpu import memory_check, packed_file
from headway.kernels.cpu.packed_file import packed_weights
from headway.kernels.cpu.packing import unpack
from headway.trees import leaves
from tests.kernels.cpu.packed_models import MODELS
from tests.small_models import random_weights


@pytest.fixture
def tree():
    return list(leaves(random_weights(*MODELS["qwen2"])))


def never():
    raise AssertionError("packed again")
    yield


def read(packed):
    matrices = {name: unpack(matrix) for name, matrix in packed.matrices.items()}
    return matrices | {name: vector.copy() for name, vector in packed.vectors.items()}


def same(one, other):
    return one.keys() == other.keys() and all(numpy.array_equal(one[name], other[name]) for name in one)


@pytest.mark.parametrize("kind", ["float32", "bfloat16", "int8", "int4"])
def test_what_was_packed_is_read_back_without_a_look_at_the_checkpoint(runtime, tree, tmp_path, kind):
    path = tmp_path / "new folder" / "packed"
    first = read(packed_weights(path, "key", kind, tree, runtime))
    assert same(first, read(packed_weights(path, "key", kind, never(), runtime)))
    assert same(first, read(packed_weights(None, "key", kind, tree, runtime)))
    assert [each.name for each in path.parent.iterdir()] == ["packed"]


def test_progress_is_told_to_its_end(runtime, tree, tmp_path):
    said = []
    packed_weights(tmp_path / "packed", "key", "int8", tree, replace(runtime, progress=lambda *told: said.append(told[1:])))
    assert said[-1][0] == said[-1][1]
    assert [done for done, _ in said] == sorted(done for done, _ in said)


def test_a_shared_matrix_is_there_once(runtime, tmp_path):
    architecture, config = MODELS["gpt2"]
    packed = packed_weights(tmp_path / "packed", "key", "int8", list(leaves(random_weights(architecture, config))), runtime)
    assert packed.matrices["output_head"] is packed.matrices["token_embedding"]


def spoil(path, how):
    content = bytearray(path.read_bytes())
    match how:
        case "truncated":
            content = content[:-100]
        case "cut in the header":
            content = content[:40]
        case "empty":
            content = bytearray()
        case "another version":
            content[7] = 99
        case "no JSON":
            content[16:40] = b"\xff" * 24
        case "a header of absurd length":
            content[8:16] = b"\xff" * 8
    path.write_bytes(content)


@pytest.mark.parametrize("how", ["truncated", "cut in the header", "empty", "another version", "no JSON", "a header of absurd length"])
def test_a_file_that_is_not_whole_is_packed_anew(runtime, tree, tmp_path, how):
    path = tmp_path / "packed"
    first = read(packed_weights(path, "key", "int8", tree, runtime))
    spoil(path, how)
    assert same(first, read(packed_weights(path, "key", "int8", tree, runtime)))
    assert same(first, read(packed_weights(path, "key", "int8", never(), runtime)))


def test_a_file_of_another_key_or_kind_is_packed_anew(runtime, tree, tmp_path):
    path = tmp_path / "packed"
    packed_weights(path, "one", "int8", tree, runtime)
    other = [(name, leaf + 1 if leaf.ndim == 1 else leaf) for name, leaf in tree]
    assert same(read(packed_weights(path, "two", "int8", other, runtime)), read(packed_weights(None, "", "int8", other, runtime)))
    assert packed_weights(path, "two", "int4", other, runtime).kind == "int4"


def test_packing_that_fails_leaves_what_was_there(runtime, tree, tmp_path):
    path = tmp_path / "packed"
    first = read(packed_weights(path, "key", "int8", tree, runtime))
    broken = [(name, numpy.full_like(leaf, numpy.nan) if name == "norm.weight" else leaf) for name, leaf in tree]
    with pytest.raises(NotFiniteError, match=r"norm\.weight"):
        packed_weights(path, "other", "int8", broken, runtime)
    assert same(first, read(packed_weights(path, "key", "int8", never(), runtime)))
    assert [each.name for each in tmp_path.iterdir()] == ["packed"]


def test_without_room_or_permission_the_weights_are_packed_in_memory(runtime, tree, tmp_path, monkeypatch):
    expected, notes = read(packed_weights(None, "key", "int8", tree, runtime)), []
    runtime = replace(runtime, progress=lambda what, done, total: None if total else notes.append(what))
    (tmp_path / "a file").write_text("")
    assert same(expected, read(packed_weights(tmp_path / "a file" / "packed", "key", "int8", tree, runtime)))
    monkeypatch.setattr(packed_file.shutil, "disk_usage", lambda folder: type("Usage", (), {"free": 1000}))
    assert same(expected, read(packed_weights(tmp_path / "packed", "key", "int8", tree, runtime)))
    assert [each.name for each in tmp_path.iterdir()] == ["a file"]
    assert [f"for which {tmp_path / 'a file'} has no room" in notes[0], f"for which {tmp_path} has no room" in notes[1]] == [True, True]


def test_too_little_memory_is_said_before_anything_begins(runtime, tree, tmp_path, monkeypatch):
    (tmp_path / "meminfo").write_text("MemTotal: 99 kB\nMemAvailable: 17 kB\n")
    monkeypatch.setattr(memory_check, "MEMINFO", tmp_path / "meminfo")
    with pytest.raises(ResourceError, match=r"0\.0 GB of free memory"):
        packed_weights(tmp_path / "packed", "key", "int8", tree, runtime)
    monkeypatch.setattr(memory_check, "MEMINFO", tmp_path / "none")
    packed_weights(tmp_path / "packed", "key", "int8", tree, runtime)


def test_an_interrupted_packing_leaves_nothing(runtime, tree, tmp_path):
    def interrupt(what, done, total):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        packed_weights(tmp_path / "packed", "key", "int8", tree, replace(runtime, progress=interrupt))
    assert not list(tmp_path.iterdir())


def test_a_process_goes_on_with_a_file_that_another_replaces(runtime, tree, tmp_path):
    path = tmp_path / "packed"
    packed_weights(path, "one", "int8", tree, runtime)
    held = packed_weights(path, "one", "int8", never(), runtime)
    before = read(held)
    packed_weights(path, "two", "int8", [(name, leaf * 2) for name, leaf in tree], runtime)
    assert same(before, read(held))
