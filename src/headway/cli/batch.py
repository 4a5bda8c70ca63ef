"""headway batch: the requests of a file, in OpenAI's batch format."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from headway.cli import options as o
from headway.cli.load_flags import LoadFlags, with_load_flags
from headway.cli.progress import Shown
from headway.cli.serve import cores_of_a_replica, require_packages, with_threads
from headway.cli.serve_models import read_template, wire_name
from headway.errors import OptionError, quantity
from headway.language_model import LanguageModel

if TYPE_CHECKING:
    from headway.server.batch import Files, Progress, Summary
    from headway.server.settings import Settings


@with_load_flags
def command(
    requests: Annotated[Path, typer.Argument(metavar="INPUT.jsonl", help="Requests, one per line: custom_id, method, url and body.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="File to append the results to. Lines that have one are not run again.")],
    errors: Annotated[Path | None, typer.Option(help="File for the failed lines.  [default: --out]")] = None,
    model: o.Model = "stories",
    name: Annotated[
        str | None, typer.Option("--name", help="Name of the model in the requests.  [default: --model, or its last part]")
    ] = None,
    any_model: Annotated[bool, typer.Option("--any-model", help="Run requests for models of other names, too.")] = False,
    chat_template: Annotated[Path | None, typer.Option(help="Jinja file in place of the model's chat template.")] = None,
    concurrency: Annotated[int, typer.Option(min=1, max=4096, help="Requests that run at a time.")] = 64,
    ray: Annotated[bool, typer.Option("--ray", help="Run on a Ray cluster; needs the extra ray.")] = False,
    address: Annotated[
        str | None, typer.Option(help="Address of the Ray cluster; auto is that of this machine.  [default: one that is started here]")
    ] = None,
    replicas: Annotated[int, typer.Option(min=1, help="With --ray, number of processes with an engine.")] = 1,
    loading: LoadFlags = LoadFlags(),  # noqa: B008 - frozen
) -> None:
    """Run a file of requests without a server, in OpenAI's batch format.

    \b
      headway batch requests.jsonl --out results.jsonl
      headway batch requests.jsonl --out results.jsonl --errors failed.jsonl --model Qwen/Qwen2-0.5B-Instruct
      headway batch requests.jsonl --out results.jsonl --ray --address auto --replicas 8 --threads 16 --model /shared/my-model
      head -1 requests.jsonl   # {"custom_id": "1", "method": "POST", "url": "/v1/completions", "body": {"prompt": "Once"}}

    All lines are checked before the first one runs. A run that was interrupted or killed continues with the lines that have no
    result. Needs the extra serve.

    Exit codes: 0 success, 1 a line failed, in this run or an earlier one, 2 invalid input or a full disk, 130 interrupted.
    """
    loading.refuse_named_adapters("all lines run on one model")
    require_packages()
    from headway.server.batch import Files
    from headway.server.batch_file import read_lines
    from headway.server.settings import Settings

    files = Files(requests, out, errors)
    num_lines = len(read_lines(requests))  # a wrong line is reported before the model is loaded
    template = read_template(chat_template)
    if not ray and (address is not None or replicas > 1):
        raise OptionError("got --address or --replicas without --ray, expected one process", hint="add --ray, which needs the extra ray")
    settings = Settings(accept_any_model=any_model, max_waiting=10**9, max_waiting_tokens=10**12, timeout_seconds=86_400)
    name = name or wire_name(model)
    run: Callable[[Progress], Summary]
    if ray:
        num_cpus = cores_of_a_replica(loading, address, replicas)
        runner = (name, with_threads(loading, num_cpus).loader(model), template, settings, concurrency)
        run = partial(_run_on_cluster, runner, files, address, replicas, num_cpus)
    else:
        run = partial(_run_here, name, loading.load(model), template, settings, files, concurrency)
    started = time.perf_counter()
    with Shown().bar(num_lines, "line") as progress:
        summary = run(progress)
    seconds = time.perf_counter() - started
    earlier = f", {summary.num_earlier:,} of them earlier" if summary.num_earlier else ""
    print(
        f"{quantity(summary.num_lines, 'line')}{earlier}, {summary.num_failed:,} failed: {seconds:.1f} s, {summary.num_tokens / seconds:,.0f} tokens/s",
        file=sys.stderr,
    )
    if summary.num_failed:
        raise typer.Exit(1)


def _run_here(
    name: str, model: LanguageModel, template: str | None, settings: Settings, files: Files, concurrency: int, progress: Progress
) -> Summary:
    from headway.server.batch import run_batch
    from headway.server.served_model import ServedModel
    from headway.server.service import Service

    with model:
        return run_batch(Service([ServedModel(name, model, template)], settings), files, concurrency=concurrency, progress=progress)


def _run_on_cluster(
    runner: tuple[Any, ...], files: Files, address: str | None, num_replicas: int, num_cpus: int, progress: Progress
) -> Summary:
    import ray

    from headway.cluster.batch import run_batch
    from headway.cluster.run import connect

    connect(address)
    try:
        return run_batch(runner, files, num_replicas=num_replicas, num_cpus=num_cpus, progress=progress)
    finally:
        ray.shutdown()
