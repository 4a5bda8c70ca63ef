"""Properties of all modules."""

from __future__ import annotations

import copy
import pickle

import pytest
import torch

from headway.arrays import to_numpy
from headway.trees import leaves, map_tree
from tests.functions.close import assert_close
from tests.nn.cases import CASES, X

every_module = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
every_module_with_masks = pytest.mark.parametrize("case", [case for case in CASES if case.masks], ids=lambda case: case.name)

KEEPS_FLOAT32 = ("encoder_layer", "encoder", "decoder_layer", "decoder", "transformer")
"""Modules that return the residual stream in float32 with autocast; the others return a bfloat16 product."""


def floating(case):
    """Return copies of the inputs, with gradients for floating-point ones."""
    return [x.clone().requires_grad_() if x.is_floating_point() else x for x in case.inputs]


@every_module
def test_a_module_computes_what_its_definition_computes_from_its_weights(case):
    module = case.module()
    assert_close(module(*case.inputs), case.definition(module.weights(), *case.inputs))


@every_module_with_masks
def test_a_module_with_masks_computes_what_its_definition_computes(case):
    module = case.module()
    masked = module(*case.inputs, **case.masks)
    assert_close(masked, case.definition(module.weights(), *case.inputs, *case.masks_of_definition()))
    assert not torch.equal(masked, module(*case.inputs))


@every_module_with_masks
@pytest.mark.parametrize("dropout", [0.0, 0.5], ids=["eval", "train"])
def test_a_mask_that_hides_a_whole_row_never_makes_nan(case, dropout):
    module, inputs = case.module(dropout).train(dropout > 0), floating(case)
    hidden = {name: mask * torch.tensor([[0], [1]]) for name, mask in case.masks.items()}
    came = module(*inputs, **hidden)
    gradients = torch.autograd.grad(came.square().sum(), [*module.parameters(), *inputs])
    assert all(array.isfinite().all() for array in (came, *gradients))
    if not dropout:
        rows = [mask[:, None, None] != 0 for mask in hidden.values()]
        assert_close(came, case.definition(module.weights(), *inputs, *rows))


@every_module
def test_numpy_computes_the_same_from_its_weights(case):
    module = case.module()
    weights, inputs = map_tree(to_numpy, module.weights()), [to_numpy(x) for x in case.inputs]
    assert_close(case.definition(weights, *inputs), module(*case.inputs))


@every_module
def test_gradients_are_those_of_finite_differences(case):
    module = case.module()
    names, parameters = zip(*module.named_parameters(), strict=True)

    def forward(*arrays):
        given, arrays = arrays[: len(case.inputs)], arrays[len(case.inputs) :]
        return torch.func.functional_call(module, dict(zip(names, arrays, strict=True)), given, case.masks)

    assert torch.autograd.gradcheck(forward, (*floating(case), *parameters), fast_mode=True)


@every_module
def test_gradients_are_those_of_the_definition(case):
    module, weights = case.module(), torch.randn(case.module()(*case.inputs).shape, dtype=torch.float64)
    mine, inputs = list(module.parameters()), floating(case)
    inputs_of_mine = [x for x in inputs if x.requires_grad]
    came = torch.autograd.grad((module(*inputs, **case.masks) * weights).sum(), mine + inputs_of_mine)
    defined = case.definition(module.weights(), *inputs, *case.masks_of_definition())
    for one, other in zip(came, torch.autograd.grad((defined * weights).sum(), mine + inputs_of_mine), strict=True):
        assert_close(one, other)


@every_module
def test_the_names_of_parameters_are_the_paths_of_the_weight_tree(case):
    module = case.module()
    tree = dict(leaves(module.weights()))
    assert module.state_dict().keys() == tree.keys()
    assert all(tree[name] is parameter for name, parameter in module.named_parameters())


