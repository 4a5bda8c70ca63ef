from __future__ import annotations

import pytest
import torch

from headway import functions, nn
from headway.errors import DtypeError, OptionError
from headway.kernels import operations
from headway.nn import DropoutRates, with_dropout
from tests.nn.cases import HEADS, HIDDEN, INNER, SEQ, SOURCE, draw

RATE = 0.3
every_ops = pytest.mark.parametrize("ops", [functions, operations("torch")], ids=["definitions", "twins"])

# shapes of query, key and mask, and options, for every branch of the attention with dropout
WAYS = {
    "plain": ((2, 6, SEQ, 4), (2, 6, SOURCE, 4), None, {}),
    "causal": ((2, 6, SEQ, 4), (2, 6, SEQ, 4), None, {"is_causal": True}),
    "newest at newest": ((2, 6, SEQ, 4), (2, 6, SOURCE, 4), None, {"is_causal": True}),
    "one query": ((2, 6, 1, 4), (2, 6, SOURCE, 4), None, {"is_causal": True}),
    "grouped": ((2, 6, SEQ, 4), (2, 3, SOURCE, 4), None, {"scale": 0.7}),
    "masked": ((2, 6, SEQ, 4), (2, 6, SOURCE, 4), (2, 1, 1, SOURCE), {}),
    "masked and causal": ((2, 6, SEQ, 4), (2, 6, SOURCE, 4), (2, 1, 1, SOURCE), {"is_causal": True}),
    "soft cap": ((2, 6, SEQ, 4), (2, 3, SOURCE, 4), (2, 1, 1, SOURCE), {"soft_cap": 2.0}),
    "one head": ((SEQ, 4), (SOURCE, 4), (SEQ, SOURCE), {"is_causal": True}),
}


@every_ops
@pytest.mark.parametrize("kind", ["boolean", "floating"])
@pytest.mark.parametrize("way", WAYS)
def test_attention_weights_are_dropped_and_the_others_grow(ops, kind, way):
    query_shape, key_shape, mask_shape, options = WAYS[way]
    query, key = draw(*query_shape), draw(*key_shape, seed=1)
    mask = None if mask_shape is None else draw(*mask_shape, seed=2)
    if mask is not None and kind == "boolean":
        mask = mask > -0.8
    value = torch.eye(key_shape[-2], dtype=torch.float64).expand(
        *key_shape[:-1], key_shape[-2]
    )  # so that the result is the attention weights
    torch.manual_seed(0)
    actual = with_dropout(ops, attention=RATE).scaled_dot_product_attention(query, key, value, mask, **options)
    weights = functions.attention_weights(query, key, mask, **options)
    torch.testing.assert_close(actual, torch.where(actual == 0, 0, weights / (1 - RATE)))
    visible = weights > 0
    share = (actual[visible] == 0).double().mean()
    assert abs(share - RATE) < 4 * (RATE * (1 - RATE) / visible.sum()) ** 0.5


@every_ops
def test_what_the_branches_return_is_dropped_and_the_rest_grows(ops):
    x, y = draw(2, SEQ, HIDDEN), draw(2, SOURCE, HIDDEN, seed=1)
    attention, feed_forward = nn.MultiHeadAttention(HIDDEN, HEADS).double(), nn.FeedForward(HIDDEN, INNER).double()
    gated = nn.GatedFeedForward(HIDDEN, INNER).double()
    keys, values = functions.project_keys_and_values(y, y, attention.weights(), num_heads=HEADS)
    calls = {
        "multi_head_attention": lambda ops: ops.multi_head_attention(x, y, y, attention.weights(), num_heads=HEADS, ops=ops),
        "cross_attention": lambda ops: ops.cross_attention(x, keys, values, attention.weights(), num_heads=HEADS, ops=ops),
        "feed_forward": lambda ops: ops.feed_forward(x, feed_forward.weights(), ops=ops),
        "gated_feed_forward": lambda ops: ops.gated_feed_forward(x, gated.weights(), ops=ops),
    }
    torch.manual_seed(0)
    for call in calls.values():
        assert_dropped(call(with_dropout(ops, output=RATE)), call(ops))
        torch.testing.assert_close(call(with_dropout(ops, embedding=RATE)), call(ops))


