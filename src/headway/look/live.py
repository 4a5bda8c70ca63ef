"""Requests of a page with a server: trace an edited prompt, an appended token, or a model without some of its parts."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

from headway.errors import OptionError
from headway.look.html import MAX_BYTES, both
from headway.look.model_view import model_page
from headway.look.models import TracedModel
from headway.look.thinning import smaller
from headway.look.trace_json import plain

FIELDS = ("prompt", "target", "ablate", "model")
HEADERS = {
    "Cache-Control": "no-store",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}


@dataclass(frozen=True)
class LiveRequest:
    """A request for a trace.

    prompt   text, or token ids
    target   as in TracedModel.trace
    ablate   parts to switch off
    model    name of the model; None for the only one
    """

    prompt: str | tuple[int, ...]
    target: tuple[int, ...] | None = None
    ablate: tuple[str, ...] = ()
    model: str | None = None

    @classmethod
    def from_json(cls, body: bytes) -> LiveRequest:
        """Return the request of a JSON body.

        Errors   OptionError for a body that is no such request.
        """
        try:
            given = json.loads(body)
        except (ValueError, RecursionError) as error:
            raise OptionError("got a body that is not JSON, expected an object with prompt") from error
        if not isinstance(given, dict) or "prompt" not in given or not set(given) <= set(FIELDS):
            raise OptionError(f"got {body[:80]!r}, expected an object with prompt, and maybe {', '.join(FIELDS[1:])}")
        prompt, target, model = (given.get(name) for name in ("prompt", "target", "model"))
        if not isinstance(model, str | None):
            raise OptionError(f"got model={model!r:.80}, expected text")
        return cls(
            prompt if isinstance(prompt, str) else _list(prompt, int, "prompt"),
            None if target is None else _list(target, int, "target"),
            _list(given.get("ablate", []), str, "ablate"),
            model,
        )


def answer(model: TracedModel, request: LiveRequest, *, most_bytes: int = MAX_BYTES) -> bytes:
    """Return the trace of a request as JSON: {"trace": …, "note": what was left out}.

    Errors   as TracedModel.trace.
    """
    whole = model.trace(request.prompt, ablate=request.ablate, target=request.target)
    for trace, note in smaller(whole):
        data = json.dumps({"trace": plain(trace), "note": note and both(note)}, ensure_ascii=False, allow_nan=False).encode()
        if len(data) <= most_bytes:
            break
    return data


def live_page(name: str, prompt: str, language: str = "en") -> str:
    """Return the page that sends requests to `trace`, relative to its own address.

    name     shown as the title
    prompt   the prompt that it begins with
    """
    return model_page([], language, live={"model": name, "prompt": prompt, "url": "trace"})


def headers_of(document: str) -> dict[str, str]:
    """Return the headers of a page: the content security policy that it states itself, without frames, and HEADERS."""
    found = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', document)
    assert found is not None
    return HEADERS | {"Content-Security-Policy": f"{found[1]}; frame-ancestors 'none'"}


def _list(value: object, kind: type, name: str) -> tuple[Any, ...]:
    if not isinstance(value, list) or any(type(each) is not kind for each in value):
        raise OptionError(f"got {name}={value!r:.80}, expected a list of {kind.__name__}")
    return tuple(value)
