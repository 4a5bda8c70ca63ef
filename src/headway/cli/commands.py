"""The subcommands of `headway`."""

from __future__ import annotations

from typing import Annotated

import typer

import headway
from headway.cli import chat, check, embed, evaluate, generate, grade, lsp, models, practice, serve, train

app = typer.Typer(
    name="headway",
    help="The transformer, from softmax to generated text.\n\n"
    "Exit codes: 0 success, 1 output closed early (broken pipe), 2 invalid input, 130 interrupted.",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
)
for module in (generate, chat, serve, models, train, evaluate, check, grade, lsp, embed):
    app.command(module.__name__.rpartition(".")[2])(module.command)
app.add_typer(practice.app, name="practice")


def _print_version(is_given: bool) -> None:
    if is_given:
        print(f"headway {headway.__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")] = False,
) -> None:
    """Options before the subcommand."""
