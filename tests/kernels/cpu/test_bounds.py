"""No read and no write out of bounds: every allocation ends at a page without permissions."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytestmark = pytest.mark.sampled(5)

GUARDED = '''
import ctypes, mmap, sys
import numpy
from headway.kernels.cpu import compiled_decoder, kv_cache, packing

libc, held = ctypes.CDLL(None, use_errno=True), []
libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]

def guarded(size):
    """Return zero bytes that end, rounded up to a cache line, at a page without permissions."""
    pages = -(-size // mmap.PAGESIZE) + 2
    memory = mmap.mmap(-1, pages * mmap.PAGESIZE)
    held.append(memory)
    array = numpy.frombuffer(memory, numpy.uint8)
    for page in (0, pages - 1):
        assert libc.mprotect(array.ctypes.data + page * mmap.PAGESIZE, mmap.PAGESIZE, 0) == 0
    end = (pages - 1) * mmap.PAGESIZE
    start = end - (-(-size // 64) * 64)
    return array[start : start + size]

for module in (compiled_decoder, kv_cache, packing):
    module.aligned_zeros = guarded

from platformdirs import user_cache_path
from headway.kernels.cpu import packed_file
from headway.kernels.cpu.runtime import Runtime
from tests.kernels.cpu.packed_models import MODELS, Texts, model, prompts

packed_file.aligned_zeros = guarded
runtime = Runtime(3, user_cache_path("headway") / "compiled")
for name in (*MODELS, "gemma2", "olmo2", "phi3", "qwen3_moe"):  # the last have buffers and tables of their own
    for cache_kind in ("float32", "bfloat16", "int16", "int8"):
        mine = model(name, sys.argv[1], runtime, cache_kind=cache_kind)
        for lengths in ((1,), (31, 1, 7), (140, 600)):
            for num_pages in range(1, 9):
                mine.decoder.allocate(num_pages)  # one at a time, so that the end of each is guarded
            texts = Texts(mine.decoder, len(lengths), num_pages=8)
            texts.read(prompts(*lengths))
            texts.read([[1]] * len(lengths))
        mine.decoder.hidden_states(prompts(33)[0])
print("whole")
'''
TOUCHES = GUARDED.split("from platformdirs")[0] + "array = guarded(100)\nctypes.memset(array.ctypes.data + 128, 0, 1)\nprint('whole')"


@pytest.mark.skipif(sys.platform == "win32", reason="this system has no mprotect")
@pytest.mark.parametrize("kind", ["float32", "bfloat16", "int8", "int4"])
def test_no_access_is_out_of_bounds(kind):
    run = subprocess.run([sys.executable, "-c", GUARDED, kind], capture_output=True, text=True, check=False)
    assert run.stdout == "whole\n", run.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="this system has no mprotect")
def test_the_guard_catches_an_access():
    assert subprocess.run([sys.executable, "-c", TOUCHES], capture_output=True, text=True, check=False).returncode < 0
