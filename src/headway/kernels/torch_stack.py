"""A decoder's steps on PyTorch: the twin of an architecture's hidden_states and logits together, for one more token of every row.

A step asks nothing of the host. Its tokens, its place and the keys and values before it are tensors that stay where they are in memory,
so a GPU can be shown the step once, as a CUDA graph, and be told from then on to do the same again. Prompts run as the architecture
runs them.
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

from headway.arrays import Array, Operations, to_numpy
from headway.errors import PromptError
from headway.functions import GatedFeedForwardWeights, KVCache

Step: TypeAlias = Callable[[], Array]
"""From what lies in a cache to logits."""

PREFILL_CHUNK = 512
"""Prompt tokens per pass, so that the attention scores are never those of the whole prompt with itself."""
FEWEST_KEYS = 256
"""A step attends to a power of two of places, filled or not, and to no fewer than these: one graph for each."""
ALIGNMENT = 8
"""A cache has room for a multiple of so many positions, as the fused attention needs it."""
WARM_UPS = 3
"""Runs before a capture, in which libraries load and choose what may not be loaded or chosen within it."""

_CAPTURING = threading.Lock()
"""A process may capture one graph at a time."""


class Cache:
    """Keys and values of some rows, and what a step reads beside them, each at an address that stays.

    Shapes
        keys_and_values  (num_layers, 2, num_rows, num_kv_heads, room, head_dim)
        tokens           (num_rows, 1) integer, the ones that a step reads
        padding          (num_rows,) integer, how many positions on the left of each row are padding
        place            (1,) integer, the position that a step fills

    max_seq_len  how many positions may be filled
    length       how many are
    replay       the captured step, which attends to num_keys positions; None where there is none for these addresses
    """

    def __init__(self, description: Any, num_rows: int, max_seq_len: int, like: Array) -> None:
        """An empty cache of the dtype and on the device of `like`."""
        self.description, self.like = description, like
        self.max_seq_len, self.length, self.is_padded = max_seq_len, 0, False
        self.room = -(-max_seq_len // ALIGNMENT) * ALIGNMENT
        self.place = self._integers(1)
        tables = description.rotary(self.room) if description.rotary else ()
        self.rotary = [torch.from_numpy(numpy.ascontiguousarray(table, numpy.float32)).to(like.device) for table in tables]
        self._lay_out(num_rows)

    def take(self, rows: Sequence[int]) -> None:
        """Let row i go on from what rows[i] was; one may be taken more than once, or not at all."""
        chosen = torch.tensor(list(rows), device=self.like.device)
        filled, padding = self.keys_and_values[..., : self.length, :].index_select(2, chosen), self.padding[chosen]
        if len(chosen) != len(self.padding):
            self._lay_out(len(chosen))
        self.keys_and_values[..., : self.length, :] = filled
        self.padding.copy_(padding)

    def layers(self) -> list[KVCache]:
        """The same memory, as an architecture takes it."""
        return [KVCache(keys, values, self.length) for keys, values in self.keys_and_values]

    def _lay_out(self, num_rows: int) -> None:
        """Memory at new addresses, of zeros: what is hidden is multiplied by zero, and must not be NaN."""
        description = self.description
        self.replay: Step | None = None
        self.num_keys = 0
        self.tokens, self.padding = self._integers(num_rows, 1), self._integers(num_rows)
        self.keys_and_values = torch.zeros(
            (description.num_layers, 2, num_rows, description.num_kv_heads, self.room, description.head_dim),
            dtype=self.like.dtype,
            device=self.like.device,
        )

    def _integers(self, *shape: int) -> Array:
        return torch.zeros(shape, dtype=torch.int64, device=self.like.device)


@dataclass(frozen=True)
class _Layer:
    """One layer's keys and values within a step: a KVCache whose length the host does not know."""

    keys: Array
    values: Array
    place: Array
    num_keys: int

    def append(self, key: Array, value: Array) -> tuple[Array, Array]:
        """Write one position, and return the places that a step attends to, behind its mask."""
        self.keys.index_copy_(2, self.place, key)
        self.values.index_copy_(2, self.place, value)
        return self.keys[:, :, : self.num_keys], self.values[:, :, : self.num_keys]


def cuda_graph(step: Step) -> Step:
    """Record a step as a CUDA graph of the current device: what comes back repeats it on what then lies at the same addresses.

    Its logits are overwritten by the next repetition. The step is run some times before, so it must not matter how often it is.
    """
    current, own = torch.cuda.current_stream(), torch.cuda.Stream()
    own.wait_stream(current)
    with torch.cuda.stream(own):
        for _ in range(WARM_UPS):
            step()
    current.wait_stream(own)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=own, capture_error_mode="thread_local"):
        logits = step()

    def replay() -> Array:
        graph.replay()
        return logits

    return replay


