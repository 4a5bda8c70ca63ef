"""A prompt's way through a model: tokens, attention of each head, residual stream, logit lens, next token. Plain data."""

from __future__ import annotations

import base64
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy

from headway.arrays import Array
from headway.checkpoints import Checkpoint
from headway.errors import OptionError, PromptError, TokenIdError
from headway.functions import softmax
from headway.look.recording_ops import Ablation, Attended, Recorder, applied
from headway.look.trace_json import JsonTrace
from headway.tokenizers import Tokenizer

SCHEMA = "headway/model-trace/v1"
NUM_GUESSES = 5
MOST_NEW_TOKENS = 12
MOST_TOKENS = 512
"""Longest prompt: a page cannot show the attention of more positions."""

NUM_NAMED = 256
"""Number of the most likely next tokens whose text is stored."""

MOST_EMBEDDING = 64
"""Most numbers of each token's embedding that are stored."""


@dataclass(frozen=True)
class Packed:
    """An array as base64 of its little-endian numbers.

    dtype   float32 or float16
    """

    shape: tuple[int, ...]
    dtype: str
    data: str

    def array(self) -> numpy.ndarray:
        """Return the array."""
        return numpy.frombuffer(base64.b64decode(self.data), numpy.dtype(self.dtype).newbyteorder("<")).reshape(self.shape)


@dataclass(frozen=True)
class Token:
    """A token.

    text    as it is decoded alone
    piece   as the vocabulary writes it
    bytes   UTF-8 bytes in hexadecimal; empty if they are not known
    """

    id: int
    text: str
    piece: str
    bytes: str


@dataclass(frozen=True)
class Attention:
    """The attention weights of one layer.

    kind   "self", "cross", or "encoder" for the encoder of an encoder–decoder
    """

    kind: str
    layer: int
    num_kv_heads: int
    weights: Packed


@dataclass(frozen=True)
class Guess:
    """A token with its probability."""

    token: Token
    probability: float


@dataclass(frozen=True)
class Residual:
    """The residual stream before a layer, or after the last one.

    norms     Euclidean norm at each position
    guesses   most likely tokens at each position, if the model ended here; empty for a model without logits
    """

    norms: tuple[float, ...]
    guesses: tuple[tuple[Guess, ...], ...]


@dataclass(frozen=True)
class ModelTrace(JsonTrace):
    """A prompt's way through a model.

    tokens      tokens of the stack that predicts
    source      tokens of the encoder; empty unless the model is an encoder–decoder
    embeddings  first numbers of each token's embedding, (seq_len, at most 64)
    residuals   before each layer, and after the last
    position    position whose prediction the logits are
    logits      (vocab_size,); None for a model without them
    named       the most likely tokens, most likely first
    ablated     parts that were switched off, as (layer, head); head -1 is the whole layer
    """

    model: str
    kind: str
    prompt: str
    tokens: tuple[Token, ...]
    source: tuple[Token, ...]
    embeddings: Packed
    attentions: tuple[Attention, ...]
    residuals: tuple[Residual, ...]
    position: int
    logits: Packed | None
    named: tuple[Token, ...]
    ablated: tuple[tuple[int, int], ...] = ()
    schema: str = SCHEMA


def packed(array: numpy.ndarray, dtype: str = "float32") -> Packed:
    """Return an array as base64."""
    stored = numpy.ascontiguousarray(array, numpy.dtype(dtype).newbyteorder("<"))
    return Packed(tuple(map(int, stored.shape)), dtype, base64.b64encode(stored.tobytes()).decode())


def token_of(tokenizer: Tokenizer, token_id: int) -> Token:
    """Return a token with its texts; an id without a token has empty ones."""
    try:
        piece = tokenizer.token(token_id)
    except LookupError:
        return Token(token_id, "", "", "")
    text = tokenizer.decode([token_id], skip_special_tokens=False)
    return Token(token_id, text, piece, "" if "\ufffd" in text else text.encode().hex(" "))


