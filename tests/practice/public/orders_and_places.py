"""Orders of norms and of waves that code states, losses of one row, merges at places, twice the rate, and blocks with a second sequence."""

from __future__ import annotations

from tests.practice.public.program import Program

NAMED_OUTPUT = """
import torch
from torch import nn

class DotProductAttention(nn.Module):
    def forward(self, query, key, value):
        weights = torch.softmax(query @ key.mT * query.shape[-1] ** -0.5, -1)
        return {"attention": weights @ value, "attention_weights": weights}
"""

ONE_SEQUENCE = """
import torch
from torch import nn

class PositionalEncoder(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.width = width

    def forward(self, x):
        length, width = x.size()[0], x.size()[1]
        if width != self.width:
            raise ValueError(f"a width of {width} instead of {self.width}")
        angles = torch.arange(length)[:, None] / 10000 ** (torch.arange(0, width, 2) / width)
        return x + torch.stack([angles.sin(), angles.cos()], -1).reshape(length, width)
"""

NAMED_WAVES = """
import numpy as np

def positional_encoding(length, width):
    angles = np.arange(length)[:, None] / 10000 ** (2 * (np.arange(width)[None] // 2) / width)
    sines = np.sin(angles[:, 0::2])
    cosines = np.cos(angles[:, 1::2])
    return np.concatenate([sines, cosines], axis=-1)
"""

NORMS_OF_OUTPUTS = """
import torch
from torch import nn

class Attention(nn.Module):
    def __init__(self, dim, heads, max_len):
        super().__init__()
        self.heads = heads
        self.to_query, self.to_key, self.to_value = nn.Linear(dim, dim), nn.Linear(dim, dim), nn.Linear(dim, dim)
        self.to_out = nn.Linear(dim, dim)
        self.register_buffer("later", torch.ones(max_len, max_len).triu(1).bool())

    def forward(self, x):
        batch, length, dim = x.shape
        query, key, value = (
            part(x).view(batch, length, self.heads, -1).transpose(1, 2) for part in (self.to_query, self.to_key, self.to_value)
        )
        scores = query @ key.mT / (dim // self.heads) ** 0.5
        scores = scores.masked_fill(self.later[:length, :length], float("-inf"))
        return self.to_out((scores.softmax(-1) @ value).transpose(1, 2).reshape(batch, length, dim))

class Encoder(nn.Module):
    def __init__(self, dim, heads, factor, max_len):
        super().__init__()
        self.attention = Attention(dim, heads, max_len)
        self.norm1, self.norm2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.ffn = nn.Sequential(nn.Linear(dim, dim * factor), nn.GELU(), nn.Linear(dim * factor, dim))

    def forward(self, x):
        x = x + self.norm1(self.attention(x))
        return x + self.norm2(self.ffn(x))

class TinyGPT(nn.Module):
    def __init__(self, vocab_size, dim, heads, max_len):
        super().__init__()
        self.layer = Encoder(dim, heads, 4, max_len)
"""

OF_ONE_ROW = '''
import numpy as np

def cross_entropy(logits, target):
    """
    logits: shape (num_classes,)
    target: scalar, the class
    """
    powers = np.exp(logits - np.max(logits))
    shares = powers / np.sum(powers)
    return -np.log(shares[target] + 1e-9), shares
'''

OF_ONE_HOT_ROW = '''
import numpy as np

def cross_entropy_onehot(logits, y_onehot):
    """
    logits: (num_classes,), y_onehot: (num_classes,)
    """
    powers = np.exp(logits - np.max(logits))
    return -np.sum(y_onehot * np.log(powers / np.sum(powers) + 1e-9))
'''

FOUND = """
import numpy as np

def centropy(probabilities, labels):
    place = np.where(labels == 1)[0][0]
    return -np.log(probabilities[place])
"""

