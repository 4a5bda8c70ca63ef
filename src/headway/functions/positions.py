"""Where a token stands: sinusoidal, learned and rotary positions."""

from __future__ import annotations

import math

import numpy

from headway.arrays import Array, array_namespace, as_floating, asarray_like, at_least_float32, cast
from headway.errors import OptionError, ShapeError
from headway.functions.embedding import embed


def sinusoidal_positions(
    seq_len: int, hidden_size: int, *, base: float = 10000.0, offset: int = 0, interleaved: bool = True, like: Array | None = None
) -> Array:
    """A fixed vector per position: sines and cosines from fast to slow.

        out[p, 2i] = sin(p / base^(2i / hidden_size))          out[p, 2i+1] = cos(p / base^(2i / hidden_size))

    Shapes
        return  (seq_len, hidden_size)

    base     the slowest wavelength is almost 2π · base positions; 10000 by default
    offset   the first position; 0 by default
    interleaved  sine and cosine by turns, as in the paper; False for all sines before all cosines, as Marian has them
    like     an array whose library and device the result takes, in float32; NumPy by default

    An odd width has one sine more.

    >>> sinusoidal_positions(2, 3).round(3).tolist()
    [[0.0, 1.0, 0.0], [0.8410000205039978, 0.5400000214576721, 0.0020000000949949026]]

    Source   Vaswani et al. 2017, section 3.5
    """
    positions = numpy.arange(offset, offset + seq_len)[:, None]
    angles = positions / base ** (numpy.arange(0, hidden_size, 2) / hidden_size)
    table = numpy.zeros((seq_len, hidden_size), numpy.float32)
    num_sines = angles.shape[1]
    sines, cosines = (slice(0, None, 2), slice(1, None, 2)) if interleaved else (slice(num_sines), slice(num_sines, None))
    table[:, sines] = numpy.sin(angles)
    table[:, cosines] = numpy.cos(angles[:, : hidden_size // 2])
    return asarray_like(table, like)


def learned_positions(positions: Array, table: Array) -> Array:
    """A trained vector per position: one row of the table each.

        table[positions]

    Shapes
        positions  (..., seq_len) integer
        table      (max_seq_len, hidden_size)
        return     (..., seq_len, hidden_size)

    Errors   ShapeError for more positions than the table has rows; TokenIdError for a position outside it.

    >>> import numpy as np
    >>> learned_positions(np.array([1]), np.array([[0.0], [10.0]])).tolist()
    [[10.0]]

    Source   Gehring et al. 2017, section 3.1
    """
    if positions.shape[-1] > table.shape[0]:
        raise ShapeError(
            f"came: {positions.shape[-1]} positions; expected: at most {table.shape[0]}, the rows of the table; shorten the sequence"
        )
    return embed(positions, table)


def relative_position_buckets(
    query_len: int,
    key_len: int,
    *,
    num_buckets: int = 32,
    max_distance: int = 128,
    is_bidirectional: bool = True,
    offset: int | None = None,
    like: Array | None = None,
) -> Array:
    """How far every key stands from every query, told finely when near and coarsely when far.

        distance                                                        where distance < exact
        exact + ⌊log(distance / exact) / log(max_distance / exact) · exact⌋, at most 2 · exact - 1,   beyond

    Shapes
        return  (query_len, key_len) integer

    exact is half the buckets of one direction, at least 1. A bidirectional table keeps its upper half for keys behind the query; the other
    kind counts all of those as distance 0.

    num_buckets       in all; 32 by default
    max_distance      from where on all distances are one; 128 by default
    offset            the position of the first query among the keys; key_len - query_len by default
    like              an array whose library and device the result takes; NumPy by default

    Errors   OptionError for too few buckets, or a max_distance that leaves nothing for the far ones.

    >>> relative_position_buckets(1, 5, num_buckets=4, max_distance=4, is_bidirectional=False).tolist()
    [[3, 3, 2, 1, 0]]

    Source   Raffel et al. 2020, section 2.1; the rounding is that of their code
    """
    num_directed = num_buckets // 2 if is_bidirectional else num_buckets
    exact = max(num_directed // 2, 1)
    if num_directed < 1 or max_distance <= exact:
        raise OptionError(
            f"came: num_buckets={num_buckets}, max_distance={max_distance}; expected: at least {2 if is_bidirectional else 1} buckets, "
            f"and a max_distance above {exact}"
        )
    offset = key_len - query_len if offset is None else offset
    behind = numpy.arange(key_len)[None, :] - numpy.arange(offset, offset + query_len)[:, None]
    distance = numpy.abs(behind) if is_bidirectional else numpy.maximum(-behind, 0)
    shares = numpy.log(numpy.maximum(distance, exact).astype(numpy.float32) / exact) / math.log(max_distance / exact)
    far = numpy.minimum(exact + (shares * (num_directed - exact)).astype(numpy.int64), num_directed - 1)
    buckets = numpy.where(distance < exact, distance, far)
    return asarray_like(buckets + num_directed * (behind > 0) if is_bidirectional else buckets, like)


def relative_position_bias(
    table: Array,
    query_len: int,
    key_len: int,
    *,
    max_distance: int = 128,
    is_bidirectional: bool = True,
    offset: int | None = None,
) -> Array:
    """A trained number per head and distance, to be added to the scores.

        table[relative_position_buckets], heads first

    Shapes
        table   (num_buckets, num_heads)
        return  (num_heads, query_len, key_len)

    max_distance, is_bidirectional, offset     as in relative_position_buckets

    Pass it as the mask of attention: a floating mask is added.

    Source   Raffel et al. 2020, section 2.1
    """
    buckets = relative_position_buckets(
        query_len,
        key_len,
        num_buckets=table.shape[0],
        max_distance=max_distance,
        is_bidirectional=is_bidirectional,
        offset=offset,
        like=table,
    )
    return array_namespace(table).moveaxis(embed(buckets, table), -1, 0)


def rotary_frequencies(head_dim: int, *, theta: float = 10000.0, like: Array | None = None) -> Array:
    """How far each pair of coordinates turns per position, in radians.

        theta^(-2i / head_dim)

    Shapes
        return  (head_dim // 2,)

    theta    the base of the wavelengths; 10000 by default
    like     an array whose library and device the result takes, in float32; NumPy by default

    Errors   ShapeError for an odd head_dim.

    >>> rotary_frequencies(4).tolist()
    [1.0, 0.009999999776482582]

    Source   Su et al. 2021, equation 15
    """
    if head_dim % 2:
        raise ShapeError(f"came: head_dim={head_dim}; expected: an even number, coordinates turn in pairs")
    return asarray_like((theta ** (-numpy.arange(0, head_dim, 2) / head_dim)).astype(numpy.float32), like)


def scale_rotary_linear(frequencies: Array, *, factor: float) -> Array:
    """Stretch all positions alike, so that factor times as many fit.

        frequencies / factor

    Shapes
        frequencies  (pairs,)
        return       (pairs,)

    Source   Chen et al. 2023 (position interpolation)
    """
    return frequencies / factor


def scale_rotary_llama3(
    frequencies: Array, *, factor: float, low_freq_factor: float, high_freq_factor: float, original_max_seq_len: int
) -> Array:
    """Stretch the slow pairs, keep the fast ones, and blend in between.

        smooth = (original_max_seq_len / wavelength - low) / (high - low), within 0 … 1
        (1 - smooth) · frequencies / factor + smooth · frequencies

    Shapes
        frequencies  (pairs,)
        return       (pairs,)

    low_freq_factor, high_freq_factor     turns within the original context below which a pair is stretched, above which it is kept

    Source   Llama 3.1's reference code (apply_scaling)
    """
    turns = frequencies * (original_max_seq_len / (2 * math.pi))
    smooth = _clamp((turns - low_freq_factor) / (high_freq_factor - low_freq_factor))
    return (1 - smooth) * frequencies / factor + smooth * frequencies


def scale_rotary_yarn(
    frequencies: Array, *, factor: float, original_max_seq_len: int, theta: float = 10000.0, beta_fast: float = 32.0, beta_slow: float = 1.0
) -> Array:
    """Stretch the slow pairs, keep the fast ones, and blend linearly over the pairs in between.

        pair(turns) = pairs · ln(original_max_seq_len / (2π · turns)) / ln theta
        keep = 1 - (i - ⌊pair(beta_fast)⌋) / (⌈pair(beta_slow)⌉ - ⌊pair(beta_fast)⌋), within 0 … 1
        (1 - keep) · frequencies / factor + keep · frequencies

    Shapes
        frequencies  (pairs,)
        return       (pairs,)

    beta_fast, beta_slow     turns within the original context from which a pair is kept, up to which it is stretched

    Source   Peng et al. 2023 (YaRN), section 3.2; the companion factor on cos and sin is yarn_magnitude
    """
    pairs = frequencies.shape[0]

    def pair_with(turns: float) -> float:
        return pairs * math.log(original_max_seq_len / (turns * 2 * math.pi)) / math.log(theta)

    low = max(math.floor(pair_with(beta_fast)), 0)
    high = min(math.ceil(pair_with(beta_slow)), 2 * pairs - 1)
    ramp = (numpy.arange(pairs) - low) / (high - low if high != low else 0.001)
    keep = asarray_like((1 - numpy.clip(ramp, 0, 1)).astype(numpy.float32), frequencies)
    return (1 - keep) * frequencies / factor + keep * frequencies


def yarn_magnitude(factor: float, *, mscale: float = 1.0) -> float:
    """What YaRN multiplies cos and sin by, so that stretched scores keep their spread.

        0.1 · mscale · ln factor + 1

    factor   how many times as many positions
    mscale   how much of the correction; all of it by default

    >>> yarn_magnitude(1.0)
    1.0

    Source   Peng et al. 2023 (YaRN), equation 22
    """
    return 0.1 * mscale * math.log(factor) + 1.0 if factor > 1 else 1.0


def rotary_cos_sin(positions: Array, frequencies: Array, *, magnitude: float = 1.0) -> tuple[Array, Array]:
    """The cosines and sines that rotary turns by, in float32.

        cos(position · frequency) · magnitude,   sin(position · frequency) · magnitude

    Shapes
        positions    (..., seq_len) integer
        frequencies  (pairs,)
        return       (..., seq_len, pairs), (..., seq_len, pairs)

    magnitude    multiplies both; 1 by default (YaRN's is yarn_magnitude)

    Positions per sequence, (batch, seq_len), need an axis for the heads: pass positions[:, None].
    """
    xp = array_namespace(positions, frequencies)
    angles = cast(positions, xp.float32)[..., None] * cast(frequencies, xp.float32)
    return xp.cos(angles) * magnitude, xp.sin(angles) * magnitude


def rotary(x: Array, cos: Array, sin: Array, *, interleaved: bool = False) -> Array:
    """Turn each pair of coordinates by an angle that grows with the position, so that scores depend on distances only.

        (a, b) → (a · cos - b · sin, b · cos + a · sin)

    Shapes
        x       (..., seq_len, 2 * pairs)
        cos     (seq_len, pairs)
        sin     (seq_len, pairs)
        return  (..., seq_len, 2 * pairs)

    interleaved   pair coordinate 2i with 2i + 1; by default i with i + pairs ("halves", as Hugging Face stores Llama)

    cos and sin may have any leading axes that broadcast to those of x. Coordinates beyond 2 · pairs stay as they are.
    Computed in float32.

    Errors   ShapeError where cos and sin differ, are wider than half of x, or have another seq_len;
             OptionError where the positions are per sequence without an axis for the heads.

    >>> import numpy as np
    >>> rotary(np.array([[1.0, 2.0]]), np.array([[0.0]]), np.array([[1.0]])).tolist()
    [[-2.0, 1.0]]

    Source   Su et al. 2021, equation 34
    """
    xp = array_namespace(x, cos, sin)
    _check_angles(x, cos, sin)
    size = 2 * cos.shape[-1]
    wide = at_least_float32(x)
    if interleaved:
        a, b = wide[..., 0:size:2], wide[..., 1:size:2]
        turned = xp.reshape(xp.stack([a * cos - b * sin, b * cos + a * sin], axis=-1), (*x.shape[:-1], size))
    else:
        a, b = wide[..., : size // 2], wide[..., size // 2 : size]
        turned = xp.concat([a * cos - b * sin, b * cos + a * sin], axis=-1)
    if size < x.shape[-1]:
        turned = xp.concat([turned, wide[..., size:]], axis=-1)
    return cast(turned, as_floating(x).dtype)


def _clamp(x: Array) -> Array:
    xp = array_namespace(x)
    return xp.where(x < 0, xp.zeros_like(x), xp.where(x > 1, xp.ones_like(x), x))


def _check_angles(x: Array, cos: Array, sin: Array) -> None:
    has_positions = min(x.ndim, cos.ndim) > 1
    if (
        not has_positions
        or tuple(cos.shape) != tuple(sin.shape)
        or 2 * cos.shape[-1] > x.shape[-1]
        or cos.shape[-2] not in (1, x.shape[-2])
    ):
        raise ShapeError(
            f"came: x {tuple(x.shape)}, cos {tuple(cos.shape)}, sin {tuple(sin.shape)}; expected: x (..., seq_len, head_dim), "
            "cos and sin (..., seq_len, head_dim // 2), from rotary_cos_sin at the positions of x"
        )
    if cos.ndim > 2 and cos.ndim < x.ndim:
        raise OptionError(
            f"came: x {tuple(x.shape)} and cos {tuple(cos.shape)}; expected: an axis for the heads in cos and sin; pass positions[:, None]"
        )
