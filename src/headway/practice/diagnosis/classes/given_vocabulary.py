"""Vocabularies that a constructor takes as objects or as lists of words: their number of tokens, and the id of the token of padding."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from headway.practice.diagnosis.calls.wording import snake
from headway.practice.diagnosis.classes.no_effect import NO_TOKEN
from headway.practice.diagnosis.reading.subject import Subject
from headway.practice.exercise import Exercise

OF_VOCABULARY = "vocab_size"
"""Name of the role of the number of tokens."""

NAMES = r"vocab(ulary)?"
"""Pattern of the names of parameters for a vocabulary, or for the number of its tokens."""

OF_OBJECT = r"\blen\((self\.)?{name}\)|(?<![\w.])(self\.)?{name}(\.[A-Za-z_]\w*|\[)"
"""Pattern of the code of a class that reads the length, an attribute or an entry of a parameter."""

NAMES_OF_WORDS = rf"{NAMES}|((vocab|word|token)_?list|words|tokens|data)"
OF_WORDS = r"\b(enumerate|list|set|sorted|tuple)\((self\.)?{name}\)|\bin (self\.)?{name}\b(?![.\[])"
"""Patterns of the names of parameters for the words of a vocabulary, and of the code of a class that iterates over them."""

IDS_OF_TOKENS = r"^(.*_)?stoi$|(2|_to_)(id|idx|index|i)x?$"
ID = r"(^|_)(id|idx|index)$"
NUMBER = r"(^|_)(size|len|length)$|^(n|num)_"
TOKEN = r"^(pad|padding)(_token)?$"
"""Patterns of the attributes that are a dict of ids by token, the id of a token, the number of tokens, and a token."""


class GivenVocabulary:
    """A constructor argument that is a vocabulary, for each probe one of its number of tokens."""

    def at(self, sizes: Mapping[str, Any]) -> Any:
        """Return the vocabulary for some sizes by role."""
        return _Vocabulary(sizes[OF_VOCABULARY])


class _Ids:
    """Ids by token: that of padding for any."""

    def __getitem__(self, token: Any) -> int:
        return NO_TOKEN

    def get(self, token: Any, default: Any = None) -> int:
        """Return the id of padding."""
        return NO_TOKEN


class _Vocabulary(_Ids):
    def __init__(self, size: int) -> None:
        self.__size = size

    def __len__(self) -> int:
        return self.__size

    def __iter__(self) -> Iterator[str]:
        return (f"word {place}" for place in range(self.__size))

    def __contains__(self, token: Any) -> bool:
        """Return True: the token of padding, whatever it is called, needs no place of its own."""
        return True

    def __getattr__(self, name: str) -> Any:
        meant = {IDS_OF_TOKENS: _Ids(), ID: NO_TOKEN, NUMBER: self.__size, TOKEN: "<pad>"}
        found = next((value for pattern, value in meant.items() if re.search(pattern, snake(name))), None)
        if found is None:
            raise AttributeError(f"got the attribute {name} of a vocabulary, expected a number of tokens, a token or its id")
        return found


def given_vocabularies(parameters: Sequence[inspect.Parameter], subject: Subject, exercise: Exercise) -> dict[str, GivenVocabulary]:
    """Return the required parameters for a vocabulary of which a class reads more than a number, with values."""
    names = [each.name for each in parameters if each.default is each.empty]
    is_of_tokens = any(role.name == OF_VOCABULARY for role in exercise.roles)
    return {name: GivenVocabulary() for name in names if is_of_tokens and _is_read(name, subject.code)}


def _is_read(name: str, code: str) -> bool:
    """Return True for the name of a vocabulary that a class reads as an object, or of words over which it iterates."""
    ways = {NAMES: OF_OBJECT, NAMES_OF_WORDS: OF_WORDS}
    return any(re.fullmatch(named, name.lower()) and re.search(read.format(name=name), code) for named, read in ways.items())
