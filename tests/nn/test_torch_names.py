from __future__ import annotations

import pytest
import torch

from headway import nn
from headway.errors import OptionError, UnsupportedError
from headway.nn import from_torch_state_dict, to_torch_state_dict
from tests.functions.oracles import randomized
from tests.nn.cases import HEADS, HIDDEN, INNER, LAYERS, SOURCE_WIDTH

LAYER = (HIDDEN, HEADS, INNER)
pytestmark = pytest.mark.filterwarnings("ignore:enable_nested_tensor is True")

PAIRS = {
    "attention": lambda: (torch.nn.MultiheadAttention(HIDDEN, HEADS), nn.MultiHeadAttention(HIDDEN, HEADS)),
    "attention without bias": lambda: (
        torch.nn.MultiheadAttention(HIDDEN, HEADS, bias=False),
        nn.MultiHeadAttention(HIDDEN, HEADS, has_bias=False),
    ),
    "attention of two widths": lambda: (
        torch.nn.MultiheadAttention(HIDDEN, HEADS, kdim=SOURCE_WIDTH, vdim=SOURCE_WIDTH),
        nn.MultiHeadAttention(HIDDEN, HEADS, key_width=SOURCE_WIDTH),
    ),
    "encoder layer": lambda: (torch.nn.TransformerEncoderLayer(*LAYER), nn.EncoderLayer(*LAYER)),
    "decoder layer": lambda: (torch.nn.TransformerDecoderLayer(*LAYER), nn.DecoderLayer(*LAYER)),
    "transformer": lambda: (
        torch.nn.Transformer(HIDDEN, HEADS, LAYERS, LAYERS, INNER),
        nn.Transformer(*LAYER, LAYERS, has_last_norm=True),
    ),
}


@pytest.mark.parametrize("name", PAIRS)
def test_every_name_of_torch_has_one_here_and_the_shapes_agree(name):
    theirs, mine = PAIRS[name]()
    converted = from_torch_state_dict(theirs.state_dict())
    assert {name: tensor.shape for name, tensor in converted.items()} == {name: t.shape for name, t in mine.state_dict().items()}
    back = to_torch_state_dict(mine.state_dict())
    assert {name: tensor.shape for name, tensor in back.items()} == {name: t.shape for name, t in theirs.state_dict().items()}


@pytest.mark.parametrize("name", PAIRS)
def test_there_and_back_is_the_same_state(name):
    state = randomized(PAIRS[name]()[0]).state_dict()
    back = to_torch_state_dict(from_torch_state_dict(state))
    assert back.keys() == state.keys()
    assert all(torch.equal(back[key], tensor) for key, tensor in state.items())


def test_a_part_of_a_larger_model_keeps_its_prefix_and_what_is_beside_it_its_name():
    class Larger(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.body = torch.nn.Transformer(HIDDEN, HEADS, 1, 1, INNER)
            self.head = torch.nn.Linear(HIDDEN, 3)

    converted = from_torch_state_dict(Larger().state_dict())
    assert converted["body.encoder.layers.0.attention.query.weight"].shape == (HIDDEN, HIDDEN)
    assert converted["body.decoder.layers.0.self_attention.key.bias"].shape == (HIDDEN,)
    assert {"body.decoder.norm.weight", "head.weight", "head.bias"} < converted.keys()
    assert to_torch_state_dict(converted).keys() == Larger().state_dict().keys()


def test_the_projections_are_those_rows_of_the_fused_matrix():
    theirs = torch.nn.MultiheadAttention(HIDDEN, HEADS)
    converted = from_torch_state_dict(theirs.state_dict())
    assert torch.equal(converted["key.weight"], theirs.in_proj_weight[HIDDEN : 2 * HIDDEN])
    assert torch.equal(converted["value.bias"], theirs.in_proj_bias[2 * HIDDEN :])


def test_extra_keys_are_an_error():
    with pytest.raises(UnsupportedError, match="got an attention with bias_k and bias_v, expected one without"):
        from_torch_state_dict(torch.nn.MultiheadAttention(HIDDEN, HEADS, add_bias_kv=True).state_dict())


def test_grouped_heads_are_an_error():
    with pytest.raises(OptionError, match="fewer key heads than query heads, .* torch.nn has no grouped heads"):
        to_torch_state_dict(nn.MultiHeadAttention(HIDDEN, HEADS, num_kv_heads=1).state_dict())
