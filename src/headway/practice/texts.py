"""Sentences of the catalogue: catalogue/*.toml, with English and Chinese next to each other.

A file has these entries, each with the keys `en` and `zh`:

title, hints              of an exercise; three hints, each more explicit than the one before
sentences.NAME            notes about conventions and probes, and sentences that several mistakes share
mistakes.NAME.says        what the learner's code does
mistakes.NAME.fix         what to change, as an imperative
mistakes.NAME.hides       reason why a simple example does not show the mistake, if there is one
recoveries.NAME.…         the same for a number measured from the learner's function

In place of `en` and `zh`, a string names an entry of `sentences`: "rows" of the same file, "shared/norms/rows" of another one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from headway.practice.exercise import Inputs, Mistake, Recovery, Step
from headway.practice.message import LANGUAGES, Message

CATALOGUE = Path(__file__).with_name("catalogue")
NUM_HINTS = 3


@cache
def read(file: str) -> Mapping[str, Any]:
    """Return the content of one file of the catalogue, named without its ending."""
    import tomllib  # not at the top: a process that prints no sentence needs none of it

    return tomllib.loads((CATALOGUE / f"{file}.toml").read_text(encoding="utf-8"))


def files() -> list[str]:
    """Return the names of all files of the catalogue."""
    return sorted(path.relative_to(CATALOGUE).with_suffix("").as_posix() for path in CATALOGUE.rglob("*.toml"))


def entries(file: str) -> Iterator[tuple[tuple[str | int, ...], Mapping[str, str] | str]]:
    """Yield every entry of a file with its keys: a mapping from language to text, or the name of another entry."""
    content = read(file)
    if "title" in content:
        yield ("title",), content["title"]
    yield from ((("hints", place), hint) for place, hint in enumerate(content.get("hints", ())))
    yield from ((("sentences", name), entry) for name, entry in content.get("sentences", {}).items())
    for section in ("mistakes", "recoveries"):
        for name, parts in content.get(section, {}).items():
            yield from (((section, name, part), entry) for part, entry in parts.items())


def untranslated() -> list[str]:
    """Return the entries that are missing in a language: "softmax.toml: mistakes.no_shift.says.zh"."""
    return [
        f"{file}.toml: {'.'.join(map(str, path))}.{language}"
        for file in files()
        for path, entry in entries(file)
        if not isinstance(entry, str)
        for language in LANGUAGES
        if not entry.get(language)
    ]


class Sentence(Message):
    """A message of the catalogue; its file is read when the text is first needed, and a missing translation is the English text.

    file    name of the file, without its ending
    paths   the entry as keys from the top of the file; of several, the first that exists
    values  values of the placeholders, which `format` gives
    is_optional  True for an entry that may be missing; its text is then empty
    """

    def __init__(
        self, file: str, *paths: tuple[str | int, ...], values: Mapping[str, Any] | None = None, is_optional: bool = False
    ) -> None:
        self.__dict__.update(file=file, paths=paths, values=values, is_optional=is_optional)

    file: str
    paths: tuple[tuple[str | int, ...], ...]
    values: Mapping[str, Any] | None
    is_optional: bool

    @property
    def en(self) -> str:
        """The English text."""
        return self._texts[0]

    @property
    def zh(self) -> str:
        """The Chinese text, or the English one if there is no translation."""
        return self._texts[1]

    def format(self, **values: Any) -> Message:
        """Return the message with its placeholders filled, as in Message.format."""
        return Sentence(self.file, *self.paths, values=values, is_optional=self.is_optional)

    @property
    def place(self) -> tuple[str | int, ...] | None:
        """The keys of the entry, None if there is none and it is optional."""
        content = read(self.file)
        for path in self.paths:
            if _at(content, path) is not None:
                return path
            if self.is_optional and _at(content, path[:-1]) is not None:
                return None
        if self.is_optional:
            return None
        raise LookupError(f"got no entry {' or '.join('.'.join(map(str, path)) for path in self.paths)} in catalogue/{self.file}.toml")

    @cached_property
    def _texts(self) -> tuple[str, str]:
        place = self.place
        if place is None:
            return "", ""
        entry = _at(read(self.file), place)
        if isinstance(entry, str):
            other, _, name = entry.rpartition("/")
            entry = read(other or self.file)["sentences"][name]
        plain = Message(entry["en"], entry.get("zh") or entry["en"])
        filled = plain if self.values is None else plain.format(**self.values)
        return filled.en, filled.zh


def _at(content: Any, path: tuple[str | int, ...]) -> Any:
    """Return the entry with these keys, None if there is none."""
    for key in path:
        try:
            content = content[key]
        except (KeyError, IndexError):
            return None
    return content


@dataclass(frozen=True)
class Texts:
    """The sentences of one file of the catalogue, and the mistakes and recoveries that they describe.

    file   name of the file in catalogue/, without its ending: "softmax", "shared/norms"
    """

    file: str

    @property
    def title(self) -> Message:
        """Title of the exercise."""
        return Sentence(self.file, ("title",))

    @property
    def hints(self) -> tuple[Message, ...]:
        """The hints of the exercise."""
        return tuple(Sentence(self.file, ("hints", place)) for place in range(NUM_HINTS))

    def __getitem__(self, name: str) -> Message:
        return Sentence(self.file, ("sentences", name))

    def mistake(
        self,
        name: str,
        steps: Mapping[str, Step],
        *,
        pattern: str | None = None,
        said_as: str | None = None,
        key: str | None = None,
        fix: Message | None = None,
        hides: Message | None = None,
        **values: Any,
    ) -> Mistake:
        """Return the mistake with the texts of its name, or of `said_as` if its name has none.

        key         name of the texts, if it is another one
        fix, hides  texts to use in place of those in the file
        values      values of the placeholders
        """
        find = self._finder("mistakes", [key] if key else [name, *([said_as] if said_as else [])], values)
        return Mistake(name, steps, find("says"), fix or find("fix"), hides or find("hides"), pattern, said_as)

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
        hides: Message | None = None,
    ) -> Recovery:
        """Return the recovery with the texts of its name.

        right       the correct number, or a function of the inputs that computes it
        fix, hides  as in `mistake`
        """
        find = self._finder("recoveries", [name], {})
        fix, hides = fix or find("fix"), hides or find("hides")
        number: Callable[[Inputs], float] = right if callable(right) else lambda inputs: right
        return Recovery(name, step, measure, wrong, sizes, number, right_name, find("says"), fix, hides, pattern)

    def _finder(self, section: str, names: list[str], values: Mapping[str, Any]) -> Callable[[str], Message]:
        def find(part: str) -> Message:
            paths = [(section, name, part) for name in names]
            return Sentence(self.file, *paths, values=values or None, is_optional=part == "hides")

        return find
