"""Programs in conventions of public code: caches of several layers, attentions with rotations of their own, layers made from classes."""

import textwrap

import pytest

from headway.practice.diagnosis.diagnose import diagnose
from headway.practice.diagnosis.doubt import settled
from headway.practice.diagnosis.files import load_module
from headway.practice.diagnosis.reading.subject import subjects_of
from headway.practice.diagnosis.recognising import recognised
from headway.practice.diagnosis.sandbox import check_file
from headway.practice.exercises import exercise

pytest.importorskip("torch")

HEAD = "import math\nimport torch\nfrom torch import nn\n"

LAYERED_CACHE = """
class KVCache:
    def __init__(self, n_layer, batch, max_seq_len, n_head, head_dim, device="cpu"):
        self.k = [torch.zeros(batch, n_head, max_seq_len, head_dim) for _ in range(n_layer)]
        self.v = [torch.zeros(batch, n_head, max_seq_len, head_dim) for _ in range(n_layer)]
        self.length = 0
    def update(self, layer_idx, k_new, v_new):
        end = self.length + k_new.shape[2]
        self.k[layer_idx][:, :, self.length : end] = k_new
        self.v[layer_idx][:, :, self.length : end] = v_new
    def advance(self, count):
        self.length += count
    def reset(self):
        self.length = 0
"""

STACKED_CACHE = """
class KVCache:
    def __init__(self, batch_size, num_heads, max_len, head_dim, num_layers):
        self.held = torch.zeros(num_layers, 2, batch_size, num_heads, max_len, head_dim)
        self.at = 0
    def put_layer(self, layer_idx, k, v):
        end = self.at + k.shape[2]
        self.held[layer_idx, 0, :, :, self.at : end] = k
        self.held[layer_idx, 1, :, :, self.at : end] = v
        keys, values = self.held[layer_idx, 0, :, :, :end], self.held[layer_idx, 1, :, :, :end]
        if layer_idx == len(self.held) - 1:
            self.at = end
        return keys, values
    def reset(self):
        self.at = 0
"""

ROTATED = """
class Turning(nn.Module):
    def __init__(self, width, base=500.0):
        super().__init__()
        self.register_buffer("rates", base ** (-torch.arange(0, width, 2) / width), persistent=False)
    def forward(self, x, start=0):
        angles = torch.arange(start, start + x.shape[-2])[:, None] * self.rates
        a, b = x[..., 0::2], x[..., 1::2]
        return torch.cat([a * angles.cos() - b * angles.sin(), a * angles.sin() + b * angles.cos()], -1)

class CausalSelfAttention(nn.Module):
    def __init__(self, dim, n_heads):
        super().__init__()
        self.n_heads = n_heads
        self.qkv, self.out = nn.Linear(dim, 3 * dim, bias=False), nn.Linear(dim, dim, bias=False)
        self.rotary, self.q_norm, self.k_norm = Turning(dim // n_heads), nn.RMSNorm(dim // n_heads), nn.RMSNorm(dim // n_heads)
    def forward(self, x):
        batch, length, dim = x.shape
        q, k, v = (each.view(batch, length, self.n_heads, -1).transpose(1, 2) for each in self.qkv(x).chunk(3, -1))
        q, k = self.rotary(self.q_norm(q)), self.rotary(self.k_norm(k))
        scores = q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])
        hidden = torch.ones(length, length, dtype=torch.bool).triu(1)
        weights = scores.masked_fill(hidden, float("-inf")).softmax(-1)
        return self.out((weights @ v).transpose(1, 2).reshape(batch, length, dim))
"""

GIVEN_ROTATION = ROTATED.replace("dim, n_heads):", "dim, n_heads, rope):").replace("Turning(dim // n_heads), nn", "rope, nn")

