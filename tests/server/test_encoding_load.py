"""Vectors, ranks and traces under load: admission, deadlines, disconnects, metrics; and grammars that take long to compile."""

from __future__ import annotations

import socket
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import httpx
import pytest

from benchmarks.http_client import request_bytes
from headway.language_model import grammar, load
from headway.language_model.classifier import Classifier
from headway.language_model.embedding import Embedder
from headway.look import models
from headway.server import service
from headway.server.served_model import ServedModel
from headway.server.settings import Settings
from tests.language_model.test_classifier import save_classifier
from tests.server.conftest import eventually, running

TEXTS = [f"Once upon a time, {number}" for number in range(70)]
"""Three batches."""


class Gate:
    """Holds the first call of a method until it is opened."""

    def __init__(self, monkeypatch, owner, name):
        self.entered, self.opened, self.num_calls = threading.Event(), threading.Event(), 0
        method = getattr(owner, name)

        def held(*arguments, **options):
            self.num_calls += 1
            self.entered.set()
            assert self.opened.wait(600)
            return method(*arguments, **options)

        monkeypatch.setattr(owner, name, held)


@pytest.fixture(params=["embeddings", "rerank"])
def encoding(request, stories, tmp_path, monkeypatch):
    """A server with room for one request, the path and body of one with three batches, and the gate of its batches."""
    if request.param == "embeddings":
        gate, body = Gate(monkeypatch, Embedder, "_batch"), {"input": TEXTS}
        with running(ServedModel("stories", stories), settings=Settings(max_waiting=1)) as server:
            yield server, "/v1/embeddings", body, gate
    else:
        gate, body = Gate(monkeypatch, Classifier, "_batch"), {"query": "paris", "documents": ["a", "paris"] * 35}
        with load(save_classifier(tmp_path, 1)) as model, running(ServedModel("r", model), settings=Settings(max_waiting=1)) as server:
            yield server, "/v1/rerank", body, gate


def figures(client):
    lines = [line for line in client.get("/metrics").text.splitlines() if not line.startswith("#")]
    return {name: float(value) for name, value in (line.rsplit(" ", 1) for line in lines)}


def test_a_second_request_is_refused_while_one_waits_and_the_first_is_in_the_metrics(encoding):
    server, path, body, gate = encoding
    with server.client() as client, ThreadPoolExecutor(1) as other:
        first = other.submit(lambda: client.post(path, json=body))
        assert gate.entered.wait(600)
        assert figures(client)["headway:num_requests_waiting"] == 1
        refused = client.post(path, json=body)
        gate.opened.set()
        assert (refused.status_code, "retry-after" in refused.headers, first.result().status_code) == (429, True, 200)
        found = figures(client)
        assert found["headway:num_requests_waiting"] == 0
        assert found["headway:prompt_tokens_total"] == first.result().json()["usage"]["prompt_tokens"]
        assert found['headway:request_success_total{finished_reason="stop"}'] == 1
        assert gate.num_calls == 3


def test_a_client_that_leaves_ends_the_work_after_the_batch(encoding):
    server, path, body, gate = encoding
    port = int(server.url.rsplit(":", 1)[1])
    with server.client() as client:
        with socket.create_connection(("127.0.0.1", port)) as connection:
            connection.sendall(request_bytes(body, path))
            assert gate.entered.wait(600)
        assert eventually(lambda: figures(client).get('headway:request_success_total{finished_reason="abort"}') == 1)
        gate.opened.set()
        # The thread is free again once the next request has its answer.
        assert client.post(path, json={**body, **({"input": "a"} if "input" in body else {"documents": ["a"]})}).status_code == 200
    assert gate.num_calls == 2


def body(pattern: str) -> dict:
    """A request with a grammar of its own: the model keeps those that are compiled."""
    return {"prompt": "a", "regex": pattern + "{1,9}", "max_tokens": 2}


def test_a_grammar_that_takes_long_is_refused_and_holds_up_no_other_request(serve, monkeypatch):
    pytest.importorskip("llguidance", reason="llguidance is not installed")
    gate = Gate(monkeypatch, grammar, "compile_grammar")
    monkeypatch.setattr(service, "COMPILE_SECONDS", 0.01)
    with serve().client() as client:
        answer = client.post("/v1/completions", json=body("long"))
        assert (answer.status_code, answer.json()["error"]["code"]) == (400, "grammar_too_slow")
        assert client.post("/v1/completions", json={"prompt": "a", "max_tokens": 2}).status_code == 200
        gate.opened.set()


