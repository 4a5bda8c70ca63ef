"""Optimizers that return their changes, numbered layers, flags of padding, and attentions under names of their own, with mistakes as replacements."""

from __future__ import annotations

from tests.practice.public.program import Program

ADAM = """
import torch


class TracedAdam:
    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8):
        self.params = list(params)
        self.lr, self.betas, self.eps = lr, betas, eps
        self.means = [torch.zeros_like(p.data) for p in self.params]
        self.squares = [torch.zeros_like(p.data) for p in self.params]
        self.t = 0

    def step(self):
        self.t += 1
        changes = []
        for p, mean, square in zip(self.params, self.means, self.squares):
            mean.mul_(self.betas[0]).add_(p.grad, alpha=1 - self.betas[0])
            square.mul_(self.betas[1]).addcmul_(p.grad, p.grad, value=1 - self.betas[1])
            mean_hat, square_hat = mean / (1 - self.betas[0] ** self.t), square / (1 - self.betas[1] ** self.t)
            change = -self.lr * mean_hat / (square_hat.sqrt() + self.eps)
            p.data.add_(change)
            changes.append(change)
        return changes
"""

RETURNED = """
import numpy as np


class Adam:
    def __init__(self, params, learning_rate=1e-3, beta1=0.9, beta2=0.999, epsilon=1e-8):
        self.params, self.learning_rate, self.epsilon = params, learning_rate, epsilon
        self.beta1, self.beta2 = beta1, beta2
        self.state = None

    def step(self, grads):
        if self.state is None:
            self.state = {"t": 0, "m": [np.zeros_like(p) for p in self.params], "v": [np.zeros_like(p) for p in self.params]}
        self.state["t"] += 1
        updated = []
        for place, (p, grad) in enumerate(zip(self.params, grads)):
            self.state["m"][place] = self.beta1 * self.state["m"][place] + (1 - self.beta1) * grad
            self.state["v"][place] = self.beta2 * self.state["v"][place] + (1 - self.beta2) * grad**2
            mean = self.state["m"][place] / (1 - self.beta1 ** self.state["t"])
            square = self.state["v"][place] / (1 - self.beta2 ** self.state["t"])
            updated.append(p - self.learning_rate * mean / (np.sqrt(square) + self.epsilon))
        self.params = updated
        return updated
"""

DECAYED = """
import math
import torch


class DecayedAdamW:
    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.01):
        self.params = list(params)
        self.lr, self.betas, self.eps, self.weight_decay = lr, betas, eps, weight_decay
        self.state = [(torch.zeros_like(p.data), torch.zeros_like(p.data)) for p in self.params]
        self.t = 0

    def step(self):
        self.t += 1
        rate = self.lr * math.sqrt(1 - self.betas[1] ** self.t) / (1 - self.betas[0] ** self.t)
        for p, (mean, square) in zip(self.params, self.state):
            mean.mul_(self.betas[0]).add_(p.grad, alpha=1 - self.betas[0])
            square.mul_(self.betas[1]).addcmul_(p.grad, p.grad, value=1 - self.betas[1])
            decay = self.lr * self.weight_decay * p.data
            p.data.sub_(rate * mean / (square.sqrt() + self.eps) + decay)
"""

STACKED = """
import torch
import torch.nn.functional as F
from torch import nn


class Linears(nn.Module):
    def __init__(self, d_in, d_out, count=1):
        super().__init__()
        self.W = nn.Parameter(torch.randn(*([count] if count > 1 else []), d_out, d_in) * d_in**-0.5)

    def forward(self, x):
        return torch.einsum("...i,noi->n...o", x, self.W) if self.W.ndim == 3 else x @ self.W.mT


class SwiGLU(nn.Module):
    def __init__(self, d_model, d_ff):
        super().__init__()
        self.lin13 = Linears(d_model, d_ff, 2)
        self.lin2 = Linears(d_ff, d_model)

    def forward(self, x):
        both = self.lin13(x)
        return self.lin2(F.silu(both[0]) * both[1])
"""

FLAGS = """
import torch


def padding_mask(key_padding: torch.Tensor, dtype: torch.dtype = torch.float32):
    assert key_padding.dtype == torch.bool, "expected flags"
    batch, length = key_padding.shape
    mask = torch.zeros(batch, 1, 1, length, dtype=dtype)
    return mask.masked_fill(key_padding[:, None, None, :], float("-inf"))
"""

LAYERS = """
import torch
import torch.nn.functional as F
from torch import nn


class LarkHead(nn.Module):
    def __init__(self, cfg, head_size):
        super().__init__()
        self.key = nn.Linear(cfg.n_embd, head_size, bias=False)
        self.query = nn.Linear(cfg.n_embd, head_size, bias=False)
        self.value = nn.Linear(cfg.n_embd, head_size, bias=False)
        self.register_buffer("tril", torch.tril(torch.ones(cfg.block_size, cfg.block_size)))

    def forward(self, x):
        size = x.shape[1]
        scores = self.query(x) @ self.key(x).transpose(-2, -1) * self.key.out_features**-0.5
        scores = scores.masked_fill(self.tril[:size, :size] == 0, float("-inf"))
        return F.softmax(scores, dim=-1) @ self.value(x)


class LarkHeads(nn.Module):
    def __init__(self, cfg, n_heads, head_size):
        super().__init__()
        self.heads = nn.ModuleList([LarkHead(cfg, head_size) for _ in range(n_heads)])
        self.proj = nn.Linear(n_heads * head_size, cfg.n_embd)

    def forward(self, x):
        return self.proj(torch.cat([head(x) for head in self.heads], dim=-1))


class LarkBlock(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.sa = LarkHeads(cfg, cfg.n_head, cfg.n_embd // cfg.n_head)
        self.ffwd = nn.Sequential(nn.Linear(cfg.n_embd, 4 * cfg.n_embd), nn.GELU(), nn.Linear(4 * cfg.n_embd, cfg.n_embd))
        self.ln1, self.ln2 = nn.LayerNorm(cfg.n_embd), nn.LayerNorm(cfg.n_embd)

    def forward(self, x):
        x = x + self.sa(self.ln1(x))
        return x + self.ffwd(self.ln2(x))
"""