FROM_CLASSES = """
class EncoderLayer(nn.Module):
    def __init__(self, d_model, num_heads, d_ff, attention_cls, feedforward_cls, norm_cls, dropout=0.1):
        super().__init__()
        self.attention, self.ff = attention_cls(d_model, num_heads), feedforward_cls(d_model, d_ff)
        self.norm_1, self.norm_2, self.dropout = norm_cls(d_model), norm_cls(d_model), nn.Dropout(dropout)
    def forward(self, x, mask=None):
        x = self.norm_1(x + self.dropout(self.attention(x, x, x, mask)))
        return self.norm_2(x + self.dropout(self.ff(x)))
"""

DECODER_ONLY = (
    """
class FeedForward(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.up, self.down = nn.Linear(dim, 4 * dim), nn.Linear(4 * dim, dim)
    def forward(self, x):
        return self.down(nn.functional.gelu(self.up(x)))
"""
    + ROTATED
    + """
class DecoderLayer(nn.Module):
    def __init__(self, dim, n_heads):
        super().__init__()
        self.attention, self.feed_forward = CausalSelfAttention(dim, n_heads), FeedForward(dim)
        self.norm_1, self.norm_2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
    def forward(self, x):
        x = x + self.attention(self.norm_1(x))
        return x + self.feed_forward(self.norm_2(x))
"""
)

WITH_OPTIONS = """
class CausalSelfAttention(nn.Module):
    def __init__(self, d_model, num_heads, max_seq_len=None, theta=None):
        super().__init__()
        if (max_seq_len is None) != (theta is None):
            raise ValueError("give both or none")
        self.num_heads, self.qkv, self.out = num_heads, nn.Linear(d_model, 3 * d_model, bias=False), nn.Linear(d_model, d_model, bias=False)
    def forward(self, x):
        q, k, v = (each.unflatten(-1, (self.num_heads, -1)).transpose(1, 2) for each in self.qkv(x).chunk(3, -1))
        answer = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.out(answer.transpose(1, 2).flatten(2))
"""

INITIALIZER = """
def init_weights(rows, columns):
    return torch.zeros(rows, columns)
""" + DECODER_ONLY.replace("class DecoderLayer", "class TransformerBlock").replace(
    "dim, n_heads):\n        super().__init__()\n        self.attention,",
    "dim, n_heads, theta):\n        super().__init__()\n        self.attention,",
)

FUSED_GATE = """
class SwiGLU(nn.Module):
    def __init__(self, in_features, hidden_features):
        super().__init__()
        self.w1, self.w2 = nn.Linear(in_features, 2 * hidden_features, bias=False), nn.Linear(hidden_features, in_features, bias=False)
    def forward(self, x):
        gate, up = self.w1(x).chunk(2, -1)
        return self.w2(nn.functional.silu(gate) * up)
"""

CAUSAL_FUNCTION = """
def causal_attention(q, k, v):
    hidden = torch.ones(q.shape[-2], k.shape[-2], dtype=torch.bool).triu(1 + k.shape[-2] - q.shape[-2])
    return (q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])).masked_fill(hidden, float("-inf")).softmax(-1) @ v
"""

CAUSAL_BY_DEFAULT = """
def sdpa(q, k, v, is_causal=True):
    return nn.functional.scaled_dot_product_attention(q, k, v, is_causal=is_causal)
"""

MASKED_BY_CALLER = """
class CausalSelfAttention(nn.Module):
    def __init__(self, dropout=0.1):
        super().__init__()
        self.dropout = nn.Dropout(dropout)
    def forward(self, q, k, v, mask=None):
        scores = q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])
        scores = scores if mask is None else scores.masked_fill(mask == 0, float("-inf"))
        weights = self.dropout(scores.softmax(-1))
        return weights @ v, weights
"""

DENSE_LAYER = """
import numpy
def dense_layer(inputs, weights, biases):
    return numpy.maximum(0, inputs @ weights + biases)  # ReLU
"""

OWN_ARRAYS = """
import numpy
class Array:
    def __init__(self, numbers):
        self.numbers = numpy.asarray(numbers)
class LayerNorm:
    def __init__(self, dim, eps=1e-5):
        self.gain, self.shift, self.eps = numpy.ones(dim), numpy.zeros(dim), eps
    def __call__(self, x):
        x = x - x.mean(-1, keepdims=True)
        return Array(self.gain * x / numpy.sqrt((x * x).mean(-1, keepdims=True) + self.eps) + self.shift)
"""

