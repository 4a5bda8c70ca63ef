"""What a training run is told."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

from headway.errors import OptionError


@dataclass(frozen=True)
class TrainingOptions:
    """The shape of the model, and how it is trained.

    context             tokens per sequence
    batch_size          sequences per step
    num_steps           optimizer steps in all
    learning_rate       the highest, reached after warmup_steps, falling along a cosine to min_learning_rate
    weight_decay        AdamW's, on matrices only
    max_gradient_norm   longer gradients are shortened to this
    dtype               of the products: float32, bfloat16, or auto for whichever multiplies faster on this machine
    weights_dtype       of the model that is written at the end: float32, float16 or bfloat16
    eval_every          steps between two validation losses
    save_every_seconds  between two writings of the state that --resume starts from
    """

    context: int = 256
    num_layers: int = 4
    num_heads: int = 4
    hidden_size: int = 256
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
    seed: int = 0
    eval_every: int = 250
    save_every_seconds: float = 60.0

    def __post_init__(self) -> None:
        for name in ("context", "num_layers", "num_heads", "hidden_size", "batch_size", "num_steps", "eval_every"):
            if getattr(self, name) < 1:
                raise OptionError(f"came: {name}={getattr(self, name)}; expected: at least 1")
        if self.hidden_size % self.num_heads:
            raise OptionError(
                f"came: hidden_size={self.hidden_size}, num_heads={self.num_heads}; expected: hidden_size a multiple of num_heads"
            )
        if not 0 < self.learning_rate < float("inf"):
            raise OptionError(f"came: learning_rate={self.learning_rate}; expected: above 0")
        if self.dtype not in ("auto", "float32", "bfloat16"):
            raise OptionError(f"came: dtype={self.dtype!r}; expected: auto, float32 or bfloat16")
        if self.weights_dtype not in ("float32", "float16", "bfloat16"):
            raise OptionError(f"came: weights_dtype={self.weights_dtype!r}; expected: float32, float16 or bfloat16")

    def to_dict(self) -> dict[str, int | float | str]:
        """The options as plain values."""
        return dataclasses.asdict(self)
