"""Servers under an open load: `python -m benchmarks.serving FOLDER [LLAMA_SERVER GGUF [SECONDS]]` prints tables, and `… cost FOLDER` the cost of
HTTP.

FOLDER is a checkpoint in the shape of Qwen2-0.5B with a tokenizer, as `python -m benchmarks.serving write FOLDER` completes the one of
`benchmarks.tasks make_qwen2`; the same command writes FOLDER.f16.gguf, which llama-quantize turns into Q8_0. Requests arrive as a Poisson
process and do not wait for each other. Both servers get token ids, the same ones in the same order, with ignore_eos. Nothing else should
run on the machine; with llama-server it takes about 7 minutes.
"""

from __future__ import annotations

import asyncio
import random
import statistics
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy

import headway
from benchmarks.http_client import Answer, request_bytes, send
from headway.engine import GenerationOptions, Request

THREADS, STREAMS, CONTEXT, PORT = 2, 16, 512, 8931
PROMPT_TOKENS, NEW_TOKENS = (32, 96), (32, 96)
"""Bounds of the lengths, drawn uniformly."""
SECONDS = 30.0
"""Time in which requests arrive, per rate."""


@dataclass(frozen=True)
class Arrival:
    """A request and its time after the start."""

    seconds: float
    body: dict[str, object]


def arrivals(rate: float, seconds: float, seed: int = 0) -> list[Arrival]:
    """Return requests that arrive as a Poisson process.

    rate   requests per second
    """
    draws, at, found = random.Random(seed), 0.0, list[Arrival]()
    while (at := at + draws.expovariate(rate)) < seconds:
        found.append(Arrival(at, body(draws)))
    return found


def body(draws: random.Random) -> dict[str, object]:
    """Return the body of a request with random token ids and lengths."""
    prompt = [draws.randrange(300, 100_000) for _ in range(draws.randint(*PROMPT_TOKENS))]
    return {"prompt": prompt, "max_tokens": draws.randint(*NEW_TOKENS), "temperature": 0, "ignore_eos": True, "stream": True}


async def run(port: int, load: Sequence[Arrival]) -> list[Answer | Exception]:
    """Send the requests at their times; return the answers."""
    started = asyncio.get_running_loop().time()

    async def one(arrival: Arrival) -> Answer:
        await asyncio.sleep(started + arrival.seconds - asyncio.get_running_loop().time())
        return await send(port, request_bytes(arrival.body))

    return await asyncio.gather(*map(one, load), return_exceptions=True)  # type: ignore[return-value]


@dataclass(frozen=True)
class Figures:
    """Result of a load; times in seconds.

    rate   events per second, from the first request to the last event; one event is one token
    """

    num_requests: int
    num_answered: int
    num_refused: int
    num_lost: int
    rate: float
    first_p50: float
    first_p99: float
    gap_p50: float
    gap_p99: float

    @classmethod
    def of(cls, answers: Sequence[Answer | Exception]) -> Figures:
        good = [each for each in answers if isinstance(each, Answer) and each.status == 200 and each.is_complete and each.times]
        refused = [each for each in answers if isinstance(each, Answer) and each.status == 429 and "retry-after" in each.headers]
        firsts = [each.times[0] - each.sent for each in good] or [float("nan")]
        gaps = [after - before for each in good for before, after in pairwise(each.times)] or [float("nan")]
        seconds = max(each.times[-1] for each in good) - min(each.sent for each in good) if good else float("inf")
        return cls(
            len(answers),
            len(good),
            len(refused),
            len(answers) - len(good) - len(refused),
            sum(len(each.times) for each in good) / seconds,
            *(float(numpy.quantile(values, share)) for values in (firsts, gaps) for share in (0.5, 0.99)),
        )

    def row(self, name: str) -> str:
        counts = f"{self.num_answered} of {self.num_requests}, {self.num_refused} refused, {self.num_lost} lost"
        return f"| {name} | {counts} | {self.rate:,.1f} | {self.first_p50:.3f} | {self.first_p99:.3f} | {self.gap_p50:.3f} | {self.gap_p99:.3f} |"


HEAD = "| load | answered | tokens/s | first token p50 | p99 | gap p50 | p99 |\n|---|---|---|---|---|---|---|"


