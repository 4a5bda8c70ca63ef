"""headway look: each line of a function with the arrays that it made."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from headway.cli.check import Language, language_of, with_language
from headway.practice.message import Message

SAVED = Message("wrote {path} ({size:.1f} MB); open it in a browser", "已写入 {path}（{size:.1f} MB）；请用浏览器打开")


@with_language
def command(
    target: Annotated[str, typer.Argument(metavar="WHAT", help="A definition such as softmax.", show_default=False)],
    input: Annotated[Path | None, typer.Option("--input", help="An .npz file with the inputs by parameter.", show_default=False)] = None,
    html: Annotated[Path | None, typer.Option("--html", help="Write one self-contained page instead.", show_default=False)] = None,
    values: Annotated[bool, typer.Option("--values", help="Print the numbers of small arrays.")] = False,
    depth: Annotated[int, typer.Option(help="Levels of calls to unfold.")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print the trace as JSON, in the format headway/trace/v1.")] = False,
    lang: Language = None,
) -> None:
    """Show each line of a function with the arrays that it made: named axes, dtype, range, numbers.

    \b
      headway look softmax
      headway look scaled_dot_product_attention --html attention.html
      headway look layer_norm --input mine.npz --values

    Exit codes: 0 success, 2 invalid input.
    """
    from headway.look.definitions import read_inputs, view_of_definition

    language = language_of(lang)
    view = view_of_definition(target, None if input is None else read_inputs(input))
    if html is not None:
        view.save(html, language)
        typer.echo(SAVED.format(path=html, size=html.stat().st_size / 1e6).text(language), err=True)
    elif as_json:
        print(view.panels[0].trace.to_json())
    else:
        view.print(language=language, has_numbers=values, depth=depth)
