"""Strings of Python 3.12, classes of a vocabulary and merges, windows of two sides, and schedules and optimizers whose step returns the result."""

from tests.practice.public.program import Program

TRAINED = """
class Learned:
    def __init__(self, vocab: dict, merges: dict):
        self.vocab = vocab
        self.merges = merges

def replaced(ids, pair, token):
    out = []
    for each in ids:
        if out and (out[-1], each) == pair:
            out[-1] = token
        else:
            out.append(each)
    return out

def train_bpe(text: str, num_merges: int) -> Learned:
    ids, vocab, merges = list(text.encode("utf-8")), {each: bytes([each]) for each in range(256)}, {}
    for place in range(num_merges):
        counts = {}
        for pair in zip(ids, ids[1:]):
            counts[pair] = counts.get(pair, 0) + 1
        best = max(counts, key=counts.get)
        print(f"{'\\n'.join(map(str, best))}: {counts[best]:>{len("100")}}")
        merges[best] = 256 + place
        vocab[256 + place] = vocab[best[0]] + vocab[best[1]]
        ids = replaced(ids, best, 256 + place)
    return Learned(vocab=vocab, merges=merges)

class BytePairTokenizer:
    def __init__(self, learned: Learned):
        self.learned = learned

    def encode(self, text):
        ids = list(text.encode("utf-8"))
        for pair, token in self.learned.merges.items():
            ids = replaced(ids, pair, token)
        return ids

    def decode(self, ids):
        return b"".join(self.learned.vocab[each] for each in ids).decode("utf-8", errors="replace")
"""

ALLOCATED = """
import torch

class KVCache:
    def __init__(self, batch_size, num_heads, seq_len, head_dim, num_layers):
        self.keys = torch.zeros(num_layers, batch_size, seq_len, num_heads, head_dim)
        self.values = torch.zeros(num_layers, batch_size, seq_len, num_heads, head_dim)
        self.length = 0

    def of_layer(self, place):
        return self.keys[place], self.values[place]

    def reset(self):
        self.length = 0

    def advance(self, num_tokens):
        self.length += num_tokens
"""

PROGRAMS = (
    Program(
        "train_bpe",
        "bpe_train",
        TRAINED,
        (("max(counts", "min(counts"), ("range(num_merges)", "range(num_merges + 1)")),
    ),
    Program(
        "BytePairTokenizer",
        "bpe_tokenizer",
        TRAINED,
        (("in self.learned.merges.items()", "in reversed(self.learned.merges.items())"),),
    ),
    Program(
        "sdpa_attention",
        "scaled_dot_product_attention",
        """
import torch
import torch.nn.functional as F

def sdpa_attention(q, k, v, window_size, enable_gqa):
    num_queries, num_keys, before = q.size(2), k.size(2), window_size[0]
    if num_queries == num_keys and (before < 0 or before >= num_queries):
        return F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=enable_gqa)
    rows = num_keys - num_queries + torch.arange(num_queries)[:, None]
    columns = torch.arange(num_keys)
    mask = columns <= rows
    if before >= 0:
        mask = mask & (rows - columns <= before)
    return F.scaled_dot_product_attention(q, k, v, attn_mask=mask, enable_gqa=enable_gqa)
""",
        (("(q, k, v, is_causal", "(q, v, k, is_causal"), ("(q, k, v, is_causal=True,", "(q, k, v, is_causal=True, scale=1.0,")),
    ),
    Program(
        "EncoderLayer",
        "encoder_layer",
        '''
import torch
from torch import nn

class Attention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.q, self.k, self.v, self.out = (nn.Linear(width, width) for _ in range(4))

    def forward(self, x, mask=None):
        batch, length, width = x.shape
        q, k, v = (each(x).view(batch, length, self.heads, -1).transpose(1, 2) for each in (self.q, self.k, self.v))
        scores = q @ k.transpose(-2, -1) / (width // self.heads) ** 0.5
        if mask is not None:
            mask = mask.unsqueeze(0).unsqueeze(1)
            scores = scores.masked_fill(mask == 0, float("-inf"))
        return self.out((scores.softmax(-1) @ v).transpose(1, 2).contiguous().view(batch, length, width))

class EncoderLayer(nn.Module):
    """One layer of the encoder."""

    def __init__(self, width, heads):
        super().__init__()
        self.attention = Attention(width, heads)
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.feed_forward = nn.Sequential(nn.Linear(width, 4 * width), nn.ReLU(), nn.Linear(4 * width, width))

    def forward(self, x, mask=None):
        x = x + self.attention(self.norm1(x), mask)
        return x + self.feed_forward(self.norm2(x))
''',
        (("self.norm1(x), mask", "self.norm1(x), None"), ("softmax(-1)", "softmax(-2)"), ("self.norm2(x)", "x")),
    ),
    Program(
        "WarmupScheduler",
        "cosine_schedule",
        """
import math

class WarmupScheduler:
    def __init__(self, optimizer_lr, total_epochs, warmup_steps=5, eta_min=0.0):
        if warmup_steps <= 0:
            raise ValueError("got no warmup")
        self.base_lr, self.current_lr, self.epoch = optimizer_lr, optimizer_lr, 0
        self.total_epochs, self.warmup_steps, self.eta_min = total_epochs, warmup_steps, eta_min

    def get_lr(self):
        return self.current_lr

    def step(self, epoch=None, metric=None):
        self.epoch = self.epoch + 1 if epoch is None else epoch
        if self.epoch < self.warmup_steps:
            self.current_lr = self.base_lr * self.epoch / self.warmup_steps
        else:
            share = (self.epoch - self.warmup_steps) / (self.total_epochs - self.warmup_steps)
            self.current_lr = self.eta_min + (self.base_lr - self.eta_min) * (1 + math.cos(math.pi * share)) / 2
        return self.current_lr
""",
        (("(self.epoch - self.warmup_steps) / (self", "self.epoch / (self"),),
    ),
    Program(
        "CosineAnnealing",
        "cosine_schedule",
        """
import math

class CosineAnnealing:
    def __init__(self, base_lr, t_max, eta_min=0.0):
        self.base_lr, self.t_max, self.eta_min = base_lr, t_max, eta_min

    def step(self, epoch=None):
        turn = math.pi * (epoch % self.t_max) / self.t_max
        return self.eta_min + (self.base_lr - self.eta_min) * (1 + math.cos(turn)) / 2
""",
        (("(1 + math.cos(turn)) / 2", "(1 + math.cos(turn))"), ("self.eta_min + (self", "(self")),
    ),
    Program(
        "BatchGD",
        "sgd_optimizer",
        """
class BatchGD:
    def __init__(self, lr=0.01):
        self.lr = lr

    def step(self, params, grads):
        return params - self.lr * grads
""",
        (("params - self.lr", "params + self.lr"),),
    ),
)
