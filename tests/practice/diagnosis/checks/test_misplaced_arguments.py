"""Arguments in the places of others."""

from __future__ import annotations

import pytest

from headway.practice.diagnosis.checks.misplaced_arguments import misplaced_argument_cause
from headway.practice.diagnosis.files import load_definitions
from headway.practice.diagnosis.reading.subject import subjects_of
from headway.practice.diagnosis.sandbox import check_file

TEXT = """
class Positions:
    def __init__(self, d_model, dropout=0.1, max_len=512):
        self.rate = dropout / 2

class Layer:
    def __init__(self, d_in, d_out):
        self.d_in = d_in

class Encoder:
    def __init__(self, d_in, d_out, d_model, max_len, dropout):
        self.part = PART
"""


@pytest.mark.parametrize(
    ("part", "is_misplaced"),
    [
        ("Positions(d_model, dropout, max_len)", False),
        ("Positions(d_model, max_len, dropout)", True),
        ("Positions(d_model, max_len=dropout)", True),
        ("Positions(d_model, max_len=max_len, dropout=dropout)", False),
        ("Positions(d_model, *[max_len, dropout])", False),
        ("Layer(d_out, d_in)", False),
    ],
)
def test_only_arguments_of_another_kind_are_misplaced(tmp_path, part, is_misplaced):
    path, text = tmp_path / "mine.py", TEXT.replace("PART", part)
    subject = next(each for each in subjects_of(load_definitions(path, text), text) if each.name == "Encoder")
    assert (misplaced_argument_cause(subject) is not None) == is_misplaced


STACK = """
import torch
from torch import nn

class Embedding(nn.Module):
    def __init__(self, d_model, vocab_size, padding_idx=None, dropout=0.1):
        super().__init__()
        self.table = nn.Embedding(vocab_size, d_model, padding_idx=padding_idx)
        self.dropout = nn.Dropout(dropout)

    def forward(self, ids):
        return self.dropout(self.table(ids))

class Encoder(nn.Module):
    def __init__(self, vocab_size, d_model, n_heads, d_ff, n_layers, dropout):
        super().__init__()
        self.embedding = Embedding(d_model, vocab_size, dropout)
        self.layers = nn.ModuleList([nn.TransformerEncoderLayer(d_model, n_heads, d_ff, dropout, batch_first=True) for _ in range(n_layers)])

    def forward(self, ids):
        x = self.embedding(ids)
        for layer in self.layers:
            x = layer(x)
        return x
"""


def test_a_stack_that_cannot_be_constructed_names_the_argument(tmp_path):
    pytest.importorskip("torch")
    path = tmp_path / "mine.py"
    path.write_text(STACK)
    found = {each.subject: each for each in check_file(path)}
    assert [cause.name for cause in found["Encoder"].causes] == ["argument_misplaced"]


NORMED = """
import torch
from torch import nn

class LayerNorm(nn.Module):
    def __init__(self, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.gain, self.shift = nn.Parameter(torch.ones(1)), nn.Parameter(torch.zeros(1))

    def forward(self, x):
        return self.gain * (x - x.mean(-1, keepdim=True)) / (x.std(-1, keepdim=True) + self.eps) + self.shift

class ResidualConnection(nn.Module):
    def __init__(self, features, dropout):
        super().__init__()
        self.norm, self.dropout = LayerNorm(ARGUMENTS), nn.Dropout(dropout)

    def forward(self, x, sublayer):
        return self.norm(x + self.dropout(sublayer(x)))
"""


@pytest.mark.parametrize(
    ("arguments", "parameters", "is_misplaced"),
    [
        ("features", "eps=1e-6", True),
        ("eps=features", "eps=1e-6", True),
        ("", "eps=1e-6", False),
        ("features", "features, eps=1e-6", False),
        ("features", "eps=16", False),
        ("rate", "eps=1e-6", False),
    ],
)
def test_a_width_is_no_small_number(tmp_path, arguments, parameters, is_misplaced):
    pytest.importorskip("torch")
    text = NORMED.replace("ARGUMENTS", arguments).replace("eps=1e-6", parameters)
    subject = next(each for each in subjects_of(load_definitions(tmp_path / "mine.py", text), text) if each.name == "ResidualConnection")
    assert (misplaced_argument_cause(subject) is not None) == is_misplaced


def test_a_width_that_a_norm_only_passes_on_as_its_width_is_no_mistake(tmp_path):
    pytest.importorskip("torch")
    text = NORMED.replace("ARGUMENTS", "features").replace("+ self.eps)", ")").replace("self.eps = eps", "self.norm = nn.LayerNorm(eps)")
    subject = next(each for each in subjects_of(load_definitions(tmp_path / "mine.py", text), text) if each.name == "ResidualConnection")
    assert misplaced_argument_cause(subject) is None


def test_a_residual_whose_norm_adds_the_width_is_wrong(tmp_path):
    pytest.importorskip("torch")
    path = tmp_path / "mine.py"
    path.write_text(NORMED.replace("ARGUMENTS", "features"))
    found = {each.subject: each for each in check_file(path)}
    assert found["LayerNorm"].is_correct
    assert [cause.name for cause in found["ResidualConnection"].causes] == ["argument_misplaced"]
    assert found["ResidualConnection"].causes[0].line == 17


OWN = """
class FeedForward:
    def __init__(self, d_model, d_ff, dropout=0.1):
        self.widths = d_model, d_ff

class Layer:
    def __init__(self, d_model, num_heads, d_ff):
        self.heads = num_heads
        self.inner = PART
"""


@pytest.mark.parametrize(
    ("part", "is_misplaced"),
    [
        ("FeedForward(d_model, d_ff)", False),
        ("FeedForward(d_model, num_heads)", True),
        ("FeedForward(d_model, d_ff=num_heads)", True),
        ("FeedForward(d_model, num_heads * d_ff)", False),
        ("FeedForward(d_model, d_model)", False),
        ("FeedForward(d_model, num_heads), d_ff", False),
    ],
)
def test_an_argument_of_another_kind_in_place_of_an_unused_parameter_is_misplaced(tmp_path, part, is_misplaced):
    path, text = tmp_path / "mine.py", OWN.replace("PART", part)
    subject = next(each for each in subjects_of(load_definitions(path, text), text) if each.name == "Layer")
    assert (misplaced_argument_cause(subject) is not None) == is_misplaced


READING = """
import json

class Tokenizer:
    def __init__(self, vocab, merges):
        self.vocab, self.merges = vocab, merges

    @classmethod
    def from_file(cls, path):
        vocab, merges = json.load(open(path))
        return cls(ARGUMENTS)
"""


@pytest.mark.parametrize(
    ("arguments", "is_misplaced"), [("merges, vocab", True), ("vocab, merges", False), ("merges=merges, vocab=vocab", False)]
)
def test_another_constructor_passes_its_arguments_in_order(tmp_path, arguments, is_misplaced):
    text = READING.replace("ARGUMENTS", arguments)
    subject = next(each for each in subjects_of(load_definitions(tmp_path / "mine.py", text), text) if each.name == "Tokenizer")
    assert (misplaced_argument_cause(subject) is not None) == is_misplaced
