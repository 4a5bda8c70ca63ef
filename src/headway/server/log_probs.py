"""Log-probabilities in responses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from headway.engine import SampledToken
from headway.language_model import Chunk
from headway.server.served_model import ServedModel

LOWEST = -9999.0
"""Log-probability of a token that cannot occur, as in OpenAI's responses; JSON has no infinity."""


def chat_log_probs(served: ServedModel, chunks: Sequence[Chunk]) -> dict[str, object]:
    """Return the `logprobs` of a chat choice."""
    content = []
    for chunk in chunks:
        if chunk.token_id is not None and chunk.log_prob is not None:
            top = [token_entry(served, token_id, log_prob) for token_id, log_prob in chunk.top_log_probs.items()]
            content.append({**token_entry(served, chunk.token_id, chunk.log_prob), "top_logprobs": top})
    return {"content": content, "refusal": None}


def completion_log_probs(served: ServedModel, chunks: Sequence[Chunk], offset: int) -> dict[str, list[object]]:
    """Return the `logprobs` of a text choice.

    offset   characters before the first chunk
    """
    tokens: list[object] = []
    log_probs: list[object] = []
    top: list[object] = []
    offsets: list[object] = []
    for chunk in chunks:
        if chunk.token_id is not None and chunk.log_prob is not None:
            tokens.append(_text(served, chunk.token_id))
            log_probs.append(max(chunk.log_prob, LOWEST))
            top.append(_by_text(served, {**chunk.top_log_probs, chunk.token_id: chunk.log_prob}))
            offsets.append(offset)
        offset += len(chunk.text)
    return {"tokens": tokens, "token_logprobs": log_probs, "top_logprobs": top, "text_offset": offsets}


def prompt_log_probs(served: ServedModel, token_ids: Sequence[int], scored: Sequence[SampledToken]) -> dict[str, list[object]]:
    """Return the `logprobs` of a prompt. The first token has none: nothing is before it.

    scored   all tokens but the first
    """
    decoder, offset, offsets = served.model.tokenizer.stream_decoder(skip_special_tokens=False), 0, list[object]()
    for token_id in token_ids:
        offsets.append(offset)
        offset += len(decoder.add(token_id))
    top = [_by_text(served, {**each.top_log_probs, each.token_id: each.log_prob or 0.0}) for each in scored]
    return {
        "tokens": [_text(served, token_id) for token_id in token_ids],
        "token_logprobs": [None, *(max(each.log_prob or 0.0, LOWEST) for each in scored)],
        "top_logprobs": [None, *top],
        "text_offset": offsets,
    }


def _by_text(served: ServedModel, log_probs: Mapping[int, float]) -> dict[str, float]:
    """Return log-probabilities by the text of the token. Of several tokens with one text, the most likely counts."""
    by_text: dict[str, float] = {}
    for token_id, log_prob in log_probs.items():
        text = _text(served, token_id)
        by_text[text] = max(log_prob, LOWEST, by_text.get(text, LOWEST))
    return by_text


def token_entry(served: ServedModel, token_id: int, log_prob: float) -> dict[str, object]:
    """Return a token's text, log-probability and bytes."""
    own = served.token_bytes(token_id)
    return {"token": own.decode(errors="replace"), "logprob": max(log_prob, LOWEST), "bytes": list(own)}


def _text(served: ServedModel, token_id: int) -> str:
    return served.token_bytes(token_id).decode(errors="replace")
