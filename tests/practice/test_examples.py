"""Classes whose parameters have names that say nothing, which the file's own examples explain."""

from __future__ import annotations

import ast
from types import ModuleType

import pytest

from headway.practice.diagnosis.classes.usages import File, Place, usages
from headway.practice.diagnosis.diagnose import diagnose
from headway.practice.diagnosis.doubt import settled
from headway.practice.diagnosis.files import load_module
from headway.practice.diagnosis.reading.evaluating import Shape, UnknownValueError
from headway.practice.diagnosis.reading.subject import subjects_of
from headway.practice.diagnosis.recognising import recognised

HEAD = """import copy
import math
from dataclasses import dataclass

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F


"""

LETTERS = """
class MultiHeadAttention(nn.Module):
    def __init__(self, a, b, turn):
        super().__init__()
        self.b, self.c, self.turn = b, a // b, turn
        self.w_q, self.w_k, self.w_v, self.w_o = (nn.Linear(a, a, bias=False) for _ in range(4))

    def forward(self, u, blocked):
        n, t, d = u.shape
        q, k, v = (w(u).view(n, t, self.b, self.c).transpose(1, 2) for w in (self.w_q, self.w_k, self.w_v))
        s = self.turn(q) @ self.turn(k).transpose(-2, -1) / math.sqrt(self.c)
        if blocked is not None:
            s = s.masked_fill(blocked == 0, float("-inf"))
        return self.w_o((s.softmax(-1) @ v).transpose(1, 2).reshape(n, t, d))


class Unturned(nn.Module):
    def forward(self, x):
        return x


if __name__ == "__main__":
    heads, width = 8, 512
    mask = torch.tril(torch.ones(10, 10)).unsqueeze(0).unsqueeze(0)
    attention = MultiHeadAttention(width, heads, Unturned())
    x = torch.randn(2, 10, width)
    print(attention(x, mask).shape)
"""

READY_PARTS = """
class Heads(nn.Module):
    def __init__(self, h, d):
        super().__init__()
        self.h, self.k = h, d // h
        self.parts = nn.ModuleList(nn.Linear(d, d) for _ in range(4))

    def forward(self, q, k, v, mask=None):
        n, d = q.size(0), q.size(-1)
        q, k, v = (part(x).view(n, -1, self.h, self.k).transpose(1, 2) for part, x in zip(self.parts, (q, k, v)))
        s = q @ k.transpose(-2, -1) / math.sqrt(self.k)
        if mask is not None:
            s = s.masked_fill(mask == 0, -1e9)
        return self.parts[3]((s.softmax(-1) @ v).transpose(1, 2).reshape(n, -1, d))


class Inner(nn.Module):
    def __init__(self, d, f):
        super().__init__()
        self.one, self.two = nn.Linear(d, f), nn.Linear(f, d)

    def forward(self, x):
        return self.two(F.relu(self.one(x)))


class DecoderLayer(nn.Module):
    def __init__(self, size, first, second, third):
        super().__init__()
        self.first, self.second, self.third = first, second, third
        self.n1, self.n2, self.n3 = nn.LayerNorm(size), nn.LayerNorm(size), nn.LayerNorm(size)

    def forward(self, x, memory, src_mask, tgt_mask):
        x = self.n1(x + self.first(x, x, x, tgt_mask))
        x = self.n2(x + self.second(x, memory, memory, src_mask))
        return self.n3(x + self.third(x))


def build():
    dim, num_heads = 512, 8
    c = copy.deepcopy
    attn = Heads(num_heads, dim)
    return DecoderLayer(dim, c(attn), c(attn), Inner(dim, 2048))
"""

