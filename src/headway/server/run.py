"""Run a server: uvicorn with our own signals. After SIGTERM it is not ready, finishes what runs, and stops."""

from __future__ import annotations

import asyncio
import contextlib
import math
import signal
import socket
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import uvicorn

from headway.errors import OptionError
from headway.server.app import ROUTES, create_app
from headway.server.connection import Connection
from headway.server.errors import unavailable
from headway.server.replies import Row
from headway.server.service import Service

CLOSE_SECONDS = 5.0
"""Time for the open requests to be sent once a server should exit."""

SWITCH_SECONDS = 0.0003
"""Longest time that a thread keeps the interpreter lock while another one waits for it; Python's own 5 ms are many passes of a small model."""


@dataclass(frozen=True)
class Address:
    """Address to listen on, and the files of TLS."""

    host: str = "127.0.0.1"
    port: int = 8000
    certificate: str | None = None
    private_key: str | None = None

    def url(self, port: int) -> str:
        """Return the URL of a server that listens here.

        port   the one that it has, which port 0 leaves open
        """
        return f"{'https' if self.certificate else 'http'}://{f'[{self.host}]' if ':' in self.host else self.host}:{port}"

    def listen(self, *, is_shared: bool = False) -> socket.socket:
        """Return a listening socket; port 0 takes a free one.

        is_shared   True if other processes of the same user may listen here, too; the system spreads the connections

        Errors   OptionError for an address that cannot be used.
        """
        family = socket.AF_INET6 if ":" in self.host else socket.AF_INET
        try:
            listening = socket.create_server((self.host, self.port), family=family, backlog=2048, reuse_port=is_shared)
        except (OSError, OverflowError, ValueError) as error:  # ValueError for a name that no host can have
            reason = getattr(error, "strerror", None) or error
            raise OptionError(
                f"got {self.host} port {self.port}, expected a free address ({reason})", hint="choose another --port or --host"
            ) from error
        # Connections inherit it. asyncio sets it only for sockets that state their protocol; without it an event waits for the client's
        # acknowledgement of the one before, which takes 40 ms.
        listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return listening


class Server(uvicorn.Server):
    """uvicorn that leaves the signals to us."""

    @contextlib.contextmanager
    def capture_signals(self):  # type: ignore[no-untyped-def]
        """Install no handlers."""
        yield


def run(service: Service, address: Address, on_start: Callable[[str], None] | None = None, *, table: Sequence[Row] = tuple(ROUTES)) -> None:
    """Serve until SIGINT or SIGTERM.

    on_start   called with the server's URL when it accepts connections
    table      the routes

    Errors   OptionError for an address that cannot be used, and for files of TLS that cannot be read.
    """
    server = make_server(service, address, table)
    listening = address.listen()
    sys.setswitchinterval(SWITCH_SECONDS)
    host, port = listening.getsockname()[:2]
    url = replace(address, host=host).url(port)
    asyncio.run(_serve(server, service, listening, lambda: on_start and on_start(url)))


def make_server(
    service: Service, address: Address, table: Sequence[Row] = tuple(ROUTES), *, close_seconds: float = CLOSE_SECONDS
) -> Server:
    """Return the server of a service; its `serve` takes listening sockets.

    close_seconds   time for the open requests once it should exit

    Errors   OptionError for files of TLS that cannot be read.
    """
    config = uvicorn.Config(
        create_app(service, table),
        http=Connection,  # h11 bounds the size of headers; httptools does not
        ws="none",
        loop="asyncio",
        log_level="error",  # its warnings are about bytes that are no HTTP, of which anybody may send many
        access_log=False,
        server_header=False,
        ssl_certfile=address.certificate,
        ssl_keyfile=address.private_key,
        timeout_graceful_shutdown=math.ceil(close_seconds),
    )
    if address.private_key and not address.certificate:
        raise OptionError("got --private-key without --certificate, expected both")
    try:
        config.load()
    except (OSError, ValueError) as error:  # that of a certificate without its key is an OSError, too
        given = f"--certificate {address.certificate}" + (f" and --private-key {address.private_key}" if address.private_key else "")
        reason = getattr(error, "strerror", None) or error
        raise OptionError(f"got {given}, expected a certificate and its key as PEM ({reason})") from error
    return Server(config)


async def _serve(server: Server, service: Service, listening: socket.socket, started: Callable[[], object]) -> None:
    loop, stopping = asyncio.get_running_loop(), list[asyncio.Task[None]]()

    def stop() -> None:
        if stopping:  # a second signal does not wait
            service.is_stopping = True
        else:
            stopping.append(loop.create_task(_stop(server, service)))

    for each in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(each, stop)
    serving = loop.create_task(server.serve(sockets=[listening]))
    while not server.started and not serving.done():
        await asyncio.sleep(0.01)
    if server.started:
        started()
    await serving


async def _stop(server: Server, service: Service) -> None:
    await drain(service)
    server.should_exit = True


async def drain(service: Service) -> None:
    """Refuse what is new, let the running requests finish within the time, and end the rest with an error."""
    service.is_draining = True
    end = asyncio.get_running_loop().time() + service.settings.drain_seconds
    while service.num_open and not service.is_stopping and asyncio.get_running_loop().time() < end:
        await asyncio.sleep(0.05)
    service.fail_all(unavailable("the server shut down before the end of the request", "shutting_down"))
    await asyncio.sleep(0.1)
