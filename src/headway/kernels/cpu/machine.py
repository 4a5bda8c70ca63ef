"""The compiled code and the threads that run it, as one thing to hand around."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from headway.kernels.cpu import native
from headway.kernels.cpu.team import Entry, Team, num_cores
from headway.kernels.cpu.telling import Tell, silent


@dataclass(frozen=True)
class Machine:
    """Compiled code, loaded where it is first needed, and a team of threads.

    num_threads  how many threads compute; one per physical core by default
    folder       where compiled code is kept; None keeps nothing
    tell         called with what takes time: see telling
    """

    num_threads: int | None = None
    folder: Path | None = None
    tell: Tell = silent

    @cached_property
    def team(self) -> Team:
        """The threads."""
        return Team(num_cores() if self.num_threads is None else self.num_threads, self._entry("memory.watch"))

    @cached_property
    def run(self) -> Entry:
        """A whole pass."""
        return self._entry("decoder.run")

    @cached_property
    def pack(self) -> Entry:
        """Packing a matrix."""
        return self._entry("packer.run")

    def _entry(self, name: str) -> Entry:
        return native.load(name, self.folder, self.tell)
