"""The search for repairs: programs with one or two mistakes, and the line at which each is repaired."""

from __future__ import annotations

import ast
import textwrap
from types import ModuleType

import numpy
import pytest
import torch

from headway.practice.diagnosis import repairing
from headway.practice.diagnosis.checks.trials import trials_of
from headway.practice.diagnosis.diagnose import diagnose
from headway.practice.diagnosis.reading.subject import Subject, subjects_of
from headway.practice.diagnosis.repair import find_repair, search
from headway.practice.diagnosis.repair.foreseen import LEAVES, RAISES, REORDERS, UNCHANGED, Foresight
from headway.practice.diagnosis.repair.milestones import Milestones
from headway.practice.diagnosis.repair.program import Change, program_of
from headway.practice.diagnosis.repair.remaining import is_an_input, takes_away_part
from headway.practice.diagnosis.repair.text import applied
from headway.practice.diagnosis.repairing import with_repair
from headway.practice.exercise import Probe
from headway.practice.exercises import exercise
from headway.practice.verdict import Repair
from tests.practice.programs import (
    ATTENTION,
    BATCHED,
    EMBEDDING,
    GELU,
    HEAD,
    HEADS,
    LAYER_NORM,
    LOOPS,
    MASK,
    MERGE,
    NORM_CLASS,
    PAIRED,
    POSITIONS,
    RMS_NORM,
    ROTARY,
    SOFTMAX,
    WITHOUT_SUM,
)
from tools import donors

