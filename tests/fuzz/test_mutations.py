"""The fuzzing harness itself."""

from __future__ import annotations

import json
import mmap
import random
import re
import time
from pathlib import Path

import pytest

from headway.errors import CheckpointError
from tests.fuzz import mutations
from tests.fuzz.mutations import LITERALS, byte_mutants, json_mutants, json_text, mutate_bytes, mutate_json, run

SAMPLE = {"num_layers": 2, "names": ["a", "b"], "rope": {"theta": 1e4, "kind": "yarn"}, "tied": True, "none": None}


def test_a_seed_gives_the_same_mutant():
    assert list(json_mutants([SAMPLE], 50)) == list(json_mutants([SAMPLE], 50))
    assert list(byte_mutants([b"abc" * 20], 50))[30:31] == list(byte_mutants([b"abc" * 20], 1, first_seed=30))


def test_mutants_differ_from_the_sample_and_from_each_other():
    texts = [mutate_bytes(random.Random(seed), b"0123456789 abcdef" * 9) for seed in range(500)]
    assert len(set(texts)) > 400
    values = [json_text(mutate_json(random.Random(seed), SAMPLE)) for seed in range(500)]
    assert len(set(values)) > 250
    assert sum(value == json_text(SAMPLE) for value in values) < 150


def test_the_sample_stays_as_it_is():
    before = json.dumps(SAMPLE)
    for seed in range(200):
        mutate_json(random.Random(seed), SAMPLE)
    assert json.dumps(SAMPLE) == before


def test_empty_data_can_be_mutated():
    for seed in range(200):
        mutate_bytes(random.Random(seed), b"")
        mutate_json(random.Random(seed), {})


@pytest.mark.parametrize("name", LITERALS)
def test_every_literal_is_reached(name):
    assert any(LITERALS[name].encode() in text for _, text in json_mutants([SAMPLE], 3_000))


def test_run_collects_everything_but_headway_errors_and_hangs():
    class PanicError(BaseException):
        pass

    def attempt(kind: str) -> None:
        match kind:
            case "headway":
                raise CheckpointError("got a, expected b")
            case "panic":
                raise PanicError("panicked")
            case "key":
                raise KeyError("x")
            case "memory":
                bytearray(10**12)
            case "hang":
                while True:
                    time.sleep(0.001)

    failures = run(attempt, enumerate(("fine", "headway", "panic", "key", "memory", "fine")), seconds_each=600)
    failures += run(attempt, [(6, "hang")], seconds_each=0.1)
    assert [(failure.seed, failure.error.partition(":")[0]) for failure in failures] == [
        (2, "PanicError"),
        (3, "KeyError"),
        (4, "MemoryError"),
        (6, "TimeLimitError"),
    ]


def test_run_finds_what_allocates_more_than_its_share_and_what_takes_long(monkeypatch):
    def attempt(mutant: bytes) -> None:
        bytearray(5 * 2**19 * len(mutant))

    failures = run(attempt, [(0, b""), (10, b"a"), (20, b"ab")], seconds_each=600, bytes_per_byte=2**20)
    assert [failure.seed for failure in failures] == [20]
    assert re.fullmatch(r"MemoryError: 5,24\d,\d+ bytes, expected at most 4,194,304", failures[0].error)
    monkeypatch.setattr(mutations, "SECONDS", 0.0)
    assert "seconds of the processor" in run(attempt, [(0, b"a")], seconds_each=600)[0].error


@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="the system does not count the highest resident memory")
def test_run_finds_what_native_code_allocates():
    def attempt(mutant: bytes) -> None:
        # a mapping of its own, each page touched: the allocator may have as much in pages that the process already holds
        pages = max(1, 5 * 2**20 * len(mutant) // mmap.PAGESIZE)
        with mmap.mmap(-1, pages * mmap.PAGESIZE) as mapped:
            mapped[:: mmap.PAGESIZE] = b"x" * pages

    failures = run(attempt, [(1, b""), (2, b"a"), (3, b"abcd")], seconds_each=600, bytes_per_byte=2**20)
    assert [failure.seed for failure in failures] == [3]
    assert failures[0].error.endswith("expected at most 12,582,912")


def test_run_passes_a_keyboard_interrupt_through():
    def attempt(mutant: bytes) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(attempt, byte_mutants([b"abc"], 1), seconds_each=60)
