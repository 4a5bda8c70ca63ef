"""Mistakes and recoveries with the sentences of the catalogue that describe them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from headway.practice.exercise import Inputs, Mistake, Recovery, Step
from headway.practice.message import Message
from headway.practice.sentences import Sentence, read


@dataclass(frozen=True)
class Texts:
    """The sentences of one file of the catalogue, and the mistakes and recoveries that they describe.

    file   name of the file in catalogue/, without its ending: "softmax", "shared/norms"
    """

    file: str

    def __getitem__(self, name: str) -> Message:
        return Sentence(self.file, ("sentences", name))

    def mistake(
        self,
        name: str,
        *,
        pattern: str | None = None,
        said_as: str | None = None,
        needs: str | None = None,
        written: str | None = None,
        key: str | None = None,
        part: Message | str | None = None,
        fix: Message | None = None,
        **steps: Step,
    ) -> Mistake:
        """Return the mistake with the texts of its name, or of `said_as` if its name has none.

        pattern   regular expression for the line; the one of its name in the file by default
        needs     an operand without which a function cannot make it
        written   regular expression of what a program that makes it contains
        key       name of the texts, if it is another one
        part      value of the placeholder of this name
        fix       text to use in place of the one in the file
        steps     the wrong steps
        """
        find = self._finder("mistakes", [key] if key else [name, *([said_as] if said_as else [])], {"part": part} if part else {})
        find_line = self._pattern("mistakes", name, pattern)
        return Mistake(name, steps, find("says"), fix or find("fix"), find("hides"), find_line, said_as, needs, written=written)

    def recovery(
        self,
        name: str,
        step: str,
        *,
        measure: Callable[[Callable[[Inputs], Any]], list[tuple[Inputs, float]]],
        wrong: Callable[[Callable[[Inputs], float]], Step],
        sizes: Callable[[Inputs], Mapping[str, float]] = lambda inputs: {},
        right: Callable[[Inputs], float] | float = 1.0,
        right_name: str = "1",
        pattern: str | None = None,
        fix: Message | None = None,
    ) -> Recovery:
        """Return the recovery with the texts of its name.

        right   the correct number, or a function of the inputs that computes it
        fix     as in `mistake`
        """
        find = self._finder("recoveries", [name], {})
        number: Callable[[Inputs], float] = right if callable(right) else lambda inputs: right
        find_line = self._pattern("recoveries", name, pattern)
        return Recovery(name, step, measure, wrong, sizes, number, right_name, find("says"), fix or find("fix"), find("hides"), find_line)

    def _finder(self, section: str, names: list[str], values: Mapping[str, Any]) -> Callable[[str], Message]:
        def find(part: str) -> Message:
            paths = [(section, name, part) for name in names]
            return Sentence(self.file, *paths, values=values or None, is_optional=part == "hides")

        return find

    def _pattern(self, section: str, name: str, given: str | None) -> Callable[[], str | None]:
        return lambda: given or read(self.file).get(section, {}).get(name, {}).get("pattern")
