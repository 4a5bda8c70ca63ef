"""A learner's code in a process of its own, with limits; what it does there is a finding, never a crash here.

The parent starts `python -m headway.practice.diagnosis.sandbox`, which checks a file and writes what it finds as lines of JSON into a pipe of
its own, whatever the learner's code prints.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from headway.practice.diagnosis.failure import ENDS_THE_PROCESS, RETURN_SOON, THE_FILE, TOO_SLOW
from headway.practice.diagnosis.subject import Subject
from headway.practice.exercise import Exercise
from headway.practice.message import Message
from headway.practice.verdict import Cause, Verdict

TIMEOUT_SECONDS = 20.0
MEMORY_BYTES = 3 * 2**30
"""What the process may hold; libraries such as torch hold a few hundred MB by themselves."""

ADDRESS_BYTES = 64 * 2**30
"""What it may ask for at once: libraries map much more than they use."""

AT_IMPORT = Cause(
    "too_slow",
    Message(
        "it did not come to its end in time: does it train, or loop, when it is imported? Its definitions are checked without the rest",
        "文件没有在限定时间内运行完：导入时是否在训练或循环？以下只检查其中的定义",
    ),
    Message(
        'put what is no definition under `if __name__ == "__main__":`',
        '把定义以外的语句放到 `if __name__ == "__main__":` 之下',
    ),
    Message("", ""),
)


def check_file(path: Path, named: str | None = None, *, timeout_seconds: float = TIMEOUT_SECONDS) -> list[Verdict]:
    """The verdicts on a file's functions and classes, from a process of its own.

    timeout_seconds   for the file until a function hangs; then again for what comes behind that

    A function that takes the process down, or never returns, is a verdict; those behind it are checked in another process.
    """
    cut_off: list[Verdict] = []
    while True:
        has_hung = any(verdict.subject == path.name for verdict in cut_off)
        child = _Child(path, named, [verdict.subject for verdict in cut_off], is_run=not has_hung)
        events = list(child.events(timeout_seconds))
        failed = next((event["failed"] for event in events if "failed" in event), None)
        if failed is not None:
            raise RuntimeError(f"headway check itself failed on {path}, please report it:\n{failed}")
        finals = [Verdict.from_dict(event["final"]) for event in events if "final" in event]
        if events and "end" in events[-1]:
            return sorted([*finals, *cut_off], key=lambda verdict: verdict.line)
        last = next((event["begins"] for event in reversed(events) if "begins" in event), {"subject": path.name, "line": 1})
        cut_off.append(_cut_off(last, child))
        if has_hung and last["subject"] == path.name:
            return cut_off[:-1]


def child_environment() -> dict[str, str]:
    """What a learner's code runs in: no window, no traces beside the file, one thread."""
    return {**os.environ, "MPLBACKEND": "Agg", "PYTHONDONTWRITEBYTECODE": "1", "OMP_NUM_THREADS": "1"}


class _Child:
    """The process, and why it ended."""

    def __init__(self, path: Path, named: str | None, skipped: Sequence[str], *, is_run: bool) -> None:
        self.read_end, write_end = os.pipe()
        given = [str(path), named or "", ",".join(skipped), "whole" if is_run else "definitions", str(write_end)]
        arguments = [sys.executable, "-m", "headway.practice.diagnosis.sandbox", *given]
        self.process = subprocess.Popen(
            arguments,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=[write_end],
            env=child_environment(),
        )
        os.close(write_end)
        self.ended_for: str | None = None

    def events(self, timeout_seconds: float) -> Iterator[dict[str, Any]]:
        """What the process reports, until it ends or is ended."""
        is_over = threading.Event()
        watch = threading.Thread(target=self._watch, args=(time.monotonic() + timeout_seconds, is_over), daemon=True)
        watch.start()
        try:
            with os.fdopen(self.read_end, encoding="utf-8") as file:
                for line in file:
                    try:
                        yield json.loads(line)
                    except ValueError:  # cut off in the middle
                        return
        finally:
            is_over.set()
            self.process.kill()
            self.process.wait()

    def _watch(self, until: float, is_over: threading.Event) -> None:
        """End the process once its time is up, or it holds too much."""
        while not is_over.wait(0.05):
            if time.monotonic() > until:
                self.ended_for = "time"
            elif _resident_bytes(self.process.pid) > MEMORY_BYTES:
                self.ended_for = "memory"
            if self.ended_for:
                self.process.kill()
                return


def _resident_bytes(pid: int) -> int:
    """The memory a process holds; 0 where the system does not say."""
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        return 0


def _cut_off(last: dict[str, Any], child: _Child) -> Verdict:
    """The process ended before it was through: in what, and how."""
    if child.ended_for == "time" and "exercise" not in last:
        return Verdict(last["subject"], "file", last["line"], "could not run", (AT_IMPORT,), title=THE_FILE)
    if child.ended_for == "time":
        name, says = TOO_SLOW.name, TOO_SLOW.says
    elif child.ended_for == "memory":
        gigabytes = MEMORY_BYTES / 2**30
        name, says = "too_large", Message(f"it took more than {gigabytes:.0f} GiB of memory", f"它占用了超过 {gigabytes:.0f} GiB 的内存")
    else:
        name, says = "exits", ENDS_THE_PROCESS
    cause = Cause(name, says, RETURN_SOON, Message("", ""))
    return Verdict(last["subject"], last.get("exercise", "file"), last["line"], "could not run", (cause,))


def main(path: Path, named: str | None, skipped: Sequence[str], is_run: bool, write_end: int) -> None:
    """The child: check a file, and report."""
    _limit()
    report = os.fdopen(write_end, "w", encoding="utf-8")

    def tell(**event: Any) -> None:
        report.write(json.dumps(event, ensure_ascii=False) + "\n")
        report.flush()

    try:
        _check(path, named, skipped, is_run, tell)
    except Exception:  # what a learner's code raises is caught where it is called
        tell(failed=traceback.format_exc())


def _check(path: Path, named: str | None, skipped: Sequence[str], is_run: bool, tell: Callable[..., None]) -> None:
    from headway.practice.diagnosis.files import assigned, load_definitions, load_module, read_source
    from headway.practice.diagnosis.nested import verdicts

    text = read_source(path)
    tell(begins={"subject": path.name, "line": 1})
    module = load_module(path, text) if is_run else load_definitions(path, text)
    if isinstance(module, Verdict):
        tell(final=module.to_dict())
        module = load_definitions(path, text)
    if isinstance(module, Verdict):
        tell(end=True)
        return
    asked = [(subject, exercise) for subject, exercise in assigned(module, text, named) if subject.name not in skipped]

    def begin(subject: Subject, exercise: Exercise) -> None:
        tell(begins={"subject": subject.name, "line": subject.line, "exercise": exercise.name})

    for verdict in verdicts(asked, begin):
        tell(final=verdict.to_dict())
    tell(end=True)


def _limit() -> None:
    """Memory and open files of this process, where the system can limit them."""
    try:
        import resource
    except ImportError:  # Windows
        return
    resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_BYTES, ADDRESS_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2] or None, sys.argv[3].split(","), sys.argv[4] == "whole", int(sys.argv[5]))