@contextmanager
def server(command: Sequence[str], port: int) -> Iterator[None]:
    """Run a server until the block ends."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        for _ in range(1200):
            if process.poll() is not None:
                raise RuntimeError(f"{command[0]} ended with {process.returncode}")
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=1) as answer:
                    if answer.status == 200:
                        break
            except OSError:
                time.sleep(0.1)
        else:
            raise RuntimeError(f"{command[0]} did not answer in time")
        yield
    finally:
        process.terminate()
        process.wait(60)


def headway_command(folder: str, *more: str) -> list[str]:
    program = [sys.executable, "-m", "headway", "serve", "--model", folder, "--name", "m", "--port", str(PORT)]
    return [*program, "--threads", str(THREADS), "--weights", "int8", "--cache-memory", "2GiB", *more]


def llama_command(program: str, gguf: str) -> list[str]:
    sizes = ["--ctx-size", str(STREAMS * CONTEXT), "--parallel", str(STREAMS), "--threads", str(THREADS)]
    return [program, "--model", gguf, "--port", str(PORT), *sizes, "--no-webui", "--log-disable"]


def closed(port: int, num_streams: int, num_tokens: int) -> float:
    """Return tokens per second of streams that start together, from the first token of the last one to the first end."""
    draws = random.Random(1)

    async def all_at_once() -> list[Answer]:
        bodies = [
            {**body(draws), "prompt": [draws.randrange(300, 4000) for _ in range(64)], "max_tokens": num_tokens} for _ in range(num_streams)
        ]
        return await asyncio.gather(*(send(port, request_bytes(each)) for each in bodies))

    return steady_rate([answer.times for answer in asyncio.run(all_at_once())])


def steady_rate(times: Sequence[Sequence[float]]) -> float:
    """Return the tokens per second while all streams run; NaN if the first one ends before the last one starts."""
    start, end = max(each[0] for each in times), min(each[-1] for each in times)
    return sum(start < at <= end for each in times for at in each) / (end - start) if end > start else float("nan")


def engine_rate(model: headway.LanguageModel, num_streams: int, num_tokens: int) -> float:
    """Return the same without HTTP: the engine in this process, and the same prompts."""
    draws = random.Random(1)
    bodies = [(body(draws), [draws.randrange(300, 4000) for _ in range(64)])[1] for _ in range(num_streams)]
    times: list[list[float]] = [[] for _ in bodies]
    for token in model.engine.stream([Request(prompt, GenerationOptions(max_new_tokens=num_tokens)) for prompt in bodies]):
        times[token.index].append(time.perf_counter())
    return steady_rate(times)


def measure(command: Sequence[str], rates: Sequence[float], seconds: float = SECONDS) -> list[Figures]:
    """Start a server; return the figures at each rate of requests per second."""
    with server(command, PORT):
        asyncio.run(run(PORT, [Arrival(0, body(random.Random(9)))]))  # what happens on first use
        return [Figures.of(asyncio.run(run(PORT, arrivals(rate, seconds)))) for rate in rates]


def http_cost(folder: str, num_tokens: int, rounds: int, num_threads: int = THREADS) -> None:
    """Print the rate through HTTP as a share of the engine's own: medians of interleaved rounds."""
    own, over_http, weights = [], [], "auto" if folder == "stories" else "int8"
    command = headway_command(folder, "--weights", weights, "--threads", str(num_threads))
    with server(command, PORT), headway.load(folder, num_threads=num_threads, weights=weights, cache_bytes=2**30) as model:
        for count in (8, *[num_tokens] * rounds):
            own.append(engine_rate(model, STREAMS, count))
            over_http.append(closed(PORT, STREAMS, count))
    rate, served = statistics.median(own[1:]), statistics.median(over_http[1:])
    print(
        f"| {Path(folder).name}: {STREAMS} streams, {num_threads} threads, tokens/s: engine; over HTTP; share "
        f"| {rate:,.1f}; {served:,.1f}; {served / rate:.3f} |",
        flush=True,
    )


def cost(folder: str) -> None:
    """Print the rates through HTTP as shares of the engine's own."""
    print("| what | measured |\n|---|---|")
    http_cost("stories", num_tokens=400, rounds=15)
    http_cost("stories", num_tokens=400, rounds=15, num_threads=1)  # a core is left for the load generator and the event loop
    http_cost(folder, num_tokens=192, rounds=1)  # long enough to run together after all prompts are read


def main(folder: str, llama_server: str = "", gguf: str = "", seconds: str = str(SECONDS)) -> None:
    """Print the table of each server at the same rates."""
    mean_tokens = sum(NEW_TOKENS) / 2
    commands: dict[str, Callable[[], list[str]]] = {"Headway": lambda: headway_command(folder, "--max-waiting", "32")}
    if llama_server:
        commands["llama-server"] = lambda: llama_command(llama_server, gguf)
    with server(headway_command(folder), PORT):
        capacity = closed(PORT, STREAMS, 128) / mean_tokens
    rates = {"half of the capacity": capacity / 4, "at the capacity": capacity / 2, "twice the capacity": capacity}
    print(f"\ncapacity: {capacity:.2f} requests/s of {mean_tokens:.0f} tokens without their prompts, which take as long again\n\n{HEAD}")
    for name, command in commands.items():
        for label, figures in zip(rates, measure(command(), list(rates.values()), float(seconds)), strict=True):
            print(figures.row(f"{name}, {label}"), flush=True)


def write(folder: str) -> None:
    """Write a tokenizer for random weights into a checkpoint's folder, and the checkpoint with it as FOLDER.f16.gguf.

    The tokens are the bytes and strings of 2 to 4 letters, so every token is a whole text.
    """
    from benchmarks.serving_files import write_gguf, write_tokenizer

    write_tokenizer(Path(folder))
    write_gguf(Path(folder), Path(f"{folder}.f16.gguf"))


if __name__ == "__main__":
    arguments = sys.argv[1:]
    commands = {"write": write, "cost": cost}
    commands[arguments[0]](*arguments[1:]) if arguments[0] in commands else main(*arguments)
