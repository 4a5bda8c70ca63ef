"""NaN and infinity stop the run before the update, with the origin in the message."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from headway.errors import TrainingError
from headway.train.loop import Progress, Run
from headway.train.run import resume, start
from tests.train.test_architectures import data_of, options_of


def begun(folder, name: str = "gpt2") -> tuple[Run, list[Progress]]:
    """Return a run at step 5 with a saved state."""
    report: list[Progress] = []
    run = start(folder / "out", options_of(name), data_of(name, folder))
    run.train(report.append, should_stop=lambda: len(report) == 5)
    return run, report


@pytest.mark.parametrize("name", ["gpt2", "transformer"])
def test_a_weight_that_is_no_number_is_named_and_the_state_before_it_stands(tmp_path, name):
    run, report = begun(tmp_path, name)
    path = "encoder.layers.1.feed_forward.up.weight" if name == "transformer" else "layers.1.feed_forward.up.weight"
    with torch.no_grad():
        run.model.by_path()[path][0, 0] = float("nan")
    with pytest.raises(
        TrainingError,
        match=f"the loss became nan at step 5; first value that is not finite: the weight {path}; the state before this step is saved",
    ):
        run.train(report.append)
    assert resume(tmp_path / "out").step == 5


def test_an_operation_that_overflows_is_named_with_its_weight(tmp_path):
    run, report = begun(tmp_path)
    with torch.no_grad():
        run.model.by_path()["layers.1.feed_forward.down.weight"].fill_(1e38)
        run.model.by_path()["layers.1.feed_forward.up.bias"].fill_(1e38)
    before = run.state_path.read_bytes()
    with pytest.raises(TrainingError, match=r"the loss became nan at step 5.*: linear with layers\.1\.feed_forward\.down\.weight"):
        run.train(report.append)
    assert run.state_path.read_bytes() == before, "a state that only overflows is not worth keeping"


def test_a_learning_rate_that_is_too_high_leaves_a_state_that_a_lower_one_goes_on_from(tmp_path):
    begun(tmp_path)
    report: list[Progress] = []
    with pytest.raises(TrainingError, match="became (nan|inf)"):
        resume(tmp_path / "out", learning_rate=1e38).train(report.append)
    run = resume(tmp_path / "out", learning_rate=1e-3)
    assert run.train(report.append)
    assert run.curve[-1]["validation_loss"] < 3


@pytest.mark.slow
def test_a_gradient_that_is_no_number_stops_before_the_update_and_the_run_goes_on_from_there(tmp_path):
    whole, _ = begun(tmp_path / "whole")
    rest: list[Progress] = []
    whole.train(rest.append)

    run, report = begun(tmp_path / "broken")
    before = {path: tensor.detach().clone() for path, tensor in run.model.by_path().items()}
    tensor = run.model.by_path()["layers.0.attention.query.weight"]

    def spoilt(gradient: torch.Tensor) -> torch.Tensor:
        return gradient * float("inf") if run.step == 7 else gradient

    handle = tensor.register_hook(spoilt)
    with pytest.raises(
        TrainingError,
        match=r"the gradient became (nan|inf) at step 7; first value that is not finite: the gradient of layers\.0\.attention\.query\.weight; "
        "the state before this step is saved",
    ):
        run.train(report.append)
    handle.remove()
    assert all((tensor != before[path]).any() for path, tensor in run.model.by_path().items())
    assert all(torch.isfinite(tensor).all() for tensor in run.model.by_path().values())

    again: list[Progress] = []
    resumed = resume(tmp_path / "broken" / "out")
    assert resumed.step == 7
    resumed.train(again.append)
    assert [progress.loss for progress in report[5:] + again] == [progress.loss for progress in rest]


@pytest.mark.parametrize(("dtype", "advice"), [("float32", r"below \S+$"), ("bfloat16", r"below \S+, or --dtype float32$")])
def test_more_exact_products_are_advised_where_they_are_not_exact_already(tmp_path, dtype, advice):
    run = start(tmp_path / "out", replace(options_of("gpt2"), dtype=dtype), data_of("gpt2", tmp_path))
    with torch.no_grad():
        run.weights.norm.weight[0] = float("nan")
    with pytest.raises(TrainingError, match=f"continue with --resume and a --learning-rate {advice}"):
        run.train(lambda progress: None)


def test_at_the_first_step_there_is_no_state_before(tmp_path):
    run = start(tmp_path / "out", options_of("gpt2"), data_of("gpt2", tmp_path))
    with torch.no_grad():
        run.weights.norm.weight[0] = float("inf")
    with pytest.raises(
        TrainingError,
        match="the loss became nan at step 0; first value that is not finite: the weight norm.weight; no state was saved, so --resume starts from the beginning",
    ):
        run.train(lambda progress: None)
    assert not run.state_path.exists()
