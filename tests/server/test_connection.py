"""Connections of clients that send or read nothing."""

from __future__ import annotations

import socket
from types import SimpleNamespace

import pytest

from benchmarks.http_client import request_bytes
from headway.server import connection, page
from tests.server.conftest import eventually

ONE_TOKEN = request_bytes({"prompt": "Once", "max_tokens": 1}, "/v1/completions")


@pytest.fixture
def connect(serve, monkeypatch):
    """A function that connects to a server which looks at its connections five times a second, and the number of its connections."""
    monkeypatch.setattr(connection, "SILENT_SECONDS", 0.2)
    num_lost, lose, server = [], connection.Connection.connection_lost, serve()
    monkeypatch.setattr(connection.Connection, "connection_lost", lambda self, error: (num_lost.append(1), lose(self, error)))
    sockets = []

    def new() -> socket.socket:
        sockets.append(socket.socket())
        sockets[-1].setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        sockets[-1].settimeout(600)
        sockets[-1].connect(("127.0.0.1", int(server.url.rsplit(":", 1)[1])))
        return sockets[-1]

    yield new, lambda: len(sockets) - len(num_lost)
    for each in sockets:
        each.close()


@pytest.mark.parametrize("start", [b"", b"POST /v1/comp", ONE_TOKEN.partition(b"\r\n")[0]])
def test_a_head_that_does_not_arrive_ends_the_connection(connect, start):
    new, num_open = connect
    new().sendall(start)
    assert eventually(lambda: num_open() == 0)


def test_the_rest_of_a_second_head_ends_it_too(connect):
    new, num_open = connect
    client = new()
    client.sendall(ONE_TOKEN.replace(b"Connection: close\r\n", b""))
    assert client.recv(65536).startswith(b"HTTP/1.1 200 ")
    client.sendall(b"POST")
    assert eventually(lambda: num_open() == 0)


def test_an_answer_that_nobody_reads_ends_the_connection(connect, monkeypatch):
    monkeypatch.setattr(page, "page_files", lambda: {"large.js": b" " * 20_000_000})
    new, num_open = connect
    new().sendall(b"GET /page/large.js HTTP/1.1\r\nHost: localhost\r\n\r\n")
    assert eventually(lambda: num_open() == 0)


def test_a_slow_reader_keeps_its_connection(monkeypatch):
    sizes, aborted = iter([900, 500, 500, 400, 400]), []
    transport = SimpleNamespace(get_write_buffer_size=lambda: next(sizes), is_closing=lambda: True, abort=lambda: aborted.append(1))
    each = connection.Connection.__new__(connection.Connection)
    each.transport, each.flow, each.conn = (
        transport,
        SimpleNamespace(write_paused=True, pause_writing=int),
        SimpleNamespace(their_state=None),
    )
    monkeypatch.setattr(each, "_watch", int)
    each._look()
    each._look()
    each.pause_writing()  # the bytes from now on are others
    each._look()
    each._look()
    assert not aborted
    each._look()
    assert aborted


def test_a_request_that_takes_long_keeps_its_connection(manual, monkeypatch):
    monkeypatch.setattr(connection, "SILENT_SECONDS", 0.02)
    looks, look = [], connection.Connection._look
    monkeypatch.setattr(connection.Connection, "_look", lambda self: (look(self), looks.append(1)))
    server, engine = manual()
    with socket.create_connection(("127.0.0.1", int(server.url.rsplit(":", 1)[1]))) as client:
        client.sendall(ONE_TOKEN)
        assert engine.submitted.acquire(timeout=600)
        num_looks = len(looks)
        assert eventually(lambda: len(looks) >= num_looks + 4)
        engine.send(0, finish_reason="length")
        assert client.recv(65536).startswith(b"HTTP/1.1 200 ")
