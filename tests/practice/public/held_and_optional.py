"""Tables held by an object, a memory that is left out, positions of keys, trainings on bytes, functions with their gradients: programs in conventions of public code."""

from __future__ import annotations

from tests.practice.public.program import Program

ATTENTION = """
import torch
from torch import nn


class MultiHeadAttention(nn.Module):
    def __init__(self, width, heads, longest=32):
        super().__init__()
        self.heads, self.part = heads, width // heads
        self.q, self.k, self.v, self.o = (nn.Linear(width, width) for _ in range(4))

    def _visible(self, mask):
        if mask is None:
            return None
        mask = mask.bool()
        return mask[None, None] if mask.dim() == 2 else mask[:, None] if mask.dim() == 3 else mask

    def _joined(self, pad_mask, attn_mask):
        pad, pairs = self._visible(pad_mask), self._visible(attn_mask)
        return pairs if pad is None else pad if pairs is None else pad & pairs

    def forward(self, query, key, value, pad_mask=None, attn_mask=None, query_positions=None, key_positions=None):
        rows = [each(x).unflatten(-1, (self.heads, -1)).transpose(1, 2) for each, x in zip((self.q, self.k, self.v), (query, key, value))]
        scores = rows[0] @ rows[1].transpose(-2, -1) / self.part**0.5
        seen = self._joined(pad_mask, attn_mask)
        scores = scores if seen is None else scores.masked_fill(~seen, -1e9)
        return self.o((scores.softmax(-1) @ rows[2]).transpose(1, 2).flatten(2))
"""

LAYER = f"""{ATTENTION}

class DecoderLayer(nn.Module):
    def __init__(self, width, heads, inner):
        super().__init__()
        self.masked_attention, self.attention = MultiHeadAttention(width, heads), MultiHeadAttention(width, heads)
        self.feed_forward = nn.Sequential(nn.Linear(width, inner), nn.ReLU(), nn.Linear(inner, width))
        self.norm1, self.norm2, self.norm3 = nn.LayerNorm(width), nn.LayerNorm(width), nn.LayerNorm(width)

    def forward(self, x, encoder_output, pad_mask=None, target_mask=None, cross_attn_pad_mask=None, positions=None):
        y = self.norm1(x)
        x = x + self.masked_attention(y, y, y, pad_mask=pad_mask, attn_mask=target_mask, query_positions=positions, key_positions=positions)
        y = self.norm2(x)
        x = x + self.attention(query=y, key=encoder_output, value=encoder_output, pad_mask=cross_attn_pad_mask, key_positions=positions)
        return x + self.feed_forward(self.norm3(x))
"""

BLOCK = f"""{ATTENTION}

class GenerativeDecoderBlock(nn.Module):
    def __init__(self, width, heads, inner, has_memory=False):
        super().__init__()
        self.attention, self.has_memory = MultiHeadAttention(width, heads), has_memory
        if has_memory:
            self.cross, self.norm2 = MultiHeadAttention(width, heads), nn.LayerNorm(width)
        self.feed_forward = nn.Sequential(nn.Linear(width, inner), nn.ReLU(), nn.Linear(inner, width))
        self.norm1, self.norm3 = nn.LayerNorm(width), nn.LayerNorm(width)

    def forward(self, x, memory=None, src_mask=None, tgt_mask=None):
        x = self.norm1(x + self.attention(x, x, x, None, tgt_mask))
        if self.has_memory and memory is not None:
            x = self.norm2(x + self.cross(x, memory, memory, None, src_mask))
        return self.norm3(x + self.feed_forward(x))
"""

