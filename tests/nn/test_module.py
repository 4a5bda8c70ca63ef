from __future__ import annotations

import dataclasses
import subprocess
import sys

import ml_dtypes
import numpy as np
import pytest
import torch

from headway import nn
from headway.arrays import ARRAY_LIBRARIES, from_numpy, to_numpy
from headway.errors import OptionError, ShapeError
from headway.functions import GatedFeedForwardWeights, LinearWeights
from headway.trees import map_tree
from tests.functions.oracles import randomized
from tests.nn.cases import BY_NAME, HEADS, HIDDEN, IDS, INNER, LAYERS, TABLE, VOCAB, X


@pytest.mark.parametrize("library", ARRAY_LIBRARIES)
def test_a_tree_of_any_library_is_loaded(library):
    module, other = randomized(nn.EncoderLayer(HIDDEN, HEADS, INNER)).float(), nn.EncoderLayer(HIDDEN, HEADS, INNER)
    other.load_weights(map_tree(lambda leaf: from_numpy(to_numpy(leaf).copy(), library), module.weights()))
    assert all(torch.equal(one, two) for one, two in zip(module.parameters(), other.parameters(), strict=True))


def test_loading_copies_and_converts_to_the_modules_own_dtype():
    module = nn.FeedForward(HIDDEN, INNER)
    tree = map_tree(lambda leaf: to_numpy(leaf).astype(ml_dtypes.bfloat16), randomized(nn.FeedForward(HIDDEN, INNER)).weights())
    module.load_weights(tree)
    assert module.up.weight.dtype == torch.float32
    before = module.up.weight.clone()
    tree.up.weight[:] = 0
    assert torch.equal(module.up.weight, before)


def test_weights_are_the_parameters_themselves_and_carry_gradients():
    module = nn.FeedForward(HIDDEN, INNER)
    assert module.weights().up.weight is module.up.weight


def test_a_tree_that_does_not_fit_is_an_error_and_changes_nothing():
    module = nn.FeedForward(HIDDEN, INNER)
    weights = map_tree(lambda leaf: leaf.detach() + 1, module.weights())
    before = {name: tensor.clone() for name, tensor in module.state_dict().items()}
    with pytest.raises(
        ShapeError, match=r"got a tree without down.bias, expected the leaves of this FeedForward, down.bias, .* and 1 more"
    ):
        module.load_weights(dataclasses.replace(weights, down=LinearWeights(weights.down.weight)))
    with pytest.raises(ShapeError, match=r"without down.bias, down.weight and with gate.bias, gate.weight, expected"):
        module.load_weights(GatedFeedForwardWeights(gate=weights.up, up=weights.up, down=LinearWeights(None)))
    with pytest.raises(ShapeError, match=r"got down.weight \(11, 12\), expected \(12, 11\)"):
        module.load_weights(dataclasses.replace(weights, down=LinearWeights(weights.down.weight.T, weights.down.bias)))
    assert all(torch.equal(module.state_dict()[name], tensor) for name, tensor in before.items())


def test_two_leaves_that_are_one_parameter_must_agree():
    tied = BY_NAME["gpt2"].module()
    weights = dataclasses.replace(tied.weights(), output_head=tied.token_embedding.detach() + 1)
    with pytest.raises(OptionError, match="got different arrays for token_embedding and output_head, expected equal arrays"):
        tied.load_weights(weights)
    untied = nn.GPT2(VOCAB, TABLE, HIDDEN, HEADS, LAYERS, intermediate_size=INNER, is_tied=False)
    untied.load_weights(weights)
    assert not torch.equal(untied.output_head, untied.token_embedding)
    tied.load_weights(tied.weights())


def test_hooks_of_layers_are_run_by_their_stack():
    module, seen = BY_NAME["encoder"].module(), []
    for layer in module.layers:
        layer.register_forward_hook(lambda layer, inputs, output: seen.append(layer))
    module(X)
    assert seen == list(module.layers)


def test_a_rate_for_all_places_or_one_for_each():
    module = nn.GPT2(VOCAB, TABLE, HIDDEN, HEADS, LAYERS, dropout=nn.DropoutRates(embedding=0.2))
    assert module.layers[1].attention.dropout == nn.DropoutRates(attention=0.0, output=0.0, embedding=0.2)
    assert nn.EncoderLayer(HIDDEN, HEADS, INNER, dropout=0.3).feed_forward.dropout == nn.DropoutRates(0.3, 0.3, 0.3)


def test_one_step_against_the_gradient_lowers_the_loss():
    module = BY_NAME["gpt2"].module(dropout=0.0).train()
    optimizer = torch.optim.SGD(module.parameters(), lr=0.1)

    def loss():
        return torch.nn.functional.cross_entropy(module(IDS[:, :-1]).flatten(0, 1), IDS[:, 1:].flatten())

    before = loss()
    before.backward()
    optimizer.step()
    assert loss() < before


def test_the_public_names_are_these():
    modules = (
        "CausalSelfAttention", "CrossAttention", "Decoder", "DecoderLayer", "Encoder", "EncoderLayer", "FeedForward", "GPT2", "GatedFeedForward",
        "LearnedPositions", "Module", "MultiHeadAttention", "SelfAttention", "SinusoidalPositions", "StackedHeads", "Transformer",
    )  # fmt: skip
    others = ("DropoutRates", "from_torch", "from_torch_state_dict", "to_torch", "to_torch_state_dict", "with_dropout")
    assert set(nn.__all__) == {*modules, *others}
    assert all(issubclass(getattr(nn, name), torch.nn.Module) for name in modules)
    assert all(getattr(nn, name).__doc__ for name in nn.__all__)


def test_without_torch_importing_says_how_to_install_it():
    program = "import sys; sys.modules['torch'] = None\ntry:\n    import headway.nn\nexcept ImportError as error:\n    print(error)"
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert "pip install 'headway[torch]'" in said


def test_numpy_arrays_that_may_not_be_written_are_loaded_too():
    weights = map_tree(lambda leaf: np.asarray(to_numpy(leaf)), randomized(nn.FeedForward(HIDDEN, INNER)).weights())
    weights.up.weight.setflags(write=False)
    nn.FeedForward(HIDDEN, INNER).load_weights(weights)
