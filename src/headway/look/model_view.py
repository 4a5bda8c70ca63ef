"""The view of a prompt's way through a model."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from rich.console import Console
from rich.table import Table

from headway.files import write_text
from headway.look.html import MAX_BYTES, PAGE_TEXTS, framed, page
from headway.look.model_trace import Attention, ModelTrace, Token, packed
from headway.look.terminal import LEVELS
from headway.look.trace_json import plain
from headway.practice.message import Message
from headway.practice.texts import Texts

TEXTS = Texts("look")

MODEL_TEXTS: Mapping[str, Message] = {
    "after_layer": TEXTS["after_layer"],
    "attention_cross": TEXTS["attention_cross"],
    "attention_encoder": TEXTS["attention_encoder"],
    "attention_note": TEXTS["attention_note"],
    "attention_self": TEXTS["attention_self"],
    "embedding": TEXTS["embedding"],
    "grouped": TEXTS["grouped"],
    "hover_lens": TEXTS["hover_lens"],
    "kept": TEXTS["kept"],
    "kv_head": TEXTS["kv_head"],
    "layer_head": TEXTS["layer_head"],
    "lens": TEXTS["lens"],
    "lens_note": TEXTS["lens_note"],
    "next": TEXTS["next"],
    "next_note": TEXTS["next_note"],
    "off": TEXTS["off"],
    "residual": TEXTS["residual"],
    "residual_note": TEXTS["residual_note"],
    "source": TEXTS["source"],
    "tokens": TEXTS["tokens"],
    "tokens_note": TEXTS["tokens_note"],
    "written": TEXTS["written"],
}
MODULES = ("sampling.js",)


@dataclass(frozen=True)
class ModelView:
    """A prompt's way through a model. In a notebook it shows itself as a page; `save` writes the page."""

    trace: ModelTrace

    def html(self, language: str = "en") -> str:
        """Return a self-contained page of at most 5 MB; attention is stored as float16, then for fewer layers, if it must be smaller."""
        document = self._page(self.trace, language, None)
        if len(document.encode()) <= MAX_BYTES:
            return document
        halves = tuple(_halved(each) for each in self.trace.attentions)
        document = self._page(replace(self.trace, attentions=halves), language, TEXTS["halved"])
        every = 2
        while len(document.encode()) > MAX_BYTES and every <= len(halves):
            fewer = tuple(each for each in halves if each.layer % every == 0)
            note = TEXTS["layers_left_out"].format(shown=len(fewer), all=len(halves))
            document = self._page(replace(self.trace, attentions=fewer), language, note)
            every *= 2
        return document

    def save(self, path: str | os.PathLike[str], language: str = "en") -> None:
        """Write the page to a file.

        Errors   OSError if the file cannot be written.
        """
        write_text(Path(path), self.html(language))

    def print(self, console: Console | None = None, *, language: str = "en") -> None:
        """Print the tokens, the strongest attention of each layer's heads, and the logit lens."""
        console = console or Console()
        trace = self.trace
        for title, tokens in ((TEXTS["source"], trace.source), (TEXTS["tokens"], trace.tokens)):
            if tokens:
                console.print(f"{title.text(language)}: {' '.join(f'{visible(each)}/{each.id}' for each in tokens)}", markup=False)
        for each in trace.attentions:
            _print_attention(each, trace, console, language)
        if trace.residuals[0].guesses:
            console.print(_lens(trace, language))

    def _page(self, trace: ModelTrace, language: str, note: Message | None) -> str:
        both = {"en": trace.model or trace.kind, "zh": trace.model or trace.kind}
        data = {
            "title": both,
            "summary": {"en": trace.prompt, "zh": trace.prompt},
            "note": note and {"en": note.en, "zh": note.zh},
            "trace": plain(trace),
        }
        return page("model.js", data, language, texts={**PAGE_TEXTS, **MODEL_TEXTS}, modules=MODULES)

    def _repr_html_(self) -> str:
        """Return the page in an iframe, for a notebook."""
        return framed(self.html(), height=900)


def visible(token: Token) -> str:
    """Return a token's text with spaces and line ends visible."""
    text = token.piece if not token.text or "\ufffd" in token.text else token.text
    return text.replace(" ", "·").replace("\n", "↵").replace("\t", "⇥")


def _halved(attention: Attention) -> Attention:
    return replace(attention, weights=packed(attention.weights.array(), "float16"))


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
