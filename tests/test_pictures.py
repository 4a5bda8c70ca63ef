"""The pictures of README show what the commands print."""

from __future__ import annotations

import html
import re

import pytest

from tools.pictures import FOLDER, PICTURES, printed


def words(svg: str) -> str:
    """The text of an SVG file, without white space."""
    return re.sub(r"\s+", "", html.unescape("".join(re.findall(r"<text[^>]*>(.*?)</text>", svg, re.DOTALL)))).replace("\xa0", "")


@pytest.mark.slow
@pytest.mark.parametrize("picture", PICTURES, ids=lambda picture: picture.name)
def test_a_picture_shows_what_its_command_prints(picture):
    plain = re.sub(r"\x1b\[[0-9;]*m", "", printed(picture))
    svg = (FOLDER / f"{picture.name}.svg").read_text(encoding="utf-8")
    assert re.sub(r"\s+", "", plain) in words(svg), "run `make pictures`"
    assert "http" not in svg.replace("http://www.w3.org/2000/svg", ""), "nothing is loaded from the network"
