"""Scores of `headway check`: `python -m benchmarks.practice` prints a row per part.

Every catalogued mistake is made, alone, in a function built from the part's own recipe; and the learners' files of the tests, which
were written by hand, are judged one by one.
"""

from __future__ import annotations

import statistics
import time

from headway.practice.diagnosis.diagnose import diagnose
from headway.practice.exercises import NAMES, exercise
from tests.practice.test_exercises import _function
from tests.practice.test_learners import cases


def main() -> None:
    written: dict[str, list[tuple[str, bool]]] = {name: [] for name in NAMES}
    seconds = []
    for case in cases():
        name, subject = case.values
        started = time.perf_counter()
        verdict = diagnose(subject, exercise(name))
        seconds.append(time.perf_counter() - started)
        kind, _, rest = subject.name.partition("_")
        is_right = kind.lower() == "right"
        first = verdict.causes[0].name if verdict.causes else None
        written[name].append((kind.lower(), verdict.is_correct if is_right else first == rest.partition("__")[0]))
    print("| part | mistakes | detected | named first | hand-written: right accepted | wrong named first |\n|---|---|---|---|---|---|")
    for name in NAMES:
        chosen = exercise(name)
        verdicts = [(mistake.said_as or mistake.name, diagnose(_function(chosen, (mistake,)), chosen)) for mistake in chosen.mistakes]
        detected = sum(verdict.status == "wrong" for _, verdict in verdicts)
        first = sum(bool(verdict.causes) and verdict.causes[0].name == made for made, verdict in verdicts)
        print(f"| {name} | {len(verdicts)} | {detected} | {first} | {_share(written[name], 'right')} | {_share(written[name], 'wrong')} |")
    print(f"\nOne verdict on hand-written code: median {statistics.median(seconds):.3f} s, longest {max(seconds):.3f} s.")


def _share(judged: list[tuple[str, bool]], kind: str) -> str:
    of_kind = [is_as_said for each, is_as_said in judged if each == kind]
    return f"{sum(of_kind)}/{len(of_kind)}"


if __name__ == "__main__":
    main()
