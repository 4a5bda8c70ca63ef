"""Layers whose parts are replaced by correct ones, and programs whose convention is in doubt."""

import pytest

from headway.practice.diagnosis.diagnose import diagnose
from headway.practice.diagnosis.doubt import settled
from headway.practice.diagnosis.files import load_module
from headway.practice.diagnosis.reading.subject import subjects_of
from headway.practice.diagnosis.recognising import recognised
from headway.practice.diagnosis.sandbox import check_file
from headway.practice.exercises import exercise

pytest.importorskip("torch")

LLAMA = """
import torch
from torch import nn

class RMSNorm(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(dim))
    def forward(self, x):
        return x * torch.rsqrt((x * x).mean(-1, keepdim=True) + 1e-6) * self.weight

class SwiGLU(nn.Module):
    def __init__(self, dim, hidden_dim):
        super().__init__()
        self.w1, self.w2, self.w3 = nn.Linear(dim, hidden_dim), nn.Linear(hidden_dim, dim), nn.Linear(dim, hidden_dim)
    def forward(self, x):
        return self.w2(nn.functional.silu(self.w1(x)) * self.w3(x))

class Attention(nn.Module):
    def __init__(self, dim, n_heads):
        super().__init__()
        self.n_heads = n_heads
        self.wqkv, self.wo = nn.Linear(dim, 3 * dim), nn.Linear(dim, dim)
        self.q_norm = RMSNorm(dim // n_heads)
    def forward(self, x, freqs_cis):
        batch, length, dim = x.shape
        q, k, v = (each.view(batch, length, self.n_heads, -1).transpose(1, 2) for each in self.wqkv(x).chunk(3, -1))
        q = torch.view_as_real(torch.view_as_complex(self.q_norm(q).reshape(*q.shape[:-1], -1, 2)) * freqs_cis).flatten(-2)
        weights = (q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5).tril().softmax(-1)
        return self.wo((weights @ v).transpose(1, 2).reshape(batch, length, dim))

class TransformerBlock(nn.Module):
    def __init__(self, dim, n_heads, hidden_dim):
        super().__init__()
        self.attention, self.feed_forward = Attention(dim, n_heads), SwiGLU(dim, hidden_dim)
        self.attention_norm, self.ffn_norm = RMSNorm(dim), RMSNorm(dim)
    def forward(self, x, freqs_cis):
        h = x + self.attention(self.attention_norm(x), freqs_cis)
        return h + self.feed_forward(self.ffn_norm(h))
"""

SHARED_TABLE = LLAMA.replace("freqs_cis", "rope_freqs").replace("self.attention, self.feed_forward", "self.attention, self.swiglu")
SHARED_TABLE = SHARED_TABLE.replace("self.feed_forward(", "self.swiglu(")

OPTIONAL_FIELDS = """
from torch import nn

class Attention(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.layer = nn.MultiheadAttention(config.d_model, config.n_head, batch_first=True)
    def forward(self, x, mask=None):
        return self.layer(x, x, x, attn_mask=mask, need_weights=False)[0]

class SwiGLU(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.gate, self.up = (nn.Linear(config.d_model, config.d_ff, bias=False) for _ in range(2))
        self.down = nn.Linear(config.d_ff, config.d_model, bias=False)
    def forward(self, x):
        return self.down(nn.functional.silu(self.gate(x)) * self.up(x))

class TransformerBlock(nn.Module):
    def __init__(self, config):
        super().__init__()
        if getattr(config, "num_experts", 0) >= 2:
            raise NotImplementedError
        self.norm1, self.norm2 = nn.RMSNorm(config.d_model), nn.RMSNorm(config.d_model)
        self.attn, self.ffn = Attention(config), SwiGLU(config)
    def forward(self, x, mask=None):
        h = x + self.attn(self.norm1(x), mask)
        return h + self.ffn(self.norm2(h))
"""

