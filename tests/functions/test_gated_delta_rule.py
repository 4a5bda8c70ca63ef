from __future__ import annotations

import numpy as np
import pytest
import torch

from headway.errors import ShapeError
from headway.functions import causal_conv, gated_delta_rule
from tests.functions.close import assert_close

HEADS, LENGTH, HEAD_DIM, VALUE_DIM = 3, 70, 5, 4  # longer than a chunk of 64 positions


def draw():
    random = np.random.default_rng(0)
    query, key = random.standard_normal((2, 2, HEADS, LENGTH, HEAD_DIM)).astype(np.float32)
    key /= np.linalg.norm(key, axis=-1, keepdims=True)
    value = random.standard_normal((2, HEADS, LENGTH, VALUE_DIM)).astype(np.float32)
    decay, strength = random.uniform(0.2, 1, (2, 2, HEADS, LENGTH)).astype(np.float32)
    return query, key, value, decay, strength


@pytest.mark.parametrize("has_state", [True, False])
@pytest.mark.parametrize("form", ["recurrent", "chunk"])
def test_it_is_that_of_transformers(form, has_state):
    from transformers.models.qwen3_next import modeling_qwen3_next as theirs

    arguments = draw()
    state = np.random.default_rng(1).standard_normal((2, HEADS, HEAD_DIM, VALUE_DIM)).astype(np.float32) if has_state else None
    query, key, value, decay, strength = (torch.from_numpy(each).transpose(1, 2) for each in arguments)
    expected, final = getattr(theirs, f"torch_{form}_gated_delta_rule")(
        query,
        key,
        value,
        g=decay.log(),
        beta=strength,
        initial_state=None if state is None else torch.from_numpy(state),
        output_final_state=True,
    )
    outputs, last = gated_delta_rule(*arguments, state)
    assert_close(outputs, expected.transpose(1, 2).numpy())
    assert_close(last, final.numpy())


def test_positions_one_by_one_equal_one_pass():
    arguments, state, parts = draw(), None, []
    for t in range(5):
        part, state = gated_delta_rule(*(each[:, :, t : t + 1] for each in arguments), state)
        parts.append(part)
    outputs, last = gated_delta_rule(*(each[:, :, :5] for each in arguments))
    assert_close(np.concatenate(parts, axis=-2), outputs)
    assert_close(state, last)


def test_a_full_correction_recalls_the_last_value_of_a_key():
    key = np.zeros((1, 3, 4))
    key[0, [0, 1, 2], [1, 2, 1]] = 1
    value = np.arange(6.0).reshape(1, 3, 2)
    outputs, _ = gated_delta_rule(key, key, value, np.ones((1, 3)), np.ones((1, 3)), scale=1.0)
    np.testing.assert_array_equal(outputs, value)


def test_gradients_are_those_of_finite_differences():
    arguments = [torch.from_numpy(each[:1, :1, :3].astype(np.float64)).requires_grad_() for each in draw()]
    assert torch.autograd.gradcheck(gated_delta_rule, arguments)


def test_shapes_that_do_not_match_are_named():
    query, key, value, decay, strength = draw()
    with pytest.raises(ShapeError, match=r"expected \(\.\.\., seq_len, head_dim\) twice"):
        gated_delta_rule(query, key[..., :4], value, decay, strength)
    with pytest.raises(ShapeError, match="expected"):
        gated_delta_rule(query, key, value, decay[..., :2], strength)


@pytest.mark.parametrize("kernel_size", [1, 4])
def test_a_convolution_is_torchs(kernel_size):
    random = np.random.default_rng(0)
    x, kernel, bias = random.standard_normal((2, 9, 5)), random.standard_normal((5, kernel_size)), random.standard_normal(5)
    inputs = torch.nn.functional.pad(torch.from_numpy(x).transpose(1, 2), (kernel_size - 1, 0))
    expected = torch.nn.functional.conv1d(inputs, torch.from_numpy(kernel)[:, None], torch.from_numpy(bias), groups=5)
    assert_close(causal_conv(x, kernel, bias), expected.transpose(1, 2).numpy())
    first = causal_conv(x[:, :6], kernel, bias)
    previous = np.concatenate([np.zeros((2, kernel_size - 1, 5)), x[:, :6]], axis=1)[:, 6:]
    assert_close(np.concatenate([first, causal_conv(x[:, 6:], kernel, bias, previous)], axis=1), causal_conv(x, kernel, bias))


@pytest.mark.parametrize(("kernel", "previous"), [((4, 3), None), ((5, 3), (2, 3, 5)), ((5,), None)])
def test_a_convolution_with_shapes_that_do_not_match_is_an_error(kernel, previous):
    with pytest.raises(ShapeError, match=r"expected a kernel \(5, kernel_size\)"):
        causal_conv(np.zeros((2, 9, 5)), np.zeros(kernel), None, None if previous is None else np.zeros(previous))
