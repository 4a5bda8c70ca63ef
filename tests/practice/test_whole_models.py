"""Whole decoders under names that mean nothing, whose blocks are replaced by correct ones; and what such a verdict must not hide."""

import pytest

from headway.practice.diagnosis.diagnose import diagnose
from headway.practice.diagnosis.files import load_module
from headway.practice.diagnosis.reading.subject import subjects_of
from headway.practice.diagnosis.recognising import recognised
from headway.practice.diagnosis.sandbox import check_file
from headway.practice.exercises import exercise

pytest.importorskip("torch")

ROTARY = """
import torch
from torch import nn

class RMSNorm(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(dim))
    def forward(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * self.weight

def apply_rope(x, freqs_cis):
    turned = torch.view_as_complex(x.float().reshape(*x.shape[:-1], -1, 2)) * freqs_cis
    return torch.view_as_real(turned).flatten(-2)

class Attention(nn.Module):
    def __init__(self, args):
        super().__init__()
        self.heads = args["n_heads"]
        self.wq, self.wk, self.wv, self.wo = (nn.Linear(args["dim"], args["dim"], bias=False) for _ in range(4))
    def forward(self, x, freqs_cis, mask):
        batch, length, width = x.shape
        q, k, v = (w(x).view(batch, length, self.heads, -1).transpose(1, 2) for w in (self.wq, self.wk, self.wv))
        scores = apply_rope(q, freqs_cis) @ apply_rope(k, freqs_cis).mT / (width // self.heads) ** 0.5 + mask
        return self.wo((scores.softmax(-1) @ v).transpose(1, 2).reshape(batch, length, width))

class FeedForward(nn.Module):
    def __init__(self, args):
        super().__init__()
        self.w1, self.w3 = (nn.Linear(args["dim"], 3 * args["dim"], bias=False) for _ in range(2))
        self.w2 = nn.Linear(3 * args["dim"], args["dim"], bias=False)
    def forward(self, x):
        return self.w2(nn.functional.silu(self.w1(x)) * self.w3(x))

class TransformerBlock(nn.Module):
    def __init__(self, args):
        super().__init__()
        self.attention, self.feed_forward = Attention(args), FeedForward(args)
        self.attention_norm, self.ffn_norm = RMSNorm(args["dim"]), RMSNorm(args["dim"])
    def forward(self, x, freqs_cis, mask):
        x = x + self.attention(self.attention_norm(x), freqs_cis, mask)
        return x + self.feed_forward(self.ffn_norm(x)), None

class Minnow(nn.Module):
    def __init__(self, args):
        super().__init__()
        self.tok_embeddings = nn.Embedding(args["vocab_size"], args["dim"])
        self.layers = nn.ModuleList(TransformerBlock(args) for _ in range(args["n_layers"]))
        self.norm = RMSNorm(args["dim"])
        self.output = nn.Linear(args["dim"], args["vocab_size"], bias=False)
        angles = 10000.0 ** -(torch.arange(0, args["dim"] // args["n_heads"], 2) * args["n_heads"] / args["dim"])
        self.freqs_cis = torch.polar(torch.ones(args["max_seq_len"], len(angles)), torch.arange(args["max_seq_len"])[:, None] * angles)
    def forward(self, tokens, start_pos=0):
        length = tokens.shape[1]
        h = self.tok_embeddings(tokens)
        freqs_cis = self.freqs_cis[start_pos : start_pos + length]
        mask = torch.full((length, length), float("-inf")).triu(1)
        for layer in self.layers:
            h, _ = layer(h, freqs_cis, mask)
        return self.output(self.norm(h))
"""

