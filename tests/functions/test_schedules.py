from __future__ import annotations

import pytest
import torch

from headway.errors import OptionError
from headway.functions import cosine_schedule, linear_schedule, noam_schedule


def test_the_fall_is_that_of_torch():
    weight = torch.nn.Parameter(torch.zeros(1))
    optimizer = torch.optim.SGD([weight], lr=0.5)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=20, eta_min=0.03)
    for step in range(21):
        expected = optimizer.param_groups[0]["lr"]
        assert cosine_schedule(step, warmup_steps=0, total_steps=20, max_rate=0.5, min_rate=0.03) == pytest.approx(expected)
        optimizer.step()
        schedule.step()


def test_the_rate_rises_in_the_warmup_and_stays_at_the_minimum_after_the_end():
    rates = [cosine_schedule(step, warmup_steps=4, total_steps=10, max_rate=2.0, min_rate=0.5) for step in (0, 1, 3, 4, 10, 99)]
    assert rates == [0.0, 0.5, 1.5, 2.0, 0.5, 0.5]


def test_a_schedule_that_ends_in_its_warmup_is_an_error():
    with pytest.raises(OptionError, match="total_steps above warmup_steps"):
        cosine_schedule(1, warmup_steps=5, total_steps=5)


def test_the_line_is_that_of_transformers():
    transformers = pytest.importorskip("transformers")
    weight = torch.nn.Parameter(torch.zeros(1))
    optimizer = torch.optim.SGD([weight], lr=0.5)
    schedule = transformers.get_linear_schedule_with_warmup(optimizer, num_warmup_steps=5, num_training_steps=20)
    for step in range(24):
        expected = optimizer.param_groups[0]["lr"]
        assert linear_schedule(step, warmup_steps=5, total_steps=20, max_rate=0.5) == pytest.approx(expected)
        optimizer.step()
        schedule.step()


def test_the_rate_of_noam_is_highest_at_the_end_of_the_warmup():
    rates = [noam_schedule(step, hidden_size=512, warmup_steps=4000) for step in range(0, 9000, 500)]
    assert max(rates) == rates[8] == pytest.approx(512**-0.5 * 4000**-0.5)
    assert rates[4] == pytest.approx(rates[8] / 2)  # half of the warmup
    assert rates[16] == pytest.approx(rates[8] / 2**0.5)  # twice as many steps


@pytest.mark.parametrize("wrong", [{"step": -1}, {"hidden_size": 0}, {"warmup_steps": 0}])
def test_a_schedule_of_noam_without_a_warmup_is_an_error(wrong):
    with pytest.raises(OptionError, match="above 0"):
        noam_schedule(**({"step": 1, "hidden_size": 8, "warmup_steps": 4} | wrong))
