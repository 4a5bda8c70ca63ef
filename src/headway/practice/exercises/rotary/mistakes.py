"""Common mistakes in rotary positions."""

from __future__ import annotations

import numpy

from headway.practice.exercises.rotary.steps import along_first_axis, counted, even_and_odd, exponents, halves, interleave, powers
from headway.practice.texts import Texts

TEXTS = Texts("rotary")

EXPONENT = r"\*\*|pow|exp|arange"
TURN = r"cat|stack|cos.*sin|sin.*cos|-"

MISTAKES = (
    TEXTS.mistake("exponent_not_doubled", {"frequencies": powers(lambda width: numpy.arange(width // 2) / width)}),
    TEXTS.mistake("exponent_doubled_twice", {"frequencies": powers(lambda width: 2 * exponents(width))}),
    TEXTS.mistake("exponent_counts_from_one", {"frequencies": powers(lambda width: exponents(width) + 2 / width)}),
    TEXTS.mistake("last_exponent_is_one", {"frequencies": powers(lambda width: numpy.arange(width // 2) / max(width // 2 - 1, 1))}),
    TEXTS.mistake("exponent_is_zero", {"frequencies": powers(lambda width: 0 * exponents(width))}),
    TEXTS.mistake("multiplied_by_power", {"frequencies": powers(lambda width: -exponents(width))}),
    TEXTS.mistake("theta_ignored", {"frequencies": lambda width, theta: 10000.0 ** -exponents(width)}),
    TEXTS.mistake("offset_ignored", {"positions": lambda x, positions, offset: counted(x, positions, 0)}),
    TEXTS.mistake("positions_ignored", {"positions": lambda x, positions, offset: counted(x, None, offset)}),
    TEXTS.mistake("position_along_first_axis", {"positions": along_first_axis}),
    TEXTS.mistake("positions_all_zero", {"positions": lambda x, positions, offset: 0 * counted(x, positions, offset)}),
    TEXTS.mistake("frequencies_by_turns", {"widen": lambda numbers: halves(numpy.repeat(numbers, 2, axis=-1))}),
    TEXTS.mistake("frequencies_in_halves", {"widen": lambda numbers: even_and_odd(numpy.concatenate([numbers, numbers], axis=-1))}),
    TEXTS.mistake("by_turns_in_halves_out", {"split": even_and_odd}),
    TEXTS.mistake("halves_in_by_turns_out", {"join": interleave}),
    TEXTS.mistake("turned_backwards", {"turn": lambda a, b, cos_a, cos_b, sin_a, sin_b: (a * cos_a + b * sin_a, b * cos_b - a * sin_b)}),
    TEXTS.mistake("minus_missing", {"turn": lambda a, b, cos_a, cos_b, sin_a, sin_b: (a * cos_a + b * sin_a, b * cos_b + a * sin_b)}),
    TEXTS.mistake("two_minuses", {"turn": lambda a, b, cos_a, cos_b, sin_a, sin_b: (a * cos_a - b * sin_a, b * cos_b - a * sin_b)}),
    TEXTS.mistake(
        "sine_and_cosine_exchanged", {"turn": lambda a, b, cos_a, cos_b, sin_a, sin_b: (a * sin_a - b * cos_a, b * sin_b + a * cos_b)}
    ),
    TEXTS.mistake("half_not_exchanged", {"turn": lambda a, b, cos_a, cos_b, sin_a, sin_b: (a * cos_a - a * sin_a, b * cos_b + b * sin_b)}),
    TEXTS.mistake("not_exchanged", {"turn": lambda a, b, cos_a, cos_b, sin_a, sin_b: (a * cos_a + a * sin_a, b * cos_b + b * sin_b)}),
    TEXTS.mistake(
        "first_is_overwritten",
        {"turn": lambda a, b, cos_a, cos_b, sin_a, sin_b: (a * cos_a - b * sin_a, b * cos_b + (a * cos_a - b * sin_a) * sin_b)},
    ),
    TEXTS.mistake("only_cosine", {"turn": lambda a, b, cos_a, cos_b, sin_a, sin_b: (a * cos_a, b * cos_b)}),
    TEXTS.mistake("second_half_not_turned", {"turn": lambda a, b, cos_a, cos_b, sin_a, sin_b: (a * cos_a - b * sin_a, b)}),
    TEXTS.mistake("sine_and_cosine_added", {"turn": lambda a, b, cos_a, cos_b, sin_a, sin_b: (a + sin_a, b + cos_b)}),
    TEXTS.mistake("cosine_and_sine_added", {"turn": lambda a, b, cos_a, cos_b, sin_a, sin_b: (a + cos_a, b + sin_b)}),
    TEXTS.mistake("key_not_turned", {"both": lambda rotated, query, key: (rotated(query), key)}),
    TEXTS.mistake("query_not_turned", {"both": lambda rotated, query, key: (query, rotated(key))}),
    TEXTS.mistake("key_from_query", {"both": lambda rotated, query, key: (rotated(query), rotated(query))}),
    TEXTS.mistake("query_and_key_exchanged", {"both": lambda rotated, query, key: (rotated(key), rotated(query))}),
)