ONE_MISTAKE = [
    ("multi_head_attention", BATCHED, "key.shape[-1] **", "key.shape[0] **"),
    ("multi_head_attention", BATCHED, "key.shape[-1] **", "batch **"),
    ("multi_head_attention", BATCHED, "(weights @ value).transpose(1, 2)", "weights @ value"),
    ("multi_head_attention", BATCHED, "dim=-1)", "dim=1)"),
    ("rotary", ROTARY, "b * np.cos(angle) + a * np.sin(angle)", "b * np.sin(angle) + a * np.cos(angle)"),
    ("softmax", SOFTMAX, "x.max(axis=-1", "x.max(axis=0"),
    ("softmax", SOFTMAX, "e / e.sum(axis=-1, keepdims=True)", "e / (e.sum(axis=-1, keepdims=True) + 1e-3)"),
    ("softmax", SOFTMAX, "e.sum(axis=-1, keepdims=True)", "e.sum(axis=-1)"),
    ("softmax", SOFTMAX, "e / e.sum", "e / x.sum"),
    ("softmax", SOFTMAX, "np.exp(x)", "np.exp2(x)"),
    ("softmax", LOOPS, "v - top", "v + top"),
    ("softmax", LOOPS, "sum(powers)", "len(powers)"),
    ("scaled_dot_product_attention", ATTENTION, "k.shape[-1]", "v.shape[-1]"),
    ("scaled_dot_product_attention", ATTENTION, "/ np.sqrt", "* np.sqrt"),
    ("scaled_dot_product_attention", ATTENTION, "np.swapaxes(k, -1, -2)", "k.reshape(*k.shape[:-2], k.shape[-1], -1)"),
    ("scaled_dot_product_attention", ATTENTION, "softmax(scores) @ v", "softmax(scores) @ k"),
    ("layer_norm", LAYER_NORM, "np.sqrt(var + eps)", "(np.sqrt(var) + eps)"),
    ("layer_norm", LAYER_NORM, "np.sqrt(var + eps)", "np.sqrt(var) + eps"),
    ("layer_norm", LAYER_NORM, " + beta", " - beta"),
    ("layer_norm", LAYER_NORM, " + beta", " + gamma"),
    ("layer_norm", LAYER_NORM, "np.sqrt(var + eps)", "(var + eps)"),
    ("layer_norm", LAYER_NORM, " + eps", ""),
    ("layer_norm", LAYER_NORM, "** 2", "** 4"),
    ("gelu", GELU, "x ** 3", "x ** 2"),
    ("gelu", GELU, "np.sqrt(2 / np.pi)", "2 / np.pi"),
    ("gelu", GELU, "0.044715", "0.44715"),
    ("gelu", GELU, "1 + np.tanh", "1 - np.tanh"),
    ("rotary", ROTARY, "10000.0 ** (-np", "10000.0 ** (np"),
    ("rotary", ROTARY, "a * np.cos(angle) - b", "a * np.cos(angle) + b"),
    ("rotary", ROTARY, "a * np.sin(angle)]", "a * np.cos(angle)]"),
    ("causal_self_attention", HEAD, "F.softmax(wei, dim=-1)", "F.softmax(wei, dim=1)"),
    ("causal_self_attention", HEAD, "torch.tril(", "torch.triu("),
    ("causal_self_attention", HEAD, "** -0.5", "** 0.5"),
    ("causal_self_attention", HEAD, "k.transpose(-2, -1)", "k.transpose(-1, -2, 0)"),
    ("causal_self_attention", HEAD, "wei @ self.value(x)", "wei @ self.key(x)"),
    ("multi_head_attention", HEADS, "self.heads], dim=-1", "self.heads], dim=-2"),
    ("causal_mask", MASK, "torch.tril(", "torch.triu("),
    ("sinusoidal_positions", POSITIONS, "dim // 2", "2"),
    ("sinusoidal_positions", POSITIONS, "2 * i / dim", "2 * i"),
    ("embed", EMBEDDING, "self.vocab_size, d_model", "d_model, self.vocab_size"),
    ("embed", EMBEDDING, "self.vocab_size, d_model", "self.device, d_model"),
    ("rms_norm", RMS_NORM, "x.pow(2)", "x.pow(3)"),
    ("softmax", SOFTMAX, "x.max(axis=-1, keepdims", "x.max(keepdims"),
    ("multi_head_attention", HEADS, "torch.cat([head(x) for head in self.heads], dim=-1)", "[head(x) for head in self.heads]"),
    ("merge_pair", MERGE, "i += 1", "i = 1"),
    ("rotary", PAIRED, "sin = np.concatenate([sin, sin], -1)", "sin = np.concatenate([cos, sin], -1)"),
    ("gelu", GELU, "x + 0.044715 * x ** 3", "(x + 0.044715 * x) ** 3"),
]
TOKENIZER = """
class Tokenizer:
    def __init__(self, vocab: dict[int, bytes], merges: list[tuple[bytes, bytes]]):
        self.vocab, self.ids = vocab, {token: place for place, token in vocab.items()}
        self.rank = {pair: place for place, pair in enumerate(merges)}

    def encode(self, text):
        tokens = [bytes([each]) for each in text.encode("utf-8")]
        while len(tokens) > 1:
            known = [pair for pair in zip(tokens, tokens[1:]) if pair in self.rank]
            if not known:
                break
            first, second = min(known, key=self.rank.__getitem__)
            merged, i = [], 0
            while i < len(tokens):
                if i < len(tokens) - 1 and (tokens[i], tokens[i + 1]) == (first, second):
                    merged.append(first + second)
                    i += 2
                else:
                    merged.append(tokens[i])
                    i += 1
            tokens = merged
        return [self.ids[token] for token in tokens]

    def decode(self, ids):
        return b"".join(self.vocab[each] for each in ids).decode("utf-8", errors="replace")
"""

TWO_MISTAKES = [
    ("layer_norm", LAYER_NORM, [("** 2", "** 3"), (" + beta", " - beta")]),
    ("gelu", GELU, [("x ** 3", "x ** 2"), ("0.5 * x", "0.25 * x")]),
    ("layer_norm", NORM_CLASS, [(", unbiased=False", ""), ("self.gain + self", "self.gain - self")]),
    ("bpe_tokenizer", TOKENIZER, [("min(known", "max(known"), ("i += 2", "i += 1")]),
]


MASKED = """        if mask is not None:
            scores = np.where(mask, scores, -np.inf)
"""
WHAT_IS_MISSING = [
    ("scaled_dot_product_attention", ATTENTION, [(MASKED, "")], "mask"),
    ("scaled_dot_product_attention", ATTENTION, [(" / np.sqrt(k.shape[-1])", "")], "sqrt"),
    ("layer_norm", LAYER_NORM, [("(var + eps)", "(var)")], "eps"),
]


def subject_of(text: str) -> Subject:
    module = ModuleType("learner")
    module.__file__ = "learner.py"
    exec(compile(text, "learner.py", "exec"), module.__dict__)
    return [each for each in subjects_of(module, text) if "." not in each.name][-1]


