"""Scores of `headway check` on programs that other people wrote: `python -m benchmarks.public_programs --programs FOLDER`.

The list of programs, public_programs.toml, has for each file its repository, path, commit and checksum, and the label that reading gave to
each part: `right`, `wrong` (with the mistake), `whole` (a whole model or stack) or `doubtful` (not counted). None of the code is kept here:
FOLDER holds each file as OWNER+REPOSITORY/PATH, and a file that is absent there is downloaded. A new list may hold no repository of another list,
nor of read_repositories.txt.

Each file is judged by the whole command, in a process of its own. With `--mutants N`, N changed programs are judged instead: each is one of
the files with a single edit in a right part that is accepted. An edit that changes no result cannot be detected: the accepted ones are to be
read (`--keep`). With `--changed FOLDER`, the programs of a folder are judged, which its programs.toml lists with their changed lines.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.util
import json
import os
import random
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
import tomllib
import urllib.parse
import urllib.request
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.mutants import mutants_of

LIST = Path(__file__).with_name("public_programs.toml")
OUTCOMES = ("accepted", "named or repaired", "called wrong", "not understood", "not run", "not judged", "not recognised", "not finished")


@dataclass(frozen=True)
class Part:
    """One labelled function or class; `needs` names a library that is not a dependency of Headway and that it cannot do without."""

    object: str
    part: str
    label: str
    note: str = ""
    needs: str = ""


@dataclass(frozen=True)
class Program:
    """One public file and its labels."""

    repository: str
    path: str
    commit: str
    sha256: str
    parts: tuple[Part, ...]

    @property
    def folder(self) -> str:
        """The name of the folder that holds the files of the repository."""
        return self.repository.replace("/", "+")

    def path_in(self, folder: Path) -> Path:
        return folder / self.folder / self.path

    def download(self, folder: Path) -> Path:
        """Return the path of the file in the folder, which is downloaded if it is absent.

        Raises:
            ValueError: the file has another checksum
        """
        path = self.path_in(folder)
        if not path.exists():
            url = f"https://raw.githubusercontent.com/{self.repository}/{self.commit}/{urllib.parse.quote(self.path)}"
            with urllib.request.urlopen(url, timeout=60) as answer:
                content = answer.read()
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        found = hashlib.sha256(path.read_bytes()).hexdigest()
        if found != self.sha256:
            raise ValueError(f"{path}: got a file with SHA-256 {found}, expected {self.sha256}")
        return path


@dataclass(frozen=True)
class Answer:
    """The verdicts on one file; `code` is None if the command did not finish."""

    code: int | None
    verdicts: list[dict[str, object]] = field(default_factory=list)
    seconds: float = 0.0
    error: str = ""

    @property
    def failing(self) -> set[str]:
        """The names of the objects that are called wrong."""
        return {str(verdict["subject"]) for verdict in self.verdicts if verdict["status"] in ("wrong", "unknown")}

    @property
    def crashed(self) -> bool:
        return self.code is not None and self.code not in (0, 1, 2)

    @property
    def runs_nothing(self) -> bool:
        """True if the file as a whole could not be run."""
        return not self.verdicts or all(verdict["exercise"] == "file" for verdict in self.verdicts)

    def verdict_on(self, name: str, part: str = "") -> dict[str, object] | None:
        """Return the last verdict on an object of this name, or for a method that on its class as the same part."""
        owner = name.rpartition(".")[0]
        own = [verdict for verdict in self.verdicts if verdict["subject"] == name]
        of_class = [verdict for verdict in self.verdicts if owner and verdict["subject"] == owner and verdict["exercise"] == part]
        return next(reversed(own or of_class), None)

    def outcome(self, name: str, part: str = "") -> str:
        """Return what became of the object, which is labelled as a part: one of OUTCOMES."""
        if self.code is None:
            return "not finished"
        verdict = self.verdict_on(name, part)
        if verdict is None:
            return "not run" if self.runs_nothing else "not recognised"
        causes = [str(cause["name"]) for cause in _list(verdict["causes"])]
        match verdict["status"]:
            case "correct":
                return "accepted"
            case "wrong":
                return "named or repaired" if causes or verdict["repair"] else "called wrong"
            case "unknown":
                return "named or repaired" if verdict["repair"] else "called wrong"
            case "could not run":
                return "not understood" if "not_understood" in causes else "not run"
        return "not judged"


def read_list(path: Path) -> list[Program]:
    """Return the programs of a list."""
    files = tomllib.loads(path.read_text(encoding="utf-8"))["file"]
    return [Program(**{**each, "parts": tuple(Part(**part) for part in each["parts"])}) for each in files]


def check(path: Path, limit: float) -> Answer:
    """Return what `headway check --json` says of a file, within a limit of wall-clock seconds."""
    command = [sys.executable, "-m", "headway", "check", "--json", "--seed", "1", str(path)]
    environment = {"OMP_NUM_THREADS": "1"} | os.environ
    started = time.perf_counter()
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment, start_new_session=True
    ) as process:
        try:
            output, errors = process.communicate(timeout=limit)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            return Answer(None, seconds=time.perf_counter() - started)
    seconds = time.perf_counter() - started
    try:
        verdicts = json.loads(output)
    except json.JSONDecodeError:  # a file without a part is an error with exit code 2
        is_refused = process.returncode == 2 and errors.startswith("headway: error")
        return Answer(process.returncode if is_refused else 3, [], seconds, errors[-2000:])
    return Answer(process.returncode, verdicts, seconds, errors[-2000:])


def judge(programs: Sequence[Program], folder: Path, limit: float, *, show: bool) -> list[tuple[Program, Answer]]:
    """Return the answer on each program."""
    answers = []
    for number, program in enumerate(programs, 1):
        answer = check(program.download(folder), limit)
        answers.append((program, answer))
        if show:
            print(
                f"[{number}/{len(programs)}] {program.repository} {program.path}: exit code {answer.code}, {answer.seconds:.1f} s",
                file=sys.stderr,
            )
            for part in program.parts:
                print(
                    f"    {part.object} ({part.part}, {part.label}): {_described(answer, part.object, part.part)}",
                    file=sys.stderr,
                    flush=True,
                )
    return answers


def table(answers: Sequence[tuple[Program, Answer]]) -> str:
    """Return the table of outcomes by label, and the seconds."""
    counts: dict[str, Counter[str]] = {}
    for program, answer in answers:
        for part in program.parts:
            counts.setdefault(_row(part), Counter())[answer.outcome(part.object, part.part)] += 1
    lines = ["| label | parts | " + " | ".join(OUTCOMES) + " |", "|---" * (2 + len(OUTCOMES)) + "|"]
    for row in sorted(counts):
        of_row = counts[row]
        lines.append(f"| {row} | {of_row.total()} | " + " | ".join(str(of_row[outcome]) for outcome in OUTCOMES) + " |")
    right = counts.get("right", Counter())
    accused = right["called wrong"] + right["named or repaired"]
    seconds = [answer.seconds for _, answer in answers]
    lines += [
        "",
        f"Right parts accepted: {_share(right['accepted'], right.total())}; called wrong: {_share(accused, right.total())}.",
        f"Files: {len(answers)}; failures of the command: {sum(answer.crashed for _, answer in answers)}; "
        f"seconds: median {statistics.median(seconds):.1f}, longest {max(seconds):.1f}.",
    ]
    return "\n".join(lines)


@dataclass(frozen=True)
class Changed:
    """An object of a changed program.

    lines   the lines of the changes
    before  the answer on the program without the changes
    """

    object: str
    lines: tuple[int, ...]
    answer: Answer
    before: Answer

    @property
    def is_detected(self) -> bool:
        return self.answer.code == 1 and bool(self.answer.failing - self.before.failing)

    @property
    def is_located(self) -> bool:
        """True if the verdicts point at a line within one of each change."""
        pointed = [line for verdict in self.answer.verdicts for line in _lines(verdict)]
        return self.is_detected and all(any(abs(line - each) <= 1 for each in pointed) for line in self.lines)


def table_of_changed(changed: Sequence[Changed]) -> str:
    """Return the table of what became of changed programs."""
    counts: Counter[str] = Counter()
    for each in changed:
        outcome = each.answer.outcome(each.object)
        counts["detected (exit code 1)"] += each.is_detected
        counts["named or repaired"] += each.is_detected and any(
            bool(verdict["causes"] or verdict["repair"])
            for verdict in each.answer.verdicts
            if verdict["subject"] not in each.before.failing
        )
        counts["each line within 1 of the change"] += each.is_located
        counts["repaired"] += each.is_detected and any(
            bool(verdict["repair"]) for verdict in each.answer.verdicts if verdict["subject"] not in each.before.failing
        )
        counts["accepted"] += not each.is_detected and outcome == "accepted"
        counts["not understood, run or judged"] += not each.is_detected and outcome.startswith("not ") and outcome != "not finished"
        counts["not finished"] += outcome == "not finished"
        counts["failures of the command"] += each.answer.crashed
    lines = [f"| changed programs | {len(changed)} |", "|---|---|"]
    lines += [f"| {name} | {_share(number, len(changed))} |" for name, number in counts.items()]
    seconds = [each.answer.seconds for each in changed]
    return "\n".join([*lines, "", f"Seconds: median {statistics.median(seconds):.1f}, longest {max(seconds):.1f}."])


def _lines(verdict: dict[str, object]) -> Iterator[int]:
    """Yield the lines that a verdict points at."""
    for cause in _list(verdict["causes"]):
        if isinstance(line := cause["line"], int):
            yield line
    repair = verdict["repair"]
    if isinstance(repair, dict):
        yield from (int(str(edit["line"])) for edit in _list(repair["edits"]))


def _list(value: object) -> list[dict[str, object]]:
    return value if isinstance(value, list) else []


def _row(part: Part) -> str:
    missing = part.needs and importlib.util.find_spec(part.needs.partition(".")[0]) is None
    return f"{part.label}, {part.needs} not installed" if missing else part.label


def _share(number: int, total: int) -> str:
    return f"{number} of {total} ({100 * number / total:.1f} %)" if total else "0 of 0"


def _described(answer: Answer, name: str, part: str = "") -> str:
    verdict = answer.verdict_on(name, part)
    causes = ", ".join(f"{cause['name']} (line {cause['line']})" for cause in _list(verdict["causes"])) if verdict else ""
    repair = verdict["repair"] if verdict else None
    says = repair["says"]["en"] if isinstance(repair, dict) else ""
    return " — ".join(filter(None, [answer.outcome(name, part), causes, says]))


class _Checks:
    """Answers on programs, each of which is checked once."""

    def __init__(self, limit: float) -> None:
        self._limit = limit
        self._answers: dict[Path, Answer] = {}

    def __call__(self, path: Path) -> Answer:
        if path not in self._answers:
            self._answers[path] = check(path, self._limit)
        return self._answers[path]


def judge_changed(programs: Path, folder: Path, limit: float, *, show: bool) -> list[Changed]:
    """Return the answers on the programs of a folder, which its programs.toml lists with the files that they were made from."""
    before = _Checks(limit)
    changed: list[Changed] = []
    for program in tomllib.loads((folder / "programs.toml").read_text(encoding="utf-8"))["program"]:
        answers = check(folder / program["file"], limit), before(programs / program["source"])
        changed.append(Changed(program["object"], tuple(program["lines"]), *answers))
        if show:
            _show_changed(f"{program['file']}, lines {program['lines']}: {program['says']}", changed[-1])
    return changed


def judge_mutants(programs: Sequence[Program], options: argparse.Namespace) -> list[Changed]:
    """Return the answers on changed programs of right parts that are accepted."""
    chooser, before = random.Random(options.seed), _Checks(options.limit)
    changed: list[Changed] = []
    folder = options.keep or Path(tempfile.mkdtemp(prefix="headway-mutants-"))
    folder.mkdir(parents=True, exist_ok=True)
    candidates = [
        (program, part) for program in programs if program.path.endswith(".py") for part in program.parts if part.label == "right"
    ]
    while candidates and len(changed) < options.mutants:
        program, part = candidates[chooser.randrange(len(candidates))]
        path = program.download(options.programs)
        accepted = before(path).outcome(part.object) == "accepted"
        mutant = next(mutants_of(path.read_text(encoding="utf-8-sig"), part.object, chooser), None) if accepted else None
        if mutant is None:
            candidates.remove((program, part))
            continue
        copy = _copy_with_neighbours(program, options.programs, folder / f"{len(changed) + 1:03d}", mutant.text)
        changed.append(Changed(part.object, (mutant.line,), check(copy, options.limit), before(path)))
        if options.show:
            _show_changed(
                f"{copy.relative_to(folder)} ({program.repository}, {part.object}), line {mutant.line}: {mutant.says}", changed[-1]
            )
    return changed


def _copy_with_neighbours(program: Program, programs: Path, folder: Path, text: str) -> Path:
    """Return the path of a copy of a program with another text, among copies of the files that it may import."""
    shutil.copytree(programs / program.folder, folder / program.folder, dirs_exist_ok=True)
    copy = program.path_in(folder)
    copy.write_text(text, encoding="utf-8")
    return copy


def _show_changed(title: str, changed: Changed) -> None:
    found = "detected" if changed.is_detected else "not detected"
    line = "" if changed.is_located else ", elsewhere" if changed.is_detected else ""
    described = _described(changed.answer, changed.object)
    print(
        f"{title}: {found}{line}; exit code {changed.answer.code}, {changed.answer.seconds:.1f} s; {described}", file=sys.stderr, flush=True
    )


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.public_programs", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--programs", type=Path, required=True, help="folder of the programs; what is absent there is downloaded")
    parser.add_argument("--list", type=Path, default=LIST, help="list of the programs and labels")
    parser.add_argument("--only", default="", help="judge the files whose repository or path contains this")
    parser.add_argument("--limit", type=float, default=60.0, help="seconds for each file")
    parser.add_argument("--mutants", type=int, default=0, help="number of changed programs to judge instead of the files")
    parser.add_argument("--seed", type=int, default=1, help="seed of the changes")
    parser.add_argument("--keep", type=Path, help="with --mutants: folder for the changed programs; a temporary one otherwise")
    parser.add_argument("--changed", type=Path, help="folder of changed programs, with a programs.toml, to judge instead")
    parser.add_argument("--show", action="store_true", help="also write the outcome of each part to standard error")
    options = parser.parse_args(arguments)
    if options.changed:
        print(table_of_changed(judge_changed(options.programs, options.changed, options.limit, show=options.show)))
        return
    programs = [each for each in read_list(options.list) if options.only in f"{each.repository}/{each.path}"]
    if options.mutants:
        print(table_of_changed(judge_mutants(programs, options)))
    else:
        print(table(judge(programs, options.programs, options.limit, show=options.show)))


if __name__ == "__main__":
    main()
