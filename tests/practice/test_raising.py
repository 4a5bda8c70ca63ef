"""Programs that raise or never return: a mistake if a repair, or the exception itself, leaves no doubt."""

from __future__ import annotations

import textwrap

import pytest

from headway.practice.diagnosis.explain.undefined import undefined
from headway.practice.diagnosis.files import load_module
from headway.practice.diagnosis.reading.subject import subjects_of
from headway.practice.diagnosis.sandbox import check_file
from tests.practice.programs import MERGE

SOFTMAX = """
    import numpy as np

    def softmax(x):
        e = np.exp(x - x.max(axis=-1, keepdims=True))
        return e / LAST
"""
HEADS = """
    import numpy as np

    def softmax(x):
        e = np.exp(x - x.max(axis=-1, keepdims=True))
        return e / e.sum(axis=-1, keepdims=True)

    class LayerNorm:
        def __init__(self, dim, eps=1e-5):
            self.gamma = np.ones(dim)
            self.beta = np.zeros(dim)
            self.eps = eps

        def __call__(self, x):
            mean = x.mean(axis=-1, keepdims=True)
            var = x.var(axis=-1, keepdims=True)
            return self.gain * (x - mean) / np.sqrt(var + self.eps) + self.beta
"""


def checked(tmp_path, text):
    path = tmp_path / "mine.py"
    path.write_text(textwrap.dedent(text))
    return {verdict.subject: verdict for verdict in check_file(path)}


def test_an_exception_that_a_repair_removes_is_a_mistake(tmp_path):
    verdict = checked(tmp_path, SOFTMAX.replace("LAST", "np.sum(e, axis=-1, keepdims=e)"))["softmax"]
    assert (verdict.status, verdict.causes[0].line, verdict.causes[0].name) == ("wrong", 6, "raises_TypeError")
    assert [edit.line for edit in verdict.repair.edits] == [6]


def test_an_exception_of_the_program_itself_is_no_mistake(tmp_path):
    text = SOFTMAX.replace("LAST", "e.sum(axis=-1, keepdims=True)").replace(
        "        e = np.exp", "        if np.ndim(x) < 9:\n            raise ValueError(x)\n        e = np.exp"
    )
    assert checked(tmp_path, text)["softmax"].status == "could not run"


UNWRITTEN = '''
    import numpy as np

    class LayerNorm:
        def __init__(self, dim, eps=1e-5):
            self.gamma = np.ones(dim)
            self.beta = ...
            self.eps = eps

        def __call__(self, x):
            return self.gamma * (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + self.eps) + self.beta

    def softmax(x):
        ...
        return e / e.sum(-1, keepdims=True)

    def relu(x):
        every = ...
        return np.maximum(x[every], 0)

    class KVCache:
        def __init__(self, max_len):
            pass

        def update_and_fetch(self, key, value):
            """Add a key and a value."""
            pass
'''


def test_code_that_is_not_written_yet_is_no_mistake(tmp_path):
    found = checked(tmp_path, UNWRITTEN)
    causes = {name: [(cause.name, cause.line) for cause in each.causes] for name, each in found.items()}
    assert causes == {"LayerNorm": [("unfinished", 7)], "softmax": [("unfinished", 14)], "relu": [], "KVCache": [("unfinished", 23)]}
    assert [each.status for each in found.values()] == ["could not run", "could not run", "correct", "could not run"]
    assert all(each.repair is None for each in found.values())


def test_a_name_that_the_file_defines_elsewhere_is_no_mistake(tmp_path):
    text = SOFTMAX.replace("LAST", "total") + "\n    if __name__ == '__main__':\n        total = 1\n"
    verdict = checked(tmp_path, text)["softmax"]
    assert verdict.status == "could not run" or verdict.repair is not None


def test_an_attribute_that_nothing_assigns_is_a_mistake(tmp_path):
    verdict = checked(tmp_path, HEADS)["LayerNorm"]
    assert (verdict.status, verdict.causes[0].line) == ("wrong", 17)


def test_a_name_that_nothing_defines_is_a_mistake_of_scaled_attention(tmp_path):
    text = """
        import torch
        from torch import nn

        class ScaledAttention(nn.Module):
            def __init__(self, width: int, depth: int):
                super().__init__()
                self.q, self.k, self.v, self.o = (nn.Linear(width, depth, bias=False) for _ in range(4))

            def forward(self, x, memory):
                q = self.q(x) * depth ** -0.5
                return self.o(torch.softmax(q @ self.k(memory).mT, -1) @ self.v(memory))
    """
    verdict = checked(tmp_path, text)["ScaledAttention"]
    assert (verdict.status, verdict.causes[0].name, verdict.causes[0].line) == ("wrong", "raises_NameError", 11)