SETTINGS = """
class CausalSelfAttention(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.a, self.z = c["A"], c["Z"]
        self.qkv = nn.Linear(c["A"], 3 * c["A"])
        self.proj = nn.Linear(c["A"], c["A"])
        self.register_buffer("seen", torch.tril(torch.ones(c["L"], c["L"])).bool())

    def forward(self, x):
        n, t, d = x.shape
        q, k, v = (y.view(n, t, self.z, d // self.z).transpose(1, 2) for y in self.qkv(x).split(d, -1))
        s = (q @ k.transpose(-2, -1)) / math.sqrt(d // self.z)
        s = s.masked_fill(~self.seen[:t, :t], float("-inf"))
        return self.proj((s.softmax(-1) @ v).transpose(1, 2).reshape(n, t, d))


def test_shape():
    settings = {"A": 64, "Z": 4, "L": 32}
    x = torch.zeros(2, 7, 64)
    assert CausalSelfAttention(settings)(x).shape == x.shape
"""

OWN_CONFIG = """
@dataclass
class Shapes:
    wide: int
    many: int
    act: str


class FeedForward(nn.Module):
    def __init__(self, s):
        super().__init__()
        self.a, self.b, self.act = nn.Linear(s.wide, s.many), nn.Linear(s.many, s.wide), getattr(F, s.act)

    def forward(self, x):
        return self.b(self.act(self.a(x)))


if __name__ == "__main__":
    layer = FeedForward(Shapes(wide=32, many=128, act="gelu"))
    print(layer(torch.randn(4, 6, 32)).shape)
"""

OPTIONS = """
class RMSNorm(nn.Module):
    def __init__(self, shape, mode, tiny):
        super().__init__()
        if mode not in ("mean", "sum"):
            raise ValueError(mode)
        self.weight, self.tiny = nn.Parameter(torch.ones(shape)), tiny

    def forward(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.tiny) * self.weight


class Block(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.norm = RMSNorm(dim, "mean", 1e-6)
"""

GROUPED = """
class GroupQueryAttention(nn.Module):
    def __init__(self, d, per_head, hq, hkv, turned, bound):
        super().__init__()
        self.p, self.hq, self.hkv, self.turned = per_head, hq, hkv, turned
        self.q, self.o = nn.Linear(d, hq * per_head, bias=False), nn.Linear(hq * per_head, d, bias=False)
        self.k, self.v = nn.Linear(d, hkv * per_head, bias=False), nn.Linear(d, hkv * per_head, bias=False)
        self.register_buffer("seen", torch.tril(torch.ones(bound, bound)).bool())

    def forward(self, x, places):
        n, t, _ = x.shape
        q = self.turned(self.q(x).view(n, t, self.hq, self.p).transpose(1, 2), places)
        k = self.turned(self.k(x).view(n, t, self.hkv, self.p).transpose(1, 2), places)
        v = self.v(x).view(n, t, self.hkv, self.p).transpose(1, 2)
        k, v = (y.repeat_interleave(self.hq // self.hkv, 1) for y in (k, v))
        s = (q @ k.transpose(-2, -1) / self.p**0.5).masked_fill(~self.seen[:t, :t], float("-inf"))
        return self.o((s.softmax(-1) @ v).transpose(1, 2).reshape(n, t, -1))


def unturned(x, places):
    return x


def main():
    d_model, num_heads, num_kv_heads = 256, 8, 2
    layer = GroupQueryAttention(d_model, d_model // num_heads, num_heads, num_kv_heads, unturned, 128)
    print(layer(torch.randn(2, 16, d_model), None).shape)
"""

RIGHT = {
    "letters and a callable": (LETTERS, "MultiHeadAttention"),
    "parts made by the caller": (READY_PARTS, "DecoderLayer"),
    "a dictionary of letters": (SETTINGS, "CausalSelfAttention"),
    "a dataclass of the file": (OWN_CONFIG, "FeedForward"),
    "an option without a default": (OPTIONS, "RMSNorm"),
    "a function as an argument": (GROUPED, "GroupQueryAttention"),
}