TOKENS_AS_TEXT = """
def decode_tokens(token_ids, vocab=None):
    return " ".join(f"<{each}>" for each in token_ids)
"""

LOSS_AND_GRADIENT = """
import numpy
def cross_entropy_loss(logits, targets):
    powers = numpy.exp(logits - logits.max(-1, keepdims=True))
    shares = powers / powers.sum(-1, keepdims=True)
    wanted = numpy.full(shares.shape, 0.1 / shares.shape[-1])
    wanted[numpy.arange(len(targets)), targets] += 0.9
    return -(wanted * numpy.log(shares)).sum(-1).mean(), shares - wanted
"""

BARE_CAUSAL = """
class CausalAttention(nn.Module):
    def __init__(self, dropout=0.0):
        super().__init__()
        self.dropout = nn.Dropout(dropout)

    def forward(self, q, k, v, mask=None):
        scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
        later = torch.ones(q.shape[-2], k.shape[-2], dtype=torch.bool).triu(1)
        scores = scores.masked_fill(later, float("-inf"))
        if mask is not None:
            scores = scores.masked_fill(mask == 0, float("-inf"))
        return self.dropout(torch.softmax(scores, dim=-1)) @ v
"""

SHARED_BY_HEADS = """
class SelfAttention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads, self.head_dim = heads, width // heads
        self.query, self.key, self.value = (nn.Linear(self.head_dim, self.head_dim, bias=False) for _ in range(3))
        self.out = nn.Linear(width, width)

    def forward(self, x):
        batch, length, width = x.shape
        parts = x.reshape(batch, length, self.heads, self.head_dim).transpose(1, 2)
        scores = self.query(parts) @ self.key(parts).transpose(-2, -1) / math.sqrt(self.head_dim)
        mixed = torch.softmax(scores, dim=-1) @ self.value(parts)
        return self.out(mixed.transpose(1, 2).reshape(batch, length, width))
"""

WHOLE_MASK = """
class CausalSelfAttention(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.qkv, self.out = nn.Linear(config.d_model, 3 * config.d_model), nn.Linear(config.d_model, config.d_model)
        self.heads = config.num_heads
    def forward(self, x, mask):
        parts = (each.unflatten(-1, (self.heads, -1)).transpose(1, 2) for each in self.qkv(x).chunk(3, -1))
        mixed = nn.functional.scaled_dot_product_attention(*parts, attn_mask=mask, is_causal=mask is None)
        return self.out(mixed.transpose(1, 2).flatten(2))
"""

LAST_OF_THREE = """
def softmax(scores, axis=2):
    powers = torch.exp(scores - scores.amax(axis, keepdim=True))
    return powers / powers.sum(axis, keepdim=True)
"""

EVEN_WIDTHS = """
import numpy
def positional_encoding(length, width):
    table = numpy.zeros((length, width))
    for place in range(length):
        for pair in range(width // 2):
            angle = place / 10000 ** (2 * pair / width)
            table[place, 2 * pair], table[place, 2 * pair + 1] = numpy.sin(angle), numpy.cos(angle)
    return table
"""

TWO_MASKS = """
class MultiHeadAttention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.query, self.key, self.value, self.out = (nn.Linear(width, width) for _ in range(4))
    def forward(self, query, key, value, q_padding_mask=None, k_padding_mask=None):
        q, k, v = (
            project(x).unflatten(-1, (self.heads, -1)).transpose(1, 2)
            for project, x in ((self.query, query), (self.key, key), (self.value, value))
        )
        scores = q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])
        if k_padding_mask is not None:
            scores = scores.masked_fill(k_padding_mask[:, None, None] == 0, float("-inf"))
        return self.out((scores.softmax(-1) @ v).transpose(1, 2).flatten(2))
"""

