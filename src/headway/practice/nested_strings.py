"""Strings within f-strings that have the quotes of the f-string or backslashes, as Python 3.12 allows, for the versions before it."""

from __future__ import annotations

import ast
import re
import warnings

START = re.compile(r"(?i)(?<!\w)([rbuf]{0,2})('''|\"\"\"|'|\")")
"""Pattern of the start of a string: its prefix and its quotes."""

COMMENT = re.compile(r"#.*")

OTHER = {"'": '"', '"': "'"}

ESCAPE, BACKSLASH = "\u29f5", "\u29f9"
"""Printable characters in place of a backslash that begins an escape, and of one that is a backslash."""

ESCAPED = rf"{ESCAPE}?{BACKSLASH}|{ESCAPE}([0-7]{{1,3}}|x..|u.{{4}}|U.{{8}}|[^xuU])"
"""Pattern of an escape, or of a backslash, after the exchange."""


def parsed(text: str) -> ast.Module:
    """Return the syntax tree of a text, also with such strings.

    Errors   SyntaxError for a text that is not Python.
    """
    tree = ast.parse(readable := with_other_quotes(text))
    is_marked = ESCAPE in readable or BACKSLASH in readable
    return ast.fix_missing_locations(_Restored().visit(tree)) if is_marked else tree


class _Restored(ast.NodeTransformer):
    """A tree with the backslashes of strings within f-strings, as calls that `ast.unparse` can write there."""

    is_within = False

    def visit_Constant(self, node: ast.Constant) -> ast.expr:
        if not self.is_within or not isinstance(node.value, str) or not re.search(ESCAPED, node.value):
            return node
        value = re.sub(ESCAPED, _unescaped, node.value)
        return ast.copy_location(ast.parse(f"bytes({[*value.encode()]}).decode()", mode="eval").body, node)

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.JoinedStr:
        was_within, self.is_within = self.is_within, True
        self.generic_visit(node)
        self.is_within = was_within
        node.values = [
            each if isinstance(each, ast.Constant | ast.FormattedValue) else ast.FormattedValue(each, -1) for each in node.values
        ]
        return node


def _unescaped(found: re.Match[str]) -> str:
    if found[0].endswith(BACKSLASH):
        return "\\"
    return str(ast.literal_eval(f"'\\{found[1]}'"))


def with_other_quotes(text: str) -> str:
    """Return a text of the same length with other quotes around such strings, and marks in place of backslashes.

    It is unchanged if it is Python as it is, or is not Python afterwards.
    """
    if _is_python(text) or ESCAPE in text or BACKSLASH in text:
        return text
    found = "".join(_Quotes(text).changed())
    return found if _is_python(found) else text


def _is_python(text: str) -> bool:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


class _Quotes:
    """The characters of a text, in which the quotes and backslashes of strings within f-strings are exchanged."""

    def __init__(self, text: str) -> None:
        self.text, self.characters = text, list(text)

    def changed(self) -> list[str]:
        """Return the characters after the exchange."""
        place = 0
        while place < len(self.text):
            start = START.match(self.text, place)
            comment = COMMENT.match(self.text, place)
            place = self._after_string(start, ()) if start else comment.end() if comment else place + 1
        return self.characters

    def _after_string(self, start: re.Match[str], around: tuple[str, ...]) -> int:
        """Return the place after a string, whose quotes are exchanged if one of the f-strings around it has them.

        around   quotes of those f-strings
        """
        quotes, place = start[2], start.end()
        while place < len(self.text) and not self.text.startswith(quotes, place):
            if around and self.text[place] == "\\":
                is_raw = "r" in start[1].lower()
                self.characters[place] = BACKSLASH if is_raw else ESCAPE
                if self.text.startswith("\\", place + 1):
                    self.characters[place + 1] = BACKSLASH
            if self.text[place] == "\\" or self.text.startswith("{{", place):
                place += 2
            elif self.text[place] == "{" and "f" in start[1].lower():
                place = self._after_field(place + 1, (*around, quotes[0]))
            else:
                place += 1
        if quotes[0] in around:
            for first in (start.start(2), place):
                self.characters[first : first + len(quotes)] = OTHER[quotes[0]] * len(quotes)
        return place + len(quotes)

    def _after_field(self, place: int, around: tuple[str, ...]) -> int:
        """Return the place after a field of an f-string: an expression and its format, which may have fields as well."""
        depth, is_format = 0, False
        while place < len(self.text):
            start, character = None if is_format else START.match(self.text, place), self.text[place]
            if start:
                place = self._after_string(start, around)
                continue
            if character == "{" and is_format:
                place = self._after_field(place + 1, around)
                continue
            if character == "}" and not depth:
                return place + 1
            depth += (character in "([{") - (character in ")]}")
            is_format |= character == ":" and not depth
            place += 1
        return place
