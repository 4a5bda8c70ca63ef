"""Pooling: from one vector per token to one vector per text."""

from __future__ import annotations

from headway.arrays import ArrayT, array_namespace, as_floating, asarray_like, at_least_float32, cast, is_boolean, is_traced
from headway.errors import DtypeError, OptionError, ShapeError


def mean_pool(hidden: ArrayT, mask: ArrayT | None = None) -> ArrayT:
    """Mean pooling: the average of the hidden states of a text.

        Σ hidden[i] / n, over the n positions i where the mask is True

    Shapes
        hidden  (..., seq_len, hidden_size)
        mask    (..., seq_len) boolean optional
        return  (..., hidden_size)

    mask     True for tokens, False for padding; all True by default

    float16 and bfloat16 are computed in float32.

    Errors   OptionError for a text without tokens; DtypeError for a mask that is not boolean; ShapeError for a mask of
             another shape. Inside jax.jit and torch.compile a text without tokens gives NaN.

    >>> import numpy as np
    >>> mean_pool(np.array([[1.0, 2.0], [3.0, 6.0], [9.0, 9.0]]), np.array([True, True, False])).tolist()
    [2.0, 4.0]

    Source   Reimers and Gurevych 2019, section 3
    """
    xp = array_namespace(hidden, mask)
    mask, upcast = _checked_mask(hidden, mask), at_least_float32(hidden)
    total = xp.sum(xp.where(mask[..., None], upcast, xp.zeros_like(upcast)), axis=-2)
    return cast(total / xp.sum(cast(mask, upcast.dtype), axis=-1)[..., None], as_floating(hidden).dtype)


def max_pool(hidden: ArrayT, mask: ArrayT | None = None) -> ArrayT:
    """Max pooling: the maximum of the hidden states of a text in each coordinate.

        max hidden[i], over the positions i where the mask is True

    Shapes
        hidden  (..., seq_len, hidden_size)
        mask    (..., seq_len) boolean optional
        return  (..., hidden_size)

    mask     as in mean_pool

    Errors   as in mean_pool; inside jax.jit and torch.compile a text without tokens gives -inf.

    >>> import numpy as np
    >>> max_pool(np.array([[1.0, 6.0], [3.0, 2.0], [9.0, 9.0]]), np.array([True, True, False])).tolist()
    [3.0, 6.0]

    Source   Reimers and Gurevych 2019, section 3
    """
    xp = array_namespace(hidden, mask)
    mask, x = _checked_mask(hidden, mask), as_floating(hidden)
    return xp.max(xp.where(mask[..., None], x, xp.full_like(x, -float("inf"))), axis=-2)


def first_token_pool(hidden: ArrayT, mask: ArrayT | None = None) -> ArrayT:
    """First-token pooling: the hidden state of the first token, as for the [CLS] token of BERT.

        hidden[i], for the first position i where the mask is True

    Shapes
        hidden  (..., seq_len, hidden_size)
        mask    (..., seq_len) boolean optional
        return  (..., hidden_size)

    mask     as in mean_pool

    Errors   as in mean_pool; inside jax.jit and torch.compile a text without tokens gives zeros.

    >>> import numpy as np
    >>> first_token_pool(np.array([[1.0], [2.0], [3.0]]), np.array([False, True, True])).tolist()
    [2.0]

    Source   Devlin et al. 2019, section 3
    """
    mask = _checked_mask(hidden, mask)
    xp, positions = array_namespace(mask), asarray_like(range(hidden.shape[-2]), hidden)
    candidates = xp.where(mask, positions, xp.full_like(positions, hidden.shape[-2]))
    return _select(hidden, positions == xp.min(candidates, axis=-1)[..., None])


def last_token_pool(hidden: ArrayT, mask: ArrayT | None = None) -> ArrayT:
    """Last-token pooling: the hidden state of the last token, which in a decoder is the only one that depends on the whole text.

        hidden[i], for the last position i where the mask is True

    Shapes
        hidden  (..., seq_len, hidden_size)
        mask    (..., seq_len) boolean optional
        return  (..., hidden_size)

    mask     as in mean_pool

    Errors   as in mean_pool; inside jax.jit and torch.compile a text without tokens gives zeros.

    >>> import numpy as np
    >>> last_token_pool(np.array([[1.0], [2.0], [3.0]]), np.array([True, True, False])).tolist()
    [2.0]

    Source   Neelakantan et al. 2022, section 2
    """
    mask = _checked_mask(hidden, mask)
    xp, positions = array_namespace(mask), asarray_like(range(hidden.shape[-2]), hidden)
    candidates = xp.where(mask, positions, xp.full_like(positions, -1))
    return _select(hidden, positions == xp.max(candidates, axis=-1)[..., None])


def normalize(x: ArrayT, *, eps: float = 1e-12) -> ArrayT:
    """L2 normalization: scale each vector to length 1, so that a dot product of two vectors is their cosine similarity.

        x / √(Σ x²)

    Shapes
        x       (..., hidden_size)
        return  (..., hidden_size)

    eps      minimum of the divisor, so that a zero vector stays zero; 1e-12 by default

    float16 and bfloat16 are computed in float32.

    >>> import numpy as np
    >>> normalize(np.array([3.0, 4.0])).tolist()
    [0.6, 0.8]
    """
    xp = array_namespace(x)
    upcast = at_least_float32(x)
    length = xp.sqrt(xp.sum(upcast * upcast, axis=-1, keepdims=True))
    return cast(upcast / xp.maximum(length, xp.full_like(length, eps)), as_floating(x).dtype)


def _select(hidden: ArrayT, is_selected: ArrayT) -> ArrayT:
    """Return the hidden state at the only position of each text where the mask is True."""
    xp, x = array_namespace(hidden), as_floating(hidden)
    return xp.sum(xp.where(is_selected[..., None], x, xp.zeros_like(x)), axis=-2)


def _checked_mask(hidden: ArrayT, mask: ArrayT | None) -> ArrayT:
    """Check the mask (..., seq_len) and return it; all True for None."""
    shape, xp = tuple(hidden.shape[:-1]), array_namespace(hidden, mask)
    if mask is None:
        mask = xp.zeros_like(hidden[..., 0]) == 0
    if tuple(mask.shape) != shape:
        raise ShapeError(f"got hidden {tuple(hidden.shape)} and a mask {tuple(mask.shape)}, expected a mask {shape}, one boolean per token")
    if not is_boolean(mask):
        raise DtypeError(f"got a mask of dtype {mask.dtype}, expected boolean, True for tokens", hint="pass mask != 0")
    if not is_traced(mask) and not bool(xp.all(xp.any(mask, axis=-1))):
        raise OptionError("got a mask with a text without tokens, expected at least one token per text", hint="remove that text")
    return mask
