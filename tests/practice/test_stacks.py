"""Stacks and whole encoder–decoders whose layers are replaced: what is not understood accuses nobody, and the judge confirms the rest."""

from pathlib import Path

import pytest

from headway.practice.diagnosis.diagnose import diagnose
from headway.practice.diagnosis.files import load_module
from headway.practice.diagnosis.reading.subject import subjects_of
from headway.practice.diagnosis.recognising import recognised
from headway.practice.diagnosis.repairing import with_repair
from headway.practice.diagnosis.sandbox import check_file
from headway.practice.exercises import exercise

pytest.importorskip("torch")

MODEL = (Path(__file__).parent / "learners/encoder_decoder__torch.py").read_text().partition("class Right_masks_from_ids")[0]
FORWARD = """
class Transformer(Base):
    def forward(self, src, tgt, {more}):
        src_mask, tgt_mask = self.masks(src, tgt)
        return self.decoder(tgt, self.encoder(src, {mask}), tgt_mask, {mask})
"""
RIGHT = MODEL + FORWARD.format(more="flag=False", mask="src_mask")


def subject_of(tmp_path, text):
    path = tmp_path / "mine.py"
    path.write_text(text)
    return next(each for each in subjects_of(load_module(path, text), text) if each.name == "Transformer")


def test_a_model_that_takes_a_mask_of_unknown_meaning_is_not_accused(tmp_path):
    subject = subject_of(tmp_path, MODEL + FORWARD.format(more="valid_lens=None", mask="valid_lens"))
    assert diagnose(subject, exercise("encoder_decoder")).status == "could not run"
    assert recognised(subject) is None


KEYWORDS = """
import torch
from torch import nn

class Transformer(nn.Module):
    def __init__(self, vocab_size, d_model, nhead, num_layers, max_len=64):
        super().__init__()
        self.words, self.positions = nn.Embedding(vocab_size, d_model), nn.Parameter(torch.randn(max_len, d_model))
        self.transformer = nn.Transformer(d_model, nhead, num_layers, num_layers, 4 * d_model, batch_first=True)
        self.head = nn.Linear(d_model, vocab_size)

    def forward(self, src, tgt, **masks):
        src, tgt = (self.words(ids) + self.positions[: ids.shape[1]] for ids in (src, tgt))
        return self.head(self.transformer(src, tgt, {masks}))
"""


@pytest.mark.parametrize("masks", ["**masks", "tgt_mask=masks.get('tgt_mask')"])
def test_masks_that_a_caller_may_hand_over_as_keywords_are_not_missing(tmp_path, masks):
    subject = subject_of(tmp_path, KEYWORDS.format(masks=masks))
    assert recognised(subject) is None
    assert diagnose(subject, exercise("encoder_decoder")).status != "wrong"


def test_a_model_without_masks_is_wrong(tmp_path):
    subject = subject_of(tmp_path, KEYWORDS.replace(", **masks", "").format(masks=""))
    verdict = diagnose(subject, exercise("encoder_decoder"))
    assert [cause.name for cause in verdict.causes] == ["later_targets_seen"]


@pytest.mark.slow
def test_no_edit_of_a_stack_is_called_a_repair(tmp_path):
    wrong = RIGHT.replace("x * math.sqrt(x.shape[-1]) + self.table", "x * 3 + self.table")
    subject = subject_of(tmp_path, wrong.replace("self.pos(self.tgt_embed(tgt))", "self.pos(self.tgt_embed(tgt)) * 2"))
    verdict = diagnose(subject, exercise("encoder_decoder"))
    assert not verdict.is_correct
    assert with_repair(verdict, subject, exercise("encoder_decoder")).repair is None


@pytest.mark.slow
def test_the_judge_confirms_an_encoder_decoder(tmp_path):
    (tmp_path / "mine.py").write_text(RIGHT)
    (verdict,) = (each for each in check_file(tmp_path / "mine.py") if each.subject == "Transformer")
    assert verdict.is_correct, verdict
    assert "simple layers" in verdict.text()


