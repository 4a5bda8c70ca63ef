from __future__ import annotations

import pytest

import headway
from headway.cli.serve_models import named_models
from headway.errors import OptionError
from tests.server.conftest import running


@pytest.fixture(scope="module")
def both(stories):
    """A server with the embedded model under two names, the second one on the definitions."""
    from headway.server.served_model import ServedModel

    with (
        headway.load("stories", weights="none") as reference,
        running(ServedModel("fast", stories), ServedModel("slow", reference)) as server,
    ):
        yield server


def test_each_request_gets_the_model_that_it_names(both, stories):
    with both.client() as client:
        assert [each["id"] for each in client.get("/v1/models").json()["data"]] == ["fast", "slow"]
        for name in ("fast", "slow", None):
            body = {"model": name, "prompt": "Once upon", "max_tokens": 5, "temperature": 0}
            answer = client.post("/v1/completions", json=body).json()
            assert answer["model"] == (name or "fast")
            assert answer["choices"][0]["text"] == stories.generate("Once upon", max_new_tokens=5, temperature=0).text
        unknown = client.post("/v1/completions", json={"model": "other", "prompt": "Once"})
        assert (unknown.status_code, unknown.json()["error"]["code"]) == (404, "model_not_found")


def test_the_metrics_count_each_engine(both):
    with both.client() as client:
        for name in ("fast", "slow"):
            client.post("/v1/completions", json={"model": name, "prompt": "Once upon", "max_tokens": 2})
        text = client.get("/metrics").text
    for slot in both.service.models:
        num_rows = slot.served.model.engine.stats.num_rows
        assert num_rows
        assert f'headway:iteration_tokens_total{{engine="0",model_name="{slot.name}"}} {float(num_rows)}' in text


def test_models_have_the_names_that_they_are_given(tmp_path):
    folder = tmp_path / "a=b"
    folder.mkdir()
    assert named_models(["stories"], None) == {"stories": "stories"}
    assert named_models(["stories"], "own") == {"own": "stories"}
    assert named_models(["one=stories", "org/name", str(folder)], None) == {"one": "stories", "org/name": "org/name", "a=b": str(folder)}


@pytest.mark.parametrize(
    ("given", "name", "message"),
    [(["a", "b"], "own", "several|2 models"), (["a=x", "a=y"], None, "two models"), (["=x"], None, "NAME=FOLDER"), (["a="], None, "NAME")],
)
def test_names_that_are_not_clear_are_refused(given, name, message):
    with pytest.raises(OptionError, match=message):
        named_models(given, name)
