"""Position encodings: sinusoidal, learned, relative (T5) and rotary."""

from __future__ import annotations

import math

import numpy

from headway.arrays import Array, ArrayT, LikeT, array_namespace, as_floating, asarray_like, at_least_float32, cast
from headway.errors import OptionError, ShapeError
from headway.functions.embedding import embed
from headway.functions.sizes import check_sizes


def sinusoidal_positions(
    seq_len: int, hidden_size: int, *, base: float = 10000.0, offset: int = 0, interleaved: bool = True, like: LikeT | None = None
) -> LikeT:
    """Sinusoidal position embeddings.

        out[p, 2i] = sin(p / base^(2i / hidden_size))          out[p, 2i+1] = cos(p / base^(2i / hidden_size))

    Shapes
        return  (seq_len, hidden_size)

    base         the longest wavelength is close to 2π · base positions; 10000 by default
    offset       first position; 0 by default
    interleaved  True to alternate sine and cosine, as in the paper; False to put all sines before all cosines, as in Marian
    like         array whose library and device the result gets, in float32; None (NumPy) by default

    An odd hidden_size gives one more sine than cosines.

    Errors   ShapeError for a negative seq_len or a hidden_size below 1; OptionError for a base not above 0.

    >>> sinusoidal_positions(2, 3).round(3).tolist()
    [[0.0, 1.0, 0.0], [0.8410000205039978, 0.5400000214576721, 0.0020000000949949026]]

    Source   Vaswani et al. 2017, section 3.5
    """
    check_sizes(seq_len=seq_len)
    check_sizes(hidden_size=hidden_size, at_least=1)
    check_positive(base=base)
    positions = numpy.arange(offset, offset + seq_len)[:, None]
    angles = positions / base ** (numpy.arange(0, hidden_size, 2) / hidden_size)
    table = numpy.zeros((seq_len, hidden_size), numpy.float32)
    num_sines = angles.shape[1]
    sines, cosines = (slice(0, None, 2), slice(1, None, 2)) if interleaved else (slice(num_sines), slice(num_sines, None))
    table[:, sines] = numpy.sin(angles)
    table[:, cosines] = numpy.cos(angles[:, : hidden_size // 2])
    return asarray_like(table, like)


def learned_positions(positions: ArrayT, table: ArrayT) -> ArrayT:
    """Learned position embeddings: look up the row of each position.

        table[positions]

    Shapes
        positions  (..., seq_len) integer
        table      (max_seq_len, hidden_size)
        return     (..., seq_len, hidden_size)

    Errors   ShapeError for more positions than the table has rows; TokenIdError for a position outside 0 … max_seq_len - 1.

    >>> import numpy as np
    >>> learned_positions(np.array([1]), np.array([[0.0], [10.0]])).tolist()
    [[10.0]]

    Source   Gehring et al. 2017, section 3.1
    """
    if positions.shape[-1] > table.shape[0]:
        raise ShapeError(
            f"got {positions.shape[-1]} positions, expected at most {table.shape[0]}, the number of rows of the table",
            hint="shorten the sequence",
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
    like: LikeT | None = None,
) -> LikeT:
    """Bucket of each query–key distance: one bucket per distance for near keys, logarithmically wider buckets for far keys.

        distance                                                                  if distance < exact
        min(exact + ⌊log(distance / exact) / log(max_distance / exact) · (n - exact)⌋, n - 1)     otherwise

    Shapes
        return  (query_len, key_len) integer

    n is the number of buckets per direction: num_buckets // 2 if bidirectional, else num_buckets. exact is n // 2, at least 1.
    If bidirectional, the upper half of the buckets is for keys after the query; otherwise such keys have distance 0.

    num_buckets       total number of buckets; 32 by default
    max_distance      this distance and all greater ones share the last bucket; 128 by default
    is_bidirectional  True to distinguish keys before and after the query; True by default
    offset            position of the first query among the keys; key_len - query_len by default
    like              array whose library and device the result gets; None (NumPy) by default

    Errors   OptionError for too few buckets, or a max_distance without room for logarithmic buckets; ShapeError for a negative length.

    >>> relative_position_buckets(1, 5, num_buckets=4, max_distance=4, is_bidirectional=False).tolist()
    [[3, 3, 2, 1, 0]]

    Source   Raffel et al. 2020, section 2.1; rounding as in their code
    """
    check_sizes(query_len=query_len, key_len=key_len)
    num_directed = num_buckets // 2 if is_bidirectional else num_buckets
    exact = max(num_directed // 2, 1)
    if num_directed < 1 or max_distance <= exact:
        raise OptionError(
            f"got num_buckets={num_buckets} and max_distance={max_distance}, expected at least {2 if is_bidirectional else 1} buckets "
            f"and a max_distance above {exact}"
        )
    offset = key_len - query_len if offset is None else offset
    relative = numpy.arange(key_len)[None, :] - numpy.arange(offset, offset + query_len)[:, None]
    distance = numpy.abs(relative) if is_bidirectional else numpy.maximum(-relative, 0)
    log_ratio = numpy.log(numpy.maximum(distance, exact).astype(numpy.float32) / exact) / math.log(max_distance / exact)
    far = numpy.minimum(exact + (log_ratio * (num_directed - exact)).astype(numpy.int64), num_directed - 1)
    buckets = numpy.where(distance < exact, distance, far)
    return asarray_like(buckets + num_directed * (relative > 0) if is_bidirectional else buckets, like)


def relative_position_bias(
    table: ArrayT,
    query_len: int,
    key_len: int,
    *,
    max_distance: int = 128,
    is_bidirectional: bool = True,
    offset: int | None = None,
) -> ArrayT:
    """Relative position bias: a learned number per head and distance bucket, added to the attention scores.

        table[relative_position_buckets(query_len, key_len)], with the head axis moved to the front

    Shapes
        table   (num_buckets, num_heads)
        return  (num_heads, query_len, key_len)

    max_distance, is_bidirectional, offset     as in relative_position_buckets

    Pass the result as the mask of attention, which adds a floating-point mask to the scores.

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


def rotary_frequencies(head_dim: int, *, theta: float = 10000.0, like: LikeT | None = None) -> LikeT:
    """Rotation angle per position of each coordinate pair, in radians.

        theta^(-2i / head_dim)

    Shapes
        return  (head_dim // 2,)

    theta    base of the wavelengths (`rope_theta`); 10000 by default
    like     array whose library and device the result gets, in float32; None (NumPy) by default

    Errors   ShapeError for a head_dim that is odd or below 2; OptionError for a theta not above 0.

    >>> rotary_frequencies(4).tolist()
    [1.0, 0.009999999776482582]

    Source   Su et al. 2021, equation 15
    """
    if head_dim < 2 or head_dim % 2:
        raise ShapeError(f"got head_dim={head_dim}, expected an even number of at least 2, because coordinates rotate in pairs")
    check_positive(theta=theta)
    return asarray_like((theta ** (-numpy.arange(0, head_dim, 2) / head_dim)).astype(numpy.float32), like)


def rotary_cos_sin(positions: ArrayT, frequencies: ArrayT, *, magnitude: float = 1.0) -> tuple[ArrayT, ArrayT]:
    """Cosines and sines of the rotation angles for rotary, in float32.

        cos(position · frequency) · magnitude,   sin(position · frequency) · magnitude

    Shapes
        positions    (..., seq_len) integer
        frequencies  (pairs,)
        return       (..., seq_len, pairs), (..., seq_len, pairs)

    magnitude    factor of both; 1 by default (for YaRN pass yarn_magnitude)

    For positions of shape (batch_size, seq_len), one row per sequence, pass positions[:, None] to add a head axis.
    frequencies may have leading axes that broadcast to those of the positions.
    """
    xp = array_namespace(positions, frequencies)
    angles = cast(positions, xp.float32)[..., None] * cast(frequencies, xp.float32)
    return xp.cos(angles) * magnitude, xp.sin(angles) * magnitude


def rotary(x: ArrayT, cos: ArrayT, sin: ArrayT, *, interleaved: bool = False) -> ArrayT:
    """Rotary position embedding: rotate each pair of coordinates by an angle proportional to the position.

        (a, b) → (a · cos - b · sin, b · cos + a · sin)

    Shapes
        x       (..., seq_len, 2 * pairs)
        cos     (seq_len, pairs)
        sin     (seq_len, pairs)
        return  (..., seq_len, 2 * pairs)

    interleaved   True to pair coordinate 2i with 2i + 1; False (default) to pair i with i + pairs, as in Hugging Face's Llama

    The dot product of a rotated query and a rotated key then depends on their positions only through the distance.
    cos and sin may have leading axes that broadcast to those of x. Coordinates after the first 2 · pairs are not rotated.
    float16 and bfloat16 are computed in float32.

    Errors   ShapeError if cos and sin differ in shape, have more than head_dim / 2 columns, or have another seq_len;
             OptionError if each sequence has its own positions and cos and sin lack a head axis.

    >>> import numpy as np
    >>> rotary(np.array([[1.0, 2.0]]), np.array([[0.0]]), np.array([[1.0]])).tolist()
    [[-2.0, 1.0]]

    Source   Su et al. 2021, equation 34
    """
    xp = array_namespace(x, cos, sin)
    _check_angles(x, cos, sin)
    size = 2 * cos.shape[-1]
    upcast = at_least_float32(x)
    if interleaved:
        a, b = upcast[..., 0:size:2], upcast[..., 1:size:2]
        rotated = xp.reshape(xp.stack([a * cos - b * sin, b * cos + a * sin], axis=-1), (*x.shape[:-1], size))
    else:
        a, b = upcast[..., : size // 2], upcast[..., size // 2 : size]
        rotated = xp.concat([a * cos - b * sin, b * cos + a * sin], axis=-1)
    if size < x.shape[-1]:
        rotated = xp.concat([rotated, upcast[..., size:]], axis=-1)
    return cast(rotated, as_floating(x).dtype)


def rotate_half(x: ArrayT, *, interleaved: bool = False) -> ArrayT:
    """Turn each pair of coordinates by a quarter, as in x · cos + rotate_half(x) · sin.

        (a, b) → (-b, a)

    Shapes
        x       (..., 2 * pairs)
        return  (..., 2 * pairs)

    interleaved   True to pair coordinate 2i with 2i + 1; False (default) to pair i with i + pairs

    Errors   ShapeError for an odd number of coordinates.

    >>> import numpy as np
    >>> rotate_half(np.array([1.0, 2.0, 3.0, 4.0])).tolist()
    [-3.0, -4.0, 1.0, 2.0]

    Source   Su et al. 2021, equation 34; the name is that of Hugging Face's Llama
    """
    xp, size = array_namespace(x), x.shape[-1]
    if size % 2:
        raise ShapeError(f"got {size} coordinates, expected an even number", hint="rotate pairs of coordinates, and pass the others on")
    if interleaved:
        return xp.reshape(xp.stack([-x[..., 1::2], x[..., ::2]], axis=-1), x.shape)
    return xp.concat([-x[..., size // 2 :], x[..., : size // 2]], axis=-1)


def check_positive(**options: float) -> None:
    """Raise OptionError unless each option, named by its keyword, is a finite number above 0."""
    for name, value in options.items():
        if not 0 < value < math.inf:
            raise OptionError(f"got {name}={value}, expected above 0")


def _check_angles(x: Array, cos: Array, sin: Array) -> None:
    has_positions = min(x.ndim, cos.ndim) > 1
    if (
        not has_positions
        or tuple(cos.shape) != tuple(sin.shape)
        or 2 * cos.shape[-1] > x.shape[-1]
        or cos.shape[-2] not in (1, x.shape[-2])
    ):
        raise ShapeError(
            f"got x {tuple(x.shape)}, cos {tuple(cos.shape)}, sin {tuple(sin.shape)}, expected x (..., seq_len, head_dim) "
            "and cos and sin (..., seq_len, head_dim // 2)",
            hint="make cos and sin with rotary_cos_sin from the positions of x",
        )
    if cos.ndim > 2 and cos.ndim < x.ndim:
        raise OptionError(
            f"got x {tuple(x.shape)} and cos {tuple(cos.shape)}, expected cos and sin with a head axis",
            hint="pass positions[:, None] to rotary_cos_sin",
        )
