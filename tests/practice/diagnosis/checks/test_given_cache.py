"""An attention that stores its keys and values in a cache that its caller gives it: the later passes have the outputs of a whole pass."""

from __future__ import annotations

import pytest

from tests.practice.diagnosis.checks.judging import verdict_on

STORE = """
import torch
from torch import nn

class LayerCache:
    def __init__(self, batch_size, max_seq_len, num_heads, head_dim):
        self.keys = torch.zeros(batch_size, num_heads, max_seq_len, head_dim)
        self.values = torch.zeros_like(self.keys)
        self.seen = 0

    def append(self, keys, values):
        end = self.seen + keys.shape[2]
        self.keys[:, :, self.seen:end], self.values[:, :, self.seen:end] = keys, values
        self.seen = end
        return self.keys[:, :, :end], self.values[:, :, :end]

"""
ATTENTION = """
class SelfAttention(nn.Module):
    def __init__(self, width, num_heads):
        super().__init__()
        self.num_heads = num_heads
        self.inward, self.outward = nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x, cache=None):
        batch, length, width = x.shape
        q, k, v = (part.view(batch, length, self.num_heads, -1).transpose(1, 2) for part in self.inward(x).chunk(3, dim=-1))
        before = 0
        if cache is not None:
            before = cache.seen
            k, v = cache.append(k, v)
        place = torch.arange(before, before + length)
        is_later = torch.arange(before + length)[None, :] > place[:, None]
        scores = (q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5).masked_fill(is_later, float("-inf"))
        return self.outward((scores.softmax(-1) @ v).transpose(1, 2).reshape(batch, length, width))
"""
OF_CLASS = STORE + ATTENTION
ONE = "        if length == 1:\n            is_later = torch.zeros_like(is_later)\n        scores ="
OF_DICT = "import torch\nfrom torch import nn\n" + ATTENTION.replace(
    "cache.seen\n", 'cache["k"].shape[2] if "k" in cache else 0\n'
).replace(
    "            k, v = cache.append(k, v)\n",
    '            if "k" in cache:\n'
    '                k, v = torch.cat([cache["k"], k], dim=2), torch.cat([cache["v"], v], dim=2)\n'
    '            cache["k"], cache["v"] = k, v\n',
)


def causes(folder, text):
    return [cause.name for cause in verdict_on(folder, text, "SelfAttention").causes]


@pytest.mark.parametrize("text", [OF_CLASS, OF_DICT])
def test_an_attention_with_a_cache_that_it_is_given_is_correct(tmp_path, text):
    verdict = verdict_on(tmp_path, text, "SelfAttention")
    assert verdict.is_correct
    assert not any("one new position at a time" in note.en for note in verdict.notes)


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("torch.arange(before, before + length)\n", "torch.arange(length)\n"),
        (
            "            before = cache.seen\n            k, v = cache.append(k, v)\n",
            "            k, v = cache.append(k, v)\n            before = cache.seen\n",
        ),
        ("k, v = cache.append(k, v)", "k, _ = cache.append(k, v)\n            v = k"),
    ],
)
def test_a_mistake_with_a_cache_of_the_file_is_found(tmp_path, right, wrong):
    assert OF_CLASS.count(right) == 1
    assert causes(tmp_path, OF_CLASS.replace(right, wrong)) == ["cached_differs"]


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ('torch.cat([cache["v"], v], dim=2)', 'torch.cat([v, cache["v"]], dim=2)'),
        ('cache["k"], cache["v"] = k, v\n', 'cache["k"], cache["v"] = k, k\n'),
    ],
)
def test_a_mistake_with_a_dict_as_a_cache_is_found(tmp_path, right, wrong):
    assert OF_DICT.count(right) == 1
    assert causes(tmp_path, OF_DICT.replace(right, wrong)) == ["cached_differs"]


def test_a_mask_that_is_right_for_one_new_position_only_is_noted(tmp_path):
    one = OF_CLASS.replace("torch.arange(before, before + length)\n", "torch.arange(length)\n").replace("        scores =", ONE)
    verdict = verdict_on(tmp_path, one, "SelfAttention")
    assert verdict.is_correct
    assert any("one new position at a time" in note.en for note in verdict.notes)


def test_a_wrong_cache_is_not_the_fault_of_the_attention(tmp_path):
    text = OF_CLASS.replace("self.seen = end", "self.seen = keys.shape[2]")
    assert verdict_on(tmp_path, text, "SelfAttention").is_correct