IN_MLX = """
import mlx.core as mx
import mlx.nn as nn

class Attention(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads, self.rope = heads, nn.RoPE(dim // heads)
        self.wq, self.wk, self.wv, self.wo = (nn.Linear(dim, dim, bias=False) for _ in range(4))
    def __call__(self, x, mask=None):
        split = lambda y: y.reshape(*x.shape[:2], self.heads, -1).transpose(0, 2, 1, 3)
        q, k, v = split(self.wq(x)), split(self.wk(x)), split(self.wv(x))
        y = mx.fast.scaled_dot_product_attention(self.rope(q), self.rope(k), v, scale=q.shape[-1] ** -0.5, mask=mask)
        return self.wo(y.transpose(0, 2, 1, 3).reshape(x.shape))

class FeedForward(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.gate, self.up, self.down = nn.Linear(dim, 4 * dim), nn.Linear(dim, 4 * dim), nn.Linear(4 * dim, dim)
    def __call__(self, x):
        return self.down(nn.silu(self.gate(x)) * self.up(x))

class TransformerBlock(nn.Module):
    def __init__(self, n_embd, n_head):
        super().__init__()
        self.ln1, self.ln2 = nn.RMSNorm(n_embd), nn.RMSNorm(n_embd)
        self.attn, self.mlp = Attention(n_embd, n_head), FeedForward(n_embd)
    def __call__(self, x, mask=None):
        x = x + self.attn(self.ln1(x), mask)
        return x + self.mlp(self.ln2(x))
"""

PARAMETRIC = """
from torch import nn

class FeedForward(nn.Module):
    def __init__(self, dim, hidden_dim):
        super().__init__()
        self.fc1, self.fc2 = nn.Linear(dim, hidden_dim), nn.Linear(hidden_dim, dim)
    def forward(self, x):
        return self.fc2(nn.functional.hardswish(self.fc1(x)))
"""


def verdict_on(tmp_path, text, name):
    """Return the settled verdict on one definition of a file."""
    path = tmp_path / "mine.py"
    path.write_text(text)
    module = load_module(path, text)
    subject = next(each for each in subjects_of(module, text) if each.name == name)
    return settled([diagnose(subject, recognised(subject))])[0]


@pytest.mark.slow
@pytest.mark.usefixtures("without_pairs", "with_few_repairs")
@pytest.mark.parametrize("text", [SHARED_TABLE, OPTIONAL_FIELDS], ids=["table under another name", "optional field of the config"])
def test_blocks_in_other_forms_are_judged_with_correct_parts(tmp_path, text):
    verdict = verdict_on(tmp_path, text, "TransformerBlock")
    assert verdict.is_correct
    wrong = text.replace("self.ffn(self.norm2(h))", "self.ffn(h)").replace("self.swiglu(self.ffn_norm(h))", "self.swiglu(h)")
    assert wrong != text
    assert not verdict_on(tmp_path, wrong, "TransformerBlock").is_correct


@pytest.mark.slow
def test_a_block_of_mlx_is_judged_with_correct_parts(tmp_path):
    pytest.importorskip("mlx.nn")
    assert verdict_on(tmp_path, IN_MLX, "TransformerBlock").is_correct
    assert not verdict_on(tmp_path, IN_MLX.replace("self.mlp(self.ln2(x))", "self.mlp(x)"), "TransformerBlock").is_correct


WITH_SIZES = """
import torch
from torch import nn

class MultiHead(nn.Module):
    def __init__(self, n_embd, num_heads, head_size):
        super().__init__()
        self.num_heads = num_heads
        self.qkv, self.out = nn.Linear(n_embd, 3 * num_heads * head_size), nn.Linear(num_heads * head_size, n_embd)
    def forward(self, x):
        q, k, v = (each.unflatten(-1, (self.num_heads, -1)).transpose(1, 2) for each in self.qkv(x).chunk(3, dim=-1))
        return self.out(nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(2))

class Block(nn.Module):
    def __init__(self, n_embd, num_heads):
        super().__init__()
        self.attention = MultiHead(n_embd, num_heads, n_embd // num_heads)
        self.feed_forward = nn.Sequential(nn.Linear(n_embd, 4 * n_embd), nn.GELU(), nn.Linear(4 * n_embd, n_embd))
        self.norm_1, self.norm_2 = nn.LayerNorm(n_embd), nn.LayerNorm(n_embd)
    def forward(self, x):
        x = x + self.attention(self.norm_1(x))
        return x + self.feed_forward(self.norm_2(x))
"""


