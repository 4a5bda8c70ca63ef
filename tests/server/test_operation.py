from __future__ import annotations

import re
import socket
import threading

import pytest

from headway.server.run import Address
from headway.server.served_model import ServedModel

TEXT = "The fox said: café"


def test_tokenize_and_detokenize_are_inverse(client, stories):
    answer = client.post("/tokenize", json={"content": TEXT}).json()
    assert answer["tokens"] == stories.tokenizer.encode(TEXT, add_special_tokens=False)
    assert answer["count"] == len(answer["tokens"])
    assert client.post("/detokenize", json={"tokens": answer["tokens"]}).json()["content"] == TEXT


def test_pieces_are_texts_or_bytes(client):
    tokens = client.post("/tokenize", json={"content": TEXT, "with_pieces": True}).json()["tokens"]
    pieces = [bytes(token["piece"]) if isinstance(token["piece"], list) else token["piece"].encode() for token in tokens]
    assert b"".join(pieces).decode() == TEXT


def test_a_conversation_is_rendered_and_tokenized(client, stories):
    messages = [
        {"role": "system", "content": "Once"},
        {"role": "user", "content": [{"type": "text", "text": "upon"}, {"type": "text", "text": "a"}]},
    ]
    assert client.post("/apply-template", json={"messages": messages}).json()["prompt"] == "Once\nupon\na"
    assert client.post("/tokenize", json={"messages": messages}).json()["tokens"] == stories.tokenizer.encode("Once\nupon\na")


@pytest.mark.parametrize("body", [{}, {"content": "a", "prompt": "b"}])
def test_tokenize_wants_one_text(client, body):
    assert client.post("/tokenize", json=body).status_code == 400


def test_metrics_count_the_tokens(serve):
    with serve().client() as client:
        client.post("/v1/completions", json={"prompt": "Once upon a time", "max_tokens": 5, "ignore_eos": True})
        text = client.get("/metrics").text
    figures = dict(re.findall(r"^(headway:\w+(?:\{[^}]*\})?) (\S+)$", text, re.MULTILINE))
    assert figures["headway:generation_tokens_total"] == "5.0"
    assert figures["headway:prompt_tokens_total"] == "4.0"
    assert figures['headway:request_success_total{finished_reason="length"}'] == "1.0"
    assert figures["headway:time_to_first_token_seconds_count"] == "1.0"
    assert figures["headway:inter_token_latency_seconds_count"] == "4.0"
    assert figures["headway:num_requests_waiting"] == "0.0"


def test_health_and_readiness(client):
    assert client.get("/health").json() == {"status": "ok", "models": {"loaded": 1}}
    assert client.get("/ready").json() == {"status": "ready"}


def test_a_repeated_prompt_is_reported_as_cached(server):
    body = {"prompt": "A prompt that no other test has, twice in a row", "max_tokens": 2}
    with server.client() as client:
        first, second = (client.post("/v1/completions", json=body).json()["usage"] for _ in range(2))
        hits = client.get("/metrics").text
    assert first["prompt_tokens_details"]["cached_tokens"] < second["prompt_tokens_details"]["cached_tokens"] == second["prompt_tokens"] - 1
    for name in ("kv_cache_usage_perc", "prefix_cache_hits_total", "num_preemptions_total", "spec_decode_num_accepted_tokens_total"):
        assert f'headway:{name}{{engine="0",model_name="stories"}} ' in hits


def test_connections_send_small_events_at_once():
    with Address(port=0).listen() as listening, socket.create_connection(listening.getsockname()[:2]):
        connection, _ = listening.accept()
        with connection:
            assert connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/tokenize", {"content": "Once"}),
        ("/tokenize", {"messages": [{"role": "user", "content": "Once"}]}),
        ("/detokenize", {"tokens": [5]}),
        ("/apply-template", {"messages": [{"role": "user", "content": "Once"}]}),
        ("/v1/messages/count_tokens", {"messages": [{"role": "user", "content": "Once"}]}),
        ("/chat/completions/input_tokens", {"messages": [{"role": "user", "content": "Once"}]}),
    ],
)
def test_a_full_queue_refuses_texts_too(serve, path, body):
    server = serve(max_waiting=1)
    with server.client() as client:
        assert client.post(path, json=body).status_code == 200
        server.service.metrics.num_waiting_choices += 1
        assert client.post(path, json=body).status_code == 429


def test_the_pieces_of_a_long_text_hold_up_no_other_request(client, monkeypatch):
    names, method = set(), ServedModel.token_bytes

    def named(*arguments):
        names.add(threading.current_thread().name.partition("_")[0])
        return method(*arguments)

    monkeypatch.setattr(ServedModel, "token_bytes", named)
    assert client.post("/tokenize", json={"content": "The fox", "with_pieces": True}).status_code == 200
    assert names == {"headway-prepare"}
