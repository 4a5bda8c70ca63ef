"""Traces as one self-contained HTML file: no request leaves the page."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from headway.look.trace import Trace
from headway.look.trace_json import plain
from headway.practice.message import Message
from headway.practice.texts import Texts
from headway.practice.verdict import Verdict

TEXTS = Texts("look")

PAGE = Path(__file__).with_name("page")
SHARED = ("dom.js", "heat.js", "values.js", "inspector.js", "listing.js", "shell.js")
MAX_BYTES = 5 * 2**20
"""Size of a page above which arrays are sampled."""

FRAME_HEIGHT = 640

PAGE_TEXTS: Mapping[str, Message] = {
    "axis": TEXTS["axis"],
    "choose": TEXTS["choose"],
    "click": TEXTS["click"],
    "differs": TEXTS["differs"],
    "footer": TEXTS["footer"],
    "hover": TEXTS["hover"],
    "iteration": TEXTS["iteration"],
    "made_from": TEXTS["made_from"],
    "omitted": TEXTS["omitted"],
    "sampled": TEXTS["sampled"],
    "theme": TEXTS["theme"],
    "values": TEXTS["values"],
}
"""Sentences of the page's scripts."""


@dataclass(frozen=True)
class Panel:
    """One listing of a page.

    differs   first line whose value differs from the right one; None if there is none
    """

    title: Message
    trace: Trace
    differs: int | None = None


def trace_page(
    panels: Sequence[Panel], *, title: Message, summary: Message | None = None, verdict: Verdict | None = None, language: str = "en"
) -> str:
    """Return the page of one trace, or of two next to each other.

    verdict    shown at the top
    language   the language that the page opens in
    """
    first = panels[0].trace
    found = verdict and {"is_correct": verdict.is_correct, "text": both(Message(verdict.text("en"), verdict.text("zh")))}
    data: dict[str, Any] = {
        "title": both(title),
        "summary": summary and both(summary),
        "equation": first.sources[first.call.source].equation,
        "verdict": found,
        "note": None,
    }
    shown = [{"title": both(each.title), "trace": plain(each.trace), "differs": each.differs} for each in panels]
    return page("trace.js", data | {"panels": shown}, language)


def page(
    main: str,
    data: Mapping[str, Any],
    language: str = "en",
    *,
    texts: Mapping[str, Message] = PAGE_TEXTS,
    modules: tuple[str, ...] = (),
    is_live: bool = False,
) -> str:
    """Return a page of a main module and its data.

    modules   those that the main module imports beyond the shared ones
    is_live   True for a page that may send requests to the server that it is from

    The policy of the page allows its own script, by its digest, and nothing else.
    """
    script = bundle((*SHARED, *modules, main))
    style = _read("look.css")
    policy = f"default-src 'none'; script-src '{_digest(script)}'; style-src '{_digest(style)}'; base-uri 'none'; form-action 'none'"
    policy += "; connect-src 'self'" if is_live else ""
    given = dict(data) | {"language": language, "texts": {name: both(message) for name, message in texts.items()}}
    content = {
        "policy": policy,
        "title": html.escape(str(data["title"].get(language, data["title"]["en"]))),
        "style": style,
        "noscript": html.escape(TEXTS["noscript"].text(language)),
        "data": in_script(given),
        "script": script,
    }
    return re.sub(r"\{(policy|title|style|noscript|data|script)\}", lambda match: content[match[1]], _read("look.html"))


def framed(document: str, *, height: int = FRAME_HEIGHT) -> str:
    """Return a page as an iframe for a notebook, which keeps its styles and scripts apart from the notebook's."""
    return (
        f'<iframe srcdoc="{html.escape(document)}" sandbox="allow-scripts" '
        f'style="width: 100%; height: {height}px; border: 1px solid #8884; border-radius: 8px"></iframe>'
    )


def in_script(value: Any) -> str:
    """Return a value as JSON that cannot end the script element that holds it."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


@cache
def bundle(names: tuple[str, ...]) -> str:
    """Return modules as one script: their imports of each other and the word export are removed."""
    return "\n".join(
        re.sub(r"^export ", "", re.sub(r"^import .*;\n", "", _read(name), flags=re.MULTILINE), flags=re.MULTILINE) for name in names
    )


@cache
def _read(name: str) -> str:
    return (PAGE / name).read_text(encoding="utf-8")


def _digest(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def both(message: Message) -> dict[str, str]:
    """Return a message as the scripts of a page take it."""
    return {"en": message.en, "zh": message.zh}
