"""Training: it learns, it resumes to the same numbers, and what it writes opens everywhere."""

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
from headway.tokenizers import byte_tokenizer
from headway.train.corpus import encode_corpus, read_documents
from headway.train.loop import Progress, scheduled_learning_rate
from headway.train.options import TrainingOptions
from headway.train.run import finish, resume, start, train
from headway.train.state import parameters
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
    return start(out, options, files=[text], **({"vocab_size": None} | more))


def test_it_learns(tmp_path, text):
    report: list[Progress] = []
    train(tmp_path / "out", replace(OPTIONS, num_steps=60), files=[text], vocab_size=None, report=report.append)
    assert report[0].loss > 5.0  # about ln 257, every byte alike
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
    process.communicate(timeout=60)
    assert process.returncode == (130 if sent is signal.SIGINT else -signal.SIGKILL)
    steps_before = resume(out).step
    assert steps_before > 0
    kept = json.loads(options_path.read_text())
    options_path.write_text(json.dumps(kept | {"num_steps": steps_before + 20}))
    result = subprocess.run([*command, "--resume"], capture_output=True, text=True, timeout=100)
    assert result.returncode == 0, result.stderr
    assert json.loads(result.stdout)["step"] == steps_before + 20
    assert headway.load(out).generate("The", max_new_tokens=5).token_ids


def test_the_folder_opens_in_transformers_with_the_same_logits(tmp_path, text):
    import transformers

    out = tmp_path / "out"
    run = begin(out, text, vocab_size=300)
    run.train(lambda progress: None)
    finish(run, out)
    theirs = transformers.AutoModelForCausalLM.from_pretrained(out).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(out)
    model = headway.load(out)
    token_ids = model.tokenizer.encode("The cat sat on the dog.")
    assert tokenizer("The cat sat on the dog.")["input_ids"] == token_ids
    with torch.no_grad():
        logits = theirs(torch.tensor([token_ids])).logits.numpy()
    mine = model.engine.architecture.forward(numpy.array([token_ids]), model.engine.weights, model.config)
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
    assert "output_head" not in parameters(run.weights)
    assert len(parameters(run.weights)) == len(list(leaves(run.weights))) - 1


def test_the_learning_rate_warms_up_and_falls_along_a_cosine():
    options = TrainingOptions(learning_rate=1.0, min_learning_rate=0.1, warmup_steps=10, num_steps=110)
    rates = [scheduled_learning_rate(step, options) for step in range(111)]
    assert rates[0] == pytest.approx(0.1)
    assert rates[9] == pytest.approx(1.0)
    assert rates[60] == pytest.approx(0.55)
    assert rates[110] == pytest.approx(0.1)
    assert rates[10:] == sorted(rates[10:], reverse=True)


def test_a_batch_depends_on_seed_and_step_alone(tmp_path):
    corpus = encode_corpus([TEXT], byte_tokenizer(), tmp_path, context=24, validation_share=0.1)
    batch = corpus.batch(3, context=24, batch_size=5, seed=1)
    assert batch.shape == (5, 25)
    assert (batch == corpus.batch(3, context=24, batch_size=5, seed=1)).all()
    assert (batch != corpus.batch(4, context=24, batch_size=5, seed=1)).any()
    assert (batch != corpus.batch(3, context=24, batch_size=5, seed=2)).any()


def test_validation_text_is_never_trained_on(tmp_path):
    documents = [f"{letter}" * 30 for letter in "abcdefghijklmnopqrst"]
    corpus = encode_corpus(documents, byte_tokenizer(), tmp_path, context=24, validation_share=0.2)
    assert not set(corpus.train.tolist()) & set(corpus.validation.tolist()) - {256}
    assert len(corpus.train) + len(corpus.validation) == 20 * 31


