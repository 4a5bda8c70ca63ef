"""The keys of config.json that say how rotary positions are stretched."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from headway import functions
from headway.arrays import Array
from headway.errors import CheckpointError, UnsupportedError
from headway.models.config import expect_number, expect_object, expect_one_of, not_null

_KEYS = {
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


def rope_parameters(keys: Mapping[str, Any], *, default_theta: float = 10000.0) -> dict[str, Any]:
    """rope_theta and rope_scaling, as older files have them, or rope_parameters, as newer ones do, in the newer form.

    Errors   UnsupportedError for a rope_type or a key of it that is not built here; CheckpointError where one is missing or has a
             value that it cannot have.
    """
    keys = not_null(keys)
    for name in {"rope_parameters", "rope_scaling"} & set(keys):
        expect_object(name, keys[name])
    given = not_null(keys.get("rope_parameters") or keys.get("rope_scaling") or {})
    kind = given.pop("rope_type", given.pop("type", "default"))
    theta = given.pop("rope_theta", keys.get("rope_theta", default_theta))
    expect_one_of("rope_type", kind, _KEYS)
    if kind in ("llama3", "yarn"):
        given.setdefault("original_max_position_embeddings", keys.get("max_position_embeddings"))
    unknown = [key for key in given if key not in _KEYS[kind]]
    if unknown and kind != "default":
        raise UnsupportedError(f"came: rope_type {kind!r} with {', '.join(unknown)}; expected: only {', '.join(_KEYS[kind])}")
    missing = [key for key in _KEYS[kind][: _NUM_REQUIRED[kind]] if given.get(key) is None]
    if missing:
        raise CheckpointError(f"came: rope_type {kind!r} without {', '.join(missing)}; expected: {', '.join(_KEYS[kind])}")
    if given.get("truncate", True) is not True:
        raise UnsupportedError("came: rope_type 'yarn' with truncate=false; expected: true")
    numbers = {"rope_theta": theta, **{key: given[key] for key in _KEYS[kind] if key in given and key != "truncate"}}
    for name, value in numbers.items():
        expect_number(name, value, may_be_zero=name.startswith("mscale"))
    if kind == "llama3" and given["low_freq_factor"] == given["high_freq_factor"]:
        raise CheckpointError(
            f"came: config.json with low_freq_factor=high_freq_factor={given['low_freq_factor']}; expected: two different numbers"
        )
    return {"rope_type": kind, **numbers, "rope_theta": float(theta)}


def longest_seq_len(max_position_embeddings: int, parameters: Mapping[str, Any]) -> int:
    """The longest sequence that the positions are made for.

    YaRN is often added by hand to a config.json whose max_position_embeddings stays that of the training.
    """
    if parameters["rope_type"] != "yarn":
        return max_position_embeddings
    return max(max_position_embeddings, int(parameters["factor"] * parameters["original_max_position_embeddings"]))


def rotary_tables(positions: Array, head_dim: int, parameters: Mapping[str, Any], *, like: Array) -> tuple[Array, Array]:
    """The cosines and sines at these positions, with an axis for the heads: (batch_size, 1, seq_len, head_dim // 2) each."""
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


def _yarn_magnitude(parameters: Mapping[str, Any]) -> float:
    if "attention_factor" in parameters:
        return parameters["attention_factor"]
    if parameters.get("mscale") and parameters.get("mscale_all_dim"):
        return functions.yarn_magnitude(parameters["factor"], mscale=parameters["mscale"]) / functions.yarn_magnitude(
            parameters["factor"], mscale=parameters["mscale_all_dim"]
        )
    return functions.yarn_magnitude(parameters["factor"])
