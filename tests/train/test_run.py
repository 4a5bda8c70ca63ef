"""Training runs: learning, resuming, errors, and the written model."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy
import pytest
import torch
from safetensors import SafetensorError

import headway
from headway.errors import OptionError, TrainingError
from headway.train.loop import Progress, Run
from headway.train.options import TrainingOptions
from headway.train.run import Data, finish, resume, start, train
from headway.trees import leaves

OPTIONS = TrainingOptions(
    context=24,
    num_layers=2,
    num_heads=2,
    hidden_size=16,
    batch_size=5,
    num_steps=12,
    learning_rate=1e-2,
    warmup_steps=3,
    eval_every=4,
    dtype="float32",
    seed=7,
)
TEXT = "The cat sat on the mat. The dog sat on the log. " * 60


@pytest.fixture
def text(tmp_path: Path) -> Path:
    path = tmp_path / "text.txt"
    path.write_text(TEXT)
    return path


def losses(report: list[Progress]) -> list[float]:
    return [progress.loss for progress in report]


def begin(out: Path, text: Path, options: TrainingOptions = OPTIONS, **more):
    return start(out, options, Data(**({"files": [text], "tokenizer": "bytes"} | more)))


def test_it_learns(tmp_path, text):
    report: list[Progress] = []
    train(tmp_path / "out", replace(OPTIONS, num_steps=60), Data(files=[text], tokenizer="bytes"), report=report.append)
    assert report[0].loss > 5.0  # about ln 257: all bytes equally likely
    assert report[-1].validation_loss < 3.0


def test_a_stopped_run_resumes_to_the_very_numbers_of_one_that_was_not(tmp_path, text):
    whole: list[Progress] = []
    begin(tmp_path / "whole", text).train(whole.append)
    first: list[Progress] = []
    run = begin(tmp_path / "halves", text)
    assert not run.train(first.append, should_stop=lambda: len(first) == 5)
    second: list[Progress] = []
    assert resume(tmp_path / "halves").train(second.append)
    assert losses(first) + losses(second) == losses(whole)
    assert second[-1].validation_loss == whole[-1].validation_loss


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="signals are sent as POSIX has them")
@pytest.mark.parametrize("sent", [signal.SIGKILL, signal.SIGINT])
def test_a_killed_run_resumes_and_its_folder_generates(tmp_path, text, sent):
    out = tmp_path / "out"
    command = [sys.executable, "-m", "headway", "train", "--out", str(out)]
    options = [
        "--tokenizer",
        "bytes",
        "--context",
        "24",
        "--num-layers",
        "1",
        "--num-heads",
        "2",
        "--hidden-size",
        "16",
        "--batch-size",
        "4",
        "--eval-every",
        "5000",
    ]
    process = subprocess.Popen(
        [*command, *options, "--num-steps", "100000", "--save-every-seconds", "0.1", str(text)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    state, options_path = out / "training" / "state.safetensors", out / "training" / "options.json"
    while not state.exists():
        time.sleep(0.05)
        assert process.poll() is None
    time.sleep(0.5)
    process.send_signal(sent)
    process.communicate(timeout=600)
    assert process.returncode == (130 if sent is signal.SIGINT else -signal.SIGKILL)
    steps_before = resume(out).step
    assert steps_before > 0
    kept = json.loads(options_path.read_text())
    options_path.write_text(json.dumps(kept | {"num_steps": steps_before + 20}))
    result = subprocess.run([*command, "--resume"], capture_output=True, text=True, timeout=600)
    assert result.returncode == 0, result.stderr
    assert json.loads(result.stdout)["step"] == steps_before + 20
    assert headway.load(out).generate("The", max_new_tokens=5).token_ids


def test_the_folder_opens_in_transformers_with_the_same_logits(tmp_path, text):
    import transformers

    out = tmp_path / "out"
    run = begin(out, text, tokenizer="bpe", vocab_size=300)
    run.train(lambda progress: None)
    finish(run, out)
    theirs = transformers.AutoModelForCausalLM.from_pretrained(out).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(out)
    model = headway.load(out)
    token_ids = model.tokenizer.encode("The cat sat on the dog.")
    assert tokenizer("The cat sat on the dog.")["input_ids"] == token_ids
    with torch.no_grad():
        logits = theirs(torch.tensor([token_ids])).logits.numpy()
    mine = model.model.architecture.forward(numpy.array([token_ids]), model.model.weights, model.config)
    numpy.testing.assert_allclose(mine, logits, atol=1e-4, rtol=0)
    assert model.defaults == {"temperature": 0.7, "top_p": 0.9}


def test_bfloat16_weights_are_stored_in_half_the_bytes(tmp_path, text):
    sizes = {}
    for dtype in ("float32", "bfloat16"):
        begin(tmp_path / dtype, text, replace(OPTIONS, weights_dtype=dtype))
        finish(resume(tmp_path / dtype), tmp_path / dtype)
        sizes[dtype] = (tmp_path / dtype / "model.safetensors").stat().st_size
        assert headway.load(tmp_path / dtype).generate("The", max_new_tokens=2).token_ids
    assert sizes["bfloat16"] < 0.6 * sizes["float32"]


def test_tied_weights_are_trained_once(tmp_path, text):
    run = begin(tmp_path / "out", text)
    assert "output_head" not in run.model.by_path()
    assert len(run.model.by_path()) == len(list(leaves(run.weights))) - 1
    assert len(list(run.model.parameters())) == len(run.model.by_path())


def test_a_corpus_smaller_than_one_context(tmp_path):
    (tmp_path / "small.txt").write_text("Too short.")
    with pytest.raises(TrainingError, match="got a corpus of 11 tokens.*expected more than one context of 24 in each"):
        begin(tmp_path / "out", tmp_path / "small.txt")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(("content", "message"), [(b"\xff\xfe\x00", "invalid UTF-8 at byte 0"), (b" \n", "without text")])
def test_a_file_that_is_no_text(tmp_path, content, message):
    (tmp_path / "bad.txt").write_bytes(content)
    with pytest.raises(TrainingError, match=message):
        begin(tmp_path / "out", tmp_path / "bad.txt")


def test_no_such_file(tmp_path):
    with pytest.raises(TrainingError, match=r"nowhere\.txt, expected a readable text file"):
        begin(tmp_path / "out", tmp_path / "nowhere.txt")


def test_a_folder_with_a_run_is_not_overwritten(tmp_path, text):
    begin(tmp_path / "out", text)
    with pytest.raises(TrainingError, match="(?s)contains a training run, expected a new folder.*pass --resume"):
        begin(tmp_path / "out", text)


def test_nothing_to_resume(tmp_path):
    with pytest.raises(TrainingError, match="without a training run"):
        resume(tmp_path)


def test_a_run_goes_on_with_other_options_where_model_and_batches_stay(tmp_path, text):
    begin(tmp_path / "out", text).train(lambda progress: None)
    report: list[Progress] = []
    run = resume(tmp_path / "out", num_steps=15, learning_rate=3e-3)
    assert run.train(report.append)
    assert [progress.step for progress in report] == [13, 14, 15]
    assert resume(tmp_path / "out").options.num_steps == 15
    with pytest.raises(OptionError, match="got batch_size, context for a resumed run, expected only beta1, "):
        resume(tmp_path / "out", context=8, batch_size=3)
    with pytest.raises(OptionError, match="num_steps=3 for a run at step 15"):
        resume(tmp_path / "out", num_steps=3)
    with pytest.raises(OptionError, match="got device 'nowhere', expected one that this build of torch supports"):
        resume(tmp_path / "out", device="nowhere")


def test_a_run_with_dropout_resumes_to_the_very_numbers_too(tmp_path, text):
    whole: list[Progress] = []
    options = replace(OPTIONS, dropout=0.2)
    begin(tmp_path / "whole", text, options).train(whole.append)
    first: list[Progress] = []
    run = begin(tmp_path / "halves", text, options)
    run.train(first.append, should_stop=lambda: len(first) == 5)
    torch.manual_seed(123)
    second: list[Progress] = []
    resume(tmp_path / "halves").train(second.append)
    assert losses(first) + losses(second) == losses(whole)
    plain: list[Progress] = []
    begin(tmp_path / "plain", text).train(plain.append)
    assert losses(plain) != losses(whole)


def test_validation_forgets_nothing(tmp_path, text):
    run = begin(tmp_path / "out", text, replace(OPTIONS, dropout=0.9))
    assert run.validation_loss() == run.validation_loss() == begin(tmp_path / "plain", text).validation_loss()


def test_the_curve_is_written_as_numbers_and_as_a_picture(tmp_path, text):
    run = train(tmp_path / "out", OPTIONS, Data(files=[text], tokenizer="bytes"))
    points = json.loads((tmp_path / "out" / "training" / "curve.json").read_text())
    assert [point["step"] for point in points] == [4, 8, 12]
    assert points == run.curve
    assert (tmp_path / "out" / "training" / "curve.png").read_bytes().startswith(b"\x89PNG")


def test_without_matplotlib_the_model_is_written_all_the_same(tmp_path, text, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    said: list[str] = []
    run = begin(tmp_path / "out", text)
    run.train(lambda progress: None)
    finish(run, tmp_path / "out", say=said.append)
    assert "matplotlib is not installed" in said[-1]
    assert not (tmp_path / "out" / "training" / "curve.png").exists()
    assert headway.load(tmp_path / "out").generate("The", max_new_tokens=2).token_ids


def test_the_state_of_another_architecture(tmp_path, text):
    begin(tmp_path / "gpt2", text).train(lambda progress: None)
    run = begin(tmp_path / "llama", text, replace(OPTIONS, architecture="llama"))
    run.state_path.write_bytes((tmp_path / "gpt2" / "training" / "state.safetensors").read_bytes())
    with pytest.raises(
        TrainingError, match="state.safetensors of the architecture gpt2, expected the state of this run's architecture, llama"
    ):
        resume(tmp_path / "llama")


def test_the_state_of_another_size(tmp_path, text):
    begin(tmp_path / "small", text).train(lambda progress: None)
    run = begin(tmp_path / "wide", text, replace(OPTIONS, hidden_size=20))
    run.state_path.write_bytes((tmp_path / "small" / "training" / "state.safetensors").read_bytes())
    with pytest.raises(TrainingError, match=r"with token_embedding \(257, 16\) of dtype torch.float32, expected \(257, 20\)"):
        resume(tmp_path / "wide")


def test_a_broken_state_is_named(tmp_path, text):
    run = begin(tmp_path / "out", text)
    run.train(lambda progress: None)
    state = tmp_path / "out" / "training" / "state.safetensors"
    state.write_bytes(state.read_bytes()[:100])
    with pytest.raises(TrainingError, match="which is not a training state"):
        resume(tmp_path / "out")


def test_a_full_disk_keeps_the_last_state(tmp_path, text, monkeypatch):
    first: list[Progress] = []
    run = begin(tmp_path / "out", text)
    run.train(first.append, should_stop=lambda: len(first) == 5)
    before = run.state_path.read_bytes()

    def full(*_: object, **__: object) -> None:
        raise SafetensorError("Error while serializing: I/O error: No space left on device (os error 28)")

    monkeypatch.setattr("headway.checkpoints.writing.save_file", full)
    with pytest.raises(TrainingError, match=r"the state of step 12 could not be written .*No space left.*the previous state is unchanged"):
        resume(tmp_path / "out").train(first.append)
    monkeypatch.undo()
    assert run.state_path.read_bytes() == before
    assert resume(tmp_path / "out").step == 5
    assert not list(run.state_path.parent.glob(".*"))


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="permissions do not bind root")
def test_a_folder_that_may_not_be_written(tmp_path, text):
    tmp_path.chmod(0o500)
    with pytest.raises(OSError, match="denied"):
        begin(tmp_path / "out", text)


@pytest.mark.parametrize("below", [(), ("folder",)])
def test_an_out_that_is_a_file_is_an_error_before_anything_is_made(tmp_path, text, below):
    (tmp_path / "out").write_text("a file")
    said: list[str] = []
    with pytest.raises(TrainingError, match=r"(?s)got .*out, which is a file, expected a folder.*--out"):
        start((tmp_path / "out").joinpath(*below), OPTIONS, Data(files=[text], tokenizer="bytes"), say=said.append)
    assert said == []


def test_the_throughput_does_not_count_the_time_of_validation(tmp_path, text, monkeypatch):
    run = begin(tmp_path / "out", text)
    now = [0.0]
    monkeypatch.setattr("headway.train.loop.time.monotonic", lambda: now[0])

    def step(self, *, is_saved):
        now[0] += 0.5
        self.step += 1
        return 1.0, 1e-3, 120

    def validate(self):
        now[0] += 60.0
        return 1.0

    monkeypatch.setattr(Run, "_step", step)
    monkeypatch.setattr(Run, "validation_loss", validate)
    monkeypatch.setattr(Run, "save", lambda self: None)
    report: list[Progress] = []
    assert run.train(report.append)
    assert [progress.tokens_per_second for progress in report] == [pytest.approx(240.0)] * OPTIONS.num_steps
    assert report[-1].seconds == pytest.approx(12 * 0.5 + 3 * 60.0)


def test_the_throughput_is_the_mean_of_the_last_steps(tmp_path, text):
    run = begin(tmp_path / "out", text)
    run._recent_steps.extend([(100, 1.0)] * 60 + [(100, 2.0)] * 25)
    assert run._throughput() == pytest.approx(50 * 100 / 75)


@pytest.mark.parametrize(("name", "value"), [("num_steps", 3.5), ("num_steps", "12"), ("context", True), ("dropout", "0"), ("device", 1)])
def test_an_option_of_a_wrong_type_is_an_error(name, value):
    with pytest.raises(OptionError, match=f"got {name}={value!r}, expected a value of type"):
        TrainingOptions(**{name: value})


@pytest.mark.parametrize(
    "content", [b"", b"[]", b"[" * 100_000, b'{"num_steps": 12, "momentum": 3}', b"\xff", b'{"seed": ' + b"9" * 5000 + b"}"]
)
def test_options_that_cannot_be_read_are_an_error(tmp_path, text, content):
    begin(tmp_path / "out", text)
    (tmp_path / "out" / "training" / "options.json").write_bytes(content)
    with pytest.raises(TrainingError):
        resume(tmp_path / "out")
