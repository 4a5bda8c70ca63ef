"""Imports of PyTorch that are put off until they are used."""

from __future__ import annotations

import subprocess
import sys

import pytest

from headway.practice.diagnosis.sandbox import check_file

START = """
from headway.practice.diagnosis.reading.deferring import defer_compiler, import_meta_kernels
defer_compiler()
import sys, torch
linear = torch.nn.Linear(3, 4)
optimizer = torch.optim.AdamW(linear.parameters(), lr=0.1)
linear(torch.ones(2, 3)).sum().backward()
optimizer.step()
with torch._dynamo.disable():
    assert torch._dynamo.disable()(abs)(-1) == torch._dynamo.disable(abs)(-1) == 1
torch.multinomial(torch.ones(4), 1, generator=torch.Generator().manual_seed(0))
assert not {"torch._refs", "torch._dynamo.eval_frame", "torch.export.dynamic_shapes"} & {*sys.modules}
"""
COMPILED = """
function = torch.compile(lambda x: x * 2, backend="eager")
assert function(torch.ones(3)).tolist() == [2.0] * 3
import torch._dynamo.config
assert {"torch._refs", "torch._dynamo.eval_frame"} <= {*sys.modules}
"""
META = """
import_meta_kernels()
with torch.device("meta"):
    assert torch.nn.functional.scaled_dot_product_attention(*[torch.randn(2, 3, 5, 4)] * 3).shape == (2, 3, 5, 4)
import_meta_kernels()
"""
EXPORTED = """
from torch.export import Dim
assert torch.export.export(linear, (torch.ones(2, 3),), dynamic_shapes=({0: Dim("batch")},)).module()(torch.ones(5, 3)).shape == (5, 4)
"""
EXPORTED_MODULE = """
from torch.export.graph_signature import InputKind
"""
FLEXIBLE = """
from headway.practice.diagnosis.reading.deferring import prepare_flexible_attention
from torch.nn.attention.flex_attention import create_block_mask, flex_attention
prepare_flexible_attention()
x = torch.randn(1, 2, 5, 3, requires_grad=True)
attended = flex_attention(x, x, x, block_mask=create_block_mask(lambda row, head, i, j: i >= j, 1, 1, 5, 5, device="cpu"))
assert torch.allclose(attended, torch.nn.functional.scaled_dot_product_attention(x, x, x, is_causal=True), atol=1e-6)
attended.sum().backward()
"""


@pytest.mark.parametrize("rest", [COMPILED, META + EXPORTED, FLEXIBLE, EXPORTED_MODULE])
def test_the_compiler_the_export_and_the_meta_device_of_pytorch_are_imported_when_they_are_used(rest):
    pytest.importorskip("torch")
    subprocess.run([sys.executable, "-c", START + rest], check=True)


RELU = """
import torch

def relu(x):
    with torch.device("meta"):
        assert torch.nn.functional.scaled_dot_product_attention(*[torch.ones(2, 3, 5, 4)] * 3).ndim == 4
    return x.clamp(min=0)
"""


def test_a_part_that_makes_tensors_on_the_meta_device_is_judged(tmp_path):
    pytest.importorskip("torch")
    (tmp_path / "relu.py").write_text(RELU)
    [verdict] = check_file(tmp_path / "relu.py")
    assert verdict.status == "correct"
