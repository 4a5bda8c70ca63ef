"""A server under mixed load for a long time: `python -m benchmarks.soak [SECONDS] [CLIENTS]` prints a table; exit code 1 for a leak.

Streams and whole answers, several choices, schemas, long and shared prompts, vectors; clients that leave at any moment, reset the
connection, read nothing, or send bodies that are cut, mutated or no JSON. Resident memory, threads, file descriptors and the use of the KV
cache are read from outside.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import re
import signal
import socket
import statistics
import struct
import subprocess
import sys
import threading
import time
from collections import Counter
from dataclasses import dataclass

from benchmarks.http_client import request_bytes, send

TOLERANCE = 0.05
"""Largest growth of the resident memory from the second quarter of the time to the last one."""

POOLED_THREADS = 4
"""Threads of the server's pools, each started when it is first needed."""


@dataclass
class Sample:
    """Figures of the server process, from /proc."""

    memory: int
    num_threads: int
    num_files: int

    @classmethod
    def of(cls, process_id: int) -> Sample:
        with open(f"/proc/{process_id}/status") as file:
            fields = dict(line.split(":", 1) for line in file)
        return cls(int(fields["VmRSS"].split()[0]) * 1024, int(fields["Threads"]), len(os.listdir(f"/proc/{process_id}/fd")))


def body(random_: random.Random) -> tuple[dict[str, object], str]:
    """Return a request and its path."""
    kind = random_.randrange(8)
    prompt = random_.choice(
        ["Once upon a time", "The little fox", "A long time ago, " * random_.randrange(1, 40), "é" * random_.randrange(1, 60)]
    )
    fields = {"prompt": prompt, "max_tokens": random_.randrange(1, 120), "temperature": random_.choice([0, 0.7, 1.3])}
    if kind == 0:
        return {"input": [prompt] * random_.randrange(1, 3)}, "/v1/embeddings"
    if kind == 1:
        return {
            "messages": [{"role": "user", "content": prompt}],
            "max_tokens": 30,
            "stream": random_.random() < 0.5,
        }, "/v1/chat/completions"
    if kind == 2:
        return {**fields, "n": random_.randrange(2, 5), "stop": ["the"], "stream": True}, "/v1/completions"
    if kind == 3:
        schema = {"type": "object", "properties": {"a": {"enum": ["x", "y"]}}, "required": ["a"]}
        return {**fields, "response_format": {"type": "json_schema", "json_schema": {"name": "s", "schema": schema}}}, "/v1/completions"
    if kind == 4:
        return {**fields, "logprobs": 3, "ignore_eos": True}, "/v1/completions"
    return {**fields, "stream": random_.random() < 0.8, "cache_salt": random_.choice(["a", "b", None])}, "/v1/completions"


async def well_behaved(port: int, random_: random.Random) -> str:
    answer = await send(port, request_bytes(*body(random_)))
    return f"answered {answer.status}" if answer.is_complete else "cut off"


async def leaves(port: int, random_: random.Random) -> str:
    """Leave at any moment; every second time by a reset, as the kernel sends it for a killed process."""
    _, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(request_bytes(*body(random_)))
    await asyncio.sleep(random_.expovariate(10))
    if random_.random() < 0.5:
        writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()
    return "left"


async def malformed(port: int, random_: random.Random) -> str:
    """Send a request with changed, missing or additional bytes; wait for an answer for a short time."""
    request = bytearray(request_bytes(*body(random_)))
    start = request.index(b"\r\n\r\n") + 4 if random_.random() < 0.7 else 0
    for _ in range(random_.randrange(1, 6)):
        request[random_.randrange(start, len(request))] = random_.randrange(256)
    if random_.random() < 0.3:
        del request[random_.randrange(len(request)) :]
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(request)
    try:
        line = await asyncio.wait_for(reader.readline(), 1)
        status = line.split()[1].decode() if line.startswith(b"HTTP/") else "none"
    except (TimeoutError, OSError):
        status = "none"
    writer.transport.abort()
    return f"malformed: {status}"


async def reads_nothing(port: int, random_: random.Random) -> str:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    reader._transport.pause_reading()  # type: ignore[attr-defined]
    writer.write(request_bytes({"prompt": "Once", "max_tokens": 400, "ignore_eos": True, "logprobs": 5, "stream": True}))
    await asyncio.sleep(random_.random() * 2)
    writer.transport.abort()
    return "read nothing"


