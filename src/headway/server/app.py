"""The routes, as a table, and the ASGI application."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from headway.server import anthropic, llama_cpp, look, operation, page
from headway.server.chat import chat
from headway.server.completions import completions
from headway.server.embeddings import embeddings
from headway.server.errors import ApiError, from_exception, timed_out
from headway.server.replies import Call, EventStream, Reply, Row, json_reply
from headway.server.rerank import rerank
from headway.server.responses import error_event as responses_error
from headway.server.responses import responses
from headway.server.security import authenticate, check_content_type, check_host, read_body
from headway.server.service import Service
from headway.server.sse import PING

LOG = logging.getLogger("headway.server")
SEND_SECONDS = 30.0
"""Time after that of a request for its answer to be read by the client."""

ROUTES = [
    Row("GET", "/", page.index),
    Row("GET", "/page/{name}", page.file),
    Row("GET", "/health", operation.health),
    Row("GET", "/ready", operation.ready),
    Row("GET", "/metrics", operation.metrics),
    Row("GET", "/v1/models", operation.models),
    Row("GET", "/v1/models/{name:path}", operation.model),
    Row("POST", "/v1/chat/completions", chat),
    Row("POST", "/v1/completions", completions),
    Row("POST", "/v1/embeddings", embeddings),
    Row("POST", "/v1/rerank", rerank),
    Row("POST", "/v1/responses", responses, error_event=responses_error),
    Row("POST", "/v1/messages", anthropic.messages, anthropic.error_body, anthropic.error_event),
    Row("POST", "/v1/messages/count_tokens", anthropic.count_tokens, anthropic.error_body),
    Row("POST", "/tokenize", operation.tokenize),
    Row("POST", "/detokenize", operation.detokenize),
    Row("POST", "/apply-template", operation.apply_template),
    *llama_cpp.ROUTES,
]


LOOK_ROUTES = [Row("GET", "/look/", look.page), Row("POST", "/look/trace", look.trace)]


def create_app(service: Service, table: Sequence[Row] = tuple(ROUTES)) -> Starlette:
    """Return the ASGI application of a service."""

    @asynccontextmanager
    async def lifespan(_: Starlette) -> Any:
        service.start()
        try:
            yield
        finally:
            service.close()

    own = LOOK_ROUTES if service.settings.has_look else []
    routes = [Route(row.path, Endpoint(service, row), methods=[row.method]) for row in (*table, *own)]
    middleware = [Middleware(Guard, service=service)]
    origins = list(service.settings.cors_origins)
    if origins:
        middleware.insert(0, Middleware(CORSMiddleware, allow_origins=origins, allow_methods=["GET", "POST"], allow_headers=["*"]))
    # A redirect from /v1/models/ would answer before the guard's routes are matched exactly.
    app = Starlette(routes=routes, middleware=middleware, lifespan=lifespan, exception_handlers={HTTPException: _http_error})
    app.router.redirect_slashes = False
    return app


async def _http_error(_: Request, error: Exception) -> Response:
    """Return the error of the router: no such path, or a wrong method."""
    assert isinstance(error, HTTPException)
    message = {404: "got an unknown path", 405: "got a method that this path does not have"}.get(error.status_code, error.detail)
    code = {404: "not_found", 405: "method_not_allowed"}.get(error.status_code)
    reply = _error_reply(ApiError(error.status_code, message, code=code, headers=error.headers or {}))
    return Response(reply.body, reply.status, dict(reply.headers), reply.content_type)


class Guard:
    """Checks the Host and the key of every request, before the routes."""

    def __init__(self, app: ASGIApp, service: Service) -> None:
        self.app, self.service = app, service

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer 421 for a wrong Host and 401 for a wrong key, else call the application."""
        if scope["type"] == "http":
            try:
                check_host(scope, self.service.settings.allowed_hosts)
                scope["headway.caller"] = authenticate(scope, self.service.settings.api_keys)
            except ApiError as error:
                await _send(send, _error_reply(error))
                return
        elif scope["type"] == "websocket":
            return
        await self.app(scope, receive, send)


