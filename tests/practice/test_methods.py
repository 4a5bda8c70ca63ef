"""Methods that are parts of their own: the generate method of a model, whatever the model computes."""

import pytest

from headway.practice.diagnosis.sandbox import check_file

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


def verdict_on_method(tmp_path, text):
    (tmp_path / "mine.py").write_text(text)
    return {verdict.subject: verdict for verdict in check_file(tmp_path / "mine.py", seed=1)}.get("Bigrams.generate")


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
