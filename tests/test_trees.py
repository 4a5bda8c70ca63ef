from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headway.functions import EncoderLayerWeights, EncoderWeights, LinearWeights, MultiHeadAttentionWeights, NormWeights
from headway.functions.feed_forward import FeedForwardWeights, GatedFeedForwardWeights
from headway.trees import leaves, map_tree, tree_from_leaves


def linear(number: float, *, has_bias: bool = True) -> LinearWeights:
    return LinearWeights(np.full((3, 2), number), np.full(3, -number) if has_bias else None)


def encoder_weights(num_layers: int = 2, *, has_bias: bool = True, has_norm: bool = True) -> EncoderWeights:
    def layer(first: int) -> EncoderLayerWeights:
        parts = [linear(first + i, has_bias=has_bias) for i in range(6)]
        norms = [NormWeights(np.full(2, first + 0.5), None) for _ in range(2)]
        return EncoderLayerWeights(MultiHeadAttentionWeights(*parts[:4]), norms[0], FeedForwardWeights(*parts[4:]), norms[1])

    return EncoderWeights(tuple(layer(10 * i) for i in range(num_layers)), NormWeights(np.ones(2)) if has_norm else None)


def test_a_path_is_field_names_and_positions_joined_by_dots():
    paths = [path for path, _ in leaves(encoder_weights(1, has_bias=False))]
    assert paths == [
        "layers.0.attention.query.weight",
        "layers.0.attention.key.weight",
        "layers.0.attention.value.weight",
        "layers.0.attention.output.weight",
        "layers.0.attention_norm.weight",
        "layers.0.feed_forward.up.weight",
        "layers.0.feed_forward.down.weight",
        "layers.0.feed_forward_norm.weight",
        "norm.weight",
    ]


def test_leaves_come_in_order_and_without_none():
    assert list(leaves((1, None, (2, None), NormWeights(3)))) == [("0", 1), ("2.0", 2), ("3.weight", 3)]
    assert list(leaves(None)) == []
    assert list(leaves(7, "here")) == [("here", 7)]


def test_mapping_keeps_the_tree_and_changes_every_leaf():
    tree = encoder_weights()
    doubled = map_tree(lambda leaf: 2 * leaf, tree)
    assert type(doubled) is EncoderWeights
    assert doubled.layers[1].attention.query.bias.tolist() == [-20.0] * 3
    assert doubled.layers[1].attention.query_norm is None
    assert tree.layers[1].attention.query.bias.tolist() == [-10.0] * 3  # the original is unchanged


def test_mapping_over_two_trees_meets_leaves_at_the_same_place():
    one, other = encoder_weights(), map_tree(lambda leaf: leaf + 1, encoder_weights())
    difference = map_tree(lambda a, b: b - a, one, other)
    assert all((leaf == 1).all() for _, leaf in leaves(difference))


def test_mapping_over_tuples_of_other_lengths_is_an_error():
    with pytest.raises(ValueError, match="shorter"):
        map_tree(lambda a, b: a, encoder_weights(2), encoder_weights(1))


def test_mapping_none_gives_none():
    assert map_tree(lambda leaf: leaf, None) is None


@settings(deadline=None, derandomize=True, max_examples=20)
@given(st.integers(1, 12), st.booleans(), st.booleans())
def test_leaves_and_tree_from_leaves_round_trip(num_layers, has_bias, has_norm):
    tree = encoder_weights(num_layers, has_bias=has_bias, has_norm=has_norm)
    built = tree_from_leaves(EncoderWeights, dict(leaves(tree)))
    assert [path for path, _ in leaves(built)] == [path for path, _ in leaves(tree)]
    assert all(a is b for (_, a), (_, b) in zip(leaves(built), leaves(tree), strict=True))
    assert len(built.layers) == num_layers


def test_the_tenth_layer_comes_after_the_second():
    tree = tree_from_leaves(tuple[NormWeights, ...], {f"{position}.weight": position for position in (10, 2, 0, 1, 3, 4, 5, 6, 7, 8, 9)})
    assert [node.weight for node in tree] == list(range(11))


def test_the_order_of_the_leaves_does_not_matter():
    found = dict(leaves(encoder_weights(3)))
    backwards = tree_from_leaves(EncoderWeights, dict(reversed(found.items())))
    assert [path for path, _ in leaves(backwards)] == list(found)


def test_a_field_without_a_leaf_gets_its_default():
    assert tree_from_leaves(LinearWeights, {"weight": 1}) == LinearWeights(1, None)
    assert tree_from_leaves(EncoderWeights, {"layers.0.attention_norm.weight": 1} | layer_leaves()).norm is None


def test_a_required_field_without_a_leaf_is_an_error_that_names_it():
    with pytest.raises(TypeError, match="weight"):
        tree_from_leaves(LinearWeights, {"bias": 1})


def test_a_leaf_that_is_no_field_is_an_error_that_names_it():
    with pytest.raises((TypeError, KeyError), match="gate"):
        tree_from_leaves(LinearWeights, {"weight": 1, "gate": 2})


def test_optional_subtrees_are_built_where_they_have_leaves():
    @dataclass(frozen=True)
    class Outer:
        inner: LinearWeights | None = None
        leaf: Any = None

    Outer.__annotations__ |= {"inner": LinearWeights | None, "leaf": Any}  # names of this function's scope cannot be looked up by strings
    assert tree_from_leaves(Outer, {"inner.weight": 1}) == Outer(LinearWeights(1))
    assert tree_from_leaves(Outer, {"leaf": 3}) == Outer(None, 3)


def test_of_several_kinds_the_one_that_has_the_leaves_is_built():
    @dataclass(frozen=True)
    class Outer:
        inner: Any

    Outer.__annotations__["inner"] = FeedForwardWeights | GatedFeedForwardWeights
    plain = tree_from_leaves(Outer, {"inner.up.weight": 1, "inner.down.weight": 2})
    gated = tree_from_leaves(Outer, {"inner.gate.weight": 0, "inner.up.weight": 1, "inner.down.weight": 2})
    assert plain == Outer(FeedForwardWeights(LinearWeights(1), LinearWeights(2)))
    assert gated == Outer(GatedFeedForwardWeights(LinearWeights(0), LinearWeights(1), LinearWeights(2)))


def layer_leaves():
    return {path: leaf for path, leaf in leaves(encoder_weights(1)) if path.startswith("layers")}