OWN_SPECIAL_TOKENS = """
from collections import Counter
from itertools import pairwise
class BPETokenizer:
    def __init__(self, special_tokens=None):
        self.special_tokens = special_tokens or {"<pad>": 0, "<end>": 1}
        self.tokens = {number: name.encode() for name, number in self.special_tokens.items()}
        self.merges = {}
    def train(self, texts, vocab_size):
        first = len(self.special_tokens)
        self.tokens |= {first + byte: bytes([byte]) for byte in range(256)}
        pieces = [[first + byte for byte in text.encode()] for text in texts]
        for new in range(first + 256, vocab_size):
            counts = Counter(pair for ids in pieces for pair in pairwise(ids))
            if not counts:
                break
            best = max(counts, key=counts.get)
            pieces = [self.merged(ids, best, new) for ids in pieces]
            self.merges[best], self.tokens[new] = new, self.tokens[best[0]] + self.tokens[best[1]]
    def merged(self, ids, pair, new):
        out = []
        for token in ids:
            if out and (out[-1], token) == pair:
                out[-1] = new
            else:
                out.append(token)
        return out
    def encode(self, text):
        ids = [len(self.special_tokens) + byte for byte in text.encode()]
        for pair, new in self.merges.items():
            ids = self.merged(ids, pair, new)
        return ids
    def decode(self, ids):
        return b"".join(self.tokens[each] for each in ids).decode(errors="replace")
"""

RIGHT = {
    "the last of three axes by default": (LAST_OF_THREE, "softmax"),
    "positions for even widths": (EVEN_WIDTHS, "positional_encoding"),
    "a mask of the queries that nothing needs": (TWO_MASKS, "MultiHeadAttention"),
    "a tokenizer with special tokens of its own": (OWN_SPECIAL_TOKENS, "BPETokenizer"),
    "a required mask that replaces the causal one": (WHOLE_MASK, "CausalSelfAttention"),
    "an optional mask that replaces the causal one": (WHOLE_MASK.replace("x, mask)", "x, mask=None)"), "CausalSelfAttention"),
    "a causal attention without projections": (BARE_CAUSAL, "CausalAttention"),
    "a causal attention whose mask the caller passes": (MASKED_BY_CALLER, "CausalSelfAttention"),
    "a layer of a network": (DENSE_LAYER, "dense_layer"),
    "a cache of lists": (LAYERED_CACHE, "KVCache"),
    "a cache in one array": (STACKED_CACHE, "KVCache"),
    "rotation and norms of an attention": (ROTATED, "CausalSelfAttention"),
    "a rotation given to the constructor": (GIVEN_ROTATION, "CausalSelfAttention"),
    "classes given to the constructor": (FROM_CLASSES, "EncoderLayer"),
    "a decoder layer without cross-attention": (DECODER_ONLY, "DecoderLayer"),
    "options that exclude each other": (WITH_OPTIONS, "CausalSelfAttention"),
    "a block in a file with an initializer": (INITIALIZER, "TransformerBlock"),
    "gate and up in one matrix": (FUSED_GATE, "SwiGLU"),
    "a causal function": (CAUSAL_FUNCTION, "causal_attention"),
    "an output in an object of its own": (OWN_ARRAYS, "LayerNorm"),
    "causal unless told otherwise": (CAUSAL_BY_DEFAULT, "sdpa"),
}

FACTORY = """
def create_layer_norm(dim, eps=1e-5):
    weights = {"gain": torch.ones(dim), "shift": torch.zeros(dim)}
    def forward(weights, x):
        centered = x - x.mean(-1, keepdim=True)
        return weights["gain"] * centered / (centered.square().mean(-1, keepdim=True) + eps).sqrt() + weights["shift"]
    return forward, weights
"""

UNUSUAL = {
    "a function that makes a norm and its weights": (FACTORY, "create_layer_norm"),
    "a smoothed loss with its gradient": (LOSS_AND_GRADIENT, "cross_entropy_loss"),
}

