"""Names that later versions of a library removed."""

from __future__ import annotations

import ast
import pkgutil

import pytest

from headway.practice.diagnosis.reading.removed import REMOVED, Use, removed_in
from headway.practice.diagnosis.sandbox import check_file

TEXT = """
import numpy as np
from collections import Iterable

def softmax(x: np.float_, axis: np.int = -1):
    highest = np.where(x > np.NINF, x, np.NINF).max(axis, keepdims=True)
    weights = np.exp(x - highest)
    return weights / np.sum(weights, axis, keepdims=True)
"""


def test_the_uses_of_removed_names_are_found_through_aliases():
    assert list(removed_in(ast.parse(TEXT))) == [
        Use(3, "collections.Iterable", "collections.abc.Iterable"),
        Use(5, "numpy.float_", "numpy.float64"),
        Use(5, "numpy.int", "builtins.int"),
        Use(6, "numpy.NINF", "-inf"),
        Use(6, "numpy.NINF", "-inf"),
    ]
    nested = (
        "import jax.numpy as jnp, jax\nfrom jax import random\ndef f(x: jnp.DeviceArray, key: random.KeyArray): return jax.tree_map(x)\n"
    )
    assert {use.name for use in removed_in(ast.parse(nested))} == {"jax.numpy.DeviceArray", "jax.random.KeyArray", "jax.tree_map"}
    assert not list(removed_in(ast.parse("import jax\njax.numpy.mean(1)\nx.tree_map(2)\n")))


def test_a_file_of_an_older_version_is_judged_with_a_note_on_each_name(tmp_path):
    path = tmp_path / "old.py"
    path.write_text(TEXT)
    (verdict,) = check_file(path)
    assert verdict.is_correct
    notes = [note.en for note in verdict.notes if "later versions" in note.en]
    assert len(notes) == 4
    assert "line 5" in notes[1]
    assert "`numpy.float64`" in notes[1]


@pytest.mark.parametrize("place", REMOVED)
def test_the_replacements_exist(place):
    pytest.importorskip(place.partition(".")[0], exc_type=ImportError)
    for instead in REMOVED[place].values():
        assert instead == "-inf" or pkgutil.resolve_name(instead) is not None


ROTARY = """
import torch
from torch import nn
from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS

class RotaryEmbedding(nn.Module):
    def __init__(self, config, device=None):
        super().__init__()
        inv_freq, self.scale = ROPE_INIT_FUNCTIONS["default"](config, device)
        self.register_buffer("inv_freq", inv_freq, persistent=False)

    def forward(self, x, position_ids):
        angles = position_ids[..., None].float() * self.inv_freq
        angles = torch.cat((angles, angles), -1)
        return angles.cos() * self.scale, angles.sin() * self.scale
"""


@pytest.mark.parametrize(("change", "status"), [(("", ""), "correct"), (("(angles, angles)", "(angles, -angles)"), "wrong")])
def test_rotary_frequencies_that_version_5_of_transformers_removed_are_judged(tmp_path, change, status):
    pytest.importorskip("transformers")
    (tmp_path / "rotary.py").write_text(ROTARY.replace(*change))
    [verdict] = check_file(tmp_path / "rotary.py")
    assert verdict.status == status
