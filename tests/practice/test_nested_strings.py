"""Strings within f-strings that Python 3.12 accepts, read by the versions before it."""

from __future__ import annotations

import ast
import sys

import pytest

from headway.practice.nested_strings import parsed, with_other_quotes
from headway.practice.source import read

NEWER = r'''
x = {"a": 1, "b": ["c", "d"]}
found = [
    f"{x["a"]:>{x["a"]}} it's {"\n\x41\\".join(x["b"])}",
    f'{'\t'.join([r"\d\\"])} {{x}}' "\n",  # it's a comment
    f"""{x["a"]} "" {f'\n{x['a']}'}""",
]
'''
FOUND = ["1 it's c\nA\\d", "\\d\\\\ {x}\n", '1 "" \n1']


def test_newer_strings_have_their_values():
    held: dict[str, object] = {}
    exec(compile(parsed(NEWER), "newer", "exec"), held)
    assert held["found"] == FOUND
    exec(ast.unparse(parsed(NEWER)), held)
    assert held["found"] == FOUND


def test_a_text_keeps_its_length_and_its_lines():
    text = with_other_quotes(NEWER)
    assert len(text) == len(NEWER)
    assert text.count("\n") == NEWER.count("\n")
    assert (text == NEWER) == (sys.version_info >= (3, 12))


@pytest.mark.parametrize("text", ["x = f'{1}' # '", 'x = f"{x["a]}"', "def f(:\n", "x = '⧵n'", "f'{'", "'"])
def test_other_texts_stay(text):
    assert with_other_quotes(text) == text


def test_a_file_is_read_with_them(tmp_path):
    path = tmp_path / "newer.py"
    path.write_text(NEWER, encoding="utf-8")
    assert read(path).tree is not None
