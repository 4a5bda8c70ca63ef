"""The page of headway look for the models that are served: a prompt's way through one of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headway.server.page import TYPES
from headway.server.replies import Call, Reply
from headway.server.served_model import ServedModel

if TYPE_CHECKING:
    from headway.look.live import LiveRequest

TITLE = "headway look"


async def page(call: Call) -> Reply:
    """Return the page, which is the same for everybody; its requests need the key."""
    from headway.look.live import headers_of, live_page

    document = live_page(TITLE, "")
    return Reply(document.encode(), content_type=TYPES[".html"], headers=headers_of(document))


async def trace(call: Call) -> Reply:
    """Return the trace of a prompt, as `headway look --serve` does."""
    from headway.look.live import HEADERS, LiveRequest

    request = LiveRequest.from_json(call.body)
    served = await call.model(request.model)
    served.refuse_adapter()
    return Reply(await call.in_tracer(_answer, served, request), headers=HEADERS)


def _answer(served: ServedModel, request: LiveRequest) -> bytes:
    from headway.look.live import answer
    from headway.look.models import traced_model

    with served.look_lock:  # a trace needs the weights in float32: one copy at a time, and none that stays
        return answer(traced_model(served.model, served.name), request)
