"""The compiled code and the threads that run it, as one thing to hand around."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from headway.kernels.cpu import native
from headway.kernels.cpu.progress import Progress, no_progress
from headway.kernels.cpu.team import Entry, Team, num_cores


@dataclass(frozen=True)
class Machine:
    """Compiled code, loaded where it is first needed, and a team of threads.

    num_threads  how many threads compute; one per physical core by default
    folder       where compiled code is kept; None keeps nothing
    progress         called with what takes time: see headway.kernels.cpu.progress
    """

    num_threads: int | None = None
    folder: Path | None = None
    progress: Progress = no_progress

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
        return native.load(name, self.folder, self.progress)
