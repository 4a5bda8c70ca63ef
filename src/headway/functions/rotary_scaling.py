"""Scaling of rotary frequencies, which extends the context of a trained model."""

from __future__ import annotations

import math
from typing import Any

import numpy

from headway.arrays import ArrayT, array_namespace, asarray_like, cast
from headway.errors import OptionError, ShapeError
from headway.functions.positions import check_positive


def scale_rotary_linear(frequencies: ArrayT, *, factor: float) -> ArrayT:
    """Linear RoPE scaling: divide all frequencies by a factor, to extend the context by that factor.

        frequencies / factor

    Shapes
        frequencies  (pairs,)
        return       (pairs,)

    factor   ratio of the extended to the original context length

    Errors   OptionError for a factor not above 0.

    Source   Chen et al. 2023 (position interpolation)
    """
    check_positive(factor=factor)
    return frequencies / factor


def scale_rotary_llama3(
    frequencies: ArrayT, *, factor: float, low_freq_factor: float, high_freq_factor: float, original_max_seq_len: int
) -> ArrayT:
    """Llama 3 RoPE scaling: divide low frequencies by a factor, keep high ones, and interpolate in between.

        smooth = (original_max_seq_len / wavelength - low_freq_factor) / (high_freq_factor - low_freq_factor), clamped to [0, 1]
        (1 - smooth) · frequencies / factor + smooth · frequencies

    Shapes
        frequencies  (pairs,)
        return       (pairs,)

    factor                ratio of the extended to the original context length
    low_freq_factor       pairs with fewer rotations than this over the original context are divided by factor
    high_freq_factor      pairs with more rotations than this are kept
    original_max_seq_len  context length before the extension, in tokens

    Errors   OptionError for a factor or original_max_seq_len not above 0, or a high_freq_factor not above low_freq_factor.

    Source   Llama 3.1 reference code (apply_scaling)
    """
    check_positive(factor=factor, original_max_seq_len=original_max_seq_len)
    if not high_freq_factor > low_freq_factor:
        raise OptionError(
            f"got low_freq_factor={low_freq_factor} and high_freq_factor={high_freq_factor}, expected high_freq_factor to be the larger"
        )
    rotations = frequencies * (original_max_seq_len / (2 * math.pi))
    smooth = _clamp((rotations - low_freq_factor) / (high_freq_factor - low_freq_factor))
    return (1 - smooth) * frequencies / factor + smooth * frequencies


def scale_rotary_yarn(
    frequencies: ArrayT,
    *,
    factor: float,
    original_max_seq_len: int,
    theta: float = 10000.0,
    beta_fast: float = 32.0,
    beta_slow: float = 1.0,
    has_whole_bounds: bool = True,
) -> ArrayT:
    """YaRN RoPE scaling: divide low frequencies by a factor, keep high ones, and interpolate linearly over the pairs in between.

        pair(rotations) = pairs · ln(original_max_seq_len / (2π · rotations)) / ln theta
        keep = 1 - (i - ⌊pair(beta_fast)⌋) / (⌈pair(beta_slow)⌉ - ⌊pair(beta_fast)⌋), clamped to [0, 1]
        (1 - keep) · frequencies / factor + keep · frequencies

    Shapes
        frequencies  (pairs,)
        return       (pairs,)

    factor                ratio of the extended to the original context length
    original_max_seq_len  context length before the extension, in tokens
    theta                 base of the wavelengths, as in rotary_frequencies; 10000 by default
    beta_fast             pairs with at least this many rotations over the original context are kept; 32 by default
    beta_slow             pairs with at most this many rotations are divided by factor; 1 by default
    has_whole_bounds      True (default) to round the two pairs outwards to whole numbers, as in the equation

    YaRN also multiplies cos and sin by yarn_magnitude.

    Errors   OptionError for an option not above 0, or a theta of 1.

    Source   Peng et al. 2023 (YaRN), section 3.2
    """
    check_positive(factor=factor, original_max_seq_len=original_max_seq_len, theta=theta, beta_fast=beta_fast, beta_slow=beta_slow)
    if theta == 1:
        raise OptionError("got theta=1, expected another number, because the wavelengths are powers of it")
    pairs = frequencies.shape[0]

    def pair_with(rotations: float) -> float:
        return pairs * math.log(original_max_seq_len / (rotations * 2 * math.pi)) / math.log(theta)

    low, high = pair_with(beta_fast), pair_with(beta_slow)
    if has_whole_bounds:
        low, high = math.floor(low), math.ceil(high)
    low, high = max(low, 0), min(high, 2 * pairs - 1)
    ramp = (numpy.arange(pairs) - low) / (high - low if high != low else 0.001)
    keep: Any = asarray_like((1 - numpy.clip(ramp, 0, 1)).astype(numpy.float32), frequencies)
    return (1 - keep) * frequencies / factor + keep * frequencies