PROGRAMS = (
    Program("MultiHeadAttention", "multi_head_attention", ATTENTION, (("pad & pairs", "pad | pairs"),)),
    Program(
        "DecoderLayer",
        "decoder_layer",
        LAYER,
        (("attn_mask=target_mask", "attn_mask=None"), ("pad_mask=cross_attn_pad_mask", "pad_mask=None")),
    ),
    Program("GenerativeDecoderBlock", "encoder_layer", BLOCK, (("x, x, x, None, tgt_mask", "x, x, x, None, None"),)),
    Program(
        "turn_pairs_by_rope",
        "rotary",
        """
import torch


class Waves:
    def __init__(self, width, longest, base=10000.0):
        angles = torch.arange(longest)[:, None] * base ** (-torch.arange(0, width, 2) / width)
        self.cos, self.sin = angles.cos(), angles.sin()


def turn_pairs_by_rope(x, token_positions, cache: Waves):
    cos, sin = cache.cos.to(x.dtype)[token_positions], cache.sin.to(x.dtype)[token_positions]
    first, second = x[..., 0::2], x[..., 1::2]
    return torch.stack([first * cos - second * sin, first * sin + second * cos], -1).flatten(-2)
""",
        (("first * sin + second * cos", "first * sin - second * cos"),),
    ),
    Program(
        "sgd",
        "gradient_descent",
        """
def sgd(f, x0, step, iterations, postprocessing=None, PRINT_EVERY=10):
    x, smoothed = x0, None
    for iteration in range(1, iterations + 1):
        cost, grad = f(x)
        x = x - step * grad
        if postprocessing:
            x = postprocessing(x)
        smoothed = cost if smoothed is None else 0.95 * smoothed + 0.05 * cost
        if iteration % PRINT_EVERY == 0:
            print("iteration %d: %f" % (iteration, smoothed))
    return x
""",
        (("x - step * grad", "x - step * cost"),),
    ),
    Program(
        "BPETokenizer",
        "bpe_tokenizer",
        """
class BPETokenizer:
    def __init__(self, vocab_size=300):
        self.vocab_size, self.merges = vocab_size, {}
        self.vocab = {place: bytes([place]) for place in range(256)}

    def count_occurrences(self, ids):
        counts = {}
        for pair in zip(ids, ids[1:]):
            counts[pair] = counts.get(pair, 0) + 1
        return counts

    def merge(self, ids, pair, new):
        found, place = [], 0
        while place < len(ids):
            is_pair = place + 1 < len(ids) and (ids[place], ids[place + 1]) == pair
            found.append(new if is_pair else ids[place])
            place += 2 if is_pair else 1
        return found

    def fit(self, tokens):
        ids = list(tokens)
        for place in range(self.vocab_size - 256):
            counts = self.count_occurrences(ids)
            if not counts:
                break
            pair = max(counts, key=counts.get)
            ids = self.merge(ids, pair, 256 + place)
            self.merges[pair] = 256 + place

    def decode(self, ids):
        for (first, second), place in self.merges.items():
            self.vocab[place] = self.vocab[first] + self.vocab[second]
        return b"".join(self.vocab[each] for each in ids).decode("utf-8", errors="replace")

    def encode(self, text):
        ids = list(text.encode("utf-8"))
        while len(ids) >= 2:
            pair = min(self.count_occurrences(ids), key=lambda each: self.merges.get(each, float("inf")))
            if pair not in self.merges:
                break
            ids = self.merge(ids, pair, self.merges[pair])
        return ids
""",
        (("min(self.count", "max(self.count"), ("self.vocab[first] + self.vocab[second]", "self.vocab[second] + self.vocab[first]")),
    ),
    Program(
        "Encoder",
        "encoder_stack",
        """
import torch
from torch import nn


class EncoderLayer(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.attn = nn.MultiheadAttention(width, heads, batch_first=True)
        self.ffn = nn.Sequential(nn.Linear(width, 4 * width), nn.ReLU(), nn.Linear(4 * width, width))
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)

    def forward(self, x, padding):
        x = self.norm1(x + self.attn(x, x, x, key_padding_mask=padding)[0])
        return self.norm2(x + self.ffn(x))


class Encoder(nn.Module):
    def __init__(self, input_dim, width, num_layers, heads, max_length, padding_id=0):
        super().__init__()
        self.tokens, self.pos_emb = nn.Embedding(input_dim, width), nn.Embedding(max_length + 1, width)
        self.layers, self.padding_id = nn.ModuleList([EncoderLayer(width, heads) for _ in range(num_layers)]), padding_id

    def forward(self, ids):
        padding = ids == self.padding_id
        positions = torch.arange(ids.size(1), device=ids.device).expand(ids.size()) + 1
        x = self.tokens(ids) + self.pos_emb(positions.masked_fill(padding, 0))
        for layer in self.layers:
            x = layer(x, padding)
        return x
""",
        (("layer(x, padding)", "layer(x, None)"), ("positions.masked_fill(padding, 0)", "0 * positions")),
    ),
    Program(
        "cosine_learning_rate",
        "cosine_schedule",
        """
import math


def cosine_learning_rate(time, lr_min, lr_max, warmup_time, annealing_time):
    if time < warmup_time:
        return lr_max * (time / warmup_time)
    if time > annealing_time:
        return lr_min
    share = (time - warmup_time) / (annealing_time - warmup_time)
    return lr_min + (lr_max - lr_min) * (1 + math.cos(math.pi * share)) / 2
""",
        (("lr_min + (lr_max - lr_min)", "lr_min + lr_max"),),
    ),
)
"""Programs in conventions of public code, by the parts that they are."""
