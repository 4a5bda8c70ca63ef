"""The confined side: a server that imports the libraries once and runs each request of the judge in a confined child.

The server runs none of the learner's code. On Linux it is the first process of its own process tree, and its children are forks; on
other systems the judge starts one process for each request.
"""

from __future__ import annotations

import gc
import os
import pickle
import signal
import socket
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any, BinaryIO

import headway
from headway.practice.diagnosis.reading.deferring import defer_compiler
from headway.practice.judge import confinement
from headway.practice.judge.frames import read_frame, write_frame
from headway.practice.judge.jobs import Phase, Questions
from headway.practice.judge.stand_ins import use_stand_ins

MAX_REQUEST = 2**31
STARTED, ENDED, CLEAN = b"started", b"ended", b"clean"
LEAST_DESCRIPTOR = 512
"""Descriptors of the pipes of a child are at least this."""

MOST_LINKS = 500
"""Most entries of the working folder that are linked into the temporary one."""


def main() -> None:
    """Serve the judge's requests until it closes the connection."""
    gc.disable()  # imports leave little garbage, and looking for it takes a fifth of the import of torch
    if sys.platform == "linux":
        _serve(os.dup(0))
        return
    requests, replies = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    _detach()
    _import_checks()
    _preload((read_frame(requests, MAX_REQUEST) or b"").decode().split())
    phase: Phase = pickle.loads(read_frame(requests, MAX_REQUEST) or b"")
    _settle(phase.folder, phase.working)
    run = _prepared(phase.job)
    confinement.confine(phase.folder, None, set(), phase.seconds)
    write_frame(replies, STARTED)
    run(requests, replies)


def _serve(control: int) -> None:
    """Run one child for each request on a socket."""
    _detach()
    confinement.die_with_parent()
    _import_checks()
    requests, replies = os.fdopen(control, "rb", buffering=0), os.fdopen(os.dup(control), "wb", buffering=0)
    preloaded = (read_frame(requests, MAX_REQUEST) or b"").decode().split()
    isolated = confinement.isolate()
    if "processes" in isolated:
        first = os.fork()
        if first:
            os.waitpid(first, 0)
            os._exit(0)
        confinement.die_with_parent()
    confinement.adopt_orphans()
    confinement.hide_memory()
    _preload(preloaded)
    while data := read_frame(requests, MAX_REQUEST):
        phase: Phase = replace(pickle.loads(data), descriptors=_received_descriptors(control))
        child = os.fork()
        if child == 0:
            _run_and_end(phase, isolated)
        for descriptor in phase.descriptors or ():
            os.close(descriptor)
        _wait_for(child)
        write_frame(replies, ENDED)
        _end_all()
        write_frame(replies, CLEAN)


def _received_descriptors(control: int) -> tuple[int, int]:
    """Return the descriptors that follow a request on the control socket."""
    with socket.socket(fileno=os.dup(control)) as own:
        _, (requests, replies), _, _ = socket.recv_fds(own, 1, 2)
    return requests, replies


def _detach() -> None:
    """Connect stdin, stdout and stderr to the null device."""
    null = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(null, descriptor)
    os.close(null)


def _import_checks() -> None:
    """Import what every child needs of Headway; from then on no bytecode is written."""
    for name in ("headway.practice.judge.examining", "headway.practice.judge.answering"):
        import_module(name)
    sys.dont_write_bytecode = True
    os.environ["PYTHONDONTWRITEBYTECODE"] = "1"


def _preload(libraries: list[str]) -> None:
    """Import the array libraries that the file imports, so that every child has them; PyTorch without its compiler."""
    defer_compiler()
    for name in libraries:
        with suppress(Exception):
            import_module(name)
    gc.freeze()  # the children need not look through what is imported
    gc.enable()


def _prepared(job: Any) -> Callable[[BinaryIO, BinaryIO], None]:
    """Return the function that serves a job, with everything imported that it needs of Headway."""
    from headway.practice.judge import answering, examining

    own = getattr(job, "prepared", None)  # a job of another part, such as headway.look
    if own is not None:
        return own()
    return answering.prepared(job) if isinstance(job, Questions) else examining.prepared(job)


def _run_and_end(phase: Phase, isolated: set[str]) -> None:
    """Run a request in a fork and end the process."""
    status = 1
    try:
        os.setsid()
        confinement.show_memory()
        assert phase.descriptors is not None
        descriptors = _moved(phase.descriptors)
        _close_all_but(descriptors)
        _settle(phase.folder, phase.working)
        requests, replies = os.fdopen(descriptors[0], "rb"), os.fdopen(descriptors[1], "wb")
        run = _prepared(phase.job)
        hidden = Path(headway.__file__).parent if isinstance(phase.job, Questions) and not phase.job.is_open else None
        use_stand_ins()
        confinement.confine(phase.folder, hidden, isolated, phase.seconds)
        write_frame(replies, STARTED)
        run(requests, replies)
        status = 0
    finally:
        os._exit(status)


def _moved(descriptors: tuple[int, int]) -> tuple[int, int]:
    """Return copies of two descriptors that no guessed number is equal to: `open(4)` closes descriptor 4 in the end."""
    import fcntl

    first, second = (fcntl.fcntl(each, fcntl.F_DUPFD_CLOEXEC, LEAST_DESCRIPTOR) for each in descriptors)
    return first, second


def _close_all_but(kept: tuple[int, int]) -> None:
    for name in os.listdir("/proc/self/fd"):
        descriptor = int(name)
        if descriptor > 2 and descriptor not in kept:
            with suppress(OSError):
                os.close(descriptor)


def _settle(folder: Path, working: Path) -> None:
    """Make `folder` the home, temporary and working folder; files of the working folder are linked into it."""
    os.environ.update(dict.fromkeys(("HOME", "TMPDIR", "TEMP", "TMP", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "MPLCONFIGDIR"), str(folder)))
    tempfile.tempdir = None
    here = folder / "working"
    here.mkdir(exist_ok=True)
    sys.path.insert(0, str(working))
    with suppress(OSError):
        for entry in sorted(working.iterdir())[:MOST_LINKS]:
            (here / entry.name).symlink_to(entry)
    os.chdir(here)


def _wait_for(child: int) -> None:
    """Wait until a child has ended, and reap orphans meanwhile."""
    while True:
        with suppress(ChildProcessError):
            ended, _ = os.waitpid(-1, 0)
            if ended != child:
                continue
        return


def _end_all() -> None:
    """End every process that the children have left, and reap them."""
    is_first = os.getpid() == 1
    while True:
        with suppress(ProcessLookupError):
            if is_first:
                os.kill(-1, signal.SIGKILL)
        for process in [] if is_first else confinement.descendants(os.getpid()):
            with suppress(ProcessLookupError, PermissionError):
                os.kill(process, signal.SIGKILL)
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            return
        time.sleep(0.001)


if __name__ == "__main__":
    main()
