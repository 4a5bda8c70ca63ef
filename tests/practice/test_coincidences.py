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
