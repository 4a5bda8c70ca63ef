"""Disconnects, full queues, slow readers, deadlines, and errors of the engine, with an engine that the test controls."""

from __future__ import annotations

import asyncio
import json
import socket
import threading

import httpx
import pytest

from benchmarks.http_client import request_bytes
from headway.engine import GenerationOptions, Request, SampledToken
from headway.errors import NotFiniteError
from headway.server import app, completions, metrics, submission
from headway.server.errors import unavailable
from headway.server.metrics import Metrics
from headway.server.served_model import ServedModel
from headway.server.service import Service
from headway.server.settings import Settings
from tests.engine.paged_runner import paged_engine
from tests.server.conftest import ManualThread, eventually

BODY = {"prompt": "Once upon a time", "max_tokens": 100}


def post(server, body=BODY, path="/v1/completions", **options) -> httpx.Response:
    with server.client() as client:
        return client.post(path, json=body, **options)


def in_thread(function, *arguments) -> tuple[threading.Thread, list]:
    results = []
    thread = threading.Thread(target=lambda: results.append(function(*arguments)))
    thread.start()
    return thread, results


@pytest.mark.slow
@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("num_tokens", [0, 3])
def test_a_disconnect_aborts_the_request(manual, stream, num_tokens):
    server, engine = manual()

    def leave():
        with server.client() as client, pytest.raises(httpx.ReadTimeout):
            client.post("/v1/completions", json={**BODY, "n": 2, "stream": stream}, timeout=httpx.Timeout(60, read=1))

    thread = threading.Thread(target=leave)
    thread.start()
    assert engine.submitted.acquire(timeout=600)
    for _ in range(num_tokens):
        engine.send(0)
    thread.join()
    assert eventually(lambda: engine.aborted == [0])
    assert server.service.num_open == 0
    assert server.service.metrics.num_waiting_choices == server.service.metrics.num_waiting_tokens == 0


def test_a_full_queue_answers_429_with_a_time(manual):
    server, engine = manual(max_waiting=2)
    waiting = [in_thread(post, server) for _ in range(2)]
    assert all(engine.submitted.acquire(timeout=600) for _ in waiting)
    refused = post(server)
    assert refused.status_code == 429
    assert refused.json()["error"]["code"] == "rate_limit_exceeded"
    assert 1 <= int(refused.headers["Retry-After"]) <= 120
    with server.client() as client:
        assert client.get("/ready").status_code == 503
        assert client.get("/health").status_code == 200
        assert 'admission_rejections_total{reason="overloaded"} 1.0' in client.get("/metrics").text
    for index in range(2):
        engine.send(index, finish_reason="stop")
    for thread, results in waiting:
        thread.join()
        assert results[0].status_code == 200
    with server.client() as client:
        assert client.get("/ready").status_code == 200


def test_a_request_with_more_choices_than_may_wait_is_taken_alone(manual):
    server, engine = manual(max_waiting=1)
    first, results = in_thread(post, server, {**BODY, "n": 2})
    assert engine.submitted.acquire(timeout=600)
    assert post(server).status_code == 429
    engine.sinks[0]([SampledToken(0, 5, "stop", choice=choice) for choice in range(2)])
    first.join()
    assert results[0].status_code == 200


def test_the_metrics_count_the_running_requests_of_each_engine():
    engines = [paged_engine() for _ in range(3)]
    for engine in engines[:2]:
        engine.add(Request([1], GenerationOptions(max_new_tokens=9)), print)
        engine.step()
    metrics = Metrics()
    metrics.watch(lambda: {"a": {str(number): engine.stats for number, engine in enumerate(engines)}}, dict)
    for number, num_running in enumerate((1, 1, 0)):
        expected = f'headway:num_requests_running{{engine="{number}",model_name="a"}} {float(num_running)}'
        assert expected in metrics.text().decode()


def test_a_request_ends_at_its_deadline(manual):
    server, engine = manual(timeout_seconds=0.2)
    answer = post(server)
    assert answer.status_code == 504
    assert answer.headers["x-should-retry"] == "false"
    assert eventually(lambda: engine.aborted == [0])


def test_a_silent_stream_sends_pings(manual):
    server, engine = manual(ping_seconds=0.05)
    with server.client() as client, client.stream("POST", "/v1/completions", json={**BODY, "stream": True}) as answer:
        lines = answer.iter_lines()
        assert next(lines) == ": ping"
        engine.send(0, finish_reason="stop")
        data = [line for line in lines if line.startswith("data: ")]
    assert data[-1] == "data: [DONE]"


@pytest.mark.parametrize("path", ["/v1/completions", "/v1/chat/completions"])
def test_an_error_after_the_first_event_is_in_the_stream(manual, path):
    server, engine = manual()
    body = {**BODY, "stream": True} if path == "/v1/completions" else {"messages": [{"role": "user", "content": "Hi"}], "stream": True}
    with server.client() as client:

        def answer():
            with client.stream("POST", path, json=body) as stream:
                lines = []
                for line in stream.iter_lines():
                    lines.append(line)
                    if line.startswith("data: ") and len(lines) < 3:
                        engine.fail(0, NotFiniteError("got NaN, expected numbers"))
                return lines

        thread, results = in_thread(answer)
        assert engine.submitted.acquire(timeout=600)
        engine.send(0, token_id=300)
        thread.join()
    data = [line.removeprefix("data: ") for line in results[0] if line.startswith("data: ")]
    assert data[-1] == "[DONE]"
    assert json.loads(data[-2])["error"]["type"] == "server_error"


