"""Models that are loaded by their first request, and unloaded for others."""

from __future__ import annotations

import os
import threading
import time
import weakref
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import pytest

import headway
from headway.cli.load_flags import LoadFlags
from headway.cli.serve_models import OnDemand, Source, models_of
from headway.errors import CheckpointError, ModelNotFoundError, OptionError, ResourceError
from headway.server.errors import unavailable
from headway.server.model_pool import DeclaredModel
from headway.server.served_model import ServedModel
from headway.server.settings import Settings
from tests.server.conftest import ManualThread, eventually, running

SIZE = 32 << 20
"""Bytes that each model of these tests needs, the most of them for its KV cache."""
BODY = {"prompt": "Once upon a time", "max_tokens": 5, "temperature": 0}


@dataclass
class Counted:
    """A declared model that counts its loads."""

    name: str
    is_held: bool = False
    error: Exception | None = None
    num_loads: int = 0
    models: weakref.WeakSet[headway.LanguageModel] = field(default_factory=weakref.WeakSet)
    going: threading.Event = field(default_factory=threading.Event)
    begun: threading.Event = field(default_factory=threading.Event)

    def load(self) -> ServedModel:
        self.begun.set()
        assert not self.is_held or self.going.wait(600)
        if self.error:
            raise self.error
        model = headway.load("stories", cache_bytes=SIZE - (6 << 20))
        self.num_loads += 1
        self.models.add(model)
        return ServedModel(self.name, model)

    def declared(self) -> DeclaredModel:
        return DeclaredModel(self.name, self.load, lambda: SIZE)

    @property
    def num_open(self) -> int:
        return sum(not model.is_closed for model in list(self.models))


@pytest.fixture
def serve():
    """A function that serves sources; num_models of them fit in memory."""
    with ExitStack() as stack:

        def start(*sources: Counted, num_models: float = 1, engine_thread=None, **settings):
            settings = Settings(model_bytes=int(num_models * SIZE), **settings)
            options = {} if engine_thread is None else {"engine_thread": engine_thread}
            return stack.enter_context(running(*(each.declared() for each in sources), settings=settings, **options))

        yield start


def post(server, name: str, **fields) -> httpx.Response:
    with server.client() as client:
        return client.post("/v1/completions", json={"model": name, **BODY, **fields})


def statuses(server) -> dict[str, str]:
    with server.client() as client:
        return {each["id"]: each["status"]["value"] for each in client.get("/v1/models").json()["data"]}


def metric(server, line: str) -> float:
    with server.client() as client:
        found = [each for each in client.get("/metrics").text.splitlines() if each.startswith(f"headway:{line} ")]
    return float(found[0].rpartition(" ")[2]) if found else 0.0


@pytest.mark.slow
def test_many_first_requests_load_a_model_once(serve, stories):
    first, second = Counted("a"), Counted("b", is_held=True)
    server = serve(first, second, num_models=2)
    with server.client() as client:
        assert client.get("/ready").status_code == 200
    with ThreadPoolExecutor(32) as threads:
        answers = [threads.submit(post, server, "b") for _ in range(32)]
        assert second.begun.wait(600)
        assert statuses(server) == {"a": "unloaded", "b": "loading"}
        assert eventually(lambda: server.service.num_open == 32)
        assert metric(server, "num_requests_waiting") == 32
        second.going.set()
        texts = {answer.result().json()["choices"][0]["text"] for answer in answers}
    assert texts == {stories.generate(BODY["prompt"], max_new_tokens=5, temperature=0).text}
    assert (first.num_loads, second.num_loads) == (0, 1)
    assert metric(server, 'model_loads_total{model_name="b"}') == metric(server, 'model_load_seconds_count{model_name="b"}') == 1
    with server.client() as client:
        assert client.get("/health").json()["models"] == {"unloaded": 1, "loaded": 1}
        loaded = client.get("/v1/models/b").json()
        assert (loaded["max_model_len"], loaded["meta"]["kind"]) == (stories.config.max_seq_len, "decoder")
        assert client.get("/v1/models/a").json()["max_model_len"] is None
    memory = metric(server, 'model_memory_bytes{model_name="b"}')
    assert 4_000_000 < memory < SIZE


