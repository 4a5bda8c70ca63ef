"""Messages of `headway practice`."""

from __future__ import annotations

from pathlib import Path

from headway.practice.message import Message, joined
from headway.practice.texts import Texts
from headway.practice.workbook.folder import Begun, is_untouched, next_part, path_of
from headway.practice.workbook.parts import NAMES, PARTS, Part
from headway.practice.workbook.progress import Progress

TEXTS = Texts("workbook")

HELP = TEXTS["help"]
RESUME = TEXTS["resume"]
UNSOLVED = TEXTS["unsolved_2"]
WRITING = TEXTS["writing"]
NOT_BEGUN = TEXTS["not_begun"]
HINT = TEXTS["hint"]
LOOK = TEXTS["look"]
RESET = TEXTS["reset"]
ASIDE = TEXTS["aside_2"]


def beginning(folder: Path, begun: Begun) -> list[Message]:
    """Return messages about the files that were written and kept."""
    lines = [TEXTS["new"].format(total=len(PARTS), folder=folder, array=begun.progress.array)] if begun.is_new else []
    lines += [TEXTS["kept"].format(files=", ".join(begun.kept))] if begun.kept else []
    return lines + ([TEXTS["restored"].format(files=", ".join(begun.restored))] if begun.restored else [])


def standing(progress: Progress) -> Message:
    """Return the number of solved parts."""
    return TEXTS["standing"].format(number=sum(progress.of(name).is_solved for name in NAMES), total=len(NAMES))


def upcoming(folder: Path, progress: Progress) -> Message:
    """Return a message about the next part, or one that all are solved."""
    part = next_part(progress)
    if part is None:
        return TEXTS["finished"].format(folder=folder)
    return TEXTS["next"].format(path=path_of(folder, part), title=part.title, equation=part.equation)


def listing(folder: Path, progress: Progress) -> list[Message]:
    """Return one line per part, then the number of solved parts and the next one."""
    ahead = next_part(progress)
    lines = [_line(folder, part, progress, is_next=part == ahead) for part in PARTS]
    return [*lines, standing(progress), upcoming(folder, progress)]


def _line(folder: Path, part: Part, progress: Progress, *, is_next: bool) -> Message:
    at = progress.of(part.name)
    mark = "✓" if at.is_solved else "→" if is_next else "·"
    state = TEXTS["solved_2"] if at.is_solved else NOT_BEGUN if is_untouched(folder, part, progress.array) else TEXTS["open"]
    more = [TEXTS["hints"].format(number=at.num_hints)] if at.num_hints else []
    more += [TEXTS["shown"]] if at.saw_solution else []

    states = [state, *more]
    return TEXTS["part_line"].format(
        mark=mark,
        file=part.name,
        title=part.title,
        states=joined(states, zh="，"),
    )


def unsolved_below(part: Part, progress: Progress) -> Message | None:
    """Return the unsolved parts that a part imports, directly or indirectly; None if there are none."""
    files = [f"{name}.py" for name in NAMES if name in _below(part) and not progress.of(name).is_solved]
    return TEXTS["builds_on"].format(files=", ".join(files)) if files else None


def _below(part: Part) -> set[str]:
    return set(part.uses).union(*(_below(PARTS[NAMES.index(name)]) for name in part.uses))