def trace_prompt(
    checkpoint: Checkpoint,
    tokenizer: Tokenizer,
    prompt: str | Sequence[int],
    *,
    name: str = "",
    ablated: Collection[Ablation] = (),
    target: Sequence[int] | None = None,
) -> ModelTrace:
    """Return a prompt's way through a model whose weights are NumPy arrays.

    prompt    text, or token ids
    ablated   heads and layers to switch off; of an encoder–decoder, those of its decoder
    target    tokens of the decoder of an encoder–decoder after its start token; by default its greedy answer

    Errors   PromptError for a prompt that is empty or too long; TokenIdError for an id outside the vocabulary; OptionError for a head or
             layer that the model lacks.
    """
    token_ids = tokenizer.encode(prompt) if isinstance(prompt, str) else list(prompt)
    _check_prompt(token_ids, checkpoint.config)
    run = _Run(checkpoint, ablated)
    source: list[int] = []
    if checkpoint.architecture.KIND == "encoder-decoder":
        source, token_ids = token_ids, run.read(token_ids, target)
    hidden = run.hidden(token_ids)
    residuals: list[Array] = [each.residual for each in run.recorder.attended if each.residual is not None]
    _check_ablated(ablated, run.recorder)
    final = run.recorder.final_norm(hidden)
    residuals.append(hidden if final is None else final.x)
    position = _position(token_ids, tokenizer)
    rows = tuple(run.residual(each, applied(final, each), tokenizer) for each in residuals)
    logits = run.logits(hidden)
    next_logits = None if logits is None else numpy.asarray(logits[0, position], numpy.float32)
    best = [] if next_logits is None else numpy.argsort(-next_logits, kind="stable")[:NUM_NAMED].tolist()
    embeddings = numpy.asarray(residuals[0])[0, :, :MOST_EMBEDDING]
    return ModelTrace(
        name,
        checkpoint.architecture.KIND,
        prompt if isinstance(prompt, str) else tokenizer.decode(source or token_ids),
        tuple(token_of(tokenizer, each) for each in token_ids),
        tuple(token_of(tokenizer, each) for each in source),
        packed(embeddings),
        (*_attentions(run.encoder, "encoder"), *_attentions(run.recorder.attended, "self")),
        rows,
        position,
        None if next_logits is None else packed(next_logits),
        tuple(token_of(tokenizer, each) for each in best),
        tuple((each.layer, -1 if each.head is None else each.head) for each in ablated),
    )


