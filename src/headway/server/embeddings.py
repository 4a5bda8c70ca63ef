"""POST /v1/embeddings."""

from __future__ import annotations

import base64
from collections.abc import Callable, Sequence

import numpy

from headway.errors import TokenIdError
from headway.server.errors import not_built
from headway.server.replies import Call, Reply, json_reply
from headway.server.served_model import ServedModel
from headway.server.wire import EmbeddingRequest, decode, prompts_of


async def embeddings(call: Call) -> Reply:
    """Return the vectors of texts, or of token ids."""
    body = decode(EmbeddingRequest, call.body)
    served = await call.model(body.model)
    inputs = prompts_of(body.input, "input")
    vectors, num_tokens = await call.encode(lambda on_batch: embed(served, inputs, on_batch))
    if body.dimensions not in (None, vectors.shape[1]):
        raise not_built("dimensions", f"the vectors have {vectors.shape[1]}; leave it out")
    data = [{"object": "embedding", "index": index, "embedding": _encoded(row, body.encoding_format)} for index, row in enumerate(vectors)]
    usage = {"prompt_tokens": num_tokens, "total_tokens": num_tokens}
    return json_reply({"object": "list", "model": served.name, "data": data, "usage": usage})


def embed(served: ServedModel, inputs: Sequence[str | list[int]], on_batch: Callable[[int], None]) -> tuple[numpy.ndarray, int]:
    """Return the vectors, and the number of tokens; `on_batch` is called after each batch.

    Errors   TokenIdError for an id outside the vocabulary: some clients send ids of OpenAI's tokenizer; ApiError for an input that is too
             long, which would be cut.
    """
    tokenizer, vocab_size = served.model.tokenizer, served.model.config.vocab_size
    for each in inputs:
        if not isinstance(each, str) and max(each) >= vocab_size:
            raise TokenIdError(f"got token id {max(each)} in input, expected 0 to {vocab_size - 1}", hint="send texts")
    texts = [each if isinstance(each, str) else tokenizer.decode(each, skip_special_tokens=True) for each in inputs]
    vectors = served.embed(texts, on_batch)
    return vectors, sum(len(tokenizer.encode(text)) for text in texts)


def _encoded(vector: numpy.ndarray, encoding: str | None) -> str | list[float]:
    """Return a vector as a list of numbers, or as base64 of little-endian float32."""
    if encoding == "base64":
        return base64.b64encode(vector.astype("<f4").tobytes()).decode()
    values: list[float] = vector.tolist()
    return values