@pytest.mark.parametrize("stream", [False, True])
def test_an_error_before_the_first_event_is_a_status(manual, stream):
    server, engine = manual()
    thread, results = in_thread(post, server, {**BODY, "stream": stream})
    assert engine.submitted.acquire(timeout=600)
    engine.fail(0, NotFiniteError("got NaN, expected numbers"))
    thread.join()
    assert results[0].status_code == 500
    assert results[0].json()["error"]["code"] == "internal_error"


def test_a_slow_reader_loses_its_request(manual, monkeypatch):
    monkeypatch.setattr(submission, "MAX_BUFFERED", 50)
    server, engine = manual()
    body = json.dumps({**BODY, "stream": True, "logprobs": 20}).encode()
    head = f"POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    tokens = [SampledToken(0, 300, log_prob=-1.0, top_log_probs=dict.fromkeys(range(300, 320), -1.0))] * 40

    def is_aborted() -> bool:
        engine.sinks[0](tokens)
        return bool(engine.aborted)

    with socket.create_connection(("127.0.0.1", int(server.url.rpartition(":")[2]))) as client:
        client.sendall(head.encode() + body)
        assert engine.submitted.acquire(timeout=600)
        assert eventually(is_aborted)
    assert engine.aborted == [0]


def test_a_draining_server_refuses_and_finishes_what_runs(manual):
    server, engine = manual()
    thread, results = in_thread(post, server)
    assert engine.submitted.acquire(timeout=600)
    server.service.is_draining = True
    assert post(server).status_code == 503
    with server.client() as client:
        assert client.get("/ready").status_code == 503
    engine.send(0, finish_reason="stop")
    thread.join()
    assert results[0].status_code == 200


def test_what_does_not_finish_in_time_ends_with_an_error(manual):
    server, engine = manual()
    thread, results = in_thread(post, server)
    assert engine.submitted.acquire(timeout=600)
    server.loop.call_soon_threadsafe(server.service.fail_all, unavailable("shut down"))
    thread.join()
    assert results[0].status_code == 503
    assert engine.aborted == [0]


def test_a_dead_engine_is_not_healthy(manual):
    server, engine = manual()
    engine.is_alive = False
    with server.client() as client:
        assert client.get("/health").status_code == 503
    assert post(server).status_code == 503


def test_a_client_that_does_not_read_a_whole_answer_holds_no_model(serve):
    server = serve()
    with socket.socket() as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.connect(("127.0.0.1", int(server.url.rsplit(":", 1)[1])))
        connection.sendall(request_bytes({"content": "a b" * 100_000, "with_pieces": True}, "/tokenize"))
        connection.recv(1)
        assert eventually(lambda: server.service.pool.slots["stories"].num_users == 0)


@pytest.mark.parametrize("num_tokens", [0, 1])
def test_a_stream_that_nobody_reads_ends(stories, monkeypatch, num_tokens):
    monkeypatch.setattr(app, "SEND_SECONDS", 0)
    thread = ManualThread()
    service = Service([ServedModel("stories", stories)], Settings(timeout_seconds=0.2), engine_thread=lambda _: thread)
    body = {"type": "http.request", "body": json.dumps({**BODY, "stream": True, "echo": not num_tokens}).encode()}
    scope = {"type": "http", "method": "POST", "path": "/v1/completions", "headers": [(b"content-type", b"application/json")]}

    async def call() -> None:
        service.start()
        messages, for_ever = [body], asyncio.Event()

        async def receive():
            if not messages:
                await for_ever.wait()
            return messages.pop()

        async def send(_) -> None:
            await for_ever.wait()

        running = asyncio.create_task(app.create_app(service)(scope, receive, send))
        while not thread.requests:
            await asyncio.sleep(0.005)
        for _ in range(num_tokens):
            thread.send(0)
        await asyncio.wait_for(running, 600)
        assert service.pool.slots["stories"].num_users == service.num_open == 0
        assert thread.aborted == [0]
        service.close()

    asyncio.run(call())


def test_a_body_that_does_not_arrive_is_refused_after_a_time(serve):
    with socket.create_connection(("127.0.0.1", int(serve(timeout_seconds=0.2).url.rsplit(":", 1)[1]))) as connection:
        connection.sendall(request_bytes(BODY, "/v1/completions")[:-1])
        assert connection.recv(65536).startswith(b"HTTP/1.1 408 ")


def test_a_failure_after_the_start_of_a_generation_aborts_it(manual, monkeypatch):
    server, engine = manual()

    def fail(*_):
        raise ValueError

    monkeypatch.setattr(completions, "CompletionResponse", fail)
    assert post(server).status_code == 500
    assert engine.aborted == [0]


def test_the_throughput_forgets_old_requests(monkeypatch):
    monkeypatch.setattr(metrics, "RATE_SECONDS", -1)
    each = Metrics()
    each.encoded(1.0, 1)
    assert not each._ended
