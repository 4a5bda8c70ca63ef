"""The view of a prompt's way through a model."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy
from rich.console import Console
from rich.table import Table

from headway.files import write_text
from headway.functions import softmax
from headway.look.html import MAX_BYTES, PAGE_TEXTS, both, framed, page
from headway.look.model_trace import Attention, ModelTrace, Token
from headway.look.terminal import LEVELS, printed
from headway.look.thinning import smaller
from headway.look.trace_json import plain
from headway.practice.message import Message, same
from headway.practice.texts import Texts

TEXTS = Texts("look")

MODEL_TEXTS: Mapping[str, Message] = {
    "after_layer": TEXTS["after_layer"],
    "append": TEXTS["append"],
    "attention_cross": TEXTS["attention_cross"],
    "attention_encoder": TEXTS["attention_encoder"],
    "attention_note": TEXTS["attention_note"],
    "attention_self": TEXTS["attention_self"],
    "changes": TEXTS["changes"],
    "compare": TEXTS["compare"],
    "computing": TEXTS["computing"],
    "difference": TEXTS["difference"],
    "embedding": TEXTS["embedding"],
    "first": TEXTS["first"],
    "grouped": TEXTS["grouped"],
    "hover_lens": TEXTS["hover_lens"],
    "kept": TEXTS["kept"],
    "kv_head": TEXTS["kv_head"],
    "layer": TEXTS["layer"],
    "layer_head": TEXTS["layer_head"],
    "lens": TEXTS["lens"],
    "lens_note": TEXTS["lens_note"],
    "next": TEXTS["next"],
    "next_note": TEXTS["next_note"],
    "off": TEXTS["off"],
    "residual": TEXTS["residual"],
    "residual_note": TEXTS["residual_note"],
    "run": TEXTS["run"],
    "sample": TEXTS["sample"],
    "second": TEXTS["second"],
    "source": TEXTS["source"],
    "stop_comparing": TEXTS["stop_comparing"],
    "switch_off": TEXTS["switch_off"],
    "switch_on": TEXTS["switch_on"],
    "switched_off": TEXTS["switched_off"],
    "tokens": TEXTS["tokens"],
    "tokens_note": TEXTS["tokens_note"],
    "unreachable": TEXTS["unreachable"],
    "written": TEXTS["written"],
}
MODULES = ("sampling.js", "tokens.js", "attention.js", "residuals.js", "next.js", "live.js")


@dataclass(frozen=True)
class ModelView:
    """A prompt's way through a model. In a notebook it shows itself as a page; `save` writes the page.

    compared   a second prompt through the same model, shown next to the first; None for one prompt
    """

    trace: ModelTrace
    compared: ModelTrace | None = None

    @property
    def traces(self) -> tuple[ModelTrace, ...]:
        """The one or two traces."""
        return (self.trace,) if self.compared is None else (self.trace, self.compared)

    def html(self, language: str = "en") -> str:
        """Return a self-contained page of at most 5 MB; attention is stored as float16, then for fewer layers, if it must be smaller."""
        for steps in zip(*map(smaller, self.traces), strict=True):
            document = model_page([trace for trace, _ in steps], language, note=steps[0][1] or steps[-1][1])
            if len(document.encode()) <= MAX_BYTES:
                break
        return document

    def save(self, path: str | os.PathLike[str], language: str = "en") -> None:
        """Write the page to a file.

        Errors   OSError if the file cannot be written.
        """
        write_text(Path(path), self.html(language))

    def to_json(self) -> str:
        """Return the trace as JSON, or a list of the two traces."""
        return self.trace.to_json() if self.compared is None else f"[{','.join(each.to_json() for each in self.traces)}]"

    def print(self, console: Console | None = None, *, language: str = "en") -> None:
        """Print the tokens, the strongest attention of each layer's heads, and the logit lens; of two prompts, what changed as well."""
        console = console or Console()
        for number, trace in enumerate(self.traces):
            if number:
                console.rule()
            _print_trace(trace, console, language)
        if self.compared is not None and self.compared.logits is not None:
            console.rule()
            console.print(_changes(self.trace, self.compared, language))

    def __str__(self) -> str:
        return printed(self.print)

    def _repr_html_(self) -> str:
        """Return the page in an iframe, for a notebook."""
        return framed(self.html(), height=900)

    def _repr_mimebundle_(self, **_: object) -> dict[str, str]:
        """Return the text of the terminal, and the page for a notebook."""
        return {"text/plain": str(self), "text/html": self._repr_html_()}


