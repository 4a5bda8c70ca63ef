"""Methods that are parts of their own: the generate method of a model, whatever the model computes."""

import pytest

from headway.practice.diagnosis.sandbox import check_file
from tests.practice.public import updates

TEXT = """
import numpy as np

class Bigrams:
    def __init__(self, vocab_size, block_size):
        self.table = np.zeros((vocab_size, vocab_size))
        self.WINDOW_SIZE = block_size

    def __call__(self, ids, targets=None):
        return self.table[ids], None

    def generate(self, ids, max_new_tokens, temperature=1.0):
        for _ in range(max_new_tokens):
            logits, _ = self(ids[:, -self.WINDOW_SIZE :])
            newest = logits[:, -1, :] / temperature
            ids = np.concatenate([ids, newest.argmax(-1)[:, None]], axis=1)
        return ids
"""


def verdicts_on(tmp_path, text):
    (tmp_path / "mine.py").write_text(text)
    return {verdict.subject: verdict for verdict in check_file(tmp_path / "mine.py", seed=1)}


def verdict_on_method(tmp_path, text):
    return verdicts_on(tmp_path, text).get("Bigrams.generate")


def test_the_generate_method_of_a_model_is_judged_with_the_model_as_its_instance(tmp_path):
    verdict = verdict_on_method(tmp_path, TEXT)
    assert verdict.is_correct
    assert verdict.line == TEXT[: TEXT.index("    def generate")].count("\n") + 1


@pytest.mark.slow
@pytest.mark.parametrize(
    ("right", "wrong"), [("logits[:, -1, :]", "logits[:, 0, :]"), ("argmax(-1)", "argmin(-1)"), ("[ids, newest", "[ids[:, :-1], newest")]
)
def test_a_mistake_in_a_generate_method_is_found(tmp_path, right, wrong):
    assert TEXT.replace(right, wrong) != TEXT
    verdict = verdict_on_method(tmp_path, TEXT.replace(right, wrong))
    assert verdict.status == "wrong"
    assert verdict.causes or verdict.repair


@pytest.mark.parametrize("needed", ["self.table[ids][:, -1, :]", "self.steps.pop(self(ids)[0][:, -1, :])"])
def test_a_method_that_needs_more_of_its_instance_gets_no_verdict(tmp_path, needed):
    assert verdict_on_method(tmp_path, TEXT.replace("logits[:, -1, :]", needed)) is None


STATIC = """
import math
import torch
from torch import nn


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        self.n_heads = n_heads
        self.q, self.k, self.v, self.o = (nn.Linear(d_model, d_model) for _ in range(4))

    @staticmethod
    def attention(query, key, value, mask=None):
        scores = query @ key.transpose(-2, -1) / math.sqrt(query.size(-1))
        if mask is not None:
            scores = scores.masked_fill(mask == 0, -1e9)
        return scores.softmax(dim=-1) @ value

    @staticmethod
    def _softmax(x):
        e = torch.exp(x - x.max(dim=-1, keepdim=True).values)
        return e / e.sum(dim=-1, keepdim=True)

    def forward(self, query, key, value, mask=None):
        batch = query.size(0)
        q, k, v = (f(x).view(batch, -1, self.n_heads, x.size(-1) // self.n_heads).transpose(1, 2) for f, x in ((self.q, query), (self.k, key), (self.v, value)))
        x = self.attention(q, k, v, mask)
        return self.o(x.transpose(1, 2).reshape(batch, -1, query.size(-1)))
"""


@pytest.mark.slow
def test_static_methods_are_judged_by_their_own_names_and_private_ones_too(tmp_path):
    found = verdicts_on(tmp_path, STATIC)
    assert {name: verdict.exercise for name, verdict in found.items() if verdict.is_correct} == {
        "MultiHeadAttention": "multi_head_attention",
        "MultiHeadAttention.attention": "scaled_dot_product_attention",
        "MultiHeadAttention._softmax": "softmax",
    }


STATELESS = """
import numpy as np

class Sampler:
    def __init__(self, seed):
        self.seed = seed

    def softmax(self, x):
        e = np.exp(x - x.max(axis=-1, keepdims=True))
        return e / e.sum(axis=-1, keepdims=True)

    def attention(self, q, k, v):
        return self.softmax(q @ np.swapaxes(k, -1, -2) / np.sqrt(q.shape[-1])) @ v

    def top_k(self, logits, k):
        return np.where(logits >= np.sort(logits, axis=-1)[..., -k][..., None], logits, -np.inf)

    def relu(self, x):
        return np.maximum(x, self.seed)
"""


@pytest.mark.slow
def test_methods_that_read_no_state_of_their_instance_are_judged_as_functions(tmp_path):
    found = verdicts_on(tmp_path, STATELESS)
    assert {name: verdict.exercise for name, verdict in found.items() if verdict.is_correct} == {
        "Sampler.softmax": "softmax",
        "Sampler.attention": "scaled_dot_product_attention",
        "Sampler.top_k": "top_k",
    }
    assert "Sampler.relu" not in found


def test_a_mistake_in_a_method_without_state_is_found(tmp_path):
    found = verdicts_on(tmp_path, STATELESS.replace("np.sqrt(q.shape[-1])", "q.shape[-1]"))
    assert found["Sampler.attention"].status == "wrong"
    assert found["Sampler.softmax"].is_correct


@pytest.mark.slow
def test_the_context_size_of_an_instance_may_be_private(tmp_path):
    assert verdict_on_method(tmp_path, TEXT.replace("WINDOW_SIZE", "_context_length")).is_correct