def with_slips(program: str, slips: list[tuple[str, str]]) -> tuple[str, list[int]]:
    """Return a program with mistakes, and their lines."""
    text, lines = textwrap.dedent(program), []
    for right, wrong in slips:
        assert right in text
        lines.append(text[: text.index(right)].count("\n") + 1)
        text = text.replace(right, wrong, 1)
    return text, lines


def repaired(name: str, text: str) -> tuple[Repair, bool]:
    """Return the repair of a program's last definition, and True if the repaired text is right."""
    subject = subject_of(text)
    verdict = diagnose(subject, exercise(name))
    assert not verdict.is_correct
    repair = with_repair(verdict, subject, exercise(name)).repair
    assert repair is not None
    return repair, diagnose(subject_of(applied(text, repair.edits)), exercise(name)).is_correct


@pytest.mark.slow
@pytest.mark.parametrize(("name", "program", "right", "wrong"), ONE_MISTAKE, ids=lambda value: value if "\n" not in value else "")
def test_one_mistake_is_repaired_in_its_line(name, program, right, wrong):
    text, lines = with_slips(program, [(right, wrong)])
    repair, is_right = repaired(name, text)
    assert is_right, repair
    (edit,) = repair.edits
    assert abs(edit.line - lines[0]) <= 1, repair
    assert repair.says.en.startswith(f"line {edit.line}: ")


@pytest.mark.slow
@pytest.mark.parametrize(("name", "program", "slips"), TWO_MISTAKES, ids=[name for name, *_ in TWO_MISTAKES])
def test_two_mistakes_are_repaired_together(name, program, slips):
    text, lines = with_slips(program, slips)
    repair, is_right = repaired(name, text)
    assert is_right, repair
    assert sorted({edit.line for edit in repair.edits}) == sorted(set(lines)), repair


@pytest.mark.parametrize(("name", "program", "slips", "added"), WHAT_IS_MISSING, ids=[added for *_, added in WHAT_IS_MISSING])
def test_what_is_missing_is_added(name, program, slips, added):
    text = program
    for right, wrong in slips:
        assert right in program
        text = text.replace(right, wrong, 1)
    repair, is_right = repaired(name, textwrap.dedent(text))
    assert is_right, repair
    assert any(added in edit.replacement for edit in repair.edits)


def test_the_right_programs_of_the_package_are_those_of_the_tests():
    assert donors.TARGET.read_text(encoding="utf-8") == donors.written(), "run: python tools/donors.py"


def test_repairs_of_equal_cost_are_all_reported():
    source = textwrap.dedent(ATTENTION.replace(MASKED, ""))
    repair, _ = repaired("scaled_dot_product_attention", source)
    assert repair.alternatives
    assert repair.says not in repair.alternatives


@pytest.mark.slow
def test_changes_of_the_line_where_the_values_depart_come_first():
    repair, _ = repaired("multi_head_attention", with_slips(BATCHED, [("key.shape[-1] **", "key.shape[0] **")])[0])
    assert repair.num_evaluations < 200


def test_a_change_after_which_a_statement_computes_a_value_of_right_programs_comes_early():
    text, _ = with_slips(BATCHED, [("key.shape[-1] ** 0.5", "key.shape[-1]")])
    repair, is_right = repaired("multi_head_attention", text)
    assert is_right
    assert repair.num_evaluations < 200


ONE_BY_ONE = """
    import math
    import torch
    from torch import nn

    class PositionalEncoding(nn.Module):
        def __init__(self, d_model, max_len=64):
            super().__init__()
            pe = torch.zeros(max_len, d_model)
            for pos in range(max_len):
                for i in range(0, d_model, 2):
                    pe[pos, i] = math.sin(pos / 10000 ** (i / d_model))
                    pe[pos, i + 1] = math.cos(pos / 10000 ** (i / d_model))
            self.register_buffer("pe", pe)

        def forward(self, x):
            return x + self.pe[: x.size(1)]
"""


@pytest.mark.parametrize(
    ("name", "program", "right", "wrong", "added"),
    [
        ("sinusoidal_positions", ONE_BY_ONE, "math.sin(pos / 10000 ** (i / d_model))", "math.sin(10000 ** (i / d_model))", "pos / "),
        ("causal_mask", MASK, "torch.ones(n, n)", "(n, n)", "torch."),
    ],
)
def test_operands_and_arrays_made_of_sizes_are_added(name, program, right, wrong, added):
    assert right in program
    repair, is_right = repaired(name, textwrap.dedent(program.replace(right, wrong)))
    assert is_right, repair
    assert any(added in edit.replacement for edit in repair.edits), repair