LECTURE = """
import math
import torch
from torch import nn

class Block(nn.Module):
    def __init__(self, n_embd, n_head):
        super().__init__()
        self.sa = nn.MultiheadAttention(n_embd, n_head, batch_first=True)
        self.ffwd = nn.Sequential(nn.Linear(n_embd, 4 * n_embd), nn.ReLU(), nn.Linear(4 * n_embd, n_embd))
        self.ln1, self.ln2 = nn.LayerNorm(n_embd), nn.LayerNorm(n_embd)
    def forward(self, x):
        y, length = self.ln1(x), x.shape[1]
        hidden = torch.triu(torch.ones(length, length, dtype=torch.bool), 1)
        x = x + self.sa(y, y, y, attn_mask=hidden, need_weights=False)[0]
        return x + self.ffwd(self.ln2(x))

class Babbler(nn.Module):
    def __init__(self, vocab_size, n_embd, n_head, n_layer, block_size):
        super().__init__()
        self.token_embedding_table = nn.Embedding(vocab_size, n_embd)
        waves = torch.zeros(block_size, n_embd)
        angles = torch.arange(block_size)[:, None] / 10000 ** (torch.arange(0, n_embd, 2) / n_embd)
        waves[:, 0::2], waves[:, 1::2] = torch.sin(angles), torch.cos(angles)
        self.register_buffer("waves", waves)
        self.blocks = nn.Sequential(*[Block(n_embd, n_head) for _ in range(n_layer)], nn.LayerNorm(n_embd))
        self.lm_head = nn.Linear(n_embd, vocab_size)
    def forward(self, idx, targets=None):
        x = self.token_embedding_table(idx) * math.sqrt(self.waves.shape[1]) + self.waves[: idx.shape[1]]
        logits = self.lm_head(self.blocks(x))
        return logits, None
"""

WRONG = {
    "a mask that hides earlier positions": (ROTARY, ".triu(1)", ".tril(-1)"),
    "no mask": (ROTARY, 'float("-inf")', "0.0"),
    "the same rotation at every position": (ROTARY, "self.freqs_cis[start_pos : start_pos + length]", "self.freqs_cis[:1]"),
    "no final norm": (ROTARY, "self.output(self.norm(h))", "self.output(h)"),
    "every block gets the embedding": (
        ROTARY,
        "h, _ = layer(h, freqs_cis, mask)",
        "h, _ = layer(self.tok_embeddings(tokens), freqs_cis, mask)",
    ),
    "the last block is left out": (ROTARY, "for layer in self.layers:", "for layer in self.layers[:1]:"),
    "hidden states of the wrong position": (ROTARY, "self.norm(h)", "self.norm(h.roll(1, 1))"),
    "probabilities": (ROTARY, "return self.output(self.norm(h))", "return self.output(self.norm(h)).softmax(-1)"),
    "positions from one": (LECTURE, "self.waves[: idx.shape[1]]", "self.waves[1 : idx.shape[1] + 1]"),
    "no positions": (LECTURE, " + self.waves[: idx.shape[1]]", ""),
    "a block that leaks": (LECTURE, "dtype=torch.bool), 1)", "dtype=torch.bool), 2)"),
    "no residual stream": (LECTURE, "self.lm_head(self.blocks(x))", "self.lm_head(x)"),
}


def subject_of(tmp_path, text, name):
    path = tmp_path / "mine.py"
    path.write_text(text)
    return next(each for each in subjects_of(load_module(path, text), text) if each.name == name)


@pytest.mark.parametrize(
    ("text", "name", "note"), [(ROTARY, "Minnow", "judged with correct parts"), (LECTURE, "Babbler", "the activation is ReLU")]
)
def test_a_whole_model_of_any_name_is_recognised_and_correct(tmp_path, text, name, note):
    subject = subject_of(tmp_path, text, name)
    found = recognised(subject)
    assert found is not None
    assert found.name == "gpt2"
    verdict = diagnose(subject, found)
    assert verdict.is_correct
    assert note in verdict.text()


@pytest.mark.slow
@pytest.mark.usefixtures("without_pairs", "with_few_repairs")
@pytest.mark.parametrize("mistake", WRONG)
def test_a_wrong_whole_model_is_never_correct_although_its_blocks_are_replaced(tmp_path, mistake):
    text, old, wrong = WRONG[mistake]
    assert text.count(old) == 1
    subject = subject_of(tmp_path, text.replace(old, wrong), "Minnow" if text is ROTARY else "Babbler")
    assert not diagnose(subject, exercise("gpt2")).is_correct
    assert recognised(subject) is None