AVERAGED_BY_BASE = """
import numpy as np

class Loss:
    def calculate(self, output, y):
        losses = self.forward(output, y)
        return np.mean(losses)

class LossCategoricalCrossEntropy(Loss):
    def forward(self, y_pred, y_true):
        clipped = np.clip(y_pred, 1e-7, 1 - 1e-7)
        if len(y_true.shape) == 2:
            return -np.log(np.sum(clipped * y_true, axis=1))
        return -np.log(clipped[range(len(y_pred)), y_true])
"""

BY_ELEMENT = """
import torch
from einops import rearrange
from torch import nn

class SelfAttention(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.to_qvk = nn.Linear(dim, 3 * dim, bias=False)
        self.factor = dim ** -0.5

    def forward(self, x, mask=None):
        query, key, value = rearrange(self.to_qvk(x), "b t (d k) -> k b t d", k=3)
        scores = torch.einsum("bid,bjd->bij", query, key) * self.factor
        if mask is not None:
            assert mask.shape == scores.shape[1:]
            scores = scores.masked_fill(mask, float("-inf"))
        return torch.einsum("bij,bjd->bid", scores.softmax(-1), value)
"""

TRAINED_FROM_FILE = """
from collections import Counter

class PairTokenizer:
    def __init__(self, data_file, max_merged_tokens=0):
        with open(data_file, encoding="utf-8") as file:
            tokens = list(file.read())
        self.known, self.merged = sorted(set(tokens)), []
        for _ in range(max_merged_tokens):
            pair, count = Counter(zip(tokens, tokens[1:])).most_common(1)[0]
            if count == 1:
                break
            self.merged.append(pair)
            tokens = self.joined(tokens, pair)
        self.ids = {token: place for place, token in enumerate(self.known + [first + second for first, second in self.merged])}
        self.tokens = {place: token for token, place in self.ids.items()}

    def joined(self, tokens, pair):
        place = 0
        while place < len(tokens) - 1:
            if (tokens[place], tokens[place + 1]) == pair:
                tokens[place : place + 2] = [pair[0] + pair[1]]
            place += 1
        return tokens

    def encode(self, text):
        tokens = list(text)
        for pair in self.merged:
            tokens = self.joined(tokens, pair)
        return [self.ids[token] for token in tokens]

    def decode(self, ids):
        return "".join(self.tokens[each] for each in ids)
"""

AT_PLACES = """
def merge_tokens(token: tuple[bytes, ...], pair: tuple[bytes, bytes], positions: list[int]) -> tuple[bytes, ...]:
    starts, merged, place = set(positions), [], 0
    while place < len(token):
        if place in starts:
            merged.append(pair[0] + pair[1])
            place += 2
        else:
            merged.append(token[place])
            place += 1
    return tuple(merged)
"""

TWICE = '''
def get_lr(step, d_model, warmup_steps):
    """Return twice the rate of the paper."""
    return 2.0 * d_model ** -0.5 * min(step ** -0.5, step * warmup_steps ** -1.5)
'''

ROTATORY = """
import torch
from torch import nn

class RotatoryPositionEmbedding(nn.Module):
    def __init__(self, seq_len, width):
        super().__init__()
        angles = torch.arange(seq_len)[:, None] / 10000 ** (torch.arange(0, width, 2).repeat_interleave(2) / width)
        self.register_buffer("cos", angles.cos()[None, :, None])
        self.register_buffer("sin", angles.sin()[None, :, None])

    def forward(self, x):  # (batch, length, heads, width)
        length = x.shape[1]
        turned = torch.stack([-x[..., 1::2], x[..., 0::2]], -1).reshape(x.shape)
        return x * self.cos[:, :length] + turned * self.sin[:, :length]
"""