SHARED = """
import copy
import torch
from torch import nn


class FeedForward(nn.Module):
    def __init__(self, d_model, d_ff):
        super().__init__()
        self.up, self.down = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)

    def forward(self, x):
        return self.down(torch.relu(self.up(x)))


class EncoderLayer(nn.Module):
    def __init__(self, d_model, n_heads, d_ff):
        super().__init__()
        self.attention = nn.MultiheadAttention(d_model, n_heads, batch_first=True)
        self.feed_forward = FeedForward(d_model, d_ff)
        self.norm1, self.norm2 = nn.LayerNorm(d_model), nn.LayerNorm(d_model)

    def forward(self, x):
        x = self.norm1(x + self.attention(x, x, x)[0])
        return self.norm2(x + self.feed_forward(x))


class Encoder(nn.Module):
    def __init__(self, d_model, n_heads, d_ff, n_layers):
        super().__init__()
        layer = EncoderLayer(d_model, n_heads, d_ff)
        self.layers = nn.ModuleList(LAYERS)

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("layers", "is_shared"),
    [
        ("[EncoderLayer(d_model, n_heads, d_ff) for _ in range(n_layers)]", False),
        ("[copy.deepcopy(layer) for _ in range(n_layers)]", False),
        ("[EncoderLayer(d_model, n_heads, d_ff)] * n_layers", True),
        ("[layer for _ in range(n_layers)]", True),
    ],
)
def test_a_list_that_holds_one_layer_several_times_is_wrong(tmp_path, layers, is_shared):
    pytest.importorskip("torch")
    path = tmp_path / "mine.py"
    path.write_text(SHARED.replace("LAYERS", layers))
    found = {each.subject: each for each in check_file(path)}
    assert found["Encoder"].is_correct != is_shared
    assert [cause.name for cause in found["Encoder"].causes] == (["layers_shared"] if is_shared else [])


UNJUDGED = """
import numpy as np

class Block:
    def __init__(self, width):
        self.gain = np.ones(width)

    def forward(self, x):
        return x * self.gain

class TransformerDecoder:
    def __init__(self, width, n_layers):
        LAYERS

    def forward(self, x):
        for block in self.blocks:
            x = block.forward(x)
        return x
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("line", "is_shared"),
    [("self.blocks = [Block(width)] * n_layers", True), ("self.blocks = [Block(width) for _ in range(n_layers)]", False)],
)
def test_layers_that_are_shared_are_found_in_a_stack_that_is_not_judged(tmp_path, line, is_shared):
    path = tmp_path / "mine.py"
    path.write_text(UNJUDGED.replace("LAYERS", line))
    causes = [cause.name for each in check_file(path) if each.subject == "TransformerDecoder" for cause in each.causes]
    assert ("layers_shared" in causes) == is_shared


PARALLEL = """
import torch
from torch import nn

class Attention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.query, self.key, self.value, self.out = (nn.Linear(width, width) for _ in range(4))

    def forward(self, query, key, value, mask=None):
        q, k, v = (
            each.unflatten(-1, (self.heads, -1)).transpose(1, 2)
            for each in (self.query(query), self.key(key), self.value(value))
        )
        y = nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        return self.out(y.transpose(1, 2).flatten(2))

class DecoderLayer(nn.Module):
    def __init__(self, width, heads, inner):
        super().__init__()
        self.own, self.cross = Attention(width, heads), Attention(width, heads)
        self.up, self.down = nn.Linear(width, inner), nn.Linear(inner, width)
        self.norm1, self.norm2, self.norm3 = (nn.LayerNorm(width) for _ in range(3))

    def forward(self, tgt, memory, query_pos, memory_mask=None):
        placed = tgt + query_pos
        tgt = self.norm1(tgt + self.own(placed, placed, tgt))
        tgt = self.norm2(tgt + self.cross(tgt + query_pos, memory, memory, memory_mask))
        return self.norm3(tgt + self.down(torch.relu(self.up(tgt))))
"""
CAUSAL = PARALLEL.replace("tgt + query_pos", "tgt").replace("query_pos, ", "")


@pytest.mark.slow
@pytest.mark.parametrize(("text", "cause"), [(PARALLEL, "not_understood"), (CAUSAL, "later_positions_visible")], ids=["parallel", "causal"])
def test_a_decoder_that_is_given_the_positions_of_its_queries_needs_no_causal_mask(tmp_path, text, cause):
    (tmp_path / "mine.py").write_text(text)
    (verdict,) = (each for each in check_file(tmp_path / "mine.py") if each.subject == "DecoderLayer")
    assert [each.name for each in verdict.causes] == [cause]
