"""Modules and functions with torch.compile: one graph, no warning, the same results."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
import torch
from torch._dynamo.testing import CompileCounter

from headway import functions, nn
from tests.functions.close import assert_close
from tests.nn.cases import BY_NAME, HEADS, HIDDEN, IDS, INNER, LAYERS, TABLE, VOCAB, X_TOKENS, X

QUICK = ("causal_self_attention", "feed_forward", "stacked_heads", "encoder_layer")
SLOW = ("grouped_heads_without_bias", "gated_feed_forward", "transformer", "gpt2")
"""Cross-attention and the decoder layer are parts of the transformer."""
every_module = pytest.mark.parametrize(
    "case",
    [BY_NAME[name] for name in QUICK] + [pytest.param(BY_NAME[name], marks=pytest.mark.slow) for name in SLOW],
    ids=lambda case: case.name,
)
every_use = pytest.mark.parametrize(("is_training", "has_padding"), [(False, False), (True, True)], ids=["eval-whole", "train-padded"])


@pytest.fixture(autouse=True)
def _fresh():
    torch._dynamo.reset()


@pytest.mark.slow
@every_module
def test_a_compiled_module_is_one_graph_and_computes_the_same(case):
    module = case.module()
    compiled = torch.compile(module, backend="aot_eager", fullgraph=True)
    expected, came = module(*case.inputs, **case.masks), compiled(*case.inputs, **case.masks)
    assert_close(came, expected)
    parameters = list(module.parameters())
    for one, other in zip(
        torch.autograd.grad(came.square().sum(), parameters), torch.autograd.grad(expected.square().sum(), parameters), strict=True
    ):
        assert_close(one, other)


@pytest.mark.slow
@every_module
def test_a_compiled_module_trains_with_dropout(case):
    module = case.module(dropout=0.5).train()
    compiled = torch.compile(module, backend="eager", fullgraph=True)
    torch.manual_seed(0)
    came = compiled(*case.inputs, **case.masks)
    came.sum().backward()
    assert all(p.grad is not None and p.grad.isfinite().all() for p in module.parameters())
    assert not torch.equal(compiled(*case.inputs, **case.masks), came)
    assert_close(compiled.eval()(*case.inputs, **case.masks), module(*case.inputs, **case.masks))


@pytest.mark.parametrize("kind", [nn.SinusoidalPositions, nn.LearnedPositions])
def test_compiled_positions_compute_the_same(kind):
    module = kind(TABLE, HIDDEN).double()
    assert_close(torch.compile(module, backend="aot_eager", fullgraph=True)(X), module(X))


def test_what_runs_in_between_compiles_nothing_anew():
    counter = CompileCounter()

    def attend(x, mask):
        return functions.scaled_dot_product_attention(functions.gelu(x), x, x, mask)

    compiled = torch.compile(attend, backend=counter, fullgraph=True)
    mask = torch.ones(5, 5, dtype=torch.bool)
    for _ in range(2):
        compiled(X, mask)
        functions.softmax(np.ones(3, np.float32)), functions.linear(X.half(), torch.nn.Parameter(torch.ones(7, HIDDEN).half()))
        functions.causal_mask(3, 5, like=X.float())
    assert counter.frame_count == 1


@pytest.mark.slow
def test_the_first_call_of_all_may_be_a_compiled_one():
    program = """
import torch
from headway import functions
x = torch.linspace(0, 1, 30).reshape(5, 6)
weights = functions.MultiHeadAttentionWeights(*(functions.LinearWeights(torch.eye(6) * (i + 1), torch.ones(6)) for i in range(4)))
layer = functions.EncoderLayerWeights(weights, functions.NormWeights(torch.ones(6)),
    functions.FeedForwardWeights(functions.LinearWeights(torch.eye(6)), functions.LinearWeights(torch.eye(6))), functions.NormWeights(torch.ones(6)))
def forward(x):
    return functions.encoder_layer(x, layer, num_heads=2, mask=functions.causal_mask(5, like=x), activation=functions.gelu)
compiled = torch.compile(forward, backend="eager", fullgraph=True)(x)
print(bool(torch.equal(compiled, forward(x))))
"""
    done = subprocess.run([sys.executable, "-W", "error", "-c", program], capture_output=True, text=True, check=False)
    assert (done.stdout.strip(), done.returncode) == ("True", 0), done.stderr[-2000:]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # torch warns while it imports its compiler
def test_the_default_compiler_computes_the_same():
    module = nn.GPT2(VOCAB, TABLE, HIDDEN, HEADS, LAYERS, intermediate_size=INNER, dropout=0.0).train()
    compiled = torch.compile(module, fullgraph=True)
    came, expected = compiled(IDS, attention_mask=X_TOKENS), module(IDS, attention_mask=X_TOKENS)
    assert_close(came, expected)
    assert_close(*(torch.autograd.grad(out.square().sum(), module.token_embedding)[0] for out in (came, expected)))


@pytest.mark.slow
@every_use
def test_any_length_is_one_graph(is_training, has_padding):
    module = BY_NAME["gpt2"].module().train(is_training)
    compiled = torch.compile(module, backend="eager", fullgraph=True)
    for seq_len in (5, 3, 4, 1):
        masks = {"attention_mask": X_TOKENS[:, :seq_len]} if has_padding else {}
        assert_close(compiled(IDS[:, :seq_len], **masks), module(IDS[:, :seq_len], **masks))
