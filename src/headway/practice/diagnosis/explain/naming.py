"""Formulas that a measured number may equal."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

CONSTANTS = {
    "1": 1.0,
    "2": 2.0,
    "½": 0.5,
    "-1": -1.0,
    "ln 2": math.log(2),
    "1/ln 2": 1 / math.log(2),
    "ln 10": math.log(10),
    "e": math.e,
    "0": 0.0,
}


TOLERANCE = 1e-3
"""Relative difference of numbers that count as equal."""


def names_of(measured: Sequence[tuple[Mapping[str, float], float]]) -> list[str]:
    """Return every formula that fits a number measured under several sizes, simplest first.

    measured   (sizes by name, number) per measurement, such as ({"head_dim": 4}, 0.5)

    A formula must fit all measurements: 0.25 for head_dim=16 alone could be 1/√16 or 4/16.

    >>> names_of([({"head_dim": 4.0, "num_heads": 3.0}, 0.5), ({"head_dim": 9.0, "num_heads": 3.0}, 1 / 3)])[0]
    '1/√head_dim'
    """
    found = []
    for name, value in candidates(measured[0][0]).items():
        values = [candidates(sizes).get(name, math.nan) for sizes, _ in measured]
        if math.isclose(value, values[0]) and all(
            abs(candidate - number) <= TOLERANCE * max(abs(number), 1e-12) for candidate, (_, number) in zip(values, measured, strict=True)
        ):
            found.append(name)
    return found


def candidates(sizes: Mapping[str, float]) -> dict[str, float]:
    """Return the values of all known formulas in these sizes, by formula."""
    candidates = dict(CONSTANTS)
    for name, size in sizes.items():
        candidates |= {name: size}
        if size > 0:
            candidates |= {
                f"1/√{name}": size**-0.5,
                f"√{name}": size**0.5,
                f"1/{name}": 1 / size,
                f"2/{name}": 2 / size,
                f"{name}/2": size / 2,
                f"{name}²": size**2,
                f"1/{name}²": size**-2,
                f"{name}^¼": size**0.25,
                f"1/{name}^¼": size**-0.25,
                f"-1/√{name}": -(size**-0.5),
                f"ln 2/√{name}": math.log(2) / size**0.5,
            }
    return candidates