@pytest.mark.slow
def test_a_loop_that_never_ends_is_repaired(tmp_path):
    verdict = checked(tmp_path, MERGE.replace("i += 1", "i = 1"))["merge"]
    assert (verdict.status, verdict.causes[0].name) == ("wrong", "too_slow")
    assert verdict.repair.says.en == "line 10: i = 1 → i += 1"


@pytest.mark.slow
def test_an_attribute_that_nothing_sets_is_a_mistake_where_the_class_cannot_be_called(tmp_path):
    text = """
        from torch import nn

        class FeedForward(nn.Module):
            def __init__(self, dim, inner):
                super().__init__()
                self.dim = dim

            def forward(self, x):
                return self.layers(x)
    """
    verdict = checked(tmp_path, text)["FeedForward"]
    assert (verdict.status, verdict.causes[0].name, verdict.causes[0].line) == ("wrong", "raises_AttributeError", 10)


@pytest.mark.slow
def test_a_module_that_does_not_call_its_base_constructor_is_wrong(tmp_path):
    text = """
        import torch
        from torch import nn

        class LayerNorm(nn.Module):
            def __init__(self, emb_dim):
                self.eps = 1e-5
                self.scale = nn.Parameter(torch.ones(emb_dim))
                self.shift = nn.Parameter(torch.zeros(emb_dim))

            def forward(self, x):
                mean, var = x.mean(-1, keepdim=True), x.var(-1, keepdim=True, unbiased=False)
                return self.scale * (x - mean) / torch.sqrt(var + self.eps) + self.shift
        """
    verdict = checked(tmp_path, text)["LayerNorm"]
    assert verdict.status == "wrong", verdict
    assert "super().__init__()" in verdict.causes[0].fix.en


@pytest.mark.slow
def test_a_private_function_that_raises_is_reported_only_if_one_change_makes_it_right(tmp_path):
    text = MERGE.replace("def merge(", "def _merge_pair(").replace("new.append(ids[i])", "new.append(ids[new])")
    verdict = checked(tmp_path, text)["_merge_pair"]
    assert (verdict.status, [edit.line for edit in verdict.repair.edits]) == ("wrong", [9])
    assert not checked(tmp_path, "def _merge_pair(ids, pair, idx):\n    return ids.merged(pair).with_all(idx)\n")


LAYER = """
    from torch import nn

    class FeedForward(nn.Module):
        def __init__(self, d_model, d_ff):
            super().__init__()
            self.first = nn.Linear(d_model, d_ff)
            self.second = nn.Linear(in_features=d_ff)

        def forward(self, x):
            return self.second(nn.functional.relu(self.first(x)))
"""


@pytest.mark.slow
def test_a_library_function_without_an_operand_that_it_needs_is_a_mistake(tmp_path):
    verdict = checked(tmp_path, LAYER)["FeedForward"]
    assert (verdict.status, verdict.causes[0].name, verdict.causes[0].line) == ("wrong", "raises_TypeError", 8)


def test_a_call_of_an_own_function_without_an_operand_is_a_mistake(tmp_path):
    own = "\n    def halved(x, by):\n        return x / by\n\n    def softmax(x):\n        return halved(x)\n"
    verdict = checked(tmp_path, own)["softmax"]
    assert (verdict.status, verdict.causes[0].line) == ("wrong", 6)
    assert verdict.causes[0].says.en == "halved(x) raises TypeError: halved takes (x, by)"


def test_an_own_function_with_operands_from_a_dictionary_says_nothing_about_the_file(tmp_path):
    own = "\n    def halved(x, by):\n        return x / by\n\n    def softmax(x, **given):\n        return halved(x, **given)\n"
    assert checked(tmp_path, own)["softmax"].status == "could not run"


