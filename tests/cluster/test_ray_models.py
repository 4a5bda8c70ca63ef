"""Several models on a cluster of one node: a deployment each, their figures, vectors, ranks and errors. `make cluster` runs it."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from importlib.util import find_spec

import httpx
import pytest

import headway
from headway.errors import OptionError
from headway.language_model import load_without_kernels
from headway.server.run import Address
from headway.server.settings import Settings
from tests.checkpoints.test_lora import write_adapter
from tests.conftest import ROOT

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore"),
    pytest.mark.skipif(find_spec("ray") is None, reason="needs the extra ray"),
    pytest.mark.skipif("HEADWAY_CLUSTER" not in os.environ, reason="takes minutes; `make cluster` runs it"),
]

QUERY, TEXTS = "where is paris", ["paris is in france", "dogs bark", "the capital"]


@pytest.fixture(scope="module")
def reranker(tmp_path_factory) -> str:
    """The folder of a model that ranks texts."""
    from tests.language_model.test_classifier import save_classifier

    return str(save_classifier(tmp_path_factory.mktemp("reranker"), 1))


@pytest.fixture(scope="module")
def adapter(tmp_path_factory) -> str:
    """The folder of an adapter of the embedded model."""
    modules = {f"transformer.h.{layer}.attn.c_attn": (768, 256) for layer in range(4)}
    return str(write_adapter(tmp_path_factory.mktemp("adapter"), modules, 2))


@pytest.fixture(scope="module")
def client(reranker, adapter) -> Iterator[httpx.Client]:
    """A client of an application with two replicas of a model with an adapter, one of another, and a reranker."""
    from headway.cluster.deployment import ModelDeployment
    from headway.cluster.run import connect, start

    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]

    def deployment(name: str, source: str, num_replicas: int = 1, **adapters: str) -> ModelDeployment:
        load = partial(headway.load, source, num_threads=1, adapters=adapters)
        light = partial(load_without_kernels, source)
        return ModelDeployment(name, load, light, num_replicas=num_replicas, num_cpus=0.1, adapters=tuple(adapters))

    connect(None)
    try:
        models = [deployment("first", "stories", 2, polite=adapter), deployment("second", "stories"), deployment("ranks", reranker)]
        start(models, Settings(), Address(port=port))
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=600) as client:
            yield client
    finally:
        import ray
        from ray import serve

        serve.shutdown()
        ray.shutdown()


def test_each_model_is_a_deployment_that_answers_to_its_name(client):
    from ray import serve

    assert [each["id"] for each in client.get("/v1/models").json()["data"]] == ["first", "polite", "second", "ranks"]
    handles = {name: serve.get_deployment_handle(f"model-{name}", "headway") for name in ("first", "second", "ranks")}
    ids = {name: {handle.process_id.remote(str(key)).result(timeout_s=600) for key in range(20)} for name, handle in handles.items()}
    assert [len(each) for each in ids.values()] == [2, 1, 1]
    assert len(set.union(*ids.values())) == 4
    with headway.load("stories", num_threads=1) as model:
        text = model.generate("The fox", max_new_tokens=5, temperature=0).text
    for name in ("first", "second", None):
        answer = client.post("/v1/completions", json={"model": name, "prompt": "The fox", "max_tokens": 5, "temperature": 0}).json()
        assert (answer["model"], answer["choices"][0]["text"]) == (name or "first", text)
    assert client.post("/v1/completions", json={"model": "other", "prompt": "The fox"}).status_code == 404


def test_an_adapter_is_a_model_of_its_own(client, adapter):
    with headway.load("stories", num_threads=1, adapters={"polite": adapter}) as model:
        text = model.generate("The fox", adapter="polite", max_new_tokens=8, temperature=0).text
        assert text != model.generate("The fox", max_new_tokens=8, temperature=0).text
    body = {"model": "polite", "prompt": "The fox", "max_tokens": 8, "temperature": 0}
    answer = client.post("/v1/completions", json=body).json()
    assert (answer["model"], answer["choices"][0]["text"]) == ("polite", text)
    assert client.get("/v1/models/polite").json()["parent"] == "first"
    for path, more in (("/v1/embeddings", {"input": "Once"}), ("/v1/rerank", {"query": QUERY, "documents": TEXTS})):
        refused = client.post(path, json={"model": "polite", **more})
        assert refused.status_code == 400
        assert "an adapter" in refused.json()["error"]["message"]


def figures(client, name: str) -> dict[tuple[str, str], float]:
    """The figures of a metric by the model and the replica."""
    found = re.findall(rf'^headway:{name}{{engine="(\w+)",model_name="(\w+)"}} (\S+)$', client.get("/metrics").text, re.MULTILINE)
    return {(model, replica): float(value) for replica, model, value in found}


def test_the_metrics_have_the_figures_of_every_replica(client):
    before = figures(client, "iteration_tokens_total")
    assert sorted(model for model, _ in before) == ["first", "first", "ranks", "second"]
    body = {"prompt": "A fox and a hen", "max_tokens": 30, "ignore_eos": True}
    for name in ("first", "second"):
        client.post("/v1/completions", json={"model": name, **body})
    after = figures(client, "iteration_tokens_total")
    num_rows = {key: after[key] - before[key] for key in after}
    for name in ("first", "second"):
        assert sum(rows for (model, _), rows in num_rows.items() if model == name) >= 30
    assert sum(rows > 0 for rows in num_rows.values()) == 2  # a request runs on one replica


def test_errors_of_vectors_are_those_of_one_process(client):
    with headway.load("stories", num_threads=1) as model:
        long = "fox " * (model.config.max_seq_len + 1)
        vector = model.embed(["A fox."])[0].tolist()
    refused = client.post("/v1/embeddings", json={"input": ["A fox.", long]})
    assert (refused.status_code, refused.json()["error"]["code"]) == (400, "context_length_exceeded")
    assert refused.json()["error"]["message"].startswith("got input 1 of")
    assert client.post("/v1/embeddings", json={"input": [[10**6]]}).status_code == 400
    assert client.post("/v1/embeddings", json={"model": "second", "input": "A fox."}).json()["data"][0]["embedding"] == vector


def test_ranks_and_their_errors_are_those_of_one_process(client, reranker):
    with headway.load(reranker) as model:
        expected = [(each.index, each.score) for each in model.rerank(QUERY, TEXTS)]
        limit = model.classifier.max_seq_len
    answer = client.post("/v1/rerank", json={"model": "ranks", "query": QUERY, "documents": TEXTS}).json()
    assert [(each["index"], each["relevance_score"]) for each in answer["results"]] == expected
    long = {"model": "ranks", "query": QUERY, "documents": ["paris " * (limit + 1)]}
    refused = client.post("/v1/rerank", json=long)
    assert (refused.status_code, refused.json()["error"]["code"]) == (400, "context_length_exceeded")
    assert client.post("/v1/rerank", json={**long, "truncate": True}).status_code == 200
    wrong = client.post("/v1/rerank", json={"model": "first", "query": QUERY, "documents": TEXTS})
    assert (wrong.status_code, wrong.json()["error"]["param"]) == (400, "model")


def test_a_port_of_another_program_is_refused():
    from headway.cluster.run import run

    with socket.create_server(("127.0.0.1", 0), reuse_port=True) as taken, pytest.raises(OptionError, match="expected a free address"):
        run([], Settings(), Address(port=taken.getsockname()[1]))


def test_port_0_is_refused_on_a_cluster_of_others():
    from headway.cluster.run import run

    with pytest.raises(OptionError, match="got --port 0 with --address"):
        run([], Settings(), Address(port=0), cluster="auto")


@contextlib.contextmanager
def command(*flags: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Run `headway serve --ray` with flags; the process and its URL."""
    arguments = [sys.executable, "-m", "headway", "serve", "--ray", "--threads", "1", *flags]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    with subprocess.Popen(arguments, stderr=subprocess.PIPE, text=True, env=environment, cwd=ROOT) as process:
        try:
            yield process, next(found[1] for line in process.stderr if (found := re.search(r"serving stories at ([^\s,]+)", line)))
        finally:
            process.kill()


