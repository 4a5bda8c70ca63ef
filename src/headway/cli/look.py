"""headway look: each line of a function with the arrays that it made, and a prompt's way through a model."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from headway.cli.check import Language, language_of, with_language
from headway.practice.message import Message, PracticeError

if TYPE_CHECKING:
    from headway.look.model_view import ModelView
    from headway.look.view import View

SAVED = Message("wrote {path} ({size:.1f} MB); open it in a browser", "已写入 {path}（{size:.1f} MB）；请用浏览器打开")


@with_language
def command(
    target: Annotated[
        str | None,
        typer.Argument(metavar="WHAT", help="A definition such as softmax, a Python file, or with --model a prompt.", show_default=False),
    ] = None,
    model: Annotated[
        str | None, typer.Option("--model", "-m", help="stories (included), a folder, or a Hugging Face name.", show_default=False)
    ] = None,
    input: Annotated[Path | None, typer.Option("--input", help="An .npz file with the inputs by parameter.", show_default=False)] = None,
    named: Annotated[
        str | None, typer.Option("--as", help="The part that a file's function is, if its name does not say so.", show_default=False)
    ] = None,
    function: Annotated[
        str | None, typer.Option("--function", help="Name in the file.  [default: the first that is wrong]", show_default=False)
    ] = None,
    html: Annotated[Path | None, typer.Option("--html", help="Write one self-contained page instead.", show_default=False)] = None,
    values: Annotated[bool, typer.Option("--values", help="Print the numbers of small arrays.")] = False,
    compare: Annotated[
        str | None,
        typer.Option(help="With --model: a second prompt, next to the first, through the whole model.", show_default=False),
    ] = None,
    ablate: Annotated[
        list[str] | None, typer.Option(help="With --model: a layer such as 3, or a head such as 3.1, to switch off; repeatable.")
    ] = None,
    serve: Annotated[
        bool, typer.Option("--serve", help="Serve a page to edit the prompt, append tokens, switch off heads and compare prompts.")
    ] = False,
    port: Annotated[int, typer.Option(min=0, max=65535, help="With --serve: the port; 0 takes a free one.")] = 0,
    depth: Annotated[int, typer.Option(help="Levels of calls to unfold.")] = 0,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the trace as JSON, in the format headway/trace/v1 or headway/model-trace/v1.")
    ] = False,
    lang: Language = None,
) -> None:
    """Show each line of a function with the arrays that it made: named axes, dtype, range, numbers.

    \b
      headway look softmax
      headway look attention.py --html attention.html
      headway look layer_norm --input mine.npz --values
      headway look --model stories "Once upon a time" --html story.html
      headway look --model stories "Once upon a time" --ablate 2.1 --compare "Once upon a time"
      headway look --serve

    A file runs as in headway check: your code and the definition are shown for the same inputs, with the verdict and the first line
    whose value differs. With --model: tokens, attention of each head, residual stream, logit lens, and the next token.
    --serve needs the extra serve. Exit codes: 0 success, 2 invalid input.
    """
    language = language_of(lang)
    if serve:
        _serve(model or "stories", target or "Once upon a time", port, language)
        return
    if target is None:
        raise PracticeError(Message("got no WHAT, expected a definition, a file, or a prompt", "没有收到 WHAT，应为定义、文件或提示"))
    if model is not None:
        from headway.look.models import open_model

        if input is not None:
            raise PracticeError(Message("got --input with --model, expected one of them", "--input 不能与 --model 一起使用"))
        prompt = open_model(model).view(target, compare=compare, ablate=ablate or ())
        _show(prompt, prompt.to_json(), html, language, lambda: prompt.print(language=language), as_json=as_json)
        return
    from headway.look.definitions import read_inputs, view_of_definition

    inputs = None if input is None else read_inputs(input)
    for name, given in (("--ablate", ablate), ("--compare", compare)):
        if given:
            raise PracticeError(Message(f"got {name} without --model, expected both", f"收到 {name} 而没有 --model，两者应一起使用"))
    if target.endswith((".py", ".ipynb")):
        from headway.look.learner import view_of_file

        view = view_of_file(Path(target), named=named, function=function, inputs=inputs)
    else:
        view = view_of_definition(target, inputs)
    text = view.panels[0].trace.to_json()
    _show(view, text, html, language, lambda: view.print(language=language, has_numbers=values, depth=depth), as_json=as_json)


def _serve(model: str, prompt: str, port: int, language: str) -> None:
    """Serve the page until Ctrl-C."""
    from headway.cli.serve import require_packages

    require_packages()
    from headway.look.models import open_model
    from headway.look.serving import GREETING, serve

    serve(
        open_model(model),
        prompt,
        port=port,
        language=language,
        on_start=lambda url: typer.echo(GREETING.format(url=url).text(language), err=True),
    )


def show_file(path: Path, named: str, html: Path | None, language: str) -> None:
    """Show a file's function for an exercise next to the definition."""
    from headway.look.learner import view_of_file

    view = view_of_file(path, named=named)
    _show(view, "", html, language, lambda: view.print(language=language), as_json=False)


def _show(view: View | ModelView, text: str, html: Path | None, language: str, show: Callable[[], None], *, as_json: bool) -> None:
    """Write the page, print the JSON `text`, or print the view."""
    if html is not None:
        view.save(html, language)
        typer.echo(SAVED.format(path=html, size=html.stat().st_size / 1e6).text(language), err=True)
    elif as_json:
        print(text)
    else:
        show()
