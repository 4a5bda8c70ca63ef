"""Checksums of packed weights at the speed of memory: every thread runs `run`.

The content is cut into chunks. The checksum of a chunk has 64 bits: four states take the words in turn, and each step

    state = (state xor word) · MULTIPLIER;  state = state xor (state >> 29)

is a bijection of the state and of the word. A change within one word is therefore always found, and any other accidental change is
missed with a probability of about 2⁻⁶⁴. The checksums protect against damaged files, not against forged ones.
"""

from __future__ import annotations

from typing import Any

import numpy

from headway.kernels.cpu import layout
from headway.kernels.cpu.memory import barrier, compiled, fetch_and_add, int64_view, uint64_view

U = numpy.uint64
MULTIPLIER = U(0x9E3779B97F4A7C15)
"""An odd number, 2⁶⁴ divided by the golden ratio."""
SHIFT = U(29)


@compiled
def _mix(state: Any, word: Any) -> Any:
    state = (state ^ word) * MULTIPLIER
    return state ^ (state >> SHIFT)


@compiled
def _chunk_checksum(address: int, num_words: int) -> Any:
    """Return the checksum of a chunk; num_words is a multiple of 4."""
    words = uint64_view(address, num_words)
    a, b, c, d = U(1), U(2), U(3), U(4)
    for i in range(0, num_words, 4):
        a, b = _mix(a, words[i]), _mix(b, words[i + 1])
        c, d = _mix(c, words[i + 2]), _mix(d, words[i + 3])
    return _mix(_mix(_mix(a, b), c), d)


@compiled
def run(job_address: int, thread: int) -> int:
    """Compute one thread's share of the checksums."""
    job = int64_view(job_address, layout.CHECKSUM_SIZE)
    size = job[layout.CONTENT_SIZE]
    num_chunks = (size + layout.CHUNK_BYTES - 1) // layout.CHUNK_BYTES
    checksums = uint64_view(job[layout.CHECKSUMS], num_chunks)
    chunk = fetch_and_add(job[layout.CHUNK_COUNTER])
    while chunk < num_chunks:
        start = chunk * layout.CHUNK_BYTES
        checksums[chunk] = _chunk_checksum(job[layout.CONTENT] + start, min(layout.CHUNK_BYTES, size - start) // 8)
        chunk = fetch_and_add(job[layout.CHUNK_COUNTER])
    num_barriers = barrier(job, job[layout.NUM_BARRIERS])
    if thread == 0:
        job[layout.NUM_BARRIERS] = num_barriers
    return 0
