"""Reading the keys of config.json that set and scale the rotary position embedding."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Required, TypedDict, cast

from headway import functions
from headway.arrays import Array
from headway.errors import CheckpointError, UnsupportedError
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


SMALLEST, LARGEST = 1e-9, 1e15
"""Range of the numbers, chosen so that no frequency overflows."""

_KEYS: dict[str, tuple[str, ...]] = {
    "default": (),
    "linear": ("factor",),
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
}
_NUM_REQUIRED = {"default": 0, "linear": 1, "llama3": 4, "yarn": 2}


def rope_parameters(keys: Mapping[str, object], *, default_theta: float = 10000.0) -> RopeParameters:
    """Return rope_parameters from the keys of config.json, which in older files are rope_theta and rope_scaling.

    Errors   UnsupportedError for a rope_type, or a key of it, that is not supported; CheckpointError for a missing or invalid one.
    """
    keys = not_null(keys)
    for name in sorted({"rope_parameters", "rope_scaling"} & set(keys)):
        expect_object(name, keys[name])
    given = not_null(expect_object("rope_parameters", keys.get("rope_parameters") or keys.get("rope_scaling") or {}))
    rope_type = given.pop("rope_type", given.pop("type", "default"))
    theta = given.pop("rope_theta", keys.get("rope_theta", default_theta))
    expect_one_of("rope_type", rope_type, _KEYS)
    kind = str(rope_type)
    if kind in ("llama3", "yarn"):
        given.setdefault("original_max_position_embeddings", keys.get("max_position_embeddings"))
    unknown = [repr(key)[:80] for key in given if key not in _KEYS[kind]]
    if unknown and kind != "default":
        raise UnsupportedError(f"got rope_type {kind!r} with {', '.join(unknown[:5])}, expected only {', '.join(_KEYS[kind])}")
    missing = [key for key in _KEYS[kind][: _NUM_REQUIRED[kind]] if given.get(key) is None]
    if missing:
        raise CheckpointError(f"got rope_type {kind!r} without {', '.join(missing)}, expected {', '.join(_KEYS[kind])}")
    if kind == "yarn" and given.get("truncate", True) is not True:
        raise UnsupportedError("got rope_type 'yarn' with truncate=false, expected true", hint="this variant of YaRN is not supported")
    numbers = {"rope_theta": theta, **{key: given[key] for key in _KEYS[kind] if key in given and key != "truncate"}}
    for name, value in numbers.items():
        number = expect_number(name, value, may_be_zero=name.startswith("mscale"))
        if number and not SMALLEST <= number <= LARGEST:
            raise CheckpointError(f"got config.json with {name}={number:g}, expected {SMALLEST:g} to {LARGEST:g}")
    parameters = cast(RopeParameters, {"rope_type": kind, **numbers, "rope_theta": expect_number("rope_theta", theta)})
    if kind == "llama3" and parameters["low_freq_factor"] == parameters["high_freq_factor"]:
        value = parameters["low_freq_factor"]
        raise CheckpointError(f"got config.json with low_freq_factor=high_freq_factor={value}, expected two different numbers")
    if kind == "yarn" and parameters["rope_theta"] == 1.0:
        raise CheckpointError("got rope_type 'yarn' with rope_theta=1, expected another number", hint="its logarithm is a divisor")
    return parameters


def longest_seq_len(max_position_embeddings: int, parameters: RopeParameters) -> int:
    """Return the longest sequence that the positions support.

    YaRN is often added by hand to a config.json whose max_position_embeddings is still that of the training.
    """
    if parameters["rope_type"] != "yarn":
        return max_position_embeddings
    return max(max_position_embeddings, int(parameters["factor"] * parameters["original_max_position_embeddings"]))


def rotary_tables(positions: Array, head_dim: int, parameters: RopeParameters, *, like: Array) -> tuple[Array, Array]:
    """Return the cosines and sines at these positions, with an axis for the heads: (batch_size, 1, seq_len, head_dim // 2) each."""
    theta = parameters["rope_theta"]
    frequencies = functions.rotary_frequencies(head_dim, theta=theta, like=like)
    magnitude = 1.0
    match parameters["rope_type"]:
        case "linear":
            frequencies = functions.scale_rotary_linear(frequencies, factor=parameters["factor"])
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
            )
    return functions.rotary_cos_sin(positions[:, None], frequencies, magnitude=magnitude)


def _yarn_magnitude(parameters: RopeParameters) -> float:
    if "attention_factor" in parameters:
        return parameters["attention_factor"]
    if parameters.get("mscale") and parameters.get("mscale_all_dim"):
        return functions.yarn_magnitude(parameters["factor"], mscale=parameters["mscale"]) / functions.yarn_magnitude(
            parameters["factor"], mscale=parameters["mscale_all_dim"]
        )
    return functions.yarn_magnitude(parameters["factor"])
