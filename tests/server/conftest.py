"""A server on a loopback port, in a thread of the test process."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

import httpx
import pytest

import headway
from headway.server.run import Address, make_server
from headway.server.served_model import ServedModel
from headway.server.service import Service
from headway.server.settings import Settings


@dataclass
class Running:
    """A running server."""

    url: str
    service: Service
    loop: asyncio.AbstractEventLoop

    def client(self, **options) -> httpx.Client:
        """Return a client; close it."""
        return httpx.Client(base_url=self.url, timeout=600, **options)


@contextmanager
def running(served: ServedModel, settings: Settings | None = None) -> Iterator[Running]:
    """Serve a model while the block runs."""
    service, address = Service([served], settings), Address(port=0)
    listening = address.listen()
    server, started, loops = make_server(service, address), threading.Event(), []

    async def serve() -> None:
        loops.append(asyncio.get_running_loop())
        serving = asyncio.create_task(server.serve(sockets=[listening]))
        while not server.started:
            await asyncio.sleep(0.005)
        started.set()
        await serving

    thread = threading.Thread(target=lambda: asyncio.run(serve()), daemon=True)
    thread.start()
    assert started.wait(600)
    try:
        yield Running(f"http://127.0.0.1:{listening.getsockname()[1]}", service, loops[0])
    finally:
        server.should_exit = True
        thread.join(600)
        listening.close()
        assert not thread.is_alive()


@pytest.fixture(scope="session")
def stories() -> Iterator[headway.LanguageModel]:
    """The embedded model."""
    with headway.load("stories") as model:
        yield model


@pytest.fixture(scope="session")
def server(stories) -> Iterator[Running]:
    """A server with the embedded model and default settings."""
    with running(ServedModel("stories", stories)) as each:
        yield each


@pytest.fixture
def serve(stories) -> Iterator[Callable[..., Running]]:
    """A function that starts another server of the embedded model with given settings."""
    with ExitStack() as stack:
        yield lambda **settings: stack.enter_context(running(ServedModel("stories", stories), Settings(**settings)))


@pytest.fixture
def client(server) -> Iterator[httpx.Client]:
    """An HTTP client of the server."""
    with server.client() as each:
        yield each
