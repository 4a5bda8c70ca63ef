"""Sentences in English and Chinese."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from headway.errors import OptionError

LANGUAGES = ("en", "zh")


@dataclass(frozen=True)
class Message:
    """One sentence in both languages, with {placeholders} that `format` fills."""

    en: str
    zh: str

    def format(self, **values: Any) -> Message:
        """Return the message with its placeholders filled; a value may itself be a Message."""

        def each(language: str) -> str:
            chosen = {name: value.text(language) if isinstance(value, Message) else value for name, value in values.items()}
            return self.text(language).format(**chosen)

        return Message(each("en"), each("zh"))

    def text(self, language: str) -> str:
        """Return the sentence in one language."""
        return self.zh if language == "zh" else self.en

    def __eq__(self, other: object) -> bool:
        return (self.en, self.zh) == (other.en, other.zh) if isinstance(other, Message) else NotImplemented

    def __hash__(self) -> int:
        return hash((self.en, self.zh))


EMPTY = Message("", "")
"""A message without text."""


def same(text: str) -> Message:
    """Return text that is the same in both languages, such as code."""
    return Message(text, text)


def joined(parts: Sequence[str | Message], *, en: str = ", ", zh: str = "、") -> Message:
    """Return a list of names or messages, separated by `en` and `zh`."""
    texts = [(part, part) if isinstance(part, str) else (part.en, part.zh) for part in parts]
    return Message(en.join(each for each, _ in texts), zh.join(each for _, each in texts))


class PracticeError(OptionError):
    """An OptionError in both languages; str() is the English message."""

    def __init__(self, message: Message, *, hint: Message | None = None) -> None:
        super().__init__(message.en, hint=hint.en if hint else None)
        self.messages = (message, hint)

    def in_language(self, language: str) -> OptionError:
        """Return the error with its message and hint in one language."""
        message, hint = self.messages
        return OptionError(message.text(language), hint=hint.text(language) if hint else None)


@contextmanager
def errors_in(language: str) -> Iterator[None]:
    """Raise the PracticeErrors of the block in this language."""
    try:
        yield
    except PracticeError as error:
        raise error.in_language(language) from error


class BilingualError(Exception):
    """An exception that Headway raises inside a learner's call; str() is the English message.

    base   the built-in exception that it corresponds to
    """

    base: type[BaseException] = Exception

    def __init__(self, message: Message) -> None:
        super().__init__(message.en)
        self.message = message


class CallError(BilingualError, TypeError):
    """A function or class that cannot be called with the inputs of its exercise."""

    base = TypeError


class TokenIndexError(BilingualError, IndexError):
    """Token ids or positions that a toy model does not accept."""

    base = IndexError


class EndsProcessError(BilingualError, RuntimeError):
    """The end of the process that a learner's constructor asks for, as an exception that no caller lets through."""

    base = SystemExit


class OutputError(BilingualError, ValueError):
    """An output that is not of the kind that the exercise asks for."""

    base = ValueError


def describe_error(error: BaseException, *, max_chars: int | None = None) -> Message:
    """Return an exception's class and text; for a BilingualError only its message.

    max_chars   limit for the text, of which then only the first line is kept
    """
    if isinstance(error, BilingualError):
        return error.message
    text = str(error.msg if isinstance(error, SyntaxError) else error).strip()
    text = text if max_chars is None else "".join(text.splitlines()[:1])[:max_chars]
    return same(f"{type(error).__name__}: {text}" if text else type(error).__name__)


def unknown_name(name: str, names: Sequence[str]) -> PracticeError:
    """Return the error for a name that is not one of `names`, with the closest ones as a hint."""
    near = difflib.get_close_matches(name, names, 3, 0.4)
    return PracticeError(
        Message(f"got {name!r}, expected one of {', '.join(names)}", f"收到 {name!r}，应为以下之一：{'、'.join(names)}"),
        hint=Message(f"did you mean {' or '.join(near)}?", f"是不是想写 {' 或 '.join(near)}？") if near else None,
    )