def test_many_documents_are_read_from_their_beginnings(tmp_path):
    documents = [letter * 20 for letter in "abcdefghijklmnopqrst"]
    corpus = encode_corpus(documents, byte_tokenizer(), tmp_path, context=24, validation_share=0.2)
    batch = corpus.batch(0, context=24, batch_size=50, seed=0)
    assert all(len(set(window[:20].tolist())) == 1 for window in batch)


def test_documents_of_a_file_are_split_at_the_separator(tmp_path):
    (tmp_path / "a.txt").write_text("one\n<|endoftext|>\ntwo\n<|endoftext|>\n")
    (tmp_path / "b.txt").write_text("three\n")
    assert list(read_documents([tmp_path / "a.txt", tmp_path / "b.txt"])) == ["one", "two", "three"]


def test_a_corpus_smaller_than_one_context(tmp_path):
    (tmp_path / "small.txt").write_text("Too short.")
    with pytest.raises(TrainingError, match="came: a corpus of 11 tokens.*expected: more than one context of 24 in each"):
        begin(tmp_path / "out", tmp_path / "small.txt")


@pytest.mark.parametrize(("content", "message"), [(b"\xff\xfe\x00", "not UTF-8 at byte 0"), (b" \n", "empty")])
def test_a_file_that_is_no_text(tmp_path, content, message):
    (tmp_path / "bad.txt").write_bytes(content)
    with pytest.raises(TrainingError, match=message):
        begin(tmp_path / "out", tmp_path / "bad.txt")


def test_no_such_file(tmp_path):
    with pytest.raises(TrainingError, match=r"nowhere\.txt; expected: a text file that can be read"):
        begin(tmp_path / "out", tmp_path / "nowhere.txt")


def test_a_folder_with_a_run_is_not_overwritten(tmp_path, text):
    begin(tmp_path / "out", text)
    with pytest.raises(TrainingError, match="holds a training run; expected: a new folder; pass --resume"):
        begin(tmp_path / "out", text)


def test_nothing_to_resume(tmp_path):
    with pytest.raises(TrainingError, match="without a training run"):
        resume(tmp_path)


def test_a_broken_state_is_named(tmp_path, text):
    run = begin(tmp_path / "out", text)
    run.train(lambda progress: None)
    state = tmp_path / "out" / "training" / "state.safetensors"
    state.write_bytes(state.read_bytes()[:100])
    with pytest.raises(TrainingError, match="which is no training state"):
        resume(tmp_path / "out")


def test_a_full_disk_keeps_the_last_state(tmp_path, text, monkeypatch):
    first: list[Progress] = []
    run = begin(tmp_path / "out", text)
    run.train(first.append, should_stop=lambda: len(first) == 5)
    before = run.state_path.read_bytes()

    def full(*_: object, **__: object) -> None:
        raise SafetensorError("Error while serializing: I/O error: No space left on device (os error 28)")

    monkeypatch.setattr("headway.checkpoints.writing.save_file", full)
    with pytest.raises(TrainingError, match=r"the state of step 12 could not be written .*No space left.*the state before it stands"):
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


def test_a_loss_that_is_no_number_stops_the_run_and_keeps_the_state(tmp_path, text):
    first: list[Progress] = []
    run = begin(tmp_path / "out", text)
    run.train(first.append, should_stop=lambda: len(first) == 5)
    with torch.no_grad():
        run.weights.norm.weight[0] = float("nan")
    with pytest.raises(TrainingError, match="the loss became nan at step 5; the state before it stands"):
        run.train(first.append)
    assert resume(tmp_path / "out").step == 5


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"num_heads": 3, "hidden_size": 16}, "a multiple of num_heads"),
        ({"num_steps": 0}, "num_steps=0"),
        ({"dtype": "int8"}, "dtype='int8'"),
        ({"weights_dtype": "bf16"}, "weights_dtype='bf16'; expected: float32, float16 or bfloat16"),
        ({"learning_rate": 0.0}, "learning_rate=0.0"),
    ],
)
def test_options_out_of_range(options, message):
    with pytest.raises(OptionError, match=message):
        TrainingOptions(**options)
