from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from headway.arrays import ARRAY_LIBRARIES, from_numpy
from headway.functions import LowRank, Packed, embed, linear
from headway.kernels import operations
from headway.trees import leaves, map_tree
from tests.functions.close import assert_close

ROWS, COLUMNS = 21, 50
BLOCKS, GROUPS = 2, 2
RANDOM = np.random.default_rng(3)
SCALES = RANDOM.random((BLOCKS, GROUPS, 16)).astype(np.float16)
CODES = {
    "float32": RANDOM.standard_normal((BLOCKS, 64, 16)).astype(np.float32),
    "bfloat16": RANDOM.standard_normal((BLOCKS, 32, 16, 2)).astype(ml_dtypes.bfloat16),
    "int8": RANDOM.integers(-128, 128, (BLOCKS, GROUPS, 8, 16, 4)).astype(np.int8),
    "int4": RANDOM.integers(0, 256, (BLOCKS, GROUPS, 4, 16, 4)).astype(np.uint8),
}


def packed(kind):
    return Packed(CODES[kind], SCALES if kind.startswith("int") else None, kind, ROWS, COLUMNS)


def element(kind, row, column):
    """One element by the table in Packed's docstring."""
    block, lane, group, inside = row // 16, row % 16, column // 32, column % 32
    if kind == "float32":
        return CODES[kind][block, column, lane]
    if kind == "bfloat16":
        return np.float32(CODES[kind][block, column // 2, lane, column % 2])
    scale = np.float32(SCALES[block, group, lane])
    if kind == "int8":
        return CODES[kind][block, group, inside // 4, lane, inside % 4] * scale
    byte = CODES[kind][block, group, inside % 16 // 4, lane, inside % 4]
    return (np.float32(byte & 15 if inside < 16 else byte >> 4) - 8) * scale


def dense(kind):
    return np.array([[element(kind, row, column) for column in range(COLUMNS)] for row in range(ROWS)], np.float32)


@pytest.mark.parametrize("kind", CODES)
@pytest.mark.parametrize("library", ARRAY_LIBRARIES)
def test_a_linear_layer_and_an_embedding_take_it_in_every_library(library, kind):
    matrix = map_tree(lambda leaf: from_numpy(leaf, library), packed(kind))
    x, ids = RANDOM.standard_normal((2, 3, COLUMNS)).astype(np.float32), np.array([[20, 0, 17]])
    assert matrix.shape == (ROWS, COLUMNS)
    assert_close(matrix.dense(), dense(kind), dtype="float32")
    for functions in (operations(library), operations("")):
        assert_close(functions.linear(from_numpy(x, library), matrix), linear(x, dense(kind)), dtype="float32")
        assert_close(functions.unembed(from_numpy(x, library), matrix), linear(x, dense(kind)), dtype="float32")
        assert_close(functions.embed(from_numpy(ids, library), matrix), embed(ids, dense(kind)), dtype="float32")


def test_a_packed_matrix_may_have_an_update_of_low_rank():
    down, up = RANDOM.standard_normal((2, COLUMNS)), RANDOM.standard_normal((ROWS, 2))
    x = RANDOM.standard_normal((3, COLUMNS))
    assert_close(linear(x, LowRank(packed("int4"), down, up)), linear(x, dense("int4") + up @ down))


def test_the_leaves_are_codes_and_scales():
    assert [path for path, _ in leaves(packed("int8"), "weight")] == ["weight.codes", "weight.scales"]
    assert [path for path, _ in leaves(packed("float32"))] == ["codes"]
