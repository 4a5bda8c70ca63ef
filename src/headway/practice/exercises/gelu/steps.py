"""The steps of GELU."""

from __future__ import annotations

import math

import numpy

from headway.practice.recipes.activations import erf

STEPS = {
    "form": lambda: "none",
    "factor": lambda: math.sqrt(2 / math.pi),
    "coefficient": lambda: 0.044715,
    "cube": lambda x: x * x * x,
    "inner_tanh": lambda x, factor, coefficient, cube: factor * (x + coefficient * cube(x)),
    "tanh": numpy.tanh,
    "erf_factor": lambda: 1 / math.sqrt(2),
    "erf": erf,
    "one": lambda: 1.0,
    "half": lambda: 0.5,
    "apply": lambda x, gate: x * gate,
}
