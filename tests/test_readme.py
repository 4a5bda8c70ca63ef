"""What the READMEs say: their Python runs, their commands exist, and both languages say the same."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from typer.main import get_command

from headway.cli import app

ROOT = Path(__file__).parents[1]
READMES = [ROOT / "README.md", ROOT / "README.zh-CN.md"]
every_readme = pytest.mark.parametrize("path", READMES, ids=lambda path: path.name)


def blocks(path: Path, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", path.read_text(encoding="utf-8"), re.DOTALL)


def commands(path: Path) -> list[list[str]]:
    lines = "\n".join(blocks(path, "sh")).replace("\\\n", " ").splitlines()
    words = [shlex.split(line, comments=True) for line in lines]
    return [each[each.index("headway") + 1 :] for each in words if "headway" in each]


def check_commands(path: Path) -> None:
    """Every command that a document shows, and each of its options, exists."""
    known = get_command(app).commands
    for subcommand, *arguments in commands(path):
        options = {name for parameter in known[subcommand].params for name in (*parameter.opts, *parameter.secondary_opts)}
        assert {each for each in arguments if each.startswith("-")} <= options, (subcommand, arguments)


@every_readme
def test_every_python_block_runs(path):
    snippets = blocks(path, "python")
    assert len(snippets) >= 2
    for snippet in snippets:
        exec(compile(snippet, path.name, "exec"), {})


@every_readme
def test_every_command_and_option_exists(path):
    assert len(commands(path)) >= 8
    check_commands(path)


def test_both_languages_show_the_same_commands_and_python():
    first, second = ([[subcommand, *(a for a in rest if a.startswith("-"))] for subcommand, *rest in commands(path)] for path in READMES)
    assert first == second
    without_comments = [[re.sub(r" *#.*", "", block) for block in blocks(path, "python")] for path in READMES]
    assert without_comments[0] == without_comments[1]


@every_readme
def test_no_place_is_left_to_fill_in(path):
    assert "@@" not in path.read_text(encoding="utf-8")


@every_readme
def test_every_link_leads_to_a_file(path):
    for target in re.findall(r"\]\(([^)]+)\)", path.read_text(encoding="utf-8")):
        assert (ROOT / target).exists(), target