def visible(token: Token) -> str:
    """Return a token's text with spaces and line ends visible."""
    text = token.piece if not token.text or "\ufffd" in token.text else token.text
    return text.replace(" ", "·").replace("\n", "↵").replace("\t", "⇥")


def model_page(traces: Sequence[ModelTrace], language: str, *, note: Message | None = None, live: Mapping[str, str] | None = None) -> str:
    """Return the page of one or two traces.

    note   what was left out
    live   for a page with a server: `prompt` to begin with, `model` and `url` that computes traces
    """
    title = same(traces[0].model or traces[0].kind if traces else (live or {})["model"])
    data = {
        "title": both(title),
        "summary": both(same(" · ".join(each.prompt for each in traces))),
        "note": note and both(note),
        "traces": [plain(each) for each in traces],
        "live": live,
    }
    return page("model.js", data, language, texts={**PAGE_TEXTS, **MODEL_TEXTS}, modules=MODULES, is_live=live is not None)


def changes(before: ModelTrace, after: ModelTrace, count: int = 10) -> list[tuple[Token, float, float]]:
    """Return the tokens whose probability of being the next differs most, with both probabilities."""
    assert before.logits is not None
    assert after.logits is not None
    first, second = (softmax(each.array().astype(numpy.float64)) for each in (before.logits, after.logits))
    named = {token.id: token for token in (*before.named, *after.named)}
    most = sorted(named, key=lambda each: (-abs(first[each] - second[each]), each))[:count]
    return [(named[each], float(first[each]), float(second[each])) for each in most]


def _print_trace(trace: ModelTrace, console: Console, language: str) -> None:
    for title, tokens in ((TEXTS["source"], trace.source), (TEXTS["tokens"], trace.tokens)):
        if tokens:
            shown = " ".join(f"{visible(each)}/{each.id}" for each in tokens)
            console.print(f"{title.text(language)}: {shown}", markup=False, highlight=False)
    if trace.ablated:
        parts = ", ".join(str(layer) if head < 0 else f"{layer}.{head}" for layer, head in trace.ablated)
        console.print(f"{TEXTS['switched_off'].text(language)}: {parts}", markup=False, highlight=False)
    for each in trace.attentions:
        _print_attention(each, trace, console, language)
    if trace.residuals[0].guesses:
        console.print(_lens(trace, language))


def _changes(before: ModelTrace, after: ModelTrace, language: str) -> Table:
    table = Table(title=TEXTS["changes"].text(language), title_justify="left", show_edge=False)
    for name in ("", TEXTS["first"].text(language), TEXTS["second"].text(language), ""):
        table.add_column(name)
    for token, old, changed in changes(before, after):
        table.add_row(_plain(visible(token)), f"{old:.4f}", f"{changed:.4f}", f"{changed - old:+.4f}")
    return table


def _print_attention(attention: Attention, trace: ModelTrace, console: Console, language: str) -> None:
    """Print the last query's row of each head as blocks."""
    weights = attention.weights.array()
    kind = {"self": TEXTS["attention_self"], "cross": TEXTS["attention_cross"], "encoder": TEXTS["attention_encoder"]}[attention.kind]
    keys: Sequence[Token] = trace.tokens if attention.kind == "self" else trace.source
    for head, matrix in enumerate(weights):
        row = matrix[min(trace.position, len(matrix) - 1)]
        blocks = "".join(LEVELS[round(float(share) * (len(LEVELS) - 1))] for share in row)
        best = visible(keys[int(row.argmax())])
        name = TEXTS["layer_head"].format(layer=attention.layer, head=head).text(language)
        console.print(
            f"{kind.text(language)}, {name} ▕{blocks}▏ {best} {float(row.max()):.2f}", markup=False, highlight=False, soft_wrap=True
        )


def _lens(trace: ModelTrace, language: str) -> Table:
    table = Table(title=TEXTS["lens"].text(language), title_justify="left", show_edge=False)
    table.add_column("")
    start = max(0, trace.position - 7)
    for token in trace.tokens[start : trace.position + 1]:
        table.add_column(_plain(visible(token)))
    for row in reversed(range(len(trace.residuals))):
        name = TEXTS["embedding"] if row == 0 else TEXTS["after_layer"].format(layer=row - 1)
        cells = [f"{visible(guesses[0].token)} {guesses[0].probability:.2f}" for guesses in trace.residuals[row].guesses]
        table.add_row(_plain(name.text(language)), *map(_plain, cells[start : trace.position + 1]))
    return table


def _plain(text: str) -> str:
    """Return text without the meaning that rich gives to square brackets."""
    from rich.markup import escape

    return escape(text)
