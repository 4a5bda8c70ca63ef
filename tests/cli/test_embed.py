"""headway embed as people type it."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import numpy
import pytest

from headway.language_model import load
from tests.checkpoints.test_sentence_transformers import OLD, changed, write
from tests.cli import command
from tests.small_encoders import save_bert

LINES = ["paris is the capital", "play ##ing", "( a capital of france )", "the the the"]


def headway(*arguments: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    return command.headway("embed", *arguments, stdin=stdin)


def vectors_of(result: subprocess.CompletedProcess[str]) -> numpy.ndarray:
    assert result.returncode == 0, result.stderr
    return numpy.array([json.loads(line) for line in result.stdout.splitlines()], numpy.float32)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A small BERT in a folder of sentence-transformers, with a prompt for queries."""
    folder = save_bert(tmp_path_factory.mktemp("model"))
    files = changed(OLD, "config_sentence_transformers.json", prompts={"query": "find : ", "document": "( "}, similarity_fn_name="cosine")
    write(folder, changed(files, "1_Pooling/config.json", include_prompt=True))
    return str(folder)


@pytest.fixture
def lines(tmp_path: Path) -> str:
    (tmp_path / "lines.txt").write_text("\n".join(LINES) + "\n")
    return str(tmp_path / "lines.txt")


def test_texts_a_file_and_stdin_print_the_vectors_of_python_a_line_each(folder, lines):
    expected = load(folder).embedder.embed(LINES)
    for result in (headway("--model", folder, *LINES), headway("-m", folder, "-f", lines), headway("-m", folder, stdin="\n".join(LINES))):
        assert vectors_of(result).tolist() == expected.tolist()
        assert re.fullmatch(r"4 texts, 12 dimensions: [\d.]+ s, [\d,]+ texts/s\n", result.stderr)


def test_json_is_one_object_with_vectors_and_figures(folder):
    answer = json.loads(headway("--model", folder, "--json", "paris", "play").stdout)
    assert answer["vectors"] == [
        [pytest.approx(number, abs=1e-7) for number in row] for row in load(folder).embedder.embed(["paris", "play"])
    ]
    assert (answer["model"], answer["num_texts"], answer["hidden_size"]) == (folder, 2, 12)
    assert answer["seconds"] > 0


def test_out_writes_the_vectors_as_one_file_and_prints_none(folder, lines, tmp_path):
    result = headway("--model", folder, "--file", lines, "--out", str(tmp_path / "made" / "vectors.npy"))
    assert (result.returncode, result.stdout) == (0, "")
    came = numpy.load(tmp_path / "made" / "vectors.npy")
    assert came.dtype == numpy.float32
    assert came.tolist() == load(folder).embedder.embed(LINES).tolist()
    assert [path.name for path in (tmp_path / "made").iterdir()] == ["vectors.npy"]
    answer = json.loads(headway("--model", folder, "--file", lines, "--out", str(tmp_path / "again.npy"), "--json").stdout)
    assert answer["out"] == str(tmp_path / "again.npy")
    assert "vectors" not in answer


def test_similar_prints_score_line_and_text_the_nearest_first(folder, lines):
    embedder = load(folder).embedder
    (query,), documents = embedder.embed(["france"], prompt="query"), embedder.embed(LINES, prompt="document")
    scores = embedder.similarity(query, documents)
    order = sorted(range(4), key=lambda index: -scores[index])
    result = headway("--model", folder, "--file", lines, "--similar", "france", "--top", "3")
    assert result.returncode == 0, result.stderr
    assert result.stdout.splitlines() == [f"{scores[index]:.4f}\t{index + 1}\t{LINES[index]}" for index in order[:3]]
    answer = json.loads(headway("--model", folder, "--similar", "france", "--json", *LINES).stdout)
    assert answer["similar"] == "france"
    assert [(each["line"], each["text"]) for each in answer["nearest"]] == [(index + 1, LINES[index]) for index in order]
    assert [each["score"] for each in answer["nearest"]] == pytest.approx(sorted(scores.tolist(), reverse=True), abs=1e-6)


def test_normalize_and_prompt_are_those_of_python(folder):
    embedder = load(folder).embedder
    loose = vectors_of(headway("--model", folder, "--no-normalize", *LINES))
    assert loose.tolist() == embedder.embed(LINES, is_normalized=False).tolist()
    assert abs(numpy.linalg.norm(loose, axis=1) - 1).min() > 0.01
    assert vectors_of(headway("--model", folder, "--prompt", "query", *LINES)).tolist() == embedder.embed(LINES, prompt="query").tolist()


