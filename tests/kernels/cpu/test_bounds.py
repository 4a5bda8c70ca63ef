"""No read and no write out of bounds: all memory is between pages without permissions."""

from __future__ import annotations

import subprocess
import sys

import pytest

from headway.kernels.cpu import instructions
from tests.kernels.cpu.packed_encoders import KINDS

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="this system has no mprotect")

GUARDED = """
import sys
from platformdirs import user_cache_path
from tests.kernels.cpu.emulation import compile_for

kind, *instructions = sys.argv[1:]
if instructions:
    compile_for(*instructions)

from headway.kernels.cpu.runtime import Runtime
from tests.kernels.cpu import packed_encoders
from tests.kernels.cpu.guard_pages import Guard, install
from tests.kernels.cpu.packed_models import MODELS, Texts, model, prompts

guard, folder = Guard(), None if instructions else user_cache_path("headway") / "compiled"
install(guard)
one, several = (Runtime(num_threads, folder) for num_threads in (1, 3))
"""
USES = (
    GUARDED
    + """
def use_decoder(name, cache_kind, runtime):
    mine = model(name, kind, runtime, cache_kind=cache_kind, place=guard.weight)
    for lengths in ((1,), (31, 1, 7), (140, 600)):
        for num_pages in range(1, 9):
            mine.decoder.allocate(num_pages)  # one at a time, so that the end of each is guarded
        texts = Texts(mine.decoder, len(lengths), num_pages=8)
        texts.read(prompts(*lengths))
        texts.read([[1]] * len(lengths))
    mine.decoder.hidden_states(prompts(33)[0])

def use_encoder(name, runtime):
    mine = packed_encoders.encoder(name, kind, runtime, place=guard.weight).compiled
    for lengths in ((1,), (23,), (24,), (25,), (5, 1, 66), (40,) * 7, (190,) * 6):
        mine.encode(packed_encoders.texts(*lengths))

"""
)
DECODERS = (
    USES
    + """
for guard.is_before in (False, True):
    for name in (*MODELS, "gemma2", "olmo2", "phi3", "qwen3_moe"):  # the last have buffers and tables of their own
        for cache_kind, runtime in (("float32", one), ("bfloat16", several), ("int16", several), ("int8", one)):
            use_decoder(name, cache_kind, runtime)
print("whole")
"""
)
ENCODERS = (
    USES
    + """
for guard.is_before in (False, True):
    for name in packed_encoders.ENCODERS:
        for runtime in (one, several):
            use_encoder(name, runtime)
print("whole")
"""
)
ONE_OF_EACH = (
    USES
    + """
use_decoder("llama with odd sizes and a window", "int16", one)
use_encoder("bert with odd sizes", one)
print("whole")
"""
)


def run(program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", program, *arguments], capture_output=True, text=True, check=False)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["float32", "bfloat16", "int8", "int4"])
def test_a_decoder_has_no_access_out_of_bounds(kind):
    ended = run(DECODERS, kind)
    assert ended.stdout == "whole\n", ended.stderr


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_an_encoder_has_no_access_out_of_bounds(kind):
    ended = run(ENCODERS, kind)
    assert ended.stdout == "whole\n", ended.stderr


@pytest.mark.slow
@pytest.mark.skipif(
    instructions.detect().name not in ("avx512bf16", "avx512vnni", "avxvnni"), reason="needs a processor with AVX2 and more"
)
def test_tiles_of_int16_on_avx2_have_no_access_out_of_bounds():
    ended = run(ONE_OF_EACH, "int8", "avx2")
    assert ended.stdout == "whole\n", ended.stderr


@pytest.mark.parametrize(("is_before", "index"), [(False, 128), (True, -1)])
def test_the_guard_catches_an_access(is_before, index):
    access = f"guard.is_before = {is_before}\nctypes.memset(guard.zeros(100).ctypes.data + {index}, 0, 1)"
    ended = run(f"{GUARDED}\nimport ctypes\n{access}\nprint('whole')", "int8")
    assert ended.returncode < 0, ended.stderr
