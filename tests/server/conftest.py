"""A server on a loopback port, in a thread of the test process."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

import httpx
import pytest

import headway
from headway.engine import RequestFailed, SampledToken
from headway.server.run import Address, make_server
from headway.server.served_model import ServedModel
from headway.server.service import Service
from headway.server.settings import Settings
from tests.engine.paged_runner import paged_engine


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
def running(*served: ServedModel, settings: Settings | None = None, **options) -> Iterator[Running]:
    """Serve models while the block runs."""
    service, address = Service(served, settings, **options), Address(port=0)
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
        yield lambda **settings: stack.enter_context(running(ServedModel("stories", stories), settings=Settings(**settings)))


class ManualThread:
    """An engine's thread that does nothing by itself: a test sends the tokens."""

    is_alive = True

    def __init__(self) -> None:
        self.requests, self.sinks, self.aborted = [], [], []
        self.submitted, self.engine = threading.Semaphore(0), paged_engine()

    def submit(self, request, sink) -> int:
        self.requests.append(request)
        self.sinks.append(sink)
        self.submitted.release()
        return len(self.sinks) - 1

    def abort(self, index, choice=None) -> None:
        self.aborted.append(index)

    @property
    def stats(self):
        return {"0": self.engine.stats}

    def close(self) -> None:
        pass

    def send(self, index: int, token_id: int = 5, finish_reason=None) -> None:
        """Send a token of a request."""
        self.sinks[index]([SampledToken(index, token_id, finish_reason)])

    def fail(self, index: int, error: Exception) -> None:
        """End a request with an error."""
        self.sinks[index]([RequestFailed(index, error)])


@pytest.fixture
def manual(stories) -> Iterator[Callable[..., tuple[Running, ManualThread]]]:
    """A function that starts a server whose engine is a ManualThread."""
    with ExitStack() as stack:

        def start(**settings) -> tuple[Running, ManualThread]:
            thread = ManualThread()
            served = ServedModel("stories", stories)
            return stack.enter_context(running(served, settings=Settings(**settings), engine_thread=lambda _: thread)), thread

        yield start


def eventually(condition: Callable[[], bool]) -> bool:
    """Wait until a condition holds; return False if it does not within 10 minutes."""
    end = time.monotonic() + 600
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.005)
    return True


@pytest.fixture
def client(server) -> Iterator[httpx.Client]:
    """An HTTP client of the server."""
    with server.client() as each:
        yield each
