"""What docs/training.md says: its commands and their options exist."""

from __future__ import annotations

from pathlib import Path

from typer.main import get_command

from headway.cli import app
from headway.train.options import NAMES
from tests.test_readme import commands

GUIDE = Path(__file__).parents[2] / "docs" / "training.md"


def test_every_command_and_option_exists():
    known = get_command(app).commands
    assert len(commands(GUIDE)) >= 12
    for subcommand, *arguments in commands(GUIDE):
        options = {name for parameter in known[subcommand].params for name in (*parameter.opts, *parameter.secondary_opts)}
        assert {each for each in arguments if each.startswith("-")} <= options, (subcommand, arguments)


def test_every_architecture_has_its_row():
    text = GUIDE.read_text(encoding="utf-8")
    assert all(f"| `{name}` |" in text for name in NAMES)


def test_no_place_is_left_to_fill_in():
    assert "@@" not in GUIDE.read_text(encoding="utf-8")