async def load(port: int, process_id: int, seconds: float, num_clients: int) -> tuple[Counter[str], list[Sample]]:
    """Run clients for a time; return the number of outcomes, and samples of the server."""
    end, outcomes, samples = time.monotonic() + seconds, Counter[str](), list[Sample]()

    async def client(seed: int) -> None:
        random_ = random.Random(seed)
        while time.monotonic() < end:
            act = random_.choices([well_behaved, leaves, malformed, reads_nothing], [5, 3, 3, 1])[0]
            try:
                outcomes[await asyncio.wait_for(act(port, random_), 120)] += 1
            except (TimeoutError, OSError, IndexError, ValueError) as error:
                outcomes[f"{act.__name__}: {type(error).__name__}"] += 1

    async def watch() -> None:
        while time.monotonic() < end:
            samples.append(Sample.of(process_id))
            await asyncio.sleep(max(0.5, seconds / 200))

    async with asyncio.TaskGroup() as group:
        group.create_task(watch())
        for seed in range(num_clients):
            group.create_task(client(seed))
    return outcomes, samples


async def metric(port: int, name: str) -> float:
    """Return the sum of a metric."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
    text = (await reader.read()).decode()
    writer.close()
    return sum(float(value) for value in re.findall(rf"^headway:{name}(?:{{.*}})? (\S+)$", text, re.MULTILINE))


async def idle(port: int) -> dict[str, float]:
    """Return the figures that must be 0 without requests, after at most a minute."""
    names = ("num_requests_running", "num_requests_waiting", "kv_cache_usage_perc")
    for _ in range(120):
        figures = {name: await metric(port, name) for name in names}
        if not any(figures.values()):
            break
        await asyncio.sleep(0.5)
    return figures


def main(seconds: float = 1800, num_clients: int = 16) -> int:
    """Run a server and the load; print the figures; return the exit code."""
    command = [sys.executable, "-m", "headway", "serve", "--port", "0", "--cache-memory", "64MB", "--max-waiting", "24", "--timeout", "60"]
    server = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    assert server.stderr is not None
    try:
        while not (found := re.search(r"http://127\.0\.0\.1:(\d+)", server.stderr.readline())):
            assert server.poll() is None, "the server did not start"
        port = int(found[1])
        threading.Thread(target=server.stderr.read, daemon=True).start()  # a full pipe would stop the server
        asyncio.run(load(port, server.pid, min(10, seconds / 4), num_clients))  # what is loaded on first use
        asyncio.run(idle(port))
        before = Sample.of(server.pid)
        outcomes, samples = asyncio.run(load(port, server.pid, seconds, num_clients))
        left = asyncio.run(idle(port))
        time.sleep(1)
        after = Sample.of(server.pid)
    finally:
        server.send_signal(signal.SIGTERM)
        server.wait(60)
        server.stderr.close()
    quarter = max(1, len(samples) // 4)
    second, last = (statistics.median(each.memory for each in part) for part in (samples[quarter : 2 * quarter], samples[-quarter:]))
    problems = [name for name, value in left.items() if value]
    problems += ["memory"] * (last > second * (1 + TOLERANCE))
    problems += ["threads"] * (after.num_threads > before.num_threads + POOLED_THREADS) + ["files"] * (after.num_files > before.num_files)
    problems += [name for name in outcomes if name.startswith(("answered 5", "malformed: 5", "cut off", "well_behaved"))]
    print("| what | measured |\n|---|---|")
    print(f"| time, clients, requests | {seconds:,.0f} s, {num_clients}, {sum(outcomes.values()):,} |")
    print(f"| resident memory: before, second quarter, last quarter, after | {_mb(before.memory, second, last, after.memory)} |")
    print(
        f"| threads, file descriptors: before and after | {before.num_threads}, {before.num_files}; {after.num_threads}, {after.num_files} |"
    )
    print(f"| afterwards | {json.dumps(left)} |")
    for name, number in sorted(outcomes.items()):
        print(f"| {name} | {number:,} |")
    print(f"| problems | {', '.join(problems) or 'none'} |")
    return bool(problems)


def _mb(*sizes: float) -> str:
    return ", ".join(f"{size / 1e6:,.1f} MB" for size in sizes)


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
