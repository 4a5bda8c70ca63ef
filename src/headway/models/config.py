"""Reading config.json: every key is either used, known to change nothing, or an error."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Collection, Mapping
from typing import Any, TypeVar

from headway.errors import CheckpointError, UnsupportedError

Config = TypeVar("Config")

WITHOUT_EFFECT = frozenset(
    """
    _attn_implementation_autoset _name_or_path architectures attention_dropout attn_pdrop auto_map bad_words_ids
    begin_suppress_tokens bos_token_id chunk_size_feed_forward decoder_start_token_id diversity_penalty do_sample dtype
    early_stopping embd_pdrop encoder_no_repeat_ngram_size eos_token_id exponential_decay_length_penalty finetuning_task
    forced_bos_token_id forced_eos_token_id gradient_checkpointing is_llama_config id2label initializer_range label2id length_penalty max_length
    min_length model_type no_repeat_ngram_size num_beam_groups num_beams num_return_sequences output_attentions
    output_hidden_states output_scores pad_token_id prefix pretraining_tp problem_type remove_invalid_values repetition_penalty
    resid_pdrop return_dict return_dict_in_generate sep_token_id suppress_tokens task_specific_params temperature tokenizer_class
    top_k top_p torch_dtype torchscript transformers.js_config transformers_version typical_p unsloth_fixed unsloth_version
    use_bfloat16 use_cache use_return_dict
    """.split()
)
"""Keys about the file, the training, the form of the output, or token ids that generation_config.json and the tokenizer settle."""

REFUSED_UNLESS_OFF = frozenset(
    "add_cross_attention cross_attention_hidden_size is_decoder is_encoder_decoder pruned_heads quantization_config "
    "rope_interleaved tf_legacy_loss use_mrope".split()
)
"""Keys that would change the result, and that are no error while they are null, false or empty."""


_TYPES: dict[str, tuple[type, ...]] = {"int": (int,), "float": (int, float), "bool": (bool,), "str": (str,)}


def config_from(
    kind: type[Config], keys: Mapping[str, Any], *, without_effect: Collection[str] = (), ignored: Collection[str] = ()
) -> Config:
    """Fill a config dataclass from the keys of config.json.

    kind            a dataclass whose fields are the keys that are used
    without_effect  keys that change nothing for this architecture
    ignored         keys that the caller takes the responsibility for

    A key that is null is as one that is not there.

    Errors   UnsupportedError for any other key that does not begin with an underscore; CheckpointError for a missing key
             or one of another type.
    """
    keys = not_null(keys)
    fields = {field.name: field for field in dataclasses.fields(kind)}  # type: ignore[arg-type]
    unknown = [
        key
        for key, value in keys.items()
        if not key.startswith("_")
        and key not in fields
        and key not in WITHOUT_EFFECT
        and key not in without_effect
        and key not in ignored
        and not (key in REFUSED_UNLESS_OFF and not value)
    ]
    if unknown:
        raise UnsupportedError(
            f"came: config.json with {', '.join(f'{key}={keys[key]!r}' for key in unknown)}; expected: keys that are built here; "
            "where you know that a key changes nothing, name it in ignored_config_keys (--ignore-config-key)"
        )
    required = [n for n, f in fields.items() if f.default is dataclasses.MISSING and f.default_factory is dataclasses.MISSING]
    missing = [name for name in required if name not in keys]
    if missing:
        raise CheckpointError(f"came: config.json without {', '.join(missing)}; expected: all of {', '.join(required)}")
    given = {name: value for name, value in keys.items() if name in fields}
    for name, value in given.items():
        expected = _TYPES.get(str(fields[name].type).removesuffix(" | None"))
        if expected and (not isinstance(value, expected) or (int in expected and isinstance(value, bool))):
            raise CheckpointError(f"came: config.json with {name}={value!r}; expected: {fields[name].type}")
    return kind(**given)


def not_null(keys: Mapping[str, Any]) -> dict[str, Any]:
    """The keys that say something: null stands for the default."""
    return {key: value for key, value in keys.items() if value is not None}


def expect_positive(config: Any, *names: str) -> None:
    """Raise CheckpointError unless each of these sizes is at least 1, or None where it may be."""
    for name in names:
        size = getattr(config, name)
        if size is not None and size < 1:
            raise CheckpointError(f"came: config.json with {name}={size}; expected: at least 1")


def expect_number(name: str, value: Any, *, may_be_zero: bool = False) -> None:
    """Raise CheckpointError unless the value of a key is a finite number above 0, or 0 where it may be."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not (is_number and 0 <= value < math.inf and (value > 0 or may_be_zero)):
        raise CheckpointError(f"came: config.json with {name}={value!r}; expected: a number {'of at least' if may_be_zero else 'above'} 0")


def expect_object(name: str, value: Any) -> None:
    """Raise CheckpointError unless the value of a key is a JSON object."""
    if not isinstance(value, Mapping):
        raise CheckpointError(f"came: config.json with {name}={value!r}; expected: a JSON object")


def expect_layer_types(config: Any, choices: Collection[str]) -> None:
    """Raise CheckpointError unless layer_types is None or has one of the choices for each layer."""
    kinds = config.layer_types
    if kinds is None:
        return
    if not isinstance(kinds, list) or len(kinds) != config.num_hidden_layers:
        raise CheckpointError(
            f"came: config.json with layer_types={kinds!r}; expected: a list of num_hidden_layers={config.num_hidden_layers} strings"
        )
    for kind in kinds:
        expect_one_of("layer_types", kind, choices)


def expect_multiple(config: Any, larger: str, smaller: str) -> None:
    """Raise CheckpointError unless one size divides by the other."""
    if getattr(config, larger) % getattr(config, smaller):
        raise CheckpointError(
            f"came: config.json with {larger}={getattr(config, larger)} and {smaller}={getattr(config, smaller)}; "
            f"expected: {larger} a multiple of {smaller}"
        )


def expect_one_of(name: str, value: Any, choices: Collection[Any]) -> None:
    """Raise UnsupportedError unless the value of a key is one of those built here."""
    if value not in list(choices):  # a list also compares what has no hash
        raise UnsupportedError(f"came: config.json with {name}={value!r}; expected one of {', '.join(map(repr, choices))}")
