"""Packed weights kept in a file: used if every byte is as expected, otherwise packed again."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy
import pytest

from headway import memory_check
from headway.errors import NotFiniteError, ResourceError
from headway.functions import Packed
from headway.kernels.cpu import packed_file
from headway.kernels.cpu.packed_file import packed_weights
from headway.trees import leaves
from tests.fuzz.mutations import num_mutants
from tests.kernels.cpu.packed_models import MODELS
from tests.small_models import random_weights

ROOT = Path(__file__).resolve().parents[3]
MUTANTS = """
import sys
from pathlib import Path
from tests.kernels.cpu.mutants import try_mutants
try_mutants(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
"""
TOGETHER = """
import sys
from pathlib import Path
from platformdirs import user_cache_path
from headway.kernels.cpu.packed_file import packed_weights
from headway.kernels.cpu.runtime import Runtime
from headway.trees import leaves
from tests.fuzz.mutations import num_mutants
from tests.kernels.cpu.packed_models import MODELS
from tests.small_models import random_weights

packed = []
runtime = Runtime(1, user_cache_path("headway") / "compiled", lambda what, done, total: packed.append(done == total) if total else None)
tree = list(leaves(random_weights(*MODELS["qwen2"])))
packed_weights(Path(sys.argv[1]), "key", "int8", tree, runtime)
print(sum(packed))
"""


@pytest.fixture
def tree():
    return list(leaves(random_weights(*MODELS["qwen2"])))


def reading(runtime):
    """A runtime that must not pack."""

    def fail(what, done, total):
        raise AssertionError(what)

    return replace(runtime, progress=fail)


def read(packed):
    return {name: leaf.dense() if isinstance(leaf, Packed) else leaf.copy() for name, leaf in packed.items()}


def same(one, other):
    return one.keys() == other.keys() and all(numpy.array_equal(one[name], other[name]) for name in one)


@pytest.mark.parametrize("kind", ["float32", "bfloat16", "int8", "int4"])
def test_packed_weights_are_read_back_without_packing(runtime, tree, tmp_path, kind):
    path = tmp_path / "new folder" / "packed"
    first = read(packed_weights(path, "key", kind, tree, runtime))
    assert same(first, read(packed_weights(path, "key", kind, tree, reading(runtime))))
    assert same(first, read(packed_weights(None, "key", kind, tree, runtime)))
    assert [each.name for each in path.parent.iterdir()] == ["packed"]


def test_progress_reaches_its_end(runtime, tree, tmp_path):
    reports = []
    packed_weights(tmp_path / "packed", "key", "int8", tree, replace(runtime, progress=lambda *report: reports.append(report[1:])))
    assert reports[-1][0] == reports[-1][1]
    assert [done for done, _ in reports] == sorted(done for done, _ in reports)


def test_packing_of_a_large_model_is_announced(runtime, tree, tmp_path, monkeypatch):
    monkeypatch.setattr(packed_file, "LARGE", 0)
    reports = []
    packed_weights(tmp_path / "packed", "key", "int8", tree, replace(runtime, progress=lambda *report: reports.append(report)))
    assert reports[0] == ("packing weights", 0, sum(leaf.nbytes for _, leaf in tree))


def test_a_shared_matrix_is_stored_once(runtime, tmp_path):
    architecture, config = MODELS["gpt2"]
    packed = packed_weights(tmp_path / "packed", "key", "int8", list(leaves(random_weights(architecture, config))), runtime)
    assert packed["output_head"] is packed["token_embedding"]


def spoil(path, how):
    content = bytearray(path.read_bytes())
    match how:
        case "truncated":
            content = content[:-100]
        case "longer":
            content += bytes(64)
        case "cut in the header":
            content = content[:40]
        case "empty":
            content = bytearray()
        case "another version":
            content[7] = 99
        case "another description":
            content[20] ^= 1
        case "other checksums":
            content[45] ^= 1
        case "not zero after the header":
            content[4000] = 1
        case "one bit of the content":
            content[5000] ^= 16
        case "the last bit":
            content[-1] ^= 128
        case "two sign bits":
            content[8192 + 7] ^= 128
            content[8192 + 39] ^= 128
        case "a page of zeros":
            content[8192:12288] = bytes(4096)
        case "two pages exchanged":
            content[4096:8192], content[8192:12288] = content[8192:12288], content[4096:8192]
        case "format of version 2":
            content[:18] = b"HEADWAY\x02" + (2).to_bytes(8, "little") + b"[]"
    path.unlink()
    path.write_bytes(content)


@pytest.mark.parametrize(
    "how",
    [
        "truncated",
        "longer",
        "cut in the header",
        "empty",
        "another version",
        "another description",
        "other checksums",
        "not zero after the header",
        "one bit of the content",
        "the last bit",
        "two sign bits",
        "a page of zeros",
        "two pages exchanged",
        "format of version 2",
    ],
)
def test_a_damaged_file_is_replaced(runtime, tree, tmp_path, how):
    path = tmp_path / "packed"
    first = read(packed_weights(path, "key", "int8", tree, runtime))
    good = path.read_bytes()
    spoil(path, how)
    assert path.read_bytes() != good
    assert same(first, read(packed_weights(path, "key", "int8", tree, runtime)))
    assert path.read_bytes() == good
    assert same(first, read(packed_weights(path, "key", "int8", tree, reading(runtime))))


@pytest.mark.slow
def test_no_mutant_crashes_or_changes_a_weight(tmp_path):
    batch, count = 20_000, num_mutants(500)
    for first in range(0, count, batch):
        arguments = [tmp_path, first, min(first + batch, count)]
        run = subprocess.run([sys.executable, "-c", MUTANTS, *map(str, arguments)], capture_output=True, text=True, cwd=ROOT, check=False)
        assert run.returncode == 0, (first, run.returncode, run.stderr[-2000:])


def test_a_file_of_another_key_or_kind_is_replaced(runtime, tree, tmp_path):
    path = tmp_path / "packed"
    packed_weights(path, "one", "int8", tree, runtime)
    other = [(name, leaf + 1 if leaf.ndim == 1 else leaf) for name, leaf in tree]
    assert same(read(packed_weights(path, "two", "int8", other, runtime)), read(packed_weights(None, "", "int8", other, runtime)))
    assert packed_weights(path, "two", "int4", other, runtime)["output_head"].kind == "int4"


def test_a_file_of_other_shapes_is_replaced(runtime, tree, tmp_path):
    path = tmp_path / "packed"
    packed_weights(path, "key", "int8", tree, runtime)
    other = [(name, leaf[:-1] if name == "layers.0.feed_forward.up.weight" else leaf) for name, leaf in tree]
    assert same(read(packed_weights(path, "key", "int8", other, runtime)), read(packed_weights(None, "", "int8", other, runtime)))


def test_packing_that_fails_leaves_the_file_unchanged(runtime, tree, tmp_path):
    path = tmp_path / "packed"
    first = read(packed_weights(path, "key", "int8", tree, runtime))
    broken = [(name, numpy.full_like(leaf, numpy.nan) if name == "norm.weight" else leaf) for name, leaf in tree]
    with pytest.raises(NotFiniteError, match=r"norm\.weight"):
        packed_weights(path, "other", "int8", broken, runtime)
    assert same(first, read(packed_weights(path, "key", "int8", tree, reading(runtime))))
    assert [each.name for each in tmp_path.iterdir()] == ["packed"]


def test_without_space_or_permission_the_weights_are_packed_in_memory(runtime, tree, tmp_path, monkeypatch):
    expected, notes = read(packed_weights(None, "key", "int8", tree, runtime)), []
    runtime = replace(runtime, progress=lambda what, done, total: None if total else notes.append(what))
    (tmp_path / "a file").write_text("")
    assert same(expected, read(packed_weights(tmp_path / "a file" / "packed", "key", "int8", tree, runtime)))
    monkeypatch.setattr(packed_file.shutil, "disk_usage", lambda folder: type("Usage", (), {"free": 1000}))
    assert same(expected, read(packed_weights(tmp_path / "packed", "key", "int8", tree, runtime)))
    assert [each.name for each in tmp_path.iterdir()] == ["a file"]
    assert len(notes) == 2
    assert f"cannot be kept in {tmp_path / 'a file'}" in notes[0]
    assert f"cannot be kept in {tmp_path} (not enough space): every start packs them again" in notes[1]


def test_a_disk_that_fills_up_while_packing_is_no_error(runtime, tree, tmp_path, monkeypatch):
    def full(*arguments):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(packed_file, "_write_sections", full)
    expected = read(packed_weights(None, "key", "int8", tree, runtime))
    assert same(expected, read(packed_weights(tmp_path / "packed", "key", "int8", tree, replace(runtime, progress=lambda *_: None))))
    assert not list(tmp_path.iterdir())


def test_too_little_memory_is_reported_before_packing(runtime, tree, tmp_path, monkeypatch):
    (tmp_path / "meminfo").write_text("MemTotal: 99 kB\nMemAvailable: 17 kB\n")
    monkeypatch.setattr(memory_check, "MEMINFO", tmp_path / "meminfo")
    with pytest.raises(ResourceError, match=r"at most the 0\.0 GB that are available"):
        packed_weights(tmp_path / "packed", "key", "int8", tree, runtime)
    monkeypatch.setattr(memory_check, "MEMINFO", tmp_path / "none")
    packed_weights(tmp_path / "packed", "key", "int8", tree, runtime)


def test_an_interrupted_packing_leaves_nothing(runtime, tree, tmp_path):
    def interrupt(what, done, total):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        packed_weights(tmp_path / "packed", "key", "int8", tree, replace(runtime, progress=interrupt))
    assert not list(tmp_path.iterdir())


def test_files_of_killed_processes_are_removed(runtime, tree, tmp_path):
    (tmp_path / ".packed.12345.part").write_bytes(b"half a file")
    packed_weights(tmp_path / "packed", "key", "int8", tree, runtime)
    assert [each.name for each in tmp_path.iterdir()] == ["packed"]


def test_a_mapped_file_stays_intact_when_it_is_replaced(runtime, tree, tmp_path):
    path = tmp_path / "packed"
    packed_weights(path, "one", "int8", tree, runtime)
    held = packed_weights(path, "one", "int8", tree, reading(runtime))
    before = read(held)
    packed_weights(path, "two", "int8", [(name, leaf * 2) for name, leaf in tree], runtime)
    assert same(before, read(held))


@pytest.mark.skipif(os.name != "posix", reason="permissions are POSIX's")
def test_the_file_is_read_only(runtime, tree, tmp_path):
    packed_weights(tmp_path / "packed", "key", "int8", tree, runtime)
    assert (tmp_path / "packed").stat().st_mode & 0o222 == 0


@pytest.mark.skipif(sys.platform != "linux", reason="/proc is Linux's")
def test_a_dropped_mapping_is_released(runtime, tree, tmp_path):
    packed = packed_weights(tmp_path / "packed", "key", "int8", tree, runtime)
    maps = Path("/proc/self/maps")
    assert str(tmp_path / "packed") in maps.read_text()
    del packed
    assert str(tmp_path / "packed") not in maps.read_text()


@pytest.mark.slow
def test_of_processes_that_start_together_one_packs(tmp_path):
    processes = [
        subprocess.Popen([sys.executable, "-c", TOGETHER, str(tmp_path / "packed")], stdout=subprocess.PIPE, text=True, cwd=ROOT)
        for _ in range(3)
    ]
    counts = [process.communicate(timeout=600)[0].strip() for process in processes]
    assert sorted(counts) == ["0", "0", "1"]
    assert [each.name for each in tmp_path.iterdir()] == ["packed"]