@pytest.mark.slow
def test_a_block_that_makes_its_parts_with_exchanged_sizes_is_not_correct(tmp_path):
    assert verdict_on(tmp_path, WITH_SIZES, "Block").is_correct
    wrong = verdict_on(tmp_path, WITH_SIZES.replace("MultiHead(n_embd, num_heads,", "MultiHead(num_heads, n_embd,"), "Block")
    assert not wrong.is_correct


@pytest.mark.slow
def test_a_block_with_parts_of_another_convention_is_judged_with_correct_parts(tmp_path):
    verdict = verdict_on(tmp_path, LLAMA, "TransformerBlock")
    assert verdict.is_correct
    assert any("correct parts in place" in note.en for note in verdict.notes)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("h + self.feed_forward(self.ffn_norm(h))", "self.feed_forward(self.ffn_norm(h))"),
        ("self.attention(self.attention_norm(x), freqs_cis)", "self.attention(x, freqs_cis)"),
        ("self.feed_forward(self.ffn_norm(h))", "self.feed_forward(self.attention_norm(h))"),
    ],
)
@pytest.mark.usefixtures("without_pairs", "with_few_repairs")
def test_a_block_that_connects_its_parts_wrongly_is_not_correct(tmp_path, right, wrong):
    assert right in LLAMA
    assert not verdict_on(tmp_path, LLAMA.replace(right, wrong), "TransformerBlock").is_correct


def test_outputs_that_fit_no_convention_are_not_understood_instead_of_wrong(tmp_path):
    verdict = verdict_on(tmp_path, PARAMETRIC, "FeedForward")
    assert (verdict.status, [cause.name for cause in verdict.causes]) == ("could not run", ["not_understood"])
    assert "not understood" in verdict.text()
    assert verdict.difference is not None


def test_a_function_of_named_operands_is_wrong_without_a_known_cause(tmp_path):
    text = "import numpy as np\ndef softmax(x, axis=-1):\n    return np.cos(x) * 3 + np.sin(x)\n"
    assert verdict_on(tmp_path, text, "softmax").status == "unknown"


def test_a_file_that_names_cuda_runs_on_the_processor(tmp_path):
    text = PARAMETRIC.replace("hardswish", "relu").replace("(dim, hidden_dim)\n", '(dim, hidden_dim)\n        self.to("cuda")\n', 1)
    text = text.replace("self.fc1(x)", "self.fc1(x.cuda())").replace(
        "def __init__(self, dim, hidden_dim):", "def __init__(self, dim, hidden_dim, device='cuda:0'):"
    )
    assert verdict_on(tmp_path, text, "FeedForward").is_correct


def test_masks_named_after_encoder_and_decoder_are_not_exchanged():
    from headway.practice.diagnosis.calls.binding import bind_call
    from headway.practice.exercises import exercise

    def forward(x, e_output, e_mask, d_mask):
        """Take the encoder's mask first."""

    import inspect

    roles = [role for role in exercise("decoder_layer").roles if not role.is_weight and not role.is_size]
    binding = bind_call(list(inspect.signature(forward).parameters.values()), roles)
    assert {name: role.name for name, role in binding.role_of.items()}["e_mask"] == "encoder_mask"


UNPROJECTED = """
import torch
from torch import nn

class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, num_heads):
        super().__init__()
        self.num_heads = num_heads
        self.q, self.k, self.v = nn.Linear(d_model, d_model), nn.Linear(d_model, d_model), nn.Linear(d_model, d_model)
    def forward(self, x):
        batch, length, width = x.shape
        q, k, v = (each(x).view(batch, length, self.num_heads, -1).transpose(1, 2) for each in (self.q, self.k, self.v))
        weights = (q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5).softmax(-1)
        return (weights @ v).transpose(1, 2).reshape(batch, length, width)
"""

PROJECTING = """
class EncoderLayer(nn.Module):
    def __init__(self, d_model, num_heads, d_ff):
        super().__init__()
        self.attention, self.output = MultiHeadAttention(d_model, num_heads), nn.Linear(d_model, d_model)
        self.norm1, self.norm2 = nn.LayerNorm(d_model), nn.LayerNorm(d_model)
        self.ff = nn.Sequential(nn.Linear(d_model, d_ff), nn.ReLU(), nn.Linear(d_ff, d_model))
    def forward(self, x):
        x = self.norm1(x + self.output(self.attention(x)))
        return self.norm2(x + self.ff(x))
"""


