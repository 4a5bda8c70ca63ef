"""The server of `headway look --serve`: one page for one person, on this machine only."""

from __future__ import annotations

import hmac
import secrets
import socket
from collections.abc import Callable
from contextlib import suppress
from threading import Lock

import uvicorn
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from headway.errors import HeadwayError, OptionError
from headway.look.live import HEADERS, LiveRequest, answer, headers_of, live_page
from headway.look.models import TracedModel
from headway.practice.texts import Texts

TEXTS = Texts("look")
GREETING = TEXTS["serving"]
HOST = "127.0.0.1"
MOST_BODY_BYTES = 1_000_000


def create_app(model: TracedModel, prompt: str, *, token: str, port: int, language: str = "en") -> ASGIApp:
    """Return the ASGI application of the page.

    token   part of every path; other paths get 404
    port    requests for another host or port get 403, so that no name of a foreign site reaches this server
    """
    document = live_page(model.name, prompt, language)
    one_at_a_time = Lock()

    def traced(body: bytes) -> bytes:
        with one_at_a_time:
            return answer(model, LiveRequest.from_json(body))

    async def page(_: Request) -> Response:
        return Response(document, media_type="text/html", headers=headers_of(document))

    async def trace(request: Request) -> Response:
        if request.headers.get("content-type", "").partition(";")[0].strip() != "application/json":
            return _error(415, "got another content-type, expected application/json")
        body = b""
        async for part in request.stream():
            body += part
            if len(body) > MOST_BODY_BYTES:
                return _error(413, f"got a body of more than {MOST_BODY_BYTES:,} bytes, expected a smaller one")
        try:
            data = await run_in_threadpool(traced, body)
        except HeadwayError as error:
            return _error(400, str(error))
        return Response(data, media_type="application/json", headers=HEADERS)

    app = Starlette(routes=[Route("/{token}/", page, methods=["GET"]), Route("/{token}/trace", trace, methods=["POST"])])
    app.router.redirect_slashes = False
    return _Guard(app, token, {f"{name}:{port}" for name in (HOST, "localhost")})


class _Guard:
    """Refuses requests for other hosts, without the token, and from pages of other origins, before the routes."""

    def __init__(self, app: ASGIApp, token: str, hosts: set[str]) -> None:
        self.app, self.token, self.hosts = app, token.encode(), hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        refused = self._refused(Request(scope))
        await (refused or self.app)(scope, receive, send)

    def _refused(self, request: Request) -> Response | None:
        host, origin = request.headers.get("host", ""), request.headers.get("origin")
        if host not in self.hosts or (origin is not None and origin != f"http://{host}"):
            return _error(403, "got a request for another host or from another origin")
        given = request.url.path.split("/")[1].encode()
        return None if hmac.compare_digest(given, self.token) else _error(404, "got an unknown path")


def serve(model: TracedModel, prompt: str, *, port: int = 0, language: str = "en", on_start: Callable[[str], None] | None = None) -> None:
    """Serve the page on 127.0.0.1 until SIGINT or SIGTERM.

    port       0 takes a free one
    on_start   called with the address, which has a secret token in it

    Errors   OptionError for a port that cannot be used.
    """
    try:
        listening = socket.create_server((HOST, port))
    except (OSError, OverflowError) as error:
        raise OptionError(f"got port {port}, expected a free one ({error})", hint="choose another --port") from error
    with listening:
        own_port, token = listening.getsockname()[1], secrets.token_urlsafe(24)
        app = create_app(model, prompt, token=token, port=own_port, language=language)
        server = uvicorn.Server(uvicorn.Config(app, http="h11", ws="none", log_level="warning", access_log=False, server_header=False))
        if on_start is not None:
            on_start(f"http://{HOST}:{own_port}/{token}/")
        with suppress(KeyboardInterrupt):  # uvicorn raises it again after it has stopped
            server.run(sockets=[listening])


def _error(status: int, message: str) -> Response:
    return JSONResponse({"error": message}, status, headers=HEADERS)
