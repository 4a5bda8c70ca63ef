"""headway evaluate: answers compared with targets, and the loss on a text."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
import torch

import headway as package
from headway.tokenizers import load_tokenizer
from headway.train.run import train
from tests.cli.command import headway
from tests.small_encoders import save_bert
from tests.train.test_architectures import data_of, options_of

TEXT = "The dog sat on the mat. The cat sat on the log. " * 5


@pytest.fixture(scope="module", params=["gpt2", "qwen3", "transformer"])
def folder(request, tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp(request.param)
    train(folder / request.param, options_of(request.param), data_of(request.param, folder))
    return folder / request.param


def test_answers_count_where_they_are_the_target_exactly(folder, tmp_path):
    model = package.load(folder)
    sources = ["sort bca", "reverse ab", "sort ad"] if folder.name == "transformer" else ["The cat", "The dog s", "on"]
    answers = [answer.text.partition("\n")[0] for answer in model.generate(sources, temperature=0, max_new_tokens=12)]
    targets = [answers[0].strip() or "?", answers[1].strip() or "?", "something else"]
    (tmp_path / "pairs.tsv").write_text("".join(f"{source}\t{target}\n" for source, target in zip(sources, targets, strict=True)))
    result = headway("evaluate", str(tmp_path / "pairs.tsv"), "--model", str(folder), "--json", "--batch-size", "2")
    assert result.returncode == 0, result.stderr
    figures = json.loads(result.stdout)
    assert figures["num_pairs"] == 3
    assert figures["mistakes"][-1]["source"] == sources[2]
    assert figures["mistakes"][-1]["target"] == "something else"


def test_the_loss_is_that_of_transformers_over_the_same_windows(folder, tmp_path):
    import transformers

    (tmp_path / "text.txt").write_text(TEXT)
    result = headway("evaluate", str(tmp_path / "text.txt"), "--model", str(folder), "--json")
    if folder.name == "transformer":
        assert result.returncode == 2
        assert "for an encoder–decoder, expected pairs of source and target" in result.stderr
        return
    figures = json.loads(result.stdout)
    theirs = transformers.AutoModelForCausalLM.from_pretrained(folder).eval()
    token_ids = torch.tensor(load_tokenizer(folder).encode(TEXT))
    context, total = theirs.config.max_position_embeddings, 0.0
    for first in range(0, len(token_ids) - 1, context):
        window = token_ids[first : first + context + 1]
        with torch.no_grad():
            logits = theirs(window[None, :-1]).logits[0]
        total += torch.nn.functional.cross_entropy(logits, window[1:], reduction="sum").item()
    assert figures["num_tokens"] == len(token_ids) - 1
    assert figures["loss"] == pytest.approx(total / (len(token_ids) - 1), abs=1e-4)
    assert figures["perplexity"] == pytest.approx(math.exp(figures["loss"]))


@pytest.mark.parametrize("array", ["torch", "jax", "mlx"])
def test_every_array_library_measures_the_same_loss(tmp_path, array):
    (tmp_path / "text.txt").write_text("Once upon a time there was a little fox. " * 40)
    here, there = (
        json.loads(headway("evaluate", str(tmp_path / "text.txt"), "--json", "--array", each).stdout) for each in ("numpy", array)
    )
    assert there["loss"] == pytest.approx(here["loss"], abs=1e-4)


def test_without_json_the_figures_are_sentences(tmp_path):
    (tmp_path / "text.txt").write_text("Once upon a time there was a little fox.")
    (tmp_path / "pairs.tsv").write_text("Once upon a\ttime machine\n")
    assert " nats per token, perplexity " in headway("evaluate", str(tmp_path / "text.txt")).stdout
    first, second = headway("evaluate", str(tmp_path / "pairs.tsv")).stdout.splitlines()
    assert first.startswith("'Once upon a': expected 'time machine', got ")
    assert second == "0 of 1 answers equal their targets: 0.00 %"


@pytest.mark.parametrize(
    ("name", "content", "arguments", "message"),
    [
        ("pairs.tsv", "no tab\n", [], "line 1: got a line without a tab"),
        ("text.txt", "", [], "with 0 tokens, expected at least 2"),
        ("text.txt", "a", ["--batch-size", "0"], "got --batch-size 0, expected at least 1"),
        ("text.txt", "a", ["--model", "./nowhere"], "got './nowhere', which is neither a folder nor a file"),
    ],
)
def test_bad_input_is_one_sentence_on_stderr_and_exit_code_2(tmp_path, name, content, arguments, message):
    (tmp_path / name).write_text(content)
    result = headway("evaluate", str(tmp_path / name), *arguments)
    assert (result.returncode, result.stdout) == (2, "")
    assert message in result.stderr
    assert "Traceback" not in result.stderr


def test_an_encoder_that_writes_nothing_is_not_evaluated(tmp_path):
    folder = save_bert(tmp_path / "bert")
    (tmp_path / "text.txt").write_text("paris is the capital")
    (tmp_path / "pairs.tsv").write_text("paris\tfrance\n")
    for name in ("text.txt", "pairs.tsv"):
        result = headway("evaluate", str(tmp_path / name), "--model", str(folder))
        assert (result.returncode, result.stdout) == (2, "")
        assert "got an encoder" in result.stderr


def test_help_begins_with_three_examples_and_names_the_exit_codes():
    text = headway("evaluate", "--help").stdout
    assert text.count("  headway evaluate ") >= 3
    assert "Exit codes: 0 success" in text
