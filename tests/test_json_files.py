"""JSON files with limits."""

from __future__ import annotations

import pytest

from headway.errors import CheckpointError, TokenizerError
from headway.json_files import parse_json_object, read_json_array, read_json_object, short_repr


def test_an_object_is_returned(tmp_path):
    path = tmp_path / "config.json"
    path.write_text('\ufeff{"a": [1, -2, 3.5, null], "b": 18446744073709551615}', encoding="utf-8")
    assert read_json_object(path) == {"a": [1, -2, 3.5, None], "b": 2**64 - 1}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"[" * 100_000, "nested too deeply"),
        (b'{"a":' * 100_000, "nested too deeply"),
        (b'{"a": ' + b"9" * 5000 + b"}", "an integer of 5000 digits"),
        (b"[1]", "a JSON list, expected an object"),
        (b"\xff\xfe", "not JSON"),
        (b"{", "not JSON"),
        (b"", "not JSON"),
    ],
)
def test_other_text_is_an_error_that_names_the_file(text, message, tmp_path):
    with pytest.raises(TokenizerError, match=rf"config\.json.*{message}(.|\n)*correct the file"):
        parse_json_object(text, "config.json", TokenizerError)


def test_a_file_that_is_too_large_is_not_read(tmp_path, monkeypatch):
    path = tmp_path / "config.json"
    path.write_text("{}" + " " * 100)
    monkeypatch.setattr("headway.json_files.MAX_BYTES", 100)
    with pytest.raises(CheckpointError, match="102 bytes, expected at most 100"):
        read_json_object(path)


def test_an_array_is_read_where_an_array_is_expected(tmp_path):
    path = tmp_path / "modules.json"
    path.write_text("[1, 2]")
    assert read_json_array(path) == [1, 2]
    path.write_text("{}")
    with pytest.raises(CheckpointError, match="a JSON dict, expected an array"):
        read_json_array(path)


@pytest.mark.parametrize("value", ["x" * 1000, [[[[[["deep"]]]]]], list(range(1000)), {str(i): i for i in range(1000)}, "\ud800", 10**19])
def test_a_short_repr_is_short_and_printable(value):
    text = short_repr(value)
    assert len(text) < 200
    text.encode()
