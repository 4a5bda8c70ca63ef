"""The pages of mistakes have a heading for every rule."""

from __future__ import annotations

import pytest

from headway.practice.exercises import NAMES
from headway.practice.rules import rules_of, url_of

pytest.importorskip("mkdocs", reason="the extra docs is not installed")


def test_every_rule_has_a_heading_at_its_address():
    from tools.mistake_pages import pages

    found = {(name, line.removeprefix("## ")) for name, text in pages().items() for line in text.splitlines() if line.startswith("## ")}
    addresses = [url_of(rule.id) for name in NAMES for rule in rules_of(name).values()]
    wanted = {tuple(address.split("mistakes/")[1].split("/#")) for address in addresses}
    assert len(wanted) > 500
    assert wanted - found == set()


def test_a_page_shows_both_languages():
    from tools.mistake_pages import pages

    text = pages()["softmax"]
    assert "the maximum is not subtracted before exp" in text
    assert "没有先减去最大值" in text