def test_another_array_library_and_batch_size_print_nearly_the_same(folder):
    for options, weights in ((("--array", "torch"), "none"), (("--batch-size", "1"), "auto"), (("--weights", "none"), "none")):
        expected = load(folder, weights=weights).embedder.embed(LINES)
        numpy.testing.assert_allclose(vectors_of(headway("--model", folder, *options, *LINES)), expected, atol=1e-5)


def test_a_model_that_does_not_say_how_to_pool_is_pooled_by_the_mean_and_that_is_said():
    result = headway("Once upon a time", "The end")
    assert vectors_of(result).shape == (2, 256)
    assert result.stderr.startswith("stories names no pooling: using the mean over a text's tokens, normalized to length 1\n")


def test_a_text_that_is_cut_is_told_on_stderr(folder):
    result = headway("--model", folder, "paris", "the " * 40)
    assert "1 text longer than 14 tokens, truncated at the end; the first is number 2\n" in result.stderr
    assert len(vectors_of(result)) == 2
    assert "longer than" not in headway("--model", folder, "paris").stderr


def test_windows_line_ends_and_a_byte_order_mark_are_no_text(folder, tmp_path):
    (tmp_path / "lines.txt").write_bytes(b"\xef\xbb\xbfparis\r\nplay\r\n")
    came = vectors_of(headway("--model", folder, "--file", str(tmp_path / "lines.txt")))
    assert came.tolist() == load(folder).embedder.embed(["paris", "play"]).tolist()


@pytest.mark.parametrize(
    ("arguments", "stdin", "message"),
    [
        ((), "", "got stdin without a line, expected at least one text"),
        ((), "one\n\nthree\n", "got stdin with an empty line 2, expected a text on every line"),
        ((), "one\n \t\n", "an empty line 2"),
        (("text", "--file", "lines.txt"), "", "texts and --file cannot be combined"),
        (("--file", "./nowhere.txt"), "", "got --file nowhere.txt, expected a readable file (No such file or directory)"),
        (("--file", "."), "", "expected a readable file (Is a directory)"),
        (("text", ""), "", "got text 1, '', without a token to pool"),
        (("text", "--top", "0"), "", "got --top 0, expected at least 1"),
        (("text", "--batch-size", "0"), "", "got --batch-size 0, expected at least 1"),
        (("text", "--similar", " "), "", "got an empty --similar, expected a text"),
        (("text", "--similar", "a", "--out", "v.npy"), "", "--similar and --out cannot be combined"),
        (("text", "--similar", "a", "--prompt", "query"), "", "--similar and --prompt cannot be combined"),
        (("text", "--out", "vectors.json"), "", "got --out vectors.json, expected a name that ends in .npy"),
        (("text", "--prompt", "query"), "", "got prompt='query', expected no prompt"),
        (("text", "--model", "./nowhere"), "", "got './nowhere', which is neither a folder nor a file"),
        (("text", "--dtype", "int3"), "", "got dtype 'int3'"),
    ],
)
def test_bad_input_is_one_sentence_on_stderr_and_exit_code_2(arguments, stdin, message):
    result = headway(*arguments, stdin=stdin)
    assert (result.returncode, result.stdout) == (2, "")
    assert message in result.stderr
    assert "Traceback" not in result.stderr


def test_a_file_that_is_no_utf8_is_named(tmp_path):
    (tmp_path / "lines.txt").write_bytes(b"one\n\xff\xfe\n")
    result = headway("--file", str(tmp_path / "lines.txt"))
    assert result.returncode == 2
    assert "lines.txt that is not UTF-8" in result.stderr


def test_vectors_that_cannot_be_written_leave_what_was_there(folder, tmp_path):
    target = tmp_path / "vectors.npy"
    target.mkdir()
    result = headway("--model", folder, "--out", str(target), "paris")
    assert result.returncode == 2
    assert "Traceback" not in result.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["vectors.npy"]


def test_help_begins_with_three_examples_and_names_the_exit_codes():
    text = headway("--help").stdout
    assert len(re.findall(r"^ +headway embed", text, re.MULTILINE)) == 3
    assert "Exit codes: 0 success, 2 invalid input" in text