CALLS = """import numpy as np

def inner(x):
    steps = 1.0
    while steps:
        steps = x.ndim - 1
    return x * 2

def outer(x, y):
    z = inner(x)
    return z
"""


def test_foreseen_values_replace_no_recorded_ones_and_an_endless_expression_raises():
    program = program_of(subject_of(CALLS))
    called, recorder = program.recording()
    called.value(numpy.arange(4.0), numpy.ones((2, 4)))
    before = {place: each.digest for place, each in recorder.values.items()}
    call = program.statements[1].body[0].value
    changes = [Change(1.0, 1, call, "args", 0, call.args[0], ast.parse(new, mode="eval").body) for new in ("x + 1", "y", "x")]
    costs = Foresight(program.statements, recorder, Milestones(()), "numpy").costs(changes)
    assert {place: each.digest for place, each in recorder.values.items()} == before
    assert [costs.get(id(change)) for change in changes] == [None, RAISES, UNCHANGED]


IN_PLACE = """import torch

def inner(x, hidden):
    y = x * 2
    y.masked_fill_(hidden, 0.0)
    z = y + 1
    return z
"""


def test_foreseen_values_change_no_operands_and_those_in_another_order_come_before_others():
    program = program_of(subject_of(IN_PLACE))
    called, recorder = program.recording()
    called.value(torch.arange(6.0).reshape(2, 3), torch.zeros(2, 3).bool())
    _, filled, last, _ = program.statements[0].body
    known = recorder.values[id(last.value)].signature
    assert known is not None
    changes = [
        Change(1.0, 0, filled.value, "args", 1, filled.value.args[1], ast.Constant(9.0)),
        Change(1.0, 0, last, "value", None, last.value, ast.parse("(y + 1).T", mode="eval").body),
        Change(1.0, 0, last.value, "right", None, last.value.right, ast.Constant(3)),
    ]
    costs = Foresight(program.statements, recorder, Milestones((known,)), "torch").costs(changes)
    assert [costs.get(id(change)) for change in changes] == [None, REORDERS, LEAVES]


TWO_OUTPUTS = """
import numpy as np

def scaled_dot_product_attention(query, key, value, mask=None):
    scores = query @ key.swapaxes(-1, -2) / np.sqrt(query.shape[-1])
    if mask is not None:
        scores = np.where(mask, scores, -1e9)
    powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
    weights = powers / powers.sum(axis=-1, keepdims=True)
    return weights @ value, weights
"""


def test_a_program_with_several_outputs_is_repaired():
    text, (line,) = with_slips(TWO_OUTPUTS, [("powers.sum(axis=-1, keepdims=True)", "powers.sum(keepdims=True)")])
    repair, is_right = repaired("scaled_dot_product_attention", text)
    assert is_right, repair
    assert [edit.line for edit in repair.edits] == [line]


WITHOUT_A_MASK = """
import numpy as np

def causal_self_attention(x, w_query, w_key, w_value, w_output, num_heads):
    length, width = x.shape
    size = width // num_heads
    query = (x @ w_query).reshape(length, num_heads, size).transpose(1, 0, 2)
    key = (x @ w_key).reshape(length, num_heads, size).transpose(1, 0, 2)
    value = ((x @ w_value) ** 3).reshape(length, num_heads, size).transpose(1, 0, 2)
    scores = query @ key.transpose(0, 2, 1) / np.sqrt(size)
    scores = np.exp(scores - scores.max(axis=-1, keepdims=True))
    weights = scores / scores.sum(axis=-1, keepdims=True)
    return (weights @ value).transpose(1, 0, 2).reshape(length, width) @ w_output
"""


@pytest.mark.slow
def test_a_change_after_which_a_known_mistake_explains_the_outputs_is_its_second_cause(monkeypatch):
    monkeypatch.setattr(search, "_second", lambda *_, **__: None)
    subject = subject_of(WITHOUT_A_MASK)
    verdict = with_repair(diagnose(subject, exercise("causal_self_attention")), subject, exercise("causal_self_attention"))
    (cause,) = verdict.causes
    assert cause.name == "causal_ignored + repaired"
    assert "line 9: 3 → 1" in cause.fix.en
    assert verdict.status == "wrong"
    assert verdict.repair is None