@pytest.mark.slow
def test_under_load_the_models_take_turns_within_their_memory(serve, stories):
    sources, most = [Counted(name) for name in "abc"], []
    server = serve(*sources, num_models=2)

    def ask(number: int) -> str:
        most.append(sum(each.num_open for each in sources))
        answer = post(server, "abc"[number % 3], max_tokens=20)
        assert answer.status_code == 200, answer.text
        return answer.json()["choices"][0]["text"]

    with ThreadPoolExecutor(6) as threads:
        texts = set(threads.map(ask, range(90)))
    assert texts == {stories.generate(BODY["prompt"], max_new_tokens=20, temperature=0).text}
    assert max(most) <= 2
    num_loads = sum(each.num_loads for each in sources)
    assert 3 < num_loads < 90  # requests share the loads
    assert sum(metric(server, f'model_unloads_total{{model_name="{name}"}}') for name in "abc") == num_loads - 2


def test_the_model_that_was_used_last_stays(serve):
    sources = [Counted(name) for name in "abc"]
    server = serve(*sources, num_models=2)
    for name in "abac":
        assert post(server, name).status_code == 200
    assert statuses(server) == {"a": "loaded", "b": "unloaded", "c": "loaded"}
    assert [each.num_loads for each in sources] == [1, 1, 1]


@pytest.fixture
def busy_server(serve):
    """A server with room for one model, both sources, its engines' threads, threads for requests, and a running request of model a."""
    first, second, engines = Counted("a"), Counted("b"), []

    def manual(served):
        engines.append(ManualThread())
        return engines[-1]

    server = serve(first, second, engine_thread=manual)
    with ThreadPoolExecutor(8) as threads:
        running_request = threads.submit(post, server, "a")
        assert eventually(lambda: engines and engines[0].requests)
        yield server, first, second, engines, threads, running_request


def test_a_model_with_requests_is_unloaded_after_them_and_the_others_wait_in_their_order(busy_server):
    server, first, second, engines, threads, running_request = busy_server
    other = threads.submit(post, server, "b")
    assert eventually(lambda: statuses(server) == {"a": "unloaded", "b": "loading"} or server.service.find("a").is_leaving)
    again = threads.submit(post, server, "a")  # it may not keep b from its turn
    assert eventually(lambda: server.service.pool.num_waiting == 2)
    time.sleep(0.1)
    assert len(engines) == 1
    assert first.num_open == 1
    engines[0].send(0, finish_reason="stop")
    assert running_request.result().status_code == 200
    assert eventually(lambda: len(engines) == 2 and engines[1].requests)
    assert first.num_open == 0
    assert not again.done()
    engines[1].send(0, finish_reason="stop")
    assert other.result().status_code == 200
    assert eventually(lambda: len(engines) == 3 and engines[2].requests)
    engines[2].send(0, finish_reason="stop")
    assert again.result().status_code == 200
    assert second.num_open == 0


def test_a_client_that_leaves_loads_nothing_and_the_model_goes_on(busy_server):
    server, first, second, engines, threads, running_request = busy_server
    with server.client() as client, pytest.raises(httpx.ReadTimeout):
        client.post("/v1/completions", json={"model": "b", **BODY}, timeout=0.3)
    assert eventually(lambda: server.service.pool.num_waiting == 0)
    assert eventually(lambda: server.service.find("a").is_ready)
    again = threads.submit(post, server, "a")
    assert eventually(lambda: len(engines[0].requests) == 2)
    for number in range(2):
        engines[0].send(number, finish_reason="stop")
    assert running_request.result().status_code == again.result().status_code == 200
    assert (first.num_loads, second.num_loads) == (1, 0)


def test_a_client_that_leaves_while_a_model_is_unloaded_leaves_its_memory_to_others(serve, monkeypatch):
    sources = [Counted(name) for name in "abc"]
    server = serve(*sources)
    assert post(server, "a").status_code == 200
    closing, going, close = threading.Event(), threading.Event(), headway.LanguageModel.close

    def held(model):
        closing.set()
        assert going.wait(600)
        close(model)

    monkeypatch.setattr(headway.LanguageModel, "close", held)
    with server.client() as client, pytest.raises(httpx.ReadTimeout):
        client.post("/v1/completions", json={"model": "b", **BODY}, timeout=0.3)
    assert closing.wait(600)
    assert eventually(lambda: server.service.pool.num_waiting == 0)
    going.set()
    assert post(server, "c").status_code == 200  # it waits for no memory
    assert [each.num_loads for each in sources] == [1, 0, 1]


