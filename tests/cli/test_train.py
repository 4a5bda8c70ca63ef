"""headway train: which options go together."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.command import headway
from tests.train.test_architectures import data_of

SHAPE = "--tokenizer characters --context 26 --num-layers 1 --num-heads 2 --hidden-size 12 --batch-size 6 --num-steps 4".split()


@pytest.mark.slow
def test_pairs_in_two_files_make_a_model_that_answers(tmp_path):
    (path,) = data_of("transformer", tmp_path).files
    columns = zip(*(line.split("\t") for line in path.read_text().splitlines()), strict=True)
    for name, column in zip(("source", "target"), columns, strict=True):
        (tmp_path / name).write_text("\n".join(column) + "\n")
    out, options = tmp_path / "out", ["--architecture", "transformer", *SHAPE]
    files = ["--source-file", str(tmp_path / "source"), "--target-file", str(tmp_path / "target")]
    result = headway("train", "--out", str(out), *options, *files)
    assert result.returncode == 0, result.stderr
    assert json.loads(result.stdout)["step"] == 4
    assert json.loads((out / "config.json").read_text())["architectures"] == ["MarianMTModel"]
    assert headway("generate", "--model", str(out), "sort ba", "-n", "3").returncode == 0


@pytest.mark.slow
def test_a_finished_run_goes_on_further(tmp_path):
    (path,) = data_of("gpt2", tmp_path).files
    first = headway("train", "--out", str(tmp_path / "out"), *SHAPE, str(path))
    assert json.loads(first.stdout)["step"] == 4, first.stderr
    again = headway("train", "--out", str(tmp_path / "out"), "--resume", "--num-steps", "7", "--learning-rate", "1e-4")
    assert json.loads(again.stdout)["step"] == 7, again.stderr
    assert "resuming at step 4" in again.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["TEXT", "--tokenizer", "words"], "got tokenizer='words', expected bpe, bytes or characters"),
        (["TEXT", "--tokenizer", "bytes", "--vocab-size", "300"], "vocab_size=300 and tokenizer=bytes cannot be combined"),
        (["TEXT", "--architecture", "bert"], "got architecture='bert', expected gpt2, llama, qwen3 or the model_type of another decoder"),
        (["TEXT", "--num-kv-heads", "2"], "num_kv_heads=2 and architecture=gpt2 cannot be combined"),
        (["TEXT", "--stories", "5"], "got files and stories, expected one"),
        (["TEXT", "--source-file", "a", "--target-file", "b"], "got files and a source file and a target file"),
        (["--source-file", "a"], "expected both"),
        (["--source-file", "a", "--target-file", "b"], "a source file and architecture=gpt2 cannot be combined"),
        (["--architecture", "transformer", "--stories", "5"], "stories and architecture=transformer cannot be combined"),
        (["TEXT", "--architecture", "transformer"], "line 1: got a line without a tab"),
        (["TEXT", "--sharded"], "--sharded with one process, expected several"),
        (["TEXT", "--device", "nowhere"], "got device 'nowhere', expected one that this build of torch supports"),
        (["TEXT", "--resume"], "files and --resume cannot be combined"),
        (["--resume", "--context", "8"], "got context for a resumed run, expected only"),
        (["--resume"], "without a training run"),
    ],
)
def test_what_does_not_go_together_is_one_sentence_and_exit_code_2(tmp_path, arguments, message):
    (path,) = data_of("gpt2", tmp_path).files
    given = [str(path) if each == "TEXT" else each for each in arguments]
    result = headway("train", "--out", str(tmp_path / "out"), *given)
    assert (result.returncode, result.stdout) == (2, "")
    assert message in result.stderr
    assert "Traceback" not in result.stderr
    assert not Path(tmp_path / "out" / "training" / "options.json").exists()