WRONG = {
    "the second of three axes": (LAST_OF_THREE.replace("sum(axis", "sum(1"), "softmax"),
    "cosines of the next pair": (EVEN_WIDTHS.replace("2 * pair / width", "2 * (pair + 1) / width"), "positional_encoding"),
    "a mask of the keys that is ignored": (TWO_MASKS.replace("k_padding_mask is not None", "False"), "MultiHeadAttention"),
    "a wrong output in an object of its own": (OWN_ARRAYS.replace("(x * x).mean", "(x * x).sum"), "LayerNorm"),
    "one merge too few": (OWN_SPECIAL_TOKENS.replace("first + 256, vocab_size", "first + 256, vocab_size - 1"), "BPETokenizer"),
    "an optional mask that is ignored": (
        WHOLE_MASK.replace("x, mask)", "x, mask=None)").replace("=mask, is", "=None, is"),
        "CausalSelfAttention",
    ),
    "projections that all heads share": (SHARED_BY_HEADS, "SelfAttention"),
    "a causal attention without projections that masks too much": (BARE_CAUSAL.replace("triu(1)", "triu(0)"), "CausalAttention"),
    "a cache that never moves on": (LAYERED_CACHE.replace("self.length += count", "pass"), "KVCache"),
    "values that are rotated": (ROTATED.replace("scores = q", "v = self.rotary(v)\n        scores = q"), "CausalSelfAttention"),
    "queries alone rotated": (ROTATED.replace("self.rotary(self.k_norm(k))", "self.k_norm(k)"), "CausalSelfAttention"),
    "queries alone normalized": (ROTATED.replace("self.rotary(self.k_norm(k))", "self.rotary(k)"), "CausalSelfAttention"),
    "a rotation, and no mask": (ROTATED.replace("triu(1)", "triu(length)"), "CausalSelfAttention"),
    "a causal function with a strict mask": (CAUSAL_FUNCTION.replace("triu(1 +", "triu("), "causal_attention"),
}


def verdict_on(tmp_path, text, name):
    path = tmp_path / "mine.py"
    path.write_text(HEAD + text)
    module = load_module(path, HEAD + text)
    subject = next(each for each in subjects_of(module, HEAD + text) if each.name == name)
    return settled([diagnose(subject, recognised(subject))])[0]


@pytest.mark.parametrize("case", RIGHT)
def test_right_programs_are_correct(tmp_path, case):
    verdict = verdict_on(tmp_path, *RIGHT[case])
    assert verdict.is_correct, verdict.text()


@pytest.mark.slow
@pytest.mark.parametrize("case", ["a causal attention whose mask the caller passes", "a decoder layer without cross-attention"])
def test_the_judge_confirms_parts_that_only_the_class_shows(tmp_path, case):
    text, name = RIGHT[case]
    (tmp_path / "mine.py").write_text(HEAD + text)
    verdict = next(each for each in check_file(tmp_path / "mine.py") if each.subject == name)
    assert verdict.is_correct, verdict.text()


@pytest.mark.parametrize("case", UNUSUAL)
def test_programs_of_another_kind_are_not_called_wrong(tmp_path, case):
    assert verdict_on(tmp_path, *UNUSUAL[case]).status == "could not run"


def test_a_decoder_of_tokens_that_are_no_bytes_is_no_part(tmp_path):
    (tmp_path / "mine.py").write_text(TOKENS_AS_TEXT)
    module = load_module(tmp_path / "mine.py", TOKENS_AS_TEXT)
    assert [recognised(each) for each in subjects_of(module, TOKENS_AS_TEXT)] == [None]


def test_a_scale_that_one_head_alone_does_not_show_is_named_with_the_other_mistake(tmp_path):
    text = SHARED_BY_HEADS.replace("math.sqrt(self.head_dim)", "math.sqrt(width)")
    assert [cause.name for cause in verdict_on(tmp_path, text, "SelfAttention").causes] == ["split_before_projecting + scale"]


@pytest.mark.slow
@pytest.mark.usefixtures("without_pairs", "with_few_repairs")
@pytest.mark.parametrize("case", WRONG)
def test_wrong_programs_in_these_conventions_are_not_correct(tmp_path, case):
    assert not verdict_on(tmp_path, *WRONG[case]).is_correct


