"""Changes that make a program right by coincidence, which prove nothing."""

from __future__ import annotations

import pytest

from headway.practice.diagnosis.sandbox import check_file

GREEDY = """
import numpy as np

class Chooser:
    def __init__(self):
        self.count = 3

    def sample_greedy(self, logits):
        best = np.argmax(logits)
        return {returned}
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("change", "is_wrong"), [(("best", "best"), False), (("argmax", "argmin"), True)], ids=["several values", "the least likely"]
)
def test_one_whole_number_of_several_proves_nothing(tmp_path, change, is_wrong):
    path = tmp_path / "learner.py"
    path.write_text(GREEDY.format(returned="best" if is_wrong else "[best], [best]").replace(*change))
    found = {each.subject: each.status for each in check_file(path)}
    assert (found.get("Chooser.sample_greedy") == "wrong") is is_wrong, found


TREE_MASK = """
import jax

def _is_kept(path, leaf):
    name = ".".join(str(getattr(each, "key", each)) for each in path).lower()
    if "norm" in name:
        return False
    return True

def kept_mask(tree):
    return jax.tree_util.tree_map_with_path(lambda path, leaf: _is_kept(path, leaf), tree)
"""


@pytest.mark.parametrize("name", ["kept_mask", "weight_decay_mask"])
def test_a_mask_that_returns_its_operand_proves_nothing(tmp_path, name):
    path = tmp_path / "learner.py"
    path.write_text(TREE_MASK.replace("kept_mask", name))
    assert not [each.subject for each in check_file(path) if each.status == "wrong"]


TRAINER = """
from collections import Counter

class BPETokenizer:
    def __init__(self, path):
        self.path, self.words, self.merges = path, [], []

    def load(self):
        self.words = [list(word) for word in open(self.path).read().split()]

    def train(self, num_merges=10):
        for _ in range(num_merges):
            counts = Counter(pair for word in self.words for pair in zip(word, word[1:]))
            if not counts:
                break
            best = max(counts, key=counts.get)
            self.merges.append(best)
            self.words = [self.merged(word, best) for word in self.words]

    def merged(self, word, pair):
        found = []
        for symbol in word:
            found[-1:] = [found[-1] + symbol] if found and (found[-1], symbol) == pair else [*found[-1:], symbol]
        return found
"""


@pytest.mark.slow
def test_a_trainer_that_learns_nothing_reads_another_text(tmp_path):
    path = tmp_path / "learner.py"
    path.write_text(TRAINER)
    (verdict,) = (each for each in check_file(path) if each.subject == "BPETokenizer")
    assert verdict.status == "could not run", verdict
