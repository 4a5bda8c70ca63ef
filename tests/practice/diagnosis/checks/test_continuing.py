"""An attention with a key-value cache: one new position after cached ones has the output of a whole pass."""

from __future__ import annotations

import pytest

from tests.practice.diagnosis.checks.judging import verdict_on

CACHED = """
import torch
from torch import nn

class CachedAttention(nn.Module):
    def __init__(self, width, num_heads):
        super().__init__()
        self.num_heads, self.head_width = num_heads, width // num_heads
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x, kv_cache=None):
        batch, length, width = x.shape
        q, k, v = (part.view(batch, length, self.num_heads, -1).transpose(1, 2) for part in self.qkv(x).chunk(3, dim=-1))
        if kv_cache is not None:
            k, v = torch.cat([kv_cache[0], k], dim=2), torch.cat([kv_cache[1], v], dim=2)
        place = torch.arange(length)[:, None] + k.shape[2] - length
        later = torch.arange(k.shape[2])[None, :] > place
        scores = (q @ k.transpose(-2, -1) / self.head_width ** 0.5).masked_fill(later, float("-inf"))
        return self.out((scores.softmax(-1) @ v).transpose(1, 2).reshape(batch, length, width)), (k, v)
"""
ONE_AT_A_TIME = "later = later if length > 1 else torch.zeros_like(later)"


def test_a_cache_that_continues_a_pass_is_correct(tmp_path):
    verdict = verdict_on(tmp_path, CACHED)
    assert verdict.is_correct
    assert not any("one new position at a time" in note.en for note in verdict.notes)


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        (" + k.shape[2] - length", ""),
        ("torch.cat([kv_cache[0], k], dim=2)", "torch.cat([k, kv_cache[0]], dim=2)"),
        ("torch.cat([kv_cache[1], v], dim=2)", "torch.cat([kv_cache[0], v], dim=2)"),
        ("torch.cat([kv_cache[1], v], dim=2)", "v"),
    ],
)
def test_a_mistake_that_shows_only_with_the_cache_is_found(tmp_path, right, wrong):
    assert CACHED.count(right) == 1
    verdict = verdict_on(tmp_path, CACHED.replace(right, wrong))
    assert [cause.name for cause in verdict.causes] == ["cached_differs"]


def test_a_mask_that_is_right_for_one_new_position_only_is_noted(tmp_path):
    one_at_a_time = CACHED.replace(" + k.shape[2] - length", "").replace("        scores =", f"        {ONE_AT_A_TIME}\n        scores =")
    verdict = verdict_on(tmp_path, one_at_a_time)
    assert verdict.is_correct
    assert any("one new position at a time" in note.en for note in verdict.notes)


SWITCHED = """
import torch
from torch import nn

class CachedAttention(nn.Module):
    def __init__(self, width, num_heads):
        super().__init__()
        self.num_heads, self.head_width = num_heads, width // num_heads
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.register_buffer("cache_k", None, persistent=False)
        self.register_buffer("cache_v", None, persistent=False)
        self.position = 0

    def forward(self, x, use_cache=False):
        batch, length, width = x.shape
        q, k, v = (part.view(batch, length, self.num_heads, -1).transpose(1, 2) for part in self.qkv(x).chunk(3, dim=-1))
        if use_cache:
            self.cache_k = k if self.cache_k is None else torch.cat([self.cache_k, k], dim=2)
            self.cache_v = v if self.cache_v is None else torch.cat([self.cache_v, v], dim=2)
            k, v = self.cache_k, self.cache_v
        else:
            self.position = 0
        place = torch.arange(length)[:, None] + self.position
        self.position += length if use_cache else 0
        later = torch.arange(k.shape[2])[None, :] > place
        scores = (q @ k.transpose(-2, -1) / self.head_width ** 0.5).masked_fill(later, float("-inf"))
        return self.out((scores.softmax(-1) @ v).transpose(1, 2).reshape(batch, length, width))
"""


def test_a_cache_that_a_flag_switches_on_is_correct(tmp_path):
    assert verdict_on(tmp_path, SWITCHED).is_correct


@pytest.mark.parametrize(
    ("right", "wrong"),
    [("length if use_cache else 0", "0"), ("k, v = self.cache_k, self.cache_v", "pass"), ("torch.cat([self.cache_v, v], dim=2)", "v")],
)
def test_a_mistake_in_a_cache_that_a_flag_switches_on_is_found(tmp_path, right, wrong):
    assert SWITCHED.count(right) == 1
    verdict = verdict_on(tmp_path, SWITCHED.replace(right, wrong))
    assert [cause.name for cause in verdict.causes] == ["cached_differs"]


STACKED = """
import torch
from torch import nn

class CausalSelfAttention(nn.Module):
    def __init__(self, width, num_heads):
        super().__init__()
        self.num_heads, self.c_attn, self.c_proj = num_heads, nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x, past=None):
        q, k, v = (each.unflatten(-1, (self.num_heads, -1)).transpose(1, 2) for each in self.c_attn(x).chunk(3, dim=-1))
        present = torch.stack([k, v], dim=1)
        if past is not None:
            old_k, old_v = torch.unbind(past, dim=1)
            k, v = torch.cat([old_k, k], dim=-2), torch.cat([old_v, v], dim=-2)
        seen = torch.arange(q.shape[-2])[:, None] >= torch.arange(k.shape[-2]) - k.shape[-2] + q.shape[-2]
        scores = (q @ k.mT / q.shape[-1] ** 0.5).masked_fill(~seen, float("-inf"))
        return self.c_proj((scores.softmax(-1) @ v).transpose(1, 2).flatten(2)), present
"""


def test_new_keys_and_values_that_the_caller_joins_to_the_past_are_a_cache(tmp_path):
    verdict = verdict_on(tmp_path, STACKED)
    assert verdict.is_correct
    assert not any("one new position at a time" in note.en for note in verdict.notes)


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        (" - k.shape[-2] + q.shape[-2]", ""),
        ("torch.cat([old_v, v], dim=-2)", "torch.cat([v, old_v], dim=-2)"),
        ("torch.stack([k, v], dim=1)", "torch.stack([v, k], dim=1)"),
    ],
)
def test_a_mistake_with_the_past_that_the_caller_joins_is_found(tmp_path, right, wrong):
    assert STACKED.count(right) == 1
    verdict = verdict_on(tmp_path, STACKED.replace(right, wrong))
    assert [cause.name for cause in verdict.causes] == ["cached_differs"]


def test_a_cache_of_repeated_heads_that_cannot_be_joined_is_found_without_a_mask(tmp_path):
    text = CACHED.replace('.masked_fill(later, float("-inf"))', "").replace(
        "reshape(batch, length, width)), (k, v)", "reshape(batch, length, width)), (k.repeat(1, 2, 1, 1), v)"
    )
    verdict = verdict_on(tmp_path, text)
    assert [cause.name for cause in verdict.causes] == ["cached_differs"]
