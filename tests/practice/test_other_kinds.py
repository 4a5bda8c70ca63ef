"""Programs of another kind than the part that their names mean, which nothing accuses, next to wrong ones of the usual kind."""

from __future__ import annotations

import pytest

from headway.practice.diagnosis.sandbox import check_file
from headway.practice.names import fitting

OF_GROUPS = """
import numpy as np

def _turned(x):
    first, second = np.split(x, 2, axis=-1)
    return np.concatenate([-second, first], axis=-1)

def apply_rotary(q, k, cos, sin):
    # q: (batch, positions, groups, heads, width), k: (batch, positions, heads, width)
    of_q = (slice(q.shape[-4]), None, None)
    of_k = (slice(k.shape[-3]), None)
    return q * cos[of_q] + _turned(q) * sin[of_q], k * cos[of_k] + _turned(k) * sin[of_k]
"""

OF_OWN_TENSORS = """
import math
import numpy as np
from .tensor import Tensor

def tanh(x):
    return Tensor(np.tanh(x.data))

def gelu(x):
    inner = (x + x ** 3 * 0.044715) * math.sqrt(2.0 / math.pi)
    return x * 0.5 * (tanh(inner) + 1.0)
"""

DIVIDED = """
class Tokenizer:
    def __init__(self):
        self.merges, self.vocab = {}, {}

    def train(self, text, vocab_size):
        ids = list(text.encode("utf-8"))
        self.vocab = {idx: bytes([idx]) for idx in range(256)}
        for idx in range(256, vocab_size):
            counts = {}
            for pair in zip(ids, ids[1:]):
                counts[pair] = counts.get(pair, 0) + 1
            if not counts:
                break
            best = max(counts, key=counts.get)
            joined, place = [], 0
            while place < len(ids):
                is_pair = tuple(ids[place : place + 2]) == best
                joined.append(idx if is_pair else ids[place])
                place += 2 if is_pair else 1
            ids = joined
            self.merges[best] = idx
            self.vocab[idx] = self.vocab[best[0]] + self.vocab[best[1]]

    def decode(self, ids):
        return b"".join(self.vocab[each] for each in ids).decode("utf-8", errors="replace")

    def encode(self, text):
        given, known = text.encode("utf-8"), {token: idx for idx, token in self.vocab.items()}
        dp, last = [0] + [len(given) + 1] * len(given), [0] * (len(given) + 1)
        for end in range(1, len(given) + 1):
            for start in range(end):
                if given[start:end] in known and dp[end] > dp[start] + 1:
                    dp[end], last[end] = dp[start] + 1, start
        found, end = [], len(given)
        while end:
            found.append(known[given[last[end] : end]])
            end = last[end]
        return found[::-1]
"""

OF_TWO_LAYOUTS = """
import math
import torch
from torch import nn

def rotated(x, cos, sin):
    return x * cos + torch.stack((-x[..., 1::2], x[..., 0::2]), dim=-1).flatten(-2) * sin

class RotaryEmbedding(nn.Module):
    def __init__(self, dim, base=10000):
        super().__init__()
        self.register_buffer("inv_freq", 1.0 / base ** (torch.arange(0, dim, 2).float() / dim))

    def forward(self, x):
        angles = torch.outer(torch.arange(x.shape[1]).float(), self.inv_freq)
        angles = torch.cat((angles, angles), dim=-1)
        return angles.cos()[:, None, :], angles.sin()[:, None, :]

class MultiHeadAttention(nn.Module):
    def __init__(self, embed_dim, num_heads, use_rope=True):
        super().__init__()
        self.num_heads, self.head_dim, self.use_rope = num_heads, embed_dim // num_heads, use_rope
        self.q_proj, self.k_proj = nn.Linear(embed_dim, embed_dim, bias=False), nn.Linear(embed_dim, embed_dim, bias=False)
        self.v_proj, self.out_proj = nn.Linear(embed_dim, embed_dim, bias=False), nn.Linear(embed_dim, embed_dim, bias=False)
        if use_rope:
            self.rope = RotaryEmbedding(self.head_dim)

    def forward(self, x, mask=None):
        batch, length, width = x.size()
        q, k, v = (each(x).view(batch, length, self.num_heads, self.head_dim) for each in (self.q_proj, self.k_proj, self.v_proj))
        if self.use_rope:
            cos, sin = self.rope(q)
            q, k = rotated(q, cos, sin), rotated(k, cos, sin)
        q, k, v = q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2)
        scores = q @ k.transpose(-2, -1) / math.sqrt(self.head_dim)
        if mask is not None:
            scores = scores.masked_fill(mask == 0, float("-inf"))
        return self.out_proj((torch.softmax(scores, dim=-1) @ v).transpose(1, 2).reshape(batch, length, width))
"""

OF_TWO_IDS = """
import numpy as np

def make_pad_mask(q, k, unlike_in_q, unlike_in_k):
    return (k != unlike_in_k)[:, None, :] & (q != unlike_in_q)[:, :, None]
"""

OF_VECTORS = """
import numpy as np

def softmax(x):
    e = np.exp(x - x.max())
    return e / e.sum()

def likeliest(model, ids):
    return softmax(model(ids)[-1]).argmax()
"""


def found_in(tmp_path, text):
    path = tmp_path / "learner.py"
    path.write_text(text)
    return {each.subject: each for each in check_file(path)}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "name"),
    [(OF_GROUPS, "apply_rotary"), (OF_OWN_TENSORS, "gelu"), (DIVIDED, "Tokenizer"), (OF_TWO_IDS, "make_pad_mask"), (OF_VECTORS, "softmax")],
)
def test_programs_of_another_kind_are_not_accused(tmp_path, text, name):
    assert found_in(tmp_path, text)[name].status == "could not run"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "name"),
    [
        (
            OF_GROUPS.replace("q.shape[-4]), None, None", "q.shape[-3]), None").replace("of_q] + _turned(q)", "of_q] - _turned(q)"),
            "apply_rotary",
        ),
        (
            OF_OWN_TENSORS.replace("from .tensor import Tensor\n", "")
            .replace("Tensor(np.tanh(x.data))", "np.tanh(x)")
            .replace("+ 1.0", "- 1.0"),
            "gelu",
        ),
        (
            OF_TWO_IDS.replace("q, k, unlike_in_q, unlike_in_k", "q, k, pad_q, pad_k")
            .replace("k != unlike_in_k", "k != pad_q")
            .replace("unlike_in_q", "pad_q"),
            "make_pad_mask",
        ),
        (OF_VECTORS.replace("[-1])", "[:, -1])"), "softmax"),
    ],
)
def test_wrong_ones_of_the_usual_kind_are(tmp_path, text, name):
    assert found_in(tmp_path, text)[name].status == "wrong"


@pytest.mark.slow
def test_an_attention_whose_definition_raises_too_is_no_failure_of_the_tool(tmp_path):
    pytest.importorskip("torch")
    verdict = found_in(tmp_path, OF_TWO_LAYOUTS)["MultiHeadAttention"]
    assert not verdict.is_correct
    assert "tool_error" not in {cause.name for cause in verdict.causes}


def test_a_causal_convolution_is_no_attention():
    assert "causal_self_attention" not in fitting("causal_conv1d_update")[0]
    assert "causal_self_attention" in fitting("causal_attention")[0]
