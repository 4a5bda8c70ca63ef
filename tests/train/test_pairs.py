"""Readers of text pairs."""

from __future__ import annotations

import pytest

from headway.errors import TrainingError
from headway.train.pairs import read_pairs, read_parallel


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
def test_a_line_is_a_source_a_tab_and_a_target(tmp_path, ending):
    (tmp_path / "pairs.tsv").write_bytes(f"ein Haus\ta house{ending}zwei\u2028Häuser\ttwo houses{ending}".encode())
    assert read_pairs(tmp_path / "pairs.tsv") == [("ein Haus", "a house"), ("zwei\u2028Häuser", "two houses")]


def test_a_byte_order_mark_is_no_text(tmp_path):
    (tmp_path / "pairs.tsv").write_bytes(b"\xef\xbb\xbfein Haus\ta house\n")
    assert read_pairs(tmp_path / "pairs.tsv") == [("ein Haus", "a house")]


def test_two_files_are_read_line_by_line(tmp_path):
    (tmp_path / "de").write_text("ein Haus\nzwei\tHäuser\n", encoding="utf-8")
    (tmp_path / "en").write_text("a house\ntwo houses")
    assert read_parallel(tmp_path / "de", tmp_path / "en") == [("ein Haus", "a house"), ("zwei\tHäuser", "two houses")]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("no tab here", r"line 2: got a line without a tab, expected a source, one tab and a target.*correct or remove"),
        ("one\ttwo\tthree", r"line 2: got a line with 2 tabs"),
        ("", r"line 2: got an empty line"),
        ("\ttarget", r"line 2: got an empty source, expected .*correct or remove"),
        ("source\t ", r"line 2: got an empty target"),
    ],
)
def test_a_line_that_is_no_pair_is_named_by_its_number(tmp_path, line, message):
    (tmp_path / "pairs.tsv").write_text(f"a\tb\n{line}\nc\td\n")
    with pytest.raises(TrainingError, match=rf"(?s).*pairs\.tsv, {message}"):
        read_pairs(tmp_path / "pairs.tsv")


def test_files_of_different_lengths(tmp_path):
    (tmp_path / "de").write_text("eins\nzwei\ndrei\n")
    (tmp_path / "en").write_text("one\ntwo\n")
    with pytest.raises(TrainingError, match=r"de with 3 lines and .*en with 2, expected equal numbers of lines"):
        read_parallel(tmp_path / "de", tmp_path / "en")


@pytest.mark.parametrize(("name", "number"), [("de", 2), ("en", 3)])
def test_an_empty_line_of_one_of_two_files(tmp_path, name, number):
    for each in ("de", "en"):
        lines = ["a", "b", "c"]
        if each == name:
            lines[number - 1] = ""
        (tmp_path / each).write_text("\n".join(lines) + "\n")
    with pytest.raises(
        TrainingError, match=rf"(?s){name}, line {number}: got an empty line, expected text.*remove the line from both files"
    ):
        read_parallel(tmp_path / "de", tmp_path / "en")


@pytest.mark.parametrize(("content", "message"), [(b"", "without text, expected one text"), (b"a\xff\tb", "invalid UTF-8 at byte 1")])
def test_a_file_without_pairs(tmp_path, content, message):
    (tmp_path / "pairs.tsv").write_bytes(content)
    with pytest.raises(TrainingError, match=message):
        read_pairs(tmp_path / "pairs.tsv")


def test_no_such_file(tmp_path):
    with pytest.raises(TrainingError, match=r"nowhere\.tsv, expected a readable text file"):
        read_pairs(tmp_path / "nowhere.tsv")
