from __future__ import annotations

import numpy as np
import pytest

from headway.arrays import array_library, as_dtype, dtype_name, from_numpy, to_numpy
from headway.errors import ShapeError
from headway.functions import KVCache, causal_mask, scaled_dot_product_attention
from tests.functions.close import assert_close

NUM_HEADS, NUM_KV_HEADS, SEQ_LEN, HEAD_DIM = 6, 2, 11, 5


def operands():
    random = np.random.default_rng(0)
    query = random.standard_normal((NUM_HEADS, SEQ_LEN, HEAD_DIM)).astype(np.float32)
    key, value = random.standard_normal((2, NUM_KV_HEADS, SEQ_LEN, HEAD_DIM)).astype(np.float32)
    return query, key, value


@pytest.mark.parametrize("library", ["numpy", "torch", "jax", "mlx"])
@pytest.mark.parametrize("chunks", [[1] * 11, [7, 1, 3], [11], [2, 9]])
def test_decoding_in_chunks_equals_one_pass(library, chunks):
    query, key, value = operands()
    expected = scaled_dot_product_attention(query, key, value, is_causal=True)
    query, key, value = (from_numpy(x, library) for x in (query, key, value))
    cache, answers, start = KVCache.empty((NUM_KV_HEADS, 13, HEAD_DIM), key), [], 0
    for size in chunks:
        rows = slice(start, start + size)
        mask = causal_mask(size, cache.key_len(size), offset=start, like=key)
        keys, values = cache.append(key[:, rows], value[:, rows])
        answers.append(to_numpy(scaled_dot_product_attention(query[:, rows], keys, values, mask)))
        start += size
    assert cache.length == SEQ_LEN
    assert_close(np.concatenate(answers, axis=1), expected)


def test_a_cache_that_is_full_says_how_much_room_there_is():
    _, key, value = operands()
    cache = KVCache.empty((NUM_KV_HEADS, 13, HEAD_DIM), key)
    cache.append(key, value)
    with pytest.raises(ShapeError, match=r"(?s)got 11 positions after 11, expected at most 13 in total.*larger max_seq_len"):
        cache.append(key, value)
    assert cache.length == SEQ_LEN  # nothing was written


def test_a_cache_can_be_filled_to_the_last_place():
    _, key, value = operands()
    cache = KVCache.empty((NUM_KV_HEADS, SEQ_LEN, HEAD_DIM), key)
    keys, values = cache.append(key, value)
    np.testing.assert_array_equal(keys, key)
    np.testing.assert_array_equal(values, value)


@pytest.mark.parametrize("library", ["numpy", "torch", "jax", "mlx"])
@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_an_empty_cache_takes_library_and_dtype_and_keeps_them(library, dtype):
    _, key, value = (from_numpy(x, library) for x in operands())
    like = array_library(library).zeros(1, dtype=as_dtype(dtype, array_library(library)))
    cache = KVCache.empty((NUM_KV_HEADS, 13, HEAD_DIM), like)
    for stored in (cache.keys, cache.values, *cache.append(key, value)):
        assert dtype_name(stored.dtype) == dtype
        assert type(stored) is type(like)


def test_keys_and_values_are_two_arrays():
    cache = KVCache.empty((2, 3, 5), np.zeros(1))
    cache.append(np.ones((2, 1, 5)), np.zeros((2, 1, 5)))
    assert cache.keys.sum() == 10
    assert cache.values.sum() == 0


def test_key_len_says_what_attention_will_see():
    cache = KVCache.empty((2, 7, 5), np.zeros(1))
    assert cache.key_len(3) == 3
    cache.append(np.ones((2, 3, 5)), np.ones((2, 3, 5)))
    assert cache.key_len(1) == 4


def test_under_jax_the_shape_stays_the_same_at_every_step():
    import jax.numpy as jnp

    cache = KVCache.empty((2, 7, 5), jnp.zeros(1))
    for length in (1, 2, 3):
        assert cache.key_len(1) == 7
        keys, _ = cache.append(jnp.full((2, 1, 5), length), jnp.zeros((2, 1, 5)))
        assert keys.shape == (2, 7, 5)
        assert np.asarray(keys)[0, :, 0].tolist() == [*range(1, length + 1), *[0] * (7 - length)]


def test_values_may_have_another_width_than_keys():
    cache = KVCache(np.zeros((2, 7, 5)), np.zeros((2, 7, 3)))
    keys, values = cache.append(np.ones((2, 4, 5)), np.ones((2, 4, 3)))
    assert keys.shape == (2, 4, 5)
    assert values.shape == (2, 4, 3)


@pytest.mark.parametrize("library", ["numpy", "torch", "jax", "mlx"])
@pytest.mark.parametrize("rows", [[2, 0, 0], [1], [0, 1, 2], [2, 1, 0, 1, 2]])
@pytest.mark.parametrize("filled", [4, 7])
def test_rows_that_are_taken_keep_what_they_hold_and_go_on_apart(library, rows, filled):
    random = np.random.default_rng(1)
    key, value = random.standard_normal((2, 3, NUM_KV_HEADS, filled, HEAD_DIM)).astype(np.float32)
    cache = KVCache.empty((3, NUM_KV_HEADS, 9, HEAD_DIM), from_numpy(key, library))
    cache.append(from_numpy(key, library), from_numpy(value, library))
    cache.take(rows)
    assert (cache.length, cache.max_seq_len) == (filled, 9)
    more = random.standard_normal((2, len(rows), NUM_KV_HEADS, 2, HEAD_DIM)).astype(np.float32)
    keys, values = cache.append(*(from_numpy(each, library) for each in more))
    for came, held, added in ((keys, key, more[0]), (values, value, more[1])):
        np.testing.assert_array_equal(to_numpy(came)[..., : filled + 2, :], np.concatenate([held[rows], added], axis=-2))


@pytest.mark.parametrize("library", ["numpy", "torch", "jax", "mlx"])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_rows_that_are_taken_keep_library_and_dtype(library, dtype):
    like = array_library(library).zeros(1, dtype=as_dtype(dtype, array_library(library)))
    cache = KVCache.empty((2, NUM_KV_HEADS, 9, HEAD_DIM), like)
    cache.take([1, 0, 1])
    assert dtype_name(cache.keys.dtype) == dtype_name(cache.values.dtype) == dtype
    assert type(cache.keys) is type(like)
    assert tuple(cache.keys.shape) == (3, NUM_KV_HEADS, 9, HEAD_DIM)


@pytest.mark.parametrize("rows", [[], [2], [0, -1]])
def test_a_row_that_is_not_there_cannot_be_taken(rows):
    cache = KVCache.empty((2, 7, 5), np.zeros(1))
    with pytest.raises(ShapeError, match="got rows .*, expected at least one, each from 0 to 1"):
        cache.take(rows)


@pytest.mark.parametrize("shape", [(), (3,), (2, -1, 4)])
def test_a_cache_of_an_impossible_shape_is_an_error(shape):
    with pytest.raises(ShapeError, match=r"got shape \(.*\), expected \(..., num_kv_heads, max_seq_len, head_dim\)"):
        KVCache.empty(shape, like=np.zeros(1))