def yarn_magnitude(factor: float, *, mscale: float = 1.0) -> float:
    """Factor by which YaRN multiplies cos and sin, to correct the attention scores for the longer context.

        0.1 · mscale · ln(factor) + 1        if factor > 1, else 1

    factor   ratio of the extended to the original context length
    mscale   strength of the correction; 1 by default

    >>> yarn_magnitude(1.0)
    1.0

    Source   Peng et al. 2023 (YaRN), equation 22
    """
    return 0.1 * mscale * math.log(factor) + 1.0 if factor > 1 else 1.0


def scale_rotary_dynamic(frequencies: ArrayT, seq_lens: ArrayT, *, factor: float, original_max_seq_len: int) -> ArrayT:
    """Dynamic NTK RoPE scaling: enlarge the base of the wavelengths as soon as a sequence is longer than the original context.

        growth = max(factor · seq_len / original_max_seq_len - (factor - 1), 1)
        frequencies · growth^(-i / (pairs - 1))

    Shapes
        frequencies  (pairs,)
        seq_lens     (...) integer
        return       (..., pairs)

    seq_lens              number of tokens of each sequence; a sequence within the original context keeps the frequencies
    factor                how fast the base grows with the length
    original_max_seq_len  context length before the extension, in tokens

    Errors   ShapeError for fewer than 2 pairs; OptionError for a factor or original_max_seq_len not above 0.

    Source   transformers' rope_type dynamic, after a post by the user emozilla, 2023
    """
    check_positive(factor=factor, original_max_seq_len=original_max_seq_len)
    pairs = frequencies.shape[0]
    if pairs < 2:
        raise ShapeError(f"got frequencies {tuple(frequencies.shape)}, expected at least 2")
    xp = array_namespace(frequencies, seq_lens)
    growth = cast(seq_lens, xp.float32)[..., None] * (factor / original_max_seq_len) - (factor - 1)
    exponents: Any = asarray_like((-numpy.arange(pairs) / (pairs - 1)).astype(numpy.float32), frequencies)
    return frequencies * xp.where(growth > 1, growth, xp.ones_like(growth)) ** exponents


def scale_rotary_longrope(
    frequencies: ArrayT, short_factors: ArrayT, long_factors: ArrayT, seq_lens: ArrayT, *, original_max_seq_len: int
) -> ArrayT:
    """LongRoPE scaling: divide each frequency by a factor of its own, from one of two tables.

        frequencies / (long_factors if seq_len > original_max_seq_len else short_factors)

    Shapes
        frequencies    (pairs,)
        short_factors  (pairs,)
        long_factors   (pairs,)
        seq_lens       (...) integer
        return         (..., pairs)

    seq_lens              number of tokens of each sequence
    original_max_seq_len  context length before the extension, in tokens

    LongRoPE also multiplies cos and sin by longrope_magnitude.

    Errors   OptionError for an original_max_seq_len not above 0.

    Source   Ding et al. 2024 (LongRoPE), section 3
    """
    check_positive(original_max_seq_len=original_max_seq_len)
    xp = array_namespace(frequencies, short_factors, long_factors, seq_lens)
    return frequencies / xp.where(seq_lens[..., None] > original_max_seq_len, long_factors, short_factors)


def longrope_magnitude(factor: float, original_max_seq_len: int) -> float:
    """Factor by which LongRoPE multiplies cos and sin.

        √(1 + ln(factor) / ln(original_max_seq_len))        if factor > 1, else 1

    factor                ratio of the extended to the original context length
    original_max_seq_len  context length before the extension, in tokens, above 1

    >>> longrope_magnitude(1.0, 4096)
    1.0

    Errors   OptionError for a factor above 1 with an original_max_seq_len not above 1.

    Source   Ding et al. 2024 (LongRoPE); the code of Phi-3
    """
    if factor > 1 and original_max_seq_len <= 1:
        raise OptionError(f"got original_max_seq_len={original_max_seq_len}, expected more than 1")
    return math.sqrt(1 + math.log(factor) / math.log(original_max_seq_len)) if factor > 1 else 1.0


def _clamp(x: ArrayT) -> ArrayT:
    """Clamp to [0, 1]."""
    xp = array_namespace(x)
    return xp.where(x < 0, xp.zeros_like(x), xp.where(x > 1, xp.ones_like(x), x))
