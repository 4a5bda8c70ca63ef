"""The command `headway`: one file per subcommand."""

from __future__ import annotations

import sys

import typer

from headway.cli import chat, check, embed, evaluate, generate, models, practice, train
from headway.errors import HeadwayError

app = typer.Typer(
    name="headway",
    help="The transformer, from softmax to generated text. Exit codes: 0 done, 1 whoever read the output left, 2 bad input, 130 interrupted.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
)
for module in (generate, chat, models, train, evaluate, check, embed):
    app.command(module.__name__.rpartition(".")[2])(module.command)
app.add_typer(practice.app, name="practice")


def main() -> None:
    """Run the command line; errors made on purpose are one sentence on stderr."""
    sys.stdin.reconfigure(errors="surrogateescape")  # type: ignore[union-attr]  # the tokenizer says what is wrong with such text
    sys.stdout.reconfigure(errors="replace")  # type: ignore[union-attr]
    try:
        sys.exit(app(standalone_mode=False) or 0)  # click returns 130 for Ctrl-C instead of raising it
    except HeadwayError as error:
        _leave(f"headway: {error}" + (f"\n  {error.hint}" if error.hint else ""), 2)
    except OSError as error:
        _leave(f"headway: {error.strerror or error}: {error.filename or ''}".rstrip(": "), 2)
    except Exception as error:
        if not hasattr(error, "exit_code"):  # click's own errors carry one
            raise
        show = getattr(error, "show", None)
        if show:
            show()
        sys.exit(error.exit_code)


def _leave(message: str, code: int) -> None:
    sys.stdout.flush()
    if message:
        print(message, file=sys.stderr)
    sys.exit(code)
