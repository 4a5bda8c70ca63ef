"""What a training run is told."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

from headway.errors import OptionError

NAMES = ("gpt2", "llama", "qwen3", "transformer")
"""The architectures that can be trained."""

GROUPED = ("llama", "qwen3")

CHANGEABLE = frozenset(
    """
    num_steps learning_rate min_learning_rate warmup_steps weight_decay beta1 beta2 max_gradient_norm dropout dtype weights_dtype
    device is_sharded eval_every save_every_seconds
    """.split()
)
"""What a run that goes on may be told anew; the rest makes its model and its batches what they are."""


@dataclass(frozen=True)
class TrainingOptions:
    """The shape of the model, and how it is trained.

    architecture        gpt2, llama, qwen3, or transformer, the encoder–decoder for pairs of texts
    context             tokens per sequence; for transformer the longest source and the longest target
    num_layers          of the decoder, and of the encoder where there is one
    num_kv_heads        key and value heads of llama and qwen3; num_heads by default
    intermediate_size   width inside the feed-forward; 4 · hidden_size by default, for llama and qwen3 ⅔ of that in whole 32s
    init_from           folder of a model to start from, with its tokenizer; random weights by default
    dropout             the share of attention weights, of what attention and feed-forward return, and of embeddings that a step forgets
    batch_size          sequences per step, over all processes
    num_steps           optimizer steps in all
    learning_rate       the highest, reached after warmup_steps, falling along a cosine to min_learning_rate
    weight_decay        AdamW's, on matrices only
    max_gradient_norm   longer gradients are shortened to this
    dtype               of the products: float32, bfloat16, or auto for whichever multiplies faster on this machine
    weights_dtype       of the model that is written at the end: float32, float16 or bfloat16
    is_sharded          whether each process holds only its share of the weights and of the optimizer's state between steps
    eval_every          steps between two validation losses
    save_every_seconds  between two writings of the state that --resume starts from

    Errors   OptionError for a value out of its range, or an option that the architecture does not have.
    """

    architecture: str = "gpt2"
    context: int = 256
    num_layers: int = 4
    num_heads: int = 4
    num_kv_heads: int | None = None
    hidden_size: int = 256
    intermediate_size: int | None = None
    init_from: str | None = None
    dropout: float = 0.0
    batch_size: int = 16
    num_steps: int = 2000
    learning_rate: float = 1e-3
    min_learning_rate: float = 1e-4
    warmup_steps: int = 100
    weight_decay: float = 0.1
    beta1: float = 0.9
    beta2: float = 0.95
    max_gradient_norm: float = 1.0
    dtype: str = "auto"
    weights_dtype: str = "float32"
    device: str = "cpu"
    is_sharded: bool = False
    seed: int = 0
    eval_every: int = 250
    save_every_seconds: float = 60.0

    def __post_init__(self) -> None:
        self._check_choices()
        self._check_ranges()
        self._check_heads()

    def to_dict(self) -> dict[str, Any]:
        """The options as plain values."""
        return dataclasses.asdict(self)

    def _check_choices(self) -> None:
        for name, choices in (
            ("architecture", NAMES),
            ("dtype", ("auto", "float32", "bfloat16")),
            ("weights_dtype", ("float32", "float16", "bfloat16")),
        ):
            if getattr(self, name) not in choices:
                *others, last = choices
                raise OptionError(f"came: {name}={getattr(self, name)!r}; expected: {', '.join(others)} or {last}")

    def _check_ranges(self) -> None:
        for name in ("context", "num_layers", "num_heads", "hidden_size", "batch_size", "num_steps", "eval_every", "num_kv_heads"):
            if (value := getattr(self, name)) is not None and value < 1:
                raise OptionError(f"came: {name}={value}; expected: at least 1")
        if self.intermediate_size is not None and self.intermediate_size < 1:
            raise OptionError(f"came: intermediate_size={self.intermediate_size}; expected: at least 1")
        for name in ("learning_rate", "max_gradient_norm"):
            if not 0 < getattr(self, name) < float("inf"):
                raise OptionError(f"came: {name}={getattr(self, name)}; expected: above 0")
        for name in ("min_learning_rate", "warmup_steps", "weight_decay"):
            if not 0 <= getattr(self, name) < float("inf"):
                raise OptionError(f"came: {name}={getattr(self, name)}; expected: 0 or more")
        for name in ("dropout", "beta1", "beta2"):
            if not 0 <= getattr(self, name) < 1:
                raise OptionError(f"came: {name}={getattr(self, name)}; expected: 0 or more, and below 1")

    def _check_heads(self) -> None:
        if self.hidden_size % self.num_heads:
            raise OptionError(
                f"came: hidden_size={self.hidden_size}, num_heads={self.num_heads}; expected: hidden_size a multiple of num_heads"
            )
        if self.num_kv_heads is not None and self.architecture not in GROUPED:
            raise OptionError(
                f"came: num_kv_heads={self.num_kv_heads} with architecture={self.architecture}; expected: it with {' or '.join(GROUPED)} only, "
                "whose heads may share keys and values; leave it out"
            )
        if self.num_kv_heads is not None and self.num_heads % self.num_kv_heads:
            raise OptionError(
                f"came: num_heads={self.num_heads}, num_kv_heads={self.num_kv_heads}; expected: num_heads a multiple of num_kv_heads"
            )
        if self.architecture in GROUPED and (self.hidden_size // self.num_heads) % 2:
            raise OptionError(
                f"came: hidden_size={self.hidden_size}, num_heads={self.num_heads} with architecture={self.architecture}; "
                "expected: an even number per head, of which rotary positions turn two at a time"
            )
        if self.architecture == "transformer" and self.hidden_size % 2:
            raise OptionError(f"came: hidden_size={self.hidden_size}; expected: an even one, for half sines and half cosines")
