"""headway batch: the requests of a file, in OpenAI's batch format."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Annotated

import typer

from headway.cli import options as o
from headway.cli.load_flags import LoadFlags, with_load_flags
from headway.cli.progress import Shown
from headway.cli.serve import read_template, require_packages, wire_name


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
    loading: LoadFlags = LoadFlags(),  # noqa: B008 - frozen
) -> None:
    """Run a file of requests without a server, in OpenAI's batch format.

    \b
      headway batch requests.jsonl --out results.jsonl
      headway batch requests.jsonl --out results.jsonl --errors failed.jsonl --model Qwen/Qwen2-0.5B-Instruct
      head -1 requests.jsonl   # {"custom_id": "1", "method": "POST", "url": "/v1/completions", "body": {"prompt": "Once"}}

    All lines are checked before the first one runs. A run that was interrupted or killed continues with the lines that have no
    result. Needs the extra serve.

    Exit codes: 0 success, 1 a line failed, 2 invalid input, 130 interrupted.
    """
    require_packages()
    from headway.server.batch import Files, run_batch
    from headway.server.batch_file import read_lines
    from headway.server.served_model import ServedModel
    from headway.server.service import Service
    from headway.server.settings import Settings

    files = Files(requests, out, errors)
    num_lines = len(read_lines(requests))  # a wrong line is reported before the model is loaded
    template = read_template(chat_template)
    language_model = loading.load(model)
    shown, started = Shown(), time.perf_counter()
    settings = Settings(accept_any_model=any_model, max_waiting=10**9, max_waiting_tokens=10**12, timeout_seconds=86_400)
    with language_model:
        service = Service([ServedModel(name or wire_name(model), language_model, template)], settings)
        with shown.bar(num_lines, "lines") as progress:
            summary = run_batch(service, files, concurrency=concurrency, progress=progress)
    seconds = time.perf_counter() - started
    earlier = f", {summary.num_earlier:,} of them earlier" if summary.num_earlier else ""
    print(
        f"{summary.num_lines:,} lines{earlier}, {summary.num_failed:,} failed: {seconds:.1f} s, {summary.num_tokens / seconds:,.0f} tokens/s",
        file=sys.stderr,
    )
    if summary.num_failed:
        raise typer.Exit(1)
