"""A text with a hole to a text without: what an encoder with a masked-token head was trained to do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy

from headway import functions
from headway.arrays import Array, Operations, array_namespace, as_index, from_numpy, to_numpy
from headway.checkpoints import Checkpoint
from headway.errors import NotFiniteError, OptionError, PromptError, TokenizerError, UnsupportedError
from headway.tokenizers import Tokenizer


@dataclass(frozen=True)
class Candidate:
    """A token that may stand in the place of a mask."""

    token_id: int
    text: str
    probability: float


@dataclass(frozen=True)
class FilledText:
    """A text with the most likely token in the place of each mask, and the candidates for every mask, the likeliest first."""

    text: str
    masks: tuple[tuple[Candidate, ...], ...]

    def __str__(self) -> str:
        return self.text


def fill_mask(
    text: str,
    checkpoint: Checkpoint,
    tokenizer: Tokenizer,
    *,
    top_k: int = 5,
    array: str = "numpy",
    device: str | None = None,
    ops: Operations = functions,
) -> FilledText:
    """Put the most likely token in the place of every mask of a text, such as "Paris is the [MASK] of France."

    top_k   how many candidates to name for each mask; 5 by default

    Each mask is filled as if the others stayed masks.

    Errors   UnsupportedError for a model without a masked-token head; TokenizerError for a tokenizer without a mask token;
             PromptError for a text without one, or one longer than the model's positions; OptionError for a top_k below 1.
    """
    if top_k < 1:
        raise OptionError(f"came: top_k={top_k}; expected: at least 1")
    if checkpoint.architecture.KIND != "encoder":
        raise UnsupportedError(
            f"came: a model of the kind {checkpoint.architecture.KIND!r}; expected: an encoder with a masked-token head, such as BERT"
        )
    token_ids, places = _places(text, tokenizer)
    probabilities = functions.softmax(_logits(token_ids, places, checkpoint, array, device, ops))
    if not numpy.isfinite(probabilities).all():
        raise NotFiniteError("came: logits that are NaN or infinite; expected: finite ones; load the model in float32")
    best = numpy.argsort(-probabilities, axis=-1, kind="stable")[:, :top_k]
    masks = tuple(
        tuple(Candidate(int(each), tokenizer.decode([int(each)], skip_special_tokens=False), float(row[each])) for each in chosen)
        for chosen, row in zip(best, probabilities, strict=True)
    )
    return FilledText(_filled(text, token_ids, dict(zip(places, best[:, 0].tolist(), strict=True)), tokenizer), masks)


def _places(text: str, tokenizer: Tokenizer) -> tuple[list[int], list[int]]:
    """A text's token ids, and which of them are masks."""
    mask = tokenizer.special_tokens.get("mask_token")
    if tokenizer.mask_token_id is None or mask is None:
        raise TokenizerError("came: a tokenizer without a mask token; expected: one with mask_token in tokenizer_config.json")
    token_ids = tokenizer.encode(text)
    places = [place for place, token_id in enumerate(token_ids) if token_id == tokenizer.mask_token_id]
    if not places:
        raise PromptError(f"came: a text without {mask}; expected: at least one; write {mask} where a word is to be guessed")
    return token_ids, places


def _logits(
    token_ids: Sequence[int], places: Sequence[int], checkpoint: Checkpoint, array: str, device: str | None, ops: Operations
) -> numpy.ndarray:
    """A score for every token at every place, (num_places, vocab_size)."""

    def asarray(values: Sequence[int]) -> Array:
        return from_numpy(numpy.asarray(values, numpy.int64), array, device)

    model = checkpoint
    hidden = model.architecture.encode(asarray(token_ids)[None, :], model.weights, model.config, ops=ops)[0]
    hidden = array_namespace(hidden).take(hidden, as_index(asarray(places)), axis=0)
    return to_numpy(model.architecture.masked_token_logits(hidden, model.weights, model.config, ops=ops))


def _filled(text: str, token_ids: Sequence[int], chosen: dict[int, int], tokenizer: Tokenizer) -> str:
    """The text with tokens for its masks, the rest of it as it was written."""
    parts = text.split(tokenizer.special_tokens["mask_token"])
    filled = [chosen.get(place, token_id) for place, token_id in enumerate(token_ids)]
    if len(parts) != len(chosen) + 1:  # a mask that is written in another way too
        return tokenizer.decode(filled)
    result = parts[0]
    for place, part in zip(sorted(chosen), parts[1:], strict=True):
        before, through = tokenizer.decode(filled[:place]), tokenizer.decode(filled[: place + 1])
        word = through[len(before) :] if through.startswith(before) else f" {tokenizer.decode([chosen[place]])}"
        # A token that goes on with the word before it, as "##ing" does, or a full stop, takes no space.
        result = (result if word[:1].isspace() else result.rstrip()) + word.lstrip() + part
    return result