@every_module
def test_a_state_dict_goes_round(case):
    module, other = case.module(), case.module(seed=1)
    assert not torch.equal(other(*case.inputs), module(*case.inputs))
    other.load_state_dict(module.state_dict())
    assert torch.equal(other(*case.inputs), module(*case.inputs))


@every_module
def test_a_weight_tree_of_numpy_goes_round(case):
    module, other = case.module(), case.module(seed=1)
    other.load_weights(map_tree(to_numpy, module.weights()))
    assert torch.equal(other(*case.inputs), module(*case.inputs))


@every_module
@pytest.mark.parametrize("copied", [copy.deepcopy, lambda module: pickle.loads(pickle.dumps(module))], ids=["deepcopy", "pickle"])
def test_a_copy_computes_the_same_and_shares_nothing(case, copied):
    module = case.module(dropout=0.1)
    other = copied(module)
    expected = module(*case.inputs)
    assert torch.equal(other(*case.inputs), expected)
    for parameter in module.parameters():
        parameter.data.zero_()
    assert torch.equal(other(*case.inputs), expected)
    assert len(list(other.parameters())) == len(list(module.parameters()))
    other.train()(*case.inputs)


@every_module
def test_float32_and_bfloat16_are_near_float64_and_stay_what_they_are(case):
    module = case.module()
    expected = module(*case.inputs, **case.masks)
    for dtype, tolerance in ((torch.float32, 1e-4), (torch.bfloat16, 0.15)):
        inputs = [x.to(dtype) if x.is_floating_point() else x for x in case.inputs]
        came = module.to(dtype)(*inputs, **case.masks)
        assert came.dtype == dtype
        torch.testing.assert_close(came.double(), expected, atol=tolerance * expected.abs().max().item(), rtol=0)


@every_module
def test_under_autocast_results_are_near_and_gradients_are_finite(case):
    module = case.module().float()
    inputs = [x.float() if x.is_floating_point() else x for x in case.inputs]
    expected = module(*inputs, **case.masks)
    with torch.autocast("cpu", torch.bfloat16):
        came = module(*inputs, **case.masks)
    assert came.dtype == (torch.float32 if case.name.endswith(KEEPS_FLOAT32) else torch.bfloat16)
    torch.testing.assert_close(came.float(), expected, atol=0.1 * expected.abs().max().item(), rtol=0)
    came.sum().backward()
    assert all(p.grad.dtype == torch.float32 and p.grad.isfinite().all() for p in module.parameters())


@every_module
def test_dropout_acts_while_training_and_not_after_eval(case):
    module = case.module(dropout=0.5)
    expected = case.module()(*case.inputs, **case.masks)
    assert torch.equal(module(*case.inputs, **case.masks), expected)
    assert torch.equal(module(*case.inputs, **case.masks), expected)
    module.train()
    torch.manual_seed(0)
    first, second = module(*case.inputs, **case.masks), module(*case.inputs, **case.masks)
    assert not torch.equal(first, second)
    torch.manual_seed(0)
    assert torch.equal(module(*case.inputs, **case.masks), first)
    assert torch.equal(module.eval()(*case.inputs, **case.masks), expected)


@every_module
def test_without_dropout_training_computes_the_same(case):
    module = case.module()
    expected = module(*case.inputs, **case.masks)
    assert torch.equal(module.train()(*case.inputs, **case.masks), expected)


@pytest.mark.parametrize("case", [case for case in CASES if case.name != "gpt2"], ids=lambda case: case.name)
def test_other_leading_axes_are_allowed(case):
    module = case.module()
    expected = module(*case.inputs, **case.masks)
    one = module(*(x[1] for x in case.inputs), **{name: mask[1] for name, mask in case.masks.items()})
    assert_close(one, expected[1])
    two = module(*(x[:, None] for x in case.inputs), **{name: mask[:, None] for name, mask in case.masks.items()})
    assert_close(two[:, 0], expected)


def test_the_cases_are_in_float64():
    assert X.dtype == torch.float64
    assert {p.dtype for case in CASES for p in case.module().parameters()} == {torch.float64}