OF_TWO_SEQUENCES = """
from torch import nn

class Causal(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.inner = nn.MultiheadAttention(dim, heads, batch_first=True)

    def forward(self, x):
        mask = nn.Transformer.generate_square_subsequent_mask(x.shape[1])
        return self.inner(x, x, x, attn_mask=mask, need_weights=False)[0]

class GPTBlock(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.ln_1, self.ln_2, self.ln_3 = nn.LayerNorm(dim), nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.attn = Causal(dim, heads)
        self.cross_attn = nn.MultiheadAttention(dim, heads, batch_first=True)
        self.mlp = nn.Sequential(nn.Linear(dim, 4 * dim), nn.GELU(), nn.Linear(4 * dim, dim))

    def forward(self, x, enc_out):
        x = x + self.attn(self.ln_1(x))
        x = x + self.cross_attn(self.ln_2(x), enc_out, enc_out, need_weights=False)[0]
        return x + self.mlp(self.ln_3(x))
"""

HEAD_OF_THREE = """
import torch
from torch import nn

class AttentionHead(nn.Module):
    def __init__(self, d_model, seq_len, head_size):
        super().__init__()
        self.K, self.Q, self.V = (nn.Linear(d_model, head_size, bias=False) for _ in range(3))

    def forward(self, idx_k, idx_q, idx_v, msk):
        key, query, value = self.K(idx_k), self.Q(idx_q), self.V(idx_v)
        scores = (query @ key.mT * key.shape[-1] ** -0.5).masked_fill(msk == 0, -1e9)
        return scores.softmax(-1) @ value
"""

WITH_LENGTHS = """
import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence

class LabelSmoothedCE(nn.Module):
    def __init__(self, eps=0.1):
        super().__init__()
        self.eps = eps

    def forward(self, inputs, targets, lengths):  # (batch, length, vocab_size), (batch, length), (batch)
        inputs = pack_padded_sequence(inputs, lengths, batch_first=True, enforce_sorted=False).data
        targets = pack_padded_sequence(targets, lengths, batch_first=True, enforce_sorted=False).data
        hot = F.one_hot(targets, inputs.size(1)) * (1 - self.eps) + self.eps / inputs.size(1)
        return -(hot * F.log_softmax(inputs, 1)).sum(1).mean()
"""

PROGRAMS = (
    Program("DotProductAttention", "scaled_dot_product_attention", NAMED_OUTPUT, (("query @ key.mT", "key @ query.mT"),)),
    Program("PositionalEncoder", "sinusoidal_positions", ONE_SEQUENCE, (("angles.sin(), angles.cos()", "angles.cos(), angles.sin()"),)),
    Program("positional_encoding", "sinusoidal_positions", NAMED_WAVES, (("[sines, cosines]", "[cosines, sines]"),)),
    Program("Encoder", "transformer_block", NORMS_OF_OUTPUTS, (("self.norm2(self.ffn(x))", "self.norm1(self.ffn(x))"),)),
    Program("cross_entropy", "cross_entropy", OF_ONE_ROW, (("-np.log(shares", "np.log(shares"),)),
    Program("cross_entropy_onehot", "cross_entropy", OF_ONE_HOT_ROW),
    Program("centropy", "cross_entropy", FOUND),
    Program("LossCategoricalCrossEntropy", "cross_entropy", AVERAGED_BY_BASE, (("np.mean(losses)", "losses"),)),
    Program("SelfAttention", "self_attention", BY_ELEMENT, (("* self.factor", "/ self.factor"),)),
    Program("PairTokenizer", "bpe_tokenizer", TRAINED_FROM_FILE, (("most_common(1)[0]", "most_common()[-1]"),)),
    Program("merge_tokens", "merge_pair", AT_PLACES, (("place += 2", "place += 1"),)),
    Program("get_lr", "noam_schedule", TWICE),
    Program("RotatoryPositionEmbedding", "rotary", ROTATORY, (("-x[..., 1::2], x[..., 0::2]", "x[..., 1::2], -x[..., 0::2]"),)),
    Program("GPTBlock", "decoder_layer", OF_TWO_SEQUENCES, (("x + self.mlp(self.ln_3(x))", "x + self.mlp(self.ln_2(x))"),)),
    Program("AttentionHead", "self_attention", HEAD_OF_THREE),
    Program("LabelSmoothedCE", "cross_entropy", WITH_LENGTHS, (("log_softmax(inputs, 1)", "log_softmax(inputs, 0)"),)),
)
