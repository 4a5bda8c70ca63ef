"""Training with several processes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import headway
from headway.errors import OptionError
from headway.train.distributed import ALONE, Processes, check_processes, for_this_process, join
from headway.train.options import TrainingOptions
from headway.train.state import read_progress
from tests.cli.command import headway as headway_here
from tests.train.test_architectures import data_of

SHAPE = "--context 26 --num-layers 2 --num-heads 2 --hidden-size 12 --batch-size 6 --learning-rate 1e-2 --warmup-steps 3 --dtype float32".split()
TORCHRUN = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node"]
ENVIRONMENT = os.environ | {"OMP_NUM_THREADS": "1", "NO_COLOR": "1"}


def command(count: int, out: Path, *arguments: str) -> list[str]:
    return [*TORCHRUN, str(count), "-m", "headway", "train", "--out", str(out), *arguments]


def run(count: int, out: Path, *arguments: str, code: int = 0) -> subprocess.CompletedProcess[str]:
    if count == 1:
        result = headway_here("train", "--out", str(out), *arguments)
    else:
        result = subprocess.run(command(count, out, *arguments), capture_output=True, text=True, timeout=600, env=ENVIRONMENT)
    assert (result.returncode == 0) == (code == 0), result.stderr
    return result


def losses(out: Path) -> list[float]:
    progress = read_progress(out / "training" / "state.safetensors")
    return [loss for _, loss in progress.history.losses] + [point["validation_loss"] for point in progress.history.curve]


def arguments_for(name: str, folder: Path) -> list[str]:
    return ["--architecture", name, "--tokenizer", "characters", *SHAPE, *map(str, data_of(name, folder).files)]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["gpt2", "transformer"])
def test_two_processes_have_the_losses_of_one(tmp_path, name):
    arguments = [*arguments_for(name, tmp_path / "data"), "--num-steps", "12", "--eval-every", "5"]
    run(1, tmp_path / "one", *arguments)
    result = run(2, tmp_path / "two", *arguments)
    assert json.loads(result.stdout)["step"] == 12, "one process talks"
    assert result.stderr.count("validation loss") == 3
    assert len(losses(tmp_path / "one")) == 12 + 3
    assert losses(tmp_path / "two") == pytest.approx(losses(tmp_path / "one"), abs=1e-4)
    assert headway.load(tmp_path / "two").generate("sort", max_new_tokens=2).token_ids


@pytest.mark.slow
def test_a_sharded_run_has_the_losses_of_one_process_and_goes_on_with_one(tmp_path):
    arguments = arguments_for("gpt2", tmp_path / "data")
    run(1, tmp_path / "whole", *arguments, "--num-steps", "12", "--warmup-steps", "12")
    run(2, tmp_path / "parts", *arguments, "--sharded", "--num-steps", "7", "--warmup-steps", "12")
    assert headway.load(tmp_path / "parts").generate("The", max_new_tokens=2).token_ids
    run(1, tmp_path / "parts", "--resume", "--num-steps", "12")
    whole, parts = (losses(tmp_path / name)[:12] for name in ("whole", "parts"))
    assert parts == pytest.approx(whole, abs=1e-4)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="finds the processes where Linux lists them")
@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_to_any_process_stops_all_after_the_step_with_the_state_saved(tmp_path, sent):
    out = tmp_path / "out"
    arguments = [
        *arguments_for("gpt2", tmp_path / "data"),
        "--num-steps",
        "1000000",
        "--eval-every",
        "1000000",
        "--save-every-seconds",
        "0.1",
    ]
    with subprocess.Popen(
        command(2, out, *arguments), stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=ENVIRONMENT, text=True
    ) as process:
        state = out / "training" / "state.safetensors"
        started = time.monotonic()
        while not state.exists():
            assert process.poll() is None, process.communicate()
            assert time.monotonic() - started < 600  # processes start slowly on a busy machine
            time.sleep(0.05)
        workers = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        before = read_progress(state).step
        os.kill(int(workers[-1]), sent)
        _, errors = process.communicate(timeout=600)
    assert process.returncode != 0
    assert errors.count("stopped at step") == 1
    stopped_at = int(errors.partition("stopped at step ")[2].partition(";")[0])
    assert read_progress(state).step == stopped_at >= before
    result = run(1, out, "--resume", "--num-steps", str(stopped_at + 3))
    assert json.loads(result.stdout)["step"] == stopped_at + 3


@pytest.mark.slow
def test_an_error_of_all_is_said_once(tmp_path):
    result = run(2, tmp_path / "out", *arguments_for("gpt2", tmp_path / "data"), "--batch-size", "5", code=2)
    assert result.stderr.count("got batch_size=5 for 2 processes, expected a multiple of 2") == 1
    assert not (tmp_path / "out" / "training" / "options.json").exists()


@pytest.mark.slow
@pytest.mark.parametrize("more", [[], ["--sharded"]], ids=["alike", "sharded"])
def test_numbers_that_are_not_finite_stop_all_and_the_run_goes_on_from_before(tmp_path, more):
    arguments = arguments_for("gpt2", tmp_path / "data")
    run(1, tmp_path / "out", *arguments, "--num-steps", "5")
    result = run(
        2, tmp_path / "out", "--resume", "--num-steps", "9", "--learning-rate", "1e38", "--min-learning-rate", "1e38", *more, code=2
    )
    assert result.stderr.count("the loss became nan at step") == 1
    assert "first value that is not finite: " in result.stderr
    assert "Error: " not in result.stderr.partition("ChildFailedError")[0]
    result = run(1, tmp_path / "out", "--resume", "--learning-rate", "1e-3", "--min-learning-rate", "1e-3")
    assert json.loads(result.stdout)["step"] == 9
    assert json.loads(result.stdout)["validation_loss"] < 3


def test_a_batch_divides_among_the_processes():
    options = TrainingOptions(batch_size=6)
    assert for_this_process(options, Processes(1, 3)) == options
    with pytest.raises(OptionError, match="batch_size=6 for 4 processes, expected a multiple of 4"):
        for_this_process(options, Processes(1, 4))


def test_each_process_takes_a_gpu_of_its_own(monkeypatch):
    monkeypatch.setenv("LOCAL_RANK", "3")
    monkeypatch.setattr("torch.cuda.device_count", lambda: 4)
    assert for_this_process(TrainingOptions(device="cuda"), Processes(3, 4)).device == "cuda:3"
    assert for_this_process(TrainingOptions(device="cuda"), ALONE).device == "cuda"


def test_one_process_has_nobody_to_share_weights_with():
    with pytest.raises(OptionError, match="--sharded with one process, expected several"):
        check_processes(TrainingOptions(is_sharded=True), ALONE)
    check_processes(TrainingOptions(is_sharded=True), Processes(0, 2))


def test_alone_everything_is_as_it_is(monkeypatch):
    monkeypatch.delenv("WORLD_SIZE", raising=False)
    done = []
    assert join() is ALONE
    assert ALONE.total([1.5, True]) == [1.5, True]
    assert ALONE.first_not_none("here") == "here"
    ALONE.run_on_first(lambda: done.append(1))
    assert done == [1]
