"""Generated text as the assistant's message of a chat response."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol, TypeAlias

Delta: TypeAlias = Mapping[str, object]
"""A part of a message, as in a streamed chunk."""


class MessageBuilder(Protocol):
    """Turns the text of one choice into a message. A parser of tool calls is one, too."""

    def add(self, text: str) -> list[Delta]:
        """Return the parts of the message that became final with this text."""

    def flush(self) -> list[Delta]:
        """Return the rest, at the end of the text."""

    def finish_reason(self, reason: str) -> str:
        """Return the finish reason of the choice, given that of the text: "stop" or "length"."""

    def message(self) -> dict[str, object]:
        """Return the whole message after `flush`."""


class TextMessage:
    """A message with the text as it is."""

    def __init__(self) -> None:
        self._texts: list[str] = []

    def add(self, text: str) -> list[Delta]:
        """See MessageBuilder."""
        if not text:
            return []
        self._texts.append(text)
        return [{"content": text}]

    def flush(self) -> list[Delta]:
        """See MessageBuilder."""
        return []

    def finish_reason(self, reason: str) -> str:
        """See MessageBuilder."""
        return reason

    def message(self) -> dict[str, object]:
        """See MessageBuilder."""
        return {"role": "assistant", "content": "".join(self._texts), "refusal": None}