class Stack:
    """A decoder whose prompts run as its architecture says and whose steps are captured.

    architecture  a decoder's module of headway.models that has a stack(config)
    capture       from a step to what repeats it
    """

    def __init__(
        self, architecture: ModuleType, config: Any, weights: Any, ops: Operations, *, capture: Callable[[Step], Step] = cuda_graph
    ) -> None:
        """Nothing is computed yet."""
        self.architecture, self.config, self.weights, self.ops, self.capture = architecture, config, weights, ops, capture
        self.description = architecture.stack(config)

    def new_cache(self, num_rows: int, max_seq_len: int) -> Cache:
        """An empty cache for so many rows of so many tokens each, padding included."""
        return Cache(self.description, num_rows, max_seq_len, self.weights.token_embedding)

    def next_logits(self, token_ids: Sequence[Sequence[int]], cache: Cache) -> numpy.ndarray:
        """Read some more tokens of every row: the logits (num_rows, vocab_size) behind the last of each.

        Errors   PromptError where the cache has no room for them, or rows differ in length once it is filled.
        """
        num_new, fewest = max(map(len, token_ids)), min(map(len, token_ids))
        if len(token_ids) != len(cache.padding) or not fewest or (cache.length and fewest < num_new):
            raise PromptError(
                f"came: {fewest} to {num_new} tokens for {len(token_ids)} rows, behind {cache.length}; "
                f"expected: tokens for {len(cache.padding)} rows, as many for each unless they are the first"
            )
        if cache.length + num_new > cache.max_seq_len:
            raise PromptError(f"came: {num_new} tokens behind {cache.length}; expected: at most {cache.max_seq_len} in all")
        if not cache.length:
            cache.padding.copy_(torch.tensor([num_new - len(row) for row in token_ids]))
            cache.is_padded = fewest < num_new
        tokens = torch.tensor([[0] * (num_new - len(row)) + list(row) for row in token_ids])
        logits = self._read(tokens.to(cache.like.device), cache) if num_new > 1 else self._repeat(tokens, cache)
        cache.length += num_new
        return to_numpy(logits)

    def step(self, cache: Cache, num_keys: int) -> Array:
        """One more token of every row, at cache.place: the logits (num_rows, vocab_size) behind it, seeing the first num_keys places."""
        description, weights, ops = self.description, self.weights, self.ops
        masks = _masks(cache, num_keys, set(description.windows))
        positions = (cache.place - cache.padding)[:, None]
        rotary = [F.embedding(positions, table)[:, None] for table in cache.rotary]
        x = F.embedding(cache.tokens, weights.token_embedding)
        if hasattr(weights, "position_embedding"):
            x = x + F.embedding(positions, weights.position_embedding)
        for index, (layer, (keys, values)) in enumerate(zip(weights.layers, cache.keys_and_values, strict=True)):
            normed = self._norm(x, layer.attention_norm)
            x = x + ops.multi_head_attention(
                normed,
                normed,
                normed,
                layer.attention,
                num_heads=description.num_heads,
                mask=masks[description.windows[index]],
                scale=description.scales[index],
                rotary=tuple(rotary) or None,
                kv_cache=_Layer(keys, values, cache.place, num_keys),
                eps=description.eps,
                ops=ops,
            )
            x = x + self._feed_forward(self._norm(x, layer.feed_forward_norm), layer.feed_forward)
        return ops.unembed(self._norm(x, weights.norm)[:, -1], weights.output_head)

    def _read(self, tokens: Array, cache: Cache) -> Array:
        """The logits behind a prompt."""
        given = (self.weights, self.config)
        padding = cache.padding if cache.is_padded else None
        layers = cache.layers()
        for chunk in tokens.split(PREFILL_CHUNK, dim=1):
            hidden = self.architecture.hidden_states(chunk, *given, kv_cache=layers, padding=padding, ops=self.ops)
        return self.architecture.logits(hidden[:, -1], *given, ops=self.ops)

    def _repeat(self, tokens: Array, cache: Cache) -> Array:
        """The logits behind one token of every row, by a captured step."""
        cache.tokens.copy_(tokens)
        cache.place.fill_(cache.length)
        num_keys = min(cache.room, max(FEWEST_KEYS, 1 << cache.length.bit_length()))
        if cache.replay is None or cache.num_keys != num_keys:
            cache.replay, cache.num_keys = None, num_keys  # the last graph's memory is free for this one's
            with _CAPTURING, torch.cuda.device_of(cache.tokens):
                cache.replay = self.capture(partial(self.step, cache, num_keys))
        return cache.replay()

    def _norm(self, x: Array, weights: Any) -> Array:
        if self.description.norm == "layer_norm":
            return self.ops.layer_norm(x, weights.weight, weights.bias, eps=self.description.eps)
        return self.ops.rms_norm(x, weights.weight, eps=self.description.eps)

    def _feed_forward(self, x: Array, weights: Any) -> Array:
        ops, activation = self.ops, getattr(self.ops, self.description.activation)
        if isinstance(weights, GatedFeedForwardWeights):
            return ops.gated_feed_forward(x, weights, activation=activation, ops=ops)
        return ops.feed_forward(x, weights, activation=activation, ops=ops)


def _masks(cache: Cache, num_keys: int, windows: set[int | None]) -> dict[int | None, Array]:
    """By window, what is added to the scores (num_rows, 1, 1, num_keys): 0 where a token may attend, else -inf."""
    keys = torch.arange(num_keys, device=cache.like.device)
    visible = (keys <= cache.place) & (keys >= cache.padding[:, None])
    by_window = {window: visible if window is None else visible & (keys > cache.place - window) for window in windows}
    zeros = torch.zeros(visible.shape, dtype=cache.like.dtype, device=cache.like.device)
    return {window: zeros.masked_fill(~allowed, -float("inf"))[:, None, None] for window, allowed in by_window.items()}
