"""Functions of numbers with gradients, whose class is in a missing file of the author."""

import pytest

from headway.practice.diagnosis.reading.absent_values import Value
from headway.practice.diagnosis.sandbox import check_file

MODEL = """
from engine import Value

def linear(x: list[Value], w: list[list[Value]]) -> list[Value]:
    return [sum((a * b for a, b in zip(row, x)), Value(0.0)) for row in w]

def softmax(logits: list[Value]) -> list[Value]:
    top = max(each.data for each in logits)
    powers = [(each - top).exp() for each in logits]
    total = sum(powers)
    return [each / total for each in powers]
"""


def test_the_gradients_of_a_value_are_its_slopes():
    def of(number):
        x = number if isinstance(number, Value) else Value(number)
        return (x.tanh() * 3 - 2 / x) ** 2 + (x * x).log() + x.exp() / 5 - x.relu() * (-x)

    x = Value(0.7)
    of(x).backward()
    slope = (of(0.7 + 1e-6).data - of(0.7 - 1e-6).data) / 2e-6
    assert x.grad == pytest.approx(slope, rel=1e-6)
    assert Value(1.0) < 2
    assert Value(2.0) > Value(1.0)
    assert (3 - Value(1.0)).data == 2.0


def test_functions_of_values_are_judged_without_their_class(tmp_path):
    path = tmp_path / "learner.py"
    path.write_text(MODEL)
    assert {each.subject: each.status for each in check_file(path)} == {"linear": "correct", "softmax": "correct"}


@pytest.mark.parametrize("change", [("sum(powers)", "len(powers)"), ("each / total", "each * total"), ("zip(row, x)", "zip(row, row)")])
def test_wrong_functions_of_values_are_not_accepted(tmp_path, change):
    path = tmp_path / "learner.py"
    path.write_text(MODEL.replace(*change))
    assert any(each.status != "correct" for each in check_file(path))


TOKENIZER = """
from ._words import SPLIT_PATTERN

class BPETokenizer:
    def __init__(self, vocab: dict[int, bytes], merges: list[tuple[bytes, bytes]]):
        self.vocab = vocab
        self.ids = {token: number for number, token in vocab.items()}
        self.ranks = {pair: rank for rank, pair in enumerate(merges)}
        self.pattern = SPLIT_PATTERN

    def _merged(self, parts):
        while True:
            pairs = [pair for pair in zip(parts, parts[1:]) if pair in self.ranks]
            if not pairs:
                return parts
            first = min(pairs, key=self.ranks.get)
            place = list(zip(parts, parts[1:])).index(first)
            parts = parts[:place] + [first[0] + first[1]] + parts[place + 2 :]

    def encode(self, text: str) -> list[int]:
        words = (word.encode("utf-8") for word in self.pattern.findall(text))
        return [self.ids[part] for word in words for part in self._merged([bytes([each]) for each in word])]

    def decode(self, ids: list[int]) -> str:
        return b"".join(self.vocab[each] for each in ids).decode("utf-8", errors="replace")
"""


def test_a_tokenizer_is_judged_without_the_expression_of_its_words(tmp_path):
    path = tmp_path / "learner.py"
    path.write_text(TOKENIZER)
    found = {each.subject: each for each in check_file(path)}
    assert found["BPETokenizer"].is_correct
    assert any("SPLIT_PATTERN" in note.en for note in found["BPETokenizer"].notes)
    path.write_text(TOKENIZER.replace("min(pairs", "max(pairs"))
    assert {each.subject: each.status for each in check_file(path)}["BPETokenizer"] != "correct"
