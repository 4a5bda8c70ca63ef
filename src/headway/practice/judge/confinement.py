"""Limits on the process that runs a learner's code, as far as the system has them.

Everything here is an additional layer: a verdict is safe without it, because the judge compares the answers itself. On Linux the
process gets its own process tree, no network, and files that it can read but not change; other systems have limits on time only.
"""

from __future__ import annotations

import ctypes
import os
import struct
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

MEMORY_BYTES = 3 * 2**30
"""Limit on the resident memory of all processes together; libraries such as torch use several hundred MB on their own."""

ADDRESS_BYTES = 64 * 2**30
"""Limit on address space; libraries map far more than they use."""

FILE_BYTES = 512 * 2**20
MAX_FILES = 1024
MAX_NEW_PROCESSES = 256

NEW_FILES, NEW_IPC, NEW_USER, NEW_PROCESSES, NEW_NETWORK = 0x00020000, 0x08000000, 0x10000000, 0x20000000, 0x40000000
"""Flags of unshare: CLONE_NEWNS, CLONE_NEWIPC, CLONE_NEWUSER, CLONE_NEWPID, CLONE_NEWNET."""

READ_SEARCH_CAPABILITY = 2
"""CAP_DAC_READ_SEARCH, which root keeps: a grader may run as root on files of other users."""

DEVICES = ("null", "zero", "full", "random", "urandom", "tty", "nvidia", "kfd", "dri")
"""Beginnings of the names in /dev that may be opened for writing."""


def call(name: str, *arguments: object) -> bool:
    """Call a function of the C library; return False if it fails or does not exist."""
    try:
        return int(getattr(ctypes.CDLL(None, use_errno=True), name)(*arguments)) >= 0
    except (AttributeError, OSError, TypeError):
        return False


def isolate() -> set[str]:
    """Move this process out of the system's process tree and network; return what was possible.

    With "processes", the next child is the first process of a tree that ends with it. Call this before any thread starts.
    """
    if sys.platform != "linux":
        return set()
    user, group = os.getuid(), os.getgid()
    if user == 0:
        flags = [NEW_PROCESSES | NEW_NETWORK | NEW_IPC]
    else:
        flags = [NEW_USER | NEW_PROCESSES | NEW_NETWORK | NEW_IPC, NEW_USER | NEW_PROCESSES | NEW_NETWORK, NEW_USER | NEW_NETWORK]
    for each in flags:
        if not call("unshare", ctypes.c_int(each)):
            continue
        with suppress(OSError):
            if each & NEW_USER:
                Path("/proc/self/setgroups").write_text("deny")
                Path("/proc/self/uid_map").write_text(f"{user} {user} 1")
                Path("/proc/self/gid_map").write_text(f"{group} {group} 1")
        named = {"processes": NEW_PROCESSES, "network": NEW_NETWORK}
        return {name for name, flag in named.items() if each & flag}
    return set()


def die_with_parent() -> None:
    """End this process when its parent ends."""
    call("prctl", 1, 9, 0, 0, 0)  # PR_SET_PDEATHSIG, SIGKILL


def adopt_orphans() -> None:
    """Become the parent of orphaned descendants, so that they can be found and ended."""
    call("prctl", 36, 1, 0, 0, 0)  # PR_SET_CHILD_SUBREAPER


def hide_memory() -> None:
    """Let no other process of the same user read or change this process's memory."""
    call("prctl", 4, 0, 0, 0, 0)  # PR_SET_DUMPABLE


def show_memory() -> None:
    """Undo `hide_memory`: libraries read their own process's maps."""
    call("prctl", 4, 1, 0, 0, 0)


