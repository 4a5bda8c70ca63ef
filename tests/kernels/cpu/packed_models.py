"""Small random decoders with packed weights, and the same decoders with the unpacked weights."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy

from headway.functions import Packed
from headway.kernels.cpu.compiled_decoder import CompiledDecoder
from headway.kernels.cpu.packed_file import packed_weights
from headway.kernels.cpu.pass_plan import Rows
from headway.kernels.cpu.products import HAS_BFLOAT16_DOT
from headway.kernels.cpu.runtime import Runtime
from headway.models import gemma, gemma2, gemma3_text, gpt2, granite, llama, mixtral, olmo2, olmo3, phi3, qwen2, qwen3, qwen3_moe, smollm3
from headway.trees import leaves, tree_from_leaves
from tests.small_models import random_weights

ROPE = {"rope_type": "default", "rope_theta": 10000.0}
LLAMA_LIKE = {"vocab_size": 101, "num_hidden_layers": 2, "rope_parameters": ROPE}
MODELS = {
    "gpt2": (gpt2, gpt2.Config(vocab_size=101, n_positions=1400, n_embd=36, n_layer=2, n_head=3)),
    "gpt2 with exact gelu, scaled by depth, wider within": (
        gpt2,
        gpt2.Config(101, 1400, 36, 2, 3, n_inner=70, activation_function="gelu", scale_attn_by_inverse_layer_idx=True),
    ),
    "gpt2 with relu, its own head": (gpt2, gpt2.Config(101, 1400, 36, 2, 3, activation_function="relu", tie_word_embeddings=False)),
    "gpt2 with heads of an odd size": (gpt2, gpt2.Config(101, 1400, 33, 2, 3)),
    "gpt2 with less than a block": (gpt2, gpt2.Config(101, 1400, 9, 2, 3, n_inner=10)),
    "llama with odd sizes and a window": (
        llama,
        llama.Config(
            hidden_size=40,
            intermediate_size=70,
            num_attention_heads=6,
            num_key_value_heads=2,
            head_dim=10,
            sliding_window=150,
            **LLAMA_LIKE,
        ),
    ),
    "qwen2": (qwen2, qwen2.Config(hidden_size=64, intermediate_size=96, num_attention_heads=4, num_key_value_heads=2, **LLAMA_LIKE)),
    "qwen3 with wide heads": (
        qwen3,
        qwen3.Config(hidden_size=64, intermediate_size=96, num_attention_heads=14, num_key_value_heads=2, head_dim=64, **LLAMA_LIKE),
    ),
}
SIZES = LLAMA_LIKE | {"hidden_size": 64, "intermediate_size": 96, "num_attention_heads": 4, "num_key_value_heads": 2}
NARROW = SIZES | {"head_dim": 24, "query_pre_attn_scalar": 24, "sliding_window": 150, "num_hidden_layers": 3}
LONGROPE = {"rope_type": "longrope", "rope_theta": 10000.0, "short_factor": [1.0, 1.1, 1.3, 1.5, 2.0, 3.0], "factor": 8.0}
LONGROPE |= {"long_factor": [2.0, 2.5, 3.0, 4.0, 8.0, 9.0], "original_max_position_embeddings": 600, "partial_rotary_factor": 0.75}
DYNAMIC = {"rope_type": "dynamic", "rope_theta": 10000.0, "factor": 4.0, "original_max_position_embeddings": 600}
GEMMA3_ROPE = {"sliding_attention": ROPE, "full_attention": {"rope_type": "linear", "rope_theta": 1e6, "factor": 8.0}}
CONSTANTS = {"embedding_multiplier": 3.0, "attention_multiplier": 0.3, "residual_multiplier": 0.6, "logits_scaling": 2.5}
FAMILIES = {
    "gemma": (gemma, gemma.Config(**SIZES | {"head_dim": 24})),
    "gemma2": (gemma2, gemma2.Config(**NARROW, attn_logit_softcapping=5.0, final_logit_softcapping=4.0)),
    "gemma3": (gemma3_text, gemma3_text.Config(**NARROW | {"rope_parameters": GEMMA3_ROPE}, sliding_window_pattern=2)),
    "phi3": (phi3, phi3.Config(**SIZES | {"rope_parameters": LONGROPE})),
    "dynamic": (llama, llama.Config(**SIZES | {"rope_parameters": DYNAMIC})),
    "smollm3": (smollm3, smollm3.Config(**SIZES, no_rope_layers=[1, 0])),
    "granite": (granite, granite.Config(**SIZES, **CONSTANTS)),
    "olmo2": (olmo2, olmo2.Config(**SIZES, attention_bias=True)),
    "olmo3": (
        olmo3,
        olmo3.Config(**SIZES | {"rope_parameters": GEMMA3_ROPE}, sliding_window=150, layer_types=["sliding_attention", "full_attention"]),
    ),
    "mixtral": (mixtral, mixtral.Config(**SIZES, num_local_experts=5, num_experts_per_tok=2)),
    "qwen3_moe": (
        qwen3_moe,
        qwen3_moe.Config(**SIZES, num_experts=7, num_experts_per_tok=3, moe_intermediate_size=40, mlp_only_layers=[1]),
    ),
}
"""Architectures with parts that those above do not have."""
MIXTURES = ("mixtral", "qwen3_moe")
"""Those in which rounded activations may choose other experts than exact ones, where two are almost equally likely."""
TOLERANCE = {"float32": 1e-5, "bfloat16": 0.02 if HAS_BFLOAT16_DOT else 2e-5, "int8": 0.08, "int4": 0.08}
"""Relative to the largest logit, by kind. Integer and bfloat16 products round their activations; the definitions do not."""
CACHES = {"float32": 1e-5, "bfloat16": 0.2, "int16": 1e-2, "int8": 0.6}
"""The same by number format of the cache. The tolerances are large because random models amplify small differences."""


@dataclass(frozen=True)
class Model:
    architecture: Any
    config: Any
    weights: Any
    decoder: CompiledDecoder

    def last_logits(self, token_ids: list[int]) -> numpy.ndarray:
        """Return the logits of the definitions with the unpacked weights."""
        return self.architecture.forward(numpy.array([token_ids]), self.weights, self.config)[0, -1]


def model(name: str, kind: str, runtime: Runtime, *, cache_kind: str = "float32", place: Callable[[Any], Any] = lambda leaf: leaf) -> Model:
    """Return a decoder whose packed weights are those that `place` returns."""
    architecture, config = (MODELS | FAMILIES)[name]
    tree = random_weights(architecture, config, deviation=0.2)
    packed = packed_weights(None, "", kind, list(leaves(tree)), runtime)
    weights = tree_from_leaves(architecture.Weights, {path: place(leaf) for path, leaf in packed.items()})
    decoder = CompiledDecoder(architecture.spec(config), weights, runtime.forward_pass, runtime.pool, cache_kind=cache_kind)
    unpacked = {path: leaf.dense() if isinstance(leaf, Packed) else leaf for path, leaf in packed.items()}
    return Model(architecture, config, tree_from_leaves(architecture.Weights, unpacked), decoder)


class Texts:
    """Texts that a decoder reads, on pages that are drawn at random from all pages of the decoder."""

    def __init__(self, decoder: CompiledDecoder, num_texts: int = 1, *, num_pages: int = 48, seed: int = 0) -> None:
        decoder.allocate(num_pages)
        self.decoder, self.lengths = decoder, [0] * num_texts
        self.pages: list[list[int]] = [[] for _ in range(num_texts)]
        self.free = numpy.random.default_rng(seed).permutation(num_pages).tolist()

    def rows(self, index: int, token_ids: list[int], num_wanted: int = 1) -> Rows:
        """Return the rows that append tokens to a text."""
        start = self.lengths[index]
        self.lengths[index] += len(token_ids)
        while len(self.pages[index]) * self.decoder.page_size < self.lengths[index]:
            self.pages[index].append(self.free.pop())
        return Rows(start, token_ids, list(self.pages[index]), num_wanted)

    def read(self, token_ids: list[list[int]], max_rows: int = 512) -> numpy.ndarray:
        """Append tokens to every text, in passes of at most max_rows; return the logits after the last token of each."""
        logits, batch, room = [], [], max_rows
        for index, tokens in enumerate(token_ids):
            first = 0
            while first < len(tokens):
                chunk = tokens[first : first + room]
                first, room = first + len(chunk), room - len(chunk)
                batch.append(self.rows(index, chunk, int(first == len(tokens))))
                if not room:
                    logits.append(self.decoder.run(batch))
                    batch, room = [], max_rows
        return numpy.concatenate([*logits, self.decoder.run(batch)])


def prompts(*lengths: int) -> list[list[int]]:
    random = numpy.random.default_rng(5)
    return [random.integers(0, 101, length).tolist() for length in lengths]


def error(mine: numpy.ndarray, theirs: numpy.ndarray) -> float:
    return float(abs(mine - theirs).max() / abs(theirs).max())
