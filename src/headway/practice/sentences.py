"""Sentences of the catalogue: catalogue/*.toml, with English and Chinese next to each other.

A file has these entries, each with the keys `en` and `zh`:

title, hints, equation    of an exercise; three hints, each more explicit than the one before
sentences.NAME            notes about conventions and probes, and sentences that several mistakes share
mistakes.NAME.says        what the learner's code does
mistakes.NAME.fix         what to change, as an imperative
mistakes.NAME.hides       reason why a simple example does not show the mistake, if there is one
mistakes.NAME.pattern     regular expression that finds the line in the learner's source; a string, the same in both languages
recoveries.NAME.…         the same for a number measured from the learner's function

In place of `en` and `zh`, a string names an entry of `sentences`: "rows" of the same file, "shared/norms/rows" of another one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache, cached_property
from pathlib import Path
from typing import Any

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
            yield from (((section, name, part), entry) for part, entry in parts.items() if part != "pattern")


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

    def __eq__(self, other: object) -> bool:
        """Compare the texts; those of one entry are equal without reading its file, which the process that runs a program may not do."""
        if self is other:
            return True
        if isinstance(other, Sentence):
            is_same_entry = (self.file, self.paths, self.values) == (other.file, other.paths, other.values)
            return is_same_entry or self._texts == other._texts
        return super().__eq__(other)

    __hash__ = Message.__hash__

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