@pytest.mark.slow
def test_requests_of_a_model_that_need_not_leave_run_on_it(busy_server):
    server, first, _, engines, threads, running_request = busy_server
    with server.client() as client:
        other = threads.submit(client.post, "/v1/completions", json={"model": "b", **BODY}, timeout=2)
        assert eventually(lambda: server.service.find("a").is_leaving)
        again = threads.submit(post, server, "a")
        assert eventually(lambda: server.service.pool.num_waiting == 2)
        assert isinstance(other.exception(), httpx.ReadTimeout)
    assert eventually(lambda: len(engines[0].requests) == 2)
    for number in range(2):
        engines[0].send(number, finish_reason="stop")
    assert running_request.result().status_code == again.result().status_code == 200
    assert first.num_loads == 1


def test_the_wait_for_a_model_is_part_of_the_deadline(serve):
    source = Counted("a", is_held=True)
    server = serve(source, timeout_seconds=0.2)
    answer = post(server, "a")
    assert (answer.status_code, answer.json()["error"]["code"]) == (504, "timeout")
    assert metric(server, "num_requests_waiting") == 0
    source.going.set()
    assert eventually(lambda: server.service.find("a").is_ready)  # a load that has begun is not lost


def test_the_queue_holds_the_requests_that_wait_for_a_model(serve):
    source = Counted("a", is_held=True)
    server = serve(source, max_waiting=2)
    with ThreadPoolExecutor(2) as threads:
        waiting = [threads.submit(post, server, "a") for _ in range(2)]
        assert eventually(lambda: server.service.pool.num_waiting == 2)
        assert post(server, "a").status_code == 429
        source.going.set()
        assert [each.result().status_code for each in waiting] == [200, 200]


@pytest.mark.parametrize(
    ("error", "status", "code"),
    [
        (CheckpointError("got /secret/folder without a tensor"), 500, "model_load_failed"),
        (RuntimeError("/secret"), 500, "model_load_failed"),
        (ResourceError("got no memory"), 503, "out_of_memory"),
        (MemoryError(), 503, "out_of_memory"),
    ],
)
def test_a_model_that_cannot_be_loaded_is_an_error_of_its_requests_only(serve, caplog, error, status, code):
    first, broken = Counted("a"), Counted("b", error=error)
    server = serve(first, broken)
    answer = post(server, "b")
    assert (answer.status_code, answer.json()["error"]["code"]) == (status, code)
    assert "secret" not in answer.text
    assert "b could not be loaded" in caplog.text
    assert metric(server, 'model_load_failures_total{model_name="b"}') == 1
    assert post(server, "a").status_code == 200
    with server.client() as client:
        assert client.get("/health").status_code == 200
    broken.error = None
    assert post(server, "b").status_code == 200


def test_a_model_that_can_never_fit_is_refused(serve):
    answer = post(serve(Counted("a"), num_models=0.5), "a")
    assert answer.status_code == 500
    assert "exceeds the 0.0 GiB of --model-memory" in answer.json()["error"]["message"]


def test_requests_that_wait_for_a_model_end_with_the_server(serve):
    source = Counted("a", is_held=True)
    server = serve(source)
    with ThreadPoolExecutor(1) as threads:
        waiting = threads.submit(post, server, "a")
        assert eventually(lambda: server.service.num_open == 1)
        server.loop.call_soon_threadsafe(server.service.fail_all, unavailable("the end"))
        assert waiting.result().status_code == 503
        source.going.set()


@pytest.mark.parametrize("path", ["/tokenize", "/detokenize", "/apply-template", "/v1/embeddings", "/look/trace"])
def test_every_route_loads_its_model(serve, path):
    server = serve(Counted("a"), Counted("b"), has_look=True)
    bodies = {
        "/tokenize": {"content": "Once"},
        "/detokenize": {"tokens": [5]},
        "/apply-template": {"messages": [{"role": "user", "content": "Once"}]},
        "/v1/embeddings": {"input": "Once"},
        "/look/trace": {"prompt": "Once"},
    }
    for name in "bab":
        with server.client() as client:
            assert client.post(path, json={"model": name, **bodies[path]}).status_code == 200
    assert statuses(server) == {"a": "unloaded", "b": "loaded"}


def test_the_properties_of_a_model_that_is_not_loaded_load_nothing(serve, stories):
    source = Counted("a")
    server = serve(source)
    with server.client() as client:
        asleep, slots = client.get("/props").json(), client.get("/slots").json()
        assert source.num_loads == 0
        assert client.post("/v1/completions", json=BODY).status_code == 200
        awake = client.get("/props").json()
    assert (asleep["is_sleeping"], asleep["default_generation_settings"], slots[0]["n_ctx"]) == (True, {"n_ctx": 0, "params": {}}, 0)
    assert (awake["is_sleeping"], awake["default_generation_settings"]["n_ctx"]) == (False, stories.config.max_seq_len)
    assert asleep.keys() == awake.keys()


