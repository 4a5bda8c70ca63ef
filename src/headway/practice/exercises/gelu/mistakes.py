"""Common mistakes in GELU."""

from __future__ import annotations

import math
from typing import Any

import numpy

from headway.practice.recipes.activation_mistakes import instead, not_bent, relu_instead, softplus_instead
from headway.practice.recipes.activations import erf, quick_gelu, sigmoid, silu
from headway.practice.texts import Texts

TEXTS = Texts("gelu")

USE = TEXTS["use"]


def _density(x: Any) -> Any:
    return numpy.exp(-x * x / 2) / math.sqrt(2 * math.pi)


def _cumulative(x: Any) -> Any:
    return 0.5 * (1 + erf(x / math.sqrt(2)))


MISTAKES = (
    TEXTS.mistake("half_missing", {"half": lambda: 1.0}),
    TEXTS.mistake("one_missing", {"one": lambda: 0.0}),
    TEXTS.mistake("one_minus", {"apply": lambda x, gate: x * (1 - gate)}),
    TEXTS.mistake("gate_returned", {"apply": lambda x, gate: gate}),
    TEXTS.mistake("erf_without_root", {"erf_factor": lambda: 1.0}),
    TEXTS.mistake("square_for_cube", {"cube": lambda x: x * x}),
    TEXTS.mistake("two_over_pi_without_root", {"factor": lambda: 2 / math.pi}),
    TEXTS.mistake("factor_on_x_alone", {"inner_tanh": lambda x, factor, coefficient, cube: factor * x + coefficient * cube(x)}),
    TEXTS.mistake("cube_of_everything", {"inner_tanh": lambda x, factor, coefficient, cube: factor * cube(x + coefficient * x)}),
    TEXTS.mistake("cubic_term_missing", {"coefficient": lambda: 0.0}),
    TEXTS.mistake("cubic_term_subtracted", {"coefficient": lambda: -0.044715}),
    TEXTS.mistake("erf_of_the_tanh_form", {"tanh": erf, "form": lambda: "tanh"}),
    TEXTS.mistake("tanh_of_the_exact_form", {"erf": numpy.tanh}),
    TEXTS.mistake("sigmoid_for_tanh", {"tanh": sigmoid, "form": lambda: "tanh"}),
    TEXTS.mistake("sigmoid_form", instead(quick_gelu)),
    TEXTS.mistake("density_for_cumulative", instead(lambda x: x * _density(x))),
    relu_instead(USE),
    TEXTS.mistake("silu", instead(silu)),
    softplus_instead(USE),
    TEXTS.mistake("derivative_returned", instead(lambda x: _cumulative(x) + x * _density(x))),
    not_bent(USE),
)
