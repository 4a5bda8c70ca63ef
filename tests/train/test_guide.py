"""The commands and options in docs/training.md exist."""

from __future__ import annotations

from pathlib import Path

from headway.train.options import NAMES
from tests.test_readme import check_commands, commands

GUIDE = Path(__file__).parents[2] / "docs" / "training.md"


def test_every_command_and_option_exists():
    assert len(commands(GUIDE)) >= 12
    check_commands(GUIDE)


def test_every_architecture_has_its_row():
    text = GUIDE.read_text(encoding="utf-8")
    assert all(f"| `{name}` |" in text for name in NAMES)


def test_no_place_is_left_to_fill_in():
    assert "@@" not in GUIDE.read_text(encoding="utf-8")
