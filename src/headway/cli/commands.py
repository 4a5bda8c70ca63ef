"""The subcommands of `headway`."""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping
from importlib import import_module
from typing import Annotated, Any, TypeAlias

import typer
from typer.core import TyperGroup
from typer.main import get_command

import headway

Command: TypeAlias = Any
"""A command of click, of which later versions of typer have a copy."""

NAMES = (
    "generate",
    "chat",
    "serve",
    "batch",
    "models",
    "merge",
    "train",
    "evaluate",
    "check",
    "look",
    "grade",
    "lsp",
    "embed",
    "rerank",
    "classify",
    "practice",
)
"""Names of the subcommands; each is a module of headway.cli with `command`, or with `app` if it has subcommands of its own."""


class _Commands(MutableMapping[str, Command]):
    """The subcommands by name. A module is imported when its command is needed, so that no command pays for the imports of another."""

    def __init__(self) -> None:
        self.own: dict[str, Command] = {}

    def __getitem__(self, name: str) -> Command:
        if name not in self.own:
            if name not in NAMES:
                raise KeyError(name)
            self.own[name] = _command(name)
        return self.own[name]

    def __setitem__(self, name: str, command: Command) -> None:
        self.own[name] = command

    def __delitem__(self, name: str) -> None:
        del self.own[name]

    def __iter__(self) -> Iterator[str]:
        return iter(dict.fromkeys((*NAMES, *self.own)))

    def __len__(self) -> int:
        return len(list(iter(self)))


def _command(name: str) -> Command:
    module = import_module(f"headway.cli.{name}")
    if hasattr(module, "app"):
        command = get_command(module.app)
    else:
        single = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
        single.command(name)(module.command)
        command = get_command(single)
    command.name = name
    return command


class _Group(TyperGroup):
    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.commands = _Commands()

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names in the order of `NAMES`."""
        return list(self.commands)


app = typer.Typer(
    name="headway",
    cls=_Group,
    help="The transformer, from softmax to generated text.\n\n"
    "Exit codes: 0 success, 1 output closed early (broken pipe), 2 invalid input, 130 interrupted.",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
)


def _print_version(is_given: bool) -> None:
    if is_given:
        print(f"headway {headway.__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")] = False,
) -> None:
    """Options before the subcommand."""
