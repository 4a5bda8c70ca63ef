"""A decoder on PyTorch whose decode steps are captured as CUDA graphs: the twin of an architecture's hidden_states and logits.

A step reads one more token of every row. Its tokens, its position, and the keys and values are tensors at fixed addresses, and it needs
nothing from the host, so it can be captured once as a CUDA graph and replayed. Prompts run through the architecture's own functions.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from types import ModuleType
from typing import Any, TypeAlias

import numpy
import torch
import torch.nn.functional as F
from torch import Tensor

from headway.arrays import Operations, fetch
from headway.errors import HeadwayError, PromptError, UnsupportedError
from headway.functions import KVCache
from headway.models.decoder import logits, run_layers
from headway.models.parts import scaled_embedding
from headway.models.past import prefill_chunk
from headway.models.spec import DecoderSpec, RotarySpec

Step: TypeAlias = Callable[[], Tensor]
"""Compute logits from the tensors of a cache."""

MIN_KEYS = 256
"""Smallest number of positions that a step attends to. A step attends to a power of two of positions, with one graph for each power."""
ALIGNMENT = 8
"""The capacity of a cache is a multiple of this, which fused attention requires."""
WARM_UPS = 3
"""Number of runs before a capture: libraries load and choose kernels in them, which is not allowed during a capture."""

_CAPTURING = threading.Lock()
"""Held during a capture: a process can capture one graph at a time."""


class CapturedKVCache:
    """The KV cache of some rows and the other inputs of a step, all tensors at fixed addresses.

    Shapes
        keys_and_values  num_layers * (2, num_rows, num_kv_heads, capacity, head_dim)
        tokens           (num_rows, 1) integer, the input of a step
        padding          (num_rows,) integer, number of padding positions on the left of each row
        position         (1,) integer, the position that a step fills

    rotary       the cosines and sines of all positions, (capacity, rotary_dim // 2) each, by RotarySpec
    max_seq_len  maximum number of positions
    length       number of filled positions
    replay       the captured step, which attends to num_keys positions; None if there is none for these addresses
    """

    def __init__(self, spec: DecoderSpec, num_rows: int, max_seq_len: int, like: Tensor) -> None:
        """Allocate an empty cache with the dtype and on the device of `like`."""
        self.spec, self.like = spec, like
        self.max_seq_len, self.length, self.is_padded = max_seq_len, 0, False
        self.capacity = -(-max_seq_len // ALIGNMENT) * ALIGNMENT
        self.position = self._integers(1)
        self.rotary: dict[RotarySpec, tuple[Tensor, Tensor]] = {}
        for each in spec.rotary_specs:
            cos, sin = each.tables(self.capacity)
            self.rotary[each] = (torch.from_numpy(cos).to(like.device), torch.from_numpy(sin).to(like.device))
        self._allocate(num_rows)

    def take(self, rows: Sequence[int]) -> None:
        """Let row i continue what row rows[i] was; a row may be taken several times or not at all."""
        chosen = torch.tensor(list(rows), device=self.like.device)
        filled, padding = [each[..., : self.length, :].index_select(1, chosen) for each in self.keys_and_values], self.padding[chosen]
        if len(chosen) != len(self.padding):
            self._allocate(len(chosen))
        for layer, kept in zip(self.keys_and_values, filled, strict=True):
            layer[..., : self.length, :] = kept
        self.padding.copy_(padding)

    def layers(self) -> list[KVCache]:
        """Return views of the same memory in the form that an architecture takes."""
        return [KVCache(keys, values, self.length) for keys, values in self.keys_and_values]

    def _allocate(self, num_rows: int) -> None:
        """Allocate tensors for num_rows rows, filled with zeros: masked values are multiplied by zero, so they must not be NaN."""
        self.replay: Step | None = None
        self.num_keys = 0
        self.tokens, self.padding = self._integers(num_rows, 1), self._integers(num_rows)
        attentions = [layer.attention for layer in self.spec.layers]
        self.keys_and_values = [
            torch.zeros((2, num_rows, each.num_kv_heads, self.capacity, each.head_dim), dtype=self.like.dtype, device=self.like.device)
            for each in attentions
        ]

    def _integers(self, *shape: int) -> Tensor:
        return torch.zeros(shape, dtype=torch.int64, device=self.like.device)


@dataclass(frozen=True)
class _Layer:
    """One layer's keys and values within a step: like KVCache, but the position is a tensor on the device."""

    keys: Tensor
    values: Tensor
    position: Tensor
    num_keys: int

    def append(self, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        """Store one position, and return the num_keys positions that the step attends to under its mask."""
        self.keys.index_copy_(2, self.position, key)
        self.values.index_copy_(2, self.position, value)
        return self.keys[:, :, : self.num_keys], self.values[:, :, : self.num_keys]


def cuda_graph(step: Step) -> Step:
    """Capture a step as a CUDA graph on the current device; return a function that replays it on the current content of its tensors.

    Every replay overwrites the logits of the previous one. The step runs WARM_UPS times before the capture, so it must be idempotent.
    """
    current, stream = torch.cuda.current_stream(), torch.cuda.Stream()
    stream.wait_stream(current)
    with torch.cuda.stream(stream):
        for _ in range(WARM_UPS):
            step()
    current.wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=stream, capture_error_mode="thread_local"):
        logits = step()

    def replay() -> Tensor:
        graph.replay()
        return logits

    return replay


def can_capture(spec: DecoderSpec) -> bool:
    """Return True if a step of the decoder can be captured: not with a mixture of experts, whose work depends on the tokens."""
    return not any(layer.feed_forward.experts for layer in spec.layers)


class CapturedDecoder:
    """A decoder whose prompts run through its architecture and whose decode steps are captured.

    architecture  a decoder's module of headway.models
    capture       returns a function that repeats a step

    Errors   UnsupportedError for a decoder that can_capture refuses.
    """

    def __init__(
        self, architecture: ModuleType, config: Any, weights: Any, ops: Operations, *, capture: Callable[[Step], Step] = cuda_graph
    ) -> None:
        """Store the parts; nothing is computed but the spec."""
        self.architecture, self.config, self.weights, self.ops, self.capture = architecture, config, weights, ops, capture
        self.spec: DecoderSpec = architecture.spec(config)
        if not can_capture(self.spec):
            raise UnsupportedError("got a decoder with a mixture of experts, expected one whose steps are the same for all tokens")
        self._is_closed = False

    def close(self) -> None:
        """Refuse further calls and release the weights. Captured graphs belong to the caches and are freed with them."""
        self._is_closed, self.weights = True, None

    def new_cache(self, num_rows: int, max_seq_len: int) -> CapturedKVCache:
        """Return an empty cache for `num_rows` rows of at most `max_seq_len` tokens, including padding."""
        return CapturedKVCache(self.spec, num_rows, max_seq_len, self.weights.token_embedding)

    def next_logits(self, token_ids: Sequence[Sequence[int]], cache: CapturedKVCache) -> numpy.ndarray:
        """Read further tokens of every row; return the logits (num_rows, vocab_size) after the last token of each.

        Errors   PromptError if the cache is too short, or if rows differ in length after the first call; HeadwayError if the decoder is
                 closed.
        """
        if self._is_closed:
            raise HeadwayError("got a call of a closed model, expected an open one", hint="load the model again")
        num_new, min_new = max(map(len, token_ids)), min(map(len, token_ids))
        if len(token_ids) != len(cache.padding) or not min_new or (cache.length and min_new < num_new):
            raise PromptError(
                f"got {min_new} to {num_new} tokens for {len(token_ids)} rows after {cache.length}, "
                f"expected at least 1 token for each of {len(cache.padding)} rows, the same number for all but the first call",
                hint="pass one token per row after the prompt",
            )
        if cache.length + num_new > cache.max_seq_len:
            raise PromptError(
                f"got {num_new} tokens after {cache.length}, expected at most {cache.max_seq_len} in total", hint="shorten the prompt"
            )
        if not cache.length:
            cache.padding.copy_(torch.tensor([num_new - len(row) for row in token_ids]))
            cache.is_padded = min_new < num_new
        tokens = torch.tensor([[0] * (num_new - len(row)) + list(row) for row in token_ids])
        logits = self._prefill(tokens.to(cache.like.device), cache) if num_new > 1 else self._decode(tokens, cache)
        cache.length += num_new
        return fetch(logits)

    def step(self, cache: CapturedKVCache, num_keys: int) -> Tensor:
        """Read one more token of every row at cache.position, attending to the first num_keys positions; return (num_rows, vocab_size) logits."""
        spec, weights, ops = self.spec, self.weights, self.ops
        masks = _masks(cache, num_keys, {layer.attention.window for layer in spec.layers})
        positions = (cache.position - cache.padding)[:, None]
        rotary = {
            each: (F.embedding(positions, cos)[:, None], F.embedding(positions, sin)[:, None]) for each, (cos, sin) in cache.rotary.items()
        }
        x = scaled_embedding(F.embedding(cache.tokens, weights.token_embedding), spec.embedding_scale)
        if weights.position_embedding is not None:
            x = x + F.embedding(positions, weights.position_embedding)
        layers = [_Layer(keys, values, cache.position, num_keys) for keys, values in cache.keys_and_values]
        hidden: Any = run_layers(x, weights, spec, masks=masks, rotary=rotary, kv_cache=layers, ops=ops)
        result: Any = logits(hidden[:, -1], weights, spec, ops=ops)
        return result

    def _prefill(self, tokens: Tensor, cache: CapturedKVCache) -> Tensor:
        """Return the logits after a prompt."""
        given = (self.weights, self.config)
        padding = cache.padding if cache.is_padded else None
        layers = cache.layers()
        for chunk in tokens.split(prefill_chunk(tokens), dim=1):
            hidden = self.architecture.hidden_states(chunk, *given, kv_cache=layers, padding=padding, ops=self.ops)
        return self.architecture.logits(hidden[:, -1], *given, ops=self.ops)

    def _decode(self, tokens: Tensor, cache: CapturedKVCache) -> Tensor:
        """Return the logits after one token of every row, by a captured step."""
        cache.tokens.copy_(tokens)
        cache.position.fill_(cache.length)
        num_keys = min(cache.capacity, max(MIN_KEYS, 1 << cache.length.bit_length()))
        if cache.replay is None or cache.num_keys != num_keys:
            cache.replay, cache.num_keys = None, num_keys  # frees the memory of the previous graph for this one
            with _CAPTURING, torch.cuda.device_of(cache.tokens):
                cache.replay = self.capture(partial(self.step, cache, num_keys))
        return cache.replay()


def _masks(cache: CapturedKVCache, num_keys: int, windows: set[int | None]) -> dict[int | None, Tensor]:
    """Return for each window the mask that is added to the scores, (num_rows, 1, 1, num_keys): 0 or -inf."""
    keys = torch.arange(num_keys, device=cache.like.device)
    visible = (keys <= cache.position) & (keys >= cache.padding[:, None])
    by_window = {window: visible if window is None else visible & (keys > cache.position - window) for window in windows}
    zeros = torch.zeros(visible.shape, dtype=cache.like.dtype, device=cache.like.device)
    return {window: zeros.masked_fill(~allowed, -float("inf"))[:, None, None] for window, allowed in by_window.items()}