LONG = {"prompt": ["The fox"] * 4, "max_tokens": 500, "ignore_eos": True, "stream": True, "n": 8}


def test_new_requests_get_503_after_sigterm_and_long_ones_end_with_an_error():
    with command("--port", "0", "--drain", "3", "--timeout", "inf", "--ingresses", "2") as (process, url):
        assert not url.endswith(":0")
        with httpx.Client(base_url=url, timeout=600) as client, client.stream("POST", "/v1/completions", json=LONG) as answer:
            lines = answer.iter_lines()
            next(lines)
            process.send_signal(signal.SIGTERM)
            codes = []
            while 503 not in codes:  # the signal arrives at some time; both ingresses know it soon after
                with httpx.Client(base_url=url, timeout=600) as other:
                    codes.append(other.post("/v1/completions", json={"prompt": "Once", "max_tokens": 1}).status_code)
            events = [line for line in lines if line]
            assert process.wait(60) == 0  # Ray's own limits are longer
    assert set(codes) <= {200, 503}
    assert json.loads(events[-2][6:])["error"]["code"] == "shutting_down"
    assert events[-1] == "data: [DONE]"


def test_a_second_signal_does_not_wait():
    with (
        command("--port", "0", "--drain", "600") as (process, url),
        httpx.Client(base_url=url, timeout=600) as client,
        httpx.Client(base_url=url, timeout=600) as other,
        client.stream("POST", "/v1/completions", json=LONG) as answer,
    ):
        next(answer.iter_lines())
        process.send_signal(signal.SIGTERM)
        while other.get("/ready").status_code == 200:
            pass
        process.send_signal(signal.SIGTERM)
        assert process.wait(100) == 0


def test_the_command_finishes_its_requests_at_sigterm():
    with command("--port", "0") as (process, url):
        body = {**LONG, "prompt": "The fox"}
        with httpx.Client(base_url=url, timeout=600) as client, client.stream("POST", "/v1/completions", json=body) as answer:
            lines = answer.iter_lines()
            next(lines)
            process.send_signal(signal.SIGTERM)
            events = [line for line in lines if line]
        assert events[-1] == "data: [DONE]"
        ended = [choice["index"] for event in events[:-1] for choice in json.loads(event[6:])["choices"] if choice["finish_reason"]]
        assert sorted(ended) == list(range(8))
        assert process.wait(600) == 0