KEYS_NOT_PROJECTED = """
import torch
from torch import nn

class AttentionHead(nn.Module):
    def __init__(self, d_model, head_dim):
        super().__init__()
        self.queries = nn.Linear(d_model, head_dim)
        self.keys = nn.Linear(d_model, head_dim)
        self.values = nn.Linear(d_model, head_dim)
        self.root = head_dim**0.5

    def forward(self, queries, keys, values):
        q, k, v = self.queries(queries), keys, self.values(values)
        return torch.softmax(q @ k.transpose(-2, -1) / self.root, dim=0) @ v
"""

POWERS_OF_ZERO = """
import numpy as np

def softmax(x):
    powers = np.exp(x - x)
    return x / powers.sum()

print(softmax(np.array([1.0, 2.0, 3.0])))
"""


def test_a_change_that_leaves_a_known_mistake_is_named_with_it():
    subject = subject_of(KEYS_NOT_PROJECTED)
    verdict = with_repair(diagnose(subject, exercise("self_attention")), subject, exercise("self_attention"))
    assert [cause.name for cause in verdict.causes] == ["key_not_projected + repaired"]


def test_outputs_of_zeros_after_a_change_are_explained_by_no_mistake():
    subject = subject_of(POWERS_OF_ZERO)
    verdict = with_repair(diagnose(subject, exercise("softmax")), subject, exercise("softmax"))
    assert not verdict.is_correct
    assert not any("repaired" in cause.name for cause in verdict.causes)


def test_outputs_that_are_inputs_are_nothing_to_judge():
    points = [numpy.arange(3.0), numpy.ones((2, 2))]
    probe = Probe("two points", {"points": points})
    assert is_an_input(probe, (points[0], points[1], points[0]))
    assert not is_an_input(probe, (points[0], points[1] / 2))
    assert not is_an_input(probe, ())


def test_the_operator_of_an_assignment_is_repaired_in_its_line():
    text = """
import numpy as np

def softmax(x, axis=-1):
    powers = np.exp(x - x.max(axis, keepdims=True))
    total = np.zeros_like(powers.sum(axis, keepdims=True))
    total -= powers.sum(axis, keepdims=True)
    return powers / total
"""
    subject = subject_of(text)
    repair = with_repair(diagnose(subject, exercise("softmax")), subject, exercise("softmax")).repair
    assert repair is not None
    assert "line 7: -= → +=" in [each.en for each in (repair.says, *repair.alternatives)]


@pytest.mark.slow
def test_the_search_is_the_same_each_time():
    text, _ = with_slips(LAYER_NORM, [("** 2", "** 4")])
    first, _ = repaired("layer_norm", text)
    assert repaired("layer_norm", text)[0] == first


def test_a_cause_that_no_change_of_the_code_confirms_is_likely(monkeypatch):
    subject = subject_of(with_slips(GELU, [("0.044715", "0.44715")])[0])
    verdict = diagnose(subject, exercise("gelu"))
    assert with_repair(verdict, subject, exercise("gelu")).confidence == "certain"
    monkeypatch.setattr(repairing, "find_repair", lambda *_, **__: None)
    unconfirmed = with_repair(verdict, subject, exercise("gelu"))
    assert unconfirmed.confidence == "likely"
    assert ": wrong (probably)" in str(unconfirmed)


def test_a_right_program_gets_no_repair():
    subject = subject_of(textwrap.dedent(SOFTMAX))
    assert find_repair(subject, trials_of(subject, exercise("softmax"))) is None


def test_a_program_that_computes_something_else_gets_no_repair():
    subject = subject_of("import numpy as np\ndef softmax(x):\n    return np.fft.fft(np.sort(x)).real\n")
    assert find_repair(subject, trials_of(subject, exercise("softmax"))) is None


def test_the_probes_are_not_changed_by_candidates():
    text, _ = with_slips(SOFTMAX, [("x = x - x.max(axis=-1", "x -= x.max(axis=0")])
    subject = subject_of(text)
    before = [
        {name: value.copy() for name, value in probe.inputs.items() if hasattr(value, "copy")} for probe in exercise("softmax").probes()
    ]
    find_repair(subject, trials_of(subject, exercise("softmax")))
    after = [probe.inputs for probe in exercise("softmax").probes()]
    assert all((old[name] == new[name]).all() for old, new in zip(before, after, strict=True) for name in old)