def confine(writable: Path, hidden: Path | None, isolated: set[str], cpu_seconds: float) -> set[str]:
    """Confine this process for good; return the layers that hold.

    writable   the one folder in which files may be changed
    hidden     a folder of Python files that may not be read from now on
    isolated   as returned by `isolate`
    """
    held = set(isolated)
    _limit_resources(cpu_seconds)
    if sys.platform != "linux":
        return held
    if _mount_read_only(writable):
        held.add("mounts")
    call("prctl", 38, 1, 0, 0, 0)  # PR_SET_NO_NEW_PRIVS
    _drop_capabilities()
    if _restrict_files(writable, hidden):
        held.add("landlock")
    return held


def _limit_resources(cpu_seconds: float) -> None:
    try:
        import resource
    except ImportError:  # Windows
        return
    seconds = int(cpu_seconds) + 5
    limits = [
        (resource.RLIMIT_AS, ADDRESS_BYTES),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_FSIZE, FILE_BYTES),
        (resource.RLIMIT_NOFILE, MAX_FILES),
        (resource.RLIMIT_CPU, seconds),
    ]
    if sys.platform == "linux":
        limits.append((resource.RLIMIT_NPROC, _num_threads_of_user() + MAX_NEW_PROCESSES))
    for kind, limit in limits:
        _, most = resource.getrlimit(kind)
        within = limit if most == resource.RLIM_INFINITY else min(limit, most)
        with suppress(ValueError, OSError):
            resource.setrlimit(kind, (within, within))


def _num_threads_of_user() -> int:
    """Return the number of threads of this user, to which RLIMIT_NPROC applies."""
    count = 0
    for entry in _entries("/proc"):
        with suppress(OSError):
            if entry.isdigit() and os.stat(f"/proc/{entry}").st_uid == os.getuid():
                count += len(os.listdir(f"/proc/{entry}/task"))
    return count


def _entries(folder: str) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []


def _mount_read_only(writable: Path) -> bool:
    """Make every mount read-only except one folder, in a mount namespace of this process's own."""
    if not call("unshare", ctypes.c_int(NEW_FILES)):
        return False
    folder, nothing = str(writable).encode(), ctypes.c_void_p(None)
    recursive, private, bind = 0x4000, 0x40000, 0x1000
    if not call("mount", b"none", b"/", nothing, ctypes.c_ulong(recursive | private), nothing):
        return False
    if not call("mount", folder, folder, nothing, ctypes.c_ulong(bind), nothing):
        return False
    read_only = struct.pack("<QQQQ", 1, 0, 0, 0)  # MOUNT_ATTR_RDONLY
    writing = struct.pack("<QQQQ", 0, 1, 0, 0)
    at_recursive = 0x8000
    if not (_mount_setattr(b"/", at_recursive, read_only) and _mount_setattr(folder, 0, writing)):
        return False
    os.chdir(os.getcwd())  # by way of the new mount
    return True


def _mount_setattr(path: bytes, flags: int, attributes: bytes) -> bool:
    return call("syscall", ctypes.c_long(442), ctypes.c_int(-100), path, ctypes.c_uint(flags), attributes, ctypes.c_size_t(32))


def _drop_capabilities() -> None:
    """Give up all capabilities, and the means to regain them; root keeps reading of other users' files."""
    kept = {READ_SEARCH_CAPABILITY} if os.getuid() == 0 else set()
    call("prctl", 47, 4, 0, 0, 0)  # PR_CAP_AMBIENT, clear all
    for number in range(64):
        if number not in kept:
            call("prctl", 24, number, 0, 0, 0)  # PR_CAPBSET_DROP
    mask = sum(1 << number for number in kept)
    header = struct.pack("<Ii", 0x20080522, 0)
    call("capset", header, struct.pack("<6I", mask, mask, 0, 0, 0, 0))


EXECUTE, WRITE, READ, LIST = 1 << 0, 1 << 1, 1 << 2, 1 << 3
IOCTL = 1 << 15
ALL_OF_VERSION = {1: (1 << 13) - 1, 2: (1 << 14) - 1, 3: (1 << 15) - 1, 4: (1 << 15) - 1, 5: (1 << 16) - 1}
"""File rights that Landlock handles, by version."""


