"""LoRA adapters by name, next to their model."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import pytest

import headway
from headway.cli.load_flags import LoadFlags
from headway.cli.serve_models import OnDemand, models_of, sources_of
from headway.errors import CheckpointError, OptionError
from headway.server.settings import Settings
from tests.checkpoints.test_lora import QUERY, write_adapter
from tests.server.conftest import running

PROMPT = "Once upon a time there was a little fox who lived in a wood with a hen and a cow. " * 8
BODY = {"prompt": PROMPT, "max_tokens": 12, "temperature": 0}
NAMES = ("base", "polite", "rude")


@pytest.fixture(scope="module")
def folders(tmp_path_factory) -> dict[str, str]:
    """Folders of two adapters of the embedded model, in the layout of PEFT for GPT-2."""
    modules = {f"transformer.h.{layer}.attn.c_attn": (768, 256) for layer in range(4)}
    return {name: str(write_adapter(tmp_path_factory.mktemp(name), modules, rank)) for rank, name in enumerate(NAMES[1:], 2)}


@pytest.fixture(scope="module")
def server(folders):
    """A server of the embedded model with both adapters."""
    with ExitStack() as stack:
        flags = [f"{name}={folder}" for name, folder in folders.items()]
        models = models_of(sources_of(["base=stories"], None, None, flags), LoadFlags(), None, stack)
        yield stack.enter_context(running(*models, settings=Settings(has_look=True)))


def test_adapters_are_listed_with_their_model(server):
    with server.client() as client:
        listed = client.get("/v1/models").json()["data"]
        assert {each["id"]: each["parent"] for each in listed} == {"base": None, "polite": "base", "rude": "base"}
        assert client.get("/v1/models/rude").json()["parent"] == "base"
        unknown = client.post("/v1/completions", json={**BODY, "model": "other"})
        assert (unknown.status_code, unknown.json()["error"]["code"]) == (404, "model_not_found")


def test_requests_of_one_engine_get_the_adapters_that_they_name(server, stories, folders):
    with headway.load("stories", adapters=folders) as model:
        expected = {
            name: model.generate(PROMPT, adapter=folders.get(name) and name, max_new_tokens=12, temperature=0).text for name in NAMES
        }
    assert len(set(expected.values())) == 3
    assert expected["base"] == stories.generate(PROMPT, max_new_tokens=12, temperature=0).text

    def ask(name: str) -> tuple[str, str, str]:
        with server.client() as client:
            answer = client.post("/v1/completions", json={**BODY, "model": name}).json()
            return name, answer["model"], answer["choices"][0]["text"]

    with ThreadPoolExecutor(9) as threads:
        for asked, named, text in threads.map(ask, NAMES * 6):
            assert (named, text) == (asked, expected[asked])


def test_adapters_share_no_prefix(server):
    with server.client() as client:
        for name in NAMES:
            body = {**BODY, "prompt": "Another story. " + PROMPT, "model": name}
            cached = [client.post("/v1/completions", json=body).json()["usage"]["prompt_tokens_details"]["cached_tokens"] for _ in range(2)]
            assert cached[0] < 16 < cached[1]


def test_streams_name_the_adapter(server):
    with server.client() as client:
        text = client.post("/v1/completions", json={**BODY, "model": "rude", "stream": True}).text
    assert '"model":"rude"' in text
    assert '"model":"base"' not in text


def test_ranks_of_an_adapter_are_refused(server):
    with server.client() as client:
        refused = client.post("/v1/rerank", json={"model": "polite", "query": "Once", "documents": ["a"]})
    assert (refused.status_code, refused.json()["error"]["param"]) == (400, "model")
    assert "an adapter" in refused.json()["error"]["message"]


@pytest.mark.parametrize(("path", "body"), [("/v1/embeddings", {"input": "Once"}), ("/look/trace", {"prompt": "Once"})])
def test_what_an_adapter_would_not_change_is_refused(server, path, body):
    with server.client() as client:
        assert client.post(path, json={**body, "model": "base"}).status_code == 200
        refused = client.post(path, json={**body, "model": "polite"})
        assert refused.status_code == 400
        assert "an adapter" in refused.json()["error"]["message"]


def test_adapters_count_as_memory_of_their_model(folders):
    from headway.language_model.memory import estimate_bytes, weight_bytes

    with headway.load("stories", adapters=folders) as model, headway.load("stories") as alone:
        size = weight_bytes(model) - weight_bytes(alone)
        assert size == sum(4 * 4 * rank * (768 + 256) for rank in (2, 3))
    assert estimate_bytes("stories", adapters=folders.values()) - estimate_bytes("stories") == size


def test_an_adapter_is_loaded_with_its_model_on_demand(folders, stories):
    flags = [f"polite={folders['polite']}"]
    with ExitStack() as stack:
        models = models_of(sources_of(["a=stories", "b=stories"], None, None, flags), LoadFlags(), OnDemand(48 << 20), stack)
        with running(*models, settings=Settings(model_bytes=28 << 20)) as server, server.client() as client:
            answers = [client.post("/v1/completions", json={**BODY, "model": name}).json() for name in ("polite", "b", "polite")]
            listed = {each["id"]: each["status"]["value"] for each in client.get("/v1/models").json()["data"]}
    assert answers[0]["choices"] == answers[2]["choices"] != answers[1]["choices"]
    assert listed == {"a": "loaded", "polite": "loaded", "b": "unloaded"}


@pytest.mark.parametrize("wrong", [["polite"], ["=folder"], ["polite="], ["a=x", "a=y"], ["base=x"]])
def test_names_that_are_not_clear_are_refused(wrong):
    with pytest.raises(OptionError, match="--lora-modules|twice"):
        sources_of(["base=stories"], None, None, wrong)


def test_an_adapter_of_another_model_is_refused_at_the_start(tmp_path):
    folder = write_adapter(tmp_path / "wrong", {QUERY: (3, 3)})
    with ExitStack() as stack, pytest.raises(CheckpointError):
        models_of(sources_of(["stories"], None, None, [f"wrong={folder}"]), LoadFlags(), None, stack)