def test_an_assignment_that_is_missing_is_inserted_before_its_use():
    text = textwrap.dedent(WITHOUT_SUM)
    repair, is_right = repaired("softmax", text)
    assert is_right
    assert "insert `sum_of_e = " in repair.says.en
    (edit,) = repair.edits
    assert (edit.line, edit.column) == (edit.end_line, edit.end_column)
    assert text.splitlines()[edit.line - 1].strip().startswith("return")


STARTS = """
    import math

    def causal_attention(queries, keys, values):
        mixed = []
        for place, query in enumerate(queries):
            powers = []
            for j in range(place + 1):
                score = sum(a * b for a, b in zip(query, keys[j])) / math.sqrt(len(query))
                powers.append(math.exp(score))
            shares = [power / sum(powers) for power in powers]
            mixed.append([sum(share * value[c] for share, value in zip(shares, values)) for c in range(len(values[0]))])
        return mixed
"""
SQUARES = """
    import numpy as np

    def clip_gradients(grads, max_norm):
        total = 0.0
        for g in grads:
            total = total + float(np.sum(g**2))
        scale = min(1.0, max_norm / (np.sqrt(total) + 1e-6))
        return [g * scale for g in grads]
"""
IN_LOOP = "for place, query in enumerate(queries):\n        powers = []"
BEFORE_LOOP = "powers = []\n    for place, query in enumerate(queries):"


@pytest.mark.parametrize(
    ("name", "program", "right", "wrong", "says", "lines"),
    [
        ("scaled_dot_product_attention", STARTS, IN_LOOP, BEFORE_LOOP, "`powers = []` to the start", [6, 8]),
        (
            "gradient_clipping",
            SQUARES,
            "total = 0.0\n    for g in grads:",
            "for g in grads:\n        total = 0.0",
            "`total = 0.0` before the loop",
            [5, 6],
        ),
    ],
)
def test_a_first_value_is_moved_into_or_out_of_a_loop(name, program, right, wrong, says, lines):
    text = textwrap.dedent(program)
    mistaken = text.replace(right, wrong)
    repair, is_right = repaired(name, mistaken)
    assert is_right
    assert says in repair.says.en
    assert sorted(edit.line for edit in repair.edits) == lines
    assert applied(mistaken, repair.edits) == text


NORMS = """
    import numpy as np

    def clip_gradients(gradients, max_norm):
        norm = sum(np.sqrt(np.sum(each * each)) for each in gradients)
        return [each * min(1.0, max_norm / (norm + 1e-6)) for each in gradients]
"""


def test_what_is_computed_of_each_element_is_computed_of_their_sum_instead():
    repair, is_right = repaired("gradient_clipping", textwrap.dedent(NORMS))
    assert is_right
    assert "→ np.sqrt(sum((np.sum(each * each) for each in gradients)))" in repair.says.en


