"""Reading the keys of config.json that set and scale the rotary position embedding."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Required, TypedDict, cast

import numpy

from headway import functions
from headway.arrays import Array, asarray_like
from headway.errors import CheckpointError, UnsupportedError
from headway.json_files import short_repr
from headway.models.config import expect_number, expect_object, expect_one_of, not_null


class RopeParameters(TypedDict, total=False):
    """The value of rope_parameters in config.json, checked: only the keys that its rope_type reads."""

    rope_type: Required[str]
    rope_theta: Required[float]
    factor: float
    low_freq_factor: float
    high_freq_factor: float
    original_max_position_embeddings: int
    beta_fast: float
    beta_slow: float
    attention_factor: float
    mscale: float
    mscale_all_dim: float
    truncate: bool
    short_factor: list[float]
    long_factor: list[float]
    partial_rotary_factor: float


SMALLEST, LARGEST = 1e-9, 1e15
"""Range of the numbers, chosen so that no frequency overflows."""

_KEYS: dict[str, tuple[str, ...]] = {
    "default": (),
    "linear": ("factor",),
    "dynamic": ("factor", "original_max_position_embeddings"),
    "llama3": ("factor", "low_freq_factor", "high_freq_factor", "original_max_position_embeddings"),
    "yarn": (
        "factor",
        "original_max_position_embeddings",
        "beta_fast",
        "beta_slow",
        "attention_factor",
        "mscale",
        "mscale_all_dim",
        "truncate",
    ),
    "longrope": ("short_factor", "long_factor", "original_max_position_embeddings", "factor", "attention_factor"),
}
_NUM_REQUIRED = {"default": 0, "linear": 1, "dynamic": 2, "llama3": 4, "yarn": 2, "longrope": 4}
_OLD_NAMES = {"su": "longrope"}
LLAMA3_LENGTHS = [2**power for power in range(3, 21)]
"""Lengths of training that are tried to recognize the factors of Llama 3."""
DEPENDS_ON_LENGTH = ("dynamic", "longrope")
"""Kinds whose frequencies depend on the length of the sequence."""


def rope_parameters(keys: Mapping[str, object], *, default_theta: object = 10000.0, has_partial: bool = False) -> RopeParameters:
    """Return rope_parameters from the keys of config.json, which in older files are rope_theta and rope_scaling.

    has_partial   True for an architecture that reads partial_rotary_factor, the part of each head that is rotated

    Errors   UnsupportedError for a rope_type, or a key of it, that is not supported; CheckpointError for a missing or invalid one.
    """
    keys = not_null(keys)
    for name in sorted({"rope_parameters", "rope_scaling"} & set(keys)):
        expect_object(name, keys[name])
    given = not_null(expect_object("rope_parameters", keys.get("rope_parameters") or keys.get("rope_scaling") or {}))
    rope_type = given.pop("rope_type", given.pop("type", "default"))
    rope_type = _OLD_NAMES.get(rope_type, rope_type) if isinstance(rope_type, str) else rope_type
    expect_one_of("rope_type", rope_type, _KEYS)
    kind = str(rope_type)
    numbers = {
        "rope_theta": given.pop("rope_theta", keys.get("rope_theta", default_theta)),
        "partial_rotary_factor": given.pop("partial_rotary_factor", keys.get("partial_rotary_factor", 1.0) if has_partial else 1.0),
    }
    _add_lengths(kind, given, keys)
    unknown = [repr(key)[:80] for key in given if key not in _KEYS[kind]]
    if unknown and kind != "default":
        raise UnsupportedError(f"got rope_type {kind!r} with {', '.join(unknown[:5])}, expected only {', '.join(_KEYS[kind])}")
    missing = [key for key in _KEYS[kind][: _NUM_REQUIRED[kind]] if given.get(key) is None]
    if missing:
        raise CheckpointError(f"got rope_type {kind!r} without {', '.join(missing)}, expected {', '.join(_KEYS[kind])}")
    parameters: dict[str, object] = {"rope_type": kind}
    for name, value in (numbers | {key: given[key] for key in _KEYS[kind] if key in given}).items():
        parameters[name] = _checked(name, value)
    if not has_partial and parameters.pop("partial_rotary_factor") != 1.0:
        raise UnsupportedError("got config.json with partial_rotary_factor, expected none for this architecture")
    return _consistent(cast(RopeParameters, parameters))


def rope_by_layer_type(keys: Mapping[str, object], *, default_theta: object, default_local_theta: object) -> dict[str, RopeParameters]:
    """Return rope_parameters of layers with full_attention and with sliding_attention.

    In older files, rope_theta and rope_scaling are those of full attention, and rope_local_base_freq is the other theta.

    Errors   as rope_parameters.
    """
    keys = not_null(keys)
    given = not_null(expect_object("rope_parameters", keys.get("rope_parameters", {})))
    shared = {name: value for name, value in keys.items() if name not in ("rope_parameters", "rope_scaling", "rope_theta")}
    full: dict[str, object] = {name: keys[name] for name in ("rope_scaling", "rope_theta") if name in keys}
    local: dict[str, object] = {"rope_theta": keys["rope_local_base_freq"]} if "rope_local_base_freq" in keys else {}
    by_type = {
        "full_attention": (full, default_theta),
        "sliding_attention": (local, default_local_theta),
    }
    unknown = sorted(set(given) - set(by_type))
    if unknown:
        raise UnsupportedError(f"got rope_parameters with {short_repr(unknown[0])}, expected {', '.join(by_type)}")
    return {
        layer_type: rope_parameters(
            {**shared, **old, **({"rope_parameters": given[layer_type]} if layer_type in given else {})}, default_theta=theta
        )
        for layer_type, (old, theta) in by_type.items()
    }


def rope_of_factors(factors: list[float], *, theta: float, max_seq_len: int) -> RopeParameters:
    """Return the parameters of frequencies that are divided by factors: those of Llama 3 if they give these factors."""
    frequencies = functions.rotary_frequencies(2 * len(factors), theta=theta, like=numpy.zeros(0, numpy.float32))
    given = {"factor": max(factors), "low_freq_factor": 1.0, "high_freq_factor": 4.0}
    for length in LLAMA3_LENGTHS:
        scaled = functions.scale_rotary_llama3(frequencies, original_max_seq_len=length, **given)
        if numpy.allclose(frequencies / scaled, factors, rtol=1e-4):
            return cast(RopeParameters, {"rope_type": "llama3", "rope_theta": theta, "original_max_position_embeddings": length, **given})
    return {
        "rope_type": "longrope",
        "rope_theta": theta,
        "short_factor": factors,
        "long_factor": factors,
        "original_max_position_embeddings": max_seq_len,
        "factor": 1.0,
        "attention_factor": 1.0,
    }


def _add_lengths(kind: str, given: dict[str, object], keys: Mapping[str, object]) -> None:
    """Add the lengths that a kind of scaling takes from other keys of config.json."""
    longest = keys.get("max_position_embeddings")
    if kind == "dynamic":
        given["original_max_position_embeddings"] = longest
    if kind in ("llama3", "yarn", "longrope"):
        name = "original_max_position_embeddings"
        candidates = (keys.get(name), given.get(name), longest)  # in this order, as in transformers
        given[name] = original = next((length for length in candidates if length is not None), None)
        if kind == "longrope" and isinstance(longest, int) and isinstance(original, int) and original > 0:
            given.setdefault("factor", longest / original)


def _checked(name: str, value: object) -> object:
    """Return the value of a key; raise CheckpointError if it cannot have that value."""
    if name == "truncate":
        if not isinstance(value, bool):
            raise CheckpointError(f"got config.json with truncate={short_repr(value)}, expected true or false")
        return value
    if name in ("short_factor", "long_factor"):
        if not isinstance(value, list) or not value:
            raise CheckpointError(f"got config.json with {name}={short_repr(value)}, expected a list of numbers")
        return [_checked_number(name, each) for each in value]
    return _checked_number(name, value)


def _checked_number(name: str, value: object) -> float:
    number = expect_number(name, value, may_be_zero=name.startswith("mscale"))
    if number and not SMALLEST <= number <= LARGEST:
        raise CheckpointError(f"got config.json with {name}={number:g}, expected {SMALLEST:g} to {LARGEST:g}")
    return cast(float, value) if name != "rope_theta" else number


def _consistent(parameters: RopeParameters) -> RopeParameters:
    """Return the parameters; raise CheckpointError for values that do not fit together."""
    kind = parameters["rope_type"]
    if kind == "llama3" and parameters["low_freq_factor"] == parameters["high_freq_factor"]:
        value = parameters["low_freq_factor"]
        raise CheckpointError(f"got config.json with low_freq_factor=high_freq_factor={value}, expected two different numbers")
    if kind == "yarn" and parameters["rope_theta"] == 1.0:
        raise CheckpointError("got rope_type 'yarn' with rope_theta=1, expected another number", hint="its logarithm is a divisor")
    original = parameters.get("original_max_position_embeddings", 0)
    if kind == "longrope" and parameters["factor"] > 1 and original <= 1 and not parameters.get("attention_factor"):
        raise CheckpointError(
            f"got rope_type 'longrope' with original_max_position_embeddings={original}, expected more than 1",
            hint="its logarithm is a divisor",
        )
    if kind == "longrope" and len(parameters["short_factor"]) != len(parameters["long_factor"]):
        raise CheckpointError(
            "got rope_type 'longrope' with lists of different lengths, expected short_factor and long_factor of one length"
        )
    if parameters.get("partial_rotary_factor", 1.0) > 1:
        raise CheckpointError(f"got config.json with partial_rotary_factor={parameters['partial_rotary_factor']}, expected at most 1")
    return parameters


def longest_seq_len(max_position_embeddings: int, parameters: RopeParameters) -> int:
    """Return the longest sequence that the positions support.

    YaRN is often added by hand to a config.json whose max_position_embeddings is still that of the training, and dynamic scaling
    always means the length of the training.
    """
    if parameters["rope_type"] not in ("yarn", "dynamic"):
        return max_position_embeddings
    return max(max_position_embeddings, int(parameters["factor"] * parameters["original_max_position_embeddings"]))


def rotary_dim(head_dim: int, parameters: RopeParameters) -> int:
    """Return the number of coordinates of a head that are rotated.

    Errors   CheckpointError for an odd number: two coordinates are rotated together.
    """
    part = parameters.get("partial_rotary_factor", 1.0)
    if (dim := int(head_dim * part)) % 2:
        raise CheckpointError(f"got config.json with head_dim={head_dim} and partial_rotary_factor={part}, expected an even product")
    return dim


def rotary_tables(positions: Array, dim: int, parameters: RopeParameters, *, like: Array) -> tuple[Array, Array]:
    """Return the cosines and sines at these positions, with an axis for the heads: (batch_size, 1, seq_len, dim // 2) each.

    Dynamic scaling and LongRoPE depend on the last of the positions, as in transformers: keys that are cached keep their angles.
    """
    theta, magnitude = parameters["rope_theta"], 1.0
    frequencies = functions.rotary_frequencies(dim, theta=theta, like=like)
    seq_lens = positions[:, None, -1:] + 1
    match parameters["rope_type"]:
        case "linear":
            frequencies = functions.scale_rotary_linear(frequencies, factor=parameters["factor"])
        case "dynamic":
            original = parameters["original_max_position_embeddings"]
            frequencies = functions.scale_rotary_dynamic(frequencies, seq_lens, factor=parameters["factor"], original_max_seq_len=original)
        case "llama3":
            frequencies = functions.scale_rotary_llama3(
                frequencies,
                factor=parameters["factor"],
                low_freq_factor=parameters["low_freq_factor"],
                high_freq_factor=parameters["high_freq_factor"],
                original_max_seq_len=parameters["original_max_position_embeddings"],
            )
        case "yarn":
            magnitude = _yarn_magnitude(parameters)
            frequencies = functions.scale_rotary_yarn(
                frequencies,
                factor=parameters["factor"],
                original_max_seq_len=parameters["original_max_position_embeddings"],
                theta=theta,
                beta_fast=parameters.get("beta_fast", 32.0),
                beta_slow=parameters.get("beta_slow", 1.0),
                has_whole_bounds=parameters.get("truncate", True),
            )
        case "longrope":
            original = parameters["original_max_position_embeddings"]
            magnitude = parameters.get("attention_factor") or functions.longrope_magnitude(parameters["factor"], original)
            short, long = (_float32(parameters[name], like) for name in ("short_factor", "long_factor"))
            frequencies = functions.scale_rotary_longrope(frequencies, short, long, seq_lens, original_max_seq_len=original)
    return functions.rotary_cos_sin(positions[:, None], frequencies, magnitude=magnitude)


def _float32(values: list[float], like: Array) -> Array:
    return asarray_like(numpy.array(values, numpy.float32), like)


def _yarn_magnitude(parameters: RopeParameters) -> float:
    if "attention_factor" in parameters:
        return parameters["attention_factor"]
    if parameters.get("mscale") and parameters.get("mscale_all_dim"):
        return functions.yarn_magnitude(parameters["factor"], mscale=parameters["mscale"]) / functions.yarn_magnitude(
            parameters["factor"], mscale=parameters["mscale_all_dim"]
        )
    return functions.yarn_magnitude(parameters["factor"])