BLOCK = """
import torch
from torch import nn


class attention_block(nn.Module):
    def __init__(self, d_model=512):
        super().__init__()
        self.Wq, self.Wk = nn.Linear(d_model, d_model), nn.Linear(d_model, d_model)
        self.Wv = nn.Linear(d_model, d_model)
        self.width = d_model

    def forward(self, x):
        scores = self.Wq(x) @ self.Wk(x).transpose(-2, -1) / self.width**0.5
        return torch.softmax(scores, dim=-1) @ self.Wv(x)
"""

TURNED = """
import torch


def rotary_half(x):
    half = x.shape[-1] // 2
    return torch.cat([-x[..., half:], x[..., :half]], dim=-1)
"""

WIDTHS = """
from dataclasses import dataclass
import torch
from torch import nn


@dataclass
class Settings:
    d_model: int = 256
    attention_d_k: int = 256
    attention_d_v: int = 256
    head_num: int = 4
    d_feed_forward: int = 512


class MultiHeadAttention(nn.Module):
    def __init__(self, config: Settings):
        super().__init__()
        self.config = config
        self.Wq = nn.Linear(config.d_model, config.attention_d_k)
        self.Wk = nn.Linear(config.d_model, config.attention_d_k)
        self.Wv = nn.Linear(config.d_model, config.attention_d_v)
        self.Wo = nn.Linear(config.attention_d_v, config.d_model)
        assert config.attention_d_k % config.head_num == 0
        assert config.attention_d_v % config.head_num == 0

    def forward(self, q, k, v, mask=None):
        def split(x, width):
            return x.view(x.size(0), x.size(1), self.config.head_num, width // self.config.head_num).transpose(1, 2)

        q, k = split(self.Wq(q), self.config.attention_d_k), split(self.Wk(k), self.config.attention_d_k)
        v = split(self.Wv(v), self.config.attention_d_v)
        scores = q @ k.transpose(-2, -1) / q.size(-1) ** 0.5
        if mask is not None:
            scores = scores.masked_fill(mask == 0, float("-inf"))
        answer = (torch.softmax(scores, dim=-1) @ v).transpose(1, 2)
        return self.Wo(answer.contiguous().view(answer.size(0), answer.size(1), self.config.attention_d_v))


class DecoderTransformerBlock(nn.Module):
    def __init__(self, config: Settings):
        super().__init__()
        self.own, self.cross = MultiHeadAttention(config), MultiHeadAttention(config)
        self.ffn = nn.Sequential(
            nn.Linear(config.d_model, config.d_feed_forward), nn.ReLU(), nn.Linear(config.d_feed_forward, config.d_model)
        )
        self.norm_own, self.norm_cross = nn.LayerNorm(config.d_model), nn.LayerNorm(config.d_model)
        self.norm_ffn = nn.LayerNorm(config.d_model)

    def forward(self, x, encoder_output, source_mask=None, target_mask=None):
        x = self.norm_own(x + self.own(x, x, x, target_mask))
        x = self.norm_cross(x + self.cross(x, encoder_output, encoder_output, source_mask))
        return self.norm_ffn(x + self.ffn(x))
"""

TIMED = """
import torch


@torch.no_grad()
def generate(model, ids, max_new_tokens):
    device = next(model.parameters()).device
    is_measured = device.type == "cuda"
    if is_measured:
        torch.cuda.reset_peak_memory_stats(device)
    for _ in range(max_new_tokens):
        logits = model(ids)[:, -1, :]
        ids = torch.cat([ids, logits.argmax(dim=-1, keepdim=True)], dim=1)
    if is_measured:
        print(torch.cuda.max_memory_allocated(device) / 2**20)
    return ids
"""

PROGRAMS = (
    Program("generate", "generate", TIMED, (("[:, -1, :]", "[:, 0, :]"),)),
    Program("TracedAdam", "adam_optimizer", ADAM, (("-self.lr * mean_hat", "self.lr * mean_hat"),)),
    Program("DecayedAdamW", "adamw", DECAYED, (("decay = self.lr * self", "decay = rate * self"),)),
    Program("SwiGLU", "gated_feed_forward", STACKED, (("F.silu(both[0]) * both[1]", "F.silu(both[0]) + both[1]"),)),
    Program("padding_mask", "padding_mask", FLAGS, (("[:, None, None, :]", "[:, None, None, :].flip(-1)"),)),
    Program("LarkHead", "causal_self_attention", LAYERS, (("* self.key.out_features**-0.5", ""),)),
    Program("Adam", "adam_optimizer", RETURNED, (("(1 - self.beta2) * grad**2", "(1 - self.beta2) * grad"),)),
    Program("LarkBlock", "transformer_block", LAYERS, (("x = x + self.sa", "x = self.sa"),)),
    Program("attention_block", "self_attention", BLOCK, (("dim=-1", "dim=1"),)),
    Program("rotary_half", "rotate_half", TURNED, (("[-x[..., half:], x[..., :half]]", "[x[..., half:], -x[..., :half]]"),)),
    Program("MultiHeadAttention", "multi_head_attention", WIDTHS, (("** 0.5", ""),)),
    Program("DecoderTransformerBlock", "decoder_layer", WIDTHS, (("encoder_output, encoder_output, source_mask", "x, x, source_mask"),)),
)
