"""Stand-ins for what a confined process does not have: other processes, new folders, a debugger, and the installed package of a learner's file."""

from __future__ import annotations

import concurrent.futures
import errno
import multiprocessing
import os
import pdb
import queue
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from importlib import metadata
from multiprocessing import dummy
from types import ModuleType
from typing import Any

NO_VERSION = "0"
MOST_THREADS = 4
"""Largest number of threads of one pool."""

SAME = ("Process", "JoinableQueue", "Manager", "Lock", "RLock", "Semaphore", "Event", "Condition", "Barrier", "Pipe")
"""Names that multiprocessing and its version with threads share."""


def use_stand_ins() -> None:
    """Replace the pools, processes and queues of multiprocessing and concurrent.futures, os.mkdir, and breakpoints; a package that is not installed gets
    a version."""
    replaced = {name: getattr(dummy, name) for name in SAME} | {
        "Pool": _Pool,
        "Queue": _Queue,
        "get_context": _context,
        "set_start_method": _ignore,
    }
    vars(multiprocessing).update(replaced)
    vars(concurrent.futures)["ProcessPoolExecutor"] = _Executor
    vars(metadata)["version"] = partial(_version, metadata.version)
    vars(os)["mkdir"] = partial(_make_folder, os.mkdir)
    sys.breakpointhook = vars(pdb)["set_trace"] = _continue


def _make_folder(make: Callable[..., None], *arguments: Any, **named: Any) -> None:
    """Make a folder, or none in a place that cannot be written to, such as one for checkpoints next to a learner's file."""
    try:
        make(*arguments, **named)
    except OSError as error:
        if error.errno not in (errno.EROFS, errno.EACCES, errno.EPERM):
            raise


def _version(known: Callable[[str], str], name: str) -> str:
    try:
        return known(name)
    except metadata.PackageNotFoundError:
        return NO_VERSION


def _continue(*arguments: Any, **named: Any) -> None:
    """Go past a breakpoint."""


class _Pool:
    """A pool that calls functions where it is called."""

    def __init__(self, processes: int | None = None, initializer: Any = None, initargs: Iterable[Any] = (), *rest: Any, **named: Any):
        if initializer is not None:
            initializer(*initargs)

    def __enter__(self) -> _Pool:
        return self

    def __exit__(self, *raised: object) -> None:
        pass

    def apply(self, function: Callable[..., Any], args: Iterable[Any] = (), kwds: Mapping[str, Any] | None = None) -> Any:
        return function(*args, **(kwds or {}))

    def map(self, function: Callable[..., Any], items: Iterable[Any], *rest: Any, **named: Any) -> list[Any]:
        return [function(item) for item in items]

    def starmap(self, function: Callable[..., Any], items: Iterable[Iterable[Any]], *rest: Any, **named: Any) -> list[Any]:
        return [function(*item) for item in items]

    def imap(self, function: Callable[..., Any], items: Iterable[Any], *rest: Any, **named: Any) -> Iterator[Any]:
        return iter(self.map(function, items))

    imap_unordered = imap

    def apply_async(self, *arguments: Any, **named: Any) -> _Result:
        return _Result(self.apply(*arguments, **named))

    def map_async(self, *arguments: Any, **named: Any) -> _Result:
        return _Result(self.map(*arguments, **named))

    def starmap_async(self, *arguments: Any, **named: Any) -> _Result:
        return _Result(self.starmap(*arguments, **named))

    def _end(self) -> None:
        pass

    close = join = terminate = _end


class _Result:
    """A result that is there."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def get(self, timeout: float | None = None) -> Any:
        return self.value

    def wait(self, timeout: float | None = None) -> None:
        """Return at once."""

    def ready(self) -> bool:
        """Return True."""
        return True

    successful = ready


class _Queue(queue.Queue[Any]):
    """A queue with the methods that end one between processes."""

    def _end(self) -> None:
        pass

    close = join_thread = cancel_join_thread = _end


def _context(method: str | None = None) -> ModuleType:
    return multiprocessing


def _ignore(method: str | None, force: bool = False) -> None:
    pass


class _Executor(ThreadPoolExecutor):
    """A pool of threads that takes the arguments of one of processes."""

    def __init__(self, max_workers: int | None = None, mp_context: Any = None, *rest: Any, max_tasks_per_child: Any = None, **named: Any):
        super().__init__(min(max_workers or MOST_THREADS, MOST_THREADS), "", *rest, **named)
