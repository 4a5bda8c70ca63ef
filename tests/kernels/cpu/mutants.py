"""Mutants of a packed file: opened in a process of their own, because a bad one could crash it."""

from __future__ import annotations

import random
from pathlib import Path

from platformdirs import user_cache_path

from headway.kernels.cpu import packed_file
from headway.kernels.cpu.packed_file import packed_weights
from headway.kernels.cpu.runtime import Runtime
from headway.trees import leaves
from tests.kernels.cpu.packed_models import MODELS
from tests.small_models import random_weights


def mutate(content: bytes, seed: int) -> bytes:
    """Change a file in one of eight ways, most often in its header or near its ends."""
    chance, mutant = random.Random(seed), bytearray(content)
    size = len(mutant)
    start = chance.choice([chance.randrange(80), chance.randrange(4096), chance.randrange(size), size - 1 - chance.randrange(64)])
    length = min(chance.choice([1, 2, 4, 8, 64, 4096]), size - start)
    match seed % 8:
        case 0:
            mutant[start] ^= 1 << chance.randrange(8)
        case 1:
            mutant[start : start + length] = chance.randbytes(length)
        case 2:
            mutant[start : start + length] = bytes(length)
        case 3:
            del mutant[start:]
        case 4:
            mutant += chance.randbytes(length)
        case 5:
            del mutant[start : start + length]
        case 6:
            mutant[start:start] = chance.randbytes(length)
        case 7:
            number = chance.choice([-8, -1, 0, 2**31, 2**63 - 1, size - 1, size + 1])
            mutant[start : start + 8] = (number % 2**64).to_bytes(8, "little")
    return bytes(mutant)


def try_mutants(folder: Path, first: int, last: int) -> None:
    """Open mutants `first` to `last`; raise AssertionError if one changes a weight, or, of each hundredth, if it is not replaced."""
    tree, runtime = list(leaves(random_weights(*MODELS["qwen2"]))), Runtime(1, user_cache_path("headway") / "compiled")
    path = folder / f"mutants-{first}"
    packed_weights(path, "key", "int8", tree, runtime)
    good, sections = path.read_bytes(), packed_file._sections("key", "int8", tree)
    expected = _numbers(packed_weights(path, "key", "int8", tree, runtime))
    for seed in range(first, last):
        path.unlink()
        path.write_bytes(mutate(good, seed))
        read = packed_file._read(path, sections, runtime)
        assert read is None or _numbers(read) == expected, seed
        if seed % 100 == 0:
            assert _numbers(packed_weights(path, "key", "int8", tree, runtime)) == expected, seed
            assert path.read_bytes() == good, seed


def _numbers(packed) -> dict[str, bytes]:
    return {path: array.tobytes() for path, array in leaves(tuple(packed.values()))}
