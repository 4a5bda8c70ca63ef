"""Token embedding, and the output projection to logits."""

from __future__ import annotations

from headway.arrays import Array, ArrayT, array_namespace, as_index, is_integer, is_traced
from headway.errors import DtypeError, TokenIdError
from headway.functions.linear import Matrix, as_array, linear


def embed(token_ids: ArrayT, table: ArrayT | Matrix) -> ArrayT:
    """Look up the embedding of each token id.

        table[token_ids]

    Shapes
        token_ids  (..., seq_len) integer
        table      (vocab_size, hidden_size)
        return     (..., seq_len, hidden_size)

    Errors   DtypeError if the ids are not integers; TokenIdError if an id is outside 0 … vocab_size - 1.
             Inside jax.jit and torch.compile the range is not checked, because the values are not available.

    >>> import numpy as np
    >>> embed(np.array([2, 0]), np.array([[0.0], [10.0], [20.0]])).tolist()
    [[20.0], [0.0]]

    Source   Bengio et al. 2003, section 2
    """
    check_token_ids(token_ids, table.shape[0])
    vectors = as_array(table)
    xp = array_namespace(token_ids, vectors)
    rows = xp.take(vectors, as_index(xp.reshape(token_ids, (-1,))), axis=0)
    return xp.reshape(rows, (*token_ids.shape, table.shape[1]))


def unembed(x: ArrayT, table: ArrayT | Matrix) -> ArrayT:
    """Compute logits: the dot product of each hidden state with each row of the table.

        x @ tableᵀ

    Shapes
        x       (..., hidden_size)
        table   (vocab_size, hidden_size)
        return  (..., vocab_size)

    With tied embeddings, this is the table of the token embedding.

    >>> import numpy as np
    >>> unembed(np.array([1.0, 2.0]), np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])).tolist()
    [1.0, 2.0, 3.0]

    Source   Press and Wolf 2017
    """
    return linear(x, table)


def check_token_ids(token_ids: Array, vocab_size: int) -> None:
    """Raise DtypeError unless the ids are integers, and TokenIdError unless all are in 0 … vocab_size - 1."""
    if not is_integer(token_ids):
        raise DtypeError(f"got token ids of dtype {token_ids.dtype}, expected integers", hint="convert them to int64 first")
    if is_traced(token_ids) or 0 in token_ids.shape:
        return
    xp = array_namespace(token_ids)
    smallest, largest = int(xp.min(token_ids)), int(xp.max(token_ids))
    if smallest < 0 or largest >= vocab_size:
        wrong = smallest if smallest < 0 else largest
        raise TokenIdError(f"got token id {wrong}, expected 0 to {vocab_size - 1}", hint="check that the tokenizer belongs to this model")
