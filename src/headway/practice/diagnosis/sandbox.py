"""Check of a learner's file in a subprocess with limits on time and memory.

The parent starts `python -m headway.practice.diagnosis.sandbox`, which checks the file and writes its results as JSON lines to a
separate pipe, so that output of the learner's code does not interfere.
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

from headway.practice.diagnosis.failure import ENDS_THE_PROCESS, FILE_TITLE, MUST_RETURN, TOO_SLOW
from headway.practice.diagnosis.subject import Subject
from headway.practice.exercise import Exercise
from headway.practice.exercises import exercise as exercise_by_name
from headway.practice.message import EMPTY
from headway.practice.texts import Texts
from headway.practice.verdict import Cause, Verdict

TEXTS = Texts("diagnosis")

TIMEOUT_SECONDS = 20.0
MEMORY_BYTES = 3 * 2**30
"""Limit on resident memory; libraries such as torch use several hundred MB on their own."""

ADDRESS_BYTES = 64 * 2**30
"""Limit on address space; libraries map far more than they use."""

AT_IMPORT = Cause(
    "too_slow",
    TEXTS["does_not_finish_importing_within"],
    TEXTS["move_everything_except_definitions_under_2"],
    EMPTY,
)


def check_file(path: Path, named: str | None = None, *, timeout_seconds: float = TIMEOUT_SECONDS) -> list[Verdict]:
    """Return the verdicts on a file's functions and classes, judged in a subprocess.

    timeout_seconds   limit for the file; it starts again after a function that hangs

    A function that ends the process or never returns gets a verdict, and the functions after it are checked in another process.
    """
    ended: list[Verdict] = []
    while True:
        has_hung = any(verdict.subject == path.name for verdict in ended)
        child = _Child(path, named, [verdict.subject for verdict in ended], is_run=not has_hung)
        events = list(child.events(timeout_seconds))
        failed = next((event["failed"] for event in events if "failed" in event), None)
        if failed is not None:
            raise RuntimeError(f"headway check failed on {path}, please report this:\n{failed}")
        finals = [Verdict.from_dict(event["final"]) for event in events if "final" in event]
        if events and "end" in events[-1]:
            return sorted([*finals, *ended], key=lambda verdict: verdict.line)
        last = next((event["begins"] for event in reversed(events) if "begins" in event), {"subject": path.name, "line": 1})
        ended.append(_verdict_of_ended(last, child))
        if has_hung and last["subject"] == path.name:
            return ended[:-1]


def child_environment() -> dict[str, str]:
    """Return environment variables for a learner's code: no windows, no bytecode files, one thread."""
    return {**os.environ, "MPLBACKEND": "Agg", "PYTHONDONTWRITEBYTECODE": "1", "OMP_NUM_THREADS": "1"}


class _Child:
    """The subprocess, and the limit that ended it."""

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
        """Yield the events that the process reports until it ends or is killed."""
        is_over = threading.Event()
        watch = threading.Thread(target=self._watch, args=(time.monotonic() + timeout_seconds, is_over), daemon=True)
        watch.start()
        try:
            with os.fdopen(self.read_end, encoding="utf-8") as file:
                for line in file:
                    try:
                        yield json.loads(line)
                    except ValueError:  # the process was killed while writing
                        return
        finally:
            is_over.set()
            self.process.kill()
            self.process.wait()

    def _watch(self, until: float, is_over: threading.Event) -> None:
        """Kill the process once it exceeds its time or memory limit."""
        while not is_over.wait(0.05):
            if time.monotonic() > until:
                self.ended_for = "time"
            elif _resident_bytes(self.process.pid) > MEMORY_BYTES:
                self.ended_for = "memory"
            if self.ended_for:
                self.process.kill()
                return


def _resident_bytes(pid: int) -> int:
    """Return the resident memory of a process, or 0 if the system does not report it."""
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        return 0


def _verdict_of_ended(last: dict[str, Any], child: _Child) -> Verdict:
    """Return the verdict for a process that ended early: the function it was checking, and the reason."""
    if child.ended_for == "time" and "exercise" not in last:
        return Verdict(last["subject"], "file", last["line"], "could not run", (AT_IMPORT,), title=FILE_TITLE)
    if child.ended_for == "time":
        cause_name, says = TOO_SLOW.name, TOO_SLOW.says
    elif child.ended_for == "memory":
        gigabytes = MEMORY_BYTES / 2**30
        cause_name, says = "too_large", TEXTS["too_large"].format(gigabytes=gigabytes)
    else:
        cause_name, says = "exits", ENDS_THE_PROCESS
    cause = Cause(cause_name, says, MUST_RETURN, EMPTY)
    name = last.get("exercise")
    return Verdict(
        last["subject"], name or "file", last["line"], "could not run", (cause,), title=exercise_by_name(name).title if name else FILE_TITLE
    )


def main(path: Path, named: str | None, skipped: Sequence[str], is_run: bool, write_end: int) -> None:
    """Check a file and report the results; runs in the subprocess."""
    _limit()
    report = os.fdopen(write_end, "w", encoding="utf-8")

    def report_event(**event: Any) -> None:
        report.write(json.dumps(event, ensure_ascii=False) + "\n")
        report.flush()

    try:
        _check(path, named, skipped, is_run, report_event)
    except Exception:  # exceptions of the learner's code are caught at the call
        report_event(failed=traceback.format_exc())


def _check(path: Path, named: str | None, skipped: Sequence[str], is_run: bool, report_event: Callable[..., None]) -> None:
    from headway.practice.diagnosis.files import load_definitions, load_module, read_source, with_exercises
    from headway.practice.diagnosis.nested import verdicts

    text = read_source(path)
    report_event(begins={"subject": path.name, "line": 1})
    module = load_module(path, text) if is_run else load_definitions(path, text)
    if isinstance(module, Verdict):
        report_event(final=module.to_dict())
        module = load_definitions(path, text)
    if isinstance(module, Verdict):
        report_event(end=True)
        return
    chosen = [(subject, exercise) for subject, exercise in with_exercises(module, text, named) if subject.name not in skipped]

    def begin(subject: Subject, exercise: Exercise) -> None:
        report_event(begins={"subject": subject.name, "line": subject.line, "exercise": exercise.name})

    for verdict in verdicts(chosen, begin):
        report_event(final=verdict.to_dict())
    report_event(end=True)


def _limit() -> None:
    """Limit this process's address space and core dumps, if the system supports it."""
    try:
        import resource
    except ImportError:  # Windows
        return
    resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_BYTES, ADDRESS_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2] or None, sys.argv[3].split(","), sys.argv[4] == "whole", int(sys.argv[5]))
