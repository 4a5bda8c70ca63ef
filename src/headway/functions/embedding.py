"""From token ids to vectors, and from vectors to a score for every token."""

from __future__ import annotations

from headway.arrays import Array, array_namespace, as_index, is_integer, is_traced
from headway.errors import DtypeError, TokenIdError
from headway.functions.linear import linear


def embed(token_ids: Array, table: Array) -> Array:
    """Look up one row of the table for every token id.

        table[token_ids]

    Shapes
        token_ids  (..., seq_len) integer
        table      (vocab_size, hidden_size)
        return     (..., seq_len, hidden_size)

    Errors   DtypeError where the ids are not whole numbers; TokenIdError where one is outside 0 … vocab_size - 1.
             Inside jax.jit and torch.compile values cannot be looked at, so there the range is the caller's promise.

    >>> import numpy as np
    >>> embed(np.array([2, 0]), np.array([[0.0], [10.0], [20.0]])).tolist()
    [[20.0], [0.0]]

    Source   Bengio et al. 2003, section 2
    """
    check_token_ids(token_ids, table.shape[0])
    xp = array_namespace(token_ids, table)
    rows = xp.take(table, as_index(xp.reshape(token_ids, (-1,))), axis=0)
    return xp.reshape(rows, (*token_ids.shape, table.shape[1]))


def unembed(x: Array, table: Array) -> Array:
    """Score every token by the dot product of its row with the vector.

        x @ tableᵀ

    Shapes
        x       (..., hidden_size)
        table   (vocab_size, hidden_size)
        return  (..., vocab_size)

    The table may be the embedding's own ("tied").

    >>> import numpy as np
    >>> unembed(np.array([1.0, 2.0]), np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])).tolist()
    [1.0, 2.0, 3.0]

    Source   Press and Wolf 2017
    """
    return linear(x, table)


def check_token_ids(token_ids: Array, vocab_size: int) -> None:
    """Raise DtypeError or TokenIdError unless every id is a row of a table of vocab_size rows."""
    if not is_integer(token_ids):
        raise DtypeError(f"came: token ids of dtype {token_ids.dtype}; expected: whole numbers; convert them to int64 first")
    if is_traced(token_ids) or 0 in token_ids.shape:
        return
    xp = array_namespace(token_ids)
    smallest, largest = int(xp.min(token_ids)), int(xp.max(token_ids))
    if smallest < 0 or largest >= vocab_size:
        wrong = smallest if smallest < 0 else largest
        raise TokenIdError(
            f"came: token id {wrong}; expected: 0 to {vocab_size - 1}; the tokenizer and the model do not belong together, or an id was made by hand"
        )
