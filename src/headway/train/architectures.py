"""The registry's architectures in training: the sizes in their configs, and the standard deviations of their initial weights."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import Field, dataclass
from types import ModuleType
from typing import Any, TypeAlias, cast

from headway.checkpoints.reading import read_config
from headway.errors import OptionError
from headway.models import ARCHITECTURES, architecture, protocol
from headway.train.options import TrainingOptions

Config: TypeAlias = protocol.Config
Weights: TypeAlias = protocol.Weights

ALIASES = {"transformer": "marian"}
"""The model_type of a name that is not one itself; other names are the model_type of a decoder."""
KEYS = {
    "vocab_size": ("vocab_size",),
    "context": ("max_position_embeddings", "n_positions"),
    "hidden_size": ("hidden_size", "n_embd", "d_model"),
    "num_layers": ("num_hidden_layers", "n_layer", "encoder_layers", "decoder_layers"),
    "num_heads": ("num_attention_heads", "n_head", "encoder_attention_heads", "decoder_attention_heads"),
    "num_kv_heads": ("num_key_value_heads",),
    "head_dim": ("head_dim", "query_pre_attn_scalar"),
    "intermediate_size": ("intermediate_size", "n_inner", "encoder_ffn_dim", "decoder_ffn_dim"),
}
"""The keys of config.json that each size has in the architectures."""
FIXED: dict[str, object] = {"rope_theta": 10000.0, "tie_word_embeddings": True}
"""Keys that do not depend on the options, of architectures that have them."""
FIXED_OF = {"marian": {"activation_function": "relu", "scale_embedding": True}}
"""Keys of one architecture."""
RESIDUAL = ("output.weight", "down.weight")
"""Path suffixes of the matrices whose output is added to the residual stream."""


@dataclass(frozen=True)
class Architecture:
    """An architecture of the registry that can be trained, by the name that `headway train --architecture` takes."""

    name: str

    @property
    def module(self) -> ModuleType:
        """The module of headway.models.

        Errors   OptionError for a name that is neither an alias nor the model_type of a decoder.
        """
        model_type = ALIASES.get(self.name, self.name)
        if model_type in ARCHITECTURES:
            module = architecture(model_type)
            if module.KIND == "decoder" or self.name in ALIASES:
                return cast(ModuleType, module)
        raise OptionError(
            f"got architecture={self.name!r}, expected gpt2, llama, qwen3 or the model_type of another decoder, or transformer",
            hint="docs/models.md lists the decoders",
        )

    @property
    def reads_pairs(self) -> bool:
        """True for an encoder–decoder, which is trained on pairs of texts."""
        return bool(self.module.KIND == "encoder-decoder")

    @property
    def fields(self) -> Mapping[str, Field[Any]]:
        """The fields of the module's Config."""
        fields: Mapping[str, Field[Any]] = self.module.Config.__dataclass_fields__
        return fields

    @property
    def is_grouped(self) -> bool:
        """True with grouped key and value heads, rotary positions and a gated feed-forward network."""
        return "num_key_value_heads" in self.fields

    def config(self, vocab_size: int, options: TrainingOptions) -> Config:
        """Return the module's Config.

        Errors   OptionError for a mixture of experts; CheckpointError for sizes that the architecture does not support.
        """
        module, fields, hidden = self.module, self.fields, options.hidden_size
        width = 32 * math.ceil(hidden * 8 / 3 / 32) if self.is_grouped else 4 * hidden if self.reads_pairs else None
        sizes = {
            "vocab_size": vocab_size,
            "context": options.context,
            "hidden_size": hidden,
            "num_layers": options.num_layers,
            "num_heads": options.num_heads,
            "num_kv_heads": options.num_kv_heads or options.num_heads,
            "head_dim": hidden // options.num_heads,
            "intermediate_size": options.intermediate_size or width,
        }
        model_type = ALIASES.get(self.name, self.name)
        keys = {key: sizes[size] for size, names in KEYS.items() for key in names} | FIXED | {"model_type": model_type}
        has_rope = {"rope_theta": None} if "rope_parameters" in fields else {}
        given = {key: value for key, value in keys.items() if key in {*fields, *has_rope}} | FIXED_OF.get(model_type, {})
        config: Config = read_config(cast(protocol.Architecture, module), given, ())
        if not self.reads_pairs and any(layer.feed_forward.experts for layer in module.spec(config).layers):
            raise OptionError(f"got architecture={self.name}, a mixture of experts, expected a decoder without experts")
        return config

    def deviation(self, path: str, shape: tuple[int, ...], options: TrainingOptions) -> float:
        """Return the standard deviation of an initial matrix."""
        return (glorot_deviation if self.reads_pairs else gpt2_deviation)(path, shape, options)

    def check(self, options: TrainingOptions) -> None:
        """Raise OptionError for options that the architecture does not have, and for sizes that it does not support."""
        if options.num_kv_heads is not None and not self.is_grouped:
            raise OptionError(
                f"num_kv_heads={options.num_kv_heads} and architecture={self.name} cannot be combined",
                hint="leave num_kv_heads out, or use architecture llama or qwen3",
            )
        if self.is_grouped and (options.hidden_size // options.num_heads) % 2:
            raise OptionError(
                f"got hidden_size={options.hidden_size} and num_heads={options.num_heads} with architecture={self.name}, "
                "expected an even hidden_size / num_heads, because rotary embeddings rotate pairs of coordinates"
            )
        if self.reads_pairs and options.hidden_size % 2:
            raise OptionError(f"got hidden_size={options.hidden_size} with architecture={self.name}, expected an even number")
        self.config(1, options)


def gpt2_deviation(path: str, shape: tuple[int, ...], options: TrainingOptions) -> float:
    """Standard deviation of GPT-2: 0.02, divided by √(2 · num_layers) for matrices whose output is added to the residual stream.

    Source   Radford et al. 2019, section 2.3
    """
    return 0.02 / math.sqrt(2 * options.num_layers) if path.endswith(RESIDUAL) else 0.02


def glorot_deviation(path: str, shape: tuple[int, ...], options: TrainingOptions) -> float:
    """Standard deviation of Glorot: √(2 / (in + out)); 1 / √hidden_size for the embedding, which the model multiplies by √hidden_size.

    Source   Glorot and Bengio 2010, equation 16; Vaswani et al. 2017, section 3.4
    """
    return 1 / math.sqrt(options.hidden_size) if path == "token_embedding" else math.sqrt(2 / sum(shape))
