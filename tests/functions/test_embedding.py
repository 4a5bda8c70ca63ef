from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis.extra import numpy as hnp

from headway.arrays import from_numpy
from headway.errors import DtypeError, TokenIdError
from headway.functions import embed, unembed
from tests.functions.close import assert_close

TABLE = np.arange(7 * 5, dtype=np.float32).reshape(7, 5)


def test_every_id_becomes_its_row():
    assert embed(np.array([[6, 0, 6]]), TABLE)[0, :, 0].tolist() == [30.0, 0.0, 30.0]


@settings(deadline=None, derandomize=True, max_examples=30)
@given(hnp.arrays(np.int64, hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=5), elements={"min_value": 0, "max_value": 6}))
def test_embedding_is_the_product_with_a_one_hot_matrix(token_ids):
    np.testing.assert_array_equal(embed(token_ids, TABLE), np.eye(7, dtype=np.float32)[token_ids] @ TABLE)


def test_torch_computes_the_same():
    token_ids, table = torch.tensor([[1, 5, 1], [0, 6, 2]]), torch.from_numpy(TABLE)
    assert_close(embed(token_ids, table), torch.nn.functional.embedding(token_ids, table))


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "int32", "int64"])
@pytest.mark.parametrize("library", ["numpy", "torch", "jax", "mlx"])
def test_token_ids_may_be_any_whole_numbers(library, dtype):
    token_ids = from_numpy(np.array([6, 2], dtype if library != "jax" or dtype != "int64" else "int32"), library)
    assert np.asarray(embed(token_ids, from_numpy(TABLE, library)))[:, 0].tolist() == [30.0, 10.0]


@pytest.mark.parametrize(("token_id", "said"), [(7, "token id 7, expected 0 to 6"), (-1, "token id -1, expected 0 to 6")])
def test_a_token_id_outside_the_table_is_named(token_id, said):
    with pytest.raises(TokenIdError, match=said):
        embed(np.array([0, token_id]), TABLE)


@pytest.mark.parametrize("token_ids", [np.array([1.0]), np.array([True])])
def test_ids_that_are_no_whole_numbers_are_an_error(token_ids):
    with pytest.raises(DtypeError, match=f"dtype {token_ids.dtype}, expected integers"):
        embed(token_ids, TABLE)


def test_embedding_can_be_compiled_by_jax():
    import jax

    came = jax.jit(embed)(jax.numpy.array([2, 3]), jax.numpy.asarray(TABLE))
    np.testing.assert_array_equal(came, TABLE[[2, 3]])


@pytest.mark.filterwarnings("ignore:Dynamo detected a call to a `functools.lru_cache`")
def test_embedding_can_be_compiled_by_torch():
    came = torch.compile(embed, backend="eager", fullgraph=True)(torch.tensor([2, 3]), torch.from_numpy(TABLE))
    np.testing.assert_array_equal(came, TABLE[[2, 3]])


def test_unembedding_an_orthonormal_table_finds_the_token_again():
    table = np.eye(7)
    token_ids = np.array([3, 0, 6])
    assert unembed(embed(token_ids, table), table).argmax(axis=-1).tolist() == [3, 0, 6]


def test_unembedding_scores_by_dot_products():
    assert_close(unembed(np.ones((2, 5)), TABLE), np.tile(TABLE.sum(axis=-1), (2, 1)))