class Endpoint:
    """A route as an ASGI application. It ends the work when the client disconnects."""

    def __init__(self, service: Service, row: Row) -> None:
        self.service, self.row = service, row

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Read the body, answer, and watch for a disconnect meanwhile."""
        settings = self.service.settings
        try:
            if self.row.method == "POST":
                check_content_type(scope)
            body = await read_body(scope, receive, settings.max_body_bytes, settings.timeout_seconds)
        except ApiError as error:
            await _send(send, self._error_reply(error))
            return
        except ConnectionError:
            return
        values: Mapping[str, str] = scope.get("path_params", {})
        call = Call(self.service, body, scope.get("headway.caller", ""), values)
        try:
            await _until_disconnect(self._answer(call, send), receive, settings.timeout_seconds + SEND_SECONDS)
        finally:
            call.close()

    async def _answer(self, call: Call, send: Send) -> None:
        own = {"x-request-id": call.id}
        events = Events(send, own)
        pings = Pings(call, events)
        seconds = self.service.settings.timeout_seconds
        bound = asyncio.timeout(seconds)
        try:
            async with bound:
                reply = await self.row.handler(call)
        except Exception as error:
            await pings.stop()
            await self._fail(timed_out(seconds) if bound.expired() else error, call, events, self.row.error_event)
            return
        finally:
            pings.cancel()
        if isinstance(reply, EventStream):
            await pings.stop()
            await self._send_events(reply, call, events)
        else:
            call.close()  # before the client reads, which may take long
            await _send(send, reply, own)

    async def _send_events(self, stream: EventStream, call: Call, events: Events) -> None:
        """Send a stream."""
        try:
            async for event in stream.events:
                await events.send(event)
        except Exception as error:
            await self._fail(error, call, events, stream.error_event)
            return
        await events.end()

    async def _fail(self, error: Exception, call: Call, events: Events, error_event: Callable[[ApiError], bytes]) -> None:
        """Answer with an error: before the first event by a response of its own, after it by an event."""
        _log(error, call)
        call.close()
        if events.has_started:
            await events.send(error_event(from_exception(error)))
            await events.end()
        else:
            await _send(events.to, self._error_reply(error), events.headers)

    def _error_reply(self, error: Exception) -> Reply:
        known = from_exception(error)
        return json_reply(self.row.error_body(known), known.status, known.headers)


class Events:
    """The body of a stream. Its first event sends the head of the response.

    to        sends to the client
    headers   further headers of the response
    """

    def __init__(self, to: Send, headers: Mapping[str, str]) -> None:
        self.to, self.headers, self.has_started = to, headers, False

    async def send(self, event: bytes) -> None:
        """Send one event or several."""
        if not self.has_started:
            await _start(self.to, 200, {**self.headers, "content-type": "text/event-stream; charset=utf-8", "cache-control": "no-store"})
            self.has_started = True
        await self.to({"type": "http.response.body", "body": event, "more_body": True})

    async def end(self) -> None:
        """End the body."""
        if not self.has_started:
            await self.send(b"")
        await self.to({"type": "http.response.body", "body": b""})


class Pings:
    """Comments that keep a stream open until it begins: while its model is loaded, or its grammar is compiled."""

    def __init__(self, call: Call, events: Events) -> None:
        self._call, self._events = call, events
        self._task: asyncio.Task[None] | None = None
        self._seconds = call.service.settings.ping_seconds
        self._timer = asyncio.get_running_loop().call_later(self._seconds, self._start)

    def _start(self) -> None:
        if self._call.is_stream:
            self._task = asyncio.create_task(self._send())

    async def _send(self) -> None:
        while True:
            await self._events.send(PING)
            await asyncio.sleep(self._seconds)

    def cancel(self) -> None:
        """Send no more."""
        self._timer.cancel()
        if self._task is not None:
            self._task.cancel()

    async def stop(self) -> None:
        """Send no more, and wait for the one that is being sent."""
        self.cancel()
        if self._task is not None:
            await asyncio.wait([self._task])


async def _until_disconnect(work: Coroutine[Any, Any, None], receive: Receive, seconds: float) -> None:
    """Run a coroutine; cancel it when the client disconnects, or after some time: its client may not read."""

    async def disconnected() -> None:
        while (await receive())["type"] != "http.disconnect":
            pass

    tasks = [asyncio.create_task(work), asyncio.create_task(disconnected())]
    try:
        await asyncio.wait(tasks, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        results = await asyncio.gather(*tasks, return_exceptions=True)
    if isinstance(results[0], Exception) and not isinstance(results[0], OSError):
        raise results[0]


def _log(error: Exception, call: Call) -> None:
    """Log an error of the server itself with its traceback; the traceback holds no values of the request."""
    if from_exception(error).status >= 500:
        LOG.error("%s: %s", call.id, type(error).__name__, exc_info=None if isinstance(error, ApiError) else error)


def _error_reply(error: ApiError) -> Reply:
    return json_reply(error.body(), error.status, error.headers)


async def _send(send: Send, reply: Reply, headers: Mapping[str, str] | None = None) -> None:
    size = str(len(reply.body))
    await _start(send, reply.status, {**(headers or {}), **reply.headers, "content-type": reply.content_type, "content-length": size})
    await send({"type": "http.response.body", "body": reply.body})


async def _start(send: Send, status: int, headers: Mapping[str, str]) -> None:
    pairs = [(name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in headers.items()]
    await send({"type": "http.response.start", "status": status, "headers": [*pairs, (b"x-content-type-options", b"nosniff")]})
