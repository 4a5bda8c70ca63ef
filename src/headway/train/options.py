"""Options of a training run."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

from headway.errors import OptionError

CHANGEABLE = frozenset(
    """
    num_steps learning_rate min_learning_rate warmup_steps weight_decay beta1 beta2 max_gradient_norm dropout dtype weights_dtype
    device is_sharded eval_every save_every_seconds
    """.split()
)
"""Options that may change when a run is resumed; the others determine the model and its batches."""


@dataclass(frozen=True)
class TrainingOptions:
    """Model size and training options.

    architecture        model_type of a decoder, such as gpt2, llama or qwen3, or transformer, the encoder–decoder for pairs of texts
    context             sequence length in tokens; for transformer the maximum length of a source and of a target
    num_layers          layers of the decoder, and of the encoder if there is one
    num_kv_heads        key and value heads, of architectures such as llama and qwen3; num_heads by default
    intermediate_size   width of the feed-forward; 4 · hidden_size by default, 8/3 · hidden_size rounded up to a multiple of 32 for
                        gated ones, such as those of llama and qwen3
    init_from           folder of a model to start from, with its tokenizer; random weights by default
    dropout             dropout probability of attention weights, of the outputs of attention and feed-forward, and of embeddings
    batch_size          sequences per step, over all processes
    num_steps           total number of optimizer steps
    learning_rate       maximum learning rate, reached after warmup_steps and then decayed to min_learning_rate along a cosine
    weight_decay        weight decay of AdamW, applied to matrices only
    max_gradient_norm   gradients with a larger norm are scaled down to it
    dtype               dtype of matrix products: float32, bfloat16, or auto for the faster one on this machine
    weights_dtype       dtype of the saved model: float32, float16 or bfloat16
    is_sharded          True to shard the weights and the optimizer state over the processes
    eval_every          steps between two validations
    save_every_seconds  seconds between two writes of the state that --resume starts from

    Errors   OptionError for a value of a wrong type or out of range, or an option that the architecture does not have.
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
        self._check_types()
        self._check_choices()
        self._check_ranges()
        self._check_heads()

    def to_dict(self) -> dict[str, str | int | float | bool | None]:
        """Return the options as JSON values."""
        return dataclasses.asdict(self)

    def _check_types(self) -> None:
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            if value is None and field.default is None:
                continue
            expected = type(field.default) if field.default is not None else {"int | None": int, "str | None": str}[str(field.type)]
            is_integer_for_float = expected is float and type(value) is int
            if type(value) is not expected and not is_integer_for_float:
                raise OptionError(f"got {field.name}={value!r}, expected a value of type {expected.__name__}")

    def _check_choices(self) -> None:
        for name, choices in (
            ("dtype", ("auto", "float32", "bfloat16")),
            ("weights_dtype", ("float32", "float16", "bfloat16")),
        ):
            if getattr(self, name) not in choices:
                *others, last = choices
                raise OptionError(f"got {name}={getattr(self, name)!r}, expected {', '.join(others)} or {last}")

    def _check_ranges(self) -> None:
        for name in ("context", "num_layers", "num_heads", "hidden_size", "batch_size", "num_steps", "eval_every", "num_kv_heads"):
            if (value := getattr(self, name)) is not None and value < 1:
                raise OptionError(f"got {name}={value}, expected at least 1")
        if self.intermediate_size is not None and self.intermediate_size < 1:
            raise OptionError(f"got intermediate_size={self.intermediate_size}, expected at least 1")
        for name in ("learning_rate", "max_gradient_norm"):
            if not 0 < getattr(self, name) < float("inf"):
                raise OptionError(f"got {name}={getattr(self, name)}, expected above 0")
        for name in ("min_learning_rate", "warmup_steps", "weight_decay", "save_every_seconds", "seed"):
            if not 0 <= getattr(self, name) < float("inf"):
                raise OptionError(f"got {name}={getattr(self, name)}, expected at least 0")
        for name in ("dropout", "beta1", "beta2"):
            if not 0 <= getattr(self, name) < 1:
                raise OptionError(f"got {name}={getattr(self, name)}, expected at least 0 and below 1")

    def _check_heads(self) -> None:
        if self.hidden_size % self.num_heads:
            raise OptionError(
                f"got hidden_size={self.hidden_size} and num_heads={self.num_heads}, expected hidden_size to be a multiple of num_heads"
            )
        if self.num_kv_heads is not None and self.num_heads % self.num_kv_heads:
            raise OptionError(
                f"got num_heads={self.num_heads} and num_kv_heads={self.num_kv_heads}, expected num_heads to be a multiple of num_kv_heads"
            )
        if self.architecture != type(self).architecture or self.num_kv_heads is not None:
            # Imported here because the command line makes the default options, and the architectures take time to import.
            from headway.train.architectures import Architecture

            Architecture(self.architecture).check(self)
