"""Masked-token prediction with encoders."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, cast

import numpy

from headway import functions
from headway.arrays import Array, Operations, array_namespace, as_index, from_numpy, to_numpy
from headway.checkpoints import Checkpoint
from headway.engine.option_kinds import is_integer
from headway.errors import NotFiniteError, OptionError, PromptError, TokenizerError, UnsupportedError
from headway.runners.protocols import Config, Weights
from headway.tokenizers import Tokenizer


@dataclass(frozen=True)
class Candidate:
    """A token that may replace a mask."""

    token_id: int
    text: str
    probability: float


@dataclass(frozen=True)
class FilledText:
    """A text whose masks are replaced by the most likely tokens, and the candidates for each mask, most likely first."""

    text: str
    masks: tuple[tuple[Candidate, ...], ...]

    def __str__(self) -> str:
        return self.text


class MaskedTokenArchitecture(Protocol):
    """The functions of an encoder with a masked-token head."""

    def encode(self, token_ids: Array, weights: Weights, config: Config, /, *, ops: Operations = ...) -> Array:
        """Return the final hidden states, (batch_size, seq_len, hidden_size)."""

    def masked_token_logits(self, hidden: Array, weights: Weights, config: Config, /, *, ops: Operations = ...) -> Array:
        """Return the logits, (..., vocab_size)."""


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
    """Replace every mask of a text, such as "Paris is the [MASK] of France.", by the most likely token.

    top_k   number of candidates to return for each mask

    Masks are predicted independently: each prediction sees the other masks, not their predictions.

    Errors   UnsupportedError for a model without a masked-token head; TokenizerError for a tokenizer without a mask token;
             PromptError for a text without a mask, or one longer than the model's positions; OptionError for a top_k below 1.
    """
    if not is_integer(top_k) or top_k < 1:
        raise OptionError(f"got top_k={top_k!r:.100}, expected an integer of at least 1")
    if not isinstance(text, str):
        raise PromptError(f"got a text of type {type(text).__name__}, expected a str")
    if checkpoint.architecture.KIND != "encoder":
        raise UnsupportedError(
            f"got a model of kind {checkpoint.architecture.KIND!r}, expected an encoder with a masked-token head, such as BERT",
            hint="use generate",
        )
    token_ids, positions = _mask_positions(text, tokenizer)
    probabilities = functions.softmax(_logits(token_ids, positions, checkpoint, array, device, ops))
    if not numpy.isfinite(probabilities).all():
        raise NotFiniteError("got NaN or infinity among the logits, expected finite numbers", hint="load the model with dtype='float32'")
    best = numpy.argsort(-probabilities, axis=-1, kind="stable")[:, :top_k]
    masks = tuple(
        tuple(Candidate(int(each), tokenizer.decode([int(each)], skip_special_tokens=False), float(row[each])) for each in chosen)
        for chosen, row in zip(best, probabilities, strict=True)
    )
    return FilledText(_filled(text, token_ids, dict(zip(positions, best[:, 0].tolist(), strict=True)), tokenizer), masks)


def _mask_positions(text: str, tokenizer: Tokenizer) -> tuple[list[int], list[int]]:
    """Return the token ids of a text and the positions of its masks."""
    mask = tokenizer.special_tokens.get("mask_token")
    if tokenizer.mask_token_id is None or mask is None:
        raise TokenizerError("got a tokenizer without a mask token, expected mask_token in tokenizer_config.json")
    token_ids = tokenizer.encode(text)
    positions = [position for position, token_id in enumerate(token_ids) if token_id == tokenizer.mask_token_id]
    if not positions:
        raise PromptError(f"got a text without {mask}, expected at least one", hint=f"write {mask} in place of the word to predict")
    return token_ids, positions


def _logits(
    token_ids: Sequence[int], positions: Sequence[int], checkpoint: Checkpoint, array: str, device: str | None, ops: Operations
) -> numpy.ndarray:
    """Return the logits at the masks, (num_masks, vocab_size)."""

    def asarray(values: Sequence[int]) -> Array:
        converted: Array = from_numpy(numpy.asarray(values, numpy.int64), array, device)
        return converted

    model, architecture = checkpoint, cast(MaskedTokenArchitecture, checkpoint.architecture)
    hidden = architecture.encode(asarray(token_ids)[None, :], model.weights, model.config, ops=ops)[0]
    hidden = array_namespace(hidden).take(hidden, as_index(asarray(positions)), axis=0)
    logits: numpy.ndarray = to_numpy(architecture.masked_token_logits(hidden, model.weights, model.config, ops=ops))
    return logits


def _filled(text: str, token_ids: Sequence[int], chosen: dict[int, int], tokenizer: Tokenizer) -> str:
    """Return the text with its masks replaced by the chosen tokens, and the rest unchanged."""
    parts = text.split(tokenizer.special_tokens["mask_token"])
    filled = [chosen.get(position, token_id) for position, token_id in enumerate(token_ids)]
    if len(parts) != len(chosen) + 1:  # a mask is written in another way
        return tokenizer.decode(filled)
    result = parts[0]
    for position, part in zip(sorted(chosen), parts[1:], strict=True):
        before, through = tokenizer.decode(filled[:position]), tokenizer.decode(filled[: position + 1])
        word = through[len(before) :] if through.startswith(before) else f" {tokenizer.decode([chosen[position]])}"
        # A token that continues the word before it, such as "##ing" or a full stop, takes no space.
        result = (result if word[:1].isspace() else result.rstrip()) + word.lstrip() + part
    return result
