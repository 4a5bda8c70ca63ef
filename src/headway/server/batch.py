"""Run the requests of a batch file in this process, without a network."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO
from uuid import uuid4

from headway.errors import OptionError, quantity
from headway.server.batch_file import Line, Output, read_lines, repair
from headway.server.chat import chat
from headway.server.completions import completions
from headway.server.embeddings import embeddings
from headway.server.errors import from_exception
from headway.server.replies import Call, Handler, Reply
from headway.server.service import Service

HANDLERS: dict[str, Handler] = {"/v1/chat/completions": chat, "/v1/completions": completions, "/v1/embeddings": embeddings}

Progress = Callable[[int, str], None]
"""Called with the number of finished lines and a text about throughput."""


@dataclass(frozen=True)
class Files:
    """Files of a batch.

    errors   receives the failed lines; None, or the path of `out`, writes them to `out`
    """

    input: Path
    out: Path
    errors: Path | None = None

    def __post_init__(self) -> None:
        """Open a file that has two names once."""
        if self.errors is not None and self.errors.resolve() == self.out.resolve():
            object.__setattr__(self, "errors", None)


@dataclass
class Summary:
    """Outcome of a run: numbers of lines. The failed ones are those of earlier runs, too."""

    num_lines: int
    num_earlier: int
    num_failed: int = 0
    num_tokens: int = 0


def remaining(files: Files) -> tuple[list[Line], Summary]:
    """Return the lines that have no result, those with a common start next to each other, and the outcome so far.

    A last line of an output file that was cut off is removed.

    Errors   OptionError for a wrong input, or for output of another input.
    """
    lines = read_lines(files.input)
    done = repair(files.out) | (repair(files.errors) if files.errors else {})
    if strangers := done.keys() - {line.custom_id for line in lines}:
        raise OptionError(
            f"got {files.out} with results of {quantity(len(strangers), 'request')} that {files.input} lacks, such as {min(strangers)!r:.100}",
            hint="choose another --out",
        )
    left = [line for line in lines if line.custom_id not in done]
    summary = Summary(len(lines), len(lines) - len(left), sum(status >= 400 for status in done.values()))
    return sorted(left, key=lambda line: (line.url, line.prefix)), summary


Deliver = Callable[[int, dict[str, Any]], None]
"""Called with the status code and the result of a line."""


def run_batch(service: Service, files: Files, *, concurrency: int = 64, progress: Progress | None = None) -> Summary:
    """Run the lines without a result and append their results.

    concurrency   most requests at a time

    Errors   OptionError for files that cannot be used; nothing is run then.
    """

    def run(lines: Sequence[Line], source: BinaryIO, deliver: Deliver) -> None:
        asyncio.run(run_lines(service, ((line, line.body(source)) for line in lines), deliver, concurrency))

    return with_files(files, run, progress)


def with_files(files: Files, run: Callable[[Sequence[Line], BinaryIO, Deliver], None], progress: Progress | None = None) -> Summary:
    """Let a function run the lines without a result; append the results that it delivers.

    run   receives the lines, the input file, and a function for each result

    Errors   OptionError for files that cannot be used; nothing is run then.
    """
    # The files are opened first: the lock keeps a second process from reading them while this one appends.
    with ExitStack() as stack:
        out = Output(files.out)
        stack.callback(out.close)
        failed = out
        if files.errors:
            failed = Output(files.errors)
            stack.callback(failed.close)
        lines, summary = remaining(files)
        num_done, started = summary.num_earlier, time.monotonic()
        if progress:
            progress(num_done, "")

        def deliver(status: int, result: dict[str, Any]) -> None:
            nonlocal num_done
            (failed if status >= 400 else out).append(result)
            num_done += 1
            summary.num_failed += status >= 400
            summary.num_tokens += _num_tokens(result)
            if progress:
                rate = summary.num_tokens / max(time.monotonic() - started, 1e-9)
                progress(num_done, f"{summary.num_failed} failed, {rate:,.0f} tokens/s")

        run(lines, stack.enter_context(files.input.open("rb")), deliver)
    return summary


async def run_lines(service: Service, lines: Iterable[tuple[Line, bytes]], deliver: Deliver, concurrency: int) -> None:
    """Run lines with their bodies, at most `concurrency` at a time; deliver each result when it is there."""
    service.start()
    waiting = iter(lines)

    async def work() -> None:
        for line, body in waiting:
            deliver(*await _answer(service, line, body))

    try:
        async with asyncio.TaskGroup() as group:
            for _ in range(concurrency):
                group.create_task(work())
    except ExceptionGroup as errors:  # of `deliver`; the first one has ended the others
        raise errors.exceptions[0] from None
    finally:
        service.close()


async def _answer(service: Service, line: Line, body: bytes) -> tuple[int, dict[str, Any]]:
    """Return status code and result of a request."""
    call = Call(service, body)
    try:
        reply = await HANDLERS[line.url](call)
        assert isinstance(reply, Reply), "lines with a stream are refused"
        status, answer = reply.status, json.loads(reply.body)
    except Exception as error:
        known = from_exception(error)
        status, answer = known.status, known.body()
    finally:
        call.close()
    response = {"status_code": status, "request_id": call.id, "body": answer}
    return status, {"id": f"batch_req_{uuid4().hex}", "custom_id": line.custom_id, "response": response, "error": None}


def _num_tokens(result: dict[str, Any]) -> int:
    usage = result["response"]["body"].get("usage") or {}
    number: int = usage.get("total_tokens", 0)
    return number
