"""A program in a convention of public code, and mistakes in it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Program:
    """A file with one function or class that is judged.

    name       name of the function or class
    part       exercise that it is
    mistakes   pairs of a right piece of the text and a wrong one
    """

    name: str
    part: str
    text: str
    mistakes: tuple[tuple[str, str], ...] = ()

    @property
    def id(self) -> str:
        """Return the name of the test case."""
        return f"{self.part}-{self.name}"