STREAMS = {
    "/v1/completions": "data: [DONE]",
    "/v1/chat/completions": "data: [DONE]",
    "/v1/messages": "event: error",
    "/v1/responses": "event: error",
    "/completion": "data: {",
}
"""The last line of an error in a stream but its data, by path."""


@pytest.mark.parametrize("path", STREAMS)
@pytest.mark.parametrize("error", [None, CheckpointError("broken")])
def test_a_stream_has_pings_while_its_model_is_loaded_and_an_error_is_in_it(serve, path, error):
    source = Counted("a", is_held=True, error=error)
    server = serve(source, ping_seconds=0.05)
    messages = [{"role": "user", "content": "Hi"}]
    body = {"prompt": "Hi", "input": "Hi"} | ({"messages": messages} if path in ("/v1/chat/completions", "/v1/messages") else {})
    names = {"/v1/responses": ["input"], "/v1/messages": ["messages"], "/v1/chat/completions": ["messages"]}.get(path, ["prompt"])
    limit = "max_output_tokens" if path == "/v1/responses" else "max_tokens"
    wanted = {"model": "a", "stream": True, limit: 2, **{name: body[name] for name in names}}
    with server.client() as client, client.stream("POST", path, json=wanted) as answer:
        lines = answer.iter_lines()
        assert (answer.status_code, next(lines)) == (200, ": ping")
        source.going.set()
        rest = [line for line in lines if line and line != ": ping"]
    if error is None:
        assert not any('"error"' in line and "could not be loaded" in line for line in rest)
        assert len(rest) > 2
    else:
        assert sum("could not be loaded" in line for line in rest) == 1
        assert any(line.startswith(STREAMS[path]) for line in rest)


def test_a_request_without_a_stream_has_no_pings(serve):
    source = Counted("a", is_held=True)
    server = serve(source, ping_seconds=0.01)
    with ThreadPoolExecutor(1) as threads:
        waiting = threads.submit(post, server, "a")
        assert source.begun.wait(600)
        time.sleep(0.1)
        source.going.set()
        assert waiting.result().json()["object"] == "text_completion"


@pytest.mark.slow
def test_fifty_loads_leave_nothing_behind(serve):
    sources = [Counted("a"), Counted("b")]
    server = serve(*sources)

    def figures() -> tuple[int, int, int]:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        return pages, threading.active_count(), len(os.listdir("/proc/self/fd"))

    def turns(number: int) -> None:
        for _ in range(number):
            for name in "ab":
                assert post(server, name, max_tokens=20).status_code == 200

    turns(10)
    before = figures()
    turns(25)
    assert sum(each.num_loads for each in sources) == 70
    # The server closes its end of the last connection after the client.
    assert eventually(lambda: all(now <= then for now, then in zip(figures()[1:], before[1:], strict=True)))
    assert figures()[0] < before[0] * 1.05


def test_the_command_loads_the_first_model_and_declares_the_others():
    with ExitStack() as stack:
        models = models_of([Source("a", "stories"), Source("b", "stories")], LoadFlags(), OnDemand.from_flags(False, "64MiB"), stack)
        loaded = models[0].loaded
        stack.enter_context(loaded.model)
        assert models[1].loaded is None
        assert loaded.model.engine.pool.max_bytes <= 16 << 20
        assert models[1].estimate() == pytest.approx(loaded.max_bytes, rel=0.1)
        with models[1].load().model as second:
            assert second.generate("Once", max_new_tokens=2).finish_reason == "length"


def test_without_the_flags_all_models_are_loaded_at_the_start():
    assert OnDemand.from_flags(False, None) is None
    with ExitStack() as stack:
        models = models_of([Source("a", "stories"), Source("b", "stories")], LoadFlags(), None, stack)
        assert [type(each) for each in models] == [ServedModel, ServedModel]


def test_models_that_cannot_fit_or_do_not_exist_are_refused_at_the_start(tmp_path):
    with ExitStack() as stack:
        with pytest.raises(OptionError, match="--model-memory"):
            models_of([Source("a", "stories")], LoadFlags(cache_memory="1GiB"), OnDemand(1 << 20), stack)
        with pytest.raises(ModelNotFoundError):
            models_of([Source("a", "stories"), Source("b", str(tmp_path / "missing"))], LoadFlags(), OnDemand(1 << 30), stack)
