"""Repairs of layers that prove no mistake: another kind of layer in place of one, and a part left out whose table a model of the file sets."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from headway.practice.diagnosis.doubtful_repairs import leaves_out_absent, puts_other_layer
from headway.practice.message import EMPTY
from headway.practice.outputs import Raised
from headway.practice.verdict import Edit, Repair

OWN = SimpleNamespace(Attention=type("Attention", (), {}))


@pytest.mark.parametrize(
    ("old", "new", "is_other"),
    [
        ("self.attn = Attention(width, heads)", "self.attn = nn.LayerNorm(width)", True),
        ("self.attn = Attention(width, heads)", "self.attn = Attention(heads, width)", False),
        ("self.norm = nn.BatchNorm1d(width)", "self.norm = nn.LayerNorm(width)", False),
    ],
)
def test_a_layer_of_a_library_in_place_of_one_of_the_file_proves_nothing(old, new, is_other):
    assert puts_other_layer(old, new, OWN) is is_other


@pytest.mark.parametrize(
    ("line", "is_left_out"), [("q = rotate(q, self.config.model.table)", True), ("q = rotate(q, self.model.table)", False)]
)
def test_what_reads_a_table_that_a_model_sets_in_the_config_may_be_right(line, is_left_out):
    raised = Raised(AttributeError("'NoneType' object has no attribute 'table'", name="table", obj=None))
    trial = SimpleNamespace(answers=[raised], call=SimpleNamespace(subject=SimpleNamespace(text=line)))
    repair = Repair((Edit(1, 1, 1, len(line) + 1, "q = q"),), EMPTY, 7)
    assert leaves_out_absent(repair, trial) is is_left_out
