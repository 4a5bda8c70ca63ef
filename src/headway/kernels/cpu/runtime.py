"""The compiled code and the threads that run it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from headway.kernels.cpu import native
from headway.kernels.cpu.progress import Progress, log_progress
from headway.kernels.cpu.thread_pool import Entry, ThreadPool, check_num_threads, num_cores

ENTRIES = ("memory.wait_for_change", "checksum.run", "packer.run", "forward_pass.run")


@dataclass(frozen=True)
class Runtime:
    """Compiled code, loaded when it is first needed, and a pool of threads.

    num_threads  number of threads that compute; one per physical core by default
    folder       folder in which compiled code is kept; None keeps nothing
    progress     called with what takes time: see headway.kernels.cpu.progress

    Errors   OptionError for a number of threads out of its range.
    """

    num_threads: int | None = None
    folder: Path | None = None
    progress: Progress = log_progress

    def __post_init__(self) -> None:
        if self.num_threads is not None:
            check_num_threads(self.num_threads)

    @cached_property
    def pool(self) -> ThreadPool:
        """The threads."""
        return ThreadPool(num_cores() if self.num_threads is None else self.num_threads, self._entries["memory.wait_for_change"])

    @property
    def checksum(self) -> Entry:
        """The checksums of the content of a packed file."""
        return self._entries["checksum.run"]

    @property
    def pack(self) -> Entry:
        """Packing of one matrix."""
        return self._entries["packer.run"]

    @property
    def forward_pass(self) -> Entry:
        """A pass of a decoder."""
        return self._entries["forward_pass.run"]

    @cached_property
    def encoder_pass(self) -> Entry:
        """A pass of an encoder. It is compiled separately, because most processes do not need it."""
        return native.load(["encoder_pass.run"], self.folder, self.progress)["encoder_pass.run"]

    @cached_property
    def _entries(self) -> dict[str, Entry]:
        return native.load(ENTRIES, self.folder, self.progress)