@pytest.mark.slow
def test_the_judge_confirms_a_whole_model(tmp_path):
    (tmp_path / "mine.py").write_text(ROTARY)
    (verdict,) = (each for each in check_file(tmp_path / "mine.py") if each.subject == "Minnow")
    assert verdict.is_correct


CONFIGURED = """
import torch
from dataclasses import dataclass
from torch import nn

@dataclass
class Config:
    n_embd: int = 8
    n_head: int = 2
    dropout: float = 0.0

class FeedForward(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.up = nn.Linear(config.n_embd, 4 * config.n_embd)
        self.down = nn.Linear(4 * config.n_embd, config.n_embd)
        self.dropout, self.n_head = nn.Dropout(config.dropout), config.n_head
    def forward(self, x):
        return self.dropout(self.down(nn.functional.gelu(self.up(x))))
"""


@pytest.mark.parametrize("held", ["", "self."])
def test_a_part_that_reads_what_its_config_lacks_is_not_correct(tmp_path, held):
    text = CONFIGURED.replace("config.", f"{held}config.").replace("__init__()\n", "__init__()\n        self.config = config\n")
    assert diagnose(subject_of(tmp_path, text, "FeedForward"), exercise("feed_forward")).is_correct
    lacking = text.replace(f"{held}config.n_embd)\n        self.dropout", f"{held}config.d_model)\n        self.dropout")
    assert lacking != text
    verdict = diagnose(subject_of(tmp_path, lacking, "FeedForward"), exercise("feed_forward"))
    assert verdict.status == "could not run"
    assert "d_model" in verdict.text()
    complete = lacking.replace("n_embd: int = 8", "n_embd: int = 8; d_model: int = 8")
    assert diagnose(subject_of(tmp_path, complete, "FeedForward"), exercise("feed_forward")).is_correct


FIXED_DEPTH = """
import torch
from torch import nn

class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.c_attn, self.c_proj = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.fc1, self.fc2 = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
    def attend(self, x):
        q, k, v = (each.unflatten(-1, (self.heads, -1)).transpose(1, 2) for each in self.c_attn(x).chunk(3, -1))
        y = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.c_proj(y.transpose(1, 2).flatten(2))
    def forward(self, x):
        x = x + self.attend(self.norm1(x))
        return x + self.fc2(nn.functional.gelu(self.fc1(self.norm2(x)), approximate="tanh"))

class TinyGPT(nn.Module):
    def __init__(self, vocab_size=65, width=384, heads=6, block_size=128):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(vocab_size, width), nn.Embedding(block_size, width)
        self.blocks = nn.Sequential(*[Block(width, heads) for _ in range(5)])
        self.ln_f, self.head = nn.LayerNorm(width), nn.Linear(width, vocab_size)
    def forward(self, idx):
        x = self.wte(idx) + self.wpe(torch.arange(idx.shape[1]))
        return self.head(self.ln_f(self.blocks(x)))
"""


@pytest.mark.slow
def test_a_model_of_a_fixed_number_of_blocks_is_judged(tmp_path):
    assert diagnose(subject_of(tmp_path, FIXED_DEPTH, "TinyGPT"), exercise("gpt2")).is_correct
    text = FIXED_DEPTH.replace("self.head(self.ln_f(self.blocks(x)))", "self.head(self.blocks(x))")
    verdict = diagnose(subject_of(tmp_path, text, "TinyGPT"), exercise("gpt2"))
    assert [cause.name for cause in verdict.causes] == ["last_norm_missing"]


@pytest.mark.slow
def test_a_model_of_one_block_too_many_is_not_taken_for_one_of_a_fixed_number(tmp_path):
    text = FIXED_DEPTH.replace("block_size=128", "block_size=128, n_layer=6").replace("range(5)", "range(n_layer + 1)")
    assert not diagnose(subject_of(tmp_path, text, "TinyGPT"), exercise("gpt2")).is_correct
