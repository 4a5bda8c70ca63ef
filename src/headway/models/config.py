"""Reading config.json: every key is either used, known not to affect the result, or an error."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, TypeVar

from headway.errors import CheckpointError, UnsupportedError
from headway.json_files import short_repr

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

Config = TypeVar("Config", bound="DataclassInstance")

WITHOUT_EFFECT = frozenset(
    """
    _attn_implementation_autoset _name_or_path architectures attention_dropout attn_pdrop auto_map bad_words_ids
    begin_suppress_tokens bos_token_id chunk_size_feed_forward decoder_start_token_id diversity_penalty do_sample dtype
    early_stopping embd_pdrop encoder_no_repeat_ngram_size eos_token_id exponential_decay_length_penalty finetuning_task
    forced_bos_token_id forced_eos_token_id gradient_checkpointing is_llama_config id2label initializer_range label2id length_penalty max_length
    min_length model_type no_repeat_ngram_size num_beam_groups num_beams num_return_sequences output_attentions
    output_hidden_states output_scores pad_token_id prefix pretraining_tp problem_type remove_invalid_values repetition_penalty
    resid_pdrop return_dict return_dict_in_generate sbert_ce_default_activation_function sentence_transformers sep_token_id suppress_tokens task_specific_params temperature tokenizer_class
    top_k top_p torch_dtype torchscript transformers.js_config transformers_version typical_p unsloth_fixed unsloth_version
    use_bfloat16 use_cache use_return_dict
    """.split()
)
"""Keys about the file, training and output format, and token ids and generation options, which other modules read."""

REFUSED_UNLESS_OFF = frozenset(
    "add_cross_attention cross_attention_hidden_size is_decoder is_encoder_decoder pruned_heads quantization_config "
    "rope_interleaved tf_legacy_loss use_bidirectional_attention use_mrope".split()
)
"""Keys that would change the result; they are accepted if they are null, false or empty."""

MAX_LAYERS = 10_000
"""Largest accepted number of layers. It limits the time and memory that a wrong config.json can take."""

_TYPES: dict[str, tuple[type, ...]] = {"int": (int,), "float": (int, float), "bool": (bool,), "str": (str,)}


def config_from(
    kind: type[Config], keys: Mapping[str, object], *, without_effect: Collection[str] = (), ignored: Collection[str] = ()
) -> Config:
    """Build a config dataclass from the keys of config.json.

    kind            a dataclass whose fields are the keys that are used
    without_effect  keys that do not affect the result for this architecture
    ignored         keys that the caller declares to have no effect

    A key that is null is treated as absent, unless None is a value of its field.

    Errors   UnsupportedError for any other key that does not begin with an underscore; CheckpointError for a missing key
             or one of another type.
    """
    fields = {field.name: field for field in dataclasses.fields(kind)}
    nulls = {name: None for name, value in keys.items() if value is None and name in fields and str(fields[name].type).endswith("| None")}
    keys = not_null(keys)
    accepted = {*fields, *WITHOUT_EFFECT, *without_effect, *ignored}
    unknown = [
        key
        for key, value in keys.items()
        if not key.startswith("_") and key not in accepted and not (key in REFUSED_UNLESS_OFF and not value)
    ]
    if unknown:
        named = ", ".join(f"{_key_name(key)}={short_repr(keys[key])}" for key in unknown[:5])
        raise UnsupportedError(
            f"got config.json with {named}{', …' if len(unknown) > 5 else ''}, expected only supported keys",
            hint="if you know that a key does not affect the result, name it in ignored_config_keys (--ignore-config-key)",
        )
    required = [n for n, f in fields.items() if f.default is dataclasses.MISSING and f.default_factory is dataclasses.MISSING]
    missing = [name for name in required if name not in keys]
    if missing:
        raise CheckpointError(f"got config.json without {', '.join(missing)}, expected all of {', '.join(required)}")
    given = {name: value for name, value in keys.items() if name in fields}
    for name, value in given.items():
        expected = _TYPES.get(str(fields[name].type).removesuffix(" | None"))
        if expected and (not isinstance(value, expected) or (int in expected and isinstance(value, bool))):
            raise CheckpointError(f"got config.json with {name}={short_repr(value)}, expected {fields[name].type}")
    return kind(**nulls, **given)


def not_null(keys: Mapping[str, object]) -> dict[str, object]:
    """Return the keys whose value is not null; null means the default."""
    return {key: value for key, value in keys.items() if value is not None}


def expect_positive(config: object, *names: str) -> None:
    """Raise CheckpointError unless each of these sizes is at least 1, or None where that is allowed."""
    for name in names:
        size = getattr(config, name)
        if size is not None and size < 1:
            raise CheckpointError(f"got config.json with {name}={size}, expected at least 1")


def expect_num_layers(config: object, *names: str) -> None:
    """Raise CheckpointError unless each of these numbers of layers is from 1 to MAX_LAYERS."""
    expect_positive(config, *names)
    for name in names:
        count = getattr(config, name)
        if count > MAX_LAYERS:
            raise CheckpointError(f"got config.json with {name}={count}, expected at most {MAX_LAYERS}", hint="download config.json again")


def expect_number(name: str, value: object, *, may_be_zero: bool = False) -> float:
    """Return the value as a float; raise CheckpointError unless it is a finite number above 0, or 0 where that is allowed."""
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < math.inf and (value > 0 or may_be_zero):
        try:
            return float(value)
        except OverflowError:  # an integer above 1.8e308
            pass
    raise CheckpointError(
        f"got config.json with {name}={short_repr(value)}, expected a finite number {'of at least' if may_be_zero else 'above'} 0"
    )


def expect_object(name: str, value: object) -> dict[str, object]:
    """Return the value of a key; raise CheckpointError unless it is a JSON object."""
    if not isinstance(value, dict):
        raise CheckpointError(f"got config.json with {name}={short_repr(value)}, expected a JSON object")
    return value


def expect_layer_types(layer_types: object, num_layers: int, choices: Collection[str]) -> None:
    """Raise CheckpointError unless layer_types is None or a list with one of the choices for each layer."""
    if layer_types is None:
        return
    if not isinstance(layer_types, list) or len(layer_types) != num_layers:
        raise CheckpointError(
            f"got config.json with layer_types={short_repr(layer_types)}, expected a list of num_hidden_layers={num_layers} strings"
        )
    for layer_type in layer_types:
        expect_one_of("layer_types", layer_type, choices)


def expect_multiple(config: object, larger: str, smaller: str) -> None:
    """Raise CheckpointError unless one size is a multiple of the other."""
    dividend, divisor = getattr(config, larger), getattr(config, smaller)
    if dividend % divisor:
        raise CheckpointError(
            f"got config.json with {larger}={dividend} and {smaller}={divisor}, expected {larger} to be a multiple of {smaller}"
        )


def expect_one_of(name: str, value: object, choices: Collection[str]) -> None:
    """Raise UnsupportedError unless the value of a key is one of the supported choices."""
    if value not in list(choices):  # a list also compares values that cannot be hashed
        raise UnsupportedError(f"got config.json with {name}={short_repr(value)}, expected one of {', '.join(map(repr, choices))}")


def _key_name(key: str) -> str:
    return key if key.isidentifier() and len(key) <= 80 else short_repr(key)
