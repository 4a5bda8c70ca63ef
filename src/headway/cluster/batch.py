"""Batch files over Ray Data: actors with an engine each take lines, and this process appends their results."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable, Sequence
from typing import Any, BinaryIO

import numpy
import ray.data

from headway.language_model import LanguageModel
from headway.server.batch import Deliver, Files, Progress, Summary, run_lines, with_files
from headway.server.batch_file import Line
from headway.server.served_model import ServedModel
from headway.server.service import Service
from headway.server.settings import Settings

LINES_PER_TASK = 128
"""Lines that an actor takes at a time. Those of a lost actor are computed again."""


class LineRunner:
    """An actor: a model that runs lines of batch files."""

    def __init__(
        self, name: str, load: Callable[[], LanguageModel], chat_template: str | None, settings: Settings, concurrency: int
    ) -> None:
        """Load the model."""
        self._served, self._settings, self._concurrency = ServedModel(name, load(), chat_template), settings, concurrency

    def __call__(self, batch: dict[str, numpy.ndarray]) -> dict[str, list[Any]]:
        """Return status codes and results of lines, as JSON."""
        rows = zip(batch["custom_id"], batch["url"], batch["body"], strict=True)
        lines = [(Line(str(custom_id), str(url), 0, 0, ""), str(body).encode()) for custom_id, url, body in rows]
        statuses, results = list[int](), list[str]()

        def deliver(status: int, result: dict[str, Any]) -> None:
            statuses.append(status)
            results.append(json.dumps(result))

        asyncio.run(run_lines(Service([self._served], self._settings), lines, deliver, self._concurrency))
        return {"status": statuses, "result": results}


def run_batch(
    make_runner: tuple[Any, ...], files: Files, *, num_replicas: int, num_cpus: float, progress: Progress | None = None
) -> Summary:
    """Run the lines without a result on a cluster that this process is connected to.

    make_runner   arguments of LineRunner
    num_cpus      cores that Ray reserves for an actor

    Errors   OptionError for files that cannot be used; nothing is run then.
    """

    def run(lines: Sequence[Line], source: BinaryIO, deliver: Deliver) -> None:
        if not lines:
            return
        ray.data.DataContext.get_current().enable_progress_bars = False
        logging.getLogger("ray.data").setLevel(logging.WARNING)
        items = [{"custom_id": line.custom_id, "url": line.url, "body": line.body(source).decode()} for line in lines]
        num_blocks = max(1, min(len(items), max(num_replicas, len(items) // LINES_PER_TASK)))
        results = ray.data.from_items(items, override_num_blocks=num_blocks).map_batches(
            LineRunner,
            fn_constructor_args=make_runner,
            batch_size=LINES_PER_TASK,
            compute=ray.data.ActorPoolStrategy(size=num_replicas),
            num_cpus=num_cpus,
        )
        for row in results.iter_rows():
            deliver(int(row["status"]), json.loads(row["result"]))

    return with_files(files, run, progress)
