"""The JSON object of one tool call, read while it arrives."""

from __future__ import annotations

import json
import re
from typing import Literal

ARGUMENTS = ("arguments", "parameters")
SPACES = " \t\r\n"
IN_STRING = re.compile(r'[^"\\]+')
IN_VALUE = re.compile(r'[^"{}\[\]<]+')
"""Characters inside a string, and inside an object or array, that change nothing."""


class CallScanner:
    """Reads {"name": "…", "arguments": …}, keys in any order, in time that is linear in its length however it is cut.

    name       the name, once it is complete
    is_done    True after the object's last character, and before a character that JSON does not allow there
    """

    def __init__(self, before: str = "") -> None:
        """Start before the opening brace. `before` is text that precedes it, the start of `text`."""
        self.name: str | None = None
        self.is_done = False
        self._expects: Literal["{", "key", ":", "value"] = "{"
        self._key, self._depth = "", 0
        self._is_string = self._is_escaped = False
        self._texts, self._raw, self._arguments, self._arguments_key = [before], list[str](), list[str](), ""

    @property
    def text(self) -> str:
        """Everything that was read."""
        return "".join(self._texts)

    def add(self, text: str) -> int:
        """Read text up to the end of the object. Return the number of characters read."""
        place = 0
        while place < len(text) and not self.is_done:
            if run := self._run(text, place):
                self._put(run[0])
                place = run.end()
            elif self._read(text[place]):
                place += 1
            else:
                self.is_done = True
        self._texts.append(text[:place])
        return place

    def take_arguments(self) -> str:
        """Return the text of the arguments since the last call."""
        taken, self._arguments = "".join(self._arguments), []
        return taken

    def _run(self, text: str, place: int) -> re.Match[str] | None:
        """Match the characters that are only kept."""
        if self._is_string:
            return None if self._is_escaped else IN_STRING.match(text, place)
        return IN_VALUE.match(text, place) if self._depth else None

    def _read(self, character: str) -> bool:
        """Read a character. Return False for one that JSON does not allow."""
        if self._is_string:
            self._put(character)
            self._is_string = self._is_escaped or character != '"'
            self._is_escaped = not self._is_escaped and character == "\\"
            if not self._is_string and self._expects == "key":
                self._key, self._raw, self._expects = _string("".join(self._raw)), [], ":"
            return True
        if character in SPACES and self._depth == 0:
            return True
        if self._expects == "value":
            return self._read_value(character)
        if self._expects == "key" and character == '"':
            self._is_string = True
            self._put(character)
        elif self._expects == "key" and character == "}":
            self.is_done = True
        elif character == self._expects:
            self._expects = "key" if character == "{" else "value"
        else:
            return self._expects == "key" and character == ","
        return True

    def _read_value(self, character: str) -> bool:
        if character == "<":
            return False
        if self._depth == 0 and character in ",}":
            self._end_value()
            self.is_done, self._expects = character == "}", "key"
            return True
        self._is_string = character == '"'
        self._depth += (character in "{[") - (character in "}]")
        self._put(character)
        return self._depth >= 0

    def _put(self, text: str) -> None:
        self._raw.append(text)
        if self._expects == "value" and self._key in ARGUMENTS and self._arguments_key in ("", self._key):
            self._arguments_key = self._key
            if self._raw[0][0] != '"':
                self._arguments.append(text)

    def _end_value(self) -> None:
        raw, self._raw = "".join(self._raw), []
        if self._key == "name" and self.name is None and raw.startswith('"'):
            self.name = _string(raw)
        elif self._key == self._arguments_key and raw.startswith('"'):
            # Some models write the arguments as JSON inside a string.
            self._arguments.append(_string(raw))


def _string(raw: str) -> str:
    """Return the value of a JSON string; the text itself if it is not valid."""
    try:
        return str(json.loads(raw))
    except ValueError:
        return raw
