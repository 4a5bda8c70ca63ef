from __future__ import annotations

import pytest
import torch

from headway import functions
from headway.errors import OptionError, ShapeError
from headway.nn import LearnedPositions, SinusoidalPositions
from tests.nn.cases import BATCH, HIDDEN, SEQ, TABLE, X

both = pytest.mark.parametrize("kind", [SinusoidalPositions, LearnedPositions])


def test_sinusoidal_positions_are_the_definitions_rows():
    module = SinusoidalPositions(TABLE, HIDDEN, base=100.0)
    expected = functions.sinusoidal_positions(TABLE, HIDDEN, base=100.0, like=torch.empty(0))
    assert torch.equal(module(torch.zeros(BATCH, SEQ, HIDDEN))[1], expected[:SEQ])


def test_learned_positions_are_the_definitions_rows():
    module = LearnedPositions(TABLE, HIDDEN)
    expected = functions.learned_positions(torch.arange(SEQ), module.table)
    assert torch.equal(module(torch.zeros(BATCH, SEQ, HIDDEN))[0], expected)


@both
def test_an_offset_continues_where_the_sequence_stopped(kind):
    module = kind(TABLE, HIDDEN).double()
    whole = module(X)
    assert torch.equal(torch.cat([module(X[:, :3]), module(X[:, 3:], offset=3)], dim=1), whole)
    assert module(X[:, :1], offset=TABLE - 1).shape == (BATCH, 1, HIDDEN)


def test_the_sinusoidal_table_is_in_the_state_and_follows_to_and_is_not_trained():
    module = SinusoidalPositions(TABLE, HIDDEN)
    assert list(module.state_dict()) == ["table"]
    assert list(module.parameters()) == []
    assert module.to(torch.float64).table.dtype == torch.float64
    assert module.to("meta").table.device.type == "meta"


def test_the_learned_table_is_trained_where_it_was_read():
    module = LearnedPositions(TABLE, HIDDEN)
    module(torch.zeros(BATCH, SEQ, HIDDEN)).sum().backward()
    assert (module.table.grad[:SEQ] == BATCH).all()
    assert (module.table.grad[SEQ:] == 0).all()


@both
def test_the_dtype_stays_that_of_the_embeddings(kind):
    assert kind(TABLE, HIDDEN)(X.bfloat16()).dtype == torch.bfloat16
    assert kind(TABLE, HIDDEN)(X).dtype == torch.float64


@both
def test_the_sum_is_dropped_while_training_and_not_after_eval(kind):
    module = kind(TABLE, HIDDEN, dropout=0.3).double()
    whole = module.eval()(X)
    torch.manual_seed(0)
    came = module.train()(X)
    torch.testing.assert_close(came, torch.where(came == 0, 0, whole / 0.7))
    assert abs((came == 0).double().mean() - 0.3) < 4 * (0.3 * 0.7 / X.numel()) ** 0.5


@both
def test_a_sequence_longer_than_the_table_is_an_error(kind):
    module = kind(SEQ, HIDDEN)
    with pytest.raises(ShapeError, match="(?s)got 6 positions starting at 0, expected positions from 0 to 4.*larger max_seq_len"):
        module(torch.zeros(SEQ + 1, HIDDEN))
    with pytest.raises(ShapeError, match="got 5 positions starting at 1, expected positions from 0 to 4"):
        module(torch.zeros(SEQ, HIDDEN), offset=1)
    with pytest.raises(ShapeError, match="got 5 positions starting at -1"):
        module(torch.zeros(SEQ, HIDDEN), offset=-1)


@both
def test_embeddings_of_another_width_are_an_error_even_where_they_would_broadcast(kind):
    with pytest.raises(ShapeError, match=r"got x \(2, 5, 1\), expected \(..., seq_len, 12\)"):
        kind(TABLE, HIDDEN)(X[..., :1])


@both
@pytest.mark.parametrize("rate", [-0.1, 1.0])
def test_a_rate_outside_its_range_is_an_error(kind, rate):
    with pytest.raises(OptionError, match=f"got dropout={rate}, expected at least 0 and below 1"):
        kind(TABLE, HIDDEN, dropout=rate)
