"""A small HTTP client for load: one connection per request, and the arrival time of every event of a stream."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass
class Answer:
    """A response.

    times     time.perf_counter() at the arrival of each event
    """

    sent: float
    status: int = 0
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""
    times: list[float] = field(default_factory=list)
    is_complete: bool = False


def request_bytes(body: Mapping[str, object], path: str = "/v1/completions") -> bytes:
    """Return the bytes of a POST request."""
    content = json.dumps(body).encode()
    head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: {len(content)}\r\n\r\n"
    return head.encode() + content


async def send(port: int, request: bytes) -> Answer:
    """Send a request to a port of this machine and read the answer to its end."""
    answer = Answer(time.perf_counter())
    reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=2**24)
    try:
        writer.write(request)
        answer.status = int((await reader.readline()).split()[1])
        while line := (await reader.readline()).strip():
            name, _, value = line.decode("latin-1").partition(":")
            answer.headers[name.lower()] = value.strip()
        if not answer.headers.get("content-type", "").startswith("text/event-stream"):
            answer.body = await reader.read()
            answer.is_complete = True
            return answer
        while line := await reader.readline():
            if line.startswith(b"data: {"):
                answer.times.append(time.perf_counter())
                answer.is_complete |= b'"error"' in line
            answer.is_complete |= line.startswith(b"data: [DONE]")
        return answer
    finally:
        writer.close()
