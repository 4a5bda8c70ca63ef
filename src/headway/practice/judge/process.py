"""The judge's side of the confined processes: starting, asking, limits on time and memory, and ending all of them."""

from __future__ import annotations

import atexit
import os
import pickle
import queue
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Literal

from headway.practice.judge import confinement
from headway.practice.judge.frames import MAX_BYTES, read_frame, write_frame
from headway.practice.judge.jobs import Phase, new_folder

MAX_FRAME = MAX_BYTES + 2**20
SECONDS_TO_END = 1.0
"""Time that a process gets to end by itself once its pipe is closed."""

SECONDS_TO_START = 120.0
"""Limit for the start of Python and the import of libraries, before the learner's code runs."""

MOST_WAITING = 9.0
"""Most time, relative to a limit, by which waiting for a processor extends it."""

MEMORY_INTERVAL = 0.1
HAS_FORKS = sys.platform == "linux"

KEPT_VARIABLES = (
    "PATH", "PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV", "LANG", "LANGUAGE", "TZ", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH",
    "DYLD_FALLBACK_LIBRARY_PATH", "SYSTEMROOT", "WINDIR", "PATHEXT", "COMSPEC", "NUMBER_OF_PROCESSORS",
)  # fmt: skip
KEPT_PREFIXES = ("LC_", "CUDA_", "NVIDIA_", "JAX_", "XLA_", "MLX_", "COVERAGE_")

EAGER = {"TORCHDYNAMO_DISABLE": "1", "PYTORCH_JIT": "0", "NUMBA_DISABLE_JIT": "1"}
"""Variables that run functions compiled by torch.compile, TorchScript or Numba as they are: compiling takes longer than a check."""

QUICK = {
    "XLA_FLAGS": "--xla_backend_optimization_level=0 --xla_llvm_disable_expensive_passes=true",
    "JAX_TRACEBACK_FILTERING": "off",
}
"""Variables that make JAX compile and raise faster, unless the caller has set them: each function runs a few times only."""

OFFLINE = {"HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1"}
"""Variables that end downloads at once, which wait and try again where there is no network."""

Ending = Literal["time", "memory", "end"]


def child_environment() -> dict[str, str]:
    """Return environment variables for a learner's code: no secrets of the caller, no windows, no bytecode files, one thread."""
    kept = {name: value for name, value in os.environ.items() if name in KEPT_VARIABLES or name.startswith(KEPT_PREFIXES)}
    if "PYTHONPATH" in kept:
        kept["PYTHONPATH"] = os.pathsep.join(os.path.abspath(each) for each in kept["PYTHONPATH"].split(os.pathsep) if each)
    one_thread = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS"), "1")
    caches = {}
    with suppress(RuntimeError):
        home = Path.home()
        # the home folder changes, the packages and models that are installed in it do not
        caches["PYTHONUSERBASE"] = os.environ.get("PYTHONUSERBASE", str(home / ".local"))
        caches["HF_HOME"] = os.environ.get("HF_HOME", str(home / ".cache" / "huggingface"))
        caches["TORCH_HOME"] = os.environ.get("TORCH_HOME", str(home / ".cache" / "torch"))
    if sys.platform != "linux":
        caches.pop("PYTHONUSERBASE", None)
    return {
        **QUICK,
        **kept,
        **caches,
        **one_thread,
        **OFFLINE,
        "MPLBACKEND": "Agg",
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONIOENCODING": "utf-8",
        **EAGER,
    }


