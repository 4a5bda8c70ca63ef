"""POST /v1/rerank, with the bodies of Jina's and Cohere's API, and of Hugging Face's text-embeddings-inference."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated
from uuid import uuid4

from msgspec import Meta, Struct

from headway.errors import UnsupportedError
from headway.language_model.classifier import Ranked
from headway.server.errors import invalid
from headway.server.replies import Call, Reply, json_reply
from headway.server.served_model import ServedModel
from headway.server.wire import Name, decode

MAX_TEXTS = 4096


class Document(Struct, forbid_unknown_fields=True):
    """A text as an object."""

    text: str


Documents = Annotated[list[str | Document], Meta(min_length=1, max_length=MAX_TEXTS)]


class RerankRequest(Struct, kw_only=True, forbid_unknown_fields=True):
    """The body of POST /v1/rerank: `documents` as at Jina and Cohere, or `texts` as in text-embeddings-inference."""

    query: str
    documents: Documents | None = None
    texts: Documents | None = None
    model: Name | None = None
    top_n: Annotated[int, Meta(ge=1, le=2**31)] | None = None
    return_documents: bool | None = None
    return_text: bool | None = None
    truncate: bool | None = None


async def rerank(call: Call) -> Reply:
    """Return texts by their relevance to a query, the most relevant first."""
    body = decode(RerankRequest, call.body)
    served = await call.model(body.model)
    if (body.documents is None) == (body.texts is None):
        raise invalid("got not exactly one of documents and texts, expected one", "documents")
    given = body.texts if body.documents is None else body.documents
    texts = [each if isinstance(each, str) else each.text for each in given or ()]
    ranked, num_tokens = await call.encode(lambda on_batch: _rank(served, body, texts, on_batch))
    if body.documents is None:
        more = bool(body.return_text)
        return json_reply([{"index": each.index, "score": each.score, **({"text": each.text} if more else {})} for each in ranked])
    results = [
        {"index": each.index, "relevance_score": each.score, **({"document": {"text": each.text}} if body.return_documents else {})}
        for each in ranked
    ]
    usage = {"prompt_tokens": num_tokens, "total_tokens": num_tokens}
    return json_reply({"id": f"rerank-{uuid4().hex}", "model": served.name, "object": "list", "results": results, "usage": usage})


def _rank(served: ServedModel, body: RerankRequest, texts: Sequence[str], on_batch: Callable[[int], None]) -> tuple[list[Ranked], int]:
    """Return the ranked texts, and the number of tokens of all pairs; `on_batch` is called after each batch."""
    try:
        ranked = served.rank(body.query, list(texts), body.top_n, bool(body.truncate), on_batch)
    except UnsupportedError as error:
        raise invalid(f"got {served.name}, which does not rerank: {error}", "model") from error
    tokenizer = served.model.tokenizer
    return ranked, sum(len(tokenizer.encode_pair(body.query, text).token_ids) for text in texts)