def test_a_grammar_behind_a_slow_one_may_be_sent_again(serve, monkeypatch):
    pytest.importorskip("llguidance", reason="llguidance is not installed")
    gate = Gate(monkeypatch, grammar, "compile_grammar")
    with serve().client() as client, ThreadPoolExecutor(1) as threads:
        slow = threads.submit(client.post, "/v1/completions", json=body("slow"))
        assert gate.entered.wait(600)
        assert figures(client)["headway:num_requests_waiting"] == 1
        monkeypatch.setattr(service, "COMPILE_SECONDS", 0.01)
        refused = client.post("/v1/completions", json=body("other"))
        gate.opened.set()
        assert (refused.status_code, refused.headers["Retry-After"], slow.result().status_code) == (429, "1", 200)
        monkeypatch.undo()
        assert client.post("/v1/completions", json=body("other")).status_code == 200
        assert figures(client)["headway:num_requests_waiting"] == 0


def test_the_time_of_a_grammar_is_part_of_the_deadline(serve, monkeypatch):
    pytest.importorskip("llguidance", reason="llguidance is not installed")
    gate = Gate(monkeypatch, grammar, "compile_grammar")
    with serve(timeout_seconds=0.1).client() as client:
        assert client.post("/v1/completions", json=body("late")).status_code == 504
        gate.opened.set()


def test_prompts_share_a_compiled_grammar(serve, monkeypatch):
    pytest.importorskip("llguidance", reason="llguidance is not installed")
    gate = Gate(monkeypatch, grammar, "compile_grammar")
    gate.opened.set()
    with serve().client() as client:
        for _ in range(2):
            body = {"prompt": ["a", "b", "c"], "regex": "(yes|no){2}", "max_tokens": 8}
            assert client.post("/v1/completions", json=body).status_code == 200
    assert gate.num_calls == 1


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/completions", {"prompt": "Once"}),
        ("/v1/chat/completions", {"messages": [{"role": "user", "content": "Hi"}]}),
        ("/completion", {"prompt": "Once"}),
        ("/v1/messages", {"messages": [{"role": "user", "content": "Hi"}], "max_tokens": 2}),
        ("/v1/responses", {"input": "Hi"}),
    ],
)
def test_a_request_counts_as_waiting_while_its_prompt_is_read(serve, monkeypatch, path, body):
    gate, server = Gate(monkeypatch, ServedModel, "prepare"), serve(max_waiting=1)
    with server.client() as client, ThreadPoolExecutor(1) as other:
        first, refused = other.submit(client.post, path, json=body), 0
        assert gate.entered.wait(600)
        num_open = server.service.num_open
        # One that is accepted, too, gets no answer before the gate is opened.
        with suppress(httpx.ReadTimeout):
            refused = client.post(path, json=body, timeout=30).status_code
        gate.opened.set()
        assert (num_open, refused, first.result().status_code) == (1, 429, 200)
    assert server.service.num_open == server.service.metrics.num_waiting_choices == 0


def test_vectors_end_at_the_deadline(serve, monkeypatch):
    gate, server = Gate(monkeypatch, Embedder, "_batch"), serve(timeout_seconds=0.2)
    with server.client() as client:
        answer = client.post("/v1/embeddings", json={"input": TEXTS})
        assert (answer.status_code, answer.json()["error"]["code"]) == (504, "timeout")
        gate.opened.set()
        assert eventually(lambda: server.service.pool.slots["stories"].num_users == 0)
    assert gate.num_calls == 1


def test_a_trace_ends_at_the_deadline(serve, monkeypatch):
    gate, server = Gate(monkeypatch, models, "traced_model"), serve(has_look=True, timeout_seconds=0.2)
    with server.client() as client:
        answer = client.post("/look/trace", json={"prompt": "Once"})
        assert (answer.status_code, answer.json()["error"]["code"]) == (504, "timeout")
        gate.opened.set()
        assert eventually(lambda: server.service.pool.slots["stories"].num_users == 0)