def test_a_last_matrix_that_a_correct_caller_applies_is_no_mistake(tmp_path):
    from headway.practice.diagnosis.files import with_exercises
    from headway.practice.diagnosis.nested import verdicts

    def found(text):
        path = tmp_path / "mine.py"
        path.write_text(text)
        return [verdict.status for verdict in settled(verdicts(list(with_exercises(load_module(path, text), text))))]

    assert found(UNPROJECTED) == ["wrong"]
    assert found(UNPROJECTED + PROJECTING) == ["correct", "correct"]


def test_positions_are_taken_by_their_number(tmp_path):
    text = """
import math
import torch
from torch import nn

class PositionalEncoding(nn.Module):
    def __init__(self, d_model, max_len=5000):
        super().__init__()
        angles = torch.arange(max_len).unsqueeze(1) * torch.exp(torch.arange(0, d_model, 2) * (-math.log(10000.0) / d_model))
        self.register_buffer("pe", torch.stack([angles.sin(), angles.cos()], -1).flatten(1).unsqueeze(0))
    def forward(self, length):
        return self.pe[:, :length]
"""
    assert verdict_on(tmp_path, text, "PositionalEncoding").is_correct
    assert not verdict_on(tmp_path, text.replace("angles.cos()", "angles.sin()"), "PositionalEncoding").is_correct


@pytest.mark.slow
def test_the_judge_confirms_a_block_with_correct_parts_in_place_of_its_own(tmp_path):
    (tmp_path / "mine.py").write_text(LLAMA)
    (verdict,) = check_file(tmp_path / "mine.py", "transformer_block")
    assert verdict.subject == "TransformerBlock"
    assert verdict.is_correct, verdict.text()


@pytest.mark.slow
def test_a_function_that_reads_data_of_its_file_is_not_accused(tmp_path):
    (tmp_path / "mine.py").write_text("""
seen_words = {}
for word in open("no such file").read().split():
    seen_words[word] = seen_words.get(word, 0) + 1

def merge_pair(a, b, splits):
    for word in seen_words:
        split, place = splits[word], 0
        while place < len(split) - 1:
            if split[place] == a and split[place + 1] == b:
                split = split[:place] + [a + b] + split[place + 2 :]
            else:
                place += 1
        splits[word] = split
    return splits
""")
    verdict = next(each for each in check_file(tmp_path / "mine.py") if each.subject == "merge_pair")
    assert verdict.status == "could not run"
    assert [cause.name for cause in verdict.causes] == ["not_understood"]
    assert "probably" not in str(verdict)


@pytest.mark.slow
def test_a_model_that_is_given_its_mask_is_judged_with_a_causal_one(tmp_path):
    text = """
import numpy as np

def layer_norm(x, g, b):
    return g * (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5) + b

def gelu(x):
    return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))

def attention(x, c_attn, c_proj, num_heads, mask):
    q, k, v = (np.stack(np.split(y, num_heads, -1)) for y in np.split(x @ c_attn["w"] + c_attn["b"], 3, -1))
    scores = q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])
    scores = scores if mask is None else np.where(mask, scores, -1e10)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    y = weights / weights.sum(-1, keepdims=True) @ v
    return np.concatenate(list(y), -1) @ c_proj["w"] + c_proj["b"]

def transformer_forward(inputs, wte, wpe, blocks, ln_f, n_head, mask=None):
    x = wte[inputs] + wpe[: len(inputs)]
    for block in blocks:
        x = x + attention(layer_norm(x, **block["ln_1"]), **block["attn"], num_heads=n_head, mask=mask)
        y = layer_norm(x, **block["ln_2"])
        x = x + gelu(y @ block["mlp"]["c_fc"]["w"] + block["mlp"]["c_fc"]["b"]) @ block["mlp"]["c_proj"]["w"] + block["mlp"]["c_proj"]["b"]
    return x @ wte.T
"""
    verdict = verdict_on(tmp_path, text, "transformer_forward")
    assert (verdict.status, [cause.name for cause in verdict.causes]) == ("wrong", ["last_norm_missing"])
    assert verdict_on(tmp_path, text.replace("x @ wte.T", "layer_norm(x, **ln_f) @ wte.T"), "transformer_forward").is_correct
    assert verdict_on(tmp_path, text.replace(", mask=None):", "):\n    mask = None"), "transformer_forward").status == "wrong"