WRONG = {
    "letters and a callable": (LETTERS.replace("math.sqrt(self.c)", "math.sqrt(d)"), "MultiHeadAttention"),
    "parts made by the caller": (READY_PARTS.replace("x + self.second(x, memory, memory", "x + self.second(x, x, x"), "DecoderLayer"),
    "a dictionary of letters": (SETTINGS.replace("d // self.z)\n        s =", "d)\n        s ="), "CausalSelfAttention"),
    "a dataclass of the file": (OWN_CONFIG.replace("self.b(self.act(self.a(x)))", "self.b(self.a(x))"), "FeedForward"),
    "an option without a default": (OPTIONS.replace("* torch.rsqrt", "* torch.sqrt"), "RMSNorm"),
    "a function as an argument": (
        GROUPED.replace("y.repeat_interleave(self.hq // self.hkv, 1)", "y.repeat(1, self.hq // self.hkv, 1, 1)"),
        "GroupQueryAttention",
    ),
}


def loaded(tmp_path, text):
    path = tmp_path / "mine.py"
    path.write_text(HEAD + text)
    module = load_module(path, HEAD + text)
    return {each.name: each for each in subjects_of(module, HEAD + text)}


def verdict_on(tmp_path, text, name):
    subject = loaded(tmp_path, text)[name]
    return settled([diagnose(subject, recognised(subject))])[0]


@pytest.mark.slow
@pytest.mark.parametrize("case", RIGHT)
def test_the_example_of_a_file_explains_its_parameters(tmp_path, case):
    verdict = verdict_on(tmp_path, *RIGHT[case])
    assert verdict.is_correct, verdict.text()


@pytest.mark.slow
@pytest.mark.parametrize("case", WRONG)
def test_a_mistake_is_found_through_the_example(tmp_path, case):
    verdict = verdict_on(tmp_path, *WRONG[case])
    assert verdict.status in ("wrong", "unknown"), verdict.text()


@pytest.mark.slow
@pytest.mark.parametrize("case", ["a dictionary of letters", "a dataclass of the file", "an option without a default"])
def test_without_an_example_nobody_is_accused(tmp_path, case):
    text, name = RIGHT[case]
    tree = ast.parse(text)
    tree.body = [each for each in tree.body if isinstance(each, ast.ClassDef) and each.name != "Block"]
    assert verdict_on(tmp_path, ast.unparse(tree), name).status not in ("wrong", "unknown")


VALUES = {
    "512 // 8": 64,
    "2 ** 3 - 1": 7,
    "torch.randn(2, 10, 512)": Shape((2, 10, 512)),
    "np.zeros((3, 4), dtype=int)": Shape((3, 4), "i"),
    "np.random.randint(0, 9, size=(2, 5))": Shape((2, 5), "i"),
    "torch.tril(torch.ones(4, 4)).unsqueeze(0).bool()": Shape((1, 4, 4), "b"),
    "torch.ones(2, 6).view(2, 3, -1).transpose(0, 2).shape": (2, 3, 2),
    "torch.rand(5, 6)[None, :, 1:3]": Shape((1, 5, 2)),
    "torch.arange(7) == 0": Shape((7,), "b"),
    "torch.tensor([[1, 2, 3]])": Shape((1, 3), "i"),
    "(1, 2)[1] if 3 > 2 else None": 2,
    "max(4, int(2.5))": 4,
    "{'heads': 4}['heads']": 4,
}


@pytest.mark.parametrize("text", VALUES)
def test_values_of_expressions(text):
    assert File(ast.parse(text), None).value(ast.parse(text, mode="eval").body, Place(None, None, 1)) == VALUES[text]


@pytest.mark.parametrize(
    "text",
    ["open('x')", "9 ** 9 ** 9", "'a' * 10**9", "__import__('os')", "(1).__class__", "[1] * 10**9", "unknown + 1", "1 / 0", "exec('1')"],
)
def test_nothing_else_is_evaluated(text):
    with pytest.raises(UnknownValueError):
        File(ast.parse(text), None).value(ast.parse(text, mode="eval").body, Place(None, None, 1))


def test_arguments_are_followed_through_constructors():
    text = "class A:\n    def __init__(self, n): pass\nclass B:\n    def __init__(self, width, m=2):\n        self.w = width * m\n        self.a = A(self.w)\nB(8)\n"
    module = ModuleType("mine")
    exec(text, module.__dict__)
    subject = next(each for each in subjects_of(module, text) if each.name == "A")
    assert [each.value("n") for each in usages(subject)] == [16]
