"""Roles of operands with the names that learners use for them, which are in role_names.toml."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from headway.practice.exercise import MISSING, Inputs, Role

FILE = Path(__file__).with_name("role_names.toml")


@cache
def read() -> Mapping[str, Mapping[str, Any]]:
    """Return the sections of role_names.toml."""
    return tomllib.loads(FILE.read_text(encoding="utf-8"))


class Roles:
    """Roles of one exercise, or shared by several.

    sections   sections of role_names.toml; of several, the first that has a role's name
    """

    def __init__(self, *sections: str) -> None:
        self.sections = sections

    def called(self, name: str) -> tuple[str, ...]:
        """Return the names that learners use for a role."""
        return tuple(next(read()[section][name] for section in self.sections if name in read()[section]).split())

    def held_as(self, name: str) -> tuple[str, ...]:
        """Return the words that identify a weight in the names of attributes; empty if none are listed."""
        listed = (read()[section].get("held_as", {}).get(name) for section in self.sections)
        return tuple(next(filter(None, listed), "").split())

    def __call__(
        self,
        name: str,
        neutral: Any = MISSING,
        *,
        size_of: Callable[[Inputs], Any] | None = None,
        off: Any = MISSING,
        may_change: bool = False,
    ) -> Role:
        """Return the role of an operand; the options are those of Role."""
        return Role(name, self.called(name), neutral, size_of=size_of, off=off, may_change=may_change)

    def each(self, *names: str) -> tuple[Role, ...]:
        """Return the roles of operands without options."""
        return tuple(map(self, names))

    def weights(self, *names: str, is_optional: bool = False) -> tuple[Role, ...]:
        """Return the roles of weights that a class holds."""
        return tuple(self.weight(name, is_optional=is_optional) for name in names)

    def size(
        self,
        name: str,
        size_of: Callable[[Inputs], Any] | None = None,
        neutral: Any = MISSING,
        *,
        size_override: tuple[tuple[str, ...], Callable[[Inputs], Any] | None] = ((), None),
        is_optional: bool = False,
    ) -> Role:
        """Return the role of a size that a class is constructed with or that a function takes."""
        named = self.called(name)
        return Role(name, named, neutral, is_size=True, size_of=size_of, size_override=size_override, is_optional=is_optional)

    def weight(self, name: str, *, is_optional: bool = False) -> Role:
        """Return the role of a weight that a class holds."""
        return Role(name, self.called(name), is_weight=True, is_optional=is_optional, held_as=self.held_as(name))


def extent(role: str, axis: int) -> Callable[[Inputs], Any]:
    """Return the rule for a size that is the number of elements of an operand along an axis; None without that operand."""
    return lambda inputs: None if inputs.get(role) is None else inputs[role].shape[axis]