GIVEN_EMBEDDING = """
from torch import nn

class EncoderLayer(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.attention = nn.MultiheadAttention(dim, heads, batch_first=True)
        self.pos_ff = nn.Sequential(nn.Linear(dim, 4 * dim), nn.ReLU(), nn.Linear(4 * dim, dim))
        self.norm_1, self.norm_2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
    def forward(self, x, mask):
        x = self.norm_1(x + self.attention(x, x, x, key_padding_mask=mask == 0)[0])
        return self.norm_2(x + self.pos_ff(x))

class TransformerEncoder(nn.Module):
    def __init__(self, num_layers, dim, heads, embedding):
        super().__init__()
        self.embedding = embedding
        self.layers = nn.ModuleList([EncoderLayer(dim, heads) for _ in range(num_layers)])
    def forward(self, ids, mask):
        x = self.embedding(ids)
        for layer in self.layers:
            x = layer(x, mask)
        return x

def build_encoder(num_layers, dim, heads, vocab_size):
    return TransformerEncoder(num_layers, dim, heads, nn.Embedding(vocab_size, dim))
"""


@pytest.mark.slow
def test_a_stack_that_is_given_its_embedding_is_not_accused_of_missing_positions(tmp_path):
    (tmp_path / "mine.py").write_text(GIVEN_EMBEDDING)
    module = load_module(tmp_path / "mine.py", GIVEN_EMBEDDING)
    subject = next(each for each in subjects_of(module, GIVEN_EMBEDDING) if each.name == "TransformerEncoder")
    verdict = diagnose(subject, exercise("encoder_stack"))
    assert verdict.causes[0].name == "positions_missing"
    assert settled([verdict])[0].status == "could not run"


OF_LAST = """
from torch import nn

class SelfAttention(nn.Module):
    def __init__(self, width, num_heads):
        super().__init__()
        self.num_heads = num_heads
        self.to_qkv, self.to_out = nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x):
        q, k, v = (each.unflatten(-1, (self.num_heads, -1)).transpose(1, 2) for each in self.to_qkv(x).chunk(3, -1))
        q = q[:, :, -1:]
        weights = (q @ k.mT / q.shape[-1] ** 0.5).softmax(-1)
        return self.to_out((weights @ v).transpose(1, 2).flatten(2))
"""


@pytest.mark.slow
def test_an_attention_of_the_last_query_is_not_accused(tmp_path):
    path = tmp_path / "learner.py"
    path.write_text(OF_LAST)
    assert check_file(path)[0].status == "could not run"


SCALED_BY_LENGTH = """
import torch
from torch import nn

context_length = 8

class Head(nn.Module):
    def __init__(self, width, head_size, masked):
        super().__init__()
        self.masked = masked
        self.query, self.key, self.value = (nn.Linear(width, head_size) for _ in range(3))
        self.register_buffer("later", torch.ones(context_length, context_length).triu(1).bool())

    def forward(self, x):
        scores = self.query(x) @ self.key(x).mT * x.size(1) ** -0.5
        if self.masked:
            scores = scores.masked_fill(self.later, -1e9)
        weights = scores.softmax(-1)
        return weights @ self.value(x), weights

class SelfAttention(nn.Module):
    def __init__(self, width, num_heads, masked=False):
        super().__init__()
        self.heads = nn.ModuleList([Head(width, width // num_heads, masked) for _ in range(num_heads)])

    def forward(self, x):
        found = [head(x) for head in self.heads]
        return torch.cat([each[0] for each in found], -1), found[-1][1]
"""


@pytest.mark.slow
def test_outputs_that_are_right_under_another_convention_show_no_mistake(tmp_path):
    verdict = verdict_on(tmp_path, SCALED_BY_LENGTH, "SelfAttention")
    assert not verdict.is_correct
    assert "weights_returned" not in [cause.name for cause in verdict.causes]
