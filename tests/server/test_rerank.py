"""POST /v1/rerank, against the model's own ranking."""

from __future__ import annotations

import pytest

from headway.language_model import load
from headway.server.served_model import ServedModel
from tests.language_model.test_classifier import QUERY, save_classifier
from tests.language_model.test_classifier import TEXTS as ALL
from tests.server.conftest import running

TEXTS = [text for text in ALL if len(text.split()) < 12]
"""Without the one that is too long for the model."""


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    with load(save_classifier(tmp_path_factory.mktemp("reranker"), 1)) as model:
        yield model


@pytest.fixture
def ranking(model):
    with running(ServedModel("reranker", model)) as server, server.client() as client:
        yield lambda **body: client.post("/v1/rerank", json={"query": QUERY, **body})


def test_documents_are_ranked_as_by_the_model(ranking, model):
    body = ranking(documents=TEXTS, top_n=3, return_documents=True).json()
    expected = model.rerank(QUERY, TEXTS, top_k=3)
    assert [(each["index"], each["relevance_score"], each["document"]["text"]) for each in body["results"]] == [
        (each.index, each.score, each.text) for each in expected
    ]
    assert body["usage"]["prompt_tokens"] == sum(len(model.tokenizer.encode_pair(QUERY, text).token_ids) for text in TEXTS)


def test_texts_have_a_list_as_their_answer_and_documents_may_be_objects(ranking):
    results = ranking(documents=[{"text": text} for text in TEXTS]).json()["results"]
    assert ranking(texts=TEXTS).json() == [{"index": each["index"], "score": each["relevance_score"]} for each in results]
    assert "document" not in results[0]


@pytest.mark.parametrize(
    "wrong", [{}, {"documents": []}, {"documents": [1]}, {"documents": ["a"], "texts": ["a"]}, {"texts": ["a"], "top_n": 0}]
)
def test_wrong_documents_are_refused(ranking, wrong):
    assert ranking(**wrong).status_code == 400


def test_a_document_that_would_be_cut_is_refused_unless_truncate_is_set(ranking, model):
    long = ["paris " * (model.classifier.max_seq_len + 1)]
    refused = ranking(documents=long)
    assert (refused.status_code, refused.json()["error"]["code"]) == (400, "context_length_exceeded")
    (result,) = ranking(documents=long, truncate=True).json()["results"]
    assert result["relevance_score"] == model.rerank(QUERY, long)[0].score


def test_a_model_that_does_not_rerank_is_named(client):
    response = client.post("/v1/rerank", json={"query": QUERY, "documents": TEXTS})
    assert (response.status_code, response.json()["error"]["param"]) == (400, "model")