TURNED = """
    import torch
    from torch import nn

    class RotaryEmbedding(nn.Module):
        def __init__(self, theta, head_dim, max_seq_len):
            super().__init__()
            rates = theta ** (-torch.arange(0, head_dim, 2).float() / head_dim)
            angles = torch.arange(max_seq_len).float()[:, None] * rates
            self.register_buffer("cosines", torch.cos(angles), persistent=False)
            self.register_buffer("sines", torch.sin(angles), persistent=False)

        def forward(self, x, positions):
            cosine, sine = self.cosines[positions], self.sines[positions]
            even, odd = x[..., 0::2], x[..., 1::2]
            turned = torch.stack([even * cosine - odd * sine, even * sine + odd * cosine], dim=-1)
            return turned.flatten(-2)
"""
WAVES = """
    import math
    import torch
    from torch import nn

    class PositionalEncoding(nn.Module):
        def __init__(self, d_model, max_len=100):
            super().__init__()
            table = torch.zeros(max_len, d_model)
            for row in range(max_len):
                for i in range(0, d_model, 2):
                    table[row, i] = math.sin(row / 10000 ** (i / d_model))
                    table[row, i + 1] = math.cos(row / 10000 ** (i / d_model))
            self.register_buffer("table", table)

        def forward(self, x):
            return x + self.table[: x.size(1)]
"""
ADAM = """
    import numpy as np

    class Adam:
        def __init__(self, lr=0.001, beta1=0.9, beta2=0.999, eps=1e-8):
            self.lr, self.beta1, self.beta2, self.eps = lr, beta1, beta2, eps
            self.first = None
            self.second = None
            self.count = 0

        def update(self, params, grads):
            if self.first is None:
                self.first = np.zeros_like(params)
                self.second = np.zeros_like(params)
            self.count += 1
            self.first = self.beta1 * self.first + (1 - self.beta1) * grads
            self.second = self.beta2 * self.second + (1 - self.beta2) * grads**2
            first = self.first / (1 - self.beta1**self.count)
            second = self.second / (1 - self.beta2**self.count)
            return params - self.lr * first / (np.sqrt(second) + self.eps)
"""
STRETCHED = """
    import torch
    from torch import nn

    class LayerNorm(nn.Module):
        def __init__(self, eps=1e-6):
            super().__init__()
            self.eps = eps
            self.gain = nn.Parameter(torch.ones(1))
            self.shift = nn.Parameter(torch.zeros(1))

        def forward(self, x):
            centre = x.mean(-1, keepdim=True)
            spread = x.std(-1, keepdim=True)
            return (x - centre) * self.gain / (spread + self.eps) + self.shift
"""
BOXES = """
    import numpy as np

    def softmax(x):
        powers = np.exp(x - x.max(-1, keepdims=True))
        return powers / powers.sum(-1, keepdims=True)

    def attention(q, k, v):
        if len(q.shape) == 4:
            scores = q @ k.transpose(0, 1, 3, 2)
        else:
            scores = q @ k.transpose(0, 2, 1)
        return softmax(scores / np.sqrt(q.shape[-1])) @ v
"""
IN_DOUBT = [
    ("rotary", TURNED, "torch.sin(angles)", "torch.cos(angles)"),
    ("sinusoidal_positions", WAVES, "math.sin(row / 10000 ** (i / d_model))", "math.sin(row)"),
    ("adam_optimizer", ADAM, "self.first is None", "self.first is not None"),
    ("layer_norm", STRETCHED, "x.std(", "centre.std("),
    ("scaled_dot_product_attention", BOXES, "== 4", "!= 4"),
]
"""Programs whose mistake hides the convention that they follow."""


@pytest.mark.slow
@pytest.mark.parametrize(("name", "program", "right", "wrong"), IN_DOUBT, ids=[name for name, *_ in IN_DOUBT])
def test_a_mistake_that_hides_the_convention_is_repaired(name, program, right, wrong):
    text, lines = with_slips(program, [(right, wrong)])
    repair, is_right = repaired(name, text)
    assert is_right, repair
    assert [edit.line for edit in repair.edits] == lines


SCALED_BY_THE_INPUT = """
import torch
from torch import nn

class Head(nn.Module):
    def __init__(self, width, head_width, longest):
        super().__init__()
        self.key = nn.Linear(width, head_width, bias=False)
        self.query = nn.Linear(width, head_width, bias=False)
        self.value = nn.Linear(width, head_width, bias=False)
        self.register_buffer("seen", torch.ones(longest, longest).tril())

    def forward(self, x):
        _, length, width = x.shape
        scores = self.query(x) @ self.key(x).transpose(-2, -1) * width**-0.5
        scores = scores.masked_fill(self.seen[:length, :length] == 0, float("-inf"))
        return scores.softmax(-1) @ self.value(x)
"""


@pytest.mark.slow
def test_a_change_after_which_the_inputs_of_the_wrong_output_no_longer_fit_is_no_repair():
    subject = subject_of(SCALED_BY_THE_INPUT)
    verdict = with_repair(diagnose(subject, exercise("causal_self_attention")), subject, exercise("causal_self_attention"))
    (cause,) = verdict.causes
    assert (verdict.status, verdict.repair) == ("wrong", None)
    assert "1/√(input width)" in cause.says.en
    assert "width**-0.5" in SCALED_BY_THE_INPUT.splitlines()[(cause.line or 0) - 1]


UNEVEN = """
import torch
import torch.nn.functional as F
from torch import nn

class CausalSelfAttention(nn.Module):
    def __init__(self, width, num_heads):
        super().__init__()
        self.num_heads, self.head_width = num_heads, width // num_heads
        self.qkv, self.out = nn.Linear(width, 3 * width, bias=False), nn.Linear(width, width, bias=False)
        self.register_buffer("rates", 10000 ** (-torch.arange(0, self.head_width, 2) / self.head_width))

    def _apply_rope(self, x):
        B, H, T, D = x.shape
        angles = torch.arange(T)[:, None] * self.rates
        angles = torch.cat((angles, angles), dim=-1)
        turned = torch.stack((-x[..., 1::2], x[..., 0::2]), dim=-1).flatten(-2)
        return x * angles.cos() + turned * angles.sin()

    def forward(self, x):
        B, T, C = x.shape
        q, k, v = (part.view(B, T, self.num_heads, self.head_width).transpose(1, 2) for part in self.qkv(x).split(C, dim=2))
        q = self._apply_rope(q)
        k = self._apply_rope(k)
        return self.out(F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(B, T, C))
"""