@pytest.mark.slow
def test_names_that_nothing_has_are_repaired_with_those_that_are_meant(tmp_path):
    text = """
        import torch
        from torch import nn

        class LayerNorm(nn.Module):
            def __init__(self, dim, eps=1e-5):
                super().__init()
                self.eps = eps
                self.gain = nn.Parameter(torch.ones(dim))
                self.bias = nn.Parameter(torch.zeross(dim))

            def forward(self, x):
                centred = x - x.mean(-1, keepdim=True)
                variance = (centred**2).mean(-1, keepdim=True)
                return self.gain * centred / torch.sqrt(variance + self.eps) + self.bias
        """
    verdict = checked(tmp_path, text)["LayerNorm"]
    assert (verdict.status, verdict.causes[0].name, verdict.causes[0].line) == ("wrong", "raises_AttributeError", 7)
    assert verdict.repair.says.en == "line 7: super().__init → super().__init__; line 10: torch.zeross → torch.zeros"


TWO_NORMS = """
    import torch
    from torch import nn

    class Other:
        def __init__(self, eps):
            self.eps = eps

    class RMSNorm(nn.Module):
        def __init__(self, sizes, eps=1e-6):
            super().__init__()
            self.weight = nn.Parameter(torch.ones(*sizes))

        def forward(self, x, more, scales):
            return self.weight * more(x) * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps) * scales[x]
"""
NAMES = """
    import numpy as np

    def other(x):
        top = x.max()
        return top

    def softmax(x):
        powers = np.exp(x - top)
        return powers / powers.sum(-1, keepdims=True).foo
"""


OF_LISTS = """
    import math

    def softmax(x):
        if not x:
            return []
        top = max(x)
        powers = [math.exp(each - top) for each in x]
        total = list(powers)
        return [each / total for each in powers]
"""


def test_a_function_of_lists_is_judged_with_lists_even_if_it_raises(tmp_path):
    verdict = checked(tmp_path, OF_LISTS)["softmax"]
    assert verdict.status == "wrong"
    assert "truth value" not in str(verdict)
    assert checked(tmp_path, OF_LISTS.replace("list(powers)", "sum(powers)"))["softmax"].is_correct


ASKED = """
    import torch
    from torch import nn
    from torch.nn import functional as F

    class CausalSelfAttention(nn.Module):
        def __init__(self, width, num_heads):
            super().__init__()
            self.num_heads = num_heads
            self.has_fast_one = hasattr(F, "scaled_dot_product_attention")
            self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)

        def forward(self, x):
            q, k, v = (each.unflatten(-1, (self.num_heads, -1)).transpose(1, 2) for each in self.qkv(x).chunk(3, dim=-1))
            return self.out(self.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2))
"""


@pytest.mark.parametrize(("owner", "is_undefined"), [("F", True), ("self", False)])
def test_a_name_that_is_looked_up_in_a_library_is_no_attribute(tmp_path, owner, is_undefined):
    path, text = tmp_path / "mine.py", textwrap.dedent(ASKED.replace("hasattr(F, ", f"hasattr({owner}, "))
    path.write_text(text)
    subject = next(each for each in subjects_of(load_module(path, text), text) if each.name == "CausalSelfAttention")
    cause = undefined(subject)
    assert (cause is not None and (cause.name, cause.line) == ("raises_AttributeError", 15)) == is_undefined


def test_an_attribute_that_only_another_class_sets_is_a_mistake(tmp_path):
    verdict = checked(tmp_path, TWO_NORMS)["RMSNorm"]
    assert (verdict.status, verdict.causes[0].name, verdict.causes[0].line) == ("wrong", "raises_AttributeError", 15)


@pytest.mark.slow
def test_a_name_that_only_another_function_assigns_is_a_mistake(tmp_path):
    verdict = checked(tmp_path, NAMES)["softmax"]
    assert (verdict.status, verdict.causes[0].name, verdict.causes[0].line) == ("wrong", "raises_NameError", 9)


@pytest.mark.parametrize(
    "added", ["    from math import *\n", "    if __name__ == '__main__':\n        top = 1.0\n", "    def main():\n        global top\n"]
)
def test_a_name_that_the_module_may_have_is_no_mistake(tmp_path, added):
    assert checked(tmp_path, NAMES + added)["softmax"].status == "could not run"


FIELDS = """
from dataclasses import dataclass

import numpy as np


@dataclass
class Linear:
    weight: np.ndarray

    def __call__(self, x):
        return x @ self.weight.T


@dataclass
class MLP:
    up: Linear
    down: Linear

    def __call__(self, x):
        return self.down(np.maximum(self.up(x), 0))
"""


def test_the_fields_of_a_dataclass_are_set(tmp_path):
    verdicts = checked(tmp_path, FIELDS)
    assert verdicts["Linear"].is_correct
    assert verdicts["MLP"].status != "wrong"