def landlock_version() -> int:
    """Return the version of Landlock, the Linux kernel's access control for unprivileged processes; 0 without it."""
    if sys.platform != "linux":
        return 0
    libc = ctypes.CDLL(None, use_errno=True)
    return max(0, int(libc.syscall(ctypes.c_long(444), None, ctypes.c_size_t(0), ctypes.c_uint(1))))


def _restrict_files(writable: Path, hidden: Path | None) -> bool:
    """Deny changes outside `writable`, reading of `hidden`, TCP, and signals to and memory of outside processes."""
    version = landlock_version()
    if version == 0:
        return False
    everything = ALL_OF_VERSION[min(version, 5)]
    attributes = struct.pack("<QQQ", everything, 3 if version >= 4 else 0, 3 if version >= 6 else 0)
    size = 24 if version >= 6 else 16 if version >= 4 else 8
    libc = ctypes.CDLL(None, use_errno=True)
    ruleset = int(libc.syscall(ctypes.c_long(444), attributes, ctypes.c_size_t(size), ctypes.c_uint(0)))
    if ruleset < 0:
        return False
    try:
        for path, rights in _rules(writable, hidden, everything):
            with _opened(path) as descriptor:
                if descriptor is not None:
                    rule = struct.pack("<Qi", rights & everything, descriptor)
                    libc.syscall(ctypes.c_long(445), ctypes.c_int(ruleset), ctypes.c_int(1), rule, ctypes.c_uint(0))
        return bool(libc.syscall(ctypes.c_long(446), ctypes.c_int(ruleset), ctypes.c_uint(0)) == 0)
    finally:
        os.close(ruleset)


def _rules(writable: Path, hidden: Path | None, everything: int) -> Iterator[tuple[str, int]]:
    yield str(writable), everything
    yield "/", LIST
    for name in _entries("/dev"):
        if name.startswith(DEVICES):
            path = f"/dev/{name}"
            yield path, WRITE | READ | IOCTL | (LIST if os.path.isdir(path) else 0)
    reading = READ | EXECUTE
    if hidden is None:
        yield "/", reading
        return
    parts = hidden.resolve().parts
    for depth in range(1, len(parts)):
        folder = os.path.join(*parts[:depth])
        yield from ((os.path.join(folder, name), reading) for name in _entries(folder) if name != parts[depth])


@contextmanager
def _opened(path: str) -> Iterator[int | None]:
    """Open a path without following a last symbolic link out of what was listed; None if it cannot be opened."""
    try:
        descriptor = os.open(path, getattr(os, "O_PATH", 0) | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        yield None
        return
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def descendants(process: int) -> list[int]:
    """Return the descendants of a process that have not ended; an empty list where the system does not report them."""
    found: list[int] = []
    waiting = [process]
    while waiting:
        own = _children(waiting.pop())
        found += own
        waiting += own
    return found


def _children(process: int) -> list[int]:
    children: list[int] = []
    for thread in _entries(f"/proc/{process}/task"):
        with suppress(OSError, ValueError):
            text = Path(f"/proc/{process}/task/{thread}/children").read_text()
            children += [int(each) for each in text.split()]
    return children


def waiting_seconds(processes: Sequence[int]) -> dict[int, float]:
    """Return the time that each process was ready to run but had no processor; empty where the system does not report it."""
    found = {}
    for process in processes:
        with suppress(OSError, ValueError, IndexError):
            found[process] = int(Path(f"/proc/{process}/schedstat").read_text().split()[1]) / 1e9
    return found


def resident_bytes(processes: Sequence[int]) -> int:
    """Return the resident memory of some processes together; 0 where the system does not report it."""
    total = 0
    for process in processes:
        with suppress(OSError, ValueError, IndexError):
            total += int(Path(f"/proc/{process}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    return total