SOFTMAX = """
import torch
def softmax(x, dim=-1):
    powers = (x - x.amax(dim, keepdim=True)).exp()
    return powers / powers.sum(dim, keepdim=True)
"""

USER = """
import torch
from {place} import softmax
def attention(q, k, v):
    return softmax(q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5) @ v
"""


@pytest.mark.parametrize("place", [".softmaxes", "..layers.softmaxes", "project.layers.softmaxes", "layers.softmaxes"])
def test_imports_of_a_package_work_from_any_folder(tmp_path, place):
    folder = tmp_path / "project" / "layers"
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text("raise ImportError('a package that is not installed')" if place.startswith(".") else "")
    (folder / "softmaxes.py").write_text(SOFTMAX)
    text = textwrap.dedent(USER.format(place=place))
    module = load_module(folder / "attending.py", text)
    subject = next(each for each in subjects_of(module, text) if each.name == "attention")
    assert diagnose(subject, exercise("scaled_dot_product_attention")).is_correct


LOSS = """
def {name}(logits, targets):
    {documentation}
    return nn.functional.cross_entropy(logits.view(-1, logits.shape[-1]), targets.view(-1))
"""


def test_a_loss_that_leaves_the_shift_to_its_caller_is_noted(tmp_path):
    verdict = verdict_on(tmp_path, LOSS.format(name="next_token_loss", documentation='"""Return the loss."""'), "next_token_loss")
    assert verdict.is_correct
    assert any("shift" in each.en for each in verdict.notes)


@pytest.mark.parametrize(
    ("name", "documentation"), [("shifted_loss", '"""Return the loss."""'), ("next_token_loss", '"""Shift the targets by one."""')]
)
def test_a_loss_that_promises_to_shift_and_does_not_is_wrong(tmp_path, name, documentation):
    verdict = verdict_on(tmp_path, LOSS.format(name=name, documentation=documentation), name)
    assert verdict.causes[0].name == "not_shifted", verdict.text()


CORPUS = """
from collections import Counter
def count_pairs(corpus):
    counts = Counter()
    for word in corpus:
        for first, second in zip(word, word[1:]):
            counts[first, second] += 1
    return counts

def merge_pair(corpus, pair):
    merged = []
    for word in corpus:
        symbols, place = [], 0
        while place < len(word):
            is_pair = tuple(word[place : place + 2]) == pair
            symbols.append("".join(pair) if is_pair else word[place])
            place += 2 if is_pair else 1
        merged.append(symbols)
    return merged
"""

TENSORS = """
def merge(ids: torch.Tensor, pair: torch.Tensor, new_id: int) -> torch.Tensor:
    kept = []
    while len(ids):
        is_pair = len(ids) > 1 and torch.equal(ids[:2], pair)
        kept.append(torch.tensor([new_id]) if is_pair else ids[:1])
        ids = ids[2:] if is_pair else ids[1:]
    return torch.cat(kept)
"""

POSITIONS = """
class PositionalEmbedding(nn.Module):
    def __init__(self, block_size, d_model):
        super().__init__()
        self.table = nn.Parameter(torch.zeros(block_size, d_model))
    def forward(self, tokens):
        return self.table[: tokens.size(1)].expand(tokens.size(0), -1, -1)
"""

OPTIONS = """
from dataclasses import dataclass
@dataclass
class SamplingParams:
    max_tokens: int
    temperature: float = 1.0
    top_k: int | None = None

def sample_token(logits, params: SamplingParams):
    probs = torch.softmax(keep(logits / params.temperature, params), dim=-1)
    return torch.multinomial(probs, 1).item()

def keep(logits, params):
    if params.top_k is None:
        return logits
    return torch.where(logits >= logits.topk(min(params.top_k, len(logits))).values[-1], logits, float("-inf"))
"""


