from __future__ import annotations

import re
from pathlib import Path

import pytest

from headway.cli import grade
from headway.errors import OptionError
from headway.practice.grading.grade import PartPoints
from headway.practice.grading.sheet import read_sheet


def sheet(tmp_path, text):
    path = tmp_path / "headway.toml"
    path.write_text(text, encoding="utf-8")
    return read_sheet(path)


def test_a_sheet_gives_points_by_part_and_by_named_mistake(tmp_path):
    text = "[grade]\nsoftmax = 2\nattention = {points = 5, partial = {scale = 3, raises = 0.5}}\n"
    assert sheet(tmp_path, text) == {
        "softmax": PartPoints(2.0),
        "scaled_dot_product_attention": PartPoints(5.0, {"scale": 3.0, "raises": 0.5}),
    }


@pytest.mark.parametrize(
    ("text", "says", "hint"),
    [
        ("[grade]\nsofmax = 2", "got 'sofmax', expected one of softmax", "did you mean softmax"),
        ("[grade]\nsoftmax = {points = 2, partial = {noshift = 1}}", "got 'noshift', expected one of no_shift", "did you mean no_shift"),
        ("[grade]\nsoftmax = {point = 2}", "got 'point', expected one of points, partial", "did you mean points"),
        ("[grade]\nsoftmax = {partial = {}}", "got points None for softmax, expected a number from 0", None),
        ("[grade]\nsoftmax = 'two'", "got points 'two' for softmax", None),
        ("[grade]\nsoftmax = true", "got points True for softmax", None),
        ("[grade]\nsoftmax = nan", "got points nan for softmax", None),
        ("[grade]\nsoftmax = -1", "got points -1 for softmax", None),
        (
            "[grade]\nsoftmax = {points = 2, partial = {no_shift = 3}}",
            "got points 3 for softmax, no_shift, expected a number from 0 to 2",
            None,
        ),
        ("[grade]\nsoftmax = {points = 2, partial = 1}", "got partial = 1 for softmax, expected a table", None),
        ("[grade]\nattention = 1\nscaled_dot_product_attention = 2", "got points for scaled_dot_product_attention twice", None),
        ("[lsp]\nenable = true", "without points, expected a table", None),
        ("[grade", "expected TOML", None),
    ],
)
def test_a_sheet_with_an_error_is_refused(tmp_path, text, says, hint):
    with pytest.raises(OptionError) as raised:
        sheet(tmp_path, text)
    assert says in str(raised.value)
    assert hint is None or hint in raised.value.hint


def test_a_sheet_that_does_not_exist_is_refused(tmp_path):
    with pytest.raises(OptionError, match="does not exist, expected a grade sheet"):
        read_sheet(tmp_path / "headway.toml")


def test_the_sheets_of_the_documentation_and_of_the_help_are_valid(tmp_path):
    text = (Path(__file__).parents[3] / "docs" / "grading.md").read_text(encoding="utf-8")
    (documented,) = re.findall(r"^```toml\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    assert len(sheet(tmp_path, documented)) == 2
    lines = re.findall(r"`(\w+ = .*?)`", grade.command.__doc__)
    assert len(sheet(tmp_path, "\n".join(["[grade]", *lines]))) == 2