class _Run:
    """The passes of one prompt."""

    def __init__(self, checkpoint: Checkpoint, ablated: Collection[Ablation]) -> None:
        self.checkpoint = checkpoint
        self.recorder = Recorder(checkpoint.weights, ablated)
        self.encoder: list[Attended] = []
        self.source: object = None

    def read(self, token_ids: list[int], target: Sequence[int] | None) -> list[int]:
        """Read the source; return the decoder's tokens: the start token, and the target or the greedy answer."""
        own, config, weights = self.checkpoint.architecture, self.checkpoint.config, self.checkpoint.weights
        self.recorder.begin(can_ablate=False)
        self.source = own.read(numpy.array([token_ids]), weights, config, ops=self.recorder.ops)
        self.encoder = self.recorder.attended
        start = self.checkpoint.generation_config.get("decoder_start_token_id")
        if not isinstance(start, int):
            raise OptionError("got an encoder–decoder without decoder_start_token_id, expected the first token of its decoder")
        if target is not None:
            _check_ids(target, getattr(config, "decoder_vocab_size", None) or config.vocab_size)
            return [start, *target]
        written, ends = [start], self.checkpoint.generation_config.get("eos_token_id")
        for _ in range(MOST_NEW_TOKENS):
            logits = self.logits(self.hidden(written))
            assert logits is not None
            best = int(numpy.argmax(logits[0, -1]))
            if best == ends or (isinstance(ends, list) and best in ends):
                break
            written.append(best)
        return written

    def hidden(self, token_ids: list[int]) -> Array:
        """Return the hidden states of the stack that predicts, (1, seq_len, hidden_size)."""
        own, config, weights = self.checkpoint.architecture, self.checkpoint.config, self.checkpoint.weights
        self.recorder.begin(can_ablate=True)
        given = numpy.array([token_ids])
        if own.KIND == "encoder":
            return own.encode(given, weights, config, ops=self.recorder.ops)
        if own.KIND == "decoder":
            return own.hidden_states(given, weights, config, ops=self.recorder.ops)
        return own.hidden_states(given, weights, config, source=self.source, ops=self.recorder.ops)

    def logits(self, hidden: Array) -> Array | None:
        """Return logits; None for an encoder without a masked-token head."""
        own, config, weights = self.checkpoint.architecture, self.checkpoint.config, self.checkpoint.weights
        if own.KIND != "encoder":
            return own.logits(hidden, weights, config)
        return None if getattr(weights, "masked_token_head", None) is None else own.masked_token_logits(hidden, weights, config)

    def residual(self, x: Array, hidden: Array, tokenizer: Tokenizer) -> Residual:
        """Return norms and guesses of a residual stream, given the hidden states that it would become."""
        norms = numpy.linalg.norm(numpy.asarray(x, numpy.float64)[0], axis=-1)
        logits = self.logits(hidden)
        if logits is None:
            return Residual(tuple(norms.tolist()), ())
        return Residual(tuple(norms.tolist()), tuple(_guesses(row, tokenizer) for row in numpy.asarray(logits[0])))


def _attentions(attended: Sequence[Attended], kind: str) -> list[Attention]:
    counts = {"cross": 0, kind: 0}
    found = []
    for each in attended:
        own = "cross" if each.is_cross else kind
        found.append(Attention(own, counts[own], int(each.num_kv_heads), packed(each.weights[0])))
        counts[own] += 1
    return found


def _guesses(logits: numpy.ndarray, tokenizer: Tokenizer) -> tuple[Guess, ...]:
    """Return the most likely tokens of one position."""
    probabilities = softmax(logits.astype(numpy.float64))
    count = min(NUM_GUESSES, len(probabilities))
    best = numpy.argpartition(-probabilities, count - 1)[:count]  # a whole sort of each row would take most of the time
    ordered = best[numpy.lexsort((best, -probabilities[best]))]
    return tuple(Guess(token_of(tokenizer, token_id), float(probabilities[token_id])) for token_id in ordered.tolist())


def _check_prompt(token_ids: Sequence[int], config: Any) -> None:
    if not token_ids:
        raise PromptError("got a prompt without tokens, expected at least one")
    most = min(MOST_TOKENS, config.max_seq_len or MOST_TOKENS)
    if len(token_ids) > most:
        raise PromptError(f"got a prompt of {len(token_ids)} tokens, expected at most {most}", hint="shorten the prompt")
    _check_ids(token_ids, config.vocab_size)


def _check_ids(token_ids: Sequence[int], vocab_size: int) -> None:
    wrong = [each for each in token_ids if not 0 <= each < vocab_size]
    if wrong:
        raise TokenIdError(f"got token id {wrong[0]}, expected 0 to {vocab_size - 1}")


def _position(token_ids: list[int], tokenizer: Tokenizer) -> int:
    """Return the position of the first mask, else the last one."""
    mask = tokenizer.mask_token_id
    return token_ids.index(mask) if mask is not None and mask in token_ids else len(token_ids) - 1


def _check_ablated(ablated: Collection[Ablation], recorder: Recorder) -> None:
    heads = [each.weights.shape[1] for each in recorder.attended if not each.is_cross]
    for part in ablated:
        if not 0 <= part.layer < len(heads) or (part.head is not None and not 0 <= part.head < heads[part.layer]):
            raise OptionError(
                f"got layer {part.layer} and head {part.head} to switch off, expected layers 0 to {len(heads) - 1} and their heads"
            )
