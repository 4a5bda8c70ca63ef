"""Errors for inputs of wrong widths, unequal numbers of keys and values, or different batches."""

from __future__ import annotations

import pytest
import torch

from headway.errors import ShapeError
from tests.nn.cases import BY_NAME, CASES, HIDDEN, SEQ, SOURCE

INPUTS = [(case, index) for case in CASES for index, x in enumerate(case.inputs) if x.is_floating_point()]
THREE = ("multi_head_attention", "grouped_heads_without_bias", "stacked_heads")


@pytest.mark.parametrize("is_training", [False, True], ids=["eval", "train"])
@pytest.mark.parametrize(("case", "index"), INPUTS, ids=[f"{case.name}-{index}" for case, index in INPUTS])
def test_another_width_is_an_error_that_names_both(case, index, is_training):
    inputs = list(case.inputs)
    width = inputs[index].shape[-1]
    inputs[index] = inputs[index][..., 1:]
    with pytest.raises(ShapeError, match=rf"got \w+ \(2, \d, {width - 1}\), expected \(\.\.\., {width}\), the width of the module"):
        case.module(dropout=0.1).train(is_training)(*inputs)


@pytest.mark.parametrize("is_training", [False, True], ids=["eval", "train"])
@pytest.mark.parametrize("name", THREE)
def test_fewer_values_than_keys_are_an_error(name, is_training):
    query, key, value = BY_NAME[name].inputs
    module = BY_NAME[name].module(dropout=0.1).train(is_training)
    with pytest.raises(ShapeError, match=rf"got key \(2, {SOURCE}, \d+\) and value \(2, {SOURCE - 1}, \d+\), expected equal shapes"):
        module(query, key, value[:, 1:])


@pytest.mark.parametrize("name", [*THREE, "cross_attention", "decoder_layer", "decoder", "transformer"])
def test_batches_of_different_sizes_are_an_error(name):
    first, *others = BY_NAME[name].inputs
    with pytest.raises(ShapeError, match=r"got \w+ \([23], \d, \d+\) and \w+ \([23], \d, \d+\), expected the same batch axes"):
        BY_NAME[name].module()(torch.cat([first, first[:1]]), *others)


@pytest.mark.parametrize("name", ["cross_attention", "decoder_layer"])
def test_one_source_may_be_read_by_a_whole_batch(name):
    x, source = BY_NAME[name].inputs
    module = BY_NAME[name].module()
    assert module(x, source[:1]).shape == (2, SEQ, HIDDEN)
    torch.testing.assert_close(module(x, source[:1])[1], module(x[1], source[0]))
