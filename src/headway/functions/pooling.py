"""From a vector per token to one vector per text."""

from __future__ import annotations

from headway.arrays import Array, array_namespace, as_floating, asarray_like, at_least_float32, cast, is_boolean, is_traced
from headway.errors import DtypeError, OptionError, ShapeError


def mean_pool(hidden: Array, mask: Array | None = None) -> Array:
    """The average of a text's vectors.

        Σ hidden[i] / n, over the n positions i that the mask shows

    Shapes
        hidden  (..., seq_len, hidden_size)
        mask    (..., seq_len) boolean optional
        return  (..., hidden_size)

    mask     True for the tokens that count, False for padding; all count by default

    Computed in float32 for half precision.

    Errors   OptionError for a text of which nothing counts; DtypeError for a mask that is not boolean; ShapeError for one of
             another shape. Inside jax.jit and torch.compile a text of which nothing counts is NaN.

    >>> import numpy as np
    >>> mean_pool(np.array([[1.0, 2.0], [3.0, 6.0], [9.0, 9.0]]), np.array([True, True, False])).tolist()
    [2.0, 4.0]

    Source   Reimers and Gurevych 2019, section 3
    """
    xp = array_namespace(hidden, mask)
    shown, wide = _shown(hidden, mask), at_least_float32(hidden)
    total = xp.sum(xp.where(shown[..., None], wide, xp.zeros_like(wide)), axis=-2)
    return cast(total / xp.sum(cast(shown, wide.dtype), axis=-1)[..., None], as_floating(hidden).dtype)


def max_pool(hidden: Array, mask: Array | None = None) -> Array:
    """The largest number of a text's vectors in each coordinate.

        max hidden[i], over the positions i that the mask shows

    Shapes
        hidden  (..., seq_len, hidden_size)
        mask    (..., seq_len) boolean optional
        return  (..., hidden_size)

    mask     as in mean_pool

    Errors   as mean_pool; inside jax.jit and torch.compile a text of which nothing counts is -inf.

    >>> import numpy as np
    >>> max_pool(np.array([[1.0, 6.0], [3.0, 2.0], [9.0, 9.0]]), np.array([True, True, False])).tolist()
    [3.0, 6.0]

    Source   Reimers and Gurevych 2019, section 3
    """
    xp = array_namespace(hidden, mask)
    shown, x = _shown(hidden, mask), as_floating(hidden)
    return xp.max(xp.where(shown[..., None], x, xp.full_like(x, -float("inf"))), axis=-2)


def first_token_pool(hidden: Array, mask: Array | None = None) -> Array:
    """The vector of a text's first token, which BERT trains to stand for the whole.

        hidden[i], for the first position i that the mask shows

    Shapes
        hidden  (..., seq_len, hidden_size)
        mask    (..., seq_len) boolean optional
        return  (..., hidden_size)

    mask     as in mean_pool

    Errors   as mean_pool; inside jax.jit and torch.compile a text of which nothing counts is zeros.

    >>> import numpy as np
    >>> first_token_pool(np.array([[1.0], [2.0], [3.0]]), np.array([False, True, True])).tolist()
    [2.0]

    Source   Devlin et al. 2019, section 3
    """
    shown, positions = _shown(hidden, mask), asarray_like(range(hidden.shape[-2]), hidden)
    xp = array_namespace(shown)
    places = xp.where(shown, positions, xp.full_like(positions, hidden.shape[-2]))
    return _select(hidden, positions == xp.min(places, axis=-1)[..., None])


def last_token_pool(hidden: Array, mask: Array | None = None) -> Array:
    """The vector of a text's last token, the only one in a decoder that has seen the whole.

        hidden[i], for the last position i that the mask shows

    Shapes
        hidden  (..., seq_len, hidden_size)
        mask    (..., seq_len) boolean optional
        return  (..., hidden_size)

    mask     as in mean_pool

    Errors   as mean_pool; inside jax.jit and torch.compile a text of which nothing counts is zeros.

    >>> import numpy as np
    >>> last_token_pool(np.array([[1.0], [2.0], [3.0]]), np.array([True, True, False])).tolist()
    [2.0]

    Source   Neelakantan et al. 2022, section 2
    """
    shown, positions = _shown(hidden, mask), asarray_like(range(hidden.shape[-2]), hidden)
    xp = array_namespace(shown)
    places = xp.where(shown, positions, xp.full_like(positions, -1))
    return _select(hidden, positions == xp.max(places, axis=-1)[..., None])


def normalize(x: Array, *, eps: float = 1e-12) -> Array:
    """Bring every vector to length 1, so that a dot product of two is the cosine of their angle.

        x / √(Σ x²)

    Shapes
        x       (..., hidden_size)
        return  (..., hidden_size)

    eps      the least that is divided by, so that zeros stay zeros; 1e-12 by default

    Computed in float32 for half precision.

    >>> import numpy as np
    >>> normalize(np.array([3.0, 4.0])).tolist()
    [0.6, 0.8]
    """
    xp = array_namespace(x)
    wide = at_least_float32(x)
    length = xp.sqrt(xp.sum(wide * wide, axis=-1, keepdims=True))
    return cast(wide / xp.maximum(length, xp.full_like(length, eps)), as_floating(x).dtype)


def _select(hidden: Array, is_chosen: Array) -> Array:
    """The vector at the one position of each text that is chosen."""
    xp, x = array_namespace(hidden), as_floating(hidden)
    return xp.sum(xp.where(is_chosen[..., None], x, xp.zeros_like(x)), axis=-2)


def _shown(hidden: Array, mask: Array | None) -> Array:
    """The mask (..., seq_len), checked; all True for None."""
    shape, xp = tuple(hidden.shape[:-1]), array_namespace(hidden, mask)
    if mask is None:
        mask = xp.zeros_like(hidden[..., 0]) == 0
    if tuple(mask.shape) != shape:
        raise ShapeError(
            f"came: hidden {tuple(hidden.shape)} and a mask {tuple(mask.shape)}; expected: a mask {shape}, one truth per token"
        )
    if not is_boolean(mask):
        raise DtypeError(f"came: a mask of dtype {mask.dtype}; expected: boolean, True for tokens that count; pass mask != 0")
    if not is_traced(mask) and not bool(xp.all(xp.any(mask, axis=-1))):
        raise OptionError("came: a text of which the mask shows no token; expected: at least one; take the text out")
    return mask
