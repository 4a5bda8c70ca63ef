"""The keys of config.json that say how rotary positions are stretched."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from headway import functions
from headway.arrays import Array
from headway.errors import CheckpointError, UnsupportedError

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


def rope_parameters(keys: Mapping[str, Any], *, default_theta: float = 10000.0) -> dict[str, Any]:
    """rope_theta and rope_scaling, as older files have them, or rope_parameters, as newer ones do, in the newer form.

    Errors   UnsupportedError for a rope_type or a key of it that is not built here; CheckpointError where one is missing.
    """
    given = dict(keys.get("rope_parameters") or keys.get("rope_scaling") or {})
    kind = given.pop("rope_type", None) or given.pop("type", None) or "default"
    given.pop("type", None)
    theta = given.pop("rope_theta", None) or keys.get("rope_theta") or default_theta
    if kind not in _KEYS:
        raise UnsupportedError(f"came: rope_type {kind!r}; expected one of {', '.join(map(repr, _KEYS))}")
    if kind in ("llama3", "yarn"):
        given.setdefault("original_max_position_embeddings", keys.get("max_position_embeddings"))
    unknown = [key for key, value in given.items() if key not in _KEYS[kind] and value is not None]
    if unknown and kind != "default":
        raise UnsupportedError(f"came: rope_type {kind!r} with {', '.join(unknown)}; expected: only {', '.join(_KEYS[kind])}")
    missing = [key for key in _KEYS[kind][: 4 if kind == "llama3" else 1] if given.get(key) is None]
    if missing:
        raise CheckpointError(f"came: rope_type {kind!r} without {', '.join(missing)}; expected: {', '.join(_KEYS[kind])}")
    if given.get("truncate", True) is not True:
        raise UnsupportedError("came: rope_type 'yarn' with truncate=false; expected: true")
    return {"rope_type": kind, "rope_theta": float(theta), **{key: given[key] for key in _KEYS[kind] if given.get(key) is not None}}


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