@pytest.mark.slow
def test_no_repair_leaves_out_what_is_no_rotation():
    subject = subject_of(UNEVEN)
    verdict = with_repair(diagnose(subject, exercise("causal_self_attention")), subject, exercise("causal_self_attention"))
    assert (verdict.is_correct, verdict.repair) == (False, None)


WITHOUT_ITS_ATTENTION = """
from torch import nn

class VisionMLP(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.up, self.down = nn.Linear(config.hidden_size, config.d_ff), nn.Linear(config.d_ff, config.hidden_size)

    def forward(self, x):
        return self.down(self.up(x).relu())

class EncoderLayer(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(config.hidden_size), nn.LayerNorm(config.hidden_size)
        self.attention, self.mlp = VisionAttention(config), VisionMLP(config)

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.mlp(self.norm2(x))
"""


@pytest.mark.slow
def test_a_class_of_another_part_is_no_repair_of_one_that_is_not_defined():
    subject = subject_of(WITHOUT_ITS_ATTENTION)
    verdict = with_repair(diagnose(subject, exercise("encoder_layer")), subject, exercise("encoder_layer"))
    assert [cause.name for cause in verdict.causes] == ["raises_NameError"]
    assert verdict.repair is None


TRAINING_WITH_OPTIONS = """
import re
from collections import Counter

def train_bpe(text, vocab_size, special_tokens, **options):
    vocab = {place: bytes([place]) for place in range(256)}
    vocab |= {256 + place: token.encode() for place, token in enumerate(special_tokens)}
    chunks = []
    pattern = "|".join(map(re.escape, special_tokens))
    for part in re.split(f"({pattern})", text) if special_tokens else [text]:
        if part in special_tokens:
            chunks.append(part)
        else:
            chunks += [part]
    pieces = [each for chunk in chunks if chunk for each in re.findall(r" ?\\w+| ?[^\\s\\w]+|\\s+(?!\\S)|\\s+", chunk)]
    words = [[bytes([each]) for each in piece.encode()] for piece in pieces]
    merges = []
    while len(vocab) < vocab_size:
        counts = Counter(pair for word in words for pair in zip(word, word[1:]))
        best = max(counts, key=lambda pair: (counts[pair], pair))
        for place, word in enumerate(words):
            joined = []
            for symbol in word:
                if joined and symbol == best[1] and joined[-1] == best[0]:
                    joined[-1] = best[0] + best[1]
                else:
                    joined.append(symbol)
            words[place] = joined
        merges.append(best)
        vocab[len(vocab)] = best[0] + best[1]
    return vocab, merges
"""


def test_options_that_nothing_reads_are_no_repair():
    repair, is_right = repaired("bpe_train", TRAINING_WITH_OPTIONS)
    assert is_right
    assert "options" not in repair.says.en, repair


TERM_OF_ONE = """
import numpy as np

def scaled_dot_product_attention(q, k, v):
    head_dim = q.shape[-1]
    scores = q @ np.swapaxes(k, -1, -2) / (head_dim + 1) ** 0.5
    e = np.exp(scores - scores.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True) @ v
"""


def test_a_term_of_one_is_left_out_with_the_parentheses_around_it():
    repair, is_right = repaired("scaled_dot_product_attention", TERM_OF_ONE)
    assert is_right
    assert "/ head_dim ** 0.5" in applied(TERM_OF_ONE, repair.edits), repair


@pytest.mark.parametrize(
    ("old", "new", "is_taken"),
    [("self.ff(x)", "self.attention(inputs)", True), ("self.ff(x)", "self.ff(inputs)", False), ("x * 2", "x", False)],
)
def test_a_change_that_takes_a_part_away_is_recognised(old, new, is_taken):
    nodes = [ast.parse(each, mode="eval").body for each in (old, new)]
    assert takes_away_part(Change(1.0, 0, ast.Module([], []), "body", None, *nodes)) is is_taken