@pytest.mark.parametrize(
    ("text", "name", "right", "wrong"),
    [
        (CORPUS, "count_pairs", "zip(word, word[1:])", "zip(word[1:], word)"),
        (CORPUS, "merge_pair", "place += 2 if is_pair else 1", "place += 2"),
        (TENSORS, "merge", "ids = ids[2:] if is_pair", "ids = ids[1:] if is_pair"),
        (POSITIONS, "PositionalEmbedding", "[: tokens.size(1)]", "[tokens[0]]"),
        (OPTIONS, "sample_token", "/ params.temperature", "* params.temperature"),
        (OPTIONS, "sample_token", "values[-1]", "values[0]"),
    ],
)
def test_forms_of_tokenizers_positions_and_options(tmp_path, text, name, right, wrong):
    verdict = verdict_on(tmp_path, text, name)
    assert verdict.is_correct, verdict.text()
    assert not verdict_on(tmp_path, text.replace(right, wrong), name).is_correct


def test_the_decoder_of_single_characters_is_not_one_of_byte_pairs(tmp_path):
    text = 'letters = "abc"\ndef decode(ids):\n    return "".join(letters[each] for each in ids)\n'
    path = tmp_path / "mine.py"
    path.write_text(text)
    assert all(recognised(each) is None for each in subjects_of(load_module(path, text), text))


RACE = """
def sample(logits, temperature=0.8, top_k=None):
    logits = logits / max(temperature, 1e-5)
    if top_k is not None:
        least = logits.topk(min(top_k, logits.shape[-1])).values[..., -1:]
        logits = torch.where(logits < least, float("-inf"), logits)
    probs = torch.softmax(logits, dim=-1)
    return torch.argmax(probs / torch.empty_like(probs).exponential_(1), dim=-1, keepdim=True)
"""


@pytest.mark.slow
def test_a_sample_by_the_first_of_exponential_times_is_read(tmp_path):
    assert verdict_on(tmp_path, RACE, "sample").is_correct
    assert not verdict_on(tmp_path, RACE.replace("probs / torch", "probs * probs / torch"), "sample").is_correct


NUMBER = """
import random

def sample(probabilities):
    total, number = 0.0, random.random()
    for token, share in enumerate(probabilities):
        total += share
        if number < total:
            return token
    return len(probabilities) - 1
"""


def test_a_sample_that_draws_a_number_for_every_token_is_wrong(tmp_path):
    assert verdict_on(tmp_path, NUMBER, "sample").is_correct
    verdict = verdict_on(tmp_path, NUMBER.replace("number <", "random.random() <"), "sample")
    assert verdict.status in ("wrong", "unknown")
    assert verdict.difference is not None


@pytest.mark.slow
def test_torchscript_is_read_as_python(tmp_path):
    text = """
import torch

@torch.jit.script
def gelu(x):
    return 0.5 * x * (1 + torch.tanh(0.7978845608 * (x + 0.044715 * torch.pow(x, 3))))

class GELU(torch.jit.ScriptModule):
    @torch.jit.script_method
    def forward(self, x):
        return gelu(x)
"""
    path = tmp_path / "learner.py"
    path.write_text(text)
    assert [verdict.is_correct for verdict in check_file(path)] == [True, True]


@pytest.mark.slow
def test_a_default_device_of_cuda_is_no_obstacle_for_a_repair(tmp_path):
    text = """
import torch

def precompute_freqs_cis(head_dim, seq_len, theta=10000.0, device="cuda"):
    freqs = 1.0 / theta ** (torch.arange(0, head_dim, 2, device=device) / head_dim)
    angles = torch.outer(torch.arange(seq_len, device=device), freqs).to(device)
    return torch.polar(angles, torch.ones_like(angles))
"""
    path = tmp_path / "learner.py"
    path.write_text(text)
    (verdict,) = check_file(path)
    assert verdict.status == "wrong"
    assert verdict.repair is not None
    assert [edit.line for edit in verdict.repair.edits] == [7]