class Confined:
    """A server of confined processes, which all end with it."""

    def __init__(self, libraries: Sequence[str] = ()) -> None:
        self.libraries = list(libraries)
        self.folder = new_folder()
        self.process: subprocess.Popen[bytes] | None = None
        self.control: Any = None
        self.num_phases = 0

    def __enter__(self) -> Confined:
        if HAS_FORKS:
            self.process, self.control = self._idle() or self._new()
            self.replies = self.control.makefile("rb")
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._keep()
        self.end()
        self.folder.cleanup()

    def _imported(self) -> tuple[Any, ...]:
        """Return what two servers must have in common so that one can take the place of the other."""
        return (*self.libraries, *sorted(child_environment().items()))

    def _idle(self) -> _Server | None:
        """Return the server that an earlier file has left, if it still runs."""
        server = _IDLE.pop(self._imported(), None)
        if server is None or server[0].poll() is None:
            return server
        _end_server(server)
        return None

    def _new(self) -> _Server:
        process, control = _SPARE.pop() if _SPARE else _new_server()
        with suppress(OSError):
            write_frame(_SocketFile(control), " ".join(self.libraries).encode())
        return process, control

    def _keep(self) -> None:
        """Leave a server that nothing runs in to the next file that imports the same libraries."""
        key = self._imported()
        if self.control is None or self.process is None or not self.is_alive or key in _IDLE:
            return
        while len(_IDLE) >= MOST_IDLE:
            _end_server(_IDLE.pop(next(iter(_IDLE))))
        self.replies.close()
        _IDLE[key] = self.process, self.control
        self.process = self.control = None

    @contextmanager
    def phase(self, job: Any, seconds: float, later: float = 0.0) -> Iterator[Conversation]:
        """Start a confined process for a job, and end it and all that it started.

        seconds   time limit
        later     time limit that the conversation may begin after it
        """
        self.num_phases += 1
        folder = Path(self.folder.name) / str(self.num_phases)
        folder.mkdir()
        phase = Phase(folder, Path.cwd(), seconds + later, job, None)
        conversation = self._started(phase) if HAS_FORKS else self._alone(phase)
        try:
            conversation.receive()  # the process says that it has imported what it needs
            conversation.begin(seconds)
            yield conversation
        finally:
            conversation.close()
            if not conversation.is_over or not self._is_clean():
                self.end()

    @property
    def is_alive(self) -> bool:
        """True if another phase can be started."""
        return not HAS_FORKS or (self.process is not None and self.process.poll() is None)

    def resident_bytes(self) -> int:
        """Return the memory of all confined processes; 0 where the system does not report it."""
        return 0 if self.process is None else confinement.resident_bytes(confinement.descendants(self.process.pid))

    def waiting_seconds(self) -> dict[int, float]:
        """Return the time that each confined process has waited for a processor, by its number."""
        return {} if self.process is None else confinement.waiting_seconds(confinement.descendants(self.process.pid))

    def end(self) -> None:
        """End every confined process at once."""
        if self.process is None:
            return
        process, self.process = self.process, None
        end_tree(process)
        if self.control is not None:
            self.replies.close()
            self.control.close()
            self.control = None

    def _started(self, phase: Phase) -> Conversation:
        (request_end, requests), (replies, reply_end) = os.pipe(), os.pipe()
        conversation = Conversation(self, os.fdopen(requests, "wb"), os.fdopen(replies, "rb"))
        with suppress(OSError):  # the server has been ended: the conversation ends at once
            write_frame(_SocketFile(self.control), pickle.dumps(phase))
            socket.send_fds(self.control, [b"f"], [request_end, reply_end])
        os.close(request_end)
        os.close(reply_end)
        return conversation

    def _alone(self, phase: Phase) -> Conversation:
        self.end()
        self.process = _popen(stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        conversation = Conversation(self, self.process.stdin, self.process.stdout)
        conversation.send(" ".join(self.libraries).encode())
        conversation.send(pickle.dumps(phase))
        return conversation

    def _is_clean(self) -> bool:
        """Return True once the server has ended everything that the phase started."""
        if not HAS_FORKS or self.control is None:
            return False
        self.control.settimeout(SECONDS_TO_END)
        try:
            return [read_frame(self.replies, 100) for _ in range(2)] == [b"ended", b"clean"]
        except OSError:
            return False
        finally:
            self.control.settimeout(None)


_Server = tuple[subprocess.Popen[bytes], socket.socket]

_SPARE: list[_Server] = []
"""Servers that have imported no libraries yet."""

_IDLE: dict[tuple[Any, ...], _Server] = {}
"""Servers of files that have been checked, with what they have imported: the least recent first."""

MOST_IDLE = 2


def start_early() -> None:
    """Start a server for the next `Confined`, which then finds the checks imported; call it before what else takes time."""
    if HAS_FORKS and not _SPARE:
        _SPARE.append(_new_server())


@atexit.register
def _end_waiting() -> None:
    for server in (*_SPARE, *_IDLE.values()):
        _end_server(server)
    _forget_waiting()


def _forget_waiting() -> None:
    _SPARE.clear()
    _IDLE.clear()


if HAS_FORKS:
    os.register_at_fork(after_in_child=_forget_waiting)  # they are the parent's


def _end_server(server: _Server) -> None:
    process, control = server
    control.close()
    end_tree(process)


def _new_server() -> _Server:
    ours, theirs = socket.socketpair()
    process = _popen(stdin=theirs.fileno(), stdout=subprocess.DEVNULL)
    theirs.close()
    return process, ours


def _popen(**pipes: Any) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-P", "-m", "headway.practice.judge.server"]
    environment = child_environment()
    if "PYTHONDONTWRITEBYTECODE" not in os.environ:
        del environment["PYTHONDONTWRITEBYTECODE"]  # the server sets it once it has imported Headway
    return subprocess.Popen(command, stderr=subprocess.DEVNULL, env=environment, start_new_session=True, **pipes)


class Conversation:
    """Requests to one confined process and its replies, up to a time limit.

    ended_for   reason why it ended: "time", "memory" or "end"; None while it runs
    """

    def __init__(self, owner: Confined, requests: IO[bytes], replies: IO[bytes]) -> None:
        self.owner, self.requests, self.replies = owner, requests, replies
        self.deadline = time.monotonic() + SECONDS_TO_START
        self.ended_for: Ending | None = None
        self.is_over = False
        self._received: queue.Queue[bytes | None] = queue.Queue(maxsize=16)
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        self._last_look = 0.0
        self._waited: dict[int, float] = {}
        self._most_waiting = 0.0

    def begin(self, seconds: float) -> None:
        """Start the time limit: what the process needed to start does not count."""
        self.deadline = time.monotonic() + seconds
        self._most_waiting = MOST_WAITING * seconds
        self._waited = self.owner.waiting_seconds()

    def _is_late(self) -> bool:
        """Return True after the deadline; time in which a busy machine did not let the process run does not count."""
        late = time.monotonic() - self.deadline
        if late <= 0:
            return False
        waited = [seconds - self._waited.get(process, 0.0) for process, seconds in self.owner.waiting_seconds().items()]
        return late > min(max(waited, default=0.0), self._most_waiting)

    def send(self, data: bytes) -> None:
        """Send a request; a process that has ended ignores it."""
        with suppress(OSError, ValueError):
            write_frame(self.requests, data)

    def receive(self) -> bytes | None:
        """Return the next reply; None if the process has ended or reached a limit, for which `ended_for` is the reason."""
        while self.ended_for is None:
            try:
                reply = self._received.get(timeout=0.02)
            except queue.Empty:
                self._look()
                continue
            if reply is not None:
                if self._is_late():
                    self.ended_for = "time"
                    break
                return reply
            self.ended_for, self.is_over = "end", True
        return None

    def close(self) -> None:
        """Close the requests, which lets the process end, and wait for its end for a moment."""
        with suppress(OSError):
            self.requests.close()
        until = time.monotonic() + SECONDS_TO_END
        while not self.is_over and time.monotonic() < until and self.ended_for in (None, "end"):
            with suppress(queue.Empty):
                self.is_over = self._received.get(timeout=0.02) is None
        if not self.is_over:
            self.owner.end()
        if self._is_drained():
            self.replies.close()

    def _look(self) -> None:
        """End the conversation at a limit."""
        now = time.monotonic()
        if self._is_late():
            self.ended_for = "time"
        elif now - self._last_look > MEMORY_INTERVAL:
            self._last_look = now
            if self.owner.resident_bytes() > confinement.MEMORY_BYTES:
                self.ended_for = "memory"

    def _read(self) -> None:
        while True:
            try:
                data = read_frame(self.replies, MAX_FRAME)
            except (OSError, ValueError):
                data = None
            self._received.put(data)
            if data is None:
                return

    def _is_drained(self) -> bool:
        """Let the reader reach the end, and return True if it did."""
        until = time.monotonic() + SECONDS_TO_END
        while self._reader.is_alive() and time.monotonic() < until:
            with suppress(queue.Empty):
                self._received.get(timeout=0.01)
        return not self._reader.is_alive()


class _SocketFile:
    """Writing to a socket as to a file."""

    def __init__(self, own: socket.socket) -> None:
        self.own = own

    def write(self, data: bytes) -> None:
        self.own.sendall(data)

    def flush(self) -> None:
        """Do nothing: a socket has no buffer."""


def end_tree(process: subprocess.Popen[bytes]) -> None:
    """End a process that leads its own session, and all that it started."""
    _end_descendants(process.pid)
    with suppress(OSError):
        if os.name == "posix":
            os.killpg(process.pid, signal.SIGKILL)
    process.kill()
    process.wait()


def _end_descendants(process: int) -> None:
    """Stop, then kill, all descendants of a process, so that none starts another one meanwhile."""
    stopped: set[int] = set()
    for _ in range(100):
        found = set(confinement.descendants(process)) - stopped
        if not found:
            break
        for each in found:
            with suppress(OSError):
                os.kill(each, signal.SIGSTOP)
        stopped |= found
    for each in stopped:
        with suppress(OSError):
            os.kill(each, signal.SIGKILL)
    until = time.monotonic() + SECONDS_TO_END
    while stopped and confinement.descendants(process) and time.monotonic() < until:  # their parent reaps them
        time.sleep(0.002)