ATTENTION = """
import math
import torch
from torch import nn

class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, num_heads):
        super().__init__()
        self.d_model, self.num_heads, self.d_k = d_model, num_heads, d_model // num_heads
        self.q, self.k, self.v, self.o = (nn.Linear(d_model, d_model) for _ in range(4))

    def attention(self, q, k, v):
        return (q @ k.transpose(-2, -1) / math.sqrt(self.d_model)).softmax(-1) @ v

    def forward(self, x):
        q, k, v = (layer(x).unflatten(-1, (self.num_heads, -1)).transpose(1, 2) for layer in (self.q, self.k, self.v))
        return self.o(self.attention(q, k, v).transpose(1, 2).flatten(2))
"""


def test_a_mistake_in_a_method_is_repaired_there_and_not_said_to_be_that_of_its_class(tmp_path):
    pytest.importorskip("torch")
    found = verdicts_on(tmp_path, ATTENTION)
    verdict = found["MultiHeadAttention.attention"]
    assert not found["MultiHeadAttention"].is_correct
    assert verdict.status == "wrong"
    assert verdict.repair is not None
    assert "self.d_model → self.d_k" in verdict.repair.says.en


MASKS = """
import torch
from torch import nn

class Attention(nn.Module):
    def __init__(self, width, num_heads):
        super().__init__()
        self.num_heads, self.c_attn, self.c_proj = num_heads, nn.Linear(width, 3 * width), nn.Linear(width, width)

    def attention_mask(self, nd, ns, *, dtype):
        seen = torch.arange(nd)[:, None] >= torch.arange(ns) - ns + nd
        return seen.to(dtype=dtype).to(device=self.c_attn.weight.device)

    def get_mask(self, size):
        return torch.tril(torch.ones(size, size, device=next(self.parameters()).device))

    def hide(self, scores):
        seen = self.attention_mask(*scores.shape[-2:], dtype=scores.dtype)
        return scores * seen - 1e10 * (1 - seen)

    def attend(self, q, k, v):
        return self.hide(q @ k.mT / q.shape[-1] ** 0.5).softmax(-1) @ v

    def forward(self, x):
        q, k, v = (each.unflatten(-1, (self.num_heads, -1)).transpose(1, 2) for each in self.c_attn(x).chunk(3, dim=-1))
        return self.c_proj(self.attend(q, k, v).transpose(1, 2).flatten(2))
"""


def test_a_method_that_makes_a_mask_on_the_device_of_the_weights_is_judged(tmp_path):
    pytest.importorskip("torch")
    found = verdicts_on(tmp_path, MASKS)
    assert {name: verdict.status for name, verdict in found.items()} == {
        "Attention": "correct",
        "Attention.attention_mask": "correct",
        "Attention.get_mask": "correct",
    }


def test_a_mistake_in_a_mask_on_the_device_of_the_weights_is_found(tmp_path):
    pytest.importorskip("torch")
    wrong = MASKS.replace("ns) - ns + nd", "ns) - ns + nd + 1").replace(".parameters()).device)", ".parameters()).device), diagonal=-1")
    found = verdicts_on(tmp_path, wrong)
    assert found["Attention.get_mask"].status == "wrong"
    assert "Attention.attention_mask" not in found or not found["Attention.attention_mask"].is_correct


METHODS_OF_TOKENIZERS = ("WordTokenizer.encode_word", "MarkedTokenizer.decode")
TOKENIZERS = "\n".join(each.text for each in updates.PROGRAMS if each.name in METHODS_OF_TOKENIZERS)


def test_methods_of_tokenizers_are_judged_by_the_state_that_they_read(tmp_path):
    found = verdicts_on(tmp_path, TOKENIZERS)
    assert [found[name].status for name in METHODS_OF_TOKENIZERS] == ["correct", "correct"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("= min(ranked)", "= max(each for each in ranked if each[0] < len(self.rules) or each == min(ranked))"),
        ("symbols[place] + symbols[place + 1]", "symbols[place + 1] + symbols[place]"),
        ('" " + token[1:]', "token[1:]"),
        ("for number in ids", "for number in ids[::-1]"),
    ],
)
def test_wrong_methods_of_tokenizers_are_not_right_and_accused_only_with_a_repair(tmp_path, right, wrong):
    assert TOKENIZERS.count(right) == 1
    found = verdicts_on(tmp_path, TOKENIZERS.replace(right, wrong))
    assert sum(name in found and found[name].is_correct for name in METHODS_OF_TOKENIZERS) == 1
    accused = [found[name] for name in METHODS_OF_TOKENIZERS if name in found and found[name].status == "wrong"]
    assert all(each.repair is not None for each in accused)


REPEATING = """
import torch
from torch import nn

class GroupedAttention(nn.Module):
    def __init__(self, dim, n_heads, n_kv_heads):
        super().__init__()
        self.n_rep = n_heads // n_kv_heads

    def repeat_kv(self, x):
        if self.n_rep == 1:
            return x
        batch, length, heads, width = x.shape
        return x[:, :, :, None, :].expand(batch, length, heads, self.n_rep, width).reshape(batch, length, heads * self.n_rep, width)
"""


def test_a_method_that_repeats_heads_by_the_number_of_its_instance_is_judged(tmp_path):
    pytest.importorskip("torch")
    assert verdicts_on(tmp_path, REPEATING)["GroupedAttention.repeat_kv"].is_correct
    text = REPEATING.replace(
        "x[:, :, :, None, :].expand(batch, length, heads, self.n_rep, width)",
        "x[:, :, None].expand(batch, length, self.n_rep, heads, width)",
    )
    verdict = verdicts_on(tmp_path, text)["GroupedAttention.repeat_kv"]
    assert (verdict.status, [cause.name for cause in verdict.causes]) == ("wrong", ["tiled"])
