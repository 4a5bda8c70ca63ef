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
assert not {"torch._refs", "torch._dynamo.eval_frame"} & {*sys.modules}
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


@pytest.mark.parametrize("rest", [COMPILED, META])
def test_the_compiler_and_the_meta_device_of_pytorch_are_imported_when_they_are_used(rest):
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