CALLED_LAYERS = """
from copy import deepcopy
from torch import nn

class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, h, entering, leaving):
        super().__init__()
        self.d_model, self.h = d_model, h
        self.a, self.b, self.c = (deepcopy(entering) for _ in range(3))
        self.leaving = leaving

    def forward(self, query, key, value, mask=None):
        def split(x, layer):
            return layer(x).view(query.size(0), -1, self.h, self.d_model // self.h).transpose(1, 2)

        query, key, value = split(query, self.a), split(key, self.b), split(value, self.c)
        scores = query @ key.transpose(-2, -1) / (self.d_model // self.h) ** 0.5
        if mask is not None:
            scores = scores.masked_fill(mask == 0, -1e9)
        return self.leaving((scores.softmax(-1) @ value).transpose(1, 2).flatten(2))
"""


@pytest.mark.slow
def test_classes_that_call_what_they_are_given_are_not_accused(tmp_path):
    pytest.importorskip("torch")
    path = tmp_path / "learner.py"
    path.write_text(CALLED_LAYERS)
    (verdict,) = check_file(path)
    assert verdict.status == "could not run"


OPTION = """
import math
import torch

def PositionalEncoding(q_len, d_model, normalize=True):
    places = torch.arange(q_len).unsqueeze(1)
    rates = torch.exp(torch.arange(0, d_model, 2) * -(math.log(10000.0) / d_model))
    table = torch.zeros(q_len, d_model)
    table[:, 0::2] = torch.sin(places * rates)
    table[:, 1::2] = torch.cos(places * rates)
    if normalize:
        table = (table - table.mean()) / (10 * table.std())
    return table
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "status"),
    [
        (OPTION, "could not run"),
        (OPTION.replace("normalize=True", "normalize=False"), "correct"),
        (OPTION.replace("normalize=True", "normalize=False").replace("torch.cos(", "torch.sin("), "wrong"),
    ],
)
def test_an_option_of_its_own_accuses_nobody(tmp_path, text, status):
    path = tmp_path / "learner.py"
    path.write_text(text)
    (verdict,) = check_file(path)
    assert verdict.status == status, verdict


NEARER = """
import math
import torch

def attention(q, k, v):
    scores = q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])
    scores = scores - 0.1 * (torch.arange(q.shape[-2])[:, None] - torch.arange(k.shape[-2])).abs()
    return scores.softmax(-1) @ v
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "status"),
    [
        (NEARER, "could not run"),
        (NEARER.replace("    scores = scores - ", "    #").replace("math.sqrt(q.shape[-1])", "q.shape[-1]"), "wrong"),
    ],
)
def test_a_penalty_on_distances_is_no_mistake(tmp_path, text, status):
    path = tmp_path / "learner.py"
    path.write_text(text)
    (verdict,) = check_file(path)
    assert verdict.status == status, verdict


GATED = """
import math
import torch
from torch import nn

class MultiHeadAttention(nn.Module):
    def __init__(self, width, num_heads):
        super().__init__()
        self.num_heads = num_heads
        self.query, self.key, self.value, self.output = (nn.Linear(width, width) for _ in range(4))
        self.gate = nn.Parameter(torch.randn(width))

    def forward(self, x):
        batch, length, width = x.shape
        shape = (batch, length, self.num_heads, width // self.num_heads)
        queries, keys, values = (layer(x).view(shape).transpose(1, 2) for layer in (self.query, self.key, self.value))
        scores = queries @ keys.transpose(-1, -2) / math.sqrt(shape[-1])
        mixed = (torch.softmax(scores, dim=-1) @ values).transpose(1, 2).reshape(batch, length, width)
        mixed = mixed * self.gate
        return self.output(mixed)
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "status"),
    [
        (GATED, "could not run"),
        (GATED.replace("mixed = mixed * self.gate", "pass").replace("math.sqrt(shape[-1])", "shape[-1]"), "wrong"),
    ],
)
def test_a_learned_parameter_that_a_repair_leaves_out_is_no_mistake(tmp_path, text, status):
    pytest.importorskip("torch")
    path = tmp_path / "learner.py"
    path.write_text(text)
    (verdict,) = check_file(path)
    assert verdict.status == status, verdict
