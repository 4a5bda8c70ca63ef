"""The kinds of generation options: their valid values, and their help text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf
from numbers import Integral, Real
from typing import Literal

import numpy

ConfigKey = Literal["always", "if sampling", "never"]
"""Treatment of an option in generation_config.json: always read, read if the file sets do_sample, or never read."""


@dataclass(frozen=True)
class Option:
    """Help text and valid values of one option.

    help        one sentence for --help and the documentation
    unset       the default in words, if None is the default, such as "every token"
    off         values that mean "not set" in generation_config.json and on the command line; Python callers pass None
    config_key  when generation_config.json sets the option: see ConfigKey
    """

    help: str
    unset: str = ""
    off: tuple[object, ...] = ()
    config_key: ConfigKey = "always"

    def accepts(self, value: object) -> bool:
        """Return True if the value has the right type and is within the bounds."""
        raise NotImplementedError

    @property
    def expected(self) -> str:
        """Description of the valid values, for error messages."""
        raise NotImplementedError


@dataclass(frozen=True)
class Integer(Option):
    """An integer from `low` to `high`, both included."""

    low: int = 0
    high: float = inf

    def accepts(self, value: object) -> bool:
        """Return True for an integer within the bounds."""
        return is_integer(value) and self.low <= value <= self.high  # type: ignore[operator]

    @property
    def expected(self) -> str:
        """Description of the valid values."""
        return f"an integer of at least {self.low}" if self.high == inf else f"an integer from {self.low} to {self.high}"


@dataclass(frozen=True)
class Number(Option):
    """A number from `low` to `high`, both included, or `extra`."""

    low: float = -inf
    high: float = inf
    extra: float | None = None

    def accepts(self, value: object) -> bool:
        """Return True for a number within the bounds."""
        return is_number(value) and (self.low <= value <= self.high or value == self.extra)  # type: ignore[operator]

    @property
    def expected(self) -> str:
        """Description of the valid values."""
        bounds = f"a number from {self.low:g} to {self.high:g}"
        return bounds if self.extra is None else f"{self.extra:g}, or {bounds}"


@dataclass(frozen=True)
class Switch(Option):
    """True or False."""

    def accepts(self, value: object) -> bool:
        """Return True for a bool."""
        return isinstance(value, bool)

    @property
    def expected(self) -> str:
        """Description of the valid values."""
        return "True or False"


@dataclass(frozen=True)
class Choice(Option):
    """One of a few values."""

    choices: tuple[bool | str, ...] = ()

    def accepts(self, value: object) -> bool:
        """Return True for one of the choices; 1 is not True here."""
        return any(type(value) is type(choice) and value == choice for choice in self.choices)

    @property
    def expected(self) -> str:
        """Description of the valid values."""
        return f"one of {', '.join(map(repr, self.choices))}"


@dataclass(frozen=True)
class Strings(Option):
    """A non-empty string, or a sequence of them."""

    def accepts(self, value: object) -> bool:
        """Return True for a non-empty string or a sequence of non-empty strings."""
        strings = [value] if isinstance(value, str) else value
        return isinstance(strings, Sequence) and all(isinstance(each, str) and each for each in strings)

    @property
    def expected(self) -> str:
        """Description of the valid values."""
        return "a non-empty string or a list of them"


@dataclass(frozen=True)
class Text(Option):
    """A non-empty string."""

    is_file: bool = False  # on the command line, the name of a file with the text

    def accepts(self, value: object) -> bool:
        """Return True for a non-empty string."""
        return isinstance(value, str) and bool(value)

    @property
    def expected(self) -> str:
        """Description of the valid values."""
        return "a non-empty string"


@dataclass(frozen=True)
class JsonSchema(Option):
    """A JSON Schema."""

    def accepts(self, value: object) -> bool:
        """Return True for a mapping."""
        return isinstance(value, Mapping)

    @property
    def expected(self) -> str:
        """Description of the valid values."""
        return 'a JSON Schema as a dict, such as {"type": "object"}'


@dataclass(frozen=True)
class TokenIds(Option):
    """A sequence of token ids."""

    def accepts(self, value: object) -> bool:
        """Return True for a sequence or a NumPy array of integers."""
        if isinstance(value, str | bytes | bytearray) or not isinstance(value, Sequence | numpy.ndarray):
            return False
        return all(map(is_integer, value))

    @property
    def expected(self) -> str:
        """Description of the valid values."""
        return "a list of token ids"


@dataclass(frozen=True)
class TokenBiases(Option):
    """A number per token id, from `low` to `high`, or -inf."""

    low: float = -inf
    high: float = inf

    def accepts(self, value: object) -> bool:
        """Return True for a mapping of token ids to numbers within the bounds."""
        return isinstance(value, Mapping) and all(
            is_integer(token_id) and is_number(bias) and (bias == -inf or self.low <= bias <= self.high) for token_id, bias in value.items()
        )

    @property
    def expected(self) -> str:
        """Description of the valid values."""
        return f"token ids with numbers from {self.low:g} to {self.high:g}, or -inf"


def is_integer(value: object) -> bool:
    """Return True for an integer, NumPy's included; False for a bool."""
    return isinstance(value, Integral) and not isinstance(value, bool)


def is_number(value: object) -> bool:
    """Return True for a real number, NumPy's included; False for a bool."""
    return isinstance(value, Real) and not isinstance(value, bool)
