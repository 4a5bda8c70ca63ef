"""Tool calls in generated text, parsed while it arrives: chunks of text in, parts of an OpenAI message out.

Three formats are known, by the marks in the chat templates that ask for them:

    hermes   Hermes, Qwen    <tool_call>{"name": …, "arguments": {…}}</tool_call>, any number, after any text
    llama3   Llama 3         {"name": …, "parameters": {…}} as the whole message, several separated by semicolons
    mistral  Mistral         [TOOL_CALLS][{"name": …, "arguments": {…}}, …] at the end of the message; the mark may be a special
                             token, which has no text

Text that looks like a call but names no tool of the request is content.
"""

from __future__ import annotations

import re
import secrets
import string
from abc import ABC, abstractmethod
from collections.abc import Collection
from dataclasses import dataclass, field

from headway.server.message import Delta
from headway.server.tool_json import CallScanner


def new_call_id() -> str:
    """Return nine letters and digits: the form that Mistral's templates demand, and others accept."""
    return "".join(secrets.choice(string.ascii_letters + string.digits) for _ in range(9))


@dataclass
class WrittenCall:
    """A call so far, with the parts of its arguments."""

    id: str
    name: str
    arguments: list[str] = field(default_factory=list)


class ToolCallParser(ABC):
    """A MessageBuilder of text with tool calls. The message does not depend on where the text is cut into chunks."""

    def __init__(self, tool_names: Collection[str], *, max_calls: int | None = None) -> None:
        """Start before the first chunk.

        tool_names   names of the tools of the request
        max_calls    further calls are dropped
        """
        self.tool_names, self.max_calls = frozenset(tool_names), max_calls
        self.contents, self.calls = list[str](), list[WrittenCall]()
        self.pending, self.deferred = "", list[str]()
        self.call: CallScanner | None = None
        self.index: int | None = None  # of the current call, once its name is known; max_calls for one that is dropped

    def add(self, text: str) -> list[Delta]:
        """See MessageBuilder."""
        self.deferred.append(text)
        return [] if self._can_wait(text) else self._run(is_end=False)

    def flush(self) -> list[Delta]:
        """See MessageBuilder."""
        return self._run(is_end=True)

    def finish_reason(self, reason: str) -> str:
        """See MessageBuilder."""
        return "tool_calls" if self.calls and reason == "stop" else reason

    def message(self) -> dict[str, object]:
        """See MessageBuilder."""
        content = "".join(self.contents)
        message: dict[str, object] = {"role": "assistant", "content": content or None if self.calls else content, "refusal": None}
        if self.calls:
            message["tool_calls"] = [
                {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": "".join(call.arguments)}}
                for call in self.calls
            ]
        return message

    @abstractmethod
    def _step(self, *, is_end: bool) -> tuple[list[Delta], bool]:
        """Process some of the pending text outside calls. Return the deltas, and False if more text is needed."""

    def _can_wait(self, text: str) -> bool:
        """Return True for a chunk that decides nothing. It is processed with the next one: a long run of such chunks is read once."""
        return not text or text.isspace()

    def _run(self, *, is_end: bool) -> list[Delta]:
        self.pending += "".join(self.deferred)
        self.deferred.clear()
        deltas: list[Delta] = []
        can_continue = True
        while can_continue:
            step = self._step_in_call if self.call else self._step
            more, can_continue = step(is_end=is_end)
            deltas += more
        return deltas

    def _step_in_call(self, *, is_end: bool) -> tuple[list[Delta], bool]:
        call = self.call
        assert call is not None
        self._take(call.add(self.pending))
        deltas: list[Delta] = []
        if self.index is None and call.name in self.tool_names:
            deltas += self._begin(call.name)
        if self.index is not None:
            deltas += self._append(call.take_arguments())
        if not call.is_done and not is_end:
            return deltas, False
        if self.index is None:
            deltas += self._content(call.text)
        elif call.is_done and self.index < len(self.calls) and not self.calls[self.index].arguments:
            deltas += self._append("{}")
        self.call = self.index = None
        return deltas, True

    def _begin(self, name: str) -> list[Delta]:
        self.index = len(self.calls)
        if self.index == self.max_calls:
            return []
        self.calls.append(WrittenCall(new_call_id(), name))
        function = {"name": name, "arguments": ""}
        return [{"tool_calls": [{"index": self.index, "id": self.calls[-1].id, "type": "function", "function": function}]}]

    def _append(self, arguments: str) -> list[Delta]:
        assert self.index is not None
        if not arguments or self.index == self.max_calls:
            return []
        self.calls[self.index].arguments.append(arguments)
        return [{"tool_calls": [{"index": self.index, "function": {"arguments": arguments}}]}]

    def _content(self, text: str) -> list[Delta]:
        self.contents.append(text)
        return [{"content": text}] if text else []

    def _take(self, length: int) -> str:
        taken, self.pending = self.pending[:length], self.pending[length:]
        return taken


class HermesParser(ToolCallParser):
    """Hermes and Qwen: calls between marks, with text around them. White space around calls belongs to the format."""

    BEGIN, END = "<tool_call>", "</tool_call>"

    def __init__(self, tool_names: Collection[str], *, max_calls: int | None = None) -> None:
        """See ToolCallParser."""
        super().__init__(tool_names, max_calls=max_calls)
        self.is_inside = self.is_after_call = False

    def _step(self, *, is_end: bool) -> tuple[list[Delta], bool]:
        return self._step_inside(is_end) if self.is_inside else self._step_outside(is_end)

    def _step_outside(self, is_end: bool) -> tuple[list[Delta], bool]:
        if self.is_after_call:
            self.pending = self.pending.lstrip()
        start = self.pending.find(self.BEGIN)
        if start >= 0:
            deltas = self._content(self._take(start).rstrip())
            self._take(len(self.BEGIN))
            self.is_inside = True
            return deltas, True
        kept = 0 if is_end else held_back(self.pending, self.BEGIN)
        text = self._take(len(self.pending) - kept)
        self.is_after_call = self.is_after_call and not text
        return self._content(text.rstrip() if is_end and self.calls else text), False

    def _step_inside(self, is_end: bool) -> tuple[list[Delta], bool]:
        self.pending = self.pending.lstrip()
        if self.pending.startswith("{"):
            self.call = CallScanner()
            return [], True
        end = self.pending.find(self.END)
        if end >= 0:
            self._take(end + len(self.END))
            self.is_inside, self.is_after_call = False, True
            return [], True
        if self.pending:  # what is not the mark is dropped; a brace in it opens no call
            self.pending = "" if is_end else "." + self.pending[-len(self.END) + 1 :]
        return [], False


def held_back(text: str, mark: str) -> int:
    """Return the length of the end of a text that may be the start of a mark, with the white space before it."""
    length = next((length for length in range(min(len(mark) - 1, len(text)), 0, -1) if text.endswith(mark[:length])), 0)
    before = text[: len(text) - length]
    return length + len(before) - len(before.rstrip())


class JsonParser(ToolCallParser):
    """Llama 3 and Mistral: the calls are the end of the message, as JSON after an optional mark."""

    def __init__(self, mark: str, tool_names: Collection[str], *, max_calls: int | None = None) -> None:
        """Start before the first chunk; `mark` may come before the first call, and with text before it."""
        super().__init__(tool_names, max_calls=max_calls)
        self.mark = mark
        self.state = "start"  # then "text", without a mark so far, or "calls"

    SEPARATORS = re.compile(r"[\s;,\[\]]*")

    def _can_wait(self, text: str) -> bool:
        is_between = self.state == "calls" and self.call is None
        return super()._can_wait(text) or (is_between and self.SEPARATORS.fullmatch(text) is not None)

    def _step(self, *, is_end: bool) -> tuple[list[Delta], bool]:
        if self.state == "calls":
            return self._step_between(is_end)
        start = self.pending.find(self.mark)
        if start >= 0:
            deltas = self._content(self._take(start).rstrip())
            self._take(len(self.mark))
            self.state = "calls"
            return deltas, True
        if self.state == "start":
            beginning = self.pending.lstrip()
            if beginning.startswith("{") or re.match(r"\[\s*\{", beginning):
                self.state = "calls"
                return [], True
            if not is_end and (re.fullmatch(r"\[?\s*", beginning) or self.mark.startswith(beginning)):
                return [], False
            self.state = "text"
        return self._content(self._take(len(self.pending) - (0 if is_end else held_back(self.pending, self.mark)))), False

    def _step_between(self, is_end: bool) -> tuple[list[Delta], bool]:
        match = self.SEPARATORS.match(self.pending)
        separators = match.end() if match else 0
        if separators < len(self.pending):
            if self.pending[separators] == "{":
                # Without a call so far, the brackets before it may be content.
                before = self._take(separators)
                self.call = CallScanner("" if self.calls else before)
                return [], True
            self.state = "text"
            return [], True
        if is_end:
            return ([], False) if self.calls else (self._content(self._take(len(self.pending))), False)
        return [], False


def parser(kind: str, tool_names: Collection[str], *, max_calls: int | None = None) -> ToolCallParser:
    """Return a parser of a format: "hermes", "llama3" or "mistral"."""
    if kind == "hermes":
        return HermesParser(tool_names, max_calls=max_calls)
    return JsonParser({"llama3": "<|python_tag|>", "mistral": "[TOOL_CALLS]"}[kind], tool_names, max_calls=max_calls)
