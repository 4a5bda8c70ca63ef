"""Models that take a key-value cache or keep one: the last token by itself has the logits of a whole pass."""

from __future__ import annotations

import pytest

from tests.practice.diagnosis.checks.judging import verdict_on

LAYERS = """
import torch
from torch import nn

class Block(nn.Module):
    def __init__(self, n_embd, n_head):
        super().__init__()
        self.n_head, self.cache = n_head, None
        self.ln_1, self.ln_2 = nn.LayerNorm(n_embd), nn.LayerNorm(n_embd)
        self.c_attn, self.c_proj = nn.Linear(n_embd, 3 * n_embd), nn.Linear(n_embd, n_embd)
        self.mlp = nn.Sequential(nn.Linear(n_embd, 4 * n_embd), nn.GELU(approximate="tanh"), nn.Linear(4 * n_embd, n_embd))

    def forward(self, x, past):
        batch, length, width = x.shape
        q, k, v = (part.view(batch, length, self.n_head, -1).transpose(1, 2) for part in self.c_attn(self.ln_1(x)).chunk(3, dim=-1))
        if past is not None:
            k, v = torch.cat([past[0], k], dim=2), torch.cat([past[1], v], dim=2)
        is_seen = torch.ones(k.shape[2], k.shape[2], dtype=torch.bool).tril()[-length:]
        weights = (q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5).masked_fill(~is_seen, float("-inf")).softmax(-1)
        x = x + self.c_proj((weights @ v).transpose(1, 2).reshape(batch, length, width))
        return x + self.mlp(self.ln_2(x)), (k, v)

class GPT(nn.Module):
    def __init__(self, vocab_size, block_size, n_layer, n_head, n_embd):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(vocab_size, n_embd), nn.Embedding(block_size, n_embd)
        self.blocks = nn.ModuleList([Block(n_embd, n_head) for _ in range(n_layer)])
        self.ln_f = nn.LayerNorm(n_embd)
        self.head = nn.Linear(n_embd, vocab_size, bias=False)
        self.num_cached = 0
"""
RETURNED = (
    LAYERS
    + """
    def forward(self, idx, past_key_values=None):
        start = 0 if past_key_values is None else past_key_values[0][0].shape[2]
        x = self.wte(idx) + self.wpe(torch.arange(start, start + idx.shape[1]))
        presents = []
        for place, block in enumerate(self.blocks):
            x, present = block(x, None if past_key_values is None else past_key_values[place])
            presents.append(present)
        return self.head(self.ln_f(x)), presents
"""
)
KEPT = (
    LAYERS
    + """
    def forward(self, idx, use_cache=False):
        start = self.num_cached if use_cache else 0
        x = self.wte(idx) + self.wpe(torch.arange(start, start + idx.shape[1]))
        for block in self.blocks:
            x, present = block(x, block.cache if use_cache else None)
            if use_cache:
                block.cache = present
        if use_cache:
            self.num_cached += idx.shape[1]
        return self.head(self.ln_f(x))
"""
)
STARTED = (
    LAYERS
    + """
    def forward(self, idx, start_pos):
        x = self.wte(idx) + self.wpe(torch.arange(start_pos, start_pos + idx.shape[1]))
        for block in self.blocks:
            x, block.cache = block(x, block.cache if start_pos else None)
        return self.head(self.ln_f(x))
"""
)


@pytest.mark.parametrize("text", [RETURNED, KEPT, STARTED])
def test_a_model_with_a_cache_is_correct(tmp_path, text):
    assert verdict_on(tmp_path, text, "GPT").is_correct


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "right", "wrong"),
    [
        (RETURNED, "torch.arange(start, start + idx.shape[1])", "torch.arange(idx.shape[1])"),
        (RETURNED, "past_key_values[place]", "past_key_values[-1]"),
        (KEPT, "self.num_cached += idx.shape[1]", "self.num_cached += 1"),
        (KEPT, "block.cache = present", "block.cache = block.cache or present"),
        (STARTED, "torch.arange(start_pos, start_pos + idx.shape[1])", "torch.arange(idx.shape[1])"),
        (STARTED, "block.cache if start_pos else None", "None"),
    ],
)
def test_a_model_that_is_wrong_with_its_cache_alone_is_named(tmp_path, text, right, wrong):
    assert text.count(right) == 1
    (cause,) = verdict_on(tmp_path, text.replace(right, wrong), "GPT").causes
    assert cause.name == "cached_differs"
