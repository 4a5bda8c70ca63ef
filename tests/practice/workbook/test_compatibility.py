"""Correct functions that are incompatible with later files."""

from __future__ import annotations

import pytest

from headway.practice.workbook.compatibility import CALLS, EXAMPLES, REQUIREMENTS, incompatibility
from headway.practice.workbook.parts import part
from tests.practice.workbook.test_solutions import SLOW, solved


@pytest.mark.slow
@pytest.mark.parametrize("array", ["numpy", *SLOW])
def test_the_solutions_are_compatible_with_later_files(tmp_path, array):
    solved(tmp_path, array)
    for name in EXAMPLES:
        assert incompatibility(tmp_path, part(name), array) is None, name


@pytest.mark.parametrize(
    ("name", "old", "new", "printed"),
    [
        (
            "linear",
            "weight.T",
            "weight",
            "later files call linear(x, weight, bias) and require x @ weightᵀ + bias with a weight of shape (out, in): this call raises ValueError",
        ),
        (
            "multi_head_attention",
            ", is_causal=True",
            "",
            "(x, c_attn, c_proj, num_heads) and require causal attention: this call returns a different result",
        ),
        (
            "scaled_dot_product_attention",
            "np.swapaxes(key, -1, -2)",
            "key.T",
            "and require causal attention with the head axis before the position axis: this call raises",
        ),
        (
            "feed_forward",
            "gelu(linear(x",
            "np.tanh(linear(x",
            "and require gelu and weights of shape (out, in): this call returns a different",
        ),
    ],
)
def test_an_incompatibility_is_reported_in_both_languages(tmp_path, name, old, new, printed):
    solved(tmp_path, "numpy")
    path = tmp_path / f"{name}.py"
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new))
    words = incompatibility(tmp_path, part(name), "numpy")
    assert printed in words.en
    assert words.zh.startswith("后面的文件会调用 ")


def test_classes_and_broken_files_are_not_tested_for_compatibility(tmp_path):
    solved(tmp_path, "numpy")
    (tmp_path / "linear.py").write_text("class linear:\n    pass\n")
    assert incompatibility(tmp_path, part("linear"), "numpy") is None
    (tmp_path / "linear.py").write_text("def linear(\n")
    assert incompatibility(tmp_path, part("linear"), "numpy") is None
    assert incompatibility(tmp_path, part("gelu"), "numpy") is None


def test_every_example_has_its_messages():
    assert set(EXAMPLES) == set(CALLS) == set(REQUIREMENTS)
