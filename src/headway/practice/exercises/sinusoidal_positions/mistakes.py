"""Common mistakes in sinusoidal positions."""

from __future__ import annotations

import math

import numpy

from headway.practice.exercises.sinusoidal_positions.steps import alternate, columns, halves, pairs
from headway.practice.texts import Texts

TEXTS = Texts("sinusoidal_positions")

EXPONENT = r"\*\*|pow|exp|/"

MISTAKES = (
    TEXTS.mistake("sines_then_cosines", {"arrange": lambda table, interleaved: halves(table)}),
    TEXTS.mistake("cosine_first", {"waves": lambda angles: alternate(numpy.cos(angles), numpy.sin(angles))}),
    TEXTS.mistake("sine_everywhere", {"waves": numpy.sin}),
    TEXTS.mistake("cosine_everywhere", {"waves": numpy.cos}),
    TEXTS.mistake(
        "turns_by_position",
        {"waves": lambda angles: numpy.where(numpy.arange(len(angles))[:, None] % 2 == 0, numpy.sin(angles), numpy.cos(angles))},
    ),
    TEXTS.mistake("exponent_by_column_doubled", {"exponents": lambda width: 2 * columns(width) / width}),
    TEXTS.mistake("exponent_by_column", {"exponents": lambda width: columns(width) / width}),
    TEXTS.mistake("exponent_not_doubled", {"exponents": lambda width: pairs(width) / width}),
    TEXTS.mistake("exponent_doubled_twice", {"exponents": lambda width: 4 * pairs(width) / width}),
    TEXTS.mistake("exponent_of_next_pair", {"exponents": lambda width: 2 * (pairs(width) + columns(width) % 2) / width}),
    TEXTS.mistake("last_exponent_is_one", {"exponents": lambda width: pairs(width) / max(width // 2 - 1, 1)}),
    TEXTS.mistake("exponent_is_zero", {"exponents": lambda width: numpy.zeros(width)}),
    TEXTS.mistake(
        "logarithm_rounded",
        {
            "angles": lambda positions, exponents, base: (
                positions[:, None] * numpy.exp(-exponents * len(exponents) * (math.log(base) // len(exponents)))
            )
        },
    ),
    TEXTS.mistake(
        "power_divided_by_width",
        {"angles": lambda positions, exponents, base: positions[:, None] / float(base) ** (exponents * len(exponents)) / len(exponents)},
    ),
    TEXTS.mistake("power_of_two_first", {"angles": lambda positions, exponents, base: positions[:, None] / (base**2 * exponents / 2)}),
    TEXTS.mistake(
        "power_of_two_first_divides", {"angles": lambda positions, exponents, base: positions[:, None] / base**2 * exponents / 2}
    ),
    TEXTS.mistake("multiplied_by_power", {"angles": lambda positions, exponents, base: positions[:, None] * base**exponents}),
    TEXTS.mistake("base_ignored", {"angles": lambda positions, exponents, base: positions[:, None] / 10000.0**exponents}),
    TEXTS.mistake("offset_ignored", {"positions": lambda length, offset: numpy.arange(length)}),
    TEXTS.mistake("positions_divided_by_length", {"positions": lambda length, offset: (numpy.arange(length) + offset) / length}),
    TEXTS.mistake("only_first_row_written", {"finish": lambda table: table * (numpy.arange(len(table)) == 0)[:, None]}),
    TEXTS.mistake("rows_all_alike", {"finish": lambda table: numpy.repeat(table[-1:], len(table), axis=0)}),
    TEXTS.mistake("rows_all_position_zero", {"positions": lambda length, offset: numpy.zeros(length)}),
    TEXTS.mistake("transposed", {"finish": lambda table: table.T}),
    TEXTS.mistake(
        "last_column_missing", {"finish": lambda table: numpy.where(numpy.arange(table.shape[1]) < table.shape[1] - 1, table, 0)}
    ),
    TEXTS.mistake(
        "concatenated_with_x", {"add": lambda x, table: numpy.concatenate([x, numpy.broadcast_to(table(x.shape[-2]), x.shape)], axis=-1)}
    ),
    TEXTS.mistake("multiplied_with_x", {"add": lambda x, table: x * table(x.shape[-2])}),
    TEXTS.mistake(
        "position_along_batch", {"add": lambda x, table: x + table(x.shape[0])[:, None] if x.ndim == 3 else x + table(x.shape[0])}
    ),
    TEXTS.mistake("nothing_added", {"add": lambda x, table: x}),
)
