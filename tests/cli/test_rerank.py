"""headway rerank and headway classify as people type them."""

from __future__ import annotations

import json
import re

import pytest

from headway.language_model import load
from tests.cli.command import headway
from tests.small_encoders import save_bert

QUERY, LINES = "france", ["paris is the capital", "play ##ing", "( a capital of france )", "the the the"]
FIGURES = re.compile(r"4 texts: [\d.]+ s, [\d,]+ texts/s\n")


@pytest.fixture(scope="module")
def reranker(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(save_bert(tmp_path_factory.mktemp("reranker"), "BertForSequenceClassification", num_labels=1))


@pytest.fixture(scope="module")
def classifier(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(save_bert(tmp_path_factory.mktemp("classifier"), "BertForSequenceClassification", num_labels=3))


def test_rerank_prints_score_line_and_text_of_arguments_a_file_and_stdin(reranker, tmp_path):
    (tmp_path / "lines.txt").write_text("\n".join(LINES) + "\n")
    expected = [f"{each.score:.4f}\t{each.index + 1}\t{each.text}" for each in load(reranker).rerank(QUERY, LINES)]
    for arguments, stdin in ((LINES, ""), (["-f", str(tmp_path / "lines.txt")], ""), ([], "\n".join(LINES))):
        result = headway("rerank", "--model", reranker, QUERY, *arguments, stdin=stdin)
        assert (result.returncode, result.stdout.splitlines()) == (0, expected), result.stderr
        assert FIGURES.fullmatch(result.stderr)


def test_rerank_as_json_has_the_best_texts_and_figures(reranker):
    result = json.loads(headway("rerank", "--model", reranker, "--json", "--top", "2", QUERY, *LINES).stdout)
    expected = load(reranker).rerank(QUERY, LINES, top_k=2)
    assert [(each["line"], each["text"]) for each in result["ranked"]] == [(each.index + 1, each.text) for each in expected]
    assert [each["score"] for each in result["ranked"]] == pytest.approx([each.score for each in expected], abs=1e-6)
    assert (result["query"], result["num_texts"]) == (QUERY, 4)


def test_classify_prints_labels_and_scores(classifier):
    result = headway("classify", "--model", classifier, "--top", "2", *LINES)
    expected = ["\t".join(f"{each.name}\t{each.score:.4f}" for each in row) for row in load(classifier).classify(LINES, top_k=2)]
    assert (result.returncode, result.stdout.splitlines()) == (0, expected), result.stderr
    assert FIGURES.fullmatch(result.stderr)


def test_classify_as_json_has_the_labels(classifier):
    rows = json.loads(headway("classify", "--model", classifier, "--json", *LINES).stdout)["labels"]
    assert [[each["label"] for each in row] for row in rows] == [
        [each.name for each in row] for row in load(classifier).classify(LINES, top_k=1)
    ]


def test_truncated_texts_are_reported(reranker):
    result = headway("rerank", "--model", reranker, QUERY, "the", "of " * 30)
    assert "1 text longer than 14 tokens, truncated at the end; the first is number 2" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["rerank", " ", "text"], "got an empty query"),
        (["rerank", "query", "text", "--top", "0"], "got --top 0, expected at least 1"),
        (["rerank", "query", "text", "--file", "lines.txt"], "texts and --file cannot be combined"),
        (["classify", "text", "--batch-size", "0"], "got --batch-size 0, expected at least 1"),
        (["classify"], "got stdin without a line"),
    ],
)
def test_wrong_options_are_named(arguments, message):
    result = headway(*arguments)
    assert result.returncode == 2
    assert message in result.stderr
