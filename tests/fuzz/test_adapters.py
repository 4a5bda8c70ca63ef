"""Mutants of LoRA folders: the config, the tensors, and the header of the tensors."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest

from headway.checkpoints import load_checkpoint, with_adapter
from tests.checkpoints.test_lora import DOWN, QUERY, write_adapter
from tests.fuzz.models import write_model
from tests.fuzz.mutations import BYTES_PER_BYTE, byte_mutants, json_mutants, num_mutants, report, run


def header_mutants(content: bytes, count: int) -> Iterator[tuple[int, bytes]]:
    """Mutants of a safetensors file whose header is edited as JSON."""
    size = int.from_bytes(content[:8], "little")
    for seed, header in json_mutants([json.loads(content[8 : 8 + size])], count):
        yield seed, len(header).to_bytes(8, "little") + header + content[8 + size :]


@pytest.mark.parametrize("part", ["config", "tensors", "header"])
def test_adapters(tmp_path, part):
    base = load_checkpoint(write_model(tmp_path / "base", "llama"))
    adapter = write_adapter(tmp_path / "adapter", {QUERY: (8, 8), DOWN: (8, 5)})
    path: Path = adapter / ("adapter_config.json" if part == "config" else "adapter_model.safetensors")
    sound, count = path.read_bytes(), num_mutants(200)
    mutants = {
        "config": json_mutants([json.loads((adapter / "adapter_config.json").read_text())], count),
        "tensors": byte_mutants([sound], count),
        "header": header_mutants((adapter / "adapter_model.safetensors").read_bytes(), count),
    }[part]

    def attempt(mutant: bytes) -> None:
        path.write_bytes(mutant)
        with_adapter(base, adapter)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # overflow in absurd scales
        failures = run(attempt, mutants, seconds_each=120, memory_bytes=128 * 2**20, bytes_per_byte=BYTES_PER_BYTE)
    assert not failures, report(failures)
