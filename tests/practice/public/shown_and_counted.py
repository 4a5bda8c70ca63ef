"""Attention that shows its weights, masks of two sequences, moments named v and s, schedules around an optimizer, stop tokens as texts: programs in conventions of public code."""

from __future__ import annotations

from tests.practice.public.program import Program

PROGRAMS = (
    Program(
        "Attention.scaled_dot_product_attention",
        "scaled_dot_product_attention",
        """
import torch
from torch import nn

class Attention(nn.Module):
    def __init__(self, width, num_heads):
        super().__init__()
        self.num_heads, self.d_k = num_heads, width // num_heads
        self.project = nn.Linear(width, 3 * width)
        self.last_weights = None

    def scaled_dot_product_attention(self, q, k, v, mask=None):
        scores = q @ k.transpose(-2, -1) * self.d_k**-0.5
        if mask is not None:
            scores = scores.masked_fill(mask == 0, -1e9)
        weights = scores.softmax(dim=-1)
        self.last_weights = weights
        return weights @ v
""",
        (
            ("self.d_k**-0.5", "self.num_heads**-0.5"),
            ("self.last_weights = weights\n        return weights @ v", "self.last_weights = weights @ v\n        return v"),
            ("scores.softmax(dim=-1)", "scores.softmax(dim=-2)"),
        ),
    ),
    Program(
        "Model.make_causal_mask",
        "causal_mask",
        """
import torch
from torch import nn

class Model(nn.Module):
    def __init__(self, device):
        super().__init__()
        self.device = device

    def make_causal_mask(self, q, k):
        num_queries, num_keys = q.size(1), k.size(1)
        visible = torch.ones(num_queries, num_keys, device=self.device).tril()
        return visible.bool()[None, None]
""",
        (("tril()", "tril(1)"), ("tril()", "triu()"), ("tril()", "tril(-1)")),
    ),
    Program(
        "make_pad_mask",
        "padding_mask",
        """
import torch

def make_pad_mask(q, k, pad_id_q, pad_id_k):
    rows = (q != pad_id_q)[:, None, :, None]
    columns = (k != pad_id_k)[:, None, None, :]
    return rows & columns
""",
        (("rows & columns", "rows & torch.ones_like(columns)"), ("k != pad_id_k", "k != 0"), ("k != pad_id_k", "k > pad_id_k")),
    ),
    Program(
        "adam_update",
        "adam_step",
        """
import numpy as np

def adam_update(alpha, beta1, beta2, epsilon, var, grad, v, s, t):
    v = beta1 * v + (1 - beta1) * grad
    s = beta2 * s + (1 - beta2) * np.square(grad)
    direction = v / (1 - beta1**t) / (np.sqrt(s / (1 - beta2**t)) + epsilon)
    return var - alpha * direction, v, s
""",
        (
            ("(1 - beta1) * grad", "(1 - beta2) * grad"),
            ("(1 - beta2**t)", "(1 - beta1**t)"),
            ("np.square(grad)", "grad"),
        ),
    ),
    Program(
        "Scheduler",
        "noam_schedule",
        """
class Scheduler:
    def __init__(self, base_opt, init_lr, d_model, n_warmup):
        self.base_opt, self.init_lr = base_opt, init_lr
        self.d_model, self.n_warmup = d_model, n_warmup
        self.count = 0

    def step_and_update_lr(self):
        self.set_rate()
        self.base_opt.step()

    def set_rate(self):
        self.count += 1
        share = min(self.count**-0.5, self.count * self.n_warmup**-1.5)
        for group in self.base_opt.param_groups:
            group["lr"] = self.init_lr * self.d_model**-0.5 * share
""",
        (("n_warmup**-1.5", "n_warmup**-0.5"), ("min(", "max(")),
    ),
    Program(
        "generate_tgt_mask",
        "causal_mask",
        """
import torch

def generate_tgt_mask(tgt):
    kept = (tgt != 3).unsqueeze(1).unsqueeze(2)
    count = tgt.size(1)
    earlier = (1 - torch.triu(torch.ones(1, count, count), diagonal=1)).bool()
    return kept & earlier
""",
        (("tgt != 3", "tgt > 3"), ("diagonal=1", "diagonal=0"), ("tgt != 3", "tgt == 3"), ("kept & earlier", "kept | earlier")),
    ),
    Program(
        "generate_text",
        "generate",
        """
import torch

def generate_text(model, tokenizer, prompt, max_new_tokens, context_length=None, end_token="<|endoftext|>"):
    ids = tokenizer.encode(prompt)
    end_id = None
    if end_token is not None and hasattr(tokenizer, "token_to_id"):
        end_id = tokenizer.token_to_id.get(end_token.encode("utf-8"))
    for _ in range(max_new_tokens):
        seen = ids[-context_length:] if context_length is not None else ids
        token = int(model(torch.tensor([seen]))[0, -1].argmax())
        ids.append(token)
        if end_id is not None and token == end_id:
            break
    return tokenizer.decode(ids)
""",
        (
            ("token == end_id", "ids[0] == end_id"),
            ("ids[-context_length:]", "ids[:context_length]"),
            ("[0, -1]", "[0, 0]"),
        ),
    ),
    Program(
        "AttnBlock",
        "transformer_block",
        """
import torch
from torch import nn

class CausalAttention(nn.Module):
    def __init__(self, width, num_heads):
        super().__init__()
        self.num_heads = num_heads
        self.project = nn.Linear(width, 3 * width)
        self.join = nn.Linear(width, width)

    def forward(self, x):
        batch, count, width = x.shape
        q, k, v = (each.view(batch, count, self.num_heads, -1).transpose(1, 2) for each in self.project(x).chunk(3, -1))
        scores = q @ k.transpose(-2, -1) * q.shape[-1] ** -0.5
        scores = scores.masked_fill(torch.ones(count, count).tril() == 0, -torch.inf)
        return self.join((scores.softmax(-1) @ v).transpose(1, 2).reshape(batch, count, width))

class AttnBlock(nn.Module):
    def __init__(self, n_embed, num_heads):
        super().__init__()
        self.sa_heads = CausalAttention(n_embed, num_heads)
        self.feed_forward = nn.Sequential(nn.Linear(n_embed, 4 * n_embed), nn.ReLU(), nn.Linear(4 * n_embed, n_embed))
        self.ln1, self.ln2 = nn.LayerNorm(n_embed), nn.LayerNorm(n_embed)

    def forward(self, x):
        x = x + self.sa_heads.forward(self.ln1.forward(x))
        return x + self.feed_forward.forward(self.ln2.forward(x))
""",
        (("return x + self.feed", "return self.feed"), ("self.feed_forward.forward(self.ln2.forward(x))", "self.feed_forward.forward(x)")),
    ),
    Program(
        "MultiHeadAttention",
        "multi_head_attention",
        """
from torch import nn

class MultiHeadAttention(nn.Module):
    def __init__(self, width, num_heads):
        super().__init__()
        self.num_heads, self.size = num_heads, width // num_heads
        self.to_q, self.to_k, self.to_v = (nn.Linear(width, width) for _ in range(3))
        self.join = nn.Linear(width, width)

    def forward(self, q, k, v, mask=None):
        batch, count, width = q.shape
        q = self.to_q(q).view(batch, count, self.num_heads, self.size).transpose(1, 2)
        k = self.to_k(k).view(batch, -1, self.num_heads, self.size).transpose(1, 2)
        v = self.to_v(v).view(batch, -1, self.num_heads, self.size).transpose(1, 2)
        scores = q @ k.transpose(2, 3) * self.size**-0.5
        if mask is not None:
            scores = scores.masked_fill(mask == 0, -1e9)
        return self.join((scores.softmax(-1) @ v).transpose(1, 2).reshape(batch, count, width))

class Layer(nn.Module):
    def __init__(self, width, num_heads):
        super().__init__()
        self.own = MultiHeadAttention(width, num_heads)
        self.cross = MultiHeadAttention(width, num_heads)

    def forward(self, x, memory, own_mask, memory_mask):
        x = x + self.own(x, x, x, own_mask)
        return x + self.cross(x, memory, memory, memory_mask)
""",
        (("view(batch, -1,", "view(batch, count,"), ("self.size**-0.5", "width**-0.5")),
    ),
    Program(
        "Sampler",
        "sample",
        """
import torch
from torch import nn

class Sampler(nn.Module):
    def forward(self, logits, temperatures):
        probs = torch.softmax(logits / temperatures[:, None], dim=-1)
        return torch.multinomial(probs, num_samples=1).squeeze(-1)
""",
        (("temperatures[:, None]", "temperatures[:1, None]"), ("temperatures[:, None]", "(1 + temperatures[:, None])")),
    ),
    Program(
        "MultiHeadSelfAttention",
        "multi_head_attention",
        """
import torch
from torch import nn
import einops


class MultiHeadSelfAttention(nn.Module):
    def __init__(self, d_model: int, num_heads: int, d_key: int, d_value: int):
        super().__init__()
        self.num_heads = num_heads
        self.q_proj = nn.Linear(d_model, d_key, bias=False)
        self.k_proj = nn.Linear(d_model, d_key, bias=False)
        self.v_proj = nn.Linear(d_model, d_value, bias=False)
        self.output_proj = nn.Linear(d_value, d_model, bias=False)

    def forward(self, x):
        Q, K, V = (
            einops.rearrange(each(x), "... n (h d) -> ... h n d", h=self.num_heads) for each in (self.q_proj, self.k_proj, self.v_proj)
        )
        n = x.size(-2)
        scores = Q @ K.transpose(-2, -1) / Q.shape[-1] ** 0.5
        scores = scores.masked_fill(torch.ones(n, n).tril() == 0, -torch.inf)
        return self.output_proj(einops.rearrange(scores.softmax(-1) @ V, "... h n d -> ... n (h d)"))
""",
        (("Q.shape[-1] ** 0.5", "x.shape[-1] ** 0.5"), (".tril()", ".triu()"), ("scores.softmax(-1)", "scores.softmax(-2)")),
    ),
)