@every_ops
def test_what_the_embeddings_return_is_dropped_and_the_rest_grows(ops):
    table, ids = draw(SEQ, HIDDEN), torch.arange(SEQ)
    torch.manual_seed(0)
    for name in ("embed", "learned_positions"):
        assert_dropped(getattr(with_dropout(ops, embedding=RATE), name)(ids, table), table)
        assert torch.equal(getattr(with_dropout(ops, output=RATE, attention=RATE), name)(ids, table), table)


def test_rates_of_zero_change_nothing():
    ops = operations("torch")
    assert vars(with_dropout(ops)) == vars(ops)
    assert vars(with_dropout(functions)) == {name: getattr(functions, name) for name in functions.__all__}


def test_what_comes_in_is_not_changed():
    ops = operations("torch")
    before = dict(vars(ops))
    with_dropout(ops, attention=RATE, output=RATE, embedding=RATE)
    assert vars(ops) == before


@pytest.mark.parametrize("name", ["attention", "output", "embedding"])
@pytest.mark.parametrize("rate", [-0.1, 1.0, 2])
def test_a_rate_outside_its_range_is_an_error_that_names_the_place(name, rate):
    with pytest.raises(OptionError, match=f"got {name}={rate}, expected at least 0 and below 1"):
        with_dropout(functions, **{name: rate})
    with pytest.raises(OptionError, match=f"got {name}={rate}, expected at least 0 and below 1"):
        DropoutRates(**{name: rate})


def test_a_mask_of_whole_numbers_is_an_error_with_dropout_too():
    x = draw(1, SEQ, 4)
    with pytest.raises(DtypeError, match="attention_mask="):
        with_dropout(functions, attention=RATE).scaled_dot_product_attention(x, x, x, torch.ones(SEQ, SEQ, dtype=torch.int64))


def test_a_query_that_may_attend_to_nothing_gets_zeros_and_finite_gradients_with_dropout_too():
    x = draw(1, SEQ, 4).requires_grad_()
    mask = torch.arange(SEQ)[:, None] != 1
    for ops in (functions, operations("torch")):
        actual = with_dropout(ops, attention=RATE).scaled_dot_product_attention(x, x, x, mask.expand(SEQ, SEQ))
        assert (actual[:, 1] == 0).all()
        assert torch.autograd.grad(actual.sum(), x)[0].isfinite().all()


@pytest.mark.parametrize(("place", "acts"), [("attention", True), ("output", True), ("embedding", False)])
def test_each_rate_acts_in_its_own_place_of_a_layer(place, acts):
    layer = nn.EncoderLayer(HIDDEN, HEADS, INNER, dropout=DropoutRates(**{place: RATE})).double()
    x = draw(2, SEQ, HIDDEN)
    torch.manual_seed(0)
    assert torch.equal(layer.train()(x), layer.eval()(x)) is not acts


@pytest.mark.parametrize("is_pre_norm", [True, False], ids=["pre_norm", "post_norm"])
@pytest.mark.parametrize("branch", ["self_attention", "cross_attention", "feed_forward"])
def test_every_branch_of_a_layer_is_dropped_as_it_joins_the_residual(branch, is_pre_norm):
    def without_norms(dropout):
        layer = nn.DecoderLayer(HIDDEN, HEADS, INNER, dropout=dropout, is_pre_norm=is_pre_norm).double()
        layer._training_ops.layer_norm = lambda x, weight, bias, *, eps: x  # then the output is the sum of the input and the sublayers
        return layer

    layer, plain = without_norms(DropoutRates(output=RATE)), without_norms(0.0)
    for name in {"self_attention", "cross_attention", "feed_forward"} - {branch}:
        for parameter in getattr(layer, name).parameters():
            parameter.data.zero_()
    plain.load_weights(layer.weights())
    x, y = draw(2, SEQ, HIDDEN), draw(2, SOURCE, HIDDEN, seed=1)
    torch.manual_seed(0)
    assert_dropped(layer(x, y) - x, plain(x, y) - x)


def assert_dropped(actual, whole):
    torch.testing.assert_close(actual, torch.where(actual.abs() < 1e-12, 0, whole / (1 - RATE)))
    share = (actual.abs() < 1e-12).double().mean()
    assert abs(share - RATE) < 4 * (RATE * (1 - RATE) / actual.numel()) ** 0.5
