"""Training that starts from a model."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

import headway
from headway.errors import OptionError
from headway.train.options import TrainingOptions
from headway.train.run import Data, finish, resume, start, train
from headway.trees import leaves

OPTIONS = TrainingOptions(
    context=24, num_layers=2, num_heads=2, hidden_size=16, batch_size=4, num_steps=6, warmup_steps=1, eval_every=3, dtype="float32"
)
TEXT = "The cat sat on the mat. The dog sat on the log. " * 60


@pytest.fixture
def first(tmp_path):
    (tmp_path / "text.txt").write_text(TEXT)
    train(tmp_path / "first", OPTIONS, Data(files=[tmp_path / "text.txt"], tokenizer="bytes"))
    return tmp_path / "first"


def second(first, **more):
    data = Data(files=[first.parent / "text.txt"])
    return start(first.parent / "second", replace(OPTIONS, init_from=str(first), **more), data)


def test_a_run_starts_with_the_weights_and_the_tokenizer_of_a_model(first):
    run = second(first)
    stored = dict(leaves(headway.load(str(first), weights="none", array="torch").model.weights))
    for path, leaf in leaves(run.weights):
        torch.testing.assert_close(leaf.detach(), stored[path])
        assert leaf.is_contiguous()
    assert (first.parent / "second" / "tokenizer.json").read_text() == (first / "tokenizer.json").read_text()


def test_a_resumed_run_has_the_numbers_of_one_that_never_stopped(first):
    whole = second(first)
    whole.train(lambda progress: None)
    expected = [leaf.detach().clone() for _, leaf in leaves(whole.weights)]
    folder = first.parent / "second"
    (folder / "training" / "state.safetensors").unlink()
    stopped = resume(folder)
    steps = iter((False, False, False, True))
    assert not stopped.train(lambda progress: None, lambda: next(steps))
    resumed = resume(folder)
    assert resumed.step == 3
    resumed.train(lambda progress: None)
    for (_, leaf), tensor in zip(leaves(resumed.weights), expected, strict=True):
        assert torch.equal(leaf.detach(), tensor)
    finish(resumed, folder)
    assert headway.load(str(folder)).generate("The cat", max_new_tokens=4, temperature=0).text


@pytest.mark.parametrize("more", [{"num_layers": 3}, {"hidden_size": 32}, {"context": 12}, {"architecture": "llama"}])
def test_a_model_of_another_shape_is_an_error(first, more):
    with pytest.raises(OptionError, match="expected"):
        second(first, **more)
    assert not (first.parent / "second").exists()
